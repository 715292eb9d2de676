/* r_laplace.c: .Call layer of laplace.h. */
#include "r_util.h"
#include "laplace.h"

/* list(status, beta, curvature, log_lik) */
SEXP r_laplace_temperature(SEXP z, SEXP labels, SEXP weights, SEXP floor, SEXP beta0,
                           SEXP precision) {
  static const char *names[] = {"status", "beta", "curvature", "log_lik", ""};
  gpc_temperature_data data = {.floor = r_number(floor, "floor"), .threads = 1};
  data.z = r_matrix(z, "z", &data.n, &data.k);
  data.label = r_codes(labels, "labels", data.n, data.k);
  data.w = r_doubles_or_null(weights, "weights", (R_xlen_t)data.n);
  double beta, curvature, log_lik;
  const gpc_status status = gpc_laplace_temperature(
      &data, r_number(beta0, "beta0"), r_number(precision, "precision"), 1e-10, 200,
      &beta, &curvature, &log_lik);
  SEXP out = PROTECT(r_named_list(names));
  SET_VECTOR_ELT(out, 0, r_status(status));
  SET_VECTOR_ELT(out, 1, Rf_ScalarReal(beta));
  SET_VECTOR_ELT(out, 2, Rf_ScalarReal(curvature));
  SET_VECTOR_ELT(out, 3, Rf_ScalarReal(log_lik));
  UNPROTECT(1);
  return out;
}

/* list(status, coef, curvature) */
SEXP r_laplace_logistic(SEXP x, SEXP targets, SEXP weights, SEXP m0, SEXP p0) {
  static const char *names[] = {"status", "coef", "curvature", ""};
  size_t n, d;
  const double *features = r_matrix(x, "x", &n, &d);
  if (d > GPC_LAPLACE_MOST)
    Rf_error("internal error: too many features");
  const R_xlen_t size = (R_xlen_t)d;
  SEXP out = PROTECT(r_named_list(names));
  SET_VECTOR_ELT(out, 1, Rf_allocVector(REALSXP, size));
  SET_VECTOR_ELT(out, 2, Rf_allocMatrix(REALSXP, (int)d, (int)d));
  const gpc_status status =
      gpc_laplace_logistic(n, d, features, r_doubles(targets, "targets", (R_xlen_t)n),
                           r_doubles_or_null(weights, "weights", (R_xlen_t)n),
                           r_doubles(m0, "m0", size), r_doubles(p0, "p0", size * size),
                           1e-8, 200, REAL(VECTOR_ELT(out, 1)), REAL(VECTOR_ELT(out, 2)));
  SET_VECTOR_ELT(out, 0, r_status(status));
  UNPROTECT(1);
  return out;
}
