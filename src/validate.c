/* validate.c: see validate.h. */
#include "validate.h"
#include "radix.h"
#include <math.h>

#define MAX_STEPS 50
#define TOL 1e-12    /* of the Newton decrement, in units of log-likelihood */
#define STEEPEST 1e3 /* beyond this the rows are separated */

/* Log-likelihood, gradient and information at (a, b), in one pass. */
static double recal_pass(size_t n, const double *x, const int *hit, const double *w,
                         double a, double b, double *gradient, double *info) {
  double value = 0.0;
  gradient[0] = gradient[1] = info[0] = info[1] = info[2] = 0.0;
  for (size_t i = 0; i < n; i++) {
    double weight = w ? w[i] : 1.0, eta = a + b * x[i];
    double e = exp(-fabs(eta)), q = eta > 0.0 ? 1.0 / (1.0 + e) : e / (1.0 + e);
    double r = weight * ((hit[i] ? 1.0 : 0.0) - q),
           v = weight * e / ((1.0 + e) * (1.0 + e));
    value += weight * ((hit[i] ? eta : 0.0) - (eta > 0.0 ? eta : 0.0) - log1p(e));
    gradient[0] += r;
    gradient[1] += r * x[i];
    info[0] += v;
    info[1] += v * x[i];
    info[2] += v * x[i] * x[i];
  }
  return value;
}

gpc_status gpc_recal_fit(size_t n, const double *x, const int *hit, const double *w,
                         int hold, gpc_poll poll, void *data, gpc_recal *fit) {
  double a = 0.0, b = 1.0, g[2], h[3];
  double value = recal_pass(n, x, hit, w, a, b, g, h);
  gpc_status status = GPC_NOT_CONVERGED;
  fit->iterations = 0;
  for (int step = 0; step < MAX_STEPS && status != GPC_OK; step++) {
    double da, db = 0.0;
    if (hold) {
      da = g[0] / h[0];
    } else {
      double det = h[0] * h[2] - h[1] * h[1];
      if (det <= 1e-12 * h[0] * h[2]) {
        status = GPC_FLAT;
        break;
      }
      da = (h[2] * g[0] - h[1] * g[1]) / det;
      db = (h[0] * g[1] - h[1] * g[0]) / det;
    }
    if (!isfinite(da) || !isfinite(db))
      break;
    double decrement = da * g[0] + db * g[1], size = 1.0, next = -INFINITY;
    for (int half = 0; half < 30; half++, size *= 0.5) {
      next = recal_pass(n, x, hit, w, a + size * da, b + size * db, g, h);
      if (next >= value - 1e-12 * (fabs(value) + 1.0))
        break;
    }
    a += size * da;
    b += size * db;
    value = next;
    fit->iterations++;
    if (decrement <= TOL * (fabs(value) + 1.0))
      status = GPC_OK;
    if (fabs(b) > STEEPEST || fabs(a) > STEEPEST)
      break;
    gpc_call_poll(poll, data);
  }
  /* Every row is certain, and right: so it would be with any steeper line. */
  double total = 0.0;
  for (size_t i = 0; i < n; i++)
    total += w ? w[i] : 1.0;
  if (status == GPC_OK && -value < 1e-6 * total)
    status = GPC_NOT_CONVERGED;
  double det = h[0] * h[2] - h[1] * h[1];
  fit->coef[0] = a;
  fit->coef[1] = b;
  fit->log_lik = value;
  fit->inverse[0] = hold ? 1.0 / h[0] : h[2] / det;
  fit->inverse[1] = fit->inverse[2] = hold ? 0.0 : -h[1] / det;
  fit->inverse[3] = hold ? 0.0 : h[0] / det;
  return status;
}

size_t gpc_concordance_work(size_t n) {
  return n * sizeof(int) + gpc_radix_work(n) + sizeof(double);
}

double gpc_concordance(size_t n, const double *x, const int *hit, const double *w,
                       double *influence, void *work) {
  /* Order first: what sorting needs comes behind it. */
  int *order = work;
  size_t used = (n * sizeof(int) + sizeof(double) - 1) / sizeof(double) * sizeof(double);
  gpc_radix_order(n, x, order, (char *)work + used);
  double events = 0.0, others = 0.0, pairs = 0.0;
  for (size_t i = 0; i < n; i++) {
    double weight = w ? w[i] : 1.0;
    if (hit[i])
      events += weight;
    else
      others += weight;
  }
  /* Placement of a row: the share of the other kind that it is in order with. */
  double below[2] = {0.0, 0.0}; /* weight of others and events with a smaller x */
  for (size_t from = 0; from < n;) {
    size_t to = from;
    double here[2] = {0.0, 0.0};
    for (; to < n && x[order[to]] == x[order[from]]; to++)
      here[hit[order[to]] ? 1 : 0] += w ? w[order[to]] : 1.0;
    for (size_t s = from; s < to; s++) {
      size_t i = (size_t)order[s];
      influence[i] = hit[i] ? (below[0] + 0.5 * here[0]) / others
                            : (events - below[1] - 0.5 * here[1]) / events;
    }
    pairs += here[1] * (below[0] + 0.5 * here[0]);
    below[0] += here[0];
    below[1] += here[1];
    from = to;
  }
  double share = pairs / (events * others);
  if (share > 1.0) /* rounded sums of weights; fmin() would turn the NaN of no pairs into 1 */
    share = 1.0;
  for (size_t i = 0; i < n; i++)
    influence[i] = (w ? w[i] : 1.0) * (influence[i] - share) / (hit[i] ? events : others);
  return share;
}

void gpc_two_means(size_t n, const double *z, const int *label, const double *w,
                   int logits, double *out) {
  /* Sums of 1 (rows with weight), w, w p, w^2, w^2 p and w^2 p^2, of either kind. */
  double sum[2][6] = {{0}};
  for (size_t i = 0; i < n; i++) {
    double p = logits ? 1.0 / (1.0 + exp(z[i] - z[n + i])) : z[n + i];
    double weight = w ? w[i] : 1.0, *to = sum[label[i] == 2];
    to[0] += weight > 0.0;
    to[1] += weight;
    to[2] += weight * p;
    to[3] += weight * weight;
    to[4] += weight * weight * p;
    to[5] += weight * weight * p * p;
  }
  for (int kind = 0; kind < 2; kind++) {
    double *from = sum[kind], *to = out + 3 * kind, mean = from[2] / from[1];
    to[0] = from[0];
    to[1] = mean;
    to[2] = fmax(0.0, from[5] - 2.0 * mean * from[4] + mean * mean * from[3]) /
            (from[1] * from[1]);
  }
}
