/* r_gp_predict.c: .Call layer of prediction. */
#include "gp_predict.h"
#include "gp_prepare.h"
#include "linalg.h"
#include "r_util.h"
#include "select.h"

#include <Rmath.h>
#include <math.h>
#include <string.h>

/* A fitted process from the pieces of the R object. hyper: variance, lengthscale, noise,
 * slope. */
static gpc_gp_fitted unpack_fit(SEXP inducing, SEXP hyper, SEXP q_mean, SEXP q_cov,
                                SEXP log_mean) {
  const size_t m = (size_t)XLENGTH(inducing);
  const double *h = r_doubles(hyper, "hyper", 4);
  gpc_gp_fitted fit = {
      {m, r_doubles(inducing, "inducing", -1), {h[0], h[1], h[2]}, 0.0, r_work(m * m)},
      r_flag(log_mean, "log_mean") ? GPC_MEAN_LOG : GPC_MEAN_LINEAR,
      h[3],
      r_doubles(q_mean, "q_mean", (R_xlen_t)m),
      r_doubles(q_cov, "q_cov", (R_xlen_t)(m * m))};
  if (gpc_basis_factor(&fit.basis) != GPC_OK)
    Rf_error("internal error: the inducing covariance is not positive definite");
  return fit;
}

/* New scores; shift [n] (or NULL) comes from r_gp_centre(). */
static gpc_gp_data unpack_scores(SEXP z, SEXP floor, SEXP shift, SEXP threads) {
  gpc_gp_data data = {0};
  data.z = r_matrix(z, "z", &data.n, &data.k);
  data.floor = r_number(floor, "floor");
  data.threads = r_threads(threads);
  data.shift = r_doubles_or_null(shift, "shift", (R_xlen_t)data.n);
  return data;
}

/* Row means of new scores when they are to be centred, and how many scores lie outside
 * [low, high]. */
SEXP r_gp_centre(SEXP z, SEXP floor, SEXP centre, SEXP low, SEXP high, SEXP threads) {
  gpc_gp_data data = unpack_scores(z, floor, R_NilValue, threads);
  static const char *names[] = {"shift", "outside", ""};
  SEXP out = PROTECT(r_named_list(names));
  double *shift = NULL;
  if (r_flag(centre, "centre")) {
    SET_VECTOR_ELT(out, 0, Rf_allocVector(REALSXP, (R_xlen_t)data.n));
    shift = REAL(VECTOR_ELT(out, 0));
  }
  double *lows = r_work(data.n), *highs = r_work(data.n);
  gpc_gp_row_range(&data, shift, lows, highs);
  data.shift = shift;
  double outside = 0.0;
  const double from = r_number(low, "low"), to = r_number(high, "high");
  for (size_t i = 0; i < data.n; i++)
    if (lows[i] < from || highs[i] > to)
      for (size_t j = 0; j < data.k; j++) {
        double score = gpc_gp_score(&data, i, j);
        outside += score < from || score > to;
      }
  SET_VECTOR_ELT(out, 1, Rf_ScalarReal(outside));
  UNPROTECT(1);
  return out;
}

static gpc_gp_lookup make_lookup(const gpc_gp_fitted *fit) {
  gpc_gp_lookup lookup;
  gpc_gp_lookup_size(fit, &lookup);
  lookup.cell = r_work(8 * lookup.cells);
  lookup.node = r_work(lookup.nodes * lookup.m);
  lookup.node_c = r_work(lookup.nodes);
  lookup.node_phi = r_work(lookup.nodes);
  if (gpc_gp_lookup_fill(fit, r_work(gpc_gp_lookup_work(&lookup)), &lookup) != GPC_OK)
    Rf_error("internal error: the posterior covariance is not positive definite");
  return lookup;
}

/* A fixed standard normal number from a mixing function of its place. */
static double fixed_normal(size_t place) {
  uint64_t h = (uint64_t)(place + 1) * UINT64_C(0x9e3779b97f4a7c15);
  h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
  h ^= h >> 31;
  return Rf_qnorm5(((double)(h >> 11) + 0.5) / 9007199254740992.0, 0.0, 1.0, 1, 0);
}

#define LEADING 6

/* A fixed low-discrepancy set of functions, x [m x pairs]. The directions that move the
 * function most at the inducing inputs come first; along the leading ones the points are
 * a Kronecker sequence with the powers of the root of r^7 = r + 1, along the others mixed
 * numbers. In the end the points are made to have the covariance I exactly, so that
 * (antithetic as they are) all polynomials of degree three are averaged without error. */
