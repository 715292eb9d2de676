/* gp_visit.h: one point of the fit: a pass over the data there, and what the surrogate
 * needs of it. */
#ifndef GPC_GP_VISIT_H
#define GPC_GP_VISIT_H

#include "gp_ruler.h"
#include "gp_stats.h"
#include "gp_surrogate.h"

typedef struct {
  gpc_params at; /* S is that of eq. (14) once the visit is made */
  gpc_nodes *nodes;
  double elbo;            /* eq. (17) */
  double value;           /* its part without the log-likelihood */
  gpc_gp_stats stats;     /* but q, which `curvature` is made of */
  double *psi, *b, *mass; /* [g]; b is eq. (18), with the S that was used in the pass */
  double *curvature;      /* [g x g] */
  gpc_buffer stats_room, rooms[3], w_room;
} gpc_visit;

/* Rows seen before (gp_stream.h). */
typedef struct gpc_site gpc_site;

/* What visits share. */
typedef struct {
  const gpc_gp_data *data;
  const gpc_memory *memory;
  gpc_prior prior;
  gpc_cov cov;
  gpc_ruler *ruler;
  const gpc_site *site; /* or NULL; its knots are the last nodes */
  int slope_free;
  double slope_low, slope_high;
  gpc_buffer pass, sums, features[6], small[3];
} gpc_visitor;

/* One pass at v->at on v->nodes. With `plain` the uncertainty is left out of the gradient
 * (there is none yet). Sets everything else of v. */
gpc_status gpc_visit_make(gpc_visitor *visitor, int plain, gpc_visit *v);

/* Give back what a visit left, its parameters included, or what visits share (and get again
 * when they need it). */
void gpc_visit_give(const gpc_memory *memory, gpc_visit *v);
void gpc_visitor_give(gpc_visitor *visitor);

/* psi [n] at other places z [n]. GPC_NOT_PD if the covariance is not. */
gpc_status gpc_visit_psi(gpc_visitor *visitor, const gpc_visit *v, size_t n,
                         const double *z, double *psi);

/* The surrogate that a visit defines, without damping or secants. */
gpc_surrogate gpc_visit_surrogate(const gpc_visitor *visitor, const gpc_visit *v);

/* eq. (26a): the slope and m have the joint precision X'WX + diag(P0, 0), X = [A, z]
 * (flat prior of the slope): the slope's variance, and in cross [m] the change of m by a
 * unit of it, -H^-1 A'W z. 0 and zeros when the data say nothing of the slope. */
double gpc_visit_slope(gpc_visitor *visitor, const gpc_visit *v, double *cross);

/* How much of the bound interpolation on the nodes may have cost at v, in nats: the error
 * in the middle of the cells, weighted by what lies there. */
double gpc_visit_line_error(gpc_visitor *visitor, const gpc_visit *v);

#endif
