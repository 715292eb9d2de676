/* gp_integrate.c: see gp_integrate.h. */
#include "gp_integrate.h"
#include "fastexp.h"
#include "gp_design.h"
#include "linalg.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define PAIRS GPC_GP_DESIGN_PAIRS
#define DRAWS (2 * PAIRS) /* functions: phi + d, then phi - d */

/* The fixed functions, tabulated. */
typedef struct {
  size_t nodes;
  int on_nodes;  /* exp(d) may be interpolated between nodes */
  double *dev;   /* [nodes][PAIRS] d = b'x */
  double *grow;  /* [nodes][DRAWS] exp(d), then exp(-d); if on_nodes */
  double *noise; /* [residuals][PAIRS] */
} functions;

/* Cubic interpolation of exp(d) between nodes is off by about (3 / 128) E d'^4 = 0.07 v^2,
 * v the variance of d from one node to the next: 7e-4 of a probability at the most, where
 * the posterior is as wide as the prior. (The weights of an interpolation may be negative,
 * but its result is not: d would have to rise by 2.3 from node to node, seven standard
 * deviations.) */
#define LARGEST_STEP_VAR 0.1
#define MOST_NODES 20000 /* 80 MB of tables; a fit of 64 inducing inputs has below 1000 */
#define LARGEST_DEV 300.0 /* beyond any sensible function, but exp() stays finite */

static inline double hold(double d) {
  d = d < -LARGEST_DEV ? -LARGEST_DEV : d;
  return d > LARGEST_DEV ? LARGEST_DEV : d;
}

/* Work space of one thread. */
typedef struct {
  double *s, *place, *sd; /* [k] probabilities, places on the table, sqrt(rho) */
  double *mass, *factor;  /* [nodes] */
  int *used;              /* [nodes] a score lies beside it */
  double *sum;            /* [DRAWS] */
  double *own;            /* [DRAWS] exponentials of one score */
} row_work;

static row_work take_row_work(size_t k, size_t nodes, const gpc_memory *memory) {
  return (row_work){
      .s = gpc_take(memory, k),
      .place = gpc_take(memory, k),
      .sd = gpc_take(memory, k),
      .mass = gpc_take(memory, nodes),
      .factor = gpc_take(memory, nodes),
      .used = gpc_take_int(memory, nodes),
      .sum = gpc_take(memory, DRAWS),
      .own = gpc_take(memory, DRAWS),
  };
}

/* The largest number of a chosen row's scores whose residual matters. */
static size_t most_residuals(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                             const int *chosen) {
  size_t most = 0;
  for (size_t i = 0; i < data->n; i++) {
    size_t count = 0;
    for (size_t j = 0; j < data->k && chosen[i]; j++)
      count += (size_t)gpc_gp_has_residual(
          lookup, gpc_gp_place(lookup, gpc_gp_score(data, i, j)));
    most = count > most ? count : most;
  }
  return most;
}

static functions tabulate(const gpc_gp_lookup *lookup, size_t residuals,
                          const gpc_memory *memory) {
  const size_t rank = lookup->rank, nodes = lookup->nodes;
  const int on_nodes = lookup->step_var <= LARGEST_STEP_VAR && nodes <= MOST_NODES;
  functions f = {
      .nodes = nodes,
      .on_nodes = on_nodes,
      .dev = gpc_take(memory, nodes * PAIRS),
      .grow = on_nodes ? gpc_take(memory, nodes * DRAWS) : NULL,
      .noise = gpc_take(memory, residuals * PAIRS),
  };
  double *x = gpc_take(memory, rank * PAIRS);
  gpc_gp_design_functions(
      rank, gpc_take(memory, (PAIRS + GPC_GP_DESIGN_EXACT) * GPC_GP_DESIGN_EXACT), x);
  for (size_t j = 0; j < residuals; j++)
    gpc_gp_design_noise(j, rank, x, f.noise + j * PAIRS);
  gpc_gemm(1, 0, PAIRS, nodes, rank, 1.0, x, lookup->node, 0.0, f.dev);
  for (size_t g = 0; g < nodes && on_nodes; g++) {
    const double *dev = f.dev + g * PAIRS;
    double *up = f.grow + g * DRAWS, *down = up + PAIRS;
#pragma omp simd
    for (size_t d = 0; d < PAIRS; d++) {
      up[d] = gpc_exp(hold(dev[d]));
      down[d] = 1.0 / up[d];
    }
  }
  return f;
}