static double *fixed_functions(const gpc_gp_fitted *fit, size_t pairs) {
  const size_t m = fit->basis.m, leading = m < LEADING ? m : LEADING;
  double *x = r_work(m * pairs), *turn = r_work(m * m), *value = r_work(m),
         *point = r_work(m), *a = r_work(m * m), *ua = r_work(m * m),
         *chol = r_work(m * m);
  gpc_basis_eval(&fit->basis, m, fit->basis.w, a, value);
  memcpy(chol, fit->q_cov, m * m * sizeof(double));
  if (gpc_chol(m, 0.0, chol) != GPC_OK)
    Rf_error("internal error: the posterior covariance is not positive definite");
  gpc_gemm(1, 1, m, m, m, 1.0, chol, a, 0.0, ua);
  gpc_gemm(0, 1, m, m, m, 1.0, ua, ua, 0.0, turn);
  if (gpc_eigen(m, turn, value, r_work(3 * m)) != GPC_OK)
    Rf_error("internal error: no eigenvectors of the posterior covariance");
  double root = 1.1;
  for (int i = 0; i < 60; i++)
    root = pow(1.0 + root, 1.0 / (LEADING + 1.0));
  for (size_t d = 0; d < pairs; d++) {
    double alpha = 1.0;
    for (size_t q = 0; q < m; q++) {
      alpha /= root;
      double t = 0.5 + (double)(d + 1) * alpha;
      point[q] =
          q < leading ? Rf_qnorm5(t - floor(t), 0.0, 1.0, 1, 0) : fixed_normal(q + m * d);
    }
    gpc_gemm(0, 0, m, 1, m, 1.0, turn, point, 0.0, x + m * d);
  }
  /* x := L^-1 x with L L' = x x' / pairs; rows of x' are what gpc_solve_rows() solves */
  gpc_gemm(0, 1, m, m, pairs, 1.0 / (double)pairs, x, x, 0.0, chol);
  if (pairs <= m || gpc_chol(m, 1e-4, chol) != GPC_OK)
    return x;
  for (size_t d = 0; d < pairs; d++)
    gpc_solve_rows(1, m, chol, x + m * d);
  return x;
}

/* Fixed standard normal numbers for the residuals, e [k x pairs]: for each class of
 * variance 1 and uncorrelated with the functions x [m x pairs], as over infinitely many.
 */
static double *fixed_noise(size_t k, size_t m, size_t pairs, const double *x) {
  double *e = r_work(k * pairs), *cross = r_work(k * m), *size = r_work(k);
  for (size_t i = 0; i < k * pairs; i++)
    e[i] = fixed_normal(i + 1000003);
  gpc_gemm(0, 1, k, m, pairs, 1.0 / (double)pairs, e, x, 0.0, cross);
  gpc_gemm(0, 0, k, pairs, m, -1.0, cross, x, 1.0, e);
  memset(size, 0, k * sizeof(double));
  for (size_t d = 0; d < pairs; d++)
    for (size_t j = 0; j < k; j++)
      size[j] += e[j + k * d] * e[j + k * d];
  for (size_t d = 0; d < pairs; d++)
    for (size_t j = 0; j < k; j++)
      e[j + k * d] *= sqrt((double)pairs / size[j]);
  return e;
}

#define FIXED_PAIRS 256
#define HARD_ROWS 256

/* With fewer points to a dimension, giving them the covariance I would deform them. */
static size_t fixed_pairs(size_t m) { return 4 * m > FIXED_PAIRS ? 4 * m : FIXED_PAIRS; }

/* Rows for which the expansion is not good enough: averages over the fixed functions. */
static void integrate_hard_rows(const gpc_gp_data *data, const gpc_gp_fitted *fit,
                                const gpc_gp_lookup *lookup, const int *hard, double *p) {
  const size_t n = data->n, k = data->k, pairs = fixed_pairs(fit->basis.m);
  size_t total = 0;
  for (size_t i = 0; i < n; i++)
    total += hard[i] != 0;
  if (total == 0)
    return;
  double *x = fixed_functions(fit, pairs), *e = fixed_noise(k, fit->basis.m, pairs, x);
  double *z = r_work(HARD_ROWS * k), *out = r_work(HARD_ROWS * k);
  double *work = r_work(gpc_gp_draws_work(lookup, k, pairs, data->threads));
  size_t *row = (size_t *)R_alloc(HARD_ROWS, sizeof(size_t)), next = 0;
  while (next < n) {
    size_t count = 0;
    for (; next < n && count < HARD_ROWS; next++)
      if (hard[next])
        row[count++] = next;
    if (count == 0)
      break;
    R_CheckUserInterrupt();
    gpc_gp_data part = {count, k, z, NULL, R_NegInf, NULL, NULL, data->threads};
    for (size_t j = 0; j < k; j++)
      for (size_t i = 0; i < count; i++)
        z[i + count * j] = gpc_gp_score(data, row[i], j);
    memset(out, 0, count * k * sizeof(double));
    gpc_gp_draws(&part, lookup, 0, count, pairs, x, e, NULL, 0, 0.5 / (double)pairs, work,
                 out, NULL);
    for (size_t j = 0; j < k; j++)
      for (size_t i = 0; i < count; i++)
        p[row[i] + n * j] = fmax(out[i + count * j], DBL_MIN);
  }
}

