/* gp_pass_grid.c: one pass over the data, every score interpolated on the line. One exp
 * per score; cost proportional to the number of scores, whatever their range. */
#include "fastexp.h"
#include "gp_stats.h"
#include "simd.h"

#include <math.h>
#include <string.h>

#define ROWS GPC_STENCIL_ROWS /* worked on together: the loops over them vectorise */

/* Work of one chunk: the stencils of ROWS rows, and what is read off the tables there. */
typedef struct {
  double *own_wts;     /* [ROWS][k][12] where they are not kept */
  double *phi, *e, *r; /* [k][ROWS] */
  gpc_gp_batch batch;
  int *own_at;       /* [ROWS][k], stored in a stretch of doubles */
  const double *wts; /* [ROWS][k][12] stencils of the present rows ... */
  const int *at;     /* ... [ROWS][k] and where they begin */
} chunk_work;

static size_t chunk_doubles(size_t k, size_t g) {
  return k * ROWS * (GPC_STENCIL + 4) + GPC_BATCH * g;
}

size_t gpc_gp_pass_grid_work(size_t n, size_t k, size_t g, int threads) {
  return gpc_gp_stats_blocks(n, g, threads) *
         (gpc_gp_stats_size(g) + chunk_doubles(k, g));
}

static void carve(size_t k, size_t g, double *block, chunk_work *work) {
  work->own_wts = block;
  work->phi = work->own_wts + k * ROWS * GPC_STENCIL;
  work->e = work->phi + k * ROWS;
  work->r = work->e + k * ROWS;
  work->own_at = (int *)(void *)(work->r + k * ROWS);
  work->batch.p = work->r + 2 * k * ROWS;
  work->batch.count = 0;
  memset(work->batch.p, 0, GPC_BATCH * g * sizeof(double));
}

static void set_stencils(const gpc_gp_data *data, const gpc_nodes *nodes, size_t first,
                         size_t rows, chunk_work *work) {
  if (nodes->stencil) {
    work->wts = nodes->stencil + first * data->k * GPC_STENCIL;
    work->at = nodes->stencil_at + first * data->k;
    return;
  }
  gpc_nodes_stencils(data, nodes, first, rows, work->own_wts, work->own_at);
  work->wts = work->own_wts;
  work->at = work->own_at;
}

/* sum_q wts_q f_q over a stencil. */
GPC_PART double weighted(const double *wts, const double *f) {
#ifdef GPC_FOURS
  const gpc_four *w = (const gpc_four *)wts, *x = (const gpc_four *)f;
  const gpc_four sum = w[0] * x[0] + w[1] * x[1] + w[2] * x[2];
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
#else
  double sum = 0.0;
  for (size_t q = 0; q < GPC_STENCIL; q++)
    sum += wts[q] * f[q];
  return sum;
#endif
}

/* eq. (23): psi and r of `rows` rows. */
GPC_FUSED static void tabulate(size_t rows, size_t k, const gpc_gp_tables *tables,
                               chunk_work *work) {
  const double *own = work->wts;
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < k; j++, own += GPC_STENCIL) {
      const int first = work->at[i * k + j];
      const double *psi = tables->psi + first, *rt = tables->r + first;
      work->phi[j * ROWS + i] = weighted(own, psi);
      work->r[j * ROWS + i] = weighted(own, rt);
    }
}

/* Softmax of the rows in place: e becomes the probabilities. lse [rows]. */
GPC_WIDE static void softmax_rows(const gpc_gp_data *data, const gpc_prior *prior,
                                  size_t first, size_t rows, chunk_work *work,
                                  double *lse) {
  const size_t k = data->k;
  double top[ROWS], sum[ROWS];
  for (size_t i = 0; i < rows; i++) {
    top[i] = -INFINITY;
    sum[i] = 0.0;
  }
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < rows; i++)
      top[i] = work->phi[j * ROWS + i] > top[i] ? work->phi[j * ROWS + i] : top[i];
  for (size_t j = 0; j < k; j++) {
    double *e = work->e + j * ROWS;
    const double *phi = work->phi + j * ROWS;
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      e[i] = gpc_exp_nonpos(phi[i] - top[i]);
    for (size_t i = 0; i < rows && !gpc_prior_has_slope(prior); i++)
      e[i] *= gpc_prior_factor(prior, gpc_gp_score(data, first + i, j));
    for (size_t i = 0; i < rows; i++)
      sum[i] += e[i];
  }
  for (size_t i = 0; i < rows; i++) {
    lse[i] = top[i] + log(sum[i]);
    sum[i] = 1.0 / sum[i];
  }
  for (size_t j = 0; j < k; j++)
    for (size_t i = 0; i < rows; i++)
      work->e[j * ROWS + i] *= sum[i];
}

