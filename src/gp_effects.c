/* gp_effects.c: see gp_effects.h. The steps of the fit. */
#include "gp_effects_fitting.h"

#include <math.h>
#include <string.h>

#define TAU_LOW 1e-3
#define TAU_HIGH 100.0

static double node_distance(const gpc_effects_fitting *f, const gpc_ruler *ruler) {
  return ruler->coarsest_step * f->joint.nodes->line.step / ruler->coarsest.step;
}

/* The trust region around h. */
static void set_box(gpc_effects_fitting *f, const gpc_ruler *ruler) {
  const gpc_effects_settings *s = f->settings;
  const double least_l =
      fmax(s->l_low, GPC_EFFECTS_FEWEST_PER_L * node_distance(f, ruler));
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

/* The average of the passes' H, by which S is made. */
static void set_mixed(gpc_effects_fitting *f) {
  const size_t g = f->joint.nodes->g, e = f->joint.e;
  const size_t size[3] = {g * g, g * e, e * e};
  if (!f->mixed.hee) { /* most fits do without */
    f->mixed.hcc = gpc_get_doubles(f->joint.memory, size[0]);
    f->mixed.hce = gpc_get_doubles(f->joint.memory, size[1]);
    f->mixed.hee = gpc_get_doubles(f->joint.memory, size[2]);
  }
  const double *here[3] = {f->pass.hcc, f->pass.hce, f->pass.hee};
  const double *other[3] = {f->other.hcc, f->other.hce, f->other.hee};
  double *to[3] = {f->mixed.hcc, f->mixed.hce, f->mixed.hee};
  for (int part = 0; part < 3; part++)
    for (size_t i = 0; i < size[part]; i++)
      to[part][i] = f->share * here[part][i] + (1.0 - f->share) * other[part][i];
  f->mixed.psi = f->pass.psi;
  f->mixed.gc = f->pass.gc;
  f->mixed.ge = f->pass.ge;
  f->mixed.spread = f->pass.spread;
}

static int averages(const gpc_effects_fitting *f) {
  return f->has_other && f->share < 1.0;
}

/* there := the maximum of the surrogate in the trust region; *promise: what it would
 * gain. */
static gpc_status propose(gpc_effects_fitting *f, const gpc_ruler *ruler,
                          double *promise) {
  double value;
  gpc_params_copy(&f->here.at, &f->there.at);
  memcpy(f->there.tau, f->here.tau, sizeof f->there.tau);
  if (f->settings->s2_free && !f->here.has_effects)
    f->there.at.hyper.s2 = fmax(f->there.at.hyper.s2, GPC_EFFECTS_LEAST_S2);
  gpc_joint_get_h(&f->joint, &f->there, f->h);
  set_box(f, ruler);
  if (averages(f))
    set_mixed(f);
  const gpc_joint_step step = {.joint = &f->joint,
                               .pass = &f->pass,
                               .averaged = averages(f) ? &f->mixed : &f->pass,
                               .mean_scale = f->scale,
                               .from = &f->here,
                               .to = &f->there,
                               .low = f->low,
                               .high = f->high,
                               .tol = f->settings->tol,
                               .poll = f->settings->poll,
                               .poll_data = f->settings->poll_data};
  gpc_joint_stepper_lend(f->stepper, &f->next);
  const gpc_status status = gpc_joint_step_make(&step, f->stepper, &value);
  if (status != GPC_OK)
    return status;
  *promise = value + gpc_joint_constant(&f->pass) - f->here.elbo;
  return GPC_OK;
}

#define LITTLE                                                                           \
  2.0 /* nats: a first step that promises no more, and keeps it, is the last */
#define LITTLE_TOL 0.2 /* nats: to which effects are fitted that are worth so little */
#define FORETOLD 0.1   /* nats: as near as that the promise must have come */
#define MOST_REFUSED 12
#define SHARE_BELOW 0.75 /* of a share that was refused: the next are no larger, ... */
#define SHARE_BACK 1.1   /* ... but for this factor with every step that gains enough */
#define LEAST_RADIUS                                                                     \
  1e-4 /* in log hyperparameters: scores far out bend the bound within .1 of a step */

/* (Of two classes passes are cheap.) */
static double tolerance(const gpc_effects_fitting *f, const gpc_effects_result *result) {
  const int little =
      f->joint.data->k > 2 && f->here.has_effects && f->here.elbo - result->none < LITTLE;
  const double tol = fmax(f->settings->tol, f->settings->enough);
  return little ? fmax(LITTLE_TOL, tol) : tol;
}

/* What the step without averages would promise: S goes the share of its way, on which gains
 * grow less and less. */
static double whole_promise(const gpc_effects_fitting *f, double promise) {
  return averages(f) ? fabs(promise) / (f->share * (2.0 - f->share)) : promise;
}

/* The step is taken. */
static void accept(gpc_effects_fitting *f, double ratio, int step) {
  const gpc_joint_point point = f->here;
  gpc_joint_pass pass = f->pass, *made = averages(f) ? &f->mixed : &pass;
  double *kept[3] = {made->hcc, made->hce, made->hee}; /* what S was made of */
  if (averages(f)) {
    f->mixed.hcc = pass.hcc;
    f->mixed.hce = pass.hce;
    f->mixed.hee = pass.hee;
  }
  pass.hcc = kept[0];
  pass.hce = kept[1];
  pass.hee = kept[2];
  if (ratio < 0.6 && step > 1)
    f->share = fmin(f->share, 0.5); /* S and the softmax go to and fro */
  else if (ratio > 0.9) {
    f->most_share = fmin(1.0, SHARE_BACK * f->most_share);
    f->share = fmin(f->most_share, 2.0 * f->share);
  }
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

/* The step is taken back, as `refused` in a row have been. The first one begins again nearer
 * to no effects at all: where the rows say little of them at first, S is about the prior's,
 * and that may be wide. */
static void refuse(gpc_effects_fitting *f, int refused) {
  for (int b = 0; b < GPC_BLOCKS; b++)
    if (!f->here.has_effects && f->joint.tau_free[b])
      f->here.tau[b] = fmax(f->here.tau[b] / 3.0, TAU_LOW);
  f->radius = fmax(f->radius / 3.0, LEAST_RADIUS);
  if (f->has_other) {
    if (refused == 1) /* what follows looks for a step that gains at all */
      f->most_share = fmin(f->most_share, SHARE_BELOW * f->share);
    f->share *= 0.5;
  }
  f->scale = f->scale < 1.0 ? 1.0 : 1.0 + fmax(2.0 * (f->scale - 1.0), 0.5);
}

/* A pass at f->there, where the surrogate promises so much: the step is taken, or taken
 * back. 1: the fit ends here. */
static int try_step(gpc_effects_fitting *f, int step, int forced, double promise,
                    int *refused, gpc_effects_result *result) {
  const double tol = f->settings->tol;
  const gpc_status status = gpc_joint_visit(&f->joint, &f->there, &f->next);
  const double gain = status == GPC_OK ? f->there.elbo - f->here.elbo : -INFINITY;
  result->passes++;
  f->stale = 1;
  if (forced && fabs(promise) < LITTLE && fabs(gain - promise) < FORETOLD) {
    const gpc_joint_point point = f->here; /* there is no more to be had */
    const gpc_joint_pass pass = f->pass;
    f->here = f->there;
    f->there = point;
    f->stale = 0;
    f->pass = f->next;
    f->next = pass;
    result->converged = 1;
    return 1;
  }
  /* a forced step may go down, but about as far as it said, if shorter ones can */
  const int expected = gain > promise - LITTLE || *refused >= MOST_REFUSED / 2;
  if (status == GPC_OK && (gain > 0.0 || (forced && expected))) {
    *refused = 0;
    /* with a scaled H the promise may be too small: that says nothing of trust */
    accept(f, forced ? 1.0 : promise <= 0.0 ? 0.5 : gain / promise, step);
    result->converged =
        !forced && f->radius >= 0.1 && promise < tol && gain < f->settings->enough;
    return result->converged;
  }
  /* no more than rounding is left; a short step promises little by itself */
  result->converged = !forced && promise * fmax(1.0, 0.1 / f->radius) < 10.0 * tol;
  if (result->converged || ++*refused > MOST_REFUSED)
    return 1;
  refuse(f, *refused);
  return 0;
}

#define PER_PAIR 6.5 /* doubles of the steps to a pair of effects, with many of them */

size_t gpc_effects_room(size_t k, const int wanted[GPC_BLOCKS]) {
  const gpc_features f = gpc_features_make(k, wanted, 1.0, 1.0, 0.0, 1.0);
  const double e = (double)(k * f.r);
  return (size_t)(PER_PAIR * e * e);
}

gpc_status gpc_effects_fit(gpc_visitor *visitor, const gpc_visit *from,
                           const gpc_gp_range *range,
                           const gpc_effects_settings *settings,
                           gpc_effects_result *result) {
  gpc_effects_fitting f = {.settings = settings, .ruler = visitor->ruler};
  memset(result, 0, sizeof *result);
  gpc_status status = gpc_effects_start(visitor, from, range, &f, &result->passes);
  result->none = result->elbo = f.here.elbo;
  if (status != GPC_OK)
    return status;
  int refused = 0;
  for (int step = 0; result->passes < settings->max_passes; step++) {
    double promise;
    gpc_call_poll(settings->poll, settings->poll_data);
    status = propose(&f, visitor->ruler, &promise);
    /* h, which the averaged H chose, may lose by that of the pass */
    if (status != GPC_OK || (averages(&f) && promise < -settings->tol)) {
      if (++refused > MOST_REFUSED)
        break;
      refuse(&f, refused);
      continue;
    }
    result->promise = promise;
    if (step == 0 && promise < settings->worthless)
      break;
    /* effects that are to be there whatever they promise, or that promise little */
    const int forced = !f.here.has_effects && (settings->worthless == -INFINITY ||
                                               (step == 0 && promise < LITTLE));
    if (!forced && whole_promise(&f, promise) < tolerance(&f, result) &&
        f.radius >= 0.2 && f.scale <= 1.0) {
      result->converged = 1;
      break;
    }
    if (try_step(&f, step, forced, promise, &refused, result))
      break;
  }
  return gpc_effects_finish(&f, visitor, range, result);
}
