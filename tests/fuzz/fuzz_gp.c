/* The Gaussian process on tiny problems, as the .Call layer drives it: range, line, fit
 * (on the grid and on compressed rows), then tables, predictions and draws, under
 * libFuzzer. */
#include "fuzz.h"

#include "centred.h"
#include "gp_fit.h"
#include "gp_draws.h"
#include "gp_predict.h"
#include "gp_two.h"
#include "gp_prepare.h"
#include "linalg.h"
#include "seen.h"

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

static gpc_rows *compress(const gpc_gp_data *data, const gpc_line *line, size_t times) {
  gpc_rows *rows = room_bytes(sizeof *rows);
  gpc_line fine = gpc_line_refine(line, times);
  double *work = room(gpc_rows_work(data->k, fine.g, 1));
  size_t values, pairs;
  rows->value_at = room_bytes(data->n * sizeof(size_t));
  rows->stretch_at = room_bytes(data->n * sizeof(size_t));
  gpc_rows_layout(data, line, times, work, rows, &values, &pairs);
  rows->value = room(values);
  rows->stretch = room_int(2 * pairs);
  rows->stretches = room_int(data->n);
  rows->spread = room(times * GPC_STENCIL);
  gpc_rows_fill(data, work, rows);
  return rows;
}

static void *take_memory(void *data, size_t bytes) {
  (void)data;
  return room_bytes(bytes);
}

static const gpc_memory memory = {.take = take_memory};

/* New scores, the fit's own and odd ones: probabilities whatever they are. */
static void predict(const gpc_gp_data *data, const gpc_gp_state *state, gpc_mean mean, size_t m,
                    bytes *b) {
  gpc_gp_fitted fit = {
      .basis = {.m = m, .w = state->point.inducing, .hyper = state->point.hyper, .chol = room(m * m)},
      .prior = {.mean = mean, .slope = state->point.slope},
      .q_mean = state->point.q_mean,
      .q_cov = state->point.q_cov};
  if (gpc_basis_factor(&fit.basis) != GPC_OK)
    return;
  const size_t n = 12, k = data->k;
  double *z = room(n * k), *p = room(n * k);
  for (size_t i = 0; i < n * k; i++) {
    z[i] = mean == GPC_MEAN_LOG ? fmax(take_unit(b), data->floor) : take_finite(b);
    z[i] = fmin(fmax(z[i], -1e145), 1e145);
  }
  gpc_gp_data rows = {n, k, z, NULL, data->floor, NULL, NULL, 1};
  if (mean != GPC_MEAN_LOG)
    rows.floor = -INFINITY;
  gpc_gp_lookup lookup;
  HOLDS(gpc_gp_lookup_cells(&fit) < 2000000);
  if (gpc_gp_lookup_make(&fit, &memory, &lookup) != GPC_OK)
    return;
  for (int approx = 0; approx < 3; approx++) {
    if (approx < 2) {
      HOLDS(gpc_gp_predict(&rows, &fit, (gpc_approx)approx, &memory, NULL, NULL, p) == GPC_OK);
    } else {
      double x[4 * 64], e[4 * 8], tilt[4];
      for (size_t i = 0; i < 4; i++)
        tilt[i] = ((double)take(b) - 128.0) / 40.0;
      for (size_t i = 0; i < 4 * m; i++)
        x[i] = ((double)take(b) - 128.0) / 40.0;
      for (size_t i = 0; i < 4 * k; i++)
        e[i] = ((double)take(b) - 128.0) / 40.0;
      gpc_gp_random random = {.pairs = 4, .x = x, .e = e, .tilt = take(b) % 2 ? tilt : NULL};
      memset(p, 0, n * k * sizeof(double));
      gpc_gp_draws(&rows, &lookup, 0, n, &random, 1.0 / 8.0, gpc_gp_draws_take(&lookup, k, 4, 1, &memory), p,
                   NULL);
    }
    for (size_t i = 0; i < n; i++) {
      double sum = 0.0;
      for (size_t j = 0; j < k; j++) {
        HOLDS(p[i + n * j] >= 0.0 && p[i + n * j] <= 1.0 + 1e-9);
        sum += p[i + n * j];
      }
      HOLDS(fabs(sum - 1.0) < 1e-8);
    }
  }
  if (k == 2) {
    gpc_gp_predict_two(&rows, &fit, &memory, NULL, NULL, p);
    for (size_t i = 0; i < n; i++)
      HOLDS(p[i] >= 0.0 && p[i + n] >= 0.0 && fabs(p[i] + p[i + n] - 1.0) < 1e-9);
  }
  double *mean_at = room(n), *var = room(n);
  gpc_gp_latent(&fit, n, z, room(n * (2 * m + 1)), mean_at, var);
  for (size_t i = 0; i < n; i++)
    HOLDS(isfinite(mean_at[i]) && isfinite(var[i]));
}

