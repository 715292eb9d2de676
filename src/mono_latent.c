/* mono_latent.c: see mono_latent.h. */
#include "mono_latent.h"
#include "mono_functions.h"
#include "mono_project.h"
#include "linalg.h"

#include <string.h>

#define PAIRS 64

gpc_status gpc_mono_variance(const gpc_mono_table *table, const gpc_memory *memory,
                             double *var) {
  const size_t nodes = table->nodes, m = table->m;
  void *mark = memory->mark(memory->self);
  double *x = gpc_get_doubles(memory, m * PAIRS), *g = gpc_get_doubles(memory, nodes),
         *dev = gpc_get_doubles(memory, nodes * PAIRS);
  const gpc_status status = gpc_mono_design(table, PAIRS, 0, memory, x);
  gpc_gemm(0, 0, nodes, PAIRS, m, 1.0, table->b, x, 0.0, dev);
  memset(var, 0, nodes * sizeof(double));
  for (size_t d = 0; d < 2 * PAIRS; d++) {
    const double sign = d % 2 ? -1.0 : 1.0, *own = dev + d / 2 * nodes;
    for (size_t i = 0; i < nodes; i++)
      g[i] = table->phi[i] + sign * own[i];
    gpc_mono_project(table, table->slope, memory, g);
    for (size_t i = 0; i < nodes; i++) {
      const double away = g[i] - table->map[i];
      var[i] += away * away / (2.0 * PAIRS);
    }
  }
  memory->release(memory->self, mark);
  return status;
}

void gpc_mono_latent(const gpc_mono_table *table, const double *var, size_t n,
                     const double *t, double *mean, double *v) {
  const size_t last = table->nodes - 1;
  for (size_t i = 0; i < n; i++) {
    const gpc_mono_place at = gpc_mono_find(table, t[i]);
    const size_t below = (size_t)at.cell, above = below < last ? below + 1 : last;
    mean[i] = gpc_mono_between(table->map[below], table->map[above], at.u) + at.off;
    if (v)
      v[i] = var[below] + at.u * (var[above] - var[below]);
  }
}
