/* venn.c: see venn.h. */
#include "venn.h"

/* Points of the cumulative sum diagram: isotonic values are slopes of its greatest convex
 * minorant. */
typedef struct {
  double x, y; /* sums of weights and of hits */
} point;

size_t gpc_venn_work(size_t m) { return 2 * (m + 2) * sizeof(point); }

/* Does the way from a by b to c not turn left? Then b is no corner of the minorant. */
static int no_corner(point a, point b, point c) {
  return (b.x - a.x) * (c.y - b.y) <= (c.x - b.x) * (b.y - a.y);
}

/* F1 of m groups. `mirror`: of the groups in reverse order with hits and others
 * exchanged, which gives 1 - F0; `fit` is then filled from its end. */
static void fit_one(size_t m, const double *hits, const double *weight, int mirror,
                    double *fit, point *work) {
  point *p = work, *stack = work + m + 2; /* p[i + 1] is P_i of the paper, from i = -1 */
  size_t top = 0;
  p[0] = (point){-1.0, -1.0};
  p[1] = (point){0.0, 0.0};
  for (size_t i = 0; i < m; i++) {
    const size_t g = mirror ? m - 1 - i : i;
    const double h = mirror ? weight[g] - hits[g] : hits[g];
    p[i + 2] = (point){p[i + 1].x + weight[g], p[i + 1].y + h};
  }
  /* The minorant with the row of label 1 first, its corners from the right: the stack
   * then has the leftmost on top. */
  for (size_t i = m + 2; i-- > 0;) {
    while (top > 1 && no_corner(p[i], stack[top - 1], stack[top - 2]))
      top--;
    stack[top++] = p[i];
  }
  for (size_t i = 0; i < m; i++) {
    const point a = stack[top - 1], b = stack[top - 2];
    const double slope = (b.y - a.y) / (b.x - a.x);
    fit[mirror ? m - 1 - i : i] = mirror ? 1.0 - slope : slope;
    /* The row moves behind group i: one point of the diagram changes. */
    p[i + 1] =
        (point){p[i].x + p[i + 2].x - p[i + 1].x, p[i].y + p[i + 2].y - p[i + 1].y};
    const point q = p[i + 1];
    if ((q.x - a.x) * (b.y - a.y) <= (q.y - a.y) * (b.x - a.x))
      continue; /* on or above the minorant */
    top--;
    while (top > 1 && no_corner(q, stack[top - 1], stack[top - 2]))
      top--;
    stack[top++] = q;
  }
}

void gpc_venn_pair(size_t m, const double *hits, const double *weight, double *lower,
                   double *upper, void *work) {
  fit_one(m, hits, weight, 0, upper, work);
  fit_one(m, hits, weight, 1, lower, work);
}
