/* test_radix.c: the order is sorted, stable and a permutation, for awkward values too. */
#include "ctest.h"
#include "radix.h"
#include "resample.h"
#include <stdlib.h>

/* x[order] ascends and tied values keep their order; every row occurs once. */
static void check_order(size_t n, const double *x) {
  int *order = malloc((n + 1) * sizeof *order), *seen = calloc(n + 1, sizeof *seen);
  void *work = malloc(gpc_radix_work(n) + 1);
  gpc_radix_order(n, x, order, work);
  int sorted = 1, once = 1;
  for (size_t i = 0; i < n; i++) {
    once &= order[i] >= 0 && (size_t)order[i] < n && seen[order[i]]++ == 0;
    if (i > 0) {
      double a = x[order[i - 1]], b = x[order[i]];
      sorted &= a < b || (a == b && order[i - 1] < order[i]);
    }
  }
  CHECK(sorted);
  CHECK(once);
  free(order);
  free(seen);
  free(work);
}

/* Keys alone: ascending, and the same ones (sums and xors agree). */
static void check_keys(size_t n, int bits) {
  uint64_t *key = malloc((n + 1) * sizeof *key), *other = malloc((n + 1) * sizeof *other);
  uint32_t *count = malloc(GPC_RADIX_COUNTS * sizeof *count);
  uint64_t sum = 0, mixed = 0, after = 0, mixed_after = 0;
  for (size_t i = 0; i < n; i++) {
    key[i] = (uint64_t)(gpc_stream_uniform(5, i) * 0x1p53) << 11 >> (64 - bits);
    sum += key[i];
    mixed ^= key[i] * UINT64_C(0x9e3779b97f4a7c15);
  }
  uint64_t *sorted = gpc_radix_keys(n, key, other, count);
  CHECK(sorted == key || sorted == other);
  int ok = 1;
  for (size_t i = 0; i < n; i++) {
    ok &= i == 0 || sorted[i - 1] <= sorted[i];
    after += sorted[i];
    mixed_after ^= sorted[i] * UINT64_C(0x9e3779b97f4a7c15);
  }
  CHECK(ok && sum == after && mixed == mixed_after);
  free(key);
  free(other);
  free(count);
}

int main(void) {
  size_t counts[] = {0, 1, 2, 47, 48, 1000, 4095, 4096, 20000};
  for (size_t s = 0; s < sizeof counts / sizeof *counts; s++) {
    check_keys(counts[s], 64);
    check_keys(counts[s], 5);
  }
  size_t sizes[] = {0, 1, 2, 3, 47, 48, 49, 1000, 5000};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    size_t n = sizes[s];
    double *x = malloc((n + 1) * sizeof *x);
    for (int kind = 0; kind < 6; kind++) {
      for (size_t i = 0; i < n; i++) {
        double u = gpc_stream_uniform(17, i);
        switch (kind) {
        case 0:
          x[i] = u;
          break;
        case 1:
          x[i] = (u - 0.5) * 1e300;
          break; /* both signs */
        case 2:
          x[i] = floor(10.0 * u) / 10.0;
          break; /* ties */
        case 3:
          x[i] = 0.3;
          break; /* nothing to do */
        case 4:
          x[i] = i % 3 ? 0.0 : -0.0;
          break; /* equal zeros */
        default:
          x[i] = u < 0.3 ? -INFINITY : u < 0.6 ? 0x1p-1074 * (double)i : 1.0 - u * 1e-12;
        }
      }
      check_order(n, x);
    }
    free(x);
  }
  return CTEST_END();
}
