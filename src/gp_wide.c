/* gp_wide.c: see gp_wide.h. */
#include "gp_wide.h"
#include "gp_offsets_pass.h"
#include "gp_wide_pass.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

#define SD 1.0 /* of the hyperprior, in log tau */
#define TAU_LOW 1e-3
#define TAU_HIGH 30.0
#define CG_STEPS 12
#define MOST_HALVINGS 12

static const double centre[GPC_WIDE_PARTS] = {0.3, 0.05, 0.3}; /* of tau's hyperprior */

typedef struct {
  gpc_wide_pass pass;
  const gpc_wide_settings *settings;
  double tau[GPC_WIDE_PARTS];
  double *old_e, *old_var; /* [size] */
  double *r, *d, *hd;      /* [size] of the conjugate gradients */
} wide;

static double hyperprior(int part, double tau) {
  const double u = log(tau / centre[part]) / SD;
  return -0.5 * u * u;
}

/* Blocks of GPC_OFFSETS_ROWS rows, which lie class by class, row by row instead, in place:
 * room [GPC_OFFSETS_ROWS k]. */
static void by_rows(size_t n, size_t k, double *room, double *x) {
  const size_t each = GPC_OFFSETS_ROWS;
  for (size_t first = 0; first < n; first += each) {
    double *block = x + first * k;
    memcpy(room, block, each * k * sizeof(double));
    for (size_t i = 0; i < each; i++)
      for (size_t j = 0; j < k; j++)
        block[j + k * i] = room[i + each * j];
  }
}

static wide get(gpc_visitor *visitor, const gpc_visit *from,
                const gpc_offsets_result *offsets, const gpc_wide_settings *settings) {
  const gpc_memory *memory = visitor->memory;
  const size_t n = visitor->data->n, k = visitor->data->k, size = gpc_wide_size(k);
  double *phi = offsets->phi, *pi = offsets->pi;
  if (!phi) { /* the offsets kept nothing of their rows */
    gpc_offsets_pass pass = gpc_offsets_pass_get(visitor, from, NULL);
    gpc_offsets_pass_keep(memory, &pass);
    gpc_offsets_visit(&pass, 0);
    phi = pass.phi;
    pi = pass.pi;
  }
  double *room = gpc_get_doubles(memory, GPC_OFFSETS_ROWS * k), *all[9];
  by_rows(n, k, room, phi);
  by_rows(n, k, room, pi);
  for (int i = 0; i < 9; i++) {
    all[i] = gpc_get_doubles(memory, size);
    memset(all[i], 0, size * sizeof(double));
  }
  wide o = {.pass = {.data = visitor->data,
                     .rows = gpc_wide_rows_get(visitor->data, settings->steep, memory),
                     .site = settings->site,
                     .n = n,
                     .k = k,
                     .size = size,
                     .has = {1, settings->power, 1},
                     .phi = phi,
                     .pi = pi,
                     .e = all[0],
                     .var = all[1],
                     .g = all[2],
                     .h = all[3],
                     .work = gpc_get_doubles(memory, 3 * k)},
            .settings = settings,
            .old_e = all[4],
            .old_var = all[5],
            .r = all[6],
            .d = all[7],
            .hd = all[8]};
  return o;
}

/* eq. (39), over the effects of the matrix. */
static double score_test(const wide *o) {
  double above = 0.0, below = 0.0;
  for (size_t i = gpc_wide_first(o->pass.k, GPC_WIDE_SOFTMAX); i < o->pass.size; i++) {
    above += o->pass.g[i] * o->pass.g[i] - o->pass.h[i];
    below += 2.0 * o->pass.h[i] * o->pass.h[i];
  }
  return below > 0.0 ? above / sqrt(below) : 0.0;
}

/* The derivative in log tau of the bound of a part with H's diagonal alone, profiled over
 * its effects. */
static double tau_slope(const wide *o, int part, double tau) {
  const double t = tau * tau;
  double sum = 0.0;
  const size_t end = gpc_wide_first(o->pass.k, part + 1);
  const double *g = o->pass.g, *h = o->pass.h, *e = o->pass.e;
#pragma omp simd reduction(+ : sum)
  for (size_t i = gpc_wide_first(o->pass.k, part); i < end; i++) {
    const double pull = g[i] + h[i] * e[i], open = 1.0 / (1.0 + h[i] * t);
    sum += t * open * (pull * pull * open - h[i]);
  }
  return sum - log(tau / centre[part]) / (SD * SD);
}

