/* gp_line.h: a grid on the line of scores, and interpolation on it.
 *
 * All that the model knows of a score are smooth functions of it, so that it is enough to
 * know them on evenly spaced nodes. A score with coordinate tau (in units of the spacing)
 * uses the 12 nodes around it with Lagrange's weights; sums of a function over scores
 * become sums over nodes, and the adjoint is the same weights scattered.
 *
 * Nodes are even in z, or, when a few scores lie far outside the bulk, even in
 *
 *   x(z) = asinh(u) + dense u / sqrt(1 + u^2),   u = (z - centre) / half,
 *
 * which is nearly linear in the bulk and logarithmic outside: there the distance of two
 * nodes grows with that from the bulk. At a distance d only lengthscales beyond about d /
 * 7 have features left, so that d / 12 between nodes loses nothing. */
#ifndef GPC_GP_LINE_H
#define GPC_GP_LINE_H

#include "gpc.h"

#include <float.h>
#include <math.h>

#define GPC_STENCIL 12
#define GPC_LEFT 5 /* nodes of the stencil left of the cell's first node */
#define GPC_PAD 3  /* spare nodes at both ends, for stencils of a finer line's nodes */

typedef struct {
  size_t g;    /* number of nodes */
  size_t skip; /* nodes cut off before the first one */
  double origin, step;
  int bent;
  double centre, half, dense;
} gpc_line;

/* A line whose stencils cover [lowest, highest], with nodes at most `step` apart over the
 * bulk [bulk_low, bulk_high] and 30 steps around it: even in z, or bent when that saves a
 * good part of the nodes; far out two nodes are then `growth` times their distance from
 * the bulk apart. Returns 0 if more than `most` nodes would be needed. */
int gpc_line_make(double lowest, double highest, double bulk_low, double bulk_high,
                  double step, double growth, size_t most, gpc_line *line);

/* A line on the same nodes with `cells` - 1 more between each two. Only for lines that
 * are not trimmed. */
gpc_line gpc_line_refine(const gpc_line *line, size_t cells);

/* The same line without nodes that no stencil of a score in [lowest, highest] needs. */
gpc_line gpc_line_trim(const gpc_line *line, double lowest, double highest);

/* The cell of a coordinate: the whole number within 1/2 of tau - 1/2. The sum of 1.5 x
 * 2^52 and a number has no bits left below the point; where expressions are kept in more
 * than double precision the trick fails. */
static inline double gpc_line_cell(double tau) {
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
  return (tau - 0.5 + 0x1.8p52) - 0x1.8p52;
#else
  return nearbyint(tau - 0.5);
#endif
}

/* z of node j. */
double gpc_line_node(const gpc_line *line, size_t j);

/* Coordinates tau [count] of scores z [count] (in place is fine), held where a stencil
 * fits: rounding, or a score that is no number, leads to the ends and not beyond. */
void gpc_line_coordinates(const gpc_line *line, size_t count, const double *z,
                          double *tau);

/* First nodes first [count] of the stencils and weights wts [12 x stride], weight q of
 * score i at wts[q * stride + i]. */
void gpc_line_weights(size_t count, const double *tau, size_t stride, int *first,
                      double *wts);

#endif
