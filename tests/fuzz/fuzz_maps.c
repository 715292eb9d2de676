/* Isotonic, histogram and BBQ fits, Platt scaling and beta calibration, and the maps they
 * leave, under libFuzzer. */
#include "fuzz.h"

#include "bbq.h"
#include "histogram.h"
#include "isotonic.h"
#include "ova.h"
#include "scaling.h"

static gpc_one take_one(bytes *b, double **x) {
  const size_t n = take_size(b, 1, 200);
  *x = room(n);
  for (size_t i = 0; i < n; i++)
    (*x)[i] = take_unit(b);
  gpc_one one = {n, *x, take_labels(b, n, 2), 2, take_weights(b, n)};
  return one;
}

/* A class has a map when it occurs, and others do: the rest is R's constant rate, see
 * ova_data(). */
static int has_map(const gpc_one *one, double *total) {
  double hits = 0.0;
  *total = 0.0;
  for (size_t i = 0; i < one->n; i++) {
    double w = one->weights ? one->weights[i] : 1.0;
    *total += w;
    hits += one->label[i] == one->code ? w : 0.0;
  }
  return hits > 1e-15 * *total && *total - hits > 1e-15 * *total;
}

static void check_curve(gpc_curve_kind kind, size_t m, const double *x, const double *y, int empty,
                        bytes *b) {
  HOLDS(m >= 1);
  for (size_t i = 0; i < m; i++) {
    HOLDS((y[i] >= 0.0 && y[i] <= 1.0) || (empty && y[i] != y[i]));
    HOLDS(i == 0 || x[i] > x[i - 1]);
  }
  double score[64], value[64];
  for (size_t i = 0; i < 64; i++)
    score[i] = take_unit(b);
  gpc_curve curve = {kind, m, x, y};
  gpc_curve_apply(&curve, 64, score, value);
  for (size_t i = 0; i < 64; i++)
    HOLDS(value[i] >= 0.0 && value[i] <= 1.0);
}

static void curves(bytes *b) {
  double *s, total;
  gpc_one one = take_one(b, &s);
  if (!has_map(&one, &total))
    return;
  const int weighted = one.weights != NULL;
  const unsigned which = take(b) % 4;
  if (which < 2) {
    const size_t most = gpc_isotonic_points(one.n, weighted);
    double *x = room(most), *y = room(most);
    size_t m = gpc_isotonic_fit(&one, (int)which, x, y, room_bytes(gpc_isotonic_work(one.n, weighted)));
    HOLDS(m <= most);
    check_curve(which ? GPC_CURVE_LINEAR : GPC_CURVE_UPTO, m, x, y, 0, b);
  } else if (which == 2) {
    const size_t bins = take_size(b, 1, 300);
    const int mass = (int)(take(b) % 2);
    double *x = room(bins), *y = room(bins);
    size_t m = gpc_histogram_fit(&one, bins, mass, x, y,
                                 room_bytes(gpc_histogram_work(one.n, bins, mass)));
    HOLDS(m <= bins);
    check_curve(GPC_CURVE_UPTO, m, x, y, 1, b);
  } else if (total <= 1e9) {
    double *x = room(one.n), *y = room(one.n), evidence;
    size_t m = gpc_bbq_fit(&one, total, x, y, &evidence,
                           room_bytes(gpc_bbq_work(one.n, total, weighted)));
    HOLDS(m <= one.n && isfinite(evidence));
    check_curve(GPC_CURVE_UPTO, m, x, y, 0, b);
  }
}

static void check_rows(const gpc_ova *ova, size_t k, int logits, bytes *b) {
  const size_t n = 20;
  double *z = take_probs(b, n, k), *p = room(n * k);
  for (size_t i = 0; logits && i < n * k; i++) {
    z[i] = take_double(b);
    z[i] = z[i] < INFINITY && (i >= n || z[i] > -INFINITY) ? z[i] : 0.0;
  }
  gpc_ova_predict(ova, n, k, z, logits, 1, NULL, NULL, p);
  for (size_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < k; j++) {
      HOLDS(p[i + n * j] >= 0.0 && p[i + n * j] <= 1.0);
      sum += p[i + n * j];
    }
    HOLDS(fabs(sum - 1.0) < 1e-9);
  }
}

static void scaling(bytes *b) {
  double *x, total, coef[3], range[2] = {0.0, 0.0};
  gpc_one one = take_one(b, &x);
  if (!has_map(&one, &total))
    return;
  const int beta = (int)(take(b) % 2), log_odds = !beta && take(b) % 2;
  gpc_logistic_result r;
  if (beta) {
    double *rest = room(one.n), clip = take(b) % 2 ? 0x1p-52 : 1e-300;
    for (size_t i = 0; i < one.n; i++)
      rest[i] = 1.0 - x[i];
    gpc_beta_fit(&one, rest, (gpc_beta_params)(take(b) % 3), clip, 1e-6, 100, room(2 * one.n), &r);
    HOLDS(r.coef[0] >= 0.0 && r.coef[1] >= 0.0 && isfinite(r.coef[2]));
    gpc_ova ova = {GPC_MAP_BETA, 1, GPC_CURVE_LINEAR, NULL, NULL, NULL, coef, NULL, clip, 0};
    memcpy(coef, r.coef, sizeof coef);
    check_rows(&ova, 2, (int)(take(b) % 2), b);
  } else {
    for (size_t i = 0; log_odds && i < one.n; i++) {
      x[i] = take_double(b);
      x[i] = x[i] == x[i] ? x[i] : 0.0;
    }
    gpc_bound_infinite(one.n, one.weights, take(b) % 2 ? 36.0 : 1e308, x, range);
    gpc_platt_fit(&one, (int)(take(b) % 2), 1e-6, 100, &r);
    gpc_ova ova = {GPC_MAP_PLATT, 1, GPC_CURVE_LINEAR, NULL, NULL, NULL, coef, range, 0.0, log_odds};
    memcpy(coef, r.coef, sizeof coef);
    check_rows(&ova, 2, log_odds && take(b) % 2, b);
  }
  HOLDS(isfinite(r.coef[0]) && isfinite(r.coef[1]));
}

/* Several maps of points at once. */
static void many(bytes *b) {
  const size_t k = take_size(b, 3, 7);
  int *start = room_int(k + 1);
  start[0] = 0;
  for (size_t j = 0; j < k; j++)
    start[j + 1] = start[j] + 1 + (int)(take(b) % 4);
  double *x = room((size_t)start[k]), *y = room((size_t)start[k]);
  for (size_t j = 0; j < k; j++)
    for (int i = start[j]; i < start[j + 1]; i++) {
      const double m = start[j + 1] - start[j], place = i - start[j];
      x[i] = (place + take_unit(b) * 0.9) / m;
      y[i] = (place + take_unit(b)) / m;
    }
  gpc_ova ova = {GPC_MAP_CURVE, k,    (gpc_curve_kind)(take(b) % 2), x, y, start, NULL, NULL,
                 0.0,           0};
  check_rows(&ova, k, (int)(take(b) % 2), b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static void (*const targets[])(bytes *) = {curves, curves, scaling, scaling, many};
  bytes b = {data, size};
  targets[take(&b) % 5](&b);
  return done();
}
