/* gp_two.c: see gp_two.h. */
#include "gp_two.h"
#include "linalg.h"
#include "quadrature.h"

#include <float.h>
#include <math.h>

#define ROWS 64 /* worked on together */
#define ROWS_BETWEEN_POLLS (64 * ROWS)

void gpc_gp_predict_two(const gpc_gp_data *data, const gpc_gp_fitted *fit,
                        const gpc_memory *memory, gpc_poll poll, void *poll_data,
                        double *p) {
  const size_t n = data->n, m = fit->basis.m;
  double *z = gpc_get_doubles(memory, 2 * ROWS), *rho = gpc_get_doubles(memory, 2 * ROWS),
         *a = gpc_get_doubles(memory, 2 * ROWS * m),
         *d = gpc_get_doubles(memory, ROWS * m), *sd = gpc_get_doubles(memory, ROWS * m);
  for (size_t first = 0; first < n; first += ROWS) {
    const size_t rows = n - first < ROWS ? n - first : ROWS;
    if (first % ROWS_BETWEEN_POLLS == 0)
      gpc_call_poll(poll, poll_data);
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < 2; j++)
        z[i + rows * j] = gpc_gp_score(data, first + i, j);
    gpc_basis_eval(&fit->basis, 2 * rows, z, a, rho);
    for (size_t q = 0; q < m; q++) /* d = a(z_2) - a(z_1) */
      for (size_t i = 0; i < rows; i++)
        d[i + rows * q] = a[i + rows + 2 * rows * q] - a[i + 2 * rows * q];
    gpc_gemm(0, 0, rows, m, m, 1.0, d, fit->q_cov, 0.0, sd);
    for (size_t i = 0; i < rows; i++) {
      double mean =
          gpc_prior_mu(&fit->prior, z[i + rows]) - gpc_prior_mu(&fit->prior, z[i]);
      double var = rho[i] + rho[i + rows]; /* eq. (9): C_11 - 2 C_12 + C_22 */
      for (size_t q = 0; q < m; q++) {
        mean += d[i + rows * q] * fit->q_mean[q];
        var += d[i + rows * q] * sd[i + rows * q];
      }
      const size_t low =
          mean > 0.0 ? first + i : first + i + n; /* the less likely class */
      p[low] = fmax(gpc_logistic_normal(-fabs(mean), var), DBL_MIN); /* eq. (25) */
      p[2 * (first + i) + n - low] = 1.0 - p[low];
    }
  }
}
