/* gp_joint_site.h: rows that a fit with effects of the classes has seen before, without
 * the rows: gp_stream.h for (psi, e) together, eq. (O4):
 *
 *   data(psi, e) = loss + b'd - 1/2 d'H d - 1/2 tr(H S) - 1/2 rho'spread,
 *   d = (psi(knots) - psi0, e - e0)
 *
 * The tilted bound at the optimum of the earlier fit is replaced by its quadratic there. The
 * knots are those of the site of the process alone (gp_stream.h), the last nodes. The
 * scales of the features stay those of the first fit: e means nothing without them. */
#ifndef GPC_GP_JOINT_SITE_H
#define GPC_GP_JOINT_SITE_H

#include "gp_joint.h"

struct gpc_joint_site {
  size_t p, e;       /* p = 0: there is none */
  double rms, slope; /* scales of the features (class_features.h) */
  double low, high;  /* of the scores seen */
  double loss;
  const double *psi;        /* [p] */
  const double *effect;     /* [e] */
  const double *b, *spread; /* [p + e], [p] */
  const double *h;          /* [(p + e) x (p + e)] */
};

/* Adds the site to gc, ge, hcc, hce, hee and spread of a pass at these effects [e]; pass->psi is
 * looked at. Returns loss + b'd - 1/2 d'H d. */
double gpc_joint_site_add(const gpc_joint_site *site, size_t g, const double *effect,
                          gpc_joint_pass *pass);

/* The pass, an earlier site included, as a site with the knots z [p]. Memory is the
 * joint's. */
gpc_status gpc_joint_site_freeze(gpc_joint *joint, const gpc_joint_point *point,
                                 const gpc_joint_pass *pass, size_t p, const double *z,
                                 gpc_joint_site *site);

#endif
