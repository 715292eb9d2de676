/* class_features.h: what a class's own effects depend on, eq. (33): r numbers of a row, the same
 * for all classes, in blocks with a variance each.
 *
 *   offset   1
 *   matrix   U'z / rms(z); with two classes log(4 p (1 - p))-like instead, even in the
 *            log-odds, which with an offset and a slope makes beta calibration
 *   softmax  U' softmax(slope z)
 *   power    -L, L = log sum_j exp(slope z_j): with the matrix's features log p of every
 *            class (class_powers.h); not with two classes, nor without a matrix
 *
 * U [k x (k-1)] are orthonormal contrasts: z is centred, and a constant is the offset's.
 * Scores are held within the range that was seen, since a linear term would grow without
 * limit beyond it. */
#ifndef GPC_CLASS_FEATURES_H
#define GPC_CLASS_FEATURES_H

#include "gpc.h"

typedef enum { GPC_OFFSET, GPC_MATRIX, GPC_SOFTMAX, GPC_POWER, GPC_BLOCKS } gpc_block;

typedef struct {
  size_t k, r;
  size_t first[GPC_BLOCKS], count[GPC_BLOCKS]; /* where a block's features are; 0: none */
  double rms, slope;                           /* scales of z */
  double low, high;                            /* of the scores seen */
} gpc_features;

/* The features of the blocks asked for. */
gpc_features gpc_features_make(size_t k, const int wanted[GPC_BLOCKS], double rms,
                               double slope, double low, double high);

/* x [r] of a row with centred scores z [k], which are overwritten. work [k]. */
void gpc_features_row(const gpc_features *features, double *z, double *work, double *x);

/* The block that feature i belongs to. */
gpc_block gpc_features_block(const gpc_features *features, size_t i);

#endif
