/* gp_lookup.c: see gp_lookup.h. */
#include "gp_lookup.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

/* Beyond REACH lengthscales from the last inducing input the features are below
 * exp(-8.5^2 / 2) = 2e-16. */
#define REACH 8.5
/* A function of unit variance bends by at most sqrt(3) / l^2 or so: lines between nodes l
 * / 16 apart are off by (1/16)^2 sqrt(3) / 8 = 8e-4, cubics through cells l / 64 wide, in
 * the mean, by about 1e-10. */
#define NODES_PER_L 16.0
#define CELLS_PER_L (NODES_PER_L * GPC_CELLS_PER_NODE)
#define RESIDUAL_FREE 1e-5 /* a residual variance below this moves no p by 1e-5 */
#define DROPPED_VAR 1e-8   /* variance that the directions left out may have */

static void table_range(const gpc_gp_fitted *fit, double *low, double *high) {
  const gpc_basis *basis = &fit->basis;
  *low = *high = basis->inducing[0];
  for (size_t i = 1; i < basis->m; i++) {
    *low = fmin(*low, basis->inducing[i]);
    *high = fmax(*high, basis->inducing[i]);
  }
}

static size_t nodes_between(double low, double high, double l) {
  return (size_t)ceil((high - low) / l * NODES_PER_L) + 2;
}

static void set_sizes(const gpc_gp_fitted *fit, gpc_gp_lookup *lookup) {
  const double l = fit->basis.hyper.l;
  double first, last;
  table_range(fit, &first, &last);
  *lookup = (gpc_gp_lookup){
      .prior = fit->prior,
      .m = fit->basis.m,
      .low = first - REACH * l,
      .inv_step = CELLS_PER_L / l,
      .nodes = nodes_between(first - REACH * l, last + REACH * l, l),
      .bulk = nodes_between(first, last, l),
      .smooth_mean = gpc_prior_has_slope(&fit->prior), /* a line; log z is not, near 0 */
  };
  lookup->cells = (lookup->nodes - 1) * GPC_CELLS_PER_NODE;
}

size_t gpc_gp_lookup_cells(const gpc_gp_fitted *fit) {
  gpc_gp_lookup lookup;
  set_sizes(fit, &lookup);
  return lookup.cells;
}

/* The longest stretch between ends of cells with hardly any residual. */
static void find_residual_free(size_t ends, const double *rho, gpc_gp_lookup *lookup) {
  size_t best = 0, start = 0;
  for (size_t i = 0; i <= ends; i++) {
    if (i < ends && rho[i] <= RESIDUAL_FREE)
      continue;
    if (i > start + best + 1) { /* ends start .. i - 1 */
      best = i - 1 - start;
      lookup->residual_free = 1;
      lookup->residual_low = (double)start;
      lookup->residual_high = (double)(i - 1);
    }
    start = i + 1;
  }
}

/* f given at the ends and thirds of a cell: the coefficients of its cubic. */
static void cubic(const double *f, double *cell) {
  cell[0] = f[0];
  cell[1] = -5.5 * f[0] + 9.0 * f[1] - 4.5 * f[2] + f[3];
  cell[2] = 9.0 * f[0] - 22.5 * f[1] + 18.0 * f[2] - 4.5 * f[3];
  cell[3] = -4.5 * f[0] + 13.5 * f[1] - 13.5 * f[2] + 4.5 * f[3];
}

#define CHUNK 1024 /* points whose features are held at a time */

/* dev [n] := a'm at z [n], and where c is asked for, c and rho [n] as well. */
static void along_the_line(const gpc_gp_fitted *fit, size_t n, const double *z,
                           const gpc_memory *memory, double *dev, double *c,
                           double *rho) {
  const size_t m = fit->basis.m, chunk = n < CHUNK ? n : CHUNK;
  double *a = gpc_get_doubles(memory, chunk * m),
         *work = gpc_get_doubles(memory, chunk * m);
  for (size_t i = 0; i < n; i += chunk) {
    const size_t some = n - i < chunk ? n - i : chunk;
    if (c) {
      gpc_gp_deviation(fit, some, z + i, work, a, dev + i, c + i, rho + i);
    } else {
      gpc_basis_eval(&fit->basis, some, z + i, a, work);
      gpc_gemm(0, 0, some, 1, m, 1.0, a, fit->q_mean, 0.0, dev + i);
    }
  }
}

/* Cells of a'm. */
static void fill_cells(const gpc_gp_fitted *fit, const gpc_memory *memory,
                       gpc_gp_lookup *lookup) {
  const size_t cells = lookup->cells, points = 3 * cells + 1;
  double *z = gpc_get_doubles(memory, points), *dev = gpc_get_doubles(memory, points);
  for (size_t i = 0; i < points; i++)
    z[i] = lookup->low + (double)i / (3.0 * lookup->inv_step);
  along_the_line(fit, points, z, memory, dev, NULL, NULL);
  for (size_t i = 0; i < cells; i++)
    cubic(dev + 3 * i, lookup->cell + 4 * i);
}

