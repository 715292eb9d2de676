/* gp_surrogate.h: where to go after a pass, without touching the data again.
 *
 * One pass at psi0 gives on the nodes the gradient b of the data term with respect to
 * psi, the curvature W (full: diag(p) - q; for the uncertainty of the diagonal covariance
 * diag(spread)) and the spread. The surrogate of the bound, profiled over S, is then, eq. (20),
 *
 *   J = b'd - 1/2 d'W d - 1/2 (m - m0)'P0 (m - m0) - 1/2 log|P0 + A'V A| + 1/2 log|P0|
 *       - 1/2 rho'spread,    d = smooth + A m - psi0
 *
 * with V = W or diag(spread). For given hyperparameters (and inducing inputs) it is quadratic
 * in m and the slope: that is the inner problem, solved in gp_inner.c. Over log s2, log l
 * (and the inputs) it is maximised by optim.h inside a trust region. */
#ifndef GPC_GP_SURROGATE_H
#define GPC_GP_SURROGATE_H

#include "gp_params.h"

/* What a pass leaves, and the trust put into it. */
typedef struct {
  size_t g, m;
  gpc_prior prior; /* its slope is not looked at: that of the point counts */
  gpc_cov cov;
  const double *z;         /* [g] the nodes */
  const double *b;         /* [g] */
  const double *curvature; /* [g x g] symmetric, W */
  const double *spread;    /* [g] */
  const double
      *spread_full; /* [g x g] takes diag(spread)'s place on fewer points (gp_reduce.h),
                                whose sum is spread_sum; NULL: it does not */
  double spread_sum;
  const double *psi0; /* [g] */
  /* In d'W d, W + damping diag(mass) + E takes W's place, eq. (21): */
  const double *mass; /* [g] not negative, a bound for |b|: where W vanishes, softmaxes
                         saturate */
  double damping;
  size_t terms;        /* E = sum_i scale_i term_i term_i', from the secant pairs */
  const double *term;  /* [g x terms] */
  const double *scale; /* [terms] */
  int slope_free;
  double slope_low, slope_high;
} gpc_surrogate;

/* Which coordinates move, and how far from where they are (log s2 and log l; inducing
 * inputs as a fraction of their spacing). */
typedef struct {
  int s2_free, l_free, inducing_free;
  double radius;
  int to_line; /* s2 may fall as far as it will: the less process, the better the
                  surrogate is to be trusted */
  double s2_low, s2_high, l_low, l_high; /* outer limits, natural scale */
  int max_steps;
  double tol, fraction; /* optim.h */
  double *memory;       /* optim.h, dim = 2 (2 + m where the inducing inputs move) */
  gpc_poll poll;
  void *poll_data;
} gpc_trust_box;

size_t gpc_surrogate_work(size_t g, size_t m);

/* Maximise from `point` (hyper and inducing set, the rest is output); *value is J there.
 */
gpc_status gpc_surrogate_maximise(const gpc_surrogate *sur, const gpc_trust_box *box,
                                  double *work, gpc_params *point, double *value);

/* J and its gradient in log s2, log l and the inducing inputs, g [2 + m], with m, slope
 * and S at their best: what is maximised, for tests. */
gpc_status gpc_surrogate_value(const gpc_surrogate *sur, double *work, gpc_params *point,
                               double *value, double *g);

#endif
