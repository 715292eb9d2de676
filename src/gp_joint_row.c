/* gp_joint_row.c: see gp_joint_row.h. */
#include "gp_joint_row.h"
#include "fastexp.h"
#include "linalg.h"
#include "simd.h"
#include "tilt.h"

#include <math.h>
#include <string.h>

#define ROWS GPC_JOINT_BLOCK
#define STENCIL GPC_STENCIL
#define RULED_OUT 23.0 /* nats */
#define FOUR 4

static size_t triangle(size_t n) { return n * (n + 1) / 2; }

size_t gpc_joint_row_active(const gpc_joint *joint, const gpc_joint_block *t, size_t i,
                            size_t label, int effects) {
  const size_t k = joint->data->k;
  const double *phi = t->phi + k * i, *open = t->open + k * i;
  size_t top = 0, count = 0;
  for (size_t j = 0; j < k; j++) {
    const size_t node = (size_t)t->first[j * ROWS + i] + GPC_LEFT;
    t->work[j] =
        fmax(t->sd[node], t->sd[node + 1]) + (effects ? sqrt(fmax(open[j], 0.0)) : 0.0);
    top = phi[j] > phi[top] ? j : top;
  }
  for (size_t j = 0; j < k; j++) {
    const double sd = t->work[j] + t->work[top];
    if (j == top || j == label || !(phi[j] + 0.5 * sd * sd < phi[top] - RULED_OUT))
      t->active[k * i + count++] = (int)j;
  }
  return count;
}

void gpc_joint_row_weights(const gpc_joint_block *t, size_t i, size_t count,
                           const int *active) {
  for (size_t b = 0; b < count; b++) {
    const double *wts = t->wts + (size_t)active[b] * STENCIL * ROWS + i;
    for (size_t q = 0; q < STENCIL; q++)
      t->w12[STENCIL * b + q] = wts[q * ROWS];
  }
}

/* to [m] := sum_q w_q column q of a [m x 12], by fours; the last four begin earlier. */
GPC_PART void weigh(size_t m, const double *w, const double *a, double *to) {
#ifdef GPC_FOURS
  for (size_t p = 0; p < m && m >= FOUR; p += FOUR) {
    const size_t top = p + FOUR <= m ? p : m - FOUR;
    const double *from = a + top;
    gpc_four sum = {0};
    for (size_t q = 0; q < STENCIL; q++, from += m)
      sum += w[q] * *(const gpc_four *)from;
    *(gpc_four *)(to + top) = sum;
  }
  if (m >= FOUR)
    return;
#endif
  for (size_t p = 0; p < m; p++) {
    to[p] = 0.0;
    for (size_t q = 0; q < STENCIL; q++)
      to[p] += w[q] * a[p + m * q];
  }
}

/* The first m of every 2 m numbers of t->a, and rho, of the active classes: U'a. */
GPC_FUSED static void interpolate(size_t m, const gpc_joint_block *t, size_t i,
                                  size_t count, const int *active) {
  for (size_t b = 0; b < count; b++) {
    const size_t first = (size_t)t->first[(size_t)active[b] * ROWS + i];
    const double *w12 = t->w12 + STENCIL * b, *rho = t->rho + first;
    double left = 0.0;
    for (size_t q = 0; q < STENCIL; q++)
      left += w12[q] * rho[q];
    t->rho_row[b] = left > 0.0 ? left : 0.0;
    weigh(m, w12, t->au + m * first, t->a + 2 * m * b);
  }
}

/* s of the active classes of row i, the first m of every 2 m numbers. */
GPC_FUSED static void cross_row(size_t m, size_t k, size_t r, const gpc_joint_block *t,
                                size_t i, size_t count, const int *active) {
  const double *x = t->x + r * i;
  memset(t->s, 0, 2 * m * count * sizeof(double));
  for (size_t b = 0; b < count; b++)
    for (size_t f = 0; f < r; f++) {
      const double *from = t->cross + m * (size_t)active[b] + m * k * f, w = x[f];
      double *s = t->s + 2 * m * b;
#pragma omp simd
      for (size_t p = 0; p < m; p++)
        s[p] += w * from[p];
    }
}

/* to [count] := x'y_b, x [n] and the columns y_b of y, `step` apart: four at a time, whose
 * sums need not wait for each other. */
GPC_PART void products(size_t n, const double *x, size_t count, size_t step,
                       const double *y, double *to) {
#ifdef GPC_FOURS
  for (size_t b = 0; b < count; b += FOUR) {
    const double *y0 = y + step * b, *y1 = b + 1 < count ? y0 + step : y0,
                 *y2 = b + 2 < count ? y1 + step : y0,
                 *y3 = b + 3 < count ? y2 + step : y0;
    gpc_four s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
    size_t p = 0;
    for (; p + FOUR <= n; p += FOUR) {
      const gpc_four v = *(const gpc_four *)(x + p);
      s0 += v * *(const gpc_four *)(y0 + p);
      s1 += v * *(const gpc_four *)(y1 + p);
      s2 += v * *(const gpc_four *)(y2 + p);
      s3 += v * *(const gpc_four *)(y3 + p);
    }
    double sum[FOUR] = {
        (s0[0] + s0[1]) + (s0[2] + s0[3]), (s1[0] + s1[1]) + (s1[2] + s1[3]),
        (s2[0] + s2[1]) + (s2[2] + s2[3]), (s3[0] + s3[1]) + (s3[2] + s3[3])};
    for (; p < n; p++) {
      sum[0] += x[p] * y0[p];
      sum[1] += x[p] * y1[p];
      sum[2] += x[p] * y2[p];
      sum[3] += x[p] * y3[p];
    }
    for (size_t q = 0; q < FOUR && b + q < count; q++)
      to[b + q] = sum[q];
  }
#else
  for (size_t b = 0; b < count; b++)
    to[b] = gpc_dot(n, x, y + step * b);
#endif
}

