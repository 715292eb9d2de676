/* gp_prepare.c: see gp_prepare.h. */
#include "gp_prepare.h"
#include "select.h"
#include "simd.h"
#include "softmax.h"

#include <float.h>
#include <math.h>

/* Of the extremes of the rows, x [n], outward being large: how far out the bulk reaches,
 * and in *most how far any row does. A row belongs to the bulk unless it is five times as
 * far from the median as 95 % of the rows; if that leaves only rows at the median itself,
 * all rows do. x is reordered. */
static double reach(size_t n, double *x, double *most) {
  double median = gpc_quantile(n, x, 0.5), usual = gpc_quantile(n, x, 0.95);
  double limit = median + 5.0 * (usual - median), bulk = -INFINITY;
  *most = -INFINITY;
  for (size_t i = 0; i < n; i++) {
    *most = fmax(*most, x[i]);
    if (x[i] <= limit)
      bulk = fmax(bulk, x[i]);
  }
  return bulk > median ? bulk : *most;
}

GPC_WIDE static void range_block(const gpc_gp_data *data, size_t first, size_t rows,
                                 double *shift, double *low, double *high) {
  const size_t n = data->n, k = data->k;
  const double floor = data->floor;
  double sum[GPC_BLOCK_MAX], lo[GPC_BLOCK_MAX], hi[GPC_BLOCK_MAX];
  for (size_t i = 0; i < rows; i++) {
    lo[i] = INFINITY;
    hi[i] = -INFINITY;
    sum[i] = 0.0;
  }
  for (size_t j = 0; j < k; j++) {
    const double *z = data->z + first + j * n;
#pragma omp simd
    for (size_t i = 0; i < rows; i++) {
      double v = z[i] < floor ? floor : z[i];
      lo[i] = v < lo[i] ? v : lo[i];
      hi[i] = v > hi[i] ? v : hi[i];
      sum[i] += v;
    }
  }
  for (size_t i = 0; i < rows; i++) {
    double centre = shift ? sum[i] / (double)k : 0.0; /* eq. (4) */
    if (shift)
      shift[first + i] = centre;
    low[first + i] = lo[i] - centre;
    high[first + i] = hi[i] - centre;
  }
}

void gpc_gp_row_range(const gpc_gp_data *data, double *shift, double *low, double *high) {
  const size_t n = data->n, step = gpc_block_rows(data->k);
  const size_t blocks = gpc_block_count(n, data->k);
  const int threads = data->threads;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (size_t b = 0; b < blocks; b++) {
    size_t first = b * step, rows = n - first < step ? n - first : step;
    range_block(data, first, rows, shift, low, high);
  }
}

int gpc_gp_is_flat(size_t n, const double *shift, const double *low, const double *high) {
  for (size_t i = 0; i < n; i++) {
    double scale = fmax(fabs(low[i]), fabs(high[i])) + (shift ? fabs(shift[i]) : 0.0);
    if (high[i] - low[i] > 64.0 * DBL_EPSILON * scale)
      return 0;
  }
  return 1;
}

void gpc_gp_find_range(size_t n, double *low, double *high, gpc_gp_range *range) {
  for (size_t i = 0; i < n; i++)
    low[i] = -low[i]; /* far out is large */
  range->bulk_low = -reach(n, low, &range->lowest);
  range->lowest = -range->lowest;
  range->bulk_high = reach(n, high, &range->highest);
}

/* Scores that differ by rounding only are flat: the slope is left alone, and the range is
 * given some width to put inducing inputs on. Scores that are floored above 0 have a map of
 * their logarithm, and their range stays above 0. */
static gpc_status check_resolution(gpc_prepared *p) {
  gpc_gp_range *range = &p->range;
  const double size = fmax(fabs(range->lowest), fabs(range->highest));
  double most = 0.0;
  for (size_t i = 0; i < p->data.n && p->shift; i++)
    most = fmax(most, fabs(p->shift[i]));
  p->farthest = fmax(size, most);
  if (p->farthest > 1e145)
    return GPC_TOO_FAR;
  if (size < 1e-145)
    p->flat = 1;
  if (!p->flat)
    return range->highest - range->lowest < 1e-9 * size ? GPC_TOO_CLOSE : GPC_OK;
  const double margin = fmax(0.5, p->shift ? 1e-12 * most : 1e-6 * size);
  const double below = p->data.floor > 0.0 ? fmin(margin, 0.5 * range->lowest) : margin;
  range->lowest -= below;
  range->highest += margin;
  range->bulk_low -= below;
  range->bulk_high += margin;
  return GPC_OK;
}

gpc_status gpc_gp_prepare(const gpc_gp_data *data, double floor, const gpc_memory *memory,
                          gpc_prepared *p) {
  const size_t n = data->n;
  p->data = *data;
  p->data.floor = floor;
  void *mark = memory->mark(memory->self);
  double *low = gpc_get_doubles(memory, n), *high = gpc_get_doubles(memory, n);
  gpc_gp_row_range(&p->data, p->shift, low, high);
  p->data.shift = p->shift;
  p->flat = gpc_gp_is_flat(n, p->shift, low, high);
  gpc_gp_find_range(n, low, high, &p->range);
  memory->release(memory->self, mark);
  return check_resolution(p);
}
