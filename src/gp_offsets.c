/* gp_offsets.c: see gp_offsets.h. */
#include "gp_offsets.h"
#include "fastexp.h"
#include "linalg.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROWS 32
#define CENTRE 0.3 /* of tau's hyperprior, and its standard deviation in log tau */
#define SD 1.0
#define TILTS 2 /* steps of the fixed point from the last pass's: variances are small */
#define CG_STEPS 8
#define MOST_HALVINGS 12
#define LEAST_WORTH (-2.0) /* nats */

typedef struct {
  const gpc_gp_data *data;
  const gpc_memory *memory;
  const gpc_offsets_site *site;
  size_t n, k;
  double *phi;                       /* [n x k] of the process */
  double *pi;                        /* [n x k] of the last pass */
  double *b, *var, *old_b, *old_var; /* [k] */
  double *g, *h, *mass;              /* [k] gradient; sum w pi (1 - pi); sum w pi */
  double *r, *d, *hd, *dots;         /* of the conjugate gradients: [k] and [n] */
  double fit;                        /* sum_n w_n (f_y - bound) */
} offsets;

/* phi of every score, from the nodes of the visit. */
static void read_scores(const gpc_visit *v, offsets *o) {
  const gpc_gp_data *data = o->data;
  double tau[256], wts[GPC_STENCIL * 256];
  int first[256];
  for (size_t j = 0; j < o->k; j++)
    for (size_t i = 0; i < o->n; i += 256) {
      const size_t rows = o->n - i < 256 ? o->n - i : 256;
      double *phi = o->phi + i + o->n * j;
      for (size_t q = 0; q < rows; q++)
        tau[q] = gpc_gp_score(data, i + q, j);
      gpc_line_coordinates(&v->nodes->line, rows, tau, tau);
      gpc_line_weights(rows, tau, 256, first, wts);
      for (size_t q = 0; q < rows; q++) {
        const double *psi = v->psi + gpc_nodes_at(v->nodes, (size_t)first[q]);
        double sum = 0.0;
        for (size_t s = 0; s < GPC_STENCIL; s++)
          sum += wts[s * 256 + q] * psi[s];
        phi[q] = sum;
      }
    }
}

/* One softmax of phi + b + D / 2 over ROWS rows, given D through all = sum_j a_j^2 var_j
 * and pi = a of the step before; bound [rows] is its log sum. */
static void tilt_rows(offsets *o, size_t first, size_t rows, const double *all,
                      int tilted, double *bound) {
  double top[ROWS], sum[ROWS];
  for (size_t i = 0; i < rows; i++) {
    top[i] = -INFINITY;
    sum[i] = 0.0;
  }
  for (size_t j = 0; j < o->k; j++) {
    const double *phi = o->phi + first + o->n * j;
    double *pi = o->pi + first + o->n * j;
    const double b = o->b[j], v = o->var[j];
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      const double d = tilted ? 0.5 * (v * (1.0 - 2.0 * pi[i]) + all[i]) : 0.0;
      pi[i] = phi[i] + b + d;
    }
    for (size_t i = 0; i < rows; i++)
      top[i] = pi[i] > top[i] ? pi[i] : top[i];
  }
  for (size_t j = 0; j < o->k; j++) {
    double *pi = o->pi + first + o->n * j;
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      pi[i] = gpc_exp_nonpos(pi[i] - top[i]);
      sum[i] += pi[i];
    }
  }
  for (size_t i = 0; i < rows; i++) {
    bound[i] = top[i] + log(sum[i]);
    sum[i] = 1.0 / sum[i];
  }
  for (size_t j = 0; j < o->k; j++) {
    double *pi = o->pi + first + o->n * j;
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      pi[i] *= sum[i];
  }
}

static void squares(const offsets *o, size_t first, size_t rows, double *all) {
  memset(all, 0, rows * sizeof(double));
  for (size_t j = 0; j < o->k; j++) {
    const double *pi = o->pi + first + o->n * j, v = o->var[j];
    for (size_t i = 0; i < rows; i++)
      all[i] += v * pi[i] * pi[i];
  }
}

