/* r_pack_scores.c: .Call layer of pack_scores.h. */
#include "pack_scores.h"
#include "r_util.h"

/* how: 0 as they are, 1 logarithms, 2 less the highest of the row. */
SEXP r_largest_score(SEXP x, SEXP how) {
  static const gpc_stored as[] = {GPC_STORED_AS_THEY_ARE, GPC_STORED_LOG,
                                  GPC_STORED_LESS_HIGH};
  size_t n, k;
  const double *z = r_matrix(x, "x", &n, &k);
  const int which = r_count(how, "how");
  if (which > 2)
    Rf_error("internal error: scores are kept in three ways");
  return Rf_ScalarReal(gpc_largest_score(n, k, z, as[which]));
}

/* x [n x k], row by row. */
SEXP r_coarse_scores(SEXP x, SEXP unit, SEXP step) {
  size_t n, k;
  const double *z = r_matrix(x, "x", &n, &k);
  SEXP out = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)(n * k)));
  gpc_coarse_scores(n, k, z, r_number(unit, "unit"), r_number(step, "step"), RAW(out));
  UNPROTECT(1);
  return out;
}

SEXP r_short_scores(SEXP x, SEXP top) {
  const double *z = r_doubles(x, "x", -1);
  SEXP out = PROTECT(Rf_allocVector(INTSXP, XLENGTH(x)));
  gpc_short_scores((size_t)XLENGTH(x), z, r_number(top, "top"), INTEGER(out));
  UNPROTECT(1);
  return out;
}

SEXP r_median_below(SEXP x) {
  const double *z = r_doubles(x, "x", -1);
  const size_t n = (size_t)XLENGTH(x);
  return Rf_ScalarReal(gpc_median_below(n, z, r_work(n)));
}
