/* softmax.h against sums in long double, over sizes around the edges of the blocks. */
#include "ctest.h"
#include "softmax.h"

#include <stdlib.h>

static const size_t rows_tried[] = {1, 7, 63, 64, 65, 511, 513, 1000};
static const size_t columns_tried[] = {1, 2, 3, 1000};

static double *doubles(size_t n) { return malloc((n ? n : 1) * sizeof(double)); }

static unsigned seed = 1;

static double uniform(double from, double to) {
  seed = seed * 1664525u + 1013904223u;
  return from + (to - from) * ((seed >> 8) / 16777216.0);
}

static long double floored(double z, double floor) { return z < floor ? floor : z; }

/* p [k] = softmax(beta max(z, floor)) of row i, and the log of it. */
static void slow_row(size_t n, size_t k, const double *z, size_t i, double beta,
                     double floor, long double *p, long double *log_p) {
  long double top = -INFINITY, sum = 0.0L;
  for (size_t j = 0; j < k; j++)
    top = fmaxl(top, floored(z[i + j * n], floor));
  for (size_t j = 0; j < k; j++)
    sum += expl(beta * (floored(z[i + j * n], floor) - top));
  for (size_t j = 0; j < k; j++) {
    log_p[j] = beta * (floored(z[i + j * n], floor) - top) - logl(sum);
    p[j] = expl(log_p[j]);
  }
}

/* The largest error of p: relative where the exact value is a normal number. */
static double error_of(size_t n, size_t k, const double *z, double beta, double floor,
                       const double *p) {
  double worst = 0.0;
  long double exact[1000], log_p[1000];
  for (size_t i = 0; i < n; i++) {
    slow_row(n, k, z, i, beta, floor, exact, log_p);
    for (size_t j = 0; j < k; j++) {
      long double off = fabsl(p[i + j * n] - exact[j]);
      double error = exact[j] > 1e-300L ? (double)(off / exact[j])
                     : off < 1e-300L    ? 0.0
                                        : 1.0;
      worst = isnan(p[i + j * n]) || error > worst ? error : worst;
      if (isnan(p[i + j * n]))
        return INFINITY;
    }
  }
  return worst;
}

static void fill(size_t n, size_t k, double from, double to, double *z) {
  for (size_t i = 0; i < n * k; i++)
    z[i] = uniform(from, to);
}

static int same(size_t n, const double *a, const double *b) {
  return memcmp(a, b, n * sizeof *a) == 0;
}

static void check_size(size_t n, size_t k) {
  double *z = doubles(n * k), *p = doubles(n * k), *q = doubles(n * k);
  fill(n, k, -20.0, 20.0, z);

  /* beta d has an error of eps |beta d|, and its exponential that error relative; a sum
   * of k terms adds at most k eps, and far less as a rule */
  const double allowed = (60.0 + (double)k / 4.0) * 2.3e-16;
  gpc_softmax(n, k, z, 1.0, -INFINITY, 1, p);
  CHECK(error_of(n, k, z, 1.0, -INFINITY, p) <= allowed);
  for (int threads = 2; threads <= 3; threads++) {
    gpc_softmax(n, k, z, 1.0, -INFINITY, threads, q);
    CHECK(same(n * k, p, q));
  }
  gpc_softmax(n, k, z, 0.37, -3.0, 1, p);
  CHECK(error_of(n, k, z, 0.37, -3.0, p) <= allowed);

  memcpy(q, z, n * k * sizeof *z); /* in place */
  gpc_softmax(n, k, q, 0.37, -3.0, 1, q);
  CHECK(same(n * k, p, q));

  gpc_log_softmax(n, k, z, 1, p);
  double worst = 0.0;
  long double exact[1000], log_p[1000];
  for (size_t i = 0; i < n; i++) {
    slow_row(n, k, z, i, 1.0, -INFINITY, exact, log_p);
    for (size_t j = 0; j < k; j++)
      worst = fmax(worst, (double)fabsl(p[i + j * n] - log_p[j]));
  }
  CHECK(worst <= 2e-14);
  for (int threads = 2; threads <= 3; threads++) {
    gpc_log_softmax(n, k, z, threads, q);
    CHECK(same(n * k, p, q));
  }
  memcpy(q, z, n * k * sizeof *z);
  gpc_log_softmax(n, k, q, 1, q);
  CHECK(same(n * k, p, q));

  free(z);
  free(p);
  free(q);
}

static void check_max_mean(size_t n, size_t k) {
  double *z = doubles(n * k), *top = doubles(n), *mean = doubles(n),
         *again = doubles(2 * n);
  fill(n, k, -5.0, 5.0, z);
  gpc_row_max_mean(n, k, z, -1.0, 1, top, mean);
  int wrong = 0;
  for (size_t i = 0; i < n; i++) {
    long double high = -INFINITY, sum = 0.0L;
    for (size_t j = 0; j < k; j++) {
      high = fmaxl(high, floored(z[i + j * n], -1.0));
      sum += floored(z[i + j * n], -1.0);
    }
    wrong += top[i] != (double)high || fabs(mean[i] - (double)(sum / k)) > 1e-13;
  }
  CHECK(wrong == 0);
  gpc_row_max_mean(n, k, z, -1.0, 3, again, again + n);
  CHECK(same(n, top, again) && same(n, mean, again + n));
  free(z);
  free(top);
  free(mean);
  free(again);
}

