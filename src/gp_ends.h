/* gp_ends.h: up to which scores the rows tell of the map (gp_lift.h).
 *
 * The information of a row on the process at a score is w s (1 - s), s its softmax there:
 * next to nothing where that is near 0 or 1. */
#ifndef GPC_GP_ENDS_H
#define GPC_GP_ENDS_H

#include <stddef.h>

/* The scores below and above which the information v [g] at the nodes z [g] sums up to
 * that of a few rows. z increases over its first `line` nodes and over the others. *low >=
 * *high where there is none. */
void gpc_ends(size_t g, size_t line, const double *z, const double *v, double *low,
              double *high);

#endif
