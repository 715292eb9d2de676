/* mono_mass.h: how much the likelihood knows of the map where, in few enough numbers to
 * be kept: v, the sums of w s (1 - s) on the nodes of a fit, in bins. */
#ifndef GPC_MONO_MASS_H
#define GPC_MONO_MASS_H

#include "gp_visit.h"

/* mass [bins + 2]: v of a visit in `bins` bins of equal width from low to high (of log z
 * with `logs`); first and last: what lies below and above. A node's v is spread evenly
 * between the middles of the cells beside it. */
void gpc_mono_mass(const gpc_visit *visit, int logs, double low, double high, size_t bins,
                   double *mass);

#endif
