/* test_smooth.c: splines, the smooth curve, recalibration, pairs in order, and the slope.
 */
#include "ctest.h"
#include "slope.h"
#include "smooth.h"
#include "smooth_draws.h"
#include "validate.h"
#include <stdlib.h>

/* Values at knots, a straight line everywhere, linear beyond the ends. */
static void spline(void) {
  double knots[] = {-2, -1, 0.5, 2, 3}, row[5], sum, line;
  gpc_spline s;
  CHECK(gpc_spline_make(5, knots, &s) == GPC_OK);
  for (int i = 0; i < 5; i++) {
    gpc_spline_row(&s, knots[i], row);
    for (int j = 0; j < 5; j++)
      CHECK_NEAR(row[j], i == j ? 1.0 : 0.0, 1e-14);
  }
  for (double x = -4.0; x < 5.0; x += 0.37) {
    gpc_spline_row(&s, x, row);
    sum = line = 0.0;
    for (int j = 0; j < 5; j++) {
      sum += row[j];
      line += row[j] * (3.0 - 2.0 * knots[j]);
    }
    CHECK_NEAR(sum, 1.0, 1e-12);
    CHECK_NEAR(line, 3.0 - 2.0 * x, 1e-11);
  }
  /* A line has no roughness, and the penalty is symmetric. */
  for (int i = 0; i < 5; i++) {
    double out = 0.0;
    for (int j = 0; j < 5; j++) {
      out += s.penalty[i + 5 * j] * (1.0 + 4.0 * knots[j]);
      CHECK_NEAR(s.penalty[i + 5 * j], s.penalty[j + 5 * i], 1e-12);
    }
    CHECK_NEAR(out, 0.0, 1e-11);
  }
}

/* Two knots: the two frequencies; many: finite also where the events are separated. */
static void curve(void) {
  double two[] = {-1, 1}, x[] = {-1, 1}, w[] = {10, 20}, h[] = {2, 15};
  gpc_spline s;
  gpc_smooth fit;
  double *work = malloc(gpc_smooth_work(2, 2) * sizeof *work);
  gpc_spline_make(2, two, &s);
  CHECK(gpc_smooth_fit(&s, 2, x, w, h, work, NULL, NULL, &fit) == GPC_OK);
  CHECK_NEAR(fit.beta[0], log(2.0 / 8.0), 1e-6);
  CHECK_NEAR(fit.beta[1], log(15.0 / 5.0), 1e-6);
  CHECK_NEAR(fit.cov[0], 1.0 / 2 + 1.0 / 8, 1e-6);
  CHECK_NEAR(fit.edf, 2.0, 1e-6);
  free(work);
  double knots[] = {-3, -1, 0, 1, 3}, at[40], one[40], hit[40];
  for (int i = 0; i < 40; i++) {
    at[i] = -3.0 + 0.15 * i;
    one[i] = 1.0;
    hit[i] = i >= 20;
  }
  work = malloc(gpc_smooth_work(40, 5) * sizeof *work);
  gpc_spline_make(5, knots, &s);
  gpc_smooth_fit(&s, 40, at, one, hit, work, NULL, NULL, &fit);
  for (int j = 0; j < 5; j++)
    CHECK(isfinite(fit.beta[j]));
  CHECK(fit.beta[0] < -2 && fit.beta[4] > 2);
  memset(hit, 0, sizeof hit);
  gpc_smooth_fit(&s, 40, at, one, hit, work, NULL, NULL, &fit);
  CHECK(isfinite(fit.beta[0]) && fit.beta[0] < -5);
  free(work);
}

static void line(void) {
  /* Two scores: the line goes through both log-odds. */
  double x[40], w[40];
  int hit[40];
  for (int i = 0; i < 40; i++) {
    x[i] = i < 20 ? -1.0 : 2.0;
    w[i] = 0.5 + (i % 2);
    hit[i] = i < 20 ? i < 5 : i < 36;
  }
  gpc_recal fit;
  CHECK(gpc_recal_fit(40, x, hit, NULL, 0, NULL, NULL, &fit) == GPC_OK);
  double low = log(5.0 / 15), high = log(16.0 / 4);
  CHECK_NEAR(fit.coef[1], (high - low) / 3, 1e-8);
  CHECK_NEAR(fit.coef[0], low + (high - low) / 3, 1e-8);
  CHECK(gpc_recal_fit(40, x, hit, w, 1, NULL, NULL, &fit) == GPC_OK);
  double gradient = 0.0, info = 0.0;
  for (int i = 0; i < 40; i++) {
    double q = 1.0 / (1.0 + exp(-fit.coef[0] - x[i]));
    gradient += w[i] * (hit[i] - q);
    info += w[i] * q * (1.0 - q);
  }
  CHECK_NEAR(gradient, 0.0, 1e-6);
  CHECK_NEAR(fit.inverse[0], 1.0 / info, 1e-6);
  for (int i = 0; i < 40; i++)
    hit[i] = i >= 20;
  CHECK(gpc_recal_fit(40, x, hit, NULL, 0, NULL, NULL, &fit) == GPC_NOT_CONVERGED);
  for (int i = 0; i < 40; i++)
    x[i] = 1.0;
  CHECK(gpc_recal_fit(40, x, hit, NULL, 0, NULL, NULL, &fit) == GPC_FLAT);
}

