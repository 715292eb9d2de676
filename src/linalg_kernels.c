/* linalg_kernels.c: see linalg_kernels.h. A product is made of tiles of 8 x 4 sums, which
 * stay in registers from the first term to the last. Every sum, in a tile or not, is taken
 * in the order of its terms: no row of a product depends on how many there are. */
#include "linalg_kernels.h"
#include "linalg.h"
#include "simd.h"

#define TALL 8
#define BROAD 4

/* sum[t] := rows 0 .. 8 of a [. x m] times column t of b, as gpc_add_block() has them. */
GPC_PART void multiply_tile(size_t m, const double *a, size_t lda, const double *b,
                            size_t row, size_t column, double sum[BROAD][TALL]) {
#ifdef GPC_FOURS /* compilers do not keep arrays in registers of their own accord */
  gpc_four s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0};
  const size_t column2 = 2 * column, column3 = 3 * column;
  for (size_t j = 0; j < m; j++, a += lda, b += row) {
    const gpc_four s = *(const gpc_four *)a, t = *(const gpc_four *)(a + 4);
    s0 += s * b[0];
    t0 += t * b[0];
    s1 += s * b[column];
    t1 += t * b[column];
    s2 += s * b[column2];
    t2 += t * b[column2];
    s3 += s * b[column3];
    t3 += t * b[column3];
  }
  gpc_four *to = (gpc_four *)sum[0];
  to[0] = s0, to[1] = t0, to[2] = s1, to[3] = t1;
  to[4] = s2, to[5] = t2, to[6] = s3, to[7] = t3;
#else
  for (size_t t = 0; t < BROAD; t++)
    for (size_t i = 0; i < TALL; i++) {
      sum[t][i] = 0.0;
      for (size_t j = 0; j < m; j++)
        sum[t][i] += a[i + lda * j] * b[row * j + column * t];
    }
#endif
}

/* Rows [from, to) of c [8 x 4] += alpha sum, from its column `first` on. */
GPC_PART void add_tile(size_t from, size_t to, size_t first, double alpha,
                       double sum[BROAD][TALL], double *c, size_t ldc) {
  for (size_t t = first; t < BROAD; t++)
    if (to - from == TALL)
#pragma omp simd
      for (size_t i = 0; i < TALL; i++)
        c[i + ldc * t] += alpha * sum[t][i];
    else
      for (size_t i = from; i < to; i++)
        c[i + ldc * t] += alpha * sum[t][i];
}

#define STRIP 16

/* sum [16] := rows 0 .. 16 of a times one column of b. */
GPC_PART void multiply_strip(size_t m, const double *a, size_t lda, const double *b,
                             size_t row, double sum[STRIP]) {
#ifdef GPC_FOURS
  gpc_four s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, *to = (gpc_four *)sum;
  for (size_t j = 0; j < m; j++, a += lda, b += row) {
    const gpc_four *x = (const gpc_four *)a;
    s0 += x[0] * b[0];
    s1 += x[1] * b[0];
    s2 += x[2] * b[0];
    s3 += x[3] * b[0];
  }
  to[0] = s0, to[1] = s1, to[2] = s2, to[3] = s3;
#else
  for (size_t i = 0; i < STRIP; i++) {
    sum[i] = 0.0;
    for (size_t j = 0; j < m; j++)
      sum[i] += a[i + lda * j] * b[row * j];
  }
#endif
}

/* Where no tile fits: column by column. */
GPC_PART void add_few(size_t n, size_t k, size_t m, double alpha, const double *a,
                      size_t lda, const double *b, size_t row, size_t column, double *c,
                      size_t ldc) {
  double sum[STRIP];
  for (size_t q = 0; q < k; q++, b += column, c += ldc) {
    for (size_t i = 0; i < n && n >= STRIP; i += STRIP) {
      const size_t top = i + STRIP <= n ? i : n - STRIP;
      multiply_strip(m, a + top, lda, b, row, sum);
      for (size_t s = i - top; s < STRIP; s++)
        c[top + s] += alpha * sum[s];
    }
    for (size_t i = 0; i < n && n < STRIP; i++) {
      double own = 0.0;
      for (size_t j = 0; j < m; j++)
        own += a[i + lda * j] * b[row * j];
      c[i] += alpha * own;
    }
  }
}

