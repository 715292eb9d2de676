/* unit.c: what speed is counted in. Plain C, compiled with R's usual flags by
 * bench/helper.R, called by .Call() with buffers allocated beforehand, one thread.
 *
 * unit_softmax: "one softmax": the softmax of every row of a column-major
 * n x k matrix in whole-column sweeps, with libm's exp: row maxima, exponentials and
 * their sums, division.
 *
 * unit_row_max: "one row maximum pass": the largest entry of every row and its first
 * column, again in whole-column sweeps, as anyone would write it at first.
 *
 * unit_search: "one search pass": every score of the matrix is read and looked up, by halving, among
 * the points of its column's map (points start[j] .. start[j + 1] - 1 of x); the position is summed
 * up, and nothing is written. */
#include <R.h>
#include <Rinternals.h>
#include <math.h>
#include <time.h>

static void softmax(R_xlen_t n, R_xlen_t k, const double *z, double *top, double *sum,
                    double *p) {
  for (R_xlen_t i = 0; i < n; i++)
    top[i] = z[i];
  for (R_xlen_t j = 1; j < k; j++)
    for (R_xlen_t i = 0; i < n; i++)
      if (z[i + j * n] > top[i])
        top[i] = z[i + j * n];
  for (R_xlen_t i = 0; i < n; i++)
    sum[i] = 0.0;
  for (R_xlen_t j = 0; j < k; j++)
    for (R_xlen_t i = 0; i < n; i++) {
      p[i + j * n] = exp(z[i + j * n] - top[i]);
      sum[i] += p[i + j * n];
    }
  for (R_xlen_t j = 0; j < k; j++)
    for (R_xlen_t i = 0; i < n; i++)
      p[i + j * n] /= sum[i];
}

static void row_max(R_xlen_t n, R_xlen_t k, const double *z, double *top, int *arg) {
  for (R_xlen_t i = 0; i < n; i++) {
    top[i] = z[i];
    arg[i] = 1;
  }
  for (R_xlen_t j = 1; j < k; j++)
    for (R_xlen_t i = 0; i < n; i++)
      if (z[i + j * n] > top[i]) {
        top[i] = z[i + j * n];
        arg[i] = (int)j + 1;
      }
}

/* All buffers are overwritten in place, against R's custom: nothing may be allocated. */
SEXP unit_softmax(SEXP z, SEXP top, SEXP sum, SEXP p) {
  softmax(Rf_nrows(z), Rf_ncols(z), REAL(z), REAL(top), REAL(sum), REAL(p));
  return R_NilValue;
}

SEXP unit_row_max(SEXP z, SEXP top, SEXP arg) {
  row_max(Rf_nrows(z), Rf_ncols(z), REAL(z), REAL(top), INTEGER(arg));
  return R_NilValue;
}

SEXP unit_search(SEXP z, SEXP x, SEXP start) {
  const R_xlen_t n = Rf_nrows(z), k = Rf_ncols(z);
  const double *score = REAL(z);
  double sum = 0.0;
  for (R_xlen_t j = 0; j < k; j++) {
    const double *point = REAL(x) + INTEGER(start)[j];
    const int m = INTEGER(start)[j + 1] - INTEGER(start)[j];
    for (R_xlen_t i = 0; i < n; i++) {
      const double s = score[i + j * n];
      int low = 0, high = m;
      while (low < high) {
        int middle = (low + high) / 2;
        if (point[middle] < s)
          low = middle + 1;
        else
          high = middle;
      }
      sum += low;
    }
  }
  return Rf_ScalarReal(sum);
}

/* Seconds, to the nanosecond. */
SEXP unit_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return Rf_ScalarReal((double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
}
