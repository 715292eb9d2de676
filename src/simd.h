/* simd.h: wide instructions where the processor has them.
 *
 * R builds packages for the oldest processor of a kind. A function marked GPC_WIDE is
 * compiled twice, the second time for vectors of four doubles (GPC_FUSED: and fused
 * products; and for vectors of eight), and the loader takes the one that the processor can run: gcc with glibc on x86-64 does so, and
 * elsewhere the mark means nothing. Sums keep an order that threads do not change; between
 * processors the last digits may differ. (Sanitizers would watch what runs before they are
 * ready: not with them.) */
#ifndef GPC_SIMD_H
#define GPC_SIMD_H

#include <stddef.h>
#include <stdint.h> /* says whether the library is glibc */

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 9 && defined(__x86_64__) &&  \
    defined(__GLIBC__) && !defined(__AVX2__) && !defined(__SANITIZE_ADDRESS__) &&        \
    !defined(__SANITIZE_THREAD__)
#define GPC_WIDE __attribute__((target_clones("avx2", "default")))
#if __GNUC__ >= 12 /* earlier ones do not know the level that has fused products */
#define GPC_FUSED                                                                        \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
/* What is called only where there are vectors of eight, or of four and fused products. */
#define GPC_TILES __attribute__((target("arch=x86-64-v4,prefer-vector-width=512")))
#define GPC_TILES_NARROW __attribute__((target("arch=x86-64-v3")))
#define GPC_HAS_TILES 1
#else
#define GPC_FUSED GPC_WIDE
#endif
#else
#define GPC_WIDE
#define GPC_FUSED
#endif

/* A part of functions so marked: compiled with each of them, not once for all. */
#ifdef __GNUC__
#define GPC_PART static inline __attribute__((always_inline))
#else
#define GPC_PART static inline
#endif

/* Four doubles or eight floats in one register, or in two; at any address. Without GPC_FOURS compilers
 * would take such vectors apart in memory. */
#if defined(__clang__) || (defined(__GNUC__) && defined(__x86_64__))
#define GPC_FOURS
typedef double gpc_four __attribute__((vector_size(32), aligned(8), may_alias));
typedef float gpc_lane __attribute__((vector_size(32), aligned(4), may_alias));
#endif

/* to[i + tall p] := from[p + across i], i and p < 4. */
GPC_PART void gpc_turn_fours(const double *from, size_t across, double *to, size_t tall) {
#if defined(GPC_FOURS) && !defined(__clang__)
  typedef int64_t order __attribute__((vector_size(32)));
  const order low = {0, 4, 2, 6}, high = {1, 5, 3, 7};
  const order first = {0, 1, 4, 5}, second = {2, 3, 6, 7};
  const gpc_four r0 = *(const gpc_four *)from, r1 = *(const gpc_four *)(from + across),
                 r2 = *(const gpc_four *)(from + 2 * across),
                 r3 = *(const gpc_four *)(from + 3 * across);
  const gpc_four t0 = __builtin_shuffle(r0, r1, low),
                 t1 = __builtin_shuffle(r0, r1, high),
                 t2 = __builtin_shuffle(r2, r3, low),
                 t3 = __builtin_shuffle(r2, r3, high);
  *(gpc_four *)to = __builtin_shuffle(t0, t2, first);
  *(gpc_four *)(to + tall) = __builtin_shuffle(t1, t3, first);
  *(gpc_four *)(to + 2 * tall) = __builtin_shuffle(t0, t2, second);
  *(gpc_four *)(to + 3 * tall) = __builtin_shuffle(t1, t3, second);
#else
  for (size_t p = 0; p < 4; p++)
    for (size_t i = 0; i < 4; i++)
      to[i + tall * p] = from[p + across * i];
#endif
}

#ifndef GPC_TILES
#define GPC_TILES
#define GPC_HAS_TILES 0
#endif

#endif
