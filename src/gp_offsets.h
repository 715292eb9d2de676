/* gp_offsets.h: offsets of many classes on top of a fitted process, which stays as it is.
 *
 *   f_nk = phi(z_nk) + b_k,   b_k ~ N(0, tau^2),   q(b_k) = N(mean_k, var_k)
 *
 * the posteriors of the classes independent of each other, and the process taken at its
 * mean, so that a pass costs no more than a few softmaxes however many classes there are.
 * The bound is the tilted one of tilt.h with C = diag(var), for which
 * D_k(a) = var_k (1 - 2 a_k) + sum_j a_j^2 var_j, and log tau has the hyperprior of
 * gp_joint.h. The means come from conjugate gradients. */
#ifndef GPC_GP_OFFSETS_H
#define GPC_GP_OFFSETS_H

#include "gp_visit.h"

/* Rows seen before, as a function of every offset with gradient g and curvature h at b,
 * g d - h (exp(d) - 1 - d) for d = b_now - b, eq. (O5). By a map that has risen since by the
 * share e, g loses e * cross, eq. (O5a). */
typedef struct {
  const double *b, *g, *h, *cross; /* [k] */
  const double *psi;               /* the map then, at the knots of the process's site */
} gpc_offsets_site;

typedef struct {
  const gpc_offsets_site *site; /* or NULL */
  double variance;              /* tau^2 held; NAN: estimated */
  double least_score; /* of the score test: with less there are no offsets; -INFINITY:
                         there are, whatever it says ... */
  double full_score;  /* ... and with less than this an estimated tau^2 counts in part */
  double tol;         /* nats */
  int max_passes;
  gpc_poll poll;
  void *poll_data;
} gpc_offsets_settings;

typedef struct {
  int kept;
  double *mean, *var;    /* [k] */
  double *at;            /* [k] the last b, kept or not */
  double *g, *h, *cross; /* [k] of all rows there ... */
  double *psi;           /* ... and the map: the next site, once they are frozen */
  float *phi;            /* of all rows, as gpc_offsets_pass has them, or NULL */
  double *pi;            /* the same */
  double tau, share; /* of the prior: tau^2 is this share of the estimate */
  double elbo, none; /* of the process at its mean, with and without offsets; the first at
                        the estimate */
  double score;      /* sum_k (g_k^2 - h_k) / sqrt(2 sum_k h_k^2) at b = 0: 0 if they are
                        worth nothing, give or take 1 */
  int passes, converged;
} gpc_offsets_result;

/* Doubles that they keep of all rows, twice so many; 0: of so many rows they may keep none. */
size_t gpc_offsets_room(size_t n, size_t k, double least_score);

void gpc_offsets_fit(gpc_visitor *visitor, const gpc_visit *from,
                     const gpc_offsets_settings *settings, gpc_offsets_result *result);

/* What such rows say of offset j at b, its gradient and curvature there. */
double gpc_offsets_site_value(const gpc_offsets_site *site, size_t j, double b, double *g,
                              double *h);

/* After a fit: g, h and cross of all rows, `site` among them, at result->at. */
void gpc_offsets_freeze(gpc_visitor *visitor, const gpc_visit *from,
                        const gpc_offsets_site *site, gpc_offsets_result *result);

/* to [n x k]: every row of p [n x k] multiplied by exp(offset_k) and divided by its sum. */
void gpc_offsets_apply(size_t n, size_t k, const double *offset, const double *p,
                       double *to);

#endif
