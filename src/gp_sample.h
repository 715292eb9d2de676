/* gp_sample.h: some rows of the data, evenly spread, copied out: enough to begin a fit
 * from, and for the picture of it (seen.h). */
#ifndef GPC_GP_SAMPLE_H
#define GPC_GP_SAMPLE_H

#include "gp_model.h"
#include "memory.h"

/* Scores floored and shifted, less nothing else: mu's factor is taken in by `logs`, which
 * asks for logarithms of the scores. */
typedef struct {
  size_t rows, k;
  double *z;  /* [rows x k] */
  double *w;  /* [rows] */
  int *label; /* [rows] */
} gpc_sample;

/* How many rows of an [n x k] matrix are enough: about 200,000 scores, at least 100 and
 * at most 20,000 rows. */
size_t gpc_sample_size(size_t n, size_t k);

/* Number i of `rows` rows spread evenly over n. */
static inline size_t gpc_sample_row(size_t n, size_t rows, size_t i) {
  return (size_t)((double)i * ((double)n / (double)rows));
}

/* Room for so many rows. */
gpc_sample gpc_sample_get(const gpc_memory *memory, size_t rows, size_t k);

void gpc_sample_give(const gpc_memory *memory, gpc_sample *sample);

/* Fill it with sample->rows rows of the data. */
void gpc_sample_gather(const gpc_gp_data *data, int logs, gpc_sample *sample);

/* The temperature of the sample: beta = 1/T, to 1e-3 in its logarithm, from the guess
 * `start` (0: none), and the standard error of log beta that rows of the weight `total`
 * like these would have (NAN: not known). work [gpc_temperature_work(rows, k)]. Status as
 * of gpc_temperature_fit(), GPC_FLAT also when the rows have no weight. */
gpc_status gpc_sample_temperature(const gpc_sample *sample, double start, double total,
                                  int threads, gpc_poll poll, void *poll_data,
                                  double *work, double *beta, double *error);

#endif
