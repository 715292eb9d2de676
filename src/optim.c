/* optim.c: see optim.h. */
#include "optim.h"

#include <math.h>
#include <string.h>

typedef struct {
  double *next;       /* [dim] x of the step tried */
  double *g, *g_next; /* [dim] gradients */
  double *dir, *hy;   /* [dim] direction; product of hess and a change of gradient */
  double *hess;       /* [dim x dim] inverse Hessian of minus the function */
} bfgs;

size_t gpc_optim_work(size_t dim) { return 5 * dim + dim * dim; }

static bfgs carve(size_t dim, double *work) {
  bfgs t = {.next = work,
            .g = work + dim,
            .g_next = work + 2 * dim,
            .dir = work + 3 * dim,
            .hy = work + 4 * dim,
            .hess = work + 5 * dim};
  return t;
}

/* 1 where variable i sits at a limit and the gradient points outside. */
static int blocked(const gpc_optim *problem, const double *x, const double *g, size_t i) {
  return (x[i] <= problem->low[i] && g[i] <= 0.0) ||
         (x[i] >= problem->high[i] && g[i] >= 0.0);
}

/* A first step of at most a third of the room that there is. */
static void reset(const gpc_optim *problem, const double *x, bfgs *t) {
  const size_t dim = problem->dim;
  double size = 0.0;
  memset(t->hess, 0, dim * dim * sizeof(double));
  for (size_t i = 0; i < dim; i++)
    if (!blocked(problem, x, t->g, i))
      size = fmax(size, fabs(t->g[i]));
  for (size_t i = 0; i < dim; i++) {
    double room = problem->high[i] - problem->low[i];
    t->hess[i + dim * i] = size > 0.0 ? fmin(1.0, room / (6.0 * size)) : 1.0;
  }
}

static void recall(const gpc_optim *problem, bfgs *t) {
  const size_t size = problem->dim * problem->dim * sizeof(double);
  if (problem->memory && problem->memory[0] > 0.0)
    memcpy(t->hess, problem->memory + 1, size);
}

static void remember(const gpc_optim *problem, const bfgs *t) {
  if (!problem->memory)
    return;
  problem->memory[0] = 1.0;
  memcpy(problem->memory + 1, t->hess, problem->dim * problem->dim * sizeof(double));
}

/* dir := hess g over the variables that are free; returns the slope along it. */
static double direction(const gpc_optim *problem, const double *x, bfgs *t) {
  const size_t dim = problem->dim;
  double slope = 0.0;
  for (size_t i = 0; i < dim; i++) {
    t->dir[i] = 0.0;
    if (blocked(problem, x, t->g, i))
      continue;
    for (size_t j = 0; j < dim; j++)
      if (!blocked(problem, x, t->g, j))
        t->dir[i] += t->hess[i + dim * j] * t->g[j];
    slope += t->dir[i] * t->g[i];
  }
  return slope;
}

/* BFGS for the inverse Hessian of minus the function: s = next - x, y = g - g_next. */
static void update(size_t dim, const double *x, bfgs *t) {
  double *s = t->dir, sy = 0.0, yhy = 0.0;
  for (size_t i = 0; i < dim; i++) {
    s[i] = t->next[i] - x[i];
    sy += s[i] * (t->g[i] - t->g_next[i]);
  }
  if (!(sy > 1e-12))
    return;
  for (size_t i = 0; i < dim; i++) {
    t->hy[i] = 0.0;
    for (size_t j = 0; j < dim; j++)
      t->hy[i] += t->hess[i + dim * j] * (t->g[j] - t->g_next[j]);
    yhy += t->hy[i] * (t->g[i] - t->g_next[i]);
  }
  for (size_t i = 0; i < dim; i++)
    for (size_t j = 0; j < dim; j++)
      t->hess[i + dim * j] +=
          (1.0 + yhy / sy) * s[i] * s[j] / sy - (t->hy[i] * s[j] + s[i] * t->hy[j]) / sy;
}

#define CUTS 20
#define SHORTER 0.4 /* each cut of a step */
#define ARMIJO 1e-4 /* of the gain foretold by the gradient, at the least */

/* The longest step along dir, cut until it gains; the gain, or -1. *cuts: how often. */
static double step_along(const gpc_optim *problem, const double *x, double here, bfgs *t,
                         double *there, int *cuts) {
  double step = 1.0;
  for (*cuts = 0; *cuts < CUTS; ++*cuts, step *= SHORTER) {
    double foretold = 0.0;
    for (size_t i = 0; i < problem->dim; i++) {
      t->next[i] = fmin(fmax(x[i] + step * t->dir[i], problem->low[i]), problem->high[i]);
      foretold += t->g[i] * (t->next[i] - x[i]);
    }
    if (problem->value(problem->self, t->next, there) == GPC_OK &&
        *there >= here + ARMIJO * foretold)
      return *there - here;
  }
  return -1.0;
}

gpc_status gpc_optim_maximise(const gpc_optim *problem, double *work, double *x,
                              double *best) {
  const size_t dim = problem->dim;
  bfgs t = carve(dim, work);
  double value, there;
  gpc_status status = problem->value(problem->self, x, &value);
  if (status != GPC_OK)
    return status;
  const double start = value;
  int stale = 0; /* value() was called elsewhere since x */
  if (problem->max_steps > 0) {
    problem->gradient(problem->self, t.g);
    reset(problem, x, &t);
    recall(problem, &t);
  }
  for (int step = 0; step < problem->max_steps; step++) {
    gpc_call_poll(problem->poll, problem->poll_data);
    double slope = direction(problem, x, &t);
    if (!(slope > 0.0)) {
      reset(problem, x, &t);
      slope = direction(problem, x, &t);
    }
    if (!(slope > 0.1 * problem->tol))
      break;
    int cuts;
    const double gain = step_along(problem, x, value, &t, &there, &cuts);
    stale = gain < 0.0;
    if (stale)
      break;
    value = there;
    const double enough = fmax(problem->tol, problem->fraction * (value - start));
    if (gain < enough || step + 1 == problem->max_steps) {
      memcpy(x, t.next, dim * sizeof(double));
      break;
    }
    problem->gradient(problem->self, t.g_next);
    update(dim, x, &t);
    remember(problem, &t);
    memcpy(x, t.next, dim * sizeof(double));
    memcpy(t.g, t.g_next, dim * sizeof(double));
  }
  *best = value;
  return stale ? problem->value(problem->self, x, best) : GPC_OK;
}
