/* gp_joint_softmax.h: averages of a softmax against quadrature in two dimensions, in rows
 * that take each of its roads. */
#include "cmemory.h"
#include "ctest.h"
#include "gp_joint_moments.h"
#include "gp_joint_softmax.h"

#include <stdint.h>

#define K 4
#define STEP 4 /* gpc_joint_step(K) */

/* E softmax(phi + B x), x standard normal in two dimensions, by the trapezoid rule. */
static void quadrature(const double *phi, double b[K][2], double *p) {
  double total = 0.0;
  memset(p, 0, K * sizeof(double));
  for (double x = -8.0; x <= 8.0; x += 0.05)
    for (double y = -8.0; y <= 8.0; y += 0.05) {
      double e[K], sum = 0.0;
      const double weight = exp(-0.5 * (x * x + y * y));
      for (int j = 0; j < K; j++)
        sum += e[j] = exp(phi[j] + b[j][0] * x + b[j][1] * y);
      total += weight;
      for (int j = 0; j < K; j++)
        p[j] += weight * e[j] / sum;
    }
  for (int j = 0; j < K; j++)
    p[j] /= total;
}

/* A row with C = scale^2 B B', the last two classes' so many times as far, and what came of
 * it: the largest error, that of a logarithm, and which road was taken. */
typedef struct {
  const double *phi;
  double scale, far[2];
  double error, log_error;
  size_t heavy;
  int narrow;
} trial;

static void average(trial *t) {
  double b[K][2] = {{1.0, 0.2}, {-0.4, 0.9}, {0.3, -0.5}, {0.5, 0.6}};
  double exact[K], out[STEP], s[STEP] = {0}, cs[K] = {0}, d[STEP] = {0};
  double g[STEP * K] = {0}, phi[STEP] = {0}, mean = 0.0, all = 0.0;
  double sum = 0.0, total = 0.0;
  size_t heavy[K];
  const gpc_joint_softmax self = gpc_joint_softmax_get(K, &cmemory);
  for (int j = 0; j < K; j++) {
    for (int i = 0; i < 2; i++)
      b[j][i] *= t->scale * (j < 2 ? 1.0 : t->far[j - 2]);
    sum += s[j] = exp(phi[j] = t->phi[j]);
  }
  quadrature(t->phi, b, exact);
  for (int j = 0; j < K; j++)
    s[j] /= sum;
  for (int j = 0; j < K; j++)
    for (int i = 0; i < K; i++)
      cs[i] += s[j] * (b[i][0] * b[j][0] + b[i][1] * b[j][1]);
  for (int j = 0; j < K; j++)
    all += s[j] * cs[j];
  for (int j = 0; j < K; j++) {
    d[j] = b[j][0] * b[j][0] + b[j][1] * b[j][1] - 2.0 * cs[j] + all;
    mean += s[j] * d[j];
  }
  t->narrow = gpc_joint_softmax_narrow(STEP, s, d, mean, out);
  t->heavy = gpc_joint_softmax_heavy(K, s, d, mean, heavy);
  for (size_t h = 0; h < t->heavy; h++)
    for (int i = 0; i < K; i++) {
      const size_t j = heavy[h];
      g[(size_t)i + STEP * h] =
          b[i][0] * b[j][0] + b[i][1] * b[j][1] - cs[i] - cs[j] + all;
    }
  gpc_joint_row row = {.k = K,
                       .step = STEP,
                       .heavy = t->heavy,
                       .which = heavy,
                       .phi = phi,
                       .s = s,
                       .d = d,
                       .g = g,
                       .mean = mean};
  if (!t->narrow)
    gpc_joint_softmax_average(&self, &row, out);
  t->error = t->log_error = 0.0;
  for (int j = 0; j < K; j++) {
    t->error = fmax(t->error, fabs(out[j] - exact[j]));
    t->log_error = fmax(t->log_error, fabs(log(out[j] / exact[j])));
    total += out[j];
  }
  CHECK(fabs(total - 1.0) < 1e-12);
  cmemory_end();
}

static trial of(const double *phi, double scale, double third, double fourth) {
  trial t = {.phi = phi, .scale = scale, .far = {third, fourth}};
  average(&t);
  return t;
}

