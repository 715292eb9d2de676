/* gp_optimise.c: see gp_optimise.h. */
#include "gp_propose.h"

#include <math.h>
#include <string.h>

/* What depends on the number of inducing inputs. */
static void give_points(gpc_optimiser *optimiser) {
  const gpc_memory *memory = optimiser->visitor->memory;
  gpc_params_give(memory, &optimiser->there.at);
  gpc_params_give(memory, &optimiser->candidate);
  gpc_give(memory, optimiser->memory);
  optimiser->memory = NULL;
}

void gpc_optimiser_give(gpc_optimiser *optimiser) {
  const gpc_memory *memory = optimiser->visitor->memory;
  gpc_reduce_room *reduced = &optimiser->reduced;
  gpc_secants *secants = &optimiser->secants;
  gpc_buffer *buffers[] = {&reduced->factor,   &reduced->pivots,  &reduced->vectors,
                           &reduced->matrices, &reduced->product, &reduced->terms,
                           &secants->steps,    &secants->changes, &secants->all_terms,
                           &optimiser->work};
  give_points(optimiser);
  gpc_visit_give(memory, &optimiser->there);
  gpc_visitor_give(optimiser->visitor);
  for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
    gpc_buffer_drop(memory, buffers[i]);
}

void gpc_optimiser_get(gpc_optimiser *optimiser, size_t m) {
  const gpc_memory *memory = optimiser->visitor->memory;
  gpc_params_give(memory, &optimiser->here.at);
  give_points(optimiser);
  optimiser->here.at = gpc_params_get(memory, m);
  optimiser->there.at = gpc_params_get(memory, m);
  optimiser->candidate = gpc_params_get(memory, m);
  optimiser->memory = gpc_get_doubles(memory, 1 + (m + 2) * (m + 2));
}

/* The resolution of the line --------------------------------------------------------- */

/* Nodes to a lengthscale, at the least: the 12-point rule errs by about .6 / 5.5^12 =
 * 8e-10 of what bends. A surrogate may look at lengthscales that have only a few nodes.
 */
#define NODES_PER_L 5.5
#define FEWEST_PER_L 4.0 /* below this a pass gets a finer line ... */
#define MOST_PER_L 12.0  /* ... and above it a coarser one */
#define LINE_ERROR 1e-9  /* of the bound, at the optimum */

/* The nodes for a visit to `there`: those of `here` while they will do. Where the process
 * has vanished, nodes that can show whether any lengthscale would bring it back. */
static gpc_nodes *choose_nodes(gpc_optimiser *o, const gpc_trust_box *box) {
  const double l = o->there.at.hyper.l;
  if (o->there.at.hyper.s2 < GPC_COLLAPSED && box->l_free) {
    gpc_nodes *nodes = gpc_ruler_nodes(o->visitor->ruler, box->l_low / GPC_START_PER_L);
    return nodes ? nodes : o->here.nodes;
  }
  const double per_l = l / gpc_node_distance(o->visitor, o->here.nodes);
  if (per_l >= FEWEST_PER_L && per_l <= MOST_PER_L)
    return o->here.nodes;
  return gpc_ruler_nodes(o->visitor->ruler, l / NODES_PER_L);
}

/* Trust ------------------------------------------------------------------------------ */

#define NEAR 1.0 /* nats gained by a step that ends close to the optimum */
#define MOST_REFUSED 16
#define DOUBT 3  /* steps refused */
#define HOPE 3.0 /* gains come to so many promises, at the most */

static int restrained(const gpc_trust *how, const gpc_optimise_settings *settings) {
  return how->damping > 0.0 || how->radius < settings->box.radius;
}

/* After a step that was taken back: it lost `loss` where `promise` was hoped for. One that
 * lost more than was promised led far beyond where the surrogate holds. */
static void restrain(gpc_trust *how, double promise, double loss) {
  const double less = loss > promise ? 8.0 : 4.0;
  how->refused++;
  how->radius = fmax(how->radius / less, 1e-5);
  how->damping = fmax(less * how->damping, promise > NEAR ? 0.05 : 0.02);
}

