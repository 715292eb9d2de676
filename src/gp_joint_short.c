/* gp_joint_short.c: probabilities of a fit with class effects whose covariance is in the
 * short form (gp_joint_predict.h): given the process, the effects of any two classes have
 * the same covariance. In the differences of latent values of a row that cancels, so that
 *
 *   C_kl = t_k't_l + [k = l] d_k,   t_k = U'a(z_k) + U^-1 S_xe x,
 *   d_k = x'(own_k - common) x + rho(z_k)
 *
 * serves in the place of eq. (34), and D of eq. (24) costs O(k m) a row. */
#include "gp_joint_predict.h"
#include "gp_joint_softmax.h"
#include "gp_joint_table.h"
#include "linalg.h"
#include "simd.h"
#include "softmax.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROWS 32 /* rows worked on together */
#define LEAST_SHARED                                                                     \
  1e-7 /* variance of a class's effects by a direction of the process */
#define PAIRS                                                                            \
  128 /* of points to integrate over; with half as many errors are ten times as large */

static size_t triangle(size_t n) { return n * (n + 1) / 2; }

typedef struct {
  const gpc_gp_data *data;
  const gpc_joint_fitted *fit;
  size_t k, r, x, rank;
  gpc_joint_table table;
  gpc_joint_softmax average;
  double *cross;   /* [rank k x r] U^-1 S_xe, class l and direction i at i + rank l */
  double *blocks;  /* [k + 1 x packed] own less common, and common, by packed(x x') */
  double *effects; /* [k x r] */
  /* of ROWS rows: */
  double *features, *packed, *shift, *open,
      *phi; /* [r, packed, rank k, k + 1, k] x rows */
  /* of one row: */
  double *z, *work, *f, *s, *d, *cs, *out; /* [k] */
  double *at, *mean;                       /* [columns], [x] */
  double *t;                               /* [x x k] */
  size_t *heavy;                           /* [k] */
  double *g;                               /* [k x k] by heavy class */
} predictor;

/* to [packed], strided: x'B x = sum over packed(x x') of it; B, given by its lower
 * triangle, less another. */
static void pack(size_t r, const double *lower, const double *less, size_t step,
                 double *to) {
  for (size_t j = 0; j < r; j++)
    for (size_t i = j; i < r; i++, lower++)
      to[step * (triangle(i) + j)] =
          (i == j ? 1.0 : 2.0) * (*lower - (less ? *less++ : 0.0));
}

/* U turned so that few directions of the process go with the effects: U := U R, R the
 * eigenvectors of W W', W = U^-1 S_xe [x x k r], which becomes R'W. Returns how many of
 * its rows are worth keeping. */
static size_t turn(const predictor *t, double *root, double *w, const gpc_memory *memory,
                   gpc_status *status) {
  const size_t x = t->x, e = t->k * t->r;
  double *r = gpc_get_doubles(memory, x * x), *value = gpc_get_doubles(memory, x);
  double *old = gpc_get_doubles(memory, x * (x > e ? x : e));
  gpc_gemm(0, 1, x, x, e, 1.0, w, w, 0.0, r);
  *status = gpc_eigen(x, r, value, gpc_get_doubles(memory, 3 * x));
  if (*status != GPC_OK)
    return 0;
  memcpy(old, root, x * x * sizeof(double));
  gpc_gemm(0, 0, x, x, x, 1.0, old, r, 0.0, root);
  memcpy(old, w, x * e * sizeof(double));
  gpc_gemm(1, 0, x, e, x, 1.0, r, old, 0.0, w);
  size_t rank = 1;
  while (rank < x && value[rank] > LEAST_SHARED * (double)t->k)
    rank++;
  return rank;
}