/* approx: 0 mean, 1 delta. */
SEXP r_gp_predict(SEXP z, SEXP floor, SEXP shift, SEXP inducing, SEXP hyper, SEXP q_mean,
                  SEXP q_cov, SEXP log_mean, SEXP approx, SEXP threads) {
  gpc_gp_data data = unpack_scores(z, floor, shift, threads);
  gpc_gp_fitted fit = unpack_fit(inducing, hyper, q_mean, q_cov, log_mean);
  const int delta = r_count(approx, "approx") == 1;
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, (int)data.n, (int)data.k));
  double *p = REAL(out);
  if (delta && data.k == 2) {
    gpc_gp_predict_two(&data, &fit, r_poll, NULL,
                       r_work(gpc_gp_predict_two_work(fit.basis.m)), p);
  } else {
    gpc_gp_lookup lookup = make_lookup(&fit);
    int *hard = r_work_int(data.n);
    memset(hard, 0, data.n * sizeof(int));
    gpc_gp_predict(&data, &lookup, delta ? GPC_APPROX_DELTA : GPC_APPROX_MEAN, r_poll,
                   NULL, r_work(gpc_gp_predict_work(&lookup, data.k, data.threads)), p,
                   hard);
    integrate_hard_rows(&data, &fit, &lookup, hard, p);
  }
  UNPROTECT(1);
  return out;
}

/* Averages over function draws: x [m x pairs] and e as in gp_predict.h come from R's
 * generator. keep: all draws as an array [n x k x 2 pairs]. */
SEXP r_gp_draws(SEXP z, SEXP floor, SEXP shift, SEXP inducing, SEXP hyper, SEXP q_mean,
                SEXP q_cov, SEXP log_mean, SEXP x, SEXP e, SEXP tilt, SEXP independent,
                SEXP keep, SEXP threads) {
  gpc_gp_data data = unpack_scores(z, floor, shift, threads);
  gpc_gp_fitted fit = unpack_fit(inducing, hyper, q_mean, q_cov, log_mean);
  gpc_gp_lookup lookup = make_lookup(&fit);
  const int apart = r_flag(independent, "independent"), all = r_flag(keep, "keep");
  const size_t n = data.n, k = data.k, m = fit.basis.m, pairs = (size_t)XLENGTH(x) / m;
  const double *xs = r_doubles(x, "x", (R_xlen_t)(m * pairs));
  const double *es = r_doubles(e, "e", (R_xlen_t)(apart ? n * k * pairs : k * pairs));
  const double *tilts = r_doubles_or_null(tilt, "tilt", (R_xlen_t)pairs);
  const size_t size = n * k * (all ? 2 * pairs : 1);
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)size));
  double *p = REAL(out);
  if (!all)
    memset(p, 0, size * sizeof(double));
  const double each = 0.5 / (double)pairs;
  /* a few at a time, so that an interrupt is heard and their tables stay small */
  const size_t step = pairs < 8 ? pairs : 8;
  double *work = r_work(gpc_gp_draws_work(&lookup, k, step, data.threads));
  for (size_t first = 0; first < pairs; first += step) {
    size_t some = pairs - first < step ? pairs - first : step;
    R_CheckUserInterrupt();
    gpc_gp_draws(&data, &lookup, 0, n, some, xs + first * m,
                 es + first * k * (apart ? n : 1), tilts ? tilts + first : NULL, apart,
                 each, work, all ? NULL : p, all ? p + 2 * first * n * k : NULL);
  }
  for (size_t i = 0; !all && i < size; i++) /* as the other approximations have it */
    p[i] = p[i] > DBL_MIN ? p[i] : DBL_MIN;
  UNPROTECT(1);
  return out;
}

