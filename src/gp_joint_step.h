/* gp_joint_step.h: the maximum of the surrogate that a pass defines, eq. (37), as a function
 * of h = (log s2, log l, log tau of every block that exists), with m, e, the slope and S at
 * their best:
 *
 *   J = g'd - 1/2 d'H d - 1/2 m'm - 1/2 sum_j e_j^2 / tau_j^2 - 1/2 log|Q|
 *       - sum_j log tau_j - 1/2 rho'spread + log hyperprior,
 *   Q = [I + A'H_cc A, A'H_ce; H_ec A, H_ee + diag(tau^-2)],   S = Q^-1,
 *   d = (slope z + A m - psi0, e - e0).
 *
 * What is dense in the effects depends on tau alone: for a tau the effects are eliminated
 * once (gp_joint_reduced.h), s2 and l are then cheap, and Newton's method, whose second
 * derivatives S has, needs few tau. */
#ifndef GPC_GP_JOINT_STEP_H
#define GPC_GP_JOINT_STEP_H

#include "gp_joint_reduced.h"

size_t gpc_joint_dim(const gpc_joint *joint);

/* h of a point, and back. */
void gpc_joint_get_h(const gpc_joint *joint, const gpc_joint_point *point, double *h);
void gpc_joint_set_h(const gpc_joint *joint, const double *h, gpc_joint_point *point);

typedef struct {
  gpc_joint *joint;
  const gpc_joint_pass *pass;
  const gpc_joint_pass
      *averaged;     /* `pass`, or one like it whose H is averaged with that of
                                     an earlier pass, for h and S: S and the softmax feed
                                     back on each other, and would go to and fro */
  double mean_scale; /* of H in the quadratic term that m, e and the slope
                                     maximise at the h found */
  const gpc_joint_point *from;
  gpc_joint_point *to;      /* begins at its hyper, inducing and tau; ends complete */
  const double *low, *high; /* [dim] limits of h */
  double tol;               /* nats */
  gpc_poll poll;
  void *poll_data;
} gpc_joint_step;

/* Room for steps of a joint model. */
typedef struct gpc_joint_stepper gpc_joint_stepper;
gpc_joint_stepper *gpc_joint_stepper_get(const gpc_joint *joint,
                                         const gpc_joint_pass *idle);

/* idle, here and there: the pass whose H are room for the step, as gp_joint_reduced.h says;
 * NULL when there shall be room apart. */
void gpc_joint_stepper_lend(gpc_joint_stepper *room, const gpc_joint_pass *idle);

/* Give back all but what was lent. */
void gpc_joint_stepper_give(const gpc_joint *joint, gpc_joint_stepper *room);

/* gpc_joint_reduced_covariance() of a pass at a point, in the room of steps. work [e x e]. */
gpc_status gpc_joint_stepper_covariance(gpc_joint_stepper *room, const gpc_joint *joint,
                                        const gpc_joint_pass *pass,
                                        const gpc_joint_point *point, double slope_sd,
                                        double *work, double *cov);

/* *value: J at the end, the quadratic term with the H of `pass` and mean_scale, and for the S
 * found: with an averaged H less 1/2 tr(H S) - 1/2 tr(H_averaged S). */
gpc_status gpc_joint_step_make(const gpc_joint_step *step, gpc_joint_stepper *room,
                               double *value);

/* Gradient and second derivatives [blocks x blocks] of J in log tau at the point `to` that a
 * solution with its S has made; s2, l and the slope held. */
void gpc_joint_tau_derivatives(const gpc_joint *joint, const gpc_joint_point *to,
                               double gradient[GPC_BLOCKS],
                               double second[GPC_BLOCKS][GPC_BLOCKS]);

/* m, e and the slope of `to`, whose S and hyperparameters stay: the maximum of the quadratic
 * term with the H of `pass` and mean_scale, by conjugate gradients that S preconditions. */
typedef struct {
  const double *a;                /* [g x m] features at the hyperparameters of `to` */
  double *x, *hx;                 /* [g + e] */
  double *r, *z, *p, *kp, *u, *q; /* [m + e + 1] */
} gpc_joint_means_room;

void gpc_joint_means(const gpc_joint_step *step, const gpc_joint_means_room *room);

#endif