/* After a step that gained `gain` where `promise` was hoped for. */
static void adapt(gpc_trust *how, double gain, double promise) {
  const double ratio = gain / promise;
  how->refused = 0;
  if (ratio > 0.6) {
    how->radius = fmin(2.0 * how->radius, GPC_LONGEST_RADIUS);
    how->damping = how->damping < 0.01 ? 0.0 : how->damping / 4.0;
  } else if (ratio < 0.25) {
    how->radius *= 0.5;
  }
}

/* Steps ------------------------------------------------------------------------------ */

static void reset_secants(gpc_optimiser *o) {
  gpc_secants_reset(&o->secants, o->here.nodes->g, o->visitor->memory);
}

static void learn(gpc_optimiser *o) {
  if (o->there.nodes == o->here.nodes)
    gpc_secants_add(&o->secants, o->here.psi, o->there.psi, o->here.b, o->there.b);
}

/* The step is taken: `there` becomes `here`. */
static void accept(gpc_optimiser *o, gpc_trust *how, double gain) {
  const double off = fabs(gain / o->progress.promise - 1.0);
  const gpc_visit swap = o->here;
  how->proven = off < 0.3;
  if (gain > NEAR) /* a long step says little of the curvature here */
    reset_secants(o);
  else if (off > 0.1 || o->secants.pairs > 0)
    learn(o);
  o->here = o->there;
  o->there = swap;
  if (o->here.nodes != o->there.nodes)
    reset_secants(o);
  adapt(how, gain, o->progress.promise);
  o->progress.steps++;
}

#define AGREED 0.1 /* of the tolerance */

/* At the optimum: are the nodes dense enough to have found it? If not, visits on denser ones
 * until they are; the fit goes on if these say something else. */
static int resolved(gpc_optimiser *o, double tol, gpc_status *status) {
  *status = GPC_OK;
  while (gpc_visit_line_error(o->visitor, &o->here) > LINE_ERROR * fabs(o->here.elbo)) {
    const double before = o->here.elbo;
    gpc_nodes *denser = gpc_ruler_halve(o->visitor->ruler, o->here.nodes);
    if (!denser)
      break;
    o->here.nodes = denser;
    *status = gpc_visit_make(o->visitor, 0, &o->here);
    o->progress.passes++;
    reset_secants(o);
    if (*status != GPC_OK)
      break;
    if (fabs(o->here.elbo - before) > AGREED * tol)
      return 0;
  }
  return 1;
}

/* May the surrogate say that there is no more to gain? Only one that is free to move, and
 * secants only where they have proven themselves, or the data have refused to follow the
 * surrogate without them. Otherwise its trust is restored, to ask again. */
static int may_stop(gpc_optimiser *o, const gpc_optimise_settings *settings,
                    gpc_trust *how) {
  if (restrained(how, settings)) {
    how->radius = fmax(how->radius, settings->box.radius);
    how->damping = 0.0;
    return 0;
  }
  if (o->secants.pairs > 0 && how->refused == 0 && !how->proven) {
    reset_secants(o);
    return 0;
  }
  return 1;
}

/* The first visit, on nodes for the shortest lengthscale to begin from. */
static gpc_status begin(gpc_optimiser *o, const gpc_optimise_settings *settings) {
  double distance = o->here.at.hyper.l / NODES_PER_L;
  for (size_t s = 0; s < settings->starts; s++)
    distance = fmin(distance, settings->start_l[s] / GPC_START_PER_L);
  o->here.nodes = gpc_ruler_nodes(o->visitor->ruler, distance);
  if (!o->here.nodes)
    return GPC_TOO_COARSE;
  if (!settings->warm)
    memset(o->here.at.q_mean, 0, o->here.at.m * sizeof(double));
  o->progress.passes++;
  gpc_status status = gpc_visit_make(o->visitor, !settings->warm, &o->here);
  reset_secants(o);
  return status;
}

static void report(gpc_optimiser *o) {
  o->progress.at = &o->here.at;
  o->progress.elbo = o->here.elbo;
  if (o->watch)
    *o->watch = o->progress;
  gpc_call_poll(o->poll, o->poll_data);
}

/* Where a fit stands between passes. */
typedef struct {
  gpc_trust how;
  int first;        /* no step has been taken yet */
  int short_steps;  /* so many of the last steps ended at a short lengthscale */
  int looks;        /* at other maxima */
  int looking;      /* there.at is one of them */
  int look_refused; /* by the data */
} course;

