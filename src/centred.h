/* centred.h: the latent map less its average. A constant added to the map changes
 * nothing, and the data say nothing about it: its own variance would hide how well the
 * shape of the map is known. */
#ifndef GPC_CENTRED_H
#define GPC_CENTRED_H

#include "gp_fitted.h"
#include "memory.h"

/* The posterior of g(z) - mu(z), less its average over the points at [g] with weights p
 * [g] (which sum to one), at the points z [n]: with abar = sum_j p_j a(at_j)
 *
 *   departure [n] = (a(z) - abar)'m                                        eq. (7)
 *   variance [n]  = (a(z) - abar)'S (a(z) - abar)                          eq. (9)
 *   rho [n]                                                                eq. (8)
 *
 * The residual of the average is left out: with inducing inputs dense on the scale of the
 * kernel it vanishes. */
void gpc_centred(const gpc_gp_fitted *fit, size_t n, const double *z, size_t g,
                 const double *at, const double *p, const gpc_memory *memory,
                 double *departure, double *variance, double *rho);

#endif
