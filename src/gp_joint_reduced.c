/* gp_joint_reduced.c: see gp_joint_reduced.h. */
#include "gp_joint_reduced.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

#define TOGETHER 32 /* columns of S that are made at a time */

void gpc_joint_reduced_lend(const gpc_joint_pass *idle, gpc_joint_reduced *out) {
  out->p = idle->hee;
  out->f = idle->hce;
  out->g = idle->hcc;
}

void gpc_joint_reduced_get(const gpc_joint *joint, const gpc_joint_pass *idle,
                           gpc_joint_reduced *out) {
  const size_t g = joint->nodes->g, e = joint->e;
  if (idle) {
    gpc_joint_reduced_lend(idle, out);
  } else {
    out->p = gpc_get_doubles(joint->memory, e * e);
    out->f = gpc_get_doubles(joint->memory, g * e);
    out->g = gpc_get_doubles(joint->memory, g * g);
  }
  out->tc = gpc_get_doubles(joint->memory, g);
  out->te = gpc_get_doubles(joint->memory, e);
  out->slope = gpc_get_doubles(joint->memory, g);
  out->best = gpc_get_doubles(joint->memory, e);
}

void gpc_joint_reduced_room_get(const gpc_joint *joint, gpc_joint_reduced_room *room) {
  const size_t g = joint->nodes->g, m = joint->m, x = m + 1, e = joint->e;
  const gpc_memory *memory = joint->memory;
  *room =
      (gpc_joint_reduced_room){.basis = {.m = m, .chol = gpc_get_doubles(memory, m * m)},
                               .a = gpc_get_doubles(memory, g * x),
                               .ga = gpc_get_doubles(memory, g * x),
                               .rho = gpc_get_doubles(memory, g),
                               .xx = gpc_get_doubles(memory, x * x),
                               .inv = gpc_get_doubles(memory, x * x),
                               .xe = gpc_get_doubles(memory, x * e),
                               .work = gpc_get_doubles(memory, x * e),
                               .d = gpc_get_doubles(memory, g + e),
                               .hd = gpc_get_doubles(memory, g + e),
                               .sol = gpc_get_doubles(memory, 3 * x),
                               .grad = {.inducing = gpc_get_doubles(memory, m),
                                        .outer = gpc_get_doubles(memory, m * m)},
                               .left = gpc_get_doubles(memory, g),
                               .grho = gpc_get_doubles(memory, g),
                               .row = gpc_get_doubles(memory, g),
                               .wide = gpc_get_doubles(memory, g * m),
                               .some = gpc_get_doubles(memory, TOGETHER * e)};
}

void gpc_joint_reduced_room_give(const gpc_joint *joint, gpc_joint_reduced_room *room) {
  double *all[] = {room->basis.chol, room->a,    room->ga,   room->rho,
                   room->xx,         room->inv,  room->xe,   room->work,
                   room->d,          room->hd,   room->sol,  room->grad.inducing,
                   room->grad.outer, room->left, room->grho, room->row,
                   room->wide,       room->some};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    gpc_give(joint->memory, all[i]);
}

static double tau_of(const gpc_joint *joint, const gpc_joint_point *point, size_t j) {
  return point->tau[gpc_features_block(&joint->features, j)];
}

/* Where the process and the effects are drawn to: with b = g_e - e0 / tau^2 and d the move
 * of the process, the effects move by P^-1 b - F'd at their best, which leaves
 * (g_c - F b)'d - 1/2 d'G d + rest. b [e] is overwritten. */
static void set_targets(gpc_joint_reduced *out, double *b) {
  const gpc_joint_pass *pass = out->pass;
  const size_t g = out->joint->nodes->g, e = out->joint->e;
  const double *e0 = out->from->effect;
  out->rest = 0.0;
  for (size_t j = 0; j < e; j++) {
    const double tau = tau_of(out->joint, out->from, j), x = e0[j] / (tau * tau);
    b[j] = pass->ge[j] - x;
    out->rest -= 0.5 * e0[j] * x;
  }
  gpc_gemm(0, 0, e, 1, e, 1.0, out->p, b, 0.0, out->best);
  out->rest += 0.5 * gpc_dot(e, b, out->best);
  memcpy(out->slope, pass->gc, g * sizeof(double));
  gpc_gemm(0, 0, g, 1, e, -1.0, out->f, b, 1.0, out->slope);
  gpc_symm(g, 1, out->g, pass->psi, out->tc);
  gpc_gemm(1, 0, e, 1, g, 1.0, out->f, pass->psi, 0.0, out->te);
  for (size_t i = 0; i < g; i++)
    out->tc[i] += out->slope[i];
  for (size_t j = 0; j < e; j++)
    out->te[j] += e0[j] + out->best[j];
}

