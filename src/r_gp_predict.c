/* r_gp_predict.c: .Call layer of prediction: gp_predict.h, gp_fitted.h, centred.h. For
 * `fit` and `at` see r_gp_unpack.h. */
#include "gp_predict.h"
#include "centred.h"
#include "gp_prepare.h"
#include "r_gp_unpack.h"

/* How many scores of row i lie outside [low, high]. */
static double count_outside(const gpc_gp_data *data, size_t i, double low, double high) {
  double outside = 0.0;
  for (size_t j = 0; j < data->k; j++) {
    const double score = gpc_gp_score(data, i, j);
    outside += score < low || score > high;
  }
  return outside;
}

/* Row means of new scores when they are to be centred (at$shift is not looked at), and
 * how many scores lie outside range = c(low, high). */
SEXP r_gp_centre(SEXP at, SEXP centre, SEXP range, SEXP threads) {
  gpc_gp_data data = r_gp_scores(at, r_threads(threads));
  const double *end = r_doubles(range, "range", 2);
  static const char *names[] = {"shift", "outside", ""};
  SEXP out = PROTECT(r_named_list(names));
  double *shift = NULL, *low = r_work(data.n), *high = r_work(data.n), outside = 0.0;
  if (r_flag(centre, "centre")) {
    SET_VECTOR_ELT(out, 0, Rf_allocVector(REALSXP, (R_xlen_t)data.n));
    shift = REAL(VECTOR_ELT(out, 0));
  }
  gpc_gp_row_range(&data, shift, low, high);
  data.shift = shift;
  for (size_t i = 0; i < data.n; i++)
    if (low[i] < end[0] || high[i] > end[1])
      outside += count_outside(&data, i, end[0], end[1]);
  SET_VECTOR_ELT(out, 1, Rf_ScalarReal(outside));
  UNPROTECT(1);
  return out;
}

/* How many scores of these rows (codes from 1) lie outside range = c(low, high). */
SEXP r_gp_outside(SEXP at, SEXP rows, SEXP range) {
  gpc_gp_data data = r_gp_scores(at, 1);
  const double *end = r_doubles(range, "range", 2);
  const size_t count = (size_t)XLENGTH(rows);
  const int *row = r_codes(rows, "rows", count, data.n);
  double outside = 0.0;
  for (size_t i = 0; i < count; i++)
    outside += count_outside(&data, (size_t)row[i] - 1, end[0], end[1]);
  return Rf_ScalarReal(outside);
}

/* approx: 0 mean, 1 delta. */
SEXP r_gp_predict(SEXP fit, SEXP at, SEXP approx, SEXP threads) {
  gpc_gp_data data = r_gp_scores(at, r_threads(threads));
  gpc_gp_fitted process = r_gp_fitted(fit);
  const int delta = r_count(approx, "approx") == 1;
  SEXP out = PROTECT(r_new_matrix(data.n, data.k));
  if (gpc_gp_predict(&data, &process, delta ? GPC_APPROX_DELTA : GPC_APPROX_MEAN,
                     &r_memory, r_poll, NULL, REAL(out)) != GPC_OK)
    Rf_error("internal error: the posterior covariance is not positive definite");
  UNPROTECT(1);
  return out;
}

#define STEP 1024 /* points at a time */

/* Posterior mean and variance at points z: list of vectors. */
SEXP r_gp_latent(SEXP fit, SEXP z) {
  gpc_gp_fitted process = r_gp_fitted(fit);
  const size_t n = (size_t)XLENGTH(z);
  const double *point = r_doubles(z, "z", -1);
  static const char *names[] = {"mean", "var", ""};
  SEXP out = PROTECT(r_named_list(names));
  for (int i = 0; i < 2; i++)
    SET_VECTOR_ELT(out, i, Rf_allocVector(REALSXP, (R_xlen_t)n));
  double *mean = REAL(VECTOR_ELT(out, 0)), *var = REAL(VECTOR_ELT(out, 1));
  double *work = r_work(STEP * (2 * process.basis.m + 1));
  for (size_t i = 0; i < n; i += STEP)
    gpc_gp_latent(&process, n - i < STEP ? n - i : STEP, point + i, work, mean + i,
                  var + i);
  UNPROTECT(1);
  return out;
}

/* The same for every score of the rows: list of matrices [n x k]. */
SEXP r_gp_latent_rows(SEXP fit, SEXP at, SEXP threads) {
  gpc_gp_data data = r_gp_scores(at, r_threads(threads));
  gpc_gp_fitted process = r_gp_fitted(fit);
  static const char *names[] = {"mean", "var", ""};
  SEXP out = PROTECT(r_named_list(names));
  for (int i = 0; i < 2; i++)
    SET_VECTOR_ELT(out, i, r_new_matrix(data.n, data.k));
  double *mean = REAL(VECTOR_ELT(out, 0)), *var = REAL(VECTOR_ELT(out, 1));
  double *work = r_work(STEP * (2 * process.basis.m + 1)), *point = r_work(STEP);
  for (size_t j = 0; j < data.k; j++)
    for (size_t first = 0; first < data.n; first += STEP) {
      const size_t count = data.n - first < STEP ? data.n - first : STEP;
      const size_t to = first + j * data.n;
      R_CheckUserInterrupt();
      for (size_t i = 0; i < count; i++)
        point[i] = gpc_gp_score(&data, first + i, j);
      gpc_gp_latent(&process, count, point, work, mean + to, var + to);
    }
  UNPROTECT(1);
  return out;
}

/* centred.h at the points z, averages over `at` (points) with weights p. */
SEXP r_centred(SEXP fit, SEXP z, SEXP at, SEXP p) {
  gpc_gp_fitted process = r_gp_fitted(fit);
  const size_t n = (size_t)XLENGTH(z), g = (size_t)XLENGTH(at);
  static const char *names[] = {"departure", "var", "rho", ""};
  SEXP out = PROTECT(r_named_list(names));
  for (int i = 0; i < 3; i++)
    SET_VECTOR_ELT(out, i, Rf_allocVector(REALSXP, (R_xlen_t)n));
  gpc_centred(&process, n, r_doubles(z, "z", -1), g, r_doubles(at, "at", -1),
              r_doubles(p, "p", (R_xlen_t)g), &r_memory, REAL(VECTOR_ELT(out, 0)),
              REAL(VECTOR_ELT(out, 1)), REAL(VECTOR_ELT(out, 2)));
  UNPROTECT(1);
  return out;
}
