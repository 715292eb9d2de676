/* gp_joint_softmax.c: see gp_joint_softmax.h. */
#include "gp_joint_softmax.h"
#include "fastexp.h"
#include "gp_design.h"
#include "linalg.h"

#include <math.h>
#include <string.h>

/* Lower factor of C [k x k], which may be singular. */
static void factor(size_t k, const double *c, double *l) {
  memset(l, 0, k * k * sizeof(double));
  for (size_t j = 0; j < k; j++) {
    double pivot = c[j + k * j];
    for (size_t p = 0; p < j; p++)
      pivot -= l[j + k * p] * l[j + k * p];
    pivot = pivot > 1e-14 * c[j + k * j] ? sqrt(pivot) : 0.0;
    l[j + k * j] = pivot;
    for (size_t i = j + 1; i < k && pivot > 0.0; i++) {
      double sum = c[i + k * j];
      for (size_t p = 0; p < j; p++)
        sum -= l[i + k * p] * l[j + k * p];
      l[i + k * j] = sum / pivot;
    }
  }
}

/* Where the next terms of the expansion may exceed 1e-4 the row is integrated. */
#define MOST_NEXT 8e-4
#define MOST_SPREAD 0.5

/* eq. (24) of one row into out [k]; 0 if it is not good enough. s [k] = softmax(phi). */
static int expand(size_t k, const double *c, const double *s, double *cs, double *out) {
  double all = 0.0, mean = 0.0, worst = 0.0;
  for (size_t i = 0; i < k; i++) {
    cs[i] = gpc_dot(k, c + k * i, s);
    all += cs[i] * s[i];
  }
  for (size_t i = 0; i < k; i++) {
    const double d = c[i + k * i] - 2.0 * cs[i] + all;
    out[i] = d;
    mean += s[i] * d;
    worst = fmax(worst, s[i] * d * d * (1.0 + 0.125 * d * d));
  }
  for (size_t i = 0; i < k; i++)
    out[i] = s[i] * (1.0 + 0.5 * (out[i] - mean));
  return worst <= MOST_NEXT && mean <= MOST_SPREAD;
}

#define POINTS 64 /* pairs of points to integrate over */

/* POINTS of the fixed design, made to have the covariance I again. */
static double *make_points(size_t k, const gpc_memory *memory) {
  double *all = gpc_get_doubles(memory, k * GPC_GP_DESIGN_PAIRS);
  double *x = gpc_get_doubles(memory, k * POINTS), *chol = gpc_get_doubles(memory, k * k);
  gpc_gp_design_functions(
      k,
      gpc_get_doubles(memory, (GPC_GP_DESIGN_PAIRS + GPC_GP_DESIGN_EXACT) *
                                  GPC_GP_DESIGN_EXACT),
      all);
  memcpy(x, all, k * POINTS * sizeof(double));
  gpc_gemm(0, 1, k, k, POINTS, 1.0 / POINTS, x, x, 0.0, chol);
  if (k < POINTS / 2 && gpc_chol(k, 1e-4, chol) == GPC_OK)
    for (size_t d = 0; d < POINTS; d++)
      gpc_solve_rows(1, k, chol, x + k * d);
  double *turned = all; /* [POINTS x k] */
  for (size_t d = 0; d < POINTS; d++)
    for (size_t j = 0; j < k; j++)
      turned[d + POINTS * j] = x[j + k * d];
  return turned;
}

/* The average of softmax(phi +- L x) over the points x [POINTS x k]. work [2 POINTS k]. */
static void integrate(size_t k, const double *phi, const double *chol,
                      const double *points, double *work, double *out) {
  double *up = work, *down = work + POINTS * k, sum[2 * POINTS] = {0};
  double top[2 * POINTS];
  gpc_gemm(0, 1, POINTS, k, k, 1.0, points, chol, 0.0, up); /* moves L x */
  for (size_t d = 0; d < 2 * POINTS; d++)
    top[d] = -INFINITY;
  for (size_t j = 0; j < k; j++) {
    double *u = up + POINTS * j, *v = down + POINTS * j;
    for (size_t d = 0; d < POINTS; d++) {
      const double move = u[d];
      u[d] = phi[j] + move;
      v[d] = phi[j] - move;
      top[d] = u[d] > top[d] ? u[d] : top[d];
      top[POINTS + d] = v[d] > top[POINTS + d] ? v[d] : top[POINTS + d];
    }
  }
  for (size_t j = 0; j < k; j++) {
    double *u = up + POINTS * j, *v = down + POINTS * j;
#pragma omp simd
    for (size_t d = 0; d < POINTS; d++) {
      u[d] = gpc_exp_nonpos(u[d] - top[d]);
      v[d] = gpc_exp_nonpos(v[d] - top[POINTS + d]);
      sum[d] += u[d];
      sum[POINTS + d] += v[d];
    }
  }
  for (size_t d = 0; d < 2 * POINTS; d++)
    sum[d] = 0.5 / (POINTS * sum[d]);
  for (size_t j = 0; j < k; j++)
    out[j] = gpc_dot(POINTS, up + POINTS * j, sum) +
             gpc_dot(POINTS, down + POINTS * j, sum + POINTS);
}

gpc_joint_softmax gpc_joint_softmax_get(size_t k, const gpc_memory *memory) {
  return (gpc_joint_softmax){.points = make_points(k, memory),
                             .chol = gpc_get_doubles(memory, k * k),
                             .work = gpc_get_doubles(memory, 2 * POINTS * k)};
}

void gpc_joint_softmax_average(const gpc_joint_softmax *self, size_t k, const double *phi,
                               const double *s, const double *c, double *out) {
  if (expand(k, c, s, self->work, out))
    return;
  factor(k, c, self->chol);
  integrate(k, phi, self->chol, self->points, self->work, out);
}
