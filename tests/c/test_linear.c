/* linear_scaling.h: vector and matrix scaling against the objective written out slowly, its
 * differences, and a Newton search of its own. */
#include "cmemory.h"
#include "ctest.h"
#include "linalg.h"
#include "linear_scaling.h"

#define N 60
#define K 3
#define MOST (1 + K + K * K)

typedef struct {
  double z[N * K], u[N * K], w[N];
  int label[N], weighted, matrix;
  double ridge[2];
} problem;

/* Numbers in (-1, 1), the same everywhere. */
static double next(unsigned *seed) {
  *seed = *seed * 1103515245u + 12345u;
  return (double)(*seed >> 8) / (double)(1u << 23) - 1.0;
}

static void make(problem *p, unsigned seed) {
  for (int i = 0; i < N; i++) {
    p->label[i] = 1 + (i * 7 + i / 5) % K;
    p->w[i] = i % 4 == 0 ? 2.0 : i % 9 == 0 ? 0.0 : 0.7;
    for (int j = 0; j < K; j++)
      p->z[i + N * j] = (1.0 + 2.5 * j) * next(&seed) +
                        (p->label[i] == j + 1 ? 1.5 : 0.0) +
                        (j == 1 && p->label[i] == 1 ? 0.8 : 0.0);
  }
  gpc_linear_centre(N, K, p->z, -INFINITY, p->weighted ? p->w : NULL, p->u);
}

static gpc_linear_data data_of(const problem *p) {
  return (gpc_linear_data){
      .n = N, .k = K, .u = p->u, .label = p->label, .w = p->weighted ? p->w : NULL};
}

/* log-likelihood of eq. (40), term by term. */
static double log_lik(const problem *p, const double *theta) {
  double sum = 0.0;
  for (int i = 0; i < N; i++) {
    double f[K], total = 0.0;
    for (int k = 0; k < K; k++) {
      f[k] = theta[0] * p->u[i + N * k] + theta[1 + k];
      for (int j = 0; j < K; j++)
        f[k] += p->matrix ? theta[1 + K + K * k + j] * p->u[i + N * j]
                          : (j == k ? theta[1 + K + k] * p->u[i + N * k] : 0.0);
      total += exp(f[k]);
    }
    sum += (p->weighted ? p->w[i] : 1.0) * (f[p->label[i] - 1] - log(total));
  }
  return sum;
}

static double objective(const problem *p, const double *theta, const double *ridge,
                        size_t size) {
  double sum = log_lik(p, theta);
  for (size_t i = 1; i < size; i++)
    sum -= 0.5 * ridge[i > K] * theta[i] * theta[i];
  return sum;
}

/* Gradient g and curvature h (with its sign turned) by central differences. */
static void differences(const problem *p, const double *theta, const double *ridge,
                        size_t size, double *g, double *h) {
  const double step = 1e-4;
  double at[MOST];
  memcpy(at, theta, size * sizeof(double));
  for (size_t i = 0; i < size; i++)
    for (size_t j = 0; j <= i; j++) {
      double value[4];
      for (int s = 0; s < 4; s++) {
        memcpy(at, theta, size * sizeof(double));
        at[i] += s & 1 ? step : -step;
        at[j] += s & 2 ? step : -step;
        value[s] = objective(p, at, ridge, size);
      }
      h[i + size * j] = h[j + size * i] =
          -(value[3] - value[2] - value[1] + value[0]) / (4.0 * step * step);
      if (i == j)
        g[i] = (value[3] - value[0]) / (4.0 * step);
    }
}

static gpc_status fit(const problem *p, const double *ridge, int hold, double slope,
                      gpc_linear_result *result) {
  const gpc_linear_data data = data_of(p);
  const gpc_linear_settings settings = {.matrix = p->matrix,
                                        .slope = slope,
                                        .hold_slope = hold,
                                        .ridge = {ridge[0], ridge[1]},
                                        .tol = 1e-12,
                                        .max_passes = 200};
  return gpc_linear_fit(&data, &settings, &cmemory, result);
}

