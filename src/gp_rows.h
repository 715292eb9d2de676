/* gp_rows.h: rows of many scores compressed onto a line (route "rows").
 *
 * With R_ng = sum_k weight_g(z_nk), built once, the sum of any smooth function over a row
 * is sum_g R_ng F(node g): softmax denominators are R exp(phi), the spread of the softmax
 * over the nodes is R_ng exp(phi_g) / D_n. A pass then takes no exp per score and does
 * not depend on the number of classes.
 *
 * exp(phi) varies faster than the other functions, so R lives on a finer line, with
 * `times` cells to each cell of the line of the stats; a row's non-zero stretches are
 * kept one after another. */
#ifndef GPC_GP_ROWS_H
#define GPC_GP_ROWS_H

#include "gp_stats.h"

typedef struct {
  gpc_line fine;
  size_t times, n;
  size_t *value_at;   /* [n] where a row's values begin */
  size_t *stretch_at; /* [n] where its stretches begin */
  int *stretches;     /* [n] how many it has */
  int *stretch;       /* pairs: first node, length */
  double *value;
  double *spread; /* [times x 12] from a fine node to the 12 coarse ones around it */
} gpc_rows;

/* How many fine cells per cell are needed for exp(psi) to be interpolated to about 1e-11,
 * from psi [g] on the coarse nodes: its slope and its curvature per fine cell must be
 * small. 0 when psi ranges so widely that one offset cannot keep all exponentials normal.
 */
size_t gpc_rows_times(size_t g, const double *psi);

/* Step 1: the fine line, and where each row's values and stretches begin (value_at,
 * stretch_at given by the caller): exactly when rows have fewer scores than there are
 * nodes, otherwise with room for all nodes. *values and *pairs: how much to allocate.
 * work: gpc_rows_work(). */
void gpc_rows_layout(const gpc_gp_data *data, const gpc_line *line, size_t times,
                     double *work, gpc_rows *rows, size_t *values, size_t *pairs);

/* Step 2: fill the rest. work: gpc_rows_work() doubles for each thread. */
size_t gpc_rows_work(size_t k, size_t fine_g, int threads);
void gpc_rows_fill(const gpc_gp_data *data, double *work, gpc_rows *rows);

/* One pass: stats on the coarse line of `tables`. psi_fine and r_fine [fine.g] are psi
 * and r on the fine nodes, fine_nodes their z, labels = y'psi + the log mean's part.
 * work: gpc_gp_pass_rows_work(). */
size_t gpc_gp_pass_rows_work(const gpc_rows *rows, size_t g);
void gpc_gp_pass_rows(const gpc_gp_data *data, gpc_mean mean, const gpc_rows *rows,
                      const gpc_gp_tables *tables, const double *psi_fine,
                      const double *r_fine, const double *fine_nodes, double labels,
                      double *work, gpc_gp_stats *stats);

#endif
