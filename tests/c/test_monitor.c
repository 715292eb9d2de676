/* test_monitor.c: sums of a monitored forecast against a case worked by hand, and against
 * the same rows one by one. */
#include "ctest.h"
#include "monitor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 40
#define K 3

typedef struct {
  double total[GPC_MONITOR_TOTALS], observed[K], expected[K], bin[9], temperature[2],
      tilt[6], offset[4];
} room;

static gpc_monitor_sums sums_of(room *r) {
  memset(r, 0, sizeof *r);
  return (gpc_monitor_sums){r->total,       r->observed, r->expected, r->bin,
                            r->temperature, r->tilt,     r->offset};
}

int main(void) {
  const double edge[] = {0.3, 0.6}, t[] = {-0.5, 0.7}, d[] = {-1.0, 0.4};
  const gpc_monitor_grid grid = {3, 2, 2, edge, t, d};
  double *work = malloc(gpc_monitor_work(K, &grid) * sizeof *work);

  /* one row, p = (.5, .3, .2), label 2 */
  const double p[] = {0.5, 0.3, 0.2};
  const int y = 2;
  room r;
  gpc_monitor_sums sums = sums_of(&r);
  gpc_monitor_add(&(gpc_monitored){1, K, p, &y, NULL}, &grid, work, NULL, NULL, &sums);
  CHECK_NEAR(r.total[GPC_MONITOR_LOSS], -log(0.3), 1e-15);
  CHECK_NEAR(r.total[GPC_MONITOR_BRIER], 0.25 + 0.49 + 0.04, 1e-15);
  CHECK_NEAR(r.total[GPC_MONITOR_OVER], 0.5, 1e-15);
  CHECK_NEAR(r.bin[1 + 3], 0.5, 1e-15); /* the middle bin, a miss */
  CHECK_NEAR(r.bin[1 + 6], 0.0, 0.0);
  const double beta = exp(0.7);
  CHECK_NEAR(
      r.temperature[1],
      log(pow(0.3, beta) / (pow(0.5, beta) + pow(0.3, beta) + pow(0.2, beta)) / 0.3),
      1e-14);
  /* odds of the top class times e^d: what is left of the others is 1/(1 + .5 (e^d - 1))
   */
  CHECK_NEAR(r.tilt[1], -log(1.0 + 0.5 * (exp(-1.0) - 1.0)), 1e-14);
  /* not the first class, and the second of the last two, .3 to .2 */
  CHECK_NEAR(r.offset[0], -log(1.0 + 0.5 * (exp(-1.0) - 1.0)), 1e-14);
  CHECK_NEAR(r.offset[1 + 2], 0.4 - log(1.0 + 0.6 * (exp(0.4) - 1.0)), 1e-14);

  /* many rows at once, with and without weights, as one by one */
  double many[ROWS * K], w[ROWS];
  int labels[ROWS];
  for (int i = 0; i < ROWS; i++) {
    const double a = 1.0 + i % 7, b = 1.0 + i % 5, c = 1.0 + i % 3;
    many[i] = a / (a + b + c);
    many[i + ROWS] = b / (a + b + c);
    many[i + 2 * ROWS] = c / (a + b + c);
    labels[i] = 1 + i % 3;
    w[i] = 1.0 + i % 2;
  }
  room all, one;
  gpc_monitor_sums together = sums_of(&all), single = sums_of(&one);
  gpc_monitor_add(&(gpc_monitored){ROWS, K, many, labels, w}, &grid, work, NULL, NULL,
                  &together);
  for (int i = 0; i < ROWS; i++)
    for (int times = 0; times < (int)w[i]; times++) {
      const double row[] = {many[i], many[i + ROWS], many[i + 2 * ROWS]};
      gpc_monitor_add(&(gpc_monitored){1, K, row, labels + i, NULL}, &grid, work, NULL,
                      NULL, &single);
    }
  const double *x = (const double *)&all, *z = (const double *)&one;
  for (size_t i = 0; i < sizeof all / sizeof(double); i++)
    CHECK_NEAR(x[i], z[i], 1e-11);

  /* a label of probability zero adds to the scores but the log loss, and not to the
   * evidence */
  const double sure[] = {1.0, 0.0, 0.0};
  sums = sums_of(&r);
  gpc_monitor_add(&(gpc_monitored){1, K, sure, &y, NULL}, &grid, work, NULL, NULL, &sums);
  CHECK_NEAR(r.total[GPC_MONITOR_IMPOSSIBLE], 1.0, 0.0);
  CHECK_NEAR(r.total[GPC_MONITOR_LOSS], 0.0, 0.0);
  CHECK_NEAR(r.temperature[0], 0.0, 0.0);

  /* a label of the smallest probability there is: p^beta underflows, its logarithm is
   * beta log p - log(sum of all) */
  const double tiny[] = {1.0, 4.9406564584124654e-324, 0.0};
  sums = sums_of(&r);
  gpc_monitor_add(&(gpc_monitored){1, K, tiny, &y, NULL}, &grid, work, NULL, NULL, &sums);
  CHECK_NEAR(r.temperature[1], (beta - 1.0) * log(tiny[1]), 1e-10);
  CHECK_NEAR(r.temperature[0], (exp(-0.5) - 1.0) * log(tiny[1]), 1e-10);
  free(work);
  return CTEST_END();
}
