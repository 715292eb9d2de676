/* r_ova.c: .Call layer of ova.h: log-odds, maps and predictions one against the rest. */
#include "r_util.h"
#include "ova.h"

SEXP r_log_odds(SEXP z, SEXP logits, SEXP threads) {
  size_t n, k;
  const double *data = r_matrix(z, "z", &n, &k);
  SEXP odds = PROTECT(r_new_matrix(n, k));
  gpc_log_odds(n, k, data, r_flag(logits, "logits"), r_threads(threads), REAL(odds));
  UNPROTECT(1);
  return odds;
}

/* Positions index memory, and objects come from files: each is looked at. */
static void check_start(const int *start, size_t maps, R_xlen_t points) {
  for (size_t j = 0; j < maps; j++)
    if (start[j] < 0 || start[j + 1] <= start[j])
      Rf_error("internal error: the points of a calibration map are out of order");
  if (start[0] != 0 || start[maps] != points)
    Rf_error("internal error: the points of a calibration map are incomplete");
}

/* The maps in an R list; `maps` of them. */
static gpc_ova unpack(SEXP list, size_t maps) {
  gpc_ova ova = {0};
  ova.kind = (gpc_map_kind)r_count(r_element(list, "kind"), "kind");
  ova.maps = maps;
  if (ova.kind == GPC_MAP_CURVE) {
    SEXP x = r_element(list, "x");
    ova.curve = (gpc_curve_kind)r_count(r_element(list, "curve"), "curve");
    ova.x = r_doubles(x, "x", -1);
    ova.y = r_doubles(r_element(list, "y"), "y", XLENGTH(x));
    ova.start = r_integers(r_element(list, "start"), "start", (R_xlen_t)maps + 1);
    if (ova.curve > GPC_CURVE_UPTO)
      Rf_error("internal error: unknown kind of curve");
    check_start(ova.start, maps, XLENGTH(x));
  } else if (ova.kind == GPC_MAP_PLATT) {
    ova.coef = r_doubles(r_element(list, "coef"), "coef", 2 * (R_xlen_t)maps);
    ova.range = r_doubles(r_element(list, "range"), "range", 2 * (R_xlen_t)maps);
    ova.log_odds = r_flag(r_element(list, "log_odds"), "log_odds");
  } else if (ova.kind == GPC_MAP_BETA) {
    ova.coef = r_doubles(r_element(list, "coef"), "coef", 3 * (R_xlen_t)maps);
    ova.clip = r_number(r_element(list, "clip"), "clip");
  } else {
    Rf_error("internal error: unknown kind of calibration map");
  }
  return ova;
}

SEXP r_ova_predict(SEXP z, SEXP logits, SEXP maps, SEXP threads) {
  size_t n, k;
  const double *data = r_matrix(z, "z", &n, &k);
  gpc_ova ova = unpack(maps, k == 2 ? 1 : k);
  SEXP p = PROTECT(r_new_matrix(n, k));
  gpc_ova_predict(&ova, n, k, data, r_flag(logits, "logits"), r_threads(threads), r_poll,
                  NULL, REAL(p));
  UNPROTECT(1);
  return p;
}

/* All maps at the same probabilities score [n], rest [n] one minus them: a matrix with a
 * column per map. */
SEXP r_ova_map(SEXP score, SEXP rest, SEXP maps, SEXP count) {
  const size_t n = (size_t)XLENGTH(score), k = (size_t)r_count(count, "count");
  const double *from = r_doubles(score, "score", -1);
  const double *other = r_doubles(rest, "rest", XLENGTH(score));
  gpc_ova ova = unpack(maps, k);
  SEXP value = PROTECT(r_new_matrix(n, k));
  for (size_t j = 0; j < k; j++)
    gpc_ova_map(&ova, j, n, from, other, REAL(value) + j * n);
  UNPROTECT(1);
  return value;
}
