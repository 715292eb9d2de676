/* gp_mixture_sum.c: see gp_mixture_sum.h. */
#include "gp_mixture_sum.h"
#include "linalg.h"
#include "simd.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SPACINGS 2.0      /* lengthscale of the basis */
#define LEAST_NOISE 1e-6  /* of the variance, in the basis of rough components */
#define FIRST_RIDGE 1e-15 /* of the largest variance ... */
#define LAST_RIDGE 1e-6   /* ... and where a covariance is given up */
#define ROUGH_RIDGE                                                                      \
  1e-12 /* knots lie close: smooth components leave little between them */

/* To another basis -------------------------------------------------------------------- */

/* tt := (L*^-1 L)', which takes whitened values of one basis to the other. */
static void set_change(const gpc_basis *from, const gpc_basis *to, double *tt) {
  const size_t m = from->m;
  for (size_t c = 0; c < m; c++)
    for (size_t r = 0; r < m; r++)
      tt[r + m * c] = c >= r ? from->chol[c + m * r] : 0.0;
  gpc_solve_rows(m, m, to->chol, tt);
}

static void transpose(size_t n, double *a) {
  for (size_t c = 0; c < n; c++)
    for (size_t r = 0; r < c; r++) {
      const double swap = a[r + n * c];
      a[r + n * c] = a[c + n * r];
      a[c + n * r] = swap;
    }
}

/* mean [size] of a posterior in the other basis; work [size]. */
static void change_mean(const gpc_posterior *from, const double *tt, double *work,
                        double *mean) {
  const size_t m = from->at.m, size = m + from->slopes + from->e;
  memcpy(work, from->at.q_mean, m * sizeof(double));
  if (from->slopes)
    work[m] = from->at.slope;
  memcpy(work + m + from->slopes, from->effect, from->e * sizeof(double));
  gpc_gemm(1, 0, m, 1, m, 1.0, tt, work, 0.0, mean);
  memcpy(mean + m, work + m, (size - m) * sizeof(double));
}

/* The same, and cov; work [size], at least m. */
static void change_posterior(const gpc_posterior *from, const double *tt, double *mean,
                             double *work, double *cov) {
  const size_t m = from->at.m, size = m + from->slopes + from->e;
  change_mean(from, tt, work, mean);
  memcpy(cov, from->cov, size * size * sizeof(double));
  for (int side = 0; side < 2; side++) { /* columns, then rows */
    for (size_t c = 0; c < size; c++) {
      gpc_gemm(1, 0, m, 1, m, 1.0, tt, cov + size * c, 0.0, work);
      memcpy(cov + size * c, work, m * sizeof(double));
    }
    if (side == 0)
      transpose(size, cov);
  }
}

/* Sums -------------------------------------------------------------------------------- */

static void get_room(const gpc_posterior *out, gpc_mixture_sum *f) {
  const gpc_memory *memory = f->settings->memory;
  const size_t m = out->at.m, size = m + out->slopes + out->e;
  f->now = gpc_posterior_get(memory, m, out->slopes, out->e);
  f->basis = (gpc_basis){.m = m, .chol = gpc_get_doubles(memory, m * m)};
  f->point = (gpc_basis){.m = m, .chol = gpc_get_doubles(memory, m * m)};
  f->origin = gpc_get_doubles(memory, size);
  f->mean = gpc_get_doubles(memory, size);
  f->at = gpc_get_doubles(memory, size);
  f->cov = out->cov; /* which is made of the sums when all are there */
  f->part = gpc_get_doubles(memory, 2 * m * size + m * m);
  f->tt = gpc_get_doubles(memory, m * m);
  f->top = -INFINITY;
  memset(f->mean, 0, size * sizeof(double));
  memset(f->cov, 0, size * size * sizeof(double));
}

