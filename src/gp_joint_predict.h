/* gp_joint_predict.h: predictions of a process with class effects (gp_joint.h).
 *
 * The latent values of a row are Gaussian with mean phi_k = slope z_k + a(z_k)'m + x'e_k
 * and covariance C = X S X' + diag(rho), S the joint covariance of (m, slope, e), eq.
 * (38). Two classes are integrated by quadrature, eq. (25); more by the expansion of eq.
 * (24) where that is good enough, and otherwise over a fixed set of normal points. */
#ifndef GPC_GP_JOINT_PREDICT_H
#define GPC_GP_JOINT_PREDICT_H

#include "class_features.h"
#include "gp_fitted.h"
#include "gp_lift.h"
#include "gp_model.h"
#include "gp_predict.h"
#include "memory.h"

#include <math.h>

typedef struct {
  gpc_gp_fitted process; /* basis, prior, q_mean; its q_cov is not looked at */
  gpc_features features;
  const double *effect; /* [k r], class k at k r */
  size_t slopes;        /* 1 if the slope is uncertain, else 0 */
  const double *cov;    /* [size x size], size = m + slopes + k r: (m, slope, e); in the
                           short form of (m, slope) alone, and then ... */
  const double *cross;  /* [(m + slopes) x k r] covariances with e ... */
  const double *own; /* [r (r + 1) / 2 x k] of a class's effects given (m, slope) ... */
  const double *common; /* [r (r + 1) / 2] and of those of any two classes: lower
                           triangles. own = NULL: cov is in full */
} gpc_joint_fitted;

/* The slope's uncertainty grows with the score to three times what was seen and no
 * further: beyond that the average would be that of slopes of either sign, for scores
 * like those of a class that is ruled out. */
#define GPC_JOINT_HELD_SLOPE 3.0

static inline double gpc_joint_held_slope(const gpc_features *f, double z) {
  const double end = fmax(fabs(f->low), fabs(f->high)) * GPC_JOINT_HELD_SLOPE;
  return fmin(fmax(z, -end), end);
}

/* p [n x k] of the rows of data. GPC_NOT_PD if the covariance is not. */
gpc_status gpc_joint_predict(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                             gpc_approx approx, const gpc_memory *memory, gpc_poll poll,
                             void *poll_data, double *p);

/* The same for fits in the short form, by expansion and integration (gp_joint_short.c). */
gpc_status gpc_joint_predict_short(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                                   const gpc_memory *memory, gpc_poll poll,
                                   void *poll_data, double *p);

/* mean and var [n x k] of the latent values. cov in full. */
gpc_status gpc_joint_latent(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                            const gpc_memory *memory, gpc_poll poll, void *poll_data,
                            double *mean, double *var);

/* Draws in antithetic pairs, cov in full: x [size x pairs] and noise [k x pairs] standard normal; lift: eq. (26b). With
 * `all` [n x k x 2 pairs] every draw is kept, otherwise p [n x k] becomes their average.
 */
gpc_status gpc_joint_draws(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                           size_t pairs, const double *x, const double *noise,
                           const gpc_lift *lift, const gpc_memory *memory, gpc_poll poll,
                           void *poll_data, double *p, double *all);

#endif
