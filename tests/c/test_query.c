/* test_query.c: what labels tell (gp_query.h): two classes against a sum over a fine grid
 * of log-odds, the update of S by hand, three classes without memory errors. */
#include "cmemory.h"
#include "ctest.h"
#include "gp_query.h"

#include <math.h>

#define M 3
#define X (M + 1) /* with the slope */

static double entropy(double p) {
  return p > 0.0 && p < 1.0 ? -p * log(p) - (1.0 - p) * log1p(-p) : 0.0;
}

/* H(E p) - E H(p) and E p (1 - p), p = 1/(1 + exp(-d)), d ~ N(mean, var) */
static double brute(double mean, double var, double *weight) {
  double p1 = 0.0, h = 0.0;
  *weight = 0.0;
  for (int i = -40000; i <= 40000; i++) {
    const double u = 9.0 * i / 40000.0;
    const double mass =
        9.0 / 40000.0 * exp(-0.5 * u * u) / sqrt(2.0 * 3.14159265358979324);
    const double p = 1.0 / (1.0 + exp(-(mean + sqrt(var) * u)));
    p1 += mass * p;
    h += mass * entropy(p);
    *weight += mass * p * (1.0 - p);
  }
  return entropy(p1) - h;
}

static gpc_query make_query(const gpc_gp_data *data, double *chol, const double *w,
                            const double *mean, const double *cov) {
  const int wanted[GPC_BLOCKS] = {0};
  gpc_query query = {
      .fit = {.process = {.basis = {.m = M,
                                    .inducing = w,
                                    .hyper = {1.5, 1.2, 1e-6},
                                    .chol = chol},
                          .prior = {.mean = GPC_MEAN_LINEAR, .slope = 0.8},
                          .q_mean = mean},
              .features = gpc_features_make(data->k, wanted, 1.0, 1.0, -4.0, 4.0),
              .slopes = 1,
              .cov = cov},
      .data = data};
  CHECK(gpc_basis_factor(&query.fit.process.basis) == GPC_OK);
  return query;
}

int main(void) {
  const double w[M] = {-2, 0, 2}, mean[M] = {0.3, -0.5, 0.2};
  double cov[X * X], chol[M * M], after[X * X];
  for (int i = 0; i < X; i++)
    for (int j = 0; j < X; j++)
      cov[i + X * j] = (i == j ? 0.6 : 0.0) + 0.2 / (1 + i + j);
  const double z2[6] = {-1, -0.2, 2, 1, 0.2, -2}; /* 3 x 2 */
  gpc_gp_data data = {.n = 3, .k = 2, .z = z2, .floor = -100.0, .threads = 1};
  gpc_query query = make_query(&data, chol, w, mean, cov);
  double got[3], gain[3], x[3][X], weight[3], value[3];
  CHECK(gpc_query_information(&query, &cmemory, NULL, NULL, got) == GPC_OK);
  for (int i = 0; i < 3; i++) {
    const double at[2] = {z2[i], z2[i + 3]};
    double a[2 * M], rho[2], d = 0.8 * (at[1] - at[0]), var = 0.0;
    gpc_basis_eval(&query.fit.process.basis, 2, at, a, rho);
    for (int q = 0; q < M; q++) {
      x[i][q] = a[1 + 2 * q] - a[2 * q];
      d += x[i][q] * mean[q];
    }
    x[i][M] = at[1] - at[0];
    for (int p = 0; p < X; p++)
      for (int q = 0; q < X; q++)
        var += x[i][p] * cov[p + X * q] * x[i][q];
    value[i] = brute(d, var, &weight[i]);
    CHECK_NEAR(got[i], value[i], 1e-7);
  }
  size_t chosen[3], best = 0;
  CHECK(gpc_query_greedy(&query, 1, &cmemory, NULL, NULL, chosen, gain, after) == GPC_OK);
  for (size_t i = 1; i < 3; i++)
    if (value[i] > value[best])
      best = i;
  CHECK(chosen[0] == best);
  /* S - S x x'S w / (1 + w x'S x) */
  double sx[X] = {0}, xsx = 0.0;
  for (int p = 0; p < X; p++) {
    for (int q = 0; q < X; q++)
      sx[p] += cov[p + X * q] * x[best][q];
    xsx += x[best][p] * sx[p];
  }
  for (int p = 0; p < X; p++)
    for (int q = 0; q < X; q++)
      CHECK_NEAR(after[p + X * q],
                 cov[p + X * q] -
                     sx[p] * sx[q] * weight[best] / (1.0 + weight[best] * xsx),
                 1e-7);
  CHECK(gpc_query_greedy(&query, 3, &cmemory, NULL, NULL, chosen, gain, NULL) == GPC_OK);
  CHECK(chosen[0] + chosen[1] + chosen[2] == 3);
  CHECK(gain[0] >= gain[1] && gain[1] >= gain[2] && gain[2] > 0.0);

  /* three classes, and more than X, without a label's information below 0 */
  for (size_t k = 3; k <= 7; k += 4) {
    double z[28], tell[4];
    for (size_t i = 0; i < 4 * k; i++)
      z[i] = sin(3.0 * (double)i);
    gpc_gp_data more = {.n = 4, .k = k, .z = z, .floor = -100.0, .threads = 1};
    query = make_query(&more, chol, w, mean, cov);
    CHECK(gpc_query_information(&query, &cmemory, NULL, NULL, tell) == GPC_OK);
    size_t rows[4];
    double told[4];
    CHECK(gpc_query_greedy(&query, 4, &cmemory, NULL, NULL, rows, told, NULL) == GPC_OK);
    for (int i = 0; i < 4; i++)
      CHECK(tell[i] > 0.0 && told[i] <= tell[rows[i]] + 1e-12 && told[i] > 0.0);
  }
  cmemory_end();
  return CTEST_END();
}
