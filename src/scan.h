/* scan.h: the first look at a score matrix: everything that checking, and the measures of
 * the most likely class, want to know of it, in one pass. */
#ifndef GPC_SCAN_H
#define GPC_SCAN_H

#include "gpc.h"

typedef struct {
  double lowest, highest; /* over all values; NaN ignored */
  double off;             /* how far a row's sum is from 1 at most; NaN ignored */
  int odd;                /* whether a row's sum is not finite */
} gpc_scan_range;

/* For each row of x [n x k]: row_max [n], its first column row_arg [n] (1-based), the
 * minimum row_min [n] and the sum row_sum [n]. A row with a NaN, or with both infinities,
 * has a NaN sum; one with an infinity an infinite sum. row_max, row_min and row_sum may
 * be NULL. `part` [4 * gpc_block_count(n, k)] is work space. */
void gpc_scan_rows(size_t n, size_t k, const double *x, int threads, double *row_max,
                   int *row_arg, double *row_min, double *row_sum, double *part,
                   gpc_scan_range *range);

/* x clamped to [0, 1] with every row divided by its sum, into p [n x k]. Rows whose sum
 * is within `slack` of 1 are not divided, so that values typed by hand stay what they
 * are. */
void gpc_normalise_rows(size_t n, size_t k, const double *x, double slack, double *p);

/* x [n], the probability of the second of two classes (with `flip` of the first), clamped
 * to [0, 1], beside one minus it: p [n x 2]. */
void gpc_pair_probs(size_t n, const double *x, int flip, double *p);

/* ends := the lowest and highest of max(x2, least) - max(x1, least), n of each, at least one. */
void gpc_pair_range(size_t n, const double *x1, const double *x2, double least,
                    double *ends);

#endif
