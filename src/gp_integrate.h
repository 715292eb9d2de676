/* gp_integrate.h: rows for which the expansion of gp_delta.h is not good enough, averaged
 * over the fixed functions of gp_design.h.
 *
 * With s = softmax(phi) and functions g = phi + d, softmax(g)_k = s_k E(z_k) / sum_j s_j
 * E(z_j), E = exp(d). Where the residual does not matter d is a smooth function of the
 * score: E is tabulated on the nodes once for all rows, s spread over the nodes with the
 * weights of cubic interpolation, and
 *
 *   E v_k = s_k F(z_k),  F = mean over functions of E / (sum_g mass_g E_g)   eq. (26)
 *
 * needs no exponential per score and function. Scores whose residual matters have their
 * own. */
#ifndef GPC_GP_INTEGRATE_H
#define GPC_GP_INTEGRATE_H

#include "gp_lookup.h"
#include "gp_model.h"

/* p [n x k] of the rows of data with chosen [n] != 0; the others are left alone. */
void gpc_gp_integrate(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                      const int *chosen, const gpc_memory *memory, gpc_poll poll,
                      void *poll_data, double *p);

#endif