static void order(void) {
  double x[] = {.1, .4, .35, .8, .4}, influence[5], sum = 0.0;
  int hit[] = {0, 0, 1, 1, 1};
  void *work = malloc(gpc_concordance_work(5));
  /* Pairs: .35 > .1, .35 < .4; .8 > both; .4 > .1, = .4: 4.5 of 6. */
  CHECK_NEAR(gpc_concordance(5, x, hit, NULL, influence, work), 4.5 / 6, 1e-15);
  for (int i = 0; i < 5; i++)
    sum += influence[i];
  CHECK_NEAR(sum, 0.0, 1e-15);
  CHECK_NEAR(influence[3], (1.0 - 0.75) / 3, 1e-15);
  int none[] = {0, 0, 0, 0, 0};
  CHECK(isnan(gpc_concordance(5, x, none, NULL, influence, work)));
  free(work);
}

static void two_means(void) {
  double z[] = {.9, .4, .8, .1, .6, .2}, w[] = {1, 2, 1}, out[6];
  int label[] = {2, 1, 2};
  gpc_two_means(3, z, label, w, 0, out);
  CHECK(out[0] == 1.0 && out[3] == 2.0);
  CHECK_NEAR(out[1], .6, 1e-15);
  CHECK_NEAR(out[4], .15, 1e-15);
  CHECK_NEAR(out[2], 0.0, 1e-15);
  CHECK_NEAR(out[5], 2 * .05 * .05 / 4, 1e-15);
  gpc_two_means(3, z, label, NULL, 1, out);
  CHECK_NEAR(out[1], 1.0 / (1.0 + exp(.4 - .6)), 1e-15);
}

static void slope(void) {
  double probs[] = {.5, .2, 1, .3, .3, 0, .2, .5, 0}, conf[] = {.5, .5, 1}, at[3],
         rows[3];
  int labels[] = {1, 3, 1}, pred[] = {1, 3, 1};
  gpc_forecast f = {3, 3, probs, labels, conf, pred, NULL};
  gpc_slope_at(&f, 1.0, at, NULL, NULL);
  CHECK_NEAR(at[0], 0.0, 1e-15); /* probabilities sum to one */
  double mean = 2 * (.5 * log(.5) + .2 * log(.2) + .3 * log(.3));
  CHECK_NEAR(at[1], mean, 1e-14);
  gpc_slope_rows(&f, rows);
  CHECK_NEAR(rows[0], log(.5) - mean / 2, 1e-14);
  CHECK_NEAR(rows[2], 0.0, 1e-15);
  double work[18], out[6], part[2];
  gpc_slope_draw(&f, 7, 0, 6, work, out, NULL, NULL);
  gpc_slope_draw(&f, 7, 4, 2, work, part, NULL, NULL);
  CHECK(out[4] == part[0] && out[5] == part[1]);
  for (int i = 0; i < 6; i++)
    CHECK(isfinite(out[i]) && out[i] < 0.0);
}

/* Distances of two curves from the diagonal, by hand: 0.1, 0.3 and 0.2 above, and none. */
static void distances(void) {
  const double x[] = {0.0, log(0.2 / 0.8), log(0.4 / 0.6)}, w[] = {1, 2, 1};
  const double curves[] = {log(0.6 / 0.4), 0.0, log(0.6 / 0.4), x[0], x[1], x[2]};
  const int inner[] = {1, 0, 1};
  double work[6], out[2 * GPC_DISTANCES];
  gpc_smooth_distances(3, 2, curves, x, w, inner, work, out);
  CHECK_NEAR(out[0], (0.1 + 2 * 0.3 + 0.2) / 4, 1e-12);
  CHECK_NEAR(out[1], 0.2, 1e-12); /* half of the weight does not exceed it */
  CHECK_NEAR(out[2], 0.3, 1e-12);
  CHECK_NEAR(out[3], 0.2, 1e-12); /* the cell of 0.3 is not an inner one */
  for (int i = 0; i < GPC_DISTANCES; i++)
    CHECK_NEAR(out[GPC_DISTANCES + i], 0.0, 1e-15);
}

int main(void) {
  spline();
  curve();
  distances();
  line();
  order();
  two_means();
  slope();
  return CTEST_END();
}
