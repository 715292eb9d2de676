/* r_monitor.c: .Call layer of monitor.h. */
#include "r_util.h"
#include "monitor.h"

#include <string.h>

static SEXP zeros(SEXP list, int at, R_xlen_t n) {
  SEXP x = Rf_allocVector(REALSXP, n);
  SET_VECTOR_ELT(list, at, x);
  memset(REAL(x), 0, (size_t)n * sizeof(double));
  return x;
}

/* Sums of the rows: list(total, observed, expected, bin, temperature, tilt, offset). */
SEXP r_monitor_sums(SEXP probs, SEXP labels, SEXP weights, SEXP edge, SEXP t, SEXP d) {
  static const char *names[] = {"total",       "observed", "expected", "bin",
                                "temperature", "tilt",     "offset",   ""};
  gpc_monitored data;
  data.p = r_matrix(probs, "probs", &data.n, &data.k);
  if (data.k < 2)
    Rf_error("internal error: `probs` has one column");
  data.label = r_codes(labels, "labels", data.n, data.k);
  data.w = r_doubles_or_null(weights, "weights", (R_xlen_t)data.n);
  gpc_monitor_grid grid = {.bins = (size_t)Rf_xlength(edge) + 1,
                           .ts = (size_t)Rf_xlength(t),
                           .ds = (size_t)Rf_xlength(d),
                           .edge = r_doubles(edge, "edge", Rf_xlength(edge)),
                           .t = r_doubles(t, "t", Rf_xlength(t)),
                           .d = r_doubles(d, "d", Rf_xlength(d))};
  double *work = r_work(gpc_monitor_work(data.k, &grid));
  const R_xlen_t k = (R_xlen_t)data.k, bins = (R_xlen_t)grid.bins;
  SEXP out = PROTECT(r_named_list(names));
  gpc_monitor_sums sums = {
      .total = REAL(zeros(out, 0, GPC_MONITOR_TOTALS)),
      .observed = REAL(zeros(out, 1, k)),
      .expected = REAL(zeros(out, 2, k)),
      .bin = REAL(zeros(out, 3, 3 * bins)),
      .temperature = REAL(zeros(out, 4, (R_xlen_t)grid.ts)),
      .tilt = REAL(zeros(out, 5, bins * (R_xlen_t)grid.ds)),
      .offset = REAL(zeros(out, 6, (k - 1) * (R_xlen_t)grid.ds)),
  };
  gpc_monitor_add(&data, &grid, work, r_poll, NULL, &sums);
  UNPROTECT(1);
  return out;
}
