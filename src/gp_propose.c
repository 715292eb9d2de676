/* gp_propose.c: see gp_propose.h. */
#include "gp_propose.h"

#include <math.h>

#define ROUGH_FRACTION 0.02 /* of the gain, and nats: to choose between starts */
#define ROUGH_TOL 1e-3

static double *surrogate_room(gpc_optimiser *o) {
  return gpc_buffer_need(o->visitor->memory, &o->work,
                         gpc_surrogate_work(o->here.nodes->g, o->here.at.m));
}

static gpc_surrogate surrogate_here(gpc_optimiser *o, double damping) {
  gpc_surrogate sur = gpc_visit_surrogate(o->visitor, &o->here);
  sur.damping = damping;
  sur.terms = o->secants.terms;
  sur.term = o->secants.term;
  sur.scale = o->secants.scale;
  return sur;
}

/* The same on fewer points, to be asked often, at lengthscales around l and longer. */
#define SHORTER 0.8
#define SETTLED 0.05 /* nats promised by the last step */

static gpc_surrogate reduced(gpc_optimiser *o, const gpc_surrogate *full, double l,
                             double tau, const gpc_trust_box *box) {
  return gpc_reduce(full, box->l_free ? fmax(SHORTER * l, box->l_low) : l, tau,
                    o->visitor->memory, &o->reduced);
}

#define LESS_PROCESS 0.3 /* of the variance: the line may be better still */

/* Where the surrogate would rather have less variance, it may ask for none at all: a step
 * of log s2 gains ever less on the way there. *best is the value so far, of o->there.at.
 */
static void try_line(gpc_optimiser *o, const gpc_trust_box *box, const gpc_surrogate *sur,
                     double *best) {
  if (!box->s2_free || !box->to_line || o->there.at.hyper.s2 <= box->s2_low ||
      o->there.at.hyper.s2 > LESS_PROCESS * o->here.at.hyper.s2)
    return;
  gpc_trust_box held = *box;
  double value;
  held.s2_free = held.l_free = held.inducing_free = held.max_steps = 0;
  held.memory = NULL;
  gpc_params_copy(&o->there.at, &o->candidate);
  o->candidate.hyper.s2 = box->s2_low;
  if (gpc_surrogate_maximise(sur, &held, surrogate_room(o), &o->candidate, &value) ==
          GPC_OK &&
      value > *best) {
    gpc_params_copy(&o->candidate, &o->there.at);
    *best = value;
  }
}

gpc_status gpc_propose_step(gpc_optimiser *o, const gpc_optimise_settings *settings,
                            const gpc_trust *how, int first) {
  const gpc_surrogate full = surrogate_here(o, how->damping);
  gpc_trust_box box = settings->box;
  box.radius = how->radius;
  box.to_line = how->refused == 0;
  box.memory = first ? NULL : o->memory;
  const size_t starts = first && settings->starts ? settings->starts : 1;
  double shortest = o->here.at.hyper.l;
  for (size_t s = 0; s < starts && first && settings->starts; s++)
    shortest = fmin(shortest, settings->start_l[s]);
  /* close to the optimum a few questions are all */
  const gpc_surrogate sur = !first && o->progress.promise < SETTLED
                                ? full
                                : reduced(o, &full, shortest, GPC_REDUCE_EXACT, &box);
  gpc_status status = GPC_NOT_PD;
  double best = -INFINITY, value;
  if (starts > 1) { /* roughly, to be able to choose */
    box.fraction = ROUGH_FRACTION;
    box.tol = fmax(box.tol, ROUGH_TOL);
  }
  for (size_t s = 0; s < starts; s++) {
    gpc_params_copy(&o->here.at, &o->candidate);
    if (first && settings->starts)
      o->candidate.hyper.l = settings->start_l[s];
    if (gpc_surrogate_maximise(&sur, &box, surrogate_room(o), &o->candidate, &value) ==
            GPC_OK &&
        value > best) {
      gpc_params_copy(&o->candidate, &o->there.at);
      best = value;
      status = GPC_OK;
    }
  }
  if (status == GPC_OK)
    try_line(o, &box, &sur, &best);
  o->progress.promise = best - o->here.value;
  return status;
}

#define ROUGHLY 0.2 /* nats: close enough to tell how long the lengthscale will be */

#define ESCAPE_S2 0.1 /* variance to begin with where there is none */
#define MOST_LOOKS 3
#define WORTH_A_PASS 0.02 /* nats that another maximum must promise beyond a step */

int gpc_propose_wants_look(const gpc_optimiser *o, const gpc_trust_box *box, int looks,
                           int again, int end) {
  if (o->progress.promise >= ROUGHLY || !(gpc_vanished(o) ? box->s2_free : box->l_free))
    return 0;
  return looks == 0 || (end && looks < MOST_LOOKS && (again || gpc_vanished(o)));
}

int gpc_propose_elsewhere(gpc_optimiser *o, const gpc_trust_box *limits, double tol,
                          int looks) {
  const gpc_surrogate full = surrogate_here(o, 0.0);
  const double shortest =
      fmax(limits->l_low, GPC_START_PER_L * gpc_node_distance(o->visitor, o->here.nodes));
  const gpc_surrogate sur = reduced(
      o, &full, limits->l_free ? shortest : o->here.at.hyper.l, GPC_REDUCE_ROUGH, limits);
  const double value_here = o->here.value;
  double best = value_here + (gpc_vanished(o) ? tol : o->progress.promise + WORTH_A_PASS),
         value;
  int found = 0;
  gpc_trust_box box = *limits;
  box.radius = gpc_vanished(o) ? GPC_LONGEST_RADIUS / (double)(1 << (2 * looks))
                               : GPC_LONGEST_RADIUS;
  box.to_line = looks == 0;
  box.fraction = ROUGH_FRACTION;
  for (double l = 8.0 * shortest; l > 0.99 * shortest; l *= limits->l_free ? 0.5 : 0.0) {
    gpc_params_copy(&o->here.at, &o->candidate);
    if (gpc_vanished(o))
      o->candidate.hyper.s2 = ESCAPE_S2;
    if (limits->l_free)
      o->candidate.hyper.l = l;
    if (gpc_surrogate_maximise(&sur, &box, surrogate_room(o), &o->candidate, &value) ==
            GPC_OK &&
        value > best) {
      gpc_params_copy(&o->candidate, &o->there.at);
      best = value;
      found = 1;
    }
  }
  if (found)
    o->progress.promise = best - value_here;
  return found;
}

#define SHORT_STEPS 3
#define WORTH_MORE 2.0 /* nats that a process must gain over a line to be refined */

int gpc_propose_more(gpc_optimiser *o, const gpc_optimise_settings *settings,
                     int short_steps) {
  const double longer = fmax(o->here.at.hyper.l, o->there.at.hyper.l);
  if (longer >= settings->short_l ||
      (o->progress.promise >= ROUGHLY && short_steps < SHORT_STEPS &&
       longer >= 1.001 * settings->box.l_low))
    return 0;
  const gpc_surrogate sur = surrogate_here(o, 0.0);
  gpc_trust_box held = settings->box;
  double line;
  held.s2_free = held.l_free = held.inducing_free = held.max_steps = 0;
  gpc_params_copy(&o->here.at, &o->candidate);
  o->candidate.hyper.s2 = settings->box.s2_low;
  gpc_status status =
      gpc_surrogate_maximise(&sur, &held, surrogate_room(o), &o->candidate, &line);
  return status != GPC_OK || o->progress.promise + o->here.value - line > WORTH_MORE;
}
