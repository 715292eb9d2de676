/* mono_functions.c: see mono_functions.h. */
#include "mono_functions.h"
#include "fastexp.h"
#include "gp_design.h"
#include "linalg.h"
#include "mono_project.h"

#include <math.h>
#include <string.h>

#define WIDEST                                                                           \
  600.0          /* exp(-600) = 1e-261: a row's sum of such numbers has an inverse   \
                      */
#define PAIRS 32 /* tabulated at a time */

gpc_mono_functions gpc_mono_functions_take(const gpc_mono_table *table, size_t count,
                                           const gpc_memory *memory) {
  return (gpc_mono_functions){
      .nodes = table->nodes,
      .count = count,
      .value = gpc_get_doubles(memory, (table->nodes + 1) * count),
  };
}

static void put(gpc_mono_functions *f, size_t which, const double *g) {
  for (size_t i = 0; i < f->nodes; i++)
    f->value[i * f->count + which] = g[i];
}

/* Exponentials, unless a function is too steep for them. */
static void finish(gpc_mono_functions *f) {
  const size_t count = f->count, nodes = f->nodes;
  double *v = f->value, *top = v + nodes * count;
  f->wide = 0;
  for (size_t q = 0; q < count; q++) {
    double lowest = INFINITY, highest = -INFINITY;
    for (size_t g = 0; g < nodes; g++) {
      lowest = fmin(lowest, v[g * count + q]);
      highest = fmax(highest, v[g * count + q]);
    }
    top[q] = highest;
    f->wide |= highest - lowest > WIDEST;
  }
  for (size_t g = 0; g < nodes && !f->wide; g++)
#pragma omp simd
    for (size_t q = 0; q < count; q++)
      v[g * count + q] = gpc_exp_nonpos(v[g * count + q] - top[q]);
  memcpy(top, top - count, count * sizeof(double));
}

/* An exponential that is off by two units in the last place may fall where its argument
 * rises: not after this. */
static void never_fall(gpc_mono_functions *f) {
  const size_t count = f->count;
  for (size_t g = 1; g <= f->nodes; g++) {
    const double *before = f->value + (g - 1) * count;
    double *here = f->value + g * count;
#pragma omp simd
    for (size_t q = 0; q < count; q++)
      here[q] = here[q] > before[q] ? here[q] : before[q];
  }
}

void gpc_mono_functions_from(const gpc_mono_table *table, const double *g,
                             gpc_mono_functions *f) {
  for (size_t q = 0; q < f->count; q++)
    put(f, q, g + q * table->nodes);
  finish(f);
}

void gpc_mono_functions_set(const gpc_mono_table *table, size_t pairs, const double *x,
                            const double *tilt, const gpc_memory *memory,
                            gpc_mono_functions *f) {
  const size_t nodes = table->nodes, m = table->m;
  void *mark = memory->mark(memory->self);
  double *dev = gpc_get_doubles(memory, nodes * PAIRS),
         *g = gpc_get_doubles(memory, nodes);
  for (size_t begin = 0; begin < pairs; begin += PAIRS) {
    const size_t some = pairs - begin < PAIRS ? pairs - begin : PAIRS;
    gpc_gemm(0, 0, nodes, some, m, 1.0, table->b, x + begin * m, 0.0, dev);
    for (size_t d = 0; d < 2 * some; d++) {
      const double sign = d % 2 ? -1.0 : 1.0, *own = dev + d / 2 * nodes;
      const double turn = tilt ? sign * tilt[begin + d / 2] : 0.0;
      for (size_t i = 0; i < nodes; i++) /* eq. (26), (26a) */
        g[i] = table->phi[i] + sign * own[i] + turn * table->t[i];
      gpc_mono_project(table, table->slope + turn, memory, g);
      put(f, 2 * begin + d, g);
    }
  }
  memory->release(memory->self, mark);
  finish(f);
  never_fall(f);
}

/* turn [m x m] := eigenvectors of b'W b, by descending eigenvalue. */
static gpc_status principal(const gpc_mono_table *table, const gpc_memory *memory,
                            double *turn) {
  const size_t m = table->m, nodes = table->nodes;
  double *weighted = gpc_get_doubles(memory, nodes * m),
         *value = gpc_get_doubles(memory, m), *work = gpc_get_doubles(memory, 3 * m);
  for (size_t q = 0; q < m; q++)
    for (size_t g = 0; g < nodes; g++)
      weighted[g + nodes * q] = table->weight[g] * table->b[g + nodes * q];
  gpc_gemm(1, 0, m, m, nodes, 1.0, weighted, table->b, 0.0, turn);
  for (size_t q = 0; q < m; q++) /* symmetric to the last bit */
    for (size_t r = 0; r < q; r++)
      turn[r + m * q] = turn[q + m * r];
  return gpc_eigen(m, turn, value, work);
}

gpc_status gpc_mono_design(const gpc_mono_table *table, size_t pairs, size_t skip,
                           const gpc_memory *memory, double *x) {
  const size_t m = table->m;
  void *mark = memory->mark(memory->self);
  double *turn = gpc_get_doubles(memory, m * m),
         *point = gpc_get_doubles(memory, m * pairs),
         *work = gpc_get_doubles(memory, gpc_gp_design_work(pairs));
  const gpc_status status = principal(table, memory, turn);
  gpc_gp_design_part(pairs, skip, m, work, point);
  gpc_gemm(0, 0, m, pairs, m, 1.0, turn, point, 0.0, x);
  memory->release(memory->self, mark);
  return status;
}
