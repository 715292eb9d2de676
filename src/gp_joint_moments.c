/* gp_joint_moments.c: see gp_joint_moments.h. */
#include "gp_joint_moments.h"
#include "fastexp.h"
#include "simd.h"

#include <math.h>
#include <string.h>

/* The sum over the classes by eq. (24a) may be off by so much: a probability is then off by
 * half of it at the most (simulated rows of 2 to 10 classes, bench/results/effects-speed.md). */
#define MOST_OFF 2e-4
#define RARE 1e-5 /* mean of exp(g) by which a wide class may count */
#define TALL 16   /* classes of a tile ... */
#define FEW 4     /* ... and heavy ones */

static size_t in_fours(size_t heavy) { return (heavy + FEW - 1) / FEW * FEW; }

/* Powers, e and sums of the classes. */
size_t gpc_joint_moments_work(size_t k) {
  const size_t step = gpc_joint_step(k), heavy = in_fours(k);
  return step * heavy + TALL + heavy * k + heavy + 2 * (step + TALL);
}

/* own and m: means of exp(g), and what the light classes add to a class's denominator. 0
 * where a class is rare and huge: the moments say nothing of the rest, and the sum would
 * be one all the same. v [step]. */
GPC_PART int set_means(const gpc_joint_row *row, double *own, double *m, double *v) {
  double rare = 0.0, light = 0.0;
#pragma omp simd reduction(max : rare)
  for (size_t j = 0; j < row->step; j++) {
    /* a light class has a part in its own denominator; of a wide one the mean of that part
     * is huge and rare, and says nothing of the reciprocal's */
    const double half = gpc_exp(0.5 * row->d[j]), part = row->s[j] * half;
    /* choices by factors: a loop with branches does not vectorise */
    const double wide = 0.5 + copysign(0.5, row->d[j] - GPC_JOINT_WIDE_CLASS),
                 huge = wide * part;
    double more = part * half * half - part;
    more = more < gpc_limit_large ? more : gpc_limit_large; /* 0 times it is 0 */
    v[j] = own[j] = part;
    m[j] = (1.0 - wide) * more;
    rare = huge > rare ? huge : rare;
  }
  if (rare > RARE)
    return 0;
  for (size_t h = 0; h < row->heavy; h++)
    m[row->which[h]] = v[row->which[h]] = 0.0;
  for (size_t j = 0; j < row->k; j++)
    light += v[j];
#pragma omp simd
  for (size_t j = 0; j < row->step; j++) {
    m[j] += light;
    v[j] = 0.0;
  }
  return 1;
}

/* m and v [TALL] := sum_h weight_h a_jh and sum_h a_jh sum_i a_ji e_ih of some classes j; a [step x
 * heavy], e [fours x heavy], both 0 for heavy classes that there are not. */
GPC_PART void sum_tile(size_t step, size_t heavy, const float *a, const float *e,
                       const float *weight, float *m, float *v) {
  const size_t fours = in_fours(heavy);
#ifdef GPC_FOURS
  gpc_lane m0 = {0}, m1 = {0}, v0 = {0}, v1 = {0};
  for (size_t h = 0; h < heavy; h += FEW) {
    gpc_lane s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, t0 = {0}, t1 = {0}, t2 = {0},
             t3 = {0};
    const float *by = e + h, *from = a;
    for (size_t i = 0; i < heavy; i++, by += fours, from += step) {
      const gpc_lane s = *(const gpc_lane *)from, t = *(const gpc_lane *)(from + 8);
      s0 += s * by[0], s1 += s * by[1], s2 += s * by[2], s3 += s * by[3];
      t0 += t * by[0], t1 += t * by[1], t2 += t * by[2], t3 += t * by[3];
    }
    const float *own = a + step * h, *w = weight + h;
    const gpc_lane *x0 = (const gpc_lane *)own, *x1 = (const gpc_lane *)(own + step);
    const gpc_lane *x2 = (const gpc_lane *)(own + 2 * step),
                   *x3 = (const gpc_lane *)(own + 3 * step);
    v0 += x0[0] * s0 + x1[0] * s1 + x2[0] * s2 + x3[0] * s3;
    v1 += x0[1] * t0 + x1[1] * t1 + x2[1] * t2 + x3[1] * t3;
    m0 += x0[0] * w[0] + x1[0] * w[1] + x2[0] * w[2] + x3[0] * w[3];
    m1 += x0[1] * w[0] + x1[1] * w[1] + x2[1] * w[2] + x3[1] * w[3];
  }
  ((gpc_lane *)m)[0] = m0, ((gpc_lane *)m)[1] = m1;
  ((gpc_lane *)v)[0] = v0, ((gpc_lane *)v)[1] = v1;
#else
  for (size_t j = 0; j < TALL; j++) {
    m[j] = v[j] = 0.0f;
    for (size_t h = 0; h < heavy; h++) {
      float sum = 0.0f;
      for (size_t i = 0; i < heavy; i++)
        sum += a[j + step * i] * e[h + fours * i];
      m[j] += weight[h] * a[j + step * h];
      v[j] += a[j + step * h] * sum;
    }
  }
#endif
}

GPC_FUSED int gpc_joint_moments(const gpc_joint_row *row, double *work, float *single,
                                double *out) {
  const size_t step = gpc_joint_step(row->k), heavy = row->heavy, fours = in_fours(heavy);
  const double *g = row->g;
  double *own = work, *m = own + step, *v = m + step, sum = 0.0;
  float *a = single, *e = a + step * fours + TALL, *weight = e + fours * heavy;
  float *mean = weight + fours, *spread = mean + step + TALL;
  if (!set_means(row, own, m, v))
    return 0;
#pragma omp simd
  for (size_t i = 0; i < (step * heavy + 7) / 8 * 8; i++)
    a[i] = gpc_expf((float)g[i]);
  memset(a + step * heavy, 0, (step * (fours - heavy) + TALL) * sizeof(float));
  memset(e, 0, (fours * heavy + fours) * sizeof(float));
  for (size_t h = 0; h < heavy; h++)
    weight[h] = (float)own[row->which[h]];
  for (size_t h = 0; h < heavy; h++) {
    const float *ah = a + step * h;
    for (size_t i = 0; i <= h; i++)
      e[i + fours * h] = e[h + fours * i] =
          weight[h] * weight[i] * (ah[row->which[i]] - 1.0f);
  }
  for (size_t j = 0; j < step; j += TALL)
    sum_tile(step, heavy, a + j, e, weight, mean + j, spread + j);
#pragma omp simd reduction(+ : sum)
  for (size_t j = 0; j < step; j++) {
    const double inv = 1.0 / (m[j] + (double)mean[j]);
    sum += out[j] = own[j] * inv * (1.0 + (double)spread[j] * inv * inv);
  }
#pragma omp simd
  for (size_t j = 0; j < step; j++)
    out[j] /= sum;
  return fabs(sum - 1.0) <= MOST_OFF;
}
