/* gp_joint_means.c: see gpc_joint_means() in gp_joint_step.h. */
#include "gp_joint_step.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

#define ENOUGH 1e-5 /* nats that may be left */
#define MOST 40     /* iterations: the preconditioner is within a factor of two or so */

/* x [g + e] := X (m, e, slope) = (A m + slope z, e). */
static void expand(const gpc_joint *joint, const double *a, const double *v, double *x) {
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e;
  gpc_gemm(0, 0, g, 1, m, 1.0, a, v, 0.0, x);
  for (size_t i = 0; i < g; i++)
    x[i] += v[m + e] * joint->nodes->z[i];
  memcpy(x + g, v + m, e * sizeof(double));
}

/* to := X'x, the slope's share 0 where it is held. */
static void contract(const gpc_joint *joint, const double *a, int slope, const double *x,
                     double *to) {
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e;
  gpc_gemm(1, 0, m, 1, g, 1.0, a, x, 0.0, to);
  memcpy(to + m, x + g, e * sizeof(double));
  to[m + e] = slope ? gpc_dot(g, joint->nodes->z, x) : 0.0;
}

/* Prior precision of number j of (m, e, slope), which has none. */
static double precision(const gpc_joint *joint, const gpc_joint_point *to, size_t j) {
  if (j < joint->m || j == joint->q)
    return j < joint->m ? 1.0 : 0.0;
  const double tau = to->tau[gpc_features_block(&joint->features, j - joint->m)];
  return 1.0 / (tau * tau);
}

/* z := the inverse of [Q, q; q', own], Q^-1 = S, times r; u = S q. */
static void precondition(const gpc_joint *joint, const gpc_joint_point *to, int slope,
                         double own, const gpc_joint_means_room *t) {
  const size_t n = joint->q;
  gpc_gemm(0, 0, n, 1, n, 1.0, to->cov, t->r, 0.0, t->z);
  t->z[n] = 0.0;
  if (!slope)
    return;
  const double s = (t->r[n] - gpc_dot(n, t->q, t->z)) / own;
  for (size_t i = 0; i < n; i++)
    t->z[i] -= s * t->u[i];
  t->z[n] = s;
}

/* What is left of the slope's own curvature, once m and e have answered it; u and q. */
static double slope_curvature(const gpc_joint_step *step, const gpc_joint_means_room *t) {
  const gpc_joint *joint = step->joint;
  const size_t g = joint->nodes->g, n = joint->q;
  memset(t->p, 0, n * sizeof(double));
  t->p[n] = 1.0;
  expand(joint, t->a, t->p, t->x);
  gpc_joint_product(joint, step->averaged, t->x, t->hx);
  contract(joint, t->a, 1, t->hx, t->q);
  gpc_gemm(0, 0, n, 1, n, 1.0, step->to->cov, t->q, 0.0, t->u);
  const double own = gpc_dot(g, joint->nodes->z, t->hx);
  const double left = own - gpc_dot(n, t->q, t->u);
  return left > 1e-12 * own ? left : 0.0;
}

/* x := (psi, e) of the point less those of the pass, hx := H x. */
static void set_distance(const gpc_joint_step *step, const gpc_joint_means_room *t) {
  const gpc_joint *joint = step->joint;
  const gpc_joint_point *to = step->to;
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e;
  const gpc_prior prior = gpc_params_prior(&to->at, &joint->prior);
  gpc_gemm(0, 0, g, 1, m, 1.0, t->a, to->at.q_mean, 0.0, t->x);
  gpc_prior_add_smooth(&prior, g, joint->nodes->z, t->x);
  for (size_t i = 0; i < g; i++)
    t->x[i] -= step->pass->psi[i];
  for (size_t j = 0; j < e; j++)
    t->x[g + j] = to->effect[j] - step->from->effect[j];
  gpc_joint_product(joint, step->pass, t->x, t->hx);
}

/* r := the gradient of the quadratic term at `to`, z what it leads to; r'z. */
static double residual(const gpc_joint_step *step, int slope, double own,
                       const gpc_joint_means_room *t) {
  const gpc_joint *joint = step->joint;
  const gpc_joint_point *to = step->to;
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e;
  const gpc_joint_pass *pass = step->pass;
  set_distance(step, t);
  for (size_t i = 0; i < g + e; i++)
    t->x[i] = (i < g ? pass->gc[i] : pass->ge[i - g]) - step->mean_scale * t->hx[i];
  contract(joint, t->a, slope, t->x, t->r);
  for (size_t j = 0; j < joint->q; j++)
    t->r[j] -= precision(joint, to, j) * (j < m ? to->at.q_mean[j] : to->effect[j - m]);
  precondition(joint, to, slope, own, t);
  return gpc_dot(joint->q + 1, t->r, t->z);
}

/* Conjugate gradients from `to` on; the slope moves if `slope`. */
static void climb(const gpc_joint_step *step, int slope, double own,
                  const gpc_joint_means_room *t) {
  const gpc_joint *joint = step->joint;
  gpc_joint_point *to = step->to;
  const size_t m = joint->m, e = joint->e, n = joint->q + 1;
  double left = residual(step, slope, own, t);
  memcpy(t->p, t->z, n * sizeof(double));
  for (int i = 0; i < MOST && left > ENOUGH; i++) {
    expand(joint, t->a, t->p, t->x);
    gpc_joint_product(joint, step->pass, t->x, t->hx);
    contract(joint, t->a, slope, t->hx, t->kp);
    for (size_t j = 0; j < n; j++)
      t->kp[j] = step->mean_scale * t->kp[j] + precision(joint, to, j) * t->p[j];
    const double bend = gpc_dot(n, t->p, t->kp), far = left / bend;
    if (!(bend > 0.0) || !isfinite(far))
      break;
    for (size_t j = 0; j < m; j++)
      to->at.q_mean[j] += far * t->p[j];
    for (size_t j = 0; j < e; j++)
      to->effect[j] += far * t->p[m + j];
    to->at.slope += far * t->p[m + e];
    for (size_t j = 0; j < n; j++)
      t->r[j] -= far * t->kp[j];
    precondition(joint, to, slope, own, t);
    const double next = gpc_dot(n, t->r, t->z);
    for (size_t j = 0; j < n; j++)
      t->p[j] = t->z[j] + next / left * t->p[j];
    left = next;
  }
}

void gpc_joint_means(const gpc_joint_step *step, const gpc_joint_means_room *t) {
  const gpc_joint *joint = step->joint;
  gpc_joint_point *to = step->to;
  double own = joint->slope_free ? slope_curvature(step, t) : 0.0;
  climb(step, own > 0.0, own, t);
  const double held = fmin(fmax(to->at.slope, joint->slope_low), joint->slope_high);
  if (own > 0.0 && held != to->at.slope) { /* at its limit, and the rest follows */
    to->at.slope = held;
    climb(step, 0, 0.0, t);
  }
  set_distance(step, t);
}
