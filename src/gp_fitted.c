/* gp_fitted.c: see gp_fitted.h. */
#include "gp_fitted.h"
#include "linalg.h"

#include <string.h>

void gpc_gp_deviation(const gpc_gp_fitted *fit, size_t n, const double *z, double *work,
                      double *a, double *dev, double *c, double *rho) {
  const size_t m = fit->basis.m;
  gpc_basis_eval(&fit->basis, n, z, a, rho);              /* eq. (6), (8) */
  gpc_gemm(0, 0, n, 1, m, 1.0, a, fit->q_mean, 0.0, dev); /* a'm */
  gpc_gemm(0, 0, n, m, m, 1.0, a, fit->q_cov, 0.0, work); /* a'S */
  memcpy(c, rho, n * sizeof(double));
  for (size_t j = 0; j < m; j++)
    for (size_t i = 0; i < n; i++)
      c[i] += a[i + n * j] * work[i + n * j]; /* eq. (10) */
}

void gpc_gp_latent(const gpc_gp_fitted *fit, size_t n, const double *z, double *work,
                   double *mean, double *var) {
  double *a = work, *sa = a + n * fit->basis.m, *rho = sa + n * fit->basis.m;
  gpc_gp_deviation(fit, n, z, sa, a, mean, var, rho);
  gpc_prior_add_mu(&fit->prior, n, z, mean); /* eq. (7) */
}