gpc_status gpc_joint_reduce(const gpc_joint *joint, const gpc_joint_pass *pass,
                            const gpc_joint_point *from, double *work,
                            gpc_joint_reduced *out) {
  const size_t g = joint->nodes->g, e = joint->e;
  out->joint = joint;
  out->pass = pass;
  out->from = from;
  memcpy(out->p, pass->hee, e * e * sizeof(double));
  for (size_t j = 0; j < e; j++) {
    const double tau = tau_of(joint, from, j);
    out->p[j + e * j] += 1.0 / (tau * tau);
  }
  const gpc_status status = gpc_chol_large(e, out->p);
  if (status != GPC_OK)
    return status;
  out->logdet = gpc_chol_logdet(e, out->p);
  gpc_lower_inverse(e, out->p, work);
  gpc_inverse_from_lower(e, work, out->p);
  gpc_gemm_large(0, 0, g, e, e, 1.0, pass->hce, out->p, 0.0, out->f);
  memcpy(out->g, pass->hcc, g * g * sizeof(double));
  gpc_gemm_large(0, 1, g, g, e, -1.0, out->f, pass->hce, 1.0, out->g);
  set_targets(out, work);
  return GPC_OK;
}

/* A, rho and G [A, z] at the hyperparameters of `at`. */
static gpc_status set_features(const gpc_joint_reduced *reduced, const gpc_params *at,
                               gpc_joint_reduced_room *room) {
  const gpc_joint *joint = reduced->joint;
  const size_t g = joint->nodes->g, m = joint->m;
  room->basis.inducing = at->inducing;
  room->basis.hyper = at->hyper;
  const gpc_status status = gpc_basis_factor(&room->basis);
  if (status != GPC_OK)
    return status;
  gpc_basis_eval(&room->basis, g, joint->nodes->z, room->a, room->rho);
  memcpy(room->a + g * m, joint->nodes->z, g * sizeof(double));
  gpc_gemm_large(0, 0, g, m + 1, g, 1.0, reduced->g, room->a, 0.0, room->ga);
  return GPC_OK;
}

/* xx [x x x] := its factor's inverse squared, M^-1, by the first x columns of A and the
 * precisions 1, ..., 1, last; *logdet of M. */
static gpc_status invert(const gpc_joint_reduced *reduced, size_t x, double last,
                         gpc_joint_reduced_room *room, double *logdet) {
  const size_t g = reduced->joint->nodes->g, m = reduced->joint->m;
  gpc_gemm_large(1, 0, x, x, g, 1.0, room->a, room->ga, 0.0, room->xx);
  for (size_t j = 0; j < x; j++)
    room->xx[j + x * j] += j < m ? 1.0 : last;
  const gpc_status status = gpc_chol_large(x, room->xx);
  if (status != GPC_OK)
    return status;
  *logdet = gpc_chol_logdet(x, room->xx);
  gpc_lower_inverse(x, room->xx, room->inv);
  gpc_inverse_from_lower(x, room->inv, room->xx);
  return GPC_OK;
}

/* cov [size x size], size = x + e, from M^-1 in xx. */
static void spread(const gpc_joint_reduced *reduced, size_t x,
                   gpc_joint_reduced_room *room, double *cov) {
  const size_t g = reduced->joint->nodes->g, e = reduced->joint->e, size = x + e;
  gpc_gemm_large(1, 0, x, e, g, 1.0, room->a, reduced->f, 0.0, room->xe);
  gpc_gemm_large(0, 0, x, e, x, 1.0, room->xx, room->xe, 0.0, room->work);
  for (size_t j = 0; j < x; j++)
    memcpy(cov + size * j, room->xx + x * j, x * sizeof(double));
  for (size_t first = 0; first < e; first += TOGETHER) {
    const size_t count = e - first < TOGETHER ? e - first : TOGETHER;
    gpc_gemm_large(1, 0, e, count, x, 1.0, room->xe, room->work + x * first, 0.0,
                   room->some);
    for (size_t j = first; j < first + count; j++) {
      double *column = cov + size * (x + j);
      const double *p = reduced->p + e * j, *some = room->some + e * (j - first);
      for (size_t i = 0; i < x; i++)
        column[i] = cov[x + j + size * i] = -room->work[i + x * j];
      for (size_t i = 0; i < e; i++)
        column[x + i] = p[i] + some[i];
    }
  }
}

