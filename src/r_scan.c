/* r_scan.c: .Call layer of scan.h. Beside the scan it looks closer at the rows whose sum
 * is not finite and reports the first few of each kind. */
#include "r_util.h"
#include "scan.h"

#include <math.h>

#define REPORT 5

typedef struct {
  double count; /* rows of this kind */
  int first[REPORT];
  int kept;
} row_report;

static void note_row(row_report *report, size_t row) {
  if (report->kept < REPORT)
    report->first[report->kept++] = (int)(row + 1);
  report->count += 1.0;
}

static SEXP report_rows(const row_report *report) {
  SEXP rows = Rf_allocVector(INTSXP, report->kept);
  for (int i = 0; i < report->kept; i++)
    INTEGER(rows)[i] = report->first[i];
  return rows;
}

/* What is wrong with row i, whose sum is not finite. */
static void look_at_row(size_t i, size_t n, size_t k, const double *x, row_report *nan,
                        row_report *posinf, row_report *neginf, row_report *dead) {
  size_t n_nan = 0, n_pos = 0, n_neg = 0;
  for (size_t j = 0; j < k; j++) {
    double v = x[i + j * n];
    n_nan += ISNAN(v) != 0;
    n_pos += v == R_PosInf;
    n_neg += v == R_NegInf;
  }
  if (n_nan)
    note_row(nan, i);
  if (n_pos)
    note_row(posinf, i);
  if (n_neg)
    note_row(neginf, i);
  if (n_neg == k)
    note_row(dead, i);
}

/* A row vector that the caller keeps, or NULL. */
static double *row_vector(SEXP out, int place, int keep, size_t n) {
  if (!keep)
    return NULL;
  SET_VECTOR_ELT(out, place, Rf_allocVector(REALSXP, (R_xlen_t)n));
  return REAL(VECTOR_ELT(out, place));
}

/* keep: three flags, whether row maxima, minima and sums are wanted; their positions
 * always are. */
SEXP r_scan(SEXP x, SEXP threads, SEXP keep) {
  size_t n, k;
  const double *data = r_matrix(x, "x", &n, &k);
  const int cores = r_threads(threads), *kept = LOGICAL(keep);
  if (TYPEOF(keep) != LGLSXP || XLENGTH(keep) != 3)
    Rf_error("internal error: 'keep' must be three flags");
  static const char *names[] = {"max",         "arg",      "sum",         "lowest",
                                "highest",     "n_nan",    "nan_rows",    "n_posinf",
                                "posinf_rows", "n_neginf", "neginf_rows", "n_dead",
                                "dead_rows",   "off",      "min",         ""};
  SEXP out = PROTECT(r_named_list(names));
  SEXP row_arg = Rf_allocVector(INTSXP, (R_xlen_t)n);
  SET_VECTOR_ELT(out, 1, row_arg);
  double *part = r_work(4 * gpc_block_count(n, k));
  double *row_max = row_vector(out, 0, kept[0], n);
  double *row_min = row_vector(out, 14, kept[1], n);
  double *sum = row_vector(out, 2, kept[2], n);
  gpc_scan_range range;
  gpc_scan_rows(n, k, data, cores, row_max, INTEGER(row_arg), row_min, sum, part, &range);
  row_report nan = {0}, posinf = {0}, neginf = {0}, dead = {0};
  if (range.odd) {
    if (!sum) {
      sum = r_work(n);
      gpc_scan_rows(n, k, data, cores, row_max, INTEGER(row_arg), row_min, sum, part,
                    &range);
    }
    for (size_t i = 0; i < n; i++)
      if (!R_FINITE(sum[i]))
        look_at_row(i, n, k, data, &nan, &posinf, &neginf, &dead);
  }
  SET_VECTOR_ELT(out, 3, Rf_ScalarReal(range.lowest));
  SET_VECTOR_ELT(out, 4, Rf_ScalarReal(range.highest));
  const row_report *reports[] = {&nan, &posinf, &neginf, &dead};
  for (int r = 0; r < 4; r++) {
    SET_VECTOR_ELT(out, 5 + 2 * r, Rf_ScalarReal(reports[r]->count));
    SET_VECTOR_ELT(out, 6 + 2 * r, report_rows(reports[r]));
  }
  SET_VECTOR_ELT(out, 13, Rf_ScalarReal(range.off));
  UNPROTECT(1);
  return out;
}

SEXP r_normalise(SEXP x, SEXP slack) {
  size_t n, k;
  const double *data = r_matrix(x, "x", &n, &k);
  SEXP p = PROTECT(r_new_matrix(n, k));
  gpc_normalise_rows(n, k, data, r_number(slack, "slack"), REAL(p));
  UNPROTECT(1);
  return p;
}

SEXP r_pair_probs(SEXP x, SEXP flip) {
  const size_t n = (size_t)XLENGTH(x);
  const double *data = r_doubles(x, "x", -1);
  SEXP p = PROTECT(Rf_allocMatrix(REALSXP, (int)n, 2));
  gpc_pair_probs(n, data, r_flag(flip, "flip"), REAL(p));
  UNPROTECT(1);
  return p;
}

SEXP r_pair_range(SEXP x, SEXP least) {
  size_t n, k;
  const double *data = r_matrix(x, "x", &n, &k);
  SEXP ends = PROTECT(Rf_allocVector(REALSXP, 2));
  if (k != 2 || n < 1)
    Rf_error("internal error: 'x' must be rows of two classes");
  gpc_pair_range(n, data, data + n, r_number(least, "least"), REAL(ends));
  UNPROTECT(1);
  return ends;
}
