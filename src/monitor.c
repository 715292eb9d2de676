/* monitor.c: see monitor.h. */
#include "monitor.h"
#include "fastexp.h"

#include <math.h>
#include <string.h>

/* Logarithms of products of this many factors 1 + c expm1(d) are taken at once: they stay
 * far from overflow for |d| <= 10. */
#define ROWS_PER_LOG 16

size_t gpc_monitor_work(size_t k, const gpc_monitor_grid *grid) {
  return k + grid->ts + (k - 1 + grid->bins) * grid->ds + grid->ds;
}

typedef struct {
  double *logp;    /* [k] */
  double *beta;    /* [ts] */
  double *rise;    /* [ds] expm1(d) */
  double *product; /* [ds x (k - 1 + bins)] of 1 + c rise: offsets first, then bins */
} rooms;

static rooms carve(size_t k, const gpc_monitor_grid *grid, double *work) {
  rooms r = {.logp = work, .beta = work + k};
  r.rise = r.beta + grid->ts;
  r.product = r.rise + grid->ds;
  for (size_t j = 0; j < grid->ts; j++)
    r.beta[j] = exp(grid->t[j]);
  for (size_t j = 0; j < grid->ds; j++)
    r.rise[j] = expm1(grid->d[j]);
  for (size_t i = 0; i < (k - 1 + grid->bins) * grid->ds; i++)
    r.product[i] = 1.0;
  return r;
}

static size_t find_bin(const gpc_monitor_grid *grid, double c) {
  size_t b = 0;
  while (b + 1 < grid->bins && c > grid->edge[b])
    b++;
  return b;
}

/* The likelihood ratio of odds times exp(d) for an event of probability c: eq. (O1),
 * hit d - log(1 + c expm1(d)). Its first part goes into `sum` at once, the logarithm
 * waits in `product` for rows of weight 1. */
static void tilt(size_t ds, const double *d, const double *rise, double c, int hit,
                 double w, double *sum, size_t stride, double *product) {
  for (size_t j = 0; j < ds; j++) {
    if (hit)
      sum[j * stride] += w * d[j];
    if (w == 1.0)
      product[j] *= 1.0 + c * rise[j];
    else
      sum[j * stride] -= w * log1p(c * rise[j]);
  }
}

static void flush(const gpc_monitor_grid *grid, size_t k, double *product,
                  gpc_monitor_sums *sums) {
  for (size_t i = 0; i < k - 1 + grid->bins; i++)
    for (size_t j = 0; j < grid->ds; j++) {
      double *sum = i < k - 1 ? &sums->offset[i + (k - 1) * j]
                              : &sums->tilt[i - (k - 1) + grid->bins * j];
      *sum -= log(product[j + grid->ds * i]);
      product[j + grid->ds * i] = 1.0;
    }
}

/* log q_y - log p_y for every temperature. The largest logarithm is `most`. */
static void temperatures(size_t k, const gpc_monitor_grid *grid, const rooms *r, size_t y,
                         double most, double w, double *sum) {
  for (size_t j = 0; j < grid->ts; j++) {
    /* of (p_k / max p)^beta, from 1 to k: relative to p_y it overflows once p_y is tiny */
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (size_t c = 0; c < k; c++)
      total += gpc_exp(r->beta[j] * (r->logp[c] - most));
    sum[j] += w * (r->beta[j] * (r->logp[y] - most) - log(total) - r->logp[y]);
  }
}

static void add_row(const gpc_monitored *data, const gpc_monitor_grid *grid, rooms *r,
                    size_t i, gpc_monitor_sums *sums) {
  const size_t n = data->n, k = data->k, y = (size_t)data->label[i] - 1;
  const double *p = data->p + i;
  const double w = data->w ? data->w[i] : 1.0, py = p[n * y];
  double square = 0.0, conf = p[0];
  size_t top = 0;
  for (size_t c = 0; c < k; c++) {
    const double away = p[n * c] - (c == y);
    square += away * away;
    if (p[n * c] > conf) {
      conf = p[n * c];
      top = c;
    }
    sums->expected[c] += w * p[n * c];
    r->logp[c] = log(p[n * c]);
  }
  sums->observed[y] += w;
  double *total = sums->total;
  const int right = top == y;
  total[GPC_MONITOR_WEIGHT] += w;
  total[GPC_MONITOR_BRIER] += w * square;
  total[GPC_MONITOR_HITS] += right ? w : 0.0;
  total[GPC_MONITOR_CONF] += w * conf;
  total[right ? GPC_MONITOR_UNDER : GPC_MONITOR_OVER] += w * (right ? 1.0 - conf : conf);
  const double event = k == 2 ? p[n] : conf;
  const int hit = k == 2 ? y == 1 : right;
  const size_t b = find_bin(grid, event);
  sums->bin[b] += w;
  sums->bin[b + grid->bins] += w * event;
  sums->bin[b + 2 * grid->bins] += hit ? w : 0.0;
  if (!(py > 0.0)) {
    total[GPC_MONITOR_IMPOSSIBLE] += w;
    return;
  }
  total[GPC_MONITOR_LOSS] -= w * r->logp[y];
  temperatures(k, grid, r, y, r->logp[top], w, sums->temperature);
  tilt(grid->ds, grid->d, r->rise, event, hit, w, sums->tilt + b, grid->bins,
       r->product + grid->ds * (k - 1 + b));
  /* the classes one after another, given that it is none of those before */
  double rest = 0.0;
  for (size_t c = k; c-- > 0;) {
    rest += p[n * c]; /* p_c + ... + p_K: never more than rounding from its share */
    if (c <= y && c < k - 1)
      tilt(grid->ds, grid->d, r->rise, fmin(1.0, p[n * c] / rest), c == y, w,
           sums->offset + c, k - 1, r->product + grid->ds * c);
  }
}

void gpc_monitor_add(const gpc_monitored *data, const gpc_monitor_grid *grid,
                     double *work, gpc_poll poll, void *poll_data,
                     gpc_monitor_sums *sums) {
  rooms r = carve(data->k, grid, work);
  for (size_t i = 0; i < data->n; i++) {
    if (!data->w || data->w[i] != 0.0)
      add_row(data, grid, &r, i, sums);
    if (i % ROWS_PER_LOG == ROWS_PER_LOG - 1)
      flush(grid, data->k, r.product, sums);
    if (i % 1024 == 1023)
      gpc_call_poll(poll, poll_data);
  }
  flush(grid, data->k, r.product, sums);
}
