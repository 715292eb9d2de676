/* gp_delta.h: the softmax of a latent row expanded to second order about its mean,
 *
 *   E v_k = s_k (1 + (D_k - sum_j s_j D_j) / 2),
 *   D_k = Var(g_k - sum_j s_j g_j) = C_kk - 2 (C s)_k + s'C s              eq. (24)
 *
 * and a judgement of where that is not good enough. The next terms are of fourth order in
 * the deviations; relative to s_k, D_k^2 / 8 is the largest of those that concern the
 * class alone and sum_j s_j D_j^2 / 8 of those that concern the denominator (each times 1
 * + D^2 / 8, for the orders beyond). A row in which either may exceed 1e-4 in some
 * probability, or in which the mean of D exceeds 0.5, needs integration. */
#ifndef GPC_GP_DELTA_H
#define GPC_GP_DELTA_H

#include "gp_integrate.h"

/* Work space for blocks of k classes. */
typedef struct {
  double *mass;    /* [GPC_GP_ROWS][nodes] */
  double *bbar;    /* [rank] sum_k s_k b(z_k) of one row */
  double *feature; /* [k][rank] of one row */
  double *h;       /* C_kk - 2 (C s)_k: [k][GPC_GP_ROWS] with few scores, else [nodes] */
  double *sum;     /* [2 PAIRS] of gpc_gp_average_nodes() */
} gpc_gp_delta_work;

void gpc_gp_delta_take(const gpc_gp_lookup *lookup, size_t k, const gpc_memory *memory,
                       gpc_gp_delta_work *work);

/* p [n x k] of the rows of a block that has been read (its exponentials and inv are left
 * behind), and needs_integration [n]. Without block->with_residual, rho(z_k) is left out
 * but for its part in c: right where the block's scores are on the residual-free stretch.
 * With functions (or NULL) rows that need it are integrated, and not marked, where that
 * costs little: by way of the nodes, with many scores and a smooth mean. */
void gpc_gp_delta(const gpc_gp_lookup *lookup, const gpc_gp_functions *functions,
                  size_t n, gpc_gp_block *block, gpc_gp_delta_work *work, double *p,
                  int *needs_integration);

#endif
