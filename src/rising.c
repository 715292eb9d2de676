/* rising.c: see rising.h. */
#include "rising.h"
#include "pava.h"
#include "select.h"

#include <float.h>
#include <math.h>

typedef struct {
  size_t g;
  const double *z;
  double *weight;      /* [g] precision of the functions */
  double fall;         /* how fast they may fall, as a slope */
  double *hits, *mass; /* [g] each: work space of project() */
  int *first;          /* [g] likewise */
} rising;

/* f [g] <- the nearest function h with h + fall z not decreasing, eq. (43c). */
static void project(rising *r, double *f) {
  for (size_t i = 0; i < r->g; i++) {
    r->mass[i] = r->weight[i];
    r->hits[i] = r->weight[i] * (f[i] + r->fall * r->z[i]);
  }
  const size_t blocks = gpc_pava_pool(r->g, r->hits, r->mass, r->first);
  for (size_t b = 0; b < blocks; b++) {
    const size_t end = b + 1 < blocks ? (size_t)r->first[b + 1] : r->g;
    for (size_t i = (size_t)r->first[b]; i < end; i++)
      f[i] = r->hits[b] / r->mass[b] - r->fall * r->z[i];
  }
}

/* The slope of m on z by weighted least squares, not below 0. */
static double slope_of(const rising *r, const double *m) {
  double w = 0.0, z = 0.0, y = 0.0, zz = 0.0, zy = 0.0;
  for (size_t i = 0; i < r->g; i++) {
    w += r->weight[i];
    z += r->weight[i] * r->z[i];
    y += r->weight[i] * m[i];
  }
  z /= w;
  y /= w;
  for (size_t i = 0; i < r->g; i++) {
    zz += r->weight[i] * (r->z[i] - z) * (r->z[i] - z);
    zy += r->weight[i] * (r->z[i] - z) * (m[i] - y);
  }
  return zz > 0.0 && zy > 0.0 ? zy / zz : 0.0;
}

int gpc_rising_limits(size_t g, size_t draws, const double *z, const double *p,
                      double lower, double upper, const gpc_memory *memory, double *out) {
  double *f = gpc_get_doubles(memory, g * draws), *mean = gpc_get_doubles(memory, g),
         *risen = gpc_get_doubles(memory, g), *one = gpc_get_doubles(memory, draws);
  rising r = {.g = g,
              .z = z,
              .weight = gpc_get_doubles(memory, g),
              .hits = gpc_get_doubles(memory, g),
              .mass = gpc_get_doubles(memory, g),
              .first = gpc_get_ints(memory, g)};
  for (size_t i = 0; i < g; i++) {
    double sum = 0.0, squares = 0.0;
    for (size_t d = 0; d < draws; d++) {
      const double *of = p + i + 2 * g * d;
      f[i + g * d] = log(fmax(of[g], DBL_MIN)) - log(fmax(of[0], DBL_MIN));
      sum += f[i + g * d];
    }
    mean[i] = sum / (double)draws;
    for (size_t d = 0; d < draws; d++)
      squares += (f[i + g * d] - mean[i]) * (f[i + g * d] - mean[i]);
    r.weight[i] = 1.0 / (squares / (double)draws + 1e-8);
  }
  r.fall = GPC_RISING_FALL * slope_of(&r, mean);
  for (size_t i = 0; i < g; i++)
    risen[i] = mean[i];
  project(&r, risen);
  for (size_t i = 0; i < g; i++)
    if (!(fabs(risen[i] - mean[i]) * sqrt(r.weight[i]) < GPC_RISING_SURE))
      return 0;
  for (size_t d = 0; d < draws; d++)
    project(&r, f + g * d);
  for (size_t i = 0; i < g; i++) {
    for (size_t d = 0; d < draws; d++)
      one[d] = f[i + g * d];
    out[i] = gpc_quantile(draws, one, lower);
    out[i + g] = gpc_quantile(draws, one, upper);
  }
  return 1;
}
