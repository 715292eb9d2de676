/* gp_prior.c: see gp_prior.h. */
#include "gp_prior.h"
#include "linalg.h"

#include <string.h>

void gpc_prior_add_smooth(const gpc_prior *prior, size_t n, const double *z, double *f) {
  if (prior->mean != GPC_MEAN_LINEAR)
    return;
  const double slope = prior->slope;
#pragma omp simd
  for (size_t i = 0; i < n; i++)
    f[i] += slope * z[i];
}

void gpc_prior_add_mu(const gpc_prior *prior, size_t n, const double *z, double *f) {
  gpc_prior_add_smooth(prior, n, z, f);
  if (prior->mean == GPC_MEAN_LOG)
    for (size_t i = 0; i < n; i++)
      f[i] += log(z[i]);
}

double gpc_prior_slope_grad(const gpc_prior *prior, size_t n, const double *z,
                            const double *gf) {
  double sum = 0.0;
  for (size_t i = 0; i < n && prior->mean == GPC_MEAN_LINEAR; i++)
    sum += gf[i] * z[i];
  return sum;
}

double gpc_prior_quadratic(const gpc_prior *prior, size_t m, const double *x,
                           double *out) {
  double sum = 0.0;
  for (size_t i = 0; i < m; i++) {
    out[i] = 0.0;
    if (!prior->p0)
      out[i] = x[i] - (prior->m0 ? prior->m0[i] : 0.0);
    for (size_t j = 0; j < m && prior->p0; j++)
      out[i] += prior->p0[i + m * j] * (x[j] - (prior->m0 ? prior->m0[j] : 0.0));
    sum += out[i] * (x[i] - (prior->m0 ? prior->m0[i] : 0.0));
  }
  return 0.5 * sum;
}

void gpc_prior_add_precision(const gpc_prior *prior, size_t m, double *a, double *rhs) {
  for (size_t j = 0; j < m && !prior->p0; j++) {
    if (a)
      a[j + m * j] += 1.0;
    if (rhs && prior->m0)
      rhs[j] += prior->m0[j];
  }
  for (size_t j = 0; j < m && prior->p0; j++)
    for (size_t i = 0; i < m; i++) {
      if (a)
        a[i + m * j] += prior->p0[i + m * j];
      if (rhs && prior->m0)
        rhs[i] += prior->p0[i + m * j] * prior->m0[j];
    }
}

gpc_status gpc_prior_kl(const gpc_prior *prior, size_t m, const double *q_mean,
                        const double *q_cov, double scale, double *work, double *kl,
                        double *g_mean, double *g_cov) {
  double *chol = work, *inv = chol + m * m, *pull = inv + m * m;
  memcpy(chol, q_cov, m * m * sizeof *chol);
  gpc_status status = gpc_chol(m, 0.0, chol);
  if (status != GPC_OK)
    return status;
  gpc_chol_inverse(m, chol, inv);
  const double square = gpc_prior_quadratic(prior, m, q_mean, pull);
  double trace = 0.0;
  for (size_t j = 0; j < m; j++) {
    g_mean[j] += scale * pull[j];
    for (size_t i = 0; i < m; i++) {
      const double p = prior->p0 ? prior->p0[i + m * j] : i == j ? 1.0 : 0.0;
      trace += p * q_cov[i + m * j];
      g_cov[i + m * j] += scale * 0.5 * (p - inv[i + m * j]);
    }
  }
  *kl = square + 0.5 * (trace - (double)m - gpc_chol_logdet(m, chol) -
                        (prior->p0 ? prior->p0_logdet : 0.0));
  return GPC_OK;
}
