/* mono_latent.h: the map of a table itself, and how far its functions are from it. */
#ifndef GPC_MONO_LATENT_H
#define GPC_MONO_LATENT_H

#include "mono_table.h"

/* var [nodes] := the mean square distance of the fixed functions of gpc_mono_predict()
 * from the projected mean. */
gpc_status gpc_mono_variance(const gpc_mono_table *table, const gpc_memory *memory,
                             double *var);

/* mean [n] and, unless NULL, v [n]: the projected mean and var [nodes] at points t [n],
 * along straight lines. A higher t never has a lower mean, rounding included. */
void gpc_mono_latent(const gpc_mono_table *table, const double *var, size_t n,
                     const double *t, double *mean, double *v);

#endif
