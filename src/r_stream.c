/* r_stream.c: see r_stream.h. */
#include "r_stream.h"

#include <string.h>

/* The symmetric matrix [p x p] whose lower triangle is packed by columns. */
static double *unpack_lower(const double *packed, size_t p) {
  double *w = r_work(p * p);
  for (size_t j = 0; j < p; j++)
    for (size_t i = j; i < p; i++)
      w[i + p * j] = w[j + p * i] = *packed++;
  return w;
}

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
  double *w = unpack_lower(packed, p);
  *site = (gpc_site){.p = p,
                     .loss = rest[0],
                     .weight = rest[1],
                     .bulk_low = rest[2],
                     .bulk_high = rest[3],
                     .z = r_doubles(knots, "knots", n),
                     .psi = r_doubles(r_element(list, "psi"), "psi", n),
                     .b = r_doubles(r_element(list, "b"), "b", n),
                     .spread = r_doubles(r_element(list, "v"), "v", n),
                     .curvature = w};
  return site;
}

const gpc_joint_site *r_joint_site(SEXP list, size_t p, size_t k) {
  if (Rf_isNull(list))
    return NULL;
  SEXP effect = r_element(list, "effect");
  const size_t e = (size_t)Rf_xlength(effect);
  if (e < 1 || e % k != 0 || e > GPC_SITE_EFFECTS)
    Rf_error("internal error: a site with %d effects", (int)e);
  const R_xlen_t q = (R_xlen_t)(p + e);
  const double *rest = r_doubles(r_element(list, "rest"), "rest", 5);
  const double *packed = r_doubles(r_element(list, "h"), "h", q * (q + 1) / 2);
  gpc_joint_site *site = (gpc_joint_site *)R_alloc(1, sizeof *site);
  *site = (gpc_joint_site){.p = p,
                           .e = e,
                           .rms = rest[0],
                           .slope = rest[1],
                           .low = rest[2],
                           .high = rest[3],
                           .loss = rest[4],
                           .psi = r_doubles(r_element(list, "psi"), "psi", (R_xlen_t)p),
                           .effect = r_doubles(effect, "effect", (R_xlen_t)e),
                           .b = r_doubles(r_element(list, "b"), "b", q),
                           .spread = r_doubles(r_element(list, "v"), "v", (R_xlen_t)p),
                           .h = unpack_lower(packed, p + e)};
  return site;
}

const gpc_offsets_site *r_offsets_site(SEXP list, size_t k, size_t p) {
  if (Rf_isNull(list))
    return NULL;
  const R_xlen_t n = (R_xlen_t)k;
  gpc_offsets_site *site = (gpc_offsets_site *)R_alloc(1, sizeof *site);
  *site =
      (gpc_offsets_site){.b = r_doubles(r_element(list, "at"), "at", n),
                         .g = r_doubles(r_element(list, "g"), "g", n),
                         .h = r_doubles(r_element(list, "h"), "h", n),
                         .cross = r_doubles(r_element(list, "cross"), "cross", n),
                         .psi = r_doubles(r_element(list, "psi"), "psi", (R_xlen_t)p)};
  return site;
}

const gpc_wide_site *r_wide_site(SEXP list, size_t k) {
  if (Rf_isNull(list))
    return NULL;
  const R_xlen_t n = (R_xlen_t)gpc_wide_size(k);
  gpc_wide_site *site = (gpc_wide_site *)R_alloc(1, sizeof *site);
  *site = (gpc_wide_site){.steep = r_number(r_element(list, "steep"), "steep"),
                          .power = r_flag(r_element(list, "power"), "power"),
                          .at = r_doubles(r_element(list, "at"), "at", n),
                          .g = r_doubles(r_element(list, "g"), "g", n),
                          .h = r_doubles(r_element(list, "h"), "h", n)};
  return site;
}

static void put_vector(SEXP list, int at, size_t n, const double *x) {
  SET_VECTOR_ELT(list, at, Rf_allocVector(REALSXP, (R_xlen_t)n));
  memcpy(REAL(VECTOR_ELT(list, at)), x, n * sizeof(double));
}

/* The lower triangle of w [p x p], by columns. */
static void put_lower(SEXP list, int at, size_t p, const double *w) {
  SET_VECTOR_ELT(list, at, Rf_allocVector(REALSXP, (R_xlen_t)(p * (p + 1) / 2)));
  double *packed = REAL(VECTOR_ELT(list, at));
  for (size_t j = 0; j < p; j++)
    for (size_t i = j; i < p; i++)
      *packed++ = w[i + p * j];
}

SEXP r_pack_joint_site(const gpc_joint_site *site) {
  static const char *names[] = {"psi", "effect", "b", "v", "h", "rest", ""};
  const double rest[5] = {site->rms, site->slope, site->low, site->high, site->loss};
  SEXP out = PROTECT(r_named_list(names));
  put_vector(out, 0, site->p, site->psi);
  put_vector(out, 1, site->e, site->effect);
  put_vector(out, 2, site->p + site->e, site->b);
  put_vector(out, 3, site->p, site->spread);
  put_lower(out, 4, site->p + site->e, site->h);
  put_vector(out, 5, 5, rest);
  UNPROTECT(1);
  return out;
}

SEXP r_pack_offsets_site(const gpc_offsets_result *offsets, size_t k, size_t p) {
  static const char *names[] = {"at", "g", "h", "cross", "psi", ""};
  SEXP out = PROTECT(r_named_list(names));
  put_vector(out, 0, k, offsets->at);
  put_vector(out, 1, k, offsets->g);
  put_vector(out, 2, k, offsets->h);
  put_vector(out, 3, k, offsets->cross);
  put_vector(out, 4, p, offsets->psi);
  UNPROTECT(1);
  return out;
}

SEXP r_pack_site(const gpc_site *site) {
  static const char *names[] = {"knots", "psi", "b", "v", "w", "rest", ""};
  const size_t p = site->p;
  const double rest[4] = {site->loss, site->weight, site->bulk_low, site->bulk_high};
  SEXP out = PROTECT(r_named_list(names));
  put_vector(out, 0, p, site->z);
  put_vector(out, 1, p, site->psi);
  put_vector(out, 2, p, site->b);
  put_vector(out, 3, p, site->spread);
  put_lower(out, 4, p, site->curvature);
  put_vector(out, 5, 4, rest);
  UNPROTECT(1);
  return out;
}
