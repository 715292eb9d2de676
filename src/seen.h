/* seen.h: what a picture of the latent map needs to know of the calibration rows, small
 * enough to be kept: where the scores of the true and of the other classes lie, and the
 * temperature that suits the rows. */
#ifndef GPC_SEEN_H
#define GPC_SEEN_H

#include "gp_model.h"

/* Counts, by weight, of the scores in `bins` bins of equal width from low to high; a bin
 * holds its lower edge, the last one its upper edge as well. Entry 0 counts what lies
 * below, entry bins + 1 what lies above. With `logs`, it is the logarithm of the scores
 * that is counted. Scores of the true class are taken from all rows, into truth
 * [bins + 2]; those of the other classes from `rows` of them, evenly spread
 * (gpc_seen_row), into other [bins + 2]. */
void gpc_seen_count(const gpc_gp_data *data, int logs, double low, double high,
                    size_t bins, size_t rows, double *truth, double *other);

/* Number i of `rows` rows spread evenly over n. */
static inline size_t gpc_seen_row(size_t n, size_t rows, size_t i) {
  return (size_t)((double)i * ((double)n / (double)rows));
}

/* The temperature of `rows` such rows, by way of a copy: beta = 1/T, from the guess
 * `start` (0: none). work [gpc_seen_work(rows, k)], labels [rows]. Status as of
 * gpc_temperature_fit(), GPC_FLAT also when the rows have no weight. */
size_t gpc_seen_work(size_t rows, size_t k);
gpc_status gpc_seen_temperature(const gpc_gp_data *data, int logs, size_t rows,
                                double start, gpc_poll poll, void *poll_data,
                                double *work, int *labels, double *beta);

#endif
