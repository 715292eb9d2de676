/* linalg.c: see linalg.h; products are in linalg_products.c, factors in linalg_factor.c. */
#ifndef USE_FC_LEN_T
#define USE_FC_LEN_T
#endif
#include <R_ext/BLAS.h>
#include <R_ext/Lapack.h>
#ifndef FCONE
#define FCONE
#endif

#include "linalg.h"
#include "simd.h"

#include <math.h>
#include <string.h>

gpc_status gpc_chol(size_t m, double smallest, double *a) {
  if (gpc_chol_large(m, a) != GPC_OK)
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

GPC_FUSED void gpc_chol_semi(size_t n, double smallest, const double *c, double *l) {
  for (size_t j = 0; j < n; j++) {
    double *to = l + n * j;
    memset(to, 0, j * sizeof(double));
    memcpy(to + j, c + j + n * j, (n - j) * sizeof(double));
    for (size_t p = 0; p < j; p++) {
      const double *from = l + n * p, by = from[j];
#pragma omp simd
      for (size_t i = j; i < n; i++)
        to[i] -= by * from[i];
    }
    if (!(to[j] > smallest * c[j + n * j])) {
      memset(to + j, 0, (n - j) * sizeof(double));
      continue;
    }
    const double pivot = sqrt(to[j]);
    to[j] = pivot;
#pragma omp simd
    for (size_t i = j + 1; i < n; i++)
      to[i] /= pivot;
  }
}

void gpc_chol_solve(size_t m, const double *chol, double *x) {
  trsm("L", "N", m, 1, m, chol, x);
  trsm("L", "T", m, 1, m, chol, x);
}

double gpc_chol_logdet(size_t m, const double *chol) {
  double sum = 0.0;
  for (size_t j = 0; j < m; j++)
    sum += log(chol[j + m * j]);
  return 2.0 * sum;
}

/* Rounding decides the signs of LAPACK's eigenvectors, and integration points turned by them
 * would follow. Weights without symmetry, so that hardly any eigenvector has a sum of 0. */
static void fix_signs(size_t m, double *a) {
  for (size_t j = 0; j < m; j++) {
    double *v = a + m * j, sum = 0.0;
    for (size_t i = 0; i < m; i++)
      sum += v[i] * (0.5 + fmod(0.6180339887498949 * (double)(i + 1), 1.0));
    for (size_t i = 0; i < m && sum < 0.0; i++)
      v[i] = -v[i];
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
  fix_signs(m, a);
  return GPC_OK;
}

#define SQUARE 16 /* columns and rows that stay in the cache while they are turned */

void gpc_symmetrise(size_t m, double *a) {
  for (size_t first = 0; first < m; first += SQUARE)
    for (size_t low = first; low < m; low += SQUARE) {
      const size_t end = first + SQUARE < m ? first + SQUARE : m;
      const size_t high = low + SQUARE < m ? low + SQUARE : m;
      for (size_t i = low; i < high; i++)
        for (size_t j = first; j < end && j < i; j++)
          a[j + m * i] = a[i + m * j];
    }
}
