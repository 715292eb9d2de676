/* gp_stream.h: data that a fit has seen before, without the data (Bui, Nguyen and Turner,
 * 2017, in our own terms): a frozen quadratic of the process at a few tens of knots,
 * eq. (O2):
 *
 *   data(psi) = loss + b'd - 1/2 d'W d,   d = psi(knots) - psi0
 *
 * beside the weights (spread) of the residual variance there. b, W and spread are those of eq. (20)
 * for maps that are linear between the knots, of which a change of the slope is one. In a later fit the knots are nodes like the others,
 * and the quadratic is added to what a pass over the new rows says. */
#ifndef GPC_GP_STREAM_H
#define GPC_GP_STREAM_H

#include "gp_prepare.h"
#include "gp_visit.h"

#define GPC_SITE_KNOTS 28 /* over the bulk of the scores, at first */
#define GPC_SITE_MOST 40  /* at all */
#define GPC_SITE_EFFECTS                                                                 \
  420 /* effects of the classes at the most (gp_joint_site.h): what is
                                kept grows with their square */

struct gpc_site {
  size_t p;
  double weight;              /* of the rows */
  double bulk_low, bulk_high; /* of their scores */
  double loss;
  const double *z, *psi, *b, *spread; /* [p]; z increasing */
  const double *curvature;            /* [p x p] */
};

/* What is to be known of all rows, the old ones and those of `range`. */
void gpc_site_range(const gpc_site *site, gpc_gp_range *range);

/* Knots [GPC_SITE_MOST] for scores in `range`, which gpc_site_range() has made that of all
 * rows: those of the old site (or NULL) and more where it does not reach. Returns their
 * number. */
size_t gpc_site_knots(const gpc_site *site, const gpc_gp_range *range, double *z);

/* Adds the site to a pass: the last p of the g nodes are its knots. psi [g]; b [g],
 * curvature [g x g] and spread [g] are added to; returns what to add to the log-likelihood. */
double gpc_site_add(const gpc_site *site, size_t g, const double *psi, double *b,
                    double *curvature, double *spread);

/* The knot before x, the share of the one behind it; beyond the ends the line through the
 * last two goes on. */
size_t gpc_site_find(size_t p, const double *z, double x, double *share);

/* Freezes the data term at a visit (the new rows and the old site): site->p and z are
 * given, psi, b, spread [p] and curvature [p x p] are filled. */
gpc_status gpc_site_freeze(gpc_visitor *visitor, const gpc_visit *at, size_t p,
                           const double *z, double *psi, double *b, double *spread,
                           double *curvature);

#endif
