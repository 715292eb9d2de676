/* gp_sample.c: see gp_sample.h. */
#include "gp_sample.h"
#include "temperature.h"

#include <math.h>

#define ENOUGH_SCORES 200000
#define FEWEST_ROWS 100
#define MOST_ROWS 20000

size_t gpc_sample_size(size_t n, size_t k) {
  size_t rows = ENOUGH_SCORES / k;
  rows = rows < FEWEST_ROWS ? FEWEST_ROWS : rows > MOST_ROWS ? MOST_ROWS : rows;
  return rows < n ? rows : n;
}

gpc_sample gpc_sample_get(const gpc_memory *memory, size_t rows, size_t k) {
  return (gpc_sample){.rows = rows,
                      .k = k,
                      .z = gpc_get_doubles(memory, rows * k),
                      .w = gpc_get_doubles(memory, rows),
                      .label = gpc_get_ints(memory, rows)};
}

void gpc_sample_give(const gpc_memory *memory, gpc_sample *sample) {
  gpc_give(memory, sample->z);
  gpc_give(memory, sample->w);
  gpc_give(memory, sample->label);
}

void gpc_sample_gather(const gpc_gp_data *data, int logs, gpc_sample *sample) {
  const size_t rows = sample->rows;
  for (size_t j = 0; j < data->k; j++)
    for (size_t r = 0; r < rows; r++) {
      const double z = gpc_gp_score(data, gpc_sample_row(data->n, rows, r), j);
      sample->z[r + rows * j] = logs ? log(z) : z;
    }
  for (size_t r = 0; r < rows; r++) {
    const size_t i = gpc_sample_row(data->n, rows, r);
    sample->label[r] = data->label[i];
    sample->w[r] = gpc_gp_weight(data, i);
  }
}

gpc_status gpc_sample_temperature(const gpc_sample *sample, double start, double total,
                                  int threads, gpc_poll poll, void *poll_data,
                                  double *work, double *beta, double *error) {
  double part = 0.0;
  *error = NAN;
  for (size_t r = 0; r < sample->rows; r++)
    part += sample->w[r];
  if (part == 0.0)
    return GPC_FLAT;
  const gpc_temperature_data data = {.n = sample->rows,
                                     .k = sample->k,
                                     .z = sample->z,
                                     .label = sample->label,
                                     .w = sample->w,
                                     .floor = -INFINITY,
                                     .threads = threads};
  gpc_temperature_result result;
  gpc_status status =
      gpc_temperature_fit(&data, start, 1e-3, 50, poll, poll_data, work, &result);
  *beta = result.beta;
  /* L'' is the information on beta; that on log beta is beta^2 times as much */
  const double information = result.curvature * (total / part);
  if (information > 0.0 && isfinite(1.0 / (result.beta * sqrt(information))))
    *error = 1.0 / (result.beta * sqrt(information));
  return status;
}
