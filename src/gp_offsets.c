/* gp_offsets.c: see gp_offsets.h. */
#include "gp_offsets.h"
#include "gp_offsets_pass.h"
#include "fastexp.h"
#include "linalg.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define CENTRE 0.3 /* of tau's hyperprior, and its standard deviation in log tau */
#define SD 1.0
#define CG_STEPS 8
#define MOST_HALVINGS 12
#define LEAST_WORTH (-2.0) /* nats */
#define LEAST_SHARE 1e-6
#define FEW_SCORES 2000000

typedef struct {
  gpc_offsets_pass pass;
  double *old_b, *old_var; /* [k] */
  double *r, *d, *hd;      /* [k] of the conjugate gradients */
} offsets;

/* b := the maximum of g'd - 1/2 d'H d - 1/2 b'b / tau^2, d = b - b0, by conjugate
 * gradients with the diagonal as preconditioner. */
static void solve_means(offsets *o, double tau) {
  const double precision = 1.0 / (tau * tau);
  double rz = 0.0;
  for (size_t j = 0; j < o->pass.k; j++) { /* the residual at b0, and its direction */
    o->r[j] = o->pass.g[j] - precision * o->pass.b[j];
    o->d[j] = o->r[j] / (o->pass.h[j] + precision);
    rz += o->r[j] * o->d[j];
  }
  const double enough = 1e-6 * (1.0 + rz);
  for (int step = 0; step < CG_STEPS && rz > enough; step++) {
    double along = 0.0, next = 0.0;
    gpc_offsets_product(&o->pass, o->d, o->hd);
    for (size_t j = 0; j < o->pass.k; j++) {
      o->hd[j] += precision * o->d[j];
      along += o->d[j] * o->hd[j];
    }
    if (!(along > 0.0))
      break;
    for (size_t j = 0; j < o->pass.k; j++) {
      o->pass.b[j] += rz / along * o->d[j];
      o->r[j] -= rz / along * o->hd[j];
      next += o->r[j] * o->r[j] / (o->pass.h[j] + precision);
    }
    for (size_t j = 0; j < o->pass.k; j++)
      o->d[j] = o->r[j] / (o->pass.h[j] + precision) + next / rz * o->d[j];
    rz = next;
  }
}

static double hyperprior(double tau) {
  const double u = log(tau / CENTRE) / SD;
  return -0.5 * u * u;
}

/* The bound of tau with H's diagonal alone, profiled over b: for the choice of tau. */
static double tau_value(const offsets *o, double tau) {
  const double precision = 1.0 / (tau * tau);
  double sum = hyperprior(tau);
  for (size_t j = 0; j < o->pass.k; j++) {
    const double pull = o->pass.g[j] + o->pass.h[j] * o->pass.b[j];
    sum += 0.5 * pull * pull / (o->pass.h[j] + precision) -
           0.5 * log1p(o->pass.h[j] / precision);
  }
  return sum;
}

/* The best tau in [1e-3, 30], by golden section in log tau. */
static double best_tau(const offsets *o) {
  const double ratio = 0.6180339887498949;
  double low = log(1e-3), high = log(30.0);
  double a = high - ratio * (high - low), b = low + ratio * (high - low);
  double fa = tau_value(o, exp(a)), fb = tau_value(o, exp(b));
  while (high - low > 1e-3)
    if (fa > fb) {
      high = b;
      b = a;
      fb = fa;
      a = high - ratio * (high - low);
      fa = tau_value(o, exp(a));
    } else {
      low = a;
      a = b;
      fa = fb;
      b = low + ratio * (high - low);
      fb = tau_value(o, exp(b));
    }
  return exp(0.5 * (low + high));
}

static double divergence(const offsets *o, double tau) {
  double sum = 0.0;
  for (size_t j = 0; j < o->pass.k; j++) {
    const double part = o->pass.var[j] / (tau * tau);
    sum += 0.5 * (part + o->pass.b[j] * o->pass.b[j] / (tau * tau) - 1.0 - log(part));
  }
  return sum;
}

/* All that a fit needs beside a pass: from here on rows are kept. */
static void begin(const gpc_memory *memory, offsets *o) {
  const size_t k = o->pass.k;
  gpc_offsets_pass_keep(memory, &o->pass);
  o->old_b = gpc_get_doubles(memory, k);
  o->old_var = gpc_get_doubles(memory, k);
  o->r = gpc_get_doubles(memory, k);
  o->d = gpc_get_doubles(memory, k);
  o->hd = gpc_get_doubles(memory, k);
}

