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

void gpc_gemm(int ta, int tb, size_t n, size_t k, size_t m, double alpha, const double *a,
              const double *b, double beta, double *c) {
  int rows = (int)n, cols = (int)k, inner = (int)m;
  int lda = ta ? inner : rows, ldb = tb ? cols : inner;
  F77_CALL(dgemm)
  (ta ? "T" : "N", tb ? "T" : "N", &rows, &cols, &inner, &alpha, a, &lda, b, &ldb, &beta,
   c, &rows FCONE FCONE);
}

void gpc_symm(size_t n, size_t k, const double *a, const double *b, double *c) {
  for (size_t i = 0; i < n * k; i++)
    c[i] = 0.0;
  size_t q = 0;
  for (; q + 4 <= k; q += 4) {
    double *c0 = c + q * n, *c1 = c0 + n, *c2 = c1 + n, *c3 = c2 + n;
    const double *b0 = b + q * n;
    for (size_t j = 0; j < n; j++) {
      const double *col = a + j * n;
      const double x0 = b0[j], x1 = b0[j + n], x2 = b0[j + 2 * n], x3 = b0[j + 3 * n];
#pragma omp simd
      for (size_t i = 0; i < n; i++) {
        double v = col[i];
        c0[i] += v * x0;
        c1[i] += v * x1;
        c2[i] += v * x2;
        c3[i] += v * x3;
      }
    }
  }
  for (; q < k; q++)
    for (size_t j = 0; j < n; j++) {
      const double *col = a + j * n;
      const double x = b[j + q * n];
      double *to = c + q * n;
#pragma omp simd
      for (size_t i = 0; i < n; i++)
        to[i] += col[i] * x;
    }
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
