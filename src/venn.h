/* venn.h: Venn-Abers predictors of one class (Vovk and Petej, 2014), in linear time after
 * sorting (Vovk, Petej and Fedorova, 2015).
 *
 * p1(s) is the isotonic fit at s to the calibration rows and one more, (s, 1); p0(s) that
 * with (s, 0). A row of label 1 between two scores is pooled with the next higher one, so
 * that p1 is a step function: p1(s) = F1(smallest score >= s), and 1 above all. Likewise
 * p0(s) = F0(largest score <= s), and 0 below all. */
#ifndef GPC_VENN_H
#define GPC_VENN_H

#include "ties.h"

/* Bytes of work space for m groups, aligned as for a double. */
size_t gpc_venn_work(size_t m);

/* m groups of tied scores, ascending, with hits [m] of weight [m] > 0: upper [m] receives
 * F1, lower [m] F0. */
void gpc_venn_pair(size_t m, const double *hits, const double *weight, double *lower,
                   double *upper, void *work);

#endif
