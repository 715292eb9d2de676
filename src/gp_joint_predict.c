/* gp_joint_predict.c: see gp_joint_predict.h. */
#include "gp_joint_predict.h"
#include "fastexp.h"
#include "gp_design.h"
#include "linalg.h"
#include "quadrature.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROWS 32 /* rows worked on together */

static size_t triangle(size_t n) { return n * (n + 1) / 2; }

typedef struct {
  const gpc_gp_data *data;
  const gpc_joint_fitted *fit;
  size_t k, r, m, x, size; /* x = m + slopes */
  double *root;            /* [x x x] U, S_xx = U U' */
  double *cross;           /* [r x (x k)] U^-1 S_xe */
  double *pairs;           /* [packed x pairs] S_ee */
  double *effects;         /* [r x k] */
  /* of ROWS rows: */
  double *z, *a, *rho; /* [rows k], [rows k x x], [rows k]: row i, class j at i + rows j */
  double *au;          /* [rows k x x] */
  double *features;    /* [rows x r] */
  double *packed, *cee, *smx; /* [rows x packed], [rows x pairs], [rows x (x k)] */
  double *phi;                /* [rows x k] */
  double *row, *work, *one;   /* [k], [k], [r] */
  double *c, *chol;           /* [k x k] of one row */
} tables;

/* U, and S in the form that rows need. */
static gpc_status set_covariance(tables *t) {
  const double *s = t->fit->cov;
  const size_t x = t->x, r = t->r, size = t->size;
  for (size_t j = 0; j < x; j++)
    memcpy(t->root + x * j, s + size * j, x * sizeof(double));
  gpc_status status = gpc_chol(x, 0.0, t->root);
  if (status != GPC_OK)
    return status;
  double *v = t->a; /* free until rows are read */
  for (size_t l = 0; l < t->k; l++)
    for (size_t i = 0; i < r; i++) {
      memcpy(v, s + size * (x + l * r + i), x * sizeof(double));
      gpc_solve_rows(1, x, t->root, v);
      for (size_t p = 0; p < x; p++)
        t->cross[i + r * (p + x * l)] = v[p];
    }
  size_t pair = 0;
  for (size_t a = 0; a < t->k; a++)
    for (size_t b = 0; b <= a; b++, pair++) {
      double *to = t->pairs + triangle(r) * pair;
      const size_t row = x + a * r, column = x + b * r;
      for (size_t i = 0; i < r; i++)
        for (size_t j = 0; j <= i; j++)
          *to++ = i == j
                      ? s[row + i + size * (column + i)]
                      : s[row + i + size * (column + j)] + s[row + j + size * (column + i)];
    }
  return GPC_OK;
}

static gpc_status begin(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                        const gpc_memory *memory, tables *t) {
  const size_t k = data->k, r = fit->features.r, m = fit->process.basis.m;
  const size_t x = m + fit->slopes;
  *t = (tables){.data = data,
                .fit = fit,
                .k = k,
                .r = r,
                .m = m,
                .x = x,
                .size = x + k * r,
                .root = gpc_get_doubles(memory, x * x),
                .cross = gpc_get_doubles(memory, r * x * k),
                .pairs = gpc_get_doubles(memory, triangle(r) * triangle(k)),
                .effects = gpc_get_doubles(memory, r * k),
                .z = gpc_get_doubles(memory, ROWS * k),
                .a = gpc_get_doubles(memory, ROWS * k * (x + 1)),
                .rho = gpc_get_doubles(memory, ROWS * k),
                .au = gpc_get_doubles(memory, ROWS * k * x),
                .features = gpc_get_doubles(memory, ROWS * r),
                .packed = gpc_get_doubles(memory, ROWS * triangle(r)),
                .cee = gpc_get_doubles(memory, ROWS * triangle(k)),
                .smx = gpc_get_doubles(memory, ROWS * x * k),
                .phi = gpc_get_doubles(memory, ROWS * k),
                .row = gpc_get_doubles(memory, k),
                .work = gpc_get_doubles(memory, k),
                .one = gpc_get_doubles(memory, r),
                .c = gpc_get_doubles(memory, k * k),
                .chol = gpc_get_doubles(memory, k * k)};
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < r; i++)
      t->effects[i + r * j] = fit->effect[j * r + i];
  return set_covariance(t);
}

