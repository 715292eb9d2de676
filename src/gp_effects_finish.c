/* gp_effects_finish.c: what is made of the optimum of a fit of class effects
 * (gp_effects_fitting.h): covariance, mixture over the hyperparameters, frozen rows. */
#include "class_powers.h"
#include "class_skew.h"
#include "gp_effects_fitting.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

#define MOST_AVERAGED                                                                    \
  200 /* effects: with more, their covariance is not to be kept twice */

/* How likely effects are that could have been left out: eq. (45a). (Of two classes an
 * offset is no more than Platt's, and not doubted.) */
static double likely(const gpc_effects_fitting *f, const gpc_effects_result *result) {
  const double odds = f->settings->odds;
  if (odds == 0.0 || f->joint.data->k == 2)
    return 1.0;
  return 1.0 / (1.0 + exp(result->none - result->elbo) / odds);
}

/* `to` := the optimum, moved to where the posterior N((m, slope, e), cov) has it once the
 * prior variances of the effects are `likely` < 1 times as large: the first pass of the
 * average then finds its mode near. By Woodbury's formula, with the inverse of what the
 * precisions grow by beside the effects' covariance. */
static void shrink(const gpc_effects_fitting *f, double likely,
                   const gpc_effects_result *result, gpc_joint_point *to) {
  const gpc_joint *joint = &f->joint;
  const size_t e = joint->e, m = joint->m, before = m + result->slopes, size = before + e;
  double *a = gpc_get_doubles(joint->memory, e * e),
         *v = gpc_get_doubles(joint->memory, e);
  size_t *at = gpc_get_sizes(joint->memory, e), n = 0;
  gpc_joint_mode_get(joint, to);
  gpc_joint_point_copy(joint, &f->here, to);
  for (size_t j = 0; j < e; j++)
    if (joint->tau_free[gpc_features_block(&joint->features, j)])
      at[n++] = j;
  for (size_t j = 0; j < n; j++) {
    const double *column = result->cov + before + size * (before + at[j]);
    const double tau = f->here.tau[gpc_features_block(&joint->features, at[j])];
    for (size_t i = 0; i < n; i++)
      a[i + n * j] = column[at[i]];
    a[j + n * j] += likely / (1.0 - likely) * tau * tau;
    v[j] = f->here.effect[at[j]];
  }
  if (gpc_chol_large(n, a) == GPC_OK) { /* otherwise it is the optimum to begin from */
    gpc_chol_solve(n, a, v);
    for (size_t j = 0; j < n; j++) {
      const double *column = result->cov + size * (before + at[j]);
      for (size_t i = 0; i < m; i++)
        to->at.q_mean[i] -= column[i] * v[j];
      if (result->slopes)
        to->at.slope -= column[m] * v[j];
      for (size_t i = 0; i < e; i++)
        to->effect[i] -= column[before + i] * v[j];
    }
  }
  if (result->slopes)
    to->at.slope = fmin(fmax(to->at.slope, joint->slope_low), joint->slope_high);
  gpc_give(joint->memory, a);
  gpc_give(joint->memory, v);
}

/* The mixture over the hyperparameters, on nodes for the shortest lengthscale. */
static void average(gpc_effects_fitting *f, const gpc_site *old,
                    gpc_effects_result *result) {
  const gpc_effects_settings *s = f->settings;
  const gpc_joint_average_settings how = {.s2_free = s->s2_free,
                                          .l_free = s->l_free,
                                          .width = s->width,
                                          .rows = gpc_gp_total(f->joint.data) +
                                                  (old ? old->weight : 0.0),
                                          .l_low = s->l_low,
                                          .l_high = s->l_high,
                                          .slope = s->slope,
                                          .likely = likely(f, result),
                                          .poll = s->poll,
                                          .poll_data = s->poll_data};
  if (!s->integrate || (!s->s2_free && !s->l_free) || f->joint.e > MOST_AVERAGED)
    return;
  gpc_joint fine = f->joint;
  fine.nodes = gpc_ruler_nodes(f->ruler, s->s2_free && s->l_free
                                             ? gpc_rough_nodes(&f->here.at)
                                             : s->l_low / GPC_EFFECTS_FEWEST_PER_L);
  if (!fine.nodes || fine.nodes->g < f->joint.nodes->g)
    fine.nodes = f->joint.nodes;
  gpc_joint_point from = f->here;
  if (how.likely < 1.0)
    shrink(f, how.likely, result, &from);
  result->averaged =
      gpc_joint_average(&fine, &how, &from, f->pass.pi, &result->passes_average,
                        &result->mixture) == GPC_OK;
  if (how.likely < 1.0) {
    gpc_params_give(f->joint.memory, &from.at);
    gpc_give(f->joint.memory, from.effect);
  }
}

