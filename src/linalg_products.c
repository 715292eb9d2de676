/* linalg_products.c: products of matrices, and solves with many right-hand sides
 * (linalg.h). */
#include "linalg.h"
#include "linalg_kernels.h"
#include "linalg_tiles.h"
#include "simd.h"

#include <string.h>

#define FEW                                                                              \
  16 /* columns that are worked on together, while the rows of others are at hand */

/* to [n] += sum_j x_j column j of a [n x m], x_j at x[j * step]. */
GPC_FUSED static void add_weighted(size_t n, size_t m, const double *a, const double *x,
                                   size_t step, double alpha, double *to) {
  size_t j = 0;
  for (; j + 4 <= m; j += 4) {
    const double *a0 = a + j * n, *a1 = a0 + n, *a2 = a1 + n, *a3 = a2 + n;
    const double *at = x + j * step;
    const double x0 = alpha * at[0], x1 = alpha * at[step], x2 = alpha * at[2 * step],
                 x3 = alpha * at[3 * step];
#pragma omp simd
    for (size_t i = 0; i < n; i++)
      to[i] += a0[i] * x0 + a1[i] * x1 + a2[i] * x2 + a3[i] * x3;
  }
  for (; j < m; j++) {
    const double *col = a + j * n, xj = alpha * x[j * step];
#pragma omp simd
    for (size_t i = 0; i < n; i++)
      to[i] += col[i] * xj;
  }
}

/* c [n x k] += alpha a b, a [n x m], b [m x k] or (tb) [k x m] as stored. */
static void add_columns(int tb, size_t n, size_t k, size_t m, double alpha,
                        const double *a, const double *b, double *c) {
  const size_t row = tb ? k : 1, column = tb ? 1 : m; /* steps through b */
  gpc_add_block(n, k, m, alpha, a, n, b, row, column, c, n);
}

#define PIECE 64 /* of a row, copied to lie in one stretch */

/* c [n x k] += alpha a'b', a [m x n] and b [k x m] as stored. */
GPC_WIDE static void add_rows(size_t n, size_t k, size_t m, double alpha, const double *a,
                              const double *b, double *c) {
  double piece[PIECE];
  for (size_t first = 0; first < m; first += PIECE) {
    const size_t count = m - first < PIECE ? m - first : PIECE;
    for (size_t q = 0; q < k; q++) {
      for (size_t i = 0; i < count; i++)
        piece[i] = b[q + k * (first + i)];
      for (size_t p = 0; p < n; p++)
        c[p + n * q] += alpha * gpc_dot(count, a + first + p * m, piece);
    }
  }
}

void gpc_gram(size_t n, size_t m, const double *a, const double *b, double *c) {
  memset(c, 0, n * n * sizeof(double));
  if (gpc_tiles_pay(n, n, m))
    gpc_tiles_add(1, 0, 1, n, n, m, 1.0, a, m, b, m, c, n);
  else
    gpc_add_products(1, n, n, m, 1.0, a, b, c);
  gpc_symmetrise(n, c);
}

GPC_WIDE static void scale_column(size_t n, double by, double *x) {
#pragma omp simd
  for (size_t i = 0; i < n; i++)
    x[i] *= by;
}

#define ANY_ROWS 1000 /* a row's solution must not depend on how many rows there are */

/* x [n x count], from column `from` of x, less `many` other columns of x, from column `other`
 * on, times L': l is the first of those elements of L, or (t) of L'. */
static void take_products(int t, size_t n, size_t m, size_t from, size_t count,
                          size_t other, size_t many, const double *l, double *x) {
  if (gpc_tiles_pay(ANY_ROWS, FEW, m))
    gpc_tiles_add(0, !t, 0, n, count, many, -1.0, x + n * other, n, l, m, x + n * from,
                  n);
  else
    gpc_add_block(n, count, many, -1.0, x + n * other, n, l, t ? 1 : m, t ? m : 1,
                  x + n * from, n);
}

void gpc_solve_rows(size_t n, size_t m, const double *chol, double *x) {
  for (size_t j = 0; j < m; j++) {    /* x_j := (x_j - sum_{i<j} L_ji x_i) / L_jj */
    const size_t block = j - j % FEW; /* from here on one by one */
    if (j == block && j > 0)
      take_products(0, n, m, j, m - j < FEW ? m - j : FEW, 0, j, chol + j, x);
    add_weighted(n, j - block, x + n * block, chol + j + m * block, m, -1.0, x + n * j);
    scale_column(n, 1.0 / chol[j + m * j], x + n * j);
  }
}

void gpc_solve_rows_t(size_t n, size_t m, const double *chol, double *x) {
  for (size_t j = m; j-- > 0;) { /* x_j := (x_j - sum_{i>j} L_ij x_i) / L_jj */
    const size_t block = j - j % FEW, end = block + FEW < m ? block + FEW : m;
    if (j + 1 == end && end < m)
      take_products(1, n, m, block, FEW, end, m - end, chol + end + m * block, x);
    add_weighted(n, end - 1 - j, x + n * (j + 1), chol + j + 1 + m * j, 1, -1.0,
                 x + n * j);
    scale_column(n, 1.0 / chol[j + m * j], x + n * j);
  }
}

void gpc_gemm(int ta, int tb, size_t n, size_t k, size_t m, double alpha, const double *a,
              const double *b, double beta, double *c) {
  if (beta == 0.0)
    memset(c, 0, n * k * sizeof(double));
  else if (beta != 1.0)
    scale_column(n * k, beta, c);
  if (ta && tb)
    add_rows(n, k, m, alpha, a, b, c);
  else if (ta)
    gpc_add_products(0, n, k, m, alpha, a, b, c);
  else
    add_columns(tb, n, k, m, alpha, a, b, c);
}

void gpc_gemm_large(int ta, int tb, size_t n, size_t k, size_t m, double alpha,
                    const double *a, const double *b, double beta, double *c) {
  if (!gpc_tiles_pay(n, k, m)) {
    gpc_gemm(ta, tb, n, k, m, alpha, a, b, beta, c);
    return;
  }
  if (beta == 0.0)
    memset(c, 0, n * k * sizeof(double));
  else if (beta != 1.0)
    scale_column(n * k, beta, c);
  gpc_tiles_add(ta, tb, 0, n, k, m, alpha, a, ta ? m : n, b, tb ? k : m, c, n);
}

void gpc_syrk_large(size_t n, size_t m, double alpha, const double *a, double *c) {
  if (gpc_tiles_pay(n, n, m))
    gpc_tiles_add(0, 1, 1, n, n, m, alpha, a, n, a, n, c, n);
  else
    gpc_gemm(0, 1, n, n, m, alpha, a, a, 1.0, c);
}

void gpc_symm(size_t n, size_t k, const double *a, const double *b, double *c) {
  gpc_gemm_large(0, 0, n, k, n, 1.0, a, b, 0.0, c);
}
