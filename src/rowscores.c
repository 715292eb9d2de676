/* rowscores.c: see rowscores.h. */
#include "rowscores.h"
#include "radix.h"
#include <math.h>

void gpc_row_scores(size_t n, size_t k, const double *p, const int *label, double eps,
                    double *loss, double *brier, double *rps, gpc_poll poll, void *data) {
  double below[GPC_BLOCK_MAX]; /* p_1 + ... + p_j */
  for (size_t from = 0; from < n; from += GPC_BLOCK_MAX) {
    const size_t rows = n - from < GPC_BLOCK_MAX ? n - from : GPC_BLOCK_MAX;
    const int *y = label + from;
    if (loss)
      for (size_t i = 0; i < rows; i++) {
        double given = p[from + i + ((size_t)y[i] - 1) * n];
        loss[from + i] = -log(given > eps ? given : eps);
      }
    if (brier)
      for (size_t i = 0; i < rows; i++)
        brier[from + i] = 0.0;
    if (rps)
      for (size_t i = 0; i < rows; i++)
        rps[from + i] = below[i] = 0.0;
    for (size_t j = 0; j < k; j++) {
      const double *column = p + from + j * n;
      const int code = (int)j + 1;
      if (brier && (k > 2 || j == 1))
        for (size_t i = 0; i < rows; i++) {
          double d = column[i] - (y[i] == code);
          brier[from + i] += d * d;
        }
      if (rps && j + 1 < k)
        for (size_t i = 0; i < rows; i++) {
          below[i] += column[i];
          double d = below[i] - (y[i] <= code);
          rps[from + i] += d * d;
        }
    }
    if (from % (64 * GPC_BLOCK_MAX) == 0)
      gpc_call_poll(poll, data);
  }
}

/* Sorted scores, and the weights of the events and of the others up to each. */
size_t gpc_murphy_work(size_t n) {
  return 3 * (n + 1) * sizeof(double) + (n + 1) * sizeof(int) + gpc_radix_work(n);
}

/* How many of the sorted x [n] are below t, or also equal to it. */
static size_t count_below(size_t n, const double *x, double t, int equal) {
  size_t low = 0, high = n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (x[middle] < t || (equal && x[middle] == t))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void gpc_murphy(size_t n, const double *x, const double *y, const double *weights,
                size_t m, const double *theta, double *mean, double *left, void *work) {
  double *score = work, *events = score + n + 1, *others = events + n + 1;
  int *order = (int *)(others + n + 1);
  gpc_radix_order(n, x, order, order + n + n % 2);
  events[0] = others[0] = 0.0;
  for (size_t i = 0; i < n; i++) {
    const size_t row = (size_t)order[i];
    const double w = weights ? weights[row] : 1.0;
    score[i] = x[row];
    events[i + 1] = events[i] + w * y[row];
    others[i + 1] = others[i] + w * (1.0 - y[row]);
  }
  const double total = events[n] + others[n];
  for (size_t j = 0; j < m; j++) {
    const double t = theta[j];
    for (int equal = 0; equal < 2; equal++) {
      double *out = equal ? mean : left;
      if (!out)
        continue;
      const size_t at = count_below(n, score, t, equal);
      out[j] = 2.0 * (t * (others[n] - others[at]) + (1.0 - t) * events[at]) / total;
    }
  }
}
