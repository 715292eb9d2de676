/* select.h: quantiles without sorting everything. */
#ifndef GPC_SELECT_H
#define GPC_SELECT_H

#include <stddef.h>

/* The quantile at `prob` of x [n], n >= 1, interpolated between order statistics as R's
 * default (type 7). x is reordered. */
double gpc_quantile(size_t n, double *x, double prob);

#endif
