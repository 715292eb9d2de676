/* gp_integrate.c: see gp_integrate.h. */
#include "gp_integrate.h"
#include "gp_design.h"
#include "simd.h"
#include "linalg.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROWS GPC_GP_ROWS
#define PAIRS GPC_GP_DESIGN_PAIRS
#define DRAWS (2 * PAIRS) /* functions: phi + d, then phi - d */

/* Cubic interpolation of exp(d) between nodes is off by about (3 / 128) E d'^4 = 0.07
 * v^2, v the variance of d from one node to the next: 7e-4 of a probability at the most,
 * where the posterior is as wide as the prior. (The weights of an interpolation may be
 * negative, but its result is not: d would have to rise by 2.3 from node to node, seven
 * standard deviations.) */
#define LARGEST_STEP_VAR 0.1
#define MOST_NODES 20000 /* 80 MB of tables; a fit of 64 inducing inputs has below 1000 */
#define LARGEST_VAR 256.0 /* five standard deviations fit into a float's exponent, */
#define FLOAT_DEV 80.0    /* which reaches to exp(88) */
#define LARGEST_DEV 300.0 /* beyond any sensible function, but exp() stays finite */

static inline double hold(double d, double most) {
  d = d < -most ? -most : d;
  return d > most ? most : d;
}

static int can_interpolate(const gpc_gp_lookup *lookup) {
  double var = 0.0;
  for (size_t g = 0; g < lookup->nodes; g++)
    var = fmax(var, lookup->node_c[g]);
  return lookup->residual_free && lookup->step_var <= LARGEST_STEP_VAR &&
         var <= LARGEST_VAR && lookup->nodes <= MOST_NODES;
}

/* d on the nodes from, ..., end - 1. */
static void tabulate(const gpc_gp_lookup *lookup, size_t from, size_t end,
                     gpc_gp_functions *f) {
  gpc_gemm(1, 0, PAIRS, end - from, f->rank, 1.0, f->x, lookup->node + from * f->rank,
           0.0, f->dev + from * PAIRS);
}

gpc_gp_functions gpc_gp_functions_make(const gpc_gp_lookup *lookup,
                                       const gpc_memory *memory) {
  const size_t rank = lookup->rank, nodes = lookup->nodes;
  const int on_nodes = can_interpolate(lookup);
  const size_t exact = GPC_GP_DESIGN_EXACT;
  gpc_gp_functions f = {
      .nodes = nodes,
      .rank = rank,
      .on_nodes = on_nodes,
      .x = gpc_get_doubles(memory, rank * PAIRS),
      .dev = gpc_get_doubles(memory, nodes * PAIRS),
      .grow = on_nodes ? gpc_get_floats(memory, nodes * DRAWS) : NULL,
  };
  gpc_gp_design_functions(rank, gpc_get_doubles(memory, (PAIRS + exact) * exact), f.x);
  if (on_nodes) { /* with those that interpolation reaches to */
    const size_t low = (size_t)lookup->residual_low / GPC_CELLS_PER_NODE;
    const size_t high = (size_t)lookup->residual_high / GPC_CELLS_PER_NODE + 3;
    f.from = low < 2 ? 0 : low - 2;
    f.end = high > nodes ? nodes : high;
    tabulate(lookup, f.from, f.end, &f);
  }
  for (size_t g = f.from; g < f.end; g++) {
    const double *dev = f.dev + g * PAIRS;
    float *up = f.grow + g * DRAWS, *down = up + PAIRS;
#pragma omp simd
    for (size_t d = 0; d < PAIRS; d++) {
      const double e = gpc_exp(hold(dev[d], FLOAT_DEV));
      up[d] = (float)e;
      down[d] = (float)(1.0 / e);
    }
  }
  return f;
}

gpc_gp_integrate_work gpc_gp_integrate_take(const gpc_gp_lookup *lookup,
                                            const gpc_memory *memory) {
  return (gpc_gp_integrate_work){
      .mass = gpc_get_doubles(memory, lookup->nodes),
      .factor = gpc_get_doubles(memory, lookup->nodes),
      .sum = gpc_get_doubles(memory, DRAWS),
      .own = gpc_get_doubles(memory, DRAWS),
  };
}

/* Cubic interpolation at a score between nodes `node` and `node` + 1 from the four around
 * it: the first of them, and their weights. */
