/* gp_inner.c: see gp_inner.h. */
#include "gp_inner.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

size_t gpc_inner_work(size_t g, size_t m) {
  return 5 * g * m + 6 * g + 5 * m * m + (m + 1) * (m + 1) + 2 * (m + 1) + 2 * m;
}

static double *take(double **block, size_t n) {
  double *at = *block;
  *block += n;
  return at;
}

void gpc_inner_carve(size_t g, size_t m, double *block, gpc_inner *t) {
  memset(t, 0, sizeof *t);
  t->basis.m = m;
  t->basis.chol = take(&block, m * m);
  t->a = take(&block, g * m);
  t->rho = take(&block, g);
  t->wa = take(&block, g * (m + 1));
  t->va = take(&block, g * m);
  t->sa = take(&block, g * m);
  t->h = take(&block, m * m);
  t->hinv = take(&block, m * m);
  t->hfull = take(&block, m * m);
  t->lhs = take(&block, (m + 1) * (m + 1));
  t->rhs = take(&block, m + 1);
  t->diag = take(&block, m + 1);
  t->d = take(&block, g);
  t->wd = take(&block, g);
  t->ga = take(&block, g * m);
  t->grho = take(&block, g);
  t->row = take(&block, g);
  t->pull = take(&block, m);
  t->grad.inducing = take(&block, m);
  t->grad.outer = take(&block, m * m);
}

/* h := chol(P0 + A'VA), eq. (15) and (16); hfull (or NULL): without the factor. */
static gpc_status factor_h(const gpc_surrogate *sur, const double *a, const double *va,
                           double *hfull, double *h) {
  const size_t m = sur->m;
  gpc_gram(m, sur->g, a, va, h);
  gpc_prior_add_precision(&sur->prior, m, h, NULL);
  if (hfull)
    memcpy(hfull, h, m * m * sizeof(double));
  return gpc_chol(m, 0.0, h);
}

/* -1/2 log|H| + 1/2 log|P0| - 1/2 rho'spread, rho_v = rho'spread. */
static double uncertainty_terms(const gpc_surrogate *sur, const double *h, double rho_v) {
  return -0.5 *
             (gpc_chol_logdet(sur->m, h) - (sur->prior.p0 ? sur->prior.p0_logdet : 0.0)) -
         0.5 * rho_v;
}

/* rho'spread; with spread_full by eq. (8): (s2 + sn2) times its sum less tr(A'spread_full A). */
static double residual_term(const gpc_surrogate *sur, const gpc_inner *t) {
  const gpc_hyper hyper = t->basis.hyper;
  return sur->spread_full ? (hyper.s2 + hyper.sn2) * sur->spread_sum -
                                gpc_dot(sur->g * sur->m, t->a, t->sa)
                          : gpc_dot(sur->g, t->rho, sur->spread);
}

/* Features at the point, V A and chol(H). */
static gpc_status set_features(const gpc_surrogate *sur, const gpc_params *point,
                               gpc_inner *t) {
  const size_t g = sur->g, m = sur->m;
  t->basis.inducing = point->inducing;
  t->basis.hyper = point->hyper;
  gpc_status status = gpc_basis_factor(&t->basis);
  if (status != GPC_OK)
    return status;
  gpc_basis_eval(&t->basis, g, sur->z, t->a, t->rho);
  gpc_symm(g, m, sur->curvature, t->a, t->wa);
  if (sur->spread_full)
    gpc_symm(g, m, sur->spread_full, t->a, t->sa);
  if (sur->cov == GPC_COV_FULL)
    memcpy(t->va, t->wa, g * m * sizeof(double));
  else if (sur->spread_full)
    memcpy(t->va, t->sa, g * m * sizeof(double));
  else
    for (size_t j = 0; j < m; j++)
      for (size_t i = 0; i < g; i++)
        t->va[i + g * j] = sur->spread[i] * t->a[i + g * j];
  return factor_h(sur, t->a, t->va, t->hfull, t->h);
}

/* Cholesky factor of lhs [x x x] (lower triangle given). Interpolation leaves W positive
 * only up to rounding, which a large variance magnifies, and rows may say nothing of the
 * slope: a ridge that grows until the factor exists. The slope's row has been scaled so
 * that its diagonal is the largest. */
