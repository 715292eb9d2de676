/* mono_row.c: see mono_row.h. */
#include "mono_row.h"
#include "fastexp.h"

#include <math.h>

#define ROWS GPC_MONO_ROWS
#define FEW 32 /* classes, up to which the nodes of a row are sorted */

void gpc_mono_row_take(const gpc_mono_table *table, size_t k, size_t count, int wide,
                       const gpc_memory *memory, gpc_mono_row *row) {
  const size_t nodes = table->nodes, most = 2 * k < nodes + 1 ? 2 * k : nodes + 1;
  *row = (gpc_mono_row){
      .k = k,
      .nodes = nodes,
      .cell = gpc_get_ints(memory, ROWS * k),
      .u = gpc_get_floats(memory, ROWS * k),
      .off = gpc_get_doubles(memory, ROWS * k),
      .list = gpc_get_ints(memory, nodes + 1),
      .mark = memory->get(memory->self, nodes + 1),
      .mass = gpc_get_doubles(memory, nodes + 1),
      .at = memory->get(memory->self, (nodes + 1) * sizeof(double *)),
      .own = wide ? gpc_get_doubles(memory, most * count) : NULL,
      .inverse = gpc_get_doubles(memory, count),
      .p = gpc_get_doubles(memory, nodes + 1),
      .one = gpc_get_doubles(memory, count),
  };
  memset(row->off, 0, ROWS * k * sizeof(double));
  memset(row->mark, 0, nodes + 1);
  memset(row->mass, 0, (nodes + 1) * sizeof(double));
  memset(row->p, 0, (nodes + 1) * sizeof(double));
}

void gpc_mono_row_read(const gpc_gp_data *data, const gpc_mono_table *table, size_t first,
                       size_t rows, gpc_mono_row *row) {
  const size_t k = data->k;
  for (size_t i = 0; i < row->rows; i++) /* of the last time */
    if (row->some_off[i])
      memset(row->off + i * k, 0, k * sizeof(double));
  row->first = first;
  row->rows = rows;
  for (size_t i = 0; i < rows; i++) {
    row->some_off[i] = 0;
    row->most_off[i] = -INFINITY;
  }
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < rows; i++) {
      const gpc_mono_place at = gpc_mono_find(table, gpc_gp_score(data, first + i, j));
      row->cell[i * k + j] = at.cell;
      row->u[i * k + j] = (float)gpc_mono_bent(table, at); /* exact */
      row->most_off[i] = at.off > row->most_off[i] ? at.off : row->most_off[i];
      if (at.off != 0.0) {
        row->off[i * k + j] = at.off;
        row->some_off[i] = 1;
      }
    }
}

double gpc_mono_row_factor(const gpc_mono_row *row, size_t i, size_t j) {
  if (!row->some_off[i])
    return 1.0;
  /* relative to the highest of the row, so that its sum is at least that of one score */
  double x = row->off[i * row->k + j] - row->most_off[i];
  x = x > -800.0 ? x : -800.0;
  return gpc_exp_nonpos(rint(x * 0x1p40) * 0x1p-40); /* step 4 */
}

static void sort_nodes(gpc_mono_row *row) {
  int *list = row->list;
  for (size_t a = 1; a < row->touched; a++) {
    const int node = list[a];
    size_t b = a;
    for (; b > 0 && list[b - 1] > node; b--)
      list[b] = list[b - 1];
    list[b] = node;
  }
}

static inline void touch(gpc_mono_row *row, int node) {
  if (!row->mark[node]) {
    row->mark[node] = 1;
    row->list[row->touched++] = node;
  }
}

/* M, and the nodes it lies on. */
static void spread(size_t i, gpc_mono_row *row) {
  const size_t k = row->k;
  const int *cell = row->cell + i * k;
  const float *u = row->u + i * k;
  double *mass = row->mass;
  int low = (int)row->nodes, high = 0;
  row->touched = 0;
  for (size_t j = 0; j < k; j++) {
    const int c = cell[j];
    const double factor = row->some_off[i] ? gpc_mono_row_factor(row, i, j) : 1.0;
    const double above = factor * (double)u[j];
    mass[c] += factor - above;
    mass[c + 1] += above;
    if (k <= FEW) {
      touch(row, c);
      touch(row, c + 1);
    } else {
      row->mark[c] = row->mark[c + 1] = 1;
      low = c < low ? c : low;
      high = c > high ? c : high;
    }
  }
  if (k <= FEW) {
    sort_nodes(row);
    return;
  }
  for (int g = low; g <= high + 1; g++)
    if (row->mark[g])
      row->list[row->touched++] = g;
}

