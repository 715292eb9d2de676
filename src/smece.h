/* smece.h: the smooth calibration error of Blasiok and Nakkiran (2023), without bins.
 *
 * Residuals y - x are smoothed over [0, 1] by a Gaussian kernel reflected at both ends,
 *   r(t) = sum_n w_n (y_n - x_n) K(t, x_n) / sum_n w_n,
 * and the error at bandwidth sigma is the integral of |r|. It falls as sigma grows; the
 * smooth error is the value that equals its own bandwidth. */
#ifndef GPC_SMECE_H
#define GPC_SMECE_H

#include "gpc.h"

/* Bandwidths that can be asked for. Below the first, rows are too close together to be
 * told apart on the grid. */
#define GPC_SMECE_LEAST 1e-4
#define GPC_SMECE_MOST 1.0

/* Doubles of work space for every bandwidth from `sigma` up. */
size_t gpc_smece_work(double sigma);

/* The error at one bandwidth: scores x [n] in [0, 1], residual [n] that are divided by
 * `total`. The rows are spread over a grid of step h = sigma/32 at most, each over its
 * two neighbours. That smooths a little more, which is taken off the bandwidth on
 * average; what is left is at most (h/sigma)^2/8 of the mean |residual|, and far less in
 * practice. */
double gpc_smece_error(size_t n, const double *x, const double *residual, double total,
                       double sigma, double *work);

typedef struct {
  double error, sigma;
  int evaluations;
} gpc_smece_result;

/* The fixed point, sigma to a relative error of tol. GPC_AT_LOWER where it lies below
 * GPC_SMECE_LEAST: error is then that at this bandwidth. work:
 * gpc_smece_work(GPC_SMECE_LEAST) doubles. */
gpc_status gpc_smece_ece(size_t n, const double *x, const double *residual, double total,
                         double tol, double *work, gpc_poll poll, void *data,
                         gpc_smece_result *result);

#endif
