/* gp_wide_step.c: see gp_wide_step.h. */
#include "gp_wide_step.h"
#include "linalg.h"

#include <math.h>

#define CG_STEPS 12

/* The hyperprior of tau: normal in log tau. Of the matrix up to some thousand rows say little
 * (one sample of 1000 gave .18, another .34), and near .4, about which 5000 rows lead, the
 * log loss of others was lower than at the best tau of each sample (100 classes, two
 * classifiers): it is narrow there, but of Cauchy's form, since rows may well insist on
 * another. */
const double gpc_wide_centre[GPC_WIDE_PARTS] = {0.3, 0.05, 0.4};
#define WIDTH 0.28 /* of Cauchy's */

static double hyperprior(int part, double tau) {
  const double u = log(tau / gpc_wide_centre[part]), v = u / WIDTH;
  return part == GPC_WIDE_SOFTMAX ? -log1p(v * v) : -0.5 * u * u;
}

/* Its derivative in log tau. */
static double hyperprior_slope(int part, double tau) {
  const double u = log(tau / gpc_wide_centre[part]);
  return part == GPC_WIDE_SOFTMAX ? -2.0 * u / (WIDTH * WIDTH + u * u) : -u;
}

/* The derivative in log tau of the bound of a part with H's diagonal alone, profiled over
 * its effects. */
static double tau_slope(const gpc_wide_climb *o, int part, double tau) {
  const double t = tau * tau;
  double sum = 0.0;
  const size_t end = gpc_wide_first(o->pass.k, part + 1);
  const double *g = o->pass.g, *h = o->pass.h, *e = o->pass.e;
#pragma omp simd reduction(+ : sum)
  for (size_t i = gpc_wide_first(o->pass.k, part); i < end; i++) {
    const double pull = g[i] + h[i] * e[i], open = 1.0 / (1.0 + h[i] * t);
    sum += t * open * (pull * pull * open - h[i]);
  }
  return sum + hyperprior_slope(part, tau);
}

/* The best tau near the last one: uphill until the slope changes its sign, then halving. */
static double best_tau(const gpc_wide_climb *o, int part) {
  double low = log(o->tau[part]),
         step = tau_slope(o, part, o->tau[part]) > 0.0 ? 0.5 : -0.5;
  double high = low;
  do {
    low = high;
    high = low + step;
    if (high <= log(GPC_WIDE_TAU_LOW) || high >= log(GPC_WIDE_TAU_HIGH))
      return fmin(fmax(exp(high), GPC_WIDE_TAU_LOW), GPC_WIDE_TAU_HIGH);
  } while ((tau_slope(o, part, exp(high)) > 0.0) == (step > 0.0));
  for (int i = 0; i < 8; i++) {
    const double middle = 0.5 * (low + high);
    if ((tau_slope(o, part, exp(middle)) > 0.0) == (step > 0.0))
      low = middle;
    else
      high = middle;
  }
  return exp(0.5 * (low + high));
}

void gpc_wide_choose_taus(gpc_wide_climb *o) {
  for (int part = 0; part < GPC_WIDE_PARTS; part++)
    if (o->pass.has[part] && isnan(o->settings->variance[part]))
      o->tau[part] = best_tau(o, part);
}

/* to [size] := x / (h + 1/tau^2), and the sum of x^2 / (h + 1/tau^2). */
static double precondition(const gpc_wide_climb *o, const double *x, double *to) {
  double sum = 0.0;
  for (int part = 0; part < GPC_WIDE_PARTS; part++) {
    const double precision = 1.0 / (o->tau[part] * o->tau[part]);
    const size_t end = gpc_wide_first(o->pass.k, part + 1);
    for (size_t i = gpc_wide_first(o->pass.k, part); i < end && o->pass.has[part]; i++) {
      to[i] = x[i] / (o->pass.h[i] + precision);
      sum += to[i] * x[i];
    }
  }
  return sum;
}

/* x += factor of e by the precision of the prior. */
static void add_prior(const gpc_wide_climb *o, double factor, const double *e,
                      double *x) {
  for (int part = 0; part < GPC_WIDE_PARTS; part++) {
    const double precision = factor / (o->tau[part] * o->tau[part]);
    const size_t end = gpc_wide_first(o->pass.k, part + 1);
    for (size_t i = gpc_wide_first(o->pass.k, part); i < end && o->pass.has[part]; i++)
      x[i] += precision * e[i];
  }
}

void gpc_wide_solve_means(gpc_wide_climb *o) {
  const size_t size = o->pass.size;
  double *z = o->hd; /* not in use at the same time */
  double *r = o->pass.g;
  add_prior(o, -1.0, o->pass.e, r);
  double rz = precondition(o, r, o->d);
  const double enough = fmax(1e-3 * rz, 0.1 * o->settings->tol);
  for (int step = 0; step < CG_STEPS && rz > enough; step++) {
    gpc_wide_product(&o->pass, o->d, o->hd);
    add_prior(o, 1.0, o->d, o->hd);
    const double along = gpc_dot(size, o->d, o->hd);
    if (!(along > 0.0))
      break;
    const double far = rz / along;
    for (size_t i = 0; i < size; i++) {
      o->pass.e[i] += far * o->d[i];
      r[i] -= far * o->hd[i];
    }
    const double next = precondition(o, r, z);
    for (size_t i = 0; i < size; i++)
      o->d[i] = z[i] + next / rz * o->d[i];
    rz = next;
  }
}

void gpc_wide_set_variances(gpc_wide_climb *o) {
  for (int part = 0; part < GPC_WIDE_PARTS; part++) {
    const double precision = 1.0 / (o->tau[part] * o->tau[part]);
    const size_t end = gpc_wide_first(o->pass.k, part + 1);
    for (size_t i = gpc_wide_first(o->pass.k, part); i < end; i++)
      o->pass.var[i] = o->pass.has[part] ? 1.0 / (o->pass.h[i] + precision) : 0.0;
  }
}

double gpc_wide_divergence(const gpc_wide_climb *o) {
  double all = 0.0;
  for (int part = 0; part < GPC_WIDE_PARTS; part++) {
    const double t = o->tau[part] * o->tau[part];
    const size_t end = gpc_wide_first(o->pass.k, part + 1);
    if (!o->pass.has[part])
      continue;
    double sum = 0.0;
    for (size_t i = gpc_wide_first(o->pass.k, part); i < end; i++) {
      const double share = o->pass.var[i] / t, e = o->pass.e[i];
      sum += share + e * e / t - 1.0 - log(share);
    }
    all += 0.5 * sum - hyperprior(part, o->tau[part]);
  }
  return all;
}
