/* test_workbench.c: what compares and tests forecasts: row scores, Murphy curves, the
 * smooth error, class frequencies, recalibration, Venn-Abers pairs, kernel errors. */
#include "ctest.h"
#include "calibtest.h"
#include "prior.h"
#include "radix.h"
#include "recal.h"
#include "resample.h"
#include "rowscores.h"
#include "smece.h"
#include "venn.h"
#include <stdlib.h>

#define N 60
#define K 3

static double p[N * K];
static int label[N];

/* Rows of probabilities, some with a zero, and labels that are possible. */
static void fill(uint64_t stream) {
  double cumulative[N * K];
  for (size_t i = 0; i < N; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < K; j++)
      sum += p[i + j * N] =
          i % 7 == 0 && j == 2 ? 0.0 : gpc_stream_uniform(stream, i * K + j);
    for (size_t j = 0; j < K; j++)
      p[i + j * N] /= sum;
  }
  gpc_cumulate_rows(N, K, p, cumulative);
  gpc_draw_labels(N, K, cumulative, stream + 1, label);
  for (size_t i = 0; i < N; i++)
    CHECK(label[i] >= 1 && label[i] <= K && p[i + ((size_t)label[i] - 1) * N] > 0.0);
}

static void row_scores(void) {
  double loss[N], brier[N], rps[N];
  gpc_row_scores(N, K, p, label, 0.0, loss, brier, rps, NULL, NULL);
  for (size_t i = 0; i < N; i++) {
    double b = 0.0, r = 0.0, below = 0.0;
    for (size_t j = 0; j < K; j++) {
      const double q = p[i + j * N];
      b += (q - (label[i] == (int)j + 1)) * (q - (label[i] == (int)j + 1));
      below += q;
      if (j + 1 < K)
        r += (below - (label[i] <= (int)j + 1)) * (below - (label[i] <= (int)j + 1));
    }
    CHECK_NEAR(brier[i], b, 1e-14);
    CHECK_NEAR(rps[i], r, 1e-14);
    CHECK_NEAR(loss[i], -log(p[i + ((size_t)label[i] - 1) * N]), 1e-14);
  }
}

static void murphy(void) {
  double y[N], theta[5] = {0.0, 0.2, p[N + 3], 0.7, 1.0}, mean[5], left[5];
  for (size_t i = 0; i < N; i++)
    y[i] = label[i] == 2;
  void *work = malloc(gpc_murphy_work(N));
  gpc_murphy(N, p + N, y, NULL, 5, theta, mean, left, work);
  for (size_t m = 0; m < 5; m++) {
    double right = 0.0, before = 0.0;
    for (size_t i = 0; i < N; i++) {
      const double x = p[N + i], t = theta[m];
      right += y[i] == 0.0 ? 2 * t * (x > t) : 2 * (1 - t) * (x <= t);
      before += y[i] == 0.0 ? 2 * t * (x >= t) : 2 * (1 - t) * (x < t);
    }
    CHECK_NEAR(mean[m], right / N, 1e-14);
    CHECK_NEAR(left[m], before / N, 1e-14);
  }
  free(work);
}

/* Every kernel with its images, on a fine grid. */
static double slow_smooth(const double *x, const double *r, double sigma) {
  const int points = 4000;
  double area = 0.0;
  for (int t = 0; t <= points; t++) {
    double sum = 0.0, at = (double)t / points;
    for (size_t i = 0; i < N; i++)
      for (int m = -4; m <= 4; m++) {
        const double a = (at - x[i] - 2 * m) / sigma, b = (at + x[i] - 2 * m) / sigma;
        sum += r[i] * (exp(-0.5 * a * a) + exp(-0.5 * b * b));
      }
    area += (t == 0 || t == points ? 0.5 : 1.0) * fabs(sum);
  }
  return area / points / (N * sigma * sqrt(2 * M_PI));
}

