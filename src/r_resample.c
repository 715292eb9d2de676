/* r_resample.c: .Call layer of resample.h. A seed is two whole numbers below 2^32 that R
 * drew, so that set.seed() governs; `first` and `count` say which replicates to make. */
#include "r_measures.h"
#include "resample.h"
#include "slope.h"
#include "pava.h"
#include "radix.h"

static uint64_t seed_of(SEXP seed) {
  const double *half = r_doubles(seed, "seed", 2);
  return ((uint64_t)half[0] << 32) | (uint64_t)half[1];
}

/* What the bootstrap sums, one column per row of the data, or per group of rows: codes
 * 1 .. units, or NULL. */
SEXP r_boot_rows(SEXP forecast, SEXP eps, SEXP groups, SEXP units) {
  gpc_forecast f = r_forecast(forecast);
  size_t count = Rf_isNull(groups) ? f.n : (size_t)r_count(units, "units");
  const int *group = Rf_isNull(groups) ? NULL : r_codes(groups, "groups", f.n, count);
  SEXP rows = PROTECT(Rf_allocMatrix(REALSXP, GPC_BOOT_SUMS, (int)count));
  gpc_boot_rows(&f, r_number(eps, "eps"), group, count, REAL(rows));
  UNPROTECT(1);
  return rows;
}

/* One column of sums per replicate. */
SEXP r_boot_draw(SEXP rows, SEXP seed, SEXP first, SEXP count) {
  size_t sums, n, reps = (size_t)r_count(count, "count");
  const double *data = r_matrix(rows, "rows", &sums, &n);
  if (sums != GPC_BOOT_SUMS || n == 0)
    Rf_error("internal error: 'rows' does not come from boot_rows");
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, GPC_BOOT_SUMS, (int)reps));
  gpc_boot_draw(n, data, seed_of(seed), (size_t)r_count(first, "first"), reps,
                r_work_int(gpc_boot_blocks(n)), REAL(out), r_poll, NULL);
  UNPROTECT(1);
  return out;
}

/* Signs of `units` groups, -1 or 1: one column per replicate. */
SEXP r_sign_draw(SEXP units, SEXP seed, SEXP first, SEXP count) {
  size_t n = (size_t)r_count(units, "units"), reps = (size_t)r_count(count, "count");
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, (int)n, (int)reps));
  gpc_sign_draw(n, seed_of(seed), (size_t)r_count(first, "first"), reps, REAL(out));
  UNPROTECT(1);
  return out;
}

/* The slope's log-likelihood without the labels, sum_n w_n log sum_k exp(a log p_nk), and
 * its first two derivatives at a. */
SEXP r_slope_at(SEXP forecast, SEXP a) {
  gpc_forecast f = r_forecast(forecast);
  SEXP out = PROTECT(Rf_allocVector(REALSXP, 3));
  gpc_slope_at(&f, r_number(a, "a"), REAL(out), r_poll, NULL);
  UNPROTECT(1);
  return out;
}

/* What each row adds to the derivative at a = 1: w_n (log p_ny - sum_k p_nk log p_nk). */
SEXP r_slope_rows(SEXP forecast) {
  gpc_forecast f = r_forecast(forecast);
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)f.n));
  gpc_slope_rows(&f, REAL(out));
  UNPROTECT(1);
  return out;
}

/* sum_n w_n log p_ny with labels drawn from the probabilities, one value per replicate.
 */
SEXP r_slope_draw(SEXP forecast, SEXP seed, SEXP first, SEXP count) {
  gpc_forecast f = r_forecast(forecast);
  size_t reps = (size_t)r_count(count, "count");
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, 1, (int)reps));
  double *work = f.k > 2 ? r_work(2 * f.n * f.k) : r_work(3 * f.n);
  gpc_slope_draw(&f, seed_of(seed), (size_t)r_count(first, "first"), reps, work,
                 REAL(out), r_poll, NULL);
  UNPROTECT(1);
  return out;
}

static gpc_null null_work(const gpc_forecast *f, const gpc_ece_spec *spec) {
  size_t problems = gpc_problem_count(spec->type, f->k), cells = problems * spec->bins;
  int classwise = spec->type == GPC_CLASSWISE;
  gpc_null null;
  null.problems = problems;
  null.bins = spec->bins;
  null.binning = (gpc_binning *)R_alloc(problems, sizeof(gpc_binning));
  null.edges = r_work((spec->bins + 1) * problems);
  null.sums = (gpc_bin_sums){
      .weight = r_work(cells), .score = r_work(cells), .hits = r_work(cells)};
  null.drawn = r_work(cells);
  null.gaps = r_work(spec->bins);
  null.errors = r_work(problems);
  null.shares = r_work(problems);
  null.cell = r_work_int(classwise ? f->n * f->k : f->n);
  null.cumulative = classwise ? r_work(f->n * f->k) : NULL;
  null.sort = r_sort_work(f, spec);
  null.groups = r_by_class(f, spec);
  return null;
}

