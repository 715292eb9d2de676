/* calibtest.c: see calibtest.h. */
#include "calibtest.h"
#include "pava.h"
#include "radix.h"
#include "resample.h"
#include <math.h>
#include <string.h>

void gpc_cumulate_rows(size_t n, size_t k, const double *p, double *cumulative) {
  for (size_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < k; j++)
      cumulative[i * k + j] = sum += p[i + j * n];
  }
}

void gpc_draw_labels(size_t n, size_t k, const double *cumulative, uint64_t stream,
                     int *label) {
  for (size_t i = 0; i < n; i++) {
    const double *row = cumulative + i * k;
    const double t = gpc_stream_uniform(stream, i) * row[k - 1];
    size_t base = 0, left = k - 1;
    while (left > 0) {
      const size_t half = (left + 1) / 2;
      base += row[base + half - 1] <= t ? half : 0;
      left -= half;
    }
    label[i] = (int)base + 1;
  }
}

/* Miscalibration ----------------------------------------------------------------------
 */

void gpc_mcb_prepare(size_t n, size_t k, const double *p, gpc_mcb *mcb, void *work) {
  int *order = work;
  mcb->n = n;
  mcb->maps = k == 2 ? 1 : k;
  mcb->first = k == 2;
  for (size_t j = 0; j < mcb->maps; j++) {
    const double *x = p + (mcb->first + j) * n;
    double *score = mcb->score + j * n, *weight = mcb->weight + j * n;
    int *place = mcb->start; /* groups of the sorted rows, for the moment */
    gpc_radix_order(n, x, order, order + n + n % 2);
    mcb->groups[j] = gpc_pava_ties(n, x, x, NULL, order, score, mcb->hits, weight, place);
    for (size_t i = 0; i < n; i++)
      mcb->group_of[j * n + (size_t)order[i]] = place[i];
  }
}

/* sum (y - x)^2 - sum (y - fit)^2 = sum_g (w x^2 - 2 h x) + sum_blocks h^2 / w for map j, with the
 * outcomes h of every group of ties in `hits`. */
static double mcb_gain(const gpc_mcb *mcb, size_t j) {
  const double *score = mcb->score + j * mcb->n, *weight = mcb->weight + j * mcb->n;
  const size_t m = mcb->groups[j];
  double sum = 0.0;
  memcpy(mcb->pooled, weight, m * sizeof(double));
  for (size_t g = 0; g < m; g++)
    sum += weight[g] * score[g] * score[g] - 2.0 * mcb->hits[g] * score[g];
  const size_t blocks = gpc_pava_pool(m, mcb->hits, mcb->pooled, mcb->start);
  for (size_t b = 0; b < blocks; b++)
    sum += mcb->hits[b] * mcb->hits[b] / mcb->pooled[b];
  return sum;
}

double gpc_mcb_value(const gpc_mcb *mcb, const int *label) {
  const size_t n = mcb->n;
  double sum = 0.0;
  for (size_t j = 0; j < mcb->maps; j++) {
    const int *tie = mcb->group_of + j * n, code = (int)(mcb->first + j) + 1;
    memset(mcb->hits, 0, mcb->groups[j] * sizeof(double));
    for (size_t i = 0; i < n; i++)
      mcb->hits[tie[i]] += label[i] == code;
    sum += mcb_gain(mcb, j);
  }
  return sum / (double)n;
}

double gpc_mcb_signed(const gpc_mcb *mcb, const int *label, const int *group,
                      const double *sign) {
  const size_t n = mcb->n;
  double sum = 0.0;
  for (size_t j = 0; j < mcb->maps; j++) {
    const double *score = mcb->score + j * n;
    const int *tie = mcb->group_of + j * n, code = (int)(mcb->first + j) + 1;
    memset(mcb->hits, 0, mcb->groups[j] * sizeof(double));
    for (size_t i = 0; i < n; i++) {
      const double x = score[tie[i]], hit = label[i] == code ? 1.0 : 0.0;
      mcb->hits[tie[i]] += sign[group[i] - 1] > 0.0 ? hit : 2.0 * x - hit;
    }
    sum += mcb_gain(mcb, j);
  }
  return sum / (double)n;
}

/* Squared kernel calibration error -----------------------------------------------------
 */

double gpc_skce_distance(gpc_skce_kernel kernel, size_t n, size_t k, const double *p,
                         size_t i, size_t j) {
  double sum = 0.0;
  for (size_t c = 0; c < k; c++) {
    const double d = p[i + c * n] - p[j + c * n];
    sum += kernel == GPC_KERNEL_LAPLACE ? fabs(d) : d * d;
  }
  return kernel == GPC_KERNEL_LAPLACE ? 0.5 * sum : sqrt(sum);
}

