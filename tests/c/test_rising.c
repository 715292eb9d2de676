/* test_rising.c: limits of functions that may hardly fall, by hand and against the min-max
 * formula of isotonic regression. */
#include "ctest.h"
#include "cmemory.h"
#include "min_max.h"
#include "resample.h"
#include "rising.h"
#include "select.h"
#include <stdlib.h>

#define G 9
#define DRAWS 40

static double p[G * 2 * DRAWS], f[G * DRAWS];

static void set(size_t i, size_t d, double log_odds) {
  f[i + G * d] = log_odds;
  p[i + 2 * G * d] = 1.0 / (1.0 + exp(log_odds));
  p[i + G + 2 * G * d] = 1.0 / (1.0 + exp(-log_odds));
}

/* Functions that rise faster than anything needs changing: limits are plain quantiles. */
static void rising_functions(const double *z) {
  double out[2 * G], one[DRAWS];
  for (size_t d = 0; d < DRAWS; d++)
    for (size_t i = 0; i < G; i++)
      set(i, d, (1.0 + 0.01 * (double)d) * z[i] + 0.02 * (double)d);
  CHECK(gpc_rising_limits(G, DRAWS, z, p, 0.025, 0.975, &cmemory, out) == 1);
  for (size_t i = 0; i < G; i++) {
    for (size_t d = 0; d < DRAWS; d++)
      one[d] = f[i + G * d];
    CHECK_NEAR(out[i], gpc_quantile(DRAWS, one, 0.025), 1e-9);
    CHECK_NEAR(out[i + G], gpc_quantile(DRAWS, one, 0.975), 1e-9);
  }
}

/* Falling at random: each function, less steep than its mean allows, is the weighted min-max
 * of isotonic regression, less what it may fall. */
static void against_min_max(const double *z) {
  double out[2 * G], one[DRAWS], mean[G], w[G], hits[G], sw = 0, sz = 0, sm = 0, szz = 0,
                                                         szm = 0;
  for (size_t d = 0; d < DRAWS; d++)
    for (size_t i = 0; i < G; i++)
      set(i, d,
          1.2 * z[i] + (i < 2 ? 4.0 : 0.4) * (gpc_stream_uniform(7, i + G * d) - .5));
  for (size_t i = 0; i < G; i++) {
    mean[i] = w[i] = 0.0;
    for (size_t d = 0; d < DRAWS; d++)
      mean[i] += f[i + G * d] / DRAWS;
    for (size_t d = 0; d < DRAWS; d++)
      w[i] += pow(f[i + G * d] - mean[i], 2) / DRAWS;
    w[i] = 1.0 / (w[i] + 1e-8);
    sw += w[i];
    sz += w[i] * z[i];
    sm += w[i] * mean[i];
    szz += w[i] * z[i] * z[i];
    szm += w[i] * z[i] * mean[i];
  }
  const double fall = 0.25 * (szm - sz * sm / sw) / (szz - sz * sz / sw);
  CHECK(gpc_rising_limits(G, DRAWS, z, p, 0.1, 0.9, &cmemory, out) == 1);
  for (size_t i = 0; i < G; i++) {
    for (size_t d = 0; d < DRAWS; d++) {
      for (size_t j = 0; j < G; j++)
        hits[j] = w[j] * (f[j + G * d] + fall * z[j]);
      one[d] = min_max(G, hits, w, i) - fall * z[i];
    }
    CHECK_NEAR(out[i], gpc_quantile(DRAWS, one, 0.1), 1e-9);
    CHECK_NEAR(out[i + G], gpc_quantile(DRAWS, one, 0.9), 1e-9);
  }
  /* limits fall no faster than the functions may */
  for (size_t i = 0; i + 1 < G; i++)
    for (size_t side = 0; side < 2 * G; side += G)
      CHECK(out[i + 1 + side] - out[i + side] >= -fall * (z[i + 1] - z[i]) - 1e-9);
}

static void falling_mean(const double *z) {
  double out[2 * G];
  for (size_t d = 0; d < DRAWS; d++)
    for (size_t i = 0; i < G; i++)
      set(i, d, -z[i] + 0.3 * gpc_stream_uniform(3, i + G * d));
  CHECK(gpc_rising_limits(G, DRAWS, z, p, 0.025, 0.975, &cmemory, out) == 0);
}

/* Probabilities of 0 and functions without any variance. */
static void extremes(const double *z) {
  double out[2 * G];
  for (size_t i = 0; i < G * 2 * DRAWS; i++)
    p[i] = i % (2 * G) < G ? 0.0 : 1.0;
  CHECK(gpc_rising_limits(G, DRAWS, z, p, 0.025, 0.975, &cmemory, out) == 1);
  for (size_t i = 0; i < 2 * G; i++)
    CHECK(isfinite(out[i]) && out[i] > 700.0);
}

int main(void) {
  const double z[G] = {-4, -3, -2, -1, 0, 1, 2, 3.5, 5};
  rising_functions(z);
  against_min_max(z);
  falling_mean(z);
  extremes(z);
  cmemory_end();
  return CTEST_END();
}
