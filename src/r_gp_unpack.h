/* r_gp_unpack.h: what the .Call routines of prediction are given, as the core's structs.
 *
 * `fit` is a fitted object of calib_gp(), or any list with its fields `mean`, `hyper`
 * (variance, lengthscale, noise, slope), `inducing`, `q_mean` and `q_cov`. `at` is a list
 * of the scores `z` [n x k], their `floor` and `shift` [n] (or NULL). */
#ifndef GPC_R_GP_UNPACK_H
#define GPC_R_GP_UNPACK_H

#include "gp_fitted.h"
#include "gp_lift.h"
#include "gp_lookup.h"
#include "gp_model.h"
#include "r_util.h"

gpc_gp_fitted r_gp_fitted(SEXP fit);
gpc_gp_data r_gp_scores(SEXP at, int threads);
gpc_gp_lookup r_gp_lookup(const gpc_gp_fitted *fit);

/* functions$growth [pairs] beyond functions$ends = c(low, high, scale), eq. (26b), or
 * none where there is no such field. */
gpc_lift r_gp_lift(SEXP functions, size_t pairs);

#endif
