/* r_mono.c: .Call layer of maps that keep the order: mono_predict.h. For `at` see
 * r_gp_unpack.h; its z are the scores of the table (log z for the log mean). `fit` is as
 * there, and has `range`, `scores_seen$breaks` and `order_mass` besides. `functions` is a
 * list of `x` [m x pairs], standard normal, m as given by mono_inputs, and `tilt` [pairs]
 * or NULL. */
#include "mono_latent.h"
#include "mono_predict.h"
#include "mono_project.h"
#include "r_gp_unpack.h"

#include <float.h>
#include <math.h>
#include <string.h>

static gpc_mono_seen unpack_seen(SEXP fit, const gpc_gp_fitted *process) {
  const double *range = r_doubles(r_element(fit, "range"), "range", 2);
  const double *ends =
      r_doubles(r_element(r_element(fit, "scores_seen"), "breaks"), "breaks", 2);
  SEXP mass = r_element(fit, "order_mass");
  gpc_mono_seen seen = {.lowest = gpc_prior_line(&process->prior, range[0]),
                        .highest = gpc_prior_line(&process->prior, range[1]),
                        .from = ends[0],
                        .to = ends[1],
                        .bins = (size_t)XLENGTH(mass) - 2,
                        .mass = r_doubles(mass, "order_mass", -1)};
  if (XLENGTH(mass) < 3)
    Rf_error("internal error: 'order_mass' is too short");
  return seen;
}

static gpc_mono_table unpack_table(SEXP fit) {
  gpc_gp_fitted process = r_gp_fitted(fit);
  const gpc_mono_seen seen = unpack_seen(fit, &process);
  gpc_mono_table table;
  if (gpc_mono_table_make(&process, &seen, &r_memory, &table) != GPC_OK)
    Rf_error("internal error: the posterior covariance is not positive definite");
  return table;
}

/* The table itself, for tests: nodes, weights, phi and its projection; how many nodes lie
 * below the range seen and where it ends (from 1). */
SEXP r_mono_table(SEXP fit) {
  const gpc_mono_table table = unpack_table(fit);
  const double *part[4] = {table.t, table.weight, table.phi, table.map};
  static const char *names[] = {"t", "weight", "phi", "map", "first", "last", ""};
  SEXP out = PROTECT(r_named_list(names));
  for (int i = 0; i < 4; i++) {
    SET_VECTOR_ELT(out, i, Rf_allocVector(REALSXP, (R_xlen_t)table.nodes));
    memcpy(REAL(VECTOR_ELT(out, i)), part[i], table.nodes * sizeof(double));
  }
  SET_VECTOR_ELT(out, 4, Rf_ScalarInteger((int)table.first + 1));
  SET_VECTOR_ELT(out, 5, Rf_ScalarInteger((int)table.last + 1));
  UNPROTECT(1);
  return out;
}

/* How many inducing inputs functions have. */
SEXP r_mono_inputs(SEXP fit) {
  gpc_gp_fitted process = r_gp_fitted(fit);
  const gpc_mono_seen seen = unpack_seen(fit, &process);
  return Rf_ScalarInteger((int)gpc_mono_inputs(&process, &seen, &r_memory));
}

/* approx: 0 mean, 1 integrated. */
SEXP r_mono_predict(SEXP fit, SEXP at, SEXP approx, SEXP threads) {
  gpc_gp_data data = r_gp_scores(at, r_threads(threads));
  const gpc_mono_table table = unpack_table(fit);
  const int integrated = r_count(approx, "approx") == 1;
  SEXP out = PROTECT(r_new_matrix(data.n, data.k));
  if (gpc_mono_predict(&data, &table, integrated ? GPC_MONO_INTEGRATED : GPC_MONO_MEAN,
                       &r_memory, r_poll, NULL, REAL(out)) != GPC_OK)
    Rf_error("internal error: the posterior has no principal directions");
  UNPROTECT(1);
  return out;
}

/* Pairs first, ..., of the list `functions`, no more than f has room for. */
static gpc_mono_functions some_functions(const gpc_mono_table *table, SEXP functions,
                                         size_t first, size_t pairs) {
  gpc_mono_functions f = gpc_mono_functions_take(table, 2 * pairs, &r_memory);
  const double *x = r_doubles(r_element(functions, "x"), "x", -1);
  SEXP tilt = r_element_or_null(functions, "tilt");
  gpc_mono_functions_set(table, pairs, x + first * table->m,
                         tilt == R_NilValue ? NULL : REAL(tilt) + first, &r_memory, &f);
  return f;
}

static size_t pairs_of(const gpc_mono_table *table, SEXP functions) {
  SEXP x = r_element(functions, "x"), tilt = r_element_or_null(functions, "tilt");
  const size_t pairs = (size_t)XLENGTH(x) / table->m;
  r_doubles(x, "x", (R_xlen_t)(pairs * table->m));
  r_doubles_or_null(tilt, "tilt", (R_xlen_t)pairs);
  return pairs;
}

#define PAIRS 64 /* tabulated at a time */

