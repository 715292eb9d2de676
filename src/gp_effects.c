/* gp_effects.c: see gp_effects.h. */
#include "gp_effects.h"
#include "class_powers.h"
#include "gp_stream.h"
#include "linalg.h"
#include "optim.h"

#include <math.h>
#include <string.h>

#define NODES_PER_L 8.0
#define FEWEST_PER_L                                                                     \
  3.5 /* nodes: 12 of them interpolate to 2e-7; no shorter lengthscale is looked at */
#define LEAST_S2 1e-2 /* to begin from, so that a process that had vanished may return */
#define TAU_LOW 1e-3
#define TAU_HIGH 100.0

/* Centres of the hyperpriors of tau, and their standard deviation in log tau: the same
 * for all data, chosen on simulated and real ones (bench/results/effects-data.md). */
static const double centre_two[GPC_BLOCKS] = {0.25, 0.125, 0.3, 0.05};
static const double centre_many[GPC_BLOCKS] = {0.3, 0.1, 0.3, 0.05};
#define SD_TWO 0.5
#define SD_MANY 1.0

/* A fit on its way. */
typedef struct {
  gpc_joint joint;
  const gpc_effects_settings *settings;
  gpc_ruler *ruler;
  gpc_joint_point here, there;
  gpc_joint_pass pass, next;
  struct gpc_joint_solution *solution;
  double *h, *low, *high, *work, *memory; /* of the maximiser, [dim] and more */
  double radius, scale, share;            /* trust: gp_joint.h */
  int has_other;
  int stale;            /* the last visit was at a point that was refused */
  gpc_joint_pass other; /* the pass to average with */
} fitting;

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
  const double per_l = fmin(fmax(needed, FEWEST_PER_L), NODES_PER_L);
  return s->l_free ? fmin(hyper->l / per_l,
                          fmax(hyper->l / NODES_PER_L, s->l_low / FEWEST_PER_L))
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
  joint->tau_sd = two ? SD_TWO : SD_MANY;
  for (int b = 0; b < GPC_BLOCKS; b++) {
    joint->tau_centre[b] = two ? centre_two[b] : centre_many[b];
    joint->tau_free[b] = isnan(settings->variance[b]);
  }
}

/* The shared fit as a point of the joint model, with effects that are known to be 0. */
static void begin(const gpc_visit *from, fitting *f) {
  gpc_joint *joint = &f->joint;
  const size_t m = joint->m, dim = gpc_joint_dim(joint);
  const gpc_memory *memory = joint->memory;
  gpc_joint_point_get(joint, &f->here);
  gpc_joint_point_get(joint, &f->there);
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
  gpc_joint_point_copy(joint, &f->here, &f->there);
  f->solution = gpc_joint_begin(joint);
  f->h = gpc_get_doubles(memory, dim);
  f->low = gpc_get_doubles(memory, dim);
  f->high = gpc_get_doubles(memory, dim);
  f->work = gpc_get_doubles(memory, gpc_optim_work(dim));
  f->memory = gpc_get_doubles(memory, 1 + dim * dim);
  f->memory[0] = 0.0;
  f->radius = 2.0;
  f->scale = f->share = 1.0;
}

static double node_distance(const fitting *f, const gpc_ruler *ruler) {
  return ruler->coarsest_step * f->joint.nodes->line.step / ruler->coarsest.step;
}

/* The trust region around h. */
static void set_box(fitting *f, const gpc_ruler *ruler) {
  const gpc_effects_settings *s = f->settings;
  const double least_l = fmax(s->l_low, FEWEST_PER_L * node_distance(f, ruler));
  size_t at = 2;
  f->low[0] = log(s->s2_low);
  f->high[0] = log(s->s2_high);
  f->low[1] = log(least_l);
  f->high[1] = log(fmax(s->l_high, 2.0 * least_l));
  for (int b = 0; b < GPC_BLOCKS; b++)
    if (f->joint.features.count[b]) {
      f->low[at] = log(TAU_LOW);
      f->high[at++] = log(TAU_HIGH);
    }
  at = 0;
  for (int i = -2; i < GPC_BLOCKS; i++) {
    if (i >= 0 && !f->joint.features.count[i])
      continue;
    const int is_free = i == -2 ? s->s2_free : i == -1 ? s->l_free : f->joint.tau_free[i];
    const double room = is_free ? f->radius : 0.0, h = f->h[at];
    f->low[at] = fmin(fmax(h - room, f->low[at]), h);
    f->high[at] = fmax(fmin(h + room, f->high[at]), h);
    at++;
  }
}

