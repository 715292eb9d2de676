/* gp_draws.c: softmaxes of drawn functions; see gp_predict.h. With v = m +- U x the two
 * functions of a pair are phi + d and phi - d, d(z) = x'U'a(z) + tilt z, so that one
 * table look-up and one exp serve both: exp(phi +- d) = s E or s / E. */
#include "fastexp.h"
#include "gp_predict.h"

#include <math.h>
#include <string.h>

#define ROWS 16

typedef struct {
  double *s, *sd, *u; /* [k][ROWS] exp(phi - top), sqrt(rho) (or sqrt(c)), place */
  double *up, *down;  /* [k][ROWS] the pair's exponentials */
  double *z;          /* [k][ROWS] */
  int *at;            /* [k][ROWS] */
} block_work;

static size_t block_doubles(size_t k) { return 7 * k * ROWS; }

size_t gpc_gp_draws_work(const gpc_gp_lookup *lookup, size_t k, size_t pairs,
                         int threads) {
  return pairs * lookup->nodes + (size_t)threads * block_doubles(k);
}

static void carve(size_t k, double *block, block_work *t) {
  t->s = block;
  t->sd = t->s + k * ROWS;
  t->u = t->sd + k * ROWS;
  t->up = t->u + k * ROWS;
  t->down = t->up + k * ROWS;
  t->z = t->down + k * ROWS;
  t->at = (int *)(void *)(t->z + k * ROWS);
}

static inline double clamp(double x, double high) {
  x = x < 0.0 ? 0.0 : x;
  return x > high ? high : x;
}

static void prepare_block(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                          size_t first, size_t rows, int independent, block_work *t) {
  const size_t k = data->k;
  const double most = (double)lookup->cells * (1.0 - 1e-12) - 1e-9;
  const double last = (double)(lookup->nodes - 1) * (1.0 - 1e-12) - 1e-9;
  double top[ROWS];
  for (size_t i = 0; i < rows; i++)
    top[i] = -INFINITY;
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < rows; i++) {
      double z = gpc_gp_score(data, first + i, j);
      double x = clamp((z - lookup->low) * lookup->inv_step, most);
      const double *cell = lookup->cell + 8 * (int)x;
      double u = x - (double)(int)x;
      double phi = cell[0] + u * (cell[1] + u * (cell[2] + u * cell[3])) +
                   (lookup->mean == GPC_MEAN_LOG ? log(z) : lookup->slope * z);
      double var = independent ? cell[4] + u * cell[5] : cell[6] + u * cell[7];
      double y = clamp((z - lookup->node_low) * lookup->node_inv, last);
      size_t at = j * ROWS + i;
      t->at[at] = (int)y;
      t->u[at] = y - (double)(int)y;
      t->sd[at] = sqrt(var);
      t->z[at] = z;
      t->s[at] = phi;
      top[i] = phi > top[i] ? phi : top[i];
    }
  for (size_t j = 0; j < k; j++)
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      t->s[j * ROWS + i] = gpc_exp_nonpos(t->s[j * ROWS + i] - top[i]);
}

/* up, down := s exp(+-d), and 1 / their sums. */
static void pair_sums(size_t k, size_t rows, const double *table, const double *e,
                      size_t e_row, size_t e_class, double tilt, block_work *t,
                      double *up_inv, double *down_inv) {
  double up_sum[ROWS] = {0}, down_sum[ROWS] = {0};
  for (size_t j = 0; j < k; j++) {
    double *up = t->up + j * ROWS, *down = t->down + j * ROWS;
    const double *s = t->s + j * ROWS, *sd = t->sd + j * ROWS, *u = t->u + j * ROWS;
    const int *at = t->at + j * ROWS;
    double d[ROWS];
    for (size_t i = 0; i < rows; i++) {
      const double *node = table + at[i];
      d[i] = node[0] + u[i] * (node[1] - node[0]);
    }
    if (e)
      for (size_t i = 0; i < rows; i++)
        d[i] += sd[i] * e[i * e_row + j * e_class];
    if (tilt != 0.0)
      for (size_t i = 0; i < rows; i++)
        d[i] += tilt * (t->z[j * ROWS + i] - t->z[i]); /* constants do not matter */
    for (size_t i = 0; i < rows; i++) /* beyond any sensible draw, but finite */
      d[i] = d[i] < -300.0 ? -300.0 : d[i] > 300.0 ? 300.0 : d[i];
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      double big = gpc_exp(d[i]);
      up[i] = s[i] * big;
      down[i] = s[i] / big;
      up_sum[i] += up[i];
      down_sum[i] += down[i];
    }
  }
  for (size_t i = 0; i < rows; i++) {
    up_inv[i] = 1.0 / up_sum[i];
    down_inv[i] = 1.0 / down_sum[i];
  }
}

static void draw_block(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                       size_t origin, size_t first, size_t rows, size_t count,
                       size_t pairs, const double *tables, const double *e,
                       const double *tilt, int independent, double each, block_work *t,
                       double *p, double *all) {
  const size_t k = data->k;
  double up_inv[ROWS], down_inv[ROWS];
  prepare_block(data, lookup, origin + first, rows, independent, t);
  for (size_t d = 0; d < pairs; d++) {
    /* e: [k x pairs] shared by the rows, or [count x k x pairs] */
    const double *noise = e ? e + (independent ? d * count * k + first : d * k) : NULL;
    pair_sums(k, rows, tables + d * lookup->nodes, noise, independent ? 1 : 0,
              independent ? count : 1, tilt ? tilt[d] : 0.0, t, up_inv, down_inv);
    for (size_t j = 0; j < k; j++) {
      const double *up = t->up + j * ROWS, *down = t->down + j * ROWS;
      if (all) {
        double *a = all + first + count * (j + k * 2 * d), *b = a + count * k;
        for (size_t i = 0; i < rows; i++) {
          a[i] = up[i] * up_inv[i];
          b[i] = down[i] * down_inv[i];
        }
      } else {
        double *to = p + first + j * count;
#pragma omp simd
        for (size_t i = 0; i < rows; i++)
          to[i] += each * (up[i] * up_inv[i] + down[i] * down_inv[i]);
      }
    }
  }
}

void gpc_gp_draws(const gpc_gp_data *data, const gpc_gp_lookup *lookup, size_t first,
                  size_t count, size_t pairs, const double *x, const double *e,
                  const double *tilt, int independent, double each, double *work,
                  double *p, double *all) {
  const size_t m = lookup->m, nodes = lookup->nodes, blocks = (count + ROWS - 1) / ROWS;
  const int threads = data->threads;
  double *tables = work, *rest = work + pairs * nodes;
  for (size_t d = 0; d < pairs; d++)
    for (size_t g = 0; g < nodes; g++) {
      double sum = 0.0;
      for (size_t q = 0; q < m && !independent; q++)
        sum += lookup->node[g * m + q] * x[q + d * m];
      tables[d * nodes + g] = sum;
    }
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int part = 0; part < threads; part++) {
    block_work t;
    carve(data->k, rest + (size_t)part * block_doubles(data->k), &t);
    size_t from = blocks * (size_t)part / (size_t)threads;
    size_t to = blocks * (size_t)(part + 1) / (size_t)threads;
    for (size_t b = from; b < to; b++) {
      size_t at = b * ROWS, rows = count - at < ROWS ? count - at : ROWS;
      draw_block(data, lookup, first, at, rows, count, pairs, tables, e, tilt,
                 independent, each, &t, p, all);
    }
  }
}