/* theta := the maximum of the objective, from 0, by Newton's method on the differences. */
static void slow(const problem *p, const double *ridge, size_t size, double *theta) {
  double g[MOST], h[MOST * MOST], step[MOST];
  memset(theta, 0, size * sizeof(double));
  for (int pass = 0; pass < 60; pass++) {
    differences(p, theta, ridge, size, g, h);
    for (size_t i = 0; i < size; i++)
      h[i + size * i] += 1e-9;
    CHECK(gpc_chol(size, 0.0, h) == GPC_OK);
    memcpy(step, g, sizeof step);
    gpc_solve_rows(1, size, h, step);
    gpc_solve_rows_t(1, size, h, step);
    double scale = 1.0, at[MOST];
    const double from = objective(p, theta, ridge, size);
    for (int half = 0; half < 30; half++, scale *= 0.5) {
      for (size_t i = 0; i < size; i++)
        at[i] = theta[i] + scale * step[i];
      if (objective(p, at, ridge, size) >= from)
        break;
    }
    memcpy(theta, at, size * sizeof(double));
  }
}

/* With given ridges: the optimum, its gradient, S and the evidence. */
static void test_given(int matrix, int weighted) {
  problem p = {.matrix = matrix, .weighted = weighted};
  const double ridge[2] = {0.8, 2.5};
  const size_t size = gpc_linear_size(K, matrix);
  gpc_linear_result r;
  double g[MOST], h[MOST * MOST], theta[MOST];
  CHECK(size == (size_t)(matrix ? MOST : 1 + 2 * K));
  make(&p, 5u + (unsigned)matrix);
  CHECK(fit(&p, ridge, 0, 1.0, &r) == GPC_OK);
  differences(&p, r.theta, ridge, size, g, h);
  for (size_t i = 0; i < size; i++)
    CHECK(fabs(g[i]) < 1e-5);
  slow(&p, ridge, size, theta);
  for (size_t i = 0; i < size; i++)
    CHECK(fabs(theta[i] - r.theta[i]) < 1e-4);
  CHECK(fabs(log_lik(&p, r.theta) - r.log_lik) < 1e-9 * fabs(r.log_lik));
  CHECK(r.ridge[0] == ridge[0] && r.ridge[1] == ridge[1]);
  double trace = 0.0; /* (H + ridges) S = I, and the degrees of freedom */
  for (size_t i = 0; i < size; i++) {
    for (size_t j = 0; j < size; j++) {
      double sum = 0.0;
      for (size_t l = 0; l < size; l++)
        sum += h[i + size * l] * r.cov[l + size * j];
      CHECK(fabs(sum - (i == j ? 1.0 : 0.0)) < 1e-4);
    }
    trace += i == 0 ? 1.0 : 1.0 - ridge[i > K] * r.cov[i + size * i];
  }
  CHECK(fabs(trace - r.edf) < 1e-6);
  CHECK(gpc_chol(size, 0.0, h) == GPC_OK);
  double evidence = objective(&p, r.theta, ridge, size); /* eq. (41) */
  for (size_t i = 0; i < size; i++)
    evidence += 0.5 * (i == 0 ? 0.0 : log(ridge[i > K])) - log(h[i + size * i]);
  CHECK(fabs(evidence - r.evidence) < 1e-4);
  cmemory_end();
}

/* Learned ridges: MacKay's fixed point, and the evidence is lower with others. */
static void test_learned(int matrix) {
  problem p = {.matrix = matrix};
  const double free[2] = {NAN, NAN};
  const size_t size = gpc_linear_size(K, matrix);
  gpc_linear_result r, other;
  make(&p, 11u);
  CHECK(fit(&p, free, 0, 1.0, &r) == GPC_OK);
  double square[2] = {0.0, 0.0}, trace[2] = {0.0, 0.0};
  const double count[2] = {K, matrix ? K * K : K};
  for (size_t i = 1; i < size; i++) {
    square[i > K] += r.theta[i] * r.theta[i];
    trace[i > K] += r.cov[i + size * i];
  }
  for (int b = 0; b < 2; b++)
    if (r.ridge[b] < 0.99e6) { /* not at its limit */
      CHECK(fabs(r.ridge[b] * (square[b] + trace[b]) - count[b]) < 1e-4);
      for (int up = 0; up < 2; up++) {
        double ridge[2] = {r.ridge[0], r.ridge[1]};
        ridge[b] *= up ? 10.0 : 0.1;
        CHECK(fit(&p, ridge, 0, 1.0, &other) == GPC_OK);
        CHECK(other.evidence < r.evidence);
      }
    }
  CHECK(r.ridge[1] < 0.99e6); /* or nothing was tested */
  cmemory_end();
}

