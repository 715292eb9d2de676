/* gp_inform.c: see gp_inform.h. */
#include "gp_inform.h"
#include "fastexp.h"
#include "gp_design.h"
#include "linalg.h"
#include "quadrature.h"

#include <math.h>
#include <string.h>

#define SINGULAR 1e-12 /* a pivot below this share of its diagonal is none */

#define PAIRS 128 /* of points to average over */
#define DRAWS (2 * PAIRS)

static size_t most(size_t a, size_t b) { return a > b ? a : b; }

void gpc_inform_begin(const gpc_query *query, const gpc_memory *memory, gpc_inform *q) {
  const gpc_joint_fitted *fit = &query->fit;
  const size_t k = query->data->k, r = fit->features.r, m = fit->process.basis.m;
  const size_t x = m + fit->slopes, size = x + k * r;
  const size_t rank = r == 0 && x < k ? x : k, wide = most(k, x);
  *q = (gpc_inform){.query = query,
                    .k = k,
                    .r = r,
                    .m = m,
                    .x = x,
                    .size = size,
                    .rank = rank,
                    .s = gpc_get_doubles(memory, size * size),
                    .root = gpc_get_doubles(memory, x * x),
                    .points = gpc_get_doubles(memory, PAIRS * rank),
                    .z = gpc_get_doubles(memory, k),
                    .row = gpc_get_doubles(memory, k),
                    .work = gpc_get_doubles(memory, k),
                    .rho = gpc_get_doubles(memory, k),
                    .a = gpc_get_doubles(memory, k * x),
                    .features = gpc_get_doubles(memory, r),
                    .phi = gpc_get_doubles(memory, k),
                    .sx = gpc_get_doubles(memory, size * k),
                    .c = gpc_get_doubles(memory, rank == k ? k * k : 1),
                    .l = gpc_get_doubles(memory, k * rank),
                    .p = gpc_get_doubles(memory, DRAWS * k),
                    .mean = gpc_get_doubles(memory, k),
                    .top = gpc_get_doubles(memory, DRAWS),
                    .sum = gpc_get_doubles(memory, DRAWS),
                    .b = gpc_get_doubles(memory, size * wide),
                    .t = gpc_get_doubles(memory, size * wide),
                    .inner = gpc_get_doubles(memory, wide * wide)};
  memcpy(q->s, fit->cov, size * size * sizeof(double));
  double *turned = gpc_get_doubles(memory, PAIRS * rank);
  gpc_gp_design_part(PAIRS, 0, rank, gpc_get_doubles(memory, gpc_gp_design_work(PAIRS)),
                     turned);
  for (size_t d = 0; d < PAIRS; d++)
    for (size_t j = 0; j < rank; j++)
      q->points[d + PAIRS * j] = turned[j + rank * d];
}

gpc_status gpc_inform_ready(gpc_inform *q) {
  if (q->rank == q->k)
    return GPC_OK;
  for (size_t j = 0; j < q->x; j++)
    memcpy(q->root + q->x * j, q->s + q->size * j, q->x * sizeof(double));
  return gpc_chol(q->x, 0.0, q->root);
}

/* The slope's part is held beyond three times the range of the scores seen, as
 * predictions hold it. */
#define HELD_SLOPE 3.0

/* Scores, features and phi of row i. */
static void read_row(gpc_inform *q, size_t i) {
  const gpc_joint_fitted *fit = &q->query->fit;
  const gpc_features *f = &fit->features;
  const size_t k = q->k;
  for (size_t j = 0; j < k; j++)
    q->z[j] = gpc_gp_score(q->query->data, i, j);
  gpc_basis_eval(&fit->process.basis, k, q->z, q->a, q->rho);
  if (fit->slopes) {
    const double far = HELD_SLOPE * fmax(fabs(f->low), fabs(f->high));
    for (size_t j = 0; j < k; j++)
      q->a[j + k * q->m] = fmin(fmax(q->z[j], -far), far);
  }
  memcpy(q->row, q->z, k * sizeof(double));
  if (q->r)
    gpc_features_row(f, q->row, q->work, q->features);
  for (size_t j = 0; j < k; j++) {
    q->phi[j] = q->query->offset  ? q->query->offset[j]
                : q->query->shift ? q->query->shift[i + q->query->data->n * j]
                                  : 0.0;
    for (size_t e = 0; e < q->r; e++)
      q->phi[j] += q->features[e] * fit->effect[j * q->r + e];
  }
  gpc_gemm(0, 0, k, 1, q->m, 1.0, q->a, fit->process.q_mean, 1.0, q->phi);
  gpc_prior_add_mu(&fit->process.prior, k, q->z, q->phi);
}

