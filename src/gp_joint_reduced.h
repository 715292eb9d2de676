/* gp_joint_reduced.h: the surrogate of a pass (gp_joint.h, eq. (37)) with the effects of the
 * classes eliminated, for many lengthscales and variances of the process beside the same
 * variances of the effects. With P = H_ee + diag(tau^-2), F = H_ce P^-1 and
 *
 *   G = H_cc - F H_ec,   M = I + A'G A,
 *
 * log|Q| = log|P| + log|M|, the process is solved for as if it were alone, and
 *
 *   S_mm = M^-1,   S_me = -M^-1 A'F,   S_ee = P^-1 + F'A M^-1 A'F:
 *
 * what is dense in the effects is done once, and a point costs O(e^2 m). */
#ifndef GPC_GP_JOINT_REDUCED_H
#define GPC_GP_JOINT_REDUCED_H

#include "gp_joint.h"

typedef struct {
  const gpc_joint *joint;
  const gpc_joint_pass *pass;
  const gpc_joint_point *from;
  double *p; /* [e x e] P^-1 */
  double *f; /* [g x e] F */
  double *g; /* [g x g] G */
  double *tc,
      *te; /* [g], [e] target t = (g_c, g_e) + H (psi0, e0): t_c - F t_e, P^-1 t_e */
  double *slope; /* [g] gradient of J in the process, the effects at their best */
  double *best;  /* [e] P^-1 (g_e - e0 / tau^2): how far these then move */
  double rest;   /* what that gains, less the prior of e0 */
  double logdet; /* log|P| */
} gpc_joint_reduced;

/* Room for what the points need. */
typedef struct {
  gpc_basis basis;
  double *a, *ga;       /* [g x (m + 1)] features and the line z; G times these */
  double *rho;          /* [g] */
  double *xx, *inv;     /* [(m + 1) x (m + 1)] */
  double *xe, *work;    /* [(m + 1) x e] */
  double *d, *hd, *sol; /* [g + e], [g + e], [3 (m + 1)] */
  gpc_basis_grad grad;
  double *left, *grho, *row, *wide; /* [g], [g], [g], [g x m] */
  double *some;                     /* [e x 32] columns of S */
  double gain; /* what the last solution promised beyond the point of its pass, where the
                  hyperparameters are the same, log|S| apart */
} gpc_joint_reduced_room;

/* idle: a pass that nobody looks at until the next one is made in it, whose H are the room
 * for P^-1, F and G; NULL: they get their own. */
void gpc_joint_reduced_get(const gpc_joint *joint, const gpc_joint_pass *idle,
                           gpc_joint_reduced *out);
void gpc_joint_reduced_lend(const gpc_joint_pass *idle, gpc_joint_reduced *out);
void gpc_joint_reduced_room_get(const gpc_joint *joint, gpc_joint_reduced_room *room);
void gpc_joint_reduced_room_give(const gpc_joint *joint, gpc_joint_reduced_room *room);

/* The pass at `from`, with the variances of the effects of that point. work [e x e]. */
gpc_status gpc_joint_reduce(const gpc_joint *joint, const gpc_joint_pass *pass,
                            const gpc_joint_point *from, double *work,
                            gpc_joint_reduced *out);

/* J of eq. (37) at to->at.hyper, and m, slope and e of `to`; with `cov` S and log|S|, too.
 */
gpc_status gpc_joint_reduced_solve(const gpc_joint_reduced *reduced, int cov,
                                   gpc_joint_reduced_room *room, gpc_joint_point *to,
                                   double *value);

/* The same value alone, and m and slope of `to`: O(g^2 m), whatever there is of effects. */
gpc_status gpc_joint_reduced_value(const gpc_joint_reduced *reduced,
                                   gpc_joint_reduced_room *room, gpc_joint_point *to,
                                   double *value);

/* Its gradient in (log s2, log l) at the `to` of the last value. */
void gpc_joint_reduced_gradient(const gpc_joint_reduced *reduced,
                                gpc_joint_reduced_room *room, const gpc_joint_point *to,
                                double gradient[2]);

/* cov [size x size] of (m, slope, e) at the hyperparameters of `at`, eq. (33), size = m + 1 +
 * e, or m + e where the slope is held: the curvature of the pass, with a normal prior of the
 * slope. */
gpc_status gpc_joint_reduced_covariance(const gpc_joint_reduced *reduced, double slope_sd,
                                        const gpc_params *at,
                                        gpc_joint_reduced_room *room, double *cov);

#endif
