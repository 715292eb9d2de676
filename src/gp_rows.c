/* gp_rows.c: see gp_rows.h. */
#include "gp_rows.h"
#include "fastexp.h"

#include <math.h>
#include <string.h>

#define ROWS 8 /* rows read together: a cache line of each column */
#define GAP 4  /* stretches closer than this are joined */
#define MOMENTS GPC_STENCIL

size_t gpc_rows_times(size_t g, const double *psi) {
  double slope = 0.0, bend = 0.0, low = psi[0], high = psi[0];
  for (size_t j = 1; j < g; j++) {
    slope = fmax(slope, fabs(psi[j] - psi[j - 1]));
    low = fmin(low, psi[j]);
    high = fmax(high, psi[j]);
    if (j + 1 < g)
      bend = fmax(bend, fabs(psi[j + 1] - 2.0 * psi[j] + psi[j - 1]));
  }
  if (!(high - low < 340.0)) /* squares of exponentials are taken */
    return 0;
  /* The error of 12 points is about 5e-5 x^12 for exp(x t) and .6 x^12 for exp(-(x t)^2 /
   * 2). The squares exp(2 psi) are interpolated too: x = .36 and .13 there keep both
   * below 1e-10. */
  double times = fmax(slope / 0.18, sqrt(bend) / 0.09);
  return (size_t)times + 1;
}

