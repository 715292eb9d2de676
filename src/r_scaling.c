/* r_scaling.c: .Call layer of scaling.h: Platt scaling and beta calibration, for one
 * class or one against the rest. */
#include "r_util.h"
#include "scaling.h"
#include <math.h>

typedef struct {
  size_t n, k, first; /* `first`: which column is map 0 */
  double *scores;     /* [n x k] */
  const int *labels;
  const double *weights, *constant; /* as in r_curves.c */
  int beta;                         /* beta calibration, or Platt scaling */
  int smoothed;
  gpc_beta_params params;
  double clip, tol, limit;
  int max_iter;
} scaling_job;

/* A class that is not fitted: its rate, at any score. */
static void constant_map(double rate, int beta, gpc_logistic_result *r) {
  *r = (gpc_logistic_result){{0.0}, {NAN, NAN, NAN}, {{NAN}}, NAN, 0};
  for (int a = 0; a < GPC_LOGISTIC_MAX; a++)
    for (int b = 0; b < GPC_LOGISTIC_MAX; b++)
      r->cov[a][b] = NAN;
  r->coef[beta ? 2 : 1] = log(rate / (1.0 - rate));
}

static gpc_status fit_one(const scaling_job *job, size_t j, double *range, double *work,
                          gpc_logistic_result *r) {
  const size_t column = job->first + j, n = job->n;
  double *x = job->scores + column * n, *rest = work + 2 * n;
  gpc_one one = {n, x, job->labels, (int)column + 1, job->weights};
  range[0] = range[1] = 0.0;
  if (!job->beta)
    gpc_bound_infinite(n, job->weights, job->limit, x, range);
  if (!isnan(job->constant[j])) {
    constant_map(job->constant[j], job->beta, r);
    return GPC_OK;
  }
  if (!job->beta)
    return gpc_platt_fit(&one, job->smoothed, job->tol, job->max_iter, r);
  for (size_t i = 0; i < n; i++)
    rest[i] = job->k == 2 ? job->scores[i] : 1.0 - x[i];
  return gpc_beta_fit(&one, rest, job->params, job->clip, job->tol, job->max_iter, work,
                      r);
}

/* scores [n x k]: probabilities, or for Platt scaling any; a matrix of the caller's own,
 * in which infinite scores are replaced. options: list(beta, smoothed, params, clip, tol,
 * max_iter, limit). */
SEXP r_scaling_fit(SEXP scores, SEXP labels, SEXP weights, SEXP constant, SEXP options,
                   SEXP threads) {
  scaling_job job;
  r_matrix(scores, "scores", &job.n, &job.k);
  job.scores = REAL(scores);
  job.labels = r_codes(labels, "labels", job.n, job.k);
  job.weights = r_doubles_or_null(weights, "weights", (R_xlen_t)job.n);
  const size_t maps = job.k == 2 ? 1 : job.k;
  job.first = job.k == 2;
  job.constant = r_doubles(constant, "constant", (R_xlen_t)maps);
  job.beta = r_flag(r_element(options, "beta"), "beta");
  job.smoothed = r_flag(r_element(options, "smoothed"), "smoothed");
  job.params = (gpc_beta_params)r_count(r_element(options, "params"), "params");
  job.clip = r_number(r_element(options, "clip"), "clip");
  job.limit = r_number(r_element(options, "limit"), "limit");
  job.tol = r_number(r_element(options, "tol"), "tol");
  job.max_iter = r_count(r_element(options, "max_iter"), "max_iter");
  if (job.params > GPC_BETA_AB)
    Rf_error("internal error: unknown parameters");

  const int terms = job.beta ? 3 : 2;
  static const char *names[] = {"coef",       "se",     "range", "log_lik",
                                "iterations", "status", "cov",   ""};
  SEXP out = PROTECT(r_named_list(names));
  SET_VECTOR_ELT(out, 0, Rf_allocMatrix(REALSXP, terms, (int)maps));
  SET_VECTOR_ELT(out, 1, Rf_allocMatrix(REALSXP, terms, (int)maps));
  SET_VECTOR_ELT(out, 2, Rf_allocMatrix(REALSXP, 2, (int)maps));
  SET_VECTOR_ELT(out, 3, Rf_allocVector(REALSXP, (R_xlen_t)maps));
  SET_VECTOR_ELT(out, 4, Rf_allocVector(INTSXP, (R_xlen_t)maps));
  SEXP status = Rf_allocVector(STRSXP, (R_xlen_t)maps);
  SET_VECTOR_ELT(out, 5, status);
  SET_VECTOR_ELT(out, 6, Rf_allocMatrix(REALSXP, terms * terms, (int)maps));
  double *range = REAL(VECTOR_ELT(out, 2));

  size_t workers = (size_t)r_threads(threads);
  workers = workers < maps ? workers : maps;
  const size_t chunk = 32 * workers < maps ? 32 * workers : maps;
  const size_t room = job.beta ? 3 * job.n : 0;
  double *work = r_work(workers * room);
  gpc_logistic_result *result =
      (gpc_logistic_result *)R_alloc(chunk, sizeof(gpc_logistic_result));
  gpc_status *state = (gpc_status *)R_alloc(chunk, sizeof(gpc_status));
  for (size_t base = 0; base < maps; base += chunk) {
    const size_t count = maps - base < chunk ? maps - base : chunk;
#pragma omp parallel for num_threads((int)workers) if (workers > 1) schedule(static, 1)
    for (size_t t = 0; t < workers; t++)
      for (size_t i = t; i < count; i += workers)
        state[i] =
            fit_one(&job, base + i, range + 2 * (base + i), work + t * room, result + i);
    for (size_t i = 0; i < count; i++) {
      for (size_t a = 0; a < (size_t)terms; a++) {
        REAL(VECTOR_ELT(out, 0))[(base + i) * (size_t)terms + a] = result[i].coef[a];
        REAL(VECTOR_ELT(out, 1))
        [(base + i) * (size_t)terms + a] =
            isnan(result[i].se[a]) ? NA_REAL : result[i].se[a];
      }
      double *cov = REAL(VECTOR_ELT(out, 6)) + (base + i) * (size_t)(terms * terms);
      for (int a = 0; a < terms; a++)
        for (int b = 0; b < terms; b++)
          cov[a * terms + b] =
              isfinite(result[i].cov[a][b]) ? result[i].cov[a][b] : NA_REAL;
      REAL(VECTOR_ELT(out, 3))[base + i] = result[i].log_lik;
      INTEGER(VECTOR_ELT(out, 4))[base + i] = result[i].iterations;
      SET_STRING_ELT(status, (R_xlen_t)(base + i), STRING_ELT(r_status(state[i]), 0));
    }
    r_poll(NULL);
  }
  UNPROTECT(1);
  return out;
}
