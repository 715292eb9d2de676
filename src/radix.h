/* radix.h: the order of doubles, in linear time. */
#ifndef GPC_RADIX_H
#define GPC_RADIX_H

#include "gpc.h"

/* Bytes of work space that gpc_radix_order() needs for n values. */
size_t gpc_radix_work(size_t n);

/* The stable ascending order of x [n], n <= INT_MAX, without NaN; 0 and -0 are equal.
 * order [n] receives row numbers from 0: x[order[0]] <= x[order[1]] <= ...
 * work: gpc_radix_work(n) bytes, aligned as for a double. */
void gpc_radix_order(size_t n, const double *x, int *order, void *work);

/* Ascending order of the keys [n] themselves, n < 2^32: quicker, since no rows go along.
 * other [n] and count [GPC_RADIX_COUNTS] are work space. Returns the one of key and other
 * that holds the sorted keys. */
#define GPC_RADIX_COUNTS (6 * 2048)
uint64_t *gpc_radix_keys(size_t n, uint64_t *key, uint64_t *other, uint32_t *count);

#endif
