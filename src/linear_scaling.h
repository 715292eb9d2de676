/* linear_scaling.h: vector and matrix scaling with a ridge, eq. (40):
 *
 *   f_nk = a u_nk + b_k + d_k u_nk            (vector)
 *   f_nk = a u_nk + b_k + sum_j W_kj u_nj     (matrix)
 *   b_k ~ N(0, 1/ridge_b),  d_k, W_kj ~ N(0, 1/ridge_w),  a flat
 *
 * u are the scores, centred by row and divided by their root mean square. The parameters
 * maximise the likelihood times their prior; ridges that are not given maximise Laplace's
 * approximation of the evidence, eq. (41), with the curvature taken as given (MacKay
 * 1992): ridge |theta|^2 = number of theta - ridge tr(S). */
#ifndef GPC_LINEAR_SCALING_H
#define GPC_LINEAR_SCALING_H

#include "gpc.h"
#include "memory.h"

typedef struct {
  size_t n, k;
  const double *u;  /* [n x k] from gpc_linear_centre() */
  const int *label; /* [n] 1..k */
  const double *w;  /* [n], or NULL for ones */
} gpc_linear_data;

typedef struct {
  int matrix;      /* 0: vector scaling */
  double slope;    /* where a begins */
  int hold_slope;  /* and stays there */
  double ridge[2]; /* of b and of d or W; NAN: learned */
  double tol;      /* nats promised by the next step */
  int max_passes;
  gpc_poll poll;
  void *poll_data;
} gpc_linear_settings;

typedef struct {
  double *theta; /* [size]: a, b [k], d [k] or W [k x k], class by class */
  double *cov;   /* [size x size] S = (H + ridges)^-1 */
  double ridge[2];
  double log_lik, evidence, edf;
  int passes;
} gpc_linear_result;

size_t gpc_linear_size(size_t k, int matrix);

/* u [n x k] := finite scores z not below `floor`, less their row's mean; returns their root
 * mean square over rows of weights w [n] (or NULL), by which they have been divided unless
 * it is 0. */
double gpc_linear_centre(size_t n, size_t k, const double *z, double floor,
                         const double *w, double *u);

/* theta and cov of the result are got from memory. GPC_NOT_CONVERGED, or GPC_NOT_PD where
 * the curvature cannot be factored. */
gpc_status gpc_linear_fit(const gpc_linear_data *data,
                          const gpc_linear_settings *settings, const gpc_memory *memory,
                          gpc_linear_result *result);

/* p [n x k] of scores z: softmax of offset_k + slope_k z_k, or of offset_k + sum_j
 * weight_kj z_j with weight [k x k], z centred by row. Classes at -INFINITY get 0; for the
 * others they count as the lowest finite score of their row, and are left out of its
 * mean. */
void gpc_linear_predict(size_t n, size_t k, const double *z, double floor,
                        const double *offset, const double *slope, const double *weight,
                        double *work, double *p);

#endif