static gpc_status factor_lhs(size_t x, int with_slope, gpc_inner *t) {
  double *lhs = t->lhs, largest = 0.0;
  gpc_symmetrise(x, lhs); /* the upper triangle keeps the matrix for another try */
  for (size_t i = 0; i < x; i++) {
    t->diag[i] = lhs[i + x * i];
    largest = fmax(largest, t->diag[i]);
  }
  if (with_slope)
    t->diag[x - 1] += 1e-14 * largest + 1e-300;
  for (double ridge = 0.0; ridge <= 1.0; ridge = ridge == 0.0 ? 1e-12 : 10.0 * ridge) {
    for (size_t j = 0; j < x; j++) {
      lhs[j + x * j] = t->diag[j] + ridge * largest;
      for (size_t i = j + 1; i < x; i++)
        lhs[i + x * j] = lhs[j + x * i];
    }
    if (gpc_chol_large(x, lhs) == GPC_OK)
      return GPC_OK;
  }
  return GPC_NOT_PD;
}

/* Measure the slope in units that make its diagonal the largest one, whatever the scale
 * of the scores: the ridge must not outweigh it. Returns the unit. */
static double scale_slope(const gpc_surrogate *sur, gpc_inner *t) {
  const size_t m = sur->m, x = m + 1;
  double largest = 1.0, own = t->lhs[m + x * m], far = 0.0;
  for (size_t i = 0; i < m; i++)
    largest = fmax(largest, t->lhs[i + x * i]);
  for (size_t i = 0; i < sur->g; i++) /* a class that is ruled out says nothing */
    far = sur->mass[i] > 0.0 ? fmax(far, fabs(sur->z[i])) : far;
  /* rows that say nothing of the slope leave only rounding there */
  double scale = own > 0.0 ? sqrt(largest) / sqrt(own) : 0.0;
  if (!(scale * far > 0.0 && scale * far < 1e8 * sqrt(largest)))
    scale = 1.0 / fmax(far, 1e-300);
  for (size_t j = 0; j < m; j++)
    t->lhs[m + x * j] *= scale;
  t->lhs[m + x * m] = own * scale * scale;
  t->rhs[m] *= scale;
  return scale;
}

/* out [g] += E x. */
static void add_secants(const gpc_surrogate *sur, const double *x, double *out) {
  const size_t g = sur->g;
  for (size_t e = 0; e < sur->terms; e++) {
    const double *term = sur->term + g * e;
    const double along = sur->scale[e] * gpc_dot(g, term, x);
    for (size_t i = 0; i < g; i++)
      out[i] += along * term[i];
  }
}

/* out [g] := (W + damping diag(mass) + E) x, eq. (21). */
static void damped(const gpc_surrogate *sur, const double *x, double *out) {
  gpc_symm(sur->g, 1, sur->curvature, x, out);
  for (size_t i = 0; i < sur->g; i++)
    out[i] += sur->damping * sur->mass[i] * x[i];
  add_secants(sur, x, out);
}

/* The products of eq. (21)'s matrix with A, where it is more than W. */
static const double *damped_features(const gpc_surrogate *sur, gpc_inner *t) {
  const size_t g = sur->g, m = sur->m;
  if (sur->damping == 0.0 && sur->terms == 0)
    return t->wa;
  for (size_t j = 0; j < m; j++) { /* t->ga is free until the gradient */
    const double *a = t->a + g * j;
    for (size_t i = 0; i < g; i++)
      t->ga[i + g * j] = t->wa[i + g * j] + sur->damping * sur->mass[i] * a[i];
    add_secants(sur, a, t->ga + g * j);
  }
  return t->ga;
}

/* d := smooth(z) - psi0, with the slope of the point, or without it. */
static void set_distance(const gpc_surrogate *sur, double slope, double *d) {
  gpc_prior prior = sur->prior;
  prior.slope = slope;
  for (size_t i = 0; i < sur->g; i++)
    d[i] = -sur->psi0[i];
  gpc_prior_add_smooth(&prior, sur->g, sur->z, d);
}

/* The best m for a given slope, or the best m and slope together: the normal equations
 * (X'WX + P0) x = X'(b - W d0) + P0 m0, X = [A, z], d0 what d is with m = 0 (and no
 * slope, where it is free). */
