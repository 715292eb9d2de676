/* isotonic.c: see isotonic.h. Groups of ties go onto the stack of blocks as they come out
 * of the sort, so that nothing of the size of the data is kept beside the sorted keys. */
#include "isotonic.h"
#include <math.h>

typedef struct {
  double *lower, *upper, *hits, *weight;
  size_t top;
} block_stack;

/* Blocks that are on the stack at a time. The values h / w of the blocks differ, and at
 * most d + 1 fractions have the denominator d, so that m blocks need a weight of about
 * m^(3/2) 2^(3/2) / 3: m <= 1.04 n^(2/3) and lower terms. */
static size_t most_blocks(size_t n, int weighted) {
  if (weighted)
    return n;
  double bound = 2.0 * pow((double)n, 2.0 / 3.0) + 64.0;
  return bound < (double)n ? (size_t)bound : n;
}

size_t gpc_isotonic_points(size_t n, int weighted) {
  return 2 * most_blocks(n, weighted);
}

size_t gpc_isotonic_work(size_t n, int weighted) {
  return 4 * most_blocks(n, weighted) * sizeof(double) + gpc_ties_work(n, weighted);
}

/* As gpc_pava_pool(), one group at a time; equal values are pooled as well. */
static void push(block_stack *s, double score, double hits, double weight) {
  double lower = score, value = hits / weight;
  while (s->top > 0 && s->hits[s->top - 1] / s->weight[s->top - 1] >= value) {
    s->top--;
    hits += s->hits[s->top];
    weight += s->weight[s->top];
    value = hits / weight;
    lower = s->lower[s->top];
  }
  s->lower[s->top] = lower;
  s->upper[s->top] = score;
  s->hits[s->top] = hits;
  s->weight[s->top] = weight;
  s->top++;
}

size_t gpc_isotonic_fit(const gpc_one *one, int linear, double *x, double *y,
                        void *work) {
  const size_t most = most_blocks(one->n, one->weights != NULL);
  double *room = work;
  block_stack s = {room, room + most, room + 2 * most, room + 3 * most, 0};
  gpc_ties ties = gpc_ties_sort(one, room + 4 * most);
  double score, hits, weight;
  while (gpc_ties_next(&ties, &score, &hits, &weight))
    push(&s, score, hits, weight);
  size_t m = 0;
  for (size_t b = 0; b < s.top; b++) {
    double value = s.hits[b] / s.weight[b];
    /* The map is constant outside, so that the outermost ends say nothing. */
    if (linear && b > 0 && (s.lower[b] < s.upper[b] || b + 1 == s.top)) {
      x[m] = s.lower[b];
      y[m++] = value;
    }
    if (!linear || b + 1 < s.top || m == 0) {
      x[m] = s.upper[b];
      y[m++] = value;
    }
  }
  return m;
}