/* Joint covariance of (m, slope, e) at the optimum, with a prior for the slope as wide as
 * temperature scaling's. */
static gpc_status joint_covariance(gpc_effects_fitting *f, gpc_effects_result *result) {
  const gpc_joint *joint = &f->joint;
  const size_t size = result->m + result->slopes + joint->e;
  result->cov = gpc_get_doubles(joint->memory, size * size);
  gpc_joint_stepper_lend(f->stepper, &f->next);
  return gpc_joint_stepper_covariance(f->stepper, joint, &f->pass, &f->here,
                                      f->settings->slope, f->there.cov, result->cov);
}

/* All rows, old and new, as result->site. */
static gpc_status freeze(gpc_effects_fitting *f, const gpc_site *process,
                         const gpc_gp_range *range, gpc_effects_result *result) {
  double z[GPC_SITE_MOST];
  if (!gpc_effects_freezes(f))
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

/* result->worth: log of the ratio of prior and posterior density at 0 of each block's
 * parameters, at the variances learned; NAN where the covariance has no factor, for a
 * report that cannot be made is no reason to have no fit. */
static void set_worth(gpc_effects_fitting *f, gpc_effects_result *result) {
  const gpc_features *features = &f->joint.features;
  const size_t e = f->joint.e, before = result->m + result->slopes, size = before + e;
  double *chol = f->there.cov; /* nobody needs it any more */
  double *mean = gpc_get_doubles(f->joint.memory, e);
  size_t *at = gpc_get_sizes(f->joint.memory, e);
  for (int b = 0; b < GPC_BLOCKS; b++) {
    size_t n = 0;
    for (size_t j = 0; j < e; j++)
      if (gpc_features_block(features, j) == (gpc_block)b)
        at[n++] = j;
    for (size_t j = 0; j < n; j++) {
      mean[j] = result->effect[at[j]];
      for (size_t i = 0; i < n; i++)
        chol[i + n * j] = result->cov[before + at[i] + size * (before + at[j])];
    }
    result->worth[b] = 0.0;
    if (n == 0)
      continue;
    if (gpc_chol_large(n, chol) != GPC_OK) {
      result->worth[b] = NAN;
      continue;
    }
    gpc_solve_rows(1, n, chol, mean);
    result->worth[b] = 0.5 * gpc_chol_logdet(n, chol) + 0.5 * gpc_dot(n, mean, mean) -
                       (double)n * log(result->tau[b]);
  }
}

/* Passes to average with, which were for steps. */
static void give_steps(gpc_effects_fitting *f) {
  const gpc_memory *memory = f->joint.memory;
  gpc_joint_pass_give(&f->joint, &f->other);
  gpc_give(memory, f->mixed.hcc); /* the rest of it is that of `pass` */
  gpc_give(memory, f->mixed.hce);
  gpc_give(memory, f->mixed.hee);
  gpc_joint_give(&f->joint);
}

/* And all else but the point itself and the softmaxes. */
static void give_rest(gpc_effects_fitting *f) {
  const gpc_memory *memory = f->joint.memory;
  gpc_joint_stepper_give(&f->joint, f->stepper);
  gpc_joint_pass_give(&f->joint, &f->pass);
  gpc_joint_pass_give(&f->joint, &f->next);
  gpc_params_give(memory, &f->there.at);
  gpc_give(memory, f->there.effect);
  gpc_give(memory, f->there.cov);
  if (f->here.cov != f->there.cov)
    gpc_give(memory, f->here.cov);
  f->here.cov = f->there.cov = NULL;
}

/* From parameters to coefficients of the features, which is what predictions know. */
static void collapse(const gpc_features *features, size_t size, double *effect,
                     double *cov) {
  gpc_skew_collapse(features, size, effect, cov);
  gpc_powers_collapse(features, size, effect, cov);
}

gpc_status gpc_effects_finish(gpc_effects_fitting *f, const gpc_visitor *visitor,
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
  give_steps(f);
  if (!result->kept) {
    give_rest(f);
    gpc_give(f->joint.memory, f->pass.pi);
    return GPC_OK;
  }
  const gpc_status status = joint_covariance(f, result);
  if (status != GPC_OK)
    return status;
  set_worth(f, result);
  give_rest(f);
  average(f, visitor->site, result);
  gpc_give(f->joint.memory, f->pass.pi);
  const size_t size = result->m + result->slopes + f->joint.e;
  collapse(features, size, result->effect, result->cov);
  if (result->averaged) /* which may have knots of its own */
    collapse(features, size - result->m + result->mixture.at.m, result->mixture.effect,
             result->mixture.cov);
  return GPC_OK;
}
