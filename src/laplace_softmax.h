/* laplace_softmax.h: new rows for vector and matrix scaling (linear_scaling.h) whose old
 * rows are known by a Gaussian alone, as laplace.h has it for other maps, eq. (O3):
 *
 *   maximise sum_n w_n log softmax(f_n)_y - 1/2 (theta - m0)'P0 (theta - m0),
 *   f_nk = theta_k + slope_k u_nk   or   theta_k + sum_j W_kj u_nj
 *
 * theta = (offsets [k], slopes [k] or W [k x k] by columns), u the scores centred by row. */
#ifndef GPC_LAPLACE_SOFTMAX_H
#define GPC_LAPLACE_SOFTMAX_H

#include "memory.h"

typedef struct {
  size_t n, k;
  const double *u;       /* [n x k] */
  const int *label;      /* [n] 1..k */
  const double *w;       /* [n] or NULL */
  int matrix;            /* 0: slopes */
  const double *m0, *p0; /* [d], [d x d] */
} gpc_laplace_softmax_data;

size_t gpc_laplace_softmax_size(size_t k, int matrix);

/* theta [d], curvature [d x d] of the whole, and the log-likelihood of the rows. tol bounds
 * what the next step promises. GPC_OK, GPC_NOT_CONVERGED, GPC_NOT_PD. */
gpc_status gpc_laplace_softmax(const gpc_laplace_softmax_data *data, double tol,
                               int max_steps, const gpc_memory *memory, gpc_poll poll,
                               void *poll_data, double *theta, double *curvature,
                               double *log_lik);

#endif