/* The best tau near the last one: uphill until the slope changes its sign, then halving. */
static double best_tau(const wide *o, int part) {
  double low = log(o->tau[part]),
         step = tau_slope(o, part, o->tau[part]) > 0.0 ? 0.5 : -0.5;
  double high = low;
  do {
    low = high;
    high = low + step;
    if (high <= log(TAU_LOW) || high >= log(TAU_HIGH))
      return fmin(fmax(exp(high), TAU_LOW), TAU_HIGH);
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

static void choose_taus(wide *o) {
  for (int part = 0; part < GPC_WIDE_PARTS; part++)
    if (o->pass.has[part] && isnan(o->settings->variance[part]))
      o->tau[part] = best_tau(o, part);
}

/* to [size] := x / (h + 1/tau^2), and the sum of x^2 / (h + 1/tau^2). */
static double precondition(const wide *o, const double *x, double *to) {
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
static void add_prior(const wide *o, double factor, const double *e, double *x) {
  for (int part = 0; part < GPC_WIDE_PARTS; part++) {
    const double precision = factor / (o->tau[part] * o->tau[part]);
    const size_t end = gpc_wide_first(o->pass.k, part + 1);
    for (size_t i = gpc_wide_first(o->pass.k, part); i < end && o->pass.has[part]; i++)
      x[i] += precision * e[i];
  }
}

/* e := the maximum of g'd - 1/2 d'H d - 1/2 sum e^2 / tau^2, d = e - e0, by conjugate
 * gradients with the diagonal as preconditioner. */
static void solve_means(wide *o) {
  const size_t size = o->pass.size;
  double *z = o->hd; /* not in use at the same time */
  memcpy(o->r, o->pass.g, size * sizeof(double));
  add_prior(o, -1.0, o->pass.e, o->r);
  double rz = precondition(o, o->r, o->d);
  const double enough = fmax(1e-3 * rz, 0.1 * o->settings->tol);
  for (int step = 0; step < CG_STEPS && rz > enough; step++) {
    gpc_call_poll(o->settings->poll, o->settings->poll_data);
    gpc_wide_product(&o->pass, o->d, o->hd);
    add_prior(o, 1.0, o->d, o->hd);
    const double along = gpc_dot(size, o->d, o->hd);
    if (!(along > 0.0))
      break;
    const double far = rz / along;
    for (size_t i = 0; i < size; i++) {
      o->pass.e[i] += far * o->d[i];
      o->r[i] -= far * o->hd[i];
    }
    const double next = precondition(o, o->r, z);
    for (size_t i = 0; i < size; i++)
      o->d[i] = z[i] + next / rz * o->d[i];
    rz = next;
  }
}

static void set_variances(wide *o) {
  for (int part = 0; part < GPC_WIDE_PARTS; part++) {
    const double precision = 1.0 / (o->tau[part] * o->tau[part]);
    const size_t end = gpc_wide_first(o->pass.k, part + 1);
    for (size_t i = gpc_wide_first(o->pass.k, part); i < end; i++)
      o->pass.var[i] = o->pass.has[part] ? 1.0 / (o->pass.h[i] + precision) : 0.0;
  }
}

/* Of posterior and prior, less the logarithms of the hyperpriors. */
static double divergence(const wide *o) {
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

/* The bound at e and var, after one more pass. */
static double value_at(wide *o, gpc_wide_result *result) {
  gpc_call_poll(o->settings->poll, o->settings->poll_data);
  gpc_wide_visit(&o->pass);
  result->passes++;
  const double value = o->pass.fit - divergence(o);
  return isfinite(value) ? value : -INFINITY;
}

/* One step: standard deviations, means, variances; a step of the means that goes too far is
 * halved. 0 if none leads up, and then the last point stands. */
static int step_up(wide *o, gpc_wide_result *result) {
  const size_t bytes = o->pass.size * sizeof(double);
  const double before = result->elbo;
  double old_tau[GPC_WIDE_PARTS];
  memcpy(old_tau, o->tau, sizeof old_tau);
  memcpy(o->old_e, o->pass.e, bytes);
  memcpy(o->old_var, o->pass.var, bytes);
  choose_taus(o);
  solve_means(o);
  set_variances(o);
  double value = value_at(o, result);
  for (int halving = 0; halving < MOST_HALVINGS && value < before - o->settings->tol;
       halving++) {
    for (size_t i = 0; i < o->pass.size; i++)
      o->pass.e[i] = 0.5 * (o->pass.e[i] + o->old_e[i]);
    value = value_at(o, result);
  }
  if (value >= before - o->settings->tol) {
    result->elbo = value;
    return 1;
  }
  memcpy(o->tau, old_tau, sizeof old_tau);
  memcpy(o->pass.e, o->old_e, bytes);
  memcpy(o->pass.var, o->old_var, bytes);
  result->elbo = value_at(o, result);
  return 0;
}

/* Where the fit begins: at the offsets, without variances of the other effects. */
static void begin(wide *o, const gpc_offsets_result *offsets) {
  const size_t k = o->pass.k;
  for (int part = 0; part < GPC_WIDE_PARTS; part++) {
    const double held = o->settings->variance[part];
    o->tau[part] = isnan(held) ? centre[part] : sqrt(held);
  }
  if (offsets->kept) {
    memcpy(o->pass.e, offsets->mean, k * sizeof(double));
    memcpy(o->pass.var, offsets->var, k * sizeof(double));
    if (isnan(o->settings->variance[GPC_WIDE_OFFSET]))
      o->tau[GPC_WIDE_OFFSET] = fmin(fmax(offsets->tau, TAU_LOW), TAU_HIGH);
  }
  if (o->settings->site)
    memcpy(o->pass.e, o->settings->site->at, o->pass.size * sizeof(double));
}

void gpc_wide_fit(gpc_visitor *visitor, const gpc_visit *from,
                  const gpc_offsets_result *offsets, const gpc_wide_settings *settings,
                  gpc_wide_result *result) {
  wide o = get(visitor, from, offsets, settings);
  memset(result, 0, sizeof *result);
  result->tried = 1;
  result->steep = settings->steep;
  begin(&o, offsets);
  gpc_wide_visit(&o.pass);
  result->passes = 1;
  result->score = score_test(&o);
  result->mean = o.pass.e;
  result->var = o.pass.var;
  result->g = o.pass.g;
  result->h = o.pass.h;
  if (result->score < settings->least_score)
    return;
  result->elbo = -INFINITY; /* the first step has variances, the start has none */
  while (result->passes < settings->max_passes && !result->converged) {
    const double before = result->elbo;
    const int up = step_up(&o, result);
    result->converged = !up || fabs(result->elbo - before) < settings->tol;
  }
  memcpy(result->tau, o.tau, sizeof result->tau);
  const double without = offsets->kept ? offsets->elbo : offsets->none;
  result->kept = settings->least_score == -INFINITY ||
                 result->elbo - without > settings->least_worth;
}
