/* linalg_kernels.h: the two inner loops of linalg_*.c. */
#ifndef GPC_LINALG_KERNELS_H
#define GPC_LINALG_KERNELS_H

#include "gpc.h"

/* Four columns of c += those of a times x [4 x 4], x[i][j] from column i of a to column j
 * of c: n rows, columns `ld` apart in both. */
void gpc_add_four(size_t n, size_t ld, const double *a, double x[4][4], double *c);

/* Inner products of four columns of a with two of b, each [m]: sum[i][j]. Eight sums, so
 * that additions need not wait for each other. */
void gpc_eight_products(size_t m, const double *const a[4], const double *const b[2],
                        double sum[4][2]);

#endif