/* m and slope of `to`: the maximum of the quadratic part without the effects. */
static void solve_means(const gpc_joint_reduced *reduced, gpc_joint_reduced_room *room,
                        gpc_joint_point *to) {
  const gpc_joint *joint = reduced->joint;
  const size_t g = joint->nodes->g, m = joint->m;
  double *rhs = room->sol, *cross = rhs + m + 1, *part = cross + m + 1;
  const double *line = room->ga + g * m, *z = joint->nodes->z;
  gpc_gemm(1, 0, m, 1, g, 1.0, room->a, reduced->tc, 0.0, rhs);
  gpc_gemm(0, 0, m, 1, m, 1.0, room->xx, rhs, 0.0, to->at.q_mean);
  to->at.slope = reduced->from->at.slope;
  if (!gpc_prior_has_slope(&joint->prior))
    return;
  gpc_gemm(1, 0, m, 1, g, 1.0, room->a, line, 0.0, cross);
  gpc_gemm(0, 0, m, 1, m, 1.0, room->xx, cross, 0.0, part);
  if (joint->slope_free) { /* Schur complement of the slope */
    const double own = gpc_dot(g, z, line);
    const double above = gpc_dot(g, z, reduced->tc) - gpc_dot(m, cross, to->at.q_mean);
    const double below = own - gpc_dot(m, cross, part);
    if (below > 1e-12 * own)
      to->at.slope = fmin(fmax(above / below, joint->slope_low), joint->slope_high);
  }
  for (size_t i = 0; i < m; i++)
    to->at.q_mean[i] -= to->at.slope * part[i];
}

/* m and slope of `to` at its hyperparameters, the process on the nodes, A m + mu, into
 * room->d, and log|M|. */
static gpc_status solve_process(const gpc_joint_reduced *reduced,
                                gpc_joint_reduced_room *room, gpc_joint_point *to,
                                double *logdet) {
  const gpc_joint *joint = reduced->joint;
  const size_t g = joint->nodes->g, m = joint->m;
  gpc_status status = set_features(reduced, &to->at, room);
  if (status == GPC_OK)
    status = invert(reduced, m, 1.0, room, logdet);
  if (status != GPC_OK)
    return status;
  solve_means(reduced, room, to);
  const gpc_prior prior = gpc_params_prior(&to->at, &joint->prior);
  gpc_gemm(0, 0, g, 1, m, 1.0, room->a, to->at.q_mean, 0.0, room->d);
  gpc_prior_add_smooth(&prior, g, joint->nodes->z, room->d);
  return GPC_OK;
}

gpc_status gpc_joint_reduced_value(const gpc_joint_reduced *reduced,
                                   gpc_joint_reduced_room *room, gpc_joint_point *to,
                                   double *value) {
  const gpc_joint *joint = reduced->joint;
  const gpc_joint_pass *pass = reduced->pass;
  const size_t g = joint->nodes->g, m = joint->m;
  double logdet, *d = room->d, logs = 0.0;
  const gpc_status status = solve_process(reduced, room, to, &logdet);
  if (status != GPC_OK)
    return status;
  for (size_t i = 0; i < g; i++)
    d[i] -= pass->psi[i];
  gpc_symm(g, 1, reduced->g, d, room->left);
  const double bend = gpc_dot(g, d, room->left);
  for (size_t i = 0; i < g; i++)
    room->left[i] = reduced->slope[i] - room->left[i];
  for (size_t j = 0; j < joint->e; j++)
    logs += log(tau_of(joint, reduced->from, j));
  *value = gpc_dot(g, reduced->slope, d) - 0.5 * bend + reduced->rest -
           0.5 * gpc_dot(m, to->at.q_mean, to->at.q_mean) - logs -
           0.5 * (logdet + reduced->logdet) - 0.5 * gpc_dot(g, room->rho, pass->spread) +
           gpc_joint_hyperprior(joint, reduced->from->tau, NULL);
  return isfinite(*value) ? GPC_OK : GPC_NOT_FINITE;
}