/* eq. (39): expected to be 0 without offsets, with standard deviation 1. */
static double score_test(const offsets *o) {
  double above = 0.0, below = 0.0;
  for (size_t j = 0; j < o->pass.k; j++) {
    above += o->pass.g[j] * o->pass.g[j] - o->pass.h[j];
    below += 2.0 * o->pass.h[j] * o->pass.h[j];
  }
  return below > 0.0 ? above / sqrt(below) : 0.0;
}

/* The bound at b and var, after one more pass. Where it is not finite the softmaxes may be
 * none either, and the next tilt is not to start from those. */
static double value_at(offsets *o, double tau, gpc_offsets_result *result) {
  gpc_offsets_visit(&o->pass, 1);
  result->passes++;
  const double value = o->pass.fit - divergence(o, tau) + hyperprior(tau);
  if (isfinite(value))
    return value;
  const size_t rows = (o->pass.n + GPC_OFFSETS_ROWS - 1) / GPC_OFFSETS_ROWS;
  for (size_t i = 0; i < rows * GPC_OFFSETS_ROWS * o->pass.k; i++)
    o->pass.pi[i] = 1.0 / (double)o->pass.k;
  return -INFINITY;
}

/* A step of b that went too far, from old_b, is halved until the bound is as high as it
 * was; the first step, which has none to be compared with, until halving no longer
 * helps. */
static double step_back(offsets *o, double tau, double before, double value,
                        gpc_offsets_result *result) {
  for (int halving = 0; halving < MOST_HALVINGS && value < before; halving++) {
    for (size_t j = 0; j < o->pass.k; j++)
      o->pass.b[j] = 0.5 * (o->pass.b[j] + o->old_b[j]);
    value = value_at(o, tau, result);
  }
  for (int halving = 0; halving < MOST_HALVINGS && before == -INFINITY; halving++) {
    for (size_t j = 0; j < o->pass.k; j++)
      o->pass.b[j] *= 0.5;
    const double half = value_at(o, tau, result);
    if (half <= value && value > -INFINITY) { /* back to the better one */
      for (size_t j = 0; j < o->pass.k; j++)
        o->pass.b[j] *= 2.0;
      return value_at(o, tau, result);
    }
    value = half;
  }
  return value;
}

/* Where latent values and softmaxes of the rows are, if they were kept. */
static void hand_over(const offsets *o, gpc_offsets_result *result) {
  result->phi = o->pass.kept ? o->pass.phi : NULL;
  result->pi = o->pass.kept ? o->pass.pi : NULL;
}

/* They are fitted whatever the test says, or are so few that to keep their rows costs less
 * than another pass. */
static int keeps(size_t n, size_t k, double least_score) {
  return least_score == -INFINITY || n * k <= FEW_SCORES;
}

size_t gpc_offsets_room(size_t n, size_t k, double least_score) {
  return keeps(n, k, least_score) ? gpc_offsets_pass_room(n, k) : 0;
}

/* Steps until the bound no longer rises. */
static void climb(offsets *o, const gpc_offsets_settings *settings,
                  gpc_offsets_result *result) {
  result->elbo = -INFINITY;
  result->converged = 0;
  /* at least one step: before it there is no bound */
  while ((result->passes < settings->max_passes || result->elbo == -INFINITY) &&
         !result->converged) {
    gpc_call_poll(settings->poll, settings->poll_data);
    const double tau = isnan(settings->variance) ? best_tau(o) : sqrt(settings->variance);
    memcpy(o->old_b, o->pass.b, o->pass.k * sizeof(double));
    memcpy(o->old_var, o->pass.var, o->pass.k * sizeof(double));
    solve_means(o, tau);
    for (size_t j = 0; j < o->pass.k; j++)
      o->pass.var[j] = 1.0 / (o->pass.h[j] + 1.0 / (tau * tau));
    const double before = result->elbo;
    double value = value_at(o, tau, result);
    if (value < (before > -INFINITY ? before - settings->tol : result->none))
      value = step_back(o, tau, before, value, result);
    result->converged = fabs(value - before) < settings->tol;
    if (value == -INFINITY ||
        value < before - settings->tol) { /* no step leads up: the last point stands */
      memcpy(o->pass.b, o->old_b, o->pass.k * sizeof(double));
      memcpy(o->pass.var, o->old_var, o->pass.k * sizeof(double));
      gpc_offsets_visit(&o->pass, 1);
      result->converged = 1;
      break;
    }
    result->tau = tau;
    result->elbo = value;
  }
}

