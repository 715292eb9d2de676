/* gp_joint_average.c: see gp_joint_average.h. */
#include "gp_joint_average.h"
#include "gp_joint_reduced.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

#define MOST_GAIN 0.5 /* nats that the pass at a point may promise beyond its bound */
#define NEAR 0.5      /* nats: below this a pass changed the bound by .13 at the most */

gpc_status gpc_joint_covariance(const gpc_joint *joint, const gpc_joint_point *point,
                                const gpc_joint_pass *pass, double slope_sd, double *work,
                                double *cov) {
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e;
  const size_t x = m + (joint->slope_free ? 1 : 0), size = x + e;
  const gpc_memory *memory = joint->memory;
  void *mark = memory->mark(memory->self);
  double *a = gpc_get_doubles(memory, g * (m + 1)), *rho = gpc_get_doubles(memory, g);
  double *ha = gpc_get_doubles(memory, g * (m + 1)), *xx = gpc_get_doubles(memory, x * x);
  double *xe = gpc_get_doubles(memory, x * e), *q = cov;
  gpc_basis basis = {.m = m,
                     .w = point->at.inducing,
                     .hyper = point->at.hyper,
                     .chol = gpc_get_doubles(memory, m * m)};
  gpc_status status = gpc_basis_factor(&basis);
  if (status == GPC_OK) {
    gpc_basis_eval(&basis, g, joint->nodes->z, a, rho);
    memcpy(a + g * m, joint->nodes->z, g * sizeof(double));
    gpc_symm(g, x, pass->hcc, a, ha);
    gpc_gemm(1, 0, x, x, g, 1.0, a, ha, 0.0, xx);
    gpc_gemm(1, 0, x, e, g, 1.0, a, pass->hce, 0.0, xe);
    for (size_t j = 0; j < size; j++) {
      for (size_t i = j; i < size; i++)
        q[i + size * j] = i < x   ? xx[i + x * j]
                          : j < x ? xe[j + x * (i - x)]
                                  : pass->hee[i - x + e * (j - x)];
      double sd = 1.0; /* of the prior */
      if (j >= x)
        sd =
            point->tau[gpc_features_block(&joint->features, (j - x) % joint->features.r)];
      else if (j == m)
        sd = slope_sd;
      q[j + size * j] += 1.0 / (sd * sd);
    }
    status = gpc_chol_large(size, q);
  }
  if (status == GPC_OK) {
    gpc_lower_inverse(size, q, work);
    gpc_inverse_from_lower(size, work, cov);
  }
  memory->release(memory->self, mark);
  return status;
}

/* Who looks at points: passes in slots, each with its effects eliminated. */
typedef struct {
  gpc_joint *joint;
  const gpc_joint_average_settings *settings;
  gpc_joint_point at[GPC_MIXTURE_SLOTS], point;
  gpc_joint_pass pass[GPC_MIXTURE_SLOTS];
  gpc_joint_reduced reduced[GPC_MIXTURE_SLOTS];
  int there[GPC_MIXTURE_SLOTS]; /* room has been got */
  gpc_joint_reduced_room room;
  double *var[GPC_MIXTURE_SLOTS]; /* [g] of the process on the nodes, at each pass */
  double *var_here;               /* and at t->point */
  double *pi, *work;              /* [e x e] */
  double log_sd;                  /* of the slope, at the last point */
  int *passes;
} looking;

static void get_slot(looking *t, int i) {
  if (t->there[i])
    return;
  gpc_joint_point_get(t->joint, &t->at[i]);
  gpc_joint_pass_get(t->joint, &t->pass[i]);
  gpc_joint_reduced_get(t->joint, &t->reduced[i]);
  t->var[i] = gpc_get_doubles(t->joint->memory, t->joint->nodes->g);
  t->pass[i].pi = t->pi;
  t->there[i] = 1;
}

/* The best m, e and slope (and with `cov` S) for the hyperparameters of t->point, by the
 * pass in slot i. */
static gpc_status solve(looking *t, int i, int cov, double *elbo) {
  const gpc_status status =
      gpc_joint_reduced_solve(&t->reduced[i], cov, &t->room, &t->point, elbo);
  if (status != GPC_OK)
    return status;
  *elbo += gpc_joint_constant(&t->pass[i]);
  return GPC_OK;
}

/* A pass at t->point into slot i. */
static gpc_status pass_there(looking *t, int i) {
  get_slot(t, i);
  gpc_joint_point_copy(t->joint, &t->point, &t->at[i]);
  gpc_call_poll(t->settings->poll, t->settings->poll_data);
  ++*t->passes;
  const gpc_status status = gpc_joint_visit(t->joint, &t->at[i], &t->pass[i]);
  return status == GPC_OK
             ? gpc_joint_reduce(t->joint, &t->pass[i], &t->at[i], t->work, &t->reduced[i])
             : status;
}

