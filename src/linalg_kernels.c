/* linalg_kernels.c: see linalg_kernels.h. */
#include "linalg_kernels.h"
#include "simd.h"

GPC_FUSED void gpc_add_four(size_t n, size_t ld, const double *a, double x[4][4],
                            double *c) {
  const double *a0 = a, *a1 = a0 + ld, *a2 = a1 + ld, *a3 = a2 + ld;
  double *c0 = c, *c1 = c0 + ld, *c2 = c1 + ld, *c3 = c2 + ld;
  const double x00 = x[0][0], x01 = x[0][1], x02 = x[0][2], x03 = x[0][3];
  const double x10 = x[1][0], x11 = x[1][1], x12 = x[1][2], x13 = x[1][3];
  const double x20 = x[2][0], x21 = x[2][1], x22 = x[2][2], x23 = x[2][3];
  const double x30 = x[3][0], x31 = x[3][1], x32 = x[3][2], x33 = x[3][3];
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    const double s = a0[i], t = a1[i], u = a2[i], v = a3[i];
    c0[i] += s * x00 + t * x10 + u * x20 + v * x30;
    c1[i] += s * x01 + t * x11 + u * x21 + v * x31;
    c2[i] += s * x02 + t * x12 + u * x22 + v * x32;
    c3[i] += s * x03 + t * x13 + u * x23 + v * x33;
  }
}

GPC_FUSED void gpc_eight_products(size_t m, const double *const a[4],
                                  const double *const b[2], double sum[4][2]) {
  const double *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3], *b0 = b[0], *b1 = b[1];
  double s00 = 0.0, s10 = 0.0, s20 = 0.0, s30 = 0.0;
  double s01 = 0.0, s11 = 0.0, s21 = 0.0, s31 = 0.0;
#pragma omp simd reduction(+ : s00, s10, s20, s30, s01, s11, s21, s31)
  for (size_t i = 0; i < m; i++) {
    const double u = b0[i], v = b1[i];
    s00 += a0[i] * u;
    s10 += a1[i] * u;
    s20 += a2[i] * u;
    s30 += a3[i] * u;
    s01 += a0[i] * v;
    s11 += a1[i] * v;
    s21 += a2[i] * v;
    s31 += a3[i] * v;
  }
  sum[0][0] = s00, sum[1][0] = s10, sum[2][0] = s20, sum[3][0] = s30;
  sum[0][1] = s01, sum[1][1] = s11, sum[2][1] = s21, sum[3][1] = s31;
}
