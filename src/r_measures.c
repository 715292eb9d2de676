/* r_measures.c: .Call layer of measures.h and corp.h. */
#include "r_measures.h"
#include "corp.h"
#include <stdint.h>
#include <string.h>

int r_class(SEXP x, const char *name, size_t k) {
  int code = r_count(x, name);
  if (code < 1 || (size_t)code > k)
    Rf_error("internal error: '%s' is not a class number", name);
  return code;
}

gpc_forecast r_forecast(SEXP list) {
  gpc_forecast f;
  f.probs = r_matrix(r_element(list, "probs"), "probs", &f.n, &f.k);
  f.labels = r_codes(r_element(list, "labels"), "labels", f.n, f.k);
  f.conf = r_doubles(r_element(list, "conf"), "conf", (R_xlen_t)f.n);
  f.pred = r_codes(r_element(list, "pred"), "pred", f.n, f.k);
  f.weights =
      r_doubles_or_null(r_element_or_null(list, "weights"), "weights", (R_xlen_t)f.n);
  return f;
}

gpc_ece_spec r_ece_spec(SEXP list, size_t k) {
  gpc_ece_spec spec;
  spec.type = (gpc_ece_type)r_count(r_element(list, "type"), "type");
  spec.event = spec.type == GPC_EVENT ? r_class(r_element(list, "event"), "event", k) : 0;
  spec.bins = (size_t)r_count(r_element(list, "bins"), "bins");
  spec.mass = r_flag(r_element(list, "mass"), "mass");
  spec.estimator = (gpc_ece_estimator)r_count(r_element(list, "estimator"), "estimator");
  spec.norm = r_number(r_element(list, "norm"), "norm");
  spec.debias = r_flag(r_element(list, "debias"), "debias");
  if (spec.type > GPC_EVENT || spec.estimator > GPC_UNWEIGHTED || spec.bins < 1)
    Rf_error("internal error: unknown kind of calibration error");
  return spec;
}

gpc_by_class r_by_class(const gpc_forecast *f, const gpc_ece_spec *spec) {
  gpc_by_class groups = {NULL, NULL, NULL, NULL};
  if (spec->type == GPC_TOP_LABEL) {
    groups.start = (size_t *)R_alloc(f->k + 1, sizeof(size_t));
    groups.conf = r_work(f->n);
    groups.labels = r_work_int(f->n);
    groups.weights = f->weights ? r_work(f->n) : NULL;
  }
  return groups;
}

void *r_sort_work(const gpc_forecast *f, const gpc_ece_spec *spec) {
  return spec->mass ? R_alloc(gpc_binning_mass_work(f->n), 1) : NULL;
}

/* Columns of doubles as elements 0 .. count - 1 of a list. */
static void set_columns(SEXP list, int count, const double **columns, size_t length) {
  for (int c = 0; c < count; c++) {
    SEXP column = Rf_allocVector(REALSXP, (R_xlen_t)length);
    SET_VECTOR_ELT(list, c, column);
    if (length > 0)
      memcpy(REAL(column), columns[c], length * sizeof(double));
  }
}

static const char *sum_names[] = {"lower",  "upper", "n",    "weight",
                                  "square", "score", "hits", ""};
enum { LOWER, UPPER, COUNT, WEIGHT, SQUARE, SCORE, HITS, COLUMNS };

/* The sums of all bins: a list per problem of vectors with a value per bin. */
SEXP r_bin_sums(SEXP forecast, SEXP spec) {
  gpc_forecast f = r_forecast(forecast);
  gpc_ece_spec s = r_ece_spec(spec, f.k);
  gpc_by_class groups = r_by_class(&f, &s);
  void *sort = r_sort_work(&f, &s);
  double *edges = r_work(s.bins + 1);
  gpc_bin_sums sums = {r_work(s.bins), r_work(s.bins), r_work(s.bins), r_work(s.bins),
                       r_work(s.bins)};
  size_t problems = gpc_problem_count(s.type, f.k);
  const double *columns[COLUMNS] = {edges,       edges + 1,  sums.count, sums.weight,
                                    sums.square, sums.score, sums.hits};
  if (s.type == GPC_TOP_LABEL)
    gpc_by_class_fill(&f, &groups);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)problems));
  for (size_t i = 0; i < problems; i++) {
    gpc_problem problem = gpc_problem_get(&f, &s, &groups, i);
    gpc_binning binning = gpc_problem_bins(&problem, &s, f.k, edges, sort);
    gpc_bin_sums_fill(&problem, &binning, sums);
    SEXP table = r_named_list(sum_names);
    SET_VECTOR_ELT(out, (R_xlen_t)i, table);
    set_columns(table, COLUMNS, columns, binning.bins);
    r_poll(NULL);
  }
  UNPROTECT(1);
  return out;
}

