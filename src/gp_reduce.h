/* gp_reduce.h: a surrogate on fewer points.
 *
 * The nodes of a pass are as dense as interpolation by 12 points wants them; functions that
 * vary on the scale of a lengthscale are determined by their values at less than half of
 * them. With k the kernel of unit variance at the shortest lengthscale l of interest and P
 * some of the nodes,
 *
 *   f(z) = k(z, P) k(P, P)^-1 f(P) = B f(P)
 *
 * up to |f| sqrt(tau), |f| the norm of f in the space of k and tau the largest conditional
 * variance that P leaves at a node. The features a(z) of eq. (6) have norm sqrt(s2) there,
 * those of longer lengthscales sqrt(s2 times the ratio). P is chosen greedily, by a Cholesky
 * factorisation with pivoting that ends at tau. The surrogate of eq. (20) then needs B'b,
 * B'W B and B'diag(spread) B. */
#ifndef GPC_GP_REDUCE_H
#define GPC_GP_REDUCE_H

#include "gp_surrogate.h"
#include "memory.h"

/* Room that is kept from one use to the next. */
typedef struct {
  gpc_buffer factor, pivots, vectors, matrices, product, terms; /* and no more: they are
                                                                   given back one by one */
} gpc_reduce_room;

#define GPC_REDUCE_EXACT 1e-13 /* rounding makes less meaningless below about 1e-14 */
#define GPC_REDUCE_ROUGH 1e-7  /* to find out where else a maximum may be */

/* `full` on fewer points that leave the variance tau, for lengthscales from l on (shorter
 * ones lose precision, not sense); `full` itself if there is little to save. The arrays live
 * in `room`. */
gpc_surrogate gpc_reduce(const gpc_surrogate *full, double l, double tau,
                         const gpc_memory *memory, gpc_reduce_room *room);

#endif
