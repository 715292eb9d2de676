/* laplace.h: new rows for temperature scaling and for logistic maps whose old rows are
 * known by a Gaussian N(m0, P0^-1) alone: their log-likelihood to second order (Laplace's
 * approximation), eq. (O3). Newton's method with the step halved until the objective rises. */
#ifndef GPC_LAPLACE_H
#define GPC_LAPLACE_H

#include "temperature.h"

/* Maximises sum_n w_n log softmax(beta z_n)_y - 1/2 precision (beta - beta0)^2 over
 * beta > 0. tol bounds the last step relative to beta. *curvature is that of the whole,
 * *log_lik that of the rows. GPC_OK; GPC_NOT_CONVERGED; GPC_AT_LOWER if beta falls below
 * 1e-8 beta0. */
gpc_status gpc_laplace_temperature(const gpc_temperature_data *data, double beta0,
                                   double precision, double tol, int max_steps,
                                   double *beta, double *curvature, double *log_lik);

#define GPC_LAPLACE_MOST 3

/* Maximises sum_n w_n [t_n log p_n + (1 - t_n) log(1 - p_n)] - 1/2 (c - m0)'P0 (c - m0),
 * p = 1/(1 + exp(-x'c)), over c [d], d <= GPC_LAPLACE_MOST, beginning at m0. x [n x d];
 * t [n] targets; w [n] or NULL. curvature [d x d] is that of the whole. GPC_OK;
 * GPC_NOT_CONVERGED; GPC_NOT_PD. */
gpc_status gpc_laplace_logistic(size_t n, size_t d, const double *x, const double *t,
                                const double *w, const double *m0, const double *p0,
                                double tol, int max_steps, double *c, double *curvature);

#endif
