/* linalg_factor.c: Cholesky factors and their inverses, in panels (linalg.h). */
#include "linalg.h"
#include "linalg_kernels.h"
#include "linalg_tiles.h"
#include "simd.h"

#include <math.h>
#include <string.h>

/* Columns j .. j + count of the factor, once the columns before have been taken off. */
GPC_WIDE static gpc_status factor_panel(size_t n, size_t j, size_t count, double *a) {
  for (size_t t = j; t < j + count; t++) {
    double *column = a + n * t;
    for (size_t s = j; s < t; s++) {
      const double *before = a + n * s, x = before[t];
      for (size_t i = t; i < n; i++)
        column[i] -= x * before[i];
    }
    if (!(column[t] > 0.0) || !isfinite(column[t]))
      return GPC_NOT_PD;
    const double root = sqrt(column[t]), inv = 1.0 / root;
    column[t] = root;
    for (size_t i = t + 1; i < n; i++)
      column[i] *= inv;
  }
  return GPC_OK;
}

#define PANEL 32       /* columns that are worked on together, a multiple of 4 ... */
#define WIDE_PANEL 128 /* ... (by tiles), ... */
#define CHUNK 64       /* ... and rows: what is read again and again stays in the cache */

/* The lower triangle of the square of rows and columns t .. t + 4, less the columns p .. q
 * of the factor times their own rows. */
static void take_corner_off(size_t n, size_t t, size_t p, size_t q, double *a) {
  for (size_t s = p; s < q; s++)
    for (size_t v = t; v < t + 4; v++)
      for (size_t i = v; i < t + 4; i++)
        a[i + n * v] -= a[i + n * s] * a[v + n * s];
}

/* Columns j .. j + count of a [n x n], not above the diagonal, less the columns p .. q of
 * the factor times their own rows. j, p, q and count are multiples of 4. */
static void take_off(size_t n, size_t j, size_t count, size_t p, size_t q, double *a) {
  for (size_t low = j; low < n; low += CHUNK) {
    const size_t high = low + CHUNK < n ? low + CHUNK : n;
    for (size_t t = j; t < j + count && t < high; t += 4) {
      const size_t row = t >= low ? t + 4 : low;
      if (t >= low)
        take_corner_off(n, t, p, q, a);
      if (row < high)
        gpc_add_block(high - row, 4, q - p, -1.0, a + row + n * p, n, a + t + n * p, n, 1,
                      a + row + n * t, n);
    }
  }
}

/* Columns j .. end of a, not above the diagonal, less columns p .. j of the factor times their
 * own rows. */
static void take_panel_off(size_t n, size_t j, size_t end, size_t p, double *a) {
  if (gpc_tiles_pay(n - j, end - j, j - p))
    gpc_tiles_add(0, 1, 1, n - j, end - j, j - p, -1.0, a + j + n * p, n, a + j + n * p,
                  n, a + j + n * j, n);
  else
    take_off(n, j, end - j, p, j, a);
}

gpc_status gpc_chol_large(size_t n, double *a) {
  const size_t whole = n - n % 4, wide = gpc_tiles_pay(n, n, PANEL) ? WIDE_PANEL : PANEL;
  for (size_t j = 0; j < whole; j += PANEL) {
    const size_t end = j + PANEL < whole ? j + PANEL : whole, outer = j - j % wide;
    if (j == outer) /* what is before a wide panel comes off it at once */
      take_panel_off(n, j, j + wide < whole ? j + wide : whole, 0, a);
    else
      take_panel_off(n, j, end, outer, a);
    for (size_t t = j; t < end; t += 4) {
      take_off(n, t, 4, j, t, a);
      const gpc_status status = factor_panel(n, t, 4, a);
      if (status != GPC_OK)
        return status;
    }
  }
  for (size_t t = whole; t < n; t++)
    for (size_t p = 0; p < whole; p++) {
      const double x = a[t + n * p];
      for (size_t i = t; i < n; i++)
        a[i + n * t] -= x * a[i + n * p];
    }
  return factor_panel(n, whole, n - whole, a);
}

