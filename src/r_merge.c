/* r_merge.c: .Call layer of gp_merge.h. */
#include "gp_merge.h"
#include "r_util.h"

#include <string.h>

/* f [k x n], cells and labels [n], weights [n]: the group of every row, from 1. */
SEXP r_merge_rows(SEXP f, SEXP cell, SEXP label, SEXP weight, SEXP most) {
  size_t n, k;
  const double *values = r_matrix(f, "f", &k, &n);
  const double *weights = r_doubles(weight, "weight", (R_xlen_t)n);
  const int *cells = r_integers(cell, "cell", (R_xlen_t)n);
  const int *labels = r_codes(label, "label", n, k);
  const int limit = r_count(most, "most");
  if (limit == 0)
    Rf_error("internal error: rows are to be merged to none");
  double *own = r_work(k * n), *mass = r_work(n);
  memcpy(own, values, k * n * sizeof(double));
  memcpy(mass, weights, n * sizeof(double));
  SEXP out = PROTECT(Rf_allocVector(INTSXP, (R_xlen_t)n));
  int *group = INTEGER(out);
  gpc_merge_rows(n, k, (size_t)limit, own, cells, labels, mass, &r_memory, r_poll, NULL,
                 group);
  for (size_t i = 0; i < n; i++)
    group[i]++;
  UNPROTECT(1);
  return out;
}
