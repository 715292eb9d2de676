/* mono_functions.h: increasing functions on the nodes of a table, as prediction wants
 * them: their exponentials, node by node.
 *
 * The functions of the posterior are g = phi +- (b'x + tilt t), each projected by
 * mono_project.h. */
#ifndef GPC_MONO_FUNCTIONS_H
#define GPC_MONO_FUNCTIONS_H

#include "mono_table.h"

typedef struct {
  size_t nodes, count;
  int wide;      /* some function rises by more than exponentials have room for: */
  double *value; /* [nodes + 1][count] exp(G - its highest), or G itself if `wide`; never
                    falls from node to node; the last node is there twice */
} gpc_mono_functions;

gpc_mono_functions gpc_mono_functions_take(const gpc_mono_table *table, size_t count,
                                           const gpc_memory *memory);

/* The 2 pairs functions of x [m x pairs] and tilt [pairs] (or NULL), each pair's two next
 * to each other; f has been taken with count = 2 pairs. */
void gpc_mono_functions_set(const gpc_mono_table *table, size_t pairs, const double *x,
                            const double *tilt, const gpc_memory *memory,
                            gpc_mono_functions *f);

/* Any functions: g [nodes x count], of which those that are not increasing must not be
 * predicted with. */
void gpc_mono_functions_from(const gpc_mono_table *table, const double *g,
                             gpc_mono_functions *f);

/* x [m x pairs] of a fixed set of functions (gp_design.h) in the principal directions of
 * b, weighted by where the scores lie: the pairs after the first `skip`. */
gpc_status gpc_mono_design(const gpc_mono_table *table, size_t pairs, size_t skip,
                           const gpc_memory *memory, double *x);

#endif
