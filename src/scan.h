/* scan.h: the first look at a score matrix: everything that checking, and the measures of
 * the most likely class, want to know of it, in one pass. */
#ifndef GPC_SCAN_H
#define GPC_SCAN_H

#include "gpc.h"

typedef struct {
  double lowest, highest; /* over all values; NaN ignored */
} gpc_scan_range;

/* For each row of x [n x k]: row_max [n], its first column row_arg [n] (1-based), the
 * minimum row_min [n] and the sum row_sum [n]. A row with a NaN, or with both infinities,
 * has a NaN sum; one with an infinity an infinite sum. `part` [2 * gpc_block_count(n, k)]
 * is work space. */
void gpc_scan_rows(size_t n, size_t k, const double *x, int threads, double *row_max,
                   int *row_arg, double *row_min, double *row_sum, double *part,
                   gpc_scan_range *range);

/* x clamped to [0, 1] with every row divided by its sum, into p [n x k]. Rows whose sum
 * is within `slack` of 1 are not divided, so that values typed by hand stay what they
 * are. */
void gpc_normalise_rows(size_t n, size_t k, const double *x, double slack, double *p);

#endif
