/* gp_model.h: what all routes to the bound share: the data, a point of the parameter
 * space, and the bound with its gradient there. Equation numbers are those of the methods
 * vignette.
 *
 *   phi(z) = mu(z) + a(z)'m,  s_n = softmax(phi(z_n1), ..., phi(z_nK))        eq. (7)
 *   c(z) = a(z)'S a(z) + rho(z)                                              eq. (10)
 *   ELBO = sum_n w_n E_n - KL(q(v) | p(v))                                   eq. (11)
 *   full:  E_n = log s_ny + 1/2 (abar'S abar + sum_k s_k^2 rho_k - sum_k s_k c_k)
 *                                                                            eq. (12)
 *   diag:  E_n = log s_ny + 1/2 sum_k c_k (s_k^2 - s_k)                      eq. (13)
 *
 * with abar = sum_k s_k a(z_k). */
#ifndef GPC_GP_MODEL_H
#define GPC_GP_MODEL_H

#include "gp_basis.h"
#include "gp_prior.h"
#include "gpc.h"

typedef enum { GPC_COV_FULL, GPC_COV_DIAG } gpc_cov;

typedef struct {
  size_t n, k;
  const double *z;     /* [n x k] scores */
  const double *shift; /* [n] subtracted from the rows of z, or NULL */
  double floor;        /* max(z, floor) is used, before the shift */
  const int *label;    /* [n], 1..k */
  const double *w;     /* [n] weights, or NULL */
  int threads;
} gpc_gp_data;

typedef struct {
  gpc_prior prior;
  gpc_cov cov;
  const double *q_mean; /* [m] */
  const double *q_cov;  /* [m x m], symmetric */
} gpc_gp_point;

typedef struct {
  double elbo, data; /* the bound, and its first sum */
  double slope;
  double *q_mean; /* [m] */
  double *q_cov;  /* [m x m] */
  gpc_basis_grad basis;
} gpc_gp_grad;

static inline double gpc_gp_weight(const gpc_gp_data *data, size_t i) {
  return data->w ? data->w[i] : 1.0;
}

/* Weight of all rows. */
static inline double gpc_gp_total(const gpc_gp_data *data) {
  double sum = 0.0;
  for (size_t i = 0; i < data->n; i++)
    sum += gpc_gp_weight(data, i);
  return sum;
}

/* The score of row i and class j, floored and shifted. */
static inline double gpc_gp_score(const gpc_gp_data *data, size_t i, size_t j) {
  double z = data->z[i + j * data->n];
  if (z < data->floor)
    z = data->floor;
  return data->shift ? z - data->shift[i] : z;
}

/* grad->elbo, the data term so far, less the Kullback-Leibler divergence of eq. (11), and
 * the same for grad->q_mean and grad->q_cov. work [2 m^2 + m]. GPC_NOT_PD if S is not. */
gpc_status gpc_gp_subtract_kl(size_t m, const gpc_gp_point *point, double *work,
                              gpc_gp_grad *grad);

/* The bound and its gradient by the definition: every score, every feature, libm's exp.
 * Slow and obvious, the oracle for the other routes. */
size_t gpc_gp_direct_work(size_t k, size_t m);
gpc_status gpc_gp_direct(const gpc_gp_data *data, const gpc_basis *basis,
                         const gpc_gp_point *point, gpc_poll poll, void *poll_data,
                         double *work, gpc_gp_grad *grad);

#endif
