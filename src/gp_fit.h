/* gp_fit.h: the latent Gaussian process fitted: m, S, the slope of the prior mean, the
 * kernel's parameters and, when asked, the inducing inputs. */
#ifndef GPC_GP_FIT_H
#define GPC_GP_FIT_H

#include "gp_rows.h"
#include "gp_surrogate.h"

typedef struct {
  gpc_mean mean;
  gpc_cov cov;
  size_t m;
  gpc_line line;
  const gpc_rows *rows; /* for route "rows"; NULL for route "grid" */
  const double *y;      /* [line.g], from gpc_gp_labels() */
  double logs;          /* its value */
  int slope_free;
  double slope_low, slope_high;
  gpc_surrogate_box box; /* limits and what is free; radius is where to begin */
  const double
      *start_l; /* [starts] lengthscales to begin from (the first also when held) */
  size_t starts;
  double short_l; /* a lengthscale below this wants more inducing inputs; 0: go on
                     regardless */
  int max_passes;
  double tol;    /* nats: stop when the surrogate promises less */
  int may_halve; /* ask for a finer line when interpolation costs too much? */
} gpc_gp_setup;

/* In: a start (hyper, slope, inducing; q_mean, q_cov and passes when `warm`). Out: the
 * fit. */
typedef struct {
  gpc_surrogate_point point;
  double elbo;
  double promise; /* gain that the last surrogate still promised */
  int passes, steps;
  int warm; /* q_mean and q_cov are a start worth keeping */
  /* Out, where the slope is free: its posterior variance by the curvature at the optimum
   * (0 elsewhere), and slope_cross [m] (or NULL): how q_mean moves with it. */
  double slope_var;
  double *slope_cross;
} gpc_gp_state;

/* What a TOO_COARSE asks for: */
typedef struct {
  size_t times; /* fine cells per cell of the compressed rows; 0: do not compress */
  int halve;    /* the line itself is too coarse: halve its step */
} gpc_gp_finer;

size_t gpc_gp_fit_work(const gpc_gp_data *data, const gpc_gp_setup *setup);

/* GPC_OK, GPC_NOT_CONVERGED, GPC_NOT_PD, GPC_NOT_FINITE; GPC_TOO_FEW as soon as it is
 * clear that the lengthscale is shorter than short_l; or GPC_TOO_COARSE: exp(psi) has
 * become too steep for the compressed rows, or the map too bent for the line: state holds
 * the best point so far; do what *finer says and call again. */
gpc_status gpc_gp_fit(const gpc_gp_data *data, const gpc_gp_setup *setup, gpc_poll poll,
                      void *poll_data, double *work, gpc_gp_state *state,
                      gpc_gp_finer *finer);

#endif