/* y [size] += factor S[, column] */
static void add_column(const gpc_inform *q, size_t column, double factor, double *y) {
  const double *s = q->s + q->size * column;
#pragma omp simd
  for (size_t i = 0; i < q->size; i++)
    y[i] += factor * s[i];
}

/* C = X S X', every class with the x numbers of the process and its own r. */
static void row_covariance(gpc_inform *q) {
  const size_t k = q->k, x = q->x, r = q->r, size = q->size;
  memset(q->sx, 0, size * k * sizeof(double));
  for (size_t j = 0; j < k; j++) {
    for (size_t p = 0; p < x; p++)
      add_column(q, p, q->a[j + k * p], q->sx + size * j);
    for (size_t e = 0; e < r; e++)
      add_column(q, x + j * r + e, q->features[e], q->sx + size * j);
  }
  for (size_t j = 0; j < k; j++)
    for (size_t i = j; i < k; i++) {
      const double *sx = q->sx + size * j;
      double sum = gpc_dot(r, q->features, sx + x + i * r);
      for (size_t p = 0; p < x; p++)
        sum += q->a[i + k * p] * sx[p];
      q->c[i + k * j] = q->c[j + k * i] = sum;
    }
}

/* -p log p - (1 - p) log(1 - p) for p = 1 / (1 + exp(-d)). */
static double binary_entropy(double d) {
  const double tail = exp(-fabs(d)), p = 1.0 / (1.0 + tail);
  return log1p(tail) + fabs(d) * (1.0 - p);
}

/* Beyond this the entropy is below 1e-16. */
#define FAR_LOG_ODDS 42.0

/* Two classes: log-odds N(mean, var), by the trapezoid rule. */
static double two_classes(gpc_inform *q) {
  const double mean = q->phi[1] - q->phi[0];
  const double var = q->c[0] - 2.0 * q->c[1] + q->c[3];
  q->weight = 0.0;
  if (!(var > 0.0))
    return 0.0;
  const double sd = sqrt(var), step = fmin(0.25 * sd, 0.25);
  const double low = fmax(mean - 8.5 * sd, -FAR_LOG_ODDS);
  const double high = fmin(mean + 8.5 * sd, FAR_LOG_ODDS);
  double entropy = 0.0;
  for (double d = low; d <= high; d += step) {
    const double u = (d - mean) / sd, tail = exp(-fabs(d));
    const double mass = step * exp(-0.5 * u * u) / (sd * 2.50662827463100050242);
    entropy += mass * binary_entropy(d);
    q->weight += mass * tail / ((1.0 + tail) * (1.0 + tail));
  }
  const double less = gpc_logistic_normal(-fabs(mean), var), more = 1.0 - less;
  const double all = -(less > 0.0 ? less * log(less) : 0.0) - more * log1p(-less);
  return fmax(all - entropy, 0.0);
}

/* Softmaxes at the points, their average, and the mutual information. */
static double average(gpc_inform *q) {
  const size_t k = q->k;
  double *f = q->p;
  for (size_t d = 0; d < DRAWS; d++) {
    q->top[d] = -INFINITY;
    q->sum[d] = 0.0;
  }
  for (size_t j = 0; j < k; j++) {
    double *to = f + DRAWS * j;
    memset(to, 0, PAIRS * sizeof(double));
    for (size_t e = 0; e < q->rank; e++) {
      const double l = q->l[j + k * e], *point = q->points + PAIRS * e;
      for (size_t d = 0; d < PAIRS; d++)
        to[d] += l * point[d];
    }
    for (size_t d = 0; d < PAIRS; d++) {
      to[d + PAIRS] = q->phi[j] - to[d];
      to[d] = q->phi[j] + to[d];
    }
    for (size_t d = 0; d < DRAWS; d++)
      q->top[d] = to[d] > q->top[d] ? to[d] : q->top[d];
  }
  /* H(softmax f) = log sum exp(f - top) - sum_j p_j (f_j - top) */
  double *moment = q->work;
  double expected = 0.0, all = 0.0;
  for (size_t d = 0; d < DRAWS; d++) {
    double sum = 0.0, first = 0.0;
    for (size_t j = 0; j < k; j++) {
      const double less = f[d + DRAWS * j] - q->top[d], e = gpc_exp_nonpos(less);
      sum += e;
      first += e * less;
      f[d + DRAWS * j] = e;
    }
    q->sum[d] = 1.0 / sum;
    expected += (log(sum) - first / sum) / DRAWS;
  }
  for (size_t j = 0; j < k; j++) {
    moment[j] = 0.0;
    for (size_t d = 0; d < DRAWS; d++) {
      f[d + DRAWS * j] *= q->sum[d];
      moment[j] += f[d + DRAWS * j] / DRAWS;
    }
    q->mean[j] = moment[j];
    if (moment[j] > 0.0)
      all -= moment[j] * log(moment[j]);
  }
  return fmax(all - expected, 0.0);
}

