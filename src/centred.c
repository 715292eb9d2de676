/* centred.c: see centred.h. */
#include "centred.h"

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

size_t gpc_centred_work(size_t n, size_t g, size_t m) {
  return larger(n, g) * (m + 1) + m;
}

void gpc_centred_variance(const gpc_basis *basis, const double *q_cov, size_t n,
                          const double *z, size_t g, const double *at, const double *p,
                          double *work, double *variance) {
  const size_t m = basis->m;
  double *a = work, *rho = a + larger(n, g) * m, *mean = rho + larger(n, g);
  gpc_basis_eval(basis, g, at, a, rho);
  for (size_t j = 0; j < m; j++) {
    mean[j] = 0.0;
    for (size_t i = 0; i < g; i++)
      mean[j] += p[i] * a[i + g * j];
  }
  gpc_basis_eval(basis, n, z, a, rho);
  for (size_t i = 0; i < n; i++) {
    double sum = rho[i];
    for (size_t k = 0; k < m; k++) {
      double dot = 0.0;
      for (size_t j = 0; j < m; j++)
        dot += (a[i + n * j] - mean[j]) * q_cov[j + m * k];
      sum += dot * (a[i + n * k] - mean[k]);
    }
    variance[i] = sum > 0.0 ? sum : 0.0;
  }
}
