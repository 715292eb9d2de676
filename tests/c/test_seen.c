/* test_seen.c: counting scores, the rows that stand for all, and their temperature, on
 * cases worked by hand or by another road. */
#include "ctest.h"
#include "own_rows.h"
#include "seen.h"
#include "temperature.h"
#include <stdlib.h>

static void count(const gpc_gp_data *data, int logs, double low, double high, size_t bins,
                  size_t rows, double *truth, double *other) {
  gpc_seen_count(data, logs, rows, low, high, bins, truth, other);
}

static void counting(void) {
  /* rows (0, 4), (1, 2), (-9, 3), (5, 2); true classes 2, 1, 1, 2 */
  const double z[] = {0, 1, -9, 5, 4, 2, 3, 2};
  const int label[] = {2, 1, 1, 2};
  gpc_gp_data data = {4, 2, z, NULL, -INFINITY, label, NULL, 1};
  double truth[6], other[6];
  count(&data, 0, 0.0, 4.0, 4, 4, truth, other);
  const double t[] = {1, 0, 1, 1, 1, 0}, o[] = {0, 1, 0, 1, 1, 1};
  for (int i = 0; i < 6; i++) {
    CHECK_NEAR(truth[i], t[i], 0.0); /* 4, the upper edge, is in the last bin */
    CHECK_NEAR(other[i], o[i], 0.0);
  }
  /* weights, a floor, and a shift that moves each row */
  const double w[] = {2, 0, 1, 0.5}, shift[] = {0, 0, -1, 1};
  data.w = w;
  data.shift = shift;
  data.floor = -1.0;
  count(&data, 0, 0.0, 4.0, 4, 4, truth, other);
  const double tw[] = {0, 1, 0.5, 0, 2, 0}, ow[] = {0, 2, 0, 0, 1.5, 0};
  for (int i = 0; i < 6; i++) {
    CHECK_NEAR(truth[i], tw[i], 0.0);
    CHECK_NEAR(other[i], ow[i], 0.0);
  }
  /* rows 0 and 2 stand for the others' scores */
  data.w = data.shift = NULL;
  data.floor = -INFINITY;
  count(&data, 0, 0.0, 4.0, 4, 2, truth, other);
  CHECK_NEAR(other[1] + other[4], 2.0, 0.0);
  /* logarithms, and no width at all */
  const double p[] = {0.5, 1.0, 0.25, 0.125, 0.5, 1.0, 0.75, 0.875};
  data.z = p;
  count(&data, 1, log(0.125), 0.0, 3, 4, truth, other);
  CHECK_NEAR(truth[0] + truth[4], 0.0, 0.0);
  CHECK_NEAR(truth[1] + truth[2] + truth[3], 4.0, 0.0);
  count(&data, 0, 0.5, 0.5, 3, 4, truth, other);
  CHECK_NEAR(truth[1], 1.0, 0.0);
}

static void spreading(void) {
  for (size_t n = 1; n < 40; n++)
    for (size_t rows = 1; rows <= n; rows++) {
      int rises = 1;
      for (size_t i = 1; i < rows; i++)
        rises &= gpc_sample_row(n, rows, i) > gpc_sample_row(n, rows, i - 1);
      CHECK(rises && gpc_sample_row(n, rows, 0) == 0 &&
            gpc_sample_row(n, rows, rows - 1) < n);
    }
}

