/* gp_offsets_pass.c: see gp_offsets_pass.h. */
#include "gp_offsets_pass.h"
#include "fastexp.h"
#include "simd.h"

#include <math.h>
#include <string.h>

#define ROWS GPC_OFFSETS_ROWS
#define LEAST_PHI (-1e30) /* a probability of 0, and a number in four bytes */
#define TILTS 2 /* steps of the fixed point from the last pass's: variances are small */

/* Where the block that begins with a row is in phi and pi. */
static size_t place_of(const gpc_offsets_pass *o, size_t first) {
  return o->kept ? first * o->k : 0;
}

/* phi of `rows` rows, from the nodes of the visit; pi is room for it. A constant of a row
 * changes nothing, and less the highest, four bytes are enough. */
GPC_FUSED static void read_rows(gpc_offsets_pass *o, size_t first, size_t rows) {
  const gpc_visit *v = o->from;
  double tau[ROWS], wts[GPC_STENCIL * ROWS], top[ROWS];
  double *all = o->pi + place_of(o, first);
  float *phi = o->phi + place_of(o, first);
  for (size_t i = 0; i < rows; i++)
    top[i] = -INFINITY;
  int node[ROWS];
  for (size_t j = 0; j < o->k; j++) {
    double *at = all + ROWS * j;
    for (size_t i = 0; i < rows; i++)
      tau[i] = gpc_gp_score(o->data, first + i, j);
    gpc_line_coordinates(&v->nodes->line, rows, tau, tau);
    gpc_line_weights(rows, tau, ROWS, node, wts);
    for (size_t i = 0; i < rows; i++) {
      const double *psi = v->psi + gpc_nodes_at(v->nodes, (size_t)node[i]);
      double sum = 0.0;
      for (size_t s = 0; s < GPC_STENCIL; s++)
        sum += wts[s * ROWS + i] * psi[s];
      at[i] = sum;
      top[i] = sum > top[i] ? sum : top[i];
    }
  }
  for (size_t j = 0; j < o->k; j++)
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      const double less = all[i + ROWS * j] - top[i];
      phi[i + ROWS * j] = (float)(less > LEAST_PHI ? less : LEAST_PHI);
    }
}

gpc_offsets_pass gpc_offsets_pass_get(gpc_visitor *visitor, const gpc_visit *from,
                                      const gpc_offsets_site *site) {
  const gpc_memory *memory = visitor->memory;
  const size_t k = visitor->data->k;
  gpc_offsets_pass o = {.data = visitor->data,
                        .from = from,
                        .site = site,
                        .n = visitor->data->n,
                        .k = k,
                        .phi = gpc_get_floats(memory, ROWS * k),
                        .pi = gpc_get_doubles(memory, ROWS * k),
                        .b = gpc_get_doubles(memory, k),
                        .var = gpc_get_doubles(memory, k),
                        .g = gpc_get_doubles(memory, k),
                        .h = gpc_get_doubles(memory, k),
                        .mass = gpc_get_doubles(memory, k)};
  memset(o.b, 0, k * sizeof(double));
  memset(o.var, 0, k * sizeof(double));
  return o;
}

void gpc_offsets_pass_keep(const gpc_memory *memory, gpc_offsets_pass *o) {
  o->kept = 1;
  const size_t size = gpc_offsets_pass_room(o->n, o->k);
  gpc_give(memory, o->phi); /* of one block */
  gpc_give(memory, o->pi);
  o->phi = gpc_get_floats(memory, size);
  o->pi = gpc_get_doubles(memory, size);
  for (size_t first = 0; first < o->n; first += ROWS)
    read_rows(o, first, o->n - first < ROWS ? o->n - first : ROWS);
}

/* One softmax of phi + b + D / 2 over ROWS rows, given D through all = sum_j a_j^2 var_j
 * and pi = a of the step before; bound [rows] is its log sum. */
GPC_FUSED static void tilt_rows(gpc_offsets_pass *o, size_t first, size_t rows,
                                const double *all, int tilted, double *bound) {
  double top[ROWS], sum[ROWS];
  for (size_t i = 0; i < rows; i++) {
    top[i] = -INFINITY;
    sum[i] = 0.0;
  }
  for (size_t j = 0; j < o->k; j++) {
    const float *phi = o->phi + place_of(o, first) + ROWS * j;
    double *pi = o->pi + place_of(o, first) + ROWS * j;
    const double b = o->b[j], v = o->var[j];
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      const double d = tilted ? 0.5 * (v * (1.0 - 2.0 * pi[i]) + all[i]) : 0.0;
      pi[i] = phi[i] + b + d;
    }
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      top[i] = pi[i] > top[i] ? pi[i] : top[i];
  }
  for (size_t j = 0; j < o->k; j++) {
    double *pi = o->pi + place_of(o, first) + ROWS * j;
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
    double *pi = o->pi + place_of(o, first) + ROWS * j;
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      pi[i] *= sum[i];
  }
}

GPC_FUSED static void squares(const gpc_offsets_pass *o, size_t first, size_t rows,
                              double *all) {
  memset(all, 0, rows * sizeof(double));
  for (size_t j = 0; j < o->k; j++) {
    const double *pi = o->pi + place_of(o, first) + ROWS * j, v = o->var[j];
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      all[i] += v * pi[i] * pi[i];
  }
}

