/* prior.h: class probabilities under other class frequencies, and the frequencies
 * themselves from forecasts without labels (Saerens, Latinne and Decaestecker, 2002). */
#ifndef GPC_PRIOR_H
#define GPC_PRIOR_H

#include "gpc.h"

/* q [n x k] := p_k ratio_k / sum_j p_j ratio_j; q may be p. Returns the first row (from
 * 1) in which every product is zero, which is left as it is, or 0. */
size_t gpc_prior_apply(size_t n, size_t k, const double *p, const double *ratio,
                       double *q);

typedef struct {
  double gain; /* log-likelihood per row over that of the frequencies it began with */
  double gap;  /* bound on what the log-likelihood per row may still gain */
  int iterations;
} gpc_prior_result;

/* The frequencies pi [k] that maximise the mean of log sum_k p_nk pi_k / from_k by
 * expectation and maximisation, beginning with from [k]; p [n x k]. Classes with
 * from_k = 0 keep 0. The log-likelihood is concave, and
 *   gap = max_k mean_n (p_nk / from_k) / (sum_j p_nj pi_j / from_j) - 1
 * bounds its distance to the maximum: the iteration ends where it is at most tol.
 * GPC_OK, GPC_NOT_CONVERGED, or GPC_NOT_FINITE where a row has no probability left.
 * work: n + 2 k doubles. */
gpc_status gpc_prior_em(size_t n, size_t k, const double *p, const double *from,
                        double tol, int max_iter, double *pi, double *work,
                        gpc_prior_result *result, gpc_poll poll, void *data);

#endif
