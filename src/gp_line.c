/* gp_line.c: see gp_line.h. */
#include "gp_line.h"

#include <math.h>

static double to_line(const gpc_line *line, double z) {
  return line->bent ? asinh((z - line->centre) / line->half) : z;
}

int gpc_line_make(double lowest, double highest, double bulk_low, double bulk_high,
                  double step, size_t most, gpc_line *line) {
  line->bent = 0;
  line->centre = 0.5 * (bulk_low + bulk_high);
  line->half = 0.5 * (bulk_high - bulk_low);
  if (!(line->half > 0.0))
    line->half = step;
  line->step = step;
  if ((highest - lowest) / step + GPC_STENCIL + 2 * GPC_PAD + 1 > (double)most) {
    /* dz/dx = half cosh(x) is at most sqrt(2) half in the bulk, where |x| <= asinh(1) */
    line->bent = 1;
    line->step = step / (sqrt(2.0) * line->half);
  }
  double first = to_line(line, lowest), last = to_line(line, highest);
  double cells = ceil((last - first) / line->step) + 1.0;
  if (!(cells + GPC_STENCIL + 2 * GPC_PAD <= (double)most))
    return 0;
  line->g = (size_t)cells + GPC_STENCIL + 2 * GPC_PAD;
  line->origin = first - (GPC_LEFT + GPC_PAD + 0.5) * line->step;
  return 1;
}

gpc_line gpc_line_refine(const gpc_line *line, size_t times) {
  gpc_line fine = *line;
  fine.step = line->step / (double)times;
  fine.g = (line->g - 1) * times + 1;
  return fine;
}

double gpc_line_node(const gpc_line *line, size_t j) {
  double x = line->origin + (double)j * line->step;
  return line->bent ? line->centre + line->half * sinh(x) : x;
}

void gpc_line_coordinates(const gpc_line *line, size_t count, const double *z,
                          double *tau) {
  const double inv = 1.0 / line->step, origin = line->origin;
  if (line->bent) {
    for (size_t i = 0; i < count; i++)
      tau[i] = (to_line(line, z[i]) - origin) * inv;
    return;
  }
#pragma omp simd
  for (size_t i = 0; i < count; i++)
    tau[i] = (z[i] - origin) * inv;
}

/* 1 / (2 q prod_{i != q} (q^2 - i^2)) for the half-integers q, i = 1/2, ..., 11/2. */
#define C1 (-1.0 / 86400.0)
#define C2 (1.0 / 120960.0)
#define C3 (-1.0 / 241920.0)
#define C4 (1.0 / 725760.0)
#define C5 (-1.0 / 3628800.0)
#define C6 (1.0 / 39916800.0)

/* The 12 nodes lie at v = +-1/2, ..., +-11/2 around the middle of the cell, so that with
 * t_q = v^2 - q^2 the weight of node +-q is C_q prod_{i != q} t_i (v +- q), up to sign.
 */
void gpc_line_weights(size_t count, const double *tau, size_t stride, int *first,
                      double *wts) {
  const double shift = 0x1.8p52;
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    double cell =
        (tau[i] - 0.5 + shift) - shift; /* a whole number within 1/2 of tau - 1/2 */
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
    first[i] = (int)((tau[i] - 0.5 + shift) - shift) - GPC_LEFT;
}
