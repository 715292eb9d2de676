/* scaling.h: Platt scaling (Platt, 2000; Lin, Lin and Weng, 2007) and beta calibration
 * (Kull, Silva Filho and Flach, 2017) of one class against the rest. */
#ifndef GPC_SCALING_H
#define GPC_SCALING_H

#include "logistic.h"
#include "ties.h"

/* v = 1 / (1 + exp(-c) (1 - z)^b z^-a). */
typedef enum {
  GPC_BETA_ABM, /* a, b and c free */
  GPC_BETA_AM,  /* a = b */
  GPC_BETA_AB   /* c = (a - b) log 2: one half stays one half */
} gpc_beta_params;

/* Infinite entries of x [n] become the smallest and largest finite ones of rows that
 * count (weights [n] or NULL); with a weight of less than ten of these they become
 * -+log(N + 1), N the sum of all, if that is farther. range [2] receives what scores are
 * to be limited to: these values where infinite ones occurred, otherwise -+limit or what
 * is farther. */
void gpc_bound_infinite(size_t n, const double *weights, double limit, double *x,
                        double *range);

/* Slope and intercept in coef[0], coef[1] of result, for finite scores one->x of any
 * size; smoothed: targets (N+ + 1)/(N+ + 2) and 1/(N- + 2) in place of 1 and 0. GPC_FLAT:
 * all scores are equal, slope 0; GPC_AT_UPPER: the classes are separated by the scores,
 * and the slope stopped where the mean confidence is (N + 1)/(N + 2) of what ties allow.
 */
gpc_status gpc_platt_fit(const gpc_one *one, int smoothed, double tol, int max_iter,
                         gpc_logistic_result *result);

/* a, b, c in coef of result. one->x are probabilities, rest [n] one minus them; both are
 * taken as at least `clip`. a and b are not negative: a fit with a negative one is
 * repeated without its term. Status as above. work: 2 n doubles. */
gpc_status gpc_beta_fit(const gpc_one *one, const double *rest, gpc_beta_params params,
                        double clip, double tol, int max_iter, double *work,
                        gpc_logistic_result *result);

#endif
