/* r_gp_effects.h: a fit with effects of the classes as the core's struct. fit$effects is
 * a list of `scale` (rms, slope, low, high), `count` (features of each block), `effect`
 * [r x k], `cov` (the lower triangle, packed by columns) and `slopes`; in the short form
 * `cov` is that of the process, and there are `cross`, `own` and `common`. Large ones are
 * integers, the bits of single precision (R/gp-effects.R). */
#ifndef GPC_R_GP_EFFECTS_H
#define GPC_R_GP_EFFECTS_H

#include "gp_joint_predict.h"
#include "gp_wide_predict.h"
#include "r_gp_unpack.h"

/* short_form: may the covariance be in the short form (gp_joint_predict.h)? */
gpc_joint_fitted r_joint_fitted(SEXP fit, size_t k, int short_form);

/* Effects of many classes (R/gp-wide.R): a list of `steep`, `mean` and `var`. */
gpc_wide_fitted r_wide_fitted(SEXP wide, size_t k);

/* The short form of a covariance given by its lower triangle, packed by columns (of
 * gp_joint_brief.h, whose `alike` and x these are): list of cov, cross, own and common, or
 * NULL where it does not serve. */
SEXP r_short_form(const gpc_features *features, size_t x, const double *packed,
                  double alike, const gpc_memory *memory);

#endif
