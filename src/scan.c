/* scan.c: see scan.h. Works on blocks of rows, column by column within a block, so that
 * R's column-major matrices are read in long stretches and the loops vectorise over rows.
 */
#include "scan.h"

#include <math.h>

static void scan_block(size_t rows, size_t n, size_t k, const double *x, double *mx,
                       int *arg, double *low, double *sum, double *range) {
  double at[GPC_BLOCK_MAX];
  for (size_t i = 0; i < rows; i++) {
    mx[i] = low[i] = sum[i] = x[i];
    at[i] = 1.0;
  }
  for (size_t j = 1; j < k; j++) {
    const double *col = x + j * n;
    double number = (double)(j + 1);
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      double v = col[i], before = mx[i], after = v > before ? v : before;
      at[i] = after > before ? number : at[i];
      mx[i] = after;
      low[i] = v < low[i] ? v : low[i];
      sum[i] += v;
    }
  }
  double lowest = INFINITY, highest = -INFINITY, off = 0.0, odd = 0.0;
  for (size_t i = 0; i < rows; i++) {
    double from_one = fabs(sum[i] - 1.0);
    arg[i] = (int)at[i];
    lowest = low[i] < lowest ? low[i] : lowest;
    highest = mx[i] > highest ? mx[i] : highest;
    off = from_one > off ? from_one : off;
    odd = from_one < INFINITY ? odd : 1.0;
  }
  range[0] = lowest;
  range[1] = highest;
  range[2] = off;
  range[3] = odd;
}

void gpc_scan_rows(size_t n, size_t k, const double *x, int threads, double *row_max,
                   int *row_arg, double *row_min, double *row_sum, double *part,
                   gpc_scan_range *range) {
  const size_t step = gpc_block_rows(k), blocks = gpc_block_count(n, k);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (size_t b = 0; b < blocks; b++) {
    size_t first = b * step, rows = n - first < step ? n - first : step;
    double mx[GPC_BLOCK_MAX], low[GPC_BLOCK_MAX], sum[GPC_BLOCK_MAX];
    scan_block(rows, n, k, x + first, row_max ? row_max + first : mx, row_arg + first,
               row_min ? row_min + first : low, row_sum ? row_sum + first : sum,
               part + 4 * b);
  }
  *range = (gpc_scan_range){INFINITY, -INFINITY, 0.0, 0};
  for (size_t b = 0; b < blocks; b++) {
    const double *found = part + 4 * b;
    range->lowest = found[0] < range->lowest ? found[0] : range->lowest;
    range->highest = found[1] > range->highest ? found[1] : range->highest;
    range->off = found[2] > range->off ? found[2] : range->off;
    range->odd |= found[3] > 0.0;
  }
}

static double clamp01(double v) { return v < 0.0 ? 0.0 : v > 1.0 ? 1.0 : v; }

void gpc_normalise_rows(size_t n, size_t k, const double *x, double slack, double *p) {
  const size_t step = gpc_block_rows(k);
  double sum[GPC_BLOCK_MAX];
  for (size_t first = 0; first < n; first += step) {
    size_t rows = n - first < step ? n - first : step;
    for (size_t i = 0; i < rows; i++)
      sum[i] = 0.0;
    for (size_t j = 0; j < k; j++) {
      const double *from = x + j * n + first;
      double *to = p + j * n + first;
      for (size_t i = 0; i < rows; i++)
        sum[i] += to[i] = clamp01(from[i]);
    }
    for (size_t i = 0; i < rows; i++)
      if (fabs(sum[i] - 1.0) <= slack)
        sum[i] = 1.0;
    for (size_t j = 0; j < k; j++) {
      double *to = p + j * n + first;
      for (size_t i = 0; i < rows; i++)
        to[i] /= sum[i];
    }
  }
}

void gpc_pair_probs(size_t n, const double *x, int flip, double *p) {
  double *given = p + (flip ? 0 : n), *other = p + (flip ? n : 0);
  for (size_t i = 0; i < n; i++) {
    given[i] = clamp01(x[i]);
    other[i] = 1.0 - given[i];
  }
}

void gpc_pair_range(size_t n, const double *x1, const double *x2, double least,
                    double *ends) {
  double low = INFINITY, high = -INFINITY;
#pragma omp simd reduction(min : low) reduction(max : high)
  for (size_t i = 0; i < n; i++) {
    const double a = x1[i] > least ? x1[i] : least, b = x2[i] > least ? x2[i] : least;
    const double apart = b - a;
    low = apart < low ? apart : low;
    high = apart > high ? apart : high;
  }
  ends[0] = low;
  ends[1] = high;
}
