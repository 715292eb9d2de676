/* resample.c: see resample.h. */
#include "resample.h"
#include "pava.h"
#include <math.h>
#include <string.h>

uint64_t gpc_stream(uint64_t seed, uint64_t purpose, uint64_t replicate) {
  uint64_t z = gpc_mix64(seed + (purpose + 1) * UINT64_C(0x9e3779b97f4a7c15));
  return gpc_mix64(z + (replicate + 1) * UINT64_C(0xd1342543de82ef95));
}

/* Bootstrap ------------------------------------------------------------------------- */

/* Products of what stands above and below the line of each ratio. */
static void boot_products(double *row) {
  double gap = row[GPC_BOOT_OVER] - row[GPC_BOOT_UNDER];
  const double above[GPC_BOOT_PAIRS] = {row[GPC_BOOT_LOSS], row[GPC_BOOT_BRIER],
                                        row[GPC_BOOT_OVER], row[GPC_BOOT_UNDER], gap};
  const double below[GPC_BOOT_PAIRS] = {row[GPC_BOOT_WEIGHT], row[GPC_BOOT_WEIGHT],
                                        row[GPC_BOOT_WRONG], row[GPC_BOOT_RIGHT],
                                        row[GPC_BOOT_WEIGHT]};
  double *to = row + GPC_BOOT_FIRST;
  for (int p = 0; p < GPC_BOOT_PAIRS; p++, to += 3) {
    to[0] = above[p] * above[p];
    to[1] = above[p] * below[p];
    to[2] = below[p] * below[p];
  }
}

void gpc_boot_rows(const gpc_forecast *f, double eps, const int *group, size_t units,
                   double *rows) {
  size_t n = f->n, k = f->k, first = k == 2 ? 1 : 0;
  memset(rows, 0, units * GPC_BOOT_SUMS * sizeof(double));
  for (size_t i = 0; i < n; i++) {
    double *row = rows + (group ? (size_t)group[i] - 1 : i) * GPC_BOOT_SUMS;
    double w = f->weights ? f->weights[i] : 1.0;
    int right = f->pred[i] == f->labels[i];
    row[GPC_BOOT_WEIGHT] += w;
    row[GPC_BOOT_RIGHT] += right ? w : 0.0;
    row[GPC_BOOT_OVER] += right ? 0.0 : w * f->conf[i];
    row[GPC_BOOT_UNDER] += right ? w * (1.0 - f->conf[i]) : 0.0;
    double p = f->probs[i + ((size_t)f->labels[i] - 1) * n];
    row[GPC_BOOT_LOSS] += w > 0.0 ? -w * log(p > eps ? p : eps) : 0.0;
    row[GPC_BOOT_WRONG] += right ? 0.0 : w;
  }
  for (size_t j = first; j < k; j++) {
    for (size_t i = 0; i < n; i++) {
      double d = f->probs[i + j * n] - (f->labels[i] == (int)j + 1 ? 1.0 : 0.0);
      size_t to = group ? (size_t)group[i] - 1 : i;
      rows[to * GPC_BOOT_SUMS + GPC_BOOT_BRIER] +=
          (f->weights ? f->weights[i] : 1.0) * d * d;
    }
  }
  for (size_t u = 0; u < units; u++)
    boot_products(rows + u * GPC_BOOT_SUMS);
}

#define BOOT_ROWS 512 /* rows of a block: their sums fit the first-level cache */

size_t gpc_boot_blocks(size_t n) { return n / BOOT_ROWS + (n % BOOT_ROWS != 0); }

/* A whole number below n, uniformly. */
static size_t draw_below(uint64_t stream, size_t i, size_t n) {
  size_t pick = (size_t)(gpc_stream_uniform(stream, i) * (double)n);
  return pick < n ? pick : n - 1; /* the product may round up to n */
}

/* n independent draws of a row, in two steps for the sake of the cache: how many fall
 * into each block of rows, then which rows of it. */
