/* r_curves.c: .Call layer of isotonic.h, bbq.h and histogram.h: methods whose maps are
 * given by points, for one class or one against the rest. */
#include "r_util.h"
#include "bbq.h"
#include "histogram.h"
#include "isotonic.h"
#include <limits.h>

typedef enum { ISOTONIC_LINEAR, ISOTONIC_STEP, BBQ, WIDTH, MASS } curve_method;

typedef struct {
  curve_method method;
  size_t n, bins, most; /* rows, bins asked for, most points of a class */
  const double *scores;
  const int *labels;
  const double *weights;
  double total; /* sum of weights */
  const double
      *constant; /* [maps]: the map of a class that is not to be fitted, or NaN */
  size_t first;  /* which column is map 0 */
} curve_job;

static size_t most_points(const curve_job *job) {
  switch (job->method) {
  case ISOTONIC_LINEAR:
  case ISOTONIC_STEP:
    return gpc_isotonic_points(job->n, job->weights != NULL);
  case BBQ:
    return job->n;
  default:
    return job->bins;
  }
}

static size_t work_bytes(const curve_job *job) {
  const int weighted = job->weights != NULL;
  switch (job->method) {
  case ISOTONIC_LINEAR:
  case ISOTONIC_STEP:
    return gpc_isotonic_work(job->n, weighted);
  case BBQ:
    return gpc_bbq_work(job->n, job->total, weighted);
  default:
    return gpc_histogram_work(job->n, job->bins, job->method == MASS);
  }
}

/* Map j: points into x, y; how many, and the evidence of BBQ. */
static size_t fit_one(const curve_job *job, size_t j, double *x, double *y,
                      double *evidence, void *work) {
  if (job->constant[j] == job->constant[j]) {
    x[0] = 1.0;
    y[0] = job->constant[j];
    return 1;
  }
  const size_t column = job->first + j;
  gpc_one one = {job->n, job->scores + column * job->n, job->labels, (int)column + 1,
                 job->weights};
  switch (job->method) {
  case ISOTONIC_LINEAR:
  case ISOTONIC_STEP:
    return gpc_isotonic_fit(&one, job->method == ISOTONIC_LINEAR, x, y, work);
  case BBQ:
    return gpc_bbq_fit(&one, job->total, x, y, evidence, work);
  default:
    return gpc_histogram_fit(&one, job->bins, job->method == MASS, x, y, work);
  }
}

/* Room for `used` + `more` numbers in the vector at *place of `out`. */
static void grow(SEXP out, int place, size_t used, size_t more) {
  SEXP old = VECTOR_ELT(out, place);
  const size_t size = (size_t)XLENGTH(old);
  if (used + more > size)
    SET_VECTOR_ELT(
        out, place,
        Rf_xlengthgets(old, (R_xlen_t)(2 * size > used + more ? 2 * size : used + more)));
}

/* scores [n x k] probabilities; constant: one number per map (k of them, or 1 for two
 * classes), NaN where a fit is wanted. */
SEXP r_curves_fit(SEXP scores, SEXP labels, SEXP weights, SEXP method, SEXP bins,
                  SEXP total, SEXP constant, SEXP threads) {
  curve_job job;
  size_t k;
  job.scores = r_matrix(scores, "scores", &job.n, &k);
  job.labels = r_codes(labels, "labels", job.n, k);
  job.weights = r_doubles_or_null(weights, "weights", (R_xlen_t)job.n);
  job.method = (curve_method)r_count(method, "method");
  job.bins = (size_t)r_count(bins, "bins");
  job.total = r_number(total, "total");
  const size_t maps = k == 2 ? 1 : k;
  job.constant = r_doubles(constant, "constant", (R_xlen_t)maps);
  job.first = k == 2;
  if (job.method > MASS || job.bins < 1)
    Rf_error("internal error: unknown method");
  job.most = most_points(&job);

  /* Each of `workers` fits two classes, one after the other, between polls. */
  size_t workers = (size_t)r_threads(threads);
  workers = workers < maps ? workers : maps;
  const size_t chunk = 2 * workers < maps ? 2 * workers : maps;
  const size_t bytes = (work_bytes(&job) + 63) / 64 * 64;
  char *work = (char *)r_work(workers * (bytes / sizeof(double)));
  double *x = r_work(chunk * job.most), *y = r_work(chunk * job.most);
  size_t *found = (size_t *)R_alloc(chunk, sizeof(size_t));

  static const char *names[] = {"x", "y", "start", "evidence", ""};
  SEXP out = PROTECT(r_named_list(names));
  SET_VECTOR_ELT(out, 0, Rf_allocVector(REALSXP, (R_xlen_t)maps));
  SET_VECTOR_ELT(out, 1, Rf_allocVector(REALSXP, (R_xlen_t)maps));
  SET_VECTOR_ELT(out, 2, Rf_allocVector(INTSXP, (R_xlen_t)maps + 1));
  SET_VECTOR_ELT(out, 3, Rf_allocVector(REALSXP, (R_xlen_t)maps));
  int *start = INTEGER(VECTOR_ELT(out, 2));
  double *evidence = REAL(VECTOR_ELT(out, 3));
  for (size_t j = 0; j < maps; j++)
    evidence[j] = NA_REAL;
  size_t used = 0;
  start[0] = 0;
  for (size_t base = 0; base < maps; base += chunk) {
    const size_t count = maps - base < chunk ? maps - base : chunk;
#pragma omp parallel for num_threads((int)workers) if (workers > 1) schedule(static, 1)
    for (size_t t = 0; t < workers; t++)
      for (size_t i = t; i < count; i += workers)
        found[i] = fit_one(&job, base + i, x + i * job.most, y + i * job.most,
                           evidence + base + i, work + t * bytes);
    size_t more = 0;
    for (size_t i = 0; i < count; i++)
      more += found[i];
    if (used + more > INT_MAX)
      Rf_error("the calibration maps have more than %d points", INT_MAX);
    grow(out, 0, used, more);
    grow(out, 1, used, more);
    double *to_x = REAL(VECTOR_ELT(out, 0)), *to_y = REAL(VECTOR_ELT(out, 1));
    for (size_t i = 0; i < count; i++) {
      for (size_t m = 0; m < found[i]; m++) {
        to_x[used + m] = x[i * job.most + m];
        to_y[used + m] = y[i * job.most + m];
      }
      used += found[i];
      start[base + i + 1] = (int)used;
    }
    r_poll(NULL);
  }
  SET_VECTOR_ELT(out, 0, Rf_xlengthgets(VECTOR_ELT(out, 0), (R_xlen_t)used));
  SET_VECTOR_ELT(out, 1, Rf_xlengthgets(VECTOR_ELT(out, 1), (R_xlen_t)used));
  UNPROTECT(1);
  return out;
}
