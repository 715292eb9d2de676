/* gp_joint_predict.c: see gp_joint_predict.h. Classes that are all but ruled out in a row
 * keep their probability at the mean. */
#include "gp_joint_predict.h"
#include "fastexp.h"
#include "gp_joint_reader.h"
#include "gp_joint_softmax.h"
#include "linalg.h"
#include "quadrature.h"
#include "simd.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROWS GPC_JOINT_READER_ROWS
#define LOG_RULED_OUT                                                                    \
  -18.420680743952367  /* log 1e-8: of a probability, with what may be open of it */
#define FEW_CLASSES 12 /* the covariances of all pairs are made at once */

static size_t triangle(size_t n) { return n * (n + 1) / 2; }

/* Place of a pair of classes. */
static size_t pair_of(size_t a, size_t b) {
  return a > b ? triangle(a) + b : triangle(b) + a;
}

typedef struct {
  gpc_joint_reader row;
  gpc_joint_softmax average;
  int dense;      /* are the classes few? */
  double *pairs;  /* otherwise [packed] of each pair: by packed(x x') */
  double *out;    /* [step] of a row */
  size_t *active; /* [k] classes that are not ruled out ... */
  size_t *heavy;  /* [k] ... and the heavy ones by their place among them */
  double *cov;    /* [step x k] of the effects of a row, if classes are few */
  double *t;      /* [step x x] moves of the active classes */
  double *c;      /* [step x k] covariances with the heavy classes */
  double *fa, *sa, *pa, *da, *diag, *cs; /* [step] of the active classes */
} predictor;

/* see [e x e], the covariance of the effects, becomes that of their differences to those of the
 * last class, which are 0 then: latent values count by their differences alone, and what
 * classes have in common may be large. Returns the largest entry. */
static double less_last(size_t k, size_t r, double *see) {
  const size_t e = k * r;
  double largest = 0.0;
  for (size_t j = 0; j < e; j++) /* rows, then columns */
    for (size_t a = 0; a + 1 < k; a++) {
      double *to = see + e * j + r * a, *last = see + e * j + e - r;
      for (size_t i = 0; i < r; i++)
        to[i] -= last[i];
    }
  for (size_t j = 0; j < e - r; j++) {
    double *to = see + e * j, *last = see + e * (e - r + j % r);
    for (size_t i = 0; i < e - r; i++) {
      to[i] -= last[i];
      const double size = fabs(to[i]);
      largest = size > largest ? size : largest;
    }
  }
  return largest;
}

/* The covariance of the effects of any two classes, see [e x e], in the form that rows need:
 * of few classes without the last. */
static void set_forms(predictor *t, const double *see, const gpc_memory *memory) {
  gpc_joint_reader *row = &t->row;
  const size_t k = row->k, r = row->r, e = k * r, packed = triangle(r);
  const size_t some = t->dense ? k - 1 : k;
  for (size_t a = 0; a < some; a++)
    for (size_t b = 0; b <= a; b++)
      if (t->dense || a == b)
        gpc_joint_reader_form(row, t->dense ? pair_of(a, b) : a, see + r * a + e * r * b,
                              e);
  if (t->dense)
    return;
  double *to = t->pairs = gpc_get_doubles(memory, packed * triangle(k));
  for (size_t a = 0; a < k; a++)
    for (size_t b = 0; b <= a; b++) {
      const double *block = see + r * a + e * r * b;
      for (size_t i = 0; i < r; i++) {
        for (size_t j = 0; j < i; j++)
          *to++ = block[i + e * j] + block[j + e * i];
        *to++ = block[i + e * i];
      }
    }
}

