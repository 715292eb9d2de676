/* isotonic.h: isotonic calibration (Zadrozny and Elkan, 2002) of one class: the
 * non-decreasing map that is nearest to the labels in weighted squares, by pooling
 * adjacent violators; tied scores are pooled first.
 *
 * The fit is a list of blocks, each with one value over a range of scores. A curve needs
 * the last score of each block (steps: GPC_CURVE_UPTO) or the first and the last (lines
 * between blocks: GPC_CURVE_LINEAR). */
#ifndef GPC_ISOTONIC_H
#define GPC_ISOTONIC_H

#include "ties.h"

/* Most points that a fit to n rows can have. Without weights the values are distinct
 * fractions whose denominators sum to n at most, so that there are O(n^(2/3)) of them. */
size_t gpc_isotonic_points(size_t n, int weighted);

/* Bytes of work space, aligned as for a double. */
size_t gpc_isotonic_work(size_t n, int weighted);

/* Fits and writes the points x, y [gpc_isotonic_points()]. Returns their number, at least
 * 1 unless no row counts. */
size_t gpc_isotonic_fit(const gpc_one *one, int linear, double *x, double *y, void *work);

#endif
