/* gp_inner.h: the surrogate's inner problem: for given hyperparameters and inducing
 * inputs, the best m and slope of a quadratic, and S. */
#ifndef GPC_GP_INNER_H
#define GPC_GP_INNER_H

#include "gp_surrogate.h"

/* What the last solution left: features, products and factors. */
typedef struct {
  gpc_basis basis;
  double *a, *rho; /* [g x m], [g] features on the nodes */
  double *wa, *va; /* [g x (m + 1)] W [A, z], [g x m] V A */
  double *sa;      /* [g x m] diag(spread) A, where spread_full takes its place */
  double *h, *hinv, *hfull; /* [m x m] chol(H), H = P0 + A'VA; its inverse; itself */
  double *lhs, *rhs, *diag; /* [(m + 1)^2], [m + 1], [m + 1] */
  double *d, *wd, *ga;      /* [g], [g], [g x m] */
  double *grho, *row;       /* [g] */
  double *pull;             /* [m] */
  gpc_basis_grad grad;
} gpc_inner;

size_t gpc_inner_work(size_t g, size_t m);
void gpc_inner_carve(size_t g, size_t m, double *block, gpc_inner *t);

/* J at point->hyper and point->inducing, with q_mean and the slope at their best (both
 * are set). */
gpc_status gpc_inner_solve(const gpc_surrogate *sur, gpc_inner *t, gpc_params *point,
                           double *value);

/* dJ/d(s2, l, inducing inputs) of the last solution into t->grad: m, slope and S are at
 * their best, so that only the direct dependence counts. */
void gpc_inner_gradient(const gpc_surrogate *sur, gpc_inner *t, const gpc_params *point);

/* point->q_cov := S of the last solution. */
void gpc_inner_cov(const gpc_inner *t, gpc_params *point);

/* The part of eq. (17) that is not the log-likelihood, and S, at the point where a pass
 * was taken, whose features a [g x m], rho [g] and V A [g x m] are known. h [m x m]. */
gpc_status gpc_inner_here(const gpc_surrogate *sur, const double *a, const double *rho,
                          const double *va, double *h, double *pull, gpc_params *point,
                          double *value);

#endif
