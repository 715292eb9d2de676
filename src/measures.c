/* measures.c: see measures.h. Calibration errors: Naeini et al. (2015), Kumar, Liang and
 * Ma (2019), Wenger, Kjellstroem and Triebel (2020, sections 2 and S1). */
#include "measures.h"
#include <math.h>
#include <string.h>

#define BLOCK 512 /* rows whose bins are found before they are summed */

size_t gpc_problem_count(gpc_ece_type type, size_t k) {
  return type == GPC_CLASSWISE || type == GPC_TOP_LABEL ? k : 1;
}

void gpc_by_class_fill(const gpc_forecast *f, gpc_by_class *groups) {
  size_t *start = groups->start;
  memset(start, 0, (f->k + 1) * sizeof *start);
  for (size_t i = 0; i < f->n; i++)
    start[f->pred[i]]++;
  for (size_t c = 0; c < f->k; c++)
    start[c + 1] += start[c];
  /* start[c - 1] walks through the rows of class c and ends where class c + 1 began. */
  for (size_t i = 0; i < f->n; i++) {
    size_t to = start[f->pred[i] - 1]++;
    groups->conf[to] = f->conf[i];
    groups->labels[to] = f->labels[i];
    if (f->weights)
      groups->weights[to] = f->weights[i];
  }
  for (size_t c = f->k; c > 0; c--)
    start[c] = start[c - 1];
  start[0] = 0;
}

gpc_problem gpc_problem_get(const gpc_forecast *f, const gpc_ece_spec *spec,
                            const gpc_by_class *groups, size_t s) {
  if (spec->type == GPC_CONFIDENCE)
    return (gpc_problem){f->n, f->conf, f->labels, f->pred, 0, f->weights};
  if (spec->type == GPC_TOP_LABEL) {
    size_t from = groups->start[s];
    return (gpc_problem){groups->start[s + 1] - from,
                         groups->conf + from,
                         groups->labels + from,
                         NULL,
                         (int)s + 1,
                         f->weights ? groups->weights + from : NULL};
  }
  size_t column = spec->type == GPC_EVENT ? (size_t)spec->event - 1 : s;
  return (gpc_problem){f->n, f->probs + column * f->n, f->labels,
                       NULL, (int)column + 1,          f->weights};
}

gpc_binning gpc_problem_bins(const gpc_problem *problem, const gpc_ece_spec *spec,
                             size_t k, double *edges, void *work) {
  if (spec->mass)
    return gpc_binning_mass(problem->n, problem->score, problem->weights, spec->bins,
                            edges, work);
  int midpoint = spec->estimator == GPC_MIDPOINT;
  int top = spec->type == GPC_CONFIDENCE || spec->type == GPC_TOP_LABEL;
  return gpc_binning_width(spec->bins, midpoint && top ? 1.0 / (double)k : 0.0, midpoint,
                           edges);
}

void gpc_bin_sums_fill(const gpc_problem *problem, const gpc_binning *binning,
                       gpc_bin_sums sums) {
  int bin[BLOCK], hit[BLOCK];
  if (binning->bins == 0)
    return;
  memset(sums.weight, 0, binning->bins * sizeof(double));
  memset(sums.score, 0, binning->bins * sizeof(double));
  memset(sums.hits, 0, binning->bins * sizeof(double));
  if (sums.count) {
    memset(sums.count, 0, binning->bins * sizeof(double));
    memset(sums.square, 0, binning->bins * sizeof(double));
  }
  for (size_t from = 0; from < problem->n; from += BLOCK) {
    size_t rows = problem->n - from < BLOCK ? problem->n - from : BLOCK;
    const double *score = problem->score + from;
    const int *code = problem->code + from;
    gpc_binning_assign(binning, rows, score, bin);
    if (problem->target) {
      const int *target = problem->target + from;
      for (size_t i = 0; i < rows; i++)
        hit[i] = code[i] == target[i];
    } else {
      for (size_t i = 0; i < rows; i++)
        hit[i] = code[i] == problem->event;
    }
    if (problem->weights) {
      const double *weights = problem->weights + from;
      for (size_t i = 0; i < rows; i++) {
        sums.weight[bin[i]] += weights[i];
        sums.score[bin[i]] += weights[i] * score[i];
        sums.hits[bin[i]] += weights[i] * hit[i];
      }
      for (size_t i = 0; i < rows && sums.count; i++) {
        sums.count[bin[i]] += weights[i] > 0.0;
        sums.square[bin[i]] += weights[i] * weights[i];
      }
    } else {
      for (size_t i = 0; i < rows; i++) {
        sums.weight[bin[i]] += 1.0;
        sums.score[bin[i]] += score[i];
        sums.hits[bin[i]] += hit[i];
      }
    }
  }
  if (sums.count && !problem->weights) {
    memcpy(sums.count, sums.weight, binning->bins * sizeof(double));
    memcpy(sums.square, sums.weight, binning->bins * sizeof(double));
  }
}

double gpc_power_mean(size_t n, const double *share, double total, const double *x,
                      double p) {
  double largest = 0.0;
  for (size_t i = 0; i < n; i++)
    if ((!share || share[i] > 0.0) && x[i] > largest)
      largest = x[i];
  if (isinf(p) || largest == 0.0)
    return largest;
  /* Relative to the largest, so that no power underflows however large p is. */
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) {
    double s = share ? share[i] : 1.0, r = x[i] / largest;
    if (s > 0.0)
      sum += s * (p == 1.0 ? r : p == 2.0 ? r * r : pow(r, p));
  }
  sum /= total;
  return largest * (p == 1.0 ? sum : p == 2.0 ? sqrt(sum) : pow(sum, 1.0 / p));
}

