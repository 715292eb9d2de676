/* test_measures.c: bins, calibration errors and resampling on cases small enough to work
 * by hand. The combinations of options are tried against oracles from R. */
#include "ctest.h"
#include "resample.h"
#include <stdlib.h>

static void width_bins(void) {
  double edges[101];
  int bin[8];
  gpc_binning b = gpc_binning_width(100, 0.0, 0, edges);
  double x[] = {0.0, .07, .14, .28, .55, 1.0, 0x1p-1074, nextafter(.07, 1.0)};
  int want[] = {0, 6, 13, 27, 54, 99, 0, 7};
  gpc_binning_assign(&b, 8, x, bin);
  for (int i = 0; i < 8; i++)
    CHECK(bin[i] == want[i]);
  b = gpc_binning_width(100, 0.0, 1, edges);
  int left[] = {0, 7, 14, 28, 55, 99, 0, 7};
  gpc_binning_assign(&b, 8, x, bin);
  for (int i = 0; i < 8; i++)
    CHECK(bin[i] == left[i]);
  b = gpc_binning_width(4, 1.0 / 3.0, 1, edges);
  double y[] = {1.0 / 3.0, .49, .5, nextafter(2.0 / 3.0, 0.0), .9, 1.0, 0.1, 1.5};
  int third[] = {0, 0, 1, 1, 3, 3, 0, 3};
  gpc_binning_assign(&b, 8, y, bin);
  for (int i = 0; i < 8; i++)
    CHECK(bin[i] == third[i]);
  CHECK(edges[0] == 1.0 / 3.0 && edges[4] == 1.0);
}

static void mass_bins(void) {
  double x[] = {.5, .1, .1, .9, .3, .1}, w[] = {1, 1, 1, 0, 2, 1}, edges[4];
  int bin[6];
  void *work = malloc(gpc_binning_mass_work(6));
  /* Sorted .1 .1 .1 .3 .5 .9: quantiles at 1/3, 2/3, 1 are .1, .3, .9. */
  gpc_binning b = gpc_binning_mass(6, x, NULL, 3, edges, work);
  CHECK(b.bins == 3 && edges[0] == .1 && edges[1] == .1 && edges[2] == .3 &&
        edges[3] == .9);
  gpc_binning_assign(&b, 6, x, bin);
  int want[] = {2, 0, 0, 2, 1, 0};
  for (int i = 0; i < 6; i++)
    CHECK(bin[i] == want[i]);
  /* Without .9 and with .3 twice: .1, .3, .5. */
  b = gpc_binning_mass(6, x, w, 3, edges, work);
  CHECK(b.bins == 3 && edges[2] == .3 && edges[3] == .5);
  /* All tied: one bin; no weight: none. */
  double same[] = {.2, .2}, none[] = {0, 0};
  b = gpc_binning_mass(2, same, NULL, 3, edges, work);
  CHECK(b.bins == 1 && edges[0] == .2 && edges[1] == .2);
  b = gpc_binning_mass(2, same, none, 3, edges, work);
  CHECK(b.bins == 0);
  free(work);
}

static void power_means(void) {
  double share[] = {1, 0, 3}, x[] = {.2, .9, .4};
  CHECK_NEAR(gpc_power_mean(3, share, 4, x, 1), .35, 1e-15);
  CHECK_NEAR(gpc_power_mean(3, share, 4, x, 2), sqrt((.04 + .48) / 4), 1e-15);
  CHECK_NEAR(gpc_power_mean(3, share, 4, x, 3), cbrt((.008 + .192) / 4), 1e-15);
  CHECK(gpc_power_mean(3, share, 4, x, INFINITY) == .4);
  CHECK(gpc_power_mean(3, NULL, 1, x, INFINITY) == .9);
  double tiny[] = {1e-200, 1e-200};
  CHECK_REL(gpc_power_mean(2, NULL, 2, tiny, 7), 1e-200, 1e-14);
}

/* Four rows, three classes: confidence .55 .55 .60 .90, the last two right. */
static const double probs[] = {.25, .55, .10, .90, .20, .05,
                               .30, .05, .55, .40, .60, .05};
