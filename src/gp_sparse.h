/* gp_sparse.h: rows of many scores as sparse rows on a line, eq. (22).
 *
 * With R_ng = sum_k omega_g(z_nk), built once, the sum of any smooth function over a row
 * is sum_g R_ng F(node g): softmax denominators are R exp(phi), the spread of the softmax
 * over the nodes is R_ng exp(phi_g) / D_n. A pass then takes no exp per score and does
 * not depend on the number of classes. exp(phi) varies faster than the other functions,
 * so R lives on a line finer than that of the stats. A row is kept as runs of nodes with
 * their values. */
#ifndef GPC_GP_SPARSE_H
#define GPC_GP_SPARSE_H

#include "gp_line.h"
#include "gp_model.h"
#include "memory.h"

typedef struct {
  gpc_line line;
  size_t n;
  double *z;        /* [line.g] the nodes */
  size_t *value_at; /* [n] where a row's values begin */
  size_t *run_at;   /* [n] where its runs begin */
  int *runs;        /* [n] how many it has */
  int *run;         /* pairs: first node, length */
  double *value;
  double values; /* how many there are */
} gpc_sparse_rows;

/* The rows of data on a line; NULL where their values would be more than `most`. */
gpc_sparse_rows *gpc_sparse_make(const gpc_gp_data *data, const gpc_line *line,
                                 double most, const gpc_memory *memory);

void gpc_sparse_give(const gpc_memory *memory, gpc_sparse_rows *rows);

#endif
