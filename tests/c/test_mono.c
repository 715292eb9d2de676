/* Maps that keep the order: projection against its definition, prediction against slow
 * sums, and the promise around every node. */
#include "cmemory.h"
#include "ctest.h"
#include "mono_latent.h"
#include "mono_predict.h"
#include "mono_project.h"
#include "mono_row.h"
#include "select.h"

#include <stdlib.h>

static unsigned seed = 5;

static double uniform(void) {
  seed = seed * 1664525u + 1013904223u;
  return ((seed >> 8) + 0.5) / 16777216.0;
}

enum { M = 8, BINS = 16, K = 4, N = 40 };

static double w[M], chol[M * M], q_mean[M], q_cov[M * M], mass[BINS + 2];

/* A process whose mean falls in places. */
static gpc_gp_fitted process(double slope) {
  for (size_t i = 0; i < M; i++) {
    w[i] = -6.0 + 12.0 * (double)i / (M - 1);
    q_mean[i] = 4.0 * (uniform() - 0.5);
    for (size_t j = 0; j < M; j++)
      q_cov[i + M * j] = i == j ? 0.2 : 0.02;
  }
  for (size_t i = 0; i < BINS + 2; i++)
    mass[i] = 5.0 * uniform();
  gpc_gp_fitted fit = {.basis = {.m = M,
                                 .inducing = w,
                                 .hyper = {.s2 = 4.0, .l = 2.0, .sn2 = 1e-6},
                                 .chol = chol},
                       .prior = {.mean = GPC_MEAN_LINEAR, .slope = slope},
                       .q_mean = q_mean,
                       .q_cov = q_cov};
  CHECK(gpc_basis_factor(&fit.basis) == GPC_OK);
  return fit;
}

static gpc_mono_seen seen_scores(void) {
  return (gpc_mono_seen){.lowest = -9.0,
                         .highest = 8.0,
                         .from = -6.0,
                         .to = 6.0,
                         .bins = BINS,
                         .mass = mass};
}

static gpc_mono_table make_table(double slope) {
  const gpc_gp_fitted fit = process(slope);
  const gpc_mono_seen seen = seen_scores();
  gpc_mono_table table;
  CHECK(gpc_mono_table_make(&fit, &seen, &cmemory, &table) == GPC_OK);
  return table;
}

/* Places never fall, and u stays below 1. */
static void test_places(void) {
  const gpc_mono_table table = make_table(0.7);
  CHECK(table.first > 0 && table.last + 1 < table.nodes);
  CHECK_NEAR(table.t[table.first], -9.0, 1e-9);
  CHECK_NEAR(table.t[table.last], 8.0, 1e-9);
  double before = -1.0;
  long fell = 0, outside = 0;
  for (size_t g = 0; g < table.nodes; g++)
    for (int step = -40; step <= 40; step++) {
      double t = table.t[g];
      if (step > -20 && step < 20)
        for (int s = 0; s < abs(step); s++)
          t = nextafter(t, step < 0 ? -INFINITY : INFINITY);
      else
        t += table.step * (double)step / 81.0;
      const gpc_mono_place at = gpc_mono_find(&table, t);
      const double bent = gpc_mono_bent(&table, at);
      outside += at.u < 0.0 || at.u >= 1.0 || bent < 0.0 || bent >= 1.0 || bent > at.u;
      if (step == -40)
        before = -1.0;
      const double place = (double)at.cell + bent;
      if (abs(step) < 20) {
        fell += place < before;
        before = place;
      }
    }
  CHECK(fell == 0);
  CHECK(outside == 0);
  CHECK(gpc_mono_find(&table, table.high + 1.0).off > 0.0);
  CHECK(gpc_mono_find(&table, table.low - 1.0).off < 0.0);
  CHECK(gpc_mono_find(&table, -INFINITY).cell == 0);
  cmemory_end();
}