/* Variances of the cells, and c and phi of the nodes. */
static void fill_variances(const gpc_gp_fitted *fit, const gpc_memory *memory,
                           gpc_gp_lookup *lookup) {
  const size_t cells = lookup->cells, ends = cells + 1;
  double *c = gpc_get_doubles(memory, ends), *rho = gpc_get_doubles(memory, ends),
         *z = gpc_get_doubles(memory, ends), *dev = gpc_get_doubles(memory, ends);
  for (size_t i = 0; i < ends; i++)
    z[i] = lookup->low + (double)i / lookup->inv_step;
  along_the_line(fit, ends, z, memory, dev, c, rho);
  for (size_t i = 0; i < cells; i++) {
    double *var = lookup->cell_var + 4 * i;
    var[0] = c[i];
    var[1] = c[i + 1] - c[i];
    var[2] = rho[i];
    var[3] = rho[i + 1] - rho[i];
  }
  for (size_t g = 0; g < lookup->nodes; g++) {
    const size_t end = GPC_CELLS_PER_NODE * g;
    lookup->node_c[g] = c[end];
    lookup->node_phi[g] = dev[end] + gpc_prior_smooth(&fit->prior, z[end]);
  }
  find_residual_free(ends, rho, lookup);
}

/* turn [m x m] := U R, with S = U U' and R the eigenvectors of U'A A'U, A [m x m] having
 * the features of the inducing inputs in its columns; lookup->turn := R, by descending
 * eigenvalue. */
static gpc_status principal(const gpc_gp_fitted *fit, const gpc_memory *memory,
                            double *turn, gpc_gp_lookup *lookup) {
  const size_t m = lookup->m;
  double *a = gpc_get_doubles(memory, m * m), *ua = gpc_get_doubles(memory, m * m),
         *chol = gpc_get_doubles(memory, m * m), *value = gpc_get_doubles(memory, m),
         *work = gpc_get_doubles(memory, 3 * m);
  gpc_basis_eval(&fit->basis, m, fit->basis.inducing, a, value);
  memcpy(chol, fit->q_cov, m * m * sizeof(double));
  gpc_status status = gpc_chol(m, 0.0, chol);
  if (status != GPC_OK)
    return status;
  gpc_gemm(1, 1, m, m, m, 1.0, chol, a, 0.0, ua);
  gpc_gemm(0, 1, m, m, m, 1.0, ua, ua, 0.0, lookup->turn);
  status = gpc_eigen(m, lookup->turn, value, work);
  gpc_gemm(0, 0, m, m, m, 1.0, chol, lookup->turn, 0.0, turn);
  return status;
}

/* How many directions of node [nodes][m] are needed. */
static size_t find_rank(size_t nodes, size_t m, const double *node) {
  size_t rank = 1;
  for (size_t g = 0; g < nodes; g++) {
    double left = 0.0;
    for (size_t q = m; q > rank; q--) {
      left += node[g * m + q - 1] * node[g * m + q - 1];
      if (left > DROPPED_VAR)
        rank = q;
    }
  }
  return rank;
}

static gpc_status fill_nodes(const gpc_gp_fitted *fit, const gpc_memory *memory,
                             gpc_gp_lookup *lookup) {
  const size_t m = lookup->m, nodes = lookup->nodes;
  double *turn = gpc_get_doubles(memory, m * m), *z = gpc_get_doubles(memory, nodes),
         *rho = gpc_get_doubles(memory, nodes), *a = gpc_get_doubles(memory, nodes * m);
  gpc_status status = principal(fit, memory, turn, lookup);
  if (status != GPC_OK)
    return status;
  for (size_t g = 0; g < nodes; g++)
    z[g] = lookup->low + (double)(GPC_CELLS_PER_NODE * g) / lookup->inv_step;
  gpc_basis_eval(&fit->basis, nodes, z, a, rho);
  gpc_gemm(1, 1, m, nodes, m, 1.0, turn, a, 0.0, lookup->node); /* (U R)'a */
  const size_t rank = lookup->rank = find_rank(nodes, m, lookup->node);
  for (size_t g = 0; g < nodes; g++) /* rows close up */
    memmove(lookup->node + g * rank, lookup->node + g * m, rank * sizeof(double));
  lookup->node_step[nodes - 1] = 0.0;
  for (size_t g = 0; g + 1 < nodes; g++) {
    double var = 0.0;
    for (size_t q = 0; q < rank; q++) {
      const double d = lookup->node[(g + 1) * rank + q] - lookup->node[g * rank + q];
      var += d * d;
    }
    lookup->node_step[g] = var;
    lookup->step_var = fmax(lookup->step_var, var);
  }
  return GPC_OK;
}

void gpc_gp_lookup_mean(const gpc_gp_fitted *fit, const gpc_memory *memory,
                        gpc_gp_lookup *lookup) {
  set_sizes(fit, lookup);
  lookup->cell = gpc_get_doubles(memory, 4 * lookup->cells);
  fill_cells(fit, memory, lookup);
}

gpc_status gpc_gp_lookup_make(const gpc_gp_fitted *fit, const gpc_memory *memory,
                              gpc_gp_lookup *lookup) {
  gpc_gp_lookup_mean(fit, memory, lookup);
  lookup->cell_var = gpc_get_doubles(memory, 4 * lookup->cells);
  lookup->node = gpc_get_doubles(memory, lookup->nodes * lookup->m);
  lookup->node_c = gpc_get_doubles(memory, lookup->nodes);
  lookup->node_phi = gpc_get_doubles(memory, lookup->nodes);
  lookup->node_step = gpc_get_doubles(memory, lookup->nodes);
  lookup->turn = gpc_get_doubles(memory, lookup->m * lookup->m);
  fill_variances(fit, memory, lookup);
  return fill_nodes(fit, memory, lookup);
}
