/* fastexp.h against the C library: errors in units of the last place, and the edges. */
#include "ctest.h"
#include "fastexp.h"

#include <float.h>
#include <stdint.h>

/* The distance of two doubles next to each other at y >= 0; 2^-1074 below 2^-1022. */
static long double ulp(long double y) {
  if (y < DBL_MIN)
    return 0x1p-1074L;
  int exponent;
  frexpl(y, &exponent);
  return ldexpl(1.0L, exponent - 53);
}

static double ulps_off(double got, double x) {
  long double exact = expl((long double)x);
  return (double)(fabsl((long double)got - exact) / ulp(exact));
}

/* xorshift64*: the same points everywhere. */
static uint64_t state = 88172645463325252u;

static uint64_t next_bits(void) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 2685821657736338717u;
}

static double uniform(double from, double to) {
  return from + (to - from) * ((double)(next_bits() >> 11) * 0x1p-53);
}

#define LOG2 0.693147180559945309417
/* The largest argument whose exponential is finite, and the smallest at which it is not
 * 0. */
#define LAST_FINITE 0x1.62e42fefa39efp+9
#define FIRST_POSITIVE (-0x1.74910d52d3051p+9)
/* From here, just above -1022 log 2, results are normal numbers. */
#define FIRST_NORMAL (-0x1.6232bdd7abcd2p+9)

static double worst;

static void look(double x) {
  double off = ulps_off(gpc_exp(x), x);
  worst = off > worst ? off : worst;
  if (x <= 0.0 && x >= FIRST_NORMAL) {
    off = ulps_off(gpc_exp_nonpos(x), x);
    worst = off > worst ? off : worst;
  }
}

static void check_single(void) {
  double off = 0.0;
  for (int i = 0; i <= 200000; i++) {
    const float x = -126.0f + 246.0f * (float)i / 200000.0f;
    off = fmax(off, fabs((double)gpc_exp2f(x) / exp2((double)x) - 1.0));
  }
  CHECK(off < 4e-6);
  CHECK(gpc_exp2f(0.0f) == 1.0f);
  off = 0.0;
  for (float x = -119.7f; x < 120.0f; x += 0.0371f) {
    float up, down;
    gpc_exp2f_both(x, &up, &down);
    off = fmax(off, fabs((double)up / exp2((double)x) - 1.0));
    off = fmax(off, fabs((double)down / exp2(-(double)x) - 1.0));
  }
  CHECK(off < 4e-6);
  off = 0.0;
  for (float by = 0x1p-40f; by <= 1.0f; by *= 7.3f) { /* with a factor in the series */
    const gpc_exp2f_series series = gpc_exp2f_times(by);
    for (float x = -80.0f; x < 80.0f; x += 0.0371f) {
      float up, down;
      gpc_exp2f_two(&series, x, &up, &down);
      off = fmax(off, fabs((double)up / (double)by / exp2((double)x) - 1.0));
      off = fmax(off, fabs((double)down / (double)by / exp2(-(double)x) - 1.0));
    }
  }
  CHECK(off < 4e-6);
  off = 0.0;
  for (float x = -87.0f; x < 40.0f; x += 0.00137f)
    off = fmax(off, fabs((double)gpc_expf(x) / exp((double)x) - 1.0));
  CHECK(off < 2e-7);
  CHECK(gpc_expf(0.0f) == 1.0f && gpc_expf(INFINITY) == gpc_expf(40.0f));
  CHECK(gpc_expf(-INFINITY) == gpc_expf(-87.0f) && gpc_expf(-87.0f) > 0.0f);
  CHECK(gpc_exp2f(-INFINITY) == gpc_exp2f(-126.0f) && gpc_exp2f(-126.0f) > 0.0f);
  for (int sign = -1; sign <= 1; sign += 2) {
    float up, down;
    gpc_exp2f_both((float)sign * INFINITY, &up, &down);
    CHECK((sign > 0 ? up : down) == 0x1p120f && (sign > 0 ? down : up) == 0x1p-120f);
  }
  CHECK(gpc_exp2f(INFINITY) == gpc_exp2f(120.0f) && isfinite(gpc_exp2f(120.0f)));
}

