/* rowscores.h: what each row of a forecast scores, and Murphy curves.
 *
 * Comparisons need scores row by row: differences of two forecasts are paired. */
#ifndef GPC_ROWSCORES_H
#define GPC_ROWSCORES_H

#include "gpc.h"

/* Scores of probabilities p [n x k] for labels [n] (1..k). Each output is [n], or NULL if
 * it is not wanted:
 *   loss   -log max(p_y, eps), which may be Inf
 *   brier  sum_k (p_k - [y = k])^2; of the second class alone when k is 2
 *   rps    sum_{j < k} (p_1 + ... + p_j - [y <= j])^2, Epstein's ranked probability score
 *          in the form of Murphy (1971) */
void gpc_row_scores(size_t n, size_t k, const double *p, const int *label, double eps,
                    double *loss, double *brier, double *rps, gpc_poll poll, void *data);

/* Bytes of work space for n rows, aligned as for a double. */
size_t gpc_murphy_work(size_t n);

/* The mean elementary score (Ehm, Gneiting, Jordan and Krueger, 2016) of forecasts x [n]
 * of the outcomes y [n] (0 or 1) at thresholds theta [m], weights [n] or NULL:
 *   2 theta        where y = 0 and x > theta,
 *   2 (1 - theta)  where y = 1 and x <= theta,
 * and 0 elsewhere. Its integral over theta is the Brier score. `left` [m], unless NULL,
 * receives the limit from the left, which differs where theta is one of the x. */
void gpc_murphy(size_t n, const double *x, const double *y, const double *weights,
                size_t m, const double *theta, double *mean, double *left, void *work);

#endif