static void test_roads(void) {
  const double even[K] = {0.3, -0.2, 0.5, 0.0}, two[K] = {0.5, 0.0, -12.0, -14.0};
  const double one[K] = {9.0, 0.0, -1.0, -8.0}, rare[K] = {0.5, 0.0, -1.0, -71.0};
  trial t = of(even, 0.1, 1.0, 1.0);
  CHECK(t.error < 1e-4 && t.narrow);
  t = of(even, 0.3, 1.0, 1.0);
  CHECK(t.error < 1e-4 && !t.narrow && t.heavy == K); /* (24a) */
  t = of(even, 2.0, 1.0, 1.0);
  CHECK(t.error < 3e-3 && t.heavy == K); /* points */
  t = of(two, 1.0, 1.0, 1.0);
  CHECK(t.error < 2e-4 && !t.narrow && t.heavy == 2);
  t = of(one, 0.7, 1.0, 1.0);
  CHECK(t.error < 1e-4 && t.heavy < K);
  t = of(rare, 0.2, 1.0, 79.0);
  CHECK(t.error < 1e-2);
}

/* A class that is all but ruled out and hardly known: moments of exp(22) times those of the
 * others, which say that it has all of the probability; and such a class beside another that has
 * a part in the denominator: together they came to a sum of one, which the other had. */
static void test_rare(void) {
  const double one[K] = {0.5, 0.0, -1.0, -56.0}, two[K] = {0.5, 0.0, -36.0, -56.0};
  trial t = of(one, 0.3, 1.0, 53.0);
  CHECK(!t.narrow && t.heavy == 3 && t.error < 1e-3);
  t = of(two, 0.3, 43.0, 53.0);
  CHECK(!t.narrow && t.heavy == 3 && t.error < 1e-3);
}

/* Small probabilities are right beside themselves, not only beside one: they may be the
 * truth's, and the log loss is of their logarithm. */
static void test_small(void) {
  const double sure[K] = {9.0, 0.0, -1.0, -25.0}, open[K] = {0.3, -0.2, 0.5, -20.0};
  const double wide[K] = {0.3, -0.2, 0.5, -24.0};
  trial t = of(sure, 0.1, 1.0, 50.0);
  CHECK(t.narrow && t.log_error < 0.05); /* the expansion was off by 5.8 */
  t = of(open, 0.3, 1.0, 17.0);
  CHECK(!t.narrow && t.heavy == 3 && t.log_error < 0.1); /* (24a) was off by 3.5 */
  t = of(wide, 1.5, 1.0, 4.0);
  CHECK(!t.narrow && t.heavy == 3 && t.log_error < 1.0); /* points */
}

/* Rows of ten classes of which some are all but ruled out and hardly known, as after few rows of
 * many classes (an early version gave one of these classes all of the probability, and log
 * losses were .02 higher), against averages over many points of another kind. */
#define MANY 10
#define MANY_STEP 12
#define DRAWS 5000

