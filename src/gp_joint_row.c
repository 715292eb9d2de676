/* gp_joint_row.c: see gp_joint_row.h. */
#include "gp_joint_row.h"
#include "linalg.h"
#include "simd.h"
#include "tilt.h"

#include <math.h>
#include <string.h>

#define ROWS GPC_JOINT_BLOCK
#define STENCIL GPC_STENCIL
#define RULED_OUT 23.0 /* nats */
#define EIGHT 8
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
  for (size_t a = 0; a < count; a++)
    for (size_t b = 0; b <= a; b++) {
      double sum = gpc_dot(length, t->a + 2 * m * a, other + 2 * m * b);
      if (effects) {
        const size_t j = (size_t)active[a], pair = triangle(j) + (size_t)active[b];
        sum += a == b ? t->open[j + k * i]
               : dense
                   ? t->cee[pair + triangle(k) * i]
                   : gpc_dot(packed, t->packed + packed * i, t->pairs + packed * pair);
      }
      t->c[a + count * b] = t->c[b + count * a] = sum + (a == b ? t->rho_row[a] : 0.0);
    }
}

double gpc_joint_row_tilt(const gpc_joint *joint, const gpc_joint_block *t, size_t row,
                          size_t i, size_t count, double *pi) {
  const size_t k = joint->data->k, n = joint->data->n;
  const int *active = t->active + k * i;
  double mass = 0.0;
  for (size_t a = 0; a < count; a++) {
    t->f[a] = t->phi[(size_t)active[a] + k * i];
    mass += t->pi[a] = pi[row + n * (size_t)active[a]];
  }
  for (size_t a = 0; a < count; a++)
    t->pi[a] = mass > 0.0 ? t->pi[a] / mass : 1.0 / (double)count;
  const double bound = gpc_tilt(count, t->f, t->c, t->work, t->pi);
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
  const double *x = t->x + r * i;
  for (size_t a = 0; a < count; a++) {
    const size_t j = (size_t)active[a], first = (size_t)t->first[j * ROWS + i];
    const double pi = t->pi[a], rest = w * ((j == label ? 1.0 : 0.0) - pi);
    const double spread = w * pi * (1.0 - pi), *w12 = t->w12 + STENCIL * a;
    double *ge = pass->ge + j * r;
    for (size_t q = 0; q < STENCIL; q++) {
      pass->gc[first + q] += rest * w12[q];
      pass->spread[first + q] += spread * w12[q];
    }
    for (size_t f = 0; f < r; f++)
      ge[f] += rest * x[f];
  }
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
      for (size_t q = 0; q < STENCIL; q++) {
        double *to = t->half + here + g * (there + q);
        const double by = (a == b ? 0.5 : 1.0) * both * from[q];
        for (size_t p = 0; p < STENCIL; p++)
          to[p] += by * w12[p];
      }
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
  const size_t long_r = gpc_joint_long(r);
  const double *x = t->x + r * i, *wide = t->wide, root = sqrt(w);
  memcpy(t->wide, x, r * sizeof(double)); /* and zeros, which have been there */
  double *p = t->p + g * i, *weighed = t->weighed + triangle(k) * i;
  for (size_t a = 0; a < count; a++) {
    const size_t j = (size_t)active[a], first = (size_t)t->first[j * ROWS + i];
    const double pi = t->pi[a], *w12 = t->w12 + STENCIL * a;
    double *y = t->y + joint->e * i + j * r;
    for (size_t q = 0; q < STENCIL; q++)
      p[first + q] += root * pi * w12[q];
    double *to = t->level + long_r * (first + g * j);
    for (size_t q = 0; q < STENCIL; q++, to += long_r) {
      const double weight = w * pi * w12[q];
      for (size_t f = 0; f < long_r; f += EIGHT)
#pragma omp simd
        for (size_t v = f; v < f + EIGHT; v++)
          to[v] += weight * wide[v];
    }
#pragma omp simd
    for (size_t f = 0; f < r; f++)
      y[f] = root * pi * x[f];
    for (size_t b = 0; b <= a; b++)
      weighed[triangle(j) + (size_t)active[b]] =
          w * (a == b ? pi - pi * pi : -pi * t->pi[b]);
  }
}
