/* gp_posterior.c: see gp_posterior.h. */
#include "gp_posterior.h"

#include <string.h>

gpc_posterior gpc_posterior_get(const gpc_memory *memory, size_t m, size_t slopes,
                                size_t e) {
  const size_t size = m + slopes + e;
  return (gpc_posterior){.at = gpc_params_get(memory, m),
                         .slopes = slopes,
                         .e = e,
                         .effect = gpc_get_doubles(memory, e),
                         .cov = gpc_get_doubles(memory, size * size)};
}

double gpc_posterior_slope(const gpc_posterior *posterior, double *cross) {
  const size_t m = posterior->at.m, size = m + posterior->slopes + posterior->e;
  memset(cross, 0, m * sizeof(double));
  if (!posterior->slopes)
    return 0.0;
  const double var = posterior->cov[m + size * m];
  for (size_t i = 0; i < m; i++)
    cross[i] = posterior->cov[i + size * m] / var;
  return var;
}
