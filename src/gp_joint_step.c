/* gp_joint_step.c: see gp_joint_step.h. */
#include "gp_joint_step.h"
#include "linalg.h"
#include "optim.h"

#include <math.h>
#include <string.h>

struct gpc_joint_stepper {
  gpc_joint_reduced reduced;
  gpc_joint_reduced_room room;
  gpc_joint_means_room means;
  gpc_joint_point scaled;   /* where the pass was, with the tau that is looked at */
  double *optim, memory[5]; /* of the maximiser over s2 and l */
};

gpc_joint_stepper *gpc_joint_stepper_get(const gpc_joint *joint,
                                         const gpc_joint_pass *idle) {
  const gpc_memory *memory = joint->memory;
  const size_t g = joint->nodes->g, e = joint->e, n = joint->q + 1;
  gpc_joint_stepper *t = memory->get(memory->self, sizeof *t);
  memset(t, 0, sizeof *t);
  gpc_joint_reduced_get(joint, idle, &t->reduced);
  gpc_joint_reduced_room_get(joint, &t->room);
  t->optim = gpc_get_doubles(memory, gpc_optim_work(2));
  t->means.x = gpc_get_doubles(memory, 2 * (g + e));
  t->means.hx = t->means.x + g + e;
  t->means.a = t->room.a;
  double *rooms = gpc_get_doubles(memory, 6 * n);
  t->means.r = rooms;
  t->means.z = rooms + n;
  t->means.p = rooms + 2 * n;
  t->means.kp = rooms + 3 * n;
  t->means.u = rooms + 4 * n;
  t->means.q = rooms + 5 * n;
  return t;
}

void gpc_joint_stepper_lend(gpc_joint_stepper *t, const gpc_joint_pass *idle) {
  gpc_joint_reduced_lend(idle, &t->reduced);
}

void gpc_joint_stepper_give(const gpc_joint *joint, gpc_joint_stepper *t) {
  double *all[] = {t->reduced.tc, t->reduced.te, t->reduced.slope, t->reduced.best,
                   t->optim,      t->means.x,    t->means.r};
  gpc_joint_reduced_room_give(joint, &t->room);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    gpc_give(joint->memory, all[i]);
}

gpc_status gpc_joint_stepper_covariance(gpc_joint_stepper *t, const gpc_joint *joint,
                                        const gpc_joint_pass *pass,
                                        const gpc_joint_point *point, double slope_sd,
                                        double *work, double *cov) {
  const gpc_status status = gpc_joint_reduce(joint, pass, point, work, &t->reduced);
  return status != GPC_OK ? status
                          : gpc_joint_reduced_covariance(&t->reduced, slope_sd,
                                                         &point->at, &t->room, cov);
}

size_t gpc_joint_dim(const gpc_joint *joint) {
  size_t dim = 2;
  for (int b = 0; b < GPC_BLOCKS; b++)
    dim += joint->features.count[b] > 0;
  return dim;
}

void gpc_joint_get_h(const gpc_joint *joint, const gpc_joint_point *point, double *h) {
  size_t at = 2;
  h[0] = log(point->at.hyper.s2);
  h[1] = log(point->at.hyper.l);
  for (int b = 0; b < GPC_BLOCKS; b++)
    if (joint->features.count[b])
      h[at++] = log(point->tau[b]);
}

void gpc_joint_set_h(const gpc_joint *joint, const double *h, gpc_joint_point *point) {
  size_t at = 2;
  point->at.hyper.s2 = exp(h[0]);
  point->at.hyper.l = exp(h[1]);
  for (int b = 0; b < GPC_BLOCKS; b++)
    if (joint->features.count[b])
      point->tau[b] = exp(h[at++]);
}

/* The process's own hyperparameters, for a tau ------------------------------------------ */

typedef struct {
  const gpc_joint_step *step;
  gpc_joint_stepper *t;
} inner;

