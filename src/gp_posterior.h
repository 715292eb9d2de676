/* gp_posterior.h: a Gaussian posterior of everything that a fit estimates, for one pair of
 * hyperparameters or averaged over them (gp_mixture.h). */
#ifndef GPC_GP_POSTERIOR_H
#define GPC_GP_POSTERIOR_H

#include "gp_params.h"
#include "memory.h"

/* The posterior for one pair of hyperparameters: of (m, slope, e), the slope where it is
 * estimated (slopes = 1), e effects of the classes where there are any. */
typedef struct {
  gpc_params at; /* hyper, slope, inducing, q_mean; q_cov: of m given the slope */
  size_t slopes, e;
  double *effect; /* [e] */
  double *cov; /* [size x size], size = m + slopes + e; of a component, of what is not m
                     the lower triangle at least */
  double low, high; /* scores beyond which rows tell little (gp_lift.h) */
  double bent;      /* of a mixture: the probability that its map is no line */
  double value;     /* ELBO + log sd(slope) */
} gpc_posterior;

gpc_posterior gpc_posterior_get(const gpc_memory *memory, size_t m, size_t slopes,
                                size_t e);

/* The variance of the slope, and in cross [m] how m moves by a unit of it; 0 and zeros
 * where it is held. */
double gpc_posterior_slope(const gpc_posterior *posterior, double *cross);

#endif
