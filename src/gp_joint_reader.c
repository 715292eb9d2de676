/* gp_joint_reader.c: see gp_joint_reader.h. */
#include "gp_joint_reader.h"
#include "fastexp.h"
#include "gp_joint_softmax.h"
#include "simd.h"

#include <string.h>

#define ROWS GPC_JOINT_READER_ROWS
#define MOST_SINGLE 1e30 /* numbers that products of single precision may have */
#define MOST_FORM                                                                        \
  1e6 /* forms whose differences, of order one, single precision still has */

static size_t triangle(size_t n) { return n * (n + 1) / 2; }

/* From the forms of a row to those of the next. */
static size_t form_step(const gpc_joint_reader *t) {
  return t->single.results ? gpc_single_matrix_step(&t->single)
                           : gpc_row_matrix_step(&t->square);
}

void gpc_joint_reader_get(const gpc_memory *memory, size_t shared, size_t forms,
                          double largest, gpc_joint_reader *t) {
  const size_t k = t->k = t->data->k, r = t->r = t->fit->features.r;
  const size_t step = t->step = gpc_joint_step(k);
  t->shared = shared;
  t->linear = gpc_row_matrix_get(memory, step * (shared + 1), r);
  for (size_t j = 0; j < k; j++)
    for (size_t q = 0; q < r; q++)
      *gpc_row_matrix_at(&t->linear, j, q) = t->fit->effect[q + r * j];
  const double reach = gpc_features_reach(&t->fit->features), most = reach * reach;
  const int single = forms && most < MOST_SINGLE && largest * most < MOST_FORM;
  t->square = gpc_row_matrix_get(memory, single ? 0 : forms, triangle(r));
  t->single = gpc_single_matrix_get(memory, single ? forms : 0, triangle(r));
  t->x = gpc_get_doubles(memory, ROWS * r);
  t->packed = gpc_get_doubles(memory, t->square.results ? ROWS * triangle(r) : 0);
  t->packed_single = gpc_get_floats(memory, single ? ROWS * triangle(r) : 0);
  t->x_single = gpc_get_floats(memory, single ? r : 0);
  t->line = gpc_get_doubles(memory, ROWS * gpc_row_matrix_step(&t->linear));
  t->forms = gpc_get_doubles(memory, ROWS * form_step(t));
  t->scores = gpc_get_doubles(memory, ROWS * step);
  t->work = gpc_get_doubles(memory, 2 * k);
  t->t = gpc_get_doubles(memory, step * (t->table.columns + 1));
  t->f = t->t + step * t->table.x;
  t->rho = t->f + step;
  t->s = t->t + step * t->table.columns;
  memset(t->s, 0, step * sizeof(double));
}

void gpc_joint_reader_form(const gpc_joint_reader *t, size_t form, const double *b,
                           size_t size) {
  for (size_t i = 0, term = 0; i < t->r; i++)
    for (size_t j = 0; j <= i; j++, term++) {
      const double by = i == j ? b[i + size * i] : b[i + size * j] + b[j + size * i];
      if (t->single.results)
        *gpc_single_matrix_at(&t->single, form, term) = (float)by;
      else
        *gpc_row_matrix_at(&t->square, form, term) = by;
    }
}

/* gpc_features_pack() in single precision. */
GPC_FUSED static void pack_single(size_t r, const double *restrict x,
                                  float *restrict single, float *restrict to) {
  for (size_t i = 0; i < r; i++)
    single[i] = (float)x[i];
  for (size_t i = 0; i < r; to += ++i)
#pragma omp simd
    for (size_t j = 0; j <= i; j++)
      to[j] = single[i] * single[j];
}

void gpc_joint_reader_block(gpc_joint_reader *t, size_t first, size_t rows) {
  const size_t k = t->k, r = t->r, packed = triangle(r);
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < rows; i++)
      t->scores[j + t->step * i] = gpc_gp_score(t->data, first + i, j);
  for (size_t i = 0; i < rows; i++) {
    memcpy(t->work, t->scores + t->step * i, k * sizeof(double));
    gpc_features_row(&t->fit->features, t->work, t->work + k, t->x + r * i);
    if (t->single.results)
      pack_single(r, t->x + r * i, t->x_single, t->packed_single + packed * i);
    else if (t->square.results)
      gpc_features_pack(r, t->x + r * i, t->packed + packed * i);
  }
  gpc_row_products(&t->linear, rows, t->x, t->line);
  if (t->single.results)
    gpc_single_products(&t->single, rows, t->packed_single, t->forms);
  else
    gpc_row_products(&t->square, rows, t->packed, t->forms);
}

/* s := softmax(f), which stays 0 beyond k. */
GPC_FUSED static void softmax(size_t k, const double *f, double *s) {
  double top = f[0], sum = 0.0;
#pragma omp simd reduction(max : top)
  for (size_t j = 0; j < k; j++)
    top = f[j] > top ? f[j] : top;
#pragma omp simd reduction(+ : sum)
  for (size_t j = 0; j < k; j++)
    sum += s[j] = gpc_exp_nonpos(f[j] - top);
  sum = 1.0 / sum;
#pragma omp simd
  for (size_t j = 0; j < k; j++)
    s[j] *= sum;
}

GPC_FUSED const double *gpc_joint_reader_row(gpc_joint_reader *t, size_t i) {
  const size_t k = t->k, step = gpc_joint_step(k);
  const double *line = t->line + gpc_row_matrix_step(&t->linear) * i;
  const double *z = t->scores + step * i;
  double *f = t->f, *rho = t->rho, *moves = t->t;
  gpc_joint_table_row(&t->table, k, z, moves);
#pragma omp simd
  for (size_t j = 0; j < step; j++) {
    f[j] += line[j];
    rho[j] = rho[j] > 0.0 ? rho[j] : 0.0;
  }
  gpc_prior_add_mu(&t->fit->process.prior, k, z, f);
#pragma omp simd
  for (size_t q = 0; q < step * t->shared; q++)
    moves[q] += line[step + q];
  softmax(k, f, t->s);
  return t->forms + form_step(t) * i;
}