/* By a_k'S a_l + a_k's_l + s_k'a_l = (a_k + s_k)'(a_l + s_l) - s_k's_l in whitened
 * coordinates, as one product of (a + s, s) and (a + s, -s). */
GPC_FUSED void gpc_joint_row_covariance(const gpc_joint *joint, const gpc_joint_block *t,
                                        size_t i, size_t count, int effects, int dense) {
  const size_t k = joint->data->k, m = joint->m, packed = triangle(joint->features.r);
  const size_t length = effects ? 2 * m : m;
  const int *active = t->active + k * i;
  const double *other = effects ? t->s : t->a;
  interpolate(m, t, i, count, active);
  if (effects && !dense)
    cross_row(m, k, joint->features.r, t, i, count, active);
  for (size_t b = 0; b < count && effects; b++) {
    double *a = t->a + 2 * m * b, *s = t->s + 2 * m * b;
    const double *from = dense ? t->smx + m * (k * i + (size_t)active[b]) : s;
    for (size_t p = 0; p < m; p++) {
      const double x = from[p];
      a[m + p] = x;
      s[m + p] = -x;
      s[p] = a[p] += x;
    }
  }
  for (size_t a = 0; a < count; a++) {
    const size_t j = (size_t)active[a];
    double *c = t->c + count * a;
    products(length, t->a + 2 * m * a, a + 1, 2 * m, other, c);
    c[a] += t->rho_row[a];
    for (size_t b = 0; b <= a && effects; b++) {
      const size_t pair = triangle(j) + (size_t)active[b];
      c[b] += a == b  ? t->open[j + k * i]
              : dense ? t->cee[pair + triangle(k) * i]
                      : gpc_dot(packed, t->packed + packed * i, t->pairs + packed * pair);
    }
    for (size_t b = 0; b < a; b++)
      t->c[a + count * b] = c[b];
  }
}

/* pi := softmax(phi); returns log sum exp(phi). */
GPC_FUSED static double softmax_row(size_t k, const double *phi, double *pi) {
  double top = phi[0], sum = 0.0;
  for (size_t j = 1; j < k; j++)
    top = phi[j] > top ? phi[j] : top;
#pragma omp simd reduction(+ : sum)
  for (size_t j = 0; j < k; j++)
    sum += pi[j] = gpc_exp_nonpos(phi[j] - top);
  for (size_t j = 0; j < k; j++)
    pi[j] /= sum;
  return top + log(sum);
}

double gpc_joint_row_tilt(const gpc_joint *joint, const gpc_joint_block *t, size_t row,
                          size_t i, size_t count, int certain, double *pi) {
  const size_t k = joint->data->k, n = joint->data->n;
  const int *active = t->active + k * i;
  double mass = 0.0;
  for (size_t a = 0; a < count; a++) {
    t->f[a] = t->phi[(size_t)active[a] + k * i];
    mass += t->pi[a] = pi[row + n * (size_t)active[a]];
  }
  for (size_t a = 0; a < count; a++)
    t->pi[a] = mass > 0.0 ? t->pi[a] / mass : 1.0 / (double)count;
  const double bound = certain ? softmax_row(count, t->f, t->pi)
                               : gpc_tilt(count, t->f, t->c, t->work, t->pi);
  if (count < k)
    for (size_t j = 0; j < k; j++)
      pi[row + n * j] = 0.0;
  for (size_t a = 0; a < count; a++)
    pi[row + n * (size_t)active[a]] = t->pi[a];
  return bound;
}

GPC_FUSED void gpc_joint_row_gradients(const gpc_joint *joint, const gpc_joint_block *t,
                                       size_t i, size_t count, size_t label, double w,
                                       gpc_joint_pass *pass) {
  const size_t k = joint->data->k, r = joint->features.r;
  const int *active = t->active + k * i;
  const double *restrict x = t->x + r * i;
  for (size_t a = 0; a < count; a++) {
    const size_t j = (size_t)active[a], first = (size_t)t->first[j * ROWS + i];
    const double pi = t->pi[a], rest = w * ((j == label ? 1.0 : 0.0) - pi);
    const double spread = w * pi * (1.0 - pi), *restrict w12 = t->w12 + STENCIL * a;
    double *restrict ge = pass->ge + j * r, *restrict gc = pass->gc + first,
                     *restrict v = pass->spread + first;
#pragma omp simd
    for (size_t q = 0; q < STENCIL; q++) {
      gc[q] += rest * w12[q];
      v[q] += spread * w12[q];
    }
#pragma omp simd
    for (size_t f = 0; f < r; f++)
      ge[f] += rest * x[f];
  }
}

