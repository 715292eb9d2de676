/* scan.h against plain loops over rows, and gpc.h's blocks. */
#include "ctest.h"
#include "scan.h"

#include <stdlib.h>

static const size_t rows_tried[] = {1, 7, 63, 64, 65, 511, 512, 513, 1000, 5000};
static const size_t columns_tried[] = {1, 2, 3, 33, 1000};

static unsigned seed = 3;

static double uniform(void) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) / 16777216.0;
}

static void check_blocks(void) {
  int wrong = 0;
  for (size_t k = 0; k <= 20000; k++) {
    size_t rows = gpc_block_rows(k);
    wrong += rows < 64 || rows > GPC_BLOCK_MAX || rows % 8 != 0;
  }
  CHECK(wrong == 0);
  CHECK(gpc_block_count(0, 3) == 0);
  CHECK(gpc_block_count(1, 3) == 1);
  size_t rows = gpc_block_rows(3);
  CHECK(gpc_block_count(rows, 3) == 1);
  CHECK(gpc_block_count(rows + 1, 3) == 2);
  CHECK(gpc_block_count(10 * rows, 3) == 10);
}

typedef struct {
  double *max, *min, *sum, *part;
  int *arg;
  gpc_scan_range range;
} scan;

static scan scan_of(size_t n, size_t k, const double *x, int threads) {
  scan s;
  s.max = malloc((n + 1) * sizeof(double));
  s.min = malloc((n + 1) * sizeof(double));
  s.sum = malloc((n + 1) * sizeof(double));
  s.arg = malloc((n + 1) * sizeof(int));
  s.part = malloc((4 * gpc_block_count(n, k) + 1) * sizeof(double));
  gpc_scan_rows(n, k, x, threads, s.max, s.arg, s.min, s.sum, s.part, &s.range);
  int wrong = 0;
  for (size_t i = 0; i < n; i++) { /* NaN aside, the minimum is what the row says */
    double low = x[i];
    for (size_t j = 1; j < k; j++)
      low = x[i + j * n] < low ? x[i + j * n] : low;
    wrong += !(s.min[i] == low || low != low);
  }
  CHECK(wrong == 0);
  /* without row vectors the rest is the same */
  gpc_scan_range range;
  int *arg = malloc((n + 1) * sizeof(int));
  gpc_scan_rows(n, k, x, threads, NULL, arg, NULL, NULL, s.part, &range);
  CHECK(memcmp(arg, s.arg, n * sizeof(int)) == 0 && range.lowest == s.range.lowest &&
        range.highest == s.range.highest && range.off == s.range.off &&
        range.odd == s.range.odd);
  free(arg);
  return s;
}

static void drop(scan s) {
  free(s.max);
  free(s.min);
  free(s.sum);
  free(s.arg);
  free(s.part);
}

static void check_size(size_t n, size_t k) {
  double *x = malloc(n * k * sizeof *x);
  for (size_t i = 0; i < n * k; i++)
    x[i] = floor(20.0 * uniform()) - 10.0; /* whole numbers: many ties, exact sums */
  scan s = scan_of(n, k, x, 1);
  int wrong = 0;
  double lowest = INFINITY, highest = -INFINITY;
  for (size_t i = 0; i < n; i++) {
    double top = x[i], sum = 0.0;
    int arg = 1;
    for (size_t j = 0; j < k; j++) {
      double v = x[i + j * n];
      if (v > top) {
        top = v;
        arg = (int)j + 1;
      }
      sum += v;
      lowest = fmin(lowest, v);
      highest = fmax(highest, v);
    }
    wrong += s.max[i] != top || s.arg[i] != arg || s.sum[i] != sum;
  }
  CHECK(wrong == 0);
  CHECK(s.range.lowest == lowest && s.range.highest == highest);
  for (int threads = 2; threads <= 3; threads++) {
    scan t = scan_of(n, k, x, threads);
    CHECK(memcmp(s.max, t.max, n * sizeof(double)) == 0 &&
          memcmp(s.sum, t.sum, n * sizeof(double)) == 0 &&
          memcmp(s.arg, t.arg, n * sizeof(int)) == 0 && t.range.lowest == lowest &&
          t.range.highest == highest);
    drop(t);
  }
  drop(s);
  free(x);
}