static gpc_joint_surrogate surrogate(fitting *f) {
  return (gpc_joint_surrogate){.joint = &f->joint,
                               .pass = &f->pass,
                               .from = &f->here,
                               .to = &f->there,
                               .mean_scale = f->scale,
                               .other = f->has_other && f->share < 1.0 ? &f->other : NULL,
                               .share = f->share,
                               .solution = f->solution};
}

/* there := the maximum of the surrogate in the trust region, but for S; *promise: what it
 * would gain. */
static gpc_status propose(fitting *f, const gpc_ruler *ruler, double *promise) {
  gpc_joint_surrogate sur = surrogate(f);
  double value;
  gpc_params_copy(&f->here.at, &f->there.at);
  memcpy(f->there.tau, f->here.tau, sizeof f->there.tau);
  if (f->settings->s2_free && !f->here.has_effects)
    f->there.at.hyper.s2 = fmax(f->there.at.hyper.s2, LEAST_S2);
  gpc_joint_get_h(&f->joint, &f->there, f->h);
  set_box(f, ruler);
  const gpc_optim problem = {.dim = gpc_joint_dim(&f->joint),
                             .value = gpc_joint_value,
                             .gradient = gpc_joint_gradient,
                             .self = &sur,
                             .low = f->low,
                             .high = f->high,
                             .max_steps = 12,
                             .tol = 0.1 * f->settings->tol,
                             .fraction = 0.01,
                             .memory = f->memory,
                             .poll = f->settings->poll,
                             .poll_data = f->settings->poll_data};
  gpc_status status = gpc_optim_maximise(&problem, f->work, f->h, &value);
  if (status != GPC_OK)
    return status;
  *promise = value + gpc_joint_constant(&f->pass) - f->here.elbo;
  return GPC_OK;
}

#define LITTLE                                                                           \
  2.0 /* nats: a first step that promises no more, and keeps it, is the last */
#define FORETOLD 0.1 /* nats: as near as that the promise must have come */
#define MOST_REFUSED 12

/* pass's H := what S was made of: its own, or the average with that of `other`. */
static void keep_average(const fitting *f, gpc_joint_pass *pass, double share) {
  const size_t g = f->joint.nodes->g, e = f->joint.e;
  for (size_t i = 0; i < g * g; i++)
    pass->hcc[i] = share * pass->hcc[i] + (1.0 - share) * f->other.hcc[i];
  for (size_t i = 0; i < g * e; i++)
    pass->hce[i] = share * pass->hce[i] + (1.0 - share) * f->other.hce[i];
  for (size_t i = 0; i < e * e; i++)
    pass->hee[i] = share * pass->hee[i] + (1.0 - share) * f->other.hee[i];
}

/* The step is taken. */
static void accept(fitting *f, double ratio, int step) {
  const gpc_joint_point point = f->here;
  gpc_joint_pass pass = f->pass;
  if (f->has_other && f->share < 1.0)
    keep_average(f, &pass, f->share);
  if (ratio < 0.6 && step > 1)
    f->share = fmin(f->share, 0.5); /* S and the softmax go to and fro */
  else if (ratio > 0.9)
    f->share = fmin(1.0, 2.0 * f->share);
  if (ratio > 0.7) {
    f->radius = fmin(2.0 * f->radius, 4.0);
    f->scale = f->scale > 1.0 ? 1.0 + (f->scale - 1.0) / 4.0 : f->scale;
    if (f->scale < 1.05 && f->scale > 1.0)
      f->scale = 1.0;
    if (ratio > 1.15 && f->scale <= 1.0)
      f->scale = 0.75; /* H overstates the curvature of the tilted bound */
  } else if (ratio < 0.3) {
    f->radius = fmax(0.5 * f->radius, 0.3);
  }
  f->here = f->there;
  f->stale = 0;
  f->there = point;
  f->pass = f->next; /* the old pass becomes the one to average with */
  f->next = f->other;
  f->next.pi = pass.pi;
  f->other = pass;
  f->has_other = 1;
}

