/* tilt.c: see tilt.h. */
#include "tilt.h"
#include "fastexp.h"
#include "simd.h"

#include <math.h>
#include <string.h>

#define MOST_STEPS 200
#define CLOSE 1e-7 /* of pi: the bound is then off by its square */
#define SMALL_SPREAD 0.2

GPC_FUSED double gpc_tilt(size_t k, const double *phi, const double *c, double *work,
                          double *pi) {
  double bound = INFINITY, damping = 1.0;
  for (int step = 0; step < MOST_STEPS; step++) {
    double all = 0.0, spread = 0.0, top = -INFINITY, sum = 0.0, move = 0.0;
    memset(work, 0, k * sizeof(double));
    for (size_t j = 0; j < k; j++) { /* C a */
      const double *column = c + j * k, a = pi[j];
#pragma omp simd
      for (size_t i = 0; i < k; i++)
        work[i] += column[i] * a;
    }
    for (size_t i = 0; i < k; i++)
      all += work[i] * pi[i];
    for (size_t i = 0; i < k; i++) { /* eq. (35) */
      const double d = c[i + i * k] - 2.0 * work[i] + all;
      spread += pi[i] * d;
      work[i] = phi[i] + 0.5 * d;
      top = fmax(top, work[i]);
    }
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < k; i++)
      sum += work[i] = gpc_exp_nonpos(work[i] - top);
    const double last = bound;
    bound = top + log(sum);
    /* from one corner of the simplex, where v is small, to another and back: along p - a the
     * bound falls (its slope is -(p - a)'C (p - a)), if the step is short enough */
    if (bound > last)
      damping *= 0.5;
    const double share = 1.0 / sum;
    for (size_t i = 0; i < k; i++) {
      work[i] *= share;
      move = fmax(move, fabs(work[i] - pi[i]));
    }
    if (move < CLOSE) {
      memcpy(pi, work, k * sizeof(double));
      break;
    }
    const double part =
        damping * (spread > SMALL_SPREAD ? 1.0 / (1.0 + 0.5 * spread) : 1.0);
    for (size_t i = 0; i < k; i++)
      pi[i] += part * (work[i] - pi[i]);
  }
  return bound;
}