/* s, place and sd of the scores of row i. */
static void read_row(const gpc_gp_data *data, const gpc_gp_lookup *lookup, size_t i,
                     row_work *t) {
  double top = -INFINITY, sum = 0.0;
  for (size_t j = 0; j < data->k; j++) {
    const double z = gpc_gp_score(data, i, j), x = gpc_gp_place(lookup, z);
    const double u = x - floor(x);
    const double *cell = lookup->cell + 4 * (size_t)x, *var = lookup->cell_var + 4 * (size_t)x;
    t->place[j] = x;
    t->sd[j] = sqrt(var[2] + u * var[3]);
    t->s[j] = cell[0] + u * (cell[1] + u * (cell[2] + u * cell[3])) +
              gpc_prior_mu(&lookup->prior, z); /* eq. (7) */
    top = t->s[j] > top ? t->s[j] : top;
  }
  for (size_t j = 0; j < data->k; j++)
    sum += t->s[j] = gpc_exp_nonpos(t->s[j] - top);
  for (size_t j = 0; j < data->k; j++)
    t->s[j] /= sum;
}

/* Cubic interpolation at a place from four nodes: the first of them, and their weights. */
static size_t four_nodes(size_t nodes, double place, double *weight) {
  const double y = place / GPC_CELLS_PER_NODE;
  size_t first = y < 1.0 ? 0 : (size_t)y - 1;
  first = first + 4 > nodes ? nodes - 4 : first;
  const double u = y - (double)first; /* nodes at 0, 1, 2, 3 */
  weight[0] = -(u - 1.0) * (u - 2.0) * (u - 3.0) / 6.0;
  weight[1] = u * (u - 2.0) * (u - 3.0) / 2.0;
  weight[2] = -u * (u - 1.0) * (u - 3.0) / 2.0;
  weight[3] = u * (u - 1.0) * (u - 2.0) / 6.0;
  return first;
}

/* eq. (26): s exp(+-(d + sd noise)) of one score with exponentials of its own into own
 * [DRAWS]; noise [PAIRS] or NULL. */
static void own_exponentials(const functions *f, double s, double place, double sd,
                             const double *noise, double *own) {
  const double y = place / GPC_CELLS_PER_NODE, u = y - floor(y);
  const double *at = f->dev + (size_t)y * PAIRS, *next = at + PAIRS;
  double *up = own, *down = own + PAIRS;
  for (size_t d = 0; d < PAIRS; d++)
    up[d] = at[d] + u * (next[d] - at[d]);
  for (size_t d = 0; d < PAIRS && noise; d++)
    up[d] += sd * noise[d];
#pragma omp simd
  for (size_t d = 0; d < PAIRS; d++) {
    const double e = gpc_exp(hold(up[d]));
    up[d] = s * e;
    down[d] = s / e;
  }
}

/* own_exponentials() of class j if it has some; returns 1 then. `residuals` counts those of
 * the row with a residual, who have noise of their own. */
static int stands_alone(const gpc_gp_lookup *lookup, const functions *f, size_t j,
                        size_t *residuals, row_work *t) {
  const int residual = gpc_gp_has_residual(lookup, t->place[j]);
  if (f->on_nodes && !residual)
    return 0;
  const double *noise = residual ? f->noise + (*residuals)++ * PAIRS : NULL;
  own_exponentials(f, t->s[j], t->place[j], t->sd[j], noise, t->own);
  return 1;
}

