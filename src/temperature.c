/* temperature.c: see temperature.h. */
#include "temperature.h"
#include "softmax.h"

#include <math.h>

/* What one pass returns: L, L', L'', L''' and the sum of w times the largest probability.
 */
typedef struct {
  double loss, d1, d2, d3, conf;
} pass_sums;

typedef struct {
  const gpc_temperature_data *data;
  double *top, *mean, *below; /* [n] row maxima, means, next lower scores */
  double *part;               /* [5 x blocks] */
  double total;               /* sum of the weights of the rows in use */
  double size;                /* how many rows the weights stand for */
  double ceiling;   /* mean confidence at beta = Inf: less than 1 where maxima are tied */
  int separated;    /* no row has a score above that of its class: L has no minimum */
  double limit;     /* mean confidence at which to stop then */
  double low, high; /* limits of log beta */
  size_t step, stride; /* rows of a block; every stride-th block is used */
} problem;

#define PARTS 5

static double weight(const gpc_temperature_data *data, size_t i) {
  return data->w ? data->w[i] : 1.0;
}

static double true_score(const gpc_temperature_data *data, size_t i) {
  double z = data->z[i + (size_t)(data->label[i] - 1) * data->n];
  return z < data->floor ? data->floor : z;
}

/* Rows of a block while only a part of the data is used. */
#define SMALL_STEP 64

static size_t count_blocks(size_t n, size_t step) { return n / step + (n % step != 0); }

/* Rows of a block of all data; few rows are cut smaller, for threads to share them. */
static size_t full_step(const gpc_temperature_data *data) {
  const size_t rows = gpc_block_rows(data->k);
  return data->n < 4 * rows && data->k > 16 ? SMALL_STEP : rows;
}

size_t gpc_temperature_work(size_t n, size_t k) {
  (void)k; /* no block has fewer than SMALL_STEP rows */
  return 3 * n + PARTS * count_blocks(n, SMALL_STEP);
}

static void pass_block(const problem *p, double beta, size_t first, size_t rows,
                       double *part) {
  const gpc_temperature_data *data = p->data;
  double s0[GPC_BLOCK_MAX], s1[GPC_BLOCK_MAX], s2[GPC_BLOCK_MAX], s3[GPC_BLOCK_MAX];
  const double *top = p->top + first;
  /* eq. (27): the sums of which the derivatives of the loss are made */
  gpc_softmax_moments(rows, data->n, data->k, data->z + first, data->floor, beta, top, s0,
                      s1, s2, s3);
  pass_sums sums = {0};
  for (size_t i = 0; i < rows; i++) {
    double w = weight(data, first + i), behind = top[i] - true_score(data, first + i);
    double e1 = s1[i] / s0[i], e2 = s2[i] / s0[i], e3 = s3[i] / s0[i];
    sums.loss += w * (log(s0[i]) + beta * behind);
    sums.d1 += w * (e1 + behind);
    sums.d2 += w * (e2 - e1 * e1);
    sums.d3 += w * (e3 - 3.0 * e1 * e2 + 2.0 * e1 * e1 * e1);
    sums.conf += w / s0[i];
  }
  part[0] = sums.loss;
  part[1] = sums.d1;
  part[2] = sums.d2;
  part[3] = sums.d3;
  part[4] = sums.conf;
}

static pass_sums pass(const problem *p, double beta) {
  const gpc_temperature_data *data = p->data;
  const size_t step = p->step, blocks = count_blocks(data->n, step);
  const int threads = data->threads;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (size_t b = 0; b < blocks; b += p->stride) {
    size_t first = b * step, rows = data->n - first < step ? data->n - first : step;
    pass_block(p, beta, first, rows, p->part + PARTS * b);
  }
  pass_sums sums = {0};
  for (size_t b = 0; b < blocks; b += p->stride) {
    const double *part = p->part + PARTS * b;
    sums.loss += part[0];
    sums.d1 += part[1];
    sums.d2 += part[2];
    sums.d3 += part[3];
    sums.conf += part[4];
  }
  return sums;
}

/* Sum of the weights of the rows in use, and the confidence at which to stop. */
static void set_stride(problem *p, size_t step, size_t stride) {
  const gpc_temperature_data *data = p->data;
  p->step = step;
  p->stride = stride;
  p->total = p->size = 0.0;
  for (size_t first = 0; first < data->n; first += stride * step)
    for (size_t i = first; i < data->n && i < first + step; i++) {
      p->total += weight(data, i);
      p->size += weight(data, i) > 0.0;
    }
  /* weights need not be counts: N is at least the number of rows */
  double rows = fmax(p->total, p->size);
  p->limit = p->ceiling * (rows + 1.0) / (rows + 2.0);
}

