/* linalg.c: see linalg.h. */
#ifndef USE_FC_LEN_T
#define USE_FC_LEN_T
#endif
#include <R_ext/BLAS.h>
#include <R_ext/Lapack.h>
#ifndef FCONE
#define FCONE
#endif

#include "linalg.h"
#include "simd.h"

#include <math.h>

gpc_status gpc_chol(size_t m, double smallest, double *a) {
  if (gpc_chol_large(m, a) != GPC_OK)
    return GPC_NOT_PD;
  for (size_t j = 0; j < m; j++) {
    double pivot = a[j + m * j];
    if (!(pivot * pivot > smallest) || !isfinite(pivot))
      return GPC_NOT_PD;
    for (size_t i = 0; i < j; i++)
      a[i + m * j] = 0.0;
  }
  return GPC_OK;
}

static void trsm(const char *side, const char *trans, size_t n, size_t m, size_t order,
                 const double *chol, double *x) {
  int rows = (int)n, cols = (int)m, ld = (int)order;
  double one = 1.0;
  F77_CALL(dtrsm)
  (side, "L", trans, "N", &rows, &cols, &one, chol, &ld, x,
   &rows FCONE FCONE FCONE FCONE);
}

void gpc_chol_semi(size_t n, double smallest, const double *c, double *l) {
  for (size_t i = 0; i < n * n; i++)
    l[i] = 0.0;
  for (size_t j = 0; j < n; j++) {
    double pivot = c[j + n * j];
    for (size_t p = 0; p < j; p++)
      pivot -= l[j + n * p] * l[j + n * p];
    pivot = pivot > smallest * c[j + n * j] ? sqrt(pivot) : 0.0;
    l[j + n * j] = pivot;
    for (size_t i = j + 1; i < n && pivot > 0.0; i++) {
      double sum = c[i + n * j];
      for (size_t p = 0; p < j; p++)
        sum -= l[i + n * p] * l[j + n * p];
      l[i + n * j] = sum / pivot;
    }
  }
}

void gpc_chol_solve(size_t m, const double *chol, double *x) {
  trsm("L", "N", m, 1, m, chol, x);
  trsm("L", "T", m, 1, m, chol, x);
}

double gpc_chol_logdet(size_t m, const double *chol) {
  double sum = 0.0;
  for (size_t j = 0; j < m; j++)
    sum += log(chol[j + m * j]);
  return 2.0 * sum;
}

/* Four columns of c += those of a times x [4 x 4], x[i][j] from column i of a to column j
 * of c: n rows, columns `ld` apart in both. */
