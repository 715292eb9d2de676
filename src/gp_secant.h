/* gp_secant.h: curvature learnt from pass to pass, eq. (21).
 *
 * W lacks the curvature of the log-determinant and of rho'spread. How the gradient b fell
 * while psi moved from one pass to the next shows part of it: a secant pair. BFGS updates
 * of W by the last pairs, damped so that W + E stays positive, give
 * E = sum_i scale_i term_i term_i'. */
#ifndef GPC_GP_SECANT_H
#define GPC_GP_SECANT_H

#include "memory.h"

#define GPC_MOST_PAIRS 12

typedef struct {
  size_t g;
  size_t pairs;          /* the oldest first: */
  double *step, *change; /* [g x pairs] of psi; by how much the gradient b fell */
  size_t terms;
  double *term; /* [g x terms] */
  double scale[2 * GPC_MOST_PAIRS];
  gpc_buffer steps, changes, all_terms;
} gpc_secants;

/* Forget all pairs; those to come are on g nodes. */
void gpc_secants_reset(gpc_secants *secants, size_t g, const gpc_memory *memory);

/* Remember the pair of two passes, here and there: psi [g] and b [g] of each. The oldest
 * makes way. */
void gpc_secants_add(gpc_secants *secants, const double *psi_here,
                     const double *psi_there, const double *b_here,
                     const double *b_there);

/* E for W [g x g], from all pairs. */
void gpc_secants_build(gpc_secants *secants, const double *w);

#endif
