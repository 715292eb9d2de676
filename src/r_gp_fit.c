/* r_gp_fit.c: .Call layer of the fit: lays out the grid, compresses the rows, and goes
 * back for a finer one when the fit asks for it. */
#include "gp_fit.h"
#include "gp_prepare.h"
#include "r_gp_rows.h"
#include "r_util.h"

#include <math.h>
#include <string.h>

static double number(SEXP list, const char *name) {
  return r_number(r_element(list, name), name);
}
static int flag(SEXP list, const char *name) {
  return r_flag(r_element(list, name), name);
}

typedef struct {
  const gpc_gp_state *state;
  int trace;
} poll_state;

static void poll_fit(void *data) {
  R_CheckUserInterrupt();
  const poll_state *poll = data;
  if (poll->trace) {
    const gpc_surrogate_point *at = &poll->state->point;
    Rprintf("pass %3d  elbo %.6f  promise %.2g  variance %.4g  lengthscale %.4g  slope "
            "%.4g\n",
            poll->state->passes, poll->state->elbo, poll->state->promise, at->hyper.s2,
            at->hyper.l, at->slope);
  }
}

#define MOST_FINE 6000
#define MOST_NODES 4000

static void set_labels(const gpc_gp_data *data, gpc_gp_setup *setup) {
  double *y = r_work(setup->line.g);
  setup->logs = gpc_gp_labels(data, setup->mean, &setup->line, y);
  setup->y = y;
}

/* The line, with *step between its nodes, which is halved for the next time, and how
 * finely the rows are to be compressed for the slope to begin with. 0 if there would be
 * too many nodes. */
static int lay_line(const gpc_gp_data *data, SEXP options, double *step,
                    const gpc_gp_state *state, gpc_gp_setup *setup, size_t *fine) {
  const double lowest = number(options, "lowest"), highest = number(options, "highest");
  const double low = number(options, "bulk_low"), high = number(options, "bulk_high");
  gpc_line next;
  if (!gpc_line_make(lowest, highest, low, high, *step, 1.0 / 12.0, MOST_NODES,
                     &setup->line))
    return 0;
  *step *= 0.5;
  setup->may_halve =
      gpc_line_make(lowest, highest, low, high, *step, 1.0 / 12.0, MOST_NODES / 2, &next);
  set_labels(data, setup);
  const size_t g = setup->line.g;
  double *psi = r_work(g);
  for (size_t i = 0; i < g; i++) /* room for a slope that grows, or a bend */
    psi[i] = setup->mean == GPC_MEAN_LOG
                 ? 0.0
                 : 1.3 * state->point.slope * gpc_line_node(&setup->line, i);
  size_t times = gpc_rows_times(g, psi);
  *fine = times == 0 ? 0 : times < 2 ? 2 : times;
  return 1;
}