static gpc_status set_covariance(predictor *t, const gpc_memory *memory) {
  const gpc_joint_fitted *fit = t->fit;
  const size_t x = t->x, r = t->r, k = t->k;
  double *root = gpc_get_doubles(memory, x * x), *w = gpc_get_doubles(memory, x * k * r);
  memcpy(root, fit->cov, x * x * sizeof(double));
  gpc_status status = gpc_chol(x, 0.0, root);
  if (status != GPC_OK)
    return status;
  memcpy(w, fit->cross, x * k * r * sizeof(double));
  for (size_t j = 0; j < k * r; j++)
    gpc_solve_rows(1, x, root, w + x * j);
  const size_t rank = t->rank = turn(t, root, w, memory, &status);
  for (size_t l = 0; l < k && status == GPC_OK; l++) {
    for (size_t i = 0; i < r; i++) {
      memcpy(t->cross + rank * l + rank * k * i, w + x * (l * r + i),
             rank * sizeof(double));
      t->effects[l + k * i] = fit->effect[l * r + i];
    }
    pack(r, fit->own + triangle(r) * l, fit->common, k + 1, t->blocks + l);
  }
  pack(r, fit->common, NULL, k + 1, t->blocks + k);
  if (status == GPC_OK)
    gpc_joint_table_make(fit, root, memory, &t->table);
  return status;
}

static gpc_status begin(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                        const gpc_memory *memory, predictor *t) {
  const size_t k = data->k, r = fit->features.r, x = fit->process.basis.m + fit->slopes;
  *t = (predictor){.data = data, .fit = fit, .k = k, .r = r, .x = x};
  t->cross = gpc_get_doubles(memory, x * k * r);
  t->blocks = gpc_get_doubles(memory, (k + 1) * triangle(r));
  t->effects = gpc_get_doubles(memory, k * r);
  t->features = gpc_get_doubles(memory, ROWS * r);
  t->packed = gpc_get_doubles(memory, ROWS * triangle(r));
  t->shift = gpc_get_doubles(memory, ROWS * x * k);
  t->open = gpc_get_doubles(memory, ROWS * (k + 1));
  t->phi = gpc_get_doubles(memory, ROWS * k);
  t->z = gpc_get_doubles(memory, 7 * k);
  t->work = t->z + k;
  t->f = t->work + k;
  t->s = t->f + k;
  t->d = t->s + k;
  t->cs = t->d + k;
  t->out = t->cs + k;
  t->at = gpc_get_doubles(memory, x + 2);
  t->mean = gpc_get_doubles(memory, x);
  t->t = gpc_get_doubles(memory, x * k);
  t->heavy = memory->get(memory->self, k * sizeof *t->heavy);
  t->g = gpc_get_doubles(memory, k * k);
  t->average = gpc_joint_softmax_get(k, PAIRS, memory);
  return set_covariance(t, memory);
}

/* Features of the rows first .. first + rows, and what is linear or quadratic in them. */
static void read_rows(predictor *t, size_t first, size_t rows) {
  const size_t k = t->k, r = t->r, packed = triangle(r);
  for (size_t i = 0; i < rows; i++) {
    double *x = t->features + r * i, *to = t->packed + packed * i;
    for (size_t j = 0; j < k; j++)
      t->z[j] = gpc_gp_score(t->data, first + i, j);
    gpc_features_row(&t->fit->features, t->z, t->work, x);
    for (size_t a = 0; a < r; a++)
      for (size_t b = 0; b <= a; b++)
        *to++ = x[a] * x[b];
  }
  gpc_gemm(0, 0, k, rows, r, 1.0, t->effects, t->features, 0.0, t->phi);
  gpc_gemm(0, 0, k + 1, rows, packed, 1.0, t->blocks, t->packed, 0.0, t->open);
  gpc_gemm(0, 0, t->rank * k, rows, r, 1.0, t->cross, t->features, 0.0, t->shift);
}