/* eq. (39e): between none and all of the offsets, by the score test. */
static double share_of(const gpc_offsets_settings *settings, double score) {
  if (settings->least_score == -INFINITY || !isnan(settings->variance) ||
      score >= settings->full_score)
    return 1.0;
  const double width = settings->full_score - settings->least_score;
  return fmax((score - settings->least_score) / width, LEAST_SHARE);
}

/* The optimum again, with that share of tau^2. */
static void shrink(offsets *o, const gpc_offsets_settings *settings,
                   gpc_offsets_result *result) {
  gpc_offsets_settings held = *settings;
  const double elbo = result->elbo;
  const int converged = result->converged;
  held.variance = result->share * result->tau * result->tau;
  climb(o, &held, result);
  result->elbo = elbo;
  result->converged &= converged;
}

void gpc_offsets_fit(gpc_visitor *visitor, const gpc_visit *from,
                     const gpc_offsets_settings *settings, gpc_offsets_result *result) {
  offsets o = {.pass = gpc_offsets_pass_get(visitor, from, settings->site)};
  memset(result, 0, sizeof *result);
  result->at = o.pass.b;
  if (keeps(o.pass.n, o.pass.k, settings->least_score))
    begin(visitor->memory, &o);
  gpc_offsets_visit(&o.pass, 0);
  result->passes = 1;
  result->none = result->elbo = o.pass.fit;
  result->score = score_test(&o);
  hand_over(&o, result);
  if (result->score >= settings->least_score) {
    if (!o.pass.kept) {
      begin(visitor->memory, &o);
      gpc_offsets_visit(&o.pass, 0);
      result->passes++;
      hand_over(&o, result);
    }
    result->mean = o.pass.b;
    result->var = o.pass.var;
    climb(&o, settings, result);
    /* as with few classes: what was promised may not be kept */
    result->kept = isfinite(result->elbo) && (settings->least_score == -INFINITY ||
                                              result->elbo - result->none > LEAST_WORTH);
    result->share = share_of(settings, result->score);
    if (result->kept && result->share < 1.0)
      shrink(&o, settings, result);
  }
}

void gpc_offsets_freeze(gpc_visitor *visitor, const gpc_visit *from,
                        const gpc_offsets_site *site, gpc_offsets_result *result) {
  gpc_offsets_pass pass = gpc_offsets_pass_get(visitor, from, site);
  pass.cross = gpc_get_doubles(visitor->memory, pass.k);
  memcpy(pass.b, result->at, pass.k * sizeof(double));
  if (result->kept)
    memcpy(pass.var, result->var, pass.k * sizeof(double));
  gpc_offsets_visit(&pass, result->kept);
  result->g = pass.g;
  result->h = pass.h;
  result->cross = pass.cross;
}

#define APPLY_ROWS 64 /* rows of a block: a thousand classes of them fit the cache */

static void apply_rows(size_t rows, size_t n, size_t k, const double *offset, double top,
                       const double *p, double *to) {
  double sum[APPLY_ROWS] = {0};
  for (size_t j = 0; j < k; j++) {
    const double factor = gpc_exp_nonpos(offset[j] - top), *from = p + n * j;
    double *column = to + n * j;
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      column[i] = from[i] * factor;
      sum[i] += column[i];
    }
  }
  for (size_t i = 0; i < rows; i++)
    sum[i] = 1.0 / sum[i];
  for (size_t j = 0; j < k; j++) {
    double *column = to + n * j;
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      const double v = column[i] * sum[i];
      column[i] = v > DBL_MIN ? v : DBL_MIN;
    }
  }
}

void gpc_offsets_apply(size_t n, size_t k, const double *offset, const double *p,
                       double *to) {
  double top = -INFINITY;
  for (size_t j = 0; j < k; j++)
    top = fmax(top, offset[j]);
  for (size_t first = 0; first < n; first += APPLY_ROWS)
    apply_rows(n - first < APPLY_ROWS ? n - first : APPLY_ROWS, n, k, offset, top,
               p + first, to + first);
}
