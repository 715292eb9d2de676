/* gp_fit.c: see gp_fit.h. Passes over the data (gp_visit.h) alternate with maximising the
 * surrogate that the last accepted pass defines (gp_surrogate.h); a step that would lower
 * the bound is taken back and tried again with a smaller box and more damping. */
#include "gp_visit.h"

#include <math.h>
#include <string.h>

size_t gpc_gp_fit_work(const gpc_gp_data *data, const gpc_gp_setup *setup) {
  gpc_visit_work t;
  return gpc_visit_carve(data, setup, NULL, &t);
}

static void copy_point(size_t m, const gpc_surrogate_point *from,
                       gpc_surrogate_point *to) {
  to->value = from->value;
  to->slope = from->slope;
  to->hyper = from->hyper;
  memcpy(to->inducing, from->inducing, m * sizeof(double));
  memcpy(to->q_mean, from->q_mean, m * sizeof(double));
  memcpy(to->q_cov, from->q_cov, m * m * sizeof(double));
}

/* The surrogate's maximum from every start (the first time) or from here. */
static gpc_status next_point(gpc_visit_work *t, const gpc_surrogate_box *box,
                             double damping, int first, gpc_surrogate_point *spare,
                             gpc_surrogate_point *best) {
  const gpc_gp_setup *setup = t->setup;
  gpc_surrogate sur = gpc_visit_surrogate(&t->here, t, t->extras, damping);
  const size_t starts = first ? setup->starts : 1;
  gpc_status status = GPC_NOT_PD;
  best->value = -INFINITY;
  for (size_t s = 0; s < starts; s++) {
    copy_point(t->m, &t->here.at, spare);
    if (first)
      spare->hyper.l = setup->start_l[s];
    gpc_status one = gpc_surrogate_maximise(&sur, box, t->surrogate_work, spare);
    if (one == GPC_OK && spare->value > best->value) {
      copy_point(t->m, spare, best);
      status = GPC_OK;
    }
  }
  return status;
}

static void report(const gpc_visit *v, size_t m, gpc_gp_state *state) {
  copy_point(m, &v->at, &state->point);
  state->elbo = v->elbo;
}

/* How far to trust the surrogate. */
typedef struct {
  gpc_surrogate_box box;
  double damping;
  int refused; /* steps from the present point that the data took back */
  int proven;  /* learnt curvature has foretold the gain of the last step */
} trust;

#define LONGEST_RADIUS 3.0
#define ROUGHLY 0.2 /* nats: close enough to tell how long the lengthscale will be */
#define NEAR 1.0    /* nats gained by a step that ends close to the optimum */
#define SHORT_STEPS 3
#define WORTH_MORE 2.0 /* nats that a process must gain over a line to be refined */
#define MOST_REFUSED 16
#define LINE_ERROR 1e-9 /* of the bound */

static int restrained(const trust *how, const gpc_gp_setup *setup) {
  return how->damping > 0.0 || how->box.radius < setup->box.radius;
}

static void restrain(trust *how, double promise) {
  how->refused++;
  how->box.radius = fmax(0.25 * how->box.radius, 1e-5);
  how->damping = fmax(4.0 * how->damping, promise > NEAR ? 0.05 : 0.02);
}

/* After a step that gained `gain` where `promise` was hoped for. */
static void adapt(trust *how, double gain, double promise) {
  double ratio = gain / promise;
  how->refused = 0;
  if (ratio > 0.6) {
    how->box.radius = fmin(2.0 * how->box.radius, LONGEST_RADIUS);
    how->damping = how->damping < 0.01 ? 0.0 : how->damping / 4.0;
  } else if (ratio < 0.25) {
    how->box.radius *= 0.5;
  }
}

/* More inducing inputs are wanted: the lengthscale is short here and there, it is nearly
 * settled, has been short for a while or would rather be shorter than it may, and the
 * process is worth more than a line (by the surrogate, where it has no variance). */
static int too_few(gpc_visit_work *t, double promise, int short_steps,
                   gpc_surrogate_point *spare) {
  const double longer = fmax(t->here.at.hyper.l, t->there.at.hyper.l);
  if (longer >= t->setup->short_l || (promise >= ROUGHLY && short_steps < SHORT_STEPS &&
                                      longer >= 1.001 * t->setup->box.l_low))
    return 0;
  gpc_surrogate sur = gpc_visit_surrogate(&t->here, t, t->extras, 0.0);
  gpc_surrogate_box held = t->setup->box;
  held.s2_free = held.l_free = held.inducing_free = held.max_steps = 0;
  copy_point(t->m, &t->here.at, spare);
  spare->hyper.s2 = t->setup->box.s2_low;
  gpc_status status = gpc_surrogate_maximise(&sur, &held, t->surrogate_work, spare);
  return status != GPC_OK || t->there.at.value - spare->value > WORTH_MORE;
}

