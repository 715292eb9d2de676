/* gp_predict.h: calibrated probabilities from a fitted latent process.
 *
 * For a row with scores z_1..z_K the latent values are Gaussian with mean phi, eq. (7),
 * and covariance C, eq. (9). s = softmax(phi) is the approximation "mean". "delta"
 * expands the softmax to second order (gp_delta.h), averages rows for which that is not
 * good enough over a fixed set of functions (gp_integrate.h), and takes two classes by
 * quadrature (gp_two.h). Averages over random functions are in gp_draws.h. No probability
 * is exactly 0, and no answer depends on the rows beside it or on the number of threads.
 * */
#ifndef GPC_GP_PREDICT_H
#define GPC_GP_PREDICT_H

#include "gp_fitted.h"
#include "gp_model.h"
#include "memory.h"

typedef enum { GPC_APPROX_MEAN, GPC_APPROX_DELTA } gpc_approx;

/* p [n x k] for the rows of data, labels and weights of which are not looked at.
 * GPC_NOT_PD if S is not positive definite. */
gpc_status gpc_gp_predict(const gpc_gp_data *data, const gpc_gp_fitted *fit,
                          gpc_approx approx, const gpc_memory *memory, gpc_poll poll,
                          void *poll_data, double *p);

#endif