static void check_grids(void) {
  worst = 0.0;
  for (int i = 0; i <= 400000; i++) /* all of the range, evenly */
    look(FIRST_POSITIVE + (LAST_FINITE - FIRST_POSITIVE) * (i / 400000.0));
  CHECK(worst <= 2.0);

  worst = 0.0;
  for (int i = 0; i < 1500000; i++) /* all of the range, at random */
    look(uniform(FIRST_POSITIVE, LAST_FINITE));
  CHECK(worst <= 2.0);

  worst = 0.0;
  for (int i = 0; i < 1000000; i++) /* where probabilities live */
    look(uniform(-40.0, 2.0));
  CHECK(worst <= 2.0);

  worst = 0.0;
  for (int i = 0; i < 100000; i++) { /* arguments of every size, down to 1e-300 */
    double x = pow(10.0, uniform(-300.0, 2.8));
    look(x);
    look(-x);
  }
  CHECK(worst <= 2.0);

  worst = 0.0;
  for (int k = -1073; k <= 1022;
       k++) /* around the ends and the middle of each reduction */
    for (int step = -8; step <= 8; step++) {
      look((k + 0.5) * LOG2 + step * 1e-13);
      look(k * LOG2 + step * 1e-13);
    }
  CHECK(worst <= 2.0);

  worst = 0.0;
  for (int i = 0; i < 200000; i++) /* results below 2^-1022 */
    look(uniform(FIRST_POSITIVE, FIRST_NORMAL));
  CHECK(worst <= 2.0);
}

/* A larger argument has no smaller exponential once they differ by more than rounding:
 * what keeps the order of classes. */
static void check_order(void) {
  int falls = 0;
  for (int i = 0; i < 300000; i++) {
    double x = uniform(-700.0, 0.0), y = x + 1e-12;
    falls += gpc_exp(y) < gpc_exp(x);
    falls += gpc_exp_nonpos(y) < gpc_exp_nonpos(x);
  }
  CHECK(falls == 0);
}

/* 1/(1 + exp(x)), which never vanishes. */
static void check_logistic(void) {
  worst = 0.0;
  for (int i = 0; i < 300000; i++) {
    double x = uniform(-800.0, 708.0);
    long double exact = 1.0L / (1.0L + expl((long double)x));
    double off = (double)(fabsl((long double)gpc_expit_minus(x) - exact) / ulp(exact));
    worst = off > worst ? off : worst;
  }
  CHECK(worst <= 4.0);
  CHECK(gpc_expit_minus(0.0) == 0.5);
  CHECK(gpc_expit_minus(-INFINITY) == 1.0 && gpc_expit_minus(-DBL_MAX) == 1.0);
  CHECK(gpc_expit_minus(INFINITY) > 0.0 && gpc_expit_minus(INFINITY) < 2e-308);
  CHECK(gpc_expit_minus(DBL_MAX) == gpc_expit_minus(709.0));
  CHECK(isnan(gpc_expit_minus(NAN)));
}

static void check_edges(void) {
  CHECK(gpc_exp(0.0) == 1.0);
  CHECK(gpc_exp(-0.0) == 1.0);
  CHECK(gpc_exp_nonpos(0.0) == 1.0);
  CHECK(gpc_exp_nonpos(-0.0) == 1.0);
  CHECK(gpc_exp(0x1p-1074) == 1.0);
  CHECK(gpc_exp_nonpos(-0x1p-1074) == 1.0);

  CHECK(gpc_exp(-INFINITY) == 0.0);
  CHECK(gpc_exp_nonpos(-INFINITY) == 0.0);
  CHECK(gpc_exp(INFINITY) == INFINITY);
  CHECK(isnan(gpc_exp(NAN)));
  CHECK(isnan(gpc_exp_nonpos(NAN)));
  CHECK(isnan(gpc_exp(-NAN)));
  CHECK(isnan(gpc_exp_nonpos(-NAN)));

  CHECK(isfinite(gpc_exp(LAST_FINITE)));
  CHECK(gpc_exp(nextafter(LAST_FINITE, INFINITY)) == INFINITY);
  CHECK(gpc_exp(709.9) == INFINITY);
  CHECK(gpc_exp(1e4) == INFINITY);
  CHECK(gpc_exp(DBL_MAX) == INFINITY);
  CHECK(gpc_exp(-746.0) == 0.0);
  CHECK(gpc_exp(-1e4) == 0.0);
  CHECK(gpc_exp(-DBL_MAX) == 0.0);
  CHECK(gpc_exp(-745.0) == 0x1p-1074);

  /* below 2^-1022 the quick one is right, or 0 */
  CHECK(gpc_exp_nonpos(-710.0) == 0.0);
  CHECK(gpc_exp_nonpos(-746.0) == 0.0);
  CHECK(gpc_exp_nonpos(-1e4) == 0.0);
  CHECK(gpc_exp_nonpos(-DBL_MAX) == 0.0);
  int neither = 0;
  for (int i = 0; i < 100000; i++) {
    double x = uniform(-746.0, FIRST_NORMAL), y = gpc_exp_nonpos(x);
    neither += y != 0.0 && ulps_off(y, x) > 2.0;
  }
  CHECK(neither == 0);
}

static void check_pow2(void) {
  int wrong = 0;
  for (int j = -1022; j <= 1023; j++)
    wrong += gpc_pow2((double)j) != ldexp(1.0, j);
  CHECK(wrong == 0);
}

int main(void) {
  check_grids();
  check_order();
  check_logistic();
  check_edges();
  check_pow2();
  check_single();
  return CTEST_END();
}