/* The calibration error of what bin_sums returned, or of such sums added up. */
SEXP r_sums_error(SEXP sums, SEXP spec) {
  if (TYPEOF(sums) != VECSXP || XLENGTH(sums) < 1)
    Rf_error("internal error: 'sums' is not a list");
  size_t problems = (size_t)XLENGTH(sums);
  gpc_ece_spec s = r_ece_spec(spec, SIZE_MAX);
  double *edges = r_work(s.bins + 1), *gaps = r_work(s.bins), *errors = r_work(problems),
         *weights = r_work(problems);
  for (size_t i = 0; i < problems; i++) {
    SEXP table = VECTOR_ELT(sums, (R_xlen_t)i);
    R_xlen_t bins = XLENGTH(r_element(table, "weight"));
    if ((size_t)bins > s.bins)
      Rf_error("internal error: there are more bins than asked for");
    const double *part[COLUMNS];
    for (int c = 0; c < COLUMNS; c++)
      part[c] = r_doubles(r_element(table, sum_names[c]), sum_names[c], bins);
    gpc_binning binning = {.bins = (size_t)bins, .edges = edges};
    weights[i] = 0.0;
    for (R_xlen_t b = 0; b < bins; b++) {
      edges[b] = part[LOWER][b];
      edges[b + 1] = part[UPPER][b];
      weights[i] += part[WEIGHT][b];
    }
    /* read only */
    gpc_bin_sums own = {.weight = (double *)part[WEIGHT],
                        .score = (double *)part[SCORE],
                        .hits = (double *)part[HITS]};
    errors[i] = gpc_bin_sums_error(&binning, own, &s, gaps);
  }
  return Rf_ScalarReal(gpc_problem_errors(&s, problems, errors, weights));
}

static SEXP three(double a, double b, double c) {
  SEXP out = Rf_allocVector(REALSXP, 3);
  REAL(out)[0] = a;
  REAL(out)[1] = b;
  REAL(out)[2] = c;
  return out;
}

/* weight, right, over, under: see gpc_totals. */
SEXP r_measure_totals(SEXP forecast) {
  gpc_forecast f = r_forecast(forecast);
  gpc_totals t = gpc_measure_totals(&f);
  SEXP out = Rf_allocVector(REALSXP, 5);
  REAL(out)[0] = t.weight;
  REAL(out)[1] = t.right;
  REAL(out)[2] = t.over;
  REAL(out)[3] = t.under;
  REAL(out)[4] = t.wrong;
  return out;
}

SEXP r_measure_spread(SEXP forecast) {
  gpc_forecast f = r_forecast(forecast);
  return Rf_ScalarReal(gpc_measure_spread(f.n, f.conf, f.weights));
}

/* weight, sum, impossible: see gpc_loss. */
SEXP r_measure_log_loss(SEXP forecast, SEXP eps) {
  gpc_forecast f = r_forecast(forecast);
  gpc_loss loss = gpc_measure_log_loss(&f, r_number(eps, "eps"));
  return three(loss.weight, loss.sum, loss.impossible);
}

/* event: a class number, or 0 for all classes. The same. */
SEXP r_measure_brier(SEXP forecast, SEXP event) {
  gpc_forecast f = r_forecast(forecast);
  int code = r_count(event, "event");
  if (code > 0)
    code = r_class(event, "event", f.k);
  gpc_loss loss = gpc_measure_brier(&f, code, r_poll, NULL);
  return three(loss.weight, loss.sum, loss.impossible);
}

/* The isotonic curve of class `event` and the parts of its scores: a list of vectors, the
 * last two (score, recalibrated, constant). */
SEXP r_corp_fit(SEXP forecast, SEXP event) {
  static const char *names[] = {"lower", "upper", "weight", "score",
                                "fit",   "brier", "log",    ""};
  gpc_forecast f = r_forecast(forecast);
  int code = r_class(event, "event", f.k);
  double *y = r_work(f.n);
  for (size_t i = 0; i < f.n; i++)
    y[i] = f.labels[i] == code;
  gpc_corp corp = {0,           r_work(f.n), r_work(f.n), r_work(f.n),
                   r_work(f.n), r_work(f.n), {0, 0, 0},   {0, 0, 0}};
  gpc_corp_fit(f.n, f.probs + (size_t)(code - 1) * f.n, y, f.weights, &corp,
               R_alloc(gpc_corp_work(f.n), 1));
  const double *columns[] = {corp.lower, corp.upper, corp.weight, corp.score, corp.fit};
  SEXP out = PROTECT(r_named_list(names));
  set_columns(out, 5, columns, corp.blocks);
  const gpc_corp_parts *parts[] = {&corp.brier, &corp.log};
  for (int c = 0; c < 2; c++) {
    SEXP part = Rf_allocVector(REALSXP, 3);
    SET_VECTOR_ELT(out, 5 + c, part);
    REAL(part)[0] = parts[c]->score;
    REAL(part)[1] = parts[c]->recalibrated;
    REAL(part)[2] = parts[c]->constant;
  }
  UNPROTECT(1);
  return out;
}
