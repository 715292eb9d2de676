/* r_seen.c: .Call layer of centred.h, for the picture of the latent map. */
#include "centred.h"
#include "r_util.h"

/* hyper = c(variance, lengthscale, noise, slope). */
SEXP r_centred(SEXP z, SEXP at, SEXP p, SEXP inducing, SEXP hyper, SEXP q_cov) {
  size_t m, m2, n = (size_t)XLENGTH(z), g = (size_t)XLENGTH(at);
  const double *cov = r_matrix(q_cov, "q_cov", &m, &m2);
  const double *h = r_doubles(hyper, "hyper", 4);
  if (m != m2)
    Rf_error("internal error: 'q_cov' must be square");
  gpc_basis basis = {m,
                     r_doubles(inducing, "inducing", (R_xlen_t)m),
                     {h[0], h[1], h[2]},
                     0.0,
                     r_work(m * m)};
  if (gpc_basis_factor(&basis) != GPC_OK)
    Rf_error("internal error: the covariance of the inducing inputs does not factor");
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)n));
  gpc_centred_variance(&basis, cov, n, r_doubles(z, "z", -1), g, r_doubles(at, "at", -1),
                       r_doubles(p, "p", (R_xlen_t)g), r_work(gpc_centred_work(n, g, m)),
                       REAL(out));
  UNPROTECT(1);
  return out;
}
