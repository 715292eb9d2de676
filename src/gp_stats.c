/* gp_stats.c: see gp_stats.h. */
#include "gp_stats.h"
#include "linalg.h"
#include "linalg_kernels.h"
#include "simd.h"

#include <math.h>
#include <string.h>

size_t gpc_gp_chunks(size_t n, size_t g) {
  /* each has sums to be cleared and added up, some hundred kB: that has to be worth it */
  size_t chunks = n / 256 + 1, most = 4000000 / (g * g + 1); /* 32 MB of sums */
  most = most < 2 ? 2 : most > 16 ? 16 : most;
  return chunks > most ? most : chunks;
}

size_t gpc_gp_stats_size(size_t g) { return 2 + 3 * g + g * g; }

void gpc_gp_stats_carve(size_t g, double *block, gpc_gp_stats *stats) {
  stats->p = block + 2;
  stats->spread = stats->p + g;
  stats->excess = stats->spread + g;
  stats->q = stats->excess + g;
}

size_t gpc_gp_stats_blocks(size_t n, size_t g, int threads) {
  const size_t chunks = gpc_gp_chunks(n, g);
  return threads > 1 || chunks < 2 ? chunks : 2;
}

GPC_WIDE static void add_stats(size_t g, const double *other, double *block) {
  const size_t vectors = gpc_gp_stats_size(g) - g * g;
  for (size_t i = 0; i < vectors; i++)
    block[i] += other[i];
  for (size_t j = 0; j < g; j++) /* the lower triangle of q */
    for (size_t i = vectors + j * g + j; i < vectors + (j + 1) * g; i++)
      block[i] += other[i];
}

void gpc_gp_stats_gather(size_t n, size_t g, int threads, gpc_gp_chunk chunk,
                         const void *self, size_t each, double *block, double *work,
                         gpc_gp_stats *stats) {
  const size_t chunks = gpc_gp_chunks(n, g), size = gpc_gp_stats_size(g);
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(dynamic, 1)
  for (size_t c = 0; c < chunks; c++) {
    const size_t at = threads > 1 || c < 2 ? c : 1;
    chunk(self, n * c / chunks, n * (c + 1) / chunks, block + at * size,
          work + at * each);
    if (threads <= 1 && c > 0)
      add_stats(g, block + size, block);
  }
  for (size_t c = 1; c < chunks && threads > 1; c++)
    add_stats(g, block + c * size, block);
  stats->loss = block[0];
  stats->extra = block[1];
  memcpy(stats->p, block + 2, (size - 2) * sizeof(double));
}

#define FEATURES 64 /* summed at a time */

/* quad [GPC_BATCH] += abar'S abar = |sum_g p_g U'a_g|^2 of each row. */
static void row_quadratics(const gpc_gp_tables *tables, const gpc_gp_batch *batch,
                           size_t from, size_t to, double *quad) {
  const size_t g = tables->g, m = tables->m;
  double sum[GPC_BATCH * FEATURES];
  for (size_t first = 0; first < m; first += FEATURES) {
    const size_t count = m - first < FEATURES ? m - first : FEATURES;
    memset(sum, 0, sizeof sum);
    gpc_add_block(count, GPC_BATCH, to - from, 1.0, tables->au + from * m + first, m,
                  batch->p + from, 1, g, sum, count);
    for (size_t r = 0; r < GPC_BATCH; r++)
      quad[r] += gpc_dot(count, sum + r * count, sum + r * count);
  }
}

/* q += sum_r w_r p_r p_r' over the nodes [from, to), lower triangle. */
GPC_FUSED static void add_outer(const gpc_gp_batch *batch, size_t g, size_t from,
                                size_t to, double *q) {
  const double *p0 = batch->p, *p1 = p0 + g, *p2 = p1 + g, *p3 = p2 + g, *p4 = p3 + g,
               *p5 = p4 + g, *p6 = p5 + g, *p7 = p6 + g, *w = batch->w;
  for (size_t j = from; j < to; j++) {
    double *column = q + j * g;
    const double x0 = w[0] * p0[j], x1 = w[1] * p1[j], x2 = w[2] * p2[j],
                 x3 = w[3] * p3[j], x4 = w[4] * p4[j], x5 = w[5] * p5[j],
                 x6 = w[6] * p6[j], x7 = w[7] * p7[j];
    if (x0 == 0.0 && x1 == 0.0 && x2 == 0.0 && x3 == 0.0 && x4 == 0.0 && x5 == 0.0 &&
        x6 == 0.0 && x7 == 0.0)
      continue;
#pragma omp simd
    for (size_t i = j; i < to; i++)
      column[i] += (x0 * p0[i] + x1 * p1[i] + x2 * p2[i] + x3 * p3[i]) +
                   (x4 * p4[i] + x5 * p5[i] + x6 * p6[i] + x7 * p7[i]);
  }
}

