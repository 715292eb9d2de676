/* gp_design.c: see gp_design.h. */
#include "gp_design.h"
#include "linalg.h"
#include "qnorm.h"

#include <math.h>

#define LEADING 6 /* dimensions of the Kronecker sequence */
#define PAIRS GPC_GP_DESIGN_PAIRS

/* A fixed standard normal number by a mixing function (splitmix64) of its place. */
static double mixed_normal(uint64_t place) {
  uint64_t h = (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
  h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
  h ^= h >> 31;
  return gpc_qnorm(((double)(h >> 11) + 0.5) * 0x1p-53);
}

/* The steps of the Kronecker sequence are the powers of 1 / r, r the root of r^7 = r + 1:
 * the golden ratio's analogue in 6 dimensions. */
static double kronecker_root(void) {
  double root = 1.1;
  for (int i = 0; i < 60; i++) /* contracts by a factor of 14 */
    root = pow(1.0 + root, 1.0 / (LEADING + 1.0));
  return root;
}

static size_t exact_dimensions(size_t pairs, size_t rank) {
  return rank < pairs / 4 ? rank : pairs / 4;
}

/* y [pairs x exact] := y L^-T with L L' = y'y / pairs [exact x exact, chol]. */
static void make_uncorrelated(size_t pairs, size_t exact, double *y, double *chol) {
  gpc_gemm(1, 0, exact, exact, pairs, 1.0 / (double)pairs, y, y, 0.0, chol);
  if (gpc_chol(exact, 1e-4, chol) == GPC_OK) /* if not, good enough as they are */
    gpc_solve_rows(pairs, exact, chol, y);
}

size_t gpc_gp_design_work(size_t pairs) { return (pairs + pairs / 4) * (pairs / 4); }

void gpc_gp_design_part(size_t pairs, size_t skip, size_t rank, double *work, double *x) {
  const size_t exact = exact_dimensions(pairs, rank);
  double *y = work, *chol = work + pairs * exact, alpha = 1.0;
  const double root = kronecker_root();
  for (size_t q = 0; q < rank; q++) {
    alpha /= root;
    for (size_t d = 0; d < pairs; d++) {
      const double t = 0.5 + (double)(skip + d + 1) * alpha;
      const double point = q < LEADING ? gpc_qnorm(t - floor(t))
                                       : mixed_normal((uint64_t)(q * PAIRS + skip + d));
      *(q < exact ? y + d + pairs * q : x + q + rank * d) = point;
    }
  }
  make_uncorrelated(pairs, exact, y, chol);
  for (size_t d = 0; d < pairs; d++)
    for (size_t q = 0; q < exact; q++)
      x[q + rank * d] = y[d + pairs * q];
}

void gpc_gp_design_functions(size_t rank, double *work, double *x) {
  gpc_gp_design_part(PAIRS, 0, rank, work, x);
}

#define NOISE_PLACE UINT64_C(1000003000) /* clear of the places of the functions */

void gpc_gp_design_noise(size_t which, size_t rank, const double *x, double *e) {
  for (size_t d = 0; d < PAIRS; d++)
    e[d] = mixed_normal(NOISE_PLACE + (uint64_t)which * PAIRS + d);
  for (size_t q = 0; q < exact_dimensions(PAIRS, rank); q++) { /* x x' / PAIRS = I */
    double sum = 0.0;
    for (size_t d = 0; d < PAIRS; d++)
      sum += e[d] * x[q + rank * d] / PAIRS;
    for (size_t d = 0; d < PAIRS; d++)
      e[d] -= sum * x[q + rank * d];
  }
  double square = 0.0;
  for (size_t d = 0; d < PAIRS; d++)
    square += e[d] * e[d];
  for (size_t d = 0; d < PAIRS; d++)
    e[d] *= sqrt(PAIRS / square);
}
