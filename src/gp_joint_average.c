/* gp_joint_average.c: see gp_joint_average.h. */
#include "gp_joint_average.h"
#include "gp_ends.h"
#include "gp_joint_reduced.h"
#include "gp_joint_site.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

#define ENOUGH 0.05   /* nats that Newton's method may leave */
#define MOST_PASSES 8 /* of Newton's method at a point; after them a step may ... */
#define MOST_GAIN 0.5 /* ... promise so many nats */
#define NEAR 0.5    /* nats: below this a pass changed the evidence by .13 at the most */
#define AT_ONCE 0.1 /* nats: and below this a step leads to the mode itself */

#define FEW_EFFECTS 40 /* with more, their own spread shows how large they are */
#define TAU_SD 1.0     /* of the logarithm of a factor, ... */
#define TAU_SD_TWO 1.5 /* ... and of two classes */
#define TAU_FIRST -2.0 /* its grid */
#define TAU_LAST 2.6
#define TAU_STEP 0.9

/* Who looks at points: passes in slots, each with its effects eliminated. */
typedef struct {
  gpc_joint *joint;
  const gpc_joint_average_settings *settings;
  gpc_joint_point at[GPC_MIXTURE_SLOTS], point;
  gpc_joint_pass pass[GPC_MIXTURE_SLOTS];
  gpc_joint_reduced reduced[GPC_MIXTURE_SLOTS];
  int there[GPC_MIXTURE_SLOTS]; /* room has been got */
  gpc_joint_reduced_room room;
  double *pi;
  double *work;   /* [e x e]: room of a covariance that has yet to be made */
  double *before; /* [m + e + 1] where the last step began */
  double log_sd;  /* of the slope, at the last point */
  int *passes;
} looking;

static void get_slot(looking *t, int i) {
  if (t->there[i])
    return;
  gpc_joint_mode_get(t->joint, &t->at[i]);
  gpc_joint_pass_get(t->joint, &t->pass[i]);
  gpc_joint_reduced_get(t->joint, NULL, &t->reduced[i]);
  t->pass[i].pi = t->pi;
  t->there[i] = 1;
}

/* All that was got to look is given back. */
static void give_rooms(looking *t) {
  const gpc_memory *memory = t->joint->memory;
  for (int i = 0; i < GPC_MIXTURE_SLOTS; i++)
    if (t->there[i]) {
      gpc_joint_pass_give(t->joint, &t->pass[i]);
      gpc_give(memory, t->reduced[i].p);
      gpc_give(memory, t->reduced[i].f);
      gpc_give(memory, t->reduced[i].g);
    }
  gpc_joint_reduced_room_give(t->joint, &t->room);
  gpc_joint_give(t->joint);
}

/* The best m, e and slope for the hyperparameters of t->point by the pass in slot i, and
 * the logarithm of the evidence, eq. (44). */
