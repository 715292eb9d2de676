/* histogram.c: see histogram.h. */
#include "histogram.h"
#include "binning.h"
#include <math.h>

/* Edges, hits and weight of the bins, the bin of each row; what finding edges takes. */
size_t gpc_histogram_work(size_t n, size_t bins, int mass) {
  return (3 * bins + 1) * sizeof(double) + (n + n % 2) * sizeof(int) +
         (mass ? gpc_binning_mass_work(n) : 0);
}

size_t gpc_histogram_fit(const gpc_one *one, size_t bins, int mass, double *x, double *y,
                         void *work) {
  const size_t n = one->n;
  double *edges = work, *hits = edges + bins + 1, *weight = hits + bins;
  int *bin = (int *)(weight + bins);
  gpc_binning binning =
      mass ? gpc_binning_mass(n, one->x, one->weights, bins, edges, bin + n + n % 2)
           : gpc_binning_width(bins, 0.0, 0, edges);
  if (binning.bins == 0)
    return 0;
  gpc_binning_assign(&binning, n, one->x, bin);
  for (size_t b = 0; b < binning.bins; b++)
    hits[b] = weight[b] = 0.0;
  for (size_t i = 0; i < n; i++) {
    double w = one->weights ? one->weights[i] : 1.0;
    weight[bin[i]] += w;
    hits[bin[i]] += one->label[i] == one->code ? w : 0.0;
  }
  for (size_t b = 0; b < binning.bins; b++) {
    x[b] = edges[b + 1];
    y[b] = weight[b] > 0.0 ? hits[b] / weight[b] : NAN;
  }
  return binning.bins;
}
