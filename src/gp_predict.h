/* gp_predict.h: calibrated probabilities from a fitted latent process.
 *
 * For a row with scores z_1..z_K the latent values are Gaussian with mean phi and
 * covariance C_jk = a(z_j)'S a(z_k) + [j = k] rho(z_k)  (methods, eq. (9)); s =
 * softmax(phi).
 *
 *   mean:  s
 *   delta: s_k (1 + (D_k - sum_j s_j D_j) / 2), D_k = Var(g_k - sum_j s_j g_j)   eq. (24)
 *   draws: averages of softmax(g) over functions g = mu + a'v + sqrt(rho) e
 *
 * (eq. (24) is the second-order expansion about phi: C_kk - 2 (Cs)_k + s'Cs is D_k, and
 * sum_j s_j C_jj - s'Cs is the mean of D.) The functions of one score are tabulated on a
 * fine grid first, so that a prediction costs little more than a softmax. Beyond the grid
 * the process is back at its prior. */
#ifndef GPC_GP_PREDICT_H
#define GPC_GP_PREDICT_H

#include "gp_model.h"

typedef struct {
  gpc_basis basis; /* factored */
  gpc_mean mean;
  double slope;
  const double *q_mean; /* [m] */
  const double *q_cov;  /* [m x m] */
} gpc_gp_fitted;

/* Latent mean and variance at points z [n]; work [n (2 m + 1)]. */
void gpc_gp_latent(const gpc_gp_fitted *fit, size_t n, const double *z, double *work,
                   double *mean, double *var);

#define GPC_CELLS_PER_NODE 4

/* Tables over all scores at which the process is not back at its prior. */
typedef struct {
  size_t m, cells, nodes;
  size_t bulk;               /* nodes between the outermost inducing inputs */
  double low, inv_step;      /* cells */
  double *cell;              /* [cells][8]: cubic of a'm, line of c, line of rho */
  double node_low, node_inv; /* nodes: one for every GPC_CELLS_PER_NODE cells */
  double *node;              /* [nodes][m]: U'a, S = U U' */
  double *node_c;            /* [nodes] c */
  double *node_phi;          /* [nodes] phi, for the linear mean */
  int quiet; /* there is a stretch where rho does not matter apart from c: */
  double quiet_low, quiet_high; /* in units of cells */
  double prior_c;               /* s2 + sn2, beyond the cells */
  gpc_mean mean;
  double slope;
} gpc_gp_lookup;

/* Fills in the sizes; then the caller provides cell [8 cells], node [m nodes] and node_c
 * [nodes] and calls _fill. */
void gpc_gp_lookup_size(const gpc_gp_fitted *fit, gpc_gp_lookup *lookup);
size_t gpc_gp_lookup_work(const gpc_gp_lookup *lookup);
gpc_status gpc_gp_lookup_fill(const gpc_gp_fitted *fit, double *work,
                              gpc_gp_lookup *lookup);

typedef enum { GPC_APPROX_MEAN, GPC_APPROX_DELTA } gpc_approx;

/* p [n x k] for the rows of data (labels and weights are not looked at). For "delta"
 * `hard` [n] is set to 1 in rows where the expansion is not good enough and the caller
 * should integrate (0 elsewhere). work: gpc_gp_predict_work() */
size_t gpc_gp_predict_work(const gpc_gp_lookup *lookup, size_t k, int threads);
void gpc_gp_predict(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                    gpc_approx approx, gpc_poll poll, void *poll_data, double *work,
                    double *p, int *hard);

/* Two classes: p [n x 2] by quadrature over the difference of the two latent values,
 * exact to about 1e-12. work: gpc_gp_predict_two_work(m). */
size_t gpc_gp_predict_two_work(size_t m);
void gpc_gp_predict_two(const gpc_gp_data *data, const gpc_gp_fitted *fit, gpc_poll poll,
                        void *poll_data, double *work, double *p);

/* E[1 / (1 + exp(-d))] for d ~ N(mean, var), by the trapezoid rule, which converges
 * geometrically here; at most a few thousand terms, whatever the variance. */
double gpc_gp_logistic_normal(double mean, double var);

/* Functions: pairs of antithetic draws. x [m x pairs] standard normal for v = m +- U x,
 * e [k x pairs] standard normal for the residual, shared by all rows, or NULL. Adds
 * `each` times the sum over the 2 * pairs draws to p [count x k] for rows first .. first
 * + count of data; with `all` [count x k x 2 pairs] every draw is kept instead. With
 * independent != 0, e is [count x k x pairs] and stands for the whole deviation, of
 * variance c (the paper's way). tilt [pairs] (or NULL) is added to the slope in the one
 * draw of a pair and subtracted in the other. work: gpc_gp_draws_work(). */
size_t gpc_gp_draws_work(const gpc_gp_lookup *lookup, size_t k, size_t pairs,
                         int threads);
void gpc_gp_draws(const gpc_gp_data *data, const gpc_gp_lookup *lookup, size_t first,
                  size_t count, size_t pairs, const double *x, const double *e,
                  const double *tilt, int independent, double each, double *work,
                  double *p, double *all);

#endif