static void check_special(void) {
  /* rows: plain, NaN first, NaN last, -Inf, +Inf, both, only -Inf */
  enum { N = 7, K = 3 };
  const double rows[N][K] = {{1, 3, 2},
                             {NAN, 1, 2},
                             {1, 2, NAN},
                             {-INFINITY, 5, 1},
                             {0, INFINITY, 1},
                             {-INFINITY, INFINITY, 0},
                             {-INFINITY, -INFINITY, -INFINITY}};
  double x[N * K];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < K; j++)
      x[i + j * N] = rows[i][j];
  scan s = scan_of(N, K, x, 1);
  CHECK(s.max[0] == 3.0 && s.arg[0] == 2 && s.sum[0] == 6.0);
  CHECK(isnan(s.sum[1]));
  CHECK(isnan(s.sum[2]));
  CHECK(s.sum[3] == -INFINITY && s.max[3] == 5.0 && s.arg[3] == 2);
  CHECK(s.sum[4] == INFINITY && s.max[4] == INFINITY && s.arg[4] == 2);
  CHECK(isnan(s.sum[5]));
  CHECK(s.sum[6] == -INFINITY && s.max[6] == -INFINITY && s.arg[6] == 1);
  CHECK(s.range.lowest == -INFINITY && s.range.highest == INFINITY);
  CHECK(s.range.odd == 1 && s.range.off == INFINITY);
  drop(s);
  s = scan_of(1, K, (const double[]){1, 3, 2}, 1);
  CHECK(s.range.odd == 0 && s.range.off == 5.0);
  drop(s);

  scan none = scan_of(0, 3, x, 2);
  CHECK(none.range.lowest == INFINITY && none.range.highest == -INFINITY);
  drop(none);
}

static void check_normalise(size_t n, size_t k) {
  double *x = malloc(n * k * sizeof *x), *p = malloc(n * k * sizeof *p);
  for (size_t i = 0; i < n * k; i++)
    x[i] = (1.0 + uniform()) / (double)k;
  gpc_normalise_rows(n, k, x, 1e-10, p);
  int wrong = 0;
  for (size_t i = 0; i < n; i++) {
    long double sum = 0.0L, total = 0.0L;
    for (size_t j = 0; j < k; j++)
      total += fmin(x[i + j * n], 1.0);
    for (size_t j = 0; j < k; j++) {
      sum += p[i + j * n];
      wrong += fabsl(p[i + j * n] - fmin(x[i + j * n], 1.0) / total) > 1e-14L;
    }
    wrong += fabsl(sum - 1.0L) > 1e-13L;
  }
  CHECK(wrong == 0);
  free(x);
  free(p);
}

static void check_normalise_edges(void) {
  /* rows: exact; within the slack; clamped below; clamped above; a little off */
  enum { N = 5, K = 2 };
  const double rows[N][K] = {
      {0.25, 0.75}, {0.3, 0.7 + 4e-11}, {-1e-4, 1.0}, {0.0, 1.0005}, {0.5, 0.5005}};
  double x[N * K], p[N * K];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < K; j++)
      x[i + j * N] = rows[i][j];
  gpc_normalise_rows(N, K, x, 1e-10, p);
  CHECK(p[0] == 0.25 && p[N] == 0.75);
  CHECK(p[1] == 0.3 && p[1 + N] == 0.7 + 4e-11);
  CHECK(p[2] == 0.0 && p[2 + N] == 1.0);
  CHECK(p[3] == 0.0 && p[3 + N] == 1.0);
  CHECK_REL(p[4], 0.5 / 1.0005, 1e-15);
  CHECK_REL(p[4 + N], 0.5005 / 1.0005, 1e-15);
}

static void check_pair(void) {
  const double x[] = {-1e-4, 0.25, 1.0005};
  double p[6];
  gpc_pair_probs(3, x, 0, p);
  CHECK(p[0] == 1.0 && p[1] == 0.75 && p[2] == 0.0);
  CHECK(p[3] == 0.0 && p[4] == 0.25 && p[5] == 1.0);
  gpc_pair_probs(3, x, 1, p);
  CHECK(p[0] == 0.0 && p[1] == 0.25 && p[5] == 0.0 && p[4] == 0.75);
}

static void check_pair_range(void) {
  const double a[] = {1.0, -INFINITY, 0.5, 2.0}, b[] = {0.0, -3.0, 4.0, -INFINITY};
  double ends[2];
  gpc_pair_range(4, a, b, -INFINITY, ends);
  CHECK(ends[0] == -INFINITY && ends[1] == INFINITY);
  gpc_pair_range(4, a, b, -10.0, ends);
  CHECK(ends[0] == -12.0 && ends[1] == 7.0);
  gpc_pair_range(1, a, b, -10.0, ends);
  CHECK(ends[0] == -1.0 && ends[1] == -1.0);
  for (size_t n = 1; n < 70; n++) { /* whatever the loop does with the last ones */
    double x[70], y[70], low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
      x[i] = sin((double)(7 * i + n));
      y[i] = cos((double)(3 * i * i + n));
      low = fmin(low, fmax(y[i], -0.5) - fmax(x[i], -0.5));
      high = fmax(high, fmax(y[i], -0.5) - fmax(x[i], -0.5));
    }
    gpc_pair_range(n, x, y, -0.5, ends);
    CHECK(ends[0] == low && ends[1] == high);
  }
}

int main(void) {
  check_pair();
  check_pair_range();
  check_blocks();
  for (size_t a = 0; a < sizeof rows_tried / sizeof *rows_tried; a++)
    for (size_t b = 0; b < sizeof columns_tried / sizeof *columns_tried; b++) {
      check_size(rows_tried[a], columns_tried[b]);
      check_normalise(rows_tried[a], columns_tried[b]);
    }
  check_special();
  check_normalise_edges();
  return CTEST_END();
}
