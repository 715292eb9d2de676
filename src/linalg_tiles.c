/* linalg_tiles.c: see linalg_tiles.h. */
#include "linalg_tiles.h"
#include "simd.h"

#include <stddef.h>
#include <string.h>

#define WIDE 8      /* doubles in a vector, where they may be so long, ... */
#define NARROW 4    /* ... and elsewhere */
#define TALLEST 16  /* rows of a tile: two long vectors or three short ones */
#define DEPTH 128   /* of the copies */
#define COLUMNS 128 /* of b, copied at a time */
#define LINE 64 /* bytes: a vector that crosses lines of the cache takes twice as long */
#define LEAST 30000         /* products: fewer are done before the copies are made, ... */
#define LEAST_NARROW 150000 /* ... and loops without them are better with short vectors */

size_t gpc_tiles_width(void) {
#if GPC_HAS_TILES
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return WIDE;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return NARROW;
#endif
  return 0;
}

int gpc_tiles_pay(size_t n, size_t k, size_t m) {
  if (n < WIDE || k < WIDE || m < WIDE || n * k * m < LEAST)
    return 0;
  const size_t width = gpc_tiles_width();
  return width == WIDE || (width == NARROW && n * k * m >= LEAST_NARROW);
}

/* c [rows x columns] += alpha sum_p x_p y_p', x [rows x m] and y [columns x m], for the sizes
 * of a tile: as many columns as a vector has numbers, and so many vectors of rows. */
typedef void add_sums(size_t rows, size_t m, double alpha, const double *a,
                      const double *b, double *c, size_t ldc);

/* to [side x depth], `tall` from column to column, := `side` vectors that lie `across` apart. */
typedef void turn_vectors(size_t depth, const double *from, size_t across, double *to,
                          size_t tall);

typedef struct {
  size_t side; /* columns of a tile, and doubles in a vector */
  size_t most; /* rows of a tile at the most */
  add_sums *add;
  turn_vectors *turn;
} tiles;

#if GPC_HAS_TILES

typedef double eight __attribute__((vector_size(64), aligned(8), may_alias));
typedef long long order __attribute__((vector_size(64)));

GPC_TILES static void add_tall(size_t m, double alpha, const double *restrict a,
                               const double *restrict b, double *restrict c, size_t ldc) {
  eight s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};
  eight t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0}, t4 = {0}, t5 = {0}, t6 = {0}, t7 = {0};
  for (size_t p = 0; p < m; p++, a += 2 * WIDE, b += WIDE) {
    const eight x = *(const eight *)a, y = *(const eight *)(a + WIDE);
    s0 += x * b[0], t0 += y * b[0];
    s1 += x * b[1], t1 += y * b[1];
    s2 += x * b[2], t2 += y * b[2];
    s3 += x * b[3], t3 += y * b[3];
    s4 += x * b[4], t4 += y * b[4];
    s5 += x * b[5], t5 += y * b[5];
    s6 += x * b[6], t6 += y * b[6];
    s7 += x * b[7], t7 += y * b[7];
  }
  const eight s[WIDE] = {s0, s1, s2, s3, s4, s5, s6, s7};
  const eight t[WIDE] = {t0, t1, t2, t3, t4, t5, t6, t7};
#pragma GCC unroll 8
  for (size_t j = 0; j < WIDE; j++, c += ldc) {
    *(eight *)c += alpha * s[j];
    *(eight *)(c + WIDE) += alpha * t[j];
  }
}

GPC_TILES static void add_short(size_t m, double alpha, const double *restrict a,
                                const double *restrict b, double *restrict c,
                                size_t ldc) {
  eight s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};
  for (size_t p = 0; p < m; p++, a += WIDE, b += WIDE) {
    const eight x = *(const eight *)a;
    s0 += x * b[0], s1 += x * b[1], s2 += x * b[2], s3 += x * b[3];
    s4 += x * b[4], s5 += x * b[5], s6 += x * b[6], s7 += x * b[7];
  }
  const eight s[WIDE] = {s0, s1, s2, s3, s4, s5, s6, s7};
#pragma GCC unroll 8
  for (size_t j = 0; j < WIDE; j++, c += ldc)
    *(eight *)c += alpha * s[j];
}

static void add_wide(size_t rows, size_t m, double alpha, const double *a,
                     const double *b, double *c, size_t ldc) {
  (rows > WIDE ? add_tall : add_short)(m, alpha, a, b, c, ldc);
}

