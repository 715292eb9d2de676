/* bbq.c: see bbq.h. The groups of tied scores are kept with running sums, so that a
 * binning costs a search per bin, whatever the number of rows. */
#include "bbq.h"
#include <float.h>
#include <math.h>

/* Stirling's series beyond 10, where eight terms err by less than 1e-16; below, by
 * Gamma(x) = Gamma(x + j) / (x (x + 1) ... (x + j - 1)). */
double gpc_log_gamma(double x) {
  double product = 1.0;
  while (x < 10.0) {
    product *= x;
    x += 1.0;
  }
  double r = 1.0 / x, r2 = r * r;
  double series =
      r * (1.0 / 12 -
           r2 * (1.0 / 360 -
                 r2 * (1.0 / 1260 -
                       r2 * (1.0 / 1680 -
                             r2 * (1.0 / 1188 -
                                   r2 * (691.0 / 360360 -
                                         r2 * (1.0 / 156 - r2 * 3617.0 / 122400)))))));
  return (x - 0.5) * log(x) - x + 0.91893853320467274178 + series - log(product);
}

void gpc_bbq_range(double n, size_t *first, size_t *last) {
  /* cbrt() errs in the last bit: a whole cube root must stay whole. */
  double root = cbrt(n), whole = floor(root + 0.5);
  if (whole * whole * whole == n)
    root = whole;
  double low = floor(root / 10.0), high = ceil(10.0 * root), fifth = ceil(n / 5.0);
  high = fifth < high ? fifth : high;
  *first = low < 1.0 ? 1 : (size_t)low;
  *last = high < (double)*first ? *first : (size_t)high;
}

/* Scores, running hits and weights of the groups and the mean function on them; the
 * log-weights of the binnings; the ends of the bins of one; what sorting takes. */
size_t gpc_bbq_work(size_t n, double total, int weighted) {
  size_t first, last;
  gpc_bbq_range(total, &first, &last);
  return (4 * n + last - first + 1) * sizeof(double) + (last + last % 2) * sizeof(int) +
         gpc_ties_work(n, weighted);
}

/* The groups: score [m], and the sums over the first g + 1 of them. */
typedef struct {
  size_t m;
  const double *score, *hits, *weight;
} groups;

/* The group at which bin b of nominally `bins` ends, at or after `from`: the first whose
 * running weight w has bins w >= b total, with room for rounding, as in binning.c. */
