/* gp_joint_average.h: the process and the effects of the classes averaged over the
 * hyperparameters of the process (gp_mixture.h). */
#ifndef GPC_GP_JOINT_AVERAGE_H
#define GPC_GP_JOINT_AVERAGE_H

#include "gp_joint.h"
#include "gp_mixture.h"

typedef struct {
  int s2_free, l_free;
  double width, l_low, l_high;
  double rows;   /* weight of all of them, of those seen before as well */
  double slope;  /* of temperature scaling: standard deviation of the slope's prior */
  double likely; /* probability that there are effects, eq. (45a) */
  gpc_poll poll;
  void *poll_data;
} gpc_joint_average_settings;

/* The mixture about the optimum `best`, whose components are found by Laplace's method,
 * eq. (44): the tilted bound, which the optimum has, is loose where a large sigma leaves much
 * open, and would make those components too narrow and too light. pi [n x k] is overwritten.
 * *passes counts on. GPC_OK, or what went wrong: then there is no mixture. */
gpc_status gpc_joint_average(gpc_joint *joint, const gpc_joint_average_settings *settings,
                             const gpc_joint_point *best, double *pi, int *passes,
                             gpc_posterior *mixture);

#endif
