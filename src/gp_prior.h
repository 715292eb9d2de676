/* gp_prior.h: the prior of the latent process, in one place: its mean function, and the
 * distribution of the whitened inducing values v.
 *
 *   mu(z) = slope z  or  log z                                             eq. (3)
 *   v ~ N(m0, P0^-1), usually N(0, I)                                      eq. (5)
 *
 * log z is not smooth near 0, so that a mean is taken apart, mu(z) = smooth(z) +
 * log factor(z): what is interpolated on a line is smooth(z), and exp(mu) = factor
 * exp(smooth). */
#ifndef GPC_GP_PRIOR_H
#define GPC_GP_PRIOR_H

#include "gpc.h"

#include <float.h>
#include <math.h>

typedef enum { GPC_MEAN_LINEAR, GPC_MEAN_LOG } gpc_mean; /* identity: linear, slope 1 */

typedef struct {
  gpc_mean mean;
  double slope;     /* of the linear mean */
  const double *m0; /* [m] prior mean of v, or NULL: 0 */
  const double *p0; /* [m x m] prior precision of v, symmetric, or NULL: I */
  double p0_logdet; /* log |P0|, with p0 */
} gpc_prior;

/* 1 if the mean has a slope that can be estimated, and 1 if it is a straight line of log z
 * instead of z. */
static inline int gpc_mean_has_slope(gpc_mean mean) { return mean == GPC_MEAN_LINEAR; }
static inline int gpc_mean_of_logs(gpc_mean mean) { return mean == GPC_MEAN_LOG; }

/* smooth(z) and factor(z) of the mean function. */
static inline double gpc_prior_smooth(const gpc_prior *prior, double z) {
  return prior->mean == GPC_MEAN_LINEAR ? prior->slope * z : 0.0;
}
static inline double gpc_prior_factor(const gpc_prior *prior, double z) {
  return prior->mean == GPC_MEAN_LINEAR ? 1.0 : z;
}

/* mu(z). */
static inline double gpc_prior_mu(const gpc_prior *prior, double z) {
  return prior->mean == GPC_MEAN_LINEAR ? prior->slope * z : log(z);
}

/* The scale t on which mu is a straight line, z or log z, and back; the line's slope; the
 * least z at which mu is finite, in doubles. */
static inline double gpc_prior_least(const gpc_prior *prior) {
  return gpc_mean_of_logs(prior->mean) ? DBL_MIN : -INFINITY;
}
static inline double gpc_prior_line(const gpc_prior *prior, double z) {
  return gpc_mean_of_logs(prior->mean) ? log(fmax(z, DBL_MIN)) : z;
}
static inline double gpc_prior_point(const gpc_prior *prior, double t) {
  return gpc_mean_of_logs(prior->mean) ? exp(t) : t;
}
static inline double gpc_prior_line_slope(const gpc_prior *prior) {
  return gpc_mean_of_logs(prior->mean) ? 1.0 : prior->slope;
}

/* f [n] += mu(z), and f [n] += smooth(z), for z [n]. */
void gpc_prior_add_mu(const gpc_prior *prior, size_t n, const double *z, double *f);
void gpc_prior_add_smooth(const gpc_prior *prior, size_t n, const double *z, double *f);

/* The adjoint of either: d/d slope of sum_i gf_i mu(z_i), gf and z [n]. */
double gpc_prior_slope_grad(const gpc_prior *prior, size_t n, const double *z,
                            const double *gf);

static inline int gpc_prior_has_slope(const gpc_prior *prior) {
  return gpc_mean_has_slope(prior->mean);
}

/* out [m] := P0 (x - m0), the gradient of the quadratic form below; returns
 * 1/2 (x - m0)'P0 (x - m0). */
double gpc_prior_quadratic(const gpc_prior *prior, size_t m, const double *x,
                           double *out);

/* a [m x m] += P0, and rhs [m] += P0 m0. Either may be NULL. */
void gpc_prior_add_precision(const gpc_prior *prior, size_t m, double *a, double *rhs);

/* eq. (11): KL(N(mean, cov) | N(m0, P0^-1)) = 1/2 (tr P0 S + (m - m0)'P0 (m - m0) - M -
 * log|S| - log|P0|). Adds its derivatives, P0 (m - m0) and 1/2 (P0 - S^-1), `scale` times over
 * to g_mean [m] and g_cov [m x m]. work [2 m^2 + m]. GPC_NOT_PD if S is not. */
gpc_status gpc_prior_kl(const gpc_prior *prior, size_t m, const double *q_mean,
                        const double *q_cov, double scale, double *work, double *kl,
                        double *g_mean, double *g_cov);

#endif
