/* The first look at scores, softmax, temperature, sorting, pooling, bins, measures and
 * resampling, under libFuzzer. The first byte says which. */
#include "fuzz.h"

#include "corp.h"
#include "pava.h"
#include "radix.h"
#include "resample.h"
#include "scan.h"
#include "select.h"
#include "softmax.h"
#include "temperature.h"

static void scan(bytes *b) {
  const size_t n = take_size(b, 0, 600), k = take_size(b, 1, 9);
  double *x = room(n * k), *top = room(n), *low = room(n), *sum = room(n),
         *part = room(4 * gpc_block_count(n, k)), *p = room(n * (k < 2 ? 2 : k));
  int *arg = room_int(n);
  for (size_t i = 0; i < n * k; i++)
    x[i] = i < 200 ? take_double(b) : x[i % 200];
  gpc_scan_range range;
  gpc_scan_rows(n, k, x, 1, top, arg, low, sum, part, &range);
  for (size_t i = 0; i < n; i++)
    HOLDS(arg[i] >= 1 && (size_t)arg[i] <= k);
  gpc_scan_rows(n, k, x, 1, NULL, arg, NULL, NULL, part, &range);
  if (k == 1)
    gpc_pair_probs(n, x, (int)(take(b) % 2), p);
  else
    gpc_normalise_rows(n, k, x, 1e-10, p);
}

static void softmax(bytes *b) {
  const size_t n = take_size(b, 1, 40), k = take_size(b, 2, 9);
  double *z = room(n * k), *p = room(n * k);
  const double beta = 0.01 + take(b), floor = take(b) % 2 ? -INFINITY : take_finite(b);
  for (size_t i = 0; i < n * k; i++) {
    z[i] = take_double(b);
    if (!(z[i] < INFINITY) || (i < n && !isfinite(z[i])))
      z[i] = 0.0;
  }
  gpc_softmax(n, k, z, beta, floor, 1, p);
  for (size_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < k; j++) {
      HOLDS(p[i + n * j] >= 0.0 && p[i + n * j] <= 1.0);
      sum += p[i + n * j];
    }
    HOLDS(fabs(sum - 1.0) < 1e-12);
  }
  gpc_log_softmax(n, k, z, 1, p);
  for (size_t i = 0; i < n * k; i++)
    HOLDS(p[i] <= 1e-12);
}

static void temperature(bytes *b) {
  const size_t n = take_size(b, 1, 60), k = take_size(b, 2, 6);
  double *z = room(n * k);
  gpc_temperature_data data = {n, k, z, take_labels(b, n, k), take_weights(b, n), -INFINITY, 1};
  if (take(b) % 3 == 0)
    data.floor = take_finite(b);
  for (size_t i = 0; i < n * k; i++)
    z[i] = take_finite(b);
  gpc_temperature_result r;
  double *work = room(gpc_temperature_work(n, k));
  gpc_status status =
      gpc_temperature_fit(&data, take(b) % 2 ? 0.0 : 1e-3 + take(b), 1e-10, 100, NULL, NULL, work, &r);
  HOLDS(r.passes <= 100);
  if (status == GPC_NOT_FINITE)
    return;
  HOLDS(r.beta > 0.0 && isfinite(r.beta) && isfinite(1.0 / r.beta));
  HOLDS(isfinite(r.loss));
  HOLDS(r.curvature >= 0.0); /* squares of the scores may be too small or too large */
}

