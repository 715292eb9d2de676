/* gp_sparse.c: see gp_sparse.h. */
#include "gp_sparse.h"
#include "simd.h"

#include <math.h>
#include <string.h>

#define ROWS 8 /* rows read together: a cache line of each column */
#define GAP 4  /* runs closer than this are joined */
#define MOMENTS GPC_STENCIL

/* Coordinates of the scores of `rows` rows, row by row: tau [rows][k]. */
GPC_WIDE static void coordinates(const gpc_gp_data *data, const gpc_line *line,
                                 size_t first, size_t rows, double *tau) {
  const size_t n = data->n, k = data->k;
  const double floor = data->floor;
  double shift[ROWS] = {0};
  if (data->shift)
    memcpy(shift, data->shift + first, rows * sizeof(double));
  for (size_t j = 0; j < k; j++) {
    const double *z = data->z + first + j * n;
    for (size_t i = 0; i < rows; i++) {
      double v = z[i] < floor ? floor : z[i];
      tau[i * k + j] = v - shift[i];
    }
  }
  gpc_line_coordinates(line, rows * k, tau, tau);
}

#define SOME 64 /* scores worked on at a time */

/* Moments of a row's scores about the middles of the fine cells they lie in:
 * moment[cell][j] += v^j. The first four powers are written for some scores before they
 * are read: loading four doubles that have just been stored one by one would wait. */
GPC_WIDE static void gather_moments(size_t k, const double *tau, double *moment) {
  double power[SOME][4];
  int cell[SOME];
  for (size_t first = 0; first < k; first += SOME) {
    const size_t count = k - first < SOME ? k - first : SOME;
    for (size_t j = 0; j < count; j++) {
      const double at = gpc_line_cell(tau[first + j]), v = tau[first + j] - at - 0.5;
      cell[j] = (int)at;
      power[j][0] = 1.0;
      power[j][1] = v;
      power[j][2] = v * v;
      power[j][3] = v * v * v;
    }
    for (size_t j = 0; j < count; j++) {
      double *to = moment + (size_t)cell[j] * MOMENTS;
      const double *p = power[j], v4 = p[2] * p[2], v8 = v4 * v4;
      for (size_t i = 0; i < 4; i++) {
        to[i] += p[i];
        to[i + 4] += p[i] * v4;
        to[i + 8] += p[i] * v8;
      }
    }
  }
}

#define HALF (GPC_STENCIL / 2)

/* Coefficients of the first 6 of the 12 Lagrange polynomials in powers of v: coef[j][q].
 * The nodes lie evenly about v = 0, so that polynomial 11 - q is polynomial q of -v. */
static void lagrange_coefficients(double coef[MOMENTS][HALF]) {
  for (size_t q = 0; q < HALF; q++) {
    double poly[MOMENTS] = {1.0}, at = (double)q - 5.5, below = 1.0;
    size_t degree = 0;
    for (size_t i = 0; i < GPC_STENCIL; i++) {
      if (i == q)
        continue;
      double root = (double)i - 5.5;
      below *= at - root;
      degree++;
      for (size_t j = degree; j > 0; j--)
        poly[j] = poly[j - 1] - root * poly[j];
      poly[0] *= -root;
    }
    for (size_t j = 0; j < MOMENTS; j++)
      coef[j][q] = poly[j] / below;
  }
}

/* to [12] += what the scores of one cell, with these moments, give to the nodes around:
 * even and odd powers apart. */
static inline void add_cell(const double *moment, double coef[MOMENTS][HALF],
                            double *to) {
  double even[HALF] = {0}, odd[HALF] = {0};
  for (size_t j = 0; j < MOMENTS; j += 2) {
    const double m0 = moment[j], m1 = moment[j + 1];
#pragma omp simd
    for (size_t q = 0; q < HALF; q++) {
      even[q] += m0 * coef[j][q];
      odd[q] += m1 * coef[j + 1][q];
    }
  }
  for (size_t q = 0; q < HALF; q++) {
    to[q] += even[q] + odd[q];
    to[GPC_STENCIL - 1 - q] += even[q] - odd[q];
  }
}

/* Runs of nodes that the occupied cells of a row use: (first node, length) pairs to
 * `run` unless NULL; returns their number, *values their total length. A cell is
 * occupied when its first moment, the count, is not zero. */
static size_t walk_runs(size_t g, const double *moment, int *run, size_t *values) {
  size_t count = 0, begin = 0, end = 0, total = 0;
  int open = 0;
  for (size_t cell = GPC_LEFT; cell <= g; cell++) {
    int last = cell == g;
    if (!last && moment[cell * MOMENTS] == 0.0)
      continue;
    size_t node = cell - GPC_LEFT;
    if (open && (last || node > end + GAP)) {
      if (run) {
        run[2 * count] = (int)begin;
        run[2 * count + 1] = (int)(end - begin);
      }
      total += end - begin;
      count++;
      open = 0;
    }
    if (last)
      break;
    if (!open) {
      begin = node;
      open = 1;
    }
    end = node + GPC_STENCIL;
  }
  *values = total;
  return count;
}

/* Work space of one thread. */
static size_t fill_work(size_t k, size_t g) { return ROWS * k + MOMENTS * g + g; }

