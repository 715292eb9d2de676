/* gp_reduce.c: see gp_reduce.h. */
#include "gp_reduce.h"
#include "fastexp.h"
#include "linalg.h"
#include "simd.h"

#include <math.h>
#include <string.h>

#define WORTH 0.75 /* of the nodes, at the most: otherwise nothing is saved */

/* Points to a lengthscale that GPC_REDUCE_EXACT and GPC_REDUCE_ROUGH ask for, at the least. */
#define PER_L 2.2
#define PER_L_ROUGH 1.4

/* Fewer points than this will not do. */
static double at_least(size_t g, const double *z, double l, double tau) {
  const double per_l = tau < GPC_REDUCE_ROUGH ? PER_L : PER_L_ROUGH;
  double points = 0.0;
  for (size_t i = 1; i < g; i++)
    points += fmin(1.0, per_l * fabs(z[i] - z[i - 1]) / l);
  return points;
}

/* Pivoted Cholesky of k(z, z) [g x g], unit variance, lengthscale l: columns of `factor`
 * [g x most] in the order of the pivots, pivot [most]. Returns their number, or 0 if `most`
 * do not suffice. left [g] is work. */
GPC_WIDE static size_t choose_points(size_t g, const double *z, double l, double tau,
                                     size_t most, double *left, double *factor,
                                     size_t *pivot) {
  const double scale = -0.5 / (l * l);
  for (size_t i = 0; i < g; i++)
    left[i] = 1.0;
  for (size_t r = 0; r <= most; r++) {
    size_t at = 0;
    for (size_t i = 1; i < g; i++)
      at = left[i] > left[at] ? i : at;
    if (left[at] < tau)
      return r;
    if (r == most)
      break;
    double *column = factor + g * r, where = z[at], inv = 1.0 / sqrt(left[at]);
#pragma omp simd
    for (size_t i = 0; i < g; i++) {
      const double d = z[i] - where;
      column[i] = gpc_exp_nonpos(scale * d * d);
    }
    for (size_t q = 0; q < r; q++) {
      const double *before = factor + g * q, x = before[at];
#pragma omp simd
      for (size_t i = 0; i < g; i++)
        column[i] -= before[i] * x;
    }
#pragma omp simd
    for (size_t i = 0; i < g; i++) {
      column[i] *= inv;
      left[i] -= column[i] * column[i];
    }
    for (size_t q = 0; q < r; q++)
      column[pivot[q]] = 0.0; /* but for rounding it is */
    left[at] = 0.0;
    pivot[r] = at;
  }
  return 0;
}

/* factor [g x r] := B, from the Cholesky factor of all points. chol [r x r] is work. */
static void interpolate(size_t g, size_t r, const size_t *pivot, double *chol,
                        double *factor) {
  for (size_t j = 0; j < r; j++)
    for (size_t i = 0; i < r; i++)
      chol[i + r * j] = factor[pivot[i] + g * j];
  gpc_solve_rows_t(g, r, chol, factor);
}

#define STRAIGHT 30.0 /* sqrt(tau) lengthscales by which a straight line may be missed */
#define FAR 1e5 /* lengthscales: rounding of scores further out is no longer small */

/* Scores far away from all others make a line a function of large norm: 1 if B [g x r]
 * keeps the line z from one end to the other all the same. */
static int keeps_line(size_t g, size_t r, const double *b, const size_t *pivot,
                      const double *z, double l, double tau, double *missed) {
  for (size_t i = 0; i < g; i++)
    missed[i] = z[i];
  for (size_t j = 0; j < r; j++)
    for (size_t i = 0; i < g; i++)
      missed[i] -= b[i + g * j] * z[pivot[j]];
  for (size_t i = 0; i < g; i++)
    if (!(fabs(missed[i]) <= STRAIGHT * sqrt(tau) * l && fabs(z[i]) <= FAR * l))
      return 0;
  return 1;
}

gpc_surrogate gpc_reduce(const gpc_surrogate *full, double l, double tau,
                         const gpc_memory *memory, gpc_reduce_room *room) {
  const size_t g = full->g, most = (size_t)(WORTH * (double)g);
  if (at_least(g, full->z, l, tau) > (double)most)
    return *full;
  double *b = gpc_buffer_need(memory, &room->factor, g * (most + 1));
  double *left = gpc_buffer_need(memory, &room->pivots, 2 * g);
  size_t *pivot = (size_t *)(void *)(left + g);
  const size_t r = choose_points(g, full->z, l, tau, most, left, b, pivot);
  if (r == 0)
    return *full;
  double *product = gpc_buffer_need(memory, &room->product, g * r);
  double *w = gpc_buffer_need(memory, &room->matrices, 2 * r * r), *vv = w + r * r;
  double *vectors = gpc_buffer_need(memory, &room->vectors, 5 * r);
  double *terms = gpc_buffer_need(memory, &room->terms, r * full->terms);
  double *z = vectors, *gradient = z + r, *psi0 = gradient + r, *mass = psi0 + r,
         *v = mass + r;
  interpolate(g, r, pivot, w, b);
  if (!keeps_line(g, r, b, pivot, full->z, l, tau, left))
    return *full;
  for (size_t i = 0; i < r; i++) {
    z[i] = full->z[pivot[i]];
    psi0[i] = full->psi0[pivot[i]];
    mass[i] = fmax(gpc_dot(g, b + g * i, full->mass), 0.0);
    v[i] = gpc_dot(g, b + g * i, full->spread);
    gradient[i] = gpc_dot(g, b + g * i, full->b);
  }
  gpc_gemm(1, 0, r, full->terms, g, 1.0, b, full->term, 0.0, terms);
  gpc_symm(g, r, full->curvature, b, product);
  gpc_gram(r, g, b, product, w);
  for (size_t j = 0; j < r; j++)
    for (size_t i = 0; i < g; i++)
      product[i + g * j] = full->spread[i] * b[i + g * j];
  gpc_gram(r, g, b, product, vv);
  gpc_surrogate sur = *full;
  sur.g = r;
  sur.z = z;
  sur.b = gradient;
  sur.curvature = w;
  sur.spread = v;
  sur.spread_full = vv;
  sur.spread_sum = 0.0;
  for (size_t i = 0; i < g; i++)
    sur.spread_sum += full->spread[i];
  sur.psi0 = psi0;
  sur.mass = mass;
  sur.term = terms;
  return sur;
}
