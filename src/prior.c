/* prior.c: see prior.h. */
#include "prior.h"
#include <math.h>

size_t gpc_prior_apply(size_t n, size_t k, const double *p, const double *ratio,
                       double *q) {
  size_t dead = 0;
  for (size_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < k; j++)
      sum += p[i + j * n] * ratio[j];
    if (!(sum > 0.0) && dead == 0)
      dead = i + 1;
    for (size_t j = 0; j < k; j++)
      q[i + j * n] = sum > 0.0 ? p[i + j * n] * ratio[j] / sum : p[i + j * n];
  }
  return dead;
}

gpc_status gpc_prior_em(size_t n, size_t k, const double *p, const double *from,
                        double tol, int max_iter, double *pi, double *work,
                        gpc_prior_result *result, gpc_poll poll, void *data) {
  double *row = work, *share = row + n, *weight = share + k;
  *result = (gpc_prior_result){0.0, INFINITY, 0};
  for (size_t j = 0; j < k; j++)
    pi[j] = from[j];
  while (result->iterations < max_iter) {
    result->iterations++;
    for (size_t i = 0; i < n; i++)
      row[i] = 0.0;
    for (size_t j = 0; j < k; j++) {
      weight[j] = from[j] > 0.0 ? pi[j] / from[j] : 0.0;
      for (size_t i = 0; i < n; i++)
        row[i] += p[i + j * n] * weight[j];
    }
    double gain = 0.0;
    for (size_t i = 0; i < n; i++) {
      if (!(row[i] > 0.0))
        return GPC_NOT_FINITE;
      gain += log(row[i]);
      row[i] = 1.0 / row[i];
    }
    result->gain = gain / (double)n;
    double most = 0.0;
    for (size_t j = 0; j < k; j++) {
      share[j] = 0.0;
      if (!(from[j] > 0.0))
        continue;
      for (size_t i = 0; i < n; i++)
        share[j] += p[i + j * n] * row[i];
      share[j] /= from[j] * (double)n;
      most = share[j] > most ? share[j] : most;
    }
    result->gap = most - 1.0;
    if (result->gap <= tol)
      return GPC_OK;
    double total = 0.0;
    for (size_t j = 0; j < k; j++)
      total += pi[j] *= share[j]; /* the mean of the posterior probabilities */
    for (size_t j = 0; j < k; j++)
      pi[j] /= total;
    gpc_call_poll(poll, data);
  }
  return GPC_NOT_CONVERGED;
}
