/* mono_mass.c: see mono_mass.h. */
#include "mono_mass.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The share of [a, b] that lies in [low, high]. */
static double overlap(double a, double b, double low, double high) {
  if (!(a < b))
    return a >= low && a < high;
  return fmax(0.0, fmin(b, high) - fmax(a, low)) / (b - a);
}

void gpc_mono_mass(const gpc_visit *visit, int logs, double low, double high, size_t bins,
                   double *mass) {
  const gpc_nodes *nodes = visit->nodes;
  const double width = (high - low) / (double)bins;
  memset(mass, 0, (bins + 2) * sizeof(double));
  for (size_t g = 0; g < nodes->g; g++) {
    const double *z = nodes->z + g;
    const double v =
        fmax(visit->stats.spread[g], 0.0); /* weights of stencils may be negative */
    double a = g > 0 ? 0.5 * (z[-1] + z[0]) : z[0];
    double b = g + 1 < nodes->g ? 0.5 * (z[0] + z[1]) : z[0];
    if (logs) {
      a = log(fmax(a, DBL_MIN));
      b = log(fmax(b, DBL_MIN));
    }
    mass[0] += v * overlap(a, b, -INFINITY, low);
    mass[bins + 1] += v * overlap(a, b, high, INFINITY);
    const double from = (a - low) / width, to = (b - low) / width;
    for (double i = fmax(floor(from), 0.0); i <= to && i < (double)bins; i += 1.0)
      mass[(size_t)i + 1] += v * overlap(a, b, low + i * width, low + (i + 1.0) * width);
  }
}
