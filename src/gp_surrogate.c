/* gp_surrogate.c: see gp_surrogate.h. */
#include "gp_surrogate.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

typedef struct {
  gpc_basis basis;
  double *a, *rho;          /* features on the nodes */
  double *wa, *va;          /* [g x (m + 1)] W [A, z], [g x m] V A */
  double *h, *hinv;         /* [m x m] chol(I + A'VA), its inverse */
  double *lhs, *rhs, *diag; /* [(m + 1)^2], [m + 1], [m + 1] */
  double *d, *wd, *ga;      /* [g], [g], [g x m] */
  double *grho, *spare;     /* [g] */
  gpc_basis_grad grad;
  double *x, *x_new, *gx, *gx_new, *dir, *hess; /* BFGS: [2 + m], hess [(2 + m)^2] */
  double *low, *high;
  double unit; /* of the inducing inputs among the x */
} surrogate_work;

size_t gpc_surrogate_work(size_t g, size_t m) {
  return 4 * g * m + 7 * g + 4 * m * m + 2 * (m + 1) * (m + 1) + 11 * (m + 2) +
         (m + 2) * (m + 2) + m;
}

static double *take(double **block, size_t n) {
  double *at = *block;
  *block += n;
  return at;
}

static void carve(size_t g, size_t m, double *block, surrogate_work *t) {
  const size_t x = m + 2;
  t->basis.m = m;
  t->basis.chol = take(&block, m * m);
  t->a = take(&block, g * m);
  t->rho = take(&block, g);
  t->wa = take(&block, g * (m + 1));
  t->va = take(&block, g * m);
  t->h = take(&block, m * m);
  t->hinv = take(&block, m * m);
  t->lhs = take(&block, (m + 1) * (m + 1));
  t->rhs = take(&block, m + 1);
  t->diag = take(&block, m + 1);
  t->d = take(&block, g);
  t->wd = take(&block, g);
  t->ga = take(&block, g * m);
  t->grho = take(&block, g);
  t->spare = take(&block, g);
  t->grad.w = take(&block, m);
  t->grad.outer = take(&block, m * m);
  t->x = take(&block, x);
  t->x_new = take(&block, x);
  t->gx = take(&block, x);
  t->gx_new = take(&block, x);
  t->dir = take(&block, x);
  t->low = take(&block, x);
  t->high = take(&block, x);
  t->hess = take(&block, x * x);
}

static double dot(size_t n, const double *a, const double *b) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

/* Features at the point, V A and chol(I + A'VA). */
static gpc_status set_features(const gpc_surrogate *sur, const gpc_surrogate_point *point,
                               surrogate_work *t) {
  const size_t g = sur->g, m = sur->m;
  t->basis.w = point->inducing;
  t->basis.hyper = point->hyper;
  gpc_status status = gpc_basis_factor(&t->basis);
  if (status != GPC_OK)
    return status;
  gpc_basis_eval(&t->basis, g, sur->nodes, t->a, t->rho);
  gpc_symm(g, m, sur->w, t->a, t->wa);
  if (sur->cov == GPC_COV_FULL)
    memcpy(t->va, t->wa, g * m * sizeof(double));
  else
    for (size_t j = 0; j < m; j++)
      for (size_t i = 0; i < g; i++)
        t->va[i + g * j] = sur->v[i] * t->a[i + g * j];
  gpc_gemm(1, 0, m, m, g, 1.0, t->a, t->va, 0.0, t->h);
  for (size_t j = 0; j < m; j++)
    t->h[j + m * j] += 1.0;
  return gpc_chol(m, 0.0, t->h);
}

static double uncertainty_terms(const gpc_surrogate *sur, const surrogate_work *t) {
  return -0.5 * gpc_chol_logdet(sur->m, t->h) - 0.5 * dot(sur->g, t->rho, sur->v);
}

/* Cholesky factor of lhs [x x x] (lower triangle given). Interpolation leaves W positive
 * only up to rounding, which a large variance magnifies, and rows may say nothing of the
 * slope: a ridge that grows until the factor exists. The slope's row has been scaled so
 * that its diagonal is the largest. */
static gpc_status factor_lhs(size_t x, int with_slope, surrogate_work *t) {
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
    if (gpc_chol_keep(x, lhs) == GPC_OK)
      return GPC_OK;
  }
  return GPC_NOT_PD;
}

/* Measure the slope in units that make its diagonal the largest one, whatever the scale
 * of the scores: the ridge must not outweigh it. Returns the unit. */