GPC_WIDE void gpc_gp_batch_flush(const gpc_gp_tables *tables, gpc_gp_batch *batch,
                                 gpc_gp_stats *stats) {
  const size_t g = tables->g;
  size_t from = g, to = 0;
  double quad[GPC_BATCH] = {0};
  if (batch->count == 0)
    return;
  for (size_t r = 0; r < GPC_BATCH; r++) {
    if (r >= batch->count) { /* the batch is not full: nothing there */
      batch->w[r] = 0.0;
      continue;
    }
    from = batch->from[r] < from ? batch->from[r] : from;
    to = batch->to[r] > to ? batch->to[r] : to;
  }
  if (tables->au)
    row_quadratics(tables, batch, from, to, quad);
  for (size_t r = 0; r < batch->count; r++) {
    const double *p = batch->p + r * g, w = batch->w[r], squares = batch->squares[r];
    const size_t first = batch->from[r], count = batch->to[r] - first;
    const double cbar = gpc_dot(count, p + first, tables->c + first);
    stats->extra += 0.5 * w * (quad[r] + squares - cbar); /* eq. (12), (13) */
    const double wu = w * (quad[r] + squares - 0.5 * cbar);
#pragma omp simd
    for (size_t i = first; i < first + count; i++) {
      stats->p[i] += w * p[i];
      stats->excess[i] += wu * p[i];
    }
  }
  add_outer(batch, g, from, to, stats->q);
  for (size_t r = 0; r < batch->count; r++)
    memset(batch->p + r * g + batch->from[r], 0,
           (batch->to[r] - batch->from[r]) * sizeof(double));
  batch->count = 0;
}

void gpc_gp_batch_add(const gpc_gp_tables *tables, double w, size_t from, size_t to,
                      double squares, gpc_gp_batch *batch, gpc_gp_stats *stats) {
  const size_t r = batch->count++;
  batch->w[r] = w;
  batch->from[r] = from;
  batch->to[r] = to;
  batch->squares[r] = squares;
  if (batch->count == GPC_BATCH)
    gpc_gp_batch_flush(tables, batch, stats);
}

void gpc_gp_curvature(size_t g, const gpc_gp_stats *stats, double *w) {
  for (size_t j = 0; j < g; j++) {
    for (size_t i = j; i < g; i++)
      w[i + g * j] = -stats->q[i + g * j];
    w[j + g * j] += stats->p[j];
  }
  gpc_symmetrise(g, w);
}

void gpc_gp_phi_gradient(const gpc_gp_tables *tables, const double *y,
                         const gpc_gp_stats *stats, const double *wa, const double *a,
                         const double *as, double *gphi) {
  const size_t g = tables->g, m = tables->m;
  for (size_t i = 0; i < g; i++) /* eq. (18) */
    gphi[i] = y[i] - stats->p[i] - stats->excess[i] - 0.5 * tables->c[i] * stats->p[i] +
              tables->r[i] * (stats->p[i] - stats->spread[i]);
  for (size_t j = 0; j < m && wa; j++) /* its last term, Q = diag(p) - W */
    for (size_t i = 0; i < g; i++) {
      const size_t at = i + g * j;
      gphi[i] += (stats->p[i] * a[at] - wa[at]) * as[at];
    }
}

size_t gpc_gp_from_stats_work(size_t g, size_t m) {
  return 3 * g * m + g * g + 3 * g + 2 * m * m + m;
}

gpc_status gpc_gp_from_stats(const gpc_basis *basis, const gpc_gp_point *point,
                             const gpc_nodes *nodes, const double *a,
                             const gpc_gp_tables *tables, const gpc_gp_stats *stats,
                             double *work, gpc_gp_grad *grad) {
  const size_t g = tables->g, m = tables->m;
  const int full = point->cov == GPC_COV_FULL;
  double *as = work, *va = as + g * m, *ga = va + g * m, *w = ga + g * m;
  double *gphi = w + g * g, *grho = gphi + g, *row = grho + g, *kl_work = row + g;
  gpc_gemm(0, 0, g, m, m, 1.0, a, point->q_cov, 0.0, as); /* rows (S a)' */
  if (full) { /* eq. (19): V A, V = W or diag(spread) */
    gpc_gp_curvature(g, stats, w);
    gpc_symm(g, m, w, a, va);
  } else {
    for (size_t j = 0; j < m; j++)
      for (size_t i = 0; i < g; i++)
        va[i + g * j] = stats->spread[i] * a[i + g * j];
  }
  gpc_gp_phi_gradient(tables, nodes->truth, stats, full ? va : NULL, a, as, gphi);
  for (size_t i = 0; i < g; i++)
    grho[i] = -0.5 * stats->spread[i];
  gpc_gemm(0, 0, g, m, m, -1.0, va, point->q_cov, 0.0, ga); /* eq. (19) */
  gpc_gemm(1, 0, m, m, g, -0.5, a, va, 0.0, grad->q_cov);
  gpc_gemm(1, 0, m, 1, g, 1.0, a, gphi, 0.0, grad->q_mean);
  grad->slope = gpc_prior_slope_grad(&point->prior, g, nodes->z, gphi);
  for (size_t j = 0; j < m; j++)
    for (size_t i = 0; i < g; i++)
      ga[i + g * j] += gphi[i] * point->q_mean[j];
  gpc_basis_grad_zero(m, &grad->basis);
  gpc_basis_grad_add(basis, g, nodes->z, a, ga, grho, row, &grad->basis);
  gpc_basis_grad_finish(basis, &grad->basis);
  grad->elbo = grad->data = stats->loss + stats->extra;
  return gpc_gp_subtract_kl(m, point, kl_work, grad);
}

size_t gpc_gp_pass_work(const gpc_gp_data *data, const gpc_sparse_rows *rows, size_t g) {
  return rows ? gpc_gp_pass_rows_work(rows, g, data->threads)
              : gpc_gp_pass_grid_work(data->n, data->k, g, data->threads);
}

void gpc_gp_pass(const gpc_gp_data *data, const gpc_prior *prior, const gpc_nodes *nodes,
                 const gpc_sparse_rows *rows, const gpc_gp_tables *tables, double *work,
                 gpc_gp_stats *stats) {
  if (rows)
    gpc_gp_pass_rows(data, prior, nodes, rows, tables, work, stats);
  else
    gpc_gp_pass_grid(data, prior, nodes, tables, work, stats);
}