/* One block of rows inside a taller matrix. */
static void check_moments(size_t k) {
  const size_t n = 100, first = 13, rows = 64;
  const double beta = 0.8, floor = -2.0;
  double *z = doubles(n * k), *top = doubles(n), *mean = doubles(n);
  double s[4][64];
  fill(n, k, -4.0, 4.0, z);
  gpc_row_max_mean(n, k, z, floor, 1, top, mean);
  gpc_softmax_moments(rows, n, k, z + first, floor, beta, top + first, s[0], s[1], s[2],
                      s[3]);
  double worst = 0.0;
  for (size_t i = 0; i < rows; i++) {
    long double exact[4] = {0}, size[4] = {0};
    for (size_t j = 0; j < k; j++) {
      long double d = floored(z[first + i + j * n], floor) - top[first + i];
      long double term = expl(beta * d);
      for (int m = 0; m < 4; m++, term *= d) {
        exact[m] += term;
        size[m] += fabsl(term);
      }
    }
    for (int m = 0; m < 4; m++)
      worst = fmax(worst, (double)(fabsl(s[m][i] - exact[m]) / fmaxl(size[m], 1e-300L)));
  }
  CHECK(worst <= 1e-13);
  free(z);
  free(top);
  free(mean);
}

static void check_edges(void) {
  /* a class ruled out, two of them, and one that is alone */
  double ruled[] = {-INFINITY, 0.0, 0.0, 1.0, -INFINITY, 0.0, 2.0, 3.0, -INFINITY};
  double p[9];
  gpc_softmax(3, 3, ruled, 1.0, -INFINITY, 1, p);
  CHECK(p[0] == 0.0);
  CHECK_REL(p[3], exp(1.0) / (exp(1.0) + exp(2.0)), 1e-15);
  CHECK(p[4] == 0.0);
  CHECK(p[8] == 0.0);
  CHECK(p[2] == 0.5 && p[5] == 0.5);
  gpc_log_softmax(3, 3, ruled, 1, p);
  CHECK(p[0] == -INFINITY && p[4] == -INFINITY && p[8] == -INFINITY);
  CHECK_NEAR(p[2], -log(2.0), 1e-15);

  /* a floor takes the place of -Inf and of what is below it */
  gpc_softmax(3, 3, ruled, 1.0, -1.0, 1, p);
  CHECK_REL(p[0], exp(-1.0) / (exp(-1.0) + exp(1.0) + exp(2.0)), 1e-14);
  gpc_softmax(3, 3, ruled, 1.0, 5.0, 1, p);
  CHECK(p[0] == p[3] && p[3] == p[6]);
  CHECK_REL(p[0], 1.0 / 3.0, 1e-15);
  double low[] = {-1e4, -2e4};
  gpc_softmax(1, 2, low, 1.0, 0.0, 1, p);
  CHECK(p[0] == 0.5 && p[1] == 0.5);

  /* far apart, near and far from zero */
  double far[] = {1e4, -1e4, 1e4, 0.0, 1e4, 1e4, -1e4, 0.0, 1e4 - 1.0};
  gpc_softmax(3, 3, far, 1.0, -INFINITY, 1, p);
  CHECK(p[0] == 1.0 && p[3] == 0.0 && p[6] == 0.0);
  CHECK(p[1] == 0.0 && p[4] == 1.0 && p[7] == 0.0);
  CHECK(error_of(3, 3, far, 1.0, -INFINITY, p) <= 1e-15);
  gpc_log_softmax(3, 3, far, 1, p);
  CHECK(p[0] == 0.0 && p[3] == -1e4 && p[6] == -2e4);

  /* a shift of the row changes nothing; equal scores are equally likely; beta = 0 as well
   */
  double shifted[] = {1.0, 1001.0, 2.0, 1002.0}, even[] = {7.0, 7.0, 7.0};
  gpc_softmax(2, 2, shifted, 1.0, -INFINITY, 1, p);
  CHECK(p[0] == p[1] && p[2] == p[3]);
  gpc_softmax(1, 3, even, 1.0, -INFINITY, 1, p);
  CHECK(p[0] == p[1] && p[1] == p[2]);
  CHECK_REL(p[0], 1.0 / 3.0, 1e-15);
  gpc_softmax(2, 2, shifted, 0.0, -INFINITY, 1, p);
  CHECK(p[0] == 0.5 && p[3] == 0.5);

  /* no rows: nothing is touched */
  p[0] = 42.0;
  gpc_softmax(0, 3, even, 1.0, -INFINITY, 2, p);
  gpc_log_softmax(0, 3, even, 2, p);
  CHECK(p[0] == 42.0);
}

int main(void) {
  for (size_t a = 0; a < sizeof rows_tried / sizeof *rows_tried; a++)
    for (size_t b = 0; b < sizeof columns_tried / sizeof *columns_tried; b++) {
      check_size(rows_tried[a], columns_tried[b]);
      check_max_mean(rows_tried[a], columns_tried[b]);
    }
  check_moments(1);
  check_moments(2);
  check_moments(50);
  check_edges();
  return CTEST_END();
}
