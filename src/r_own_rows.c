/* r_own_rows.c: .Call layer of own_rows.h. */
#include "own_rows.h"
#include "r_util.h"

SEXP r_own_rows(SEXP probs, SEXP scores, SEXP top, SEXP labels, SEXP share, SEXP logits) {
  size_t n, k, rows, columns;
  const double *p = r_matrix(probs, "probs", &n, &k);
  const double *z = r_matrix(scores, "scores", &rows, &columns);
  if (rows != n || columns != k)
    Rf_error("internal error: 'probs' and 'scores' are of different size");
  static const char *names[] = {"loss",   "observed", "predicted", "variance",
                                "before", "total",    ""};
  SEXP out = PROTECT(r_named_list(names));
  double *sum[6];
  for (int i = 0; i < 6; i++) {
    const R_xlen_t length = i == 0 ? 2 : (R_xlen_t)(i < 5 ? k : n);
    SET_VECTOR_ELT(out, i, Rf_allocVector(REALSXP, length));
    sum[i] = REAL(VECTOR_ELT(out, i));
  }
  gpc_own_sums sums = {.loss = sum[0],
                       .observed = sum[1],
                       .predicted = sum[2],
                       .variance = sum[3],
                       .before = sum[4],
                       .total = sum[5]};
  gpc_own_rows(n, k, p, z, r_doubles(top, "top", (R_xlen_t)n),
               r_codes(labels, "labels", n, k), r_doubles(share, "share", (R_xlen_t)n),
               r_flag(logits, "logits"), &sums);
  UNPROTECT(1);
  return out;
}
