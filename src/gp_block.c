/* gp_block.c: see gp_block.h. */
#include "gp_block.h"
#include "simd.h"

#include <math.h>

#define ROWS GPC_GP_ROWS
#define AHEAD 8 /* columns to ask for in advance */

void gpc_gp_block_take(size_t k, int variances, const gpc_memory *memory,
                       gpc_gp_block *block) {
  *block = (gpc_gp_block){
      .k = k,
      .e = gpc_get_doubles(memory, k * ROWS),
      .node = gpc_get_ints(memory, k * ROWS),
      .u = gpc_get_floats(memory, k * ROWS),
      .c = variances ? gpc_get_doubles(memory, k * ROWS) : NULL,
      .rho = variances ? gpc_get_doubles(memory, k * ROWS) : NULL,
  };
}

/* Columns are far apart in memory: ask for a later one while this one is worked on. */
static inline void fetch_ahead(const gpc_gp_data *data, size_t first, size_t rows,
                               size_t j) {
#ifdef __GNUC__
  if (j + AHEAD < data->k)
    for (size_t i = 0; i < rows; i += 8)
      __builtin_prefetch(data->z + first + i + (j + AHEAD) * data->n);
#else
  (void)data, (void)first, (void)rows, (void)j;
#endif
}

/* Scores of class j, floored and centred. */
GPC_WIDE static void read_scores(const gpc_gp_data *data, const gpc_gp_block *block,
                                 size_t j, double *z) {
  const size_t rows = block->rows, *row = block->row;
  const double *from = data->z + j * data->n, floor = data->floor;
  if (gpc_gp_block_whole(block)) {
    fetch_ahead(data, row[0], rows, j);
    from += row[0];
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      z[i] = from[i] < floor ? floor : from[i];
  } else {
    for (size_t i = 0; i < rows; i++)
      z[i] = from[row[i]] < floor ? floor : from[row[i]];
  }
  if (data->shift) {
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      z[i] -= block->shift[i];
  }
}

/* Places x [rows] of scores z [rows]: gpc_gp_place() for a vector. */
static inline void places(const gpc_gp_lookup *lookup, size_t rows, const double *z,
                          double *x) {
  const double low = lookup->low, inv = lookup->inv_step,
               last = gpc_gp_last_place(lookup);
#pragma omp simd
  for (size_t i = 0; i < rows; i++) {
    const double v = (z[i] - low) * inv;
    x[i] = v > 0.0 ? v : 0.0;
  }
#pragma omp simd
  for (size_t i = 0; i < rows; i++)
    x[i] = x[i] > last ? last : x[i];
}

GPC_WIDE static void read_class(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                                size_t j, gpc_gp_block *block) {
  const size_t rows = block->rows, at = j * ROWS;
  double x[ROWS], *z = block->z, *phi = block->e + at;
  float *u = block->u + at;
  int *node = block->node + at;
  read_scores(data, block, j, z);
  places(lookup, rows, z, x);
  for (size_t i = 0; i < rows; i++) {
    const int in = (int)x[i];
    const double t = x[i] - (double)in;
    const double *cell = lookup->cell + 4 * in;
    phi[i] = cell[0] + t * (cell[1] + t * (cell[2] + t * cell[3])); /* a'm */
    node[i] = (int)((unsigned)in / GPC_CELLS_PER_NODE);
    u[i] = (float)((double)((unsigned)in % GPC_CELLS_PER_NODE) + t) *
           (1.0F / GPC_CELLS_PER_NODE);
  }
  for (size_t i = 0; i < rows && block->with_residual; i++) {
    const int in = (int)x[i];
    const double *var = lookup->cell_var + 4 * in, t = x[i] - (double)in;
    block->c[at + i] = var[0] + t * var[1];
    block->rho[at + i] = var[2] + t * var[3];
  }
  gpc_prior_add_mu(&lookup->prior, rows, z, phi); /* eq. (7) */
  double *top = block->top, *low = block->low, *high = block->high;
#pragma omp simd
  for (size_t i = 0; i < rows; i++)
    top[i] = phi[i] > top[i] ? phi[i] : top[i];
#pragma omp simd
  for (size_t i = 0; i < rows; i++) {
    low[i] = x[i] < low[i] ? x[i] : low[i];
    high[i] = x[i] > high[i] ? x[i] : high[i];
  }
}

void gpc_gp_block_read_some(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                            size_t rows, const size_t *row, int with_residual,
                            gpc_gp_block *block) {
  block->rows = rows;
  block->with_residual = with_residual;
  for (size_t i = 0; i < rows; i++) {
    block->row[i] = row[i];
    block->shift[i] = data->shift ? data->shift[row[i]] : 0.0;
    block->top[i] = block->high[i] = -INFINITY;
    block->low[i] = INFINITY;
  }
  for (size_t j = 0; j < data->k; j++)
    read_class(data, lookup, j, block);
}

void gpc_gp_block_read(const gpc_gp_data *data, const gpc_gp_lookup *lookup, size_t first,
                       size_t rows, int with_residual, gpc_gp_block *block) {
  size_t row[ROWS];
  for (size_t i = 0; i < rows; i++)
    row[i] = first + i;
  gpc_gp_block_read_some(data, lookup, rows, row, with_residual, block);
}

GPC_WIDE void
gpc_gp_block_sums(gpc_gp_block *block) { /* denominators of eq. (1), at phi */
  double sum[ROWS] = {0};
  for (size_t j = 0; j < block->k; j++)
    gpc_gp_block_exp(block, j, sum);
  for (size_t i = 0; i < block->rows; i++)
    block->inv[i] = 1.0 / sum[i];
}
