/* gp_stats.h: all that one pass over the data tells the model, on the nodes of a line.
 *
 * Let p_n be the softmax of row n spread over the nodes (p_ng = sum_k s_nk
 * omega_g(z_nk)), r = rho for the full covariance and r = c for the diagonal one. A pass
 * gathers
 *
 *   loss = sum_n w_n log s_{n,y}
 *   p = sum_n w_n p_n                                [g]
 *   q = sum_n w_n p_n p_n'                           [g x g], lower triangle
 *   spread_g = sum_{n,k} w_n s_nk (1 - s_nk) omega_g [g]
 *   extra = 1/2 sum_n w_n (abar'S abar + sum_k s_k^2 r_k - sum_k s_k c_k)
 *   excess = sum_n w_n excess_n p_n                  [g]
 *       with excess_n = abar'S abar + sum_k s_k^2 r_k - 1/2 sum_k s_k c_k
 *
 * (for the diagonal covariance without the abar terms). Everything else (the bound, its
 * gradient, the matrix H of eq. (15)) follows on the nodes, for any hyperparameters. */
#ifndef GPC_GP_STATS_H
#define GPC_GP_STATS_H

#include "gp_nodes.h"
#include "gp_sparse.h"

/* The functions of the model on the nodes that a pass needs. */
typedef struct {
  size_t g, m;
  const double *psi; /* [g] phi less log factor(z) of the prior mean */
  const double *c;   /* [g] */
  const double *r;   /* [g] */
  const double *au;  /* [m x g] U'a of each node, S = U U'; NULL for the diagonal
                        covariance */
} gpc_gp_tables;

typedef struct {
  double loss, extra;
  double *p, *spread, *excess; /* [g] */
  double *q;                   /* [g x g] */
} gpc_gp_stats;

/* Rows are handled in this many chunks, each with sums of its own that are added in
 * order: a number that depends on the data alone, so that threads do not change the
 * answer. */
size_t gpc_gp_chunks(size_t n, size_t g);

size_t gpc_gp_stats_size(size_t g);
void gpc_gp_stats_carve(size_t g, double *block, gpc_gp_stats *stats);

/* So many chunks have room for their stats at a time: all of them, or with one thread two,
 * the sum so far and the next to be added. */
size_t gpc_gp_stats_blocks(size_t n, size_t g, int threads);

/* A chunk's stats := those of the rows [begin, end); work is the chunk's own. */
typedef void (*gpc_gp_chunk)(const void *self, size_t begin, size_t end, double *stats,
                             double *work);

/* stats := the sum of all chunks of n rows. block has room for the stats of
 * gpc_gp_stats_blocks() chunks, work for `each` doubles of as many. */
void gpc_gp_stats_gather(size_t n, size_t g, int threads, gpc_gp_chunk chunk,
                         const void *self, size_t each, double *block, double *work,
                         gpc_gp_stats *stats);

/* Rows are added to the sums in batches, so that tables and sums are read once for
 * several of them. */
#define GPC_BATCH 8

typedef struct {
  double *p; /* [GPC_BATCH x g] a row's p at p + i g, zero elsewhere */
  size_t count;
  size_t from[GPC_BATCH], to[GPC_BATCH]; /* the nodes [from, to) that a row uses */
  double w[GPC_BATCH];                   /* its weight */
  double squares[GPC_BATCH];             /* its sum_k s_k^2 r_k */
} gpc_gp_batch;

/* Where the next row's p goes: zeros. */
static inline double *gpc_gp_batch_row(const gpc_gp_batch *batch, size_t g) {
  return batch->p + batch->count * g;
}

/* The next row is there; a full batch is added to the sums. */
void gpc_gp_batch_add(const gpc_gp_tables *tables, double w, size_t from, size_t to,
                      double squares, gpc_gp_batch *batch, gpc_gp_stats *stats);

/* Add what is left in the batch. */
void gpc_gp_batch_flush(const gpc_gp_tables *tables, gpc_gp_batch *batch,
                        gpc_gp_stats *stats);

/* curvature [g x g], W := diag(p) - q, both triangles: the curvature of eq. (20). */
void gpc_gp_curvature(size_t g, const gpc_gp_stats *stats, double *curvature);

/* eq. (18): gphi [g] := the gradient of the data term in phi on the nodes, for the S with
 * which the stats were gathered. For the full covariance wa [g x m] = W A, a and
 * as [g x m] = A, A S; NULL for the diagonal one. */
void gpc_gp_phi_gradient(const gpc_gp_tables *tables, const double *truth,
                         const gpc_gp_stats *stats, const double *wa, const double *a,
                         const double *as, double *gphi);

/* Bound and gradient at a point from the stats gathered there with S = point->q_cov.
 * a [g x m] are the features on the nodes, tables those of the pass. */
size_t gpc_gp_from_stats_work(size_t g, size_t m);
gpc_status gpc_gp_from_stats(const gpc_basis *basis, const gpc_gp_point *point,
                             const gpc_nodes *nodes, const double *a,
                             const gpc_gp_tables *tables, const gpc_gp_stats *stats,
                             double *work, gpc_gp_grad *grad);

/* One pass over the data. With `rows`, the data as sparse rows on nodes->fine_cells cells to a
 * cell, by eq. (22); otherwise every score is interpolated, eq. (23). work:
 * gpc_gp_pass_work(). */
size_t gpc_gp_pass_work(const gpc_gp_data *data, const gpc_sparse_rows *rows, size_t g);
void gpc_gp_pass(const gpc_gp_data *data, const gpc_prior *prior, const gpc_nodes *nodes,
                 const gpc_sparse_rows *rows, const gpc_gp_tables *tables, double *work,
                 gpc_gp_stats *stats);

/* Its two kinds: gp_pass_grid.c, gp_pass_rows.c. */
size_t gpc_gp_pass_grid_work(size_t n, size_t k, size_t g, int threads);
void gpc_gp_pass_grid(const gpc_gp_data *data, const gpc_prior *prior,
                      const gpc_nodes *nodes, const gpc_gp_tables *tables, double *work,
                      gpc_gp_stats *stats);
size_t gpc_gp_pass_rows_work(const gpc_sparse_rows *rows, size_t g, int threads);
void gpc_gp_pass_rows(const gpc_gp_data *data, const gpc_prior *prior,
                      const gpc_nodes *nodes, const gpc_sparse_rows *rows,
                      const gpc_gp_tables *tables, double *work, gpc_gp_stats *stats);

#endif
