/* The Gaussian process on tiny problems, as the .Call layer drives it: the whole fit, with
 * class effects, floors, averaging and a frozen site, then predictions, draws and latent
 * values of odd scores, under libFuzzer. */
#include "fuzz.h"

#include "../c/cmemory.h"
#include "gp_draws.h"
#include "gp_fit.h"
#include "gp_joint_predict.h"
#include "gp_predict.h"
#include "gp_two.h"

static void lines(bytes *b) {
  double low = take_finite(b), high = take_finite(b), from = take_finite(b), to = take_finite(b);
  if (!(high > low) || high > 1e145 || low < -1e145)
    return;
  from = fmin(fmax(from, low), high);
  to = fmin(fmax(to, from), high);
  if (!(to > from))
    return;
  gpc_line line;
  double step = (to - from) / (double)take_size(b, 1, 900);
  if (!(step > 0.0) || !gpc_line_make(low, high, from, to, step, 1.0 / 12.0, 4000, &line))
    return;
  HOLDS(line.g <= 4000);
  double z[16], tau[16], wts[12 * 16];
  int first[16];
  for (size_t i = 0; i < 16; i++)
    z[i] = i < 2 ? (i ? low : high) : take_double(b);
  gpc_line_coordinates(&line, 16, z, tau);
  gpc_line_weights(16, tau, 16, first, wts);
  for (size_t i = 0; i < 16; i++) {
    double sum = 0.0;
    HOLDS(first[i] >= 0 && (size_t)first[i] + GPC_STENCIL <= line.g);
    for (size_t q = 0; q < 12; q++)
      sum += wts[q * 16 + i];
    HOLDS(fabs(sum - 1.0) < 1e-9);
  }
  for (size_t j = 1; j < line.g; j++)
    HOLDS(gpc_line_node(&line, j) >= gpc_line_node(&line, j - 1));
}

static void are_probabilities(size_t n, size_t k, const double *p) {
  for (size_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < k; j++) {
      HOLDS(p[i + n * j] >= 0.0 && p[i + n * j] <= 1.0 + 1e-9);
      sum += p[i + n * j];
    }
    HOLDS(fabs(sum - 1.0) < 1e-8);
  }
}

static double *take_normals(bytes *b, size_t n) {
  double *x = room(n);
  for (size_t i = 0; i < n; i++)
    x[i] = ((double)take(b) - 128.0) / 40.0;
  return x;
}

#define PAIRS 4

/* The process alone: every approximation, draws, two classes, latent values. */
static void predict_process(const gpc_gp_data *rows, const gpc_gp_fitted *fit, bytes *b,
                            double *p) {
  const size_t n = rows->n, k = rows->k, m = fit->basis.m;
  gpc_gp_lookup lookup;
  HOLDS(gpc_gp_lookup_cells(fit) < 2000000);
  if (gpc_gp_lookup_make(fit, &cmemory, &lookup) != GPC_OK)
    return;
  for (int approx = 0; approx < 2; approx++) {
    HOLDS(gpc_gp_predict(rows, fit, (gpc_approx)approx, &cmemory, NULL, NULL, p) == GPC_OK);
    are_probabilities(n, k, p);
  }
  const double *tilt = take_normals(b, PAIRS);
  const gpc_gp_random random = {.pairs = PAIRS,
                                .x = take_normals(b, PAIRS * m),
                                .e = take_normals(b, PAIRS * k),
                                .tilt = take(b) % 2 ? tilt : NULL};
  memset(p, 0, n * k * sizeof(double));
  gpc_gp_draws(rows, &lookup, 0, n, &random, 0.5 / PAIRS,
               gpc_gp_draws_take(&lookup, k, PAIRS, 1, &cmemory), p, NULL);
  are_probabilities(n, k, p);
  if (k == 2) {
    gpc_gp_predict_two(rows, fit, &cmemory, NULL, NULL, p);
    are_probabilities(n, k, p);
  }
  double *mean = room(n), *var = room(n);
  gpc_gp_latent(fit, n, rows->z, room(n * (2 * m + 1)), mean, var);
  for (size_t i = 0; i < n; i++)
    HOLDS(isfinite(mean[i]) && isfinite(var[i]));
}

/* With class effects. */
static void predict_effects(const gpc_gp_data *rows, const gpc_gp_fitted *process,
                            const gpc_effects_result *effects, bytes *b, double *p) {
  const size_t n = rows->n, k = rows->k;
  const gpc_joint_fitted fit = {.process = *process,
                                .features = effects->features,
                                .effect = effects->effect,
                                .slopes = effects->slopes,
                                .cov = effects->cov};
  const size_t size = effects->m + effects->slopes + k * effects->features.r;
  for (int approx = 0; approx < 2; approx++) {
    if (gpc_joint_predict(rows, &fit, (gpc_approx)approx, &cmemory, NULL, NULL, p) !=
        GPC_OK)
      return; /* a covariance that rounding has spoilt: an error of R's */
    are_probabilities(n, k, p);
  }
  memset(p, 0, n * k * sizeof(double));
  const double *x = take_normals(b, size * PAIRS), *noise = take_normals(b, k * PAIRS);
  const gpc_lift lift = {
      .low = -1.0, .high = 1.0, .scale = 1.0, .growth = take_normals(b, PAIRS)};
  if (gpc_joint_draws(rows, &fit, PAIRS, x, noise, &lift, &cmemory, NULL, NULL, p,
                      NULL) == GPC_OK)
    are_probabilities(n, k, p);
}