/* Rows p .. q of columns c .. c + 4 of L^-1, by forward substitution. */
GPC_WIDE static void inverse_rows(size_t n, const double *chol, size_t c, size_t p,
                                  size_t q, double *inv) {
  double *x0 = inv + n * c, *x1 = x0 + n, *x2 = x1 + n, *x3 = x2 + n;
  for (size_t s = p; s < q; s++) {
    const double *l = chol + n * s, pivot = 1.0 / l[s];
    const double y0 = x0[s] *= pivot, y1 = x1[s] *= pivot, y2 = x2[s] *= pivot,
                 y3 = x3[s] *= pivot;
#pragma omp simd
    for (size_t i = s + 1; i < q; i++) {
      const double v = l[i];
      x0[i] -= v * y0;
      x1[i] -= v * y1;
      x2[i] -= v * y2;
      x3[i] -= v * y3;
    }
  }
}

/* Rows c .. end of column c of L^-1. */
GPC_WIDE static void inverse_column(size_t n, size_t end, const double *chol, size_t c,
                                    double *inv) {
  double *x = inv + n * c;
  for (size_t s = c; s < end; s++) {
    const double *l = chol + n * s, y = x[s] /= l[s];
    for (size_t i = s + 1; i < end; i++)
      x[i] -= l[i] * y;
  }
}

/* Rows p + count .. last of columns c .. end of L^-1 less columns p .. p + count of the factor
 * times the rows there, which are done. */
static void take_rows_off(size_t n, size_t last, const double *chol, size_t c, size_t end,
                          size_t p, size_t count, double *inv) {
  for (size_t low = p + count; low < last; low += CHUNK) {
    const size_t rows = last - low < CHUNK ? last - low : CHUNK;
    gpc_add_block(rows, end - c, count, -1.0, chol + low + n * p, n, inv + p + n * c, 1,
                  n, inv + low + n * c, n);
  }
}

/* L^-1 of the rows and columns first .. end, the matrices' columns n apart. */
static void invert_directly(size_t n, size_t first, size_t end, const double *chol,
                            double *inv) {
  const size_t whole = end - (end - first) % 4;
  for (size_t c = first; c < whole; c += PANEL) {
    const size_t last = c + PANEL < whole ? c + PANEL : whole;
    for (size_t p = c; p < end; p += PANEL) {
      const size_t q = p + PANEL < end ? p + PANEL : end;
      for (size_t t = c; t < last; t += 4)
        inverse_rows(n, chol, t, p < t ? t : p, q, inv);
      if (q < end)
        take_rows_off(n, end, chol, c, last, p, PANEL, inv);
    }
  }
  for (size_t c = whole; c < end; c++)
    inverse_column(n, end, chol, c, inv);
}

/* -C^-1 of invert_halves() times B A^-1, which stands in columns first .. half: its rows from ..
 * from + rows. Those above still stand there. */
static void finish_rows(size_t n, size_t first, size_t half, size_t from, size_t rows,
                        double *inv) {
  double some[CHUNK * WIDE_PANEL];
  for (size_t c = first; c < half; c += WIDE_PANEL) {
    const size_t count = half - c < WIDE_PANEL ? half - c : WIDE_PANEL;
    for (size_t j = 0; j < count; j++) {
      double *column = inv + from + n * (c + j);
      memcpy(some + rows * j, column, rows * sizeof(double));
      memset(column, 0, rows * sizeof(double));
    }
    gpc_tiles_add(0, 0, 0, rows, count, rows, -1.0, inv + from + n * from, n, some, rows,
                  inv + from + n * c, n);
    if (from > half)
      gpc_tiles_add(0, 0, 0, rows, count, from - half, -1.0, inv + from + n * half, n,
                    inv + half + n * c, n, inv + from + n * c, n);
  }
}

