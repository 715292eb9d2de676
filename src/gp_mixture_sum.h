/* gp_mixture_sum.h: components of a mixture added up, and the sum as one Gaussian, eq. (43).
 *
 * A component has whitened coordinates of its own; sums are in those of one basis, from whose
 * inputs all components are interpolated. */
#ifndef GPC_GP_MIXTURE_SUM_H
#define GPC_GP_MIXTURE_SUM_H

#include "gp_mixture.h"

/* Weights are relative to exp(top). */
typedef struct {
  const gpc_mixture_settings *settings;
  gpc_basis basis, point;     /* of the result; of a component */
  gpc_posterior now;          /* room for a component */
  double top, total, sigma;   /* sigma: sum of weight sigma */
  double between;             /* sum of weight sqrt(gpc_rough_between()) */
  double *origin, *mean, *at; /* [size] sums are about the first component's mean */
  double *cov, *part;         /* [size x size]; [2 m size + m m] */
  double *tt;                 /* [m x m] (L*^-1 L)' of a component */
  int points;
} gpc_mixture_sum;

/* Nothing yet; memory for `out`, and its inducing inputs, are there. */
gpc_status gpc_mixture_sum_begin(const gpc_mixture_settings *settings,
                                 const gpc_posterior *out, gpc_mixture_sum *f);

/* f->now with weight exp(value). A component whose kernel cannot be factored is left out. */
void gpc_mixture_sum_add(gpc_mixture_sum *f, double value);

/* The share of what was added with weight exp(value). */
double gpc_mixture_sum_share(const gpc_mixture_sum *f, double value);

/* The result, with the variance that the components have on average and `scale` times the
 * standard deviations of the sum. The room of the sum is given back. */
gpc_status gpc_mixture_sum_finish(gpc_mixture_sum *f, double scale, gpc_posterior *out);

#endif
