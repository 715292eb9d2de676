/* gp_pass_rows.c: one pass over sparse rows (gp_sparse.h): no exp per score, and a cost
 * that does not depend on the number of classes. */
#include "fastexp.h"
#include "gp_stats.h"
#include "simd.h"

#include <math.h>
#include <string.h>

/* What the pass knows on the fine nodes: E = factor exp(psi - top), and E^2 r. */
typedef struct {
  double *e, *er; /* [rows->line.g] */
  double top;
  double *spread; /* [fine_cells x 12] omega from a fine node to the 12 nodes around it */
} fine_tables;

/* Per chunk: a batch of rows on the nodes, squares on the fine nodes and a row's masses [line.g each]. */
static size_t chunk_doubles(const gpc_sparse_rows *rows, size_t g) {
  return GPC_BATCH * g + 2 * rows->line.g;
}

size_t gpc_gp_pass_rows_work(const gpc_sparse_rows *rows, size_t g, int threads) {
  return gpc_gp_stats_blocks(rows->n, g, threads) *
             (gpc_gp_stats_size(g) + chunk_doubles(rows, g)) +
         (2 + GPC_STENCIL) * rows->line.g;
}

/* Of fine node j: the node below it, and how many fine cells it lies beyond that. A node
 * that was cut off has a place beyond the end. */
static inline size_t place(const gpc_nodes *nodes, const gpc_sparse_rows *rows, size_t j,
                           size_t *beyond) {
  j += rows->line.skip;
  *beyond = j % nodes->fine_cells;
  return j / nodes->fine_cells - nodes->line.skip;
}

/* f at a fine node from its values on the nodes; 1 unless no score reaches there. */
static int interpolate(const gpc_nodes *nodes, const gpc_sparse_rows *rows,
                       const double *spread, size_t j, const double *f, const double *r,
                       double *f_at, double *r_at) {
  size_t beyond, node = place(nodes, rows, j, &beyond);
  if (node >= nodes->line.g)
    return 0;
  if (beyond == 0) {
    if (nodes->slot && nodes->slot[node] < 0)
      return 0;
    *f_at = f[gpc_nodes_at(nodes, node)];
    *r_at = r[gpc_nodes_at(nodes, node)];
    return 1;
  }
  if (node < GPC_LEFT || node - GPC_LEFT + GPC_STENCIL > nodes->line.g)
    return 0;
  const size_t first = node - GPC_LEFT;
  for (size_t q = 0; q < GPC_STENCIL && nodes->slot; q++)
    if (nodes->slot[first + q] < 0)
      return 0;
  const double *wts = spread + beyond * GPC_STENCIL;
  const double *fs = f + gpc_nodes_at(nodes, first), *rs = r + gpc_nodes_at(nodes, first);
  double sum = 0.0, rsum = 0.0;
  for (size_t q = 0; q < GPC_STENCIL; q++) {
    sum += wts[q] * fs[q];
    rsum += wts[q] * rs[q];
  }
  *f_at = sum;
  *r_at = rsum;
  return 1;
}

GPC_WIDE static void tabulate(const gpc_prior *prior, const gpc_nodes *nodes,
                              const gpc_sparse_rows *rows, const gpc_gp_tables *tables,
                              fine_tables *t) {
  const size_t fine = rows->line.g;
  memset(t->spread, 0, GPC_STENCIL * sizeof(double));
  for (size_t r = 1; r < nodes->fine_cells; r++) {
    double at = GPC_LEFT + (double)r / (double)nodes->fine_cells;
    int node;
    gpc_line_weights(1, &at, 1, &node, t->spread + r * GPC_STENCIL);
  }
  t->top = -INFINITY;
  for (size_t j = 0; j < fine; j++) {
    t->e[j] = -INFINITY;
    t->er[j] = 0.0;
    if (interpolate(nodes, rows, t->spread, j, tables->psi, tables->r, t->e + j,
                    t->er + j) &&
        t->e[j] > t->top)
      t->top = t->e[j];
  }
  for (size_t j = 0; j < fine; j++) {
    const double e = gpc_exp_nonpos(t->e[j] - t->top);
    t->e[j] = t->e[j] == -INFINITY ? 0.0 : e * gpc_prior_factor(prior, rows->z[j]);
    t->er[j] *= t->e[j] * t->e[j];
  }
}

