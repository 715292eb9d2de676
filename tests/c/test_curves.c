/* test_curves.c: groups of ties, curves, isotonic, histogram and BBQ fits of one class,
 * on cases worked by hand and against plain loops. */
#include "ctest.h"
#include "bbq.h"
#include "curve.h"
#include "histogram.h"
#include "isotonic.h"
#include "pava.h"
#include "radix.h"
#include "resample.h"
#include <stdlib.h>

enum { MOST = 3000 };
static double x[MOST], y[MOST], weights[MOST];
static int label[MOST];

/* Scores with or without ties, a 0, a -0 and a 1 among them; labels 1 or 2. */
static void draw(size_t n, uint64_t stream, double grid) {
  for (size_t i = 0; i < n; i++) {
    double u = gpc_stream_uniform(stream, 3 * i);
    x[i] = grid > 0.0 ? floor(u * grid) / grid : u;
    label[i] = 1 + (gpc_stream_uniform(stream, 3 * i + 1) < 0.2 + 0.6 * x[i]);
    y[i] = label[i] == 2;
    weights[i] = floor(4.0 * gpc_stream_uniform(stream, 3 * i + 2));
  }
  weights[0] = 1.0; /* some row counts */
  x[n - 1] = 1.0;
  x[0] = 0.0;
  if (n > 3)
    x[n / 2] = -0.0;
}

/* Both walks against gpc_radix_order() and gpc_pava_ties(). */
static void check_ties(size_t n, uint64_t stream, double grid, int weighted) {
  draw(n, stream, grid);
  gpc_one one = {n, x, label, 2, weighted ? weights : NULL};
  void *work = malloc(gpc_ties_work(n, weighted) + 1);
  void *radix = malloc(gpc_radix_work(n) + 1);
  double *score = malloc(6 * n * sizeof *score), *hits = score + n, *weight = hits + n;
  int *order = malloc(n * sizeof *order);
  gpc_ties ties = gpc_ties_sort(&one, work);
  size_t m = gpc_ties_all(&ties, score, hits, weight);
  gpc_radix_order(n, x, order, radix);
  size_t wanted = gpc_pava_ties(n, x, y, weighted ? weights : NULL, order, score + 3 * n,
                                score + 4 * n, score + 5 * n, NULL);
  CHECK(m == wanted);
  int same = 1;
  for (size_t g = 0; g < m; g++)
    same &= score[g] == score[3 * n + g] && hits[g] == score[4 * n + g] &&
            weight[g] == score[5 * n + g];
  CHECK(same);
  free(work);
  free(radix);
  free(score);
  free(order);
}

static void curves(void) {
  const double at[] = {-1.0, 0.1, 0.15, 0.2, 0.3, 0.45, 0.5, 2.0};
  const double px[] = {0.1, 0.2, 0.5}, py[] = {0.0, 0.25, 1.0};
  double v[8];
  gpc_curve_apply(&(gpc_curve){GPC_CURVE_LINEAR, 3, px, py}, 8, at, v);
  const double linear[] = {0.0, 0.0, 0.125, 0.25, 0.5, 0.875, 1.0, 1.0};
  for (int i = 0; i < 8; i++)
    CHECK_NEAR(v[i], linear[i], 1e-15);
  CHECK(v[1] == 0.0 && v[3] == 0.25 && v[6] == 1.0);
  gpc_curve_apply(&(gpc_curve){GPC_CURVE_UPTO, 3, px, py}, 8, at, v);
  const double steps[] = {0.0, 0.0, 0.25, 0.25, 1.0, 1.0, 1.0, 1.0};
  for (int i = 0; i < 8; i++)
    CHECK(v[i] == steps[i]);
  const double gap[] = {0.0, NAN, 1.0};
  gpc_curve_apply(&(gpc_curve){GPC_CURVE_UPTO, 3, px, gap}, 8, at, v);
  const double upto[] = {0.0, 0.0, 0.15, 0.2, 1.0, 1.0, 1.0, 1.0};
  for (int i = 0; i < 8; i++)
    CHECK(v[i] == upto[i]);
  gpc_curve_apply(&(gpc_curve){GPC_CURVE_UPTO, 1, px, gap + 1}, 8, at, v);
  CHECK(v[2] == 0.15 && v[7] == 2.0); /* a single empty bin */
  for (int kind = 0; kind < 2; kind++) {
    gpc_curve_apply(&(gpc_curve){(gpc_curve_kind)kind, 1, px, py + 1}, 8, at, v);
    CHECK(v[0] == 0.25 && v[7] == 0.25);
  }
}

