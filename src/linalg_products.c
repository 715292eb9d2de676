/* linalg_products.c: products of matrices, and solves with many right-hand sides
 * (linalg.h). */
#include "linalg.h"
#include "linalg_kernels.h"
#include "linalg_tiles.h"
#include "simd.h"

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
  const size_t whole = m - m % 4;
  size_t q = 0;
  for (; q + 4 <= k; q += 4) {
    for (size_t j = 0; j < whole; j += 4) {
      double x[4][4];
      for (size_t s = 0; s < 4; s++)
        for (size_t t = 0; t < 4; t++)
          x[s][t] = alpha * b[(j + s) * row + (q + t) * column];
      gpc_add_four(n, n, a + j * n, x, c + q * n);
    }
    for (size_t t = 0; t < 4; t++)
      add_weighted(n, m - whole, a + whole * n, b + whole * row + (q + t) * column, row,
                   alpha, c + (q + t) * n);
  }
  for (; q < k; q++)
    add_weighted(n, m, a, b + q * column, row, alpha, c + q * n);
}

/* c [n x k] += alpha a'b, a [m x n] and b [m x k] as stored: inner products of columns,
 * four by two; `lower`: only those on and below the diagonal (and some above it). */
static void add_products(int lower, size_t n, size_t k, size_t m, double alpha,
                         const double *a, const double *b, double *c) {
  for (size_t q = 0; q < k; q += 2)
    for (size_t p = lower ? q - q % 4 : 0; p < n; p += 4) {
      const double *left[4], *right[2];
      double sum[4][2];
      const size_t rows = n - p < 4 ? n - p : 4, columns = k - q < 2 ? k - q : 2;
      for (size_t i = 0; i < 4; i++) /* at the edge the first again */
        left[i] = a + (i < rows ? p + i : p) * m;
      for (size_t j = 0; j < 2; j++)
        right[j] = b + (j < columns ? q + j : q) * m;
      gpc_eight_products(m, left, right, sum);
      for (size_t j = 0; j < columns; j++)
        for (size_t i = 0; i < rows; i++)
          c[p + i + n * (q + j)] += alpha * sum[i][j];
    }
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
  for (size_t i = 0; i < n * n; i++)
    c[i] = 0.0;
  add_products(1, n, n, m, 1.0, a, b, c);
  gpc_symmetrise(n, c);
}

GPC_WIDE static void scale_column(size_t n, double by, double *x) {
#pragma omp simd
  for (size_t i = 0; i < n; i++)
    x[i] *= by;
}

/* Columns j .. j + 4 of x [n x m] less columns s .. s + 4 times L', or (t) L. */
static void take_four_off(int t, size_t n, size_t m, const double *chol, size_t s,
                          size_t j, double *x) {
  double by[4][4];
  for (size_t u = 0; u < 4; u++)
    for (size_t v = 0; v < 4; v++)
      by[u][v] = -(t ? chol[s + u + m * (j + v)] : chol[j + v + m * (s + u)]);
  gpc_add_four(n, n, x + n * s, by, x + n * j);
}

void gpc_solve_rows(size_t n, size_t m, const double *chol, double *x) {
  const size_t whole = m - m % 4;
  for (size_t j = 0; j < m; j++) { /* x_j := (x_j - sum_{i<j} L_ji x_i) / L_jj */
    const size_t block = j < whole ? j - j % 4 : 0; /* from here on one by one */
    for (size_t s = 0; s < block && j == block; s += 4)
      take_four_off(0, n, m, chol, s, j, x);
    add_weighted(n, j - block, x + n * block, chol + j + m * block, m, -1.0, x + n * j);
    scale_column(n, 1.0 / chol[j + m * j], x + n * j);
  }
}

void gpc_solve_rows_t(size_t n, size_t m, const double *chol, double *x) {
  const size_t whole = m - m % 4;
  for (size_t j = m; j-- > 0;) { /* x_j := (x_j - sum_{i>j} L_ij x_i) / L_jj */
    const size_t next = j < whole ? j - j % 4 + 4 : m, last = next < whole ? whole : next;
    for (size_t s = next; s < whole && j + 1 == next; s += 4)
      take_four_off(1, n, m, chol, s, j - 3, x);
    add_weighted(n, next - 1 - j, x + n * (j + 1), chol + j + 1 + m * j, 1, -1.0,
                 x + n * j);
    add_weighted(n, m - last, x + n * last, chol + last + m * j, 1, -1.0, x + n * j);
    scale_column(n, 1.0 / chol[j + m * j], x + n * j);
  }
}

void gpc_gemm(int ta, int tb, size_t n, size_t k, size_t m, double alpha, const double *a,
              const double *b, double beta, double *c) {
  for (size_t i = 0; i < n * k && beta != 1.0; i++)
    c[i] = beta == 0.0 ? 0.0 : beta * c[i];
  if (ta && tb)
    add_rows(n, k, m, alpha, a, b, c);
  else if (ta)
    add_products(0, n, k, m, alpha, a, b, c);
  else
    add_columns(tb, n, k, m, alpha, a, b, c);
}

void gpc_gemm_large(int ta, int tb, size_t n, size_t k, size_t m, double alpha,
                    const double *a, const double *b, double beta, double *c) {
  if (!gpc_tiles_pay(n, k, m)) {
    gpc_gemm(ta, tb, n, k, m, alpha, a, b, beta, c);
    return;
  }
  for (size_t i = 0; i < n * k && beta != 1.0; i++)
    c[i] = beta == 0.0 ? 0.0 : beta * c[i];
  gpc_tiles_add(ta, tb, 0, n, k, m, alpha, a, ta ? m : n, b, tb ? k : m, c, n);
}

void gpc_symm(size_t n, size_t k, const double *a, const double *b, double *c) {
  gpc_gemm(0, 0, n, k, n, 1.0, a, b, 0.0, c);
}