static void know_slope(gpc_visit_work *t, gpc_gp_state *state) {
  if (state->slope_cross && t->setup->slope_free)
    state->slope_var = gpc_visit_slope(t, &t->here, state->slope_cross);
}

/* At the optimum: is the line fine enough to have found it? */
static gpc_status finish(gpc_visit_work *t, gpc_gp_state *state, gpc_gp_finer *finer) {
  know_slope(t, state);
  if (!t->setup->may_halve ||
      gpc_visit_line_error(t, &t->here) <= LINE_ERROR * fabs(state->elbo))
    return GPC_OK;
  finer->halve = 1;
  state->warm = 1;
  return GPC_TOO_COARSE;
}

gpc_status gpc_gp_fit(const gpc_gp_data *data, const gpc_gp_setup *setup, gpc_poll poll,
                      void *poll_data, double *work, gpc_gp_state *state,
                      gpc_gp_finer *finer) {
  gpc_visit_work t;
  gpc_visit_carve(data, setup, work, &t);
  gpc_visit_begin(&t);
  const size_t m = t.m;
  finer->halve = 0;
  copy_point(m, &state->point, &t.here.at);
  if (!state->warm)
    memset(t.here.at.q_mean, 0, m * sizeof(double));
  gpc_status status = gpc_visit_point(&t, !state->warm, &t.here);
  finer->times = t.times;
  if (status != GPC_OK)
    return status;
  state->passes++;
  report(&t.here, m, state);
  trust how = {setup->box, 0.0, 0, 0};
  int first = state->steps == 0, short_steps = 0;
  gpc_surrogate_point spare = state->point; /* its arrays are room for one more point */
  while (state->passes < setup->max_passes) {
    gpc_call_poll(poll, poll_data);
    /* sums of many large terms cannot tell less than this */
    const double tol = fmax(setup->tol, 1e-13 * fabs(t.here.elbo));
    gpc_visit_curvature(&t.here, &t);
    status = next_point(&t, &how.box, how.damping, first, &spare, &t.there.at);
    report(&t.here, m, state);
    if (status != GPC_OK && t.pairs > 0) { /* the learnt curvature may be to blame */
      gpc_visit_forget(&t);
      continue;
    }
    if (status != GPC_OK) { /* no way forward from here: look closer by */
      restrain(&how, INFINITY);
      if (how.refused > MOST_REFUSED)
        break;
      continue;
    }
    state->promise = t.there.at.value - t.here.at.value;
    const int few = too_few(&t, state->promise, short_steps, &spare);
    report(&t.here, m, state);
    if (few)
      return GPC_TOO_FEW;
    if (state->promise < tol) {
      /* only a surrogate that is free to move may say that there is no more to gain, and
       * learnt curvature only where it has proven itself, or the data have refused to
       * follow the plain one */
      if (restrained(&how, setup)) {
        how.box.radius = fmax(how.box.radius, setup->box.radius);
        how.damping = 0.0;
        continue;
      }
      if (t.pairs > 0 && how.refused == 0 && !how.proven) {
        gpc_visit_forget(&t);
        continue;
      }
      return finish(&t, state, finer);
    }
    status = gpc_visit_point(&t, 0, &t.there);
    if (status == GPC_TOO_COARSE) {
      finer->times = t.times;
      state->warm = 1; /* begin again from the last point that was accepted */
      return status;
    }
    state->passes++;
    double gain = status == GPC_OK ? t.there.elbo - t.here.elbo : -INFINITY;
    if (gain >= -fmin(1e-10 * fabs(t.here.elbo), 0.1 * tol)) {
      const double off = fabs(gain / state->promise - 1.0);
      how.proven = off < 0.3;
      if (gain > NEAR) /* a long step says little of the curvature here */
        gpc_visit_forget(&t);
      else if (off > 0.1 || t.pairs > 0)
        gpc_visit_learn(&t.here, &t.there, &t);
      gpc_visit swap = t.here;
      t.here = t.there;
      t.there = swap;
      state->steps++;
      short_steps = t.here.at.hyper.l < setup->short_l ? short_steps + 1 : 0;
      first = 0;
      adapt(&how, gain, state->promise);
    } else {
      restrain(&how, state->promise);
      if (how.refused > MOST_REFUSED)
        break;
      if (status == GPC_OK && state->promise < 2.0 * NEAR)
        gpc_visit_learn(&t.here, &t.there, &t);
    }
  }
  report(&t.here, m, state);
  know_slope(&t, state);
  return GPC_NOT_CONVERGED;
}
