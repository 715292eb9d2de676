/* gp_block.h: a block of rows looked up on the tables of gp_lookup.h: the softmax of the
 * posterior mean, and where each score lies. */
#ifndef GPC_GP_BLOCK_H
#define GPC_GP_BLOCK_H

#include "fastexp.h"
#include "gp_lookup.h"
#include "gp_model.h"

#define GPC_GP_ROWS 64 /* rows worked on together: whole cache lines of every column */

typedef struct {
  size_t rows, k;
  size_t row[GPC_GP_ROWS]; /* which rows of the data, in ascending order */
  double *e;               /* [k][GPC_GP_ROWS] phi, then exp(phi - top) */
  int *node;               /* [k][GPC_GP_ROWS] the node below the score */
  float *u;                /* [k][GPC_GP_ROWS] its place between that node and the next */
  double *c, *rho;         /* [k][GPC_GP_ROWS] with with_residual only */
  int with_residual;
  /* of each row: the highest phi, the lowest and highest place on the table, and after
   * gpc_gp_block_sums() 1 / sum exp(phi - top) */
  double z[GPC_GP_ROWS];     /* scores of the class being read */
  double shift[GPC_GP_ROWS]; /* their row means, or 0 */
  double top[GPC_GP_ROWS], low[GPC_GP_ROWS], high[GPC_GP_ROWS], inv[GPC_GP_ROWS];
} gpc_gp_block;

/* Room for blocks of k classes; variances: that of c and rho as well. */
void gpc_gp_block_take(size_t k, int variances, const gpc_memory *memory,
                       gpc_gp_block *block);

/* phi and places of `rows` rows from `first`; with_residual: c and rho as well. */
void gpc_gp_block_read(const gpc_gp_data *data, const gpc_gp_lookup *lookup, size_t first,
                       size_t rows, int with_residual, gpc_gp_block *block);

/* The same for rows that need not stand together: row [rows], ascending. */
void gpc_gp_block_read_some(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                            size_t rows, const size_t *row, int with_residual,
                            gpc_gp_block *block);

/* Whether the rows of a block stand together. */
static inline int gpc_gp_block_whole(const gpc_gp_block *block) {
  return block->row[block->rows - 1] - block->row[0] == block->rows - 1;
}

/* e of class j := exp(phi - top), added to sum [rows]. */
static inline void gpc_gp_block_exp(gpc_gp_block *block, size_t j, double *sum) {
  double *e = block->e + j * GPC_GP_ROWS;
  const double *top = block->top;
  const size_t rows = block->rows;
#pragma omp simd
  for (size_t i = 0; i < rows; i++) {
    const double v = gpc_exp_nonpos(e[i] - top[i]);
    e[i] = v;
    sum[i] += v;
  }
}

/* The same for all classes, and inv. */
void gpc_gp_block_sums(gpc_gp_block *block);

#endif
