/* mono_table.c: see mono_table.h. */
#include "mono_table.h"
#include "linalg.h"
#include "mono_project.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define REACH                                                                            \
  8.5 /* lengthscales from the last inducing input to where features vanish  \
                   */
#define NODES_PER_L 32.0    /* a function of the process bends little between two nodes */
#define NODES_PER_UNIT 16.0 /* a line of slope alpha rises by 1/16 from node to node */
#define LEAST_NODES 64.0
#define MOST_NODES 4096.0   /* 4 MB for 128 functions */
#define LEAST_SLOPE 0.01    /* of alpha: between 0 and 0.2 it hardly matters */
#define LEAST_WEIGHT 1e-4   /* of the mean weight, where no scores lie */
#define SPACING (2.0 / 3.0) /* lengthscales between inducing inputs that are added */
#define UNEXPLAINED 0.01    /* of the prior variance, where they are */
#define MOST_ADDED 500

/* The part of the range seen that the process reaches, on the scale of z. */
static void reached(const gpc_gp_fitted *fit, const gpc_mono_seen *seen, double *low,
                    double *high) {
  const gpc_basis *basis = &fit->basis;
  double first = basis->inducing[0], last = basis->inducing[0];
  for (size_t i = 1; i < basis->m; i++) {
    first = fmin(first, basis->inducing[i]);
    last = fmax(last, basis->inducing[i]);
  }
  *low = fmax(gpc_prior_point(&fit->prior, seen->lowest), first - REACH * basis->hyper.l);
  *high =
      fmin(gpc_prior_point(&fit->prior, seen->highest), last + REACH * basis->hyper.l);
  if (!(*low < *high)) { /* nothing seen, or nothing the inducing inputs know */
    *low = first;
    *high = last;
  }
}

/* Inducing inputs to add, into w unless NULL: points SPACING apart over the range at
 * which the prior variance is not explained. */
static size_t added_inputs(const gpc_gp_fitted *fit, const gpc_mono_seen *seen,
                           const gpc_memory *memory, double *w) {
  const gpc_hyper *hyper = &fit->basis.hyper;
  double low, high;
  reached(fit, seen, &low, &high);
  const double between = fmax(SPACING * hyper->l, (high - low) / MOST_ADDED);
  const size_t points = (size_t)floor((high - low) / between) + 1;
  void *mark = memory->mark(memory->self);
  double *z = gpc_get_doubles(memory, points), *rho = gpc_get_doubles(memory, points);
  double *a = gpc_get_doubles(memory, points * fit->basis.m);
  const double start = 0.5 * (low + high) - 0.5 * between * (double)(points - 1);
  for (size_t i = 0; i < points; i++)
    z[i] = start + between * (double)i;
  gpc_basis_eval(&fit->basis, points, z, a, rho);
  size_t count = 0;
  for (size_t i = 0; i < points; i++) {
    if (rho[i] - hyper->sn2 - hyper->between <= UNEXPLAINED * hyper->s2)
      continue;
    if (w)
      w[count] = z[i];
    count++;
  }
  memory->release(memory->self, mark);
  return count;
}

size_t gpc_mono_inputs(const gpc_gp_fitted *fit, const gpc_mono_seen *seen,
                       const gpc_memory *memory) {
  return fit->basis.m + added_inputs(fit, seen, memory, NULL);
}

/* Nodes: the range that is reached, evenly divided, and a margin on both sides. */
static void place_nodes(const gpc_gp_fitted *fit, const gpc_mono_seen *seen,
                        const gpc_memory *memory, gpc_mono_table *table) {
  const double slope = gpc_prior_line_slope(&fit->prior);
  double low, high;
  reached(fit, seen, &low, &high);
  low = gpc_prior_line(&fit->prior, low);
  high = gpc_prior_line(&fit->prior, high);
  if (!(high - low > 1e-6 * (fabs(low) + fabs(high)))) {
    low -= 0.5 / slope;
    high += 0.5 / slope;
  }
  const double span = high - low, l = fit->basis.hyper.l;
  double cells = fmax(ceil(fmax(span / l * NODES_PER_L, span * slope * NODES_PER_UNIT)),
                      LEAST_NODES);
  cells = fmin(cells, 0.5 * MOST_NODES);
  const double step = span / cells;
  const double margin =
      floor(fmin(fmax(0.25 * cells, 8.0 / (slope * step)), 0.5 * cells));
  table->nodes = (size_t)(cells + 2.0 * margin) + 1;
  table->first = (size_t)margin;
  table->last = (size_t)(margin + cells);
  table->step = step;
  table->inv_step = 1.0 / step;
  table->low = low - margin * step;
  table->slope = slope;
  table->least = LEAST_SLOPE * slope;
  table->t = gpc_get_doubles(memory, table->nodes);
  for (size_t g = 0; g < table->nodes; g++)
    table->t[g] = table->low + step * (double)g;
  table->high = table->t[table->nodes - 1];
}

/* The weight of every node of the range: the mass of its bin, per node, and a little more
 * so that none is zero. */
