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
#define CHUNK 32       /* points moved at a time */
#define FAR 100.0f     /* variances, see add_near() */
#define CLOSE 80.0     /* powers of two that moves have, see add_close() */
#define LEAST 40.0     /* the same of 1 / exp(phi) */
#define LANES 16       /* columns of the factor have a multiple of so many numbers */

static const size_t pairs_of[2] = {GPC_JOINT_FEW, GPC_JOINT_MANY};

gpc_joint_points gpc_joint_points_get(size_t k, const gpc_memory *memory) {
  gpc_joint_points self = {
      .k = k, .made = gpc_get_ints(memory, 2), .reach = gpc_get_doubles(memory, 2)};
  for (int set = 0; set < 2; set++) {
    self.made[set] = 0;
    self.points[set] = gpc_get_floats(memory, (k + 1) * pairs_of[set]);
    for (size_t d = 0; d < pairs_of[set]; d++) /* read, and of no weight */
      self.points[set][k * pairs_of[set] + d] = 0.0f;
  }
  self.step = (k + LANES - 1) / LANES * LANES;
  self.moves = gpc_get_floats(memory, 2 * GPC_JOINT_MANY * k);
  self.row = gpc_get_floats(memory, 2 * (k + 1));
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
  self->reach[set] = 0.0;
  for (size_t d = 0; d < pairs; d++) {
    for (size_t j = 0; j < k; j++)
      self->points[set][d + pairs * j] = (float)x[j + k * d];
    self->reach[set] = fmax(self->reach[set], gpc_dot(k, x + k * d, x + k * d));
  }
  self->made[set] = 1;
}

/* LANES numbers of a column, `to`, less those of the j columns before, at `from`, each times
 * by[step q]. */
GPC_PART void reduce(size_t j, size_t step, const float *from, const float *by,
                     float *to) {
#ifdef GPC_FOURS /* compilers do not keep arrays in registers of their own accord */
  gpc_lane *y = (gpc_lane *)to, s0 = y[0], s1 = y[1];
  for (size_t q = 0; q < j; q++, from += step, by += step) {
    const gpc_lane *v = (const gpc_lane *)from;
    s0 -= v[0] * *by, s1 -= v[1] * *by;
  }
  y[0] = s0, y[1] = s1;
#else
  for (size_t q = 0; q < j; q++)
    for (size_t i = 0; i < LANES; i++)
      to[i] -= by[step * q] * from[i + step * q];
#endif
}

/* The lower triangle of cov [step x n] becomes its factor, which may be singular. What is
 * above the diagonal and below row n is worked on, and not looked at. */
GPC_PART void factor(const gpc_joint_points *self, size_t n) {
  const size_t step = self->step;
  for (size_t j = 0; j < n; j++) {
    const size_t first = j / LANES * LANES;
    float *to = self->cov + step * j;
    const float least = SINGULAR * to[j];
    for (size_t i = first; i < n; i += LANES)
      reduce(j, step, self->cov + i, self->cov + j, to + i);
    const float scale = to[j] > least ? 1.0f / sqrtf(to[j]) : 0.0f;
    for (size_t i = first; i < n; i += LANES)
#pragma omp simd
      for (size_t q = 0; q < LANES; q++)
        to[i + q] *= scale;
  }
}

/* to and next [CHUNK] := sum_q l_q x_q of a row of the factor with `count` elements, and of the
 * one below, which has one more; x [pairs x count + 1], of which both are made at once. */
GPC_PART void move_chunk(size_t count, size_t pairs, const float *l, const float *below,
                         const float *x, float *to, float *next) {
#ifdef GPC_FOURS
  gpc_lane s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0};
  const gpc_lane *v = (const gpc_lane *)x;
  for (size_t q = 0; q < count; q++, x += pairs) {
    v = (const gpc_lane *)x;
    s0 += v[0] * l[q], t0 += v[0] * below[q];
    s1 += v[1] * l[q], t1 += v[1] * below[q];
    s2 += v[2] * l[q], t2 += v[2] * below[q];
    s3 += v[3] * l[q], t3 += v[3] * below[q];
  }
  gpc_lane *y = (gpc_lane *)to, *z = (gpc_lane *)next;
  v = (const gpc_lane *)x;
  y[0] = s0, y[1] = s1, y[2] = s2, y[3] = s3;
  z[0] = t0 + v[0] * below[count], z[1] = t1 + v[1] * below[count];
  z[2] = t2 + v[2] * below[count], z[3] = t3 + v[3] * below[count];
#else
  for (size_t d = 0; d < CHUNK; d++)
    to[d] = next[d] = 0.0f;
  for (size_t q = 0; q <= count; q++, x += pairs)
    for (size_t d = 0; d < CHUNK; d++) {
      to[d] += q < count ? l[q] * x[d] : 0.0f;
      next[d] += below[q] * x[d];
    }
#endif
}

/* Row j of the factor, for powers of two. */
GPC_PART void scale_row(const gpc_joint_points *self, size_t j, float *row) {
  for (size_t q = 0; q <= j; q++)
    row[q] = (float)GPC_EXP_LOG2E * self->cov[j + self->step * q];
}

