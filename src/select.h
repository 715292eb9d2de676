/* select.h: quantiles without sorting everything. */
#ifndef GPC_SELECT_H
#define GPC_SELECT_H

#include <stddef.h>

/* The quantile at `prob` of x [n], n >= 1, interpolated between order statistics as R's
 * default (type 7). x is reordered. */
double gpc_quantile(size_t n, double *x, double prob);

/* The same as (1 - h) x_(k) + h x_(k+1), two products and a sum whatever the values: if no
 * value of x is above that of y at the same place, the quantile of x is not above that of
 * y, rounding included. */
double gpc_quantile_ordered(size_t n, double *x, double prob);

#endif
