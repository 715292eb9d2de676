/* gp_joint_predict.c: see gp_joint_predict.h. Classes that are all but ruled out in a row
 * keep their probability at the mean: most of the cost is in the covariances of pairs. */
#include "gp_joint_predict.h"
#include "gp_joint_softmax.h"
#include "gp_joint_table.h"
#include "linalg.h"
#include "quadrature.h"
#include "softmax.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROWS 32        /* rows worked on together */
#define RULED_OUT 1e-8 /* a probability below this, with what may be open of it */
#define PAIRS 64       /* of points to integrate over */
#define MOST_OPEN 60.0 /* of the variance that this takes for possible */

static size_t triangle(size_t n) { return n * (n + 1) / 2; }

typedef struct {
  const gpc_gp_data *data;
  const gpc_joint_fitted *fit;
  size_t k, r, x;
  gpc_joint_table table;
  gpc_joint_softmax average;
  double *cross;   /* [x x r] of each class: U^-1 S_xe */
  double *pairs;   /* [packed] of each pair of classes: S_ab by packed(x x') */
  double *own;     /* [packed x k] those of a class with itself */
  double *effects; /* [r x k] */
  /* of ROWS rows: */
  double *z, *features, *packed, *open, *phi; /* [rows x k, r, packed, k, k] */
  /* of one row: */
  double *row, *work, *one, *products; /* [k], [k], [r], [packed] */
  double *f, *s, *out;                 /* [k] */
  double *at;                          /* [columns x k] of the table */
  size_t *active;                      /* [k] */
  double *au, *se;                     /* [x x k] U'a + s and s, s = U^-1 S_xe x */
  double *c, *fa, *sa, *pa;            /* [k x k], [k]: of the active classes */
} predictor;

/* S in the form that rows need. */
static gpc_status set_covariance(predictor *t, double *root) {
  const double *s = t->fit->cov;
  const size_t x = t->x, r = t->r, k = t->k, size = x + k * r, packed = triangle(r);
  for (size_t j = 0; j < x; j++)
    memcpy(root + x * j, s + size * j, x * sizeof(double));
  gpc_status status = gpc_chol(x, 0.0, root);
  if (status != GPC_OK)
    return status;
  for (size_t j = 0; j < k * r; j++) {
    memcpy(t->cross + x * j, s + size * (x + j), x * sizeof(double));
    gpc_solve_rows(1, x, root, t->cross + x * j);
  }
  double *to = t->pairs;
  for (size_t a = 0; a < k; a++)
    for (size_t b = 0; b <= a; b++) {
      const double *block = s + x + a * r + size * (x + b * r);
      double *begin = to;
      for (size_t i = 0; i < r; i++) {
        for (size_t j = 0; j < i; j++)
          *to++ = block[i + size * j] + block[j + size * i];
        *to++ = block[i + size * i];
      }
      if (a == b)
        memcpy(t->own + packed * a, begin, packed * sizeof(double));
    }
  return GPC_OK;
}

