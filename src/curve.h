/* curve.h: maps from [0, 1] to [0, 1] given by points, and what looks values up in them.
 *
 * A map has m points (x, y), m >= 1, x ascending:
 *   GPC_CURVE_LINEAR  straight lines between the points, constant outside; y ascending;
 *   GPC_CURVE_UPTO    y[i] up to and with x[i], beyond x[i - 1]; y[m - 1] above all. A y
 *                     that is NaN leaves the score as it is (an empty bin). */
#ifndef GPC_CURVE_H
#define GPC_CURVE_H

#include "gpc.h"

typedef enum { GPC_CURVE_LINEAR, GPC_CURVE_UPTO } gpc_curve_kind;

typedef struct {
  gpc_curve_kind kind;
  size_t m;
  const double *x, *y; /* [m] */
} gpc_curve;

/* value [n] of the map at score [n]; the two may be the same array. */
void gpc_curve_apply(const gpc_curve *curve, size_t n, const double *score,
                     double *value);

#endif