static void draw_rows(size_t n, const double *rows, uint64_t stream, int *drawn,
                      double *out) {
  size_t blocks = gpc_boot_blocks(n), number = n; /* number of the next draw */
  double sum[GPC_BOOT_SUMS] = {0};
  memset(drawn, 0, blocks * sizeof *drawn);
  for (size_t i = 0; i < n; i++)
    drawn[draw_below(stream, i, n) / BOOT_ROWS]++;
  for (size_t b = 0; b < blocks; b++) {
    const double *block = rows + b * BOOT_ROWS * GPC_BOOT_SUMS;
    size_t size = b + 1 < blocks ? BOOT_ROWS : n - b * BOOT_ROWS;
    for (int i = 0; i < drawn[b]; i++) {
      const double *row = block + draw_below(stream, number++, size) * GPC_BOOT_SUMS;
      for (int s = 0; s < GPC_BOOT_SUMS; s++)
        sum[s] += row[s];
    }
  }
  memcpy(out, sum, sizeof sum);
}

void gpc_boot_draw(size_t n, const double *rows, uint64_t seed, size_t first,
                   size_t count, int *work, double *sums, gpc_poll poll, void *data) {
  for (size_t r = 0; r < count; r++) {
    uint64_t stream = gpc_stream(seed, GPC_DRAW_BOOT, first + r);
    draw_rows(n, rows, stream, work, sums + r * GPC_BOOT_SUMS);
    gpc_call_poll(poll, data);
  }
}

/* Signs of groups -------------------------------------------------------------------
 */

#define DRAW_SIGN                                                                        \
  (UINT64_C(1) << 41) /* beyond the purposes of bands, one for each class */

void gpc_sign_draw(size_t n, uint64_t seed, size_t first, size_t count, double *out) {
  for (size_t r = 0; r < count; r++) {
    uint64_t stream = gpc_stream(seed, DRAW_SIGN, first + r);
    for (size_t i = 0; i < n; i++)
      out[r * n + i] = gpc_stream_uniform(stream, i) < 0.5 ? -1.0 : 1.0;
  }
}

/* Calibration errors under calibration ------------------------------------------------
 */

static gpc_bin_sums sums_of(const gpc_null *null, size_t s) {
  size_t at = s * null->bins;
  return (gpc_bin_sums){.weight = null->sums.weight + at,
                        .score = null->sums.score + at,
                        .hits = null->sums.hits + at};
}

/* "classwise": row i's cumulative probabilities, contiguous. */
static void cumulate(const gpc_forecast *f, double *cumulative) {
  for (size_t i = 0; i < f->n; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < f->k; j++)
      cumulative[i * f->k + j] = sum += f->probs[i + j * f->n];
  }
}

void gpc_null_prepare(const gpc_forecast *f, const gpc_ece_spec *spec, gpc_null *null,
                      gpc_poll poll, void *data) {
  int bin[GPC_BLOCK_MAX], classwise = spec->type == GPC_CLASSWISE;
  size_t row = 0; /* rows of all problems so far: "top_label" splits them */
  if (spec->type == GPC_TOP_LABEL)
    gpc_by_class_fill(f, &null->groups);
  if (classwise)
    cumulate(f, null->cumulative);
  for (size_t s = 0; s < null->problems; s++) {
    gpc_problem problem = gpc_problem_get(f, spec, &null->groups, s);
    gpc_binning *binning = null->binning + s;
    gpc_bin_sums sums = sums_of(null, s);
    *binning = gpc_problem_bins(&problem, spec, f->k, null->edges + s * (null->bins + 1),
                                null->sort);
    gpc_bin_sums_fill(&problem, binning, sums);
    null->shares[s] = 0.0;
    for (size_t b = 0; b < binning->bins; b++)
      null->shares[s] += sums.weight[b];
    for (size_t from = 0; from < problem.n; from += GPC_BLOCK_MAX) {
      size_t rows = problem.n - from < GPC_BLOCK_MAX ? problem.n - from : GPC_BLOCK_MAX;
      if (binning->bins == 0)
        memset(bin, 0, sizeof bin); /* rows of weight zero: any cell will do */
      else
        gpc_binning_assign(binning, rows, problem.score + from, bin);
      for (size_t i = 0; i < rows; i++) {
        size_t at = classwise ? (from + i) * f->k + s : row + from + i;
        null->cell[at] = (int)(s * null->bins) + bin[i];
      }
    }
    row += problem.n;
    gpc_call_poll(poll, data);
  }
}

