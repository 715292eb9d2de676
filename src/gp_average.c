/* gp_average.c: the process alone averaged over its hyperparameters (gp_fitting.h,
 * gp_mixture.h). */
#include "gp_ends.h"
#include "gp_fitting.h"
#include "gp_inner.h"
#include "gp_stream.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

#define ENOUGH 0.05     /* nats that the last pass at a point may promise */
#define MOST_PASSES 8   /* at a point; after them the last may promise ... */
#define MOST_GAIN 0.5   /* ... so many nats */
#define NODES_PER_L 4.0 /* to the shortest lengthscale that is looked at */

/* Who looks at points: passes in slots, and room for the surrogate. */
typedef struct {
  gpc_optimiser *o;
  gpc_visit slot[GPC_MIXTURE_SLOTS];
  gpc_params point;
  gpc_inner inner;
  double *work, *cross; /* of `inner`; [m] */
  double *before;       /* [m] where the last step began */
  double slope_before;
  double log_sd; /* of the slope, at the last point */
  int at_mode;   /* Laplace's method, eq. (44), for rough components */
  gpc_roughness rough;
  int *passes;
} looking;

/* The best m, slope and S for t->point's hyperparameters, by the pass v. */
static gpc_status solve(looking *t, const gpc_visit *v, double *elbo) {
  const gpc_surrogate sur = gpc_visit_surrogate(t->o->visitor, v);
  double value;
  t->point.slope = v->at.slope;
  gpc_status status = gpc_inner_solve(&sur, &t->inner, &t->point, &value);
  if (status != GPC_OK)
    return status;
  gpc_inner_cov(&t->inner, &t->point);
  *elbo = v->elbo + value - v->value;
  return GPC_OK;
}

/* t->before := t->point, or (back) t->point := half-way between the two. */
static void remember(looking *t, int back) {
  gpc_params *p = &t->point;
  for (size_t i = 0; i < p->m; i++)
    if (back)
      p->q_mean[i] = 0.5 * (p->q_mean[i] + t->before[i]);
    else
      t->before[i] = p->q_mean[i];
  if (back)
    p->slope = 0.5 * (p->slope + t->slope_before);
  else
    t->slope_before = p->slope;
}

/* The logarithm of the posterior density at the point of a pass, without constants. */
static double density(looking *t, const gpc_visit *v) {
  return v->stats.loss -
         gpc_prior_quadratic(&t->o->visitor->prior, v->at.m, v->at.q_mean, t->cross);
}

/* Passes at t->point, into v, until the next one promises little. At modes, steps after
 * which the density is lower are halved. */
static gpc_status climb(looking *t, gpc_visit *v, double *elbo) {
  gpc_status status = GPC_OK;
  double gain = INFINITY, highest = -INFINITY;
  for (int pass = 0; pass < MOST_PASSES && status == GPC_OK && gain > ENOUGH; pass++) {
    gpc_params_copy(&t->point, &v->at);
    ++*t->passes;
    gpc_call_poll(t->o->poll, t->o->poll_data);
    status = gpc_visit_make(t->o->visitor, t->at_mode, v);
    if (status != GPC_OK)
      return status;
    if (t->at_mode && density(t, v) < highest - ENOUGH && pass + 1 < MOST_PASSES) {
      remember(t, 1);
      continue;
    }
    highest = t->at_mode ? density(t, v) : -INFINITY;
    remember(t, 0);
    status = solve(t, v, elbo);
    gain = *elbo - v->elbo;
  }
  *elbo += fmin(0.0, MOST_GAIN - gain);
  return status;
}

static gpc_status look(void *self, int from, int to, gpc_hyper hyper, double least,
                       int *passed, gpc_posterior *out) {
  looking *t = self;
  const size_t m = t->point.m, size = m + out->slopes;
  gpc_visit *v = &t->slot[from];
  double elbo = 0.0;
  gpc_params_copy(&v->at, &t->point);
  t->point.hyper = hyper;
  gpc_status status = solve(t, v, &elbo);
  if (status == GPC_OK && to >= 0 && elbo + t->log_sd >= least) { /* a pass there */
    *passed = 1;
    t->slot[to].nodes = v->nodes;
    v = &t->slot[to];
    status = climb(t, v, &elbo);
  }
  out->value = elbo + t->log_sd;
  if (status != GPC_OK || out->value < least - GPC_MIXTURE_SLACK)
    return status;
  gpc_params_copy(&t->point, &out->at);
  gpc_visit there = *v;
  there.at = t->point;
  const double var = out->slopes ? gpc_visit_slope(t->o->visitor, &there, t->cross) : 0.0;
  for (size_t c = 0; c < m; c++) {
    for (size_t r = 0; r < m; r++)
      out->cov[r + size * c] = t->point.q_cov[r + m * c] +
                               var * (out->slopes ? t->cross[r] * t->cross[c] : 0.0);
    if (out->slopes)
      out->cov[m + size * c] = out->cov[c + size * m] = var * t->cross[c];
  }
  if (out->slopes)
    out->cov[m + size * m] = var;
  t->log_sd = out->slopes ? 0.5 * log(var) : 0.0;
  out->value = elbo + t->log_sd;
  return out->slopes && !(var > 0.0) ? GPC_NOT_FINITE : GPC_OK;
}

