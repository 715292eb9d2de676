/* softmax.h: the softmax of every row of a matrix, its logarithm, and the moments of the
 * scores under it: eq. (1) with g(z) = z. Rows under a latent map are exponentiated
 * where the map is known, in gp_pass_*.c and gp_block.c.
 *
 * All routines read z [n x k] column-major, in blocks of rows (gpc.h), and take max(z,
 * floor) in place of z; floor = -Inf leaves z as it is. A class with z = -Inf has
 * probability 0; every row needs at least one finite entry after flooring. Threads share
 * out the blocks; no result depends on their number. */
#ifndef GPC_SOFTMAX_H
#define GPC_SOFTMAX_H

#include "gpc.h"

/* p [k] = softmax(beta z) of one row, by the library's exp. */
void gpc_softmax_row(size_t k, double beta, const double *z, double *p);

/* p [n x k] = softmax(beta * max(z, floor)) by rows. p may be z itself. */
void gpc_softmax(size_t n, size_t k, const double *z, double beta, double floor,
                 int threads, double *p);

/* The same for the rows of one block, at most GPC_BLOCK_MAX: z and p point at the block's
 * first row and have leading dimensions ld_z and ld_p. */
void gpc_softmax_rows(size_t rows, size_t ld_z, size_t k, const double *z, double beta,
                      double floor, size_t ld_p, double *p);

/* out [n x k] = z - logsumexp(z) by rows. out may be z itself. */
void gpc_log_softmax(size_t n, size_t k, const double *z, int threads, double *out);

/* top [n]: row maxima of max(z, floor); mean [n]: row means of the same. */
void gpc_row_max_mean(size_t n, size_t k, const double *z, double floor, int threads,
                      double *top, double *mean);

/* below [n]: the largest of max(z, floor) in each row that is less than top [n], the
 * row's maximum; -Inf where all are equal. */
void gpc_row_below(size_t n, size_t k, const double *z, double floor, int threads,
                   const double *top, double *below);

/* With d = max(z, floor) - top and e = exp(beta d), for the rows of one block
 * s0 = sum e, s1 = sum e d, s2 = sum e d^2, s3 = sum e d^3, each [rows].
 * z points at the block's first row, n is the leading dimension. */
void gpc_softmax_moments(size_t rows, size_t n, size_t k, const double *z, double floor,
                         double beta, const double *top, double *s0, double *s1,
                         double *s2, double *s3);

#endif
