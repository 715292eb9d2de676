/* own_rows.h: what a fit says about calibration rows: their log loss before and after, and
 * for every class its mean prediction beside its frequency. */
#ifndef GPC_OWN_ROWS_H
#define GPC_OWN_ROWS_H

#include "gpc.h"

/* Calibrated probabilities p [n x k] of scores z [n x k] (logits, or probabilities), of
 * which top [n] is the largest in each row; label [n] from 1; share [n] the rows' shares
 * of the weight, which sum to one. With s_n = share of row n:
 *   loss [2]       -sum_n s_n log of the true class's probability, before and after
 *   observed [k]   sum_n s_n [y_n = k]
 *   predicted [k]  sum_n s_n p_nk
 *   variance [k]   sum_n s_n^2 p_nk (1 - p_nk), of the sum of s_n [y_n = k] if p is true
 *   before [k]     sum_n s_n q_nk, q: the probabilities before, a row divided by its sum
 *   total [n]      of a row: sum_k exp(z_nk - top_n), or sum_k z_nk of probabilities */
typedef struct {
  double *loss, *observed, *predicted, *variance, *before, *total;
} gpc_own_sums;

void gpc_own_rows(size_t n, size_t k, const double *p, const double *z, const double *top,
                  const int *label, const double *share, int logits, gpc_own_sums *out);

#endif
