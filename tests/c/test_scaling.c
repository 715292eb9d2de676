/* test_scaling.c: logistic regression, Platt scaling and beta calibration: the score
 * equations hold at the answer, known values, separated and degenerate data. */
#include "ctest.h"
#include "resample.h"
#include "scaling.h"
#include <stdlib.h>

enum { N = 1500 };
static double score[N], rest[N], weights[N];
static int label[N];

static void draw(size_t n, uint64_t stream) {
  for (size_t i = 0; i < n; i++) {
    double s = 6.0 * gpc_stream_uniform(stream, 3 * i) - 3.0;
    score[i] = 1.0 / (1.0 + exp(-s));
    rest[i] = 1.0 - score[i];
    double p = 1.0 / (1.0 + exp(-(0.7 * s + 0.3)));
    label[i] = 1 + (gpc_stream_uniform(stream, 3 * i + 1) < p);
    weights[i] = 2.0 * gpc_stream_uniform(stream, 3 * i + 2);
  }
}

/* sum w (t - p) f for f = 1, f1, f2, relative to sum w |f|. */
static void check_equations(size_t n, const double *w, double high, double low,
                            const double *f1, const double *f2, const double *coef,
                            double intercept) {
  double sum[3] = {0.0}, size = 0.0;
  for (size_t i = 0; i < n; i++) {
    double eta = intercept + coef[0] * f1[i] + (f2 ? coef[1] * f2[i] : 0.0);
    double r =
        (w ? w[i] : 1.0) * ((label[i] == 2 ? high : low) - 1.0 / (1.0 + exp(-eta)));
    sum[0] += r;
    sum[1] += r * f1[i];
    sum[2] += f2 ? r * f2[i] : 0.0;
    size += fabs(r) * (1.0 + fabs(f1[i]));
  }
  for (int a = 0; a < 3; a++)
    CHECK_NEAR(sum[a] / size, 0.0, 1e-11);
}

static void platt(void) {
  gpc_logistic_result r;
  for (int weighted = 0; weighted < 2; weighted++)
    for (int smoothed = 0; smoothed < 2; smoothed++) {
      draw(N, 7);
      gpc_one one = {N, score, label, 2, weighted ? weights : NULL};
      CHECK(gpc_platt_fit(&one, smoothed, 1e-6, 100, &r) == GPC_OK);
      double hits = 0.0, others = 0.0;
      for (size_t i = 0; i < N; i++)
        *(label[i] == 2 ? &hits : &others) += weighted ? weights[i] : 1.0;
      check_equations(N, one.weights, smoothed ? (hits + 1) / (hits + 2) : 1.0,
                      smoothed ? 1 / (others + 2) : 0.0, score, NULL, r.coef, r.coef[1]);
      CHECK(r.se[0] > 0.0 && r.se[1] > 0.0 && r.iterations < 12);
      /* scores of another size and place: the same map */
      double far[N];
      for (size_t i = 0; i < N; i++)
        far[i] = 1e6 * (score[i] + 5.0);
      gpc_one moved = {N, far, label, 2, one.weights};
      gpc_logistic_result m;
      CHECK(gpc_platt_fit(&moved, smoothed, 1e-6, 100, &m) == GPC_OK);
      CHECK_REL(m.coef[0] * 1e6, r.coef[0], 1e-8);
      CHECK_REL(m.coef[1] + 5e6 * m.coef[0], r.coef[1], 1e-6);
      CHECK_REL(m.log_lik, r.log_lik, 1e-9);
    }
  /* libsvm by way of scikit-learn: A = -0.202614, B = 0.652363 for 1 / (1 + exp(A F + B))
   */
  const double f[] = {5, -4, 1};
  const int y[] = {2, 1, 1};
  gpc_one svm = {3, f, y, 2, NULL};
  CHECK(gpc_platt_fit(&svm, 1, 1e-6, 100, &r) == GPC_OK);
  CHECK_NEAR(r.coef[0], 0.202614, 1e-5);
  CHECK_NEAR(r.coef[1], -0.652363, 1e-5);
}

static double mean_confidence(size_t n, const double *x, const double *coef) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) {
    double p = 1.0 / (1.0 + exp(-(coef[0] * x[i] + coef[1])));
    sum += fmax(p, 1.0 - p) / (double)n;
  }
  return sum;
}

static void separated(void) {
  gpc_logistic_result r;
  const double x[] = {0.1, 0.2, 0.4, 0.6, 0.7, 0.9};
  const int up[] = {1, 1, 1, 2, 2, 2}, down[] = {2, 2, 2, 1, 1, 1};
  gpc_one one = {6, x, up, 2, NULL};
  CHECK(gpc_platt_fit(&one, 0, 1e-6, 100, &r) == GPC_AT_UPPER);
  CHECK(r.coef[0] > 0.0);
  CHECK_NEAR(mean_confidence(6, x, r.coef), 7.0 / 8.0, 1e-8);
  CHECK(gpc_platt_fit(&one, 1, 1e-6, 100, &r) == GPC_OK);
  one.label = down;
  CHECK(gpc_platt_fit(&one, 0, 1e-6, 100, &r) == GPC_AT_UPPER);
  CHECK(r.coef[0] < 0.0);
  /* a tie at the border: it keeps its frequency, 1 of 3 */
  const double tied[] = {0.1, 0.5, 0.5, 0.5, 0.7, 0.9};
  const int mixed[] = {1, 1, 1, 2, 2, 2};
  gpc_one border = {6, tied, mixed, 2, NULL};
  CHECK(gpc_platt_fit(&border, 0, 1e-6, 100, &r) == GPC_AT_UPPER);
  CHECK_NEAR(mean_confidence(6, tied, r.coef), 7.0 / 8.0 * 5.0 / 6.0, 1e-8);
  /* equal scores */
  const double same[] = {3, 3, 3, 3};
  const int any[] = {1, 2, 2, 2};
  gpc_one flat = {4, same, any, 2, NULL};
  CHECK(gpc_platt_fit(&flat, 0, 1e-6, 100, &r) == GPC_FLAT);
  CHECK(r.coef[0] == 0.0);
  CHECK_NEAR(r.coef[1], log(3.0), 1e-14);
}

