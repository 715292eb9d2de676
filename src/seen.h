/* seen.h: what a picture of the latent map needs to know of the calibration rows, small
 * enough to be kept: where the scores of the true and of the other classes lie, and the
 * temperature that suits the rows. */
#ifndef GPC_SEEN_H
#define GPC_SEEN_H

#include "gp_model.h"

/* Rows copied out of the data, floored and shifted; logarithms of the scores with
 * `logs`. The caller provides the arrays. */
typedef struct {
  size_t rows, k;
  double *z;  /* [rows x k] */
  double *w;  /* [rows] */
  int *label; /* [rows] */
} gpc_seen_sample;

/* Number i of `rows` rows spread evenly over n. */
static inline size_t gpc_seen_row(size_t n, size_t rows, size_t i) {
  return (size_t)((double)i * ((double)n / (double)rows));
}

/* Fills the sample with sample->rows rows of the data, evenly spread: the one time that
 * most of the data are read. */
void gpc_seen_gather(const gpc_gp_data *data, int logs, gpc_seen_sample *sample);

/* Counts, by weight, of the scores in `bins` bins of equal width from low to high; a bin
 * holds its lower edge, the last one its upper edge as well. Entry 0 counts what lies
 * below, entry bins + 1 what lies above. Scores of the true class are taken from all rows
 * of the data, into truth [bins + 2]; those of the other classes from the sample, into
 * other [bins + 2]. */
void gpc_seen_count(const gpc_gp_data *data, int logs, const gpc_seen_sample *sample,
                    double low, double high, size_t bins, double *truth, double *other);

/* The temperature of the sample: beta = 1/T, from the guess `start` (0: none). work
 * [gpc_temperature_work(rows, k)]. Status as of gpc_temperature_fit(), GPC_FLAT also when
 * the rows have no weight. */
gpc_status gpc_seen_temperature(const gpc_seen_sample *sample, double start, int threads,
                                gpc_poll poll, void *poll_data, double *work,
                                double *beta);

#endif