/* The slope's uncertainty grows with the score to three times what was seen and no
 * further: beyond that the average would be that of slopes of either sign, for scores
 * like those of a class that is ruled out. */
#define HELD_SLOPE 3.0

static void slope_column(const gpc_features *f, size_t count, const double *z,
                         double *out) {
  const double far = HELD_SLOPE * fmax(fabs(f->low), fabs(f->high));
  for (size_t i = 0; i < count; i++)
    out[i] = fmin(fmax(z[i], -far), far);
}

/* Scores, features and phi of the rows first .. first + rows. */
static void read_rows(tables *t, size_t first, size_t rows) {
  const gpc_gp_fitted *process = &t->fit->process;
  const size_t k = t->k, count = rows * k;
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < rows; i++)
      t->z[i + rows * j] = gpc_gp_score(t->data, first + i, j);
  gpc_basis_eval(&process->basis, count, t->z, t->a, t->rho);
  if (t->fit->slopes)
    slope_column(&t->fit->features, count, t->z, t->a + count * t->m);
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < k; j++)
      t->row[j] = t->z[i + rows * j];
    gpc_features_row(&t->fit->features, t->row, t->work, t->one);
    for (size_t q = 0; q < t->r; q++)
      t->features[i + rows * q] = t->one[q];
  }
  gpc_gemm(0, 0, rows, k, t->r, 1.0, t->features, t->effects, 0.0, t->phi);
  gpc_gemm(0, 0, count, 1, t->m, 1.0, t->a, process->q_mean, 1.0, t->phi);
  gpc_prior_add_mu(&process->prior, count, t->z, t->phi);
}

/* What the covariances of these rows need. */
static void spread_rows(tables *t, size_t rows) {
  size_t column = 0;
  for (size_t a = 0; a < t->r; a++)
    for (size_t b = 0; b <= a; b++, column++)
      for (size_t i = 0; i < rows; i++)
        t->packed[i + rows * column] =
            t->features[i + rows * a] * t->features[i + rows * b];
  gpc_gemm(0, 0, rows, triangle(t->k), triangle(t->r), 1.0, t->packed, t->pairs, 0.0,
           t->cee);
  gpc_gemm(0, 0, rows, t->x * t->k, t->r, 1.0, t->features, t->cross, 0.0, t->smx);
  gpc_gemm(0, 0, rows * t->k, t->x, t->x, 1.0, t->a, t->root, 0.0, t->au);
}

/* eq. (34): C of row i. */
static void row_covariance(const tables *t, size_t i, size_t rows) {
  const size_t k = t->k, x = t->x, step = rows * k;
  size_t pair = 0;
  for (size_t a = 0; a < k; a++)
    for (size_t b = 0; b <= a; b++, pair++) {
      const double *ua = t->au + i + rows * a, *ub = t->au + i + rows * b;
      const double *sa = t->smx + i + rows * x * a, *sb = t->smx + i + rows * x * b;
      double sum = t->cee[i + rows * pair] + (a == b ? t->rho[i + rows * a] : 0.0);
      for (size_t p = 0; p < x; p++)
        sum += ua[step * p] * (ub[step * p] + sb[rows * p]) + ub[step * p] * sa[rows * p];
      t->c[a + k * b] = t->c[b + k * a] = sum;
    }
}