/* Steps with few edges and many, full and empty bins, against one comparison after the
 * other; scores mostly in the first bin (as with many classes) or everywhere. */
static void steps_by_counting(void) {
  enum { ROWS = 333, EDGES = 40 };
  double score[ROWS], value[ROWS], px[EDGES], py[EDGES];
  int wrong = 0;
  for (size_t m = 1; m <= EDGES; m++)
    for (int kind = 0; kind < 4; kind++) {
      for (size_t e = 0; e < m; e++) {
        px[e] = (double)(e + 1) / (double)m;
        py[e] = kind % 2 && e % 3 == 0 ? NAN : gpc_stream_uniform(m, e);
      }
      for (size_t i = 0; i < ROWS; i++) {
        double u = gpc_stream_uniform(100 + m, i);
        score[i] = kind < 2 ? u : u * u * u * u * u * u;
        if (i % 50 == 7)
          score[i] = px[i % m]; /* an edge itself */
      }
      gpc_curve_apply(&(gpc_curve){GPC_CURVE_UPTO, m, px, py}, ROWS, score, value);
      for (size_t i = 0; i < ROWS; i++) {
        size_t at = 0;
        while (at < m - 1 && score[i] > px[at])
          at++;
        wrong += value[i] != (isnan(py[at]) ? score[i] : py[at]);
      }
    }
  CHECK(wrong == 0);
}

/* At every score the curve has the value of pooled groups; steps and lines agree there;
 * the points increase. */
static void check_isotonic(size_t n, uint64_t stream, double grid, int weighted) {
  draw(n, stream, grid);
  gpc_one one = {n, x, label, 2, weighted ? weights : NULL};
  size_t room = gpc_isotonic_points(n, weighted);
  double *px = malloc(4 * room * sizeof *px), *py = px + room, *sx = py + room,
         *sy = sx + room;
  void *work = malloc(gpc_isotonic_work(n, weighted));
  size_t m = gpc_isotonic_fit(&one, 1, px, py, work);
  size_t s = gpc_isotonic_fit(&one, 0, sx, sy, work);
  CHECK(m >= 1 && m <= room && s >= 1 && s <= room);
  for (size_t i = 1; i < m; i++)
    if (!(px[i] > px[i - 1] && py[i] >= py[i - 1]))
      CHECK(0);
  double *score = malloc(3 * n * sizeof *score), *hits = score + n, *weight = hits + n;
  int *first = malloc(n * sizeof *first);
  void *tie_work = malloc(gpc_ties_work(n, weighted) + 1);
  gpc_ties ties = gpc_ties_sort(&one, tie_work);
  size_t groups = gpc_ties_all(&ties, score, hits, weight);
  size_t blocks = gpc_pava_pool(groups, hits, weight, first);
  CHECK(s == blocks);
  double *line = malloc(2 * n * sizeof *line), *step = line + n;
  gpc_curve_apply(&(gpc_curve){GPC_CURVE_LINEAR, m, px, py}, groups, score, line);
  gpc_curve_apply(&(gpc_curve){GPC_CURVE_UPTO, s, sx, sy}, groups, score, step);
  int same = 1;
  for (size_t b = 0; b < blocks; b++)
    for (size_t g = (size_t)first[b];
         g < (b + 1 < blocks ? (size_t)first[b + 1] : groups); g++)
      same &= line[g] == hits[b] / weight[b] && step[g] == hits[b] / weight[b];
  CHECK(same);
  free(px);
  free(work);
  free(score);
  free(first);
  free(tie_work);
  free(line);
}