/* A slope that is held stays, and nothing is known to be open of it. */
static void test_held(void) {
  problem p = {.matrix = 1};
  const double ridge[2] = {1.0, 1.0};
  gpc_linear_result r;
  double g[MOST], h[MOST * MOST];
  make(&p, 3u);
  CHECK(fit(&p, ridge, 1, 1.7, &r) == GPC_OK);
  CHECK_NEAR(r.theta[0], 1.7, 1e-9);
  differences(&p, r.theta, ridge, MOST, g, h);
  for (size_t i = 1; i < MOST; i++)
    CHECK(fabs(g[i]) < 1e-5 && r.cov[i] == 0.0);
  CHECK(fabs(g[0]) > 1e-3);
  cmemory_end();
}

/* Centring, and predictions with classes that are ruled out. */
static void test_predict(void) {
  const double z[2 * K] = {1.0, 2.0, -INFINITY,
                           0.5, 4.0, -3.0}; /* rows (1, -Inf, 4) ... */
  const double offset[K] = {0.1, -0.3, 0.2}, slope[K] = {1.0, 0.5, 2.0};
  const double weight[K * K] = {1.0, 0.2, -0.1, 0.3, 0.8, 0.0, -0.2, 0.1, 1.1};
  double work[2 * K], p[2 * K], u[2 * K];
  for (int matrix = 0; matrix < 2; matrix++) {
    gpc_linear_predict(2, K, z, -INFINITY, offset, matrix ? NULL : slope,
                       matrix ? weight : NULL, work, p);
    /* the class at -INFINITY counts as the lowest of its row, 1, and is not in the mean */
    const double centred[2][K] = {{-1.5, -1.5, 1.5},
                                  {2.0 + 1.0 / 6.0, 0.5 + 1.0 / 6.0, -3.0 + 1.0 / 6.0}};
    for (int i = 0; i < 2; i++) {
      double e[K], sum = 0.0;
      for (int k = 0; k < K; k++) {
        double f = offset[k] + (matrix ? 0.0 : slope[k] * centred[i][k]);
        for (int j = 0; j < K && matrix; j++)
          f += weight[k + K * j] * centred[i][j];
        sum += e[k] = i == 0 && k == 1 ? 0.0 : exp(f);
      }
      for (int k = 0; k < K; k++)
        CHECK(fabs(p[i + 2 * k] - e[k] / sum) < 1e-14);
    }
  }
  const double w[2] = {3.0, 1.0}, rms = gpc_linear_centre(2, K, z, -2.0, w, u);
  /* rows (1, -2, 4) of mean 1 and (2, .5, -2) of mean 1/6 */
  const double second = 1.0 / 6.0;
  double sum = 3.0 * (0.0 + 9.0 + 9.0);
  sum += (2.0 - second) * (2.0 - second) + (0.5 - second) * (0.5 - second) +
         (-2.0 - second) * (-2.0 - second);
  CHECK(fabs(rms - sqrt(sum / 12.0)) < 1e-12);
  CHECK(fabs(u[2] * rms + 3.0) < 1e-12 && fabs(u[5] * rms + 2.0 + second) < 1e-12);
  const double flat[2 * K] = {1.0, 2.0, 1.0, 2.0, 1.0, 2.0};
  CHECK(gpc_linear_centre(2, K, flat, -INFINITY, NULL, u) == 0.0);
}

int main(void) {
  for (int matrix = 0; matrix < 2; matrix++) {
    test_given(matrix, 0);
    test_given(matrix, 1);
    test_learned(matrix);
  }
  test_held();
  test_predict();
  return CTEST_END();
}
