/* radix.c: least-significant-digit radix sort of (key, row) pairs. The key of a double is
 * its bit pattern with the sign bit flipped (positive) or all bits flipped (negative), so
 * that unsigned keys sort as the doubles do. Digits of 11 bits make six passes; a digit
 * that is the same in all keys costs none. */
#include "radix.h"
#include <string.h>

#define DIGIT_BITS 11
#define DIGIT_SIZE 2048 /* 2^DIGIT_BITS */
#define DIGITS 6        /* six times 11 bits cover 64 */
#define SMALL 48        /* below this, insertion is quicker than counting */

size_t gpc_radix_work(size_t n) {
  return n < SMALL ? 0
                   : 2 * n * sizeof(uint64_t) + n * sizeof(int) +
                         DIGITS * DIGIT_SIZE * sizeof(uint32_t);
}

static uint64_t key_of(double x) {
  uint64_t bits;
  x += 0.0; /* -0 becomes 0 */
  memcpy(&bits, &x, sizeof bits);
  return bits ^ ((bits >> 63) ? ~UINT64_C(0) : UINT64_C(1) << 63);
}

static void insertion_order(size_t n, const double *x, int *order) {
  for (size_t i = 0; i < n; i++) {
    size_t j = i;
    for (; j > 0 && x[order[j - 1]] > x[i]; j--)
      order[j] = order[j - 1];
    order[j] = (int)i;
  }
}

void gpc_radix_order(size_t n, const double *x, int *order, void *work) {
  if (n < SMALL) {
    insertion_order(n, x, order);
    return;
  }
  uint64_t *key = work, *other_key = key + n;
  uint32_t *count = (uint32_t *)(other_key + n);
  int *row = order, *other_row = (int *)(count + DIGITS * DIGIT_SIZE);

  memset(count, 0, DIGITS * DIGIT_SIZE * sizeof *count);
  for (size_t i = 0; i < n; i++) {
    uint64_t k = key_of(x[i]);
    key[i] = k;
    row[i] = (int)i;
    for (int d = 0; d < DIGITS; d++)
      count[(size_t)d * DIGIT_SIZE + ((k >> (d * DIGIT_BITS)) & (DIGIT_SIZE - 1))]++;
  }

  for (int d = 0; d < DIGITS; d++) {
    uint32_t *c = count + d * DIGIT_SIZE;
    int shift = d * DIGIT_BITS;
    if (c[(key[0] >> shift) & (DIGIT_SIZE - 1)] == n)
      continue;
    uint32_t start = 0;
    for (int v = 0; v < DIGIT_SIZE; v++) {
      uint32_t here = c[v];
      c[v] = start;
      start += here;
    }
    for (size_t i = 0; i < n; i++) {
      uint32_t to = c[(key[i] >> shift) & (DIGIT_SIZE - 1)]++;
      other_key[to] = key[i];
      other_row[to] = row[i];
    }
    uint64_t *swap_key = key;
    key = other_key;
    other_key = swap_key;
    int *swap_row = row;
    row = other_row;
    other_row = swap_row;
  }
  if (row != order)
    memcpy(order, row, n * sizeof *order);
}

static void insertion_keys(size_t n, uint64_t *key) {
  for (size_t i = 1; i < n; i++) {
    uint64_t k = key[i];
    size_t j = i;
    for (; j > 0 && key[j - 1] > k; j--)
      key[j] = key[j - 1];
    key[j] = k;
  }
}

/* Few keys are not worth 2048 counters for every digit: digits of 8 bits. */
#define FEW 4096

static uint64_t *sort_digits(size_t n, uint64_t *key, uint64_t *other, uint32_t *count,
                             int bits) {
  const int digits = (64 + bits - 1) / bits;
  const size_t size = (size_t)1 << bits;
  const uint64_t mask = size - 1;
  memset(count, 0, (size_t)digits * size * sizeof *count);
  for (size_t i = 0; i < n; i++)
    for (int d = 0; d < digits; d++)
      count[(size_t)d * size + ((key[i] >> (d * bits)) & mask)]++;
  for (int d = 0; d < digits; d++) {
    uint32_t *c = count + (size_t)d * size, start = 0;
    const int shift = d * bits;
    if (c[(key[0] >> shift) & mask] == n)
      continue;
    for (size_t v = 0; v < size; v++) {
      uint32_t here = c[v];
      c[v] = start;
      start += here;
    }
    for (size_t i = 0; i < n; i++)
      other[c[(key[i] >> shift) & mask]++] = key[i];
    uint64_t *swap = key;
    key = other;
    other = swap;
  }
  return key;
}

uint64_t *gpc_radix_keys(size_t n, uint64_t *key, uint64_t *other, uint32_t *count) {
  if (n < SMALL) {
    insertion_keys(n, key);
    return key;
  }
  return n < FEW ? sort_digits(n, key, other, count, 8)
                 : sort_digits(n, key, other, count, DIGIT_BITS);
}
