/* curve.c: see curve.h. Searches halve without branches: which way a score goes is a
 * toss, and a branch that is guessed wrong costs more than the whole search. */
#include "curve.h"

/* How many of edge [m], ascending, are less than s (with `equal`: or equal to it). */
static inline size_t count_below(size_t m, const double *edge, double s, int equal) {
  const double *base = edge;
  size_t left = m;
  while (left > 1) {
    size_t half = left / 2;
    base += (equal ? base[half - 1] <= s : base[half - 1] < s) ? half : 0;
    left -= half;
  }
  if (left == 1)
    base += equal ? *base <= s : *base < s;
  return (size_t)(base - edge);
}

/* Few pieces, the usual case: a division for each, not for each score. */
#define PIECES 64

static void apply_linear(const gpc_curve *curve, size_t n, const double *score,
                         double *value) {
  const double *x = curve->x, *y = curve->y;
  const size_t last = curve->m - 1;
  double slope[PIECES];
  const int few = last <= PIECES && last <= n;
  for (size_t i = 0; few && i < last; i++)
    slope[i] = (y[i + 1] - y[i]) / (x[i + 1] - x[i]);
  for (size_t i = 0; i < n; i++) {
    double s = score[i];
    /* the inner points at or below s say which piece it is on */
    size_t at = last > 1 ? count_below(last - 1, x + 1, s, 1) : 0;
    double steep = few ? slope[at] : (y[at + 1] - y[at]) / (x[at + 1] - x[at]);
    double off = s > x[at] ? s - x[at] : 0.0;
    /* exact at the points, and non-decreasing where they are, rounding and all */
    double v = y[at] + (off > 0.0 ? off * steep : 0.0);
    v = v > y[at + 1] ? y[at + 1] : v;
    value[i] = s >= x[at + 1] ? y[at + 1] : v;
  }
}

#define FEW_EDGES 24 /* comparing with all of them is faster than searching */
#define TOGETHER 64

static inline double larger(double a, double b) { return a > b ? a : b; }

/* Of s [n], n >= 1: four at a time, which do not wait for each other. */
static double largest(size_t n, const double *s) {
  double a = s[0], b = a, c = a, d = a;
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    a = larger(s[i], a);
    b = larger(s[i + 1], b);
    c = larger(s[i + 2], c);
    d = larger(s[i + 3], d);
  }
  for (; i < n; i++)
    a = larger(s[i], a);
  return larger(larger(a, b), larger(c, d));
}

/* The same as below for few edges: the edges that a score exceeds are counted, for many
 * scores at a time. With many classes hardly any score passes the first few edges; the
 * others are left alone. */
static void apply_few(const gpc_curve *curve, size_t n, const double *score,
                      double *value) {
  for (size_t from = 0; from < n; from += TOGETHER) {
    const size_t rows = n - from < TOGETHER ? n - from : TOGETHER;
    const double *s = score + from;
    const double most = largest(rows, s);
    if (most <= curve->x[0] && curve->y[0] == curve->y[0]) {
      for (size_t i = 0; i < rows; i++)
        value[from + i] = curve->y[0];
      continue;
    }
    int64_t count[TOGETHER] = {0};
    for (size_t e = 0; e + 1 < curve->m && curve->x[e] < most; e++) {
      const double edge = curve->x[e];
#pragma omp simd
      for (size_t i = 0; i < rows; i++)
        count[i] += s[i] > edge;
    }
    for (size_t i = 0; i < rows; i++) {
      double y = curve->y[count[i]];
      value[from + i] = y == y ? y : s[i];
    }
  }
}

static void apply_upto(const gpc_curve *curve, size_t n, const double *score,
                       double *value) {
  if (curve->m - 1 <= FEW_EDGES) {
    apply_few(curve, n, score, value);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    double s = score[i], y = curve->y[count_below(curve->m - 1, curve->x, s, 0)];
    value[i] = y == y ? y : s;
  }
}

void gpc_curve_apply(const gpc_curve *curve, size_t n, const double *score,
                     double *value) {
  if (curve->m == 1 && curve->y[0] == curve->y[0]) {
    for (size_t i = 0; i < n; i++)
      value[i] = curve->y[0];
    return;
  }
  if (curve->kind == GPC_CURVE_LINEAR)
    apply_linear(curve, n, score, value);
  else
    apply_upto(curve, n, score, value);
}
