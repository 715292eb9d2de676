/* gp_joint_softmax.h: averages of a softmax against quadrature in two dimensions, in rows
 * that take each of its roads. */
#include "cmemory.h"
#include "ctest.h"
#include "gp_joint_softmax.h"

#define K 4

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

/* The largest error of a row with C = scale^2 B B', the last class's `far` times as far;
 * *narrow: whether eq. (24) would do. */
static double error_of(const double *phi, double scale, double far, size_t *heavies,
                       int *narrow) {
  double b[K][2] = {{1.0, 0.2}, {-0.4, 0.9}, {0.3, -0.5}, {0.5 * far, 0.6 * far}};
  double exact[K], out[K], s[K], cs[K] = {0}, d[K], g[K * K], mean = 0.0, all = 0.0;
  double sum = 0.0, worst = 0.0, total = 0.0;
  size_t heavy[K];
  const gpc_joint_softmax self = gpc_joint_softmax_get(K, 128, &cmemory);
  for (int j = 0; j < K; j++) {
    b[j][0] *= scale;
    b[j][1] *= scale;
    sum += s[j] = exp(phi[j]);
  }
  quadrature(phi, b, exact);
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
  *narrow = gpc_joint_softmax_narrow(K, s, d, mean, out);
  *heavies = gpc_joint_softmax_heavy(K, s, d, mean, heavy);
  for (size_t h = 0; h < *heavies; h++)
    for (int i = 0; i < K; i++) {
      const size_t j = heavy[h];
      g[(size_t)i + K * h] = b[i][0] * b[j][0] + b[i][1] * b[j][1] - cs[i] - cs[j] + all;
    }
  const gpc_joint_row row = {.k = K,
                             .heavy = *heavies,
                             .which = heavy,
                             .phi = phi,
                             .s = s,
                             .d = d,
                             .g = g,
                             .mean = mean};
  if (!*narrow)
    gpc_joint_softmax_average(&self, &row, out);
  for (int j = 0; j < K; j++) {
    worst = fmax(worst, fabs(out[j] - exact[j]));
    total += out[j];
  }
  CHECK(fabs(total - 1.0) < 1e-12);
  cmemory_end();
  return worst;
}

int main(void) {
  const double even[K] = {0.3, -0.2, 0.5, 0.0}, two[K] = {0.5, 0.0, -12.0, -14.0};
  const double one[K] = {9.0, 0.0, -1.0, -8.0}, rare[K] = {0.5, 0.0, -1.0, -71.0};
  size_t heavy;
  int narrow;
  CHECK(error_of(even, 0.1, 1.0, &heavy, &narrow) < 1e-4 && narrow);
  CHECK(error_of(even, 0.3, 1.0, &heavy, &narrow) < 1e-4 && !narrow &&
        heavy == K);                                                     /* (24a) */
  CHECK(error_of(even, 2.0, 1.0, &heavy, &narrow) < 3e-3 && heavy == K); /* points */
  CHECK(error_of(two, 1.0, 1.0, &heavy, &narrow) < 2e-4 && !narrow && heavy == 2);
  CHECK(error_of(one, 0.7, 1.0, &heavy, &narrow) < 1e-4 && heavy < K);
  /* a class that is all but ruled out, with a variance of which the moments are huge */
  CHECK(error_of(rare, 0.2, 79.0, &heavy, &narrow) < 1e-2);
  return CTEST_END();
}