/* S in the form that rows need. */
static gpc_status set_covariance(predictor *t, const gpc_memory *memory) {
  gpc_joint_reader *row = &t->row;
  const gpc_joint_fitted *fit = row->fit;
  const size_t k = row->data->k, r = fit->features.r, e = k * r;
  const size_t all = fit->process.basis.m + fit->slopes, size = all + e;
  double *root = gpc_get_doubles(memory, all * all);
  double *w = gpc_get_doubles(memory, all * e), *see = gpc_get_doubles(memory, e * e);
  size_t shared = 0;
  for (size_t j = 0; j < all; j++)
    memcpy(root + all * j, fit->cov + size * j, all * sizeof(double));
  for (size_t j = 0; j < e; j++) {
    memcpy(w + all * j, fit->cov + size * (all + j), all * sizeof(double));
    memcpy(see + e * j, fit->cov + all + size * (all + j), e * sizeof(double));
  }
  gpc_status status = gpc_joint_shared(all, k, e, memory, root, w, &shared);
  const gpc_joint_directions directions = {.root = root, .fixed = shared};
  if (status == GPC_OK)
    status = gpc_joint_table_make(fit, &directions, memory, &row->table);
  if (status != GPC_OK)
    return status;
  double *kept = gpc_get_doubles(memory, shared * e);
  for (size_t j = 0; j < e; j++)
    for (size_t p = 0; p < shared; p++)
      kept[p + shared * j] = w[p + all * j];
  /* given these directions of the process */
  gpc_gemm_large(1, 0, e, e, shared, -1.0, kept, kept, 1.0, see);
  const double largest = t->dense ? less_last(k, r, see) : INFINITY;
  gpc_joint_reader_get(memory, shared, t->dense ? triangle(k - 1) : k,
                       k > 2 ? 2.0 * largest : INFINITY, row);
  for (size_t j = 0; j < e; j++)
    for (size_t p = 0; p < shared; p++)
      *gpc_joint_reader_shift(row, p, j / r, j % r) = kept[p + shared * j];
  set_forms(t, see, memory);
  return GPC_OK;
}

static gpc_status begin(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                        const gpc_memory *memory, int spread, predictor *t) {
  const size_t k = data->k, step = gpc_joint_step(k);
  const gpc_joint_directions none = {.root = NULL};
  *t = (predictor){.row = {.data = data, .fit = fit}, .dense = k <= FEW_CLASSES};
  const gpc_status status = spread
                                ? set_covariance(t, memory)
                                : gpc_joint_table_make(fit, &none, memory, &t->row.table);
  if (status != GPC_OK)
    return status;
  if (!spread) {
    gpc_joint_reader_get(memory, 0, 0, 0.0, &t->row);
    return GPC_OK;
  }
  const size_t x = t->row.table.x;
  t->out = gpc_get_doubles(memory, step * (7 + x));
  memset(t->out, 0, step * (7 + x) * sizeof(double));
  t->fa = t->out + step;
  t->sa = t->fa + step;
  t->pa = t->sa + step;
  t->da = t->pa + step;
  t->diag = t->da + step;
  t->cs = t->diag + step;
  t->t = t->cs + step;
  t->active = gpc_get_sizes(memory, 2 * k);
  t->heavy = t->active + k;
  t->c = gpc_get_doubles(memory, step * k + 4);
  t->cov = gpc_get_doubles(memory, t->dense ? step * k : 0);
  memset(t->cov, 0, (t->dense ? step * k : 0) * sizeof(double));
  if (k > 2)
    t->average = gpc_joint_softmax_get(k, memory);
  return GPC_OK;
}

/* The covariances of the effects of a row of few classes, cov: both triangles. Those of the
 * last class are 0. */
static void unpack_forms(predictor *t, const double *forms) {
  const size_t step = t->row.step;
  for (size_t a = 0; a + 1 < t->row.k; a++)
    for (size_t b = 0; b <= a; b++)
      t->cov[a + step * b] = t->cov[b + step * a] = *forms++;
}

/* The variance of a class's effects in a row. */
static double own_variance(const predictor *t, const double *forms, size_t j) {
  return t->dense ? t->cov[j + t->row.step * j] : forms[j];
}

/* The variances of the differences to class `top`, into diag [k]: without the covariance of
 * their effects where classes are many. forms: of the row. */
GPC_FUSED static void spread_row(predictor *t, const double *forms, size_t top) {
  const size_t k = t->row.k, step = t->row.step;
  const double *rho = t->row.rho, own = rho[top] + own_variance(t, forms, top);
  double *var = t->diag;
  for (size_t j = 0; j < k; j++)
    var[j] = own + rho[j] + own_variance(t, forms, j) -
             (t->dense ? 2.0 * t->cov[j + step * top] : 0.0);
  for (size_t p = 0; p < t->row.table.x; p++) {
    const double *tp = t->row.t + step * p, best = tp[top];
#pragma omp simd
    for (size_t j = 0; j < step; j++)
      var[j] += (tp[j] - best) * (tp[j] - best);
  }
  var[top] = 0.0;
}

