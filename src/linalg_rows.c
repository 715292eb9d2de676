/* linalg_rows.c: see linalg_rows.h. */
#include "linalg_rows.h"
#include "linalg_tiles.h"
#include "simd.h"

#include <string.h>

#define SIDE GPC_ROWS_SIDE
#define FEW 4 /* rows at a time where eight sums of eight do not fit into the registers */

gpc_row_matrix gpc_row_matrix_get(const gpc_memory *memory, size_t results,
                                  size_t terms) {
  gpc_row_matrix w = {.results = results, .terms = terms};
  const size_t size = gpc_row_matrix_step(&w) * terms;
  w.panel = gpc_get_doubles(memory, size);
  memset(w.panel, 0, size * sizeof(double));
  return w;
}

/* The rows of a tile, of which those beyond `rows` are the last one again, their results in
 * a place that nobody looks at. */
GPC_PART void place_rows(size_t side, size_t rows, size_t terms, size_t step,
                         const double *x, double *y, double *none, const double **from,
                         double **to) {
  for (size_t i = 0; i < side; i++) {
    from[i] = x + terms * (i < rows ? i : rows - 1);
    to[i] = i < rows ? y + step * i : none;
  }
}

#if GPC_HAS_TILES
typedef double eight __attribute__((vector_size(64), aligned(8), may_alias));

GPC_TILES static void tile_of_eight(size_t m, const double *w, size_t along,
                                    const double **x, double **y) {
  const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
  const double *x4 = x[4], *x5 = x[5], *x6 = x[6], *x7 = x[7];
  eight s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};
  for (size_t p = 0; p < m; p++, w += along) {
    const eight v = *(const eight *)w;
    s0 += v * x0[p], s1 += v * x1[p], s2 += v * x2[p], s3 += v * x3[p];
    s4 += v * x4[p], s5 += v * x5[p], s6 += v * x6[p], s7 += v * x7[p];
  }
  *(eight *)y[0] = s0, *(eight *)y[1] = s1, *(eight *)y[2] = s2, *(eight *)y[3] = s3;
  *(eight *)y[4] = s4, *(eight *)y[5] = s5, *(eight *)y[6] = s6, *(eight *)y[7] = s7;
}
#endif

/* y[i][q] := the sums over m terms of q of eight results and i of four rows; terms of w are
 * `along` apart, those of x `across`. */
GPC_PART void tile_of_four(size_t m, const double *w, size_t along, const double **x,
                           size_t across, double **y) {
#ifdef GPC_FOURS
  const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
  gpc_four s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, t0 = {0}, t1 = {0}, t2 = {0}, t3 = {0};
  for (size_t p = 0, q = 0; p < m; p++, q += across, w += along) {
    const gpc_four s = *(const gpc_four *)w, t = *(const gpc_four *)(w + 4);
    s0 += s * x0[q], s1 += s * x1[q], s2 += s * x2[q], s3 += s * x3[q];
    t0 += t * x0[q], t1 += t * x1[q], t2 += t * x2[q], t3 += t * x3[q];
  }
  gpc_four *y0 = (gpc_four *)y[0], *y1 = (gpc_four *)y[1];
  gpc_four *y2 = (gpc_four *)y[2], *y3 = (gpc_four *)y[3];
  y0[0] = s0, y0[1] = t0, y1[0] = s1, y1[1] = t1;
  y2[0] = s2, y2[1] = t2, y3[0] = s3, y3[1] = t3;
#else
  for (size_t i = 0; i < FEW; i++)
    for (size_t q = 0; q < SIDE; q++) {
      double sum = 0.0;
      for (size_t p = 0; p < m; p++)
        sum += w[q + along * p] * x[i][across * p];
      y[i][q] = sum;
    }
#endif
}

/* The first four results alone. */
GPC_PART void half_of_four(size_t m, const double *w, size_t along, const double **x,
                           size_t across, double **y) {
#ifdef GPC_FOURS
  const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
  gpc_four s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
  for (size_t p = 0, q = 0; p < m; p++, q += across, w += along) {
    const gpc_four s = *(const gpc_four *)w;
    s0 += s * x0[q], s1 += s * x1[q], s2 += s * x2[q], s3 += s * x3[q];
  }
  *(gpc_four *)y[0] = s0, *(gpc_four *)y[1] = s1;
  *(gpc_four *)y[2] = s2, *(gpc_four *)y[3] = s3;
#else
  for (size_t i = 0; i < FEW; i++)
    for (size_t q = 0; q < SIDE / 2; q++) {
      double sum = 0.0;
      for (size_t p = 0; p < m; p++)
        sum += w[q + along * p] * x[i][across * p];
      y[i][q] = sum;
    }
#endif
}

/* A panel of W, in fours of rows. */
GPC_FUSED static void panel_in_fours(size_t m, const double *w, size_t rows,
                                     const double *x, size_t step, double *y) {
  const double *from[FEW];
  double *to[FEW], none[SIDE];
  for (size_t i = 0; i < rows; i += FEW) {
    place_rows(FEW, rows - i < FEW ? rows - i : FEW, m, step, x + m * i, y + step * i,
               none, from, to);
    tile_of_four(m, w, SIDE, from, 1, to);
  }
}

void gpc_row_products(const gpc_row_matrix *w, size_t rows, const double *x, double *y) {
  const size_t m = w->terms, step = gpc_row_matrix_step(w);
  for (size_t q = 0; q < w->results; q += SIDE) {
    const double *panel = w->panel + m * q;
#if GPC_HAS_TILES
    if (gpc_tiles_width() == SIDE) {
      const double *from[SIDE];
      double *to[SIDE], none[SIDE];
      for (size_t i = 0; i < rows; i += SIDE) {
        place_rows(SIDE, rows - i < SIDE ? rows - i : SIDE, m, step, x + m * i,
                   y + q + step * i, none, from, to);
        tile_of_eight(m, panel, SIDE, from, to);
      }
      continue;
    }
#endif
    panel_in_fours(m, panel, rows, x, step, y + q);
  }
}

GPC_FUSED void gpc_small_product(size_t n, size_t k, size_t m, const double *a,
                                 const double *b, size_t along, const size_t *which,
                                 double *c) {
  const double *from[FEW];
  double *to[FEW], none[SIDE];
  for (size_t j = 0; j < k; j += FEW) {
    for (size_t i = 0; i < FEW; i++) { /* beyond the last column it is taken again */
      const size_t column = j + i < k ? j + i : k - 1;
      from[i] = b + (which ? which[column] : column);
      to[i] = j + i < k ? c + n * column : none;
    }
    size_t q = 0;
    for (; q + SIDE <= n; q += SIDE) {
      tile_of_four(m, a + q, n, from, along, to);
      for (size_t i = 0; i < FEW; i++)
        to[i] += j + i < k ? SIDE : 0;
    }
    if (q < n)
      half_of_four(m, a + q, n, from, along, to);
  }
}