static void smooth(void) {
  double r[N], *work = malloc(gpc_smece_work(GPC_SMECE_LEAST) * sizeof(double));
  gpc_smece_result result;
  for (size_t i = 0; i < N; i++)
    r[i] = (label[i] == 2) - p[N + i];
  CHECK_REL(gpc_smece_error(N, p + N, r, N, 0.05, work), slow_smooth(p + N, r, 0.05),
            1e-4);
  CHECK_REL(gpc_smece_error(N, p + N, r, N, 0.5, work), slow_smooth(p + N, r, 0.5), 1e-4);
  gpc_smece_error(N, p + N, r, N, GPC_SMECE_LEAST, work); /* stays in its work space */
  gpc_smece_error(N, p + N, r, N, GPC_SMECE_MOST, work);
  CHECK(gpc_smece_ece(N, p + N, r, N, 1e-7, work, NULL, NULL, &result) == GPC_OK);
  CHECK_REL(result.error, result.sigma, 1e-6);
  free(work);
  double *own = malloc(gpc_smece_work(0.3) * sizeof(double)); /* as much as it asks for */
  gpc_smece_error(N, p + N, r, N, 0.3, own);
  free(own);
}

static void prior(void) {
  const double from[K] = {0.2, 0.5, 0.3};
  double pi[K], q[N * K], ratio[K] = {1.0, 2.0, 0.5}, work[N + 2 * K], mean[K] = {0.0};
  gpc_prior_result result;
  CHECK(gpc_prior_apply(N, K, p, ratio, q) == 0);
  CHECK_REL(q[5] / q[5 + N], 0.5 * p[5] / p[5 + N], 1e-13);
  CHECK(gpc_prior_em(N, K, p, from, 1e-10, 100000, pi, work, &result, NULL, NULL) ==
        GPC_OK);
  CHECK_NEAR(pi[0] + pi[1] + pi[2], 1.0, 1e-12);
  CHECK(result.gain >= 0.0 && result.gap <= 1e-10);
  /* a fixed point: the mean of the corrected probabilities */
  for (size_t j = 0; j < K; j++)
    ratio[j] = pi[j] / from[j];
  gpc_prior_apply(N, K, p, ratio, q);
  for (size_t j = 0; j < K; j++) {
    for (size_t i = 0; i < N; i++)
      mean[j] += q[i + j * N] / N;
    CHECK_NEAR(mean[j], pi[j], 1e-4);
  }
  CHECK(gpc_prior_em(N, K, p, from, 1e-14, 1, pi, work, &result, NULL, NULL) ==
        GPC_NOT_CONVERGED);
  double dead[2 * 2] = {1.0, 0.5, 0.0, 0.5}; /* the first row has class 1 alone */
  const double none[2] = {0.0, 1.0};
  CHECK(gpc_prior_em(2, 2, dead, none, 1e-9, 10, pi, work, &result, NULL, NULL) ==
        GPC_NOT_FINITE);
  CHECK(gpc_prior_apply(2, 2, dead, none, q) == 1);
}

static double recal_lik(double b, double c2, double c3) {
  double sum = 0.0;
  for (size_t i = 0; i < N; i++) {
    const double e[K] = {0.0, c2, c3};
    double total = 0.0;
    for (size_t j = 0; j < K; j++)
      total += p[i + j * N] > 0.0 ? exp(b * log(p[i + j * N]) + e[j]) : 0.0;
    const size_t y = (size_t)label[i] - 1;
    sum += b * log(p[i + y * N]) + e[y] - log(total);
  }
  return sum;
}

static void recal(void) {
  double z[N * K], coef[K + 1], info[K * K],
      *work = malloc(gpc_coxrecal_work(K) * sizeof(double));
  gpc_coxrecal_result r;
  for (size_t i = 0; i < N * K; i++)
    z[i] = log(p[i]);
  CHECK(gpc_coxrecal_fit(N, K, z, label, 1e-12, 100, coef, work, &r, NULL, NULL) ==
        GPC_OK);
  CHECK_REL(r.null, recal_lik(1.0, 0.0, 0.0), 1e-12);
  const double b = coef[0], c2 = coef[2] - coef[1], c3 = coef[3] - coef[1];
  CHECK_REL(r.log_lik, recal_lik(b, c2, c3), 1e-12);
  for (int a = -1; a <= 1; a += 2) { /* a maximum */
    CHECK(recal_lik(b + 1e-3 * a, c2, c3) < r.log_lik);
    CHECK(recal_lik(b, c2 + 1e-3 * a, c3) < r.log_lik);
    CHECK(recal_lik(b, c2, c3 + 1e-3 * a) < r.log_lik);
  }
  gpc_coxrecal_information(N, K, z, info, work, NULL, NULL);
  double v = 0.0;
  for (size_t i = 0; i < N; i++)
    v += p[i + N] * (1.0 - p[i + N]);
  CHECK_REL(info[1 + K], v, 1e-12); /* of c_2: sum p (1 - p) */
  free(work);
}