static void fit(bytes *b) {
  const size_t n = take_size(b, 2, 24), k = take_size(b, 2, 6), m = take_size(b, 2, 10);
  const gpc_mean mean = take(b) % 4 ? GPC_MEAN_LINEAR : GPC_MEAN_LOG;
  double *z = mean == GPC_MEAN_LOG ? take_probs(b, n, k) : room(n * k), *shift = NULL;
  gpc_gp_data data = {n, k, z, NULL, -INFINITY, take_labels(b, n, k), take_weights(b, n), 1};
  if (mean == GPC_MEAN_LOG) {
    data.floor = 1e-6;
  } else {
    for (size_t i = 0; i < n * k; i++)
      z[i] = take_finite(b);
    shift = take(b) % 3 ? room(n) : NULL;
  }
  double *lows = room(n), *highs = room(n);
  gpc_gp_row_range(&data, shift, lows, highs);
  data.shift = shift;
  const int flat = gpc_gp_is_flat(n, shift, lows, highs);
  gpc_gp_range range;
  gpc_gp_find_range(n, lows, highs, &range);
  /* check_resolution() in R */
  const double size = fmax(fabs(range.lowest), fabs(range.highest));
  if (flat || !(size < 1e145) || size < 1e-145 || range.highest - range.lowest < 1e-9 * size)
    return;
  HOLDS(range.bulk_low >= range.lowest && range.bulk_high <= range.highest);
  const double low = range.bulk_low, high = range.bulk_high, width = high - low;
  if (!(width > 0.0))
    return;
  gpc_gp_setup setup;
  memset(&setup, 0, sizeof setup);
  double start_l[2] = {width / 4.0, width / 16.0};
  const double spacing = width / (double)(m - 1), short_l = width / 300.0;
  setup.mean = mean;
  setup.cov = take(b) % 2 ? GPC_COV_FULL : GPC_COV_DIAG;
  setup.m = m;
  setup.slope_free = mean == GPC_MEAN_LINEAR;
  setup.slope_low = mean == GPC_MEAN_LINEAR ? 0.01 / width : 1.0;
  setup.slope_high = mean == GPC_MEAN_LINEAR ? 1000.0 / width : 1.0;
  const double l_low = fmax(fmin(spacing, width), short_l);
  gpc_surrogate_box box = {1, 1, (int)(take(b) % 5 == 0), 1.0, 1e-6, 1e4, l_low, fmax(4.0 * width, 2.0 * l_low),
                           10, 1e-5, NULL, NULL};
  setup.box = box;
  for (int i = 0; i < 2; i++)
    start_l[i] = fmin(fmax(start_l[i], l_low), box.l_high);
  setup.start_l = start_l;
  setup.starts = start_l[0] == start_l[1] ? 1 : 2;
  setup.max_passes = 12;
  setup.tol = 1e-4;
  setup.may_halve = 1;
  double step = fmin(spacing / 5.0, fmin(start_l[0], l_low) / 5.0);
  step = fmax(step, (width + 2.0 * start_l[0]) / 3000.0);
  gpc_gp_state state = {{0.0,
                         mean == GPC_MEAN_LINEAR ? 1.0 / width : 1.0,
                         {1.0, start_l[0], 1e-6},
                         room(m),
                         room(m),
                         room(m * m)},
                        0.0,
                        0.0,
                        0,
                        0,
                        0,
                        0.0,
                        room(m)};
  for (size_t i = 0; i < m; i++)
    state.point.inducing[i] = low + width * (double)i / (double)(m - 1);
  memset(state.point.q_mean, 0, m * sizeof(double));
  memset(state.point.q_cov, 0, m * m * sizeof(double));
  gpc_status status = GPC_TOO_COARSE;
  gpc_gp_finer finer = {0, 1};
  const int use_rows = (int)(take(b) % 2);
  for (int rounds = 0; status == GPC_TOO_COARSE; rounds++) {
    HOLDS(rounds < 40);
    if (finer.halve) {
      gpc_line next;
      if (!gpc_line_make(range.lowest, range.highest, low, high, step, 1.0 / 12.0, 500, &setup.line))
        return; /* more nodes than are quick; in R up to 4000 */
      step *= 0.5;
      setup.may_halve =
          gpc_line_make(range.lowest, range.highest, low, high, step, 1.0 / 12.0, 250, &next);
      double *y = room(setup.line.g);
      setup.logs = gpc_gp_labels(&data, mean, &setup.line, y);
      setup.y = y;
      finer.times = 2;
    }
    setup.rows = NULL;
    if (use_rows && finer.times > 0 && (setup.line.g - 1) * finer.times < 1000)
      setup.rows = compress(&data, &setup.line, finer.times);
    status = gpc_gp_fit(&data, &setup, NULL, NULL, room(gpc_gp_fit_work(&data, &setup)), &state, &finer);
    finer.times += finer.times / 4;
  }
  if (status == GPC_NOT_PD || status == GPC_NOT_FINITE)
    return;
  HOLDS(isfinite(state.elbo) && isfinite(state.point.slope));
  HOLDS(state.point.hyper.s2 > 0.0 && state.point.hyper.l > 0.0);
  for (size_t i = 0; i < m * m; i++)
    HOLDS(isfinite(state.point.q_cov[i]));
  predict(&data, &state, mean, m, b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bytes b = {data, size};
  if (take(&b) % 8 == 0)
    lines(&b);
  else
    fit(&b);
  return done();
}