static void warmth(void) {
  enum { N = 60, K = 3 };
  double z[N * K];
  int label[N], copy[N];
  unsigned state = 1;
  for (int i = 0; i < N * K; i++) {
    state = state * 1664525u + 1013904223u;
    z[i] = 6.0 * (state >> 8) / 16777216.0 - 3.0;
  }
  for (int i = 0; i < N; i++) { /* mostly the largest score */
    int best = z[i] > z[N + i] ? 0 : 1;
    best = z[2 * N + i] > z[best * N + i] ? 2 : best;
    label[i] = 1 + (i % 4 == 0 ? (best + 1) % K : best);
  }
  gpc_gp_data data = {N, K, z, NULL, -INFINITY, label, NULL, 1};
  gpc_temperature_data plain = {N, K, z, label, NULL, -INFINITY, 1};
  gpc_temperature_result want;
  double *work = malloc(gpc_temperature_work(N, K) * sizeof(double));
  gpc_status status =
      gpc_temperature_fit(&plain, 0.0, 1e-10, 100, NULL, NULL, work, &want);
  CHECK(status == GPC_OK);
  double beta, error, scores[N * K], w[N];
  gpc_sample sample = {N, K, scores, w, copy};
  gpc_sample_gather(&data, 0, &sample);
  CHECK(gpc_sample_temperature(&sample, 0.5, 4.0 * N, 1, NULL, NULL, work, &beta,
                               &error) == GPC_OK);
  CHECK_REL(beta, want.beta, 1e-3);
  /* four times the rows: half the error */
  CHECK_REL(error, 0.5 / (want.beta * sqrt(want.curvature)), 2e-3);
  double none[N] = {0};
  data.w = none;
  gpc_sample_gather(&data, 0, &sample);
  CHECK(gpc_sample_temperature(&sample, 0.0, 0.0, 1, NULL, NULL, work, &beta, &error) ==
        GPC_FLAT);
  CHECK(isnan(error));
  free(work);
}

/* Three rows of weights 1, 2, 1 and one of none that would lose without end. */
static void own_rows(void) {
  const double p[8] = {0.8, 0.5, 0.4, 0.0, 0.2, 0.5, 0.6, 1.0};
  const double z[8] = {2.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 9.0};
  const double top[4] = {2.0, 1.0, 1.0, 9.0}, share[4] = {0.25, 0.5, 0.25, 0.0};
  const int label[4] = {1, 2, 2, 1};
  double loss[2], observed[2], predicted[2], variance[2], before[2], total[4];
  gpc_own_sums out = {.loss = loss,
                      .observed = observed,
                      .predicted = predicted,
                      .variance = variance,
                      .before = before,
                      .total = total};
  gpc_own_rows(4, 2, p, z, top, label, share, 1, &out);
  const double soft = log(1.0 + exp(-1.0));
  CHECK_REL(loss[0], 0.25 * soft + 0.5 * soft + 0.25 * log(2.0), 1e-12);
  CHECK_REL(loss[1], -0.25 * log(0.8) - 0.5 * log(0.5) - 0.25 * log(0.6), 1e-12);
  CHECK_REL(observed[0], 0.25, 1e-12);
  CHECK_REL(observed[1], 0.75, 1e-12);
  CHECK_REL(predicted[0], 0.2 + 0.25 + 0.1, 1e-12);
  CHECK_REL(predicted[1], 0.05 + 0.25 + 0.15, 1e-12);
  CHECK_REL(variance[1], (0.16 + 4.0 * 0.25 + 0.24) / 16.0, 1e-12);
  const double less = exp(-1.0) / (1.0 + exp(-1.0));
  CHECK_REL(total[0], 1.0 + exp(-1.0), 1e-12);
  CHECK_REL(total[2], 2.0, 1e-12);
  CHECK_REL(before[0], 0.25 * (1.0 - less) + 0.5 * less + 0.25 * 0.5, 1e-12);
  CHECK_REL(before[1], 0.25 * less + 0.5 * (1.0 - less) + 0.25 * 0.5, 1e-12);
  const double first[4] = {0.5, 0.5, 0.5, 0.5}; /* as probabilities */
  gpc_own_rows(2, 2, p, first, top, label, share, 0, &out);
  CHECK_REL(total[0], 1.0, 1e-12);
  CHECK_REL(before[1], 0.375, 1e-12);
  CHECK_REL(loss[0], 0.75 * log(2.0), 1e-12);
}

int main(void) {
  own_rows();
  counting();
  spreading();
  warmth();
  return CTEST_END();
}
