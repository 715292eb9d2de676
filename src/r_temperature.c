/* r_temperature.c: .Call layer of temperature.h and softmax.h. */
#include "r_util.h"
#include "softmax.h"
#include "temperature.h"

static gpc_temperature_data unpack(SEXP z, SEXP labels, SEXP weights, SEXP floor,
                                   SEXP threads) {
  gpc_temperature_data data;
  data.z = r_matrix(z, "z", &data.n, &data.k);
  data.label = r_codes(labels, "labels", data.n, data.k);
  data.w = r_doubles_or_null(weights, "weights", (R_xlen_t)data.n);
  data.floor = r_number(floor, "floor");
  data.threads = r_threads(threads);
  return data;
}

SEXP r_temperature_fit(SEXP z, SEXP labels, SEXP weights, SEXP floor, SEXP start,
                       SEXP tol, SEXP max_passes, SEXP threads) {
  gpc_temperature_data data = unpack(z, labels, weights, floor, threads);
  gpc_temperature_result result;
  gpc_status status =
      gpc_temperature_fit(&data, r_number(start, "start"), r_number(tol, "tol"),
                          r_count(max_passes, "max_passes"), r_poll, NULL,
                          r_work(gpc_temperature_work(data.n, data.k)), &result);
  static const char *names[] = {"status",     "beta",   "loss", "curvature",
                                "confidence", "passes", ""};
  SEXP out = PROTECT(r_named_list(names));
  SET_VECTOR_ELT(out, 0, r_status(status));
  SET_VECTOR_ELT(out, 1, Rf_ScalarReal(result.beta));
  SET_VECTOR_ELT(out, 2, Rf_ScalarReal(result.loss));
  SET_VECTOR_ELT(out, 3, Rf_ScalarReal(result.curvature));
  SET_VECTOR_ELT(out, 4, Rf_ScalarReal(result.confidence));
  SET_VECTOR_ELT(out, 5, Rf_ScalarInteger(result.passes));
  UNPROTECT(1);
  return out;
}

SEXP r_softmax(SEXP z, SEXP beta, SEXP floor, SEXP threads) {
  size_t n, k;
  const double *data = r_matrix(z, "z", &n, &k);
  SEXP p = PROTECT(r_new_matrix(n, k));
  gpc_softmax(n, k, data, r_number(beta, "beta"), r_number(floor, "floor"),
              r_threads(threads), REAL(p));
  UNPROTECT(1);
  return p;
}

SEXP r_log_softmax(SEXP z, SEXP threads) {
  size_t n, k;
  const double *data = r_matrix(z, "z", &n, &k);
  SEXP out = PROTECT(r_new_matrix(n, k));
  gpc_log_softmax(n, k, data, r_threads(threads), REAL(out));
  UNPROTECT(1);
  return out;
}