/* Eight vectors of eight numbers each become the rows of an [8 x 8]. */
GPC_TILES static void turn_wide(size_t depth, const double *from, size_t across,
                                double *to, size_t tall) {
  const order low = {0, 8, 2, 10, 4, 12, 6, 14}, high = {1, 9, 3, 11, 5, 13, 7, 15};
  const order even = {0, 1, 8, 9, 4, 5, 12, 13}, odd = {2, 3, 10, 11, 6, 7, 14, 15};
  const order first = {0, 1, 2, 3, 8, 9, 10, 11}, second = {4, 5, 6, 7, 12, 13, 14, 15};
  eight r[WIDE], t[WIDE], u[WIDE];
  for (size_t p = 0; p < depth; p += WIDE, from += WIDE, to += WIDE * tall) {
#pragma GCC unroll 8
    for (size_t i = 0; i < WIDE; i++)
      r[i] = *(const eight *)(from + across * i);
#pragma GCC unroll 8
    for (size_t i = 0; i < WIDE; i += 2) {
      t[i] = __builtin_shuffle(r[i], r[i + 1], low);
      t[i + 1] = __builtin_shuffle(r[i], r[i + 1], high);
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < WIDE / 2; i++) { /* 0, 1, 4, 5 and two on */
      const size_t j = i + i / 2 * 2;
      u[j] = __builtin_shuffle(t[j], t[j + 2], even);
      u[j + 2] = __builtin_shuffle(t[j], t[j + 2], odd);
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < WIDE / 2; i++) {
      *(eight *)(to + tall * i) = __builtin_shuffle(u[i], u[i + 4], first);
      *(eight *)(to + tall * (i + 4)) = __builtin_shuffle(u[i], u[i + 4], second);
    }
  }
}

GPC_TILES_NARROW static void add_three(size_t m, double alpha, const double *restrict a,
                                       const double *restrict b, double *restrict c,
                                       size_t ldc) {
  gpc_four s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0};
  gpc_four u0 = {0}, u1 = {0}, u2 = {0}, u3 = {0};
  for (size_t p = 0; p < m; p++, a += 3 * NARROW, b += NARROW) {
    const gpc_four x = *(const gpc_four *)a, y = *(const gpc_four *)(a + NARROW),
                   z = *(const gpc_four *)(a + 2 * NARROW);
    s0 += x * b[0], t0 += y * b[0], u0 += z * b[0];
    s1 += x * b[1], t1 += y * b[1], u1 += z * b[1];
    s2 += x * b[2], t2 += y * b[2], u2 += z * b[2];
    s3 += x * b[3], t3 += y * b[3], u3 += z * b[3];
  }
  const gpc_four s[NARROW] = {s0, s1, s2, s3}, t[NARROW] = {t0, t1, t2, t3},
                 u[NARROW] = {u0, u1, u2, u3};
#pragma GCC unroll 4
  for (size_t j = 0; j < NARROW; j++, c += ldc) {
    *(gpc_four *)c += alpha * s[j];
    *(gpc_four *)(c + NARROW) += alpha * t[j];
    *(gpc_four *)(c + 2 * NARROW) += alpha * u[j];
  }
}

GPC_TILES_NARROW static void add_two(size_t m, double alpha, const double *restrict a,
                                     const double *restrict b, double *restrict c,
                                     size_t ldc) {
  gpc_four s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0};
  for (size_t p = 0; p < m; p++, a += 2 * NARROW, b += NARROW) {
    const gpc_four x = *(const gpc_four *)a, y = *(const gpc_four *)(a + NARROW);
    s0 += x * b[0], t0 += y * b[0];
    s1 += x * b[1], t1 += y * b[1];
    s2 += x * b[2], t2 += y * b[2];
    s3 += x * b[3], t3 += y * b[3];
  }
  const gpc_four s[NARROW] = {s0, s1, s2, s3}, t[NARROW] = {t0, t1, t2, t3};
#pragma GCC unroll 4
  for (size_t j = 0; j < NARROW; j++, c += ldc) {
    *(gpc_four *)c += alpha * s[j];
    *(gpc_four *)(c + NARROW) += alpha * t[j];
  }
}

GPC_TILES_NARROW static void add_one(size_t m, double alpha, const double *restrict a,
                                     const double *restrict b, double *restrict c,
                                     size_t ldc) {
  gpc_four s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
  for (size_t p = 0; p < m; p++, a += NARROW, b += NARROW) {
    const gpc_four x = *(const gpc_four *)a;
    s0 += x * b[0], s1 += x * b[1], s2 += x * b[2], s3 += x * b[3];
  }
  const gpc_four s[NARROW] = {s0, s1, s2, s3};
#pragma GCC unroll 4
  for (size_t j = 0; j < NARROW; j++, c += ldc)
    *(gpc_four *)c += alpha * s[j];
}

static void add_narrow(size_t rows, size_t m, double alpha, const double *a,
                       const double *b, double *c, size_t ldc) {
  (rows > 2 * NARROW ? add_three
   : rows > NARROW   ? add_two
                     : add_one)(m, alpha, a, b, c, ldc);
}

GPC_TILES_NARROW static void turn_narrow(size_t depth, const double *from, size_t across,
                                         double *to, size_t tall) {
  for (size_t p = 0; p < depth; p += NARROW)
    gpc_turn_fours(from + p, across, to + tall * p, tall);
}

#endif

/* Where there are no such vectors: tests only (gpc_tiles_pay()). */
static void add_plainly(size_t rows, size_t m, double alpha, const double *a,
                        const double *b, double *c, size_t ldc) {
  for (size_t j = 0; j < NARROW; j++)
    for (size_t i = 0; i < rows; i++) {
      double sum = 0.0;
      for (size_t p = 0; p < m; p++)
        sum += a[i + rows * p] * b[j + NARROW * p];
      c[i + ldc * j] += alpha * sum;
    }
}

