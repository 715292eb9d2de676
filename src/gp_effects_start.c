/* gp_effects_start.c: where a fit of class effects begins (gp_effects_fitting.h). */
#include "gp_effects_fitting.h"

#include <math.h>
#include <string.h>

#define NODES_PER_L 8.0 /* at the most */

/* Centres of the hyperpriors of tau, and their standard deviation in log tau: the same
 * for all data, chosen on simulated and real ones (bench/results/effects-data.md). */
static const double centre_two[GPC_BLOCKS] = {0.25, 0.125, 0.15, 0.05, 0.5};
static const double centre_many[GPC_BLOCKS] = {0.3, 0.3, 0.3, 0.05, 0.5};
static const double sd_two[GPC_BLOCKS] = {0.5, 0.5, 1.0, 1.0, 1.0};
#define SD_MANY 1.0

static double weighted_rms(const gpc_gp_data *data) {
  double sum = 0.0, total = 0.0;
  for (size_t j = 0; j < data->k; j++)
    for (size_t i = 0; i < data->n; i++) {
      const double w = gpc_gp_weight(data, i), z = gpc_gp_score(data, i, j);
      sum += w * z * z;
      total += w;
    }
  return sum > 0.0 ? sqrt(sum / total) : 1.0;
}

/* pi [n x k] := softmax(slope z): where the tilting begins. */
static void first_softmax(const gpc_gp_data *data, double slope, double *pi) {
  for (size_t i = 0; i < data->n; i++) {
    double top = -INFINITY, sum = 0.0;
    for (size_t j = 0; j < data->k; j++)
      top = fmax(top, slope * gpc_gp_score(data, i, j));
    for (size_t j = 0; j < data->k; j++)
      sum += pi[i + data->n * j] = exp(slope * gpc_gp_score(data, i, j) - top);
    for (size_t j = 0; j < data->k; j++)
      pi[i + data->n * j] /= sum;
  }
}

/* Distance of the nodes, of which a pass costs the square: no finer than the shortest
 * lengthscale needs that a fit may come to, nor than the data can tell. Twelve of n nodes to a
 * lengthscale interpolate the kernel to .57 s2 n^-12, and rows of weight W take that for so
 * many nats: .001 of them are allowed, with a margin in n for what the fit changes. */
#define MARGIN 1.3

static double node_step(const gpc_gp_data *data, const gpc_effects_settings *s,
                        const gpc_hyper *hyper) {
  const double needed = MARGIN * pow(570.0 * hyper->s2 * gpc_gp_total(data), 1.0 / 12.0);
  const double per_l = fmin(fmax(needed, GPC_EFFECTS_FEWEST_PER_L), NODES_PER_L);
  return s->l_free ? fmin(hyper->l / per_l, fmax(hyper->l / NODES_PER_L,
                                                 s->l_low / GPC_EFFECTS_FEWEST_PER_L))
                   : hyper->l / NODES_PER_L;
}

static void set_joint(const gpc_visitor *visitor, const gpc_visit *from,
                      const gpc_gp_range *range, const gpc_effects_settings *settings,
                      gpc_joint *joint) {
  const gpc_gp_data *data = visitor->data;
  const int two = data->k == 2;
  memset(joint, 0, sizeof *joint);
  joint->data = data;
  joint->memory = visitor->memory;
  joint->nodes =
      gpc_ruler_nodes(visitor->ruler, node_step(data, settings, &from->at.hyper));
  if (!joint->nodes)
    joint->nodes = from->nodes;
  joint->prior = visitor->prior;
  const gpc_joint_site *site = settings->site;
  joint->site = site;
  joint->features =
      gpc_features_make(data->k, settings->wanted, site ? site->rms : weighted_rms(data),
                        site ? site->slope : settings->slope,
                        site ? fmin(site->low, range->lowest) : range->lowest,
                        site ? fmax(site->high, range->highest) : range->highest);
  joint->m = from->at.m;
  joint->e = data->k * joint->features.r;
  joint->q = joint->m + joint->e;
  joint->slope_free = visitor->slope_free;
  joint->slope_low = visitor->slope_low;
  joint->slope_high = visitor->slope_high;
  for (int b = 0; b < GPC_BLOCKS; b++) {
    joint->tau_centre[b] = two ? centre_two[b] : centre_many[b];
    joint->tau_sd[b] = two ? sd_two[b] : SD_MANY;
    joint->tau_free[b] = isnan(settings->variance[b]);
  }
}