/* What rows seen before add to a pass, eq. (O5): their curvature is diagonal. */
static void add_site(offsets *o) {
  const gpc_offsets_site *site = o->site;
  for (size_t j = 0; j < o->k; j++) {
    const double d = o->b[j] - site->b[j], h = site->h[j];
    o->fit += site->g[j] * d - 0.5 * h * (d * d + o->var[j]);
    o->g[j] += site->g[j] - h * d;
    o->h[j] += h;
    o->mass[j] += h;
  }
}

/* One pass: pi, fit, g, h and mass at b and var. */
static void visit(offsets *o, int tilted) {
  const gpc_gp_data *data = o->data;
  memset(o->g, 0, o->k * sizeof(double));
  memset(o->h, 0, o->k * sizeof(double));
  memset(o->mass, 0, o->k * sizeof(double));
  o->fit = 0.0;
  for (size_t first = 0; first < o->n; first += ROWS) {
    const size_t rows = o->n - first < ROWS ? o->n - first : ROWS;
    double all[ROWS], bound[ROWS], w[ROWS];
    if (!tilted)
      tilt_rows(o, first, rows, all, 0, bound);
    for (int step = 0; step < TILTS && tilted; step++) {
      squares(o, first, rows, all);
      tilt_rows(o, first, rows, all, 1, bound);
    }
    for (size_t i = 0; i < rows; i++) {
      const size_t label = (size_t)data->label[first + i] - 1;
      w[i] = gpc_gp_weight(data, first + i);
      o->fit += w[i] * (o->phi[first + i + o->n * label] + o->b[label] - bound[i]);
      o->g[label] += w[i];
    }
    for (size_t j = 0; j < o->k; j++) {
      const double *pi = o->pi + first + o->n * j;
      double mass = 0.0, spread = 0.0;
      for (size_t i = 0; i < rows; i++) {
        mass += w[i] * pi[i];
        spread += w[i] * pi[i] * (1.0 - pi[i]);
      }
      o->g[j] -= mass;
      o->mass[j] += mass;
      o->h[j] += spread;
    }
  }
  if (o->site)
    add_site(o);
}

/* out := H v = diag(mass) v - sum_n w_n pi_n (pi_n'v). */
static void product(offsets *o, const double *v, double *out) {
  memset(o->dots, 0, o->n * sizeof(double));
  for (size_t j = 0; j < o->k; j++) {
    const double *pi = o->pi + o->n * j, x = v[j];
#pragma omp simd
    for (size_t i = 0; i < o->n; i++)
      o->dots[i] += x * pi[i];
  }
  for (size_t i = 0; i < o->n; i++)
    o->dots[i] *= gpc_gp_weight(o->data, i);
  for (size_t j = 0; j < o->k; j++)
    out[j] = o->mass[j] * v[j] - gpc_dot(o->n, o->pi + o->n * j, o->dots);
}

/* b := the maximum of g'd - 1/2 d'H d - 1/2 b'b / tau^2, d = b - b0, by conjugate
 * gradients with the diagonal as preconditioner. */
static void solve_means(offsets *o, double tau) {
  const double precision = 1.0 / (tau * tau);
  double rz = 0.0;
  for (size_t j = 0; j < o->k; j++) { /* the residual at b0, and its direction */
    o->r[j] = o->g[j] - precision * o->b[j];
    o->d[j] = o->r[j] / (o->h[j] + precision);
    rz += o->r[j] * o->d[j];
  }
  const double enough = 1e-6 * (1.0 + rz);
  for (int step = 0; step < CG_STEPS && rz > enough; step++) {
    double along = 0.0, next = 0.0;
    product(o, o->d, o->hd);
    for (size_t j = 0; j < o->k; j++) {
      o->hd[j] += precision * o->d[j];
      along += o->d[j] * o->hd[j];
    }
    if (!(along > 0.0))
      break;
    for (size_t j = 0; j < o->k; j++) {
      o->b[j] += rz / along * o->d[j];
      o->r[j] -= rz / along * o->hd[j];
      next += o->r[j] * o->r[j] / (o->h[j] + precision);
    }
    for (size_t j = 0; j < o->k; j++)
      o->d[j] = o->r[j] / (o->h[j] + precision) + next / rz * o->d[j];
    rz = next;
  }
}