static gpc_status inner_value(void *self, const double *x, double *value) {
  const inner *in = self;
  gpc_joint_point *to = in->step->to;
  to->at.hyper.s2 = exp(x[0]);
  to->at.hyper.l = exp(x[1]);
  return gpc_joint_reduced_value(&in->t->reduced, &in->t->room, to, value);
}

static void inner_gradient(void *self, double *g) {
  const inner *in = self;
  gpc_joint_reduced_gradient(&in->t->reduced, &in->t->room, in->step->to, g);
}

/* J at tau [blocks], s2 and l at their best from where `to` has them. */
static gpc_status look(const gpc_joint_step *step, gpc_joint_stepper *t,
                       const double *tau, double *value) {
  gpc_joint_point *to = step->to;
  inner in = {step, t};
  t->scaled = *step->from;
  memcpy(t->scaled.tau, tau, sizeof t->scaled.tau);
  const gpc_status status =
      gpc_joint_reduce(step->joint, step->averaged, &t->scaled, to->cov, &t->reduced);
  if (status != GPC_OK)
    return status;
  const gpc_optim problem = {.dim = 2,
                             .value = inner_value,
                             .gradient = inner_gradient,
                             .self = &in,
                             .low = step->low,
                             .high = step->high,
                             .max_steps = 12,
                             .tol = 0.1 * step->tol,
                             .fraction = 0.01,
                             .memory = t->memory,
                             .poll = step->poll,
                             .poll_data = step->poll_data};
  double x[2] = {log(to->at.hyper.s2), log(to->at.hyper.l)};
  for (int i = 0; i < 2; i++)
    x[i] = fmin(fmax(x[i], step->low[i]), step->high[i]);
  return gpc_optim_maximise(&problem, t->optim, x, value);
}

/* Newton's method for tau --------------------------------------------------------------- */

void gpc_joint_tau_derivatives(const gpc_joint *joint, const gpc_joint_point *to,
                               double gradient[GPC_BLOCKS],
                               double second[GPC_BLOCKS][GPC_BLOCKS]) {
  const gpc_features *f = &joint->features;
  const size_t m = joint->m, n = joint->q, r = f->r, k = f->k;
  double precision[GPC_BLOCKS], square[GPC_BLOCKS][GPC_BLOCKS] = {{0.0}};
  gpc_joint_hyperprior(joint, to->tau, gradient);
  for (int b = 0; b < GPC_BLOCKS; b++) {
    precision[b] = f->count[b] ? 1.0 / (to->tau[b] * to->tau[b]) : 0.0;
    for (int a = 0; a < GPC_BLOCKS; a++)
      second[a][b] = 0.0;
    if (f->count[b] && joint->tau_free[b])
      second[b][b] = -1.0 / (joint->tau_sd[b] * joint->tau_sd[b]);
  }
  if (f->count[GPC_SKEW] &&
      joint->tau_free[GPC_SKEW]) { /* it is a share of the matrix's */
    second[GPC_MATRIX][GPC_MATRIX] += second[GPC_SKEW][GPC_SKEW];
    second[GPC_MATRIX][GPC_SKEW] -= second[GPC_SKEW][GPC_SKEW];
  }
  /* dQ / d log tau_b = -2 tau_b^-2 on the diagonal: S_jj' = 2 sum_i S_ij^2 tau_i^-2,
   * e_j' = 2 sum_i S_ij e_i tau_i^-2, by the block of i */
  for (int b = 0; b < GPC_BLOCKS; b++)
    for (size_t s = 0; s < k; s++) {
      size_t first, count, begin, some;
      gpc_features_run(f, (gpc_block)b, s, &first, &count);
      for (size_t i = first; i < first + count; i++) {
        const size_t j = s * r + i;
        const double *column = to->cov + m + n * (m + j), e = to->effect[j];
        const double own = precision[b] * (e * e + column[j]);
        gradient[b] += own - 1.0;
        second[b][b] -= 2.0 * own;
        for (int a = 0; a <= b; a++) {
          double both = 0.0, mean = 0.0;
          for (size_t l = 0; l < k; l++) {
            gpc_features_run(f, (gpc_block)a, l, &begin, &some);
            const double *from = column + l * r + begin;
            both += gpc_dot(some, from, from);
            mean += gpc_dot(some, from, to->effect + l * r + begin);
          }
          square[a][b] += 2.0 * both + 4.0 * e * mean;
        }
      }
    }
  for (int b = 0; b < GPC_BLOCKS; b++)
    for (int a = 0; a <= b; a++) {
      second[a][b] += precision[a] * precision[b] * square[a][b];
      second[b][a] = second[a][b];
    }
}

