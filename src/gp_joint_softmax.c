/* gp_joint_softmax.c: see gp_joint_softmax.h. */
#include "gp_joint_softmax.h"
#include "fastexp.h"
#include "gp_design.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

#define SINGULAR 1e-14 /* a pivot below this share of its diagonal is none */

#define MOST_PAIRS GPC_GP_DESIGN_PAIRS

/* Where the next terms of the expansion may exceed 1e-4 the row is integrated. */
#define MOST_NEXT 8e-4
#define MOST_SPREAD 0.5

int gpc_joint_softmax_narrow(double s, double d) {
  return s * d * d * (1.0 + 0.125 * d * d) <= MOST_NEXT;
}

int gpc_joint_softmax_narrow_row(double mean) { return mean <= MOST_SPREAD; }

/* eq. (24) of one row into out [k]; 0 if it is not good enough. s [k] = softmax(phi). */
static int expand(size_t k, const double *c, const double *s, double *cs, double *out) {
  double all = 0.0, mean = 0.0;
  int narrow = 1;
  for (size_t i = 0; i < k; i++) {
    cs[i] = gpc_dot(k, c + k * i, s);
    all += cs[i] * s[i];
  }
  for (size_t i = 0; i < k; i++) {
    const double d = c[i + k * i] - 2.0 * cs[i] + all;
    out[i] = d;
    mean += s[i] * d;
    narrow = narrow && gpc_joint_softmax_narrow(s[i], d);
  }
  for (size_t i = 0; i < k; i++)
    out[i] = s[i] * (1.0 + 0.5 * (out[i] - mean));
  return narrow && gpc_joint_softmax_narrow_row(mean);
}

/* `pairs` of the fixed design, made to have the covariance I again. */
static double *make_points(size_t k, size_t pairs, const gpc_memory *memory) {
  double *all = gpc_get_doubles(memory, k * GPC_GP_DESIGN_PAIRS);
  double *x = gpc_get_doubles(memory, k * pairs), *chol = gpc_get_doubles(memory, k * k);
  gpc_gp_design_functions(
      k,
      gpc_get_doubles(memory,
                      (GPC_GP_DESIGN_PAIRS + GPC_GP_DESIGN_EXACT) * GPC_GP_DESIGN_EXACT),
      all);
  memcpy(x, all, k * pairs * sizeof(double));
  gpc_gemm(0, 1, k, k, pairs, 1.0 / (double)pairs, x, x, 0.0, chol);
  if (k < pairs / 2 && gpc_chol(k, 1e-4, chol) == GPC_OK)
    for (size_t d = 0; d < pairs; d++)
      gpc_solve_rows(1, k, chol, x + k * d);
  double *turned = all; /* [pairs x k] */
  for (size_t d = 0; d < pairs; d++)
    for (size_t j = 0; j < k; j++)
      turned[d + pairs * j] = x[j + k * d];
  return turned;
}

/* The average of softmax(phi +- L x) over the points x [pairs x k]. work [2 pairs k]. */
static void integrate(size_t k, size_t pairs, const double *phi, const double *chol,
                      const double *points, double *work, double *out) {
  double *up = work, *down = work + pairs * k, sum[2 * MOST_PAIRS] = {0};
  double top[2 * MOST_PAIRS];
  gpc_gemm(0, 1, pairs, k, k, 1.0, points, chol, 0.0, up); /* moves L x */
  for (size_t d = 0; d < 2 * pairs; d++)
    top[d] = -INFINITY;
  for (size_t j = 0; j < k; j++) {
    double *u = up + pairs * j, *v = down + pairs * j;
    for (size_t d = 0; d < pairs; d++) {
      const double move = u[d];
      u[d] = phi[j] + move;
      v[d] = phi[j] - move;
      top[d] = u[d] > top[d] ? u[d] : top[d];
      top[pairs + d] = v[d] > top[pairs + d] ? v[d] : top[pairs + d];
    }
  }
  for (size_t j = 0; j < k; j++) {
    double *u = up + pairs * j, *v = down + pairs * j;
#pragma omp simd
    for (size_t d = 0; d < pairs; d++) {
      u[d] = gpc_exp_nonpos(u[d] - top[d]);
      v[d] = gpc_exp_nonpos(v[d] - top[pairs + d]);
      sum[d] += u[d];
      sum[pairs + d] += v[d];
    }
  }
  for (size_t d = 0; d < 2 * pairs; d++)
    sum[d] = 0.5 / ((double)pairs * sum[d]);
  for (size_t j = 0; j < k; j++)
    out[j] = gpc_dot(pairs, up + pairs * j, sum) +
             gpc_dot(pairs, down + pairs * j, sum + pairs);
}

gpc_joint_softmax gpc_joint_softmax_get(size_t k, size_t pairs,
                                        const gpc_memory *memory) {
  return (gpc_joint_softmax){.pairs = pairs,
                             .points = make_points(k, pairs, memory),
                             .chol = gpc_get_doubles(memory, k * k),
                             .work = gpc_get_doubles(memory, 2 * pairs * k)};
}

void gpc_joint_softmax_average(const gpc_joint_softmax *self, size_t k, const double *phi,
                               const double *s, const double *c, double *out) {
  if (expand(k, c, s, self->work, out))
    return;
  gpc_chol_semi(k, SINGULAR, c, self->chol);
  integrate(k, self->pairs, phi, self->chol, self->points, self->work, out);
}
