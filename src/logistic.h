/* logistic.h: logistic regression on one or two features, with or without intercept, by
 * Newton's method: what Platt scaling and beta calibration are made of.
 *
 *   P(class) = 1 / (1 + exp(-eta)),  eta = b_1 x_1 + ... + b_0
 *
 * maximises sum_n w_n [ t_n log p_n + (1 - t_n) log(1 - p_n) ] with targets t = high for
 * rows of the class and low for the others. */
#ifndef GPC_LOGISTIC_H
#define GPC_LOGISTIC_H

#include "gpc.h"

#define GPC_LOGISTIC_MAX 3 /* two features and the intercept */

typedef struct {
  size_t n;
  int features;       /* 0, 1 or 2 */
  const double *x[2]; /* [n] each, finite */
  int intercept;
  const int *label; /* [n] */
  int code;         /* which label is the class */
  const double *w;  /* [n] or NULL */
  double high, low; /* targets, 0 <= low < high <= 1 */
  double stop;      /* stop where the mean of max(p, 1 - p) reaches this; 2 for never */
} gpc_logistic_data;

typedef struct {
  double coef[GPC_LOGISTIC_MAX]; /* features, then the intercept if there is one */
  double se[GPC_LOGISTIC_MAX];   /* standard errors; NaN where the data do not say */
  /* covariance of coef: the inverse curvature, NaN throughout where it is not defined */
  double cov[GPC_LOGISTIC_MAX][GPC_LOGISTIC_MAX];
  double log_lik; /* of the labels themselves, not of their targets */
  int iterations;
} gpc_logistic_result;

/* `tol` bounds the last Newton decrement, the distance to the optimum in standard errors
 * (those of weights that sum to 1, if they sum to less).
 * GPC_OK; GPC_NOT_CONVERGED; GPC_AT_UPPER where it stopped at `stop`. */
gpc_status gpc_logistic_fit(const gpc_logistic_data *data, double tol, int max_iter,
                            gpc_logistic_result *result);

#endif
