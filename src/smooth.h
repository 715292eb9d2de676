/* smooth.h: a smooth calibration curve: logistic regression on a natural cubic spline of
 * the log-odds, its smoothness chosen by restricted maximum likelihood.
 *
 * The spline is given by its values beta [k] at the knots t_1 < ... < t_k, linear beyond
 * them. Penalty: lambda times the integral of its squared second derivative, beta' S
 * beta, so that a large lambda gives a straight line, the usual recalibration. With the
 * log-likelihood l, X the basis and W its curvature,
 *   lambda maximises  l(beta) - lambda/2 beta'S beta + (k - 2)/2 log lambda
 *                     - 1/2 log |X'WX + lambda S|
 * (Laplace's approximation; Wood, 2011; eq. 31 of the methods vignette), beta being the
 * penalised estimate. Its uncertainty is integrated out on a grid, with 1/sqrt(lambda)
 * exponential a priori. */
#ifndef GPC_SMOOTH_H
#define GPC_SMOOTH_H

#include "gpc.h"

#define GPC_SMOOTH_MAX 40 /* knots */

typedef struct {
  size_t k;
  double knots[GPC_SMOOTH_MAX];
  double second[GPC_SMOOTH_MAX * GPC_SMOOTH_MAX];  /* F [k x k]: second derivatives at the
                                                      knots are F beta */
  double penalty[GPC_SMOOTH_MAX * GPC_SMOOTH_MAX]; /* S [k x k] */
} gpc_spline;

/* The spline with these knots, ascending; 2 <= k <= GPC_SMOOTH_MAX. GPC_NOT_PD for knots
 * that cannot be told apart. */
gpc_status gpc_spline_make(size_t k, const double *knots, gpc_spline *spline);

/* row [k]: the value of each basis function at x. */
void gpc_spline_row(const gpc_spline *spline, double x, double *row);

typedef struct {
  double beta[GPC_SMOOTH_MAX];
  double cov[GPC_SMOOTH_MAX * GPC_SMOOTH_MAX]; /* (X'WX + lambda S)^-1 [k x k] */
  double
      spread[GPC_SMOOTH_MAX * GPC_SMOOTH_MAX]; /* [k x k] about beta, lambda uncertain */
  double lambda, edf, reml;
  int iterations; /* Newton steps in all */
} gpc_smooth;

/* Doubles of work space for m cells and k knots. */
size_t gpc_smooth_work(size_t m, size_t k);

/* Cells with log-odds x [m], weight w [m] > 0 and weight of the events h [m]. GPC_OK;
 * GPC_NOT_CONVERGED where the events are separated by x; GPC_NOT_PD. */
gpc_status gpc_smooth_fit(const gpc_spline *spline, size_t m, const double *x,
                          const double *w, const double *h, double *work, gpc_poll poll,
                          void *data, gpc_smooth *fit);

#endif