/* Is the surrogate of the pass in slot i as good as a pass at t->point, which was solved for
 * by it? With d the change of the process on a node and c that of its variance (less what
 * is constant), the next terms are those of a softmax whose probability grows by exp(d + c / 2);
 * quadratic in d, linear in c are in the surrogate. */
static int near(looking *t, int i) {
  const size_t g = t->joint->nodes->g, e = t->joint->e;
  const double *d = t->room.d, *v = t->pass[0].v;
  double off = fabs(gpc_dot(e, d + g, t->room.hd + g)), total = 0.0;
  for (size_t j = 0; j < g; j++)
    total += v[j];
  const double mean = gpc_dot(g, v, d) / total;
  gpc_joint_reduced_variance(&t->reduced[i], v, NULL, 0, &t->room, t->var_here);
  for (size_t j = 0; j < g && off < NEAR; j++) {
    const double move = fabs(d[j] - mean), c = fabs(t->var_here[j] - t->var[i][j]);
    const double x = move + 0.5 * c;
    const double next = x < 1e-2 ? x * x * x / 6.0 : expm1(x) - x - 0.5 * x * x;
    off += fabs(v[j]) * (next + 0.5 * move * c + 0.125 * c * c);
  }
  return off < NEAR;
}

static gpc_status look(void *self, int from, int to, double s2, double l, double least,
                       int *passed, gpc_posterior *out) {
  looking *t = self;
  const gpc_joint *joint = t->joint;
  double elbo;
  gpc_params_copy(&t->at[from].at, &t->point.at);
  t->point.at.hyper.s2 = s2;
  t->point.at.hyper.l = l;
  gpc_status status = solve(t, from, 0, &elbo);
  if (status == GPC_OK && to >= 0 && elbo + t->log_sd >= least && !near(t, from)) {
    *passed = 1;
    status = solve(t, from, 1, &elbo); /* with S, which a pass needs */
    if (status == GPC_OK)
      status = pass_there(t, to);
    memcpy(t->var[to], t->var_here, joint->nodes->g * sizeof(double));
    from = to;
    if (status == GPC_OK)
      status = solve(t, from, 0, &elbo);
    if (status != GPC_OK)
      return status;
    elbo = fmin(elbo, t->at[to].elbo + MOST_GAIN);
  }
  if (status == GPC_OK)
    status = gpc_joint_reduced_covariance(&t->reduced[from], t->settings->slope,
                                          &t->point.at, &t->room, out->cov);
  if (status != GPC_OK)
    return status;
  gpc_params_copy(&t->point.at, &out->at);
  memcpy(out->effect, t->point.effect, joint->e * sizeof(double));
  const size_t m = joint->m, size = m + out->slopes + joint->e;
  t->log_sd = out->slopes ? 0.5 * log(out->cov[m + size * m]) : 0.0;
  out->value = elbo + t->log_sd;
  return isfinite(out->value) ? GPC_OK : GPC_NOT_FINITE;
}

gpc_status gpc_joint_average(gpc_joint *joint, const gpc_joint_average_settings *settings,
                             const gpc_joint_point *best, const gpc_joint_pass *pass,
                             int *passes, gpc_posterior *mixture) {
  const gpc_mixture_settings how = {.best = best->at.hyper,
                                    .s2_free = settings->s2_free,
                                    .l_free = settings->l_free,
                                    .width = settings->width,
                                    .l_low = settings->l_low,
                                    .l_high = settings->l_high,
                                    .memory = joint->memory};
  looking t = {.joint = joint, .settings = settings, .pi = pass->pi, .passes = passes};
  const gpc_mixture_looker looker = {.self = &t, .look = look};
  int points;
  t.work = gpc_get_doubles(joint->memory, joint->e * joint->e);
  gpc_joint_reduced_room_get(joint, &t.room);
  gpc_joint_point_get(joint, &t.point);
  gpc_joint_point_copy(joint, best, &t.point);
  t.at[0] = *best;
  t.pass[0] = *pass;
  t.there[0] = 1;
  gpc_joint_reduced_get(joint, &t.reduced[0]);
  gpc_status status =
      gpc_joint_reduce(joint, &t.pass[0], &t.at[0], t.work, &t.reduced[0]);
  double elbo;
  t.var[0] = gpc_get_doubles(joint->memory, 2 * joint->nodes->g);
  t.var_here = t.var[0] + joint->nodes->g;
  if (status == GPC_OK)
    status = solve(&t, 0, 0, &elbo);
  if (status != GPC_OK)
    return status;
  gpc_joint_reduced_variance(&t.reduced[0], pass->v, best->cov, joint->q, &t.room,
                             t.var[0]);
  *mixture =
      gpc_posterior_get(joint->memory, joint->m, joint->slope_free ? 1 : 0, joint->e);
  memcpy(mixture->at.inducing, best->at.inducing, joint->m * sizeof(double));
  status = gpc_mixture_make(&looker, &how, mixture, &points);
  if (joint->slope_free)
    mixture->at.slope =
        fmin(fmax(mixture->at.slope, joint->slope_low), joint->slope_high);
  return status;
}
