/* gp_wide.h: effects of many classes on top of a fitted process, which stays as it is, eq.
 * (39b):
 *
 *   f_nk = phi(z_nk) + b_k + gamma_k q_nk + sum_j W_kj x_nj
 *
 * with offsets b, powers v and a matrix W on features of gp_wide_rows.h, each part normal
 * about 0 with a variance of its own, all effects independent of each other in the
 * posterior, and the process taken at its mean. The bound is the tilted one of tilt.h, the
 * logarithm of each standard deviation has the hyperprior of gp_offsets.c, and the means
 * come from conjugate gradients. Offsets alone are in gp_offsets.h: they are fitted
 * first. */
#ifndef GPC_GP_WIDE_H
#define GPC_GP_WIDE_H

#include "gp_offsets.h"
#include "gp_wide_rows.h"

/* Rows seen before: g'd - 1/2 sum_i h_i d_i^2, d = e - at, as gpc_offsets_site. */
typedef struct {
  double steep;             /* of the features */
  int power;                /* are there powers? */
  const double *at, *g, *h; /* [gpc_wide_size(k)] */
} gpc_wide_site;

typedef struct {
  double steep; /* the slope of temperature scaling, for the features */
  int power;    /* are there powers? */
  double variance[GPC_WIDE_PARTS]; /* held; NAN: estimated */
  double least_score; /* of the score test: with less there is no matrix; -INFINITY:
                         there is, whatever test and bound say */
  double least_worth; /* nats that the bound must gain against offsets alone */
  const gpc_wide_site *site;            /* or NULL, and ... */
  const gpc_offsets_site *offsets_site; /* ... that with which the offsets were fitted */
  int freeze;                           /* are these rows to be frozen, for later ones? */
  double tol;                           /* nats */
  int max_passes;
  gpc_poll poll;
  void *poll_data;
} gpc_wide_settings;

typedef struct {
  int tried, kept, power;
  double steep; /* of the features */
  double *mean,
      *var;      /* [gpc_wide_size(k)]; without a matrix that is kept, offsets and 0 */
  double *g, *h; /* gradient and curvature of all rows at `mean`: the next site */
  double tau[GPC_WIDE_PARTS];
  double elbo;  /* to be compared with those of the offsets */
  double score; /* sum_i (g_i^2 - h_i) / sqrt(2 sum_i h_i^2) over the matrix, at 0 */
  int passes, converged;
} gpc_wide_result;

/* From offsets that have been tried. Memory of the result comes from the visitor's. */
void gpc_wide_fit(gpc_visitor *visitor, const gpc_visit *from,
                  const gpc_offsets_result *offsets, const gpc_wide_settings *settings,
                  gpc_wide_result *result);

#endif