GPC_FUSED static void add_four(size_t n, size_t ld, const double *a, double x[4][4],
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

/* to [n] += sum_j x_j column j of a [n x m], x_j at x[j * step]. */
GPC_FUSED static void add_weighted(size_t n, size_t m, const double *a, const double *x,
                                   size_t step, double alpha, double *to) {
  size_t j = 0;
  for (; j + 4 <= m; j += 4) {
    const double *a0 = a + j * n, *a1 = a0 + n, *a2 = a1 + n, *a3 = a2 + n;
    const double *at = x + j * step;
    const double x0 = alpha * at[0], x1 = alpha * at[step], x2 = alpha * at[2 * step],
                 x3 = alpha * at[3 * step];
#pragma omp simd
    for (size_t i = 0; i < n; i++)
      to[i] += a0[i] * x0 + a1[i] * x1 + a2[i] * x2 + a3[i] * x3;
  }
  for (; j < m; j++) {
    const double *col = a + j * n, xj = alpha * x[j * step];
#pragma omp simd
    for (size_t i = 0; i < n; i++)
      to[i] += col[i] * xj;
  }
}

/* c [n x k] += alpha a b, a [n x m], b [m x k] or (tb) [k x m] as stored. */
static void add_columns(int tb, size_t n, size_t k, size_t m, double alpha,
                        const double *a, const double *b, double *c) {
  const size_t row = tb ? k : 1, column = tb ? 1 : m; /* steps through b */
  const size_t whole = m - m % 4;
  size_t q = 0;
  for (; q + 4 <= k; q += 4) {
    for (size_t j = 0; j < whole; j += 4) {
      double x[4][4];
      for (size_t s = 0; s < 4; s++)
        for (size_t t = 0; t < 4; t++)
          x[s][t] = alpha * b[(j + s) * row + (q + t) * column];
      add_four(n, n, a + j * n, x, c + q * n);
    }
    for (size_t t = 0; t < 4; t++)
      add_weighted(n, m - whole, a + whole * n, b + whole * row + (q + t) * column, row,
                   alpha, c + (q + t) * n);
  }
  for (; q < k; q++)
    add_weighted(n, m, a, b + q * column, row, alpha, c + q * n);
}

/* Inner products of four columns of a with two of b, each [m]: sum[i][j]. Eight sums, so
 * that additions need not wait for each other. */
GPC_FUSED static void eight_products(size_t m, const double *const a[4],
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

/* c [n x k] += alpha a'b, a [m x n] and b [m x k] as stored: inner products of columns,
 * four by two; `lower`: only those on and below the diagonal (and some above it). */
static void add_products(int lower, size_t n, size_t k, size_t m, double alpha,
                         const double *a, const double *b, double *c) {
  for (size_t q = 0; q < k; q += 2)
    for (size_t p = lower ? q - q % 4 : 0; p < n; p += 4) {
      const double *left[4], *right[2];
      double sum[4][2];
      const size_t rows = n - p < 4 ? n - p : 4, columns = k - q < 2 ? k - q : 2;
      for (size_t i = 0; i < 4; i++) /* at the edge the first again */
        left[i] = a + (i < rows ? p + i : p) * m;
      for (size_t j = 0; j < 2; j++)
        right[j] = b + (j < columns ? q + j : q) * m;
      eight_products(m, left, right, sum);
      for (size_t j = 0; j < columns; j++)
        for (size_t i = 0; i < rows; i++)
          c[p + i + n * (q + j)] += alpha * sum[i][j];
    }
}

#define PIECE 64 /* of a row, copied to lie in one stretch */

/* c [n x k] += alpha a'b', a [m x n] and b [k x m] as stored. */
GPC_WIDE static void add_rows(size_t n, size_t k, size_t m, double alpha, const double *a,
                              const double *b, double *c) {
  double piece[PIECE];
  for (size_t first = 0; first < m; first += PIECE) {
    const size_t count = m - first < PIECE ? m - first : PIECE;
    for (size_t q = 0; q < k; q++) {
      for (size_t i = 0; i < count; i++)
        piece[i] = b[q + k * (first + i)];
      for (size_t p = 0; p < n; p++)
        c[p + n * q] += alpha * gpc_dot(count, a + first + p * m, piece);
    }
  }
}

void gpc_gram(size_t n, size_t m, const double *a, const double *b, double *c) {
  for (size_t i = 0; i < n * n; i++)
    c[i] = 0.0;
  add_products(1, n, n, m, 1.0, a, b, c);
  gpc_symmetrise(n, c);
}

GPC_WIDE static void scale_column(size_t n, double by, double *x) {
#pragma omp simd
  for (size_t i = 0; i < n; i++)
    x[i] *= by;
}

/* Columns j .. j + 4 of x [n x m] less columns s .. s + 4 times L', or (t) L. */
static void take_four_off(int t, size_t n, size_t m, const double *chol, size_t s,
                          size_t j, double *x) {
  double by[4][4];
  for (size_t u = 0; u < 4; u++)
    for (size_t v = 0; v < 4; v++)
      by[u][v] = -(t ? chol[s + u + m * (j + v)] : chol[j + v + m * (s + u)]);
  add_four(n, n, x + n * s, by, x + n * j);
}

void gpc_solve_rows(size_t n, size_t m, const double *chol, double *x) {
  const size_t whole = m - m % 4;
  for (size_t j = 0; j < m; j++) { /* x_j := (x_j - sum_{i<j} L_ji x_i) / L_jj */
    const size_t block = j < whole ? j - j % 4 : 0; /* from here on one by one */
    for (size_t s = 0; s < block && j == block; s += 4)
      take_four_off(0, n, m, chol, s, j, x);
    add_weighted(n, j - block, x + n * block, chol + j + m * block, m, -1.0, x + n * j);
    scale_column(n, 1.0 / chol[j + m * j], x + n * j);
  }
}

void gpc_solve_rows_t(size_t n, size_t m, const double *chol, double *x) {
  const size_t whole = m - m % 4;
  for (size_t j = m; j-- > 0;) { /* x_j := (x_j - sum_{i>j} L_ij x_i) / L_jj */
    const size_t next = j < whole ? j - j % 4 + 4 : m, last = next < whole ? whole : next;
    for (size_t s = next; s < whole && j + 1 == next; s += 4)
      take_four_off(1, n, m, chol, s, j - 3, x);
    add_weighted(n, next - 1 - j, x + n * (j + 1), chol + j + 1 + m * j, 1, -1.0,
                 x + n * j);
    add_weighted(n, m - last, x + n * last, chol + last + m * j, 1, -1.0, x + n * j);
    scale_column(n, 1.0 / chol[j + m * j], x + n * j);
  }
}

void gpc_gemm(int ta, int tb, size_t n, size_t k, size_t m, double alpha, const double *a,
              const double *b, double beta, double *c) {
  for (size_t i = 0; i < n * k; i++)
    c[i] = beta == 0.0 ? 0.0 : beta * c[i];
  if (ta && tb)
    add_rows(n, k, m, alpha, a, b, c);
  else if (ta)
    add_products(0, n, k, m, alpha, a, b, c);
  else
    add_columns(tb, n, k, m, alpha, a, b, c);
}

void gpc_symm(size_t n, size_t k, const double *a, const double *b, double *c) {
  gpc_gemm(0, 0, n, k, n, 1.0, a, b, 0.0, c);
}

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

#define PANEL 32 /* columns that are worked on together, a multiple of 4 ... */
#define CHUNK 64 /* ... and rows: what is read again and again stays in the cache */

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
      for (size_t s = p; s < q && row < high; s += 4) {
        double x[4][4];
        for (size_t u = 0; u < 4; u++)
          for (size_t v = 0; v < 4; v++)
            x[u][v] = -a[t + v + n * (s + u)];
        add_four(high - row, n, a + row + n * s, x, a + row + n * t);
      }
    }
  }
}

