/* gp_line.h: a grid on the line of scores, and interpolation on it.
 *
 * All that the model knows of a score are smooth functions of it, so that it is enough to
 * know them on evenly spaced nodes. A score with coordinate tau (in units of the spacing)
 * uses the 12 nodes around it with Lagrange's weights; sums of a function over scores
 * become sums over nodes, and the adjoint is the same weights scattered.
 *
 * Nodes are even in z, or, when a few scores lie far outside the bulk, even in
 * asinh((z - centre) / half), which is nearly linear in the bulk and logarithmic outside.
 */
#ifndef GPC_GP_LINE_H
#define GPC_GP_LINE_H

#include "gpc.h"

#define GPC_STENCIL 12
#define GPC_LEFT 5 /* nodes of the stencil left of the cell's first node */
#define GPC_PAD                                                                          \
  3 /* spare nodes at both ends, for the stencils of a finer line's nodes                \
     */

typedef struct {
  size_t g; /* number of nodes */
  double origin, step;
  int bent;
  double centre, half;
} gpc_line;

/* A line whose stencils cover [lowest, highest], with nodes at most `step` apart over the
 * bulk [bulk_low, bulk_high]: even in z if that takes at most `most` nodes, bent
 * otherwise. Returns 0 if even the bent one would need more than `most`. */
int gpc_line_make(double lowest, double highest, double bulk_low, double bulk_high,
                  double step, size_t most, gpc_line *line);

/* A line on the same nodes with `times` - 1 more between each two. */
gpc_line gpc_line_refine(const gpc_line *line, size_t times);

/* z of node j. */
double gpc_line_node(const gpc_line *line, size_t j);

/* Coordinates tau [count] of scores z [count] (in place is fine). */
void gpc_line_coordinates(const gpc_line *line, size_t count, const double *z,
                          double *tau);

/* First nodes first [count] of the stencils and weights wts [12 x stride], weight q of
 * score i at wts[q * stride + i]. */
void gpc_line_weights(size_t count, const double *tau, size_t stride, int *first,
                      double *wts);

#endif
