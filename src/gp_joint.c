/* gp_joint.c: points of the joint model, and a pass over the data; see gp_joint.h. */
#include "gp_joint.h"
#include "gp_joint_block.h"
#include "gp_joint_site.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

void gpc_joint_mode_get(const gpc_joint *joint, gpc_joint_point *point) {
  memset(point, 0, sizeof *point);
  point->at = gpc_params_get(joint->memory, joint->m);
  point->effect = gpc_get_doubles(joint->memory, joint->e);
  memset(point->effect, 0, joint->e * sizeof(double));
  point->logdet = NAN;
  point->at_mode = 1;
}

void gpc_joint_point_get(const gpc_joint *joint, gpc_joint_point *point) {
  gpc_joint_mode_get(joint, point);
  point->at_mode = 0;
  point->cov = gpc_get_doubles(joint->memory, joint->q * joint->q);
  memset(point->cov, 0, joint->q * joint->q * sizeof(double));
}

void gpc_joint_point_copy(const gpc_joint *joint, const gpc_joint_point *from,
                          gpc_joint_point *to) {
  gpc_params_copy(&from->at, &to->at);
  memcpy(to->tau, from->tau, sizeof to->tau);
  memcpy(to->effect, from->effect, joint->e * sizeof(double));
  if (from->cov && to->cov && from->cov != to->cov)
    memcpy(to->cov, from->cov, joint->q * joint->q * sizeof(double));
  to->has_effects = from->has_effects;
  to->at_mode = from->at_mode;
  to->logdet = from->logdet;
  to->elbo = from->elbo;
  to->kl = from->kl;
  to->hyperprior = from->hyperprior;
}

void gpc_joint_pass_get(const gpc_joint *joint, gpc_joint_pass *pass) {
  const size_t g = joint->nodes->g, e = joint->e;
  const gpc_memory *memory = joint->memory;
  memset(pass, 0, sizeof *pass);
  pass->psi = gpc_get_doubles(memory, g);
  pass->gc = gpc_get_doubles(memory, g);
  pass->ge = gpc_get_doubles(memory, e);
  pass->hcc = gpc_get_doubles(memory, g * g);
  pass->hce = gpc_get_doubles(memory, g * e);
  pass->hee = gpc_get_doubles(memory, e * e);
  pass->spread = gpc_get_doubles(memory, g);
}

void gpc_joint_pass_give(const gpc_joint *joint, gpc_joint_pass *pass) {
  double *all[] = {pass->psi, pass->gc,  pass->ge,    pass->hcc,
                   pass->hce, pass->hee, pass->spread};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    gpc_give(joint->memory, all[i]);
}

void gpc_joint_give(gpc_joint *joint) {
  for (size_t i = 0; i < sizeof joint->rooms / sizeof joint->rooms[0]; i++)
    gpc_buffer_drop(joint->memory, &joint->rooms[i]);
}

double gpc_joint_hyperprior(const gpc_joint *joint, const double *tau, double *gradient) {
  double sum = 0.0;
  for (int b = 0; b < GPC_BLOCKS; b++) {
    if (gradient)
      gradient[b] = 0.0;
    if (!joint->features.count[b] || !joint->tau_free[b])
      continue;
    const double unit = b == GPC_SKEW ? tau[GPC_MATRIX] : 1.0;
    const double u = log(tau[b] / (unit * joint->tau_centre[b])) / joint->tau_sd[b];
    sum -= 0.5 * u * u;
    if (gradient)
      gradient[b] = -u / joint->tau_sd[b];
    if (gradient && b == GPC_SKEW)
      gradient[GPC_MATRIX] += u / joint->tau_sd[b];
  }
  return sum;
}

/* tau of effect j. */
static double tau_of(const gpc_joint *joint, const gpc_joint_point *point, size_t j) {
  return point->tau[gpc_features_block(&joint->features, j)];
}

gpc_status gpc_joint_divergence(gpc_joint *joint, gpc_joint_point *point) {
  const int all = point->has_effects || point->at_mode;
  const size_t m = joint->m, q = joint->q, n = all ? q : m;
  double trace = 0.0, square = 0.0, logs = 0.0;
  if (!point->at_mode && isnan(point->logdet)) {
    double *chol = gpc_buffer_need(joint->memory, &joint->rooms[0], n * n);
    for (size_t j = 0; j < n; j++)
      memcpy(chol + n * j, point->cov + q * j, n * sizeof(double));
    const gpc_status status = gpc_chol_large(n, chol);
    if (status != GPC_OK)
      return status;
    point->logdet = gpc_chol_logdet(n, chol);
  }
  for (size_t j = 0; j < n; j++) {
    const double tau = j < m ? 1.0 : tau_of(joint, point, j - m);
    const double mean = j < m ? point->at.q_mean[j] : point->effect[j - m];
    trace += point->at_mode ? 0.0 : point->cov[j + q * j] / (tau * tau);
    square += mean * mean / (tau * tau);
    logs += 2.0 * log(tau);
  }
  point->kl = 0.5 * (point->at_mode ? square + logs
                                    : trace + square - (double)n + logs - point->logdet);
  point->hyperprior = all ? gpc_joint_hyperprior(joint, point->tau, NULL) : 0.0;
  return GPC_OK;
}