static void sorting(bytes *b) {
  const size_t n = take_size(b, 1, 500);
  double *x = room(n), *y = room(n), *score = room(n), *hits = room(n), *weight = room(n),
         *w = take_weights(b, n);
  int *order = room_int(n), *group = room_int(n), *first = room_int(n);
  for (size_t i = 0; i < n; i++) {
    x[i] = take_double(b);
    x[i] = x[i] == x[i] ? x[i] : 0.0;
    y[i] = take(b) % 2;
  }
  gpc_radix_order(n, x, order, room_bytes(gpc_radix_work(n)));
  for (size_t i = 1; i < n; i++)
    HOLDS(x[order[i - 1]] < x[order[i]] ||
          (x[order[i - 1]] == x[order[i]] && order[i - 1] < order[i]));
  size_t m = gpc_pava_ties(n, x, y, w, order, score, hits, weight, group);
  for (size_t i = 0; i < n; i++)
    HOLDS(group[i] >= -1 && group[i] < (int)m);
  size_t blocks = gpc_pava_pool(m, hits, weight, first);
  HOLDS(blocks <= m && (m == 0 || blocks > 0));
  for (size_t i = 1; i < blocks; i++)
    HOLDS(hits[i - 1] / weight[i - 1] <= hits[i] / weight[i]);
  uint64_t *key = room_bytes(n * sizeof *key), *other = room_bytes(n * sizeof *key);
  memcpy(key, x, n * sizeof *key);
  uint64_t *sorted = gpc_radix_keys(n, key, other, room_bytes(GPC_RADIX_COUNTS * sizeof(uint32_t)));
  for (size_t i = 1; i < n; i++)
    HOLDS(sorted[i - 1] <= sorted[i]);
  for (size_t i = 0; i < n; i++)
    x[i] = isfinite(x[i]) ? x[i] : 0.0;
  double prob = take_unit(b), q = gpc_quantile(n, x, prob);
  HOLDS(q == q);
}

static gpc_forecast forecast(bytes *b) {
  const size_t n = take_size(b, 1, 120), k = take_size(b, 2, 5);
  double *p = take_probs(b, n, k), *conf = room(n);
  int *pred = room_int(n);
  gpc_scan_range range;
  gpc_scan_rows(n, k, p, 1, conf, pred, NULL, NULL, room(4 * gpc_block_count(n, k)), &range);
  gpc_forecast f = {n, k, p, take_labels(b, n, k), conf, pred, take_weights(b, n)};
  return f;
}

static gpc_ece_spec spec(bytes *b, size_t k) {
  static const double norms[] = {1.0, 1.5, 2.0, 3.0, 700.0, INFINITY, 1e300};
  gpc_ece_spec s = {(gpc_ece_type)(take(b) % 4), 1 + (int)(take(b) % k), take_size(b, 1, 300),
                    (int)(take(b) % 2), (gpc_ece_estimator)(take(b) % 3), norms[take(b) % 7], 0};
  s.debias = s.norm == 2.0 && s.estimator == GPC_MEAN && take(b) % 2;
  return s;
}

static gpc_by_class groups_of(const gpc_forecast *f) {
  gpc_by_class g = {room_bytes((f->k + 1) * sizeof(size_t)), room(f->n), room_int(f->n),
                    f->weights ? room(f->n) : NULL};
  return g;
}

