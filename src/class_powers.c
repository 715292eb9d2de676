/* class_powers.c: see class_powers.h. */
#include "class_powers.h"

#include <math.h>

/* a_kj: row k of Helmert's contrasts (class_features.c) in the units of the matrix. */
static double weight(const gpc_features *f, size_t k, size_t j) {
  const double m = (double)j + 1.0, unit = f->slope * f->rms / sqrt(m * (m + 1.0));
  return j >= k ? -unit : j + 1 == k ? m * unit : 0.0;
}

/* x := T_k x (sign 1) or T_k^-1 x (sign -1), for n vectors x, `apart` from one to the
 * next. */
static void add_powers(const gpc_features *f, double sign, size_t k, size_t n,
                       size_t apart, size_t step, double *x) {
  if (!f->count[GPC_POWER])
    return;
  const double *v = x + step * f->first[GPC_POWER];
  for (size_t j = 0; j < f->count[GPC_MATRIX]; j++) {
    const double w = sign * weight(f, k, j);
    double *to = x + step * (f->first[GPC_MATRIX] + j);
    for (size_t i = 0; i < n; i++)
      to[apart * i] += w * v[apart * i];
  }
}

void gpc_powers_apply(const gpc_features *f, size_t k, size_t n, size_t apart,
                      size_t step, double *x) {
  add_powers(f, 1.0, k, n, apart, step, x);
}

void gpc_powers_transpose(const gpc_features *f, size_t k, size_t n, size_t apart,
                          size_t step, double *x) {
  if (!f->count[GPC_POWER])
    return;
  double *to = x + step * f->first[GPC_POWER];
  for (size_t j = 0; j < f->count[GPC_MATRIX]; j++) {
    const double w = weight(f, k, j), *from = x + step * (f->first[GPC_MATRIX] + j);
    for (size_t i = 0; i < n; i++)
      to[apart * i] += w * from[apart * i];
  }
}

static void add_to_block(const gpc_features *f, double sign, size_t k, size_t l,
                         size_t step, double *block) {
  add_powers(f, sign, k, f->r, step, 1, block);
  add_powers(f, sign, l, f->r, 1, step, block);
}

void gpc_powers_apply_block(const gpc_features *f, size_t k, size_t l, size_t step,
                            double *block) {
  add_to_block(f, 1.0, k, l, step, block);
}

void gpc_powers_free_block(const gpc_features *f, size_t k, size_t l, size_t step,
                           double *block) {
  add_to_block(f, -1.0, k, l, step, block);
}

void gpc_powers_transpose_block(const gpc_features *f, size_t k, size_t l, size_t step,
                                double *block) {
  gpc_powers_transpose(f, k, f->r, step, 1, block);
  gpc_powers_transpose(f, l, f->r, 1, step, block);
}

void gpc_powers_collapse(const gpc_features *f, size_t size, double *effect,
                         double *cov) {
  if (!f->count[GPC_POWER])
    return;
  const size_t x = size - f->k * f->r;
  for (size_t k = 0; k < f->k; k++) {
    const size_t at = x + k * f->r;
    gpc_powers_apply(f, k, 1, 1, 1, effect + k * f->r);
    add_powers(f, 1.0, k, size, size, 1, cov + at);        /* rows of this class, ... */
    add_powers(f, 1.0, k, size, 1, size, cov + size * at); /* ... then its columns */
  }
}
