/* gp_interval.c: see gp_interval.h. */
#include "gp_interval.h"
#include "select.h"

#define MOST_ROWS 32
#define MOST_DRAWS 4000000 /* held at a time, if a single row has no more: 32 MB */

void gpc_gp_interval(const gpc_gp_data *data, const gpc_gp_lookup *lookup,
                     const gpc_gp_random *random, double lower, double upper,
                     const gpc_memory *memory, gpc_poll poll, void *poll_data,
                     double *out) {
  const size_t n = data->n, k = data->k, draws = 2 * random->pairs;
  size_t rows = MOST_DRAWS / (k * draws);
  rows = rows < 1 ? 1 : rows > MOST_ROWS ? MOST_ROWS : rows;
  double *all = gpc_get_doubles(memory, rows * k * draws),
         *one = gpc_get_doubles(memory, draws);
  gpc_gp_draws_work *work =
      gpc_gp_draws_take(lookup, k, random->pairs, data->threads, memory);
  for (size_t first = 0; first < n; first += rows) {
    const size_t count = n - first < rows ? n - first : rows;
    gpc_call_poll(poll, poll_data);
    gpc_gp_draws(data, lookup, first, count, random, 0.0, work, NULL, all);
    for (size_t j = 0; j < k; j++)
      for (size_t i = 0; i < count; i++) {
        for (size_t d = 0; d < draws; d++)
          one[d] = all[i + count * (j + k * d)];
        double *to = out + first + i + n * j;
        to[0] = gpc_quantile(draws, one, lower);
        to[n * k] = gpc_quantile(draws, one, upper);
      }
  }
}