static double combined_error(const gpc_ece_spec *spec, gpc_null *null, double *hits) {
  for (size_t s = 0; s < null->problems; s++) {
    gpc_bin_sums sums = sums_of(null, s);
    sums.hits = hits + s * null->bins;
    null->errors[s] = gpc_bin_sums_error(null->binning + s, sums, spec, null->gaps);
  }
  return gpc_problem_errors(spec, null->problems, null->errors, null->shares);
}

static void both_errors(const gpc_ece_spec *spec, gpc_null *null, double *hits,
                        double *out) {
  gpc_ece_spec maximum = *spec;
  maximum.norm = INFINITY;
  maximum.debias = 0;
  out[0] = combined_error(spec, null, hits);
  out[1] = combined_error(&maximum, null, hits);
}

void gpc_null_observed(const gpc_ece_spec *spec, gpc_null *null, double *out) {
  both_errors(spec, null, null->sums.hits, out);
}

/* Row i is a hit with probability score[i]. */
static void draw_hits(size_t n, const double *score, const double *weights,
                      const int *cell, uint64_t stream, double *drawn) {
  for (size_t i = 0; i < n; i++) {
    double w = weights ? weights[i] : 1.0;
    drawn[cell[i]] += gpc_stream_uniform(stream, i) < score[i] ? w : 0.0;
  }
}

/* Row i gets a label; the hit goes to that class's cell. The label is the first class
 * whose cumulative probability exceeds a uniform share of their sum: never one of
 * probability zero. */
static void draw_labels(size_t n, size_t k, const double *cumulative,
                        const double *weights, const int *cell, uint64_t stream,
                        double *drawn) {
  for (size_t i = 0; i < n; i++) {
    const double *cum = cumulative + i * k;
    double t = gpc_stream_uniform(stream, i) * cum[k - 1];
    size_t base = 0, left = k - 1;
    while (left > 0) {
      size_t half = (left + 1) / 2;
      base += cum[base + half - 1] <= t ? half : 0;
      left -= half;
    }
    drawn[cell[i * k + base]] += weights ? weights[i] : 1.0;
  }
}

void gpc_null_draw(const gpc_forecast *f, const gpc_ece_spec *spec, gpc_null *null,
                   uint64_t seed, size_t first, size_t count, double *out, gpc_poll poll,
                   void *data) {
  const double *score = spec->type == GPC_TOP_LABEL ? null->groups.conf
                        : spec->type == GPC_EVENT
                            ? f->probs + ((size_t)spec->event - 1) * f->n
                            : f->conf;
  const double *weights =
      f->weights && spec->type == GPC_TOP_LABEL ? null->groups.weights : f->weights;
  for (size_t r = 0; r < count; r++) {
    uint64_t stream = gpc_stream(seed, GPC_DRAW_NULL, first + r);
    memset(null->drawn, 0, null->problems * null->bins * sizeof(double));
    if (spec->type == GPC_CLASSWISE)
      draw_labels(f->n, f->k, null->cumulative, weights, null->cell, stream, null->drawn);
    else
      draw_hits(f->n, score, weights, null->cell, stream, null->drawn);
    both_errors(spec, null, null->drawn, out + 2 * r);
    gpc_call_poll(poll, data);
  }
}

/* Row i's residual times the sign of its group, into the cell of the row. */
static void add_signed(size_t i, double score, int hit, const double *weights,
                       const int *group, const double *sign, int cell, double *drawn) {
  double w = weights ? weights[i] : 1.0;
  drawn[cell] += sign[group[i] - 1] * w * ((hit ? 1.0 : 0.0) - score);
}

