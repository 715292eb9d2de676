/* laplace.c: see laplace.h. */
#include "laplace.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

/* L, L' and L'' of temperature.h at beta. */
static void temperature_pass(const gpc_temperature_data *data, double beta,
                             double out[3]) {
  out[0] = out[1] = out[2] = 0.0;
  for (size_t i = 0; i < data->n; i++) {
    const double w = data->w ? data->w[i] : 1.0;
    const double *z = data->z + i;
    double top = -INFINITY, total = 0.0, mean = 0.0, square = 0.0;
    for (size_t j = 0; j < data->k; j++)
      top = fmax(top, fmax(z[j * data->n], data->floor));
    for (size_t j = 0; j < data->k; j++) {
      const double x = fmax(z[j * data->n], data->floor) - top, e = exp(beta * x);
      total += e;
      mean += e * x;
      square += e * x * x;
    }
    const double own = fmax(z[((size_t)data->label[i] - 1) * data->n], data->floor) - top;
    mean /= total;
    out[0] += w * (log(total) - beta * own);
    out[1] += w * (mean - own);
    out[2] += w * fmax(square / total - mean * mean, 0.0);
  }
}

gpc_status gpc_laplace_temperature(const gpc_temperature_data *data, double beta0,
                                   double precision, double tol, int max_steps,
                                   double *beta, double *curvature, double *log_lik) {
  double at = beta0, here[3];
  temperature_pass(data, at, here);
  gpc_status status = GPC_NOT_CONVERGED;
  for (int step = 0; step < max_steps; step++) {
    const double value = here[0] + 0.5 * precision * (at - beta0) * (at - beta0);
    const double slope = here[1] + precision * (at - beta0);
    double move = -slope / (here[2] + precision), there[3];
    double next = at + move;
    for (int halved = 0;; halved++) { /* the objective is convex */
      next = at + move;
      if (next > 0.0) {
        temperature_pass(data, next, there);
        if (there[0] + 0.5 * precision * (next - beta0) * (next - beta0) <=
                value + 1e-12 * fabs(value) ||
            halved > 60)
          break;
      }
      move *= 0.5;
    }
    at = next;
    memcpy(here, there, sizeof here);
    if (fabs(move) <= tol * at) {
      status = GPC_OK;
      break;
    }
    if (at < 1e-8 * beta0) {
      status = GPC_AT_LOWER;
      break;
    }
  }
  *beta = at;
  *curvature = here[2] + precision;
  *log_lik = -here[0];
  return status;
}

/* log(1 + exp(x)) */
static double softplus(double x) { return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

/* The objective (to be minimised), its gradient g [d] and curvature h [d x d]. */
static double logistic_pass(size_t n, size_t d, const double *x, const double *t,
                            const double *w, const double *m0, const double *p0,
                            const double *c, double *g, double *h) {
  double value = 0.0;
  memset(g, 0, d * sizeof(double));
  memset(h, 0, d * d * sizeof(double));
  for (size_t a = 0; a < d; a++)
    for (size_t b = 0; b < d; b++) {
      h[a + d * b] = p0[a + d * b];
      g[a] += p0[a + d * b] * (c[b] - m0[b]);
      value += 0.5 * (c[a] - m0[a]) * p0[a + d * b] * (c[b] - m0[b]);
    }
  for (size_t i = 0; i < n; i++) {
    const double wi = w ? w[i] : 1.0;
    double eta = 0.0;
    for (size_t a = 0; a < d; a++)
      eta += c[a] * x[i + n * a];
    const double p = 1.0 / (1.0 + exp(-eta));
    value += wi * (softplus(eta) - t[i] * eta);
    for (size_t a = 0; a < d; a++) {
      g[a] += wi * (p - t[i]) * x[i + n * a];
      for (size_t b = 0; b < d; b++)
        h[a + d * b] += wi * p * (1.0 - p) * x[i + n * a] * x[i + n * b];
    }
  }
  return value;
}

gpc_status gpc_laplace_logistic(size_t n, size_t d, const double *x, const double *t,
                                const double *w, const double *m0, const double *p0,
                                double tol, int max_steps, double *c, double *curvature) {
  double g[GPC_LAPLACE_MOST], chol[GPC_LAPLACE_MOST * GPC_LAPLACE_MOST],
      next[GPC_LAPLACE_MOST];
  memcpy(c, m0, d * sizeof(double));
  double value = logistic_pass(n, d, x, t, w, m0, p0, c, g, curvature);
  for (int step = 0; step < max_steps; step++) {
    double move[GPC_LAPLACE_MOST], decrement = 0.0, share = 1.0, found = value;
    memcpy(chol, curvature, d * d * sizeof(double));
    memcpy(move, g, d * sizeof(double));
    if (gpc_chol(d, 0.0, chol) != GPC_OK)
      return GPC_NOT_PD;
    gpc_chol_solve(d, chol, move);
    for (size_t a = 0; a < d; a++)
      decrement += move[a] * g[a];
    for (int halved = 0; halved < 60; halved++, share *= 0.5) {
      for (size_t a = 0; a < d; a++)
        next[a] = c[a] - share * move[a];
      found = logistic_pass(n, d, x, t, w, m0, p0, next, g, curvature);
      if (found <= value + 1e-12 * fabs(value))
        break;
    }
    memcpy(c, next, d * sizeof(double));
    value = found;
    if (decrement <= tol * tol)
      return GPC_OK;
  }
  return GPC_NOT_CONVERGED;
}
