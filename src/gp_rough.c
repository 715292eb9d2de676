/* gp_rough.c: see gp_rough.h. */
#include "gp_rough.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

#define FEW 30  /* knots: as many as 56 nodes over the bulk serve, ... */
#define MORE 58 /* ... and 112 */
#define FEW_INDUCING 16
#define INTERPOLATED                                                                     \
  1.23 /* of a bridge's variance: the interpolation is not the best for nu = 1/2 */
#define BEYOND 0.1 /* of the inducing inputs' span, on either side */

size_t gpc_rough_knots(size_t m) { return m <= FEW_INDUCING ? FEW : MORE; }

/* The first of n knots; returns their distance. */
static double lay(const gpc_params *from, size_t n, double *first) {
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < from->m; i++) {
    low = fmin(low, from->inducing[i]);
    high = fmax(high, from->inducing[i]);
  }
  const double beyond = BEYOND * (high - low);
  *first = low - beyond;
  return (high - low + 2.0 * beyond) / ((double)n - 1.0);
}

double gpc_rough_nodes(const gpc_params *from) {
  double first;
  return lay(from, gpc_rough_knots(from->m), &first) / GPC_ROUGH_PER_KNOT;
}

double gpc_rough_move(const gpc_params *from, const gpc_memory *memory, gpc_params *to) {
  const size_t m = from->m, n = to->m;
  double first;
  const double step = lay(from, n, &first);
  for (size_t i = 0; i < n; i++)
    to->inducing[i] = first + step * (double)i;
  to->hyper = from->hyper;
  to->slope = from->slope;
  void *mark = memory->mark(memory->self);
  gpc_basis old = {.m = m,
                   .inducing = from->inducing,
                   .hyper = from->hyper,
                   .chol = gpc_get_doubles(memory, m * m)};
  gpc_basis new = {.m = n,
                   .inducing = to->inducing,
                   .hyper = from->hyper,
                   .chol = gpc_get_doubles(memory, n * n)};
  double *a = gpc_get_doubles(memory, n * m), *rho = gpc_get_doubles(memory, n);
  const int ok = gpc_basis_factor(&old) == GPC_OK && gpc_basis_factor(&new) == GPC_OK;
  if (ok) {
    gpc_basis_eval(&old, n, to->inducing, a, rho);
    gpc_gemm(0, 0, n, 1, m, 1.0, a, from->q_mean, 0.0, to->q_mean);
    gpc_solve_rows(1, n, new.chol, to->q_mean);
  }
  memory->release(memory->self, mark);
  return ok ? step : NAN;
}

gpc_status gpc_rough_make(size_t m, const double *knots, double step, size_t n,
                          const double *z, const gpc_memory *memory, gpc_roughness *out) {
  double *between = gpc_get_doubles(memory, n * m);
  void *mark = memory->mark(memory->self);
  gpc_basis basis = {.m = m,
                     .inducing = knots,
                     .hyper = {.s2 = 1.0, .l = GPC_ROUGH_L * step},
                     .chol = gpc_get_doubles(memory, m * m)};
  const gpc_status status = gpc_basis_factor(&basis);
  if (status == GPC_OK) {
    gpc_basis_eval(&basis, n, z, between, gpc_get_doubles(memory, n));
    gpc_solve_rows_t(n, m, basis.chol, between);
  }
  memory->release(memory->self, mark);
  out->step = step;
  for (int i = 0; i < GPC_ROUGH_KINDS; i++)
    out->kinds[i] =
        (gpc_rough){.kind = i ? GPC_MATERN12 : GPC_MATERN32, .n = n, .between = between};
  return status;
}

/* eq. (43a). Given its values at the knots a process with nu = 1/2 is a bridge between any
 * two, whose variance midway is s2 tanh(step / (2 l)). */
double gpc_rough_between(gpc_hyper hyper, double step) {
  if (!hyper.rough || hyper.rough->kind != GPC_MATERN12)
    return 0.0;
  return INTERPOLATED * hyper.s2 * tanh(0.5 * step / hyper.l);
}
