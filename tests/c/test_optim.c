/* The maximiser of optim.h: a quadratic, Rosenbrock's valley, limits, and a function that
 * does not exist everywhere. */
#include "ctest.h"
#include "optim.h"

typedef struct {
  int kind, values;
  double x[3];
} problem;

static gpc_status value(void *self, const double *x, double *f) {
  problem *p = self;
  p->values++;
  memcpy(p->x, x, 2 * sizeof(double));
  if (p->kind == 2 && x[0] > 1.0)
    return GPC_NOT_FINITE;
  *f = p->kind == 1 ? -100.0 * pow(x[1] - x[0] * x[0], 2.0) - pow(1.0 - x[0], 2.0)
       : p->kind == 2
           ? log(1.0 - x[0] + 1e-300) * 0.1 + x[0] - x[1] * x[1]
           : -pow(x[0] - 3.0, 2.0) - 2.0 * pow(x[1] + 1.0, 2.0) - x[0] * x[1];
  return isfinite(*f) ? GPC_OK : GPC_NOT_FINITE;
}

static void gradient(void *self, double *g) {
  const double *x = ((problem *)self)->x;
  switch (((problem *)self)->kind) {
  case 0:
    g[0] = -2.0 * (x[0] - 3.0) - x[1];
    g[1] = -4.0 * (x[1] + 1.0) - x[0];
    break;
  case 1:
    g[0] = 400.0 * x[0] * (x[1] - x[0] * x[0]) + 2.0 * (1.0 - x[0]);
    g[1] = -200.0 * (x[1] - x[0] * x[0]);
    break;
  default:
    g[0] = -0.1 / (1.0 - x[0] + 1e-300) + 1.0;
    g[1] = -2.0 * x[1];
  }
}

static int solve(int kind, double low, double high, int steps, double *x, double *best,
                 double *memory) {
  const double lows[2] = {low, low}, highs[2] = {high, high};
  problem p = {.kind = kind};
  const gpc_optim how = {.dim = 2,
                         .value = value,
                         .gradient = gradient,
                         .self = &p,
                         .low = lows,
                         .high = highs,
                         .max_steps = steps,
                         .memory = memory,
                         .tol = 1e-14};
  double work[5 * 2 + 4];
  CHECK(gpc_optim_work(2) == sizeof work / sizeof *work);
  CHECK(gpc_optim_maximise(&how, work, x, best) == GPC_OK);
  CHECK(p.x[0] == x[0] && p.x[1] == x[1]); /* value() was called there last */
  return p.values;
}

int main(void) {
  double best, x[2] = {0.0, 0.0}, memory[5] = {0};
  const int cold = solve(0, -50.0, 50.0, 100, x, &best, memory);
  CHECK_NEAR(x[0], 4.0, 1e-6); /* the gradient vanishes at (4, -2) */
  CHECK_NEAR(x[1], -2.0, 1e-6);
  CHECK_NEAR(best, 5.0, 1e-12);
  double again[2] = {0.0, 0.0};
  CHECK(solve(0, -50.0, 50.0, 100, again, &best, memory) < cold);
  CHECK_NEAR(again[0], 4.0, 1e-6);

  double valley[2] = {-1.2, 1.0};
  solve(1, -3.0, 3.0, 500, valley, &best, NULL);
  CHECK_NEAR(valley[0], 1.0, 1e-4);
  CHECK_NEAR(best, 0.0, 1e-9);

  double held[2] = {0.0, 0.0}; /* limits: x_0 stops at 2, the best x_1 is then -3/2 */
  solve(0, -2.0, 2.0, 100, held, &best, NULL);
  CHECK(held[0] == 2.0);
  CHECK_NEAR(held[1], -1.5, 1e-7);

  double edge[2] = {0.0, 0.5}; /* undefined beyond 1; the best is at .9 */
  solve(2, -5.0, 5.0, 100, edge, &best, NULL);
  CHECK_NEAR(edge[0], 0.9, 1e-5);
  CHECK_NEAR(edge[1], 0.0, 1e-5);

  double still[2] = {0.3, 0.4}; /* no steps: the value where it is */
  CHECK(solve(0, -5.0, 5.0, 0, still, &best, NULL) == 1);
  CHECK(still[0] == 0.3 && still[1] == 0.4);

  double outside[2] = {2.0, 0.0}, work[14];
  problem p = {.kind = 2};
  const double low[2] = {-5.0, -5.0}, high[2] = {5.0, 5.0};
  const gpc_optim how = {.dim = 2, .value = value, .gradient = gradient, .self = &p,
                         .low = low, .high = high, .max_steps = 3};
  CHECK(gpc_optim_maximise(&how, work, outside, &best) == GPC_NOT_FINITE);
  return CTEST_END();
}