static const int labels[] = {1, 2, 3, 1}, pred[] = {3, 1, 3, 1};
static const double conf[] = {.55, .55, .60, .90};

/* Forecast, sums, error: of all rows, or of the first `cut` rows and the others apart, the
 * sums then added. */
static double error_of_parts(gpc_forecast f, gpc_ece_type type, double norm, int mass,
                             size_t cut) {
  double edges[4], a[3], b[3], c[3], n[3], q[3], more[3][3], gaps[3], errors[3],
      weights[3], g_conf[4], g_weights[4];
  size_t start[4];
  int g_labels[4];
  gpc_ece_spec spec = {type, 1, 3, mass, GPC_MEAN, norm, 0};
  void *sort = malloc(gpc_binning_mass_work(4));
  gpc_by_class groups = {start, g_conf, g_labels, g_weights};
  gpc_by_class_fill(&f, &groups);
  size_t problems = gpc_problem_count(type, f.k);
  for (size_t s = 0; s < problems; s++) {
    gpc_problem problem = gpc_problem_get(&f, &spec, &groups, s), rest = problem;
    gpc_binning bins = gpc_problem_bins(&problem, &spec, f.k, edges, sort);
    gpc_bin_sums sums = {a, b, c, n, q};
    gpc_bin_sums other = {.weight = more[0], .score = more[1], .hits = more[2]};
    const int parts = cut < problem.n;
    if (parts) {
      problem.n = cut;
      rest.n -= cut;
      rest.score += cut;
      rest.code += cut;
      rest.target = rest.target ? rest.target + cut : NULL;
      rest.weights = rest.weights ? rest.weights + cut : NULL;
      gpc_bin_sums_fill(&rest, &bins, other);
    }
    gpc_bin_sums_fill(&problem, &bins, sums);
    weights[s] = 0.0;
    for (size_t i = 0; i < bins.bins; i++) {
      if (parts) {
        a[i] += more[0][i];
        b[i] += more[1][i];
        c[i] += more[2][i];
      }
      weights[s] += a[i];
    }
    errors[s] = gpc_bin_sums_error(&bins, sums, &spec, gaps);
  }
  free(sort);
  return gpc_problem_errors(&spec, problems, errors, weights);
}

static double error_of(gpc_forecast f, gpc_ece_type type, double norm, int mass) {
  return error_of_parts(f, type, norm, mass, f.n);
}