static void softmax(size_t k, const double *f, double *p) {
  double top = -INFINITY, sum = 0.0;
  for (size_t j = 0; j < k; j++)
    top = fmax(top, f[j]);
  for (size_t j = 0; j < k; j++)
    sum += p[j] = exp(f[j] - top);
  for (size_t j = 0; j < k; j++)
    p[j] /= sum;
}

/* Lower factor of C [k x k], which may be singular. */
static void factor(size_t k, const double *c, double *l) {
  memset(l, 0, k * k * sizeof(double));
  for (size_t j = 0; j < k; j++) {
    double pivot = c[j + k * j];
    for (size_t p = 0; p < j; p++)
      pivot -= l[j + k * p] * l[j + k * p];
    pivot = pivot > 1e-14 * c[j + k * j] ? sqrt(pivot) : 0.0;
    l[j + k * j] = pivot;
    for (size_t i = j + 1; i < k && pivot > 0.0; i++) {
      double sum = c[i + k * j];
      for (size_t p = 0; p < j; p++)
        sum -= l[i + k * p] * l[j + k * p];
      l[i + k * j] = sum / pivot;
    }
  }
}

/* Where the next terms of the expansion may exceed 1e-4 the row is integrated. */
#define MOST_NEXT 8e-4
#define MOST_SPREAD 0.5

/* eq. (24) of one row into out [k]; 0 if it is not good enough. s [k] = softmax(phi). */
static int expand(size_t k, const double *c, const double *s, double *cs, double *out) {
  double all = 0.0, mean = 0.0, worst = 0.0;
  for (size_t i = 0; i < k; i++) {
    cs[i] = gpc_dot(k, c + k * i, s);
    all += cs[i] * s[i];
  }
  for (size_t i = 0; i < k; i++) {
    const double d = c[i + k * i] - 2.0 * cs[i] + all;
    out[i] = d;
    mean += s[i] * d;
    worst = fmax(worst, s[i] * d * d * (1.0 + 0.125 * d * d));
  }
  for (size_t i = 0; i < k; i++)
    out[i] = s[i] * (1.0 + 0.5 * (out[i] - mean));
  return worst <= MOST_NEXT && mean <= MOST_SPREAD;
}

#define POINTS 64 /* pairs of points to integrate over */

/* POINTS of the fixed design, made to have the covariance I again. */
static double *make_points(size_t k, const gpc_memory *memory) {
  double *all = gpc_get_doubles(memory, k * GPC_GP_DESIGN_PAIRS);
  double *x = gpc_get_doubles(memory, k * POINTS), *chol = gpc_get_doubles(memory, k * k);
  gpc_gp_design_functions(
      k,
      gpc_get_doubles(memory, (GPC_GP_DESIGN_PAIRS + GPC_GP_DESIGN_EXACT) *
                                  GPC_GP_DESIGN_EXACT),
      all);
  memcpy(x, all, k * POINTS * sizeof(double));
  gpc_gemm(0, 1, k, k, POINTS, 1.0 / POINTS, x, x, 0.0, chol);
  if (k < POINTS / 2 && gpc_chol(k, 1e-4, chol) == GPC_OK)
    for (size_t d = 0; d < POINTS; d++)
      gpc_solve_rows(1, k, chol, x + k * d);
  double *turned = all; /* [POINTS x k] */
  for (size_t d = 0; d < POINTS; d++)
    for (size_t j = 0; j < k; j++)
      turned[d + POINTS * j] = x[j + k * d];
  return turned;
}