/* The step of Halley's method for the root of L' as a function of t = log beta, or
 * Newton's where Halley's is of no use; *error estimates what is left after it. */
static double halley_step(const pass_sums *s, double beta, double *error) {
  double f = s->d1, f1 = beta * s->d2, f2 = beta * beta * s->d3 + f1;
  double newton = -f / f1;
  double halley = -2.0 * f * f1 / (2.0 * f1 * f1 - f * f2);
  double step =
      halley * newton > 0.0 && fabs(halley) < 4.0 * fabs(newton) ? halley : newton;
  /* what is left is [(f2 / 2 f1)^2 - f3 / (6 f1)] step^3; the first part shows in how far
   * the two steps are apart, the second is not known but of order one on the log scale */
  double gap = fabs(halley - newton), size = fabs(step);
  *error = step == 0.0 ? 0.0 : gap < size ? gap * gap / size + size * size * size : size;
  return step;
}

/* Keep the state in `result` in step with a move of log beta by `step` that is not
 * evaluated. */
static void extrapolate(const pass_sums *s, double total, double beta, double step,
                        gpc_temperature_result *result) {
  double d = beta * expm1(step);
  result->beta = beta + d;
  double d3 = isfinite(s->d3) ? s->d3 : 0.0; /* cubes of huge scores overflow first */
  result->loss = s->loss + d * (s->d1 + d * (s->d2 / 2.0 + d * d3 / 6.0));
  result->curvature = s->d2 + d * d3;
  result->confidence = s->conf / total;
}

#define LONGEST_STEP 2.0

/* Root of L' in t = log beta, bracketed by [lo, hi] as signs become known. For separated
 * data, where there is none, t is too large where the mean confidence is above its limit.
 */
static gpc_status solve(problem *p, double start, double tol, int max_passes,
                        gpc_poll poll, void *poll_data, gpc_temperature_result *result) {
  double t = fmin(fmax(log(start), p->low), p->high);
  double lo = p->low, hi = p->high, over_at_hi = 0.0, over_at_lo = 0.0;
  int lo_known = 0, hi_over = 0;
  for (int pass_no = 1; pass_no <= max_passes; pass_no++) {
    gpc_call_poll(poll, poll_data);
    double beta = exp(t), error;
    pass_sums s = pass(p, beta);
    if (!isfinite(s.loss) || !isfinite(s.d1) || !isfinite(s.d2))
      return GPC_NOT_FINITE;
    if (s.d1 != 0.0 && !(s.d2 > 0.0) && fabs(s.d1) < 1e-150 * p->total)
      return GPC_NOT_FINITE; /* squares of tiny scores vanish */
    result->passes = pass_no;
    extrapolate(&s, p->total, beta, 0.0, result);
    /* how far the doubt, 1 - confidence, is below its limit, on a log scale */
    double over =
        !p->separated
            ? -1.0
            : log((p->ceiling - p->limit) / fmax(p->ceiling - s.conf / p->total, 1e-300));
    if (over > 0.0) {
      hi = t;
      hi_over = 1;
      over_at_hi = over;
    } else if (s.d1 < 0.0) {
      lo = t;
      lo_known = 1;
      over_at_lo = over;
    } else {
      hi = t;
      hi_over = 0;
    }
    if (over <= 0.0) {
      double step = halley_step(&s, beta, &error);
      int inside = t + step > lo && t + step < hi;
      if (s.d1 == 0.0 || (inside && fabs(step) < 0.01 && error <= tol)) {
        extrapolate(&s, p->total, beta, s.d1 == 0.0 ? 0.0 : step, result);
        return GPC_OK;
      }
      step = fmin(fmax(step, -LONGEST_STEP), LONGEST_STEP);
      if (isnan(step))
        step = s.d1 < 0.0 ? LONGEST_STEP : -LONGEST_STEP;
      double next = t + step;
      if (lo_known && hi_over) /* both ends known: aim at the limit from below */
        next = fmin(
            next, lo + (hi - lo) *
                           fmin(fmax(-over_at_lo / (over_at_hi - over_at_lo), 0.1), 0.9));
      else if (next <= lo || next >= hi)
        next = 0.5 * (lo + hi);
      t = next;
    } else {
      t = lo_known
              ? lo + (hi - lo) *
                         fmin(fmax(-over_at_lo / (over_at_hi - over_at_lo), 0.1), 0.9)
              : fmax(hi - LONGEST_STEP, lo);
    }
    if (hi_over && lo_known && hi - lo < 1e-7)
      return GPC_AT_UPPER;
    if (t >= p->high - 1e-9)
      return GPC_AT_UPPER;
    if (t <= p->low + 1e-9)
      return GPC_AT_LOWER;
    if (hi - lo < 1e-14 * fmax(1.0, fabs(t))) /* rounding hides the root */
      return GPC_OK;
  }
  return GPC_NOT_CONVERGED;
}