/* f, s, t_k and d_k (in out) of row i of these. */
GPC_FUSED static void read_row(predictor *t, size_t first, size_t i) {
  const size_t k = t->k, x = t->x;
  const double *shift = t->shift + t->rank * k * i;
  memcpy(t->f, t->phi + k * i, k * sizeof(double));
  for (size_t j = 0; j < k; j++) {
    const double z = t->z[j] = gpc_gp_score(t->data, first + i, j);
    double *tj = t->t + x * j;
    gpc_joint_table_at(&t->table, &t->fit->features, z, t->at);
    memcpy(tj, t->at, x * sizeof(double));
    for (size_t p = 0; p < t->rank; p++)
      tj[p] += shift[p + t->rank * j];
    t->f[j] += t->at[x];
    t->out[j] = t->open[j + (k + 1) * i] + t->at[x + 1];
  }
  gpc_prior_add_mu(&t->fit->process.prior, k, t->z, t->f);
  gpc_softmax_row(k, 1.0, t->f, t->s);
}

/* D of eq. (24) and C s; returns s'C s. */
GPC_FUSED static double spread_row(predictor *t) {
  const size_t k = t->k, x = t->x;
  double all = 0.0;
  memset(t->mean, 0, x * sizeof(double));
  for (size_t j = 0; j < k; j++) {
    const double *tj = t->t + x * j, s = t->s[j];
#pragma omp simd
    for (size_t p = 0; p < x; p++)
      t->mean[p] += s * tj[p];
  }
  for (size_t j = 0; j < k; j++) {
    const double *tj = t->t + x * j;
    t->cs[j] = gpc_dot(x, tj, t->mean) + t->s[j] * t->out[j];
    t->d[j] = gpc_dot(x, tj, tj) + t->out[j] - 2.0 * t->cs[j];
    all += t->s[j] * t->cs[j];
  }
  for (size_t j = 0; j < k; j++)
    t->d[j] = fmax(t->d[j] + all, 0.0);
  return all;
}

/* Covariances with the heavy classes, g [k x heavy]. own [k]: d_k of the head. */
GPC_FUSED static void set_pairs(const predictor *t, double all, size_t heavy,
                                const double *own) {
  const size_t k = t->k, x = t->x;
  for (size_t h = 0; h < heavy; h++) {
    const size_t l = t->heavy[h];
    const double *tl = t->t + x * l, less = t->cs[l] - all;
    double *g = t->g + k * h;
    for (size_t j = 0; j < k; j++)
      g[j] = gpc_dot(x, t->t + x * j, tl) - t->cs[j] - less;
    g[l] += own[l];
  }
}

gpc_status gpc_joint_predict_short(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                                   const gpc_memory *memory, gpc_poll poll,
                                   void *poll_data, double *p) {
  predictor t;
  const gpc_status status = begin(data, fit, memory, &t);
  const size_t k = data->k, n = data->n;
  for (size_t first = 0; first < n && status == GPC_OK; first += ROWS) {
    const size_t rows = n - first < ROWS ? n - first : ROWS;
    if (first % (64 * ROWS) == 0)
      gpc_call_poll(poll, poll_data);
    read_rows(&t, first, rows);
    for (size_t i = 0; i < rows; i++) {
      read_row(&t, first, i);
      const double all = spread_row(&t);
      double mean = 0.0;
      for (size_t j = 0; j < k; j++)
        mean += t.s[j] * t.d[j];
      if (!gpc_joint_softmax_narrow(k, t.s, t.d, mean, t.work)) {
        const size_t heavy = gpc_joint_softmax_heavy(k, t.s, t.d, mean, t.heavy);
        const gpc_joint_row row = {.k = k,
                                   .heavy = heavy,
                                   .which = t.heavy,
                                   .phi = t.f,
                                   .s = t.s,
                                   .d = t.d,
                                   .g = t.g,
                                   .mean = mean};
        set_pairs(&t, all, heavy, t.out);
        gpc_joint_softmax_average(&t.average, &row, t.work);
      }
      for (size_t j = 0; j < k; j++)
        p[first + i + n * j] = fmax(t.work[j], DBL_MIN);
    }
  }
  return status;
}
