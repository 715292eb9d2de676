/* gp_joint_table.c: see gp_joint_table.h. */
#include "gp_joint_table.h"
#include "linalg.h"
#include "simd.h"

#include <math.h>
#include <string.h>

#define NODES_PER_L 32.0
#define FINE_PER_L 128.0 /* for the mean alone, which other programs compute, too */
#define REACH 9.0 /* lengthscales beyond the inducing inputs: exp(-40) is left of them */

void gpc_joint_table_make(const gpc_joint_fitted *fit, const double *root,
                          const gpc_memory *memory, gpc_joint_table *table) {
  const gpc_basis *basis = &fit->process.basis;
  const size_t m = basis->m, x = root ? m + fit->slopes : 0;
  const double l = basis->hyper.l;
  double low = basis->inducing[0], high = basis->inducing[0];
  for (size_t i = 1; i < m; i++) {
    low = fmin(low, basis->inducing[i]);
    high = fmax(high, basis->inducing[i]);
  }
  table->m = m;
  table->x = x;
  table->columns = x + 2;
  table->low = low - REACH * l;
  table->inv_step = (root ? NODES_PER_L : FINE_PER_L) / l;
  table->nodes = (size_t)ceil((high - low + 2.0 * REACH * l) * table->inv_step) + 4;
  table->node = gpc_get_doubles(memory, table->nodes * table->columns);
  table->slope = gpc_get_doubles(memory, x + 1);
  for (size_t p = 0; p < x; p++)
    table->slope[p] = fit->slopes ? root[m + x * p] : 0.0;
  void *mark = memory->mark(memory->self);
  const size_t n = table->nodes;
  double *z = gpc_get_doubles(memory, n), *a = gpc_get_doubles(memory, n * m);
  double *au = gpc_get_doubles(memory, n * x + 1), *mean = gpc_get_doubles(memory, n);
  double *rho = gpc_get_doubles(memory, n), *top = gpc_get_doubles(memory, m * x + 1);
  for (size_t i = 0; i < n; i++)
    z[i] = table->low + (double)i / table->inv_step;
  gpc_basis_eval(basis, n, z, a, rho);
  for (size_t p = 0; p < x; p++)
    memcpy(top + m * p, root + x * p, m * sizeof(double));
  if (root)
    gpc_gemm(0, 0, n, x, m, 1.0, a, top, 0.0, au);
  gpc_gemm(0, 0, n, 1, m, 1.0, a, fit->process.q_mean, 0.0, mean);
  for (size_t i = 0; i < n; i++) {
    double *to = table->node + table->columns * i;
    for (size_t p = 0; p < x; p++)
      to[p] = au[i + n * p];
    to[x] = mean[i];
    to[x + 1] = rho[i];
  }
  memory->release(memory->self, mark);
}

/* First of the four nodes about z, and their weights. NaN leads to the beginning. */
static size_t place(const gpc_joint_table *t, double z, double w[4]) {
  double at = (z - t->low) * t->inv_step;
  const double last = (double)(t->nodes - 3);
  at = at > 1.0 ? (at < last ? at : last) : 1.0;
  size_t first = (size_t)at;
  first = first < t->nodes - 3 ? first : t->nodes - 3;
  const double u = at - (double)first; /* in [0, 1], from the second node */
  w[0] = -u * (u - 1.0) * (u - 2.0) / 6.0;
  w[1] = (u + 1.0) * (u - 1.0) * (u - 2.0) / 2.0;
  w[2] = -(u + 1.0) * u * (u - 2.0) / 2.0;
  w[3] = (u + 1.0) * u * (u - 1.0) / 6.0;
  return first - 1;
}

GPC_FUSED void gpc_joint_table_at(const gpc_joint_table *table,
                                  const gpc_features *features, double z, double *out) {
  double w[4];
  const size_t c = table->columns, x = table->x;
  const double *a = table->node + c * place(table, z, w);
#pragma omp simd
  for (size_t p = 0; p < c; p++)
    out[p] = w[0] * a[p] + w[1] * a[p + c] + w[2] * a[p + 2 * c] + w[3] * a[p + 3 * c];
  out[x + 1] = fmax(out[x + 1], 0.0);
  if (x > table->m) {
    const double held = gpc_joint_held_slope(features, z);
#pragma omp simd
    for (size_t p = 0; p < x; p++)
      out[p] += held * table->slope[p];
  }
}

double gpc_joint_table_mean(const gpc_joint_table *table, double z) {
  double w[4];
  const size_t c = table->columns;
  const double *a = table->node + c * place(table, z, w) + table->x;
  return w[0] * a[0] + w[1] * a[c] + w[2] * a[2 * c] + w[3] * a[3 * c];
}
