/* pack_scores.h: scores of rows that an object keeps (R/pack-rows.R), in one byte or two
 * each. All of them are logarithms of probabilities, or logits less the highest of their row. */
#ifndef GPC_PACK_SCORES_H
#define GPC_PACK_SCORES_H

#include "gpc.h"

#include <stddef.h>

/* What scores are taken as. */
typedef enum {
  GPC_STORED_AS_THEY_ARE,
  GPC_STORED_LOG,      /* their logarithms */
  GPC_STORED_LESS_HIGH /* less the highest of their row */
} gpc_stored;

/* The size of the largest of x [n x k] among those that are finite; 0 if there is none. */
double gpc_largest_score(size_t n, size_t k, const double *x, gpc_stored how);

/* code [n k]: x [n x k] row by row, in steps of log1p(-x / unit) to 254 of them, and 255 for
 * -Inf. */
void gpc_coarse_scores(size_t n, size_t k, const double *x, double unit, double step,
                       unsigned char *code);

/* code [n]: numbers x from -top to 0 by eleven bits of the fraction and five of the exponent
 * below that of `top`, a power of two, and -Inf by 65535; 32768 is left out (R/pack-rows.R). */
void gpc_short_scores(size_t n, const double *x, double top, int *code);

/* The median of -x among those x [n] that are below 0 and finite; NaN if there is none.
 * room [n]. */
double gpc_median_below(size_t n, const double *x, double *room);

#endif
