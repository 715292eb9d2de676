/* r_linear.c: .Call layer of linear_scaling.h. */
#include "linear_scaling.h"
#include "r_util.h"

#include <string.h>

/* settings: list of floor, matrix, slope (in units of 1 / rms), hold_slope, ridge [2],
 * tol, max_passes. The slope given is that of the scores themselves. */
SEXP r_linear_fit(SEXP z, SEXP labels, SEXP weights, SEXP settings) {
  gpc_linear_data data;
  const double *scores = r_matrix(z, "z", &data.n, &data.k);
  data.label = r_codes(labels, "labels", data.n, data.k);
  data.w = r_doubles_or_null(weights, "weights", (R_xlen_t)data.n);
  double *u = r_work(data.n * data.k);
  const double rms = gpc_linear_centre(
      data.n, data.k, scores, r_number(r_element(settings, "floor"), "floor"), data.w, u);
  data.u = u;
  const double *ridge = r_doubles(r_element(settings, "ridge"), "ridge", 2);
  const gpc_linear_settings s = {
      .matrix = r_flag(r_element(settings, "matrix"), "matrix"),
      .slope = r_number(r_element(settings, "slope"), "slope") * (rms > 0.0 ? rms : 1.0),
      .hold_slope = r_flag(r_element(settings, "hold_slope"), "hold_slope"),
      .ridge = {ridge[0], ridge[1]},
      .tol = r_number(r_element(settings, "tol"), "tol"),
      .max_passes = r_count(r_element(settings, "max_passes"), "max_passes"),
      .poll = r_poll};
  gpc_linear_result result;
  const gpc_status status = gpc_linear_fit(&data, &s, &r_memory, &result);
  static const char *names[] = {"status",  "rms",      "theta", "cov",    "ridge",
                                "log_lik", "evidence", "edf",   "passes", ""};
  SEXP out = PROTECT(r_named_list(names));
  SET_VECTOR_ELT(out, 0, r_status(status));
  if (status == GPC_OK || status == GPC_NOT_CONVERGED) {
    const size_t size = gpc_linear_size(data.k, s.matrix);
    SET_VECTOR_ELT(out, 1, Rf_ScalarReal(rms));
    SET_VECTOR_ELT(out, 2, Rf_allocVector(REALSXP, (R_xlen_t)size));
    memcpy(REAL(VECTOR_ELT(out, 2)), result.theta, size * sizeof(double));
    SET_VECTOR_ELT(out, 3, Rf_allocMatrix(REALSXP, (int)size, (int)size));
    memcpy(REAL(VECTOR_ELT(out, 3)), result.cov, size * size * sizeof(double));
    SET_VECTOR_ELT(out, 4, Rf_allocVector(REALSXP, 2));
    memcpy(REAL(VECTOR_ELT(out, 4)), result.ridge, 2 * sizeof(double));
    SET_VECTOR_ELT(out, 5, Rf_ScalarReal(result.log_lik));
    SET_VECTOR_ELT(out, 6, Rf_ScalarReal(result.evidence));
    SET_VECTOR_ELT(out, 7, Rf_ScalarReal(result.edf));
    SET_VECTOR_ELT(out, 8, Rf_ScalarInteger(result.passes));
  }
  UNPROTECT(1);
  return out;
}

/* weights: [k] of vector scaling or [k x k] of matrix scaling. */
SEXP r_linear_predict(SEXP z, SEXP floor, SEXP offset, SEXP weights) {
  size_t n, k;
  const double *scores = r_matrix(z, "z", &n, &k);
  const double *b = r_doubles(offset, "offset", (R_xlen_t)k);
  const double *w = r_doubles(weights, "weights", -1);
  const int vector = XLENGTH(weights) == (R_xlen_t)k;
  if (!vector && XLENGTH(weights) != (R_xlen_t)(k * k))
    Rf_error(
        "internal error: argument 'weights' of a C routine must be of another length");
  SEXP out = PROTECT(r_new_matrix(n, k));
  gpc_linear_predict(n, k, scores, r_number(floor, "floor"), b, vector ? w : NULL,
                     vector ? NULL : w, r_work(2 * k), REAL(out));
  UNPROTECT(1);
  return out;
}