void gpc_joint_product(const gpc_joint *joint, const gpc_joint_pass *pass,
                       const double *x, double *out) {
  const size_t g = joint->nodes->g, e = joint->e;
  gpc_symm(g, 1, pass->hcc, x, out);
  gpc_gemm(0, 0, g, 1, e, 1.0, pass->hce, x + g, 1.0, out);
  gpc_gemm(1, 0, e, 1, g, 1.0, pass->hce, x, 0.0, out + g);
  gpc_gemm(0, 0, e, 1, e, 1.0, pass->hee, x + g, 1.0, out + g);
}

/* One pass --------------------------------------------------------------------------- */

static double *room(gpc_joint *joint, int which, size_t n) {
  return gpc_buffer_need(joint->memory, &joint->rooms[which], n);
}

double gpc_joint_trace(gpc_joint *joint, const gpc_joint_point *point, const double *a,
                       const gpc_joint_pass *pass) {
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e, q = joint->q;
  double *ha = room(joint, 18, g * m), *hm = room(joint, 19, m * m), sum = 0.0;
  gpc_gemm_large(0, 0, g, m, g, 1.0, pass->hcc, a, 0.0, ha);
  gpc_gemm_large(1, 0, m, m, g, 1.0, a, ha, 0.0, hm);
  for (size_t j = 0; j < m; j++)
    sum += gpc_dot(m, hm + m * j, point->cov + q * j);
  if (!point->has_effects)
    return sum;
  double *ae = room(joint, 20, m * e);
  gpc_gemm_large(1, 0, m, e, g, 1.0, a, pass->hce, 0.0, ae);
  for (size_t j = 0; j < e; j++)
    sum += 2.0 * gpc_dot(m, ae + m * j, point->cov + q * (m + j)) +
           gpc_dot(e, pass->hee + e * j, point->cov + m + q * (m + j));
  return sum;
}

gpc_status gpc_joint_visit(gpc_joint *joint, gpc_joint_point *point,
                           gpc_joint_pass *pass) {
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e, n = joint->data->n;
  const gpc_prior prior = gpc_params_prior(&point->at, &joint->prior);
  double *a = room(joint, 16, g * m), *rho = room(joint, 17, g),
         *au = room(joint, 21, g * m);
  double *chol = room(joint, 22, 2 * m * m);
  gpc_joint_block t;
  gpc_basis basis = {.m = m,
                     .inducing = point->at.inducing,
                     .hyper = point->at.hyper,
                     .chol = chol + m * m};
  gpc_status status = gpc_basis_factor(&basis);
  if (status == GPC_OK)
    status = gpc_joint_divergence(joint, point);
  for (size_t j = 0; j < m && !point->at_mode; j++)
    memcpy(chol + m * j, point->cov + joint->q * j, m * sizeof(double));
  if (status == GPC_OK && !point->at_mode)
    status = gpc_chol(m, 0.0, chol);
  if (status != GPC_OK)
    return status;
  gpc_basis_eval(&basis, g, joint->nodes->z, a, rho);
  gpc_gemm(0, 0, g, 1, m, 1.0, a, point->at.q_mean, 0.0, pass->psi);
  gpc_prior_add_smooth(&prior, g, joint->nodes->z, pass->psi);
  if (point->at_mode) { /* nothing is uncertain: pi is the softmax */
    memset(au, 0, g * m * sizeof(double));
    memset(rho, 0, g * sizeof(double));
  } else {
    gpc_gemm_large(1, 1, m, g, m, 1.0, chol, a, 0.0, au);
  }
  gpc_joint_block_begin(joint, point, chol, au, rho, pass->hee, &t);
  pass->fit = 0.0;
  memset(pass->gc, 0, g * sizeof(double));
  memset(pass->ge, 0, e * sizeof(double));
  memset(pass->spread, 0, g * sizeof(double));
  memset(pass->hcc, 0, g * g * sizeof(double));
  memset(pass->hce, 0, g * e * sizeof(double));
  for (size_t first = 0; first < n; first += GPC_JOINT_BLOCK)
    gpc_joint_block_add(joint, point, first,
                        n - first < GPC_JOINT_BLOCK ? n - first : GPC_JOINT_BLOCK, &t,
                        pass);
  gpc_joint_block_end(joint, &t, pass);
  /* diag(sum_n w p_n): every row's omega sums to one, so that the sum of p over rows is
   * y - gc */
  for (size_t j = 0; j < g; j++)
    pass->hcc[j + g * j] += joint->nodes->truth[j] - pass->gc[j];
  pass->trace = point->at_mode ? 0.0 : gpc_joint_trace(joint, point, a, pass);
  pass->rho_v = gpc_dot(g, rho, pass->spread);
  if (joint->site && point->at_mode) {
    pass->fit += gpc_joint_site_add(joint->site, g, point->effect, pass);
  } else if (
      joint->site) { /* eq. (O4): its traces are what it adds to those of the rows */
    const double own = pass->trace + pass->rho_v;
    pass->fit += gpc_joint_site_add(joint->site, g, point->effect, pass);
    pass->trace = gpc_joint_trace(joint, point, a, pass);
    pass->rho_v = gpc_dot(g, rho, pass->spread);
    pass->fit -= 0.5 * (pass->trace + pass->rho_v - own);
  }
  point->elbo = pass->fit - point->kl + point->hyperprior;
  return isfinite(point->elbo) ? GPC_OK : GPC_NOT_FINITE;
}
