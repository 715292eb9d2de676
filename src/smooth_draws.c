/* smooth_draws.c: see smooth_draws.h. */
#include "smooth_draws.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double logistic(double x) { return 1.0 / (1.0 + exp(-x)); }

typedef struct {
  double gap, weight;
} cell;

static int by_gap(const void *a, const void *b) {
  const double one = ((const cell *)a)->gap, two = ((const cell *)b)->gap;
  return (one > two) - (one < two);
}

void gpc_smooth_distances(size_t m, size_t count, const double *curves, const double *x,
                          const double *w, const int *inner, double *work, double *out) {
  cell *cells = (cell *)work;
  double total = 0.0;
  for (size_t i = 0; i < m; i++)
    total += w[i];
  for (size_t c = 0; c < count; c++) {
    const double *curve = curves + c * m;
    double *own = out + c * GPC_DISTANCES, sum = 0.0, most = 0.0, below = 0.0;
    for (size_t i = 0; i < m; i++) {
      const double gap = fabs(logistic(curve[i]) - logistic(x[i]));
      cells[i] = (cell){gap, w[i]};
      sum += w[i] * gap;
      if (inner[i] && gap > most)
        most = gap;
    }
    if (!(isfinite(sum) && total > 0.0)) { /* there is no order of NaN */
      for (int i = 0; i < GPC_DISTANCES; i++)
        own[i] = NAN;
      continue;
    }
    qsort(cells, m, sizeof *cells, by_gap);
    own[0] = sum / total;
    own[1] = own[2] = cells[m - 1].gap;
    own[3] = most;
    const double half = (0.5 - 1e-12) * total, nine = (0.9 - 1e-12) * total;
    for (size_t i = 0; i < m && below < nine; i++) {
      const double upto = below + cells[i].weight; /* 1e-12: sums of weights round */
      if (below < half && upto >= half)
        own[1] = cells[i].gap;
      if (upto >= nine)
        own[2] = cells[i].gap;
      below = upto;
    }
  }
}

/* log(1 + e^x) */
static double softplus(double x) { return fmax(x, 0.0) + log1p(exp(-fabs(x))); }

void gpc_smooth_excess(size_t m, size_t draws, const double *eta, const double *w,
                       const double *step, double *excess) {
  memset(excess, 0, draws * sizeof(double));
  for (size_t i = 0; i < m; i++) {
    const double now = softplus(eta[i]), q = logistic(eta[i]);
    for (size_t j = 0; j < draws; j++) {
      const double d = step[i + j * m];
      excess[j] +=
          w[i] * (softplus(eta[i] + d) - now - q * d - 0.5 * q * (1.0 - q) * d * d);
    }
  }
}
