/* class_powers.c: see class_powers.h. */
#include "class_powers.h"

#include <math.h>

/* a_kj: row k of Helmert's contrasts (class_features.c) in the units of the matrix. */
static double weight(const gpc_features *f, size_t k, size_t j) {
  const double m = (double)j + 1.0, unit = f->slope * f->rms / sqrt(m * (m + 1.0));
  return j >= k ? -unit : j + 1 == k ? m * unit : 0.0;
}

/* x := T_k x (sign 1) or T_k^-1 x (sign -1). */
static void add_power(const gpc_features *f, double sign, size_t k, size_t step,
                      double *x) {
  if (!f->count[GPC_POWER])
    return;
  const double v = sign * x[step * f->first[GPC_POWER]];
  double *to = x + step * f->first[GPC_MATRIX];
  for (size_t j = 0; j < f->count[GPC_MATRIX]; j++)
    to[step * j] += weight(f, k, j) * v;
}

void gpc_powers_apply(const gpc_features *f, size_t k, size_t step, double *x) {
  add_power(f, 1.0, k, step, x);
}

void gpc_powers_transpose(const gpc_features *f, size_t k, size_t step, double *x) {
  if (!f->count[GPC_POWER])
    return;
  const double *from = x + step * f->first[GPC_MATRIX];
  double sum = x[step * f->first[GPC_POWER]];
  for (size_t j = 0; j < f->count[GPC_MATRIX]; j++)
    sum += weight(f, k, j) * from[step * j];
  x[step * f->first[GPC_POWER]] = sum;
}

static void add_to_block(const gpc_features *f, double sign, size_t k, size_t l,
                         size_t step, double *block) {
  for (size_t j = 0; j < f->r; j++)
    add_power(f, sign, k, 1, block + step * j);
  for (size_t i = 0; i < f->r; i++)
    add_power(f, sign, l, step, block + i);
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
  if (!f->count[GPC_POWER])
    return;
  for (size_t j = 0; j < f->r; j++)
    gpc_powers_transpose(f, k, 1, block + step * j);
  for (size_t i = 0; i < f->r; i++)
    gpc_powers_transpose(f, l, step, block + i);
}

void gpc_powers_collapse(const gpc_features *f, size_t size, double *effect,
                         double *cov) {
  if (!f->count[GPC_POWER])
    return;
  const size_t x = size - f->k * f->r;
  for (size_t k = 0; k < f->k; k++) {
    const size_t at = x + k * f->r;
    gpc_powers_apply(f, k, 1, effect + k * f->r);
    for (size_t j = 0; j < size; j++) /* rows of this class, then its columns */
      gpc_powers_apply(f, k, 1, cov + at + size * j);
    for (size_t i = 0; i < size; i++)
      gpc_powers_apply(f, k, size, cov + i + size * at);
  }
}
