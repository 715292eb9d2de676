/* test_ova.c: log-odds, maps and predictions one against the rest. */
#include "ctest.h"
#include "ova.h"
#include "resample.h"
#include "softmax.h"
#include <stdlib.h>

/* Log-odds in long doubles. */
static long double odds_of(size_t n, size_t k, const double *z, size_t i, size_t j) {
  long double top = -INFINITY, rest = 0.0L;
  for (size_t l = 0; l < k; l++)
    if (l != j && z[i + l * n] > top)
      top = z[i + l * n];
  for (size_t l = 0; l < k; l++)
    if (l != j)
      rest += expl((long double)z[i + l * n] - top);
  return (long double)z[i + j * n] - top - logl(rest);
}

static void log_odds(size_t n, size_t k, double scale) {
  double *z = malloc(2 * n * k * sizeof *z), *odds = z + n * k;
  for (size_t i = 0; i < n * k; i++)
    z[i] = scale * (gpc_stream_uniform(k, i) - 0.5);
  gpc_log_odds(n, k, z, 1, 1, odds);
  double worst = 0.0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < k; j++) {
      long double truth = odds_of(n, k, z, i, j);
      worst = fmax(worst, (double)fabsl(odds[i + j * n] - truth) /
                              fmax(1.0, fabs((double)truth)));
    }
  CHECK_NEAR(worst, 0.0, 1e-14);
  gpc_log_odds(n, k, z, 1, 3, z); /* in place, three threads */
  CHECK(memcmp(z, odds, n * k * sizeof *z) == 0);
  free(z);
}

static void log_odds_edges(void) {
  /* rows: one ruled out; all but one ruled out; a tie */
  const double z[] = {0, 0, 1, -INFINITY, -INFINITY, 1, 1, -INFINITY, 0};
  double odds[9];
  gpc_log_odds(3, 3, z, 1, 1, odds);
  CHECK(odds[3] == -INFINITY && odds[4] == -INFINITY);
  CHECK(odds[1] == INFINITY && odds[7] == -INFINITY);
  CHECK_NEAR(odds[6], 1.0, 1e-15);
  CHECK_NEAR(odds[0], -1.0, 1e-15);
  CHECK_NEAR(odds[2], -log(1.0 + exp(-1.0)), 1e-15);
  CHECK_NEAR(odds[5], odds[2], 1e-15);
  const double p[] = {0.25, 0, 1, 0.75, 1, 0};
  gpc_log_odds(3, 2, p, 0, 1, odds);
  CHECK_NEAR(odds[3], log(3.0), 1e-15);
  CHECK(odds[4] == INFINITY && odds[5] == -INFINITY && odds[2] == INFINITY);
  const double q[] = {0.5, 0.25, 0.25};
  gpc_log_odds(1, 3, q, 0, 1, odds);
  CHECK(odds[0] == 0.0);
  CHECK_NEAR(odds[1], -log(3.0), 1e-15);
}

/* Beta with a = b = 1 and c = 0, and Platt on log-odds with slope 1, are the identity. */
static void identity(size_t n, size_t k) {
  double *z = malloc(3 * n * k * sizeof *z), *p = z + n * k, *v = p + n * k;
  double *coef = malloc(5 * k * sizeof *coef), *range = coef + 3 * k;
  for (size_t i = 0; i < n * k; i++)
    z[i] = 8.0 * (gpc_stream_uniform(50 + k, i) - 0.5);
  for (size_t j = 0; j < k; j++) {
    coef[3 * j] = coef[3 * j + 1] = 1.0;
    coef[3 * j + 2] = 0.0;
    range[2 * j] = -1e308;
    range[2 * j + 1] = 1e308;
  }
  gpc_softmax(n, k, z, 1.0, -INFINITY, 1, p);
  gpc_ova beta = {0}, platt = {0};
  beta.kind = GPC_MAP_BETA;
  beta.maps = k == 2 ? 1 : k;
  beta.coef = coef;
  beta.clip = 1e-16;
  for (int logits = 0; logits < 2; logits++) {
    gpc_ova_predict(&beta, n, k, logits ? z : p, logits, 1, NULL, NULL, v);
    double worst = 0.0;
    for (size_t i = 0; i < n * k; i++)
      worst = fmax(worst, fabs(v[i] - p[i]));
    CHECK_NEAR(worst, 0.0, 1e-14);
  }
  for (size_t j = 0; j < k; j++) {
    coef[2 * j] = 1.0;
    coef[2 * j + 1] = 0.0;
  }
  platt.kind = GPC_MAP_PLATT;
  platt.maps = beta.maps;
  platt.coef = coef;
  platt.range = range;
  platt.log_odds = 1;
  for (int logits = 0; logits < 2; logits++)
    for (int threads = 1; threads < 4; threads++) {
      gpc_ova_predict(&platt, n, k, logits ? z : p, logits, threads, NULL, NULL, v);
      double worst = 0.0;
      for (size_t i = 0; i < n * k; i++)
        worst = fmax(worst, fabs(v[i] - p[i]));
      CHECK_NEAR(worst, 0.0, 1e-14);
    }
  free(z);
  free(coef);
}

