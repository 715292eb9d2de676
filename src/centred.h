/* centred.h: the latent map less its average. A constant added to the map changes
 * nothing, and the data say nothing about it: its own variance would hide how well the
 * shape of the map is known. */
#ifndef GPC_CENTRED_H
#define GPC_CENTRED_H

#include "gp_basis.h"

/* Doubles of work space. */
size_t gpc_centred_work(size_t n, size_t g, size_t m);

/* Posterior variance of g(z) - sum_j p_j g(at_j) at the points z [n], p [g] summing to
 * one, at [g], S [m x m]:
 *
 *   (a(z) - abar)' S (a(z) - abar) + rho(z),   abar = sum_j p_j a(at_j).
 *
 * The residual of the average is left out: with inducing inputs dense on the scale of
 * the kernel it vanishes. `basis` has been factored. */
void gpc_centred_variance(const gpc_basis *basis, const double *q_cov, size_t n,
                          const double *z, size_t g, const double *at, const double *p,
                          double *work, double *variance);

#endif
