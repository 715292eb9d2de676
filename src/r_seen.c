/* r_seen.c: .Call layer of seen.h, for the picture of the latent map. */
#include "r_util.h"
#include "seen.h"
#include "temperature.h"

/* z, labels, weights, floor and shift as for gp_fit; ends = c(low, high). */
SEXP r_seen(SEXP z, SEXP labels, SEXP weights, SEXP floor, SEXP shift, SEXP logs,
            SEXP ends, SEXP bins, SEXP rows, SEXP start, SEXP threads) {
  gpc_gp_data data = {0};
  data.z = r_matrix(z, "z", &data.n, &data.k);
  data.label = r_codes(labels, "labels", data.n, data.k);
  data.w = r_doubles_or_null(weights, "weights", (R_xlen_t)data.n);
  data.shift = r_doubles_or_null(shift, "shift", (R_xlen_t)data.n);
  data.floor = r_number(floor, "floor");
  data.threads = r_threads(threads);
  const double *end = r_doubles(ends, "ends", 2);
  size_t count = (size_t)r_count(bins, "bins"), some = (size_t)r_count(rows, "rows");
  int log_scale = r_flag(logs, "logs");
  if (count < 1 || some < 1 || some > data.n)
    Rf_error("internal error: 'bins' and 'rows' must be positive, rows at most n");
  static const char *names[] = {"true", "other", "beta", "status", ""};
  SEXP out = PROTECT(r_named_list(names));
  for (int i = 0; i < 2; i++)
    SET_VECTOR_ELT(out, i, Rf_allocVector(REALSXP, (R_xlen_t)count + 2));
  gpc_seen_sample sample = {some, data.k, r_work(some * data.k), r_work(some),
                            r_work_int(some)};
  gpc_seen_gather(&data, log_scale, &sample);
  gpc_seen_count(&data, log_scale, &sample, end[0], end[1], count,
                 REAL(VECTOR_ELT(out, 0)), REAL(VECTOR_ELT(out, 1)));
  double beta = 1.0;
  gpc_status status =
      gpc_seen_temperature(&sample, r_number(start, "start"), data.threads, r_poll, NULL,
                           r_work(gpc_temperature_work(some, data.k)), &beta);
  SET_VECTOR_ELT(out, 2, Rf_ScalarReal(beta));
  SET_VECTOR_ELT(out, 3, r_status(status));
  UNPROTECT(1);
  return out;
}
