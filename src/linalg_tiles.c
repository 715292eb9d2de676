/* linalg_tiles.c: see linalg_tiles.h. */
#include "linalg_tiles.h"
#include "simd.h"

#define SIDE 8      /* of a tile: eight vectors of sums */
#define DEPTH 128   /* of the copies */
#define COLUMNS 128 /* of b, copied at a time */
#define LEAST 30000 /* products: fewer are done before the copies are made */

int gpc_tiles_here(void) {
#if GPC_HAS_TILES
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
#else
  return 0;
#endif
}

int gpc_tiles_pay(size_t n, size_t k, size_t m) {
  return n >= SIDE && k >= SIDE && m >= SIDE && n * k * m >= LEAST && gpc_tiles_here();
}

/* c [rows x columns], at most SIDE each, += alpha sum_p x_p y_p', x and y [SIDE x m]. */
GPC_TILES static void add_tile(size_t m, double alpha, const double *restrict a,
                               const double *restrict b, size_t rows, size_t columns,
                               double *restrict c, size_t ldc) {
  double s0[SIDE] = {0}, s1[SIDE] = {0}, s2[SIDE] = {0}, s3[SIDE] = {0};
  double s4[SIDE] = {0}, s5[SIDE] = {0}, s6[SIDE] = {0}, s7[SIDE] = {0};
  for (size_t p = 0; p < m; p++) {
    const double *x = a + SIDE * p, *y = b + SIDE * p;
    const double y0 = y[0], y1 = y[1], y2 = y[2], y3 = y[3];
    const double y4 = y[4], y5 = y[5], y6 = y[6], y7 = y[7];
#pragma omp simd
    for (size_t i = 0; i < SIDE; i++) {
      s0[i] += x[i] * y0;
      s1[i] += x[i] * y1;
      s2[i] += x[i] * y2;
      s3[i] += x[i] * y3;
      s4[i] += x[i] * y4;
      s5[i] += x[i] * y5;
      s6[i] += x[i] * y6;
      s7[i] += x[i] * y7;
    }
  }
  if (rows == SIDE && columns == SIDE) {
#pragma omp simd
    for (size_t i = 0; i < SIDE; i++) {
      c[i] += alpha * s0[i];
      c[i + ldc] += alpha * s1[i];
      c[i + 2 * ldc] += alpha * s2[i];
      c[i + 3 * ldc] += alpha * s3[i];
      c[i + 4 * ldc] += alpha * s4[i];
      c[i + 5 * ldc] += alpha * s5[i];
      c[i + 6 * ldc] += alpha * s6[i];
      c[i + 7 * ldc] += alpha * s7[i];
    }
    return;
  }
  const double *sums[SIDE] = {s0, s1, s2, s3, s4, s5, s6, s7};
  for (size_t j = 0; j < columns; j++)
    for (size_t i = 0; i < rows; i++)
      c[i + ldc * j] += alpha * sums[j][i];
}

/* The same for a tile on the diagonal, of which what is above stays as it is. */
static void add_corner(size_t m, double alpha, const double *a, const double *b,
                       size_t rows, size_t columns, double *c, size_t ldc) {
  double own[SIDE * SIDE] = {0};
  add_tile(m, alpha, a, b, SIDE, SIDE, own, SIDE);
  for (size_t j = 0; j < columns; j++)
    for (size_t i = j; i < rows; i++)
      c[i + ldc * j] += own[i + SIDE * j];
}

/* to [SIDE x depth] := `count` vectors of length depth, element p of vector i at from[across
 * i + along p]; the rest 0. */
GPC_TILES static void copy(size_t count, size_t depth, const double *from, size_t across,
                           size_t along, double *to) {
  if (count == SIDE && across == 1) {
    for (size_t p = 0; p < depth; p++)
#pragma omp simd
      for (size_t i = 0; i < SIDE; i++)
        to[i + SIDE * p] = from[i + along * p];
  } else if (count == SIDE && along == 1) {
    const double *f0 = from, *f1 = f0 + across, *f2 = f1 + across, *f3 = f2 + across;
    const double *f4 = f3 + across, *f5 = f4 + across, *f6 = f5 + across,
                 *f7 = f6 + across;
    for (size_t p = 0; p < depth; p++, to += SIDE) {
      to[0] = f0[p];
      to[1] = f1[p];
      to[2] = f2[p];
      to[3] = f3[p];
      to[4] = f4[p];
      to[5] = f5[p];
      to[6] = f6[p];
      to[7] = f7[p];
    }
  } else {
    for (size_t i = 0; i < SIDE; i++)
      for (size_t p = 0; p < depth; p++)
        to[i + SIDE * p] = i < count ? from[across * i + along * p] : 0.0;
  }
}

void gpc_tiles_add(int ta, int tb, int lower, size_t n, size_t k, size_t m, double alpha,
                   const double *a, size_t lda, const double *b, size_t ldb, double *c,
                   size_t ldc) {
  double left[SIDE * DEPTH], right[COLUMNS * DEPTH];
  const size_t row = ta ? lda : 1, deep = ta ? 1 : lda;  /* steps through a ... */
  const size_t down = tb ? ldb : 1, side = tb ? 1 : ldb; /* ... and b */
  for (size_t p = 0; p < m; p += DEPTH)
    for (size_t q = 0; q < k; q += COLUMNS) {
      const size_t depth = m - p < DEPTH ? m - p : DEPTH;
      const size_t columns = k - q < COLUMNS ? k - q : COLUMNS;
      for (size_t j = 0; j < columns; j += SIDE)
        copy(columns - j < SIDE ? columns - j : SIDE, depth,
             b + side * (q + j) + down * p, side, down, right + DEPTH * j);
      for (size_t i = lower ? q - q % SIDE : 0; i < n; i += SIDE) {
        const size_t rows = n - i < SIDE ? n - i : SIDE;
        copy(rows, depth, a + row * i + deep * p, row, deep, left);
        for (size_t j = 0; j < columns && !(lower && q + j > i); j += SIDE) {
          const size_t wide = columns - j < SIDE ? columns - j : SIDE;
          double *to = c + i + ldc * (q + j);
          if (lower && q + j == i)
            add_corner(depth, alpha, left, right + DEPTH * j, rows, wide, to, ldc);
          else
            add_tile(depth, alpha, left, right + DEPTH * j, rows, wide, to, ldc);
        }
      }
    }
}
