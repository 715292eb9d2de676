/* rising.h: limits of functions that may hardly fall, eq. (43c), for intervals of two
 * classes. */
#ifndef GPC_RISING_H
#define GPC_RISING_H

#include "memory.h"

/* How fast a function may fall, in slopes of the mean of all. */
#define GPC_RISING_FALL 0.25

/* If that mean would be moved by so many standard deviations anywhere, all are left alone. */
#define GPC_RISING_SURE 0.5

/* p [g x 2 x draws]: probabilities of both classes under functions drawn from the posterior,
 * at g >= 2 places z [g] in ascending order. Each function, as log-odds of the second class,
 * is replaced by the nearest that falls nowhere faster than GPC_RISING_FALL times the slope
 * of their mean (weighted least squares with the precision of the functions at each
 * place); out [g x 2] are the quantiles of the new ones at `lower` and `upper`. Returns 0,
 * with nothing in out, if the mean of the functions falls clearly itself. */
int gpc_rising_limits(size_t g, size_t draws, const double *z, const double *p,
                      double lower, double upper, const gpc_memory *memory, double *out);

#endif