static void errors(void) {
  gpc_forecast f = {4, 3, probs, labels, conf, pred, NULL};
  CHECK_NEAR(error_of(f, GPC_CONFIDENCE, 1, 0), .2, 1e-15);
  CHECK_NEAR(error_of(f, GPC_CONFIDENCE, 2, 0), sqrt(.75 * .49 / 9 + .25 * .01), 1e-15);
  CHECK_NEAR(error_of(f, GPC_CONFIDENCE, INFINITY, 0), .7 / 3, 1e-15);
  /* Predicted class 1: .55 wrong, .90 right; 3: .55 wrong, .60 right, both in one bin. */
  CHECK_NEAR(error_of(f, GPC_TOP_LABEL, 1, 0), .5 * (.55 + .10) / 2 + .5 * .075, 1e-15);
  CHECK_NEAR(error_of(f, GPC_TOP_LABEL, INFINITY, 0), .55, 1e-15);
  /* Class 1: .25, .10 with one hit of two; .55 none; .90 one. */
  CHECK_NEAR(error_of(f, GPC_EVENT, 1, 0), .5 * .325 + .25 * .55 + .25 * .10, 1e-15);
  double w[] = {0, 2, 1, 1};
  f.weights = w;
  CHECK_NEAR(error_of(f, GPC_CONFIDENCE, 1, 0), .75 * fabs(1.7 / 3 - 1.0 / 3) + .025,
             1e-15);
  CHECK_NEAR(error_of(f, GPC_TOP_LABEL, 1, 1), .5 * .55 + .25 * .1 + .25 * .4, 1e-15);
  gpc_totals t = gpc_measure_totals(&f);
  CHECK(t.weight == 4 && t.right == 2);
  CHECK_NEAR(t.over, 1.1, 1e-15);
  CHECK_NEAR(t.under, .5, 1e-15);
  gpc_loss loss = gpc_measure_log_loss(&f, 0);
  CHECK(loss.weight == 4 && loss.impossible == 0);
  CHECK_NEAR(loss.sum, -(2 * log(.05) + log(.6) + log(.9)), 1e-15);
  CHECK_NEAR(gpc_measure_log_loss(&f, .8).sum, -(3 * log(.8) + log(.9)), 1e-15);
  CHECK_NEAR(gpc_measure_brier(&f, 1, NULL, NULL).sum, 2 * .3025 + .01 + .01, 1e-15);
  CHECK_NEAR(gpc_measure_brier(&f, 0, NULL, NULL).sum,
             2 * (.3025 + .9025 + .16) + (.01 + .09 + .16) + (.01 + .0025 + .0025),
             1e-15);
  /* impossible rows are apart */
  static const double sure[] = {1, 0, 0, 1};
  static const int both[] = {1, 1}, first[] = {1, 2};
  static const double one[] = {1, 1}, light[] = {.5, 3};
  gpc_forecast g = {2, 2, sure, both, one, first, light};
  loss = gpc_measure_log_loss(&g, 0);
  CHECK(loss.weight == 3.5 && loss.sum == 0 && loss.impossible == 3);
  /* sums of parts add up */
  for (size_t cut = 1; cut < 4; cut++) {
    CHECK_NEAR(error_of_parts(f, GPC_CONFIDENCE, 1, 0, cut),
               error_of(f, GPC_CONFIDENCE, 1, 0), 1e-15);
    CHECK_NEAR(error_of_parts(f, GPC_CLASSWISE, 2, 0, cut),
               error_of(f, GPC_CLASSWISE, 2, 0), 1e-15);
  }
  double edges[2], a[1], b[1], c[1], n[1], q[1];
  gpc_binning all = gpc_binning_width(1, 0, 0, edges);
  gpc_problem problem = {4, conf, labels, pred, 0, w};
  gpc_bin_sums_fill(&problem, &all, (gpc_bin_sums){a, b, c, n, q});
  CHECK(n[0] == 3 && q[0] == 6 && a[0] == 4);
  problem.weights = NULL;
  gpc_bin_sums_fill(&problem, &all, (gpc_bin_sums){a, b, c, n, q});
  CHECK(n[0] == 4 && q[0] == 4 && a[0] == 4);
  CHECK_NEAR(gpc_measure_spread(4, conf, w), 2 * .01 + .0025 + .0625, 1e-15);
}

/* splitmix64 started at 0 gives these (the reference code of Steele, Lea and Flood);
 * streams differ, and their numbers look uniform. */
static void generator(void) {
  CHECK(gpc_mix64(UINT64_C(0x9e3779b97f4a7c15)) == UINT64_C(0xe220a8397b1dcdaf));
  CHECK(gpc_mix64(2 * UINT64_C(0x9e3779b97f4a7c15)) == UINT64_C(0x6e789e6aa1b965f4));
  CHECK(gpc_stream(1, 0, 0) != gpc_stream(1, 0, 1));
  CHECK(gpc_stream(1, 0, 0) != gpc_stream(1, 1, 0));
  CHECK(gpc_stream(1, 0, 0) != gpc_stream(2, 0, 0));
  double sum = 0.0, squares = 0.0, across = 0.0, least = 1.0, most = 0.0;
  for (uint64_t i = 0; i < 100000; i++) {
    double u = gpc_stream_uniform(gpc_stream(5, 0, 0), i);
    sum += u;
    squares += u * u;
    across += gpc_stream_uniform(gpc_stream(5, 0, i), 0);
    least = u < least ? u : least;
    most = u > most ? u : most;
  }
  CHECK_NEAR(sum / 1e5, .5, .005);
  CHECK_NEAR(squares / 1e5, 1.0 / 3.0, .005);
  CHECK_NEAR(across / 1e5, .5, .005);
  CHECK(least >= 0.0 && least < 1e-3 && most < 1.0 && most > 1.0 - 1e-3);
}

/* Sums of the rows as they are, and replicates that do not depend on where a run starts.
 */