SEXP r_gp_fit(SEXP z, SEXP labels, SEXP weights, SEXP shift, SEXP inducing, SEXP options,
              SEXP threads) {
  gpc_gp_data data = {0};
  data.z = r_matrix(z, "z", &data.n, &data.k);
  data.label = r_codes(labels, "labels", data.n, data.k);
  data.w = r_doubles_or_null(weights, "weights", (R_xlen_t)data.n);
  data.shift = r_doubles_or_null(shift, "shift", (R_xlen_t)data.n);
  data.floor = number(options, "floor");
  data.threads = r_threads(threads);
  const size_t m = (size_t)XLENGTH(inducing);
  gpc_gp_setup setup;
  memset(&setup, 0, sizeof setup);
  setup.mean = flag(options, "log_mean") ? GPC_MEAN_LOG : GPC_MEAN_LINEAR;
  setup.cov = flag(options, "diag") ? GPC_COV_DIAG : GPC_COV_FULL;
  setup.m = m;
  setup.slope_free = flag(options, "slope_free");
  setup.slope_low = number(options, "slope_low");
  setup.slope_high = number(options, "slope_high");
  setup.box.s2_free = flag(options, "variance_free");
  setup.box.l_free = flag(options, "lengthscale_free");
  setup.box.inducing_free = flag(options, "inducing_free");
  setup.box.radius = number(options, "radius");
  setup.box.s2_low = number(options, "variance_low");
  setup.box.s2_high = number(options, "variance_high");
  setup.box.l_low = number(options, "lengthscale_low");
  setup.box.l_high = number(options, "lengthscale_high");
  setup.box.max_steps = 30;
  setup.box.poll = r_poll;
  setup.short_l = number(options, "short_lengthscale");
  setup.tol = number(options, "tol");
  setup.box.tol = 0.1 * setup.tol;
  setup.max_passes = r_count(r_element(options, "max_passes"), "max_passes");
  SEXP starts = r_element(options, "start_lengthscale");
  setup.start_l = r_doubles(starts, "start_lengthscale", -1);
  setup.starts = (size_t)XLENGTH(starts);
  static const char *names[] = {
      "status",   "elbo",   "variance", "lengthscale", "noise",       "slope",
      "inducing", "q_mean", "q_cov",    "passes",      "steps",       "promise",
      "route",    "nodes",  "fine",     "slope_var",   "slope_cross", ""};
  SEXP out = PROTECT(r_named_list(names));
  SEXP w = Rf_allocVector(REALSXP, (R_xlen_t)m);
  SET_VECTOR_ELT(out, 6, w);
  memcpy(REAL(w), r_doubles(inducing, "inducing", -1), m * sizeof(double));
  SEXP q_mean = Rf_allocVector(REALSXP, (R_xlen_t)m);
  SET_VECTOR_ELT(out, 7, q_mean);
  SEXP q_cov = Rf_allocMatrix(REALSXP, (int)m, (int)m);
  SET_VECTOR_ELT(out, 8, q_cov);
  gpc_gp_state state;
  memset(&state, 0, sizeof state);
  state.point.slope = number(options, "slope");
  state.point.hyper.s2 = number(options, "variance");
  state.point.hyper.l = setup.start_l[0];
  state.point.hyper.sn2 = number(options, "noise");
  state.point.inducing = REAL(w);
  state.point.q_mean = REAL(q_mean);
  state.point.q_cov = REAL(q_cov);
  SEXP cross = Rf_allocVector(REALSXP, (R_xlen_t)m);
  SET_VECTOR_ELT(out, 16, cross);
  memset(REAL(cross), 0, m * sizeof(double));
  state.slope_cross = REAL(cross);
  memset(REAL(q_mean), 0, m * sizeof(double));
  memset(REAL(q_cov), 0, m * m * sizeof(double));
  SEXP q_start = r_element_or_null(options, "q_mean");
  if (q_start != R_NilValue) {
    memcpy(REAL(q_mean), r_doubles(q_start, "q_mean", (R_xlen_t)m), m * sizeof(double));
    memcpy(REAL(q_cov),
           r_doubles(r_element(options, "q_cov"), "q_cov", (R_xlen_t)(m * m)),
           m * m * sizeof(double));
    state.warm = 1;
  }
  gpc_status status = GPC_TOO_COARSE;
  double step = number(options, "step");
  gpc_gp_finer finer = {0, 1};
  setup.may_halve = 1;
  const int use_rows = flag(options, "rows");
  /* a fit of much data shall not take much more memory than they do */
  const double scores = (double)data.n * (double)data.k;
  const double most = scores > 2e6 ? 1.4 * scores : INFINITY;
  const void *mark = vmaxget();
  poll_state poll = {&state, flag(options, "trace")};
  while (status == GPC_TOO_COARSE) {
    vmaxset(mark);
    if (!finer.halve) /* the line stays, but its tables have been given back */
      set_labels(&data, &setup);
    else if (!lay_line(&data, options, &step, &state, &setup, &finer.times))
      break;
    setup.rows = NULL;
    if (use_rows && finer.times > 0 && (setup.line.g - 1) * finer.times < MOST_FINE)
      setup.rows = r_gp_compress(&data, &setup.line, finer.times, most);
    status = gpc_gp_fit(&data, &setup, poll_fit, &poll,
                        r_work(gpc_gp_fit_work(&data, &setup)), &state, &finer);
    finer.times += finer.times / 4;
  }
  SET_VECTOR_ELT(out, 0, r_status(status));
  SET_VECTOR_ELT(out, 1, Rf_ScalarReal(state.elbo));
  SET_VECTOR_ELT(out, 2, Rf_ScalarReal(state.point.hyper.s2));
  SET_VECTOR_ELT(out, 3, Rf_ScalarReal(state.point.hyper.l));
  SET_VECTOR_ELT(out, 4, Rf_ScalarReal(state.point.hyper.sn2));
  SET_VECTOR_ELT(out, 5, Rf_ScalarReal(state.point.slope));
  SET_VECTOR_ELT(out, 15, Rf_ScalarReal(state.slope_var));
  SET_VECTOR_ELT(out, 9, Rf_ScalarInteger(state.passes));
  SET_VECTOR_ELT(out, 10, Rf_ScalarInteger(state.steps));
  SET_VECTOR_ELT(out, 11, Rf_ScalarReal(state.promise));
  SET_VECTOR_ELT(out, 12, Rf_ScalarInteger(setup.rows ? 2 : 1));
  SET_VECTOR_ELT(out, 13, Rf_ScalarInteger((int)setup.line.g));
  SET_VECTOR_ELT(out, 14, Rf_ScalarInteger((int)(setup.rows ? setup.rows->fine.g : 0)));
  UNPROTECT(1);
  return out;
}

SEXP r_gp_prepare(SEXP z, SEXP floor, SEXP centre, SEXP threads) {
  gpc_gp_data data = {0};
  data.z = r_matrix(z, "z", &data.n, &data.k);
  data.floor = r_number(floor, "floor");
  data.threads = r_threads(threads);
  static const char *names[] = {"shift", "range", "flat", ""};
  SEXP out = PROTECT(r_named_list(names));
  gpc_gp_range range;
  double *means = NULL;
  if (r_flag(centre, "centre")) {
    SEXP shift = Rf_allocVector(REALSXP, (R_xlen_t)data.n);
    SET_VECTOR_ELT(out, 0, shift);
    means = REAL(shift);
  }
  /* given back at once, not at R's next collection; nothing in between can fail */
  double *low = R_Calloc(data.n, double), *high = R_Calloc(data.n, double);
  gpc_gp_row_range(&data, means, low, high);
  const int flat = gpc_gp_is_flat(data.n, means, low, high);
  gpc_gp_find_range(data.n, low, high, &range);
  R_Free(low);
  R_Free(high);
  SEXP four = Rf_allocVector(REALSXP, 4);
  SET_VECTOR_ELT(out, 1, four);
  REAL(four)[0] = range.lowest;
  REAL(four)[1] = range.highest;
  REAL(four)[2] = range.bulk_low;
  REAL(four)[3] = range.bulk_high;
  SET_VECTOR_ELT(out, 2, Rf_ScalarLogical(flat));
  UNPROTECT(1);
  return out;
}