gpc_status gpc_chol_large(size_t n, double *a) {
  const size_t whole = n - n % 4;
  for (size_t j = 0; j < whole; j += PANEL) {
    const size_t end = j + PANEL < whole ? j + PANEL : whole;
    take_off(n, j, end - j, 0, j, a);
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

/* Column c of L^-1. */
GPC_WIDE static void inverse_column(size_t n, const double *chol, size_t c, double *inv) {
  double *x = inv + n * c;
  for (size_t s = c; s < n; s++) {
    const double *l = chol + n * s, y = x[s] /= l[s];
    for (size_t i = s + 1; i < n; i++)
      x[i] -= l[i] * y;
  }
}

/* Rows from `low` on of columns c .. end of L^-1 less columns p .. p + count of the factor
 * times the rows there, which are done; c, end and p are multiples of 4. */
static void take_rows_off(size_t n, const double *chol, size_t c, size_t end, size_t p,
                          size_t count, double *inv) {
  for (size_t low = p + count; low < n; low += CHUNK) {
    const size_t rows = n - low < CHUNK ? n - low : CHUNK;
    for (size_t t = c; t < end; t += 4)
      for (size_t s = p; s < p + count; s += 4) {
        double x[4][4];
        for (size_t u = 0; u < 4; u++)
          for (size_t v = 0; v < 4; v++)
            x[u][v] = -inv[s + u + n * (t + v)];
        add_four(rows, n, chol + low + n * s, x, inv + low + n * t);
      }
  }
}

void gpc_lower_inverse(size_t n, const double *chol, double *inv) {
  const size_t whole = n - n % 4;
  for (size_t i = 0; i < n * n; i++)
    inv[i] = 0.0;
  for (size_t i = 0; i < n; i++)
    inv[i + n * i] = 1.0;
  for (size_t c = 0; c < whole; c += PANEL) {
    const size_t end = c + PANEL < whole ? c + PANEL : whole;
    for (size_t p = c; p < n; p += PANEL) {
      const size_t q = p + PANEL < n ? p + PANEL : n;
      for (size_t t = c; t < end; t += 4)
        inverse_rows(n, chol, t, p < t ? t : p, q, inv);
      if (q < n)
        take_rows_off(n, chol, c, end, p, PANEL, inv);
    }
  }
  for (size_t c = whole; c < n; c++)
    inverse_column(n, chol, c, inv);
}

/* s: rows i .. i + 2 and columns j .. j + 2 (each one if that is the last) of inv'inv, by
 * rows low .. high; those in the upper triangle are 0. */
GPC_FUSED static void add_inner(size_t n, const double *inv, size_t i, size_t j,
                                size_t low, size_t high, double *s) {
  const size_t more_i = i + 1 < n, more_j = j + 1 < n;
  const double *a0 = inv + n * i, *a1 = a0 + more_i * n;
  const double *b0 = inv + n * j, *b1 = b0 + more_j * n;
  double s00 = 0.0, s10 = 0.0, s01 = 0.0, s11 = 0.0;
#pragma omp simd reduction(+ : s00, s10, s01, s11)
  for (size_t p = low; p < high; p++) {
    s00 += a0[p] * b0[p];
    s10 += a1[p] * b0[p];
    s01 += a0[p] * b1[p];
    s11 += a1[p] * b1[p];
  }
  s[i + n * j] += s00;
  if (more_i)
    s[i + 1 + n * j] += s10;
  if (more_j)
    s[i + n * (j + 1)] += s01;
  if (more_i && more_j)
    s[i + 1 + n * (j + 1)] += s11;
}

void gpc_inverse_from_lower(size_t n, const double *inv, double *s) {
  for (size_t i = 0; i < n * n; i++)
    s[i] = 0.0;
  for (size_t first = 0; first < n; first += PANEL)
    for (size_t low = first; low < n; low += 2 * CHUNK) {
      const size_t high = low + 2 * CHUNK < n ? low + 2 * CHUNK : n;
      for (size_t j = 0; j < first + PANEL && j < n; j += 2)
        for (size_t i = first > j ? first : j; i < first + PANEL && i < n; i += 2)
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

/* Rounding decides the signs of LAPACK's eigenvectors, and integration points turned by them
 * would follow. Weights without symmetry, so that hardly any eigenvector has a sum of 0. */
static void fix_signs(size_t m, double *a) {
  for (size_t j = 0; j < m; j++) {
    double *v = a + m * j, sum = 0.0;
    for (size_t i = 0; i < m; i++)
      sum += v[i] * (0.5 + fmod(0.6180339887498949 * (double)(i + 1), 1.0));
    for (size_t i = 0; i < m && sum < 0.0; i++)
      v[i] = -v[i];
  }
}

gpc_status gpc_eigen(size_t m, double *a, double *value, double *work) {
  int n = (int)m, size = 3 * n, info = 0;
  F77_CALL(dsyev)("V", "L", &n, a, &n, value, work, &size, &info FCONE FCONE);
  if (info != 0)
    return GPC_NOT_CONVERGED;
  for (size_t j = 0; j < m / 2; j++) { /* LAPACK's order is ascending */
    size_t other = m - 1 - j;
    double swap = value[j];
    value[j] = value[other];
    value[other] = swap;
    for (size_t i = 0; i < m; i++) {
      swap = a[i + m * j];
      a[i + m * j] = a[i + m * other];
      a[i + m * other] = swap;
    }
  }
  fix_signs(m, a);
  return GPC_OK;
}

void gpc_symmetrise(size_t m, double *a) {
  for (size_t j = 0; j < m; j++)
    for (size_t i = j + 1; i < m; i++)
      a[j + m * i] = a[i + m * j];
}