static void bootstrap(void) {
  gpc_forecast f = {4, 3, probs, labels, conf, pred, NULL};
  double rows[4 * GPC_BOOT_SUMS], sums[10 * GPC_BOOT_SUMS], part[5 * GPC_BOOT_SUMS];
  int work[1];
  gpc_boot_rows(&f, 0.0, NULL, f.n, rows);
  double brier = 0.0, loss = 0.0;
  for (int i = 0; i < 4; i++) {
    brier += rows[i * GPC_BOOT_SUMS + GPC_BOOT_BRIER];
    loss += rows[i * GPC_BOOT_SUMS + GPC_BOOT_LOSS];
  }
  CHECK_NEAR(brier, gpc_measure_brier(&f, 0, NULL, NULL).sum, 1e-15);
  CHECK_NEAR(loss, gpc_measure_log_loss(&f, 0).sum, 1e-15);
  CHECK(gpc_boot_blocks(4) == 1);
  gpc_boot_draw(4, rows, 9, 0, 10, work, sums, NULL, NULL);
  gpc_boot_draw(4, rows, 9, 5, 5, work, part, NULL, NULL);
  CHECK(memcmp(sums + 5 * GPC_BOOT_SUMS, part, sizeof part) == 0);
  for (int r = 0; r < 10; r++)
    CHECK(sums[r * GPC_BOOT_SUMS + GPC_BOOT_WEIGHT] == 4.0);
}

/* Groups: sums of whole groups. */
static void group_rows(void) {
  gpc_forecast f = {4, 3, probs, labels, conf, pred, NULL};
  double rows[4 * GPC_BOOT_SUMS], sums[2 * GPC_BOOT_SUMS];
  int group[4] = {2, 1, 2, 2};
  gpc_boot_rows(&f, 0.0, NULL, 4, rows);
  gpc_boot_rows(&f, 0.0, group, 2, sums);
  CHECK(sums[GPC_BOOT_WEIGHT] == 1.0 && sums[GPC_BOOT_SUMS + GPC_BOOT_WEIGHT] == 3.0);
  for (int s = 0; s < GPC_BOOT_FIRST; s++) {
    CHECK_NEAR(sums[s], rows[GPC_BOOT_SUMS + s], 1e-15);
    CHECK_NEAR(sums[GPC_BOOT_SUMS + s],
               rows[s] + rows[2 * GPC_BOOT_SUMS + s] + rows[3 * GPC_BOOT_SUMS + s],
               1e-14);
  }
  double *second = sums + GPC_BOOT_SUMS;
  CHECK_NEAR(second[GPC_BOOT_FIRST + 1], second[GPC_BOOT_LOSS] * 3.0, 1e-14);
}

/* Bands: outcomes that are certain give themselves; replicates do not depend on the
 * start. */
static void bands(void) {
  double prob[4] = {0, 0, 1, 1}, score[4] = {.1, .2, .6, .9}, weight[4] = {1, 1, 1, 1};
  double hit[4] = {0, 1, 0, 1}, at[3] = {.1, .4, .95}, out[30], part[6];
  int tie[4] = {0, 1, 2, 3}, group[4] = {1, 2, 2, 1};
  gpc_band band = {.n = 4,
                   .prob = prob,
                   .weights = NULL,
                   .tie = tie,
                   .m = 4,
                   .score = score,
                   .weight = weight,
                   .group = NULL,
                   .units = 0,
                   .hit = NULL};
  double *work = malloc((gpc_band_work(&band) + 2) * sizeof *work);
  int *ints = malloc(gpc_band_work_int(&band) * sizeof *ints);
  gpc_band_draw(&band, 3, at, 5, 9, 0, 10, work, ints, out, NULL, NULL);
  for (int r = 0; r < 10; r++) {
    CHECK(out[3 * r] == 0.0 && out[3 * r + 2] == 1.0);
    CHECK_NEAR(out[3 * r + 1], .5, 1e-15); /* halfway between .2 and .6 */
  }
  band.group = group;
  band.units = 2;
  band.hit = hit;
  gpc_band_draw(&band, 3, at, 5, 9, 0, 10, work, ints, out, NULL, NULL);
  gpc_band_draw(&band, 3, at, 5, 9, 6, 2, work, ints, part, NULL, NULL);
  CHECK(memcmp(out + 18, part, sizeof part) == 0);
  for (int i = 0; i < 30; i++)
    CHECK(out[i] >= 0.0 && out[i] <= 1.0);
  free(work);
  free(ints);
}

