/* gp_lookup.c: the functions of one score, tabulated for prediction; see gp_predict.h. */
#include "gp_predict.h"
#include "linalg.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Latent mean (without mu) and variance parts at points z [n]. a [n x m], sa [n x m]. */
static void deviations(const gpc_gp_fitted *fit, size_t n, const double *z, double *a,
                       double *sa, double *dev, double *c, double *rho) {
  const size_t m = fit->basis.m;
  gpc_basis_eval(&fit->basis, n, z, a, rho);
  gpc_gemm(0, 0, n, 1, m, 1.0, a, fit->q_mean, 0.0, dev);
  gpc_gemm(0, 0, n, m, m, 1.0, a, fit->q_cov, 0.0, sa);
  memcpy(c, rho, n * sizeof(double));
  for (size_t j = 0; j < m; j++)
    for (size_t i = 0; i < n; i++)
      c[i] += a[i + n * j] * sa[i + n * j];
}

void gpc_gp_latent(const gpc_gp_fitted *fit, size_t n, const double *z, double *work,
                   double *mean, double *var) {
  double *a = work, *sa = a + n * fit->basis.m, *rho = sa + n * fit->basis.m;
  deviations(fit, n, z, a, sa, mean, var, rho);
  for (size_t i = 0; i < n; i++)
    mean[i] += fit->mean == GPC_MEAN_LOG ? log(z[i]) : fit->slope * z[i];
}

/* Beyond REACH lengthscales from the last inducing input the features are below 1e-15. */
#define REACH 8.5
#define NODES_PER_L 16.0
#define CELLS_PER_L (NODES_PER_L * GPC_CELLS_PER_NODE)
#define QUIET 1e-5 /* a residual variance below this changes no probability visibly */

void gpc_gp_lookup_size(const gpc_gp_fitted *fit, gpc_gp_lookup *lookup) {
  const gpc_basis *basis = &fit->basis;
  double first = basis->w[0], last = basis->w[0], l = basis->hyper.l;
  for (size_t i = 1; i < basis->m; i++) {
    first = fmin(first, basis->w[i]);
    last = fmax(last, basis->w[i]);
  }
  lookup->bulk = (size_t)ceil((last - first) / l * NODES_PER_L) + 2;
  /* the same table whatever the scores: a row's answer is its own */
  first -= REACH * l;
  last += REACH * l;
  lookup->m = basis->m;
  lookup->nodes = (size_t)ceil((last - first) / l * NODES_PER_L) + 2;
  lookup->cells = (lookup->nodes - 1) * GPC_CELLS_PER_NODE;
  lookup->low = lookup->node_low = first;
  lookup->inv_step = CELLS_PER_L / l;
  lookup->node_inv = NODES_PER_L / l;
  lookup->prior_c = basis->hyper.s2 + basis->hyper.sn2;
  lookup->mean = fit->mean;
  lookup->slope = fit->slope;
}

size_t gpc_gp_lookup_work(const gpc_gp_lookup *lookup) {
  const size_t points = 3 * lookup->cells + 1, m = lookup->m;
  const size_t most = points > lookup->nodes ? points : lookup->nodes;
  return most * (2 * m + 4) + m * m;
}

/* The longest stretch of points with hardly any residual. */
static void find_quiet(size_t points, const double *rho, gpc_gp_lookup *lookup) {
  size_t best = 0, start = 0;
  lookup->quiet = 0;
  lookup->quiet_low = lookup->quiet_high = 0.0;
  for (size_t i = 0; i <= points; i++) {
    if (i < points && rho[i] <= QUIET)
      continue;
    if (i > start + best + 1) { /* points start .. i - 1 */
      best = i - 1 - start;
      lookup->quiet = 1;
      lookup->quiet_low = (double)start / 3.0;
      lookup->quiet_high = (double)(i - 1) / 3.0;
    }
    start = i + 1;
  }
}

