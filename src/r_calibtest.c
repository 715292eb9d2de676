/* r_calibtest.c: .Call layer of calibtest.h and recal.h. Statistics come with the one
 * observed first, then one per replicate with labels drawn from the probabilities; seed,
 * first and count as in r_resample.c. */
#include "r_measures.h"
#include "calibtest.h"
#include "radix.h"
#include "recal.h"
#include "resample.h"
#include <math.h>

static uint64_t seed_of(SEXP seed) {
  const double *half = r_doubles(seed, "seed", 2);
  return ((uint64_t)half[0] << 32) | (uint64_t)half[1];
}

/* Calls value(context, label) for the labels as they are and for every replicate. */
static SEXP with_draws(const gpc_forecast *f, SEXP seed, SEXP first, SEXP count,
                       double (*value)(void *, const int *), void *context) {
  const size_t reps = (size_t)r_count(count, "count");
  const size_t from = (size_t)r_count(first, "first");
  const uint64_t start = seed_of(seed);
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, 1, (int)reps + 1));
  REAL(out)[0] = value(context, f->labels);
  if (reps > 0) {
    double *cumulative = r_work(f->n * f->k);
    int *label = r_work_int(f->n);
    gpc_cumulate_rows(f->n, f->k, f->probs, cumulative);
    for (size_t r = 0; r < reps; r++) {
      gpc_draw_labels(f->n, f->k, cumulative, gpc_stream(start, GPC_DRAW_NULL, from + r),
                      label);
      REAL(out)[r + 1] = value(context, label);
      r_poll(NULL);
    }
  }
  UNPROTECT(1);
  return out;
}

/* Likelihood ratio --------------------------------------------------------------------
 */

typedef struct {
  size_t n, k;
  const double *z;
  double *coef, *work;
  double tol;
} recal_job;

static double recal_value(void *context, const int *label) {
  recal_job *job = context;
  gpc_coxrecal_result result;
  gpc_coxrecal_fit(job->n, job->k, job->z, label, job->tol, 100, job->coef, job->work,
                   &result, r_poll, NULL);
  return 2.0 * (result.log_lik - result.null);
}

static double *log_probs(const gpc_forecast *f) {
  double *z = r_work(f->n * f->k);
  for (size_t i = 0; i < f->n * f->k; i++)
    z[i] = log(f->probs[i]);
  return z;
}

SEXP r_coxrecal_draw(SEXP forecast, SEXP seed, SEXP first, SEXP count) {
  gpc_forecast f = r_forecast(forecast);
  recal_job job = {
      f.n, f.k, log_probs(&f), r_work(f.k + 1), r_work(gpc_coxrecal_work(f.k)), 1e-9};
  return with_draws(&f, seed, first, count, recal_value, &job);
}

/* list(coef, log_lik, null, information, status): slope and offsets. */
SEXP r_coxrecal_fit(SEXP forecast) {
  static const char *names[] = {"coef", "log_lik", "null", "information", "status", ""};
  gpc_forecast f = r_forecast(forecast);
  const double *z = log_probs(&f);
  double *work = r_work(gpc_coxrecal_work(f.k));
  gpc_coxrecal_result result;
  SEXP out = PROTECT(r_named_list(names));
  SET_VECTOR_ELT(out, 0, Rf_allocVector(REALSXP, (R_xlen_t)f.k + 1));
  SET_VECTOR_ELT(out, 3, Rf_allocMatrix(REALSXP, (int)f.k, (int)f.k));
  const gpc_status status =
      gpc_coxrecal_fit(f.n, f.k, z, f.labels, 1e-9, 100, REAL(VECTOR_ELT(out, 0)), work,
                       &result, r_poll, NULL);
  gpc_coxrecal_information(f.n, f.k, z, REAL(VECTOR_ELT(out, 3)), work, r_poll, NULL);
  SET_VECTOR_ELT(out, 1, Rf_ScalarReal(result.log_lik));
  SET_VECTOR_ELT(out, 2, Rf_ScalarReal(result.null));
  SET_VECTOR_ELT(out, 4, r_status(status));
  UNPROTECT(1);
  return out;
}

/* Spiegelhalter ------------------------------------------------------------------------
 */

typedef struct {
  size_t n;
  const double *p, *square;
} spread_job;

static double spread_value(void *context, const int *label) {
  const spread_job *job = context;
  double sum = 0.0;
  for (size_t i = 0; i < job->n; i++)
    sum += job->square[i] - job->p[i + ((size_t)label[i] - 1) * job->n];
  return sum;
}

/* Sums over rows of square less the probability of the label; square [n]: sum_k p_k^2. */
SEXP r_spread_draw(SEXP forecast, SEXP square, SEXP seed, SEXP first, SEXP count) {
  gpc_forecast f = r_forecast(forecast);
  spread_job job = {f.n, f.probs, r_doubles(square, "square", (R_xlen_t)f.n)};
  return with_draws(&f, seed, first, count, spread_value, &job);
}

/* Miscalibration ----------------------------------------------------------------------
 */