/* Arrays of exactly the sizes promised, for the sanitizers; observed errors first. */
static void null_draws(gpc_ece_type type, int mass, const double *weights) {
  gpc_forecast f = {4, 3, probs, labels, conf, pred, weights};
  gpc_ece_spec spec = {type, 1, 3, mass, GPC_MEAN, 1.0, 0};
  size_t problems = gpc_problem_count(type, 3), cells = 3 * problems;
  double *block = malloc((4 * problems + 4 * cells + 3 + 2 * problems) * sizeof *block);
  double *cumulative = malloc(12 * sizeof *cumulative), observed[2], out[12], part[4];
  double g_conf[4], g_weights[4];
  int *cell = malloc((type == GPC_CLASSWISE ? 12 : 4) * sizeof *cell), g_labels[4];
  size_t start[4];
  gpc_binning binning[3];
  gpc_null null = {problems,
                   3,
                   binning,
                   block + 4 * cells,
                   {block, block + cells, block + 2 * cells, NULL, NULL},
                   block + 3 * cells,
                   block + 4 * cells + 4 * problems,
                   block + 4 * cells + 4 * problems + 3,
                   block + 4 * cells + 5 * problems + 3,
                   cell,
                   cumulative,
                   malloc(gpc_binning_mass_work(4)),
                   {start, g_conf, g_labels, g_weights}};
  gpc_null_prepare(&f, &spec, &null, NULL, NULL);
  /* Problems without weight have no bins; their rows go to their first cell. */
  for (size_t p = 0; type == GPC_TOP_LABEL && p < problems; p++)
    for (size_t i = start[p]; binning[p].bins == 0 && i < start[p + 1]; i++)
      CHECK(cell[i] == 3 * (int)p);
  gpc_null_observed(&spec, &null, observed);
  CHECK_NEAR(observed[0], error_of(f, type, 1.0, mass), 1e-15);
  CHECK_NEAR(observed[1], error_of(f, type, INFINITY, mass), 1e-15);
  gpc_null_draw(&f, &spec, &null, 3, 0, 6, out, NULL, NULL);
  gpc_null_draw(&f, &spec, &null, 3, 4, 2, part, NULL, NULL);
  CHECK(memcmp(out + 8, part, sizeof part) == 0);
  for (int r = 0; r < 6; r++)
    CHECK(out[2 * r] >= 0.0 && out[2 * r] <= out[2 * r + 1] && out[2 * r + 1] <= 1.0);
  /* One group: its residuals keep or change their sign, and the error stays what it is.
   */
  int group[4] = {1, 1, 1, 1};
  double sign[1];
  gpc_null_wild(&f, &spec, &null, group, 1, sign, 3, 0, 6, out, NULL, NULL);
  for (int r = 0; r < 6; r++)
    CHECK_NEAR(out[2 * r], observed[0], 1e-12);
  free(null.sort);
  free(cell);
  free(cumulative);
  free(block);
}

int main(void) {
  width_bins();
  mass_bins();
  power_means();
  errors();
  generator();
  bootstrap();
  group_rows();
  bands();
  const double weights[] = {2, 1, 0, 1};
  const double not_first[] = {1, 0, 1, 0}, not_third[] = {0, 1, 0, 1}; /* by prediction */
  gpc_ece_type types[] = {GPC_CONFIDENCE, GPC_CLASSWISE, GPC_TOP_LABEL, GPC_EVENT};
  for (int t = 0; t < 4; t++) {
    for (int mass = 0; mass < 2; mass++) {
      null_draws(types[t], mass, NULL);
      null_draws(types[t], mass, weights);
      null_draws(types[t], mass, not_first);
      null_draws(types[t], mass, not_third);
    }
  }
  return CTEST_END();
}