static inline size_t four_nodes(size_t nodes, size_t node, double u, double *weight) {
  size_t first = node == 0 ? 0 : node - 1;
  first = first + 4 > nodes ? nodes - 4 : first;
  const double t = u + (double)(node - first); /* nodes at 0, 1, 2, 3 */
  const double a = t * (t - 1.0), b = (t - 2.0) * (t - 3.0);
  weight[0] = b * (1.0 - t) * (1.0 / 6.0);
  weight[1] = b * t * 0.5;
  weight[2] = a * (3.0 - t) * 0.5;
  weight[3] = a * (t - 2.0) * (1.0 / 6.0);
  return first;
}

/* eq. (26): s exp(+-(d + sd noise)) of one score with exponentials of its own into own
 * [DRAWS]; noise [PAIRS] or NULL. */
static void own_exponentials(const gpc_gp_functions *f, double s, size_t node, double u,
                             double sd, const double *noise, double *own) {
  const double *at = f->dev + node * PAIRS, *next = at + PAIRS;
  double *up = own, *down = own + PAIRS;
  for (size_t d = 0; d < PAIRS; d++)
    up[d] = at[d] + u * (next[d] - at[d]);
  for (size_t d = 0; d < PAIRS && noise; d++)
    up[d] += sd * noise[d];
#pragma omp simd
  for (size_t d = 0; d < PAIRS; d++) {
    const double e = gpc_exp(hold(up[d], LARGEST_DEV));
    up[d] = s * e;
    down[d] = s / e;
  }
}

/* A row of a block, class by class. */
typedef struct {
  const gpc_gp_lookup *lookup;
  const gpc_gp_functions *f;
  const gpc_gp_block *block;
  size_t i;
  int all_on_nodes;
  const double *noise; /* of the next score with a residual */
} row;

static int has_residual(const gpc_gp_lookup *lookup, const gpc_gp_block *block,
                        size_t at) {
  const double y = (double)block->node[at] + (double)block->u[at];
  return gpc_gp_has_residual(lookup, GPC_CELLS_PER_NODE * y);
}

/* own_exponentials() of class j if it has some; returns 1 then. */
static int stands_alone(row *r, size_t j, double *own) {
  if (r->all_on_nodes)
    return 0;
  const size_t at = j * ROWS + r->i, node = (size_t)r->block->node[at];
  const double u = (double)r->block->u[at];
  const int residual = has_residual(r->lookup, r->block, at);
  if (r->f->on_nodes && !residual)
    return 0;
  own_exponentials(r->f, r->block->e[at] * r->block->inv[r->i], node, u,
                   residual ? sqrt(r->block->rho[at]) : 0.0, residual ? r->noise : NULL,
                   own);
  if (residual)
    r->noise += PAIRS;
  return 1;
}

/* sum [DRAWS] := what the scores that stand alone add to sum_j s_j exp(d(z_j)); the
 * others are spread over the nodes, mass [nodes]. */
static void spread_row(row r, gpc_gp_integrate_work *t) {
  const size_t nodes = r.f->nodes;
  memset(t->mass, 0, nodes * sizeof(double));
  memset(t->sum, 0, DRAWS * sizeof(double));
  for (size_t j = 0; j < r.block->k; j++) {
    if (stands_alone(&r, j, t->own)) {
      for (size_t d = 0; d < DRAWS; d++)
        t->sum[d] += t->own[d];
      continue;
    }
    const size_t at = j * ROWS + r.i, node = (size_t)r.block->node[at];
    const double s = r.block->e[at] * r.block->inv[r.i];
    double weight[4];
    const size_t first = four_nodes(nodes, node, (double)r.block->u[at], weight);
    for (size_t q = 0; q < 4; q++)
      t->mass[first + q] += s * weight[q];
  }
}