/* New scores, most of them odd: probabilities whatever they are. */
static void predict(const gpc_gp_data *data, const gpc_fit_settings *s,
                    const gpc_fit_result *r, bytes *b) {
  const int effects = r->effects.kept;
  const gpc_params *at = effects ? &r->effects.at : &r->at;
  gpc_gp_fitted fit = {.basis = {.m = at->m,
                                 .inducing = at->inducing,
                                 .hyper = at->hyper,
                                 .chol = room(at->m * at->m)},
                       .prior = {.mean = s->mean, .slope = at->slope},
                       .q_mean = at->q_mean,
                       .q_cov = at->q_cov};
  if (gpc_basis_factor(&fit.basis) != GPC_OK)
    return;
  const size_t n = 12, k = data->k;
  const int logs = s->mean == GPC_MEAN_LOG;
  double *z = room(n * k), *p = room(n * k);
  for (size_t i = 0; i < n * k; i++)
    z[i] = logs ? fmax(take_unit(b), s->floor[r->floor])
                : fmin(fmax(take_finite(b), -1e145), 1e145);
  const gpc_gp_data rows = {
      .n = n, .k = k, .z = z, .floor = logs ? s->floor[r->floor] : -INFINITY, .threads = 1};
  if (effects)
    predict_effects(&rows, &fit, &r->effects, b, p);
  else
    predict_process(&rows, &fit, b, p);
  if (r->offsets.kept) {
    gpc_offsets_apply(n, k, r->offsets.mean, p, p);
    are_probabilities(n, k, p);
  }
}

/* Settings as gp_settings() in R makes them. */
static gpc_fit_settings take_settings(bytes *b, size_t k, gpc_mean mean, double *floors) {
  const unsigned kind = take(b);
  gpc_fit_settings s = {.mean = mean,
                        .cov = kind % 4 ? GPC_COV_FULL : GPC_COV_DIAG,
                        .centre = mean != GPC_MEAN_LOG && kind % 3,
                        .floors = 1,
                        .floor = floors,
                        .m = take(b) % 3 ? take_size(b, 2, 10) : 0,
                        .move = take(b) % 8 == 0,
                        .variance = NAN,
                        .lengthscale = NAN,
                        .slope = mean == GPC_MEAN_LOG ? 1.0 : NAN,
                        .noise = 1e-6,
                        .tol = 1e-4,
                        .max_passes = 12,
                        .bins = 8,
                        .worthless = take(b) % 2 ? -1.0 : -INFINITY,
                        .odds = take(b) % 2 ? 1.0 / 3.0 : 0.0,
                        .least_score = take(b) % 2 ? 0.0 : -INFINITY,
                        .full_score = 1.0};
  floors[0] = mean == GPC_MEAN_LOG ? 1e-6 : -INFINITY;
  if (mean == GPC_MEAN_LOG && take(b) % 2) {
    floors[1] = 1e-3;
    s.floors = 2;
  }
  const int plain = s.cov == GPC_COV_FULL && s.centre && !s.move;
  const unsigned which = take(b);
  for (int block = 0; block < GPC_BLOCKS; block++) {
    s.effects[block] = plain && which % 4 > (block > 0);
    s.effect_variance[block] = NAN;
  }
  s.many = take(b) % 4 == 0;
  if (s.many)
    for (int block = 1; block < GPC_BLOCKS; block++)
      s.effects[block] = 0;
  s.freeze = take(b) % 2;
  s.loosen = take(b) % 2;
  s.integrate = s.cov == GPC_COV_FULL && !s.move && take(b) % 2;
  return s;
}

/* arg [n]: the classes with the highest score. */
static void find_highest(const gpc_gp_data *data, int *arg) {
  for (size_t i = 0; i < data->n; i++) {
    size_t best = 0;
    for (size_t j = 1; j < data->k; j++)
      if (data->z[i + j * data->n] > data->z[i + best * data->n])
        best = j;
    arg[i] = (int)best + 1;
  }
}

static void fit(bytes *b) {
  const size_t n = take_size(b, 2, 24), k = take_size(b, 2, 6);
  const gpc_mean mean = take(b) % 4 ? GPC_MEAN_LINEAR : GPC_MEAN_LOG;
  double *z = mean == GPC_MEAN_LOG ? take_probs(b, n, k) : room(n * k), floors[2];
  for (size_t i = 0; i < n * k && mean != GPC_MEAN_LOG; i++)
    z[i] = take_finite(b);
  gpc_gp_data data = {.n = n,
                      .k = k,
                      .z = z,
                      .floor = -INFINITY,
                      .label = take_labels(b, n, k),
                      .w = take_weights(b, n),
                      .threads = 1};
  double total = 0.0;
  for (size_t i = 0; i < n; i++) { /* R leaves rows without weight out, and refuses more */
    total += gpc_gp_weight(&data, i);
    if (gpc_gp_weight(&data, i) == 0.0)
      return;
  }
  if (total > 1e12)
    return;
  gpc_fit_settings s = take_settings(b, k, mean, floors);
  int *arg = room_int(n);
  find_highest(&data, arg);
  s.arg = arg;
  gpc_fit_result r;
  const gpc_status status = gpc_gp_fit(&data, &s, &cmemory, NULL, NULL, NULL, &r);
  if (status == GPC_OK || status == GPC_NOT_CONVERGED) {
    HOLDS(isfinite(r.elbo) && isfinite(r.at.slope));
    HOLDS(r.at.hyper.s2 > 0.0 && r.at.hyper.l > 0.0);
    for (size_t i = 0; i < r.at.m * r.at.m; i++)
      HOLDS(isfinite(r.at.q_cov[i]));
    if (r.effects.kept)
      HOLDS(isfinite(r.effects.elbo));
    predict(&data, &s, &r, b);
  }
  cmemory_end();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bytes b = {data, size};
  if (take(&b) % 8 == 0)
    lines(&b);
  else
    fit(&b);
  return done();
}