/* Tiles at the edges begin earlier, to be whole, and leave alone what has been done. */
GPC_FUSED void gpc_add_block(size_t n, size_t k, size_t m, double alpha, const double *a,
                             size_t lda, const double *b, size_t row, size_t column,
                             double *c, size_t ldc) {
  double sum[BROAD][TALL];
  if (n < TALL || k < BROAD) {
    add_few(n, k, m, alpha, a, lda, b, row, column, c, ldc);
    return;
  }
  for (size_t i = 0; i < n; i += TALL) {
    const size_t top = i + TALL <= n ? i : n - TALL;
    for (size_t q = 0; q < k; q += BROAD) {
      const size_t left = q + BROAD <= k ? q : k - BROAD;
      multiply_tile(m, a + top, lda, b + column * left, row, column, sum);
      add_tile(i - top, TALL, q - left, alpha, sum, c + top + ldc * left, ldc);
    }
  }
}

#define PIECE 64 /* rows of a that are turned at a time */

/* c [n x k] += alpha a'b for few columns, in the order of the tiles. */
GPC_PART void add_few_products(size_t n, size_t k, size_t m, double alpha,
                               const double *a, const double *b, double *c) {
  for (size_t q = 0; q < k; q++)
    for (size_t p = 0; p < n; p += 4)
      for (size_t first = 0; first < m; first += PIECE) {
        const size_t end = m - first < PIECE ? m : first + PIECE;
        const double *own = b + m * q, *a0 = a + m * p, *a1 = p + 1 < n ? a0 + m : a0,
                     *a2 = p + 2 < n ? a1 + m : a0, *a3 = p + 3 < n ? a2 + m : a0;
        double sum[4] = {0.0, 0.0, 0.0, 0.0};
        for (size_t j = first; j < end; j++) { /* four sums that need not wait */
          sum[0] += a0[j] * own[j];
          sum[1] += a1[j] * own[j];
          sum[2] += a2[j] * own[j];
          sum[3] += a3[j] * own[j];
        }
        for (size_t i = 0; i < 4 && p + i < n; i++)
          c[p + i + n * q] += alpha * sum[i];
      }
}

/* Eight columns of a' at a time, turned so that they lie side by side. */
GPC_FUSED void gpc_add_products(int lower, size_t n, size_t k, size_t m, double alpha,
                                const double *a, const double *b, double *c) {
  double turned[PIECE * TALL], sum[BROAD][TALL];
  if (k < BROAD) {
    add_few_products(n, k, m, alpha, a, b, c);
    return;
  }
  for (size_t p = 0; p < n; p += TALL)
    for (size_t first = 0; first < m; first += PIECE) {
      const size_t rows = n - p < TALL ? n - p : TALL;
      const size_t count = m - first < PIECE ? m - first : PIECE;
      const size_t most = lower && p + rows < k ? p + rows : k;
      for (size_t i = 0; i < TALL; i++) /* at the edge the first again */
        for (size_t j = 0; j < count; j++)
          turned[i + TALL * j] = a[first + j + m * (p + (i < rows ? i : 0))];
      for (size_t q = 0; q < most; q += BROAD) {
        const size_t left = q + BROAD <= k ? q : k - BROAD;
        multiply_tile(count, turned, TALL, b + first + m * left, 1, m, sum);
        add_tile(0, rows, q - left, alpha, sum, c + p + n * left, n);
      }
    }
}

GPC_FUSED void gpc_eight_products(size_t m, const double *const a[4],
                                  const double *const b[2], double sum[4][2]) {
  const double *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3], *b0 = b[0], *b1 = b[1];
  double s00 = 0.0, s10 = 0.0, s20 = 0.0, s30 = 0.0;
  double s01 = 0.0, s11 = 0.0, s21 = 0.0, s31 = 0.0;
#pragma omp simd reduction(+ : s00, s10, s20, s30, s01, s11, s21, s31)
  for (size_t i = 0; i < m; i++) {
    const double u = b0[i], v = b1[i];
    s00 += a0[i] * u;
    s10 += a1[i] * u;
    s20 += a2[i] * u;
    s30 += a3[i] * u;
    s01 += a0[i] * v;
    s11 += a1[i] * v;
    s21 += a2[i] * v;
    s31 += a3[i] * v;
  }
  sum[0][0] = s00, sum[1][0] = s10, sum[2][0] = s20, sum[3][0] = s30;
  sum[0][1] = s01, sum[1][1] = s11, sum[2][1] = s21, sum[3][1] = s31;
}
