/* pava.h: isotonic regression by pooling adjacent violators.
 *
 * First gpc_pava_ties() makes one group of every distinct score (tied scores must get one
 * value), then gpc_pava_pool() merges groups into blocks of equal fitted value. Both keep
 * sums, not means: for 0/1 responses and whole weights every number is exact, and a
 * weight is the same as that many rows. */
#ifndef GPC_PAVA_H
#define GPC_PAVA_H

#include "gpc.h"

/* Groups of tied scores. order [n] sorts x [n] ascending (see radix.h); y [n] are the
 * responses; weights [n] may be NULL. For group g: score[g] its x, hits[g] the weighted
 * sum of y, weight[g] the sum of weights; each has room for n. Rows of weight zero are
 * left out. group_of [n], unless NULL, receives for sorted position i the group of row
 * order[i], or -1. Returns the number of groups. */
size_t gpc_pava_ties(size_t n, const double *x, const double *y, const double *weights,
                     const int *order, double *score, double *hits, double *weight,
                     int *group_of);

/* Non-decreasing weighted least squares over m groups in ascending order. Overwrites the
 * first entries of hits [m] and weight [m] with the sums of the blocks, in order, and
 * first [m] with the first group of each; the fitted value of block b is
 * hits[b] / weight[b], strictly increasing in b. Weights are positive. Returns the
 * number of blocks. */
size_t gpc_pava_pool(size_t m, double *hits, double *weight, int *first);

#endif