void gpc_joint_reduced_gradient(const gpc_joint_reduced *reduced,
                                gpc_joint_reduced_room *room, const gpc_joint_point *to,
                                double gradient[2]) {
  const gpc_joint *joint = reduced->joint;
  const size_t g = joint->nodes->g, m = joint->m;
  /* dJ/dA = left m' - G A M^-1, left the gradient in the process where it is now */
  gpc_gemm_large(0, 0, g, m, m, -1.0, room->ga, room->xx, 0.0, room->wide);
  for (size_t j = 0; j < m; j++)
    for (size_t i = 0; i < g; i++)
      room->wide[i + g * j] += room->left[i] * to->at.q_mean[j];
  for (size_t i = 0; i < g; i++)
    room->grho[i] = -0.5 * reduced->pass->spread[i];
  gpc_basis_grad_zero(m, &room->grad);
  gpc_basis_grad_add(&room->basis, g, joint->nodes->z, room->a, room->wide, room->grho,
                     room->row, &room->grad);
  gpc_basis_grad_finish(&room->basis, &room->grad);
  gradient[0] = room->grad.s2 * to->at.hyper.s2;
  gradient[1] = room->grad.l * to->at.hyper.l;
}

gpc_status gpc_joint_reduced_solve(const gpc_joint_reduced *reduced, int cov,
                                   gpc_joint_reduced_room *room, gpc_joint_point *to,
                                   double *value) {
  const gpc_joint *joint = reduced->joint;
  const gpc_joint_pass *pass = reduced->pass;
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e;
  double logdet, *d = room->d;
  const gpc_status status = solve_process(reduced, room, to, &logdet);
  if (status != GPC_OK)
    return status;
  memcpy(to->tau, reduced->from->tau, sizeof to->tau);
  memcpy(to->effect, reduced->te, e * sizeof(double));
  gpc_gemm(1, 0, e, 1, g, -1.0, reduced->f, d, 1.0, to->effect);
  for (size_t i = 0; i < g; i++)
    d[i] -= pass->psi[i];
  for (size_t i = 0; i < e; i++)
    d[g + i] = to->effect[i] - reduced->from->effect[i];
  gpc_joint_product(joint, pass, d, room->hd);
  double sum = gpc_dot(g, pass->gc, d) + gpc_dot(e, pass->ge, d + g) -
               0.5 * gpc_dot(g + e, d, room->hd) -
               0.5 * gpc_dot(m, to->at.q_mean, to->at.q_mean);
  for (size_t j = 0; j < e; j++) {
    const double tau = tau_of(joint, to, j), x = to->effect[j] / tau;
    sum -= 0.5 * x * x + log(tau);
  }
  const double *m0 = reduced->from->at.q_mean, *e0 = reduced->from->effect;
  room->gain = sum + 0.5 * gpc_dot(m, m0, m0);
  for (size_t j = 0; j < e; j++) {
    const double tau = tau_of(joint, to, j), x = e0[j] / tau;
    room->gain += 0.5 * x * x + log(tau);
  }
  logdet = -(logdet + reduced->logdet); /* log|S| */
  *value = sum + 0.5 * logdet - 0.5 * gpc_dot(g, room->rho, pass->spread) +
           gpc_joint_hyperprior(joint, to->tau, NULL);
  if (cov) {
    spread(reduced, m, room, to->cov);
    to->has_effects = e > 0;
    to->logdet = logdet;
  }
  return isfinite(*value) ? GPC_OK : GPC_NOT_FINITE;
}

gpc_status gpc_joint_reduced_covariance(const gpc_joint_reduced *reduced, double slope_sd,
                                        const gpc_params *at,
                                        gpc_joint_reduced_room *room, double *cov) {
  const size_t x = reduced->joint->m + (reduced->joint->slope_free ? 1 : 0);
  double logdet;
  gpc_status status = set_features(reduced, at, room);
  if (status == GPC_OK)
    status = invert(reduced, x, 1.0 / (slope_sd * slope_sd), room, &logdet);
  if (status == GPC_OK)
    spread(reduced, x, room, cov);
  return status;
}
