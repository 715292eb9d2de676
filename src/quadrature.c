/* quadrature.c: see quadrature.h. */
#include "quadrature.h"

#include <math.h>

static const double sqrt_two = 1.41421356237309504880; /* M_SQRT2 is POSIX, not C */

#define NARROW_SD 8.0     /* beyond, the rule in d would take more steps than that in t */
#define TAIL 8.6          /* P(|x| > 8.6) = 8e-18 */
#define LOG_ERROR 27.0    /* the rules leave about exp(-27) = 2e-12 */
#define LARGEST_STEP 0.25 /* for the normal density itself: exp(-2 pi^2 / 0.25^2) */

/* For a large sd as P(t < d), t logistic and independent of d: the mean of Phi((mean - t)
 * / sd) over t takes no more steps the larger sd is. The poles of t's density lie pi off
 * the real line: the error of the rule is about exp(-2 pi^2 / h), 5e-15 for h = 0.6. */
static double wide_logistic_normal(double mean, double sd) {
  const double h = 0.6;
  /* t beyond |mean| + 40 has a density below 1e-17; exp(-745) is the smallest number */
  const int steps = (int)ceil(fmin(fabs(mean) + 40.0, 745.0) / h);
  double sum = 0.0, total = 0.0;
  for (int i = -steps; i <= steps; i++) {
    const double t = (double)i * h, e = exp(-fabs(t));
    const double weight = e / ((1.0 + e) * (1.0 + e));
    sum += weight * 0.5 * erfc((t - mean) / (sd * sqrt_two));
    total += weight;
  }
  return sum / total;
}

double gpc_logistic_normal(double mean, double var) {
  const double sd = var > 0.0 ? sqrt(var) : 0.0;
  if (sd > NARROW_SD)
    return wide_logistic_normal(mean, sd);
  /* the nearest pole of the integrand lies pi / sd off the real line: the error of the
   * rule is about exp(-2 pi (pi / sd) / h) */
  const double h = fmin(LARGEST_STEP, 19.739208802178717 /* 2 pi^2 */ / (sd * LOG_ERROR));
  const long steps = (long)ceil(TAIL / h);
  double sum = 0.0, total = 0.0;
  for (long i = -steps; i <= steps; i++) { /* eq. (25), x_i = i h */
    const double x = (double)i * h, weight = exp(-0.5 * x * x);
    sum += weight / (1.0 + exp(-(mean + sd * x)));
    total += weight;
  }
  return sum / total;
}