void gpc_null_wild(const gpc_forecast *f, const gpc_ece_spec *spec, gpc_null *null,
                   const int *group, size_t units, double *sign, uint64_t seed,
                   size_t first, size_t count, double *out, gpc_poll poll, void *data) {
  size_t n = f->n, k = f->k, cells = null->problems * null->bins;
  int top = spec->type == GPC_TOP_LABEL;
  const double *weights = f->weights && top ? null->groups.weights : f->weights;
  for (size_t r = 0; r < count; r++) {
    gpc_sign_draw(units, seed, first + r, 1, sign);
    memcpy(null->drawn, null->sums.score, cells * sizeof(double));
    for (size_t i = 0; i < n; i++) {
      if (spec->type == GPC_CLASSWISE) {
        for (size_t j = 0; j < k; j++)
          add_signed(i, f->probs[i + j * n], f->labels[i] == (int)j + 1, weights, group,
                     sign, null->cell[i * k + j], null->drawn);
      } else if (top) {
        int class = null->cell[i] / (int)null->bins + 1;
        add_signed(i, null->groups.conf[i], null->groups.labels[i] == class, weights,
                   group, sign, null->cell[i], null->drawn);
      } else if (spec->type == GPC_EVENT) {
        add_signed(i, f->probs[i + ((size_t)spec->event - 1) * n],
                   f->labels[i] == spec->event, weights, group, sign, null->cell[i],
                   null->drawn);
      } else {
        add_signed(i, f->conf[i], f->labels[i] == f->pred[i], weights, group, sign,
                   null->cell[i], null->drawn);
      }
    }
    both_errors(spec, null, null->drawn, out + 2 * r);
    gpc_call_poll(poll, data);
  }
}

/* Isotonic fits under calibration -----------------------------------------------------
 */

/* The fit at the points: linear between groups, constant outside. `at` need not be
 * sorted; group_score is. */
static void interpolate(size_t m, const double *x, const double *y, size_t points,
                        const double *at, double *out) {
  for (size_t j = 0; j < points; j++) {
    size_t low = 0, high = m - 1; /* x[low] <= at < x[high] once inside */
    if (at[j] <= x[0] || m == 1) {
      out[j] = y[0];
      continue;
    }
    if (at[j] >= x[m - 1]) {
      out[j] = y[m - 1];
      continue;
    }
    while (high - low > 1) {
      size_t middle = low + (high - low) / 2;
      if (x[middle] <= at[j])
        low = middle;
      else
        high = middle;
    }
    double t = (at[j] - x[low]) / (x[high] - x[low]);
    out[j] = y[low] + t * (y[high] - y[low]);
  }
}

/* hits, weight and fit of ties, and a sign per group of rows. */
size_t gpc_band_work(const gpc_band *band) { return 3 * band->m + band->units; }
size_t gpc_band_work_int(const gpc_band *band) { return band->m; }

/* Outcomes drawn from the probabilities, or residuals with the signs of their groups. */
static void draw_outcomes(const gpc_band *band, uint64_t stream, const double *sign,
                          double *hits) {
  for (size_t i = 0; i < band->n; i++) {
    double w = band->weights ? band->weights[i] : 1.0;
    if (band->tie[i] < 0)
      continue;
    if (sign) {
      double s = sign[band->group[i] - 1];
      hits[band->tie[i]] += w * (band->prob[i] + s * (band->hit[i] - band->prob[i]));
    } else if (gpc_stream_uniform(stream, i) < band->prob[i]) {
      hits[band->tie[i]] += w;
    }
  }
}

void gpc_band_draw(const gpc_band *band, size_t points, const double *at, uint64_t seed,
                   uint64_t purpose, size_t first, size_t count, double *work,
                   int *work_int, double *out, gpc_poll poll, void *data) {
  size_t m = band->m;
  double *hits = work, *weight = work + m, *fit = work + 2 * m, *sign = work + 3 * m;
  for (size_t r = 0; r < count; r++) {
    uint64_t stream = gpc_stream(seed, purpose, first + r);
    memset(hits, 0, m * sizeof(double));
    memcpy(weight, band->weight, m * sizeof(double));
    if (band->group)
      gpc_sign_draw(band->units, seed ^ purpose, first + r, 1, sign);
    draw_outcomes(band, stream, band->group ? sign : NULL, hits);
    size_t blocks = gpc_pava_pool(m, hits, weight, work_int);
    for (size_t b = 0; b < blocks; b++) {
      size_t end = b + 1 < blocks ? (size_t)work_int[b + 1] : m;
      for (size_t g = (size_t)work_int[b]; g < end; g++)
        fit[g] = fmin(fmax(hits[b] / weight[b], 0.0), 1.0);
    }
    interpolate(m, band->score, fit, points, at, out + r * points);
    gpc_call_poll(poll, data);
  }
}