/* Averages [n x k] over the functions; with `keep` all of them [n x k x 2 pairs]. */
SEXP r_mono_draws(SEXP fit, SEXP at, SEXP functions, SEXP keep, SEXP threads) {
  gpc_gp_data data = r_gp_scores(at, r_threads(threads));
  const gpc_mono_table table = unpack_table(fit);
  const size_t pairs = pairs_of(&table, functions), scores = data.n * data.k;
  const int all = r_flag(keep, "keep");
  const size_t size = scores * (all ? 2 * pairs : 1);
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)size));
  double *p = REAL(out);
  if (!all)
    memset(p, 0, size * sizeof(double));
  for (size_t first = 0; first < pairs; first += PAIRS) {
    const size_t some = pairs - first < PAIRS ? pairs - first : PAIRS;
    void *mark = vmaxget();
    const gpc_mono_functions f = some_functions(&table, functions, first, some);
    if (all)
      gpc_mono_draws(&data, &table, &f, &r_memory, r_poll, NULL, p + 2 * first * scores);
    else
      gpc_mono_average(&data, &table, &f, 0.5 / (double)pairs, &r_memory, r_poll, NULL,
                       p);
    vmaxset(mark);
  }
  if (!all)
    gpc_mono_floor(size, p);
  UNPROTECT(1);
  return out;
}

/* Quantiles of the draws at ends = c(lower, upper): [n x k x 2]. */
SEXP r_mono_interval(SEXP fit, SEXP at, SEXP functions, SEXP ends, SEXP threads) {
  gpc_gp_data data = r_gp_scores(at, r_threads(threads));
  const gpc_mono_table table = unpack_table(fit);
  const double *end = r_doubles(ends, "ends", 2);
  const gpc_mono_functions f =
      some_functions(&table, functions, 0, pairs_of(&table, functions));
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)(2 * data.n * data.k)));
  gpc_mono_interval(&data, &table, &f, end[0], end[1], &r_memory, r_poll, NULL,
                    REAL(out));
  UNPROTECT(1);
  return out;
}

/* What projecting the mean costs on the calibration rows: their log-likelihood under the
 * mean as it is and projected; and how much the latter rises, beside the least slope,
 * over the middle nine tenths of the weight. */
SEXP r_mono_cost(SEXP fit, SEXP at, SEXP labels, SEXP weights, SEXP threads) {
  gpc_gp_data data = r_gp_scores(at, r_threads(threads));
  const gpc_mono_table table = unpack_table(fit);
  const size_t nodes = table.nodes;
  data.label = r_codes(labels, "labels", data.n, data.k);
  data.w = r_doubles_or_null(weights, "weights", (R_xlen_t)data.n);
  double *both = r_work(2 * nodes), sums[2], total = 0.0, so_far = 0.0;
  memcpy(both, table.phi, nodes * sizeof(double));
  memcpy(both + nodes, table.map, nodes * sizeof(double));
  gpc_mono_extend(&table, table.slope, both);
  gpc_mono_functions f = gpc_mono_functions_take(&table, 2, &r_memory);
  gpc_mono_functions_from(&table, both, &f);
  gpc_mono_log_lik(&data, &table, &f, &r_memory, r_poll, NULL, sums);
  for (size_t g = 0; g < nodes; g++)
    total += table.weight[g];
  size_t from = nodes, to = 0;
  for (size_t g = 0; g < nodes; g++) {
    so_far += table.weight[g];
    if (from == nodes && so_far >= 0.05 * total)
      from = g;
    if (so_far <= 0.95 * total)
      to = g;
  }
  to = to > from ? to : from;
  static const char *names[] = {"free", "ordered", "rise", "least", ""};
  SEXP out = PROTECT(r_named_list(names));
  SET_VECTOR_ELT(out, 0, Rf_ScalarReal(sums[0]));
  SET_VECTOR_ELT(out, 1, Rf_ScalarReal(sums[1]));
  SET_VECTOR_ELT(out, 2, Rf_ScalarReal(table.map[to] - table.map[from]));
  SET_VECTOR_ELT(out, 3, Rf_ScalarReal(table.least * (table.t[to] - table.t[from])));
  UNPROTECT(1);
  return out;
}

/* The map and its functions at points t: list of `mean`, the projected posterior mean,
 * and `var`, the variance of the functions of prediction about it. */
SEXP r_mono_latent(SEXP fit, SEXP t) {
  const gpc_mono_table table = unpack_table(fit);
  const size_t n = (size_t)XLENGTH(t);
  const double *point = r_doubles(t, "t", -1);
  double *var = r_work(table.nodes);
  static const char *names[] = {"mean", "var", ""};
  SEXP out = PROTECT(r_named_list(names));
  for (int i = 0; i < 2; i++)
    SET_VECTOR_ELT(out, i, Rf_allocVector(REALSXP, (R_xlen_t)n));
  if (gpc_mono_variance(&table, &r_memory, var) != GPC_OK)
    Rf_error("internal error: the posterior has no principal directions");
  gpc_mono_latent(&table, var, n, point, REAL(VECTOR_ELT(out, 0)),
                  REAL(VECTOR_ELT(out, 1)));
  UNPROTECT(1);
  return out;
}

/* Probabilities with their last 14 binary digits cleared: two that still differ have
 * logarithms further apart than any error of a logarithm, so that these keep the order.
 */
SEXP r_mono_clear(SEXP p) {
  size_t n, k;
  const double *from = r_matrix(p, "p", &n, &k);
  SEXP out = PROTECT(r_new_matrix(n, k));
  double *to = REAL(out);
  for (size_t i = 0; i < n * k; i++) {
    uint64_t bits;
    memcpy(&bits, from + i, sizeof bits);
    bits &= ~UINT64_C(0x3fff);
    memcpy(to + i, &bits, sizeof bits);
  }
  UNPROTECT(1);
  return out;
}