/* Where each row's values and runs begin: exactly when rows have fewer scores than there
 * are nodes, otherwise with room for all nodes. *values and *run_count: how many in all.
 */
static void lay_out(const gpc_gp_data *data, double *work, gpc_sparse_rows *rows,
                    size_t *values, size_t *run_count) {
  const size_t g = rows->line.g, n = data->n, k = data->k;
  const size_t most_runs = g / (GPC_STENCIL + GAP) + 1;
  double *tau = work, *moment = tau + ROWS * k;
  *values = *run_count = 0;
  for (size_t first = 0; first < n; first += ROWS) {
    size_t count = n - first < ROWS ? n - first : ROWS;
    if (k < g)
      coordinates(data, &rows->line, first, count, tau);
    for (size_t i = 0; i < count; i++) {
      rows->value_at[first + i] = *values;
      rows->run_at[first + i] = *run_count;
      if (k >= g) {
        *values += g;
        *run_count += most_runs;
        continue;
      }
      size_t length;
      memset(moment, 0, g * MOMENTS * sizeof(double));
      for (size_t j = 0; j < k; j++)
        moment[(size_t)gpc_line_cell(tau[i * k + j]) * MOMENTS] = 1.0;
      *run_count += walk_runs(g, moment, NULL, &length);
      *values += length;
    }
  }
}

/* Row i of a block: moments, then the nodes' weights from them. */
GPC_WIDE static void fill_row(size_t k, const double *tau, double coef[MOMENTS][HALF],
                              double *moment, double *dense, size_t row,
                              gpc_sparse_rows *rows) {
  const size_t g = rows->line.g;
  size_t length;
  gather_moments(k, tau, moment);
  int *run = rows->run + 2 * rows->run_at[row];
  size_t runs = walk_runs(g, moment, run, &length);
  rows->runs[row] = (int)runs;
  double *value = rows->value + rows->value_at[row];
  for (size_t s = 0; s < runs; s++) {
    const size_t begin = (size_t)run[2 * s], size = (size_t)run[2 * s + 1];
    memset(dense, 0, size * sizeof(double));
    for (size_t node = 0; node + GPC_STENCIL <= size; node++) {
      double *m = moment + (begin + node + GPC_LEFT) * MOMENTS;
      if (m[0] == 0.0)
        continue;
      add_cell(m, coef, dense + node);
      memset(m, 0, MOMENTS * sizeof(double));
    }
    memcpy(value, dense, size * sizeof(double));
    value += size;
  }
}

static void fill(const gpc_gp_data *data, double *work, gpc_sparse_rows *rows) {
  const size_t g = rows->line.g, n = data->n, k = data->k;
  const size_t blocks = (n + ROWS - 1) / ROWS, each = fill_work(k, g);
  const int threads = data->threads;
  double coef[MOMENTS][HALF];
  lagrange_coefficients(coef);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int part = 0; part < threads; part++) {
    double *tau = work + (size_t)part * each, *moment = tau + ROWS * k;
    double *dense = moment + MOMENTS * g;
    memset(moment, 0, MOMENTS * g * sizeof(double));
    size_t from = blocks * (size_t)part / (size_t)threads;
    size_t to = blocks * (size_t)(part + 1) / (size_t)threads;
    for (size_t b = from; b < to; b++) {
      size_t first = b * ROWS, count = n - first < ROWS ? n - first : ROWS;
      coordinates(data, &rows->line, first, count, tau);
      for (size_t i = 0; i < count; i++)
        fill_row(k, tau + i * k, coef, moment, dense, first + i, rows);
    }
  }
}

void gpc_sparse_give(const gpc_memory *memory, gpc_sparse_rows *rows) {
  gpc_give(memory, rows->z);
  gpc_give(memory, rows->value_at);
  gpc_give(memory, rows->run_at);
  gpc_give(memory, rows->value);
  gpc_give(memory, rows->run);
  gpc_give(memory, rows->runs);
  gpc_give(memory, rows);
}

gpc_sparse_rows *gpc_sparse_make(const gpc_gp_data *data, const gpc_line *line,
                                 double most, const gpc_memory *memory) {
  gpc_sparse_rows *rows = memory->get(memory->self, sizeof *rows);
  double *work =
      gpc_get_doubles(memory, (size_t)data->threads * fill_work(data->k, line->g));
  double *z = gpc_get_doubles(memory, line->g);
  size_t values, run_count;
  rows->line = *line;
  rows->n = data->n;
  rows->value_at = gpc_get_sizes(memory, data->n);
  rows->run_at = gpc_get_sizes(memory, data->n);
  lay_out(data, work, rows, &values, &run_count);
  rows->values = (double)values;
  rows->z = z;
  rows->value = NULL;
  rows->run = rows->runs = NULL;
  if (rows->values > most) {
    gpc_give(memory, work);
    gpc_sparse_give(memory, rows);
    return NULL;
  }
  for (size_t i = 0; i < line->g; i++)
    z[i] = gpc_line_node(line, i);
  rows->value = gpc_get_doubles(memory, values);
  rows->run = gpc_get_ints(memory, 2 * run_count);
  rows->runs = gpc_get_ints(memory, data->n);
  fill(data, work, rows);
  gpc_give(memory, work);
  return rows;
}