/* fl(y0 + u d) stays between the ends and never falls, for ends of any sizes. */
static void test_between(void) {
  for (int i = 0; i < 20000; i++) {
    const double y0 = exp(-60.0 * uniform()) * (uniform() < 0.2 ? 0.0 : 1.0);
    double y1 = y0 + exp(-80.0 * uniform());
    if (uniform() < 0.2)
      y1 = nextafter(y0, INFINITY);
    double before = y0;
    for (int j = 0; j < 5; j++) {
      const double u =
          floor(0x1p20 * (j == 4 ? 1.0 - 0x1p-20 : (j + uniform()) / 5.0)) * 0x1p-20;
      const double y = gpc_mono_between(y0, y1, u);
      if (!(y >= before && y <= y1))
        CHECK(0 && "between");
      before = y;
    }
    CHECK_NEAR(before, y1, (y1 - y0) * 1e-5 + 1e-300);
  }
}

/* h is the projection if and only if the weighted residuals of its blocks sum to zero and
 * their partial sums are never negative. */
static void test_project(void) {
  const gpc_mono_table table = make_table(0.7);
  double left = 0.0, worst = 0.0, total = 0.0;
  int fell = 0;
  for (size_t g = table.first; g <= table.last; g++)
    total += table.weight[g];
  for (size_t g = 0; g + 1 < table.nodes; g++)
    fell |= table.phi[g + 1] < table.phi[g];
  CHECK(fell); /* there is something to do */
  for (size_t g = table.first; g <= table.last; g++) {
    left += table.weight[g] * (table.phi[g] - table.map[g]);
    const double rise = g < table.last ? table.map[g + 1] - table.map[g] : INFINITY;
    worst = fmin(worst, left);
    CHECK(rise >= table.least * table.step * (1.0 - 1e-6));
    if (rise > table.least * table.step * (1.0 + 1e-6)) /* the end of a block */
      left = CHECK_NEAR(left, 0.0, 1e-9 * total) ? 0.0 : left;
  }
  CHECK(worst > -1e-9 * total);
  for (size_t g = 0; g + 1 < table.nodes; g++)
    CHECK(table.map[g + 1] >= table.map[g]);
  CHECK_NEAR(table.map[table.nodes - 1] - table.map[table.last],
             0.7 * (table.t[table.nodes - 1] - table.t[table.last]), 1e-9);
  /* an increasing function stays as it is */
  double *f = gpc_get_doubles(&cmemory, table.nodes);
  for (size_t g = 0; g < table.nodes; g++)
    f[g] = 0.7 * table.t[g] + sin(0.5 * table.t[g]);
  gpc_mono_project(&table, 0.7, &cmemory, f);
  for (size_t g = table.first; g <= table.last; g++)
    CHECK_NEAR(f[g], 0.7 * table.t[g] + sin(0.5 * table.t[g]), 1e-12);
  cmemory_end();
}

/* exp of a function at a score, by the definition: straight lines between exponentials. */
static double slow_value(const gpc_mono_table *table, const double *g, double t) {
  const gpc_mono_place at = gpc_mono_find(table, t);
  const size_t a = (size_t)at.cell, b = a + 1 < table->nodes ? a + 1 : a;
  const double u = gpc_mono_bent(table, at), top = g[table->nodes - 1];
  return ((1.0 - u) * exp(g[a] - top) + u * exp(g[b] - top)) * exp(at.off);
}

static double scores[N * K];

static gpc_gp_data some_data(double spread, int threads) {
  for (size_t i = 0; i < N * K; i++)
    scores[i] = spread * (uniform() - 0.5);
  for (size_t j = 0; j < K; j++) { /* ties */
    scores[3 + N * j] = 1.0;
    scores[4 + N * j] = j < 2 ? 2.0 : -1.0;
  }
  return (gpc_gp_data){
      .n = N, .k = K, .z = scores, .floor = -INFINITY, .threads = threads};
}

static long disorder(const double *p) {
  long bad = 0;
  for (size_t i = 0; i < N; i++)
    for (size_t a = 0; a < K; a++)
      for (size_t b = 0; b < K; b++)
        bad += scores[i + N * a] >= scores[i + N * b] && p[i + N * a] < p[i + N * b];
  return bad;
}