static void measures(bytes *b) {
  gpc_forecast f = forecast(b);
  gpc_ece_spec s = spec(b, f.k);
  const size_t problems = gpc_problem_count(s.type, f.k);
  double *edges = room(s.bins + 1), *gaps = room(s.bins), *errors = room(problems), *weights = room(problems);
  void *sort = room_bytes(gpc_binning_mass_work(f.n));
  gpc_bin_sums sums = {room(s.bins), room(s.bins), room(s.bins), room(s.bins), room(s.bins)};
  gpc_by_class groups = groups_of(&f);
  gpc_by_class_fill(&f, &groups);
  for (size_t i = 0; i < problems; i++) {
    gpc_problem problem = gpc_problem_get(&f, &s, &groups, i);
    gpc_binning binning = gpc_problem_bins(&problem, &s, f.k, edges, sort);
    gpc_bin_sums_fill(&problem, &binning, sums);
    errors[i] = gpc_bin_sums_error(&binning, sums, &s, gaps);
    weights[i] = 0.0;
    for (size_t b = 0; b < binning.bins; b++)
      weights[i] += sums.weight[b];
  }
  double error = gpc_problem_errors(&s, problems, errors, weights);
  HOLDS(error >= 0.0 && error <= 1.0 + 1e-9);
  gpc_loss loss = gpc_measure_log_loss(&f, 1e-12), brier = gpc_measure_brier(&f, 0, NULL, NULL);
  HOLDS(loss.sum >= 0.0 && loss.sum < 28.0 * loss.weight && brier.sum >= 0.0 && brier.sum <= 2.0000001 * brier.weight);
  gpc_totals t = gpc_measure_totals(&f);
  HOLDS(isfinite(t.weight) && isfinite(t.over) && isfinite(t.under));
  HOLDS(gpc_measure_spread(f.n, f.conf, f.weights) >= 0.0);
  int *bin = room_int(f.n);
  gpc_binning mass = gpc_binning_mass(f.n, f.conf, f.weights, s.bins, edges, sort);
  HOLDS(mass.bins <= s.bins);
  if (mass.bins > 0) {
    gpc_binning_assign(&mass, f.n, f.probs, bin);
    for (size_t i = 0; i < f.n; i++)
      HOLDS(bin[i] >= 0 && (size_t)bin[i] < mass.bins);
  }
  gpc_binning width = gpc_binning_width(s.bins, take(b) % 2 ? 0.0 : 1.0 / (double)f.k,
                                        (int)(take(b) % 2), edges);
  gpc_binning_assign(&width, f.n, f.probs, bin);
  for (size_t i = 0; i < f.n; i++)
    HOLDS(bin[i] >= 0 && (size_t)bin[i] < s.bins);
}

static void resampling(bytes *b) {
  gpc_forecast f = forecast(b);
  gpc_ece_spec s = spec(b, f.k);
  const size_t problems = gpc_problem_count(s.type, f.k), cells = s.bins * problems;
  const size_t reps = 3, wide = s.type == GPC_CLASSWISE ? f.k * f.n : f.n;
  gpc_null null = {problems, s.bins, room_bytes(problems * sizeof(gpc_binning)),
                   room((s.bins + 1) * problems), {room(cells), room(cells), room(cells)},
                   room(cells), room(s.bins), room(problems), room(problems), room_int(wide),
                   room(wide), room_bytes(gpc_binning_mass_work(f.n)), groups_of(&f)};
  const uint64_t seed = take(b) * UINT64_C(0x123456789abcdef);
  double out[2 * 3], observed[2];
  gpc_null_prepare(&f, &s, &null, NULL, NULL);
  gpc_null_observed(&s, &null, observed);
  gpc_null_draw(&f, &s, &null, seed, 5, reps, out, NULL, NULL);
  for (size_t i = 0; i < 2 * reps; i++)
    HOLDS(out[i] >= 0.0 && out[i] <= 1.0 + 1e-9);
  double *rows = room(GPC_BOOT_SUMS * f.n), *sums = room(GPC_BOOT_SUMS * reps);
  gpc_boot_rows(&f, 0.0, NULL, f.n, rows);
  gpc_boot_draw(f.n, rows, seed, 0, reps, room_int(gpc_boot_blocks(f.n)), sums, NULL, NULL);
  double *y = room(f.n);
  for (size_t i = 0; i < f.n; i++)
    y[i] = f.labels[i] == 1;
  gpc_corp corp = {0, room(f.n), room(f.n), room(f.n), room(f.n), room(f.n), {0, 0, 0}, {0, 0, 0}};
  gpc_corp_fit(f.n, f.probs, y, f.weights, &corp, room_bytes(gpc_corp_work(f.n)));
  HOLDS(corp.blocks >= 1 && corp.blocks <= f.n);
  for (size_t i = 0; i < corp.blocks; i++)
    HOLDS(corp.fit[i] >= 0.0 && corp.fit[i] <= 1.0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static void (*const targets[])(bytes *) = {scan,    softmax,  temperature,
                                             sorting, measures, resampling};
  bytes b = {data, size};
  targets[take(&b) % 6](&b);
  return done();
}
