/* gp_stats.c: see gp_stats.h. */
#include "gp_stats.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

size_t gpc_gp_chunks(size_t n, size_t g) {
  size_t chunks = n / 128 + 1, most = 4000000 / (g * g + 1); /* 32 MB of sums */
  most = most < 2 ? 2 : most > 16 ? 16 : most;
  return chunks > most ? most : chunks;
}

size_t gpc_gp_stats_size(size_t g) { return 2 + 3 * g + g * g; }

void gpc_gp_stats_carve(size_t g, double *block, gpc_gp_stats *stats) {
  stats->p = block + 2;
  stats->v = stats->p + g;
  stats->u = stats->v + g;
  stats->q = stats->u + g;
}

void gpc_gp_stats_sum(size_t g, size_t chunks, double *block, gpc_gp_stats *stats) {
  const size_t size = gpc_gp_stats_size(g);
  for (size_t c = 1; c < chunks; c++)
    for (size_t i = 0; i < size; i++)
      block[i] += block[c * size + i];
  stats->loss = block[0];
  stats->extra = block[1];
  memcpy(stats->p, block + 2, (size - 2) * sizeof(double));
}

/* What a row's uncertainty adds, and its multiplier u_n. */
static double row_extra(const gpc_gp_tables *tables, const double *p, size_t from,
                        size_t to, double squares, double *u) {
  double cbar = 0.0, quad = 0.0;
  for (size_t g = from; g < to; g++)
    cbar += p[g] * tables->c[g];
  if (tables->au) {
    double sum[64];
    for (size_t first = 0; first < tables->m; first += 64) {
      size_t count = tables->m - first < 64 ? tables->m - first : 64;
      memset(sum, 0, count * sizeof(double));
      for (size_t g = from; g < to; g++) {
        const double *au = tables->au + g * tables->m + first;
        const double pg = p[g];
        if (pg == 0.0)
          continue;
#pragma omp simd
        for (size_t i = 0; i < count; i++)
          sum[i] += pg * au[i];
      }
      for (size_t i = 0; i < count; i++)
        quad += sum[i] * sum[i];
    }
  }
  *u = quad + squares - 0.5 * cbar;
  return 0.5 * (quad + squares - cbar);
}

void gpc_gp_stats_row(const gpc_gp_tables *tables, double w, const double *p, size_t from,
                      size_t to, double squares, gpc_gp_stats *stats) {
  double u;
  stats->extra += w * row_extra(tables, p, from, to, squares, &u);
  const double wu = w * u;
#pragma omp simd
  for (size_t g = from; g < to; g++) {
    stats->p[g] += w * p[g];
    stats->u[g] += wu * p[g];
  }
  for (size_t j = from; j < to; j++) {
    double *column = stats->q + j * tables->g;
    const double wp = w * p[j];
    if (wp == 0.0)
      continue;
#pragma omp simd
    for (size_t i = j; i < to; i++)
      column[i] += wp * p[i];
  }
}

double gpc_gp_labels(const gpc_gp_data *data, gpc_mean mean, const gpc_line *line,
                     double *y) {
  double logs = 0.0, wts[GPC_STENCIL];
  memset(y, 0, line->g * sizeof(double));
  for (size_t i = 0; i < data->n; i++) {
    double w = gpc_gp_weight(data, i), tau;
    if (w == 0.0)
      continue;
    double z = gpc_gp_score(data, i, (size_t)data->label[i] - 1);
    int first;
    gpc_line_coordinates(line, 1, &z, &tau);
    gpc_line_weights(1, &tau, 1, &first, wts);
    for (size_t q = 0; q < GPC_STENCIL; q++)
      y[(size_t)first + q] += w * wts[q];
    if (mean == GPC_MEAN_LOG)
      logs += w * log(z);
  }
  return logs;
}

