/* gp_delta.c: see gp_delta.h. With b(z) as in gp_lookup.h and bbar = sum_k s_k b(z_k),
 *
 *   (C s)_k = b(z_k)'bbar + s_k rho(z_k),   s'C s = bbar'bbar + sum_k s_k^2 rho(z_k),
 *
 * the terms with rho only with_residual. h_k = C_kk - 2 (C s)_k below, so that D_k = h_k
 * + s'C s. */
#include "gp_delta.h"
#include "gp_design.h"
#include "simd.h"

#include <float.h>
#include <string.h>

#define ROWS GPC_GP_ROWS

/* Few scores: straight from their features. Many: by way of the nodes. */
static int few_scores(const gpc_gp_lookup *lookup, size_t k) {
  return k < lookup->bulk / 2;
}

void gpc_gp_delta_take(const gpc_gp_lookup *lookup, size_t k, const gpc_memory *memory,
                       gpc_gp_delta_work *work) {
  const int few = few_scores(lookup, k);
  *work = (gpc_gp_delta_work){
      .mass = few ? NULL : gpc_get_doubles(memory, ROWS * lookup->nodes),
      .bbar = gpc_get_doubles(memory, lookup->rank),
      .feature = few ? gpc_get_doubles(memory, k * lookup->rank) : NULL,
      .h = gpc_get_doubles(memory, few ? k * ROWS : lookup->nodes),
      .sum = gpc_get_doubles(memory, 2 * GPC_GP_DESIGN_PAIRS),
  };
}

#define DELTA_ERROR 1e-4 /* the next terms may be so large */
#define LARGEST_MEAN_D 0.5

/* Eight times the size of the next terms, relative to a probability. */
static inline double next_terms(double d) { return d * d * (1.0 + 0.125 * d * d); }

/* worst = max_k s_k next_terms(D_k), mean = sum_k s_k next_terms(D_k), top = max_k s_k.
 * */
static int too_large(double worst, double mean, double top, double dbar) {
  const double most = worst > top * mean ? worst : top * mean;
  return most > 8.0 * DELTA_ERROR || dbar > LARGEST_MEAN_D;
}

/* The nodes between which the scores of row i lie, `from` up to but without `to`. */
static inline void nodes_of(const gpc_gp_block *block, size_t i, size_t *from,
                            size_t *to) {
  *from = (size_t)block->low[i] / GPC_CELLS_PER_NODE;
  *to = (size_t)block->high[i] / GPC_CELLS_PER_NODE + 2;
}

static inline double dot(size_t n, const double *x, const double *y) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (size_t q = 0; q < n; q++)
    sum += x[q] * y[q];
  return sum;
}

/* Exponentials, their sums, and their spread over the nodes: mass [ROWS][nodes]. */
GPC_WIDE static void spread_mass(const gpc_gp_lookup *lookup, gpc_gp_block *block,
                                 double *mass) {
  const size_t nodes = lookup->nodes, rows = block->rows;
  double sum[ROWS] = {0};
  for (size_t i = 0; i < rows; i++) {
    size_t from, end;
    nodes_of(block, i, &from, &end);
    memset(mass + i * nodes + from, 0, (end - from) * sizeof(double));
  }
  for (size_t j = 0; j < block->k; j++) {
    const double *e = block->e + j * ROWS;
    const float *u = block->u + j * ROWS;
    const int *node = block->node + j * ROWS;
    gpc_gp_block_exp(block, j, sum);
    for (size_t i = 0; i < rows; i++) {
      const double part = e[i] * (double)u[i];
      double *to = mass + i * nodes + node[i];
      to[0] += e[i] - part;
      to[1] += part;
    }
  }
  for (size_t i = 0; i < rows; i++)
    block->inv[i] = 1.0 / sum[i];
}

/* phi of a score beside a node may be higher than at the node. */
#define SLACK 0.5
#define NO_MASS 1e-12 /* less, on a node, adds nothing to the row's mean */

/* Many scores, row i: bbar follows from mass [nodes] of the row, and h [nodes] where
 * there is some (c left out with_residual, when it is looked up by score); h may be mass
 * itself. Returns sum_k s_k h_k. With `next`: its [0] and [1] are worst and mean of
 * too_large(), judged on the nodes: no class there is likelier than a score at the node
 * would be, nor than twice what lies on it. */
