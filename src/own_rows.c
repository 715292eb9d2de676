/* own_rows.c: see own_rows.h. */
#include "own_rows.h"
#include "fastexp.h"
#include "simd.h"

#include <math.h>
#include <string.h>

/* sum [rows] += sum_k exp(z_k - top) of the rows of a block. */
GPC_WIDE
static void add_exps(size_t rows, size_t n, size_t k, const double *z, const double *top,
                     double *sum) {
  for (size_t j = 0; j < k; j++) {
    const double *column = z + j * n;
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      sum[i] += gpc_exp_nonpos(column[i] - top[i]);
  }
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
                  const int *label, const double *share, int logits, double loss[2],
                  double *observed, double *predicted, double *variance) {
  double sum[GPC_BLOCK_MAX];
  const size_t step = gpc_block_rows(k);
  loss[0] = loss[1] = 0.0;
  memset(observed, 0, k * sizeof(double));
  memset(predicted, 0, k * sizeof(double));
  memset(variance, 0, k * sizeof(double));
  for (size_t first = 0; first < n; first += step) {
    const size_t rows = n - first < step ? n - first : step;
    memset(sum, 0, sizeof sum);
    if (logits)
      add_exps(rows, n, k, z + first, top + first, sum);
    for (size_t i = 0; i < rows; i++) {
      const size_t row = first + i, y = (size_t)label[row] - 1;
      const double score = z[row + n * y];
      if (share[row] == 0.0) /* what it has lost may be infinite */
        continue;
      loss[0] += share[row] * (logits ? top[row] + log(sum[i]) - score : -log(score));
      loss[1] -= share[row] * log(p[row + n * y]);
      observed[y] += share[row];
    }
    for (size_t j = 0; j < k; j++)
      add_class(rows, p + first + n * j, share + first, predicted + j, variance + j);
  }
}
