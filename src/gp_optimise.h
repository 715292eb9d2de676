/* gp_optimise.h: the process fitted for given inducing inputs: passes over the data
 * (gp_visit.h) alternate with maximising the surrogate that the last accepted pass
 * defines (gp_surrogate.h). A step that would lower the bound is taken back and tried
 * again in a smaller trust region, with more damping. */
#ifndef GPC_GP_OPTIMISE_H
#define GPC_GP_OPTIMISE_H

#include "gp_reduce.h"
#include "gp_secant.h"
#include "gp_visit.h"

/* How far the fit has come, for those who watch it. */
typedef struct {
  const gpc_params *at;
  double elbo;
  double promise; /* gain that the last surrogate promised */
  int passes;     /* over the data */
  int steps;      /* accepted */
} gpc_progress;

typedef struct {
  gpc_trust_box box;     /* limits and what is free; radius is where to begin */
  const double *start_l; /* [starts] lengthscales to begin from; none: where it is */
  size_t starts;
  double short_l; /* a lengthscale below this wants more inducing inputs; 0: go on
                     regardless */
  int max_passes;
  double tol;          /* nats: stop when the surrogate promises less */
  double elbo_to_beat; /* give up when this is out of reach; -INFINITY: never */
  int local;           /* other maxima of the bound are not looked for */
  int warm;            /* q_mean and q_cov of the start are worth keeping */
} gpc_optimise_settings;

typedef struct {
  gpc_visitor *visitor;
  gpc_visit here, there;
  gpc_params candidate;
  gpc_secants secants;
  gpc_reduce_room reduced; /* the surrogate on fewer points */
  gpc_buffer work;
  double *memory; /* of the surrogate's maximiser, from step to step */
  gpc_progress progress;
  gpc_progress *watch; /* a copy for poll() to look at, or NULL */
  gpc_poll poll;       /* called once per step, with poll_data */
  void *poll_data;
} gpc_optimiser;

/* Room for m inducing inputs, in place of what there may have been for others. progress
 * counts on from where it is. */
void gpc_optimiser_get(gpc_optimiser *optimiser, size_t m);

/* The fit is over: all is given back but `here`. */
void gpc_optimiser_give(gpc_optimiser *optimiser);

/* From optimiser->here.at (hyper, slope, inducing; q_mean and q_cov when warm) to the
 * best point found, in optimiser->here. GPC_OK; GPC_NOT_CONVERGED; GPC_NOT_PD and
 * GPC_NOT_FINITE from the first pass; GPC_TOO_COARSE when the line would need too many
 * nodes; GPC_TOO_FEW as soon as it is clear that the lengthscale is shorter than short_l.
 */
gpc_status gpc_optimise(gpc_optimiser *optimiser, const gpc_optimise_settings *settings);

#endif
