/* r_validate.c: .Call layer of smooth.h and validate.h. */
#include "r_util.h"
#include "smooth.h"
#include "smooth_draws.h"
#include "validate.h"
#include <string.h>

static SEXP vector_of(const double *x, size_t n) {
  SEXP out = Rf_allocVector(REALSXP, (R_xlen_t)n);
  if (n > 0)
    memcpy(REAL(out), x, n * sizeof(double));
  return out;
}

static gpc_spline spline_of(SEXP knots) {
  gpc_spline spline;
  R_xlen_t k = XLENGTH(knots);
  if (k < 2 || k > GPC_SMOOTH_MAX)
    Rf_error("internal error: 'knots' are too few or too many");
  if (gpc_spline_make((size_t)k, r_doubles(knots, "knots", k), &spline) != GPC_OK)
    Rf_error("internal error: 'knots' cannot be told apart");
  return spline;
}

/* The smooth curve of cells x, w, h: list of beta, cov [k x k], lambda, edf, reml,
 * status. */
SEXP r_smooth_fit(SEXP knots, SEXP x, SEXP w, SEXP h) {
  static const char *names[] = {"beta", "cov",    "lambda", "edf",
                                "reml", "status", "spread", ""};
  gpc_spline spline = spline_of(knots);
  gpc_smooth fit;
  R_xlen_t m = XLENGTH(x);
  gpc_status status =
      gpc_smooth_fit(&spline, (size_t)m, r_doubles(x, "x", m), r_doubles(w, "w", m),
                     r_doubles(h, "h", m), r_work(gpc_smooth_work((size_t)m, spline.k)),
                     r_poll, NULL, &fit);
  SEXP out = PROTECT(r_named_list(names));
  SET_VECTOR_ELT(out, 5, r_status(status));
  if (status != GPC_NOT_PD) {
    SET_VECTOR_ELT(out, 0, vector_of(fit.beta, spline.k));
    SEXP cov = Rf_allocMatrix(REALSXP, (int)spline.k, (int)spline.k);
    SET_VECTOR_ELT(out, 1, cov);
    memcpy(REAL(cov), fit.cov, spline.k * spline.k * sizeof(double));
    SEXP spread = Rf_allocMatrix(REALSXP, (int)spline.k, (int)spline.k);
    SET_VECTOR_ELT(out, 6, spread);
    memcpy(REAL(spread), fit.spread, spline.k * spline.k * sizeof(double));
    SET_VECTOR_ELT(out, 2, Rf_ScalarReal(fit.lambda));
    SET_VECTOR_ELT(out, 3, Rf_ScalarReal(fit.edf));
    SET_VECTOR_ELT(out, 4, Rf_ScalarReal(fit.reml));
  }
  UNPROTECT(1);
  return out;
}

/* The basis of the spline at x: [n x k]. */
SEXP r_smooth_basis(SEXP knots, SEXP x) {
  gpc_spline spline = spline_of(knots);
  R_xlen_t n = XLENGTH(x);
  const double *at = r_doubles(x, "x", n);
  double row[GPC_SMOOTH_MAX];
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, (int)n, (int)spline.k));
  for (R_xlen_t i = 0; i < n; i++) {
    gpc_spline_row(&spline, at[i], row);
    for (size_t j = 0; j < spline.k; j++)
      REAL(out)[i + (R_xlen_t)j * n] = row[j];
  }
  UNPROTECT(1);
  return out;
}

/* gpc_smooth_distances() of each column of `curves`: [GPC_DISTANCES x columns]. */
SEXP r_smooth_distances(SEXP curves, SEXP x, SEXP w, SEXP inner) {
  size_t m, count;
  const double *values = r_matrix(curves, "curves", &m, &count);
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, GPC_DISTANCES, (int)count));
  if (m == 0)
    Rf_error("internal error: curves without cells");
  gpc_smooth_distances(m, count, values, r_doubles(x, "x", (R_xlen_t)m),
                       r_doubles(w, "w", (R_xlen_t)m),
                       r_integers(inner, "inner", (R_xlen_t)m), r_work(2 * m), REAL(out));
  UNPROTECT(1);
  return out;
}

/* gpc_smooth_excess(): a value for each column of `step`. */
SEXP r_smooth_excess(SEXP eta, SEXP w, SEXP step) {
  size_t m, draws;
  const double *steps = r_matrix(step, "step", &m, &draws);
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)draws));
  gpc_smooth_excess(m, draws, r_doubles(eta, "eta", (R_xlen_t)m),
                    r_doubles(w, "w", (R_xlen_t)m), steps, REAL(out));
  UNPROTECT(1);
  return out;
}

/* Logistic recalibration: list of coef, inverse [2 x 2], log_lik, iterations, status. */
SEXP r_recal_fit(SEXP x, SEXP hit, SEXP weights, SEXP hold) {
  static const char *names[] = {"coef", "inverse", "log_lik", "iterations", "status", ""};
  R_xlen_t n = XLENGTH(x);
  gpc_recal fit;
  gpc_status status = gpc_recal_fit(
      (size_t)n, r_doubles(x, "x", n), r_integers(hit, "hit", n),
      r_doubles_or_null(weights, "weights", n), r_flag(hold, "hold"), r_poll, NULL, &fit);
  SEXP out = PROTECT(r_named_list(names));
  SET_VECTOR_ELT(out, 0, vector_of(fit.coef, 2));
  SEXP inverse = Rf_allocMatrix(REALSXP, 2, 2);
  SET_VECTOR_ELT(out, 1, inverse);
  memcpy(REAL(inverse), fit.inverse, sizeof fit.inverse);
  SET_VECTOR_ELT(out, 2, Rf_ScalarReal(fit.log_lik));
  SET_VECTOR_ELT(out, 3, Rf_ScalarInteger(fit.iterations));
  SET_VECTOR_ELT(out, 4, r_status(status));
  UNPROTECT(1);
  return out;
}

/* list(value, influence [n]) */
SEXP r_concordance(SEXP x, SEXP hit, SEXP weights) {
  static const char *names[] = {"value", "influence", ""};
  R_xlen_t n = XLENGTH(x);
  SEXP out = PROTECT(r_named_list(names));
  SEXP influence = Rf_allocVector(REALSXP, n);
  SET_VECTOR_ELT(out, 1, influence);
  double value =
      gpc_concordance((size_t)n, r_doubles(x, "x", n), r_integers(hit, "hit", n),
                      r_doubles_or_null(weights, "weights", n), REAL(influence),
                      R_alloc(gpc_concordance_work((size_t)n) + sizeof(double), 1));
  SET_VECTOR_ELT(out, 0, Rf_ScalarReal(value));
  UNPROTECT(1);
  return out;
}

/* gpc_two_means(): a 3 x 2 matrix. */
SEXP r_two_means(SEXP z, SEXP labels, SEXP weights, SEXP logits) {
  size_t n, k;
  const double *scores = r_matrix(z, "z", &n, &k);
  if (k != 2)
    Rf_error("internal error: 'z' has not two columns");
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, 3, 2));
  gpc_two_means(n, scores, r_codes(labels, "labels", n, 2),
                r_doubles_or_null(weights, "weights", (R_xlen_t)n),
                r_flag(logits, "logits"), REAL(out));
  UNPROTECT(1);
  return out;
}
