/* linalg_kernels.h: the inner loops of linalg_*.c and of a pass. */
#ifndef GPC_LINALG_KERNELS_H
#define GPC_LINALG_KERNELS_H

#include "gpc.h"

/* c [n x k] += alpha a b. Columns of a [n x m] lie lda apart, those of c ldc; element
 * (j, q) of b [m x k] is b[j row + q column]. c overlaps neither a nor b. */
void gpc_add_block(size_t n, size_t k, size_t m, double alpha, const double *a,
                   size_t lda, const double *b, size_t row, size_t column, double *c,
                   size_t ldc);

/* c [n x k] += alpha a'b, a [m x n] and b [m x k]; `lower`: only what is on and below the
 * diagonal (and some above it). */
void gpc_add_products(int lower, size_t n, size_t k, size_t m, double alpha,
                      const double *a, const double *b, double *c);

/* Inner products of four columns of a with two of b, each [m]: sum[i][j]. Eight sums, so
 * that additions need not wait for each other. */
void gpc_eight_products(size_t m, const double *const a[4], const double *const b[2],
                        double sum[4][2]);

#endif
