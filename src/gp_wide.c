/* gp_wide.c: see gp_wide.h. */
#include "gp_wide.h"
#include "gp_offsets_pass.h"
#include "gp_wide_step.h"

#include <math.h>
#include <string.h>

#define MOST_HALVINGS 12

/* Blocks of GPC_OFFSETS_ROWS rows, which lie class by class, row by row instead, in place:
 * room [GPC_OFFSETS_ROWS k]. */
#define BY_ROWS(name, number)                                                            \
  static void name(size_t n, size_t k, number *room, number *x) {                        \
    const size_t each = GPC_OFFSETS_ROWS;                                                \
    for (size_t first = 0; first < n; first += each) {                                   \
      number *block = x + first * k;                                                     \
      memcpy(room, block, each *k * sizeof(number));                                     \
      for (size_t i = 0; i < each; i++)                                                  \
        for (size_t j = 0; j < k; j++)                                                   \
          block[j + k * i] = room[i + each * j];                                         \
    }                                                                                    \
  }
BY_ROWS(by_rows, double)
BY_ROWS(floats_by_rows, float)

static gpc_wide_climb get(gpc_visitor *visitor, const gpc_visit *from,
                          const gpc_offsets_result *offsets,
                          const gpc_wide_settings *settings) {
  const gpc_memory *memory = visitor->memory;
  const size_t n = visitor->data->n, k = visitor->data->k, size = gpc_wide_size(k);
  float *phi = offsets->phi;
  double *pi = offsets->pi;
  if (!phi) { /* the offsets kept nothing of their rows */
    gpc_offsets_pass pass = gpc_offsets_pass_get(visitor, from, NULL);
    gpc_offsets_pass_keep(memory, &pass);
    gpc_offsets_visit(&pass, 0);
    phi = pass.phi;
    pi = pass.pi;
  }
  double *room = gpc_get_doubles(memory, GPC_OFFSETS_ROWS * k), *all[7];
  float *short_room = gpc_get_floats(memory, GPC_OFFSETS_ROWS * k);
  by_rows(n, k, room, pi);
  floats_by_rows(n, k, short_room, phi);
  gpc_give(memory, room);
  gpc_give(memory, short_room);
  for (int i = 0; i < 7; i++) {
    all[i] = gpc_get_doubles(memory, size);
    memset(all[i], 0, size * sizeof(double));
  }
  gpc_wide_climb o = {
      .pass = {.data = visitor->data,
               .rows = gpc_wide_rows_get(visitor->data, settings->steep,
                                         settings->site && settings->site->power, memory),
               .site = settings->site,
               .n = n,
               .k = k,
               .size = size,
               .has = {1, settings->site && settings->site->power, 1},
               .phi = phi,
               .pi = pi,
               .e = all[0],
               .var = all[1],
               .g = all[2],
               .h = all[3],
               .work = gpc_get_doubles(memory, 3 * k),
               .poll = settings->poll,
               .poll_data = settings->poll_data},
      .settings = settings,
      .old_e = all[4],
      .d = all[5],
      .hd = all[6]};
  return o;
}

/* eq. (39), over the effects of the matrix. */
static double score_test(const gpc_wide_climb *o) {
  double above = 0.0, below = 0.0;
  for (size_t i = gpc_wide_first(o->pass.k, GPC_WIDE_SOFTMAX); i < o->pass.size; i++) {
    above += o->pass.g[i] * o->pass.g[i] - o->pass.h[i];
    below += 2.0 * o->pass.h[i] * o->pass.h[i];
  }
  return below > 0.0 ? above / sqrt(below) : 0.0;
}

/* The bound at e and var, after one more pass. Where it is not finite the softmaxes may be
 * none either, and the next tilt is not to start from those. */
static double value_at(gpc_wide_climb *o, gpc_wide_result *result) {
  gpc_wide_visit(&o->pass);
  result->passes++;
  const double value = o->pass.fit - gpc_wide_divergence(o);
  if (isfinite(value))
    return value;
  for (size_t i = 0; i < o->pass.n * o->pass.k; i++)
    o->pass.pi[i] = 1.0 / (double)o->pass.k;
  return -INFINITY;
}

/* The first step has nothing to be compared with, and yet needs a bound. */
static int leads_up(double value, double before, double tol) {
  return value > -INFINITY && value >= before - tol;
}

/* One step: standard deviations, means, variances; a step of the means that goes too far is
 * halved. 0 if none leads up, and then the last point stands. */
static int step_up(gpc_wide_climb *o, gpc_wide_result *result) {
  const size_t bytes = o->pass.size * sizeof(double);
  const double before = result->elbo, tol = o->settings->tol;
  double old_tau[GPC_WIDE_PARTS], *old_var = o->d; /* in use for the means alone */
  memcpy(old_tau, o->tau, sizeof old_tau);
  memcpy(o->old_e, o->pass.e, bytes);
  gpc_wide_choose_taus(o);
  gpc_wide_solve_means(o);
  memcpy(old_var, o->pass.var, bytes);
  gpc_wide_set_variances(o);
  double value = value_at(o, result);
  for (int halving = 0; halving < MOST_HALVINGS && !leads_up(value, before, tol);
       halving++) {
    for (size_t i = 0; i < o->pass.size; i++)
      o->pass.e[i] = 0.5 * (o->pass.e[i] + o->old_e[i]);
    value = value_at(o, result);
  }
  if (leads_up(value, before, tol)) {
    result->elbo = value;
    return 1;
  }
  memcpy(o->tau, old_tau, sizeof old_tau);
  memcpy(o->pass.e, o->old_e, bytes);
  memcpy(o->pass.var, old_var, bytes);
  result->elbo = value_at(o, result);
  return 0;
}

