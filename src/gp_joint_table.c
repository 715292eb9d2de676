/* gp_joint_table.c: see gp_joint_table.h. */
#include "gp_joint_table.h"
#include "gp_joint_softmax.h"
#include "linalg.h"
#include "simd.h"

#include <math.h>
#include <string.h>

#define NODES_PER_L 32.0
#define FINE_PER_L 128.0 /* for the mean alone, which other programs compute, too */
#define REACH 9.0 /* lengthscales beyond the inducing inputs: exp(-40) is left of them */

#define SOME 32 /* classes that are placed together */
#define LEAST_SHARED                                                                     \
  1e-7 /* variance of a class's effects by a direction of the process */

/* U R in the place of U, R the eigenvectors of W W', W = U^-1 S_xe. */
gpc_status gpc_joint_shared(size_t all, size_t k, size_t e, const gpc_memory *memory,
                            double *root, double *w, size_t *shared) {
  gpc_status status = gpc_chol(all, 0.0, root);
  if (status != GPC_OK)
    return status;
  double *inv = gpc_get_doubles(memory, all * all),
         *r = gpc_get_doubles(memory, all * all);
  double *old = gpc_get_doubles(memory, all * (all > e ? all : e));
  double *value = gpc_get_doubles(memory, 4 * all);
  gpc_lower_inverse(all, root, inv);
  memcpy(old, w, all * e * sizeof(double));
  gpc_gemm_large(0, 0, all, e, all, 1.0, inv, old, 0.0, w);
  gpc_gemm_large(0, 1, all, all, e, 1.0, w, w, 0.0, r);
  status = gpc_eigen(all, r, value, value + all);
  if (status != GPC_OK)
    return status;
  memcpy(old, w, all * e * sizeof(double));
  gpc_gemm_large(1, 0, all, e, all, 1.0, r, old, 0.0, w);
  memcpy(old, root, all * all * sizeof(double));
  gpc_gemm(0, 0, all, all, all, 1.0, old, r, 0.0, root);
  for (*shared = 1; *shared < all && value[*shared] > LEAST_SHARED * (double)k;)
    ++*shared;
  return GPC_OK;
}

/* Where the nodes are. */
static void place_nodes(const gpc_basis *basis, double per_l, gpc_joint_table *table) {
  const double l = basis->hyper.l;
  double low = basis->inducing[0], high = basis->inducing[0];
  for (size_t i = 1; i < basis->m; i++) {
    low = fmin(low, basis->inducing[i]);
    high = fmax(high, basis->inducing[i]);
  }
  table->low = low - REACH * l;
  table->inv_step = per_l / l;
  table->nodes = (size_t)ceil((high - low + 2.0 * REACH * l) * table->inv_step) + 4;
}

/* au [n x all] and the slope's row of U are turned behind the fixed directions. What those add
 * that are not kept becomes a part of rho [n]: that of a class by itself, as if no two were
 * near each other. held [n]: what the slope is multiplied by. */
static gpc_status turn(const gpc_joint_directions *directions, size_t n, size_t all,
                       const double *held, double *au, double *rho,
                       const gpc_memory *memory, gpc_joint_table *table) {
  const size_t fixed = directions->fixed, free = all - fixed;
  double *v = gpc_get_doubles(memory, free * free), *from = au + n * fixed;
  double *moved = gpc_get_doubles(memory, n * free), *row = table->slope + fixed;
  double *value = gpc_get_doubles(memory, 5 * free), *old = value + free, left = 0.0;
  table->x = all;
  if (free == 0)
    return GPC_OK;
  for (size_t p = 0; p < free; p++)
    for (size_t i = 0; i < n; i++)
      moved[i + n * p] = from[i + n * p] + held[i] * row[p];
  gpc_gram(free, n, moved, moved, v);
  const gpc_status status = gpc_eigen(free, v, value, old + free);
  if (status != GPC_OK)
    return status;
  memcpy(moved, from, n * free * sizeof(double));
  gpc_gemm(0, 0, n, free, free, 1.0, moved, v, 0.0, from);
  memcpy(old, row, free * sizeof(double));
  gpc_gemm(1, 0, free, 1, free, 1.0, v, old, 0.0, row);
  for (size_t p = free; p-- > 0; table->x--) {
    double most = 0.0;
    for (size_t i = 0; i < n; i++) {
      const double here = from[i + n * p] + held[i] * row[p];
      moved[i] = here * here;
      most = moved[i] > most ? moved[i] : most;
    }
    left += most;
    if (left > GPC_JOINT_LEAST_OWN)
      break;
    for (size_t i = 0; i < n; i++)
      rho[i] += moved[i];
  }
  return GPC_OK;
}

