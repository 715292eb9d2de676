/* linalg.c: see linalg.h. */
#ifndef USE_FC_LEN_T
#define USE_FC_LEN_T
#endif
#include <R_ext/BLAS.h>
#include <R_ext/Lapack.h>
#ifndef FCONE
#define FCONE
#endif

#include "linalg.h"

#include <math.h>

gpc_status gpc_chol_keep(size_t m, double *a) {
  int n = (int)m, info = 0;
  F77_CALL(dpotrf)("L", &n, a, &n, &info FCONE);
  return info == 0 && isfinite(a[m * m - 1]) ? GPC_OK : GPC_NOT_PD;
}

gpc_status gpc_chol(size_t m, double smallest, double *a) {
  if (gpc_chol_keep(m, a) != GPC_OK)
    return GPC_NOT_PD;
  for (size_t j = 0; j < m; j++) {
    double pivot = a[j + m * j];
    if (!(pivot * pivot > smallest) || !isfinite(pivot))
      return GPC_NOT_PD;
    for (size_t i = 0; i < j; i++)
      a[i + m * j] = 0.0;
  }
  return GPC_OK;
}

static void trsm(const char *side, const char *trans, size_t n, size_t m, size_t order,
                 const double *chol, double *x) {
  int rows = (int)n, cols = (int)m, ld = (int)order;
  double one = 1.0;
  F77_CALL(dtrsm)
  (side, "L", trans, "N", &rows, &cols, &one, chol, &ld, x,
   &rows FCONE FCONE FCONE FCONE);
}

void gpc_solve_rows(size_t n, size_t m, const double *chol, double *x) {
  trsm("R", "T", n, m, m, chol, x);
}

void gpc_solve_rows_t(size_t n, size_t m, const double *chol, double *x) {
  trsm("R", "N", n, m, m, chol, x);
}

void gpc_chol_solve(size_t m, const double *chol, double *x) {
  trsm("L", "N", m, 1, m, chol, x);
  trsm("L", "T", m, 1, m, chol, x);
}

void gpc_chol_inverse(size_t m, const double *chol, double *inv) {
  int n = (int)m, info = 0;
  for (size_t i = 0; i < m * m; i++)
    inv[i] = chol[i];
  F77_CALL(dpotri)("L", &n, inv, &n, &info FCONE);
  gpc_symmetrise(m, inv);
}

double gpc_chol_logdet(size_t m, const double *chol) {
  double sum = 0.0;
  for (size_t j = 0; j < m; j++)
    sum += log(chol[j + m * j]);
  return 2.0 * sum;
}

/* c [n x k] += alpha a b, a [n x m], b [m x k] or (tb) [k x m] as stored: columns of a,
 * each read once for four of c. */
static void add_columns(int tb, size_t n, size_t k, size_t m, double alpha,
                        const double *a, const double *b, double *c) {
  const size_t row = tb ? k : 1, column = tb ? 1 : m; /* steps through b */
  size_t q = 0;
  for (; q + 4 <= k; q += 4) {
    double *c0 = c + q * n, *c1 = c0 + n, *c2 = c1 + n, *c3 = c2 + n;
    const double *bq = b + q * column;
    for (size_t j = 0; j < m; j++) {
      const double *col = a + j * n, *bj = bq + j * row;
      const double x0 = alpha * bj[0], x1 = alpha * bj[column],
                   x2 = alpha * bj[2 * column], x3 = alpha * bj[3 * column];
#pragma omp simd
      for (size_t i = 0; i < n; i++) {
        const double v = col[i];
        c0[i] += v * x0;
        c1[i] += v * x1;
        c2[i] += v * x2;
        c3[i] += v * x3;
      }
    }
  }
  for (; q < k; q++)
    for (size_t j = 0; j < m; j++) {
      const double *col = a + j * n, x = alpha * b[q * column + j * row];
      double *to = c + q * n;
#pragma omp simd
      for (size_t i = 0; i < n; i++)
        to[i] += col[i] * x;
    }
}

/* c [n x k] += alpha a'b, a [m x n] and b [m x k] as stored: inner products of columns,
 * two by two. */
static void add_products(size_t n, size_t k, size_t m, double alpha, const double *a,
                         const double *b, double *c) {
  for (size_t q = 0; q < k; q += 2)
    for (size_t p = 0; p < n; p += 2) {
      const double *a0 = a + p * m, *a1 = p + 1 < n ? a0 + m : a0;
      const double *b0 = b + q * m, *b1 = q + 1 < k ? b0 + m : b0;
      double s00 = 0.0, s10 = 0.0, s01 = 0.0, s11 = 0.0;
#pragma omp simd reduction(+ : s00, s10, s01, s11)
      for (size_t i = 0; i < m; i++) {
        s00 += a0[i] * b0[i];
        s10 += a1[i] * b0[i];
        s01 += a0[i] * b1[i];
        s11 += a1[i] * b1[i];
      }
      c[p + n * q] += alpha * s00;
      if (p + 1 < n)
        c[p + 1 + n * q] += alpha * s10;
      if (q + 1 < k)
        c[p + n * (q + 1)] += alpha * s01;
      if (p + 1 < n && q + 1 < k)
        c[p + 1 + n * (q + 1)] += alpha * s11;
    }
}

void gpc_gemm(int ta, int tb, size_t n, size_t k, size_t m, double alpha, const double *a,
              const double *b, double beta, double *c) {
  if (ta && tb) { /* rare */
    int rows = (int)n, cols = (int)k, inner = (int)m;
    F77_CALL(dgemm)
    ("T", "T", &rows, &cols, &inner, &alpha, a, &inner, b, &cols, &beta, c,
     &rows FCONE FCONE);
    return;
  }
  for (size_t i = 0; i < n * k; i++)
    c[i] = beta == 0.0 ? 0.0 : beta * c[i];
  if (ta)
    add_products(n, k, m, alpha, a, b, c);
  else
    add_columns(tb, n, k, m, alpha, a, b, c);
}

void gpc_symm(size_t n, size_t k, const double *a, const double *b, double *c) {
  gpc_gemm(0, 0, n, k, n, 1.0, a, b, 0.0, c);
}

gpc_status gpc_eigen(size_t m, double *a, double *value, double *work) {
  int n = (int)m, size = 3 * n, info = 0;
  F77_CALL(dsyev)("V", "L", &n, a, &n, value, work, &size, &info FCONE FCONE);
  if (info != 0)
    return GPC_NOT_CONVERGED;
  for (size_t j = 0; j < m / 2; j++) { /* LAPACK's order is ascending */
    size_t other = m - 1 - j;
    double swap = value[j];
    value[j] = value[other];
    value[other] = swap;
    for (size_t i = 0; i < m; i++) {
      swap = a[i + m * j];
      a[i + m * j] = a[i + m * other];
      a[i + m * other] = swap;
    }
  }
  return GPC_OK;
}

void gpc_symmetrise(size_t m, double *a) {
  for (size_t j = 0; j < m; j++)
    for (size_t i = j + 1; i < m; i++)
      a[j + m * i] = a[i + m * j];
}