/* sum [DRAWS] := 1 / (DRAWS sum_j s_j exp(d(z_j))). */
static void collect_sums(const gpc_gp_lookup *lookup, const functions *f, size_t k,
                         row_work *t) {
  size_t residuals = 0;
  memset(t->mass, 0, f->nodes * sizeof(double));
  memset(t->used, 0, f->nodes * sizeof(int));
  memset(t->sum, 0, DRAWS * sizeof(double));
  for (size_t j = 0; j < k; j++) {
    if (stands_alone(lookup, f, j, &residuals, t)) {
      for (size_t d = 0; d < DRAWS; d++)
        t->sum[d] += t->own[d];
      continue;
    }
    double weight[4];
    const size_t first = four_nodes(f->nodes, t->place[j], weight);
    for (size_t q = 0; q < 4; q++) {
      t->mass[first + q] += t->s[j] * weight[q];
      t->used[first + q] = 1;
    }
  }
  for (size_t g = 0; g < f->nodes; g++) {
    if (!t->used[g])
      continue;
    const double mass = t->mass[g], *grow = f->grow + g * DRAWS;
#pragma omp simd
    for (size_t d = 0; d < DRAWS; d++)
      t->sum[d] += mass * grow[d];
  }
  for (size_t d = 0; d < DRAWS; d++)
    t->sum[d] = 1.0 / (DRAWS * t->sum[d]);
}

/* F on the nodes in use. */
static void average_on_nodes(const functions *f, row_work *t) {
  for (size_t g = 0; g < f->nodes; g++) {
    if (!t->used[g])
      continue;
    const double *grow = f->grow + g * DRAWS;
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    for (size_t d = 0; d < DRAWS; d += 4)
      for (size_t q = 0; q < 4; q++)
        sum[q] += grow[d + q] * t->sum[d + q];
    t->factor[g] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
}

static void integrate_row(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                          const functions *f, size_t i, row_work *t, double *p) {
  size_t residuals = 0;
  read_row(data, lookup, i, t);
  collect_sums(lookup, f, data->k, t);
  average_on_nodes(f, t);
  for (size_t j = 0; j < data->k; j++) {
    double v = 0.0;
    if (stands_alone(lookup, f, j, &residuals, t)) {
      for (size_t d = 0; d < DRAWS; d++)
        v += t->own[d] * t->sum[d];
    } else {
      double weight[4];
      const size_t first = four_nodes(f->nodes, t->place[j], weight);
      for (size_t q = 0; q < 4; q++)
        v += t->s[j] * weight[q] * t->factor[first + q];
    }
    p[i + data->n * j] = v > DBL_MIN ? v : DBL_MIN; /* no probability is exactly 0 */
  }
}

#define ROWS_BETWEEN_POLLS 256

void gpc_gp_integrate(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                      const int *chosen, const gpc_memory *memory, gpc_poll poll,
                      void *poll_data, double *p) {
  const size_t n = data->n;
  const int threads = data->threads;
  size_t total = 0;
  for (size_t i = 0; i < n; i++)
    total += chosen[i] != 0;
  if (total == 0)
    return;
  const functions f = tabulate(lookup, most_residuals(data, lookup, chosen), memory);
  row_work *work = memory->take(memory->data, (size_t)threads * sizeof *work);
  for (int part = 0; part < threads; part++)
    work[part] = take_row_work(data->k, f.nodes, memory);
  for (size_t next = 0; next < n;) {
    const size_t begin = next;
    for (size_t count = 0; next < n && count < ROWS_BETWEEN_POLLS; next++)
      count += chosen[next] != 0;
    gpc_call_poll(poll, poll_data);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (int part = 0; part < threads; part++)
      for (size_t i = begin + (size_t)part; i < next; i += (size_t)threads)
        if (chosen[i])
          integrate_row(data, lookup, &f, i, work + part, p);
  }
}