static void test_predict(void) {
  const gpc_mono_table table = make_table(0.7);
  const gpc_gp_data data = some_data(30.0, 1);
  enum { PAIRS = 3 };
  double x[64 * PAIRS], p[N * K], all[N * K * 2 * PAIRS], ends[2 * N * K];
  CHECK(table.m <= 64);
  for (size_t i = 0; i < table.m * PAIRS; i++)
    x[i] = 3.0 * (uniform() - 0.5);
  const double tilt[PAIRS] = {0.1, -0.3, 0.0};
  gpc_mono_functions f = gpc_mono_functions_take(&table, 2 * PAIRS, &cmemory);
  gpc_mono_functions_set(&table, PAIRS, x, tilt, &cmemory, &f);
  CHECK(!f.wide);
  memset(p, 0, sizeof p);
  gpc_mono_average(&data, &table, &f, 0.5 / PAIRS, &cmemory, NULL, NULL, p);
  gpc_mono_draws(&data, &table, &f, &cmemory, NULL, NULL, all);
  gpc_mono_interval(&data, &table, &f, 0.1, 0.9, &cmemory, NULL, NULL, ends);
  for (size_t i = 0; i < N; i++)
    for (size_t j = 0; j < K; j++) {
      double average = 0.0, one[2 * PAIRS];
      for (size_t q = 0; q < 2 * PAIRS; q++) {
        const double sign = q % 2 ? -1.0 : 1.0;
        double g[4200], sum = 0.0, own = 0.0;
        for (size_t h = 0; h < table.nodes; h++) {
          g[h] = table.phi[h] + sign * tilt[q / 2] * table.t[h];
          for (size_t r = 0; r < table.m; r++)
            g[h] += sign * table.b[h + table.nodes * r] * x[r + table.m * (q / 2)];
        }
        gpc_mono_project(&table, 0.7 + sign * tilt[q / 2], &cmemory, g);
        for (size_t c = 0; c < K; c++) {
          const double v = slow_value(&table, g, scores[i + N * c]);
          sum += v;
          own = c == j ? v : own;
        }
        one[q] = own / sum;
        average += own / sum / (2.0 * PAIRS);
        CHECK_NEAR(all[i + N * (j + K * q)], own / sum, 1e-9);
      }
      CHECK_NEAR(p[i + N * j], average, 1e-9);
      CHECK_NEAR(ends[i + N * j], gpc_quantile(2 * PAIRS, one, 0.1), 1e-9);
      CHECK_NEAR(ends[N * K + i + N * j], gpc_quantile(2 * PAIRS, one, 0.9), 1e-9);
    }
  CHECK(disorder(p) == 0 && disorder(ends) == 0 && disorder(ends + N * K) == 0);
  for (size_t q = 0; q < 2 * PAIRS; q++)
    CHECK(disorder(all + N * K * q) == 0);
  cmemory_end();
}

/* Steep enough for logarithms: one answer with exponentials made for the row. */
static void test_wide(void) {
  const gpc_mono_table table = make_table(200.0);
  double p[N * K], two[N * K];
  gpc_gp_data data = some_data(30.0, 1);
  CHECK(table.map[table.nodes - 1] - table.map[0] > 1000.0);
  CHECK(gpc_mono_predict(&data, &table, GPC_MONO_INTEGRATED, &cmemory, NULL, NULL, p) ==
        GPC_OK);
  CHECK(disorder(p) == 0);
  data.threads = 3;
  CHECK(gpc_mono_predict(&data, &table, GPC_MONO_INTEGRATED, &cmemory, NULL, NULL, two) ==
        GPC_OK);
  CHECK(memcmp(p, two, sizeof p) == 0);
  for (size_t i = 0; i < N; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < K; j++)
      sum += p[i + N * j];
    CHECK_NEAR(sum, 1.0, 1e-10);
  }
  cmemory_end();
}

