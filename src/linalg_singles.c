/* linalg_singles.c: products in single precision; see linalg_rows.h. */
#include "linalg_rows.h"
#include "simd.h"

#include <string.h>

#define SIDE GPC_SINGLE_SIDE
#define FEW 4 /* rows at a time */

gpc_single_matrix gpc_single_matrix_get(const gpc_memory *memory, size_t results,
                                        size_t terms) {
  gpc_single_matrix w = {.results = results, .terms = terms};
  const size_t size = gpc_single_matrix_step(&w) * terms;
  w.panel = gpc_get_floats(memory, size);
  memset(w.panel, 0, size * sizeof(float));
  return w;
}

/* sum[i] := the first m terms of a panel times those of row i. */
GPC_PART void sum_tile(size_t m, const float *w, const float **x, float sum[FEW][SIDE]) {
#ifdef GPC_FOURS /* compilers do not keep arrays in registers of their own accord */
  const float *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
  gpc_lane s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0};
  for (size_t p = 0; p < m; p++, w += SIDE) {
    const gpc_lane s = *(const gpc_lane *)w, t = *(const gpc_lane *)(w + 8);
    s0 += s * x0[p], s1 += s * x1[p], s2 += s * x2[p], s3 += s * x3[p];
    t0 += t * x0[p], t1 += t * x1[p], t2 += t * x2[p], t3 += t * x3[p];
  }
  gpc_lane *to = (gpc_lane *)sum;
  to[0] = s0, to[1] = t0, to[2] = s1, to[3] = t1;
  to[4] = s2, to[5] = t2, to[6] = s3, to[7] = t3;
#else
  for (size_t i = 0; i < FEW; i++)
    for (size_t q = 0; q < SIDE; q++) {
      sum[i][q] = 0.0f;
      for (size_t p = 0; p < m; p++)
        sum[i][q] += w[q + SIDE * p] * x[i][p];
    }
#endif
}

GPC_FUSED void gpc_single_products(const gpc_single_matrix *w, size_t rows,
                                   const float *x, double *y) {
  const size_t step = gpc_single_matrix_step(w), terms = w->terms;
  const float *panel = w->panel, *from[FEW];
  float sum[FEW][SIDE];
  for (size_t q = 0; q < w->results; q += SIDE, panel += SIDE * terms)
    for (size_t i = 0; i < rows; i += FEW) {
      const size_t some = rows - i < FEW ? rows - i : FEW;
      for (size_t first = 0; first == 0 || first < terms; first += GPC_SINGLE_TERMS) {
        const size_t m =
            terms - first < GPC_SINGLE_TERMS ? terms - first : GPC_SINGLE_TERMS;
        for (size_t j = 0; j < FEW; j++) /* beyond the last row it is taken again */
          from[j] = x + first + terms * (i + (j < some ? j : some - 1));
        sum_tile(m, panel + SIDE * first, from, sum);
        for (size_t j = 0; j < some; j++) {
          double *to = y + q + step * (i + j);
          if (first == 0)
            memset(to, 0, SIDE * sizeof(double));
#pragma omp simd
          for (size_t s = 0; s < SIDE; s++)
            to[s] += (double)sum[j][s];
        }
      }
    }
}
