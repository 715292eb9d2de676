/* fuzz.h: what the harnesses share: turning bytes into arguments that keep the contract
 * of the core (what R's checks let through), and memory of exactly the size asked for, so
 * that AddressSanitizer sees the first byte beyond. A broken promise traps. */
#ifndef FUZZ_H
#define FUZZ_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLDS(what)                                                                      \
  do {                                                                                   \
    if (!(what)) {                                                                       \
      fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);          \
      abort();                                                                           \
    }                                                                                    \
  } while (0)

typedef struct {
  const uint8_t *at;
  size_t left;
} bytes;

static inline unsigned take(bytes *b) {
  if (b->left == 0)
    return 0;
  b->left--;
  return *b->at++;
}

static inline size_t take_size(bytes *b, size_t low, size_t high) {
  return low + (take(b) | take(b) << 8) % (high - low + 1);
}

static inline double take_bits(bytes *b) {
  uint64_t bits = 0;
  for (int i = 0; i < 8; i++)
    bits = bits << 8 | take(b);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Any double: most often one of few, so that ties and limits occur. */
static inline double take_double(bytes *b) {
  static const double odd[] = {0.0,   -0.0,  1.0,    -1.0,   0.5,    1e-3,      1e-8,    1e-300,
                               5e-324, 1e300, -1e300, 1.7e308, -1.7e308, INFINITY, -INFINITY, NAN};
  const unsigned kind = take(b);
  if (kind < 100)
    return ((double)take(b) - 128.0) / 16.0;
  if (kind < 150)
    return ((double)(take(b) << 8 | take(b)) - 32768.0) / 1000.0;
  if (kind < 180)
    return odd[take(b) % 16];
  if (kind < 200)
    return ((double)take(b) - 128.0) * 1e6;
  if (kind < 220)
    return ((double)take(b) - 128.0) * 1e-9;
  return take_bits(b);
}

static inline double take_finite(bytes *b) {
  double x = take_double(b);
  return isfinite(x) ? x : 0.0;
}

/* In [0, 1], ends and near ends included. */
static inline double take_unit(bytes *b) {
  static const double odd[] = {0.0, 1.0, 0.5, 5e-324, 1e-300, 1e-17, 1.0 - 0x1p-53, 0x1p-53};
  const unsigned kind = take(b);
  if (kind < 60)
    return odd[take(b) % 8];
  if (kind < 200)
    return (double)take(b) / 255.0;
  double x = fabs(take_bits(b));
  return x <= 1.0 ? x : isfinite(x) ? 1.0 / x : 0.0;
}

/* Freed together at the end of an input. */
#define MOST 4096
static void *held[MOST];
static size_t holds;

static inline void *room_bytes(size_t size) {
  HOLDS(holds < MOST);
  void *p = malloc(size ? size : 1);
  HOLDS(p != NULL);
  memset(p, 0xa5, size);
  return held[holds++] = p;
}

static inline double *room(size_t n) { return room_bytes(n * sizeof(double)); }
static inline int *room_int(size_t n) { return room_bytes(n * sizeof(int)); }

static inline int done(void) {
  while (holds > 0)
    free(held[--holds]);
  return 0;
}

/* Labels 1..k, and weights: NULL, or such that check_weights() would let them through. */
static inline int *take_labels(bytes *b, size_t n, size_t k) {
  int *label = room_int(n);
  for (size_t i = 0; i < n; i++)
    label[i] = 1 + (int)(take(b) % k);
  return label;
}

static inline double *take_weights(bytes *b, size_t n) {
  if (take(b) % 2)
    return NULL;
  double *w = room(n), top = 0.0;
  for (size_t i = 0; i < n; i++) {
    w[i] = take(b) % 4 ? (double)(take(b) % 4) : fabs(take_finite(b));
    if (w[i] > 1e280)
      w[i] = 1e280;
    top = fmax(top, w[i]);
  }
  if (top < 1e-290)
    w[0] = 1.0;
  return w;
}

/* Rows of probabilities [n x k]. */
static inline double *take_probs(bytes *b, size_t n, size_t k) {
  double *p = room(n * k);
  for (size_t i = 0; i < n; i++) {
    double sum = 0.0;
    for (size_t j = 0; j < k; j++)
      sum += p[i + n * j] = take_unit(b);
    if (sum < 1e-300)
      sum = p[i] = 1.0;
    for (size_t j = 0; j < k; j++)
      p[i + n * j] /= sum;
  }
  return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
