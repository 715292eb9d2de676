/* validate.h: what validation of two-class forecasts rests on: logistic recalibration,
 * and the share of pairs that are in order. */
#ifndef GPC_VALIDATE_H
#define GPC_VALIDATE_H

#include "gpc.h"

typedef struct {
  double coef[2];    /* intercept, slope */
  double inverse[4]; /* [2 x 2], inverse of the information; with the slope held, [0]
                        alone */
  double log_lik;
  int iterations;
} gpc_recal;

/* logit P(hit) = intercept + slope x, x [n] finite log-odds, hit [n] 0 or 1, w [n] or
 * NULL. With `hold` the slope is 1. GPC_OK; GPC_NOT_CONVERGED for separated rows;
 * GPC_FLAT when x is constant and the slope is asked for. */
gpc_status gpc_recal_fit(size_t n, const double *x, const int *hit, const double *w,
                         int hold, gpc_poll poll, void *data, gpc_recal *fit);

/* Bytes of work space. */
size_t gpc_concordance_work(size_t n);

/* The weighted share of pairs of an event and a non-event in which the event has the
 * higher x, ties counting half; NaN without pairs. influence [n]: what row i adds to the
 * error of that share; the sum of squares over independent rows is its variance (DeLong
 * et al., 1988). */
double gpc_concordance(size_t n, const double *x, const int *hit, const double *w,
                       double *influence, void *work);

/* The mean probability of the second class in its rows and in the others, from z [n x 2]:
 * probabilities, or logits. label [n] is 1 or 2, w [n] or NULL. out [2 x 3], others first:
 * number of rows with weight, mean, and variance of the mean. */
void gpc_two_means(size_t n, const double *z, const int *label, const double *w,
                   int logits, double *out);

#endif
