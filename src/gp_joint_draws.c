/* gp_joint_draws.c: latent values and draws; see gp_joint_predict.h. */
#include "gp_joint_rows.h"
#include "linalg.h"
#include "softmax.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROWS GPC_JOINT_ROWS

gpc_status gpc_joint_latent(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                            const gpc_memory *memory, gpc_poll poll, void *poll_data,
                            double *mean, double *var) {
  gpc_joint_rows t;
  gpc_status status = gpc_joint_rows_begin(data, fit, memory, &t);
  const size_t k = data->k, n = data->n;
  for (size_t first = 0; first < n && status == GPC_OK; first += ROWS) {
    const size_t rows = n - first < ROWS ? n - first : ROWS;
    if (first % (64 * ROWS) == 0)
      gpc_call_poll(poll, poll_data);
    gpc_joint_rows_read(&t, first, rows);
    gpc_joint_rows_spread(&t, rows);
    for (size_t i = 0; i < rows; i++) {
      gpc_joint_rows_covariance(&t, i, rows);
      for (size_t j = 0; j < k; j++) {
        mean[first + i + n * j] = t.phi[i + rows * j];
        var[first + i + n * j] = fmax(t.c[j + k * j], 0.0);
      }
    }
  }
  return status;
}

#define PAIRS 16 /* pairs of draws worked on together */

/* Softmaxes of phi + c G +- d of the rows, d [rows k x pairs], g [rows k], into all or p. */
static void add_draws(const gpc_joint_rows *t, size_t first, size_t rows, size_t pair,
                      size_t pairs, size_t total, const double *growth, const double *g,
                      const double *d, double *p, double *all) {
  const size_t k = t->k, n = t->data->n, count = rows * k;
  for (size_t q = 0; q < pairs; q++)
    for (size_t i = 0; i < rows; i++)
      for (int sign = 0; sign < 2; sign++) {
        for (size_t j = 0; j < k; j++) {
          const size_t at = i + rows * j;
          t->row[j] = t->phi[at] + (sign ? -d[at + count * q] : d[at + count * q]);
          if (growth && g[at] != 0.0)
            t->row[j] += gpc_lift_by(growth[pair + q], g[at]);
        }
        gpc_softmax_row(k, 1.0, t->row, t->work);
        for (size_t j = 0; j < k; j++) {
          if (all)
            all[first + i + n * (j + k * (2 * (pair + q) + (size_t)sign))] = t->work[j];
          else
            p[first + i + n * j] += t->work[j] * 0.5 / (double)total;
        }
      }
}

gpc_status gpc_joint_draws(const gpc_gp_data *data, const gpc_joint_fitted *fit,
                           size_t pairs, const double *x, const double *noise,
                           const gpc_lift *lift, const gpc_memory *memory, gpc_poll poll,
                           void *poll_data, double *p, double *all) {
  gpc_joint_rows t;
  gpc_status status = gpc_joint_rows_begin(data, fit, memory, &t);
  const size_t k = data->k, n = data->n, size = t.size;
  double *chol = gpc_get_doubles(memory, size * size);
  double *theta = gpc_get_doubles(memory, size * pairs);
  double *d = gpc_get_doubles(memory, ROWS * k * PAIRS);
  double *v = gpc_get_doubles(memory, (t.x > t.r ? t.x : t.r) * PAIRS);
  double *own = gpc_get_doubles(memory, ROWS * PAIRS);
  double *g = gpc_get_doubles(memory, ROWS * k);
  memcpy(chol, fit->cov, size * size * sizeof(double));
  if (status == GPC_OK)
    status = gpc_chol(size, 0.0, chol);
  if (status != GPC_OK)
    return status;
  gpc_gemm(0, 0, size, pairs, size, 1.0, chol, x, 0.0, theta); /* (m, slope, e) */
  if (!all)
    memset(p, 0, n * k * sizeof(double));
  for (size_t first = 0; first < n; first += ROWS) {
    const size_t rows = n - first < ROWS ? n - first : ROWS, count = rows * k;
    gpc_call_poll(poll, poll_data);
    gpc_joint_rows_read(&t, first, rows);
    for (size_t j = 0; j < k && lift->growth; j++)
      for (size_t i = 0; i < rows; i++)
        g[i + rows * j] = gpc_lift_at(lift, gpc_gp_score(data, first + i, j));
    for (size_t pair = 0; pair < pairs; pair += PAIRS) {
      const size_t some = pairs - pair < PAIRS ? pairs - pair : PAIRS;
      for (size_t q = 0; q < some; q++)
        memcpy(v + t.x * q, theta + size * (pair + q), t.x * sizeof(double));
      gpc_gemm(0, 0, count, some, t.x, 1.0, t.a, v, 0.0, d);
      for (size_t j = 0; j < k; j++) {
        for (size_t q = 0; q < some; q++)
          memcpy(v + t.r * q, theta + t.x + j * t.r + size * (pair + q),
                 t.r * sizeof(double));
        gpc_gemm(0, 0, rows, some, t.r, 1.0, t.features, v, 0.0, own);
        for (size_t q = 0; q < some; q++)
          for (size_t i = 0; i < rows; i++)
            d[i + rows * j + count * q] +=
                own[i + rows * q] + sqrt(t.rho[i + rows * j]) * noise[j + k * (pair + q)];
      }
      add_draws(&t, first, rows, pair, some, pairs, lift->growth, g, d, p, all);
    }
  }
  for (size_t i = 0; i < n * k && !all; i++)
    p[i] = fmax(p[i], DBL_MIN);
  return GPC_OK;
}
