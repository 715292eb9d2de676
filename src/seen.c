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

void gpc_seen_count(const gpc_gp_data *data, int logs, double low, double high,
                    size_t bins, size_t rows, double *truth, double *other) {
  const double per_unit = high > low ? (double)bins / (high - low) : 0.0;
  memset(truth, 0, (bins + 2) * sizeof(double));
  memset(other, 0, (bins + 2) * sizeof(double));
  for (size_t i = 0; i < data->n; i++) {
    double z = score_at(data, logs, i, (size_t)data->label[i] - 1);
    truth[entry_of(z, low, high, per_unit, bins)] += gpc_gp_weight(data, i);
  }
  for (size_t j = 0; j < data->k; j++)
    for (size_t r = 0; r < rows; r++) {
      size_t i = gpc_seen_row(data->n, rows, r);
      if ((size_t)data->label[i] == j + 1)
        continue;
      double z = score_at(data, logs, i, j);
      other[entry_of(z, low, high, per_unit, bins)] += gpc_gp_weight(data, i);
    }
}

size_t gpc_seen_work(size_t rows, size_t k) {
  return rows * k + rows + gpc_temperature_work(rows, k);
}

gpc_status gpc_seen_temperature(const gpc_gp_data *data, int logs, size_t rows,
                                double start, gpc_poll poll, void *poll_data,
                                double *work, int *labels, double *beta) {
  double *z = work, *w = z + rows * data->k, total = 0.0;
  for (size_t j = 0; j < data->k; j++)
    for (size_t r = 0; r < rows; r++)
      z[r + rows * j] = score_at(data, logs, gpc_seen_row(data->n, rows, r), j);
  for (size_t r = 0; r < rows; r++) {
    size_t i = gpc_seen_row(data->n, rows, r);
    labels[r] = data->label[i];
    total += w[r] = gpc_gp_weight(data, i);
  }
  if (total == 0.0)
    return GPC_FLAT;
  gpc_temperature_data sample = {rows, data->k, z, labels, w, -INFINITY, data->threads};
  gpc_temperature_result result;
  /* an error of 1e-3 in log T cannot be seen in a picture */
  gpc_status status =
      gpc_temperature_fit(&sample, start, 1e-3, 50, poll, poll_data, w + rows, &result);
  *beta = result.beta;
  return status;
}
