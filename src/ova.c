/* ova.c: see ova.h. Rows are worked on in blocks, a column of a block at a time. */
#include "ova.h"
#include "fastexp.h"
#include "fastlog.h"
#include "softmax.h"
#include <math.h>
#include <string.h>

/* Log-odds ------------------------------------------------------------------------------
 */

/* Logits: with top and second the largest two of a row, S = sum_j exp(z_j - top) and R
 * the sum of exp(z_j - second) without the largest itself, the log-odds are (z_j - top) -
 * log(S - exp(z_j - top))   (the difference is at least 1), (top - second) - log R for
 * the largest. Nothing is lost where one class is certain, and nothing overflows. */
static void log_odds_logits(size_t rows, size_t n, size_t k, const double *z,
                            double *odds) {
  double top[GPC_BLOCK_MAX], second[GPC_BLOCK_MAX], sum[GPC_BLOCK_MAX],
      rest[GPC_BLOCK_MAX];
  size_t arg[GPC_BLOCK_MAX];
  for (size_t i = 0; i < rows; i++) {
    top[i] = z[i];
    second[i] = -INFINITY;
    arg[i] = 0;
    sum[i] = rest[i] = 0.0;
  }
  for (size_t j = 1; j < k; j++)
    for (size_t i = 0; i < rows; i++) {
      double v = z[i + j * n];
      if (v > top[i]) {
        second[i] = top[i];
        top[i] = v;
        arg[i] = j;
      } else if (v > second[i]) {
        second[i] = v;
      }
    }
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < rows; i++) {
      double v = z[i + j * n];
      sum[i] += gpc_exp_nonpos(v - top[i]);
      /* all others ruled out: -Inf less -Inf is nothing */
      rest[i] += j == arg[i] || v == -INFINITY ? 0.0 : gpc_exp_nonpos(v - second[i]);
    }
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < rows; i++) {
      double v = z[i + j * n];
      odds[i + j * n] = j == arg[i]
                            ? (top[i] - second[i]) - log(rest[i] > 0.0 ? rest[i] : 1.0)
                            : (v - top[i]) - log(sum[i] - gpc_exp_nonpos(v - top[i]));
    }
}

static double log_ratio(double p, double q) {
  return p <= 0.0 ? -INFINITY : q <= 0.0 ? INFINITY : log(p / q);
}

static void log_odds_probs(size_t rows, size_t n, size_t k, const double *p,
                           double *odds) {
  if (k == 2) { /* both columns know about 1 - p */
    for (size_t i = 0; i < rows; i++) {
      double r = log_ratio(p[i + n], p[i]);
      odds[i] = -r;
      odds[i + n] = r;
    }
    return;
  }
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < rows; i++)
      odds[i + j * n] = log_ratio(p[i + j * n], 1.0 - p[i + j * n]);
}

static void log_odds_block(size_t rows, size_t n, size_t k, const double *z, int logits,
                           double *odds) {
  if (!logits) {
    log_odds_probs(rows, n, k, z, odds);
  } else if (k == 2) {
    for (size_t i = 0; i < rows; i++) {
      double d = z[i + n] - z[i];
      odds[i] = -d;
      odds[i + n] = d;
    }
  } else {
    log_odds_logits(rows, n, k, z, odds);
  }
}

void gpc_log_odds(size_t n, size_t k, const double *z, int logits, int threads,
                  double *odds) {
  const size_t step = gpc_block_rows(k), blocks = gpc_block_count(n, k);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (size_t b = 0; b < blocks; b++) {
    size_t first = b * step, rows = n - first < step ? n - first : step;
    log_odds_block(rows, n, k, z + first, logits, odds + first);
  }
}

/* Maps ----------------------------------------------------------------------------------
 */

static void map_platt(const double *coef, const double *range, size_t n,
                      const double *score, double *value) {
  const double slope = coef[0], intercept = coef[1], low = range[0], high = range[1];
  for (size_t i = 0; i < n; i++) {
    double s = score[i];
    s = s < low ? low : s > high ? high : s;
    value[i] = -(slope * s + intercept);
  }
#pragma omp simd
  for (size_t i = 0; i < n; i++)
    value[i] = gpc_expit_minus(value[i]);
}

#define STRETCH 128 /* scores at a time: what one loop leaves is near for the next */

/* rest may be NULL: one minus the score. Three short loops overlap better than one long.
 */
static void map_beta(const double *coef, double clip, size_t n, const double *score,
                     const double *rest, double *value) {
  const double a = coef[0], b = coef[1], c = coef[2];
  double eta[STRETCH];
  for (size_t from = 0; from < n; from += STRETCH) {
    const size_t rows = n - from < STRETCH ? n - from : STRETCH;
    const double *s = score + from;
    if (rest)
      memcpy(eta, rest + from, rows * sizeof *eta);
    else
#pragma omp simd
      for (size_t i = 0; i < rows; i++)
        eta[i] = 1.0 - s[i];
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      eta[i] = b * gpc_log(eta[i] < clip ? clip : eta[i]) - c;
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      eta[i] -= a * gpc_log(s[i] < clip ? clip : s[i]);
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      value[from + i] = gpc_expit_minus(eta[i]);
  }
}