#define MOST_STEPS 4
#define ENOUGH 0.02 /* of what the steps have gained: no step is made for less */
#define CUTS 20
#define SHORTER 0.4
#define ARMIJO 1e-4

typedef struct {
  size_t dim;
  int block[GPC_BLOCKS]; /* which is where in h */
  double h[GPC_BLOCKS], move[GPC_BLOCKS];
  const double *low, *high;
} newton;

/* A block's tau is at a limit, or held. */
static int blocked(const newton *t, const double *gradient, size_t i) {
  return t->low[i] >= t->high[i] ||
         (t->h[i] <= t->low[i] && gradient[t->block[i]] <= 0.0) ||
         (t->h[i] >= t->high[i] && gradient[t->block[i]] >= 0.0);
}

#define LONGEST 2.0 /* along an eigenvector, where the second derivative says little */

/* t->move: Newton's step over the tau that are free, eigenvalues of the wrong sign turned so
 * that it goes up, and cut at the limits; returns what it promises by the gradient. */
static double newton_move(newton *t, const double *gradient,
                          double second[GPC_BLOCKS][GPC_BLOCKS]) {
  size_t at[GPC_BLOCKS], n = 0;
  double v[GPC_BLOCKS * GPC_BLOCKS], value[GPC_BLOCKS], work[3 * GPC_BLOCKS], slope = 0.0;
  for (size_t i = 0; i < t->dim; i++) {
    t->move[i] = 0.0;
    if (!blocked(t, gradient, i))
      at[n++] = i;
  }
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < n; i++)
      v[i + n * j] = second[t->block[at[i]]][t->block[at[j]]];
  const int found = n > 0 && gpc_eigen(n, v, value, work) == GPC_OK;
  for (size_t j = 0; found && j < n; j++) {
    double along = 0.0;
    for (size_t i = 0; i < n; i++)
      along += v[i + n * j] * gradient[t->block[at[i]]];
    const double far = along / fmax(fmax(fabs(value[j]), fabs(along) / LONGEST), 1e-6);
    for (size_t i = 0; i < n; i++)
      t->move[at[i]] += far * v[i + n * j];
  }
  for (int alone = 0; alone < 2 && !(slope > 0.0); alone++) {
    slope = 0.0;
    for (size_t i = 0; i < n; i++) { /* second time: if what the limits cut went down */
      const size_t j = at[i];
      const double g = gradient[t->block[j]];
      if (alone)
        t->move[j] = g / fmax(fabs(second[t->block[j]][t->block[j]]), 1.0);
      t->move[j] = fmin(fmax(t->h[j] + t->move[j], t->low[j]), t->high[j]) - t->h[j];
      slope += g * t->move[j];
    }
  }
  return slope;
}

/* tau [blocks] at h + part move. */
static void set_tau(const newton *t, double part, double *tau) {
  for (size_t i = 0; i < t->dim; i++)
    tau[t->block[i]] = exp(t->h[i] + part * t->move[i]);
}

/* J of the point, the quadratic term with the H of the pass and its scale. The S of an
 * averaged H is not the best one for that of the pass: -1/2 tr(Q S) is not the constant that
 * J leaves out. */