#define TREND 0.1 /* of the slope */

/* The step leaves the whole trend to the process. The surrogate often promises much of that,
 * which a pass then takes back: it has to ask a second time, on a shorter leash. */
static int trend_lost(const gpc_optimiser *o) {
  return o->visitor->slope_free && o->there.at.slope <= o->visitor->slope_low &&
         o->here.at.slope * TREND > o->there.at.slope;
}

/* A pass at there.at, and what follows from it; 0 if the fit cannot go on. */
static int try_step(gpc_optimiser *o, const gpc_optimise_settings *settings, double tol,
                    course *c) {
  gpc_status status = gpc_visit_make(o->visitor, 0, &o->there);
  const double promise = o->progress.promise;
  const double gain = status == GPC_OK ? o->there.elbo - o->here.elbo : -INFINITY;
  o->progress.passes++;
  if (gain >= -fmin(1e-10 * fabs(o->here.elbo), 0.1 * tol)) {
    accept(o, &c->how, gain);
    c->first = 0;
    c->short_steps = o->here.at.hyper.l < settings->short_l ? c->short_steps + 1 : 0;
    return 1;
  }
  c->look_refused |= c->looking;
  if (c->looking && !gpc_vanished(o)) /* says nothing of the steps from here */
    return 1;
  restrain(&c->how, promise, -gain);
  if (c->how.refused > MOST_REFUSED)
    return 0;
  if (status == GPC_OK && promise < 2.0 * NEAR)
    learn(o);
  /* small gains that never come: the nodes may be too few to show them */
  if (c->how.refused == DOUBT && promise < NEAR && !resolved(o, tol, &status))
    c->how = (gpc_trust){.radius = settings->box.radius};
  return 1;
}

gpc_status gpc_optimise(gpc_optimiser *o, const gpc_optimise_settings *settings) {
  gpc_status status = begin(o, settings);
  if (status != GPC_OK)
    return status;
  course c = {.how = {.radius = settings->box.radius}, .first = 1};
  o->memory[0] = 0.0; /* nothing to remember yet */
  while (o->progress.passes < settings->max_passes) {
    report(o);
    gpc_secants_build(&o->secants, o->here.curvature);
    status = gpc_propose_step(o, settings, &c.how, c.first);
    if (status != GPC_OK && o->secants.pairs > 0) { /* they may be to blame */
      reset_secants(o);
      continue;
    }
    if (status != GPC_OK) { /* no way forward from here: look closer by */
      restrain(&c.how, INFINITY, 0.0);
      if (c.how.refused > MOST_REFUSED)
        break;
      continue;
    }
    if (c.how.refused == 0 && trend_lost(o)) {
      restrain(&c.how, o->progress.promise, INFINITY);
      continue;
    }
    if (gpc_propose_more(o, settings, c.short_steps))
      return GPC_TOO_FEW;
    if (o->here.elbo + HOPE * o->progress.promise + NEAR < settings->elbo_to_beat)
      return GPC_NOT_CONVERGED; /* hopeless */
    /* sums of many large terms cannot tell less than this */
    const double tol = fmax(settings->tol, 1e-13 * fabs(o->here.elbo));
    const int end = o->progress.promise < tol;
    if (end && !may_stop(o, settings, &c.how))
      continue;
    c.looking = !settings->local &&
                gpc_propose_wants_look(o, &settings->box, c.looks, c.look_refused, end) &&
                gpc_propose_elsewhere(o, &settings->box, tol, c.looks++);
    if (end && !c.looking) {
      if (!resolved(o, tol, &status))
        continue;
      report(o);
      return status;
    }
    o->there.nodes = choose_nodes(o, &settings->box);
    if (!o->there.nodes) { /* so short a lengthscale cannot be had */
      restrain(&c.how, INFINITY, 0.0);
      if (c.how.refused > MOST_REFUSED)
        return GPC_TOO_COARSE;
      continue;
    }
    if (!try_step(o, settings, tol, &c))
      break;
  }
  report(o);
  return GPC_NOT_CONVERGED;
}