GPC_WIDE static double h_on_nodes(const gpc_gp_lookup *lookup, const gpc_gp_block *block,
                                  size_t i, const double *mass, double *bbar,
                                  double *quad, double *next, double *h) {
  const size_t rank = lookup->rank;
  const double inv = block->inv[i];
  size_t from, end;
  nodes_of(block, i, &from, &end);
  memset(bbar, 0, rank * sizeof(double));
  for (size_t g = from; g < end; g++) {
    const double *b = lookup->node + g * rank, s = mass[g] * inv;
    if (s < NO_MASS)
      continue;
#pragma omp simd
    for (size_t q = 0; q < rank; q++)
      bbar[q] += s * b[q];
  }
  *quad = dot(rank, bbar, bbar);
  double hbar = 0.0;
  for (size_t g = from; g < end; g++) {
    const double here = mass[g] * inv;
    if (here == 0.0)
      continue; /* no score looks at it, or only those without weight or probability */
    const double value = (block->with_residual ? 0.0 : lookup->node_c[g]) -
                         2.0 * dot(rank, bbar, lookup->node + g * rank);
    hbar += here * value;
    if (next) {
      const double terms = next_terms(value + *quad), twice = 2.0 * here * terms;
      if (twice > next[0]) {
        const double phi = lookup->node_phi[g] + SLACK - block->top[i];
        const double one = gpc_exp_nonpos(phi < 0.0 ? phi : 0.0) * inv * terms;
        const double size = one < twice ? one : twice;
        next[0] = size > next[0] ? size : next[0];
      }
      next[1] += here * terms;
    }
    h[g] = value;
  }
  return hbar;
}

/* Few scores, row i: h [k][ROWS] straight from the features. Returns sum_k s_k h_k. */
GPC_WIDE static double h_direct(const gpc_gp_lookup *lookup, const gpc_gp_block *block,
                                size_t i, double *feature, double *h, double *bbar,
                                double *quad) {
  const size_t rank = lookup->rank, k = block->k;
  memset(bbar, 0, rank * sizeof(double));
  for (size_t j = 0; j < k; j++) {
    const double s = block->e[j * ROWS + i] * block->inv[i];
    const double u = (double)block->u[j * ROWS + i];
    const size_t g = (size_t)block->node[j * ROWS + i];
    const double *b = lookup->node + g * rank, *c = lookup->node_c + g;
    double *own = feature + j * rank;
#pragma omp simd
    for (size_t q = 0; q < rank; q++) {
      own[q] = b[q] + u * (b[q + rank] - b[q]);
      bbar[q] += s * own[q];
    }
    h[j * ROWS + i] = block->with_residual ? 0.0 : c[0] + u * (c[1] - c[0]);
  }
  *quad = dot(rank, bbar, bbar);
  double hbar = 0.0;
  for (size_t j = 0; j < k; j++) {
    h[j * ROWS + i] -= 2.0 * dot(rank, feature + j * rank, bbar);
    hbar += block->e[j * ROWS + i] * block->inv[i] * h[j * ROWS + i];
  }
  return hbar;
}

/* Linear interpolation of exp(d) between nodes raises it by an eighth of the variance of
 * d from one to the next, relatively (and so does that of D in eq. (24)). Most of that is
 * common to the classes of a row and cancels. Rows with more than this are integrated
 * with cubic interpolation instead. */
#define LINEAR_ERROR 1e-3

static int linear_will_do(const gpc_gp_lookup *lookup, size_t from, size_t end,
                          const double *mass) {
  double error = 0.0;
  for (size_t g = from; g < end; g++)
    error += 0.125 * mass[g] * lookup->node_step[g];
  return error < LINEAR_ERROR;
}

/* Row i: mass [nodes] becomes the factor of exp(phi - top) in its probabilities: inv (1 +
 * (D - mean of D) / 2) by eq. (24), or inv F by integration. Returns 1 if that is needed
 * and has not been done. */
static int factor_on_nodes(const gpc_gp_lookup *lookup, const gpc_gp_functions *functions,
                           const gpc_gp_block *block, size_t i, gpc_gp_delta_work *work,
                           double *mass) {
  const double inv = block->inv[i];
  double *h = work->h, next[2] = {0.0, 0.0}, quad;
  const double hbar = h_on_nodes(lookup, block, i, mass, work->bbar, &quad, next, h);
  const int needed = too_large(next[0], next[1], inv, hbar + quad);
  size_t from, end;
  nodes_of(block, i, &from, &end);
  if (needed && functions && functions->on_nodes) {
    for (size_t g = from; g < end; g++)
      mass[g] *= inv;
    if (linear_will_do(lookup, from, end, mass)) {
      gpc_gp_average_nodes(functions, from, end, mass, work->sum, h);
      for (size_t g = from; g < end; g++)
        mass[g] = inv * h[g];
      return 0;
    }
  }
  for (size_t g = from; g < end; g++)
    mass[g] = mass[g] == 0.0 ? 0.0 : inv * (1.0 + 0.5 * (h[g] - hbar));
  return needed;
}

/* Many scores, no residual and a smooth mean: in a row, probability and correction are
 * functions of the score, so that all but one multiplication is done on the nodes, and
 * the error is judged there as well. */
