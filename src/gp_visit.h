/* gp_visit.h: one point of the fit: a pass over the data there, and what the surrogate
 * needs of it. Internal to gp_fit.c. */
#ifndef GPC_GP_VISIT_H
#define GPC_GP_VISIT_H

#include "gp_fit.h"

#define GPC_MOST_PAIRS 12

/* All that belongs to one point at which a pass was made. `live` nodes are those that
 * scores touch: all of them, except on a bent line. */
typedef struct {
  gpc_surrogate_point at;
  gpc_gp_stats stats;
  double *psi;                          /* [g] */
  double *live_psi, *live_v, *b, *mass; /* [live] */
  double elbo;
} gpc_visit;

typedef struct {
  const gpc_gp_data *data;
  const gpc_gp_setup *setup;
  size_t g, m, fine, live;
  double *nodes, *fine_nodes, *live_nodes;
  size_t *live_at; /* [live] */
  gpc_basis basis;
  double *a, *rho, *c, *zero, *as, *au, *chol;  /* on the nodes */
  double *fine_a, *fine_as, *fine_psi, *fine_r; /* on the fine nodes */
  double *w, *qa, *live_a, *live_as;            /* [live x live], [live x m] */
  double *pass_work, *surrogate_work;
  gpc_visit here, there;
  size_t pairs;        /* of moves and falls, the oldest first: */
  double *move, *fall; /* [live x pairs] */
  size_t extras;       /* E: curvature that W lacks (gp_surrogate.h), from the pairs */
  double *extra;       /* [live x extras] */
  double bend[2 * GPC_MOST_PAIRS];
  size_t times; /* what the rows would need, when too coarse */
} gpc_visit_work;

/* Lay out `work` (NULL: only count, and return how many doubles it takes). */
size_t gpc_visit_carve(const gpc_gp_data *data, const gpc_gp_setup *setup, double *work,
                       gpc_visit_work *t);

/* Nodes and features' places, once. */
void gpc_visit_begin(gpc_visit_work *t);

/* One pass at v->at. With `plain` the uncertainty is left out of the gradient (there is
 * none yet). Sets v->stats, psi, b, elbo, the S that belongs to them, and t->w.
 * GPC_TOO_COARSE: the compressed rows cannot hold exp(psi). */
gpc_status gpc_visit_point(gpc_visit_work *t, int plain, gpc_visit *v);

/* W of a visit into t->w, and what the pairs say of the curvature it lacks into E: BFGS
 * updates of W, damped so that W + E stays positive. */
void gpc_visit_curvature(const gpc_visit *v, gpc_visit_work *t);

/* Remember that psi moved and the gradient fell from the pass here to that there. */
void gpc_visit_learn(const gpc_visit *here, const gpc_visit *there, gpc_visit_work *t);

/* Forget all pairs. */
void gpc_visit_forget(gpc_visit_work *t);

gpc_surrogate gpc_visit_surrogate(const gpc_visit *v, const gpc_visit_work *t,
                                  size_t extras, double damping);

/* eq. (26a): the slope and m have the joint precision X'WX + diag(1, .., 1, 0), X = [A,
 * z] (flat prior of the slope): the slope's variance, and in cross [m] the change of m by
 * a unit of it,
 * -(I + A'WA)^-1 A'W z. 0 and zeros when the data say nothing of the slope. */
double gpc_visit_slope(gpc_visit_work *t, const gpc_visit *v, double *cross);

/* How much of the bound interpolation on the line may have cost at v, in nats: the error
 * in the middle of the cells, weighted by what lies there. Uses t->a and the like. */
double gpc_visit_line_error(gpc_visit_work *t, const gpc_visit *v);

#endif
