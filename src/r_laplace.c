/* r_laplace.c: .Call layer of laplace.h. */
#include "r_util.h"
#include "laplace.h"
#include "laplace_softmax.h"
#include "linear_scaling.h"

/* list(status, beta, curvature, log_lik) */
SEXP r_laplace_temperature(SEXP z, SEXP labels, SEXP weights, SEXP floor, SEXP beta0,
                           SEXP precision, SEXP threads) {
  static const char *names[] = {"status", "beta", "curvature", "log_lik", ""};
  gpc_temperature_data data = {.floor = r_number(floor, "floor"),
                               .threads = r_threads(threads)};
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

/* list(status, theta, curvature, log_lik); z [n x k] scores, m0 [d], p0 [d x d] */
SEXP r_laplace_softmax(SEXP z, SEXP labels, SEXP weights, SEXP floor, SEXP matrix,
                       SEXP m0, SEXP p0) {
  static const char *names[] = {"status", "theta", "curvature", "log_lik", ""};
  size_t n, k;
  const double *scores = r_matrix(z, "z", &n, &k);
  const int full = r_flag(matrix, "matrix");
  const size_t d = gpc_laplace_softmax_size(k, full);
  double *u = r_work(n * k), log_lik;
  gpc_laplace_softmax_data data = {.n = n,
                                   .k = k,
                                   .u = u,
                                   .label = r_codes(labels, "labels", n, k),
                                   .w =
                                       r_doubles_or_null(weights, "weights", (R_xlen_t)n),
                                   .matrix = full,
                                   .m0 = r_doubles(m0, "m0", (R_xlen_t)d),
                                   .p0 = r_doubles(p0, "p0", (R_xlen_t)(d * d))};
  const double rms = gpc_linear_centre(n, k, scores, r_number(floor, "floor"), data.w, u);
  for (size_t i = 0; i < n * k && rms > 0.0; i++)
    u[i] *= rms; /* the parameters are those of the scores as they are */
  SEXP out = PROTECT(r_named_list(names));
  SET_VECTOR_ELT(out, 1, Rf_allocVector(REALSXP, (R_xlen_t)d));
  SET_VECTOR_ELT(out, 2, Rf_allocMatrix(REALSXP, (int)d, (int)d));
  const gpc_status status =
      gpc_laplace_softmax(&data, 1e-10, 100, &r_memory, r_poll, NULL,
                          REAL(VECTOR_ELT(out, 1)), REAL(VECTOR_ELT(out, 2)), &log_lik);
  SET_VECTOR_ELT(out, 0, r_status(status));
  SET_VECTOR_ELT(out, 3, Rf_ScalarReal(log_lik));
  UNPROTECT(1);
  return out;
}