/* to [12 x 12, columns g apart] += by a b'. */
GPC_PART void add_square(size_t g, double by, const double *restrict a,
                         const double *restrict b, double *restrict to) {
  for (size_t q = 0; q < STENCIL; q++, to += g) {
    const double weight = by * b[q];
#pragma omp simd
    for (size_t p = 0; p < STENCIL; p++)
      to[p] += weight * a[p];
  }
}

GPC_FUSED void gpc_joint_row_two(const gpc_joint *joint, const gpc_joint_block *t,
                                 size_t i, double w) {
  const size_t g = joint->nodes->g, r = joint->features.r, packed = triangle(r);
  const size_t here = (size_t)t->first[i], there = (size_t)t->first[ROWS + i];
  const size_t long_r = gpc_joint_long(r);
  const double *a = t->w12, *b = t->w12 + STENCIL, *x = t->wide + long_r * i;
  const double both = w * t->pi[0] * t->pi[1], *xx = t->packed + packed * i;
  add_square(g, 0.5 * w * t->pi[0] * t->pi[0], a, a, t->half + here * (g + 1));
  add_square(g, 0.5 * w * t->pi[1] * t->pi[1], b, b, t->half + there * (g + 1));
  add_square(g, both, a, b, t->half + here + g * there);
  gpc_joint_add_columns(long_r, both, x, a, 1, t->level + long_r * here);
  gpc_joint_add_columns(long_r, -both, x, b, 1, t->level + long_r * there);
#pragma omp simd
  for (size_t p = 0; p < packed; p++)
    t->hpacked[p] += both * xx[p];
}

GPC_FUSED void gpc_joint_row_pairs(const gpc_joint *joint, const gpc_joint_block *t,
                                   size_t i, size_t count, double w,
                                   gpc_joint_pass *pass) {
  const size_t k = joint->data->k, r = joint->features.r, g = joint->nodes->g;
  const size_t packed = triangle(r);
  const int *active = t->active + k * i;
  const double *x = t->x + r * i, *xx = t->packed + packed * i;
  for (size_t a = 0; a < count; a++) {
    const size_t j = (size_t)active[a], here = (size_t)t->first[j * ROWS + i];
    const double pi = t->pi[a], *w12 = t->w12 + STENCIL * a;
    for (size_t b = 0; b < count; b++) { /* of class j and the nodes of class b */
      const double *from = t->w12 + STENCIL * b;
      const double by = w * pi * ((a == b ? 1.0 : 0.0) - t->pi[b]);
      for (size_t q = 0; q < STENCIL; q++)
        t->u12[STENCIL * b + q] = by * from[q];
    }
    for (size_t f = 0; f < r; f++) {
      double *column = pass->hce + g * (j * r + f);
      for (size_t b = 0; b < count; b++) {
        double *to = column + t->first[(size_t)active[b] * ROWS + i];
        const double *u = t->u12 + STENCIL * b;
        for (size_t q = 0; q < STENCIL; q++)
          to[q] += x[f] * u[q];
      }
    }
    for (size_t b = 0; b <= a; b++) {
      const size_t there = (size_t)t->first[(size_t)active[b] * ROWS + i];
      const double both = w * pi * t->pi[b], *from = t->w12 + STENCIL * b;
      add_square(g, (a == b ? 0.5 : 1.0) * both, w12, from, t->half + here + g * there);
      double *to = t->hpacked + packed * (triangle(j) + (size_t)active[b]);
      const double by = a == b ? w * pi - both : -both;
#pragma omp simd
      for (size_t p = 0; p < packed; p++)
        to[p] += by * xx[p];
    }
  }
}

GPC_FUSED void gpc_joint_row_prepare(const gpc_joint *joint, const gpc_joint_block *t,
                                     size_t i, size_t count, double w) {
  const size_t k = joint->data->k, r = joint->features.r, g = joint->nodes->g;
  const int *active = t->active + k * i;
  const double *x = t->x + r * i, root = sqrt(w);
  double *p = t->p + g * i, *weighed = t->weighed + triangle(k) * i;
  for (size_t a = 0; a < count; a++) {
    const size_t j = (size_t)active[a], first = (size_t)t->first[j * ROWS + i];
    const double pi = t->pi[a], *w12 = t->w12 + STENCIL * a;
    double *y = t->y + joint->e * i + j * r;
    for (size_t q = 0; q < STENCIL; q++)
      p[first + q] += root * pi * w12[q];
    t->share[j * ROWS + i] = w * pi;
#pragma omp simd
    for (size_t f = 0; f < r; f++)
      y[f] = root * pi * x[f];
    for (size_t b = 0; b <= a; b++)
      weighed[triangle(j) + (size_t)active[b]] =
          w * (a == b ? pi - pi * pi : -pi * t->pi[b]);
  }
}