static void turn_plainly(size_t depth, const double *from, size_t across, double *to,
                         size_t tall) {
  for (size_t p = 0; p < depth; p++)
    for (size_t i = 0; i < NARROW; i++)
      to[i + tall * p] = from[p + across * i];
}

static tiles tiles_here(void) {
#if GPC_HAS_TILES
  const size_t width = gpc_tiles_width();
  if (width == WIDE)
    return (tiles){WIDE, 2 * WIDE, add_wide, turn_wide};
  if (width == NARROW)
    return (tiles){NARROW, 3 * NARROW, add_narrow, turn_narrow};
#endif
  return (tiles){NARROW, 3 * NARROW, add_plainly, turn_plainly};
}

/* c [rows x columns] += alpha a b' of a tile whose copies have `tall` rows: rows i >= j + above
 * of column j. */
static void add_tile(const tiles *t, size_t tall, size_t m, double alpha, const double *a,
                     const double *b, size_t rows, size_t columns, ptrdiff_t above,
                     double *c, size_t ldc) {
  double own[TALLEST * WIDE];
  if (rows == tall && columns == t->side && above <= 1 - (ptrdiff_t)t->side) {
    t->add(tall, m, alpha, a, b, c, ldc);
    return;
  }
  memset(own, 0, sizeof own);
  t->add(tall, m, alpha, a, b, own, tall);
  for (size_t j = 0; j < columns; j++)
    for (size_t i = (ptrdiff_t)j + above > 0 ? (size_t)((ptrdiff_t)j + above) : 0;
         i < rows; i++)
      c[i + ldc * j] += own[i + tall * j];
}

/* Vectors that lie side by side already. */
GPC_FUSED static void copy_columns(size_t side, size_t depth, const double *restrict from,
                                   size_t along, double *restrict to, size_t tall) {
  for (size_t p = 0; p < depth; p++, from += along, to += tall)
    for (size_t i = 0; i < side; i += NARROW)
#pragma omp simd
      for (size_t q = 0; q < NARROW; q++)
        to[i + q] = from[i + q];
}

/* to [tall x depth] := `count` vectors of length depth, element p of vector i at
 * from[across i + along p]; the rest 0. */
static void copy(const tiles *t, size_t count, size_t tall, size_t depth,
                 const double *from, size_t across, size_t along, double *to) {
  const size_t side = t->side;
  for (size_t first = 0; first < tall; first += side, to += side) {
    const double *at = from + across * first;
    size_t p = 0;
    if (first + side <= count && across == 1) {
      copy_columns(side, depth, at, along, to, tall);
      p = depth;
    } else if (first + side <= count && along == 1) {
      p = depth - depth % side;
      t->turn(p, at, across, to, tall);
    }
    for (; p < depth; p++)
      for (size_t i = 0; i < side; i++)
        to[i + tall * p] = first + i < count ? at[across * i + along * p] : 0.0;
  }
}

void gpc_tiles_add(int ta, int tb, int lower, size_t n, size_t k, size_t m, double alpha,
                   const double *a, size_t lda, const double *b, size_t ldb, double *c,
                   size_t ldc) {
  double room[(TALLEST + COLUMNS) * DEPTH + LINE / sizeof(double)];
  double *left = room + (LINE - (uintptr_t)room % LINE) / sizeof(double);
  double *right = left + TALLEST * DEPTH;
  const size_t row = ta ? lda : 1, deep = ta ? 1 : lda;  /* steps through a ... */
  const size_t down = tb ? ldb : 1, side = tb ? 1 : ldb; /* ... and b */
  const tiles t = tiles_here();
  for (size_t p = 0; p < m; p += DEPTH)
    for (size_t q = 0; q < k; q += COLUMNS) {
      const size_t depth = m - p < DEPTH ? m - p : DEPTH;
      const size_t columns = k - q < COLUMNS ? k - q : COLUMNS;
      for (size_t j = 0; j < columns; j += t.side)
        copy(&t, columns - j < t.side ? columns - j : t.side, t.side, depth,
             b + side * (q + j) + down * p, side, down, right + DEPTH * j);
      for (size_t i = lower ? q : 0; i < n; i += t.most) {
        const size_t rows = n - i < t.most ? n - i : t.most;
        const size_t tall = (rows + t.side - 1) / t.side * t.side;
        copy(&t, rows, tall, depth, a + row * i + deep * p, row, deep, left);
        for (size_t j = 0; j < columns && !(lower && q + j >= i + rows); j += t.side) {
          const size_t wide = columns - j < t.side ? columns - j : t.side;
          const ptrdiff_t above =
              lower ? (ptrdiff_t)(q + j) - (ptrdiff_t)i : -(ptrdiff_t)WIDE;
          add_tile(&t, tall, depth, alpha, left, right + DEPTH * j, rows, wide, above,
                   c + i + ldc * (q + j), ldc);
        }
      }
    }
}
