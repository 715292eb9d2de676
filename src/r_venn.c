/* r_venn.c: .Call layer of venn.h: Venn-Abers pairs of one class against the rest. */
#include "r_util.h"
#include "venn.h"
#include <limits.h>
#include <string.h>

/* Steps of a map: p1 keeps the last score of equal values, p0 the first. */
static size_t keep_steps(size_t m, const double *score, const double *value, int last,
                         double *x, double *y) {
  size_t kept = 0;
  for (size_t g = 0; g < m; g++) {
    const int wanted = last ? g + 1 == m || value[g + 1] != value[g]
                            : g == 0 || value[g - 1] != value[g];
    if (wanted) {
      x[kept] = score[g];
      y[kept++] = value[g];
    }
  }
  return kept;
}

static SEXP copied(const double *x, size_t n) {
  SEXP out = Rf_allocVector(REALSXP, (R_xlen_t)n);
  if (n > 0)
    memcpy(REAL(out), x, n * sizeof(double));
  return out;
}

/* The pair of class `code`, from its scores in [0, 1]: list(x1, y1, x0, y0). */
SEXP r_venn_fit(SEXP scores, SEXP labels, SEXP code, SEXP weights) {
  static const char *names[] = {"x1", "y1", "x0", "y0", ""};
  const R_xlen_t n = XLENGTH(scores);
  if (n > INT_MAX)
    Rf_error("more than %d rows cannot be sorted", INT_MAX);
  gpc_one one = {(size_t)n, r_doubles(scores, "scores", n),
                 r_integers(labels, "labels", n), r_count(code, "code"),
                 r_doubles_or_null(weights, "weights", n)};
  const size_t size = (size_t)n;
  double *score = r_work(size), *hits = r_work(size), *weight = r_work(size);
  double *lower = r_work(size), *upper = r_work(size);
  gpc_ties ties = gpc_ties_sort(
      &one, r_work(gpc_ties_work(size, one.weights != NULL) / sizeof(double) + 1));
  const size_t m = gpc_ties_all(&ties, score, hits, weight);
  gpc_venn_pair(m, hits, weight, lower, upper,
                r_work(gpc_venn_work(m) / sizeof(double) + 1));
  SEXP out = PROTECT(r_named_list(names));
  for (int last = 1; last >= 0; last--) {
    const size_t kept = keep_steps(m, score, last ? upper : lower, last, hits, weight);
    SET_VECTOR_ELT(out, last ? 0 : 2, copied(hits, kept));
    SET_VECTOR_ELT(out, last ? 1 : 3, copied(weight, kept));
  }
  UNPROTECT(1);
  return out;
}
