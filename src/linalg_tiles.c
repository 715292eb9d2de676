/* linalg_tiles.c: see linalg_tiles.h. */
#include "linalg_tiles.h"
#include "simd.h"

#include <stddef.h>

#define SIDE 8      /* of a tile: eight columns, ... */
#define TALL 16     /* ... of two vectors each, or of one where fewer rows are left */
#define DEPTH 128   /* of the copies */
#define COLUMNS 128 /* of b, copied at a time */
#define LINE 64 /* bytes: a vector that crosses lines of the cache takes twice as long */
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

#if GPC_HAS_TILES

typedef double eight __attribute__((vector_size(64), aligned(8), may_alias));
typedef long long order __attribute__((vector_size(64)));

/* c [TALL x SIDE] += alpha sum_p x_p y_p', x [TALL x m] and y [SIDE x m]. */
GPC_TILES static void add_tall(size_t m, double alpha, const double *restrict a,
                               const double *restrict b, double *restrict c, size_t ldc) {
  eight s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};
  eight t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0}, t4 = {0}, t5 = {0}, t6 = {0}, t7 = {0};
  for (size_t p = 0; p < m; p++, a += TALL, b += SIDE) {
    const eight x = *(const eight *)a, y = *(const eight *)(a + SIDE);
    s0 += x * b[0], t0 += y * b[0];
    s1 += x * b[1], t1 += y * b[1];
    s2 += x * b[2], t2 += y * b[2];
    s3 += x * b[3], t3 += y * b[3];
    s4 += x * b[4], t4 += y * b[4];
    s5 += x * b[5], t5 += y * b[5];
    s6 += x * b[6], t6 += y * b[6];
    s7 += x * b[7], t7 += y * b[7];
  }
  const eight s[SIDE] = {s0, s1, s2, s3, s4, s5, s6, s7};
  const eight t[SIDE] = {t0, t1, t2, t3, t4, t5, t6, t7};
#pragma GCC unroll 8
  for (size_t j = 0; j < SIDE; j++, c += ldc) {
    *(eight *)c += alpha * s[j];
    *(eight *)(c + SIDE) += alpha * t[j];
  }
}

/* The same with SIDE rows. */
GPC_TILES static void add_short(size_t m, double alpha, const double *restrict a,
                                const double *restrict b, double *restrict c,
                                size_t ldc) {
  eight s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};
  for (size_t p = 0; p < m; p++, a += SIDE, b += SIDE) {
    const eight x = *(const eight *)a;
    s0 += x * b[0], s1 += x * b[1], s2 += x * b[2], s3 += x * b[3];
    s4 += x * b[4], s5 += x * b[5], s6 += x * b[6], s7 += x * b[7];
  }
  const eight s[SIDE] = {s0, s1, s2, s3, s4, s5, s6, s7};
#pragma GCC unroll 8
  for (size_t j = 0; j < SIDE; j++, c += ldc)
    *(eight *)c += alpha * s[j];
}

/* Eight vectors, `across` apart, of eight numbers each: to [8 x 8], `step` from column to
 * column, has them as its rows. */
GPC_TILES static void turn(const double *from, size_t across, double *to, size_t step) {
  const order low = {0, 8, 2, 10, 4, 12, 6, 14}, high = {1, 9, 3, 11, 5, 13, 7, 15};
  const order even = {0, 1, 8, 9, 4, 5, 12, 13}, odd = {2, 3, 10, 11, 6, 7, 14, 15};
  const order first = {0, 1, 2, 3, 8, 9, 10, 11}, second = {4, 5, 6, 7, 12, 13, 14, 15};
  eight r[SIDE], t[SIDE], u[SIDE];
#pragma GCC unroll 8
  for (size_t i = 0; i < SIDE; i++)
    r[i] = *(const eight *)(from + across * i);
#pragma GCC unroll 8
  for (size_t i = 0; i < SIDE; i += 2) {
    t[i] = __builtin_shuffle(r[i], r[i + 1], low);
    t[i + 1] = __builtin_shuffle(r[i], r[i + 1], high);
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < SIDE / 2; i++) { /* 0, 1, 4, 5 and two on */
    const size_t j = i + i / 2 * 2;
    u[j] = __builtin_shuffle(t[j], t[j + 2], even);
    u[j + 2] = __builtin_shuffle(t[j], t[j + 2], odd);
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < SIDE / 2; i++) {
    *(eight *)(to + step * i) = __builtin_shuffle(u[i], u[i + 4], first);
    *(eight *)(to + step * (i + 4)) = __builtin_shuffle(u[i], u[i + 4], second);
  }
}

#else

