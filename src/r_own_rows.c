/* r_own_rows.c: .Call layer of own_rows.h. */
#include "own_rows.h"
#include "r_util.h"

SEXP r_own_rows(SEXP probs, SEXP scores, SEXP top, SEXP labels, SEXP share, SEXP logits) {
  size_t n, k, rows, columns;
  const double *p = r_matrix(probs, "probs", &n, &k);
  const double *z = r_matrix(scores, "scores", &rows, &columns);
  if (rows != n || columns != k)
    Rf_error("internal error: 'probs' and 'scores' are of different size");
  static const char *names[] = {"loss", "observed", "predicted", "variance", ""};
  SEXP out = PROTECT(r_named_list(names));
  for (int i = 0; i < 4; i++)
    SET_VECTOR_ELT(out, i, Rf_allocVector(REALSXP, i ? (R_xlen_t)k : 2));
  gpc_own_rows(n, k, p, z, r_doubles(top, "top", (R_xlen_t)n),
               r_codes(labels, "labels", n, k), r_doubles(share, "share", (R_xlen_t)n),
               r_flag(logits, "logits"), REAL(VECTOR_ELT(out, 0)),
               REAL(VECTOR_ELT(out, 1)), REAL(VECTOR_ELT(out, 2)),
               REAL(VECTOR_ELT(out, 3)));
  UNPROTECT(1);
  return out;
}
