/* gp_fitted.h: a fitted latent process, and its posterior at any score.
 *
 *   phi(z) = mu(z) + a(z)'m                                                eq. (7)
 *   c(z) = a(z)'S a(z) + rho(z)                                            eq. (10)
 *
 * Fields not named by a designated initialiser are absent: what is added to the model
 * later (effects of the classes, say) will be a pointer here, NULL without it. */
#ifndef GPC_GP_FITTED_H
#define GPC_GP_FITTED_H

#include "gp_basis.h"
#include "gp_prior.h"

typedef struct {
  gpc_basis basis;      /* factored */
  gpc_prior prior;      /* only the mean function is used */
  const double *q_mean; /* [m] m */
  const double *q_cov;  /* [m x m] S */
} gpc_gp_fitted;

/* At points z [n]: dev [n] = a(z)'m, c [n] and rho [n]. a [n x m] is left with the
 * features a(z)' in its rows; work [n x m]. */
void gpc_gp_deviation(const gpc_gp_fitted *fit, size_t n, const double *z, double *work,
                      double *a, double *dev, double *c, double *rho);

/* Latent mean phi and variance c at points z [n]; work [n (2 m + 1)]. */
void gpc_gp_latent(const gpc_gp_fitted *fit, size_t n, const double *z, double *work,
                   double *mean, double *var);

#endif
