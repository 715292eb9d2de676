/* linalg_rows.h: the same matrix times many rows, y_i = W x_i. The matrix is laid out once
 * for vectors of eight results. A row's sums are taken in the order of its terms, whatever
 * the rows beside it and however many there are, as predictions need it. */
#ifndef GPC_LINALG_ROWS_H
#define GPC_LINALG_ROWS_H

#include "gpc.h"
#include "memory.h"

#define GPC_ROWS_SIDE 8 /* results come in so many */

typedef struct {
  size_t results, terms;
  double *panel; /* [results / 8, rounded up][terms][8] */
} gpc_row_matrix;

/* Zeros. */
gpc_row_matrix gpc_row_matrix_get(const gpc_memory *memory, size_t results, size_t terms);

static inline double *gpc_row_matrix_at(const gpc_row_matrix *w, size_t result,
                                        size_t term) {
  return w->panel + result / GPC_ROWS_SIDE * GPC_ROWS_SIDE * w->terms +
         GPC_ROWS_SIDE * term + result % GPC_ROWS_SIDE;
}

/* How far apart the results of two rows lie: `results`, rounded up to eights. */
static inline size_t gpc_row_matrix_step(const gpc_row_matrix *w) {
  return (w->results + GPC_ROWS_SIDE - 1) / GPC_ROWS_SIDE * GPC_ROWS_SIDE;
}

/* y [step x rows] := W x, x [terms x rows]. */
void gpc_row_products(const gpc_row_matrix *w, size_t rows, const double *x, double *y);

/* The same in single precision, for sixteen results at a time, with sums of at most
 * GPC_SINGLE_TERMS products: a result is off by less than (GPC_SINGLE_TERMS + 4) 2^-24 times the
 * sum of the sizes of its terms. */
#define GPC_SINGLE_SIDE 16
#define GPC_SINGLE_TERMS 64

typedef struct {
  size_t results, terms;
  float *panel; /* [results / 16, rounded up][terms][16] */
} gpc_single_matrix;

/* Zeros. */
gpc_single_matrix gpc_single_matrix_get(const gpc_memory *memory, size_t results,
                                        size_t terms);

static inline float *gpc_single_matrix_at(const gpc_single_matrix *w, size_t result,
                                          size_t term) {
  return w->panel + result / GPC_SINGLE_SIDE * GPC_SINGLE_SIDE * w->terms +
         GPC_SINGLE_SIDE * term + result % GPC_SINGLE_SIDE;
}

/* How far apart the results of two rows lie. */
static inline size_t gpc_single_matrix_step(const gpc_single_matrix *w) {
  return (w->results + GPC_SINGLE_SIDE - 1) / GPC_SINGLE_SIDE * GPC_SINGLE_SIDE;
}

/* y [step x rows] := W x, x [terms x rows]. */
void gpc_single_products(const gpc_single_matrix *w, size_t rows, const float *x,
                         double *y);

/* c [n x k] := a b', a [n x m], n a multiple of four, b k rows of a matrix [along x m]: the rows
 * which [k], or the first ones (NULL). The same for small matrices that are made for a row. */
void gpc_small_product(size_t n, size_t k, size_t m, const double *a, const double *b,
                       size_t along, const size_t *which, double *c);

#endif