/* Spread x at a fine node over the nodes. */
static inline void spread_node(const gpc_nodes *nodes, const double *spread, size_t node,
                               size_t beyond, double x, double *p) {
  if (beyond == 0) {
    p[gpc_nodes_at(nodes, node)] += x;
    return;
  }
  const double *wts = spread + beyond * GPC_STENCIL;
  double *to = p + gpc_nodes_at(nodes, node - GPC_LEFT);
#pragma omp simd
  for (size_t q = 0; q < GPC_STENCIL; q++)
    to[q] += x * wts[q];
}

/* Spread x [count] at the fine nodes from `beyond` on of one cell over its 12 nodes. */
static inline void spread_cell(const gpc_nodes *nodes, const double *spread, size_t node,
                               size_t beyond, size_t count, const double *x, double *p) {
  if (beyond == 0) {
    p[gpc_nodes_at(nodes, node)] += *x++;
    beyond++;
    count--;
  }
  if (count == 0)
    return;
  double sum[GPC_STENCIL] = {0};
  const double *wts = spread + beyond * GPC_STENCIL;
  double *to = p + gpc_nodes_at(nodes, node - GPC_LEFT);
  for (size_t i = 0; i < count; i++, wts += GPC_STENCIL) {
    const double xi = x[i];
#pragma omp simd
    for (size_t q = 0; q < GPC_STENCIL; q++)
      sum[q] += xi * wts[q];
  }
  for (size_t q = 0; q < GPC_STENCIL; q++)
    to[q] += sum[q];
}

/* Work of one chunk. */
typedef struct {
  gpc_gp_batch batch; /* rows' softmaxes on the nodes */
  double *squares;    /* [line.g] sum over rows of w R / D^2 */
  double *mass;       /* [line.g] a row's R E */
} chunk_work;

GPC_WIDE static void pass_row(const gpc_gp_data *data, const gpc_nodes *nodes,
                              const gpc_sparse_rows *rows, const gpc_gp_tables *tables,
                              const fine_tables *t, size_t n, chunk_work *work,
                              gpc_gp_stats *stats) {
  const int *run = rows->run + 2 * rows->run_at[n];
  const size_t runs = (size_t)rows->runs[n], fine_cells = nodes->fine_cells;
  const double *value = rows->value + rows->value_at[n];
  const double w = gpc_gp_weight(data, n);
  double sum = 0.0, squares = 0.0, *row = gpc_gp_batch_row(&work->batch, tables->g);
  size_t at = 0;
  for (size_t s = 0; s < runs; s++) { /* D_n = sum_g R_ng E_g */
    const double *e = t->e + run[2 * s], *er = t->er + run[2 * s];
    const size_t length = (size_t)run[2 * s + 1];
    const double *r = value + at;
    double *mass = work->mass + at;
#pragma omp simd reduction(+ : sum, squares)
    for (size_t i = 0; i < length; i++) {
      mass[i] = r[i] * e[i];
      sum += mass[i];
      squares += r[i] * er[i];
    }
    at += length;
  }
  const double inv = 1.0 / sum, w_inv2 = w * inv * inv;
  stats->loss -= w * (t->top + log(sum));
  size_t from = tables->g, to = 0;
  at = 0;
  for (size_t s = 0; s < runs; s++) {
    const size_t first = (size_t)run[2 * s], length = (size_t)run[2 * s + 1];
    size_t beyond, node = place(nodes, rows, first, &beyond);
    const size_t begin = gpc_nodes_at(nodes, fine_cells > 1 ? node - GPC_LEFT : node);
    from = begin < from ? begin : from;
    const double *r = value + at;
    double *mass = work->mass + at, *row_squares = work->squares + first;
#pragma omp simd
    for (size_t i = 0; i < length; i++) {
      row_squares[i] += w_inv2 * r[i];
      mass[i] *= inv;
    }
    for (size_t i = 0; i < length;) { /* cell by cell of the nodes */
      const size_t count =
          fine_cells - beyond < length - i ? fine_cells - beyond : length - i;
      spread_cell(nodes, t->spread, node, beyond, count, mass + i, row);
      i += count;
      beyond += count;
      if (beyond == fine_cells) {
        beyond = 0;
        node++;
      }
    }
    /* the last fine node lies at or behind `node` - 1: one past what it reaches */
    const size_t last = beyond == 0 ? node - 1 : node;
    const size_t end = fine_cells > 1 ? gpc_nodes_at(nodes, last - GPC_LEFT) + GPC_STENCIL
                                      : gpc_nodes_at(nodes, last) + 1;
    to = end > to ? end : to;
    at += length;
  }
  gpc_gp_batch_add(tables, w, from, to, squares * inv * inv, &work->batch, stats);
}