static gpc_status solve(looking *t, int i, double *evidence) {
  const gpc_status status =
      gpc_joint_reduced_solve(&t->reduced[i], 0, &t->room, &t->point, evidence);
  *evidence += gpc_joint_constant(&t->pass[i]);
  return status;
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

/* t->before := t->point, or (back) t->point := half-way between the two. */
static void remember(looking *t, int back) {
  double *now[3] = {t->point.at.q_mean, t->point.effect, &t->point.at.slope};
  const size_t size[3] = {t->joint->m, t->joint->e, 1};
  double *before = t->before;
  for (int part = 0; part < 3; before += size[part++])
    for (size_t j = 0; j < size[part]; j++)
      if (back)
        now[part][j] = 0.5 * (now[part][j] + before[j]);
      else
        before[j] = now[part][j];
}

/* Is the quadratic of the pass in slot i as good as a pass at t->point, which was solved
 * for by it, but for so many nats? With d the change of the process on a node, the terms after the second are
 * those of a softmax whose probability grows by exp(d). */
static int near(const looking *t, int i, double nats) {
  const size_t g = t->joint->nodes->g, e = t->joint->e;
  const double *d = t->room.d, *v = t->pass[i].spread;
  double off = fabs(gpc_dot(e, d + g, t->room.hd + g)), total = 0.0;
  for (size_t j = 0; j < g; j++)
    total += v[j];
  const double mean = gpc_dot(g, v, d) / total;
  for (size_t j = 0; j < g && off < nats; j++) {
    const double x = fabs(d[j] - mean);
    off += fabs(v[j]) * (x < 1e-2 ? x * x * x / 6.0 : expm1(x) - x - 0.5 * x * x);
  }
  return off < nats;
}

/* Newton's method for the mode at the hyperparameters of t->point, in slot i. Steps after
 * which the density is lower are halved. */
static gpc_status climb(looking *t, int i, double *evidence) {
  double highest = -INFINITY;
  for (int pass = 0;; pass++) {
    gpc_status status = pass_there(t, i);
    if (status == GPC_OK && t->at[i].elbo < highest - ENOUGH && pass + 1 < MOST_PASSES) {
      remember(t, 1);
      continue;
    }
    highest = t->at[i].elbo;
    remember(t, 0);
    if (status == GPC_OK)
      status = solve(t, i, evidence);
    if (status != GPC_OK || t->room.gain < ENOUGH || near(t, i, AT_ONCE))
      return status;
    if (pass + 1 == MOST_PASSES) {
      *evidence += fmin(0.0, MOST_GAIN - t->room.gain);
      return GPC_OK;
    }
  }
}

static gpc_status look(void *self, int from, int to, gpc_hyper hyper, double least,
                       int *passed, gpc_posterior *out) {
  looking *t = self;
  const gpc_joint *joint = t->joint;
  double evidence = 0.0;
  gpc_params_copy(&t->at[from].at, &t->point.at);
  t->point.at.hyper = hyper;
  t->work = out->cov;
  gpc_status status = solve(t, from, &evidence);
  if (status == GPC_OK && to >= 0 && evidence + t->log_sd >= least &&
      !near(t, from, NEAR)) {
    *passed = 1;
    from = to;
    status = climb(t, to, &evidence);
  }
  out->value = evidence + t->log_sd;
  if (status == GPC_OK && out->value < least - GPC_MIXTURE_SLACK)
    return GPC_OK;
  if (status == GPC_OK)
    status = gpc_joint_reduced_covariance(&t->reduced[from], t->settings->slope,
                                          &t->point.at, &t->room, out->cov);
  if (status != GPC_OK)
    return status;
  gpc_params_copy(&t->point.at, &out->at);
  memcpy(out->effect, t->point.effect, joint->e * sizeof(double));
  const size_t m = joint->m, size = m + out->slopes + joint->e;
  t->log_sd = out->slopes ? 0.5 * log(out->cov[m + size * m]) : 0.0;
  out->value = evidence + t->log_sd;
  return isfinite(out->value) ? GPC_OK : GPC_NOT_FINITE;
}

/* The root of the mean square of a factor of block b's standard deviation, eq. (45), under its
 * posterior by the pass in slot 0 and a hyperprior that is TAU_SD wide at least. `scaled` is the point there,
 * and is so again in the end. */
static gpc_status open_block(looking *t, int b, gpc_joint_point *scaled, double *factor) {
  const gpc_joint *joint = t->joint;
  gpc_joint_reduced *reduced = &t->reduced[0];
  gpc_joint wide = *joint;
  const double tau = scaled->tau[b];
  double total = 0.0, square = 0.0, top = NAN;
  gpc_status status = GPC_OK;
  wide.tau_sd[b] = fmax(joint->data->k == 2 ? TAU_SD_TWO : TAU_SD, joint->tau_sd[b]);
  for (double u = TAU_FIRST; u < TAU_LAST && status == GPC_OK; u += TAU_STEP) {
    double value = 0.0;
    scaled->tau[b] = tau * exp(u);
    status = gpc_joint_reduce(joint, &t->pass[0], scaled, t->work, reduced);
    if (status == GPC_OK)
      status = gpc_joint_reduced_solve(reduced, 0, &t->room, &t->point, &value);
    value += gpc_joint_hyperprior(&wide, scaled->tau, NULL) -
             gpc_joint_hyperprior(joint, scaled->tau, NULL);
    top = isnan(top) ? value : top;
    total += exp(value - top);
    square += exp(value - top + 2.0 * u);
  }
  scaled->tau[b] = tau;
  *factor = sqrt(square / total);
  return status == GPC_OK && !isfinite(*factor) ? GPC_NOT_FINITE : status;
}

/* Standard deviations of few effects are hardly known: those of t->point become what
 * open_block() makes of them, each block's with those of the others as they are. */
static gpc_status open_tau(looking *t) {
  const gpc_joint *joint = t->joint;
  gpc_joint_point scaled = t->at[0];
  double factor[GPC_BLOCKS];
  gpc_status status = GPC_OK;
  for (int b = 0; b < GPC_BLOCKS; b++) {
    factor[b] = 1.0;
    if (joint->tau_free[b] && joint->features.count[b] && status == GPC_OK)
      status = open_block(t, b, &scaled, &factor[b]);
  }
  gpc_joint_point_copy(joint, &t->at[0], &t->point);
  for (int b = 0; b < GPC_BLOCKS; b++)
    t->point.tau[b] = t->at[0].tau[b] * factor[b];
  return status;
}

/* The prior variances of effects that may not be there, on average over the models with
 * and without them: eq. (45a). */
static void temper(looking *t) {
  for (int b = 0; b < GPC_BLOCKS; b++)
    if (t->joint->tau_free[b])
      t->point.tau[b] *= sqrt(t->settings->likely);
}

/* Knots in the place of the inducing inputs, and rough components: *knots, which has
 * other nodes already, and t->point, from `best`. Returns the distance of the knots, NAN
 * if there are none. */
static double lay_knots(const gpc_joint *joint, const gpc_joint_point *best,
                        gpc_joint *knots, gpc_joint_point *point, gpc_roughness *rough) {
  knots->m = gpc_rough_knots(joint->m);
  knots->q = knots->m + joint->e;
  gpc_joint_mode_get(knots, point);
  const double step = gpc_rough_move(&best->at, joint->memory, &point->at);
  memcpy(point->tau, best->tau, sizeof point->tau);
  memcpy(point->effect, best->effect, joint->e * sizeof(double));
  const int ok =
      step > 0.0 && gpc_rough_make(knots->m, point->at.inducing, step, knots->nodes->g,
                                   knots->nodes->z, joint->memory, rough) == GPC_OK;
  return ok ? step : NAN;
}

gpc_status gpc_joint_average(gpc_joint *joint, const gpc_joint_average_settings *settings,
                             const gpc_joint_point *best, double *pi, int *passes,
                             gpc_posterior *mixture) {
  gpc_mixture_settings how = {
      .best = best->at.hyper,
      .s2_free = settings->s2_free,
      .l_free = settings->l_free,
      .width = settings->width,
      .l_low = settings->l_low,
      .l_high = settings->l_high,
      .line = gpc_mixture_line(joint->data->k),
      .narrow = gpc_mixture_narrow(joint->data->k, settings->rows, settings->likely),
      .memory = joint->memory};
  gpc_joint knots = *joint;
  gpc_roughness rough;
  looking t = {.joint = joint, .settings = settings, .pi = pi, .passes = passes};
  const gpc_mixture_looker looker = {.self = &t, .look = look};
  int points;
  if (settings->s2_free && settings->l_free) {
    how.l_low = lay_knots(joint, best, &knots, &t.point, &rough);
    if (isnan(how.l_low))
      return GPC_NOT_PD;
    how.rough = &rough;
    t.joint = &knots;
  } else {
    gpc_joint_mode_get(joint, &t.point);
    gpc_joint_point_copy(joint, best, &t.point);
  }
  const size_t m = t.joint->m;
  *mixture = gpc_posterior_get(joint->memory, m, joint->slope_free ? 1 : 0, joint->e);
  t.work = mixture->cov;
  t.before = gpc_get_doubles(joint->memory, t.joint->q + 1);
  gpc_joint_reduced_room_get(t.joint, &t.room);
  t.point.at_mode = 1;
  double evidence = 0.0;
  gpc_status status = GPC_OK;
  if (joint->e <= FEW_EFFECTS) {
    status = climb(&t, 0, &evidence);
    if (status == GPC_OK)
      status = open_tau(&t);
  }
  temper(&t);
  if (status == GPC_OK)
    status = climb(&t, 0, &evidence);
  if (status != GPC_OK) {
    give_rooms(&t);
    return status;
  }
  memcpy(mixture->at.inducing, t.point.at.inducing, m * sizeof(double));
  status = gpc_mixture_make(&looker, &how, mixture, &points);
  if (joint->slope_free)
    mixture->at.slope =
        fmin(fmax(mixture->at.slope, joint->slope_low), joint->slope_high);
  const size_t g = t.joint->nodes->g;
  gpc_ends(g, g - (joint->site ? joint->site->p : 0), t.joint->nodes->z, t.pass[0].spread,
           &mixture->low, &mixture->high);
  give_rooms(&t);
  return status;
}