/* The step is taken back. The first one begins again nearer to no effects at all: where
 * the rows say little of them at first, S is about the prior's, and that may be wide. */
static void refuse(fitting *f) {
  for (int b = 0; b < GPC_BLOCKS; b++)
    if (!f->here.has_effects && f->joint.tau_free[b])
      f->here.tau[b] = fmax(f->here.tau[b] / 3.0, TAU_LOW);
  f->radius = fmax(f->radius / 3.0, 0.1);
  if (f->has_other)
    f->share *= 0.5;
  f->scale = f->scale < 1.0 ? 1.0 : 1.0 + fmax(2.0 * (f->scale - 1.0), 0.5);
}

#define MOST_AVERAGED                                                                    \
  200 /* effects: with more, their covariance is not to be kept twice */

/* The mixture over the hyperparameters, on nodes for the shortest lengthscale. */
static void average(fitting *f, gpc_effects_result *result) {
  const gpc_effects_settings *s = f->settings;
  const gpc_joint_average_settings how = {.s2_free = s->s2_free,
                                          .l_free = s->l_free,
                                          .width = s->width,
                                          .l_low = s->l_low,
                                          .l_high = s->l_high,
                                          .slope = s->slope,
                                          .poll = s->poll,
                                          .poll_data = s->poll_data};
  if (!s->integrate || (!s->s2_free && !s->l_free) || f->joint.e > MOST_AVERAGED)
    return;
  gpc_joint fine = f->joint;
  fine.nodes = gpc_ruler_nodes(f->ruler, s->l_low / FEWEST_PER_L);
  if (!fine.nodes || fine.nodes->g < f->joint.nodes->g)
    fine.nodes = f->joint.nodes;
  result->averaged =
      gpc_joint_average(&fine, &how, &f->here, f->pass.pi, &result->passes_average,
                        &result->mixture) == GPC_OK;
}

/* Joint covariance of (m, slope, e) at the optimum, with a prior for the slope as wide as
 * temperature scaling's. */
static gpc_status joint_covariance(fitting *f, gpc_effects_result *result) {
  const gpc_joint *joint = &f->joint;
  const size_t size = result->m + result->slopes + joint->e;
  double *work = gpc_get_doubles(joint->memory, size * size);
  result->cov = gpc_get_doubles(joint->memory, size * size);
  return gpc_joint_covariance(joint, &f->here, &f->pass, f->settings->slope, work,
                              result->cov);
}

/* All rows, old and new, as result->site. */
static gpc_status freeze(fitting *f, const gpc_site *process, const gpc_gp_range *range,
                         gpc_effects_result *result) {
  double z[GPC_SITE_MOST];
  if (!f->settings->freeze || f->joint.e > GPC_SITE_EFFECTS)
    return GPC_OK;
  const size_t p = gpc_site_knots(process, range, z);
  if (f->stale) { /* the softmaxes are those of another point */
    const gpc_status status = gpc_joint_visit(&f->joint, &f->here, &f->pass);
    result->passes++;
    if (status != GPC_OK)
      return status;
  }
  return gpc_joint_site_freeze(&f->joint, &f->here, &f->pass, p, z, &result->site);
}

