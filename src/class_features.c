/* class_features.c: see class_features.h. */
#include "class_features.h"
#include "fastexp.h"
#include "simd.h"

#include <math.h>
#include <string.h>

gpc_features gpc_features_make(size_t k, const int wanted[GPC_BLOCKS], double rms,
                               double slope, double low, double high) {
  gpc_features f = {.k = k, .rms = rms, .slope = slope, .low = low, .high = high};
  const size_t more = k > 2 && wanted[GPC_MATRIX];
  const size_t count[GPC_BLOCKS] = {1, k == 2 ? 1 : k - 1, k == 2 ? GPC_SHAPES : k - 1,
                                    more, more};
  for (int b = 0; b < GPC_BLOCKS; b++) {
    f.first[b] = f.r;
    f.count[b] = wanted[b] ? count[b] : 0;
    f.r += b < GPC_FEATURE_BLOCKS ? f.count[b] : 0;
  }
  return f;
}

void gpc_features_run(const gpc_features *f, gpc_block b, size_t k, size_t *first,
                      size_t *count) {
  /* so many of the first of the matrix are skew; the last class stands for the level */
  const size_t skew = f->count[GPC_SKEW] && k + 1 < f->k ? k : 0;
  *first = f->first[b];
  *count = f->count[b];
  if (b == GPC_MATRIX) {
    *first += skew;
    *count -= skew;
  } else if (b == GPC_SKEW) {
    *first = f->first[GPC_MATRIX];
    *count = skew;
  }
}

gpc_block gpc_features_block(const gpc_features *f, size_t j) {
  const size_t i = j % f->r;
  int b = 0;
  while (i >= f->first[b] + f->count[b])
    b++;
  if (b == GPC_MATRIX && f->count[GPC_SKEW]) {
    size_t first, count;
    gpc_features_run(f, GPC_SKEW, j / f->r, &first, &count);
    b = i < first + count ? GPC_SKEW : GPC_MATRIX;
  }
  return (gpc_block)b;
}

/* x [k-1] := U'v, U Helmert's contrasts: column j has j + 1 entries -1 and one of j + 1,
 * divided by sqrt((j + 1) (j + 2)). */
static void contrast(size_t k, const double *v, double *x) {
  double sum = v[0];
  for (size_t j = 0; j + 1 < k; j++) {
    const double m = (double)j + 1.0;
    x[j] = (m * v[j + 1] - sum) / sqrt(m * (m + 1.0));
    sum += v[j + 1];
  }
}

/* Scores within the range seen, centred again. */
static void hold(const gpc_features *f, double *z) {
  double sum = 0.0;
  for (size_t j = 0; j < f->k; j++)
    sum += z[j] = z[j] > f->low ? (z[j] < f->high ? z[j] : f->high) : f->low;
  for (size_t j = 0; j < f->k; j++)
    z[j] -= sum / (double)f->k;
}

/* softplus(d) + softplus(-d) - 2 log 2, d = slope (z_2 - z_1): even, 0 at 0. */
static double even(double d) {
  d = fabs(d);
  return d + 2.0 * log1p(exp(-d)) - 2.0 * 0.69314718055994530942 /* log 2 */;
}

/* The integral of the hat about 1 from 0 to u. */
static double ramp(double u) {
  u = u > 0.0 ? u : 0.0;
  u = u < 2.0 ? u : 2.0;
  return u < 1.0 ? 0.5 * u * u : 1.0 - 0.5 * (2.0 - u) * (2.0 - u);
}

/* x [GPC_SHAPES]: eq. (33c), the integrals of the hats about the knots 1, 2, ... steps from
 * GPC_SHAPE_ZERO steps to |d|. */
static void shapes(double d, double *x) {
  const double t = fabs(d) / GPC_SHAPE_STEP;
  for (int i = 0; i < GPC_SHAPES; i++)
    x[i] = GPC_SHAPE_STEP * (ramp(t - i) - ramp(GPC_SHAPE_ZERO - i));
}

/* p [k] := softmax(slope z); returns log sum_j exp(slope z_j). */
GPC_FUSED static double softmax(size_t k, double slope, const double *z, double *p) {
  double top = z[0], sum = 0.0;
#pragma omp simd reduction(max : top)
  for (size_t j = 0; j < k; j++)
    top = z[j] > top ? z[j] : top;
#pragma omp simd reduction(+ : sum)
  for (size_t j = 0; j < k; j++)
    sum += p[j] = gpc_exp_nonpos(slope * (z[j] - top));
  const double by = 1.0 / sum;
#pragma omp simd
  for (size_t j = 0; j < k; j++)
    p[j] *= by;
  return slope * top + log(sum);
}

void gpc_features_row(const gpc_features *features, double *z, double *work, double *x) {
  const size_t k = features->k;
  hold(features, z);
  if (features->count[GPC_OFFSET])
    x[features->first[GPC_OFFSET]] = 1.0;
  if (features->count[GPC_MATRIX] && k == 2)
    x[features->first[GPC_MATRIX]] = even(features->slope * (z[1] - z[0]));
  else if (features->count[GPC_MATRIX]) {
    double *to = x + features->first[GPC_MATRIX];
    contrast(k, z, to);
    const double scale = 1.0 / features->rms;
    for (size_t j = 0; j + 1 < k; j++)
      to[j] *= scale;
  }
  if (features->count[GPC_SOFTMAX] && k == 2)
    shapes(features->slope * (z[1] - z[0]), x + features->first[GPC_SOFTMAX]);
  else if (features->count[GPC_SOFTMAX] || features->count[GPC_POWER]) {
    const double level = softmax(k, features->slope, z, work);
    if (features->count[GPC_SOFTMAX])
      contrast(k, work, x + features->first[GPC_SOFTMAX]);
    if (features->count[GPC_POWER])
      x[features->first[GPC_POWER]] = -level;
  }
}

GPC_FUSED void gpc_features_pack(size_t r, const double *restrict x,
                                 double *restrict to) {
  for (size_t i = 0; i < r; to += ++i)
#pragma omp simd
    for (size_t j = 0; j <= i; j++)
      to[j] = x[i] * x[j];
}

double gpc_features_reach(const gpc_features *f) {
  const double z = sqrt((double)f->k) * fmax(fabs(f->low), fabs(f->high));
  const double shapes = GPC_SHAPES + GPC_SHAPE_ZERO; /* each is less than a step */
  return 1.0 + shapes + z / f->rms + 2.0 * f->slope * z + log((double)f->k);
}
