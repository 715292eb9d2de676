/* gp_basis.h: the kernel, and the whitened features it gives every point of the line.
 *
 *   k(x, x') = s2 exp(-(x - x')^2 / (2 l^2)) + sn2 [same point]           methods, eq.
 * (2) K_uu = k(xi, xi) + jitter s2 I = L L',   a(z) = L^-1 k(xi, z)             eq. (5), (6)
 *   rho(z) = s2 + sn2 - a(z)'a(z) + between                                eq. (8), (43a)
 *
 * The white noise is in K_uu and in rho, never in k(xi, z).
 *
 * With hyper.rough K_uu is s2 times Matern's correlation, a(z) = L'b(z) with the weights b
 * of interpolation, and rho = 0: the process is its interpolation, eq. (42a). Only
 * gpc_basis_factor() and gpc_basis_eval() know of it. */
#ifndef GPC_GP_BASIS_H
#define GPC_GP_BASIS_H

#include "gpc.h"

/* A process that is rougher than the kernel (gp_rough.h): Matern's covariance with
 * nu = 3/2 or 1/2 between its values at the inducing inputs, and between these the values are interpolated. */
typedef enum { GPC_MATERN32, GPC_MATERN12 } gpc_matern;
typedef struct {
  gpc_matern kind;
  size_t n;
  const double *between; /* [n x m] weights of the values at the n points that features
                            are asked for */
} gpc_rough;

typedef struct {
  double s2, l, sn2;
  const gpc_rough *rough; /* NULL: eq. (2) */
  double between;         /* variance that an average of rough processes has between its
                             knots, eq. (43a): in rho, never in K_uu */
} gpc_hyper;

typedef struct {
  size_t m;
  const double *inducing; /* [m] */
  gpc_hyper hyper;
  double jitter; /* relative to s2; set by gpc_basis_factor */
  double *chol;  /* [m x m] lower */
} gpc_basis;

/* Gradient of a function of a(z) and rho(z) at many points, collected over calls. */
typedef struct {
  double s2, l, sn2;
  double *inducing; /* [m] */
  double *outer;    /* [m x m]: sum over points of (dF/da) a' */
} gpc_basis_grad;

/* L for basis->inducing and basis->hyper into basis->chol, with the smallest jitter of the
 * ladder 0, 1e-12, 1e-11, ..., 1e-4 that leaves all pivots clearly positive. GPC_NOT_PD
 * if none. */
gpc_status gpc_basis_factor(gpc_basis *basis);

/* a(z)' in the rows of a [n x m] and rho [n] (never below 0) at the points z [n]. */
void gpc_basis_eval(const gpc_basis *basis, size_t n, const double *z, double *a,
                    double *rho);

/* Start a gradient: zeros. */
void gpc_basis_grad_zero(size_t m, gpc_basis_grad *grad);

/* Add the points z [n], whose features are a [n x m], with dF/da = ga [n x m] (rho held
 * fixed; overwritten) and dF/drho = grho [n]. work [n]. */
void gpc_basis_grad_add(const gpc_basis *basis, size_t n, const double *z,
                        const double *a, double *ga, const double *grho, double *work,
                        gpc_basis_grad *grad);

/* Finish: what passes through K_uu. `outer` is overwritten. */
void gpc_basis_grad_finish(const gpc_basis *basis, gpc_basis_grad *grad);

#endif
