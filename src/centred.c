/* centred.c: see centred.h. */
#include "centred.h"
#include "linalg.h"

void gpc_centred(const gpc_gp_fitted *fit, size_t n, const double *z, size_t g,
                 const double *at, const double *p, const gpc_memory *memory,
                 double *departure, double *variance, double *rho) {
  const size_t m = fit->basis.m;
  double *a = gpc_get_doubles(memory, n * m), *sa = gpc_get_doubles(memory, n * m),
         *mean = gpc_get_doubles(memory, m), *at_a = gpc_get_doubles(memory, g * m),
         *at_rho = gpc_get_doubles(memory, g);
  gpc_basis_eval(&fit->basis, g, at, at_a, at_rho);
  gpc_gemm(1, 0, m, 1, g, 1.0, at_a, p, 0.0, mean); /* abar */
  gpc_basis_eval(&fit->basis, n, z, a, rho);
  for (size_t j = 0; j < m; j++)
    for (size_t i = 0; i < n; i++)
      a[i + n * j] -= mean[j];
  gpc_gemm(0, 0, n, 1, m, 1.0, a, fit->q_mean, 0.0, departure);
  gpc_gemm(0, 0, n, m, m, 1.0, a, fit->q_cov, 0.0, sa);
  for (size_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < m; j++)
      sum += a[i + n * j] * sa[i + n * j];
    variance[i] = sum > 0.0 ? sum : 0.0;
  }
}