#define EXPONENTIAL 2.0 /* up to such changes; a parabola beyond */

/* exp(d) - 1 - d, its slope and its curvature: what softmaxes lose by an offset d, over the
 * sum of their probabilities if these are small. */
static double lost(double d, double *slope, double *curvature) {
  const double near = fmin(fmax(d, -EXPONENTIAL), EXPONENTIAL), far = d - near;
  const double first = expm1(near);
  *curvature = first + 1.0;
  *slope = first + *curvature * far;
  return first - near + far * (first + 0.5 * *curvature * far);
}

double gpc_offsets_site_value(const gpc_offsets_site *site, size_t j, double b, double *g,
                              double *h) {
  const double d = b - site->b[j];
  double slope, curvature;
  const double loss = lost(d, &slope, &curvature);
  *g = site->g[j] - site->h[j] * slope;
  *h = site->h[j] * curvature;
  return site->g[j] * d - site->h[j] * loss;
}

/* What rows seen before add to a pass, eq. (O5): their curvature is diagonal. */
static void add_site(gpc_offsets_pass *o) {
  for (size_t j = 0; j < o->k; j++) {
    double g, h;
    o->fit += gpc_offsets_site_value(o->site, j, o->b[j], &g, &h) - 0.5 * h * o->var[j];
    o->g[j] += g;
    o->h[j] += h;
    o->mass[j] += h;
    if (o->cross)
      o->cross[j] += o->site->cross[j];
  }
}

/* What a block adds to g, mass and h, by class. w [rows]. */
GPC_FUSED static void add_sums(gpc_offsets_pass *o, size_t first, size_t rows,
                               const double *w) {
  for (size_t j = 0; j < o->k; j++) {
    const double *pi = o->pi + place_of(o, first) + ROWS * j;
    double mass = 0.0, spread = 0.0;
#pragma omp simd reduction(+ : mass, spread)
    for (size_t i = 0; i < rows; i++) {
      mass += w[i] * pi[i];
      spread += w[i] * pi[i] * (1.0 - pi[i]);
    }
    o->g[j] -= mass;
    o->mass[j] += mass;
    o->h[j] += spread;
  }
}

GPC_FUSED static void add_cross(gpc_offsets_pass *o, size_t first, size_t rows,
                                const double *w) {
  const float *phi = o->phi + place_of(o, first);
  const double *pi = o->pi + place_of(o, first);
  double mean[ROWS] = {0};
  for (size_t j = 0; j < o->k; j++)
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      mean[i] += pi[i + ROWS * j] * phi[i + ROWS * j];
  for (size_t j = 0; j < o->k; j++) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < rows; i++)
      sum += w[i] * pi[i + ROWS * j] * (phi[i + ROWS * j] - mean[i]);
    o->cross[j] += sum;
  }
}

/* Block by block: pi of one fits the cache. */
GPC_FUSED void gpc_offsets_product(const gpc_offsets_pass *o, const double *v,
                                   double *out) {
  for (size_t j = 0; j < o->k; j++)
    out[j] = o->mass[j] * v[j];
  for (size_t first = 0; first < o->n; first += ROWS) {
    const size_t rows = o->n - first < ROWS ? o->n - first : ROWS;
    const double *pi = o->pi + place_of(o, first);
    double dots[ROWS] = {0};
    for (size_t j = 0; j < o->k; j++)
#pragma omp simd
      for (size_t i = 0; i < rows; i++)
        dots[i] += v[j] * pi[i + ROWS * j];
    for (size_t i = 0; i < rows; i++)
      dots[i] *= gpc_gp_weight(o->data, first + i);
    for (size_t j = 0; j < o->k; j++) {
      double sum = 0.0;
#pragma omp simd reduction(+ : sum)
      for (size_t i = 0; i < rows; i++)
        sum += pi[i + ROWS * j] * dots[i];
      out[j] -= sum;
    }
  }
}

void gpc_offsets_visit(gpc_offsets_pass *o, int tilted) {
  const gpc_gp_data *data = o->data;
  memset(o->g, 0, o->k * sizeof(double));
  memset(o->h, 0, o->k * sizeof(double));
  memset(o->mass, 0, o->k * sizeof(double));
  if (o->cross)
    memset(o->cross, 0, o->k * sizeof(double));
  o->fit = 0.0;
  for (size_t first = 0; first < o->n; first += ROWS) {
    const size_t rows = o->n - first < ROWS ? o->n - first : ROWS;
    double all[ROWS], bound[ROWS], w[ROWS];
    if (!o->kept)
      read_rows(o, first, rows);
    if (!tilted || !o->kept)
      tilt_rows(o, first, rows, all, 0, bound);
    for (int step = 0; step < TILTS && tilted; step++) {
      squares(o, first, rows, all);
      tilt_rows(o, first, rows, all, 1, bound);
    }
    for (size_t i = 0; i < rows; i++) {
      const size_t label = (size_t)data->label[first + i] - 1;
      w[i] = gpc_gp_weight(data, first + i);
      o->fit +=
          w[i] * (o->phi[place_of(o, first) + i + ROWS * label] + o->b[label] - bound[i]);
      o->g[label] += w[i];
    }
    add_sums(o, first, rows, w);
    if (o->cross)
      add_cross(o, first, rows, w);
  }
  if (o->site)
    add_site(o);
}
