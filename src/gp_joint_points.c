/* gp_joint_points.c: see gp_joint_points.h. In single precision, whose 1e-6 are nothing
 * beside the error of so few points. */
#include "gp_joint_points.h"
#include "fastexp.h"
#include "gp_design.h"
#include "linalg.h"
#include "simd.h"

#include <math.h>
#include <string.h>

#define SINGULAR 1e-6f /* a pivot below this share of its diagonal is none */
#define CHUNK 64       /* points moved at a time */
#define LANES 16       /* columns of the factor have a multiple of so many numbers */

static const size_t pairs_of[2] = {GPC_JOINT_FEW, GPC_JOINT_MANY};

gpc_joint_points gpc_joint_points_get(size_t k, const gpc_memory *memory) {
  gpc_joint_points self = {.k = k, .made = gpc_get_ints(memory, 2)};
  for (int set = 0; set < 2; set++) {
    self.made[set] = 0;
    self.points[set] = gpc_get_floats(memory, k * pairs_of[set]);
  }
  self.step = (k + LANES - 1) / LANES * LANES;
  self.moves = gpc_get_floats(memory, 2 * GPC_JOINT_MANY * k);
  self.row = gpc_get_floats(memory, k);
  self.cov = gpc_get_floats(memory, self.step * k);
  self.work = gpc_get_doubles(memory, gpc_gp_design_work(GPC_JOINT_MANY));
  self.side = gpc_get_doubles(memory, k * GPC_JOINT_MANY + k * k);
  return self;
}

/* A set, made to have the covariance I in all dimensions. */
static void make_points(const gpc_joint_points *self, int set) {
  const size_t k = self->k, pairs = pairs_of[set];
  double *x = self->side, *chol = x + k * pairs;
  gpc_gp_design_part(pairs, 0, k, self->work, x);
  gpc_gemm(0, 1, k, k, pairs, 1.0 / (double)pairs, x, x, 0.0, chol);
  if (k < pairs / 2 && gpc_chol(k, 1e-4, chol) == GPC_OK)
    for (size_t d = 0; d < pairs; d++)
      gpc_solve_rows(1, k, chol, x + k * d);
  for (size_t d = 0; d < pairs; d++)
    for (size_t j = 0; j < k; j++)
      self->points[set][d + pairs * j] = (float)x[j + k * d];
  self->made[set] = 1;
}

/* The lower triangle of cov [step x n] becomes its factor, which may be singular. What is
 * above the diagonal is worked on, and not looked at. */
GPC_PART void factor(const gpc_joint_points *self, size_t n) {
  const size_t step = self->step, rows = (n + LANES - 1) / LANES * LANES;
  for (size_t j = 0; j < n; j++) {
    float *to = self->cov + step * j;
    const float least = SINGULAR * to[j];
    for (size_t q = 0; q < j; q++) {
      const float *from = self->cov + step * q, by = from[j];
#pragma omp simd
      for (size_t i = 0; i < rows; i++)
        to[i] -= by * from[i];
    }
    const float scale = to[j] > least ? 1.0f / sqrtf(to[j]) : 0.0f;
#pragma omp simd
    for (size_t i = 0; i < rows; i++)
      to[i] *= scale;
  }
}

/* to [CHUNK] := sum_q l_q x_q, x [pairs x count]. */
GPC_PART void move_chunk(size_t count, size_t pairs, const float *l, const float *x,
                         float *to) {
#ifdef GPC_FOURS /* compilers do not keep arrays in registers of their own accord */
  typedef float lane __attribute__((vector_size(64), aligned(4), may_alias));
  lane s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
  for (size_t q = 0; q < count; q++, x += pairs) {
    const lane *v = (const lane *)x;
    s0 += v[0] * l[q];
    s1 += v[1] * l[q];
    s2 += v[2] * l[q];
    s3 += v[3] * l[q];
  }
  lane *y = (lane *)to;
  y[0] = s0, y[1] = s1, y[2] = s2, y[3] = s3;
#else
  memset(to, 0, CHUNK * sizeof(float));
  for (size_t q = 0; q < count; q++, x += pairs)
    for (size_t d = 0; d < CHUNK; d++)
      to[d] += l[q] * x[d];
#endif
}

/* The average of softmax(0, phi +- L x) over the points, L lower, by powers of two. */
GPC_FUSED static void average(const gpc_joint_points *self, int set, size_t n,
                              const double *phi, double *out) {
  const size_t pairs = pairs_of[set];
  float *row = self->row, sum[2 * GPC_JOINT_MANY];
  factor(self, n);
  for (size_t d = 0; d < 2 * pairs; d++)
    sum[d] = 1.0f;
  for (size_t j = 0; j < n; j++) {
    float *u = self->moves + 2 * pairs * j, *v = u + pairs;
    const float middle = (float)(phi[j] * GPC_EXP_LOG2E);
    for (size_t q = 0; q <= j; q++)
      row[q] = (float)GPC_EXP_LOG2E * self->cov[j + self->step * q];
    for (size_t d = 0; d < pairs; d += CHUNK)
      move_chunk(j + 1, pairs, row, self->points[set] + d, u + d);
#pragma omp simd
    for (size_t d = 0; d < pairs; d++) {
      const float move = u[d];
      u[d] = gpc_exp2f(middle + move);
      v[d] = gpc_exp2f(middle - move);
      sum[d] += u[d];
      sum[pairs + d] += v[d];
    }
  }
#pragma omp simd
  for (size_t d = 0; d < 2 * pairs; d++)
    sum[d] = 1.0f / sum[d];
  for (size_t j = 0; j < n; j++) {
    const float *u = self->moves + 2 * pairs * j;
    float total = 0.0f;
#pragma omp simd reduction(+ : total)
    for (size_t d = 0; d < 2 * pairs; d++)
      total += u[d] * sum[d];
    out[j] = 0.5 * (double)total / (double)pairs;
  }
}

void gpc_joint_points_average(const gpc_joint_points *self, int many, size_t n,
                              const double *phi, double *out) {
  if (!self->made[many])
    make_points(self, many);
  average(self, many, n, phi, out);
}
