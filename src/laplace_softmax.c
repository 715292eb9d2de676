/* laplace_softmax.c: see laplace_softmax.h. */
#include "laplace_softmax.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

size_t gpc_laplace_softmax_size(size_t k, int matrix) { return k + (matrix ? k * k : k); }

/* The numbers of theta that class a depends on, and the features they go with: at [c],
 * x [c]; returns c. */
static size_t features(const gpc_laplace_softmax_data *data, size_t row, size_t a,
                       size_t *at, double *x) {
  const size_t k = data->k;
  at[0] = a;
  x[0] = 1.0;
  if (!data->matrix) {
    at[1] = k + a;
    x[1] = data->u[row + data->n * a];
    return 2;
  }
  for (size_t j = 0; j < k; j++) {
    at[1 + j] = k + a + k * j;
    x[1 + j] = data->u[row + data->n * j];
  }
  return 1 + k;
}

typedef struct {
  size_t *at;           /* [1 + k] */
  double *x, *p, *mean; /* [1 + k], [k], [d] */
} rooms;

/* The objective (to be minimised); with h its gradient g [d] and curvature h [d x d]. */
static double pass(const gpc_laplace_softmax_data *data, const double *theta,
                   const rooms *room, double *g, double *h, double *log_lik) {
  const size_t k = data->k, d = gpc_laplace_softmax_size(k, data->matrix);
  double value = 0.0;
  *log_lik = 0.0;
  memset(g, 0, d * sizeof(double));
  memcpy(h, data->p0, d * d * sizeof(double));
  for (size_t a = 0; a < d; a++)
    for (size_t b = 0; b < d; b++)
      g[a] += data->p0[a + d * b] * (theta[b] - data->m0[b]);
  for (size_t a = 0; a < d; a++)
    value += 0.5 * g[a] * (theta[a] - data->m0[a]);
  for (size_t i = 0; i < data->n; i++) {
    const double w = data->w ? data->w[i] : 1.0;
    const size_t label = (size_t)data->label[i] - 1;
    double top = -INFINITY, sum = 0.0, own = 0.0;
    for (size_t a = 0; a < k; a++) {
      const size_t count = features(data, i, a, room->at, room->x);
      room->p[a] = 0.0;
      for (size_t c = 0; c < count; c++)
        room->p[a] += theta[room->at[c]] * room->x[c];
      top = fmax(top, room->p[a]);
      own = a == label ? room->p[a] : own;
    }
    for (size_t a = 0; a < k; a++)
      sum += room->p[a] = exp(room->p[a] - top);
    *log_lik += w * (own - top - log(sum));
    memset(room->mean, 0, d * sizeof(double));
    for (size_t a = 0; a < k; a++) {
      const size_t count = features(data, i, a, room->at, room->x);
      const double p = room->p[a] / sum;
      for (size_t c = 0; c < count; c++) {
        room->mean[room->at[c]] += p * room->x[c];
        g[room->at[c]] += w * (p - (a == label)) * room->x[c];
        for (size_t e = 0; e < count; e++)
          h[room->at[e] + d * room->at[c]] += w * p * room->x[e] * room->x[c];
      }
    }
    for (size_t a = 0; a < d; a++)
      for (size_t b = 0; b < d; b++)
        h[b + d * a] -= w * room->mean[a] * room->mean[b];
  }
  return value - *log_lik;
}

gpc_status gpc_laplace_softmax(const gpc_laplace_softmax_data *data, double tol,
                               int max_steps, const gpc_memory *memory, gpc_poll poll,
                               void *poll_data, double *theta, double *curvature,
                               double *log_lik) {
  const size_t k = data->k, d = gpc_laplace_softmax_size(k, data->matrix);
  const rooms room = {.at = gpc_get_sizes(memory, k + 1),
                      .x = gpc_get_doubles(memory, k + 1),
                      .p = gpc_get_doubles(memory, k),
                      .mean = gpc_get_doubles(memory, d)};
  double *g = gpc_get_doubles(memory, d), *chol = gpc_get_doubles(memory, d * d);
  double *move = gpc_get_doubles(memory, d), *next = gpc_get_doubles(memory, d);
  memcpy(theta, data->m0, d * sizeof(double));
  double value = pass(data, theta, &room, g, curvature, log_lik);
  for (int step = 0; step < max_steps; step++) {
    double promise = 0.0, share = 1.0, found = value;
    gpc_call_poll(poll, poll_data);
    memcpy(chol, curvature, d * d * sizeof(double));
    memcpy(move, g, d * sizeof(double));
    if (gpc_chol(d, 0.0, chol) != GPC_OK)
      return GPC_NOT_PD;
    gpc_chol_solve(d, chol, move);
    for (size_t a = 0; a < d; a++)
      promise += 0.5 * move[a] * g[a];
    if (promise <= tol)
      return GPC_OK;
    for (int halved = 0; halved < 60; halved++, share *= 0.5) { /* it is convex */
      for (size_t a = 0; a < d; a++)
        next[a] = theta[a] - share * move[a];
      found = pass(data, next, &room, g, curvature, log_lik);
      if (found <= value + 1e-12 * fabs(value))
        break;
    }
    memcpy(theta, next, d * sizeof(double));
    value = found;
  }
  return GPC_NOT_CONVERGED;
}