/* A staircase of all fractions with denominators up to q, the most blocks for its rows:
 * they must fit into what gpc_isotonic_points() says. */
static void staircase(void) {
  size_t n = 0;
  int q = 17;
  double value = 0.0;
  for (;;) { /* the next fraction above `value`, as d rows of which h are events */
    double best = 2.0;
    int h_best = 0, d_best = 1;
    for (int d = 1; d <= q; d++)
      for (int h = 0; h <= d; h++) {
        double f = (double)h / d;
        if ((f > value || n == 0) && f < best) {
          best = f;
          h_best = h;
          d_best = d;
        }
      }
    if (best > 1.0 || n + (size_t)d_best > MOST)
      break;
    for (int i = 0; i < d_best; i++, n++) {
      x[n] = best;
      label[n] = 1 + (i < h_best);
    }
    value = best;
  }
  gpc_one one = {n, x, label, 2, NULL};
  size_t room = gpc_isotonic_points(n, 0);
  CHECK(room < 2 * n);
  double *px = malloc(2 * room * sizeof *px);
  void *work = malloc(gpc_isotonic_work(n, 0));
  size_t m = gpc_isotonic_fit(&one, 0, px, px + room, work);
  CHECK(m > 90 && m <= room / 2); /* phi(1) + ... + phi(17) + 1 = 97 */
  free(px);
  free(work);
}

static void histogram(void) {
  const double score[] = {0.0, 0.1, 0.2, 0.21, 0.9, 0.9}, w[] = {1, 1, 2, 1, 3, 0};
  const int code[] = {2, 1, 2, 1, 2, 1};
  double px[5], py[5];
  void *work = malloc(gpc_histogram_work(6, 5, 1));
  gpc_one one = {6, score, code, 2, NULL};
  CHECK(gpc_histogram_fit(&one, 5, 0, px, py, work) == 5);
  CHECK(px[0] == 0.2 && px[4] == 1.0);
  CHECK_NEAR(py[0], 2.0 / 3, 1e-16); /* 0.2 belongs to the first bin */
  CHECK(py[1] == 0.0 && isnan(py[2]) && isnan(py[3]) && py[4] == 0.5);
  one.weights = w;
  gpc_histogram_fit(&one, 5, 0, px, py, work);
  CHECK(py[0] == 0.75 && py[4] == 1.0);
  one.weights = NULL;
  CHECK(gpc_histogram_fit(&one, 3, 1, px, py, work) == 3);
  CHECK(px[0] == 0.1 && px[1] == 0.21 && px[2] == 0.9);
  CHECK(py[0] == 0.5 && py[1] == 0.5 && py[2] == 0.5);
  CHECK(gpc_histogram_fit(&one, 5, 1, px, py, work) == 4); /* a tie takes two quantiles */
  free(work);
}

static void log_gamma(void) {
  double worst = 0.0;
  for (uint64_t i = 0; i < 20000; i++) {
    double u = gpc_stream_uniform(3, i), v = gpc_stream_uniform(4, i);
    double z = (0.1 + u) * pow(10.0, 14.0 * v - 7.0), truth = lgamma(z);
    worst = fmax(worst, fabs(gpc_log_gamma(z) - truth) / fmax(1.0, fabs(truth)));
  }
  CHECK_NEAR(worst, 0.0, 1e-14);
  CHECK_NEAR(gpc_log_gamma(1e-300), lgamma(1e-300), 1e-12);
}