typedef struct {
  const gpc_gp_data *data;
  const gpc_nodes *nodes;
  const gpc_sparse_rows *rows;
  const gpc_gp_tables *tables;
  fine_tables fine;
} pass;

static void pass_chunk(const void *self, size_t begin, size_t end, double *stats_block,
                       double *block) {
  const pass *own = self;
  const gpc_gp_data *data = own->data;
  const gpc_nodes *nodes = own->nodes;
  const gpc_sparse_rows *rows = own->rows;
  const gpc_gp_tables *tables = own->tables;
  const fine_tables *t = &own->fine;
  const size_t g = tables->g, fine = rows->line.g;
  chunk_work work = {.batch = {.p = block},
                     .squares = block + GPC_BATCH * g,
                     .mass = block + GPC_BATCH * g + fine};
  gpc_gp_stats stats;
  memset(block, 0, (GPC_BATCH * g + fine) * sizeof(double));
  memset(stats_block, 0, gpc_gp_stats_size(g) * sizeof(double));
  gpc_gp_stats_carve(g, stats_block, &stats);
  stats.loss = stats.extra = 0.0;
  for (size_t n = begin; n < end; n++)
    if (gpc_gp_weight(data, n) > 0.0)
      pass_row(data, nodes, rows, tables, t, n, &work, &stats);
  gpc_gp_batch_flush(tables, &work.batch, &stats);
  /* sum_k w s_k^2 on the nodes, then v = p - that */
  for (size_t j = 0; j < fine; j++)
    if (work.squares[j] != 0.0) {
      size_t beyond, node = place(nodes, rows, j, &beyond);
      spread_node(nodes, t->spread, node, beyond, -t->e[j] * t->e[j] * work.squares[j],
                  stats.spread);
    }
  for (size_t i = 0; i < g; i++)
    stats.spread[i] += stats.p[i];
  stats_block[0] = stats.loss;
  stats_block[1] = stats.extra;
}

void gpc_gp_pass_rows(const gpc_gp_data *data, const gpc_prior *prior,
                      const gpc_nodes *nodes, const gpc_sparse_rows *rows,
                      const gpc_gp_tables *tables, double *work, gpc_gp_stats *stats) {
  const size_t n = data->n, g = tables->g, fine = rows->line.g;
  double *room = work + gpc_gp_stats_blocks(n, g, data->threads) * gpc_gp_stats_size(g);
  pass self = {.data = data,
               .nodes = nodes,
               .rows = rows,
               .tables = tables,
               .fine = {.e = room, .er = room + fine, .spread = room + 2 * fine}};
  tabulate(prior, nodes, rows, tables, &self.fine);
  gpc_gp_stats_gather(n, g, data->threads, pass_chunk, &self, chunk_doubles(rows, g),
                      work, room + (2 + GPC_STENCIL) * fine, stats);
  double labels = nodes->log_factors; /* sum_n w_n phi_{n,y} */
  for (size_t i = 0; i < g; i++)
    labels += nodes->truth[i] * tables->psi[i];
  stats->loss += labels;
}
