/* gp_ends.c: see gp_ends.h. */
#include "gp_ends.h"

#include <math.h>

#define LEFT 8.0  /* as much as 32 rows have at even odds ... */
#define SHARE 0.1 /* ... and no more than this share of all */

/* The first node from one side on (sign 1: from above) up to which there is more than
 * `left`. */
static double from_side(int sign, double left, size_t g, size_t line, const double *z,
                        const double *v) {
  size_t i = 0, j = 0; /* nodes of the line, and others, that have been passed */
  double sum = 0.0, at = 0.0;
  while (i + j < g && sum <= left) {
    const size_t a = sign > 0 ? line - 1 - i : i, b = sign > 0 ? g - 1 - j : line + j;
    const int other = i == line || (j < g - line && sign * (z[b] - z[a]) > 0.0);
    at = other ? z[b] : z[a];
    sum += other ? v[b] : v[a];
    i += !other;
    j += other;
  }
  return at;
}

void gpc_ends(size_t g, size_t line, const double *z, const double *v, double *low,
              double *high) {
  double total = 0.0;
  for (size_t i = 0; i < g; i++)
    total += v[i];
  const double left = fmin(LEFT, SHARE * total);
  *low = from_side(-1, left, g, line, z, v);
  *high = from_side(1, left, g, line, z, v);
}
