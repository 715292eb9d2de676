/* gp_params.c: see gp_params.h. */
#include "gp_params.h"
#include "linalg.h"

#include <string.h>

gpc_params gpc_params_get(const gpc_memory *memory, size_t m) {
  gpc_params params = {.m = m,
                       .inducing = gpc_get_doubles(memory, m),
                       .q_mean = gpc_get_doubles(memory, m),
                       .q_cov = gpc_get_doubles(memory, m * m)};
  memset(params.inducing, 0, m * sizeof(double));
  memset(params.q_mean, 0, m * sizeof(double));
  memset(params.q_cov, 0, m * m * sizeof(double));
  return params;
}

void gpc_params_give(const gpc_memory *memory, gpc_params *params) {
  gpc_give(memory, params->inducing);
  gpc_give(memory, params->q_mean);
  gpc_give(memory, params->q_cov);
  params->inducing = params->q_mean = params->q_cov = NULL;
}

void gpc_params_copy(const gpc_params *from, gpc_params *to) {
  const size_t m = from->m;
  to->hyper = from->hyper;
  to->slope = from->slope;
  memcpy(to->inducing, from->inducing, m * sizeof(double));
  memcpy(to->q_mean, from->q_mean, m * sizeof(double));
  memcpy(to->q_cov, from->q_cov, m * m * sizeof(double));
}

size_t gpc_params_move_work(size_t from_m, size_t to_m) {
  return from_m * from_m + 2 * to_m * to_m + 2 * to_m * from_m + 2 * to_m;
}

/* The factors of both bases in chol and chol_new, the features a [n x m] of the new inputs
 * under the old basis, rho [n], and what `to` takes over as it is. */
static gpc_status begin_move(const gpc_params *from, double *chol, double *chol_new,
                             double *a, double *rho, gpc_params *to) {
  gpc_basis old = {
      .m = from->m, .inducing = from->inducing, .hyper = from->hyper, .chol = chol};
  gpc_basis new = {
      .m = to->m, .inducing = to->inducing, .hyper = from->hyper, .chol = chol_new};
  to->hyper = from->hyper;
  to->slope = from->slope;
  memset(to->q_mean, 0, to->m * sizeof(double));
  if (gpc_basis_factor(&old) != GPC_OK || gpc_basis_factor(&new) != GPC_OK)
    return GPC_NOT_PD;
  gpc_basis_eval(&old, to->m, to->inducing, a, rho);
  return GPC_OK;
}

/* With features A of the new inputs under the old basis and L of the new one, the new
 * values have the prior-free mean A m and the covariance K - A A' + A S A'; both are
 * whitened by L. */
gpc_status gpc_params_move(const gpc_params *from, double *work, gpc_params *to) {
  const size_t m = from->m, n = to->m;
  double *chol = work, *chol_new = chol + m * m, *cov = chol_new + n * n;
  double *a = cov + n * n, *as = a + n * m, *rho = as + n * m, *whole = rho + n;
  memset(to->q_cov, 0, n * n * sizeof(double));
  if (begin_move(from, chol, chol_new, a, rho, to) != GPC_OK)
    return GPC_NOT_PD;
  /* K = L L' of the new inputs, jitter and noise included */
  gpc_gemm(0, 1, n, n, n, 1.0, chol_new, chol_new, 0.0, cov);
  gpc_gemm(0, 0, n, m, m, 1.0, a, from->q_cov, 0.0, as);
  gpc_gemm(0, 1, n, n, m, 1.0, as, a, 1.0, cov);
  gpc_gemm(0, 1, n, n, m, -1.0, a, a, 1.0, cov);
  gpc_gemm(0, 0, n, 1, m, 1.0, a, from->q_mean, 0.0, whole);
  gpc_solve_rows(1, n, chol_new, whole);
  gpc_solve_rows(n, n, chol_new, cov); /* cov L^-T; cov is symmetric, so transpose ... */
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < j; i++) {
      double swap = cov[i + n * j];
      cov[i + n * j] = cov[j + n * i];
      cov[j + n * i] = swap;
    }
  gpc_solve_rows(n, n, chol_new, cov); /* ... and once more: L^-1 cov L^-T */
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < n; i++)
      to->q_cov[i + n * j] = 0.5 * (cov[i + n * j] + cov[j + n * i]);
  memcpy(cov, to->q_cov, n * n * sizeof(double));
  if (gpc_chol(n, 0.0, cov) != GPC_OK) {
    memset(to->q_cov, 0, n * n * sizeof(double));
    return GPC_NOT_PD;
  }
  memcpy(to->q_mean, whole, n * sizeof(double));
  return GPC_OK;
}