void gpc_ova_map(const gpc_ova *ova, size_t j, size_t n, const double *score,
                 const double *rest, double *value) {
  if (ova->kind == GPC_MAP_PLATT) {
    map_platt(ova->coef + 2 * j, ova->range + 2 * j, n, score, value);
  } else if (ova->kind == GPC_MAP_BETA) {
    map_beta(ova->coef + 3 * j, ova->clip, n, score, rest, value);
  } else {
    const size_t from = (size_t)ova->start[j];
    gpc_curve curve = {ova->curve, (size_t)ova->start[j + 1] - from, ova->x + from,
                       ova->y + from};
    gpc_curve_apply(&curve, n, score, value);
  }
}

/* Prediction ----------------------------------------------------------------------------
 */

/* Where every class got nothing: the row as it came. */
static void keep_row(size_t n, size_t k, const double *z, int logits, double *p) {
  if (logits) {
    gpc_softmax_rows(1, n, k, z, 1.0, -INFINITY, n, p);
    return;
  }
  for (size_t j = 0; j < k; j++)
    p[j * n] = z[j * n];
}

#define APART 1e-12 /* of the sum of two such probabilities from 1 */

/* Two classes. 1 - v by its own formula where there is one: next to 0 it keeps its
 * digits. Where maps are so steep that the two are rounded apart the smaller one decides. `value`
 * and `other` may be `score` and `rest`. */
static void predict_pair(const gpc_ova *ova, size_t rows, const double *score,
                         const double *rest, double *value, double *other) {
  double first[GPC_BLOCK_MAX], second[GPC_BLOCK_MAX];
  const double *c = ova->coef;
  gpc_ova_map(ova, 0, rows, score, rest, second);
  if (ova->kind == GPC_MAP_PLATT) {
    const double turned[2] = {-c[0], -c[1]};
    map_platt(turned, ova->range, rows, score, first);
  } else if (ova->kind == GPC_MAP_BETA) {
    const double turned[3] = {c[1], c[0], -c[2]};
    map_beta(turned, ova->clip, rows, rest, score, first);
  } else {
    for (size_t i = 0; i < rows; i++)
      first[i] = 1.0 - second[i];
  }
  for (size_t i = 0; i < rows; i++) {
    double v = second[i], w = first[i];
    if (fabs(v + w - 1.0) > APART) {
      if (v < w)
        w = 1.0 - v;
      else
        v = 1.0 - w;
    }
    value[i] = v;
    other[i] = w;
  }
}

static void predict_block(const gpc_ova *ova, size_t rows, size_t n, size_t k,
                          const double *z, int logits, double *p) {
  const double *score = p; /* in place, unless the scores are the probabilities given */
  double sum[GPC_BLOCK_MAX], inverse[GPC_BLOCK_MAX];
  if (ova->log_odds)
    log_odds_block(rows, n, k, z, logits, p);
  else if (logits)
    gpc_softmax_rows(rows, n, k, z, 1.0, -INFINITY, n, p);
  else
    score = z;

  if (k == 2) {
    predict_pair(ova, rows, score + n, score, p + n, p);
    return;
  }
  for (size_t i = 0; i < rows; i++)
    sum[i] = 0.0;
  for (size_t j = 0; j < k; j++) {
    const double *from = score + j * n;
    double *to = p + j * n;
    gpc_ova_map(ova, j, rows, from, NULL, to);
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      sum[i] += to[i];
  }
  int empty = 0;
  for (size_t i = 0; i < rows; i++) {
    inverse[i] = 1.0 / sum[i];
    empty += !(inverse[i] < INFINITY); /* zero, or as good as */
  }
  for (size_t j = 0; j < k; j++) {
    double *to = p + j * n;
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      to[i] *= inverse[i];
  }
  for (size_t i = 0; empty && i < rows; i++)
    if (!(inverse[i] < INFINITY))
      keep_row(n, k, z + i, logits, p + i);
}

void gpc_ova_predict(const gpc_ova *ova, size_t n, size_t k, const double *z, int logits,
                     int threads, gpc_poll poll, void *poll_data, double *p) {
  const size_t step = gpc_block_rows(k), blocks = gpc_block_count(n, k);
  const size_t some = gpc_poll_blocks(step, k);
  for (size_t from = 0; from < blocks; from += some) {
    const size_t to = blocks - from < some ? blocks : from + some;
    gpc_call_poll(poll, poll_data);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
    for (size_t b = from; b < to; b++) {
      size_t first = b * step, rows = n - first < step ? n - first : step;
      predict_block(ova, rows, n, k, z + first, logits, p + first);
    }
  }
}
