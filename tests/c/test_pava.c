/* test_pava.c: pooling adjacent violators and the CORP parts, on cases worked by hand and
 * against the min-max formula. */
#include "ctest.h"
#include "corp.h"
#include "min_max.h"
#include "pava.h"
#include "resample.h"
#include <stdlib.h>

static void random_case(size_t m, uint64_t stream) {
  double hits[40], weight[40], h[40], w[40];
  int first[40];
  for (size_t i = 0; i < m; i++) {
    w[i] = weight[i] = 1.0 + floor(3.0 * gpc_stream_uniform(stream, 2 * i));
    h[i] = hits[i] = floor((weight[i] + 1.0) * gpc_stream_uniform(stream, 2 * i + 1));
  }
  size_t blocks = gpc_pava_pool(m, h, w, first);
  CHECK(blocks >= 1 && blocks <= m && first[0] == 0);
  for (size_t b = 0; b < blocks; b++) {
    size_t end = b + 1 < blocks ? (size_t)first[b + 1] : m;
    for (size_t i = (size_t)first[b]; i < end; i++)
      CHECK_NEAR(h[b] / w[b], min_max(m, hits, weight, i), 1e-14);
    if (b > 0)
      CHECK(h[b] / w[b] > h[b - 1] / w[b - 1]);
  }
}

static void ties(void) {
  double x[] = {.5, .2, .5, .2, .9}, y[] = {1, 0, 0, 1, 1}, w[] = {1, 2, 3, 1, 0};
  int order[] = {1, 3, 0, 2, 4}, group[5];
  double score[5], hits[5], weight[5];
  CHECK(gpc_pava_ties(5, x, y, w, order, score, hits, weight, group) == 2);
  CHECK(score[0] == .2 && hits[0] == 1 && weight[0] == 3);
  CHECK(score[1] == .5 && hits[1] == 1 && weight[1] == 4);
  CHECK(group[0] == 0 && group[1] == 0 && group[2] == 1 && group[3] == 1 &&
        group[4] == -1);
  CHECK(gpc_pava_ties(5, x, y, NULL, order, score, hits, weight, NULL) == 3);
  CHECK(weight[2] == 1 && hits[2] == 1);
}

/* The example of reliabilitydiag: blocks (.1 .. .4) and (.5, .9). */
static void corp(void) {
  double x[] = {.4, .3, .2, .1, .5, .9}, y[] = {0, 0, 0, 1, 1, 1};
  double lower[6], upper[6], weight[6], score[6], fit[6];
  gpc_corp c = {0, lower, upper, weight, score, fit, {0, 0, 0}, {0, 0, 0}};
  void *work = malloc(gpc_corp_work(6));
  gpc_corp_fit(6, x, y, NULL, &c, work);
  CHECK(c.blocks == 2);
  CHECK(lower[0] == .1 && upper[0] == .4 && lower[1] == .5 && upper[1] == .9);
  CHECK_NEAR(fit[0], .25, 1e-15);
  CHECK_NEAR(fit[1], 1.0, 1e-15);
  CHECK_NEAR(score[0], .25, 1e-15);
  CHECK_NEAR(score[1], .7, 1e-15);
  CHECK_NEAR(c.brier.score, .2266667, 1e-7);
  CHECK_NEAR(c.brier.score - c.brier.recalibrated, .1016667, 1e-7);
  CHECK_NEAR(c.brier.constant - c.brier.recalibrated, .125, 1e-12);
  CHECK_NEAR(c.brier.constant, .25, 1e-12);
  CHECK_NEAR(c.log.score, .6986228, 1e-7);
  CHECK_NEAR(c.log.score - c.log.recalibrated, .3237327, 1e-7);
  CHECK_NEAR(c.log.constant - c.log.recalibrated, .3182571, 1e-7);
  CHECK_NEAR(c.log.constant, .6931472, 1e-7);
  free(work);
}

int main(void) {
  ties();
  for (uint64_t run = 0; run < 60; run++)
    random_case(1 + run % 40, 1000 + run);
  corp();
  return CTEST_END();
}
