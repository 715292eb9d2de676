/* r_stream.c: see r_stream.h. */
#include "r_stream.h"

#include <string.h>

const gpc_site *r_site(SEXP list) {
  if (Rf_isNull(list))
    return NULL;
  SEXP knots = r_element(list, "knots");
  const size_t p = (size_t)Rf_xlength(knots);
  if (p < 2 || p > GPC_SITE_MOST)
    Rf_error("internal error: a site with %d knots", (int)p);
  const R_xlen_t n = (R_xlen_t)p;
  gpc_site *site = (gpc_site *)R_alloc(1, sizeof *site);
  const double *rest = r_doubles(r_element(list, "rest"), "rest", 4);
  const double *packed = r_doubles(r_element(list, "w"), "w", n * (n + 1) / 2);
  double *w = r_work(p * p);
  for (size_t j = 0; j < p; j++)
    for (size_t i = j; i < p; i++)
      w[i + p * j] = w[j + p * i] = *packed++;
  *site = (gpc_site){.p = p,
                     .loss = rest[0],
                     .weight = rest[1],
                     .bulk_low = rest[2],
                     .bulk_high = rest[3],
                     .z = r_doubles(knots, "knots", n),
                     .psi = r_doubles(r_element(list, "psi"), "psi", n),
                     .b = r_doubles(r_element(list, "b"), "b", n),
                     .v = r_doubles(r_element(list, "v"), "v", n),
                     .w = w};
  return site;
}

static void put_vector(SEXP list, int at, size_t n, const double *x) {
  SET_VECTOR_ELT(list, at, Rf_allocVector(REALSXP, (R_xlen_t)n));
  memcpy(REAL(VECTOR_ELT(list, at)), x, n * sizeof(double));
}

SEXP r_pack_site(const gpc_site *site) {
  static const char *names[] = {"knots", "psi", "b", "v", "w", "rest", ""};
  const size_t p = site->p;
  const double rest[4] = {site->loss, site->weight, site->bulk_low, site->bulk_high};
  SEXP out = PROTECT(r_named_list(names));
  put_vector(out, 0, p, site->z);
  put_vector(out, 1, p, site->psi);
  put_vector(out, 2, p, site->b);
  put_vector(out, 3, p, site->v);
  SET_VECTOR_ELT(out, 4, Rf_allocVector(REALSXP, (R_xlen_t)(p * (p + 1) / 2)));
  double *packed = REAL(VECTOR_ELT(out, 4));
  for (size_t j = 0; j < p; j++)
    for (size_t i = j; i < p; i++)
      *packed++ = site->w[i + p * j];
  put_vector(out, 5, 4, rest);
  UNPROTECT(1);
  return out;
}
