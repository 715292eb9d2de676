/* r_compare.c: .Call layer of rowscores.h, smece.h and prior.h. */
#include "r_measures.h"
#include "prior.h"
#include "rowscores.h"
#include "smece.h"
#include <string.h>

/* A matrix with the columns loss, brier and, if wanted, rps; a row for each of the
 * forecast. */
SEXP r_row_scores(SEXP forecast, SEXP eps, SEXP rps) {
  gpc_forecast f = r_forecast(forecast);
  const int ranked = r_flag(rps, "rps");
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, (int)f.n, 2 + ranked));
  double *at = REAL(out);
  gpc_row_scores(f.n, f.k, f.probs, f.labels, r_number(eps, "eps"), at, at + f.n,
                 ranked ? at + 2 * f.n : NULL, r_poll, NULL);
  UNPROTECT(1);
  return out;
}

/* Mean elementary scores of class `event` at theta, and their limits from the left. */
SEXP r_murphy(SEXP forecast, SEXP event, SEXP theta) {
  gpc_forecast f = r_forecast(forecast);
  const int code = r_class(event, "event", f.k);
  const R_xlen_t m = XLENGTH(theta);
  double *y = r_work(f.n);
  for (size_t i = 0; i < f.n; i++)
    y[i] = f.labels[i] == code;
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, (int)m, 2));
  gpc_murphy(f.n, f.probs + (size_t)(code - 1) * f.n, y, f.weights, (size_t)m,
             r_doubles(theta, "theta", m), REAL(out), REAL(out) + m,
             R_alloc(gpc_murphy_work(f.n), 1));
  UNPROTECT(1);
  return out;
}

/* Scores x and residuals; sigma: a bandwidth, or 0 for the fixed point. The vector
 * (error, sigma, evaluations, 1 if the fixed point lies below what is looked at). */
SEXP r_smooth_ece(SEXP x, SEXP residual, SEXP total, SEXP sigma, SEXP tol) {
  const R_xlen_t n = XLENGTH(x);
  const double *score = r_doubles(x, "x", n), *off = r_doubles(residual, "residual", n);
  const double sum = r_number(total, "total"), width = r_number(sigma, "sigma");
  double *work = r_work(gpc_smece_work(width > 0.0 ? width : GPC_SMECE_LEAST));
  gpc_smece_result result = {0.0, width, 1};
  gpc_status status = GPC_OK;
  for (R_xlen_t i = 0; i < n; i++)
    if (!(score[i] >= 0.0 && score[i] <= 1.0))
      Rf_error("internal error: a score lies outside [0, 1]");
  if (width > 0.0) {
    if (width < GPC_SMECE_LEAST || width > GPC_SMECE_MOST)
      Rf_error("internal error: a bandwidth out of range");
    result.error = gpc_smece_error((size_t)n, score, off, sum, width, work);
  } else {
    status = gpc_smece_ece((size_t)n, score, off, sum, r_number(tol, "tol"), work, r_poll,
                           NULL, &result);
  }
  SEXP out = Rf_allocVector(REALSXP, 4);
  REAL(out)[0] = result.error;
  REAL(out)[1] = result.sigma;
  REAL(out)[2] = result.evaluations;
  REAL(out)[3] = status == GPC_AT_LOWER;
  return out;
}

/* probs times ratio, rows divided by their sum: list(probs, dead), dead the first row
 * without any probability left, or 0. */
SEXP r_prior_apply(SEXP probs, SEXP ratio) {
  static const char *names[] = {"probs", "dead", ""};
  size_t n, k;
  const double *p = r_matrix(probs, "probs", &n, &k);
  const double *r = r_doubles(ratio, "ratio", (R_xlen_t)k);
  SEXP out = PROTECT(r_named_list(names));
  SET_VECTOR_ELT(out, 0, Rf_allocMatrix(REALSXP, (int)n, (int)k));
  const size_t dead = gpc_prior_apply(n, k, p, r, REAL(VECTOR_ELT(out, 0)));
  SET_VECTOR_ELT(out, 1, Rf_ScalarReal((double)dead));
  UNPROTECT(1);
  return out;
}

SEXP r_prior_em(SEXP probs, SEXP from, SEXP tol, SEXP max_iter) {
  static const char *names[] = {"prior", "gain", "gap", "iterations", "status", ""};
  size_t n, k;
  const double *p = r_matrix(probs, "probs", &n, &k);
  const double *start = r_doubles(from, "from", (R_xlen_t)k);
  gpc_prior_result result;
  SEXP out = PROTECT(r_named_list(names));
  SET_VECTOR_ELT(out, 0, Rf_allocVector(REALSXP, (R_xlen_t)k));
  const gpc_status status =
      gpc_prior_em(n, k, p, start, r_number(tol, "tol"), r_count(max_iter, "max_iter"),
                   REAL(VECTOR_ELT(out, 0)), r_work(n + 2 * k), &result, r_poll, NULL);
  SET_VECTOR_ELT(out, 1, Rf_ScalarReal(result.gain));
  SET_VECTOR_ELT(out, 2, Rf_ScalarReal(result.gap));
  SET_VECTOR_ELT(out, 3, Rf_ScalarInteger(result.iterations));
  SET_VECTOR_ELT(out, 4, r_status(status));
  UNPROTECT(1);
  return out;
}