/* The same with what is in sum already. */
GPC_WIDE static void average_nodes(const gpc_gp_functions *f, size_t from, size_t end,
                                   const double *mass, double *sum, double *factor) {
  for (size_t g = from; g < end; g++) {
    const double here = mass[g];
    const float *grow = f->grow + g * DRAWS;
    if (here == 0.0)
      continue;
#pragma omp simd
    for (size_t d = 0; d < DRAWS; d++)
      sum[d] += here * (double)grow[d];
  }
#pragma omp simd
  for (size_t d = 0; d < DRAWS; d++)
    sum[d] = 1.0 / (DRAWS * sum[d]);
  for (size_t g = from; g < end; g++) {
    factor[g] = 0.0;
    if (mass[g] == 0.0)
      continue;
    const float *grow = f->grow + g * DRAWS;
    double part[4] = {0.0, 0.0, 0.0, 0.0};
    for (size_t d = 0; d < DRAWS; d += 4)
      for (size_t q = 0; q < 4; q++)
        part[q] += (double)grow[d + q] * sum[d + q];
    factor[g] = (part[0] + part[1]) + (part[2] + part[3]);
  }
}

void gpc_gp_average_nodes(const gpc_gp_functions *f, size_t from, size_t end,
                          const double *mass, double *sum, double *factor) {
  memset(sum, 0, DRAWS * sizeof(double));
  average_nodes(f, from, end, mass, sum, factor);
}

void gpc_gp_integrate_row(const gpc_gp_lookup *lookup, const gpc_gp_functions *f,
                          const double *noise, size_t n, const gpc_gp_block *block,
                          size_t i, gpc_gp_integrate_work *work, double *p) {
  row r = {.lookup = lookup,
           .f = f,
           .block = block,
           .i = i,
           .noise = noise,
           .all_on_nodes = gpc_gp_is_on_nodes(lookup, f, block, i)};
  double *to = p + block->row[i];
  spread_row(r, work);
  average_nodes(f, f->from, f->end, work->mass, work->sum, work->factor);
  for (size_t j = 0; j < block->k; j++) {
    double v = 0.0;
    if (stands_alone(&r, j, work->own)) {
      for (size_t d = 0; d < DRAWS; d++)
        v += work->own[d] * work->sum[d];
    } else {
      const size_t at = j * ROWS + i, node = (size_t)block->node[at];
      double weight[4];
      const size_t first = four_nodes(f->nodes, node, (double)block->u[at], weight);
      const double *factor = work->factor + first;
      v = block->e[at] * block->inv[i] *
          ((weight[0] * factor[0] + weight[1] * factor[1]) +
           (weight[2] * factor[2] + weight[3] * factor[3]));
    }
    to[n * j] = v > DBL_MIN ? v : DBL_MIN; /* no probability is exactly 0 */
  }
}

/* The largest number of a chosen row's scores whose residual matters. */
static size_t most_residuals(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                             const int *chosen, gpc_gp_block *block) {
  size_t most = 0;
  for (size_t i = 0; i < data->n; i++) {
    size_t count = 0;
    if (chosen[i])
      gpc_gp_block_read(data, lookup, i, 1, 0, block);
    for (size_t j = 0; j < data->k && chosen[i]; j++)
      count += (size_t)has_residual(lookup, block, j * ROWS);
    most = count > most ? count : most;
  }
  return most;
}

/* Scores that may have 512 exponentials each between two polls: half a second. */
#define SCORES_BETWEEN_POLLS 100000

void gpc_gp_integrate(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                      gpc_gp_functions *f, const int *chosen, const gpc_memory *memory,
                      gpc_poll poll, void *poll_data, gpc_gp_block *blocks,
                      gpc_gp_integrate_work *work, double *p) {
  const size_t n = data->n, residuals = most_residuals(data, lookup, chosen, blocks);
  const size_t some = SCORES_BETWEEN_POLLS / data->k + 1;
  const int threads = data->threads;
  double *noise = gpc_get_doubles(memory, residuals * PAIRS);
  tabulate(lookup, 0, f->from, f);
  tabulate(lookup, f->end, f->nodes, f);
  for (size_t j = 0; j < residuals; j++)
    gpc_gp_design_noise(j, f->rank, f->x, noise + j * PAIRS);
  for (size_t next = 0; next < n;) {
    const size_t begin = next;
    for (size_t count = 0; next < n && count < some; next++)
      count += chosen[next] != 0;
    gpc_call_poll(poll, poll_data);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int part = 0; part < threads; part++)
      for (size_t i = begin + (size_t)part; i < next; i += (size_t)threads)
        if (chosen[i]) {
          gpc_gp_block_read(data, lookup, i, 1, 1, blocks + part);
          gpc_gp_block_sums(blocks + part);
          gpc_gp_integrate_row(lookup, f, noise, n, blocks + part, 0, work + part, p);
        }
  }
}
