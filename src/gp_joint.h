/* gp_joint.h: the process and the classes' own effects together, eq. (33):
 *
 *   f_nk = slope z_nk + a(z_nk)'m + x_n'e_k,   m ~ N(0, I),  e_ki ~ N(0, tau_block(i)^2)
 *
 * with one Gaussian posterior N((m, e), S), S dense over both, and the tilted bound
 * (tilt.h), which is a true lower bound of the evidence:
 *
 *   ELBO = sum_n w_n (phi_{n,y} - bound_n) - KL(q | p) + log hyperprior(tau)    eq. (36)
 *
 * All functions of a score live on the nodes of a line, as for the process alone. */
#ifndef GPC_GP_JOINT_H
#define GPC_GP_JOINT_H

#include "class_features.h"
#include "gp_nodes.h"
#include "gp_params.h"
#include "gp_stats.h"

/* Rows seen before (gp_joint_site.h). */
typedef struct gpc_joint_site gpc_joint_site;

typedef struct {
  const gpc_gp_data *data;
  const gpc_memory *memory;
  const gpc_nodes *nodes;
  const gpc_joint_site *site; /* or NULL; its knots are the last nodes */
  gpc_prior prior;
  gpc_features features;
  size_t m, e, q; /* inducing inputs; effects, k r; both */
  int slope_free;
  double slope_low, slope_high;
  double tau_centre[GPC_BLOCKS], tau_sd[GPC_BLOCKS]; /* log tau ~ N(log centre, sd^2); of
                                            skew log of its share of the matrix's tau */
  int tau_free[GPC_BLOCKS];
  gpc_buffer rooms[24];
} gpc_joint;

/* A point: everything that the model estimates. */
typedef struct {
  gpc_params at; /* hyper, slope, inducing, q_mean; q_cov is not looked at */
  double tau[GPC_BLOCKS];
  double *effect;  /* [e] class k at k r */
  double *cov;     /* [q x q] S: m first, then the effects; NULL: at_mode only */
  int has_effects; /* 0: the effects are zero, and known to be */
  int at_mode;     /* 1: S is left out, for Laplace's method: eq. (44) */
  double logdet;   /* log|S|; NAN: not known yet */
  double elbo, kl, hyperprior;
} gpc_joint_point;

/* What a pass leaves: F, and gradient and curvature of it. */
typedef struct {
  double fit;      /* F = sum_n w_n (phi_{n,y} - bound_n) */
  double trace;    /* tr(H S) with the S of the pass, over m and e */
  double rho_v;    /* sum_g rho_g spread_g */
  double *psi;     /* [g] process on the nodes */
  double *gc, *ge; /* [g], [e] gradient */
  double *hcc;     /* [g x g] curvature between nodes */
  double *hce;     /* [g x e] */
  double *hee;     /* [e x e] */
  double *spread;  /* [g] sum_n,k w pi (1 - pi) omega */
  double *pi;      /* [n x k] the tilted softmax, kept from pass to pass as a start */
} gpc_joint_pass;

void gpc_joint_point_get(const gpc_joint *joint, gpc_joint_point *point);
void gpc_joint_mode_get(const gpc_joint *joint,
                        gpc_joint_point *point); /* without room for S: at_mode */
void gpc_joint_point_copy(const gpc_joint *joint, const gpc_joint_point *from,
                          gpc_joint_point *to);
void gpc_joint_pass_get(const gpc_joint *joint, gpc_joint_pass *pass);

/* Give back all that they have room for, but for pi. */
void gpc_joint_pass_give(const gpc_joint *joint, gpc_joint_pass *pass);

/* Give back the rooms of passes, which get them again. */
void gpc_joint_give(gpc_joint *joint);

/* KL of the point's posterior and the log hyperprior. GPC_NOT_PD if S is not. */
gpc_status gpc_joint_divergence(gpc_joint *joint, gpc_joint_point *point);

/* One pass at the point; sets point->elbo too. pass->pi must hold something on the
 * simplex in every row. With point->at_mode F is the log-likelihood of the point itself and
 * H its curvature (cov and has_effects are not looked at), and elbo the logarithm of the
 * posterior density, without constants. */
gpc_status gpc_joint_visit(gpc_joint *joint, gpc_joint_point *point,
                           gpc_joint_pass *pass);

/* log tau's hyperprior and, unless NULL, its gradient. */
double gpc_joint_hyperprior(const gpc_joint *joint, const double *tau, double *gradient);

/* out [g + e] := H x, x [g + e]: the nodes first. */
void gpc_joint_product(const gpc_joint *joint, const gpc_joint_pass *pass,
                       const double *x, double *out);

/* tr(H S), over m and e: with S and the features a [g x m] of the point. */
double gpc_joint_trace(gpc_joint *joint, const gpc_joint_point *point, const double *a,
                       const gpc_joint_pass *pass);

/* What eq. (36) is at the point of the pass in terms of J of the surrogate (gp_joint_step.h):
 * J + this is the bound that the surrogate foretells. */
static inline double gpc_joint_constant(const gpc_joint_pass *pass) {
  return pass->fit + 0.5 * pass->trace + 0.5 * pass->rho_v;
}

#endif
