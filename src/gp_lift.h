/* gp_lift.h: growth beyond the scores that rows tell of, in draws.
 *
 * Where softmaxes saturate, rows say that a probability is near 1 and not how near. Beyond
 * the scores `low` and `high`, outside of which all rows together have little information
 * left, a map may grow faster than it did before, and no row would object. Every draw has a
 * growth of its own there, c >= 0, eq. (26b):
 *
 *   c G(z),   G(z) = scale ((z - high)_+^2 - (low - z)_+^2) / 2 */
#ifndef GPC_GP_LIFT_H
#define GPC_GP_LIFT_H

#include <stddef.h>

typedef struct {
  double low, high, scale;
  const double *growth; /* [pairs] c, of both draws of a pair; NULL: there is none */
} gpc_lift;

#define GPC_LARGEST_LIFT 300.0 /* beyond any probability, but exp() stays finite */

/* G(z) */
static inline double gpc_lift_at(const gpc_lift *lift, double z) {
  const double above = z - lift->high, below = lift->low - z;
  if (above > 0.0)
    return 0.5 * lift->scale * above * above;
  return below > 0.0 ? -0.5 * lift->scale * below * below : 0.0;
}

/* c G, within bounds */
static inline double gpc_lift_by(double growth, double at) {
  const double x = growth * at;
  return x > GPC_LARGEST_LIFT    ? GPC_LARGEST_LIFT
         : x < -GPC_LARGEST_LIFT ? -GPC_LARGEST_LIFT
                                 : x;
}

#endif
