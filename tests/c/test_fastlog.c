/* test_fastlog.c: log() against libm's, over all magnitudes and next to 1. */
#include "ctest.h"
#include "fastlog.h"
#include "resample.h"
#include <float.h>

/* The error in units of the last place of the true value. */
static double ulps(double x) {
  long double truth = logl((long double)x);
  double size = fabs((double)truth);
  if (size == 0.0)
    return fabs(gpc_log(x)) == 0.0 ? 0.0 : INFINITY;
  return (double)(fabsl((long double)gpc_log(x) - truth) /
                  (nextafter(size, INFINITY) - size));
}

int main(void) {
  double worst = 0.0, worst_near = 0.0;
  for (uint64_t i = 0; i < 200000; i++) {
    double u = gpc_stream_uniform(1, i), v = gpc_stream_uniform(2, i);
    worst = fmax(worst, ulps(ldexp(1.0 + u, (int)floor(2040.0 * v) - 1020)));
    worst = fmax(worst, ulps(u > 0.0 ? u : 0.5));
    worst_near = fmax(worst_near, ulps(1.0 + (u - 0.5) * pow(10.0, -16.0 * v)));
  }
  CHECK_NEAR(worst, 0.0, 2.0);
  CHECK_NEAR(worst_near, 0.0, 2.0);
  CHECK(gpc_log(1.0) == 0.0);
  double edges[] = {DBL_MIN, DBL_MAX, DBL_EPSILON, 1.0 - DBL_EPSILON / 2,    M_SQRT1_2,
                    M_SQRT2, 0.5,     2.0,         nextafter(M_SQRT1_2, 0.0)};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
    CHECK_NEAR(ulps(edges[i]), 0.0, 2.0);
  return CTEST_END();
}