/* The optimum once more, on nodes for the shortest lengthscale or for knots `step` apart.
 */
static gpc_status begin(gpc_fitting *f, gpc_optimiser *o, const gpc_params *at,
                        double step, looking *t) {
  const size_t m = at->m;
  t->o = o;
  t->slot[0].nodes = gpc_ruler_nodes(o->visitor->ruler, step);
  if (!t->slot[0].nodes)
    return GPC_TOO_COARSE;
  for (size_t i = 0; i < GPC_MIXTURE_SLOTS; i++)
    t->slot[i].at = gpc_params_get(f->memory, m);
  const size_t g = t->slot[0].nodes->g;
  t->point = gpc_params_get(f->memory, m);
  t->cross = gpc_get_doubles(f->memory, m);
  t->before = gpc_get_doubles(f->memory, m);
  t->work = gpc_get_doubles(f->memory, gpc_inner_work(g, m));
  gpc_inner_carve(g, m, t->work, &t->inner);
  gpc_params_copy(at, &t->slot[0].at);
  t->passes = &f->result->passes_average;
  ++*t->passes;
  return gpc_visit_make(o->visitor, t->at_mode, &t->slot[0]);
}

/* The same at knots, for rough components. */
static gpc_status begin_rough(gpc_fitting *f, gpc_optimiser *o, looking *t) {
  gpc_params at = gpc_params_get(f->memory, gpc_rough_knots(f->at.m));
  const double step = gpc_rough_move(&f->at, f->memory, &at);
  t->at_mode = 1;
  if (!(step > 0.0))
    return GPC_NOT_PD;
  const gpc_status status = begin(f, o, &at, step / GPC_ROUGH_PER_KNOT, t);
  return status == GPC_OK ? gpc_rough_make(at.m, at.inducing, step, t->slot[0].nodes->g,
                                           t->slot[0].nodes->z, f->memory, &t->rough)
                          : status;
}

/* How likely effects of many classes are, eq. (45a). */
static double likely(const gpc_fitting *f) {
  const gpc_fit_result *r = f->result;
  const double odds = f->settings->odds;
  if (!r->offsets.kept && !r->wide.kept)
    return 0.0;
  const double elbo = r->wide.kept ? r->wide.elbo : r->offsets.elbo;
  return odds == 0.0 ? 1.0 : 1.0 / (1.0 + exp(r->offsets.none - elbo) / odds);
}

void gpc_fitting_average(gpc_fitting *f, gpc_optimiser *o) {
  gpc_optimise_settings limits = {.tol = f->settings->tol};
  looking t;
  memset(&t, 0, sizeof t);
  gpc_start_limits(f, &f->at, &limits);
  const gpc_trust_box *box = &limits.box;
  const int rough = box->s2_free && box->l_free;
  const gpc_site *old = o->visitor->site;
  const double rows = gpc_gp_total(&f->now.data) + (old ? old->weight : 0.0);
  const gpc_mixture_looker looker = {.self = &t, .look = look};
  gpc_mixture_settings how = {.best = f->at.hyper,
                              .s2_free = box->s2_free,
                              .l_free = box->l_free,
                              .width = gpc_fitting_width(f),
                              .l_low = box->l_low,
                              .l_high = box->l_high,
                              .line = gpc_mixture_line(f->data->k),
                              .narrow = gpc_mixture_narrow(f->data->k, rows, likely(f)),
                              .memory = f->memory};
  gpc_posterior *mixture = &f->result->mixture;
  int points;
  if (f->now.flat || (!box->s2_free && !box->l_free))
    return;
  if ((rough ? begin_rough(f, o, &t)
             : begin(f, o, &f->at, box->l_low / NODES_PER_L, &t)) != GPC_OK)
    return;
  if (rough) {
    how.rough = &t.rough;
    how.l_low = t.rough.step;
  }
  *mixture = gpc_posterior_get(f->memory, t.point.m, o->visitor->slope_free ? 1 : 0, 0);
  memcpy(mixture->at.inducing, t.slot[0].at.inducing, t.point.m * sizeof(double));
  mixture->at.slope = f->at.slope;
  if (gpc_mixture_make(&looker, &how, mixture, &points) != GPC_OK)
    return;
  if (o->visitor->slope_free)
    mixture->at.slope =
        fmin(fmax(mixture->at.slope, o->visitor->slope_low), o->visitor->slope_high);
  const gpc_visit *best = &t.slot[0];
  gpc_ends(best->nodes->g, best->nodes->g - (old ? old->p : 0), best->nodes->z,
           best->stats.spread, &mixture->low, &mixture->high);
  f->result->averaged = 1;
  for (int i = 0; i < GPC_MIXTURE_SLOTS; i++)
    gpc_visit_give(f->memory, &t.slot[i]);
  gpc_give(f->memory, t.work);
}