void gpc_gp_touched(const gpc_gp_data *data, const gpc_line *line, double *touched) {
  memset(touched, 0, line->g * sizeof(double));
  /* cells first: tau lies between the nodes at its cell and the next */
  for (size_t j = 0; j < data->k; j++)
    for (size_t i = 0; i < data->n; i++) {
      if (gpc_gp_weight(data, i) == 0.0)
        continue;
      double z = gpc_gp_score(data, i, j), tau;
      gpc_line_coordinates(line, 1, &z, &tau);
      touched[(size_t)tau] = 1.0;
    }
  const size_t before = GPC_LEFT + 1 + GPC_PAD, after = GPC_STENCIL - GPC_LEFT + GPC_PAD;
  for (size_t i = 0; i < line->g; i++) {
    if (touched[i] != 1.0)
      continue;
    size_t from = i > before ? i - before : 0, to = i + after;
    to = to < line->g ? to : line->g;
    for (size_t q = from; q < to; q++)
      if (touched[q] == 0.0)
        touched[q] = 2.0; /* reached, not a cell of its own */
  }
}

size_t gpc_gp_from_stats_work(size_t g, size_t m) {
  return 4 * g * m + g * g + 3 * g + 3 * m * m;
}

gpc_status gpc_gp_from_stats(const gpc_basis *basis, const gpc_gp_point *point,
                             const double *nodes, const double *a,
                             const gpc_gp_tables *tables, const double *y,
                             const gpc_gp_stats *stats, double *work, gpc_gp_grad *grad) {
  const size_t g = tables->g, m = tables->m;
  const int full = point->cov == GPC_COV_FULL;
  double *as = work, *qa = as + g * m, *ga = qa + g * m, *curv = ga + g * m;
  double *q = curv + g * m, *gpsi = q + g * g, *grho = gpsi + g, *spare = grho + g;
  double *kl_work = spare + g;
  gpc_gemm(0, 0, g, m, m, 1.0, a, point->q_cov, 0.0, as); /* rows (S a)' */
  memset(qa, 0, g * m * sizeof(double));
  if (full) {
    memcpy(q, stats->q, g * g * sizeof(double));
    gpc_symmetrise(g, q);
    gpc_gemm(0, 0, g, m, g, 1.0, q, a, 0.0, qa);
  }
  for (size_t i = 0; i < g; i++) {
    /* dF/dphi, F the data term: gp_stats.h and eq. (18) */
    gpsi[i] = y[i] - stats->p[i] - stats->u[i] - 0.5 * tables->c[i] * stats->p[i] +
              tables->r[i] * (stats->p[i] - stats->v[i]);
    grho[i] = -0.5 * stats->v[i];
  }
  for (size_t j = 0; j < m; j++)
    for (size_t i = 0; i < g; i++) {
      size_t at = i + g * j;
      /* the curvature's product with a: (diag(p) - q) a, or diag(v) a */
      curv[at] = full ? stats->p[i] * a[at] - qa[at] : stats->v[i] * a[at];
      if (full)
        gpsi[i] += qa[at] * as[at];
    }
  gpc_gemm(0, 0, g, m, m, -1.0, curv, point->q_cov, 0.0, ga); /* dF/da, without phi */
  gpc_gemm(1, 0, m, m, g, -0.5, a, curv, 0.0, grad->q_cov);
  gpc_gemm(1, 0, m, 1, g, 1.0, a, gpsi, 0.0, grad->q_mean);
  grad->slope = 0.0;
  for (size_t i = 0; i < g && point->mean == GPC_MEAN_LINEAR; i++)
    grad->slope += gpsi[i] * nodes[i];
  for (size_t j = 0; j < m; j++)
    for (size_t i = 0; i < g; i++)
      ga[i + g * j] += gpsi[i] * point->q_mean[j];
  gpc_basis_grad_zero(m, &grad->basis);
  gpc_basis_grad_add(basis, g, nodes, a, ga, grho, spare, &grad->basis);
  gpc_basis_grad_finish(basis, &grad->basis);
  grad->elbo = grad->data = stats->loss + stats->extra;
  return gpc_gp_subtract_kl(m, point, kl_work, grad);
}
