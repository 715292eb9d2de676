/* mono_row.h: one row of scores on the nodes of a table: where its scores lie, and its
 * sums over them. See mono_predict.h for the equations and the proof. */
#ifndef GPC_MONO_ROW_H
#define GPC_MONO_ROW_H

#include "gp_model.h"
#include "mono_functions.h"

#define GPC_MONO_ROWS 8 /* read together: a cache line of every column */

/* Of one thread. */
typedef struct {
  size_t k, nodes, first, rows; /* rows first, ..., first + rows - 1 of the data */
  int *cell;                    /* [ROWS][k] */
  float *u;                     /* [ROWS][k]: 20 digits are enough */
  double *off; /* [ROWS][k] beyond the table; 0 if a row has none there */
  int some_off[GPC_MONO_ROWS];
  double most_off[GPC_MONO_ROWS];
  /* of the row at work: */
  size_t touched;
  int *list;         /* [nodes + 1] the nodes beside its scores, ascending */
  char *mark;        /* [nodes + 1] 1 for them */
  double *mass;      /* [nodes + 1] M */
  const double **at; /* [nodes + 1] E [count] of them */
  double *own;       /* [touched][count] where E is made for the row: wide functions */
  double *inverse;   /* [count] 1 / sum_j E(t_j) */
  double *p;         /* [nodes + 1] P */
  double *one;       /* [count] */
} gpc_mono_row;

void gpc_mono_row_take(const gpc_mono_table *table, size_t k, size_t count, int wide,
                       const gpc_memory *memory, gpc_mono_row *row);

/* Where the scores of up to GPC_MONO_ROWS rows lie. */
void gpc_mono_row_read(const gpc_gp_data *data, const gpc_mono_table *table, size_t first,
                       size_t rows, gpc_mono_row *row);

/* Row i of them: its nodes, masses, E and inverse sums, for all functions. */
void gpc_mono_row_sums(const gpc_mono_functions *f, size_t i, gpc_mono_row *row);

/* P := `each` times the sum over the functions, on the nodes touched. Returns the largest
 * difference there between twice the sums over either half of the functions. */
double gpc_mono_row_average(size_t count, double each, gpc_mono_row *row);

/* Leaves masses and marks clear for the next row. */
void gpc_mono_row_end(gpc_mono_row *row);

/* What class j of row i is multiplied by because of scores beyond the table. */
double gpc_mono_row_factor(const gpc_mono_row *row, size_t i, size_t j);

/* one [count] := the probability of class j of row i under every function. */
void gpc_mono_row_draws(size_t count, size_t i, size_t j, gpc_mono_row *row);

#define GPC_MONO_LEAST 0x1p-990 /* no probability is lower */

static inline double gpc_mono_at_least(double p) {
  return p > GPC_MONO_LEAST ? p : GPC_MONO_LEAST;
}

#endif