/* max over a <= i of min over b >= i of the mean of groups a..b, one more row at i. */
static double min_max(size_t m, const double *h, const double *w, size_t i,
                      double extra) {
  double best = -INFINITY;
  for (size_t a = 0; a <= i; a++) {
    double least = INFINITY;
    for (size_t b = i; b < m; b++) {
      double hits = extra, weight = 1.0;
      for (size_t j = a; j <= b; j++) {
        hits += h[j];
        weight += w[j];
      }
      least = hits / weight < least ? hits / weight : least;
    }
    best = least > best ? least : best;
  }
  return best;
}

static void venn(size_t m, uint64_t stream) {
  double h[30], w[30], lower[30], upper[30];
  for (size_t i = 0; i < m; i++) {
    w[i] = 1.0 + floor(3.0 * gpc_stream_uniform(stream, 2 * i));
    h[i] = floor((w[i] + 1.0) * gpc_stream_uniform(stream, 2 * i + 1));
  }
  void *work = malloc(gpc_venn_work(m));
  gpc_venn_pair(m, h, w, lower, upper, work);
  for (size_t i = 0; i < m; i++) {
    CHECK_NEAR(upper[i], min_max(m, h, w, i, 1.0), 1e-14);
    CHECK_NEAR(lower[i], min_max(m, h, w, i, 0.0), 1e-14);
  }
  free(work);
}

static void kernel_error(void) {
  double kernel[N * (N - 1) / 2], cross[N * K], sum = 0.0, h[N / 2];
  gpc_skce skce = {N, K, kernel, cross, 0.0};
  gpc_skce_prepare(GPC_KERNEL_LAPLACE, 0.4, p, &skce, NULL, NULL);
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < i; j++) {
      double inner = 0.0, apart = 0.0;
      for (size_t c = 0; c < K; c++) {
        const double u = (label[i] == (int)c + 1) - p[i + c * N];
        const double v = (label[j] == (int)c + 1) - p[j + c * N];
        inner += u * v;
        apart += 0.5 * fabs(p[i + c * N] - p[j + c * N]);
      }
      sum += inner * exp(-apart / 0.4);
    }
  CHECK_NEAR(gpc_skce_quadratic(&skce, label), sum / (N * (N - 1) / 2), 1e-13);
  gpc_skce_pairs(GPC_KERNEL_GAUSSIAN, 0.4, N, K, p, label, h);
  CHECK(fabs(h[0]) <= 2.0);
}

static void miscalibration(void) {
  size_t groups[K];
  int group_of[N * K], start[N];
  double score[N * K], weight[N * K], hits[N], pooled[N];
  gpc_mcb mcb = {.groups = groups,
                 .group_of = group_of,
                 .score = score,
                 .weight = weight,
                 .hits = hits,
                 .pooled = pooled,
                 .start = start};
  void *work = malloc(gpc_radix_work(N) + (N + 1) * sizeof(int));
  gpc_mcb_prepare(N, K, p, &mcb, work);
  CHECK(gpc_mcb_value(&mcb, label) >= 0.0);
  /* a forecast that is its own frequency: nothing to gain */
  double flat[8] = {.5, .5, .5, .5, .5, .5, .5, .5};
  const int y[4] = {1, 2, 2, 1};
  gpc_mcb_prepare(4, 2, flat, &mcb, work);
  CHECK_NEAR(gpc_mcb_value(&mcb, y), 0.0, 1e-15);
  free(work);
}

int main(void) {
  fill(77);
  row_scores();
  murphy();
  smooth();
  prior();
  recal();
  for (uint64_t run = 0; run < 40; run++)
    venn(1 + run % 30, 500 + run);
  kernel_error();
  miscalibration();
  return CTEST_END();
}