/* Steps at 1/2 for three classes: rows without any class keep what they were. */
static void rows_of_nothing(void) {
  const double x[] = {.45, 1, .45, 1, .45, 1}, y[] = {0, 1, 0, 1, 0, 1};
  const int start[] = {0, 2, 4, 6};
  gpc_ova steps = {GPC_MAP_CURVE, 3, GPC_CURVE_UPTO, x, y, start, NULL, NULL, 0.0, 0};
  const double p[] = {.4, .6, .5, .3, .3, .5, .3, .1, 0};
  double v[9];
  gpc_ova_predict(&steps, 3, 3, p, 0, 1, NULL, NULL, v);
  CHECK(v[0] == .4 && v[3] == .3 && v[6] == .3);
  CHECK(v[1] == 1 && v[4] == 0 && v[7] == 0);
  CHECK(v[2] == .5 && v[5] == .5 && v[8] == 0);
  const double z[] = {log(.4) + 9, log(.3) + 9, log(.3) + 9};
  gpc_ova_predict(&steps, 1, 3, z, 1, 1, NULL, NULL, v);
  CHECK_NEAR(v[0], .4, 1e-15);
  CHECK_NEAR(v[2], .3, 1e-15);
  gpc_ova one = steps;
  one.maps = 1;
  const double pair[] = {.7, .2, .3, .8};
  gpc_ova_predict(&one, 2, 2, pair, 0, 1, NULL, NULL, v);
  CHECK(v[0] == 1 && v[2] == 0 && v[1] == 0 && v[3] == 1);
}

/* Rounding of log-odds of 1e9 moves probabilities: both classes must agree all the same. (Found by
 * fuzz_maps.) Next to 0 the digits of the smaller one are kept. */
static void steep_pair(void) {
  const double steep[3] = {1926740.6236549693, 910474697.06034112, -629757454.40758908};
  const double plain[3] = {2.0, 3.0, -40.0}, z[4] = {-8.0, 0.25, -8.0, 0.75};
  double p[4];
  gpc_ova ova = {GPC_MAP_BETA, 1,    GPC_CURVE_LINEAR, NULL, NULL, NULL,
                 steep,        NULL, 0x1p-52,          0};
  gpc_ova_predict(&ova, 2, 2, z, 1, 1, NULL, NULL, p);
  CHECK(fabs(p[0] + p[2] - 1.0) < 1e-15 && fabs(p[1] + p[3] - 1.0) < 1e-15);
  ova.coef = plain;
  gpc_ova_predict(&ova, 2, 2, z, 0, 1, NULL, NULL, p);
  CHECK_REL(p[3], exp(2.0 * log(0.75) - 3.0 * log(0.25) - 40.0), 1e-12);
  CHECK(p[1] >= 1.0 - 1e-15);
}

int main(void) {
  const size_t rows[] = {1, 7, 600}, columns[] = {2, 3, 40};
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) {
      log_odds(rows[a], columns[b], 10.0);
      log_odds(rows[a], columns[b], 1e4);
      identity(rows[a], columns[b]);
    }
  log_odds_edges();
  rows_of_nothing();
  steep_pair();
  return CTEST_END();
}
