/* seen.c: see seen.h. */
#include "seen.h"

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

void gpc_seen_count(const gpc_gp_data *data, int logs, size_t rows, double low,
                    double high, size_t bins, double *truth, double *other) {
  const double per_unit = high > low ? (double)bins / (high - low) : 0.0;
  memset(truth, 0, (bins + 2) * sizeof(double));
  memset(other, 0, (bins + 2) * sizeof(double));
  for (size_t i = 0; i < data->n; i++) {
    const double z = gpc_gp_score(data, i, (size_t)data->label[i] - 1);
    truth[entry_of(logs ? log(z) : z, low, high, per_unit, bins)] +=
        gpc_gp_weight(data, i);
  }
  for (size_t j = 0; j < data->k; j++)
    for (size_t r = 0; r < rows; r++) {
      const size_t i = gpc_sample_row(data->n, rows, r);
      if ((size_t)data->label[i] == j + 1)
        continue;
      const double z = gpc_gp_score(data, i, j);
      other[entry_of(logs ? log(z) : z, low, high, per_unit, bins)] +=
          gpc_gp_weight(data, i);
    }
}
