/* gp_stats.h: all that one pass over the data tells the model, on the nodes of a line.
 *
 * Let p_n be the softmax of row n spread over the nodes (p_ng = sum_k s_nk
 * weight_g(z_nk)), r = rho for the full covariance and r = c for the diagonal one. A pass
 * gathers
 *
 *   loss = sum_n w_n log s_{n,y}
 *   p = sum_n w_n p_n                                [g]
 *   q = sum_n w_n p_n p_n'                           [g x g], lower triangle
 *   v_g = sum_{n,k} w_n s_nk (1 - s_nk) weight_g     [g]
 *   extra = 1/2 sum_n w_n (abar'S abar + sum_k s_k^2 r_k - sum_k s_k c_k)
 *   u = sum_n w_n u_n p_n,  u_n = abar'S abar + sum_k s_k^2 r_k - 1/2 sum_k s_k c_k   [g]
 *
 * (for the diagonal covariance without the abar terms). Everything else (the bound, its
 * gradient, the matrix H of eq. (15)) follows on the nodes, for any hyperparameters. */
#ifndef GPC_GP_STATS_H
#define GPC_GP_STATS_H

#include "gp_line.h"
#include "gp_model.h"

/* The functions of the model on the nodes that a pass needs. */
typedef struct {
  size_t g, m;
  const double *psi; /* [g] phi less the part log z of the log mean */
  const double *c;   /* [g] */
  const double *r;   /* [g] */
  const double
      *au; /* [m x g] U'a of each node, S = U U'; NULL for the diagonal covariance */
} gpc_gp_tables;

typedef struct {
  double loss, extra;
  double *p, *v, *u; /* [g] */
  double *q;         /* [g x g] */
} gpc_gp_stats;

/* Rows are handled in this many chunks, each with sums of its own that are added in
 * order: a number that depends on the data alone, so that threads do not change the
 * answer. */
size_t gpc_gp_chunks(size_t n, size_t g);

size_t gpc_gp_stats_size(size_t g);
void gpc_gp_stats_carve(size_t g, double *block, gpc_gp_stats *stats);

/* stats := the sum of the chunks' stats, laid out one after another in block. */
void gpc_gp_stats_sum(size_t g, size_t chunks, double *block, gpc_gp_stats *stats);

/* Add a row of weight w to the sums: its p over the nodes [from, to), and
 * squares = sum_k s_k^2 r_k. */
void gpc_gp_stats_row(const gpc_gp_tables *tables, double w, const double *p, size_t from,
                      size_t to, double squares, gpc_gp_stats *stats);

/* y [g]: the labels' weights, sum_n w_n weight_g(z_{n,y}); with them the log mean's own
 * part sum_n w_n log z_{n,y} (0 for the linear mean). */
double gpc_gp_labels(const gpc_gp_data *data, gpc_mean mean, const gpc_line *line,
                     double *y);

/* touched [g] := 1 for the nodes that the stencils of any score of weight reach (with
 * GPC_PAD to spare, for the rows' finer line), otherwise 0. */
void gpc_gp_touched(const gpc_gp_data *data, const gpc_line *line, double *touched);

/* Bound and gradient at a point from the stats gathered there with S = point->q_cov.
 * nodes [g] are the z of the nodes, a [g x m] and rho [g] the features there, tables
 * those of the pass. work: gpc_gp_from_stats_work(g, m). */
size_t gpc_gp_from_stats_work(size_t g, size_t m);
gpc_status gpc_gp_from_stats(const gpc_basis *basis, const gpc_gp_point *point,
                             const double *nodes, const double *a,
                             const gpc_gp_tables *tables, const double *y,
                             const gpc_gp_stats *stats, double *work, gpc_gp_grad *grad);

/* One pass, every score interpolated on the line (route "grid"). work:
 * gpc_gp_pass_grid_work(). */
size_t gpc_gp_pass_grid_work(size_t n, size_t k, size_t g);
void gpc_gp_pass_grid(const gpc_gp_data *data, gpc_mean mean, const gpc_line *line,
                      const gpc_gp_tables *tables, double *work, gpc_gp_stats *stats);

#endif