static void bbq_range(void) {
  size_t first, last;
  gpc_bbq_range(1000.0, &first, &last);
  CHECK(first == 1 && last == 100);
  gpc_bbq_range(1e6, &first, &last);
  CHECK(first == 10 && last == 1000);
  gpc_bbq_range(12.0, &first, &last);
  CHECK(first == 1 && last == 3);
  gpc_bbq_range(1.0, &first, &last);
  CHECK(first == 1 && last == 1);
  gpc_bbq_range(29791.0, &first, &last); /* 31^3 */
  CHECK(first == 3 && last == 310);
}

/* Four rows: B = 1 alone, ceil(4/5). One bin with its centre at 1/2: (2 + 1)/(4 + 2). Six
 * rows: B = 1 and 2. */
static void bbq_by_hand(void) {
  const double score[] = {0.1, 0.2, 0.4, 0.6, 0.8, 0.9};
  const int code[] = {1, 1, 2, 1, 2, 2};
  double px[6], py[6], evidence;
  void *work = malloc(gpc_bbq_work(6, 6.0, 0));
  gpc_one one = {4, score, code, 2, NULL};
  CHECK(gpc_bbq_fit(&one, 4.0, px, py, &evidence, work) == 1);
  CHECK_NEAR(py[0], 2.0 / 6.0, 1e-15);
  one.n = 6;
  CHECK(gpc_bbq_fit(&one, 6.0, px, py, &evidence, work) == 2);
  CHECK_NEAR(px[0], 0.5, 1e-15); /* between 0.4 and 0.6 */
  CHECK(px[1] == 1.0);
  /* B = 1: Beta(4, 4)/Beta(1, 1) = 1/140, value 1/2. B = 2: bins (0, .5] with 1 of 3 and
   * (.5, 1] with 2 of 3, alpha .25 and .75, values 1.25/4 and 2.75/4. */
  double one_bin = 1.0 / 140.0;
  double two = exp(2.0 * (lgamma(1.25) + lgamma(2.75) - lgamma(4.0) - lgamma(0.25) -
                          lgamma(0.75) + lgamma(1.0)));
  double share = two / (one_bin + two);
  CHECK_NEAR(py[0], (1.0 - share) * 0.5 + share * 1.25 / 4.0, 1e-15);
  CHECK_NEAR(py[1], (1.0 - share) * 0.5 + share * 2.75 / 4.0, 1e-15);
  CHECK_NEAR(evidence, log((one_bin + two) / 2.0), 1e-14);
  free(work);
}

static void check_bbq(size_t n, uint64_t stream, double grid, int weighted) {
  draw(n, stream, grid);
  double total = 0.0;
  for (size_t i = 0; i < n; i++)
    total += weighted ? weights[i] : 1.0;
  gpc_one one = {n, x, label, 2, weighted ? weights : NULL};
  double *px = malloc(2 * n * sizeof *px);
  void *work = malloc(gpc_bbq_work(n, total, weighted));
  size_t m = gpc_bbq_fit(&one, total, px, px + n, NULL, work);
  int fine = m >= 1 && m <= n && px[m - 1] == 1.0;
  for (size_t i = 0; i < m; i++)
    fine &= (i == 0 || px[i] > px[i - 1]) && px[n + i] > 0.0 && px[n + i] < 1.0;
  CHECK(fine);
  free(px);
  free(work);
}

int main(void) {
  curves();
  steps_by_counting();
  staircase();
  histogram();
  log_gamma();
  bbq_range();
  bbq_by_hand();
  const size_t sizes[] = {2, 3, 47, 48, 200, 1000, MOST};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int kind = 0; kind < 6; kind++) {
      double grid = kind / 2 == 0 ? 0.0 : kind / 2 == 1 ? 100.0 : 3.0;
      check_ties(sizes[s], 10 + s, grid, kind % 2);
      check_isotonic(sizes[s], 20 + s, grid, kind % 2);
      check_bbq(sizes[s], 30 + s, grid, kind % 2);
    }
  return CTEST_END();
}