static double mcb_value(void *context, const int *label) {
  return gpc_mcb_value(context, label);
}

static gpc_mcb prepared_mcb(const gpc_forecast *f) {
  const size_t maps = f->k == 2 ? 1 : f->k;
  gpc_mcb mcb = {.groups = (size_t *)R_alloc(maps, sizeof(size_t)),
                 .group_of = r_work_int(f->n * maps),
                 .score = r_work(f->n * maps),
                 .weight = r_work(f->n * maps),
                 .hits = r_work(f->n),
                 .pooled = r_work(f->n),
                 .start = r_work_int(f->n)};
  gpc_mcb_prepare(f->n, f->k, f->probs, &mcb,
                  R_alloc(gpc_radix_work(f->n) + (f->n + 1) * sizeof(int), 1));
  return mcb;
}

SEXP r_mcb_draw(SEXP forecast, SEXP seed, SEXP first, SEXP count) {
  gpc_forecast f = r_forecast(forecast);
  gpc_mcb mcb = prepared_mcb(&f);
  return with_draws(&f, seed, first, count, mcb_value, &mcb);
}

/* The same where residuals of whole groups (codes 1..units) keep or change their sign. */
SEXP r_mcb_sign_draw(SEXP forecast, SEXP group, SEXP units, SEXP seed, SEXP first,
                     SEXP count) {
  gpc_forecast f = r_forecast(forecast);
  const size_t reps = (size_t)r_count(count, "count");
  const size_t from = (size_t)r_count(first, "first");
  const size_t many = (size_t)r_count(units, "units");
  const int *codes = r_codes(group, "group", f.n, many);
  gpc_mcb mcb = prepared_mcb(&f);
  double *sign = r_work(many);
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, 1, (int)reps + 1));
  REAL(out)[0] = gpc_mcb_value(&mcb, f.labels);
  for (size_t r = 0; r < reps; r++) {
    gpc_sign_draw(many, seed_of(seed), from + r, 1, sign);
    REAL(out)[r + 1] = gpc_mcb_signed(&mcb, f.labels, codes, sign);
    r_poll(NULL);
  }
  UNPROTECT(1);
  return out;
}

/* Kernel calibration error -------------------------------------------------------------
 */

static gpc_skce_kernel r_kernel(SEXP kernel) {
  const int code = r_count(kernel, "kernel");
  if (code > GPC_KERNEL_GAUSSIAN)
    Rf_error("internal error: unknown kernel");
  return (gpc_skce_kernel)code;
}

static double skce_value(void *context, const int *label) {
  return gpc_skce_quadratic(context, label);
}

SEXP r_skce_draw(SEXP forecast, SEXP kernel, SEXP width, SEXP seed, SEXP first,
                 SEXP count) {
  gpc_forecast f = r_forecast(forecast);
  gpc_skce skce = {f.n, f.k, r_work(f.n * (f.n - 1) / 2 + 1), r_work(f.n * f.k), 0.0};
  gpc_skce_prepare(r_kernel(kernel), r_number(width, "width"), f.probs, &skce, r_poll,
                   NULL);
  return with_draws(&f, seed, first, count, skce_value, &skce);
}

/* Sums of h over pairs of rows of different groups, [units x units]. */
SEXP r_skce_groups(SEXP forecast, SEXP kernel, SEXP width, SEXP group, SEXP units) {
  gpc_forecast f = r_forecast(forecast);
  const size_t many = (size_t)r_count(units, "units");
  const int *codes = r_codes(group, "group", f.n, many);
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, (int)many, (int)many));
  gpc_skce_groups(r_kernel(kernel), r_number(width, "width"), f.n, f.k, f.probs, f.labels,
                  codes, many, r_work(f.n * f.k), REAL(out), r_poll, NULL);
  UNPROTECT(1);
  return out;
}

/* h of the rows taken two by two. */
SEXP r_skce_pairs(SEXP forecast, SEXP kernel, SEXP width) {
  gpc_forecast f = r_forecast(forecast);
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)(f.n / 2)));
  gpc_skce_pairs(r_kernel(kernel), r_number(width, "width"), f.n, f.k, f.probs, f.labels,
                 REAL(out));
  UNPROTECT(1);
  return out;
}

/* Distances of all pairs of the rows (numbers from 1). */
SEXP r_skce_distances(SEXP forecast, SEXP kernel, SEXP rows) {
  gpc_forecast f = r_forecast(forecast);
  const R_xlen_t m = XLENGTH(rows);
  const int *at = r_codes(rows, "rows", (size_t)m, f.n);
  SEXP out = PROTECT(Rf_allocVector(REALSXP, m * (m - 1) / 2));
  double *to = REAL(out);
  for (R_xlen_t i = 1; i < m; i++)
    for (R_xlen_t j = 0; j < i; j++)
      *to++ = gpc_skce_distance(r_kernel(kernel), f.n, f.k, f.probs, (size_t)at[i] - 1,
                                (size_t)at[j] - 1);
  UNPROTECT(1);
  return out;
}
