/* mono_project.h: a function on the nodes of a table made increasing.
 *
 * Over the range of the scores seen, f becomes the nearest function that rises by at
 * least the slope e = table->least,
 *
 *   G = h + e t,  h = argmin over increasing h of sum_g weight_g (f_g - e t_g - h_g)^2
 *                                                                            eq. (26d)
 *
 * by pooling adjacent violators; beyond the range, lines of a given slope. */
#ifndef GPC_MONO_PROJECT_H
#define GPC_MONO_PROJECT_H

#include "mono_table.h"

/* f [nodes] := G. What `slope` falls short of the least slope is added. G never falls
 * from one node to the next, rounding included. */
void gpc_mono_project(const gpc_mono_table *table, double slope, const gpc_memory *memory,
                      double *f);

/* The same without projection: only the lines beyond the range. */
void gpc_mono_extend(const gpc_mono_table *table, double slope, double *f);

#endif
