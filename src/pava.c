/* pava.c: see pava.h. Ayer et al. (1955); one sweep with a stack of blocks. */
#include "pava.h"

size_t gpc_pava_ties(size_t n, const double *x, const double *y, const double *weights,
                     const int *order, double *score, double *hits, double *weight,
                     int *group_of) {
  size_t groups = 0;
  for (size_t i = 0; i < n; i++) {
    int row = order[i];
    double w = weights ? weights[row] : 1.0;
    if (w > 0.0) {
      if (groups == 0 || x[row] != score[groups - 1]) {
        score[groups] = x[row];
        hits[groups] = 0.0;
        weight[groups] = 0.0;
        groups++;
      }
      hits[groups - 1] += w * y[row];
      weight[groups - 1] += w;
    }
    if (group_of)
      group_of[i] = w > 0.0 ? (int)groups - 1 : -1;
  }
  return groups;
}

size_t gpc_pava_pool(size_t m, double *hits, double *weight, int *first) {
  size_t top = 0; /* blocks on the stack */
  for (size_t g = 0; g < m; g++) {
    double h = hits[g], w = weight[g], value = h / w;
    int start = (int)g;
    /* Equal values are pooled as well, so that blocks increase strictly. */
    while (top > 0 && hits[top - 1] / weight[top - 1] >= value) {
      top--;
      h += hits[top];
      w += weight[top];
      value = h / w;
      start = first[top];
    }
    hits[top] = h;
    weight[top] = w;
    first[top] = start;
    top++;
  }
  return top;
}
