/* gp_joint_short.c: probabilities of a fit with class effects whose covariance is in the
 * short form (gp_joint_predict.h): given the process, the effects of any two classes have
 * the same covariance. In the differences of latent values of a row that cancels, so that
 *
 *   C_kl = t_k't_l + [k = l] d_k,   t_k = U'a(z_k) + U^-1 S_xe x,
 *   d_k = x'(own_k - common) x + rho(z_k)
 *
 * serves in the place of eq. (34), and D of eq. (24) costs O(k m) a row. */
#include "gp_joint_predict.h"
#include "gp_joint_reader.h"
#include "gp_joint_softmax.h"
#include "linalg.h"
#include "simd.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROWS GPC_JOINT_READER_ROWS
#define FOUR 4 /* classes at a time */

typedef struct {
  gpc_joint_reader row;
  gpc_joint_softmax average;
  double *d, *cs, *own, *out; /* [step] D, C s and d_k of eq. (24) and above */
  double *middle;             /* [x] s't */
  double *g;                  /* [step x k] by heavy class */
  size_t *heavy;              /* [k] */
} predictor;

/* b [r x r] := a class's block, given by its lower triangle, less another, in full. */
static void unpack(size_t r, const double *lower, const double *less, double *b) {
  for (size_t j = 0; j < r; j++)
    for (size_t i = j; i < r; i++)
      b[i + r * j] = b[j + r * i] = *lower++ - *less++;
}

static gpc_status set_covariance(predictor *t, const gpc_memory *memory) {
  gpc_joint_reader *row = &t->row;
  const gpc_joint_fitted *fit = row->fit;
  const size_t k = row->data->k, r = fit->features.r, e = k * r;
  const size_t x = fit->process.basis.m + fit->slopes;
  double *root = gpc_get_doubles(memory, x * x), *w = gpc_get_doubles(memory, x * e);
  double *block = gpc_get_doubles(memory, r * r), largest = 0.0;
  size_t shared = 0;
  memcpy(root, fit->cov, x * x * sizeof(double));
  memcpy(w, fit->cross, x * e * sizeof(double));
  gpc_status status = gpc_joint_shared(x, k, e, memory, root, w, &shared);
  const gpc_joint_directions directions = {.root = root, .fixed = shared};
  if (status == GPC_OK)
    status = gpc_joint_table_make(fit, &directions, memory, &row->table);
  if (status != GPC_OK)
    return status;
  for (size_t i = 0; i < r * (r + 1) / 2 * k; i++)
    largest = fmax(largest, fabs(fit->own[i] - fit->common[i % (r * (r + 1) / 2)]));
  gpc_joint_reader_get(memory, shared, k, 2.0 * largest, row);
  for (size_t l = 0; l < k; l++) {
    for (size_t i = 0; i < r; i++)
      for (size_t p = 0; p < shared; p++)
        *gpc_joint_reader_shift(row, p, l, i) = w[p + x * (l * r + i)];
    unpack(r, fit->own + r * (r + 1) / 2 * l, fit->common, block);
    gpc_joint_reader_form(row, l, block, r);
  }
  return status;
}

static gpc_status begin(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                        const gpc_memory *memory, predictor *t) {
  *t = (predictor){.row = {.data = data, .fit = fit}};
  const gpc_status status = set_covariance(t, memory);
  if (status != GPC_OK)
    return status;
  const size_t k = t->row.k, step = t->row.step;
  t->d = gpc_get_doubles(memory, 4 * step);
  memset(t->d, 0, 4 * step * sizeof(double));
  t->cs = t->d + step;
  t->own = t->cs + step;
  t->out = t->own + step;
  t->g = gpc_get_doubles(memory, step * k + 4);
  t->middle = gpc_get_doubles(memory, t->row.table.x);
  t->heavy = gpc_get_sizes(memory, k);
  t->average = gpc_joint_softmax_get(k, memory);
  return GPC_OK;
}

/* D and C s; forms: x'(own_k - common) x. mean := s'D. Returns s'C s. */
GPC_FUSED static double spread_row(predictor *t, const double *forms, double *mean) {
  const size_t step = gpc_joint_step(t->row.k), x = t->row.table.x;
  const double *s = t->row.s, *rho = t->row.rho, *moves = t->row.t;
  double *own = t->own, *cs = t->cs, *d = t->d, *middle = t->middle, all = 0.0, sum = 0.0;
  for (size_t p = 0; p < x; p++) {
    double here = 0.0;
#pragma omp simd reduction(+ : here)
    for (size_t j = 0; j < step; j++)
      here += s[j] * moves[j + step * p];
    middle[p] = here;
  }
#pragma omp simd
  for (size_t j = 0; j < step; j++)
    own[j] = forms[j] + rho[j];
  for (size_t j = 0; j < step; j += FOUR) {
    const double *tp = moves + j;
    double var[FOUR], with[FOUR];
    for (size_t i = 0; i < FOUR; i++) {
      var[i] = own[j + i];
      with[i] = s[j + i] * own[j + i];
    }
    for (size_t p = 0; p < x; p++, tp += step) {
      const double by = middle[p];
#pragma omp simd
      for (size_t i = 0; i < FOUR; i++) {
        with[i] += tp[i] * by;
        var[i] += tp[i] * tp[i];
      }
    }
    for (size_t i = 0; i < FOUR; i++) {
      cs[j + i] = with[i];
      d[j + i] = var[i];
    }
  }
#pragma omp simd reduction(+ : all)
  for (size_t j = 0; j < step; j++)
    all += s[j] * cs[j];
#pragma omp simd reduction(+ : sum)
  for (size_t j = 0; j < step; j++) {
    const double here = d[j] - 2.0 * cs[j] + all;
    d[j] = here > 0.0 ? here : 0.0;
    sum += s[j] * d[j];
  }
  for (size_t j = t->row.k; j < step; j++)
    d[j] = 0.0;
  *mean = sum;
  return all;
}

/* Covariances with the heavy classes, g [step x heavy]. */
GPC_FUSED static void set_pairs(const predictor *t, double all, size_t heavy) {
  const size_t step = t->row.step, x = t->row.table.x;
  gpc_small_product(step, heavy, x, t->row.t, t->row.t, step, t->heavy, t->g);
  for (size_t h = 0; h < heavy; h++) {
    const size_t l = t->heavy[h];
    const double less = t->cs[l] - all;
    double *g = t->g + step * h;
#pragma omp simd
    for (size_t j = 0; j < step; j++)
      g[j] -= t->cs[j] + less;
    g[l] += t->own[l];
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
    gpc_joint_reader_block(&t.row, first, rows);
    for (size_t i = 0; i < rows; i++) {
      gpc_joint_row row = {.k = k,
                           .step = t.row.step,
                           .which = t.heavy,
                           .phi = t.row.f,
                           .s = t.row.s,
                           .d = t.d,
                           .g = t.g};
      const double all = spread_row(&t, gpc_joint_reader_row(&t.row, i), &row.mean);
      if (!gpc_joint_softmax_narrow(row.step, row.s, row.d, row.mean, t.out)) {
        row.heavy = gpc_joint_softmax_heavy(k, row.s, row.d, row.mean, t.heavy);
        set_pairs(&t, all, row.heavy);
        gpc_joint_softmax_average(&t.average, &row, t.out);
      }
      for (size_t j = 0; j < k; j++)
        p[first + i + n * j] = t.out[j] > DBL_MIN ? t.out[j] : DBL_MIN;
    }
  }
  return status;
}
