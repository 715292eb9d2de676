/* gp_wide_step.h: the parts of a step of the fit of gp_wide.h: standard deviations, means
 * and variances of the effects, from the sums of the last pass. */
#ifndef GPC_GP_WIDE_STEP_H
#define GPC_GP_WIDE_STEP_H

#include "gp_wide_pass.h"

#define GPC_WIDE_TAU_LOW 1e-3
#define GPC_WIDE_TAU_HIGH 30.0

extern const double gpc_wide_centre[GPC_WIDE_PARTS]; /* of tau's hyperprior */

/* A fit on its way. */
typedef struct {
  gpc_wide_pass pass;
  const gpc_wide_settings *settings;
  double tau[GPC_WIDE_PARTS];
  double *old_e;  /* [size] */
  double *d, *hd; /* [size] of the conjugate gradients */
} gpc_wide_climb;

/* The tau of every part that is not held: the best with H's diagonal alone, eq. (39d). */
void gpc_wide_choose_taus(gpc_wide_climb *o);

/* e := the maximum of g'd - 1/2 d'H d - 1/2 sum e^2 / tau^2, d = e - e0, by conjugate
 * gradients with the diagonal as preconditioner; g := what is left of the slope. */
void gpc_wide_solve_means(gpc_wide_climb *o);

/* var := 1 / (h + 1 / tau^2). */
void gpc_wide_set_variances(gpc_wide_climb *o);

/* Kullback-Leibler divergence of posterior and prior, less the logarithms of the
 * hyperpriors. */
double gpc_wide_divergence(const gpc_wide_climb *o);

#endif