/* Where the fit begins: at the offsets, without variances of the other effects. */
static void begin(gpc_wide_climb *o, const gpc_offsets_result *offsets) {
  const size_t k = o->pass.k;
  for (int part = 0; part < GPC_WIDE_PARTS; part++) {
    const double held = o->settings->variance[part];
    o->tau[part] = isnan(held) ? gpc_wide_centre[part] : sqrt(held);
  }
  if (offsets->kept) {
    memcpy(o->pass.e, offsets->mean, k * sizeof(double));
    memcpy(o->pass.var, offsets->var, k * sizeof(double));
    if (isnan(o->settings->variance[GPC_WIDE_OFFSET]))
      o->tau[GPC_WIDE_OFFSET] =
          fmin(fmax(offsets->tau, GPC_WIDE_TAU_LOW), GPC_WIDE_TAU_HIGH);
  }
  if (o->settings->site)
    memcpy(o->pass.e, o->settings->site->at, o->pass.size * sizeof(double));
}

/* Steps until none leads up, and at least one: before it there is no bound. */
static void climb(gpc_wide_climb *o, gpc_wide_result *result) {
  result->converged = 0;
  while ((result->passes < o->settings->max_passes || result->elbo == -INFINITY) &&
         !result->converged) {
    const double before = result->elbo;
    const int up = step_up(o, result);
    result->converged = !up || fabs(result->elbo - before) < o->settings->tol;
  }
}

/* What a quadratic says of no effects at all. */
static double at_zero(size_t n, const double *at, const double *g, const double *h) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum -= at[i] * (g[i] + 0.5 * h[i] * at[i]);
  return sum;
}

/* Quadratics of rows seen before are 0 where they were made. Those of the offsets, and
 * these, shall be the same without effects: by how much this is to be raised. */
static double site_shift(size_t k, const gpc_wide_settings *settings) {
  const gpc_wide_site *site = settings->site;
  const gpc_offsets_site *offsets = settings->offsets_site;
  double shift = 0.0, g, h;
  if (!site || !offsets)
    return 0.0;
  for (size_t j = 0; j < k; j++)
    shift += gpc_offsets_site_value(offsets, j, 0.0, &g, &h);
  return shift - at_zero(gpc_wide_size(k), site->at, site->g, site->h);
}

#define WORTH_POWERS 2.0 /* nats: with a matrix worth less, powers are not tried */

/* Powers as well, from where the fit without them ended, if the bound is then higher. */
static void try_powers(gpc_wide_climb *o, const gpc_memory *memory,
                       gpc_wide_result *result) {
  const size_t bytes = o->pass.size * sizeof(double);
  const double without = result->elbo;
  const int converged = result->converged;
  double *e = gpc_get_doubles(memory, o->pass.size), tau[GPC_WIDE_PARTS];
  double *var = gpc_get_doubles(memory, o->pass.size);
  memcpy(e, o->pass.e, bytes);
  memcpy(var, o->pass.var, bytes);
  memcpy(tau, o->tau, sizeof tau);
  o->pass.has[GPC_WIDE_POWER] = 1;
  gpc_wide_rows_powers(o->pass.data, o->settings->steep, memory, o->pass.rows);
  gpc_wide_visit(&o->pass);
  result->passes++;
  result->elbo = -INFINITY;
  climb(o, result);
  if (result->elbo > without)
    return;
  o->pass.has[GPC_WIDE_POWER] = 0;
  memcpy(o->pass.e, e, bytes);
  memcpy(o->pass.var, var, bytes);
  memcpy(o->tau, tau, sizeof tau);
  result->elbo = value_at(o, result);
  result->converged = converged;
}

void gpc_wide_fit(gpc_visitor *visitor, const gpc_visit *from,
                  const gpc_offsets_result *offsets, const gpc_wide_settings *settings,
                  gpc_wide_result *result) {
  gpc_wide_climb o = get(visitor, from, offsets, settings);
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
  const double shift = site_shift(o.pass.k, settings);
  const double without = (offsets->kept ? offsets->elbo : offsets->none) - shift;
  result->elbo = -INFINITY; /* the first step has variances, the start has none */
  climb(&o, result);
  /* rows seen before that were frozen without powers say nothing of them */
  if (settings->power && !settings->site && result->passes + 1 < settings->max_passes &&
      result->elbo - without > WORTH_POWERS)
    try_powers(&o, visitor->memory, result);
  memcpy(result->tau, o.tau, sizeof result->tau);
  result->power = o.pass.has[GPC_WIDE_POWER];
  result->kept =
      isfinite(result->elbo) && (settings->least_score == -INFINITY ||
                                 result->elbo - without > settings->least_worth);
  result->elbo += shift;
  if (!result->kept && settings->freeze) { /* about effects of 0, like the other fit */
    memset(o.pass.e, 0, o.pass.size * sizeof(double));
    memset(o.pass.var, 0, o.pass.size * sizeof(double));
    begin(&o, offsets);
    gpc_wide_visit(&o.pass);
    result->passes++;
  }
}