/* The average of softmax(phi +- L x) over the points x [POINTS x k]. work [2 POINTS k]. */
static void integrate(const tables *t, const double *phi, const double *points,
                      double *work, double *out) {
  const size_t k = t->k;
  double *up = work, *down = work + POINTS * k, sum[2 * POINTS] = {0};
  double top[2 * POINTS];
  gpc_gemm(0, 1, POINTS, k, k, 1.0, points, t->chol, 0.0, up); /* moves L x */
  for (size_t d = 0; d < 2 * POINTS; d++)
    top[d] = -INFINITY;
  for (size_t j = 0; j < k; j++) {
    double *u = up + POINTS * j, *v = down + POINTS * j;
    for (size_t d = 0; d < POINTS; d++) {
      const double move = u[d];
      u[d] = phi[j] + move;
      v[d] = phi[j] - move;
      top[d] = u[d] > top[d] ? u[d] : top[d];
      top[POINTS + d] = v[d] > top[POINTS + d] ? v[d] : top[POINTS + d];
    }
  }
  for (size_t j = 0; j < k; j++) {
    double *u = up + POINTS * j, *v = down + POINTS * j;
#pragma omp simd
    for (size_t d = 0; d < POINTS; d++) {
      u[d] = gpc_exp_nonpos(u[d] - top[d]);
      v[d] = gpc_exp_nonpos(v[d] - top[POINTS + d]);
      sum[d] += u[d];
      sum[POINTS + d] += v[d];
    }
  }
  for (size_t d = 0; d < 2 * POINTS; d++)
    sum[d] = 0.5 / (POINTS * sum[d]);
  for (size_t j = 0; j < k; j++)
    out[j] = gpc_dot(POINTS, up + POINTS * j, sum) +
             gpc_dot(POINTS, down + POINTS * j, sum + POINTS);
}

gpc_status gpc_joint_predict(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                             gpc_approx approx, const gpc_memory *memory, gpc_poll poll,
                             void *poll_data, double *p) {
  tables t;
  gpc_status status = begin(data, fit, memory, &t);
  if (status != GPC_OK)
    return status;
  const size_t k = t.k, n = data->n;
  double *phi = gpc_get_doubles(memory, k), *s = gpc_get_doubles(memory, k);
  double *out = gpc_get_doubles(memory, k);
  double *work = gpc_get_doubles(memory, 2 * POINTS * k);
  const double *points =
      approx == GPC_APPROX_DELTA && k > 2 ? make_points(k, memory) : NULL;
  for (size_t first = 0; first < n; first += ROWS) {
    const size_t rows = n - first < ROWS ? n - first : ROWS;
    if (first % (64 * ROWS) == 0)
      gpc_call_poll(poll, poll_data);
    read_rows(&t, first, rows);
    if (approx == GPC_APPROX_DELTA)
      spread_rows(&t, rows);
    for (size_t i = 0; i < rows; i++) {
      for (size_t j = 0; j < k; j++)
        phi[j] = t.phi[i + rows * j];
      softmax(k, phi, s);
      memcpy(out, s, k * sizeof(double));
      if (approx == GPC_APPROX_DELTA) {
        row_covariance(&t, i, rows);
        if (k == 2) {
          const double var = t.c[0] - 2.0 * t.c[1] + t.c[3];
          out[0] = gpc_logistic_normal(phi[0] - phi[1], var);
          out[1] = gpc_logistic_normal(phi[1] - phi[0], var);
        } else if (!expand(k, t.c, s, work, out)) {
          factor(k, t.c, t.chol);
          integrate(&t, phi, points, work, out);
        }
      }
      for (size_t j = 0; j < k; j++)
        p[first + i + n * j] = fmax(out[j], DBL_MIN);
    }
  }
  return GPC_OK;
}

gpc_status gpc_joint_latent(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                            const gpc_memory *memory, gpc_poll poll, void *poll_data,
                            double *mean, double *var) {
  tables t;
  gpc_status status = begin(data, fit, memory, &t);
  const size_t k = data->k, n = data->n;
  for (size_t first = 0; first < n && status == GPC_OK; first += ROWS) {
    const size_t rows = n - first < ROWS ? n - first : ROWS;
    if (first % (64 * ROWS) == 0)
      gpc_call_poll(poll, poll_data);
    read_rows(&t, first, rows);
    spread_rows(&t, rows);
    for (size_t i = 0; i < rows; i++) {
      row_covariance(&t, i, rows);
      for (size_t j = 0; j < k; j++) {
        mean[first + i + n * j] = t.phi[i + rows * j];
        var[first + i + n * j] = fmax(t.c[j + k * j], 0.0);
      }
    }
  }
  return status;
}