static double scale_slope(const gpc_surrogate *sur, surrogate_work *t) {
  const size_t m = sur->m, x = m + 1;
  double largest = 1.0, own = t->lhs[m + x * m], far = 0.0;
  for (size_t i = 0; i < m; i++)
    largest = fmax(largest, t->lhs[i + x * i]);
  for (size_t i = 0; i < sur->g; i++)
    far = fmax(far, fabs(sur->nodes[i]));
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
static void add_extra(const gpc_surrogate *sur, const double *x, double *out) {
  const size_t g = sur->g;
  for (size_t e = 0; e < sur->extras; e++) {
    const double *extra = sur->extra + g * e;
    const double along = sur->bend[e] * dot(g, extra, x);
    for (size_t i = 0; i < g; i++)
      out[i] += along * extra[i];
  }
}

/* out [g] := (W + damping diag(mass) + E) x. */
static void damped(const gpc_surrogate *sur, const double *x, double *out) {
  gpc_symm(sur->g, 1, sur->w, x, out);
  for (size_t i = 0; i < sur->g; i++)
    out[i] += sur->damping * sur->mass[i] * x[i];
  add_extra(sur, x, out);
}

/* The best m for a given slope, or the best m and slope together. Maximises
 * b'd - 1/2 d'(W + damping diag(mass))d - 1/2 m'm over d = slope z + A m - psi0. */
static gpc_status solve_mean(const gpc_surrogate *sur, int with_slope, surrogate_work *t,
                             gpc_surrogate_point *point) {
  const size_t g = sur->g, m = sur->m, x = m + (with_slope ? 1 : 0);
  double *target = t->spare;
  /* weighted target: b + W (psi0 - slope z), with the slope left out when it is free */
  for (size_t i = 0; i < g; i++)
    t->d[i] =
        sur->psi0[i] -
        (with_slope || sur->mean == GPC_MEAN_LOG ? 0.0 : point->slope * sur->nodes[i]);
  damped(sur, t->d, target);
  for (size_t i = 0; i < g; i++)
    target[i] += sur->b[i];
  /* lhs = X'WX + I on m, X = [A, z] */
  double *wz = t->wa + g * m;
  if (with_slope)
    damped(sur, sur->nodes, wz);
  const double *wa = t->wa;
  if (sur->damping > 0.0 || sur->extras) { /* t->ga is free until the gradient */
    for (size_t j = 0; j < m; j++) {
      const double *a = t->a + g * j;
      for (size_t i = 0; i < g; i++)
        t->ga[i + g * j] = t->wa[i + g * j] + sur->damping * sur->mass[i] * a[i];
      add_extra(sur, a, t->ga + g * j);
    }
    wa = t->ga;
  }
  for (size_t j = 0; j < x; j++)
    for (size_t i = j; i < x; i++) {
      const double *left = i < m ? t->a + g * i : sur->nodes;
      const double *right = j < m ? wa + g * j : wz;
      t->lhs[i + x * j] = dot(g, left, right) + (i == j && i < m ? 1.0 : 0.0);
    }
  for (size_t i = 0; i < x; i++)
    t->rhs[i] = dot(g, i < m ? t->a + g * i : sur->nodes, target);
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

/* J at hyper and inducing inputs, with m, slope and S at their best. */
static gpc_status evaluate(const gpc_surrogate *sur, surrogate_work *t,
                           gpc_surrogate_point *point) {
  const size_t g = sur->g, m = sur->m;
  gpc_status status = set_features(sur, point, t);
  if (status != GPC_OK)
    return status;
  const double held = point->slope;
  status = solve_mean(sur, sur->slope_free, t, point);
  if (status == GPC_OK && sur->slope_free &&
      (point->slope < sur->slope_low || point->slope > sur->slope_high)) {
    point->slope = fmin(fmax(point->slope, sur->slope_low), sur->slope_high);
    status = solve_mean(sur, 0, t, point);
  }
  if (status != GPC_OK) {
    point->slope = held;
    return status;
  }
  for (size_t i = 0; i < g; i++)
    t->d[i] =
        (sur->mean == GPC_MEAN_LOG ? 0.0 : point->slope * sur->nodes[i]) - sur->psi0[i];
  gpc_gemm(0, 0, g, 1, m, 1.0, t->a, point->q_mean, 1.0, t->d);
  damped(sur, t->d, t->wd);
  point->value = dot(g, sur->b, t->d) - 0.5 * dot(g, t->d, t->wd) -
                 0.5 * dot(m, point->q_mean, point->q_mean) + uncertainty_terms(sur, t);
  return isfinite(point->value) ? GPC_OK : GPC_NOT_FINITE;
}

/* dJ/dx of the last evaluation, x = (log s2, log l, inducing inputs): m, slope and S are
 * at their best, so that only the direct dependence counts. */
static void gradient(const gpc_surrogate *sur, surrogate_work *t,
                     const gpc_surrogate_point *point, double *gx) {
  const size_t g = sur->g, m = sur->m;
  gpc_chol_inverse(m, t->h, t->hinv);
  gpc_gemm(0, 0, g, m, m, -1.0, t->va, t->hinv, 0.0, t->ga);
  for (size_t i = 0; i < g; i++) {
    t->wd[i] = sur->b[i] - t->wd[i];
    t->grho[i] = -0.5 * sur->v[i];
  }
  for (size_t j = 0; j < m; j++)
    for (size_t i = 0; i < g; i++)
      t->ga[i + g * j] += t->wd[i] * point->q_mean[j];
  gpc_basis_grad_zero(m, &t->grad);
  gpc_basis_grad_add(&t->basis, g, sur->nodes, t->a, t->ga, t->grho, t->spare, &t->grad);
  gpc_basis_grad_finish(&t->basis, &t->grad);
  gx[0] = t->grad.s2 * point->hyper.s2;
  gx[1] = t->grad.l * point->hyper.l;
  for (size_t i = 0; i < m; i++)
    gx[2 + i] = t->grad.w[i] * t->unit;
}

static void set_point(const double *x, size_t dim, const surrogate_work *t,
                      gpc_surrogate_point *point) {
  point->hyper.s2 = exp(x[0]);
  point->hyper.l = exp(x[1]);
  for (size_t i = 2; i < dim; i++)
    point->inducing[i - 2] = x[i] * t->unit;
}

/* Box around the start; coordinates that are held have no room. */
static size_t set_box(const gpc_surrogate *sur, const gpc_surrogate_box *box,
                      const gpc_surrogate_point *point, surrogate_work *t) {
  const size_t m = sur->m, dim = 2 + (box->inducing_free ? m : 0);
  t->x[0] = log(point->hyper.s2);
  t->x[1] = log(point->hyper.l);
  double low[2] = {log(box->s2_low), log(box->l_low)};
  double high[2] = {log(box->s2_high), log(box->l_high)};
  int is_free[2] = {box->s2_free, box->l_free};
  for (size_t i = 0; i < 2; i++) {
    double room = is_free[i] ? box->radius : 0.0;
    t->low[i] = fmin(fmax(t->x[i] - room, low[i]), t->x[i]);
    t->high[i] = fmax(fmin(t->x[i] + room, high[i]), t->x[i]);
  }
  double least = INFINITY, most = -INFINITY;
  for (size_t i = 0; i < m; i++) {
    least = fmin(least, point->inducing[i]);
    most = fmax(most, point->inducing[i]);
  }
  t->unit = m > 1 ? (most - least) / (double)(m - 1) : point->hyper.l;
  if (!(t->unit > 0.0))
    t->unit = point->hyper.l;
  for (size_t i = 2; i < dim; i++) {
    t->x[i] = point->inducing[i - 2] / t->unit;
    t->low[i] = t->x[i] - box->radius;
    t->high[i] = t->x[i] + box->radius;
  }
  return dim;
}

/* 1 where coordinate i sits at a limit and the gradient points outside. */
static int blocked(const surrogate_work *t, const double *x, const double *gx, size_t i) {
  return (x[i] <= t->low[i] && gx[i] <= 0.0) || (x[i] >= t->high[i] && gx[i] >= 0.0);
}

/* Ascent direction -hess gx restricted to the free coordinates (hess: inverse Hessian of
 * -J). */
static double direction(size_t dim, surrogate_work *t) {
  double slope = 0.0;
  for (size_t i = 0; i < dim; i++) {
    t->dir[i] = 0.0;
    if (blocked(t, t->x, t->gx, i))
      continue;
    for (size_t j = 0; j < dim; j++)
      if (!blocked(t, t->x, t->gx, j))
        t->dir[i] += t->hess[i + dim * j] * t->gx[j];
    slope += t->dir[i] * t->gx[i];
  }
  return slope;
}

static void reset_hessian(size_t dim, surrogate_work *t) {
  memset(t->hess, 0, dim * dim * sizeof(double));
  double size = 0.0;
  for (size_t i = 0; i < dim; i++)
    if (!blocked(t, t->x, t->gx, i))
      size = fmax(size, fabs(t->gx[i]));
  for (size_t i = 0; i < dim; i++) { /* a first step of at most a third of the box */
    double room = t->high[i] - t->low[i];
    t->hess[i + dim * i] = size > 0.0 ? fmin(1.0, room / (6.0 * size)) : 1.0;
  }
}

static void update_hessian(size_t dim, surrogate_work *t) {
  /* BFGS for the inverse Hessian of -J: s = x_new - x, y = gx - gx_new */
  double *s = t->dir, *hy = t->x; /* x is overwritten by the caller afterwards */
  double sy = 0.0, yhy = 0.0;
  for (size_t i = 0; i < dim; i++)
    s[i] = t->x_new[i] - t->x[i];
  for (size_t i = 0; i < dim; i++)
    sy += s[i] * (t->gx[i] - t->gx_new[i]);
  if (!(sy > 1e-12))
    return;
  for (size_t i = 0; i < dim; i++) {
    hy[i] = 0.0;
    for (size_t j = 0; j < dim; j++)
      hy[i] += t->hess[i + dim * j] * (t->gx[j] - t->gx_new[j]);
  }
  for (size_t i = 0; i < dim; i++)
    yhy += hy[i] * (t->gx[i] - t->gx_new[i]);
  for (size_t i = 0; i < dim; i++)
    for (size_t j = 0; j < dim; j++)
      t->hess[i + dim * j] +=
          (1.0 + yhy / sy) * s[i] * s[j] / sy - (hy[i] * s[j] + s[i] * hy[j]) / sy;
}

static gpc_status finish(const gpc_surrogate *sur, surrogate_work *t,
                         gpc_surrogate_point *point) {
  gpc_status status = evaluate(sur, t, point);
  if (status == GPC_OK)
    gpc_chol_inverse(sur->m, t->h, point->q_cov);
  return status;
}

gpc_status gpc_surrogate_maximise(const gpc_surrogate *sur, const gpc_surrogate_box *box,
                                  double *work, gpc_surrogate_point *point) {
  surrogate_work t;
  carve(sur->g, sur->m, work, &t);
  const size_t dim = set_box(sur, box, point, &t);
  gpc_status status = evaluate(sur, &t, point);
  if (status != GPC_OK)
    return status;
  double value = point->value;
  gradient(sur, &t, point, t.gx);
  reset_hessian(dim, &t);
  for (int step_no = 0; step_no < box->max_steps; step_no++) {
    gpc_call_poll(box->poll, box->poll_data);
    double slope = direction(dim, &t);
    if (!(slope > 0.0)) {
      reset_hessian(dim, &t);
      slope = direction(dim, &t);
    }
    if (!(slope > box->tol * 0.1))
      break;
    double step = 1.0, gain = -1.0;
    for (int cut = 0; cut < 20; cut++, step *= 0.4) {
      double first_order = 0.0;
      for (size_t i = 0; i < dim; i++) {
        t.x_new[i] = fmin(fmax(t.x[i] + step * t.dir[i], t.low[i]), t.high[i]);
        first_order += t.gx[i] * (t.x_new[i] - t.x[i]);
      }
      set_point(t.x_new, dim, &t, point);
      if (evaluate(sur, &t, point) == GPC_OK &&
          point->value >= value + 1e-4 * first_order) {
        gain = point->value - value;
        break;
      }
    }
    if (gain < 0.0)
      break;
    gradient(sur, &t, point, t.gx_new);
    value = point->value;
    update_hessian(dim, &t);
    memcpy(t.x, t.x_new, dim * sizeof(double));
    memcpy(t.gx, t.gx_new, dim * sizeof(double));
    if (gain < box->tol)
      break;
  }
  set_point(t.x, dim, &t, point);
  return finish(sur, &t, point);
}

gpc_status gpc_surrogate_here(const gpc_surrogate *sur, double *work,
                              gpc_surrogate_point *point) {
  surrogate_work t;
  carve(sur->g, sur->m, work, &t);
  gpc_status status = set_features(sur, point, &t);
  if (status != GPC_OK)
    return status;
  gpc_chol_inverse(sur->m, t.h, point->q_cov);
  point->value =
      uncertainty_terms(sur, &t) - 0.5 * dot(sur->m, point->q_mean, point->q_mean);
  return isfinite(point->value) ? GPC_OK : GPC_NOT_FINITE;
}
