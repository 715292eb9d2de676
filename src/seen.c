/* seen.c: see seen.h. */
#include "seen.h"
#include "temperature.h"

#include <math.h>
#include <string.h>

/* The entry for score z. Scores may be infinite, never NaN. */
static size_t entry_of(double z, double low, double high, double per_unit, size_t bins) {
  if (z < low)
    return 0;
  if (z > high)
    return bins + 1;
  size_t bin = (size_t)((z - low) * per_unit);
  return 1 + (bin < bins ? bin : bins - 1);
}

static double score_at(const gpc_gp_data *data, int logs, size_t i, size_t j) {
  double z = gpc_gp_score(data, i, j);
  return logs ? log(z) : z;
}

void gpc_seen_gather(const gpc_gp_data *data, int logs, gpc_seen_sample *sample) {
  const size_t rows = sample->rows;
  for (size_t j = 0; j < data->k; j++)
    for (size_t r = 0; r < rows; r++)
      sample->z[r + rows * j] = score_at(data, logs, gpc_seen_row(data->n, rows, r), j);
  for (size_t r = 0; r < rows; r++) {
    size_t i = gpc_seen_row(data->n, rows, r);
    sample->label[r] = data->label[i];
    sample->w[r] = gpc_gp_weight(data, i);
  }
}

void gpc_seen_count(const gpc_gp_data *data, int logs, const gpc_seen_sample *sample,
                    double low, double high, size_t bins, double *truth, double *other) {
  const double per_unit = high > low ? (double)bins / (high - low) : 0.0;
  const size_t rows = sample->rows;
  memset(truth, 0, (bins + 2) * sizeof(double));
  memset(other, 0, (bins + 2) * sizeof(double));
  for (size_t i = 0; i < data->n; i++) {
    double z = score_at(data, logs, i, (size_t)data->label[i] - 1);
    truth[entry_of(z, low, high, per_unit, bins)] += gpc_gp_weight(data, i);
  }
  for (size_t j = 0; j < sample->k; j++)
    for (size_t r = 0; r < rows; r++)
      if ((size_t)sample->label[r] != j + 1)
        other[entry_of(sample->z[r + rows * j], low, high, per_unit, bins)] +=
            sample->w[r];
}

gpc_status gpc_seen_temperature(const gpc_seen_sample *sample, double start, int threads,
                                gpc_poll poll, void *poll_data, double *work,
                                double *beta) {
  double total = 0.0;
  for (size_t r = 0; r < sample->rows; r++)
    total += sample->w[r];
  if (total == 0.0)
    return GPC_FLAT;
  gpc_temperature_data data = {sample->rows, sample->k, sample->z, sample->label,
                               sample->w,    -INFINITY, threads};
  gpc_temperature_result result;
  /* an error of 1e-3 in log T cannot be seen in a picture */
  gpc_status status =
      gpc_temperature_fit(&data, start, 1e-3, 50, poll, poll_data, work, &result);
  *beta = result.beta;
  return status;
}