SEXP r_gp_latent(SEXP z, SEXP inducing, SEXP hyper, SEXP q_mean, SEXP q_cov,
                 SEXP log_mean) {
  gpc_gp_fitted fit = unpack_fit(inducing, hyper, q_mean, q_cov, log_mean);
  const size_t n = (size_t)XLENGTH(z), m = fit.basis.m;
  const double *points = r_doubles(z, "z", -1);
  static const char *names[] = {"mean", "var", ""};
  SEXP out = PROTECT(r_named_list(names));
  SEXP mean = Rf_allocVector(REALSXP, (R_xlen_t)n);
  SET_VECTOR_ELT(out, 0, mean);
  SEXP var = Rf_allocVector(REALSXP, (R_xlen_t)n);
  SET_VECTOR_ELT(out, 1, var);
  const size_t step = 1024;
  double *work = r_work(step * (2 * m + 1));
  for (size_t first = 0; first < n; first += step)
    gpc_gp_latent(&fit, n - first < step ? n - first : step, points + first, work,
                  REAL(mean) + first, REAL(var) + first);
  UNPROTECT(1);
  return out;
}

#define INTERVAL_ROWS 32
#define INTERVAL_DOUBLES 4000000 /* of draws at a time, at the most */

/* Quantiles at lower and upper of the function draws: [n x k x 2]. */
SEXP r_gp_interval(SEXP z, SEXP floor, SEXP shift, SEXP inducing, SEXP hyper, SEXP q_mean,
                   SEXP q_cov, SEXP log_mean, SEXP x, SEXP e, SEXP tilt, SEXP lower,
                   SEXP upper, SEXP threads) {
  gpc_gp_data data = unpack_scores(z, floor, shift, threads);
  gpc_gp_fitted fit = unpack_fit(inducing, hyper, q_mean, q_cov, log_mean);
  gpc_gp_lookup lookup = make_lookup(&fit);
  const size_t n = data.n, k = data.k, m = fit.basis.m, pairs = (size_t)XLENGTH(x) / m;
  const double *xs = r_doubles(x, "x", (R_xlen_t)(m * pairs));
  const double *es = r_doubles(e, "e", (R_xlen_t)(k * pairs));
  const double *tilts = r_doubles_or_null(tilt, "tilt", (R_xlen_t)pairs);
  const double low = r_number(lower, "lower"), high = r_number(upper, "upper");
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)(2 * n * k)));
  size_t rows = INTERVAL_DOUBLES / (k * 2 * pairs);
  rows = rows < 1 ? 1 : rows > INTERVAL_ROWS ? INTERVAL_ROWS : rows;
  double *all = r_work(rows * k * 2 * pairs), *draws = r_work(2 * pairs);
  double *work = r_work(gpc_gp_draws_work(&lookup, k, pairs, data.threads));
  for (size_t first = 0; first < n; first += rows) {
    const size_t count = n - first < rows ? n - first : rows;
    R_CheckUserInterrupt();
    gpc_gp_draws(&data, &lookup, first, count, pairs, xs, es, tilts, 0, 0.0, work, NULL,
                 all);
    for (size_t j = 0; j < k; j++)
      for (size_t i = 0; i < count; i++) {
        for (size_t d = 0; d < 2 * pairs; d++)
          draws[d] = all[i + count * (j + k * d)];
        double *to = REAL(out) + first + i + n * j;
        to[0] = gpc_quantile(2 * pairs, draws, low);
        to[n * k] = gpc_quantile(2 * pairs, draws, high);
      }
  }
  UNPROTECT(1);
  return out;
}

/* Posterior mean and variance of every latent value of the rows: matrices [n x k]. */
SEXP r_gp_latent_rows(SEXP z, SEXP floor, SEXP shift, SEXP inducing, SEXP hyper,
                      SEXP q_mean, SEXP q_cov, SEXP log_mean, SEXP threads) {
  gpc_gp_data data = unpack_scores(z, floor, shift, threads);
  gpc_gp_fitted fit = unpack_fit(inducing, hyper, q_mean, q_cov, log_mean);
  static const char *names[] = {"mean", "var", ""};
  SEXP out = PROTECT(r_named_list(names));
  for (int i = 0; i < 2; i++)
    SET_VECTOR_ELT(out, i, Rf_allocMatrix(REALSXP, (int)data.n, (int)data.k));
  const size_t step = 1024, m = fit.basis.m;
  double *work = r_work(step * (2 * m + 1)), *points = r_work(step);
  for (size_t j = 0; j < data.k; j++)
    for (size_t first = 0; first < data.n; first += step) {
      const size_t count = data.n - first < step ? data.n - first : step;
      R_CheckUserInterrupt();
      for (size_t i = 0; i < count; i++)
        points[i] = gpc_gp_score(&data, first + i, j);
      gpc_gp_latent(&fit, count, points, work,
                    REAL(VECTOR_ELT(out, 0)) + first + j * data.n,
                    REAL(VECTOR_ELT(out, 1)) + first + j * data.n);
    }
  UNPROTECT(1);
  return out;
}
