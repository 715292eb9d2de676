/* gp_line.c: see gp_line.h. */
#include "gp_line.h"
#include "simd.h"

#include <float.h>
#include <math.h>

static double bend(const gpc_line *line, double u) {
  double part = fabs(u) < 1e8 ? u / sqrt(1.0 + u * u) : copysign(1.0, u);
  return asinh(u) + line->dense * part;
}

/* u with bend(u) = x. For u > 0 the map is concave, so that Newton's steps from a point
 * on the left never overshoot. */
static double unbend(const gpc_line *line, double x) {
  const double far = fabs(x), dense = line->dense;
  double u = fmax(far / (1.0 + dense), far > dense ? sinh(far - dense) : 0.0);
  for (int i = 0; i < 100 && u < 1e8; i++) {
    double r = 1.0 / sqrt(1.0 + u * u), move = far - bend(line, u);
    move /= r * (1.0 + dense * r * r);
    u += move;
    if (!(move > 1e-15 * u))
      break;
  }
  return copysign(u, x);
}

static double to_line(const gpc_line *line, double z) {
  return line->bent ? bend(line, (z - line->centre) / line->half) : z;
}

/* Set the number of nodes and their origin for the line's step; 0 if more than `most`. */
static int span(double lowest, double highest, size_t most, gpc_line *line) {
  double first = to_line(line, lowest), last = to_line(line, highest);
  double nodes = ceil((last - first) / line->step) + 1.0 + GPC_STENCIL + 2 * GPC_PAD;
  if (!(nodes <= (double)most))
    return 0;
  line->g = (size_t)nodes;
  line->origin = first - (GPC_LEFT + GPC_PAD + 0.5) * line->step;
  return 1;
}

/* Steps around the bulk that are as dense as the bulk: with seven steps to a
 * lengthscale, as far as features reach. */
#define AROUND 30.0
#define EDGE (2.0 / 3.0) /* u at their end */

int gpc_line_make(double lowest, double highest, double bulk_low, double bulk_high,
                  double step, double growth, size_t most, gpc_line *line) {
  gpc_line even = {.step = step}, bent = even;
  bent.bent = 1;
  bent.centre = 0.5 * (bulk_low + bulk_high);
  bent.half = (0.5 * (bulk_high - bulk_low) + AROUND * step) / EDGE;
  /* dz = step where u = EDGE, and dz / z = growth far out (or less) */
  const double r = 1.0 / sqrt(1.0 + EDGE * EDGE), cells = bent.half / step;
  bent.dense = fmax((growth * cells / r - 1.0) / (r * r), 0.0);
  bent.step = r * (1.0 + bent.dense * r * r) / cells;
  int has_even = span(lowest, highest, most, &even);
  if (has_even && even.g < 300) {
    *line = even;
    return 1;
  }
  int has_bent = span(lowest, highest, most, &bent);
  if (!has_even && !has_bent)
    return 0;
  *line = has_bent && (!has_even || 10 * bent.g < 7 * even.g) ? bent : even;
  return 1;
}

gpc_line gpc_line_refine(const gpc_line *line, size_t cells) {
  gpc_line fine = *line;
  fine.step = line->step / (double)cells;
  fine.g = (line->g - 1) * cells + 1;
  return fine;
}

gpc_line gpc_line_trim(const gpc_line *line, double lowest, double highest) {
  gpc_line cut = *line;
  const size_t before = GPC_LEFT + GPC_PAD, after = GPC_STENCIL - GPC_LEFT + GPC_PAD;
  const double low = floor((to_line(line, lowest) - line->origin) / line->step);
  const double high = floor((to_line(line, highest) - line->origin) / line->step);
  /* one node more at both ends, for rounding */
  if (low > (double)before + 1.0)
    cut.skip = (size_t)low - before - 1;
  const size_t end = high > 0.0 ? (size_t)high + after + 2 : line->g;
  cut.g = (end < line->g ? end : line->g) - cut.skip;
  cut.origin += (double)cut.skip * cut.step;
  return cut;
}

double gpc_line_node(const gpc_line *line, size_t j) {
  double x = line->origin + (double)j * line->step;
  return line->bent ? line->centre + line->half * unbend(line, x) : x;
}

void gpc_line_coordinates(const gpc_line *line, size_t count, const double *z,
                          double *tau) {
  const double inv = 1.0 / line->step, origin = line->origin;
  /* a hair above: half-way between two cells it would be rounded to the even one */
  const double low = GPC_LEFT * (1.0 + DBL_EPSILON),
               high = (double)line->g - (GPC_STENCIL - GPC_LEFT);
  if (line->bent)
    for (size_t i = 0; i < count; i++)
      tau[i] = to_line(line, z[i]);
  const double *x = line->bent ? tau : z;
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    double t = (x[i] - origin) * inv;
    t = t > low ? t : low;
    tau[i] = t < high ? t : high;
  }
}

/* 1 / (2 q prod_{i != q} (q^2 - i^2)) for the half-integers q, i = 1/2, ..., 11/2. */
#define C1 (-1.0 / 86400.0)
#define C2 (1.0 / 120960.0)
#define C3 (-1.0 / 241920.0)
#define C4 (1.0 / 725760.0)
#define C5 (-1.0 / 3628800.0)
#define C6 (1.0 / 39916800.0)

/* The 12 nodes lie at v = +-1/2, ..., +-11/2 around the middle of the cell, so that with
 * t_q = v^2 - q^2 the weight of node +-q is C_q prod_{i != q} t_i (v +- q), up to sign:
 * eq. (23). */
GPC_WIDE void gpc_line_weights(size_t count, const double *tau, size_t stride, int *first,
                               double *wts) {
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    double cell = gpc_line_cell(tau[i]);
    double v = tau[i] - cell - 0.5, y = v * v;
    double t1 = y - 0.25, t2 = y - 2.25, t3 = y - 6.25, t4 = y - 12.25, t5 = y - 20.25,
           t6 = y - 30.25;
    double t12 = t1 * t2, t34 = t3 * t4, t56 = t5 * t6;
    double t3456 = t34 * t56, t1256 = t12 * t56, t1234 = t12 * t34;
    double e1 = t3456 * t2 * C1, e2 = t3456 * t1 * C2, e3 = t1256 * t4 * C3;
    double e4 = t1256 * t3 * C4, e5 = t1234 * t6 * C5, e6 = t1234 * t5 * C6;
    double *at = wts + i;
    at[0 * stride] = e6 * (5.5 - v);
    at[1 * stride] = e5 * (4.5 - v);
    at[2 * stride] = e4 * (3.5 - v);
    at[3 * stride] = e3 * (2.5 - v);
    at[4 * stride] = e2 * (1.5 - v);
    at[5 * stride] = e1 * (0.5 - v);
    at[6 * stride] = e1 * (0.5 + v);
    at[7 * stride] = e2 * (1.5 + v);
    at[8 * stride] = e3 * (2.5 + v);
    at[9 * stride] = e4 * (3.5 + v);
    at[10 * stride] = e5 * (4.5 + v);
    at[11 * stride] = e6 * (5.5 + v);
  }
  for (size_t i = 0; i < count; i++)
    first[i] = (int)gpc_line_cell(tau[i]) - GPC_LEFT;
}