static double uniform(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return ((double)(*state >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *state) {
  const double size = sqrt(-2.0 * log(uniform(state)));
  return size * cos(6.283185307179586 * uniform(state));
}

/* The average of softmax(phi + B x), B [MANY x MANY] lower, by draws. */
static void draw(uint64_t *state, const double *phi, double b[MANY][MANY], double *p) {
  memset(p, 0, MANY * sizeof(double));
  for (int i = 0; i < DRAWS; i++) {
    double x[MANY], e[MANY];
    for (int j = 0; j < MANY; j++)
      x[j] = normal(state);
    for (int sign = -1; sign <= 1; sign += 2) {
      double top = -INFINITY, sum = 0.0;
      for (int j = 0; j < MANY; j++) {
        e[j] = phi[j];
        for (int q = 0; q <= j; q++)
          e[j] += sign * b[j][q] * x[q];
        top = fmax(top, e[j]);
      }
      for (int j = 0; j < MANY; j++)
        sum += e[j] = exp(e[j] - top);
      for (int j = 0; j < MANY; j++)
        p[j] += 0.5 * e[j] / sum / DRAWS;
    }
  }
}

static void test_excluded(void) {
  uint64_t state = 1;
  for (int row_of = 0; row_of < 60; row_of++) {
    double b[MANY][MANY] = {{0}}, phi[MANY_STEP] = {0}, s[MANY_STEP] = {0}, exact[MANY];
    double d[MANY_STEP] = {0}, c[MANY][MANY], cs[MANY] = {0}, g[MANY_STEP * MANY] = {0};
    double out[MANY_STEP], sum = 0.0, all = 0.0, mean = 0.0, off = 0.0;
    size_t heavy[MANY];
    for (int j = 0; j < MANY; j++) {
      const int far = j % 3 == 2; /* all but ruled out, and hardly known */
      phi[j] = far ? -8.0 - 30.0 * uniform(&state) : 2.0 * normal(&state);
      const double sd = far ? -phi[j] * 0.3 * uniform(&state) : 0.3 * uniform(&state);
      for (int q = 0; q <= j; q++)
        b[j][q] = q == j ? 0.8 * sd : 0.6 * sd * normal(&state) / sqrt(j);
      sum += s[j] = exp(phi[j]);
    }
    draw(&state, phi, b, exact);
    for (int j = 0; j < MANY; j++)
      s[j] /= sum;
    for (int i = 0; i < MANY; i++)
      for (int j = 0; j < MANY; j++) {
        c[i][j] = 0.0;
        for (int q = 0; q <= (i < j ? i : j); q++)
          c[i][j] += b[i][q] * b[j][q];
        cs[i] += s[j] * c[i][j];
      }
    for (int j = 0; j < MANY; j++)
      all += s[j] * cs[j];
    for (int j = 0; j < MANY; j++)
      mean += s[j] * (d[j] = c[j][j] - 2.0 * cs[j] + all);
    gpc_joint_row row = {.k = MANY, .step = MANY_STEP, .which = heavy, .phi = phi};
    row.s = s, row.d = d, row.g = g, row.mean = mean;
    row.heavy = gpc_joint_softmax_heavy(MANY, s, d, mean, heavy);
    for (size_t h = 0; h < row.heavy; h++)
      for (size_t i = 0; i < MANY; i++)
        g[i + MANY_STEP * h] = c[i][heavy[h]] - cs[i] - cs[heavy[h]] + all;
    const gpc_joint_softmax self = gpc_joint_softmax_get(MANY, &cmemory);
    if (!gpc_joint_softmax_narrow(MANY_STEP, s, d, mean, out))
      gpc_joint_softmax_average(&self, &row, out);
    for (int j = 0; j < MANY; j++)
      off = fmax(off, fabs(out[j] - exact[j]));
    CHECK(off < 0.02);
    cmemory_end();
  }
}

/* The points one by one, in double precision: softmax(0, phi +- L x), L by Cholesky-Banachiewicz.
 * Numbers of dimensions that are even, odd, one short of all there is room for, and all. */
static void test_points(void) {
  const size_t k = 26, dims[] = {2, 3, 8, 17, 25, 26};
  for (size_t t = 0; t < 4 * sizeof dims / sizeof *dims; t++) {
    /* then variances of 900 about means far down, whose powers of two no float has */
    const int wide = t >= 2 * sizeof dims / sizeof *dims;
    const size_t n = dims[t / 2 % (sizeof dims / sizeof *dims)];
    const size_t pairs = t % 2 ? GPC_JOINT_MANY : GPC_JOINT_FEW;
    const gpc_joint_points self = gpc_joint_points_get(k, &cmemory);
    double c[26][26], l[26][26] = {{0}}, phi[26], out[26], mean[26] = {0}, off = 0.0;
    for (size_t i = 0; i < n; i++) {
      phi[i] = sin(3.0 * (double)i) - 0.5;
      for (size_t j = 0; j < n; j++)
        c[i][j] = (wide ? 1000.0 : 1.0) *
                  ((i == j ? 0.6 : 0.0) + 0.3 * cos((double)i - (double)j));
      if (wide)
        phi[i] = 60.0 * phi[i] - 90.0;
    }
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j <= i; j++) {
        double sum = c[i][j];
        for (size_t q = 0; q < j; q++)
          sum -= l[i][q] * l[j][q];
        l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
      }
    memset(self.cov, 0, self.step * k * sizeof(float));
    for (size_t j = 0; j < n; j++)
      for (size_t i = j; i < n; i++)
        self.cov[i + self.step * j] = (float)c[i][j];
    gpc_joint_points_average(&self, t % 2, n, phi, out);
    for (size_t d = 0; d < 2 * pairs; d++) {
      double e[26], sum = 1.0;
      for (size_t i = 0; i < n; i++) {
        double f = 0.0;
        for (size_t q = 0; q <= i; q++)
          f += l[i][q] * (double)self.points[t % 2][d % pairs + pairs * q];
        sum += e[i] = exp(phi[i] + (d < pairs ? f : -f));
      }
      for (size_t i = 0; i < n; i++)
        mean[i] += e[i] / sum / (double)(2 * pairs);
    }
    for (size_t i = 0; i < n; i++)
      off = fmax(off, fabs(out[i] - mean[i]));
    CHECK(off < (wide ? 2e-5 : 2e-6));
    cmemory_end();
  }
}

/* A class whose softmax has rounded to 0 may still be likely where its variance is large. */
static void test_rounded(void) {
  double s[STEP] = {1.0, 0.0}, d[STEP] = {1e-3, 1e5}, out[STEP];
  size_t which[STEP];
  CHECK(gpc_joint_softmax_heavy(2, s, d, 1e-3, which) == 2);
  CHECK(!gpc_joint_softmax_narrow(STEP, s, d, 1e-3, out));
  d[1] = 10.0; /* it is 690 below */
  CHECK(gpc_joint_softmax_heavy(2, s, d, 1e-3, which) == 1);
  CHECK(gpc_joint_softmax_narrow(STEP, s, d, 1e-3, out));
}

/* eq. (24a), in single precision, against the sums by its definition, all classes heavy. */
static void test_moments(size_t k, double scale) {
  const size_t step = gpc_joint_step(k);
  double *t = gpc_get_doubles(&cmemory, 3 * k), *s = gpc_get_doubles(&cmemory, step);
  double *phi = gpc_get_doubles(&cmemory, step), *d = gpc_get_doubles(&cmemory, step);
  double *g = gpc_get_doubles(&cmemory, step * k + 4),
         *out = gpc_get_doubles(&cmemory, step);
  double *own = gpc_get_doubles(&cmemory, k), *p = gpc_get_doubles(&cmemory, k);
  double *work = gpc_get_doubles(&cmemory, 3 * step), sum = 0.0, total = 0.0, off = 0.0;
  float *single = gpc_get_floats(&cmemory, gpc_joint_moments_work(k));
  size_t *which = gpc_get_sizes(&cmemory, k);
  memset(s, 0, step * sizeof(double));
  memset(d, 0, step * sizeof(double));
  memset(g, 0, (step * k + 4) * sizeof(double));
  for (size_t j = 0; j < k; j++) {
    sum += s[j] = exp(phi[j] = 1.5 * sin(3.1 * (double)j));
    which[j] = j;
  }
  for (size_t i = 0; i < 3; i++) {
    double middle = 0.0;
    for (size_t j = 0; j < k; j++)
      middle +=
          s[j] / sum * (t[3 * j + i] = scale * sin(1.0 + 2.3 * (double)(3 * j + i)));
    for (size_t j = 0; j < k; j++)
      t[3 * j + i] -= middle;
  }
  gpc_joint_row row = {.k = k, .step = step, .heavy = k, .which = which, .phi = phi};
  for (size_t j = 0; j < k; j++) {
    s[j] /= sum;
    for (size_t h = 0; h < k; h++)
      for (size_t i = 0; i < 3; i++)
        g[j + step * h] += t[3 * j + i] * t[3 * h + i];
    d[j] = g[j + step * j];
    row.mean += s[j] * d[j];
    own[j] = s[j] * exp(0.5 * d[j]);
  }
  row.s = s, row.d = d, row.g = g;
  for (size_t j = 0; j < k; j++) {
    double m = 0.0, v = 0.0;
    for (size_t h = 0; h < k; h++) {
      m += own[h] * exp(g[j + step * h]);
      for (size_t i = 0; i < k; i++)
        v += own[h] * own[i] * exp(g[j + step * h] + g[j + step * i]) *
             (exp(g[i + step * h]) - 1.0);
    }
    total += p[j] = own[j] / m * (1.0 + v / (m * m));
  }
  CHECK(gpc_joint_moments(&row, work, single, out) == (fabs(total - 1.0) <= 2e-4));
  for (size_t j = 0; j < k; j++)
    off = fmax(off, fabs(out[j] - p[j] / total));
  CHECK(off < 3e-7);
  cmemory_end();
}

/* A covariance that rounding left indefinite: rows of its factor are longer than their variances, and probabilities are
 * finite all the same. */
static void test_indefinite(void) {
  const gpc_joint_points self = gpc_joint_points_get(4, &cmemory);
  const double phi[3] = {-1.0, -2.0, -1.5};
  double out[3];
  for (int many = 0; many < 2; many++)
    for (double least = 1e-1; least > 1e-9; least *= 0.1)
      for (double cov = 0.01; cov < 2.0; cov *= 10.0) {
        memset(self.cov, 0, self.step * 4 * sizeof(float));
        self.cov[0] = (float)least;
        self.cov[1] = self.cov[2] = (float)cov;
        self.cov[1 + self.step] = self.cov[2 + 2 * self.step] = 1.0f;
        gpc_joint_points_average(&self, many, 3, phi, out);
        for (int j = 0; j < 3; j++)
          CHECK(out[j] >= 0.0 && out[j] <= 1.0);
      }
}

int main(void) {
  for (size_t k = 3; k < 40; k += 4) {
    test_moments(k, 0.05);
    test_moments(k, 0.2);
    test_moments(k, 0.6);
  }

  test_points();
  test_rounded();
  test_indefinite();
  test_excluded();
  test_roads();
  test_rare();
  test_small();
  return CTEST_END();
}