static gpc_status begin(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                        const gpc_memory *memory, int spread, predictor *t) {
  const size_t k = data->k, r = fit->features.r, x = fit->process.basis.m + fit->slopes;
  const size_t packed = triangle(r);
  *t = (predictor){.data = data, .fit = fit, .k = k, .r = r, .x = x};
  double *root = gpc_get_doubles(memory, x * x);
  t->effects = gpc_get_doubles(memory, r * k);
  memcpy(t->effects, fit->effect, r * k * sizeof(double));
  t->z = gpc_get_doubles(memory, ROWS * k);
  t->features = gpc_get_doubles(memory, ROWS * r);
  t->phi = gpc_get_doubles(memory, ROWS * k);
  t->row = gpc_get_doubles(memory, 5 * k + r);
  t->work = t->row + k;
  t->f = t->work + k;
  t->s = t->f + k;
  t->out = t->s + k;
  t->one = t->out + k;
  if (!spread) {
    gpc_joint_table_make(fit, NULL, memory, &t->table);
    return GPC_OK;
  }
  t->cross = gpc_get_doubles(memory, x * r * k);
  t->pairs = gpc_get_doubles(memory, packed * triangle(k));
  t->own = gpc_get_doubles(memory, packed * k);
  t->packed = gpc_get_doubles(memory, ROWS * packed);
  t->open = gpc_get_doubles(memory, ROWS * k);
  t->products = gpc_get_doubles(memory, packed);
  t->at = gpc_get_doubles(memory, (x + 2) * k);
  t->active = memory->get(memory->self, k * sizeof *t->active);
  t->au = gpc_get_doubles(memory, x * k);
  t->se = gpc_get_doubles(memory, x * k);
  t->c = gpc_get_doubles(memory, k * k);
  t->fa = gpc_get_doubles(memory, 3 * k);
  t->sa = t->fa + k;
  t->pa = t->sa + k;
  gpc_status status = set_covariance(t, root);
  if (status != GPC_OK)
    return status;
  gpc_joint_table_make(fit, root, memory, &t->table);
  if (k > 2)
    t->average = gpc_joint_softmax_get(k, PAIRS, memory);
  return GPC_OK;
}

/* Scores, features and phi of the rows first .. first + rows. */
static void read_rows(predictor *t, size_t first, size_t rows) {
  const size_t k = t->k;
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < rows; i++)
      t->z[i + rows * j] = gpc_gp_score(t->data, first + i, j);
  for (size_t i = 0; i < rows; i++) {
    for (size_t j = 0; j < k; j++)
      t->row[j] = t->z[i + rows * j];
    gpc_features_row(&t->fit->features, t->row, t->work, t->one);
    for (size_t q = 0; q < t->r; q++)
      t->features[i + rows * q] = t->one[q];
  }
  gpc_gemm(0, 0, rows, k, t->r, 1.0, t->features, t->effects, 0.0, t->phi);
  gpc_prior_add_mu(&t->fit->process.prior, rows * k, t->z, t->phi);
}

/* Variances of the effects in these rows: open [rows x k]. */
static void spread_rows(predictor *t, size_t rows) {
  double *to = t->packed;
  for (size_t a = 0; a < t->r; a++)
    for (size_t b = 0; b <= a; b++, to += rows)
      for (size_t i = 0; i < rows; i++)
        to[i] = t->features[i + rows * a] * t->features[i + rows * b];
  gpc_gemm(0, 0, rows, t->k, triangle(t->r), 1.0, t->packed, t->own, 0.0, t->open);
}

/* The classes of a row that matter: those that what is open of their distance to the most
 * likely one could bring above RULED_OUT. open: variance of the effects by class. */
static size_t find_active(predictor *t, const double *open, size_t step) {
  const size_t k = t->k, x = t->x, columns = t->table.columns;
  size_t top = 0, count = 0;
  for (size_t j = 1; j < k; j++)
    top = t->s[j] > t->s[top] ? j : top;
  const double *best = t->at + columns * top;
  for (size_t j = 0; j < k; j++) {
    const double *at = t->at + columns * j;
    double var = open[step * j] + open[step * top] + at[x + 1] + best[x + 1];
    for (size_t p = 0; p < x; p++)
      var += (at[p] - best[p]) * (at[p] - best[p]);
    if (j == top || k == 2 || t->s[j] * exp(0.5 * fmin(var, MOST_OPEN)) > RULED_OUT)
      t->active[count++] = j;
  }
  return count;
}

/* eq. (34) for the active classes of row i: c [count x count]. a_k'S a_l + a_k's_l +
 * s_k'a_l = (a_k + s_k)'(a_l + s_l) - s_k's_l in whitened coordinates. */
