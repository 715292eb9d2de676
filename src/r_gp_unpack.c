/* r_gp_unpack.c: see r_gp_unpack.h. */
#include "r_gp_unpack.h"

#include <string.h>

static gpc_mean mean_function(SEXP mean) {
  if (TYPEOF(mean) != STRSXP || XLENGTH(mean) != 1)
    Rf_error("internal error: 'mean' must be a string");
  return strcmp(CHAR(STRING_ELT(mean, 0)), "log") == 0 ? GPC_MEAN_LOG : GPC_MEAN_LINEAR;
}

gpc_gp_fitted r_gp_fitted(SEXP fit) {
  SEXP inducing = r_element(fit, "inducing");
  const size_t m = (size_t)XLENGTH(inducing);
  const double *hyper = r_doubles(r_element(fit, "hyper"), "hyper", 4);
  SEXP between = r_element_or_null(fit, "between"); /* of an averaged posterior */
  gpc_gp_fitted out = {
      .basis = {.m = m,
                .inducing = r_doubles(inducing, "inducing", -1),
                .hyper = {.s2 = hyper[0],
                          .l = hyper[1],
                          .sn2 = hyper[2],
                          .between =
                              Rf_isNull(between) ? 0.0 : r_number(between, "between")},
                .chol = r_work(m * m)},
      .prior = {.mean = mean_function(r_element(fit, "mean")), .slope = hyper[3]},
      .q_mean = r_doubles(r_element(fit, "q_mean"), "q_mean", (R_xlen_t)m),
      .q_cov = r_doubles(r_element(fit, "q_cov"), "q_cov", (R_xlen_t)(m * m)),
  };
  if (gpc_basis_factor(&out.basis) != GPC_OK)
    Rf_error("internal error: the inducing covariance is not positive definite");
  return out;
}

gpc_gp_data r_gp_scores(SEXP at, int threads) {
  gpc_gp_data data = {.floor = r_number(r_element(at, "floor"), "floor"),
                      .threads = threads};
  data.z = r_matrix(r_element(at, "z"), "z", &data.n, &data.k);
  data.shift =
      r_doubles_or_null(r_element_or_null(at, "shift"), "shift", (R_xlen_t)data.n);
  return data;
}

gpc_gp_lookup r_gp_lookup(const gpc_gp_fitted *fit) {
  gpc_gp_lookup lookup;
  if (gpc_gp_lookup_make(fit, &r_memory, &lookup) != GPC_OK)
    Rf_error("internal error: the posterior covariance is not positive definite");
  return lookup;
}

gpc_lift r_gp_lift(SEXP functions, size_t pairs) {
  gpc_lift out = {0};
  out.growth = r_doubles_or_null(r_element_or_null(functions, "growth"), "growth",
                                 (R_xlen_t)pairs);
  if (out.growth) {
    const double *ends = r_doubles(r_element(functions, "ends"), "ends", 3);
    out.low = ends[0];
    out.high = ends[1];
    out.scale = ends[2];
  }
  return out;
}
