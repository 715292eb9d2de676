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

static void apply_linear(const gpc_curve *curve, size_t n, const double *score,
                         double *value) {
  const double *x = curve->x, *y = curve->y;
  const size_t last = curve->m - 1;
  for (size_t i = 0; i < n; i++) {
    double s = score[i];
    /* the inner points at or below s say which piece it is on */
    size_t at = last > 1 ? count_below(last - 1, x + 1, s, 1) : 0;
    double t = (s - x[at]) / (x[at + 1] - x[at]);
    t = t < 0.0 ? 0.0 : t;
    /* exact at the points, and non-decreasing where they are, rounding and all */
    double v = y[at] + t * (y[at + 1] - y[at]);
    value[i] = t >= 1.0 || v > y[at + 1] ? y[at + 1] : v;
  }
}

static void apply_upto(const gpc_curve *curve, size_t n, const double *score,
                       double *value) {
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