static double hyperprior(double tau) {
  const double u = log(tau / CENTRE) / SD;
  return -0.5 * u * u;
}

/* The bound of tau with H's diagonal alone, profiled over b: for the choice of tau. */
static double tau_value(const offsets *o, double tau) {
  const double precision = 1.0 / (tau * tau);
  double sum = hyperprior(tau);
  for (size_t j = 0; j < o->k; j++) {
    const double pull = o->g[j] + o->h[j] * o->b[j];
    sum += 0.5 * pull * pull / (o->h[j] + precision) - 0.5 * log1p(o->h[j] / precision);
  }
  return sum;
}

/* The best tau in [1e-3, 30], by golden section in log tau. */
static double best_tau(const offsets *o) {
  const double ratio = 0.6180339887498949;
  double low = log(1e-3), high = log(30.0);
  double a = high - ratio * (high - low), b = low + ratio * (high - low);
  double fa = tau_value(o, exp(a)), fb = tau_value(o, exp(b));
  while (high - low > 1e-3)
    if (fa > fb) {
      high = b;
      b = a;
      fb = fa;
      a = high - ratio * (high - low);
      fa = tau_value(o, exp(a));
    } else {
      low = a;
      a = b;
      fa = fb;
      b = low + ratio * (high - low);
      fb = tau_value(o, exp(b));
    }
  return exp(0.5 * (low + high));
}

static double divergence(const offsets *o, double tau) {
  double sum = 0.0;
  for (size_t j = 0; j < o->k; j++) {
    const double part = o->var[j] / (tau * tau);
    sum += 0.5 * (part + o->b[j] * o->b[j] / (tau * tau) - 1.0 - log(part));
  }
  return sum;
}

static void begin(gpc_visitor *visitor, const gpc_visit *from, offsets *o) {
  const gpc_memory *memory = visitor->memory;
  const size_t n = visitor->data->n, k = visitor->data->k;
  *o = (offsets){.data = visitor->data,
                 .memory = memory,
                 .n = n,
                 .k = k,
                 .phi = gpc_get_doubles(memory, n * k),
                 .pi = gpc_get_doubles(memory, n * k),
                 .b = gpc_get_doubles(memory, k),
                 .var = gpc_get_doubles(memory, k),
                 .old_b = gpc_get_doubles(memory, k),
                 .old_var = gpc_get_doubles(memory, k),
                 .g = gpc_get_doubles(memory, k),
                 .h = gpc_get_doubles(memory, k),
                 .mass = gpc_get_doubles(memory, k),
                 .r = gpc_get_doubles(memory, k),
                 .d = gpc_get_doubles(memory, k),
                 .hd = gpc_get_doubles(memory, k),
                 .dots = gpc_get_doubles(memory, n)};
  memset(o->b, 0, k * sizeof(double));
  memset(o->var, 0, k * sizeof(double));
  read_scores(from, o);
}

/* eq. (39): expected to be 0 without offsets, with standard deviation 1. */
static double score_test(const offsets *o) {
  double above = 0.0, below = 0.0;
  for (size_t j = 0; j < o->k; j++) {
    above += o->g[j] * o->g[j] - o->h[j];
    below += 2.0 * o->h[j] * o->h[j];
  }
  return below > 0.0 ? above / sqrt(below) : 0.0;
}

/* The bound at b and var, after one more pass. */
static double value_at(offsets *o, double tau, gpc_offsets_result *result) {
  visit(o, 1);
  result->passes++;
  const double value = o->fit - divergence(o, tau) + hyperprior(tau);
  return isfinite(value) ? value : -INFINITY;
}

/* A step of b that went too far, from old_b, is halved until the bound is as high as it
 * was; the first step, which has none to be compared with, until halving no longer
 * helps. */
