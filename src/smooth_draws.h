/* smooth_draws.h: curves drawn about a smooth one (smooth.h): how far each is from the
 * diagonal, and how much less likely than its normal distribution takes it to be. */
#ifndef GPC_SMOOTH_DRAWS_H
#define GPC_SMOOTH_DRAWS_H

#include <stddef.h>

#define GPC_DISTANCES 4

/* Distances of curves from the diagonal over cells of log-odds x [m] and weight w [m]. Each
 * column of curves [m x count] is one, as log-odds. Into out [GPC_DISTANCES x count]: the
 * mean, median, 90 % quantile (the lowest value that so much of the weight does not
 * exceed) and, over the cells with inner [m] != 0, the maximum of |curve - diagonal| as
 * probabilities. work [2 m]. */
void gpc_smooth_distances(size_t m, size_t count, const double *curves, const double *x,
                          const double *w, const int *inner, double *work, double *out);

/* How much more a step from the estimate costs than its normal approximation says: for
 * each column of step [m x draws], the sum over cells of
 *   w (lse(eta + step) - lse(eta) - q step - q (1 - q)/2 step^2),
 * lse(x) = log(1 + e^x), q its derivative at eta [m]. The events cancel. Into excess
 * [draws]. */
void gpc_smooth_excess(size_t m, size_t draws, const double *eta, const double *w,
                       const double *step, double *excess);

#endif