/* The moves of rows j and j + 1 of n, or of the last one: all points. */
GPC_PART void move_rows(const gpc_joint_points *self, int set, size_t j, size_t n) {
  const size_t pairs = pairs_of[set];
  float *row = self->row, *below = row + self->k + 1, *to = self->moves + 2 * pairs * j;
  scale_row(self, j, row);
  if (j + 1 < n)
    scale_row(self, j + 1, below);
  else /* what is made of it lies where nothing is yet */
    memset(below, 0, (j + 2) * sizeof(float));
  for (size_t d = 0; d < pairs; d += CHUNK)
    move_chunk(j + 1, pairs, row, below, self->points[set] + d, to + d,
               to + (j + 1 < n ? 2 * pairs : pairs) + d);
}

/* Powers of two of phi +- the moves u[d], into u and v, added to the sums of the points. The
 * first for moves within CLOSE and phi above -LEAST, by gpc_exp2f_both() without its limits, the
 * factor exp(phi) in its series; the second for variances below FAR: beyond, phi and a move may
 * be out of the range of floats where their sum is not. */
GPC_PART void add_close(size_t pairs, double phi, float *u, float *v, float *sum) {
  const gpc_exp2f_series series =
      gpc_exp2f_times(gpc_exp2f((float)(phi * GPC_EXP_LOG2E)));
#pragma omp simd
  for (size_t d = 0; d < pairs; d++) {
    float up, down;
    gpc_exp2f_two(&series, u[d], &up, &down);
    sum[d] += u[d] = up;
    sum[pairs + d] += v[d] = down;
  }
}

GPC_PART void add_near(size_t pairs, double phi, float *u, float *v, float *sum) {
  const float middle = gpc_exp2f((float)(phi * GPC_EXP_LOG2E));
#pragma omp simd
  for (size_t d = 0; d < pairs; d++) {
    float up, down;
    gpc_exp2f_both(u[d], &up, &down);
    sum[d] += u[d] = middle * up;
    sum[pairs + d] += v[d] = middle * down;
  }
}

GPC_PART void add_far(size_t pairs, double phi, float *u, float *v, float *sum) {
  const float middle = (float)(phi * GPC_EXP_LOG2E);
#pragma omp simd
  for (size_t d = 0; d < pairs; d++) {
    const float move = u[d];
    sum[d] += u[d] = gpc_exp2f(middle + move);
    sum[pairs + d] += v[d] = gpc_exp2f(middle - move);
  }
}

/* u'v, n a multiple of CHUNK. */
GPC_PART float dot(size_t n, const float *u, const float *v) {
  float total = 0.0f;
#ifdef GPC_FOURS
  gpc_lane s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
  for (size_t d = 0; d < n; d += CHUNK) {
    const gpc_lane *a = (const gpc_lane *)(u + d), *b = (const gpc_lane *)(v + d);
    s0 += a[0] * b[0], s1 += a[1] * b[1], s2 += a[2] * b[2], s3 += a[3] * b[3];
  }
  s0 = (s0 + s1) + (s2 + s3);
  for (size_t i = 0; i < sizeof s0 / sizeof total; i++)
    total += s0[i];
#else
  for (size_t d = 0; d < n; d++)
    total += u[d] * v[d];
#endif
  return total;
}

/* Are all rows of the factor shorter than `most`, squared, and phi above -LEAST? Their lengths are
 * not those of the variances where rounding left the covariance indefinite. */
GPC_PART int all_close(const gpc_joint_points *self, size_t n, const double *phi,
                       double most) {
  float *length = self->row;
  memset(length, 0, n * sizeof(float));
  for (size_t q = 0; q < n; q++) {
    const float *l = self->cov + self->step * q;
    for (size_t j = q; j < n; j++)
      length[j] += l[j] * l[j];
  }
  for (size_t j = 0; j < n; j++)
    if (!((double)length[j] < most && phi[j] * GPC_EXP_LOG2E > -LEAST))
      return 0;
  return 1;
}

/* The average of softmax(0, phi +- L x) over the points, L lower, by powers of two. */
GPC_FUSED static void average(const gpc_joint_points *self, int set, size_t n,
                              const double *phi, double *out) {
  const size_t pairs = pairs_of[set];
  float sum[2 * GPC_JOINT_MANY];
  const double most = CLOSE / GPC_EXP_LOG2E * (CLOSE / GPC_EXP_LOG2E) / self->reach[set];
  int far = 0;
  for (size_t j = 0; j < n; j++)
    far |= !(self->cov[j + self->step * j] < FAR);
  factor(self, n);
  const int close = all_close(self, n, phi, most);
  for (size_t d = 0; d < 2 * pairs; d++)
    sum[d] = 1.0f;
  for (size_t j = 0; j < n; j++) {
    float *u = self->moves + 2 * pairs * j, *v = u + pairs;
    if (j % 2 == 0)
      move_rows(self, set, j, n);
    if (close)
      add_close(pairs, phi[j], u, v, sum);
    else if (far)
      add_far(pairs, phi[j], u, v, sum);
    else
      add_near(pairs, phi[j], u, v, sum);
  }
#pragma omp simd
  for (size_t d = 0; d < 2 * pairs; d++)
    sum[d] = 1.0f / sum[d];
  for (size_t j = 0; j < n; j++) {
    const float *u = self->moves + 2 * pairs * j;
    out[j] = 0.5 * (double)dot(2 * pairs, u, sum) / (double)pairs;
  }
}

void gpc_joint_points_average(const gpc_joint_points *self, int many, size_t n,
                              const double *phi, double *out) {
  if (!self->made[many])
    make_points(self, many);
  average(self, many, n, phi, out);
}
