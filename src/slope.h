/* slope.h: the calibration slope of any number of classes, and its likelihood-ratio test:
 * eq. (32) of the methods vignette.
 *
 * With z = log p the probabilities softmax(a z) contain the forecast at a = 1. Their
 * log-likelihood is a T - A(a), with T = sum_n w_n z_{n,y} all that it knows of the
 * labels and A(a) = sum_n w_n log sum_k exp(a z_nk); A' = sum w E[z], A'' = sum w Var[z].
 * Classes of probability zero stay so. */
#ifndef GPC_SLOPE_H
#define GPC_SLOPE_H

#include "measures.h"

/* out [3] := A, A', A'' at a > 0. */
void gpc_slope_at(const gpc_forecast *f, double a, double *out, gpc_poll poll,
                  void *data);

/* out [n] := w_n (z_{n,y} - E[z]) at a = 1; -Inf for a label of probability zero. */
void gpc_slope_rows(const gpc_forecast *f, double *out);

/* T with labels drawn from the probabilities: out [count]. Replicates as in resample.h.
 * work [2 n k], for two classes [3 n]. */
void gpc_slope_draw(const gpc_forecast *f, uint64_t seed, size_t first, size_t count,
                    double *work, double *out, gpc_poll poll, void *data);

#endif
