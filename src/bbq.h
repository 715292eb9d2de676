/* bbq.h: Bayesian binning into quantiles (Naeini, Cooper and Hauskrecht, 2015) of one
 * class.
 *
 * Binnings of equal frequency with B bins, for B from max(1, floor(N^(1/3) / 10)) to
 * min(ceil(N / 5), ceil(10 N^(1/3))), N the total weight. Upper edge b lies half-way
 * between the smallest score at or below which there is at least b/B of the weight and
 * the next one; equal edges are one, so that ties are never split; the outer edges are 0
 * and 1. With m of n in bin b of B (as many as are left), centre c_b, alpha = 2 c_b / B
 * and beta = 2 (1 - c_b) / B, a bin's value is (m + alpha) / (n + 2 / B), and a binning's
 * weight the product over its bins of Beta(m + alpha, n - m + beta) / Beta(alpha, beta).
 *
 * The weighted mean of step functions is a step function: the result is a GPC_CURVE_UPTO
 * whose edges are those of all binnings that matter. Binnings whose share is below
 * GPC_BBQ_NEGLIGIBLE of the best one's are left out. */
#ifndef GPC_BBQ_H
#define GPC_BBQ_H

#include "ties.h"

#define GPC_BBQ_NEGLIGIBLE 1e-13

/* The first and the last B for total weight n. */
void gpc_bbq_range(double n, size_t *first, size_t *last);

/* Bytes of work space for n rows of total weight `total`, aligned as for a double. */
size_t gpc_bbq_work(size_t n, double total, int weighted);

/* x, y: room for n points. Returns their number. log_evidence, unless NULL: the logarithm
 * of the mean of the binnings' marginal likelihoods. */
size_t gpc_bbq_fit(const gpc_one *one, double total, double *x, double *y,
                   double *log_evidence, void *work);

/* log Gamma(x) for x > 0, without the global that libm's sets. */
double gpc_log_gamma(double x);

#endif
