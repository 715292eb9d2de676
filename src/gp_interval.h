/* gp_interval.h: quantiles of probabilities under functions drawn from the posterior. */
#ifndef GPC_GP_INTERVAL_H
#define GPC_GP_INTERVAL_H

#include "gp_draws.h"

/* out [n x k x 2]: for every row and class the quantiles at `lower` and `upper` of the 2
 * random->pairs draws (gp_draws.h; not independent). Holds the draws of a few rows at a
 * time. */
void gpc_gp_interval(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                     const gpc_gp_random *random, double lower, double upper,
                     const gpc_memory *memory, gpc_poll poll, void *poll_data,
                     double *out);

#endif
