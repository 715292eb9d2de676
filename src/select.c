/* select.c: see select.h. */
#include "select.h"

#include <math.h>

static void swap(double *a, double *b) {
  double t = *a;
  *a = *b;
  *b = t;
}

/* Reorder x so that x[k] is the k-th smallest, nothing before it larger and nothing after
 * it smaller: Hoare's selection, the pivot the median of three. */
static void select_kth(size_t n, double *x, size_t k) {
  size_t low = 0, high = n - 1;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (x[middle] < x[low])
      swap(&x[middle], &x[low]);
    if (x[high] < x[low])
      swap(&x[high], &x[low]);
    if (x[high] < x[middle])
      swap(&x[high], &x[middle]);
    double pivot = x[middle];
    size_t i = low, j = high;
    for (;;) {
      while (x[i] < pivot)
        i++;
      while (pivot < x[j])
        j--;
      if (i >= j)
        break;
      swap(&x[i], &x[j]);
      i++;
      j--;
    }
    if (k <= j)
      high = j;
    else
      low = j + 1;
  }
}

/* x reordered so that x[k] is the k-th of them, k the whole part of prob (n - 1); *next is
 * the one after it. Returns the rest of prob (n - 1), 0 where there is no next one. */
static double two_values(size_t n, double *x, double prob, size_t *k, double *next) {
  const double at = prob * (double)(n - 1), below = floor(at);
  *k = (size_t)below;
  select_kth(n, x, *k);
  *next = x[*k];
  if (*k + 1 >= n || at == below)
    return 0.0;
  *next = x[*k + 1];
  for (size_t i = *k + 2; i < n; i++)
    *next = x[i] < *next ? x[i] : *next;
  return at - below;
}

double gpc_quantile(size_t n, double *x, double prob) {
  size_t k;
  double next;
  const double h = two_values(n, x, prob, &k, &next);
  return h == 0.0 ? x[k] : x[k] + h * (next - x[k]);
}

double gpc_quantile_ordered(size_t n, double *x, double prob) {
  size_t k;
  double next;
  const double h = two_values(n, x, prob, &k, &next);
  return (1.0 - h) * x[k] + h * next;
}