#define PAIRS 16 /* pairs of draws worked on together */

/* Softmaxes of phi +- d of the rows, d [rows k x pairs], into all or p. */
static void add_draws(const tables *t, size_t first, size_t rows, size_t pair,
                      size_t pairs, size_t total, const double *d, double *p,
                      double *all) {
  const size_t k = t->k, n = t->data->n, count = rows * k;
  for (size_t q = 0; q < pairs; q++)
    for (size_t i = 0; i < rows; i++)
      for (int sign = 0; sign < 2; sign++) {
        for (size_t j = 0; j < k; j++) {
          const size_t at = i + rows * j;
          t->row[j] = t->phi[at] + (sign ? -d[at + count * q] : d[at + count * q]);
        }
        softmax(k, t->row, t->work);
        for (size_t j = 0; j < k; j++) {
          if (all)
            all[first + i + n * (j + k * (2 * (pair + q) + (size_t)sign))] = t->work[j];
          else
            p[first + i + n * j] += t->work[j] * 0.5 / (double)total;
        }
      }
}

gpc_status gpc_joint_draws(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                           size_t pairs, const double *x, const double *noise,
                           const gpc_memory *memory, gpc_poll poll, void *poll_data,
                           double *p, double *all) {
  tables t;
  gpc_status status = begin(data, fit, memory, &t);
  const size_t k = data->k, n = data->n, size = t.size;
  double *chol = gpc_get_doubles(memory, size * size);
  double *theta = gpc_get_doubles(memory, size * pairs);
  double *d = gpc_get_doubles(memory, ROWS * k * PAIRS);
  double *v = gpc_get_doubles(memory, (t.x > t.r ? t.x : t.r) * PAIRS);
  double *own = gpc_get_doubles(memory, ROWS * PAIRS);
  memcpy(chol, fit->cov, size * size * sizeof(double));
  if (status == GPC_OK)
    status = gpc_chol(size, 0.0, chol);
  if (status != GPC_OK)
    return status;
  gpc_gemm(0, 0, size, pairs, size, 1.0, chol, x, 0.0, theta); /* (m, slope, e) */
  if (!all)
    memset(p, 0, n * k * sizeof(double));
  for (size_t first = 0; first < n; first += ROWS) {
    const size_t rows = n - first < ROWS ? n - first : ROWS, count = rows * k;
    gpc_call_poll(poll, poll_data);
    read_rows(&t, first, rows);
    for (size_t pair = 0; pair < pairs; pair += PAIRS) {
      const size_t some = pairs - pair < PAIRS ? pairs - pair : PAIRS;
      for (size_t q = 0; q < some; q++)
        memcpy(v + t.x * q, theta + size * (pair + q), t.x * sizeof(double));
      gpc_gemm(0, 0, count, some, t.x, 1.0, t.a, v, 0.0, d);
      for (size_t j = 0; j < k; j++) {
        for (size_t q = 0; q < some; q++)
          memcpy(v + t.r * q, theta + t.x + j * t.r + size * (pair + q),
                 t.r * sizeof(double));
        gpc_gemm(0, 0, rows, some, t.r, 1.0, t.features, v, 0.0, own);
        for (size_t q = 0; q < some; q++)
          for (size_t i = 0; i < rows; i++)
            d[i + rows * j + count * q] +=
                own[i + rows * q] +
                sqrt(t.rho[i + rows * j]) * noise[j + k * (pair + q)];
      }
      add_draws(&t, first, rows, pair, some, pairs, d, p, all);
    }
  }
  for (size_t i = 0; i < n * k && !all; i++)
    p[i] = fmax(p[i], DBL_MIN);
  return GPC_OK;
}