static gpc_status set_basis(gpc_mixture_sum *f, const double *inducing) {
  const gpc_mixture_settings *s = f->settings;
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < f->basis.m; i++) {
    low = fmin(low, inducing[i]);
    high = fmax(high, inducing[i]);
  }
  f->basis.inducing = inducing;
  f->basis.hyper = s->best;
  if (s->rough)
    f->basis.hyper.l = GPC_ROUGH_L * s->rough->step;
  else if (s->l_free)
    f->basis.hyper.l = SPACINGS * (high - low) / ((double)f->basis.m - 1.0);
  if (s->s2_free)
    f->basis.hyper.s2 = fmin(fmax(s->best.s2, 0.1), 10.0);
  if (s->rough) /* white noise would smooth what is rough */
    f->basis.hyper.sn2 = fmin(s->best.sn2, LEAST_NOISE * f->basis.hyper.s2);
  return gpc_basis_factor(&f->basis);
}

gpc_status gpc_mixture_sum_begin(const gpc_mixture_settings *settings,
                                 const gpc_posterior *out, gpc_mixture_sum *f) {
  *f = (gpc_mixture_sum){.settings = settings};
  get_room(out, f);
  return set_basis(f, out->at.inducing);
}

/* The rows of m of f->now.cov in the basis of the result: f->part [m x size]. What the slope
 * and the effects have among themselves stays as it is. */
static void change_rows(gpc_mixture_sum *f) {
  const size_t m = f->now.at.m, size = m + f->now.slopes + f->now.e;
  double *rows = f->part, *mine = rows + m * size, *half = mine + m * size;
  for (size_t c = 0; c < size; c++)
    memcpy(mine + m * c, f->now.cov + size * c, m * sizeof(double));
  gpc_gemm_large(1, 0, m, size, m, 1.0, f->tt, mine, 0.0, rows);
  memcpy(half, rows, m * m * sizeof(double));
  gpc_gemm_large(0, 0, m, m, m, 1.0, half, f->tt, 0.0, rows);
}

/* sums [n] := rest sums + weight (x + d y). */
GPC_FUSED static void add_column(size_t n, double rest, double weight, const double *x,
                                 double d, const double *y, double *sums) {
#pragma omp simd
  for (size_t r = 0; r < n; r++)
    sums[r] = rest * sums[r] + weight * (x[r] + d * y[r]);
}

/* f->now added with weight exp(value). Of the sums of covariances the rows of m are kept,
 * and of the others the lower triangle. */
void gpc_mixture_sum_add(gpc_mixture_sum *f, double value) {
  const gpc_posterior *now = &f->now;
  const size_t m = now->at.m, size = m + now->slopes + now->e;
  f->point.inducing = now->at.inducing;
  f->point.hyper = now->at.hyper;
  if (gpc_basis_factor(&f->point) != GPC_OK)
    return;
  set_change(&f->point, &f->basis, f->tt);
  change_mean(now, f->tt, f->part, f->at);
  change_rows(f);
  if (!f->points)
    memcpy(f->origin, f->at, size * sizeof(double));
  double weight = 1.0, rest = 1.0;
  if (value > f->top) {
    rest = exp(f->top - value);
    f->top = value;
  } else {
    weight = exp(value - f->top);
  }
  f->total = rest * f->total + weight;
  f->sigma = rest * f->sigma + weight * sqrt(now->at.hyper.s2);
  if (f->settings->rough)
    f->between =
        rest * f->between +
        weight * sqrt(gpc_rough_between(now->at.hyper, f->settings->rough->step));
  for (size_t c = 0; c < size; c++)
    f->at[c] -= f->origin[c];
  add_column(size, rest, weight, f->at, 0.0, f->at, f->mean);
  for (size_t c = 0; c < size; c++) {
    const double d = f->at[c], *own = now->cov + size * c;
    double *sums = f->cov + size * c;
    add_column(m, rest, weight, f->part + m * c, d, f->at, sums);
    if (c >= m)
      add_column(size - c, rest, weight, own + c, d, f->at + c, sums + c);
  }
  f->points++;
}

double gpc_mixture_sum_share(const gpc_mixture_sum *f, double value) {
  return exp(value - f->top) / f->total;
}

/* The diagonal of cov [n x n] raised until it is positive definite: rounding may leave
 * little of its smallest eigenvalues where rows have enormous weights. `ridge` is where that
 * begins. It is relative to the largest variance of the first m, which are whitened values, and of
 * the others to their own, since the slope's has the units of the scores. work [n x n], unit
 * [n]. */
