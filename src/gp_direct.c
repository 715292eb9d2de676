/* gp_direct.c: the bound by its definition; see gp_model.h. */
#include "gp_model.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

gpc_status gpc_gp_subtract_kl(size_t m, const gpc_gp_point *point, double *work,
                              gpc_gp_grad *grad) {
  double kl = 0.0;
  gpc_status status = gpc_prior_kl(&point->prior, m, point->q_mean, point->q_cov, -1.0,
                                   work, &kl, grad->q_mean, grad->q_cov);
  grad->elbo -= kl;
  return status;
}

size_t gpc_gp_direct_work(size_t k, size_t m) {
  return 3 * k * m + 8 * k + 3 * m + 2 * m * m;
}

typedef struct {
  double *a, *sa, *ga;                      /* [k x m] features, S a, dE/da */
  double *z, *phi, *s, *rho, *c, *g, *grho; /* [k] */
  double *row_work;                         /* [k] */
  double *abar, *sabar;                     /* [m] */
} row_work;

/* One row: E_n, and its derivatives with respect to phi (g), a (ga) and rho (grho). */
static double one_row(size_t k, size_t m, size_t y, const gpc_gp_point *point,
                      row_work *r) {
  double top = -INFINITY, sum = 0.0;
  for (size_t j = 0; j < k; j++)
    top = fmax(top, r->phi[j]);
  for (size_t j = 0; j < k; j++)
    sum += r->s[j] = exp(r->phi[j] - top);
  memset(r->abar, 0, m * sizeof(double));
  memset(r->sabar, 0, m * sizeof(double));
  double cbar = 0.0, quad = 0.0, squares = 0.0;
  int full = point->cov == GPC_COV_FULL;
  for (size_t j = 0; j < k; j++) {
    r->s[j] /= sum;
    r->c[j] = r->rho[j];
    for (size_t i = 0; i < m; i++) {
      r->c[j] += r->a[j + k * i] * r->sa[j + k * i];
      r->abar[i] += r->s[j] * r->a[j + k * i];
      r->sabar[i] += r->s[j] * r->sa[j + k * i];
    }
    cbar += r->s[j] * r->c[j];
    squares += r->s[j] * r->s[j] * (full ? r->rho[j] : r->c[j]);
  }
  for (size_t i = 0; i < m && full; i++)
    quad += r->abar[i] * r->sabar[i];
  for (size_t j = 0; j < k; j++) {
    double s = r->s[j], cross = 0.0;
    for (size_t i = 0; i < m && full; i++)
      cross += r->a[j + k * i] * r->sabar[i];
    r->g[j] = (j == y) - s + s * (cross - quad) + s * s * (full ? r->rho[j] : r->c[j]) -
              squares * s - 0.5 * s * (r->c[j] - cbar);
    r->grho[j] = 0.5 * (s * s - s);
    for (size_t i = 0; i < m; i++)
      r->ga[j + k * i] =
          full ? s * (r->sabar[i] - r->sa[j + k * i]) : (s * s - s) * r->sa[j + k * i];
  }
  return r->phi[y] - top - log(sum) + 0.5 * (quad + squares - cbar);
}

/* dE/dS of one row, weighted, added to gs [m x m]. */
static void add_cov_gradient(size_t k, size_t m, double w, const gpc_gp_point *point,
                             const row_work *r, double *gs) {
  int full = point->cov == GPC_COV_FULL;
  for (size_t p = 0; p < m; p++)
    for (size_t q = 0; q < m; q++) {
      double sum = full ? r->abar[p] * r->abar[q] : 0.0;
      for (size_t j = 0; j < k; j++) {
        double s = r->s[j], mass = full ? s : s - s * s;
        sum -= mass * r->a[j + k * p] * r->a[j + k * q];
      }
      gs[p + m * q] += 0.5 * w * sum;
    }
}

gpc_status gpc_gp_direct(const gpc_gp_data *data, const gpc_basis *basis,
                         const gpc_gp_point *point, gpc_poll poll, void *poll_data,
                         double *work, gpc_gp_grad *grad) {
  const size_t n = data->n, k = data->k, m = basis->m;
  row_work r;
  r.a = work;
  r.sa = r.a + k * m;
  r.ga = r.sa + k * m;
  r.z = r.ga + k * m;
  r.phi = r.z + k;
  r.s = r.phi + k;
  r.rho = r.s + k;
  r.c = r.rho + k;
  r.g = r.c + k;
  r.grho = r.g + k;
  r.row_work = r.grho + k;
  r.abar = r.row_work + k;
  r.sabar = r.abar + m;
  double *kl_work = r.sabar + m;
  grad->elbo = grad->slope = 0.0;
  memset(grad->q_mean, 0, m * sizeof(double));
  memset(grad->q_cov, 0, m * m * sizeof(double));
  gpc_basis_grad_zero(m, &grad->basis);
  for (size_t i = 0; i < n; i++) {
    if (i % 256 == 0)
      gpc_call_poll(poll, poll_data);
    double w = gpc_gp_weight(data, i);
    if (w == 0.0)
      continue;
    for (size_t j = 0; j < k; j++)
      r.z[j] = gpc_gp_score(data, i, j);
    gpc_basis_eval(basis, k, r.z, r.a, r.rho);
    gpc_gemm(0, 0, k, m, m, 1.0, r.a, point->q_cov, 0.0, r.sa);
    for (size_t j = 0; j < k; j++)
      r.phi[j] = gpc_prior_mu(&point->prior, r.z[j]);
    gpc_gemm(0, 0, k, 1, m, 1.0, r.a, point->q_mean, 1.0, r.phi);
    grad->elbo += w * one_row(k, m, (size_t)data->label[i] - 1, point, &r);
    add_cov_gradient(k, m, w, point, &r, grad->q_cov);
    for (size_t j = 0; j < k; j++) {
      r.g[j] *= w;
      r.grho[j] *= w;
      for (size_t q = 0; q < m; q++) {
        grad->q_mean[q] += r.g[j] * r.a[j + k * q];
        r.ga[j + k * q] = w * r.ga[j + k * q] + r.g[j] * point->q_mean[q];
      }
    }
    grad->slope += gpc_prior_slope_grad(&point->prior, k, r.z, r.g);
    gpc_basis_grad_add(basis, k, r.z, r.a, r.ga, r.grho, r.row_work, &grad->basis);
  }
  gpc_basis_grad_finish(basis, &grad->basis);
  grad->data = grad->elbo;
  return gpc_gp_subtract_kl(m, point, kl_work, grad);
}