gpc_status gpc_gp_lookup_fill(const gpc_gp_fitted *fit, double *work,
                              gpc_gp_lookup *lookup) {
  const size_t m = lookup->m, points = 3 * lookup->cells + 1, nodes = lookup->nodes;
  const size_t most = points > nodes ? points : nodes;
  double *a = work, *sa = a + most * m, *z = sa + most * m, *dev = z + most,
         *c = dev + most;
  double *rho = c + most, *chol = rho + most;
  for (size_t i = 0; i < points; i++)
    z[i] = lookup->low + (double)i / (3.0 * lookup->inv_step);
  deviations(fit, points, z, a, sa, dev, c, rho);
  for (size_t i = 0; i < lookup->cells; i++) {
    /* the cubic through the cell's ends and thirds, in u from 0 to 1 */
    const double *f = dev + 3 * i;
    double *cell = lookup->cell + 8 * i;
    cell[0] = f[0];
    cell[1] = -5.5 * f[0] + 9.0 * f[1] - 4.5 * f[2] + f[3];
    cell[2] = 9.0 * f[0] - 22.5 * f[1] + 18.0 * f[2] - 4.5 * f[3];
    cell[3] = -4.5 * f[0] + 13.5 * f[1] - 13.5 * f[2] + 4.5 * f[3];
    cell[4] = c[3 * i];
    cell[5] = c[3 * i + 3] - c[3 * i];
    cell[6] = rho[3 * i];
    cell[7] = rho[3 * i + 3] - rho[3 * i];
  }
  find_quiet(points, rho, lookup);
  for (size_t i = 0; i < nodes; i++) {
    size_t point = 3 * GPC_CELLS_PER_NODE * i;
    double at = lookup->node_low + (double)i / lookup->node_inv;
    lookup->node_c[i] = c[point];
    lookup->node_phi[i] = dev[point] + fit->slope * at;
    z[i] = at; /* i <= point: no longer needed as a point of the cells */
  }
  gpc_basis_eval(&fit->basis, nodes, z, a, rho);
  memcpy(chol, fit->q_cov, m * m * sizeof(double));
  gpc_status status = gpc_chol(m, 0.0, chol);
  if (status == GPC_OK)
    gpc_gemm(1, 1, m, nodes, m, 1.0, chol, a, 0.0, lookup->node);
  return status;
}

/* The same for a large sd as P(t < d), t logistic and independent of d: the mean of
 * Phi((mean - t) / sd) over t takes no more steps the larger sd is. The poles of t's
 * density lie pi off the real line: the error of the rule is about exp(-2 pi^2 / h). */
static double wide_logistic_normal(double mean, double sd) {
  const double h = 0.6;
  double sum = 0.0, total = 0.0;
  const int steps = (int)ceil(fmin(fabs(mean) + 40.0, 745.0) / h);
  for (int i = -steps; i <= steps; i++) {
    double t = (double)i * h, e = exp(-fabs(t)), weight = e / ((1.0 + e) * (1.0 + e));
    sum += weight * 0.5 * erfc((t - mean) / (sd * M_SQRT2));
    total += weight;
  }
  return sum / total;
}

double gpc_gp_logistic_normal(double mean, double var) {
  double sd = var > 0.0 ? sqrt(var) : 0.0; /* rounding may leave less than nothing */
  if (sd > 8.0)
    return wide_logistic_normal(mean, sd);
  /* the nearest pole of the integrand lies pi / sd off the real line: the error of the
   * rule is about exp(-2 pi (pi / sd) / h) */
  double h = fmin(0.25, 2.0 * M_PI * M_PI / (sd * 27.0)), sum = 0.0, total = 0.0;
  long steps = (long)ceil(8.6 / h);
  for (long i = -steps; i <= steps; i++) {
    double x = (double)i * h, weight = exp(-0.5 * x * x);
    sum += weight / (1.0 + exp(-(mean + sd * x)));
    total += weight;
  }
  return sum / total;
}

#define PAIRS 64 /* rows of two scores handled together */

size_t gpc_gp_predict_two_work(size_t m) { return PAIRS * (4 * m + 6) + PAIRS * m; }

void gpc_gp_predict_two(const gpc_gp_data *data, const gpc_gp_fitted *fit, gpc_poll poll,
                        void *poll_data, double *work, double *p) {
  const size_t n = data->n, m = fit->basis.m;
  double *z = work, *rho = z + 2 * PAIRS, *a = rho + 2 * PAIRS, *d = a + 2 * PAIRS * m;
  double *sd = d + PAIRS * m;
  for (size_t first = 0; first < n; first += PAIRS) {
    const size_t rows = n - first < PAIRS ? n - first : PAIRS;
    if (first % (64 * PAIRS) == 0)
      gpc_call_poll(poll, poll_data);
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < 2; j++)
        z[i + rows * j] = gpc_gp_score(data, first + i, j);
    gpc_basis_eval(&fit->basis, 2 * rows, z, a, rho);
    for (size_t q = 0; q < m; q++)
      for (size_t i = 0; i < rows; i++)
        d[i + rows * q] = a[i + rows + 2 * rows * q] - a[i + 2 * rows * q];
    gpc_gemm(0, 0, rows, m, m, 1.0, d, fit->q_cov, 0.0, sd);
    for (size_t i = 0; i < rows; i++) {
      double mean = fit->mean == GPC_MEAN_LOG ? log(z[i + rows]) - log(z[i])
                                              : fit->slope * (z[i + rows] - z[i]);
      double var = rho[i] + rho[i + rows];
      for (size_t q = 0; q < m; q++) {
        mean += d[i + rows * q] * fit->q_mean[q];
        var += d[i + rows * q] * sd[i + rows * q];
      }
      double second = gpc_gp_logistic_normal(mean, var),
             first_p = gpc_gp_logistic_normal(-mean, var);
      p[first + i] = fmax(first_p, DBL_MIN);
      p[first + i + n] = fmax(second, DBL_MIN);
    }
  }
}