gpc_status gpc_joint_table_make(const gpc_joint_fitted *fit,
                                const gpc_joint_directions *directions,
                                const gpc_memory *memory, gpc_joint_table *table) {
  const gpc_basis *basis = &fit->process.basis;
  const double *root = directions->root;
  const size_t m = basis->m, all = root ? m + fit->slopes : 0;
  gpc_status status = GPC_OK;
  *table = (gpc_joint_table){.end = gpc_joint_held_slope(&fit->features, INFINITY)};
  place_nodes(basis, root ? NODES_PER_L : FINE_PER_L, table);
  const size_t n = table->nodes;
  double *z = gpc_get_doubles(memory, n), *a = gpc_get_doubles(memory, n * m);
  double *au = gpc_get_doubles(memory, n * all), *mean = gpc_get_doubles(memory, n);
  double *rho = gpc_get_doubles(memory, n), *top = gpc_get_doubles(memory, m * all);
  table->slope = gpc_get_doubles(memory, all + 5);
  for (size_t i = 0; i < n; i++)
    z[i] = table->low + (double)i / table->inv_step;
  gpc_basis_eval(basis, n, z, a, rho);
  gpc_gemm(0, 0, n, 1, m, 1.0, a, fit->process.q_mean, 0.0, mean);
  for (size_t p = 0; p < all; p++) {
    memcpy(top + m * p, root + all * p, m * sizeof(double));
    table->slope[p] = fit->slopes ? root[m + all * p] : 0.0;
  }
  if (root) {
    gpc_gemm(0, 0, n, all, m, 1.0, a, top, 0.0, au);
    for (size_t i = 0; i < n; i++)
      z[i] = gpc_joint_held_slope(&fit->features, z[i]);
    status = turn(directions, n, all, z, au, rho, memory, table);
  }
  const size_t x = table->x, columns = table->columns = (x + 5) / 4 * 4;
  for (size_t p = x; p < columns; p++)
    table->slope[p] = 0.0;
  table->node = gpc_get_doubles(memory, n * columns);
  table->rows = gpc_get_doubles(memory, 4 * columns);
  for (size_t i = 0; i < n; i++) {
    double *to = table->node + columns * i;
    for (size_t p = 0; p < x; p++)
      to[p] = au[i + n * p];
    to[x] = mean[i];
    to[x + 1] = rho[i];
    for (size_t p = x + 2; p < columns; p++)
      to[p] = 0.0;
  }
  return status;
}

/* Of some classes: the first of the four nodes about each score, and their weights and what the
 * slope is multiplied by. NaN leads to the beginning. Classes from `some` to `all` get nothing. */
GPC_PART void place(const gpc_joint_table *t, size_t some, size_t all, const double *z,
                    int *first, double w[5][SOME]) {
  const double last = (double)(t->nodes - 3), low = t->low, inv_step = t->inv_step;
  const double end = t->end;
  const int most = (int)(t->nodes - 3);
#pragma omp simd
  for (size_t j = 0; j < some; j++) {
    double at = (z[j] - low) * inv_step, held = z[j] > -end ? z[j] : -end;
    at = at > 1.0 ? at : 1.0;
    at = at < last ? at : last;
    int node = (int)at;
    node = node < most ? node : most;
    const double u = at - (double)node; /* in [0, 1], from the second node */
    const double d = u * (u - 1.0) * (1.0 / 6.0), e = (u + 1.0) * (u - 2.0) * 0.5;
    w[0][j] = -d * (u - 2.0);
    w[1][j] = (u - 1.0) * e;
    w[2][j] = -u * e;
    w[3][j] = (u + 1.0) * d;
    w[4][j] = held < end ? held : end;
    first[j] = node - 1;
  }
  for (size_t j = some; j < all; j++) {
    for (size_t i = 0; i < 5; i++)
      w[i][j] = 0.0;
    first[j] = 0;
  }
}

GPC_FUSED void gpc_joint_table_row(const gpc_joint_table *table, size_t k,
                                   const double *z, double *t) {
  const size_t c = table->columns / 4 * 4, step = gpc_joint_step(k);
  const double *slope = table->slope;
  double *rows = table->rows, w[5][SOME];
  int first[SOME];
  for (size_t j = 0; j < step; j++) {
    const size_t i = j % SOME;
    if (i == 0)
      place(table, k - j < SOME ? k - j : SOME, step - j < SOME ? step - j : SOME, z + j,
            first, w);
    const double *a = table->node + c * (size_t)first[i];
    const double w0 = w[0][i], w1 = w[1][i], w2 = w[2][i], w3 = w[3][i], held = w[4][i];
    double *row = rows + c * (j % 4);
#pragma omp simd
    for (size_t p = 0; p < c; p++) /* the slope has no part behind x */
      row[p] = w0 * a[p] + w1 * a[p + c] + w2 * a[p + 2 * c] + w3 * a[p + 3 * c] +
               held * slope[p];
    if (j % 4 == 3)
      for (size_t p = 0; p < c; p += 4)
        gpc_turn_fours(rows + p, c, t + j - 3 + step * p, step);
  }
}
