/* mono_project.c: see mono_project.h. */
#include "mono_project.h"
#include "pava.h"

#include <math.h>

void gpc_mono_extend(const gpc_mono_table *table, double slope, double *f) {
  const double *t = table->t, rise = fmax(slope, table->least);
  for (size_t g = 0; g < table->first; g++)
    f[g] = f[table->first] - rise * (t[table->first] - t[g]);
  for (size_t g = table->last + 1; g < table->nodes; g++)
    f[g] = f[table->last] + rise * (t[g] - t[table->last]);
}

void gpc_mono_project(const gpc_mono_table *table, double slope, const gpc_memory *memory,
                      double *f) {
  const size_t first = table->first, count = table->last - first + 1;
  const double *t = table->t + first, least = table->least;
  void *mark = memory->mark(memory->self);
  double *hits = gpc_get_doubles(memory, count), *weight = gpc_get_doubles(memory, count);
  int *begin = gpc_get_ints(memory, count);
  for (size_t g = 0; g < count; g++) {
    weight[g] = table->weight[first + g];
    hits[g] = weight[g] * (f[first + g] - least * (t[g] - t[0]));
  }
  const size_t blocks = gpc_pava_pool(count, hits, weight, begin); /* eq. (26d) */
  for (size_t b = 0; b < blocks; b++) {
    const size_t end = b + 1 < blocks ? (size_t)begin[b + 1] : count;
    for (size_t g = (size_t)begin[b]; g < end; g++)
      f[first + g] = hits[b] / weight[b] + least * (t[g] - t[0]);
  }
  memory->release(memory->self, mark);
  gpc_mono_extend(table, slope, f);
  for (size_t g = 1; g < table->nodes; g++) /* what rounding took */
    f[g] = f[g] > f[g - 1] ? f[g] : f[g - 1];
}
