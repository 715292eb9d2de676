/* r_gp_wide.c: .Call layer of predictions with effects of many classes (gp_wide_predict.h).
 * For `at` see r_gp_unpack.h; `wide` is a list of `steep`, `mean` and `var`. */
#include "gp_wide_pack.h"
#include "r_gp_effects.h"

#include <string.h>

gpc_wide_fitted r_wide_fitted(SEXP wide, size_t k) {
  const R_xlen_t size = (R_xlen_t)gpc_wide_size(k);
  return (gpc_wide_fitted){.steep = r_number(r_element(wide, "steep"), "steep"),
                           .mean = r_doubles(r_element(wide, "mean"), "mean", size),
                           .var = r_doubles(r_element(wide, "var"), "var", size)};
}

/* Numbers in two bytes each: list of `unit` and `codes`. */
SEXP r_pack_units(SEXP x) {
  static const char *names[] = {"unit", "codes", ""};
  const R_xlen_t n = XLENGTH(x);
  const double *from = r_doubles(x, "x", n);
  SEXP out = PROTECT(r_named_list(names));
  SEXP codes = Rf_allocVector(INTSXP, (n + 1) / 2);
  SET_VECTOR_ELT(out, 1, codes);
  SET_VECTOR_ELT(out, 0, Rf_ScalarReal(gpc_wide_pack((size_t)n, from, INTEGER(codes))));
  UNPROTECT(1);
  return out;
}

/* p itself where nobody else has it, otherwise a copy. */
static SEXP own(SEXP p) { return MAYBE_SHARED(p) ? Rf_duplicate(p) : p; }

/* Probabilities p [n x k] with the effects. */
SEXP r_wide_apply(SEXP p, SEXP at, SEXP wide, SEXP tilted, SEXP threads) {
  const gpc_gp_data data = r_gp_scores(at, r_threads(threads));
  const gpc_wide_fitted fit = r_wide_fitted(wide, data.k);
  r_doubles(p, "p", (R_xlen_t)(data.n * data.k));
  SEXP out = PROTECT(own(p));
  gpc_wide_apply(&data, &fit, r_flag(tilted, "tilted"), &r_memory, r_poll, NULL,
                 REAL(out));
  UNPROTECT(1);
  return out;
}

/* Means and variances of the sums of the effects: list of matrices [n x k]. */
SEXP r_wide_latent(SEXP at, SEXP wide) {
  const gpc_gp_data data = r_gp_scores(at, 1);
  const gpc_wide_fitted fit = r_wide_fitted(wide, data.k);
  static const char *names[] = {"mean", "var", ""};
  SEXP out = PROTECT(r_named_list(names));
  for (int i = 0; i < 2; i++)
    SET_VECTOR_ELT(out, i, r_new_matrix(data.n, data.k));
  gpc_wide_latent(&data, &fit, &r_memory, r_poll, NULL, REAL(VECTOR_ELT(out, 0)),
                  REAL(VECTOR_ELT(out, 1)));
  UNPROTECT(1);
  return out;
}

/* Draws p [n x k x d] with sums mean + sd e of the effects: mean, sd [n x k], e [k x d]. */
SEXP r_wide_shift(SEXP p, SEXP mean, SEXP sd, SEXP e) {
  size_t n, k, n2, k2;
  const double *m = r_matrix(mean, "mean", &n, &k), *s = r_matrix(sd, "sd", &n2, &k2);
  const size_t d = (size_t)XLENGTH(e) / k;
  if (n != n2 || k != k2)
    Rf_error("internal error: 'mean' and 'sd' must have the same size");
  r_doubles(p, "p", (R_xlen_t)(n * k * d));
  SEXP out = PROTECT(own(p));
  gpc_wide_shift(n, k, d, m, s, r_doubles(e, "e", (R_xlen_t)(k * d)), &r_memory, r_poll,
                 NULL, REAL(out));
  UNPROTECT(1);
  return out;
}

/* The same with drawn effects: e [size x pairs], p [n x k x 2 pairs]. */
SEXP r_wide_draws(SEXP p, SEXP at, SEXP wide, SEXP e) {
  const gpc_gp_data data = r_gp_scores(at, 1);
  const gpc_wide_fitted fit = r_wide_fitted(wide, data.k);
  const size_t size = gpc_wide_size(data.k), pairs = (size_t)XLENGTH(e) / size;
  r_doubles(p, "p", (R_xlen_t)(data.n * data.k * 2 * pairs));
  SEXP out = PROTECT(own(p));
  gpc_wide_draws(&data, &fit, pairs, r_doubles(e, "e", (R_xlen_t)(size * pairs)),
                 &r_memory, r_poll, NULL, REAL(out));
  UNPROTECT(1);
  return out;
}