/* Spread row i's probabilities over the nodes and add it to the sums. */
GPC_WIDE static void scatter_row(size_t k, size_t i, double w,
                                 const gpc_gp_tables *tables, chunk_work *work,
                                 gpc_gp_stats *stats) {
  size_t from = tables->g, to = 0;
  double squares = 0.0, *row = gpc_gp_batch_row(&work->batch, tables->g);
  for (size_t j = 0; j < k; j++) {
    size_t first = (size_t)work->at[i * k + j];
    double s = work->e[j * ROWS + i], spread = w * (s - s * s);
    if (s == 0.0)
      continue;
    squares += s * s * work->r[j * ROWS + i];
    from = first < from ? first : from;
    to = first + GPC_STENCIL > to ? first + GPC_STENCIL : to;
    const double *wts = work->wts + (i * k + j) * GPC_STENCIL;
    double *p = row + first, *v = stats->spread + first;
#pragma omp simd
    for (size_t q = 0; q < GPC_STENCIL; q++) {
      p[q] += s * wts[q];
      v[q] += spread * wts[q];
    }
  }
  gpc_gp_batch_add(tables, w, from, to, squares, &work->batch, stats);
}

typedef struct {
  const gpc_gp_data *data;
  const gpc_prior *prior;
  const gpc_nodes *nodes;
  const gpc_gp_tables *tables;
} pass;

static void pass_chunk(const void *self, size_t begin, size_t end, double *stats_block,
                       double *work_block) {
  const pass *t = self;
  const gpc_gp_data *data = t->data;
  const gpc_gp_tables *tables = t->tables;
  const size_t k = data->k;
  chunk_work work;
  gpc_gp_stats stats;
  carve(k, tables->g, work_block, &work);
  memset(stats_block, 0, gpc_gp_stats_size(tables->g) * sizeof(double));
  gpc_gp_stats_carve(tables->g, stats_block, &stats);
  stats.loss = stats.extra = 0.0;
  for (size_t first = begin; first < end; first += ROWS) {
    size_t rows = end - first < ROWS ? end - first : ROWS;
    double lse[ROWS];
    set_stencils(data, t->nodes, first, rows, &work);
    tabulate(rows, k, tables, &work);
    softmax_rows(data, t->prior, first, rows, &work, lse);
    for (size_t i = 0; i < rows; i++) {
      double w = gpc_gp_weight(data, first + i);
      if (w == 0.0)
        continue;
      size_t y = (size_t)data->label[first + i] - 1;
      stats.loss += w * (work.phi[y * ROWS + i] - lse[i]);
      scatter_row(k, i, w, tables, &work, &stats);
    }
  }
  gpc_gp_batch_flush(tables, &work.batch, &stats);
  stats_block[0] = stats.loss;
  stats_block[1] = stats.extra;
}

void gpc_gp_pass_grid(const gpc_gp_data *data, const gpc_prior *prior,
                      const gpc_nodes *nodes, const gpc_gp_tables *tables, double *work,
                      gpc_gp_stats *stats) {
  const pass self = {.data = data, .prior = prior, .nodes = nodes, .tables = tables};
  const size_t n = data->n, g = tables->g;
  gpc_gp_stats_gather(
      n, g, data->threads, pass_chunk, &self, chunk_doubles(data->k, g), work,
      work + gpc_gp_stats_blocks(n, g, data->threads) * gpc_gp_stats_size(g), stats);
  stats->loss += nodes->log_factors;
}
