/* gp_wide_pass.c: see gp_wide_pass.h. */
#include "gp_wide_pass.h"
#include "fastexp.h"
#include "simd.h"

#include <math.h>
#include <string.h>

#define TILTS 2 /* steps of the fixed point from the last pass's: variances are small */

/* pi [k] := softmax(f + D / 2), D_k = c_k (1 - 2 pi_k) + sum_j pi_j^2 c_j, eq. (35) with a
 * diagonal C; t [k] is work. Returns the log of the sum of exponentials. */
GPC_FUSED static double tilt(size_t k, const double *f, const double *c, double *pi,
                             double *t) {
  double all = 0.0, top = -INFINITY, sum = 0.0;
#pragma omp simd reduction(+ : all)
  for (size_t j = 0; j < k; j++)
    all += c[j] * pi[j] * pi[j];
#pragma omp simd reduction(max : top)
  for (size_t j = 0; j < k; j++) {
    t[j] = f[j] + 0.5 * (c[j] * (1.0 - 2.0 * pi[j]) + all);
    top = t[j] > top ? t[j] : top;
  }
#pragma omp simd reduction(+ : sum)
  for (size_t j = 0; j < k; j++) {
    pi[j] = gpc_exp_nonpos(t[j] - top);
    sum += pi[j];
  }
  const double factor = 1.0 / sum;
#pragma omp simd
  for (size_t j = 0; j < k; j++)
    pi[j] *= factor;
  return top + log(sum);
}

/* Effects of parts that are not there have neither gradient nor curvature. */
static void clear_absent(const gpc_wide_pass *o, double *x) {
  for (int part = 0; part < GPC_WIDE_PARTS; part++)
    if (!o->has[part]) {
      const size_t first = gpc_wide_first(o->k, part);
      memset(x + first, 0, (gpc_wide_first(o->k, part + 1) - first) * sizeof(double));
    }
}

/* What rows seen before add, a quadratic of the effects with a diagonal curvature. */
static void add_site(gpc_wide_pass *o) {
  const gpc_wide_site *site = o->site;
  for (size_t i = 0; i < o->size; i++) {
    const double d = o->e[i] - site->at[i], h = site->h[i];
    o->fit += site->g[i] * d - 0.5 * h * (d * d + o->var[i]);
    o->g[i] += site->g[i] - h * d;
    o->h[i] += h;
  }
}

void gpc_wide_visit(gpc_wide_pass *o) {
  const size_t k = o->k, some = gpc_poll_blocks(1, k);
  double *f = o->work, *c = o->work + k, *r = o->work + 2 * k;
  memset(o->g, 0, o->size * sizeof(double));
  memset(o->h, 0, o->size * sizeof(double));
  o->fit = 0.0;
  for (size_t i = 0; i < o->n; i++) {
    if (i % some == 0)
      gpc_call_poll(o->poll, o->poll_data);
    const float *phi = o->phi + k * i;
    const double w = gpc_gp_weight(o->data, i);
    double *pi = o->pi + k * i, bound = 0.0;
    const size_t label = (size_t)o->data->label[i] - 1;
    gpc_wide_forward(k, o->rows + i, o->e, 0, f);
    gpc_wide_forward(k, o->rows + i, o->var, 1, c);
    for (size_t j = 0; j < k; j++)
      f[j] += phi[j];
    for (int step = 0; step < TILTS; step++)
      bound = tilt(k, f, c, pi, r);
    o->fit += w * (f[label] - bound);
    for (size_t j = 0; j < k; j++)
      r[j] = -w * pi[j];
    r[label] += w;
    gpc_wide_backward(k, o->rows + i, r, 0, o->g);
    for (size_t j = 0; j < k; j++)
      r[j] = w * pi[j] * (1.0 - pi[j]);
    gpc_wide_backward(k, o->rows + i, r, 1, o->h);
  }
  if (o->site)
    add_site(o);
  clear_absent(o, o->g);
  clear_absent(o, o->h);
}

void gpc_wide_product(const gpc_wide_pass *o, const double *v, double *out) {
  const size_t k = o->k, some = gpc_poll_blocks(1, k);
  double *f = o->work;
  memset(out, 0, o->size * sizeof(double));
  for (size_t i = 0; i < o->n; i++) {
    if (i % some == 0)
      gpc_call_poll(o->poll, o->poll_data);
    const double *pi = o->pi + k * i, w = gpc_gp_weight(o->data, i);
    double sum = 0.0;
    gpc_wide_forward(k, o->rows + i, v, 0, f);
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < k; j++)
      sum += pi[j] * f[j];
    for (size_t j = 0; j < k; j++)
      f[j] = w * pi[j] * (f[j] - sum);
    gpc_wide_backward(k, o->rows + i, f, 0, out);
  }
  for (size_t i = 0; o->site && i < o->size; i++)
    out[i] += o->site->h[i] * v[i];
  clear_absent(o, out);
}
