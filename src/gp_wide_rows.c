/* gp_wide_rows.c: see gp_wide_rows.h. */
#include "gp_wide_rows.h"
#include "fastexp.h"
#include "simd.h"

#include <math.h>
#include <string.h>

#define LEAST_LOG (-30.0)
/* Features whose memory is asked for together: what earlier stages gave back are many small
 * pieces, and larger ones would lie beside them. */
#define CHUNK 2048

GPC_FUSED size_t gpc_wide_features(size_t k, double steep, double *z, float *q,
                                   uint16_t *class, double *x) {
  double top = z[0], sum = 0.0;
#pragma omp simd reduction(max : top)
  for (size_t j = 0; j < k; j++)
    top = z[j] > top ? z[j] : top;
#pragma omp simd reduction(+ : sum)
  for (size_t j = 0; j < k; j++) {
    z[j] = steep * (z[j] - top);
    x[j] = gpc_exp_nonpos(z[j]);
    sum += x[j];
  }
  const double level = log(sum), factor = 1.0 / sum, least = 0.5 / (double)k;
#pragma omp simd
  for (size_t j = 0; j < k; j++) {
    q[j] = (float)(z[j] - level > LEAST_LOG ? z[j] - level : LEAST_LOG);
    x[j] = x[j] * factor - least;
  }
  size_t count = 0;
  for (size_t j = 0; j < k; j++)
    if (x[j] > 0.0) {
      class[count] = (uint16_t)j;
      x[count++] = x[j];
    }
  return count;
}

void gpc_wide_rows_powers(const gpc_gp_data *data, double steep, const gpc_memory *memory,
                          gpc_wide_row *rows) {
  const size_t n = data->n, k = data->k;
  float *q = gpc_get_floats(memory, n * k);
  double *z = gpc_get_doubles(memory, 2 * k), *x = z + k;
  uint16_t *class = gpc_get_classes(memory, k);
  for (size_t i = 0; i < n; i++, q += k) {
    for (size_t j = 0; j < k; j++)
      z[j] = gpc_gp_score(data, i, j);
    gpc_wide_features(k, steep, z, q, class, x);
    rows[i].q = q;
  }
  gpc_give(memory, z);
  gpc_give(memory, class);
}

gpc_wide_row *gpc_wide_rows_get(const gpc_gp_data *data, double steep, int powers,
                                const gpc_memory *memory) {
  const size_t n = data->n, k = data->k, chunk = CHUNK > k ? CHUNK : k;
  gpc_wide_row *rows = memory->get(memory->self, (n ? n : 1) * sizeof *rows);
  float *q = gpc_get_floats(memory, powers ? n * k : k);
  double *z = gpc_get_doubles(memory, k), *x = NULL;
  uint16_t *class = NULL;
  size_t left = 0;
  for (size_t i = 0; i < n; i++) {
    if (left < k) {
      x = gpc_get_doubles(memory, chunk);
      class = gpc_get_classes(memory, chunk);
      left = chunk;
    }
    for (size_t j = 0; j < k; j++)
      z[j] = gpc_gp_score(data, i, j);
    float *own = powers ? q + k * i : q;
    const size_t count = gpc_wide_features(k, steep, z, own, class, x);
    rows[i] =
        (gpc_wide_row){.count = count, .class = class, .x = x, .q = powers ? own : NULL};
    x += count;
    class += count;
    left -= count;
  }
  if (!powers)
    gpc_give(memory, q);
  gpc_give(memory, z);
  return rows;
}

GPC_FUSED void gpc_wide_forward(size_t k, const gpc_wide_row *row, const double *e,
                                int squared, double *f) {
  const double *v = e + k, *w = e + 2 * k;
  const size_t powers = row->q ? k : 0;
  if (!powers)
    memcpy(f, e, k * sizeof(double));
#pragma omp simd
  for (size_t j = 0; j < powers; j++) {
    const double q = row->q[j];
    f[j] = e[j] + (squared ? q * q : q) * v[j];
  }
  for (size_t i = 0; i < row->count; i++) {
    const double x = squared ? row->x[i] * row->x[i] : row->x[i];
    const double *column = w + k * (size_t)row->class[i];
#pragma omp simd
    for (size_t j = 0; j < k; j++)
      f[j] += x * column[j];
  }
}

GPC_FUSED void gpc_wide_backward(size_t k, const gpc_wide_row *row, const double *r,
                                 int squared, double *to) {
  double *v = to + k, *w = to + 2 * k;
  const size_t powers = row->q ? k : 0;
#pragma omp simd
  for (size_t j = 0; j < k; j++)
    to[j] += r[j];
#pragma omp simd
  for (size_t j = 0; j < powers; j++) {
    const double q = row->q[j];
    v[j] += (squared ? q * q : q) * r[j];
  }
  for (size_t i = 0; i < row->count; i++) {
    const double x = squared ? row->x[i] * row->x[i] : row->x[i];
    double *column = w + k * (size_t)row->class[i];
#pragma omp simd
    for (size_t j = 0; j < k; j++)
      column[j] += x * r[j];
  }
}