/* Calibration errors by `spec` (first row) and with norm Inf (second): those observed in
 * the first column, then one column per replicate with labels drawn anew; with groups
 * (codes 1 .. units, in the order that gpc_null_wild() asks for) by signs. */
SEXP r_null_draw(SEXP forecast, SEXP spec, SEXP groups, SEXP units, SEXP seed, SEXP first,
                 SEXP count) {
  gpc_forecast f = r_forecast(forecast);
  gpc_ece_spec s = r_ece_spec(spec, f.k);
  gpc_null null = null_work(&f, &s);
  size_t reps = (size_t)r_count(count, "count"), from = (size_t)r_count(first, "first");
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, 2, (int)reps + 1));
  gpc_null_prepare(&f, &s, &null, r_poll, NULL);
  gpc_null_observed(&s, &null, REAL(out));
  if (Rf_isNull(groups)) {
    gpc_null_draw(&f, &s, &null, seed_of(seed), from, reps, REAL(out) + 2, r_poll, NULL);
  } else {
    size_t number = (size_t)r_count(units, "units");
    gpc_null_wild(&f, &s, &null, r_codes(groups, "groups", f.n, number), number,
                  r_work(number), seed_of(seed), from, reps, REAL(out) + 2, r_poll, NULL);
  }
  UNPROTECT(1);
  return out;
}

/* Isotonic fits of class `event` at the scores `at`, outcomes drawn again: one column per
 * replicate. `fit`: NULL to draw from the probabilities, or what to draw from instead.
 * `groups`: codes 1 .. units or NULL. */
SEXP r_band_draw(SEXP forecast, SEXP event, SEXP at, SEXP fit, SEXP groups, SEXP units,
                 SEXP seed, SEXP first, SEXP count) {
  gpc_forecast f = r_forecast(forecast);
  size_t n = f.n, reps = (size_t)r_count(count, "count");
  int code = r_class(event, "event", f.k), clustered = !Rf_isNull(groups);
  const double *x = f.probs + (size_t)(code - 1) * n;
  const double *from = Rf_isNull(fit) ? x : r_doubles(fit, "fit", (R_xlen_t)n);
  int *order = r_work_int(n), *tie = r_work_int(n);
  double *prob = r_work(n), *weights = f.weights ? r_work(n) : NULL;
  double *group_score = r_work(n), *group_hits = r_work(n), *group_weight = r_work(n);
  gpc_radix_order(n, x, order, R_alloc(gpc_radix_work(n) + 1, 1));
  /* Any response will do: only the ties and their weights are wanted. */
  size_t m = gpc_pava_ties(n, x, x, f.weights, order, group_score, group_hits,
                           group_weight, tie);
  gpc_band band = {.n = n,
                   .prob = prob,
                   .weights = weights,
                   .tie = tie,
                   .m = m,
                   .score = group_score,
                   .weight = group_weight,
                   .group = NULL,
                   .units = 0,
                   .hit = NULL};
  for (size_t i = 0; i < n; i++) {
    prob[i] = from[order[i]];
    if (weights)
      weights[i] = f.weights[order[i]];
  }
  if (clustered) {
    size_t number = (size_t)r_count(units, "units");
    const int *given = r_codes(groups, "groups", n, number);
    int *group = r_work_int(n);
    double *hit = r_work(n);
    for (size_t i = 0; i < n; i++) {
      group[i] = given[order[i]];
      hit[i] = f.labels[order[i]] == code;
    }
    band.group = group;
    band.hit = hit;
    band.units = number;
  }
  R_xlen_t points = XLENGTH(at);
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, (int)points, (int)reps));
  gpc_band_draw(&band, (size_t)points, r_doubles(at, "at", points), seed_of(seed),
                GPC_DRAW_BAND + (uint64_t)code, (size_t)r_count(first, "first"), reps,
                r_work(gpc_band_work(&band)), r_work_int(gpc_band_work_int(&band)),
                REAL(out), r_poll, NULL);
  UNPROTECT(1);
  return out;
}