/* Coordinates of the scores of `rows` rows, row by row: tau [rows][k]. */
static void coordinates(const gpc_gp_data *data, const gpc_line *line, size_t first,
                        size_t rows, double *tau) {
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

/* Moments of a row's scores about the middles of the fine cells they lie in:
 * moment[cell][j] += v^j. */
static void gather_moments(size_t k, const double *tau, double *moment) {
  const double shift = 0x1.8p52;
  for (size_t j = 0; j < k; j++) {
    double cell = (tau[j] - 0.5 + shift) - shift, v = tau[j] - cell - 0.5, y = v * v;
    double *at = moment + (size_t)cell * MOMENTS;
    double even = 1.0, odd = v;
    at[0] += even;
    at[1] += odd;
    for (size_t q = 2; q < MOMENTS; q += 2) {
      even *= y;
      odd *= y;
      at[q] += even;
      at[q + 1] += odd;
    }
  }
}

/* Coefficients of the 12 Lagrange polynomials in powers of v: coef[j][q]. */
static void lagrange_coefficients(double coef[MOMENTS][GPC_STENCIL]) {
  for (size_t q = 0; q < GPC_STENCIL; q++) {
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

/* Stretches of nodes that the occupied cells of a row use: (first node, length) pairs to
 * `stretch` unless NULL; returns their number, *values their total length. A cell is
 * occupied when its first moment, the count, is not zero. */
static size_t walk_stretches(size_t g, const double *moment, int *stretch,
                             size_t *values) {
  size_t count = 0, begin = 0, end = 0, total = 0;
  int open = 0;
  for (size_t cell = GPC_LEFT; cell <= g; cell++) {
    int last = cell == g;
    if (!last && moment[cell * MOMENTS] == 0.0)
      continue;
    size_t node = cell - GPC_LEFT;
    if (open && (last || node > end + GAP)) {
      if (stretch) {
        stretch[2 * count] = (int)begin;
        stretch[2 * count + 1] = (int)(end - begin);
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

size_t gpc_rows_work(size_t k, size_t fine_g, int threads) {
  return (size_t)threads * (ROWS * k + MOMENTS * fine_g + fine_g);
}

void gpc_rows_layout(const gpc_gp_data *data, const gpc_line *line, size_t times,
                     double *work, gpc_rows *rows, size_t *values, size_t *pairs) {
  rows->fine = gpc_line_refine(line, times);
  rows->times = times;
  rows->n = data->n;
  const size_t g = rows->fine.g, n = data->n, k = data->k;
  const size_t most_pairs = g / (GPC_STENCIL + GAP) + 1;
  *values = *pairs = 0;
  double *tau = work, *moment = tau + ROWS * k;
  const double shift = 0x1.8p52;
  for (size_t first = 0; first < n; first += ROWS) {
    size_t count = n - first < ROWS ? n - first : ROWS;
    if (k < g)
      coordinates(data, &rows->fine, first, count, tau);
    for (size_t i = 0; i < count; i++) {
      rows->value_at[first + i] = *values;
      rows->stretch_at[first + i] = *pairs;
      if (k >= g) {
        *values += g;
        *pairs += most_pairs;
        continue;
      }
      size_t length;
      memset(moment, 0, g * MOMENTS * sizeof(double));
      for (size_t j = 0; j < k; j++)
        moment[(size_t)((tau[i * k + j] - 0.5 + shift) - shift) * MOMENTS] = 1.0;
      *pairs += walk_stretches(g, moment, NULL, &length);
      *values += length;
    }
  }
}

/* Row i of a block: moments, then the nodes' weights from them. */
static void fill_row(size_t k, const double *tau, double coef[MOMENTS][GPC_STENCIL],
                     double *moment, double *dense, size_t row, gpc_rows *rows) {
  const size_t g = rows->fine.g;
  size_t length;
  gather_moments(k, tau, moment);
  int *stretch = rows->stretch + 2 * rows->stretch_at[row];
  size_t stretches = walk_stretches(g, moment, stretch, &length);
  rows->stretches[row] = (int)stretches;
  double *value = rows->value + rows->value_at[row];
  for (size_t s = 0; s < stretches; s++) {
    const size_t begin = (size_t)stretch[2 * s], size = (size_t)stretch[2 * s + 1];
    memset(dense, 0, size * sizeof(double));
    for (size_t node = 0; node + GPC_STENCIL <= size; node++) {
      double *m = moment + (begin + node + GPC_LEFT) * MOMENTS;
      if (m[0] == 0.0)
        continue;
      for (size_t j = 0; j < MOMENTS; j++) {
        const double mj = m[j];
        double *to = dense + node;
#pragma omp simd
        for (size_t q = 0; q < GPC_STENCIL; q++)
          to[q] += mj * coef[j][q];
      }
      memset(m, 0, MOMENTS * sizeof(double));
    }
    memcpy(value, dense, size * sizeof(double));
    value += size;
  }
}

void gpc_rows_fill(const gpc_gp_data *data, double *work, gpc_rows *rows) {
  const size_t g = rows->fine.g, n = data->n, k = data->k;
  const size_t blocks = (n + ROWS - 1) / ROWS, each = gpc_rows_work(k, g, 1);
  const int threads = data->threads;
  double coef[MOMENTS][GPC_STENCIL];
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
      coordinates(data, &rows->fine, first, count, tau);
      for (size_t i = 0; i < count; i++)
        fill_row(k, tau + i * k, coef, moment, dense, first + i, rows);
    }
  }
  /* a fine node on a coarse one goes to it alone; spread_node() knows */
  memset(rows->spread, 0, GPC_STENCIL * sizeof(double));
  for (size_t r = 1; r < rows->times; r++) {
    double at = GPC_LEFT + (double)r / (double)rows->times;
    int node;
    gpc_line_weights(1, &at, 1, &node, rows->spread + r * GPC_STENCIL);
  }
}

/* Per chunk: p [g], squares on the fine nodes and a row's masses [fine.g each]. */
static size_t chunk_doubles(const gpc_rows *rows, size_t g) {
  return g + 2 * rows->fine.g;
}

size_t gpc_gp_pass_rows_work(const gpc_rows *rows, size_t g) {
  return gpc_gp_chunks(rows->n, g) * (gpc_gp_stats_size(g) + chunk_doubles(rows, g)) +
         2 * rows->fine.g;
}

/* Spread x at fine node j over the coarse nodes. */
static inline void spread_node(const gpc_rows *rows, size_t coarse, size_t rest, double x,
                               double *p) {
  if (rest == 0) {
    p[coarse] += x;
    return;
  }
  const double *spread = rows->spread + rest * GPC_STENCIL;
  double *to = p + coarse - GPC_LEFT;
#pragma omp simd
  for (size_t q = 0; q < GPC_STENCIL; q++)
    to[q] += x * spread[q];
}

static void pass_row(const gpc_gp_data *data, const gpc_rows *rows,
                     const gpc_gp_tables *tables, size_t n, const double *e,
                     const double *er, double top, double *p, double *fine_squares,
                     double *mass, gpc_gp_stats *stats) {
  const int *stretch = rows->stretch + 2 * rows->stretch_at[n];
  const size_t stretches = (size_t)rows->stretches[n];
  const double *value = rows->value + rows->value_at[n];
  const double w = gpc_gp_weight(data, n);
  double sum = 0.0, squares = 0.0;
  size_t at = 0;
  for (size_t s = 0; s < stretches; s++) {
    const size_t first = (size_t)stretch[2 * s], length = (size_t)stretch[2 * s + 1];
    for (size_t i = 0; i < length; i++) {
      double r = value[at + i];
      sum += mass[at + i] = r * e[first + i];
      squares += r * er[first + i];
    }
    at += length;
  }
  const double inv = 1.0 / sum, w_inv2 = w * inv * inv;
  squares *= inv * inv;
  stats->loss -= w * (top + log(sum));
  size_t from = tables->g, to = 0;
  at = 0;
  for (size_t s = 0; s < stretches; s++) {
    const size_t first = (size_t)stretch[2 * s], length = (size_t)stretch[2 * s + 1];
    size_t coarse = first / rows->times, rest = first % rows->times;
    size_t begin = rows->times > 1 ? coarse - GPC_LEFT : coarse; /* first node touched */
    from = begin < from ? begin : from;
    for (size_t i = 0; i < length; i++) {
      fine_squares[first + i] += w_inv2 * value[at + i];
      spread_node(rows, coarse, rest, mass[at + i] * inv, p);
      if (++rest == rows->times) {
        rest = 0;
        coarse++;
      }
    }
    /* one past the last coarse node touched */
    size_t end = coarse + GPC_STENCIL - GPC_LEFT;
    to = end > to ? end : to;
    at += length;
  }
  to = to > tables->g ? tables->g : to;
  gpc_gp_stats_row(tables, w, p, from, to, squares, stats);
  memset(p + from, 0, (to - from) * sizeof(double));
}

static void pass_chunk(const gpc_gp_data *data, const gpc_rows *rows,
                       const gpc_gp_tables *tables, const double *e, const double *er,
                       double top, size_t begin, size_t end, double *stats_block,
                       double *work) {
  const size_t g = tables->g, fine = rows->fine.g;
  double *p = work, *fine_squares = p + g, *mass = fine_squares + fine;
  gpc_gp_stats stats;
  memset(work, 0, (g + fine) * sizeof(double));
  memset(stats_block, 0, gpc_gp_stats_size(g) * sizeof(double));
  gpc_gp_stats_carve(g, stats_block, &stats);
  stats.loss = stats.extra = 0.0;
  for (size_t n = begin; n < end; n++)
    if (gpc_gp_weight(data, n) > 0.0)
      pass_row(data, rows, tables, n, e, er, top, p, fine_squares, mass, &stats);
  /* sum_k w s_k^2 on the nodes, then v = p - that */
  for (size_t j = 0; j < fine; j++)
    if (fine_squares[j] != 0.0)
      spread_node(rows, j / rows->times, j % rows->times, -e[j] * e[j] * fine_squares[j],
                  stats.v);
  for (size_t i = 0; i < g; i++)
    stats.v[i] += stats.p[i];
  stats_block[0] = stats.loss;
  stats_block[1] = stats.extra;
}

void gpc_gp_pass_rows(const gpc_gp_data *data, gpc_mean mean, const gpc_rows *rows,
                      const gpc_gp_tables *tables, const double *psi_fine,
                      const double *r_fine, const double *fine_nodes, double labels,
                      double *work, gpc_gp_stats *stats) {
  const size_t n = data->n, g = tables->g, chunks = gpc_gp_chunks(n, g),
               fine = rows->fine.g;
  const size_t size = gpc_gp_stats_size(g), each = chunk_doubles(rows, g);
  const int threads = data->threads;
  double *e = work + chunks * size, *er = e + fine, *rest = er + fine, top = -INFINITY;
  for (size_t j = 0; j < fine; j++)
    top = psi_fine[j] > top ? psi_fine[j] : top;
  for (size_t j = 0; j < fine; j++) {
    e[j] =
        gpc_exp_nonpos(psi_fine[j] - top) * (mean == GPC_MEAN_LOG ? fine_nodes[j] : 1.0);
    er[j] = e[j] * e[j] * r_fine[j];
  }
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic, 1)
  for (size_t c = 0; c < chunks; c++)
    pass_chunk(data, rows, tables, e, er, top, n * c / chunks, n * (c + 1) / chunks,
               work + c * size, rest + c * each);
  gpc_gp_stats_sum(g, chunks, work, stats);
  stats->loss += labels;
}