double gpc_skce_value(gpc_skce_kernel kernel, double distance, double width) {
  const double scaled = distance / width;
  return exp(kernel == GPC_KERNEL_LAPLACE ? -scaled : -0.5 * scaled * scaled);
}

void gpc_skce_pairs(gpc_skce_kernel kernel, double width, size_t n, size_t k,
                    const double *p, const int *label, double *h) {
  for (size_t m = 0; m < n / 2; m++) {
    const size_t i = 2 * m, j = 2 * m + 1;
    double product = label[i] == label[j] ? 1.0 : 0.0;
    product -= p[i + ((size_t)label[j] - 1) * n] + p[j + ((size_t)label[i] - 1) * n];
    for (size_t c = 0; c < k; c++)
      product += p[i + c * n] * p[j + c * n];
    h[m] =
        product * gpc_skce_value(kernel, gpc_skce_distance(kernel, n, k, p, i, j), width);
  }
}

void gpc_skce_prepare(gpc_skce_kernel kernel, double width, const double *p,
                      gpc_skce *skce, gpc_poll poll, void *data) {
  const size_t n = skce->n, k = skce->k;
  double *value = skce->kernel;
  memset(skce->cross, 0, n * k * sizeof(double));
  skce->constant = 0.0;
  /* Row i against all before it, class by class, so that all loops run over rows. */
  for (size_t i = 1; i < n; i++) {
    for (size_t j = 0; j < i; j++)
      value[j] = 0.0;
    for (size_t c = 0; c < k; c++) {
      const double *column = p + c * n, own = column[i];
      if (kernel == GPC_KERNEL_LAPLACE)
        for (size_t j = 0; j < i; j++)
          value[j] += fabs(own - column[j]);
      else
        for (size_t j = 0; j < i; j++)
          value[j] += (own - column[j]) * (own - column[j]);
    }
    for (size_t j = 0; j < i; j++)
      value[j] = gpc_skce_value(
          kernel, kernel == GPC_KERNEL_LAPLACE ? 0.5 * value[j] : sqrt(value[j]), width);
    for (size_t c = 0; c < k; c++) {
      const double *column = p + c * n, own = column[i];
      double *cross = skce->cross + c * n, sum = 0.0;
#pragma omp simd reduction(+ : sum)
      for (size_t j = 0; j < i; j++) {
        sum += value[j] * column[j];
        cross[j] += value[j] * own;
      }
      cross[i] += sum;
      skce->constant += own * sum;
    }
    value += i;
    gpc_call_poll(poll, data);
  }
}

double gpc_skce_quadratic(const gpc_skce *skce, const int *label) {
  const size_t n = skce->n;
  const double *value = skce->kernel;
  double sum = skce->constant;
  for (size_t i = 0; i < n; i++) {
    const int code = label[i];
    double same = 0.0;
#pragma omp simd reduction(+ : same)
    for (size_t j = 0; j < i; j++)
      same += label[j] == code ? value[j] : 0.0;
    value += i;
    sum += same - skce->cross[i + ((size_t)code - 1) * n];
  }
  return sum / (0.5 * (double)n * (double)(n - 1));
}

void gpc_skce_groups(gpc_skce_kernel kernel, double width, size_t n, size_t k,
                     const double *p, const int *label, const int *group, size_t units,
                     double *residual, double *sums, gpc_poll poll, void *data) {
  memset(sums, 0, units * units * sizeof(double));
  for (size_t c = 0; c < k; c++)
    for (size_t i = 0; i < n; i++)
      residual[i + c * n] = ((size_t)label[i] == c + 1 ? 1.0 : 0.0) - p[i + c * n];
  for (size_t i = 1; i < n; i++) {
    double *column = sums + ((size_t)group[i] - 1) * units;
    for (size_t j = 0; j < i; j++) {
      if (group[j] == group[i])
        continue;
      double inner = 0.0;
      for (size_t c = 0; c < k; c++)
        inner += residual[i + c * n] * residual[j + c * n];
      column[group[j] - 1] +=
          inner * gpc_skce_value(kernel, gpc_skce_distance(kernel, n, k, p, i, j), width);
    }
    gpc_call_poll(poll, data);
  }
  for (size_t a = 1; a < units; a++)
    for (size_t b = 0; b < a; b++) {
      const double both = sums[a + b * units] + sums[b + a * units];
      sums[a + b * units] = sums[b + a * units] = both;
    }
}
