/* ties.c: see ties.h. Without weights all that is needed of a row is its score and one
 * bit. The bit pattern of a double in [0, 1] begins with two zeros, so that there is room
 * for the bit at its end: whole keys are sorted, half as much again as fast as keys with
 * rows, and no row has to be looked up afterwards. */
#include "ties.h"
#include "radix.h"
#include <string.h>

size_t gpc_ties_work(size_t n, int weighted) {
  return weighted ? (n + n % 2) * sizeof(int) + gpc_radix_work(n)
                  : 2 * n * sizeof(uint64_t) + GPC_RADIX_COUNTS * sizeof(uint32_t);
}

gpc_ties gpc_ties_sort(const gpc_one *one, void *work) {
  const size_t n = one->n;
  gpc_ties ties = {one, NULL, NULL, 0};
  if (one->weights) {
    int *order = work;
    gpc_radix_order(n, one->x, order, order + n + n % 2);
    ties.order = order;
    return ties;
  }
  uint64_t *key = work, *other = key + n;
  for (size_t i = 0; i < n; i++) {
    double x = one->x[i] + 0.0; /* -0 becomes 0 */
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    key[i] = bits << 1 | (one->label[i] == one->code);
  }
  ties.key = gpc_radix_keys(n, key, other, (uint32_t *)(other + n));
  return ties;
}

static int next_of_keys(gpc_ties *ties, double *score, double *hits, double *weight) {
  const size_t n = ties->one->n, first = ties->next;
  if (first >= n)
    return 0;
  const uint64_t bits = ties->key[first] >> 1;
  size_t i = first, events = 0;
  for (; i < n && ties->key[i] >> 1 == bits; i++)
    events += ties->key[i] & 1;
  memcpy(score, &bits, sizeof bits);
  *hits = (double)events;
  *weight = (double)(i - first);
  ties->next = i;
  return 1;
}

int gpc_ties_next(gpc_ties *ties, double *score, double *hits, double *weight) {
  if (ties->key)
    return next_of_keys(ties, score, hits, weight);
  const gpc_one *one = ties->one;
  size_t i = ties->next;
  while (i < one->n && one->weights[ties->order[i]] <= 0.0)
    i++;
  ties->next = i;
  if (i >= one->n)
    return 0;
  *score = one->x[ties->order[i]];
  *hits = *weight = 0.0;
  for (; i < one->n && one->x[ties->order[i]] == *score; i++) {
    int row = ties->order[i];
    double w = one->weights[row];
    *hits += one->label[row] == one->code ? w : 0.0;
    *weight += w;
  }
  ties->next = i;
  return 1;
}

size_t gpc_ties_all(gpc_ties *ties, double *score, double *hits, double *weight) {
  size_t m = 0;
  while (gpc_ties_next(ties, score + m, hits + m, weight + m))
    m++;
  return m;
}