static void add_sums(size_t rows, size_t m, double alpha, const double *a,
                     const double *b, double *c, size_t ldc) {
  for (size_t j = 0; j < SIDE; j++)
    for (size_t i = 0; i < rows; i++) {
      double sum = 0.0;
      for (size_t p = 0; p < m; p++)
        sum += a[i + rows * p] * b[j + SIDE * p];
      c[i + ldc * j] += alpha * sum;
    }
}

static void add_tall(size_t m, double alpha, const double *a, const double *b, double *c,
                     size_t ldc) {
  add_sums(TALL, m, alpha, a, b, c, ldc);
}

static void add_short(size_t m, double alpha, const double *a, const double *b, double *c,
                      size_t ldc) {
  add_sums(SIDE, m, alpha, a, b, c, ldc);
}

static void turn(const double *from, size_t across, double *to, size_t step) {
  for (size_t p = 0; p < SIDE; p++)
    for (size_t i = 0; i < SIDE; i++)
      to[i + step * p] = from[p + across * i];
}

#endif

/* c [rows x columns] += alpha a b' of a tile whose copies are `tall` (TALL or SIDE) and SIDE
 * wide: rows i >= j + above of column j. */
static void add_tile(size_t tall, size_t m, double alpha, const double *a,
                     const double *b, size_t rows, size_t columns, ptrdiff_t above,
                     double *c, size_t ldc) {
  double own[TALL * SIDE] = {0};
  const int whole = rows == tall && columns == SIDE && above <= -(SIDE - 1);
  (tall == TALL ? add_tall : add_short)(m, alpha, a, b, whole ? c : own,
                                        whole ? ldc : tall);
  for (size_t j = 0; j < columns && !whole; j++)
    for (size_t i = (ptrdiff_t)j + above > 0 ? (size_t)((ptrdiff_t)j + above) : 0;
         i < rows; i++)
      c[i + ldc * j] += own[i + tall * j];
}

/* to [tall x depth] := `count` vectors of length depth, element p of vector i at
 * from[across i + along p]; the rest 0. */
GPC_TILES static void copy(size_t count, size_t tall, size_t depth, const double *from,
                           size_t across, size_t along, double *to) {
  for (size_t first = 0; first < tall; first += SIDE, to += SIDE) {
    const double *at = from + across * first;
    size_t p = 0;
    if (first + SIDE <= count && across == 1) {
      for (; p < depth; p++)
#pragma omp simd
        for (size_t i = 0; i < SIDE; i++)
          to[i + tall * p] = at[i + along * p];
    } else if (first + SIDE <= count && along == 1) {
      for (; p + SIDE <= depth; p += SIDE)
        turn(at + p, across, to + tall * p, tall);
    }
    for (; p < depth; p++)
      for (size_t i = 0; i < SIDE; i++)
        to[i + tall * p] = first + i < count ? at[across * i + along * p] : 0.0;
  }
}

void gpc_tiles_add(int ta, int tb, int lower, size_t n, size_t k, size_t m, double alpha,
                   const double *a, size_t lda, const double *b, size_t ldb, double *c,
                   size_t ldc) {
  double room[(TALL + COLUMNS) * DEPTH + LINE / sizeof(double)];
  double *left = room + (LINE - (uintptr_t)room % LINE) / sizeof(double);
  double *right = left + TALL * DEPTH;
  const size_t row = ta ? lda : 1, deep = ta ? 1 : lda;  /* steps through a ... */
  const size_t down = tb ? ldb : 1, side = tb ? 1 : ldb; /* ... and b */
  for (size_t p = 0; p < m; p += DEPTH)
    for (size_t q = 0; q < k; q += COLUMNS) {
      const size_t depth = m - p < DEPTH ? m - p : DEPTH;
      const size_t columns = k - q < COLUMNS ? k - q : COLUMNS;
      for (size_t j = 0; j < columns; j += SIDE)
        copy(columns - j < SIDE ? columns - j : SIDE, SIDE, depth,
             b + side * (q + j) + down * p, side, down, right + DEPTH * j);
      for (size_t i = lower ? q : 0; i < n; i += TALL) {
        const size_t rows = n - i < TALL ? n - i : TALL;
        const size_t tall = rows > SIDE ? TALL : SIDE;
        copy(rows, tall, depth, a + row * i + deep * p, row, deep, left);
        for (size_t j = 0; j < columns && !(lower && q + j >= i + rows); j += SIDE) {
          const size_t wide = columns - j < SIDE ? columns - j : SIDE;
          const ptrdiff_t above =
              lower ? (ptrdiff_t)(q + j) - (ptrdiff_t)i : -(ptrdiff_t)SIDE;
          add_tile(tall, depth, alpha, left, right + DEPTH * j, rows, wide, above,
                   c + i + ldc * (q + j), ldc);
        }
      }
    }
}
