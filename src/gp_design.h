/* gp_design.h: a fixed set of functions g = phi +- b'x to average over, in place of
 * random ones: the same for every call, and no random numbers are drawn. The points come
 * in antithetic pairs x, -x and have the covariance I exactly (in their first 64
 * dimensions), so that all polynomials of x of degree three are averaged without error.
 * */
#ifndef GPC_GP_DESIGN_H
#define GPC_GP_DESIGN_H

#include "gpc.h"

#define GPC_GP_DESIGN_PAIRS 256
/* dimensions with the covariance I: more than 256 / 4 would deform the points */
#define GPC_GP_DESIGN_EXACT 64

/* x [rank x GPC_GP_DESIGN_PAIRS]. Along the leading dimensions (those that matter most,
 * gp_lookup.h) the points are a Kronecker sequence, along the others mixed numbers. work
 * [(GPC_GP_DESIGN_PAIRS + GPC_GP_DESIGN_EXACT) GPC_GP_DESIGN_EXACT]. */
void gpc_gp_design_functions(size_t rank, double *work, double *x);

/* The same for another number of pairs, the points after the first `skip` of the
 * sequence, with the covariance I in the first pairs / 4 dimensions. x [rank x pairs],
 * work [gpc_gp_design_work(pairs)]. */
size_t gpc_gp_design_work(size_t pairs);
void gpc_gp_design_part(size_t pairs, size_t skip, size_t rank, double *work, double *x);

/* e [GPC_GP_DESIGN_PAIRS] for the residual of the `which`-th of a row's scores that have
 * one: variance 1 and uncorrelated with the leading dimensions of x, as over infinitely
 * many functions. */
void gpc_gp_design_noise(size_t which, size_t rank, const double *x, double *e);

#endif
