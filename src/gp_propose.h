/* gp_propose.h: where to go from the last accepted pass, asked of the surrogate that it
 * defines: the next step, the line without a process, other maxima of the bound, more
 * inducing inputs. No function here reads the data. */
#ifndef GPC_GP_PROPOSE_H
#define GPC_GP_PROPOSE_H

#include "gp_optimise.h"

/* How far the surrogate is to be trusted. */
typedef struct {
  double radius, damping; /* of the trust region; of the curvature, eq. (21) */
  int refused;            /* steps from the present point that the data took back */
  int proven;             /* the secants have foretold the gain of the last step */
} gpc_trust;

#define GPC_LONGEST_RADIUS 3.0 /* in log s2 and log l: a factor of 20 */
#define GPC_COLLAPSED 1e-4     /* a variance below this is none */
#define GPC_START_PER_L 3.0    /* nodes to the shortest lengthscale to begin from */

/* Distance between the nodes over the bulk of the scores. */
static inline double gpc_node_distance(const gpc_visitor *visitor,
                                       const gpc_nodes *nodes) {
  return visitor->ruler->coarsest_step * nodes->line.step / visitor->ruler->coarsest.step;
}

/* Has the process vanished? */
static inline int gpc_vanished(const gpc_optimiser *o) {
  return o->here.at.hyper.s2 < GPC_COLLAPSED;
}

/* there.at := the surrogate's maximum, from every start of the settings (`first`) or from
 * here; progress.promise := what it gains. GPC_NOT_PD if there is none. */
gpc_status gpc_propose_step(gpc_optimiser *o, const gpc_optimise_settings *settings,
                            const gpc_trust *how, int first);

/* Is the fit settled enough to look at other maxima? looks: how often it has; again: the
 * data have refused the last one; end: it would end here. */
int gpc_propose_wants_look(const gpc_optimiser *o, const gpc_trust_box *box, int looks,
                           int again, int end);

/* The bound has several maxima: one without a process (s2 -> 0), where the lengthscale is
 * anybody's, and others at long and at short lengthscales. A step sees only what lies
 * inside its trust region, so that the surrogate is asked from other lengthscales as
 * well. 1 if it promises more there than the step in there.at, which is replaced; every
 * look that the data have refused brings the next one closer. */
int gpc_propose_elsewhere(gpc_optimiser *o, const gpc_trust_box *limits, double tol,
                          int looks);

/* More inducing inputs are wanted: the lengthscale is short here and there, it is nearly
 * settled, has been short for a while (short_steps) or would rather be shorter than it
 * may, and the process is worth more than a line (by the surrogate, where it has no
 * variance). */
int gpc_propose_more(gpc_optimiser *o, const gpc_optimise_settings *settings,
                     int short_steps);

#endif