static gpc_status raise(size_t n, size_t m, double ridge, double *work, double *unit,
                        double *cov) {
  double most = 0.0;
  for (size_t i = 0; i < m; i++)
    most = fmax(most, cov[i + n * i]);
  for (size_t i = 0; i < n; i++)
    unit[i] = sqrt(fmax(i < m ? most : cov[i + n * i], DBL_MIN));
  for (;;) {
    for (size_t j = 0; j < n; j++)
      for (size_t i = 0; i < n; i++)
        work[i + n * j] = cov[i + n * j] / (unit[i] * unit[j]);
    for (size_t i = 0; i < n; i++)
      work[i + n * i] += ridge;
    if (gpc_chol(n, 1e-16, work) == GPC_OK)
      break;
    ridge = ridge == 0.0 ? FIRST_RIDGE : 10.0 * ridge;
    if (!(ridge <= LAST_RIDGE))
      return GPC_NOT_PD;
  }
  for (size_t i = 0; i < n; i++)
    cov[i + n * i] += ridge * unit[i] * unit[i];
  return GPC_OK;
}

static gpc_status finish(gpc_mixture_sum *f, double scale, gpc_posterior *out) {
  const size_t m = out->at.m, size = m + out->slopes + out->e;
  for (size_t c = 0; c < size; c++)
    f->mean[c] /= f->total;
  for (size_t c = 0; c < size; c++)
    for (size_t r = c < m ? 0 : c; r < size; r++) {
      const double sum = r >= m && c < m ? f->cov[c + size * r] : f->cov[r + size * c];
      f->now.cov[r + size * c] = f->now.cov[c + size * r] =
          scale * scale * (sum / f->total - f->mean[r] * f->mean[c]);
    }
  for (size_t c = 0; c < size; c++)
    f->mean[c] += f->origin[c];
  memcpy(f->now.at.q_mean, f->mean, m * sizeof(double));
  if (out->slopes)
    f->now.at.slope = f->mean[m];
  memcpy(f->now.effect, f->mean + m + out->slopes, out->e * sizeof(double));
  f->point.hyper = f->basis.hyper;
  f->point.inducing = f->basis.inducing;
  if (f->settings->s2_free)
    f->point.hyper.s2 = f->sigma / f->total * (f->sigma / f->total);
  if (f->settings->rough)
    f->point.hyper.sn2 = fmin(f->settings->best.sn2, LEAST_NOISE * f->point.hyper.s2);
  gpc_status status = gpc_basis_factor(&f->point);
  if (status != GPC_OK)
    return status;
  set_change(&f->basis, &f->point, f->tt);
  change_posterior(&f->now, f->tt, f->at, f->part, out->cov);
  out->at.hyper = f->point.hyper;
  const double between = scale * f->between / f->total;
  out->at.hyper.between = between * between;
  out->at.slope = f->now.at.slope;
  memcpy(out->at.inducing, f->basis.inducing, m * sizeof(double));
  memcpy(out->at.q_mean, f->at, m * sizeof(double));
  memcpy(out->effect, f->now.effect, out->e * sizeof(double));
  const double ridge = f->settings->rough ? ROUGH_RIDGE : 0.0;
  status = raise(size, m, ridge, f->now.cov, f->at, out->cov);
  if (status != GPC_OK)
    return status;
  const double var = gpc_posterior_slope(out, f->at);
  for (size_t c = 0; c < m; c++)
    for (size_t r = 0; r < m; r++)
      out->at.q_cov[r + m * c] = out->cov[r + size * c] - var * f->at[r] * f->at[c];
  return raise(m, m, ridge, f->now.cov, f->at, out->at.q_cov);
}

gpc_status gpc_mixture_sum_finish(gpc_mixture_sum *f, double scale, gpc_posterior *out) {
  const gpc_status status = finish(f, scale, out);
  gpc_give(f->settings->memory, f->now.cov);
  gpc_give(f->settings->memory, f->part);
  return status;
}
