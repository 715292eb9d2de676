/* gp_draws.h: softmaxes of functions drawn from the posterior, in antithetic pairs,
 *
 *   g(z_k) = mu(z_k) + a(z_k)'(m +- U x) +- sqrt(rho(z_k)) e_k             eq. (26)
 *
 * with S = U U', U lower triangular, and growth at the ends, eq. (26b). The random numbers
 * are the caller's. */
#ifndef GPC_GP_DRAWS_H
#define GPC_GP_DRAWS_H

#include "gp_lift.h"
#include "gp_lookup.h"
#include "gp_model.h"

typedef struct {
  size_t pairs;
  const double *x; /* [m x pairs] standard normal */
  /* standard normal: [k x pairs] for the residual, shared by all rows; if `independent`,
   * [count x k x pairs] for the whole deviation, of variance c (the paper's way, x is
   * then not looked at) */
  const double *e;
  /* eq. (26a): [pairs], added to the slope in the one draw of a pair and subtracted in the
   * other, or NULL */
  const double *tilt;
  gpc_lift lift; /* eq. (26b) */
  int independent;
} gpc_gp_random;

/* Work space for up to `pairs` pairs at a time. */
typedef struct gpc_gp_draws_work gpc_gp_draws_work;
gpc_gp_draws_work *gpc_gp_draws_take(const gpc_gp_lookup *lookup, size_t k, size_t pairs,
                                     int threads, const gpc_memory *memory);

/* For rows first .. first + count of data, either adds `each` times the sum over the 2
 * pairs draws to p [count x k], or (all not NULL) keeps every draw in all [count x k x 2
 * pairs]. */
void gpc_gp_draws(const gpc_gp_data *data, const gpc_gp_lookup *lookup, size_t first,
                  size_t count, const gpc_gp_random *random, double each,
                  gpc_gp_draws_work *work, double *p, double *all);

#endif