/* E of wide functions, relative to the highest node of the row. */
static void rescale(const gpc_mono_functions *f, gpc_mono_row *row) {
  const size_t count = f->count;
  const double *top = f->value + (size_t)row->list[row->touched - 1] * count;
  for (size_t t = 0; t < row->touched; t++) {
    const double *g = f->value + (size_t)row->list[t] * count;
    double *own = row->own + t * count;
#pragma omp simd
    for (size_t q = 0; q < count; q++)
      own[q] = gpc_exp_nonpos(g[q] - top[q]);
    for (size_t q = 0; q < count && t > 0; q++) /* as in mono_functions.c */
      own[q] = own[q] > own[q - count] ? own[q] : own[q - count];
    row->at[row->list[t]] = own;
  }
}

/* sum [count] += four nodes' masses times E. */
static void add_four(size_t count, const double *const *e, const double *m, double *sum) {
  const double *a = e[0], *b = e[1], *c = e[2], *d = e[3];
  const double ma = m[0], mb = m[1], mc = m[2], md = m[3];
#pragma omp simd
  for (size_t q = 0; q < count; q++)
    sum[q] += (ma * a[q] + mb * b[q]) + (mc * c[q] + md * d[q]);
}

void gpc_mono_row_sums(const gpc_mono_functions *f, size_t i, gpc_mono_row *row) {
  const size_t count = f->count;
  double *sum = row->inverse;
  spread(i, row);
  if (f->wide)
    rescale(f, row);
  else
    for (size_t t = 0; t < row->touched; t++)
      row->at[row->list[t]] = f->value + (size_t)row->list[t] * count;
  memset(sum, 0, count * sizeof(double));
  size_t t = 0;
  for (; t + 4 <= row->touched; t += 4) {
    const double *e[4];
    double m[4];
    for (size_t r = 0; r < 4; r++) {
      e[r] = row->at[row->list[t + r]];
      m[r] = row->mass[row->list[t + r]];
    }
    add_four(count, e, m, sum);
  }
  for (; t < row->touched; t++) {
    const double *e = row->at[row->list[t]], m = row->mass[row->list[t]];
#pragma omp simd
    for (size_t q = 0; q < count; q++)
      sum[q] += m * e[q];
  }
#pragma omp simd
  for (size_t q = 0; q < count; q++)
    sum[q] = 1.0 / sum[q];
}

/* a'b in a fixed order that vectorises. */
static double dot(size_t n, const double *a, const double *b) {
  double part[8] = {0.0};
  size_t q = 0;
  for (; q + 8 <= n; q += 8)
    for (size_t r = 0; r < 8; r++)
      part[r] += a[q + r] * b[q + r];
  double sum = ((part[0] + part[1]) + (part[2] + part[3])) +
               ((part[4] + part[5]) + (part[6] + part[7]));
  for (; q < n; q++)
    sum += a[q] * b[q];
  return sum;
}

double gpc_mono_row_average(size_t count, double each, gpc_mono_row *row) {
  const size_t half = count / 2;
  double apart = 0.0, before = 0.0;
  for (size_t t = 0; t < row->touched; t++) {
    const int node = row->list[t];
    const double *e = row->at[node];
    const double one = each * dot(half, e, row->inverse);
    const double two = each * dot(count - half, e + half, row->inverse + half);
    const double sum = one + two;
    apart = fmax(apart, 2.0 * fabs(one - two));
    before = row->p[node] = sum > before ? sum : before; /* step 1 */
  }
  return apart;
}

void gpc_mono_row_end(gpc_mono_row *row) {
  for (size_t t = 0; t < row->touched; t++) {
    row->mark[row->list[t]] = 0;
    row->mass[row->list[t]] = 0.0;
  }
}

void gpc_mono_row_draws(size_t count, size_t i, size_t j, gpc_mono_row *row) {
  const int c = row->cell[i * row->k + j];
  const double u = (double)row->u[i * row->k + j], *inverse = row->inverse;
  const double *below = row->at[c], *above = row->at[c + 1];
  const double factor = gpc_mono_row_factor(row, i, j);
  double *one = row->one;
#pragma omp simd
  for (size_t q = 0; q < count; q++)
    one[q] = gpc_mono_at_least(
        factor * gpc_mono_between(below[q] * inverse[q], above[q] * inverse[q], u));
}
