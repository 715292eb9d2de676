/* slope.c: see slope.h. */
#include "slope.h"
#include "resample.h"
#include <math.h>

#define DRAW_SLOPE                                                                       \
  (UINT64_C(1) << 40) /* beyond the purposes of bands, one for each class */
#define POLL_ROWS 65536

/* log of the sum of p^a over the classes of row i, with mean and variance of log p under
 * p^a / sum. */
static void row_moments(const gpc_forecast *f, size_t i, double a, double *out) {
  double top = log(f->conf[i]), sum = 0.0, first = 0.0, second = 0.0;
  for (size_t j = 0; j < f->k; j++) {
    double p = f->probs[i + j * f->n];
    if (p <= 0.0)
      continue;
    double d = log(p) - top, e = exp(a * d); /* d <= 0 */
    sum += e;
    first += e * d;
    second += e * d * d;
  }
  first /= sum;
  out[0] = a * top + log(sum);
  out[1] = top + first;
  out[2] = fmax(second / sum - first * first, 0.0);
}

void gpc_slope_at(const gpc_forecast *f, double a, double *out, gpc_poll poll,
                  void *data) {
  double row[3];
  out[0] = out[1] = out[2] = 0.0;
  for (size_t i = 0; i < f->n; i++) {
    double w = f->weights ? f->weights[i] : 1.0;
    row_moments(f, i, a, row);
    for (int c = 0; c < 3; c++)
      out[c] += w * row[c];
    if (i % POLL_ROWS == POLL_ROWS - 1)
      gpc_call_poll(poll, data);
  }
}

void gpc_slope_rows(const gpc_forecast *f, double *out) {
  double row[3];
  for (size_t i = 0; i < f->n; i++) {
    double w = f->weights ? f->weights[i] : 1.0;
    row_moments(f, i, 1.0, row);
    double p = f->probs[i + ((size_t)f->labels[i] - 1) * f->n];
    out[i] = w > 0.0 ? w * (log(p) - row[1]) : 0.0;
  }
}

/* Two classes: the probability of the first, and w log p of each. */
static void draw_two(size_t n, const double *first, uint64_t stream, double *out) {
  const double *one = first + n, *two = one + n;
  double sum = 0.0;
  for (size_t i = 0; i < n; i++)
    sum += gpc_stream_uniform(stream, i) < first[i] ? one[i] : two[i];
  *out = sum;
}

/* The first class whose cumulative probability exceeds a uniform share of their sum. */
static void draw_many(size_t n, size_t k, const double *cumulative, const double *value,
                      uint64_t stream, double *out) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) {
    const double *cum = cumulative + i * k;
    double t = gpc_stream_uniform(stream, i) * cum[k - 1];
    size_t low = 0, high = k - 1; /* cum[high] > t */
    while (low < high) {
      size_t middle = low + (high - low) / 2;
      if (cum[middle] > t)
        high = middle;
      else
        low = middle + 1;
    }
    sum += value[i * k + low];
  }
  *out = sum;
}

void gpc_slope_draw(const gpc_forecast *f, uint64_t seed, size_t first, size_t count,
                    double *work, double *out, gpc_poll poll, void *data) {
  size_t n = f->n, k = f->k;
  for (size_t i = 0; i < n; i++) {
    double w = f->weights ? f->weights[i] : 1.0, sum = 0.0;
    for (size_t j = 0; j < k; j++) {
      double p = f->probs[i + j * n], value = p > 0.0 && w > 0.0 ? w * log(p) : 0.0;
      if (k == 2) {
        if (j == 0)
          work[i] = p;
        work[(j + 1) * n + i] = value;
      } else {
        work[i * k + j] = sum += p;
        work[n * k + i * k + j] = value;
      }
    }
  }
  for (size_t r = 0; r < count; r++) {
    uint64_t stream = gpc_stream(seed, DRAW_SLOPE, first + r);
    if (k == 2)
      draw_two(n, work, stream, out + r);
    else
      draw_many(n, k, work, work + n * k, stream, out + r);
    gpc_call_poll(poll, data);
  }
}
