/* min_max.h: isotonic regression by its min-max formula, slow and obvious. */
#ifndef GPC_TEST_MIN_MAX_H
#define GPC_TEST_MIN_MAX_H

#include <math.h>
#include <stddef.h>

/* fit_i = max over a <= i of min over b >= i of the weighted mean of y[a..b]. */
static double min_max(size_t m, const double *hits, const double *weight, size_t i) {
  double best = -INFINITY;
  for (size_t a = 0; a <= i; a++) {
    double least = INFINITY;
    for (size_t b = i; b < m; b++) {
      double h = 0.0, w = 0.0;
      for (size_t j = a; j <= b; j++) {
        h += hits[j];
        w += weight[j];
      }
      least = h / w < least ? h / w : least;
    }
    best = least > best ? least : best;
  }
  return best;
}

#endif
