/* gp_query.h: what a label would tell about a fitted process, and which labels to ask for.
 *
 * theta = (v, slope, e) is Gaussian with covariance S (gp_joint.h); f = phi + X (theta -
 * its mean) are the latent values of a row, which have the covariance C = X S X'. The
 * residual rho is left out: no label at another score tells anything about it. The mutual
 * information between the row's label and theta is, eq. (Q1),
 *
 *   I = H(E softmax(f)) - E H(softmax(f)),   f ~ N(phi, C),
 *
 * with two classes by quadrature over the log-odds, with more over fixed normal points.
 * Greedy choice: the row with the largest I is taken, and S becomes what it would be with
 * its label, whatever the label is, eq. (Q2):
 *
 *   S^-1 <- S^-1 + X'W X,   W = E (diag p - p p'),  p = softmax(f). */
#ifndef GPC_GP_QUERY_H
#define GPC_GP_QUERY_H

#include "gp_joint_predict.h"

typedef struct {
  gpc_joint_fitted fit; /* features may be none (r = 0) */
  const double *offset; /* [k] added to the latent values, known; or NULL */
  const double *shift;  /* [n x k] the same of every row; or NULL */
  const gpc_gp_data *data;
} gpc_query;

/* information [n] of every row. GPC_NOT_PD if S is not. */
gpc_status gpc_query_information(const gpc_query *query, const gpc_memory *memory,
                                 gpc_poll poll, void *poll_data, double *information);

/* The rows (from 0) chosen one after the other, chosen [count], and what each tells beside
 * those before it, gain [count]; count <= n. Of equal rows the first is taken. `cov`
 * [size x size], or NULL: S after the last of them. */
gpc_status gpc_query_greedy(const gpc_query *query, size_t count,
                            const gpc_memory *memory, gpc_poll poll, void *poll_data,
                            size_t *chosen, double *gain, double *cov);

#endif
