/* gp_effects_fitting.h: a fit of class effects on its way, shared by its parts: where to
 * begin (gp_effects_start.c), steps (gp_effects.c), and what is made of the optimum
 * (gp_effects_finish.c). */
#ifndef GPC_GP_EFFECTS_FITTING_H
#define GPC_GP_EFFECTS_FITTING_H

#include "gp_effects.h"
#include "gp_joint_step.h"
#include "gp_stream.h"

#define GPC_EFFECTS_FEWEST_PER_L                                                         \
  3.5 /* nodes to a lengthscale: 12 of them interpolate to 2e-7; none shorter is looked at */
#define GPC_EFFECTS_LEAST_S2                                                             \
  1e-2 /* to begin from, so that a process that had vanished may return */

typedef struct {
  gpc_joint joint;
  const gpc_effects_settings *settings;
  gpc_ruler *ruler;
  gpc_joint_point here, there;
  gpc_joint_pass pass, next;
  gpc_joint_stepper *stepper;
  double *h, *low, *high;      /* [dim] of the step */
  double radius, scale, share; /* trust: gp_joint_step.h */
  double most_share;           /* below the last share that was refused */
  int has_other;
  int stale;            /* the last visit was at a point that was refused */
  gpc_joint_pass other; /* the pass to average with */
  gpc_joint_pass mixed; /* `pass` with the average of both */
} gpc_effects_fitting;

/* Are the rows to be frozen, for later ones? */
static inline int gpc_effects_freezes(const gpc_effects_fitting *f) {
  return f->settings->freeze && f->joint.e <= GPC_SITE_EFFECTS;
}

/* f, which has its settings and ruler, at the shared fit with effects that are known to be
 * 0, or at temperature scaling where that is the better place; and the first pass, or
 * passes. */
gpc_status gpc_effects_start(const gpc_visitor *visitor, const gpc_visit *from,
                             const gpc_gp_range *range, gpc_effects_fitting *f,
                             int *passes);

/* The result of a fit that has ended at f->here. */
gpc_status gpc_effects_finish(gpc_effects_fitting *f, const gpc_visitor *visitor,
                              const gpc_gp_range *range, gpc_effects_result *result);

#endif