static gpc_status solve_mean(const gpc_surrogate *sur, int with_slope, gpc_inner *t,
                             gpc_params *point) {
  const size_t g = sur->g, m = sur->m, x = m + (with_slope ? 1 : 0);
  double *target = t->row, *wz = t->wa + g * m;
  set_distance(sur, with_slope ? 0.0 : point->slope, t->d);
  damped(sur, t->d, target);
  for (size_t i = 0; i < g; i++)
    target[i] = sur->b[i] - target[i];
  if (with_slope)
    damped(sur, sur->z, wz);
  const double *wa = damped_features(sur, t);
  if (wa == t->wa && sur->cov == GPC_COV_FULL) { /* it is H, whose factor is there */
    memcpy(t->hinv, t->hfull, m * m * sizeof(double));
  } else { /* t->hinv is free until the gradient */
    gpc_gram(m, g, t->a, wa, t->hinv);
    gpc_prior_add_precision(&sur->prior, m, t->hinv, NULL);
  }
  gpc_gemm(1, 0, m, 1, g, 1.0, t->a, target, 0.0, t->rhs);
  gpc_prior_add_precision(&sur->prior, m, NULL, t->rhs);
  for (size_t j = 0; j < m; j++) {
    memcpy(t->lhs + x * j, t->hinv + m * j, m * sizeof(double));
    if (with_slope)
      t->lhs[m + x * j] = gpc_dot(g, t->a + g * j, wz);
  }
  if (with_slope) {
    t->lhs[m + x * m] = gpc_dot(g, sur->z, wz);
    t->rhs[m] = gpc_dot(g, sur->z, target);
  }
  const double scale = with_slope ? scale_slope(sur, t) : 1.0;
  gpc_status status = factor_lhs(x, with_slope, t);
  if (status != GPC_OK)
    return status;
  gpc_chol_solve(x, t->lhs, t->rhs);
  memcpy(point->q_mean, t->rhs, m * sizeof(double));
  if (with_slope)
    point->slope = scale * t->rhs[m];
  return GPC_OK;
}

/* The best slope within its limits, and m to go with it. */
static gpc_status solve_within(const gpc_surrogate *sur, gpc_inner *t,
                               gpc_params *point) {
  const double held = point->slope;
  gpc_status status = solve_mean(sur, sur->slope_free, t, point);
  if (status == GPC_OK && sur->slope_free &&
      (point->slope < sur->slope_low || point->slope > sur->slope_high)) {
    point->slope = fmin(fmax(point->slope, sur->slope_low), sur->slope_high);
    status = solve_mean(sur, 0, t, point);
  }
  if (status != GPC_OK)
    point->slope = held;
  return status;
}

gpc_status gpc_inner_solve(const gpc_surrogate *sur, gpc_inner *t, gpc_params *point,
                           double *value) {
  const size_t g = sur->g, m = sur->m;
  gpc_status status = set_features(sur, point, t);
  if (status == GPC_OK)
    status = solve_within(sur, t, point);
  if (status != GPC_OK)
    return status;
  set_distance(sur, point->slope, t->d);
  gpc_gemm(0, 0, g, 1, m, 1.0, t->a, point->q_mean, 1.0, t->d);
  damped(sur, t->d, t->wd);
  *value = gpc_dot(g, sur->b, t->d) - 0.5 * gpc_dot(g, t->d, t->wd) - /* eq. (20) */
           gpc_prior_quadratic(&sur->prior, m, point->q_mean, t->pull) +
           uncertainty_terms(sur, t->h, residual_term(sur, t));
  return isfinite(*value) ? GPC_OK : GPC_NOT_FINITE;
}

void gpc_inner_gradient(const gpc_surrogate *sur, gpc_inner *t, const gpc_params *point) {
  const size_t g = sur->g, m = sur->m;
  gpc_chol_inverse(m, t->h, t->hinv);
  gpc_gemm_large(0, 0, g, m, m, -1.0, t->va, t->hinv, 0.0, t->ga);
  for (size_t i = 0; i < g; i++) {
    t->wd[i] = sur->b[i] - t->wd[i];
    t->grho[i] = sur->spread_full ? 0.0 : -0.5 * sur->spread[i];
  }
  for (size_t j = 0; j < m; j++)
    for (size_t i = 0; i < g; i++)
      t->ga[i + g * j] += t->wd[i] * point->q_mean[j];
  gpc_basis_grad_zero(m, &t->grad);
  if (sur->spread_full) { /* residual_term() */
    t->grad.s2 = t->grad.sn2 = -0.5 * sur->spread_sum;
    for (size_t i = 0; i < g * m; i++)
      t->ga[i] += t->sa[i];
  }
  gpc_basis_grad_add(&t->basis, g, sur->z, t->a, t->ga, t->grho, t->row, &t->grad);
  gpc_basis_grad_finish(&t->basis, &t->grad);
}

void gpc_inner_cov(const gpc_inner *t, gpc_params *point) {
  gpc_chol_inverse(point->m, t->h, point->q_cov);
}

gpc_status gpc_inner_here(const gpc_surrogate *sur, const double *a, const double *rho,
                          const double *va, double *h, double *pull, gpc_params *point,
                          double *value) {
  gpc_status status = factor_h(sur, a, va, NULL, h);
  if (status != GPC_OK)
    return status;
  gpc_chol_inverse(sur->m, h, point->q_cov); /* eq. (14) */
  *value = uncertainty_terms(sur, h, gpc_dot(sur->g, rho, sur->spread)) -
           gpc_prior_quadratic(&sur->prior, sur->m, point->q_mean, pull);
  return isfinite(*value) ? GPC_OK : GPC_NOT_FINITE;
}
