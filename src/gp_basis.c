/* gp_basis.c: see gp_basis.h. */
#include "gp_basis.h"
#include "fastexp.h"
#include "linalg.h"
#include "simd.h"

#include <math.h>
#include <string.h>

/* eq. (2): k [n] := s2 exp(-(z - w)^2 / (2 l^2)), without noise. */
GPC_WIDE static void kernel_column(size_t n, const double *z, double w, gpc_hyper hyper,
                                   double *k) {
  const double scale = -0.5 / (hyper.l * hyper.l), s2 = hyper.s2;
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    double d = z[i] - w;
    k[i] = s2 * gpc_exp_nonpos(scale * d * d);
  }
}

/* eq. (42a): k [n] := s2 times Matern's correlation. */
static void matern_column(size_t n, const double *z, double w, gpc_hyper hyper,
                          double *k) {
  const int smooth = hyper.rough->kind == GPC_MATERN32;
  const double scale = (smooth ? sqrt(3.0) : 1.0) / hyper.l;
  for (size_t i = 0; i < n; i++) {
    const double r = scale * fabs(z[i] - w);
    k[i] = hyper.s2 * (smooth ? 1.0 + r : 1.0) * gpc_exp_nonpos(-r);
  }
}

static void column(size_t n, const double *z, double w, gpc_hyper hyper, double *k) {
  if (hyper.rough)
    matern_column(n, z, w, hyper, k);
  else
    kernel_column(n, z, w, hyper, k);
}

gpc_status gpc_basis_factor(gpc_basis *basis) {
  const size_t m = basis->m;
  const gpc_hyper hyper = basis->hyper;
  double jitter = 0.0;
  for (;;) {
    for (size_t j = 0; j < m; j++) {
      column(m, basis->inducing, basis->inducing[j], hyper, basis->chol + m * j);
      basis->chol[j + m * j] += hyper.sn2 + jitter * hyper.s2;
    }
    basis->jitter = jitter;
    if (gpc_chol(m, 1e-14 * hyper.s2, basis->chol) == GPC_OK)
      return GPC_OK;
    jitter = jitter == 0.0 ? 1e-12 : jitter * 10.0;
    if (jitter > 1.1e-4)
      return GPC_NOT_PD;
  }
}

void gpc_basis_eval(const gpc_basis *basis, size_t n, const double *z, double *a,
                    double *rho) {
  if (basis->hyper.rough) {
    gpc_gemm(0, 0, n, basis->m, basis->m, 1.0, basis->hyper.rough->between, basis->chol,
             0.0, a);
    memset(rho, 0, n * sizeof(double));
    return;
  }
  for (size_t j = 0; j < basis->m; j++)
    kernel_column(n, z, basis->inducing[j], basis->hyper, a + n * j);
  gpc_solve_rows(n, basis->m, basis->chol, a);
  for (size_t i = 0; i < n; i++)
    rho[i] = basis->hyper.s2 + basis->hyper.sn2;
  for (size_t j = 0; j < basis->m; j++)
    for (size_t i = 0; i < n; i++)
      rho[i] -= a[i + n * j] * a[i + n * j];
  for (size_t i = 0; i < n; i++)
    rho[i] = (rho[i] < 0.0 ? 0.0 : rho[i]) + basis->hyper.between;
}

void gpc_basis_grad_zero(size_t m, gpc_basis_grad *grad) {
  grad->s2 = grad->l = grad->sn2 = 0.0;
  for (size_t i = 0; i < m; i++)
    grad->inducing[i] = 0.0;
  for (size_t i = 0; i < m * m; i++)
    grad->outer[i] = 0.0;
}

/* rho = s2 + sn2 - a'a hands -2 a grho on to a. With da = L^-1 (dk - dL a), the part
 * through k is b'dk with b = L^-T ga, and the part through L is kept as sum ga a' for the
 * end. */
void gpc_basis_grad_add(const gpc_basis *basis, size_t n, const double *z,
                        const double *a, double *ga, const double *grho, double *work,
                        gpc_basis_grad *grad) {
  const size_t m = basis->m;
  const double l = basis->hyper.l, s2 = basis->hyper.s2;
  for (size_t i = 0; i < n; i++) {
    grad->s2 += grho[i];
    grad->sn2 += grho[i];
  }
  for (size_t j = 0; j < m; j++)
    for (size_t i = 0; i < n; i++)
      ga[i + n * j] -= 2.0 * grho[i] * a[i + n * j];
  gpc_gemm_large(1, 0, m, m, n, 1.0, ga, a, 1.0, grad->outer);
  gpc_solve_rows_t(n, m, basis->chol, ga);
  for (size_t j = 0; j < m; j++) {
    double w = basis->inducing[j], sum0 = 0.0, sum1 = 0.0, sum2 = 0.0;
    kernel_column(n, z, w, basis->hyper, work);
    for (size_t i = 0; i < n; i++) {
      double d = z[i] - w, bk = ga[i + n * j] * work[i];
      sum0 += bk;
      sum1 += bk * d;
      sum2 += bk * d * d;
    }
    grad->s2 += sum0 / s2;
    grad->l += sum2 / (l * l) / l;
    grad->inducing[j] += sum1 / (l * l);
  }
}

/* With C = sum ga a', dF/dL = -L^-T C, and the adjoint of the Cholesky factorisation
 * gives dF/dK_uu = -L^-T Phi(C) L^-1 (symmetrised), Phi the lower triangle with half its
 * diagonal. */
void gpc_basis_grad_finish(const gpc_basis *basis, gpc_basis_grad *grad) {
  const size_t m = basis->m;
  const gpc_hyper hyper = basis->hyper;
  double *kbar = grad->outer;
  for (size_t j = 0; j < m; j++) {
    kbar[j + m * j] *= 0.5;
    for (size_t i = 0; i < j; i++)
      kbar[i + m * j] = 0.0;
  }
  /* X := Phi L^-1, then L^-T X = (X' L^-1)' */
  gpc_solve_rows_t(m, m, basis->chol, kbar);
  for (size_t j = 0; j < m; j++)
    for (size_t i = j + 1; i < m; i++) {
      double swap = kbar[i + m * j];
      kbar[i + m * j] = kbar[j + m * i];
      kbar[j + m * i] = swap;
    }
  gpc_solve_rows_t(m, m, basis->chol, kbar);
  const double scale = -0.5 / (hyper.l * hyper.l);
  for (size_t j = 0; j < m; j++) {
    double bar = -kbar[j + m * j];
    grad->s2 += bar * (1.0 + basis->jitter);
    grad->sn2 += bar;
    for (size_t i = 0; i < m; i++) {
      if (i == j)
        continue;
      double d = basis->inducing[i] - basis->inducing[j],
             r = gpc_exp_nonpos(scale * d * d);
      double both = -0.5 * (kbar[i + m * j] + kbar[j + m * i]);
      grad->s2 += both * r;
      grad->l += both * hyper.s2 * r * (d / hyper.l) * (d / hyper.l) / hyper.l;
      grad->inducing[i] -= 2.0 * both * hyper.s2 * r * d / (hyper.l * hyper.l);
    }
  }
}