static size_t bin_end(const groups *g, size_t from, size_t b, size_t bins) {
  const double total = g->weight[g->m - 1];
  const double wanted = (double)b * total * (1.0 - 1e-12);
  size_t low = from, high = g->m - 1;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if ((double)bins * g->weight[middle] >= wanted)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Half-way between group e and the next, but below the next. */
static double edge_after(const groups *g, size_t e) {
  if (e + 1 >= g->m)
    return 1.0;
  double middle = g->score[e] + 0.5 * (g->score[e + 1] - g->score[e]);
  return middle < g->score[e + 1] ? middle : g->score[e];
}

/* Splits the groups into nominally `bins` bins: end [bins] receives the last group of
 * each. Quantiles that fall into one group make one bin; the last bin takes all that is
 * left, be its weight lost in rounding. Returns the number of bins. */
static size_t split(const groups *g, size_t bins, int *end) {
  const double total = g->weight[g->m - 1] * (1.0 - 1e-12), scale = (double)bins;
  size_t found = 0, from = 0, b = 1;
  while (from < g->m) {
    size_t at = bin_end(g, from, b, bins);
    do
      b++;
    while (b <= bins && scale * g->weight[at] >= (double)b * total);
    if (b > bins)
      at = g->m - 1;
    end[found++] = (int)at;
    from = at + 1;
  }
  return found;
}

typedef struct {
  double lower, upper, hits, weight;
} bin;

/* Bin b of a split. */
static bin bin_of(const groups *g, const int *end, size_t b) {
  const int last = end[b];
  if (b == 0)
    return (bin){0.0, edge_after(g, (size_t)last), g->hits[last], g->weight[last]};
  const int before = end[b - 1];
  return (bin){edge_after(g, (size_t)before), edge_after(g, (size_t)last),
               g->hits[last] - g->hits[before], g->weight[last] - g->weight[before]};
}

/* alpha and beta of a bin; both positive, also where a bin is as thin as doubles allow.
 */
static void prior(const bin *b, double share, double *alpha, double *beta) {
  double centre = 0.5 * (b->lower + b->upper), rest = 1.0 - centre;
  *alpha = share * (centre < DBL_MIN ? DBL_MIN : centre);
  *beta = share * (rest < DBL_EPSILON / 2 ? DBL_EPSILON / 2 : rest);
}

static double log_likelihood(const groups *g, const int *end, size_t found) {
  const double share = 2.0 / (double)found, log_share = gpc_log_gamma(share);
  double sum = 0.0;
  for (size_t i = 0; i < found; i++) {
    const bin b = bin_of(g, end, i);
    const double rest = b.weight - b.hits;
    double alpha, beta;
    prior(&b, share, &alpha, &beta);
    /* log Beta(m + alpha, n - m + beta) - log Beta(alpha, beta); terms cancel where there
     * are no events or nothing else */
    sum += log_share - gpc_log_gamma(b.weight + share);
    if (b.hits > 0.0)
      sum += gpc_log_gamma(b.hits + alpha) - gpc_log_gamma(alpha);
    if (rest > 0.0)
      sum += gpc_log_gamma(rest + beta) - gpc_log_gamma(beta);
  }
  return sum;
}

/* Adds `share` times the values of a binning to the mean function, as changes at the
 * groups where bins begin, and marks the groups where they end. */
static void add_binning(const groups *g, const int *end, size_t found, double share,
                        double *change, signed char *edge) {
  const double prior_share = 2.0 / (double)found;
  double before = 0.0;
  for (size_t i = 0; i < found; i++) {
    const bin b = bin_of(g, end, i);
    double alpha, beta;
    prior(&b, prior_share, &alpha, &beta);
    double value = (b.hits + alpha) / (b.weight + prior_share);
    change[i ? end[i - 1] + 1 : 0] += share * (value - before);
    edge[end[i]] = 1;
    before = value;
  }
}

size_t gpc_bbq_fit(const gpc_one *one, double total, double *x, double *y,
                   double *log_evidence, void *work) {
  size_t first, last;
  gpc_bbq_range(total, &first, &last);
  const size_t n = one->n, models = last - first + 1;
  double *score = work, *hits = score + n, *weight = hits + n, *change = weight + n;
  double *log_weight = change + n;
  int *end = (int *)(log_weight + models);
  void *sort_room = end + last + last % 2;
  gpc_ties ties = gpc_ties_sort(one, sort_room);
  groups g = {gpc_ties_all(&ties, score, hits, weight), score, hits, weight};
  if (g.m == 0)
    return 0;
  for (size_t i = 1; i < g.m; i++) {
    hits[i] += hits[i - 1];
    weight[i] += weight[i - 1];
  }

  double best = -INFINITY, sum = 0.0;
  for (size_t j = 0; j < models; j++) {
    log_weight[j] = log_likelihood(&g, end, split(&g, first + j, end));
    best = log_weight[j] > best ? log_weight[j] : best;
  }
  for (size_t j = 0; j < models; j++)
    if (log_weight[j] - best > log(GPC_BBQ_NEGLIGIBLE))
      sum += exp(log_weight[j] - best);
  if (log_evidence)
    *log_evidence = best + log(sum / (double)models);

  /* the sort has been read: its room marks the edges */
  signed char *edge = sort_room;
  for (size_t i = 0; i < g.m; i++) {
    change[i] = 0.0;
    edge[i] = 0;
  }
  for (size_t j = 0; j < models; j++)
    if (log_weight[j] - best > log(GPC_BBQ_NEGLIGIBLE))
      add_binning(&g, end, split(&g, first + j, end), exp(log_weight[j] - best) / sum,
                  change, edge);
  size_t points = 0;
  double value = 0.0;
  for (size_t i = 0; i < g.m; i++) {
    value += change[i];
    if (edge[i]) {
      x[points] = edge_after(&g, i);
      /* a mean of numbers in (0, 1), summed as differences */
      y[points++] = value < 0.0 ? 0.0 : value > 1.0 ? 1.0 : value;
    }
  }
  return points;
}
