/* gp_rough.h: rough processes for the average over hyperparameters (gp_mixture.h).
 *
 * The kernel of eq. (2) has functions without any kink. Intervals under it are too narrow
 * where a map bends sharply and rows are many, whatever its hyperparameters. The average
 * therefore has components whose values at knots have Matern's covariance, nu = 3/2 and
 * 1/2, eq. (42a). Between knots a component is interpolated, by weights that are the same
 * for all of them and belong to the basis in which the average is kept. */
#ifndef GPC_GP_ROUGH_H
#define GPC_GP_ROUGH_H

#include "gp_params.h"

#define GPC_ROUGH_KINDS 2
#define GPC_ROUGH_L                                                                      \
  1.5 /* lengthscale of the interpolation, in distances of knots: its
                            residual variance is 6e-5, and weights fall off quickly */
#define GPC_ROUGH_PER_KNOT 2.3 /* nodes to that distance, 3.5 to the lengthscale */

typedef struct {
  double step;                      /* distance of the knots */
  gpc_rough kinds[GPC_ROUGH_KINDS]; /* smoother ones first */
} gpc_roughness;

/* How many knots a fit with m inducing inputs gets. */
size_t gpc_rough_knots(size_t m);

/* The map of `from` at knots that reach a little beyond its inducing inputs: to->inducing
 * and to->q_mean, with its hyperparameters (to->q_cov is left alone). Returns their distance;
 * NAN where rounding forbids it. */
double gpc_rough_move(const gpc_params *from, const gpc_memory *memory, gpc_params *to);

/* How far apart nodes may be for the knots of a fit. */
double gpc_rough_nodes(const gpc_params *from);

/* Weights from knots [m], `step` apart, to the points z [n]. GPC_NOT_PD if there are none. */
gpc_status gpc_rough_make(size_t m, const double *knots, double step, size_t n,
                          const double *z, const gpc_memory *memory, gpc_roughness *out);

/* By which variance a rough process with knots `step` apart differs from its interpolation
 * midway between them: eq. (43a). 0 for nu = 3/2, where it is of the third order in the step. */
double gpc_rough_between(gpc_hyper hyper, double step);

#endif