static gpc_status finish(fitting *f, const gpc_visitor *visitor,
                         const gpc_gp_range *range, gpc_effects_result *result) {
  const gpc_status frozen = freeze(f, visitor->site, range, result);
  if (frozen != GPC_OK)
    return frozen;
  const gpc_features *features = &f->joint.features;
  result->features = *features;
  result->at = f->here.at;
  memcpy(result->tau, f->here.tau, sizeof result->tau);
  result->effect = f->here.effect;
  result->elbo = f->here.elbo;
  result->kept = f->here.has_effects;
  result->m = f->joint.m;
  result->slopes = f->joint.slope_free ? 1 : 0;
  if (!result->kept)
    return GPC_OK;
  const gpc_status status = joint_covariance(f, result);
  if (status != GPC_OK)
    return status;
  average(f, result);
  const size_t size = result->m + result->slopes + f->joint.e;
  gpc_powers_collapse(features, size, result->effect, result->cov);
  if (result->averaged)
    gpc_powers_collapse(features, size, result->mixture.effect, result->mixture.cov);
  return GPC_OK;
}

#define FAR_BELOW                                                                        \
  20.0 /* nats: the second-order bound of the process alone is no bound where its
          variances are large, and its optimum then no place to begin from */

/* The first pass: at the shared fit, or at temperature scaling with next to no process if
 * the tilted bound is far below that of the shared fit and higher there. */
static gpc_status first_pass(const gpc_visit *from, fitting *f, int *passes) {
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
    calm->at.hyper.s2 = fmin(calm->at.hyper.s2, LEAST_S2);
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
  f->next.pi = f->pass.pi; /* passes share it */
  return status;
}

gpc_status gpc_effects_fit(gpc_visitor *visitor, const gpc_visit *from,
                           const gpc_gp_range *range,
                           const gpc_effects_settings *settings,
                           gpc_effects_result *result) {
  fitting f = {.settings = settings, .ruler = visitor->ruler};
  memset(result, 0, sizeof *result);
  set_joint(visitor, from, range, settings, &f.joint);
  begin(from, &f);
  gpc_status status = first_pass(from, &f, &result->passes);
  result->none = result->elbo = f.here.elbo;
  if (status != GPC_OK)
    return status;
  int refused = 0;
  for (int step = 0; result->passes < settings->max_passes; step++) {
    double promise;
    gpc_call_poll(settings->poll, settings->poll_data);
    status = propose(&f, visitor->ruler, &promise);
    if (status != GPC_OK) {
      if (++refused > MOST_REFUSED)
        break;
      refuse(&f);
      continue;
    }
    if (step == 0 && promise < settings->worthless)
      return finish(&f, visitor, range, result);
    /* effects that are to be there whatever they promise, or that promise little */
    const int forced = !f.here.has_effects && (settings->worthless == -INFINITY ||
                                               (step == 0 && promise < LITTLE));
    if (!forced && promise < settings->tol && f.radius >= 0.2 && f.scale <= 1.0) {
      result->converged = 1;
      break;
    }
    gpc_joint_surrogate sur = surrogate(&f);
    gpc_joint_cov(&sur);
    status = gpc_joint_visit(&f.joint, &f.there, &f.next);
    result->passes++;
    f.stale = 1;
    if (forced && fabs(promise) < LITTLE && status == GPC_OK &&
        fabs(f.there.elbo - f.here.elbo - promise) < FORETOLD) {
      f.here = f.there; /* there is no more to be had */
      f.stale = 0;
      f.pass = f.next;
      result->converged = 1;
      break;
    }
    const double gain = status == GPC_OK ? f.there.elbo - f.here.elbo : -INFINITY;
    /* a forced step may go down, but about as far as it said, if shorter ones can */
    const int expected = gain > promise - LITTLE || refused >= MOST_REFUSED / 2;
    if (status == GPC_OK && (gain > 0.0 || (forced && expected))) {
      refused = 0;
      accept(&f, forced ? 1.0 : gain / promise, step);
    } else {
      if (!forced &&
          promise < 10.0 * settings->tol) { /* no more to be had than rounding */
        result->converged = 1;
        break;
      }
      if (++refused > MOST_REFUSED)
        break;
      refuse(&f);
    }
  }
  return finish(&f, visitor, range, result);
}
