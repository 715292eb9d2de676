/* temperature.h: temperature scaling (Guo et al., 2017): the one number beta = 1/T > 0
 * that minimises the log loss of softmax(beta z),
 *
 *   L(beta) = sum_n w_n [ logsumexp(beta z_n) - beta z_{n,y} ],
 *
 * which is convex in beta, with L' = sum w (E_s[z] - z_y), L'' = sum w Var_s[z] and L'''
 * the third central moment, s = softmax(beta z). One pass gives all of them. */
#ifndef GPC_TEMPERATURE_H
#define GPC_TEMPERATURE_H

#include "gpc.h"

typedef struct {
  size_t n, k;
  const double *z;  /* [n x k], finite once floored */
  const int *label; /* [n], 1..k */
  const double *w;  /* [n] or NULL for ones */
  double floor;     /* max(z, floor) is used; -Inf for none */
  int threads;
} gpc_temperature_data;

typedef struct {
  double beta;       /* the solution */
  double loss;       /* L there */
  double curvature;  /* L'' there: its inverse is the variance of beta */
  double confidence; /* weighted mean of the largest probability there */
  int passes;        /* passes over all the data */
} gpc_temperature_result;

/* Doubles of work space that gpc_temperature_fit() needs. */
size_t gpc_temperature_work(size_t n, size_t k);

/* Safeguarded Halley iteration on L' in log beta. `start` is a first guess of beta, or 0
 * for one made from the data (for large data the guess is improved on a fraction of the
 * rows). `tol` bounds the error of log beta.
 *
 * GPC_OK; GPC_NOT_CONVERGED after max_passes; GPC_FLAT when all scores of every row are
 * equal (beta = 1); GPC_AT_LOWER when uniform probabilities are the best (beta is then
 * tiny); GPC_AT_UPPER when the loss falls without end and beta stops where the mean
 * confidence reaches (N + 1)/(N + 2) of what ties allow, N the number of rows or the sum
 * of their weights, whichever is larger. */
gpc_status gpc_temperature_fit(const gpc_temperature_data *data, double start, double tol,
                               int max_passes, gpc_poll poll, void *poll_data,
                               double *work, gpc_temperature_result *result);

/* L at a given beta, by the same pass. */
double gpc_temperature_loss(const gpc_temperature_data *data, double beta, double *work);

#endif
