/* pack_scores.c: see pack_scores.h. */
#include "pack_scores.h"
#include "select.h"

#include <math.h>

static void larger(double x, double *most) {
  const double size = fabs(x);
  if (isfinite(size) && size > *most)
    *most = size;
}

double gpc_largest_score(size_t n, size_t k, const double *x, gpc_stored how) {
  double most = 0.0, top[GPC_BLOCK_MAX];
  for (size_t first = 0; first < n; first += GPC_BLOCK_MAX) {
    const size_t rows = n - first < GPC_BLOCK_MAX ? n - first : GPC_BLOCK_MAX;
    for (size_t i = 0; i < rows; i++)
      top[i] = how == GPC_STORED_LESS_HIGH ? -INFINITY : 0.0;
    for (size_t j = 0; j < k && how == GPC_STORED_LESS_HIGH; j++)
      for (size_t i = 0; i < rows; i++)
        top[i] = fmax(top[i], x[first + i + n * j]);
    for (size_t j = 0; j < k; j++)
      for (size_t i = 0; i < rows; i++) {
        const double value = x[first + i + n * j];
        larger(how == GPC_STORED_LOG ? log(value) : value - top[i], &most);
      }
  }
  return most;
}

void gpc_coarse_scores(size_t n, size_t k, const double *x, double unit, double step,
                       unsigned char *code) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < k; j++) {
      const double value = x[i + n * j];
      const double at = nearbyint(log1p(fmax(-value, 0.0) / unit) / step);
      *code++ = (unsigned char)(value == -INFINITY ? 255.0 : fmin(at, 254.0));
    }
}

#define FRACTION 2048.0 /* steps of the fraction, of eleven bits */
#define LEAST (-31.0)   /* exponent */
#define LARGEST 65535
#define LEFT_OUT 32768

void gpc_short_scores(size_t n, const double *x, double top, int *code) {
  for (size_t i = 0; i < n; i++) {
    const double share = fmin(-x[i] / top, 1.0);
    code[i] = x[i] == -INFINITY ? LARGEST : 0;
    if (code[i] || !(share > 0.0))
      continue;
    const double exponent = fmax(floor(log2(share)), LEAST);
    const double own =
        exponent == LEAST
            ? nearbyint(ldexp(share, 41))
            : (exponent - LEAST) * FRACTION +
                  nearbyint((ldexp(share, -(int)exponent) - 1.0) * FRACTION);
    code[i] = (int)own + (own == LEFT_OUT);
  }
}

double gpc_median_below(size_t n, const double *x, double *room) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++)
    if (x[i] < 0.0 && x[i] > -INFINITY)
      room[count++] = -x[i];
  return count ? gpc_quantile(count, room, 0.5) : NAN;
}
