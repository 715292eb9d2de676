/* gp_wide_pack.h: effects of many classes as multiples of a unit, two bytes each. */
#ifndef GPC_GP_WIDE_PACK_H
#define GPC_GP_WIDE_PACK_H

#include "gpc.h"

/* code [(n + 1) / 2]: two numbers each, x / unit + 32767, the first of them below; 32768 is
 * left out, since with zeros below it would be R's NA, and 1 above it serves. Returns the
 * unit, by which the largest x is 32767 away; NAN, and zeros, if there is no largest. */
double gpc_wide_pack(size_t n, const double *x, int *code);

#endif
