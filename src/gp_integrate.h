/* gp_integrate.h: rows for which the expansion of gp_delta.h is not good enough, averaged
 * over the fixed functions of gp_design.h.
 *
 * With s = softmax(phi) and functions g = phi + d, softmax(g)_k = s_k E(z_k) / sum_j s_j
 * E(z_j), E = exp(d). Where the residual does not matter d is a smooth function of the
 * score: E is tabulated on the nodes once for all rows, s spread over the nodes with the
 * weights of cubic interpolation, and
 *
 *   E v_k = s_k F(z_k),  F = mean over functions of E / sum_g mass_g E_g    eq. (26)
 *
 * needs no exponential per score and function. (E is kept in single precision: an error
 * of 6e-8 in the functions, with which sums over classes remain 1.) Scores whose residual
 * matters have exponentials of their own. */
#ifndef GPC_GP_INTEGRATE_H
#define GPC_GP_INTEGRATE_H

#include "gp_block.h"

/* The fixed functions, tabulated. */
typedef struct {
  size_t nodes, rank;
  int on_nodes; /* exp(d) may be interpolated between nodes */
  double *x;    /* [rank x PAIRS] of the design */
  size_t from,
      end;     /* the nodes of the residual-free stretch, for which they are tabulated */
  double *dev; /* [nodes][PAIRS] d = b'x; beyond the stretch in gpc_gp_integrate() */
  float *grow; /* [nodes][2 PAIRS] exp(d), then exp(-d); if on_nodes */
} gpc_gp_functions;

gpc_gp_functions gpc_gp_functions_make(const gpc_gp_lookup *lookup,
                                       const gpc_memory *memory);

/* Work space of one thread. */
typedef struct {
  double *mass, *factor; /* [nodes] */
  double *sum;           /* [2 PAIRS] */
  double *own;           /* [2 PAIRS] exponentials of one score */
} gpc_gp_integrate_work;

gpc_gp_integrate_work gpc_gp_integrate_take(const gpc_gp_lookup *lookup,
                                            const gpc_memory *memory);

/* F on the nodes from, ..., end - 1 with mass [nodes] != 0, for a row whose s are spread
 * over them: factor [nodes], 0 elsewhere between `from` and `end`. sum [2 PAIRS] is work.
 * */
void gpc_gp_average_nodes(const gpc_gp_functions *f, size_t from, size_t end,
                          const double *mass, double *sum, double *factor);

/* 1 if row i of a block (gpc_gp_block_read()) can be integrated on the nodes alone, which
 * takes little longer than its expansion. */
static inline int gpc_gp_is_on_nodes(const gpc_gp_lookup *lookup,
                                     const gpc_gp_functions *f, const gpc_gp_block *block,
                                     size_t i) {
  return f->on_nodes && !gpc_gp_has_residual(lookup, block->low[i]) &&
         !gpc_gp_has_residual(lookup, block->high[i]);
}

/* p [n x k] of row i of a block with its exponentials and inv. noise [residuals x PAIRS]
 * for the scores with a residual (block->with_residual); NULL if gpc_gp_is_on_nodes(). */
void gpc_gp_integrate_row(const gpc_gp_lookup *lookup, const gpc_gp_functions *f,
                          const double *noise, size_t n, const gpc_gp_block *block,
                          size_t i, gpc_gp_integrate_work *work, double *p);

/* p [n x k] of the rows of data with chosen [n] != 0, one by one; the others are left
 * alone. blocks and work [threads]. */
void gpc_gp_integrate(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                      gpc_gp_functions *f, const int *chosen, const gpc_memory *memory,
                      gpc_poll poll, void *poll_data, gpc_gp_block *blocks,
                      gpc_gp_integrate_work *work, double *p);

#endif
