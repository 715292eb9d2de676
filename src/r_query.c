/* r_query.c: .Call layer of gp_query.h. `fit` and `at` as in r_gp_effects.h, `offset` [k],
 * a matrix [n x k], or NULL. */
#include "gp_query.h"
#include "r_gp_effects.h"

static void check(gpc_status status) {
  if (status != GPC_OK)
    Rf_error("internal error: the posterior covariance is not positive definite");
}

static gpc_query unpack(SEXP fit, const gpc_gp_data *data, SEXP offset) {
  const int rows = Rf_isMatrix(offset);
  const R_xlen_t length = (R_xlen_t)(rows ? data->n * data->k : data->k);
  const double *known = r_doubles_or_null(offset, "offset", length);
  return (gpc_query){.fit = r_joint_fitted(fit, data->k, 0),
                     .offset = rows ? NULL : known,
                     .shift = rows ? known : NULL,
                     .data = data};
}

/* Nats of every row: [n]. */
SEXP r_query_information(SEXP fit, SEXP at, SEXP offset) {
  gpc_gp_data data = r_gp_scores(at, 1);
  gpc_query query = unpack(fit, &data, offset);
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)data.n));
  check(gpc_query_information(&query, &r_memory, r_poll, NULL, REAL(out)));
  UNPROTECT(1);
  return out;
}

/* list(row, gain, cov): rows from 1 in the order of their choice, what each tells, and S
 * after them. */
SEXP r_query_greedy(SEXP fit, SEXP at, SEXP offset, SEXP count) {
  gpc_gp_data data = r_gp_scores(at, 1);
  gpc_query query = unpack(fit, &data, offset);
  const size_t picks = (size_t)r_count(count, "count");
  const size_t size =
      query.fit.process.basis.m + query.fit.slopes + data.k * query.fit.features.r;
  if (picks > data.n)
    Rf_error("internal error: more rows asked for than there are");
  static const char *names[] = {"row", "gain", "cov", ""};
  SEXP out = PROTECT(r_named_list(names));
  SET_VECTOR_ELT(out, 0, Rf_allocVector(REALSXP, (R_xlen_t)picks));
  SET_VECTOR_ELT(out, 1, Rf_allocVector(REALSXP, (R_xlen_t)picks));
  SET_VECTOR_ELT(out, 2, Rf_allocMatrix(REALSXP, (int)size, (int)size));
  size_t *chosen = (size_t *)R_alloc(picks ? picks : 1, sizeof *chosen);
  check(gpc_query_greedy(&query, picks, &r_memory, r_poll, NULL, chosen,
                         REAL(VECTOR_ELT(out, 1)), REAL(VECTOR_ELT(out, 2))));
  for (size_t i = 0; i < picks; i++)
    REAL(VECTOR_ELT(out, 0))[i] = (double)chosen[i] + 1.0;
  UNPROTECT(1);
  return out;
}
