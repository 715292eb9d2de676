/* class_skew.c: see class_skew.h. */
#include "class_skew.h"

#include <math.h>

#define CHUNK 64 /* vectors at a time */

/* d := sqrt(1/2) (d - a), a := sqrt(1/2) (d + a), or (back) the inverse of that. */
static void turn(size_t n, size_t apart, int back, double *d, double *a) {
  const double half = 0.70710678118654752440, sign = back ? -1.0 : 1.0;
  for (size_t v = 0; v < n; v++) {
    const double x = d[apart * v], y = a[apart * v];
    d[apart * v] = half * (x - sign * y);
    a[apart * v] = half * (y + sign * x);
  }
}

/* Every pair of places (q, i) and (i, q). */
static void turn_pairs(size_t k, size_t n, size_t apart, size_t class_step,
                       size_t feature_step, int back, double *x) {
  for (size_t i = 1; i + 1 < k; i++)
    for (size_t q = 0; q < i; q++)
      turn(n, apart, back, x + q * class_step + i * feature_step,
           x + i * class_step + q * feature_step);
}

/* e := U d, d [k], the last of them the level; n vectors of at most CHUNK. */
static void spread(size_t k, size_t n, size_t apart, size_t step, double *x) {
  double level[CHUNK], later[CHUNK];
  for (size_t v = 0; v < n; v++) {
    level[v] = x[apart * v + (k - 1) * step] / sqrt((double)k);
    later[v] = 0.0;
  }
  for (size_t j = k; j-- > 0;) {
    double *to = x + j * step;
    const double *before = to - (j > 0 ? step : 0), m = (double)j;
    const double here = 1.0 / sqrt((m + 1.0) * (m + 2.0)),
                 own = j > 0 ? m / sqrt(m * (m + 1.0)) : 0.0;
    for (size_t v = 0; v < n; v++) {
      if (j + 1 < k)
        later[v] += here * to[apart * v];
      to[apart * v] = level[v] - later[v] + own * before[apart * v];
    }
  }
}

/* d := U'e. */
static void gather(size_t k, size_t n, size_t apart, size_t step, double *x) {
  double sum[CHUNK];
  for (size_t v = 0; v < n; v++)
    sum[v] = x[apart * v];
  for (size_t j = 0; j + 1 < k; j++) {
    double *to = x + j * step;
    const double m = (double)j + 1.0, unit = 1.0 / sqrt(m * (m + 1.0));
    for (size_t v = 0; v < n; v++) {
      const double next = to[apart * v + step];
      to[apart * v] = unit * (m * next - sum[v]);
      sum[v] += next;
    }
  }
  for (size_t v = 0; v < n; v++)
    x[apart * v + (k - 1) * step] = sum[v] / sqrt((double)k);
}

static void rotate(const gpc_features *f, int back, size_t n, size_t apart,
                   size_t class_step, size_t feature_step, double *x) {
  const size_t k = f->k;
  if (!f->count[GPC_SKEW])
    return;
  for (size_t first = 0; first < n; first += CHUNK) {
    const size_t some = n - first < CHUNK ? n - first : CHUNK;
    double *part = x + f->first[GPC_MATRIX] * feature_step + apart * first;
    if (!back)
      turn_pairs(k, some, apart, class_step, feature_step, 0, part);
    for (size_t i = 0; i + 1 < k; i++)
      (back ? gather : spread)(k, some, apart, class_step, part + i * feature_step);
    if (back)
      turn_pairs(k, some, apart, class_step, feature_step, 1, part);
  }
}

void gpc_skew_apply(const gpc_features *f, size_t n, size_t apart, size_t class_step,
                    size_t feature_step, double *x) {
  rotate(f, 0, n, apart, class_step, feature_step, x);
}

void gpc_skew_transpose(const gpc_features *f, size_t n, size_t apart, size_t class_step,
                        size_t feature_step, double *x) {
  rotate(f, 1, n, apart, class_step, feature_step, x);
}

/* Rows, then columns, of the last k r of all. */
static void rotate_both(const gpc_features *f, int back, size_t size, double *x) {
  const size_t r = f->r, first = size - f->k * r;
  rotate(f, back, size, 1, size * r, size, x + size * first);
  rotate(f, back, size, size, r, 1, x + first);
}

void gpc_skew_apply_both(const gpc_features *f, size_t size, double *x) {
  rotate_both(f, 0, size, x);
}

void gpc_skew_transpose_both(const gpc_features *f, size_t size, double *x) {
  rotate_both(f, 1, size, x);
}

void gpc_skew_collapse(const gpc_features *f, size_t size, double *effect, double *cov) {
  rotate(f, 0, 1, 0, f->r, 1, effect);
  rotate_both(f, 0, size, cov);
}