/* L = [A 0; B C]: L^-1 = [A^-1 0; -C^-1 B A^-1, C^-1], each inverse likewise. */
static void invert_halves(size_t n, size_t first, size_t end, const double *chol,
                          double *inv) {
  const size_t half = first + ((end - first) / 2 + CHUNK - 1) / CHUNK * CHUNK;
  if (end - first <= WIDE_PANEL) {
    invert_directly(n, first, end, chol, inv);
    return;
  }
  invert_halves(n, first, half, chol, inv);
  invert_halves(n, half, end, chol, inv);
  for (size_t c = first; c < half; c += CHUNK) { /* B A^-1, without A^-1's zeros */
    const size_t count = half - c < CHUNK ? half - c : CHUNK;
    gpc_tiles_add(0, 0, 0, end - half, count, half - c, 1.0, chol + half + n * c, n,
                  inv + c + n * c, n, inv + half + n * c, n);
  }
  const size_t blocks = (end - half + CHUNK - 1) / CHUNK;
  for (size_t b = blocks; b-- > 0;) { /* from below: those above are needed yet */
    const size_t from = half + b * CHUNK;
    finish_rows(n, first, half, from, end - from < CHUNK ? end - from : CHUNK, inv);
  }
}

void gpc_lower_inverse(size_t n, const double *chol, double *inv) {
  memset(inv, 0, n * n * sizeof(double));
  for (size_t i = 0; i < n; i++)
    inv[i + n * i] = 1.0;
  if (gpc_tiles_pay(n, n, PANEL))
    invert_halves(n, 0, n, chol, inv);
  else
    invert_directly(n, 0, n, chol, inv);
}

/* s: rows i .. i + 4 and columns j .. j + 2 (fewer at the end) of inv'inv, by rows
 * low .. high. */
static void add_inner(size_t n, const double *inv, size_t i, size_t j, size_t low,
                      size_t high, double *s) {
  const double *a[4], *b[2];
  double sum[4][2];
  for (size_t p = 0; p < 4; p++)
    a[p] = inv + low + n * (i + p < n ? i + p : i);
  for (size_t q = 0; q < 2; q++)
    b[q] = inv + low + n * (j + q < n ? j + q : j);
  gpc_eight_products(high - low, a, b, sum);
  for (size_t q = 0; q < 2 && j + q < n; q++)
    for (size_t p = 0; p < 4 && i + p < n; p++)
      s[i + p + n * (j + q)] += sum[p][q];
}

void gpc_inverse_from_lower(size_t n, const double *inv, double *s) {
  for (size_t i = 0; i < n * n; i++)
    s[i] = 0.0;
  if (gpc_tiles_pay(n, n, n)) {
    for (size_t j = 0; j < n;
         j += WIDE_PANEL) { /* rows above a panel's first are 0 there */
      for (size_t i = j; i < n; i += WIDE_PANEL)
        gpc_tiles_add(1, 0, i == j, n - i < WIDE_PANEL ? n - i : WIDE_PANEL,
                      n - j < WIDE_PANEL ? n - j : WIDE_PANEL, n - i, 1.0,
                      inv + i + n * i, n, inv + i + n * j, n, s + i + n * j, n);
    }
    gpc_symmetrise(n, s);
    return;
  }
  for (size_t first = 0; first < n; first += PANEL)
    for (size_t low = first; low < n; low += 2 * CHUNK) {
      const size_t high = low + 2 * CHUNK < n ? low + 2 * CHUNK : n;
      for (size_t j = 0; j < first + PANEL && j < n; j += 2)
        for (size_t i = first > j ? first : j - j % 4; i < first + PANEL && i < n; i += 4)
          if (high > i)
            add_inner(n, inv, i, j, low > i ? low : i, high, s);
    }
  gpc_symmetrise(n, s);
}

/* In place: column i of L^-1 is needed from row i on only, which leaves the upper triangle
 * for the answer; its own diagonal is the last to go. */
GPC_WIDE void gpc_chol_inverse(size_t n, const double *chol, double *inv) {
  gpc_lower_inverse(n, chol, inv);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++)
      inv[j + n * i] = gpc_dot(n - i, inv + i + n * i, inv + i + n * j);
  for (size_t j = 0; j < n; j++)
    for (size_t i = j + 1; i < n; i++)
      inv[i + n * j] = inv[j + n * i];
}

void gpc_lower_solve(size_t n, const double *inv, double *work, double *x) {
  gpc_gemm(0, 0, n, 1, n, 1.0, inv, x, 0.0, work);
  gpc_gemm(1, 0, n, 1, n, 1.0, inv, work, 0.0, x);
}