/* The classes of a row that matter: those that what is open of their distance to the most
 * likely one could bring above what is ruled out. The others get that in s: much more than in
 * the softmax, where they may be the truth all the same. fa, sa [count] and da, the variances
 * of the distances. Returns how many. */
GPC_FUSED static size_t find_active(predictor *t, size_t top) {
  const size_t k = t->row.k, step = t->row.step;
  const double *f = t->row.f, *var = t->diag;
  double *s = t->row.s, *most = t->pa, best = f[top];
  size_t count = 0;
#pragma omp simd
  for (size_t j = 0; j < step; j++) {
    /* not less than log E min(1, exp(x)), x ~ N(-low, var): -low^2 / (2 var) for low < var,
     * otherwise var / 2 - low */
    const double by =
        var[j] > gpc_limit_small ? var[j] : gpc_limit_small; /* it may round below 0 */
    const double low = best - f[j], above = low - by;
    const double far = 0.5 * (above + fabs(above)), near = low - far;
    most[j] = -far - 0.5 * near * near / by;
  }
  for (size_t j = 0; j < k; j++) {
    if (j != top && !(most[j] > LOG_RULED_OUT)) {
      s[j] = gpc_exp(most[j]);
      continue;
    }
    t->fa[count] = f[j];
    t->sa[count] = s[j];
    t->da[count] = var[j];
    t->active[count++] = j;
  }
  for (size_t a = count; a < step; a++)
    t->fa[a] = t->sa[a] = t->da[a] = 0.0;
  return count;
}

/* Adds the covariances of the effects with class l to c [count], for the active classes.
 * packed: packed(x x') of the row. */
GPC_PART void add_effects(const predictor *t, const double *packed, size_t count,
                          size_t l, double *c) {
  const size_t *active = t->active, size = triangle(t->row.r);
  const double *cov = t->cov + t->row.step * l;
  if (t->dense && count == t->row.k)
#pragma omp simd
    for (size_t a = 0; a < count; a++)
      c[a] += cov[a];
  else
    for (size_t a = 0; a < count; a++)
      c[a] += t->dense ? cov[active[a]]
                       : gpc_dot(size, packed, t->pairs + size * pair_of(active[a], l));
}

/* eq. (34) for the active classes and the heavy ones among them: c [step x heavy], diag
 * [count]. forms: of the row. */
GPC_FUSED static void row_covariance(predictor *t, const double *forms,
                                     const double *packed, size_t count, size_t heavies) {
  const size_t x = t->row.table.x, step = t->row.step, *active = t->active;
  const size_t from = gpc_joint_step(count);
  const double *moves = t->row.t;
  if (count < t->row.k) {
    for (size_t p = 0; p < x; p++) {
      for (size_t a = 0; a < count; a++)
        t->t[a + from * p] = moves[active[a] + step * p];
      for (size_t a = count; a < from; a++)
        t->t[a + from * p] = 0.0;
    }
    moves = t->t;
  }
  for (size_t a = 0; a < count; a++)
    t->diag[a] = t->row.rho[active[a]] + own_variance(t, forms, active[a]);
  for (size_t p = 0; p < x; p++) {
    const double *tp = moves + from * p;
#pragma omp simd
    for (size_t a = 0; a < count; a++)
      t->diag[a] += tp[a] * tp[a];
  }
  gpc_small_product(from, heavies, x, moves, moves, from, t->heavy, t->c);
  for (size_t h = 0; h < heavies; h++) {
    const size_t b = t->heavy[h];
    double *c = t->c + from * h;
    add_effects(t, packed, count, active[b], c);
    c[b] = t->diag[b];
  }
}

/* c and diag become G and D (in da) of the differences to the heavy classes' mean; returns
 * the mean of D. */
