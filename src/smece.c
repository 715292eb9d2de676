/* smece.c: see smece.h. */
#include "smece.h"
#include <math.h>
#include <string.h>

#define PER_SIGMA 32.0 /* steps of the grid in one bandwidth */
#define FEWEST 512     /* steps in all */
#define REACH 7.0      /* bandwidths that the kernel is followed for: it is 2e-11 there */
#define BLOCK 1024     /* nodes whose sums stay in cache */

static size_t steps_of(double sigma) {
  const double wanted = ceil(PER_SIGMA / sigma);
  return wanted > FEWEST ? (size_t)wanted : FEWEST;
}

static size_t taps_of(double sigma) {
  return (size_t)ceil(REACH * sigma * (double)steps_of(sigma));
}

/* Nodes with their mirror images, the kernel, and a block of sums. Wide kernels need the
 * most images, narrow ones the most nodes. */
size_t gpc_smece_work(double sigma) {
  const size_t images = 2 * (size_t)ceil(REACH * GPC_SMECE_MOST * FEWEST) + 2;
  const size_t narrow = 2 * taps_of(sigma) + 2;
  return steps_of(sigma) + 1 + 2 * (images > narrow ? images : narrow) + BLOCK;
}

/* The node on [0, steps] that is the mirror image of j. */
static size_t mirror(ptrdiff_t j, ptrdiff_t steps) {
  j %= 2 * steps;
  if (j < 0)
    j += 2 * steps;
  return (size_t)(j > steps ? 2 * steps - j : j);
}

/* Integral of |r| over a step, r straight between its ends. */
static double step_area(double a, double b) {
  if ((a >= 0.0) == (b >= 0.0))
    return 0.5 * (fabs(a) + fabs(b));
  return 0.5 * (a * a + b * b) / (fabs(a) + fabs(b));
}

double gpc_smece_error(size_t n, const double *x, const double *residual, double total,
                       double sigma, double *work) {
  const size_t steps = steps_of(sigma), taps = taps_of(sigma);
  const double size = (double)steps, h = 1.0 / size;
  double *sums = work, *kernel = sums + BLOCK, *node = kernel + taps + 1 + taps;
  memset(node, 0, (steps + 1) * sizeof *node);
  for (size_t i = 0; i < n; i++) {
    const double place = x[i] * size;
    size_t j = (size_t)place;
    j = j < steps ? j : steps - 1;
    const double right = place - (double)j;
    node[j] += (1.0 - right) * residual[i];
    node[j + 1] += right * residual[i];
  }
  node[0] *= 2.0; /* with its own image */
  node[steps] *= 2.0;
  for (size_t d = 1; d <= taps; d++) {
    node[-(ptrdiff_t)d] = node[mirror(-(ptrdiff_t)d, (ptrdiff_t)steps)];
    node[steps + d] = node[mirror((ptrdiff_t)(steps + d), (ptrdiff_t)steps)];
  }
  /* Spreading a row adds h^2/6 to the variance, on average over its place in a step. */
  const double variance = sigma * sigma - h * h / 6.0;
  const double scale = 1.0 / (total * sqrt(2.0 * 3.14159265358979323846 * variance));
  for (size_t d = 0; d <= taps; d++)
    kernel[d] = scale * exp(-0.5 * (double)d * h * (double)d * h / variance);
  double area = 0.0, last = 0.0;
  for (size_t from = 0; from <= steps; from += BLOCK) {
    const size_t rows = steps + 1 - from < BLOCK ? steps + 1 - from : BLOCK;
    const double *at = node + from;
    for (size_t i = 0; i < rows; i++)
      sums[i] = kernel[0] * at[i];
    for (size_t d = 1; d <= taps; d++) {
      const double k = kernel[d], *before = at - d, *behind = at + d;
#pragma omp simd
      for (size_t i = 0; i < rows; i++)
        sums[i] += k * (before[i] + behind[i]);
    }
    for (size_t i = 0; i < rows; i++) {
      if (from + i > 0)
        area += h * step_area(last, sums[i]);
      last = sums[i];
    }
  }
  return area;
}

gpc_status gpc_smece_ece(size_t n, const double *x, const double *residual, double total,
                         double tol, double *work, gpc_poll poll, void *data,
                         gpc_smece_result *result) {
  double low = GPC_SMECE_LEAST, high = GPC_SMECE_MOST, sigma = 0.1;
  double old_sigma = 0.0, old_error = 0.0;
  *result = (gpc_smece_result){0.0, 0.0, 0};
  for (size_t i = 0; i < n; i++)
    if (residual[i] != 0.0)
      result->sigma = 1.0;
  if (result->sigma == 0.0) /* every forecast was 0 or 1, and right */
    return GPC_OK;
  while (result->evaluations < 100) {
    const double error = gpc_smece_error(n, x, residual, total, sigma, work);
    result->evaluations++;
    result->error = error;
    result->sigma = sigma;
    gpc_call_poll(poll, data);
    if (fabs(error - sigma) <= tol * sigma)
      return GPC_OK;
    if (error < sigma) {
      if (sigma <= GPC_SMECE_LEAST)
        return GPC_AT_LOWER;
      high = sigma;
      low = error > low ? error : low; /* it does not rise with sigma */
    } else {
      low = sigma;
      high = error < high ? error : high;
    }
    if (high - low <= tol * low && low > GPC_SMECE_LEAST)
      return GPC_OK;
    /* the secant of log error over log sigma, else halfway */
    double next = sqrt(low * high);
    if (old_error > 0.0 && error > 0.0 && sigma != old_sigma) {
      const double slope = log(error / old_error) / log(sigma / old_sigma);
      const double guess = sigma * exp(log(error / sigma) / (1.0 - slope));
      if (slope <= 0.0 && guess > low && guess < high)
        next = guess;
    }
    if (high <= GPC_SMECE_LEAST * (1.0 + tol))
      next = GPC_SMECE_LEAST;
    old_sigma = sigma;
    old_error = error;
    sigma = next;
  }
  return GPC_NOT_CONVERGED;
}