static void beta(void) {
  double work[2 * N], f1[N], f2[N];
  gpc_logistic_result r;
  for (int weighted = 0; weighted < 2; weighted++) {
    draw(N, 8);
    gpc_one one = {N, score, label, 2, weighted ? weights : NULL};
    for (size_t i = 0; i < N; i++) {
      f1[i] = log(score[i]);
      f2[i] = -log(rest[i]);
    }
    CHECK(gpc_beta_fit(&one, rest, GPC_BETA_ABM, 1e-16, 1e-6, 100, work, &r) == GPC_OK);
    CHECK(r.coef[0] > 0.0 && r.coef[1] > 0.0);
    check_equations(N, one.weights, 1.0, 0.0, f1, f2, r.coef, r.coef[2]);
    CHECK(gpc_beta_fit(&one, rest, GPC_BETA_AM, 1e-16, 1e-6, 100, work, &r) == GPC_OK);
    CHECK(r.coef[0] == r.coef[1]);
    double odds[N];
    for (size_t i = 0; i < N; i++)
      odds[i] = f1[i] + f2[i];
    check_equations(N, one.weights, 1.0, 0.0, odds, NULL, r.coef, r.coef[2]);
    CHECK(gpc_beta_fit(&one, rest, GPC_BETA_AB, 1e-16, 1e-6, 100, work, &r) == GPC_OK);
    CHECK_NEAR(r.coef[2], (r.coef[0] - r.coef[1]) * log(2.0), 1e-14);
  }
  /* labels turned around: no term is left, and the rate is all there is */
  size_t events = 0;
  for (size_t i = 0; i < N; i++)
    events += (label[i] = 3 - label[i]) == 2;
  gpc_one turned = {N, score, label, 2, NULL};
  for (int params = 0; params < 2; params++) {
    gpc_beta_fit(&turned, rest, (gpc_beta_params)params, 1e-16, 1e-6, 100, work, &r);
    CHECK(r.coef[0] == 0.0 && r.coef[1] == 0.0);
    CHECK_NEAR(r.coef[2], log((double)events / (double)(N - events)), 1e-9);
  }
  gpc_beta_fit(&turned, rest, GPC_BETA_AB, 1e-16, 1e-6, 100, work, &r);
  CHECK(r.coef[0] == 0.0 && r.coef[1] == 0.0 && r.coef[2] == 0.0);
  /* separated, and zeros and ones */
  const double x[] = {0, 0, 0.2, 0.7, 1, 1}, q[] = {1, 1, 0.8, 0.3, 0, 0};
  const int y[] = {1, 1, 1, 2, 2, 2}, z[] = {1, 2, 1, 2, 1, 2};
  gpc_one hard = {6, x, y, 2, NULL};
  CHECK(gpc_beta_fit(&hard, q, GPC_BETA_ABM, 1e-16, 1e-6, 100, work, &r) == GPC_AT_UPPER);
  CHECK(r.coef[0] >= 0.0 && r.coef[1] >= 0.0 && isfinite(r.coef[2]));
  hard.label = z;
  gpc_beta_fit(&hard, q, GPC_BETA_ABM, 1e-16, 1e-6, 100, work, &r);
  CHECK(r.coef[0] >= 0.0 && r.coef[1] >= 0.0 && isfinite(r.coef[2]));
}

static void infinite(void) {
  double x[] = {-INFINITY, 2.0, -1.0, INFINITY}, range[2];
  gpc_bound_infinite(4, NULL, 36.0, x, range); /* few finite ones: odds of N + 1 */
  CHECK(range[0] == -log(5.0) && range[1] == 2.0 && x[0] == -log(5.0) && x[3] == 2.0);
  double none[] = {INFINITY, -INFINITY};
  gpc_bound_infinite(2, NULL, 36.0, none, range);
  CHECK_NEAR(none[0], log(3.0), 1e-15);
  CHECK(none[1] == -none[0]);
  double many[12] = {-INFINITY, -9.0}, w[12];
  for (int i = 0; i < 12; i++) {
    many[i] = i < 2 ? many[i] : 0.1 * i;
    w[i] = i != 1;
  }
  gpc_bound_infinite(12, w, 36.0, many, range); /* a row of weight 0 is not there */
  CHECK(many[0] == 0.2 && range[0] == 0.2 && range[1] == 36.0);
}

int main(void) {
  platt();
  separated();
  beta();
  infinite();
  return CTEST_END();
}
