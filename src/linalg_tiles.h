/* linalg_tiles.h: products of larger matrices, tile by tile from packed copies, for
 * processors with fused products of vectors of four doubles, or of eight. Others are better
 * served by the loops of linalg_products.c and linalg_factor.c. */
#ifndef GPC_LINALG_TILES_H
#define GPC_LINALG_TILES_H

#include "gpc.h"

/* How many doubles are in a vector here: 8, 4, or 0 for a processor that is none of these. */
size_t gpc_tiles_width(void);

/* Is it one, and is the product large enough to be worth the copies? */
int gpc_tiles_pay(size_t n, size_t k, size_t m);

/* c [n x k] += alpha op(a) op(b), op(a) [n x m], op(b) [m x k]; ta, tb: a and b are stored
 * transposed. lda, ldb, ldc: from column to column, as stored. lower: what is above the
 * diagonal of c is left as it is. */
void gpc_tiles_add(int ta, int tb, int lower, size_t n, size_t k, size_t m, double alpha,
                   const double *a, size_t lda, const double *b, size_t ldb, double *c,
                   size_t ldc);

#endif
