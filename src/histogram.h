/* histogram.h: histogram binning (Zadrozny and Elkan, 2001) of one class: the frequency
 * of the class among the scores of a bin. The result is a GPC_CURVE_UPTO with a point per
 * bin, its upper edge and its frequency; NaN for bins without rows. */
#ifndef GPC_HISTOGRAM_H
#define GPC_HISTOGRAM_H

#include "ties.h"

/* Bytes of work space, aligned as for a double. */
size_t gpc_histogram_work(size_t n, size_t bins, int mass);

/* Even bins over [0, 1], or with `mass` bins of about equal weight; the edges are those
 * of binning.h. x, y: room for `bins`. Returns the number of bins. */
size_t gpc_histogram_fit(const gpc_one *one, size_t bins, int mass, double *x, double *y,
                         void *work);

#endif