static void row_covariance(predictor *t, size_t count, size_t i, size_t rows) {
  const size_t x = t->x, r = t->r, packed = triangle(r);
  for (size_t q = 0; q < packed; q++)
    t->products[q] = t->packed[i + rows * q];
  for (size_t a = 0; a < count; a++) {
    const size_t j = t->active[a];
    const double *at = t->at + t->table.columns * j;
    double *se = t->se + x * a, *au = t->au + x * a;
    memset(se, 0, x * sizeof(double));
    for (size_t q = 0; q < r; q++) {
      const double *cross = t->cross + x * (j * r + q), f = t->features[i + rows * q];
#pragma omp simd
      for (size_t p = 0; p < x; p++)
        se[p] += f * cross[p];
    }
    for (size_t p = 0; p < x; p++)
      au[p] = at[p] + se[p];
    for (size_t b = 0; b <= a; b++) {
      const size_t l = t->active[b];
      double sum = gpc_dot(x, au, t->au + x * b) - gpc_dot(x, se, t->se + x * b);
      sum += a == b ? t->open[i + rows * j] + at[x + 1]
                    : gpc_dot(packed, t->products, t->pairs + packed * (triangle(j) + l));
      t->c[a + count * b] = t->c[b + count * a] = sum;
    }
  }
}

/* The average of row i into out; f and s are there. */
static void average_row(predictor *t, size_t i, size_t rows) {
  const size_t k = t->k, count = find_active(t, t->open + i, rows);
  row_covariance(t, count, i, rows);
  if (k == 2) {
    const double var = t->c[0] - 2.0 * t->c[1] + t->c[3];
    t->out[0] = gpc_logistic_normal(t->f[0] - t->f[1], var);
    t->out[1] = gpc_logistic_normal(t->f[1] - t->f[0], var);
    return;
  }
  double mass = 0.0;
  for (size_t a = 0; a < count; a++) {
    t->fa[a] = t->f[t->active[a]];
    mass += t->sa[a] = t->s[t->active[a]];
  }
  for (size_t a = 0; a < count; a++)
    t->sa[a] /= mass;
  gpc_joint_softmax_average(&t->average, count, t->fa, t->sa, t->c, t->pa);
  memcpy(t->out, t->s, k * sizeof(double));
  for (size_t a = 0; a < count; a++)
    t->out[t->active[a]] = mass * t->pa[a];
}

gpc_status gpc_joint_predict(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                             gpc_approx approx, const gpc_memory *memory, gpc_poll poll,
                             void *poll_data, double *p) {
  predictor t;
  const int spread = approx == GPC_APPROX_DELTA;
  if (spread && fit->own)
    return gpc_joint_predict_short(data, fit, memory, poll, poll_data, p);
  gpc_status status = begin(data, fit, memory, spread, &t);
  if (status != GPC_OK)
    return status;
  const size_t k = t.k, n = data->n;
  for (size_t first = 0; first < n; first += ROWS) {
    const size_t rows = n - first < ROWS ? n - first : ROWS;
    if (first % (64 * ROWS) == 0)
      gpc_call_poll(poll, poll_data);
    read_rows(&t, first, rows);
    if (spread)
      spread_rows(&t, rows);
    for (size_t i = 0; i < rows; i++) {
      for (size_t j = 0; j < k; j++) {
        double *at = spread ? t.at + t.table.columns * j : NULL;
        const double z = t.z[i + rows * j];
        if (spread)
          gpc_joint_table_at(&t.table, &fit->features, z, at);
        t.f[j] =
            t.phi[i + rows * j] + (spread ? at[t.x] : gpc_joint_table_mean(&t.table, z));
      }
      gpc_softmax_row(k, 1.0, t.f, t.s);
      if (spread)
        average_row(&t, i, rows);
      for (size_t j = 0; j < k; j++)
        p[first + i + n * j] = fmax(spread ? t.out[j] : t.s[j], DBL_MIN);
    }
  }
  return GPC_OK;
}