GPC_FUSED static double centre(predictor *t, size_t count, size_t heavies) {
  const size_t step = gpc_joint_step(count), *heavy = t->heavy;
  double mass = 0.0, all = 0.0, mean = 0.0, *cs = t->cs, *da = t->da;
  for (size_t h = 0; h < heavies; h++)
    mass += t->sa[heavy[h]];
  memset(cs, 0, step * sizeof(double));
  for (size_t h = 0; h < heavies; h++) {
    const double s = t->sa[heavy[h]] / mass, *c = t->c + step * h;
#pragma omp simd
    for (size_t a = 0; a < step; a++)
      cs[a] += s * c[a];
  }
  for (size_t h = 0; h < heavies; h++)
    all += t->sa[heavy[h]] / mass * cs[heavy[h]];
  for (size_t h = 0; h < heavies; h++) {
    const double less = cs[heavy[h]] - all;
    double *c = t->c + step * h;
#pragma omp simd
    for (size_t a = 0; a < step; a++)
      c[a] -= cs[a] + less;
  }
#pragma omp simd reduction(+ : mean)
  for (size_t a = 0; a < count; a++) {
    const double here = t->diag[a] - 2.0 * cs[a] + all;
    da[a] = here > 0.0 ? here : 0.0;
    mean += t->sa[a] * da[a];
  }
  return mean;
}

/* The average of row i of a block into out. */
static void average_row(predictor *t, size_t i) {
  const double *forms = gpc_joint_reader_row(&t->row, i);
  const double *packed = t->dense ? NULL : t->row.packed + triangle(t->row.r) * i;
  const size_t k = t->row.k;
  double mass = 0.0, total = 0.0, mean = 0.0, *s = t->row.s, *f = t->row.f;
  size_t top = 0;
  for (size_t j = 1; j < k; j++)
    top = s[j] > s[top] ? j : top;
  if (t->dense)
    unpack_forms(t, forms);
  spread_row(t, forms, top);
  if (k == 2) {
    t->out[1 - top] = gpc_logistic_normal(f[1 - top] - f[top], t->diag[1 - top]);
    t->out[top] = 1.0 - t->out[1 - top]; /* at least 1/2 */
    return;
  }
  const size_t count = find_active(t, top);
  for (size_t a = 0; a < count; a++)
    mass += t->sa[a];
  for (size_t a = 0; a < count; a++) {
    mean += t->sa[a] * t->da[a];
    t->sa[a] /= mass;
  }
  const size_t heavies = gpc_joint_softmax_heavy(count, t->sa, t->da, mean, t->heavy);
  row_covariance(t, forms, packed, count, heavies);
  gpc_joint_row row = {.k = count,
                       .step = gpc_joint_step(count),
                       .heavy = heavies,
                       .which = t->heavy,
                       .phi = t->fa,
                       .s = t->sa,
                       .d = t->da,
                       .g = t->c,
                       .mean = centre(t, count, heavies)};
  if (!gpc_joint_softmax_narrow(row.step, t->sa, t->da, row.mean, t->pa))
    gpc_joint_softmax_average(&t->average, &row, t->pa);
  for (size_t j = 0; j < k; j++)
    total += t->out[j] = s[j];
  for (size_t a = 0; a < count; a++)
    t->out[t->active[a]] = (1.0 - (total - mass)) * t->pa[a];
}

gpc_status gpc_joint_predict(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                             gpc_approx approx, const gpc_memory *memory, gpc_poll poll,
                             void *poll_data, double *p) {
  predictor t;
  const int spread = approx == GPC_APPROX_DELTA;
  if (spread && fit->own)
    return gpc_joint_predict_short(data, fit, memory, poll, poll_data, p);
  gpc_status status = begin(data, fit, memory, spread, &t);
  const size_t k = data->k, n = data->n;
  for (size_t first = 0; first < n && status == GPC_OK; first += ROWS) {
    const size_t rows = n - first < ROWS ? n - first : ROWS;
    if (first % (64 * ROWS) == 0)
      gpc_call_poll(poll, poll_data);
    gpc_joint_reader_block(&t.row, first, rows);
    for (size_t i = 0; i < rows; i++) {
      if (spread)
        average_row(&t, i);
      else
        gpc_joint_reader_row(&t.row, i);
      const double *out = spread ? t.out : t.row.s;
      for (size_t j = 0; j < k; j++)
        p[first + i + n * j] = out[j] > DBL_MIN ? out[j] : DBL_MIN;
    }
  }
  return status;
}
