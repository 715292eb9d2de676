/* gp_surrogate.h: where to go after a pass, without touching the data again.
 *
 * One pass at psi0 gives on the nodes the gradient b of the data term with respect to
 * psi, the curvature W (full: diag(p) - q; for the uncertainty of the diagonal covariance
 * diag(v)) and v. The surrogate of the bound, profiled over S, is then (eq. (20))
 *
 *   J = b'd - 1/2 d'W d - 1/2 m'm - 1/2 log|I + A'V A| - 1/2 rho'v,   d = slope z + A m -
 * psi0
 *
 * with V = W or diag(v). For given hyperparameters (and inducing inputs) it is quadratic
 * in m and the slope; over log s2, log l (and the inputs) it is maximised by BFGS inside
 * a box. */
#ifndef GPC_GP_SURROGATE_H
#define GPC_GP_SURROGATE_H

#include "gp_model.h"

typedef struct {
  size_t g, m;
  gpc_mean mean;
  gpc_cov cov;
  const double *nodes; /* [g] */
  const double *b;     /* [g] */
  const double *w;     /* [g x g] symmetric, W */
  const double *v;     /* [g] */
  const double *psi0;  /* [g] */
  const double
      *mass; /* [g] not negative, a bound for |b|: where W vanishes, softmaxes saturate */
  double damping; /* in d'W d, W + damping diag(mass) + E takes W's place, */
  size_t extras;  /* E = sum_i bend_i extra_i extra_i': curvature that W lacks, seen */
  const double *extra; /* [g x extras] from pass to pass */
  const double *bend;  /* [extras] */
  int slope_free;
  double slope_low, slope_high;
} gpc_surrogate;

/* A point of the surrogate, and what it implies. */
typedef struct {
  double value;
  double slope;
  gpc_hyper hyper;
  double *inducing; /* [m] */
  double *q_mean;   /* [m] */
  double *q_cov;    /* [m x m]: (I + A'V A)^-1 */
} gpc_surrogate_point;

/* Which coordinates move, and how far from where they are (log s2 and log l; inducing
 * inputs as a fraction of their spacing). */
typedef struct {
  int s2_free, l_free, inducing_free;
  double radius;
  double s2_low, s2_high, l_low, l_high; /* outer limits, natural scale */
  int max_steps;
  double tol;    /* gain below which to stop */
  gpc_poll poll; /* called once per step; with many inducing inputs steps are long */
  void *poll_data;
} gpc_surrogate_box;

size_t gpc_surrogate_work(size_t g, size_t m);

/* Maximise from `point` (hyper and inducing set, the rest is output). */
gpc_status gpc_surrogate_maximise(const gpc_surrogate *sur, const gpc_surrogate_box *box,
                                  double *work, gpc_surrogate_point *point);

/* J at the point where the pass was taken (d = 0): hyper, inducing, q_mean as they are.
 * Also sets q_cov. */
gpc_status gpc_surrogate_here(const gpc_surrogate *sur, double *work,
                              gpc_surrogate_point *point);

#endif