static void place_weights(const gpc_mono_seen *seen, const gpc_memory *memory,
                          gpc_mono_table *table) {
  const size_t nodes = table->nodes, bins = seen->bins;
  double *count = gpc_get_doubles(memory, bins + 2), total = 0.0;
  int *bin = gpc_get_ints(memory, nodes);
  table->weight = gpc_get_doubles(memory, nodes);
  memset(count, 0, (bins + 2) * sizeof(double));
  memset(table->weight, 0, nodes * sizeof(double));
  for (size_t g = table->first; g <= table->last; g++) {
    const double x = (table->t[g] - seen->from) / (seen->to - seen->from) * (double)bins;
    /* also right for a NaN, which a damaged object may lead to */
    bin[g] = !(x >= 0.0) ? 0 : !(x < (double)bins) ? (int)bins + 1 : (int)x + 1;
    count[bin[g]] += 1.0;
  }
  /* a bin without a node of its own gives its mass to the bin before it */
  const double width = (double)bins * table->step / (seen->to - seen->from);
  for (size_t g = table->first; g <= table->last; g++) {
    const int own = bin[g], next = g < table->last ? bin[g + 1] : own + 1;
    double mass = seen->mass[own] / count[own];
    for (int skipped = own + 1; width > 1.0 && skipped < next; skipped++)
      mass += seen->mass[skipped];
    table->weight[g] = mass;
    total += mass;
  }
  const double range = (double)(table->last - table->first + 1);
  const double least = total > 0.0 ? LEAST_WEIGHT * total / range : 1.0;
  for (size_t g = table->first; g <= table->last; g++)
    table->weight[g] += least;
}

/* Posterior mean and b on the nodes. */
static gpc_status place_process(const gpc_gp_fitted *fit, const gpc_mono_seen *seen,
                                const gpc_memory *memory, gpc_mono_table *table) {
  const size_t nodes = table->nodes, own = fit->basis.m;
  const size_t m = table->m = gpc_mono_inputs(fit, seen, memory);
  table->phi = gpc_get_doubles(memory, nodes);
  table->b = gpc_get_doubles(memory, nodes * m);
  void *mark = memory->mark(memory->self);
  double *w = gpc_get_doubles(memory, m), *z = gpc_get_doubles(memory, nodes),
         *a = gpc_get_doubles(memory, nodes * m), *rho = gpc_get_doubles(memory, nodes),
         *root = gpc_get_doubles(memory, own * own);
  memcpy(w, fit->basis.inducing, own * sizeof(double));
  added_inputs(fit, seen, memory, w + own);
  gpc_basis all = {.m = m,
                   .inducing = w,
                   .hyper = fit->basis.hyper,
                   .chol = gpc_get_doubles(memory, m * m)};
  memcpy(root, fit->q_cov, own * own * sizeof(double));
  gpc_status status = gpc_chol(own, 0.0, root);
  if (status == GPC_OK)
    status = gpc_basis_factor(&all);
  if (status == GPC_OK) {
    for (size_t g = 0; g < nodes; g++)
      z[g] = gpc_prior_point(&fit->prior, table->t[g]);
    gpc_basis_eval(&fit->basis, nodes, z, a, rho);
    gpc_gemm(0, 0, nodes, 1, own, 1.0, a, fit->q_mean, 0.0, table->phi);
    for (size_t g = 0; g < nodes; g++) /* eq. (7); log z is t itself */
      table->phi[g] += table->slope * table->t[g];
    /* the inputs added come last, so that the features of the others stay as they are */
    gpc_basis_eval(&all, nodes, z, a, rho);
    gpc_gemm(0, 0, nodes, own, own, 1.0, a, root, 0.0, table->b);
    memcpy(table->b + nodes * own, a + nodes * own, nodes * (m - own) * sizeof(double));
  }
  memory->release(memory->self, mark);
  return status;
}

/* With an increment d of the map from node to node, (exp(d u) - 1) / (exp(d) - 1) is met
 * at u = 1/2 by the bend c = 2 tanh(d / 4), and elsewhere to about d^3 / 400. */
static void place_bends(const gpc_memory *memory, gpc_mono_table *table) {
  const size_t nodes = table->nodes;
  table->bend = gpc_get_doubles(memory, nodes);
  for (size_t g = 0; g + 1 < nodes; g++) {
    const double c = 2.0 * tanh(0.25 * (table->map[g + 1] - table->map[g]));
    table->bend[g] = floor(fmin(fmax(c, 0.0), 1.0) * 0x1p20) * 0x1p-20;
  }
  table->bend[nodes - 1] = 0.0;
}

gpc_status gpc_mono_table_make(const gpc_gp_fitted *fit, const gpc_mono_seen *seen,
                               const gpc_memory *memory, gpc_mono_table *table) {
  *table = (gpc_mono_table){0};
  place_nodes(fit, seen, memory, table);
  place_weights(seen, memory, table);
  const gpc_status status = place_process(fit, seen, memory, table);
  if (status != GPC_OK)
    return status;
  table->map = gpc_get_doubles(memory, table->nodes);
  memcpy(table->map, table->phi, table->nodes * sizeof(double));
  gpc_mono_project(table, table->slope, memory, table->map);
  place_bends(memory, table);
  return GPC_OK;
}