static double sum_of(size_t n, const double *x) {
  double total = 0.0;
  for (size_t i = 0; i < n; i++)
    total += x[i];
  return total;
}

/* Kumar, Liang and Ma (2019, section 5):
 * max(0, sum_b N_b/N [gap_b^2 - acc_b (1 - acc_b) / (N_b - 1)])^(1/2). */
static double debiased_error(size_t bins, gpc_bin_sums sums, const double *gaps,
                             double total) {
  double sum = 0.0;
  for (size_t b = 0; b < bins; b++) {
    double n = sums.weight[b];
    if (n <= 1.0)
      continue;
    double acc = sums.hits[b] / n;
    sum += n * (gaps[b] * gaps[b] - acc * (1.0 - acc) / (n - 1.0));
  }
  return sum > 0.0 ? sqrt(sum / total) : 0.0;
}

double gpc_bin_sums_error(const gpc_binning *binning, gpc_bin_sums sums,
                          const gpc_ece_spec *spec, double *gaps) {
  size_t bins = binning->bins;
  for (size_t b = 0; b < bins; b++) {
    double n = sums.weight[b];
    if (n <= 0.0)
      gaps[b] = 0.0;
    else if (spec->estimator == GPC_MIDPOINT)
      gaps[b] =
          fabs(0.5 * (binning->edges[b] + binning->edges[b + 1]) - sums.hits[b] / n);
    else
      gaps[b] = fabs(sums.score[b] - sums.hits[b]) / n;
  }
  if (bins == 0)
    return 0.0;
  /* The formula of the paper's supplement: (1/B) (sum_b gap_b^p)^(1/p). */
  if (spec->estimator == GPC_UNWEIGHTED)
    return gpc_power_mean(bins, NULL, 1.0, gaps, spec->norm) / (double)bins;
  double total = sum_of(bins, sums.weight);
  if (spec->debias)
    return debiased_error(bins, sums, gaps, total);
  return gpc_power_mean(bins, sums.weight, total, gaps, spec->norm);
}

double gpc_problem_errors(const gpc_ece_spec *spec, size_t problems, const double *errors,
                          double *weights) {
  for (size_t s = 0; s < problems && spec->type == GPC_CLASSWISE; s++)
    weights[s] = 1.0;
  return gpc_power_mean(problems, weights, sum_of(problems, weights), errors, spec->norm);
}

gpc_totals gpc_measure_totals(const gpc_forecast *f) {
  double weight = 0.0, right = 0.0, wrong = 0.0, over = 0.0, under = 0.0;
#pragma omp simd reduction(+ : weight, right, wrong, over, under)
  for (size_t i = 0; i < f->n; i++) {
    double w = f->weights ? f->weights[i] : 1.0;
    double hit = f->pred[i] == f->labels[i] ? w : 0.0, miss = w - hit;
    weight += w;
    right += hit;
    wrong += miss;
    over += miss * f->conf[i];
    under += hit * (1.0 - f->conf[i]);
  }
  return (gpc_totals){weight, right, over, under, wrong};
}

double gpc_measure_spread(size_t n, const double *x, const double *weights) {
  double weight = 0.0, sum = 0.0, squares = 0.0;
  /* The mean about the first value, so that equal values have a spread of exactly 0. */
  for (size_t i = 0; i < n; i++) {
    double w = weights ? weights[i] : 1.0;
    weight += w;
    sum += w * (x[i] - x[0]);
  }
  double mean = x[0] + sum / weight;
  for (size_t i = 0; i < n; i++) {
    double d = x[i] - mean;
    squares += (weights ? weights[i] : 1.0) * d * d;
  }
  return squares;
}

gpc_loss gpc_measure_log_loss(const gpc_forecast *f, double eps) {
  double weight = 0.0, sum = 0.0, impossible = 0.0;
  for (size_t i = 0; i < f->n; i++) {
    double w = f->weights ? f->weights[i] : 1.0;
    if (w <= 0.0)
      continue;
    double p = f->probs[i + ((size_t)f->labels[i] - 1) * f->n];
    p = p < eps ? eps : p;
    weight += w;
    if (p > 0.0)
      sum -= w * log(p);
    else
      impossible += w;
  }
  return (gpc_loss){weight, sum, impossible};
}

gpc_loss gpc_measure_brier(const gpc_forecast *f, int event, gpc_poll poll, void *data) {
  double weight = 0.0, sum = 0.0;
  size_t first = event ? (size_t)event - 1 : 0, last = event ? first : f->k - 1;
  size_t block = gpc_block_rows(last - first + 1);
  /* Blocks of rows, so that labels and weights stay in the cache from column to column.
   */
  for (size_t from = 0; from < f->n; from += block) {
    size_t rows = f->n - from < block ? f->n - from : block;
    const int *label = f->labels + from;
    const double *w = f->weights ? f->weights + from : NULL;
    for (size_t k = first; k <= last; k++) {
      const double *p = f->probs + k * f->n + from;
      const int code = (int)k + 1;
      double part = 0.0;
      if (w) {
#pragma omp simd reduction(+ : part)
        for (size_t i = 0; i < rows; i++) {
          double d = p[i] - (label[i] == code ? 1.0 : 0.0);
          part += w[i] * d * d;
        }
      } else {
#pragma omp simd reduction(+ : part)
        for (size_t i = 0; i < rows; i++) {
          double d = p[i] - (label[i] == code ? 1.0 : 0.0);
          part += d * d;
        }
      }
      sum += part;
    }
    for (size_t i = 0; i < rows; i++)
      weight += w ? w[i] : 1.0;
    gpc_call_poll(poll, data);
  }
  return (gpc_loss){weight, sum, 0.0};
}
