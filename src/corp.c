/* corp.c: see corp.h. */
#include "corp.h"
#include "pava.h"
#include "radix.h"
#include <math.h>

/* Four arrays of n doubles, two of n ints, and what sorting takes. */
size_t gpc_corp_work(size_t n) {
  return 4 * n * sizeof(double) + 2 * n * sizeof(int) + gpc_radix_work(n);
}

/* h events and w - h others, all given probability x: squared error. */
static double brier_sum(double h, double w, double x) {
  return h * (1.0 - x) * (1.0 - x) + (w - h) * x * x;
}

/* The same for the log score; nothing times log 0 is nothing. */
static double log_sum(double h, double w, double x) {
  double sum = 0.0;
  if (h > 0.0)
    sum -= h * log(x);
  if (w - h > 0.0)
    sum -= (w - h) * log1p(-x);
  return sum;
}

void gpc_corp_fit(size_t n, const double *x, const double *y, const double *weights,
                  gpc_corp *corp, void *work) {
  double *score = work, *hits = score + n, *weight = hits + n, *moment = weight + n;
  int *order = (int *)(moment + n), *first = order + n;
  gpc_radix_order(n, x, order, first + n);
  size_t groups = gpc_pava_ties(n, x, y, weights, order, score, hits, weight, NULL);

  double total = 0.0, events = 0.0;
  corp->brier = corp->log = (gpc_corp_parts){0.0, 0.0, 0.0};
  for (size_t g = 0; g < groups; g++) {
    total += weight[g];
    events += hits[g];
    moment[g] = weight[g] * score[g];
    corp->brier.score += brier_sum(hits[g], weight[g], score[g]);
    corp->log.score += log_sum(hits[g], weight[g], score[g]);
  }
  corp->brier.constant = brier_sum(events, total, events / total);
  corp->log.constant = log_sum(events, total, events / total);

  corp->blocks = gpc_pava_pool(groups, hits, weight, first);
  for (size_t b = 0; b < corp->blocks; b++) {
    size_t from = (size_t)first[b];
    size_t to = b + 1 < corp->blocks ? (size_t)first[b + 1] : groups;
    double sum = 0.0;
    for (size_t g = from; g < to; g++)
      sum += moment[g];
    corp->lower[b] = score[from];
    corp->upper[b] = score[to - 1];
    corp->weight[b] = weight[b];
    corp->score[b] = to - from == 1 ? score[from] : sum / weight[b];
    corp->fit[b] = hits[b] / weight[b];
    corp->brier.recalibrated += brier_sum(hits[b], weight[b], corp->fit[b]);
    corp->log.recalibrated += log_sum(hits[b], weight[b], corp->fit[b]);
  }
  gpc_corp_parts *parts[] = {&corp->brier, &corp->log};
  for (int s = 0; s < 2; s++) {
    parts[s]->score /= total;
    parts[s]->recalibrated /= total;
    parts[s]->constant /= total;
  }
}