static double value_at(const gpc_joint_step *step, const gpc_joint_stepper *t) {
  gpc_joint *joint = step->joint;
  const gpc_joint_pass *pass = step->pass;
  const gpc_joint_point *to = step->to;
  const size_t g = joint->nodes->g, m = joint->m, e = joint->e;
  const double *d = t->means.x, *hd = t->means.hx;
  double sum = gpc_dot(g, pass->gc, d) + gpc_dot(e, pass->ge, d + g) -
               0.5 * step->mean_scale * gpc_dot(g + e, d, hd) -
               0.5 * gpc_dot(m, to->at.q_mean, to->at.q_mean);
  for (size_t j = 0; j < e; j++) {
    const double tau = to->tau[gpc_features_block(&joint->features, j)];
    sum -= 0.5 * to->effect[j] * to->effect[j] / (tau * tau) + log(tau);
  }
  if (step->averaged != pass)
    sum -= 0.5 * (gpc_joint_trace(joint, to, t->room.a, pass) -
                  gpc_joint_trace(joint, to, t->room.a, step->averaged));
  return sum + 0.5 * to->logdet - 0.5 * gpc_dot(g, t->room.rho, pass->spread) +
         gpc_joint_hyperprior(joint, to->tau, NULL);
}

/* The longest part of the move, cut until it gains; 0 if there is none. */
static double move_along(const gpc_joint_step *step, gpc_joint_stepper *t,
                         const newton *by, double here, double slope, double *value) {
  const gpc_hyper hyper = step->to->at.hyper;
  double tau[GPC_BLOCKS], part = 1.0;
  memcpy(tau, step->to->tau, sizeof tau);
  for (int cut = 0; cut < CUTS; cut++, part *= SHORTER) {
    set_tau(by, part, tau);
    step->to->at.hyper = hyper;
    if (look(step, t, tau, value) == GPC_OK && *value >= here + ARMIJO * part * slope)
      return part;
  }
  set_tau(by, 0.0, tau);
  step->to->at.hyper = hyper;
  return look(step, t, tau, value) == GPC_OK ? 0.0 : -1.0;
}

gpc_status gpc_joint_step_make(const gpc_joint_step *step, gpc_joint_stepper *t,
                               double *value) {
  const gpc_joint *joint = step->joint;
  gpc_joint_point *to = step->to;
  newton by = {.low = step->low + 2, .high = step->high + 2};
  double gradient[GPC_BLOCKS], second[GPC_BLOCKS][GPC_BLOCKS], here;
  for (int b = 0; b < GPC_BLOCKS; b++)
    if (joint->features.count[b]) {
      by.h[by.dim] = log(to->tau[b]);
      by.block[by.dim++] = b;
    }
  gpc_status status = look(step, t, to->tau, &here);
  const double start = here;
  for (int i = 0; status == GPC_OK; i++) {
    status = gpc_joint_reduced_solve(&t->reduced, 1, &t->room, to, value);
    if (status != GPC_OK || i == MOST_STEPS)
      break;
    gpc_call_poll(step->poll, step->poll_data);
    gpc_joint_tau_derivatives(joint, to, gradient, second);
    const double slope = newton_move(&by, gradient, second);
    if (!(0.5 * slope > fmax(0.1 * step->tol, ENOUGH * (here - start))))
      break;
    const double part = move_along(step, t, &by, here, slope, &here);
    if (part < 0.0)
      return GPC_NOT_PD;
    for (size_t j = 0; j < by.dim; j++)
      by.h[j] += part * by.move[j];
    i = part == 0.0 ? MOST_STEPS - 1 : i;
  }
  if (status != GPC_OK)
    return status;
  if (step->averaged != step->pass || step->mean_scale != 1.0) {
    gpc_joint_means(step, &t->means);
    *value = value_at(step, t);
  }
  return isfinite(*value) ? GPC_OK : GPC_NOT_FINITE;
}