/* The shared fit as a point of the joint model, with effects that are known to be 0. */
static void begin(const gpc_visit *from, gpc_effects_fitting *f) {
  gpc_joint *joint = &f->joint;
  const size_t m = joint->m, dim = gpc_joint_dim(joint);
  const gpc_memory *memory = joint->memory;
  gpc_joint_point_get(joint, &f->here);
  gpc_joint_mode_get(joint, &f->there);
  f->there.at_mode = 0;
  /* S of a point that was left is looked at only to freeze its rows */
  f->there.cov =
      gpc_effects_freezes(f) ? gpc_get_doubles(memory, joint->q * joint->q) : f->here.cov;
  gpc_joint_pass_get(joint, &f->pass);
  gpc_joint_pass_get(joint, &f->next);
  gpc_joint_pass_get(joint, &f->other);
  f->pass.pi = f->next.pi = gpc_get_doubles(memory, joint->data->n * joint->data->k);
  first_softmax(joint->data, from->at.slope, f->pass.pi);
  gpc_params_copy(&from->at, &f->here.at);
  for (size_t j = 0; j < m; j++)
    memcpy(f->here.cov + joint->q * j, from->at.q_cov + m * j, m * sizeof(double));
  for (int b = 0; b < GPC_BLOCKS; b++)
    f->here.tau[b] =
        joint->tau_free[b] ? joint->tau_centre[b] : sqrt(f->settings->variance[b]);
  if (joint->tau_free[GPC_SKEW])
    f->here.tau[GPC_SKEW] *= f->here.tau[GPC_MATRIX];
  gpc_joint_point_copy(joint, &f->here, &f->there);
  f->stepper = gpc_joint_stepper_get(joint, &f->next);
  f->h = gpc_get_doubles(memory, dim);
  f->low = gpc_get_doubles(memory, dim);
  f->high = gpc_get_doubles(memory, dim);
  f->radius = 2.0;
  f->scale = f->share = f->most_share = 1.0;
}

#define FAR_BELOW                                                                        \
  20.0 /* nats: the second-order bound of the process alone is no bound where its
          variances are large, and its optimum then no place to begin from */

/* The first pass: at the shared fit, or at temperature scaling with next to no process if
 * the tilted bound is far below that of the shared fit and higher there. */
static gpc_status first_pass(const gpc_visit *from, gpc_effects_fitting *f, int *passes) {
  const gpc_joint *joint = &f->joint;
  const size_t m = joint->m, n = joint->data->n * joint->data->k;
  gpc_status status = gpc_joint_visit(&f->joint, &f->here, &f->pass);
  *passes = 1;
  if (status == GPC_OK && f->here.elbo > from->elbo - FAR_BELOW)
    return status;
  gpc_joint_point *calm = &f->there;
  gpc_joint_point_copy(joint, &f->here, calm);
  if (joint->slope_free)
    calm->at.slope = fmin(fmax(f->settings->slope, joint->slope_low), joint->slope_high);
  if (f->settings->s2_free)
    calm->at.hyper.s2 = fmin(calm->at.hyper.s2, GPC_EFFECTS_LEAST_S2);
  memset(calm->at.q_mean, 0, m * sizeof(double));
  for (size_t j = 0; j < m; j++)
    for (size_t i = 0; i < m; i++)
      calm->cov[i + joint->q * j] = i == j ? 1.0 : 0.0;
  calm->logdet = 0.0;
  f->next.pi = gpc_get_doubles(joint->memory, n);
  first_softmax(joint->data, calm->at.slope, f->next.pi);
  ++*passes;
  const gpc_status again = gpc_joint_visit(&f->joint, calm, &f->next);
  if (again == GPC_OK && (status != GPC_OK || calm->elbo > f->here.elbo)) {
    const gpc_joint_point point = f->here;
    const gpc_joint_pass pass = f->pass;
    f->here = *calm;
    f->there = point;
    f->pass = f->next;
    f->next = pass;
    status = again;
  }
  if (f->next.pi != f->pass.pi)
    gpc_give(joint->memory, f->next.pi);
  f->next.pi = f->pass.pi; /* passes share it */
  return status;
}

gpc_status gpc_effects_start(const gpc_visitor *visitor, const gpc_visit *from,
                             const gpc_gp_range *range, gpc_effects_fitting *f,
                             int *passes) {
  set_joint(visitor, from, range, f->settings, &f->joint);
  begin(from, f);
  return first_pass(from, f, passes);
}