/* eq. (Q1) of row i. */
double gpc_inform_row(gpc_inform *q, size_t i) {
  read_row(q, i);
  if (q->rank < q->k) {
    gpc_gemm(0, 0, q->k, q->x, q->x, 1.0, q->a, q->root, 0.0, q->l);
    return average(q);
  }
  row_covariance(q);
  if (q->k == 2)
    return two_classes(q);
  gpc_chol_semi(q->k, SINGULAR, q->c, q->l);
  return average(q);
}

/* B [size x columns] with X'W X = B B' of the row that gpc_inform_row() has seen last. */
static size_t information_root(gpc_inform *q) {
  const size_t k = q->k, x = q->x, r = q->r, size = q->size;
  memset(q->b, 0, size * most(k, x) * sizeof(double));
  if (k == 2) {
    const double scale = sqrt(q->weight);
    for (size_t p = 0; p < x; p++)
      q->b[p] = scale * (q->a[1 + 2 * p] - q->a[2 * p]);
    for (size_t e = 0; e < r; e++) {
      q->b[x + e] = -scale * q->features[e];
      q->b[x + r + e] = scale * q->features[e];
    }
    return 1;
  }
  if (q->rank < k) {   /* X'W X = sum_j mean_j a_j a_j' - average of (a'p) (a'p)' */
    double *ap = q->t; /* [x] */
    memset(q->inner, 0, x * x * sizeof(double));
    for (size_t d = 0; d < DRAWS; d++) {
      for (size_t p = 0; p < x; p++) {
        ap[p] = 0.0;
        for (size_t j = 0; j < k; j++)
          ap[p] += q->a[j + k * p] * q->p[d + DRAWS * j];
      }
      for (size_t i = 0; i < x; i++)
        for (size_t j = 0; j < x; j++)
          q->inner[i + x * j] -= ap[i] * ap[j] / DRAWS;
    }
    for (size_t i = 0; i < x; i++)
      for (size_t j = 0; j < x; j++)
        for (size_t c = 0; c < k; c++)
          q->inner[i + x * j] += q->mean[c] * q->a[c + k * i] * q->a[c + k * j];
    gpc_chol_semi(x, SINGULAR, q->inner, q->b);
    return x;
  }
  double *w = q->inner, *half = q->c; /* W and its factor, [k x k] */
  for (size_t i = 0; i < k; i++)
    for (size_t j = 0; j < k; j++)
      w[i + k * j] = (i == j ? q->mean[i] : 0.0) -
                     gpc_dot(DRAWS, q->p + DRAWS * i, q->p + DRAWS * j) / DRAWS;
  gpc_chol_semi(k, SINGULAR, w, half);
  for (size_t column = 0; column < k; column++) {
    double *to = q->b + size * column;
    for (size_t j = column; j < k; j++) {
      const double h = half[j + k * column];
      for (size_t p = 0; p < x; p++)
        to[p] += h * q->a[j + k * p];
      for (size_t e = 0; e < r; e++)
        to[x + j * r + e] += h * q->features[e];
    }
  }
  return k;
}

/* eq. (Q2): S - S B (I + B'S B)^-1 B'S. */
gpc_status gpc_inform_learn(gpc_inform *q) {
  const size_t size = q->size, columns = information_root(q);
  gpc_symm(size, columns, q->s, q->b, q->t);
  gpc_gemm(1, 0, columns, columns, size, 1.0, q->b, q->t, 0.0, q->inner);
  for (size_t j = 0; j < columns; j++)
    q->inner[j + columns * j] += 1.0;
  gpc_status status = gpc_chol(columns, 0.0, q->inner);
  if (status != GPC_OK)
    return status;
  gpc_solve_rows(size, columns, q->inner, q->t);
  for (size_t j = 0; j < size; j++)
    for (size_t c = 0; c < columns; c++) {
      const double at = q->t[j + size * c], *t = q->t + size * c;
      double *to = q->s + size * j;
#pragma omp simd
      for (size_t i = 0; i < size; i++)
        to[i] -= at * t[i];
    }
  return gpc_inform_ready(q);
}
