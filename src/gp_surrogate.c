/* gp_surrogate.c: the outer problem: hyperparameters and inducing inputs inside a trust
 * region; see gp_surrogate.h. */
#include "gp_inner.h"
#include "optim.h"

#include <math.h>
#include <string.h>

/* x = (log s2, log l, inducing inputs / unit). */
typedef struct {
  const gpc_surrogate *sur;
  gpc_inner inner;
  gpc_params *point;
  size_t dim;
  double unit; /* of the inducing inputs among the x: their spacing */
} outer;

size_t gpc_surrogate_work(size_t g, size_t m) {
  return gpc_inner_work(g, m) + gpc_optim_work(m + 2) + 3 * (m + 2);
}

static gpc_status value_at(void *self, const double *x, double *value) {
  outer *t = self;
  t->point->hyper.s2 = exp(x[0]);
  t->point->hyper.l = exp(x[1]);
  for (size_t i = 2; i < t->dim; i++)
    t->point->inducing[i - 2] = x[i] * t->unit;
  return gpc_inner_solve(t->sur, &t->inner, t->point, value);
}

static void gradient_at(void *self, double *g) {
  outer *t = self;
  gpc_inner_gradient(t->sur, &t->inner, t->point);
  g[0] = t->inner.grad.s2 * t->point->hyper.s2;
  g[1] = t->inner.grad.l * t->point->hyper.l;
  for (size_t i = 2; i < t->dim; i++)
    g[i] = t->inner.grad.inducing[i - 2] * t->unit;
}

static double spacing(const gpc_params *point) {
  double least = INFINITY, most = -INFINITY;
  for (size_t i = 0; i < point->m; i++) {
    least = fmin(least, point->inducing[i]);
    most = fmax(most, point->inducing[i]);
  }
  double unit = point->m > 1 ? (most - least) / (double)(point->m - 1) : 0.0;
  return unit > 0.0 ? unit : point->hyper.l;
}

/* The trust region around the start; coordinates that are held have no room. */
static void set_box(const gpc_trust_box *box, const outer *t, double *x, double *low,
                    double *high) {
  const double least[2] = {log(box->s2_low), log(box->l_low)};
  const double most[2] = {log(box->s2_high), log(box->l_high)};
  const int is_free[2] = {box->s2_free, box->l_free};
  x[0] = log(t->point->hyper.s2);
  x[1] = log(t->point->hyper.l);
  for (size_t i = 0; i < 2; i++) {
    double room = is_free[i] ? box->radius : 0.0;
    low[i] = fmin(fmax(x[i] - room, least[i]), x[i]);
    high[i] = fmax(fmin(x[i] + room, most[i]), x[i]);
  }
  if (box->s2_free && box->to_line)
    low[0] = fmin(least[0], x[0]);
  for (size_t i = 2; i < t->dim; i++) {
    x[i] = t->point->inducing[i - 2] / t->unit;
    low[i] = x[i] - box->radius;
    high[i] = x[i] + box->radius;
  }
}

gpc_status gpc_surrogate_maximise(const gpc_surrogate *sur, const gpc_trust_box *box,
                                  double *work, gpc_params *point, double *value) {
  const size_t most = sur->m + 2;
  outer t = {.sur = sur,
             .point = point,
             .dim = box->inducing_free ? most : 2,
             .unit = spacing(point)};
  double *x = work, *low = x + most, *high = low + most, *rest = high + most;
  gpc_inner_carve(sur->g, sur->m, rest + gpc_optim_work(most), &t.inner);
  set_box(box, &t, x, low, high);
  const gpc_optim problem = {.dim = t.dim,
                             .value = value_at,
                             .gradient = gradient_at,
                             .self = &t,
                             .low = low,
                             .high = high,
                             .max_steps = box->max_steps,
                             .tol = box->tol,
                             .fraction = box->fraction,
                             .memory = box->memory,
                             .poll = box->poll,
                             .poll_data = box->poll_data};
  gpc_status status = gpc_optim_maximise(&problem, rest, x, value);
  if (status == GPC_OK)
    gpc_inner_cov(&t.inner, point);
  return status;
}

gpc_status gpc_surrogate_value(const gpc_surrogate *sur, double *work, gpc_params *point,
                               double *value, double *g) {
  outer t = {.sur = sur, .point = point, .dim = sur->m + 2, .unit = 1.0};
  gpc_inner_carve(sur->g, sur->m, work, &t.inner);
  gpc_status status = gpc_inner_solve(sur, &t.inner, point, value);
  if (status == GPC_OK)
    gradient_at(&t, g);
  return status;
}
