/* seen.h: what a picture of the latent map needs to know of the calibration rows, small
 * enough to be kept: where the scores of the true and of the other classes lie. */
#ifndef GPC_SEEN_H
#define GPC_SEEN_H

#include "gp_sample.h"

/* Counts, by weight, of the scores in `bins` bins of equal width from low to high; a bin
 * holds its lower edge, the last one its upper edge as well. Entry 0 counts what lies
 * below, entry bins + 1 what lies above. Scores of the true class are taken from all rows
 * of the data (their logarithms with `logs`), into truth [bins + 2]; those of the other
 * classes from so many rows of a sample (gpc_sample_row()), into other [bins + 2]. */
void gpc_seen_count(const gpc_gp_data *data, int logs, size_t rows, double low,
                    double high, size_t bins, double *truth, double *other);

#endif
