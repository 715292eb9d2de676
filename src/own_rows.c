/* own_rows.c: see own_rows.h. */
#include "own_rows.h"
#include "fastexp.h"
#include "simd.h"

#include <math.h>
#include <string.h>

/* sum [rows] := sum_k exp(z_k - top) of the rows of a block, or sum_k z_k of probabilities. */
GPC_WIDE
static void sum_rows(size_t rows, size_t n, size_t k, const double *z, const double *top,
                     int logits, double *sum) {
  memset(sum, 0, rows * sizeof(double));
  for (size_t j = 0; j < k; j++) {
    const double *column = z + j * n;
    if (logits)
#pragma omp simd
      for (size_t i = 0; i < rows; i++)
        sum[i] += gpc_exp_nonpos(column[i] - top[i]);
    else
#pragma omp simd
      for (size_t i = 0; i < rows; i++)
        sum[i] += column[i];
  }
}

/* The share of one class in these sums, of the rows of a block. */
GPC_WIDE
static double mean_before(size_t rows, const double *z, const double *top, int logits,
                          const double *share, const double *sum) {
  double mean = 0.0;
#pragma omp simd reduction(+ : mean)
  for (size_t i = 0; i < rows; i++)
    mean += share[i] * (logits ? gpc_exp_nonpos(z[i] - top[i]) : z[i]) / sum[i];
  return mean;
}

/* predicted and variance of one class, of the rows of a block added. */
GPC_WIDE
static void add_class(size_t rows, const double *p, const double *share,
                      double *predicted, double *variance) {
  double mean = 0.0, spread = 0.0;
#pragma omp simd reduction(+ : mean, spread)
  for (size_t i = 0; i < rows; i++) {
    const double part = share[i] * p[i];
    mean += part;
    spread += share[i] * part * (1.0 - p[i]);
  }
  *predicted += mean;
  *variance += spread;
}

void gpc_own_rows(size_t n, size_t k, const double *p, const double *z, const double *top,
                  const int *label, const double *share, int logits, gpc_own_sums *out) {
  const size_t step = gpc_block_rows(k);
  out->loss[0] = out->loss[1] = 0.0;
  memset(out->observed, 0, k * sizeof(double));
  memset(out->predicted, 0, k * sizeof(double));
  memset(out->variance, 0, k * sizeof(double));
  memset(out->before, 0, k * sizeof(double));
  for (size_t first = 0; first < n; first += step) {
    const size_t rows = n - first < step ? n - first : step;
    double *sum = out->total + first;
    sum_rows(rows, n, k, z + first, top + first, logits, sum);
    for (size_t i = 0; i < rows; i++) {
      const size_t row = first + i, y = (size_t)label[row] - 1;
      const double score = z[row + n * y];
      if (share[row] == 0.0) /* what it has lost may be infinite */
        continue;
      out->loss[0] +=
          share[row] * (logits ? top[row] + log(sum[i]) - score : -log(score));
      out->loss[1] -= share[row] * log(p[row + n * y]);
      out->observed[y] += share[row];
    }
    for (size_t j = 0; j < k; j++) {
      add_class(rows, p + first + n * j, share + first, out->predicted + j,
                out->variance + j);
      out->before[j] +=
          mean_before(rows, z + first + n * j, top + first, logits, share + first, sum);
    }
  }
}
