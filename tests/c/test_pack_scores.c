/* test_pack_scores.c: scores as an object keeps them, by hand. */
#include "ctest.h"
#include "pack_scores.h"

static void largest(void) {
  /* rows (1, 4), (-7, -inf), (3, 3) */
  const double z[] = {1, -7, 3, 4, -INFINITY, 3}, none[] = {-INFINITY, NAN};
  CHECK_NEAR(gpc_largest_score(3, 2, z, GPC_STORED_AS_THEY_ARE), 7.0, 0.0);
  CHECK_NEAR(gpc_largest_score(3, 2, z, GPC_STORED_LESS_HIGH), 3.0, 0.0);
  CHECK_NEAR(gpc_largest_score(2, 1, none, GPC_STORED_AS_THEY_ARE), 0.0, 0.0);
  const double p[] = {0.5, 0.0, 0.5, 1.0};
  CHECK_NEAR(gpc_largest_score(2, 2, p, GPC_STORED_LOG), log(2.0), 1e-15);
}

static void one_byte(void) {
  /* two rows of three classes, which come out row by row */
  const double z[] = {0.0, -INFINITY, -2.0 * expm1(0.04), -1e9, -2.0 * expm1(0.4), 0.0};
  const unsigned char want[] = {0, 1, 10, 255, 254, 0};
  unsigned char code[6];
  gpc_coarse_scores(2, 3, z, 2.0, 0.04, code);
  for (int i = 0; i < 6; i++)
    CHECK(code[i] == want[i]);
}

static void two_bytes(void) {
  const double z[] = {0.0,
                      -1.0,
                      -0.5,
                      -0.75,
                      -INFINITY,
                      ldexp(-1.0, -30),
                      ldexp(-1.0, -41),
                      -1e-20,
                      -ldexp(1.0, -15)};
  const int want[] = {0, 63488, 61440, 62464, 65535, 2048, 1, 0, 32769};
  int code[9];
  gpc_short_scores(9, z, 1.0, code);
  for (int i = 0; i < 9; i++)
    CHECK(code[i] == want[i]);
}

static void median(void) {
  const double z[] = {0.0, -4.0, -INFINITY, -1.0, 5.0, -2.0}, none[] = {0.0, -INFINITY};
  double room[6];
  CHECK_NEAR(gpc_median_below(6, z, room), 2.0, 0.0);
  CHECK_NEAR(gpc_median_below(5, z, room), 2.5, 0.0);
  CHECK(isnan(gpc_median_below(2, none, room)));
}

int main(void) {
  largest();
  one_byte();
  two_bytes();
  median();
  return CTEST_END();
}
