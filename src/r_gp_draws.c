/* r_gp_draws.c: .Call layer of gp_draws.h and gp_interval.h. For `fit` and `at` see
 * r_gp_unpack.h; `functions` is a list of `x` [m x pairs], `e`, `tilt` [pairs] (or NULL)
 * as in gp_draws.h, drawn by R's generator, and the flag `independent`. */
#include "gp_draws.h"
#include "gp_interval.h"
#include "r_gp_unpack.h"
#include "rising.h"

#include <float.h>
#include <string.h>

static gpc_gp_random unpack_functions(SEXP functions, const gpc_gp_data *data, size_t m) {
  SEXP x = r_element(functions, "x");
  const size_t pairs = (size_t)XLENGTH(x) / m;
  const int independent = r_flag(r_element(functions, "independent"), "independent");
  const size_t each = data->k * (independent ? data->n : 1);
  return (gpc_gp_random){
      .pairs = pairs,
      .x = r_doubles(x, "x", (R_xlen_t)(m * pairs)),
      .e = r_doubles(r_element(functions, "e"), "e", (R_xlen_t)(each * pairs)),
      .tilt = r_doubles_or_null(r_element_or_null(functions, "tilt"), "tilt",
                                (R_xlen_t)pairs),
      .lift = r_gp_lift(functions, pairs),
      .independent = independent,
  };
}

/* Pairs first, ..., first + count - 1 of those. */
static gpc_gp_random some_functions(const gpc_gp_random *random, const gpc_gp_data *data,
                                    size_t m, size_t first, size_t count) {
  gpc_gp_random some = *random;
  some.pairs = count;
  some.x += first * m;
  some.e += first * data->k * (random->independent ? data->n : 1);
  if (some.tilt)
    some.tilt += first;
  if (some.lift.growth)
    some.lift.growth += first;
  return some;
}

#define PAIRS 8 /* at a time, so that an interrupt is heard and their tables stay small */

/* Averages [n x k] over the draws; with `keep` all of them [n x k x 2 pairs]. */
SEXP r_gp_draws(SEXP fit, SEXP at, SEXP functions, SEXP keep, SEXP threads) {
  gpc_gp_data data = r_gp_scores(at, r_threads(threads));
  gpc_gp_fitted process = r_gp_fitted(fit);
  gpc_gp_lookup lookup = r_gp_lookup(&process);
  const size_t m = lookup.m, scores = data.n * data.k;
  const gpc_gp_random random = unpack_functions(functions, &data, m);
  const int all = r_flag(keep, "keep");
  const size_t size = scores * (all ? 2 * random.pairs : 1);
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)size));
  double *p = REAL(out);
  if (!all)
    memset(p, 0, size * sizeof(double));
  gpc_gp_draws_work *work =
      gpc_gp_draws_take(&lookup, data.k, PAIRS, data.threads, &r_memory);
  for (size_t first = 0; first < random.pairs; first += PAIRS) {
    const size_t left = random.pairs - first;
    const gpc_gp_random some =
        some_functions(&random, &data, m, first, left < PAIRS ? left : PAIRS);
    R_CheckUserInterrupt();
    gpc_gp_draws(&data, &lookup, 0, data.n, &some, 0.5 / (double)random.pairs, work,
                 all ? NULL : p, all ? p + 2 * first * scores : NULL);
  }
  for (size_t i = 0; !all && i < size; i++) /* as the other approximations have it */
    p[i] = p[i] > DBL_MIN ? p[i] : DBL_MIN;
  UNPROTECT(1);
  return out;
}

/* Quantiles of the draws at ends = c(lower, upper): [n x k x 2]. */
SEXP r_gp_interval(SEXP fit, SEXP at, SEXP functions, SEXP ends, SEXP threads) {
  gpc_gp_data data = r_gp_scores(at, r_threads(threads));
  gpc_gp_fitted process = r_gp_fitted(fit);
  gpc_gp_lookup lookup = r_gp_lookup(&process);
  const gpc_gp_random random = unpack_functions(functions, &data, lookup.m);
  const double *end = r_doubles(ends, "ends", 2);
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)(2 * data.n * data.k)));
  gpc_gp_interval(&data, &lookup, &random, end[0], end[1], &r_memory, r_poll, NULL,
                  REAL(out));
  UNPROTECT(1);
  return out;
}

/* Limits [g x 2] at ends = c(lower, upper) of the log-odds of the second of two classes, by
 * draws [g x 2 x d] at places z [g] (rising.h); NULL where the draws fall. */
SEXP r_rising_limits(SEXP draws, SEXP z, SEXP ends) {
  const double *p = r_doubles(draws, "draws", -1), *at = r_doubles(z, "z", -1),
               *end = r_doubles(ends, "ends", 2);
  const size_t g = (size_t)XLENGTH(z);
  if (g < 2 || XLENGTH(draws) % (R_xlen_t)(2 * g) || XLENGTH(draws) == 0)
    Rf_error("internal error: draws are not those of %d places", (int)g);
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, (int)g, 2));
  const int rises = gpc_rising_limits(g, (size_t)XLENGTH(draws) / (2 * g), at, p, end[0],
                                      end[1], &r_memory, REAL(out));
  UNPROTECT(1);
  return rises ? out : R_NilValue;
}
