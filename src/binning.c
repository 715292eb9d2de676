/* binning.c: see binning.h. */
#include "binning.h"
#include "radix.h"

gpc_binning gpc_binning_width(size_t bins, double lower, int left_closed, double *edges) {
  for (size_t b = 0; b < bins; b++)
    edges[b] = lower + (1.0 - lower) * ((double)b / (double)bins);
  edges[bins] = 1.0;
  return (gpc_binning){bins, edges, left_closed, 1};
}

/* The order of the rows, then what sorting them takes. */
size_t gpc_binning_mass_work(size_t n) {
  return (n + n % 2) * sizeof(int) + gpc_radix_work(n);
}

gpc_binning gpc_binning_mass(size_t n, const double *score, const double *weights,
                             size_t bins, double *edges, void *work) {
  int *order = work;
  gpc_radix_order(n, score, order, order + (n + n % 2));

  double total = 0.0;
  for (size_t i = 0; i < n; i++)
    total += weights ? weights[order[i]] : 1.0;

  /* cum >= b total / bins is asked as bins cum >= b total, with room for the rounding of
   * weights that are not whole. */
  size_t found = 0, b = 1;
  double cum = 0.0, scale = (double)bins;
  for (size_t i = 0; i < n; i++) {
    double w = weights ? weights[order[i]] : 1.0, x = score[order[i]];
    if (w <= 0.0)
      continue;
    if (found == 0)
      edges[found++] = x;
    cum += w;
    if (scale * cum < (double)b * total * (1.0 - 1e-12))
      continue;
    if (found == 1 || x > edges[found - 1])
      edges[found++] = x;
    do
      b++;
    while (b <= bins && scale * cum >= (double)b * total * (1.0 - 1e-12));
    if (b > bins)
      break;
  }
  return (gpc_binning){found ? found - 1 : 0, edges, 0, 0};
}

/* How near to a whole number (in units of a bin) a scaled score must be for rounding to
 * matter: for a million bins the scaled score is good to 1e-9. */
#define NEAR_EDGE 1e-6

/* The guess b is off by one at most. */
static int compare_edges(const gpc_binning *binning, double x, int b) {
  const double *edges = binning->edges;
  int last = (int)binning->bins - 1;
  b = b > last ? last : b < 0 ? 0 : b;
  if (binning->left_closed) {
    if (b > 0 && x < edges[b])
      return b - 1;
    return b < last && x >= edges[b + 1] ? b + 1 : b;
  }
  if (b > 0 && x <= edges[b])
    return b - 1;
  return b < last && x > edges[b + 1] ? b + 1 : b;
}

/* Even bins: arithmetic, and a comparison with the edges for scores that are near one. */
static void assign_even(const gpc_binning *binning, size_t n, const double *score,
                        int *bin) {
  const int last = (int)binning->bins - 1;
  const double lower = binning->edges[0],
               per_unit = (double)binning->bins / (1.0 - lower);
  for (size_t i = 0; i < n; i++) {
    double t = (score[i] - lower) * per_unit;
    int b = (int)t;
    double inside = t - (double)b;
    if (inside < NEAR_EDGE || inside > 1.0 - NEAR_EDGE || b > last)
      b = compare_edges(binning, score[i], b);
    bin[i] = b;
  }
}

/* Any edges, right-closed: the first upper edge that is not below the score. */
static void assign_search(const gpc_binning *binning, size_t n, const double *score,
                          int *bin) {
  const double *upper = binning->edges + 1;
  for (size_t i = 0; i < n; i++) {
    size_t base = 0, left = binning->bins - 1;
    /* The answer is in [base, base + left]. */
    while (left > 0) {
      size_t half = (left + 1) / 2;
      base += upper[base + half - 1] < score[i] ? half : 0;
      left -= half;
    }
    bin[i] = (int)base;
  }
}

void gpc_binning_assign(const gpc_binning *binning, size_t n, const double *score,
                        int *bin) {
  if (binning->even)
    assign_even(binning, n, score, bin);
  else
    assign_search(binning, n, score, bin);
}