GPC_WIDE static void delta_on_nodes(const gpc_gp_lookup *lookup,
                                    const gpc_gp_functions *functions, size_t n,
                                    gpc_gp_block *block, gpc_gp_delta_work *work,
                                    double *p, int *needs_integration) {
  const size_t nodes = lookup->nodes, rows = block->rows;
  const double smallest = DBL_MIN; /* no probability is exactly 0 */
  spread_mass(lookup, block, work->mass);
  for (size_t i = 0; i < rows; i++)
    needs_integration[block->row[i]] =
        factor_on_nodes(lookup, functions, block, i, work, work->mass + i * nodes);
  for (size_t j = 0; j < block->k; j++) {
    const double *e = block->e + j * ROWS;
    const float *u = block->u + j * ROWS;
    const int *node = block->node + j * ROWS;
    double *to = p + block->row[0] + j * n;
    for (size_t i = 0; i < rows; i++) {
      const double *factor = work->mass + i * nodes + node[i];
      const double v = e[i] * (factor[0] + (double)u[i] * (factor[1] - factor[0]));
      to[i] = v > smallest ? v : smallest;
    }
  }
}

/* quad += sum s_k^2 rho_k and dbar += sum s_k (c_k - 2 s_k rho_k), of each row. */
GPC_WIDE static void add_residual(const gpc_gp_block *block, double *quad, double *dbar) {
  for (size_t j = 0; j < block->k; j++)
    for (size_t i = 0; i < block->rows; i++) {
      const double s = block->e[j * ROWS + i] * block->inv[i];
      quad[i] += s * s * block->rho[j * ROWS + i];
      dbar[i] += s * (block->c[j * ROWS + i] - 2.0 * s * block->rho[j * ROWS + i]);
    }
}

/* h [rows] of class j. */
GPC_WIDE static void h_of_class(const gpc_gp_lookup *lookup, const gpc_gp_block *block,
                                const gpc_gp_delta_work *work, size_t j, double *h) {
  const size_t rows = block->rows, at = j * ROWS;
  if (!work->mass)
    memcpy(h, work->h + at, rows * sizeof(double));
  for (size_t i = 0; i < rows && work->mass; i++) {
    const double *mass = work->mass + i * lookup->nodes + block->node[at + i];
    h[i] = mass[0] + (double)block->u[at + i] * (mass[1] - mass[0]);
  }
  for (size_t i = 0; i < rows && block->with_residual; i++)
    h[i] +=
        block->c[at + i] - 2.0 * block->e[at + i] * block->inv[i] * block->rho[at + i];
}

/* eq. (24), every class judged by itself. */
GPC_WIDE static void delta_by_class(const gpc_gp_lookup *lookup, size_t n,
                                    gpc_gp_block *block, gpc_gp_delta_work *work,
                                    double *p, int *needs_integration) {
  const size_t rows = block->rows, nodes = lookup->nodes;
  const double smallest = DBL_MIN;
  double quad[ROWS], dbar[ROWS], worst[ROWS] = {0}, mean[ROWS] = {0}, h[ROWS];
  if (work->mass)
    spread_mass(lookup, block, work->mass);
  else
    gpc_gp_block_sums(block);
  for (size_t i = 0; i < rows; i++) {
    double *mass = work->mass ? work->mass + i * nodes : NULL;
    dbar[i] =
        mass ? h_on_nodes(lookup, block, i, mass, work->bbar, quad + i, NULL, mass)
             : h_direct(lookup, block, i, work->feature, work->h, work->bbar, quad + i);
  }
  if (block->with_residual)
    add_residual(block, quad, dbar);
  for (size_t i = 0; i < rows; i++)
    dbar[i] += quad[i];
  for (size_t j = 0; j < block->k; j++) {
    const double *e = block->e + j * ROWS, *inv = block->inv;
    double *to = p + j * n, v[ROWS];
    h_of_class(lookup, block, work, j, h);
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      const double s = e[i] * inv[i], d = h[i] + quad[i], size = s * next_terms(d);
      v[i] = s * (1.0 + 0.5 * (d - dbar[i]));
      worst[i] = size > worst[i] ? size : worst[i];
      mean[i] += size;
    }
    for (size_t i = 0; i < rows; i++)
      to[block->row[i]] = v[i] > smallest ? v[i] : smallest;
  }
  for (size_t i = 0; i < rows; i++)
    needs_integration[block->row[i]] =
        too_large(worst[i], mean[i], block->inv[i], dbar[i]);
}

void gpc_gp_delta(const gpc_gp_lookup *lookup, const gpc_gp_functions *functions,
                  size_t n, gpc_gp_block *block, gpc_gp_delta_work *work, double *p,
                  int *needs_integration) {
  if (work->mass && !block->with_residual && lookup->smooth_mean)
    delta_on_nodes(lookup, functions, n, block, work, p, needs_integration);
  else
    delta_by_class(lookup, n, block, work, p, needs_integration);
}