static double step_back(offsets *o, double tau, double before, double value,
                        gpc_offsets_result *result) {
  for (int halving = 0; halving < MOST_HALVINGS && value < before; halving++) {
    for (size_t j = 0; j < o->k; j++)
      o->b[j] = 0.5 * (o->b[j] + o->old_b[j]);
    value = value_at(o, tau, result);
  }
  for (int halving = 0; halving < MOST_HALVINGS && before == -INFINITY; halving++) {
    for (size_t j = 0; j < o->k; j++)
      o->b[j] *= 0.5;
    const double half = value_at(o, tau, result);
    if (half <= value) { /* back to the better one */
      for (size_t j = 0; j < o->k; j++)
        o->b[j] *= 2.0;
      return value_at(o, tau, result);
    }
    value = half;
  }
  return value;
}

void gpc_offsets_fit(gpc_visitor *visitor, const gpc_visit *from,
                     const gpc_offsets_settings *settings, gpc_offsets_result *result) {
  offsets o;
  memset(result, 0, sizeof *result);
  begin(visitor, from, &o);
  o.site = settings->site;
  result->at = o.b;
  result->g = o.g;
  result->h = o.h;
  visit(&o, 0);
  result->passes = 1;
  result->none = result->elbo = o.fit;
  result->score = score_test(&o);
  if (result->score < settings->least_score)
    return;
  result->mean = o.b;
  result->var = o.var;
  result->elbo = -INFINITY;
  while (result->passes < settings->max_passes && !result->converged) {
    gpc_call_poll(settings->poll, settings->poll_data);
    const double tau =
        isnan(settings->variance) ? best_tau(&o) : sqrt(settings->variance);
    memcpy(o.old_b, o.b, o.k * sizeof(double));
    memcpy(o.old_var, o.var, o.k * sizeof(double));
    solve_means(&o, tau);
    for (size_t j = 0; j < o.k; j++)
      o.var[j] = 1.0 / (o.h[j] + 1.0 / (tau * tau));
    const double before = result->elbo;
    double value = value_at(&o, tau, result);
    if (value < (before > -INFINITY ? before - settings->tol : result->none))
      value = step_back(&o, tau, before, value, result);
    result->converged = fabs(value - before) < settings->tol;
    if (value < before - settings->tol) { /* no step leads up: the last point stands */
      memcpy(o.b, o.old_b, o.k * sizeof(double));
      memcpy(o.var, o.old_var, o.k * sizeof(double));
      visit(&o, 1);
      result->converged = 1;
      break;
    }
    result->tau = tau;
    result->elbo = value;
  }
  /* as with few classes: what was promised may not be kept */
  result->kept =
      settings->least_score == -INFINITY || result->elbo - result->none > LEAST_WORTH;
}

#define APPLY_ROWS 64 /* rows of a block: a thousand classes of them fit the cache */

static void apply_rows(size_t rows, size_t n, size_t k, const double *offset, double top,
                       const double *p, double *to) {
  double sum[APPLY_ROWS] = {0};
  for (size_t j = 0; j < k; j++) {
    const double factor = gpc_exp_nonpos(offset[j] - top), *from = p + n * j;
    double *column = to + n * j;
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      column[i] = from[i] * factor;
      sum[i] += column[i];
    }
  }
  for (size_t i = 0; i < rows; i++)
    sum[i] = 1.0 / sum[i];
  for (size_t j = 0; j < k; j++) {
    double *column = to + n * j;
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      const double v = column[i] * sum[i];
      column[i] = v > DBL_MIN ? v : DBL_MIN;
    }
  }
}

void gpc_offsets_apply(size_t n, size_t k, const double *offset, const double *p,
                       double *to) {
  double top = -INFINITY;
  for (size_t j = 0; j < k; j++)
    top = fmax(top, offset[j]);
  for (size_t first = 0; first < n; first += APPLY_ROWS)
    apply_rows(n - first < APPLY_ROWS ? n - first : APPLY_ROWS, n, k, offset, top,
               p + first, to + first);
}