/* Two classes one step of the ladder apart around every node: a function with a planted dip
 * is caught there, one without is not. */
static long around_nodes(const gpc_mono_table *table, const gpc_mono_functions *f) {
  long bad = 0;
  double z[3], p[3];
  const gpc_gp_data data = {.n = 1, .k = 3, .z = z, .floor = -INFINITY, .threads = 1};
  for (size_t g = 1; g + 1 < table->nodes; g++)
    for (int step = 0; step < 4; step++) {
      const double apart[4] = {table->step, 0.25 * table->step, 0x1p-20 * table->step,
                               0.0};
      z[0] = table->t[g];
      z[1] = apart[step] > 0.0 ? z[0] + apart[step] : nextafter(z[0], INFINITY);
      z[2] = 0.0;
      memset(p, 0, sizeof p);
      gpc_mono_average(&data, table, f, 1.0, &cmemory, NULL, NULL, p);
      bad += p[1] < p[0];
    }
  return bad;
}

static void test_dip(void) {
  const gpc_mono_table table = make_table(0.7);
  gpc_mono_functions f = gpc_mono_functions_take(&table, 1, &cmemory);
  gpc_mono_functions_from(&table, table.map, &f);
  CHECK(around_nodes(&table, &f) == 0);
  double *g = gpc_get_doubles(&cmemory, table.nodes),
         *flat = gpc_get_doubles(&cmemory, table.nodes);
  memcpy(g, table.map, table.nodes * sizeof(double));
  memset(flat, 0, table.nodes * sizeof(double));
  g[table.nodes / 2] = g[table.nodes / 2 + 1] + 1e-3; /* a dip after it */
  gpc_mono_functions_from(&table, g, &f);
  /* prediction makes the row's table increasing whatever it is given, */
  CHECK(around_nodes(&table, &f) == 0);
  /* but not single values of a function: */
  double z[2] = {table.t[table.nodes / 2], table.t[table.nodes / 2 + 1]}, all[2];
  const gpc_gp_data data = {.n = 1, .k = 2, .z = z, .floor = -INFINITY, .threads = 1};
  gpc_mono_draws(&data, &table, &f, &cmemory, NULL, NULL, all);
  CHECK(all[1] < all[0]);
  cmemory_end();
}

/* Quantiles of ordered draws are ordered. */
static void test_quantile(void) {
  for (int i = 0; i < 5000; i++) {
    double a[7], b[7];
    for (size_t q = 0; q < 7; q++) {
      a[q] = uniform() < 0.5 ? 0.3 : uniform();
      b[q] = uniform() < 0.5 ? a[q] : nextafter(a[q], 1.0);
    }
    const double prob = uniform();
    const double low = gpc_quantile_ordered(7, a, prob);
    if (!(low <= gpc_quantile_ordered(7, b, prob)))
      CHECK(0 && "quantile");
    CHECK_NEAR(low, gpc_quantile(7, a, prob), 1e-15);
  }
}

/* The map itself. */
static void test_latent(void) {
  const gpc_mono_table table = make_table(0.7);
  double *var = gpc_get_doubles(&cmemory, table.nodes), mean[3], v[3];
  const double t[3] = {table.t[5], 0.5 * (table.t[5] + table.t[6]), table.high + 2.0};
  CHECK(gpc_mono_variance(&table, &cmemory, var) == GPC_OK);
  gpc_mono_latent(&table, var, 3, t, mean, v);
  CHECK_NEAR(mean[0], table.map[5], 1e-9);
  CHECK_NEAR(mean[1], 0.5 * (table.map[5] + table.map[6]), 1e-6);
  CHECK_NEAR(mean[2], table.map[table.nodes - 1] + 1.4, 1e-9);
  CHECK_NEAR(v[0], var[5], 1e-6);
  cmemory_end();
}

int main(void) {
  test_places();
  test_between();
  test_project();
  test_predict();
  test_wide();
  test_dip();
  test_quantile();
  test_latent();
  return CTEST_END();
}