static void prepare(problem *p, const gpc_temperature_data *data, double *work) {
  p->data = data;
  p->top = work;
  p->mean = work + data->n;
  p->below = work + 2 * data->n;
  p->part = work + 3 * data->n;
  p->separated = 0;
  p->ceiling = 1.0;
  gpc_row_max_mean(data->n, data->k, data->z, data->floor, data->threads, p->top,
                   p->mean);
  set_stride(p, full_step(data), 1);
}

/* Weighted mean over the rows of 1 / (number of scores that share the maximum). */
static double tied_confidence(const problem *p) {
  const gpc_temperature_data *data = p->data;
  double sum = 0.0;
  for (size_t i = 0; i < data->n; i++) {
    size_t ties = 0;
    for (size_t j = 0; j < data->k; j++)
      ties += fmax(data->z[i + j * data->n], data->floor) == p->top[i];
    sum += weight(data, i) / (double)ties;
  }
  return sum / p->total;
}

/* Large data: solve on about a sixteenth of the blocks first. */
#define SMALL_SIZE 131072

gpc_status gpc_temperature_fit(const gpc_temperature_data *data, double start, double tol,
                               int max_passes, gpc_poll poll, void *poll_data,
                               double *work, gpc_temperature_result *result) {
  problem p;
  prepare(&p, data, work);
  gpc_row_below(data->n, data->k, data->z, data->floor, data->threads, p.top, p.below);
  /* gaps between the highest and the next score of a row: the scale on which beta acts,
   * whatever else a row may hold (masks of -1e9, say) */
  double slope_at_zero = 0.0, log_gap = 0.0, used = 0.0, widest = 0.0,
         narrowest = INFINITY;
  p.separated = 1;
  for (size_t i = 0; i < data->n; i++) {
    double w = weight(data, i), gap = p.top[i] - p.below[i];
    if (w <= 0.0)
      continue;
    slope_at_zero += w * (p.mean[i] - true_score(data, i));
    p.separated = p.separated && true_score(data, i) == p.top[i];
    widest = fmax(widest, p.top[i] - p.mean[i]);
    if (isfinite(gap)) {
      log_gap += w * log(gap);
      used += w;
      narrowest = fmin(narrowest, gap);
      /* top - mean is at least this, which rounding of the mean may hide */
      widest = fmax(widest, gap / (double)data->k);
    }
  }
  gpc_temperature_result none = {1.0, p.total * log((double)data->k), 0.0,
                                 1.0 / (double)data->k, 0};
  *result = none;
  if (used == 0.0) /* all scores of every row are equal */
    return GPC_FLAT;
  if (!isfinite(slope_at_zero) || !isfinite(widest) || !isfinite(log_gap))
    return GPC_NOT_FINITE; /* sums or differences of huge scores */
  p.low = fmin(fmax(log(1e-6) - log(widest), -690.0), 689.0);
  p.high =
      fmin(log(750.0) - log(narrowest), 690.0); /* all other probabilities are 0 there */
  if (slope_at_zero >= 0.0) {                   /* L is convex: it only grows with beta */
    result->beta = exp(p.low);
    return GPC_AT_LOWER;
  }
  if (p.separated)
    p.ceiling = tied_confidence(&p);
  set_stride(&p, full_step(data), 1);
  if (start <= 0.0)
    start = exp(log(1.5) - log_gap / used);
  size_t blocks = count_blocks(data->n, SMALL_STEP);
  if (blocks >= 8 && data->n * data->k > SMALL_SIZE) {
    gpc_temperature_result part = none;
    size_t stride = blocks / 4 < 16 ? blocks / 4 : 16;
    set_stride(&p, SMALL_STEP, stride);
    gpc_status status = solve(&p, start, 1e-4, 20, poll, poll_data, &part);
    if (status == GPC_OK)
      start = part.beta;
    set_stride(&p, full_step(data), 1);
  }
  return solve(&p, start, tol, max_passes, poll, poll_data, result);
}

double gpc_temperature_loss(const gpc_temperature_data *data, double beta, double *work) {
  problem p;
  prepare(&p, data, work);
  return pass(&p, beta).loss;
}
