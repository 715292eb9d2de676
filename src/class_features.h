/* class_features.h: what a class's own effects depend on, eq. (33): r numbers of a row, the same
 * for all classes, in blocks with a variance each.
 *
 *   offset   1
 *   matrix   U'z / rms(z); with two classes log(4 p (1 - p))-like instead, even in the
 *            log-odds, which with an offset and a slope makes beta calibration
 *   softmax  U' softmax(slope z); with two classes GPC_SHAPES functions instead, even in the
 *            log-odds, whose sums are the curves with a derivative that is
 *            piecewise linear: eq. (33c)
 *   power    -L, L = log sum_j exp(slope z_j): with the matrix's features log p of every
 *            class (class_powers.h); not with two classes, nor without a matrix
 *   skew     no features of its own: parameters of the matrix that have another variance
 *            (class_skew.h)
 *
 * U [k x (k-1)] are orthonormal contrasts: z is centred, and a constant is the offset's.
 * Scores are held within the range that was seen, since a linear term would grow without
 * limit beyond it. */
#ifndef GPC_CLASS_FEATURES_H
#define GPC_CLASS_FEATURES_H

#include "gpc.h"

typedef enum {
  GPC_OFFSET,
  GPC_MATRIX,
  GPC_SOFTMAX,
  GPC_POWER,
  GPC_SKEW,
  GPC_BLOCKS
} gpc_block;

#define GPC_FEATURE_BLOCKS GPC_SKEW /* the blocks before have features */

#define GPC_SHAPES 9
#define GPC_SHAPE_STEP 0.5 /* between their knots, in scaled log-odds */
#define GPC_SHAPE_ZERO                                                                   \
  4 /* steps from 0 at which they are 0: not at even odds, which would be
                               where the curve is known best whatever the rows are */

typedef struct {
  size_t k, r;
  size_t first[GPC_BLOCKS],
      count
          [GPC_BLOCKS]; /* where a block's features are; 0: none; of skew 1: it is there */
  double rms, slope;    /* scales of z */
  double low, high;     /* of the scores seen */
} gpc_features;

/* The features of the blocks asked for. */
gpc_features gpc_features_make(size_t k, const int wanted[GPC_BLOCKS], double rms,
                               double slope, double low, double high);

/* x [r] of a row with centred scores z [k], which are overwritten. work [k]. */
void gpc_features_row(const gpc_features *features, double *z, double *work, double *x);

/* to [r (r + 1) / 2] := x_i x_j, j <= i, row by row. */
void gpc_features_pack(size_t r, const double *x, double *to);

/* More than the size of any feature. */
double gpc_features_reach(const gpc_features *features);

/* The block whose variance parameter j of k r has: feature i of class k is at k r + i. */
gpc_block gpc_features_block(const gpc_features *features, size_t j);

/* The features of class k whose parameters have the variance of block b: *count of them, from *first
 * on. */
void gpc_features_run(const gpc_features *features, gpc_block b, size_t k, size_t *first,
                      size_t *count);

#endif
