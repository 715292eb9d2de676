/* gp_joint_predict.c: see gp_joint_predict.h. Classes that are all but ruled out in a row
 * keep their probability at the mean: most of the cost is in the covariances of pairs. */
#include "gp_joint_predict.h"
#include "fastexp.h"
#include "gp_joint_softmax.h"
#include "gp_joint_table.h"
#include "linalg.h"
#include "quadrature.h"
#include "simd.h"
#include "softmax.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROWS 64        /* rows worked on together */
#define RULED_OUT 1e-8 /* a probability below this, with what may be open of it */
#define PAIRS 64       /* of points to integrate over */
#define FEW_CLASSES 12 /* the covariances of all pairs are made at once */

static size_t triangle(size_t n) { return n * (n + 1) / 2; }

typedef struct {
  const gpc_gp_data *data;
  const gpc_joint_fitted *fit;
  size_t k, r, x;
  size_t step; /* x and zeros up to a multiple of 4 */
  gpc_joint_table table;
  gpc_joint_softmax average;
  double *cross;   /* [(x k) x r] U^-1 S_xe: class l, direction p at p + x l */
  double *pairs;   /* [packed] of each pair of classes: S_ab by packed(x x') */
  double *own;     /* [packed x k] those of a class with itself */
  double *effects; /* [r x k] */
  /* of ROWS rows: */
  double *z, *features, *packed, *open, *phi; /* [rows x k, r, packed, k, k] */
  double *cee, *smx;      /* [rows x pairs], [(x k) x rows] where classes are few */
  int dense;              /* are the classes few? */
  double *at;             /* [columns x k] of the table, row after row */
  double *f, *s, *var;    /* [k] row after row; var: of the active classes */
  size_t *active, *heavy; /* [k] row after row; the heavy ones by their place in active */
  size_t *count, *heavies; /* [rows] how many there are */
  /* of one row: */
  double *row, *work, *one, *products, *out; /* [k], [k], [r], [packed], [k] */
  size_t *place;                             /* [k] of an active class in heavy */
  double *au, *se;                      /* [step x k] U'a + s and s, s = U^-1 S_xe x */
  double *c, *fa, *sa, *pa, *da, *diag; /* [k x k], [k]: of the active classes */
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
  for (size_t l = 0; l < k; l++)
    for (size_t i = 0; i < r; i++) {
      double *v = t->cross + x * l + x * k * i;
      memcpy(v, s + size * (x + l * r + i), x * sizeof(double));
      gpc_solve_rows(1, x, root, v);
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
  t->f = gpc_get_doubles(memory, 3 * ROWS * k);
  t->s = t->f + ROWS * k;
  t->var = t->s + ROWS * k;
  t->row = gpc_get_doubles(memory, 3 * k + r);
  t->work = t->row + k;
  t->out = t->work + k;
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
  t->cee = gpc_get_doubles(memory, ROWS * triangle(k));
  t->smx = gpc_get_doubles(memory, ROWS * x * k);
  t->at = gpc_get_doubles(memory, ROWS * (x + 2) * k);
  t->active = gpc_get_sizes(memory, 2 * ROWS * k + 2 * ROWS + k);
  t->heavy = t->active + ROWS * k;
  t->count = t->heavy + ROWS * k;
  t->heavies = t->count + ROWS;
  t->place = t->heavies + ROWS;
  t->dense = k <= FEW_CLASSES;
  t->step = (x + 3) / 4 * 4;
  t->au = gpc_get_doubles(memory, 2 * t->step * k);
  t->se = t->au + t->step * k;
  memset(t->au, 0, 2 * t->step * k * sizeof(double));
  t->c = gpc_get_doubles(memory, k * k);
  t->fa = gpc_get_doubles(memory, 5 * k);
  t->sa = t->fa + k;
  t->pa = t->sa + k;
  t->da = t->pa + k;
  t->diag = t->da + k;
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

/* The classes of row i that matter: those that what is open of their distance to the most
 * likely one, var, could bring above RULED_OUT; and the heavy ones among them. The others
 * get that in s: much more than in the softmax, where they may be the truth all the same. */
GPC_FUSED static void find_active(predictor *t, size_t i, size_t rows) {
  const size_t k = t->k, x = t->x, columns = t->table.columns;
  const double *open = t->open + i;
  double *s = t->s + k * i, *var = t->var + k * i, *sa = t->sa, mass = 0.0, mean = 0.0;
  size_t top = 0, count = 0, *active = t->active + k * i, *heavy = t->heavy + k * i;
  for (size_t j = 1; j < k; j++)
    top = s[j] > s[top] ? j : top;
  const double *best = t->at + columns * (k * i + top);
  for (size_t j = 0; j < k; j++) {
    const double *at = t->at + columns * (k * i + j);
    double sum = open[rows * j] + open[rows * top] + at[x + 1] + best[x + 1];
    for (size_t p = 0; p < x; p++)
      sum += (at[p] - best[p]) * (at[p] - best[p]);
    const double low = t->f[top + k * i] - t->f[j + k * i];
    /* not less than E min(1, exp(x)), x ~ N(-low, sum) */
    const double most = gpc_exp(low < sum ? -0.5 * low * low / sum : 0.5 * sum - low);
    if (j != top && k > 2 && !(most > RULED_OUT)) {
      s[j] = most;
      continue;
    }
    var[count] = sum;
    heavy[count] = count;
    mass += sa[count] = s[j];
    mean += s[j] * sum;
    active[count++] = j;
  }
  for (size_t a = 0; a < count; a++)
    sa[a] /= mass;
  t->count[i] = count;
  t->heavies[i] = k == 2 ? 2 : gpc_joint_softmax_heavy(count, sa, var, mean, heavy);
}

/* The covariances of all pairs of classes, where these are few: whether they are is a matter
 * of the fit alone, so that no row's answer depends on the rows beside it. */
static void find_pairs(predictor *t, size_t rows) {
  if (!t->dense)
    return;
  gpc_gemm(0, 0, rows, triangle(t->k), triangle(t->r), 1.0, t->packed, t->pairs, 0.0,
           t->cee);
  gpc_gemm(0, 1, t->x * t->k, rows, t->r, 1.0, t->cross, t->features, 0.0, t->smx);
}

/* eq. (34) for the active classes of row i and the heavy ones among them: c [count x
 * heavy], diag [count]. a_k'S a_l + a_k's_l + s_k'a_l = (a_k + s_k)'(a_l + s_l) - s_k's_l in
 * whitened coordinates. */
GPC_FUSED static void row_covariance(predictor *t, size_t i, size_t rows) {
  const size_t x = t->x, r = t->r, k = t->k, packed = triangle(r);
  const size_t count = t->count[i], *active = t->active + k * i, step = t->step;
  for (size_t q = 0; q < packed && !t->dense; q++)
    t->products[q] = t->packed[i + rows * q];
  for (size_t a = 0; a < count; a++) {
    const size_t j = active[a];
    const double *at = t->at + t->table.columns * (k * i + j);
    double *se = t->se + step * a, *au = t->au + step * a;
    if (t->dense)
      memcpy(se, t->smx + x * (k * i + j), x * sizeof(double));
    else
      memset(se, 0, x * sizeof(double));
    for (size_t q = 0; q < r && !t->dense; q++) {
      const double *cross = t->cross + x * j + x * k * q, f = t->features[i + rows * q];
#pragma omp simd
      for (size_t p = 0; p < x; p++)
        se[p] += f * cross[p];
    }
    for (size_t p = 0; p < x; p++)
      au[p] = at[p] + se[p];
    t->diag[a] =
        gpc_dot(step, au, au) - gpc_dot(step, se, se) + t->open[i + rows * j] + at[x + 1];
    t->place[a] = count;
  }
  for (size_t h = 0; h < t->heavies[i]; h++) {
    const size_t b = t->heavy[k * i + h], l = active[b];
    t->place[b] = h;
    for (size_t a = 0; a < count; a++) {
      const size_t j = active[a], pair = j > l ? triangle(j) + l : triangle(l) + j;
      if (a == b)
        t->c[a + count * h] = t->diag[a];
      else if (t->place[a] < h) /* heavy, and done */
        t->c[a + count * h] = t->c[b + count * t->place[a]];
      else
        t->c[a + count * h] =
            gpc_dot(step, t->au + step * a, t->au + step * b) -
            gpc_dot(step, t->se + step * a, t->se + step * b) +
            (t->dense ? t->cee[i + rows * pair]
                      : gpc_dot(packed, t->products, t->pairs + packed * pair));
    }
  }
}

/* c and diag become G and D (in da) of the differences to the heavy classes' mean; returns
 * the mean of D. sa: probabilities of the active classes. */
static double centre(predictor *t, size_t count, size_t heavies, const size_t *heavy) {
  double mass = 0.0, all = 0.0, mean = 0.0, *cs = t->work;
  for (size_t h = 0; h < heavies; h++)
    mass += t->sa[heavy[h]];
  memset(cs, 0, count * sizeof(double));
  for (size_t h = 0; h < heavies; h++) {
    const double s = t->sa[heavy[h]] / mass, *c = t->c + count * h;
    for (size_t a = 0; a < count; a++)
      cs[a] += s * c[a];
  }
  for (size_t h = 0; h < heavies; h++)
    all += t->sa[heavy[h]] / mass * cs[heavy[h]];
  for (size_t h = 0; h < heavies; h++) {
    const double less = cs[heavy[h]] - all;
    double *c = t->c + count * h;
    for (size_t a = 0; a < count; a++)
      c[a] -= cs[a] + less;
  }
  for (size_t a = 0; a < count; a++) {
    t->da[a] = fmax(t->diag[a] - 2.0 * cs[a] + all, 0.0);
    mean += t->sa[a] * t->da[a];
  }
  return mean;
}

/* The average of row i into out. */
static void average_row(predictor *t, size_t i, size_t rows) {
  const size_t k = t->k, count = t->count[i], *active = t->active + k * i;
  const double *f = t->f + k * i, *s = t->s + k * i;
  double mass = 0.0, total = 0.0;
  row_covariance(t, i, rows);
  if (k == 2) {
    const double var = t->c[0] - t->c[1] - t->c[2] + t->c[3];
    t->out[0] = gpc_logistic_normal(f[0] - f[1], var);
    t->out[1] = gpc_logistic_normal(f[1] - f[0], var);
    return;
  }
  for (size_t a = 0; a < count; a++) {
    t->fa[a] = f[active[a]];
    mass += t->sa[a] = s[active[a]];
  }
  for (size_t a = 0; a < count; a++)
    t->sa[a] /= mass;
  const gpc_joint_row row = {.k = count,
                             .heavy = t->heavies[i],
                             .which = t->heavy + k * i,
                             .phi = t->fa,
                             .s = t->sa,
                             .d = t->da,
                             .g = t->c,
                             .mean = centre(t, count, t->heavies[i], t->heavy + k * i)};
  if (!gpc_joint_softmax_narrow(count, t->sa, t->da, row.mean, t->pa))
    gpc_joint_softmax_average(&t->average, &row, t->pa);
  for (size_t j = 0; j < k; j++)
    total += t->out[j] = s[j];
  for (size_t a = 0; a < count; a++)
    t->out[active[a]] = (1.0 - (total - mass)) * t->pa[a];
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
      double *f = t.f + k * i;
      for (size_t j = 0; j < k; j++) {
        double *at = spread ? t.at + t.table.columns * (k * i + j) : NULL;
        const double z = t.z[i + rows * j];
        if (spread)
          gpc_joint_table_at(&t.table, &fit->features, z, at);
        f[j] =
            t.phi[i + rows * j] + (spread ? at[t.x] : gpc_joint_table_mean(&t.table, z));
      }
      gpc_softmax_row(k, 1.0, f, t.s + k * i);
      if (spread)
        find_active(&t, i, rows);
    }
    if (spread)
      find_pairs(&t, rows);
    for (size_t i = 0; i < rows; i++) {
      if (spread)
        average_row(&t, i, rows);
      for (size_t j = 0; j < k; j++)
        p[first + i + n * j] = fmax(spread ? t.out[j] : t.s[j + k * i], DBL_MIN);
    }
  }
  return GPC_OK;
}
