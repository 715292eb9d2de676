/* recal.h: recalibration by a slope and class offsets, for the likelihood ratio test:
 *   q_k = exp(b z_k + c_k) / sum_j exp(b z_j + c_j),  z = log p,
 * which is Cox's (1958) recalibration for two classes. Calibration is b = 1, c = 0. */
#ifndef GPC_RECAL_H
#define GPC_RECAL_H

#include "gpc.h"

/* Doubles of work space. */
size_t gpc_coxrecal_work(size_t k);

/* Fisher information [k x k] of (b, c_2, ..., c_k) at b = 1, c = 0, which does not depend
 * on the labels. z [n x k] = log p, -Inf where p is 0. */
void gpc_coxrecal_information(size_t n, size_t k, const double *z, double *info,
                              double *work, gpc_poll poll, void *data);

typedef struct {
  double null;    /* log-likelihood of the probabilities as they are */
  double log_lik; /* its supremum over b and c */
  int iterations;
} gpc_coxrecal_result;

/* Labels [n] (1..k) whose z is finite. coef [k + 1]: b, then c of every class (that of
 * the most frequent class is 0, of classes that do not occur -Inf). Newton's method with
 * steps halved until they gain. The supremum is approached without end where labels are
 * separated: the iteration ends once it gains no more than tol. */
gpc_status gpc_coxrecal_fit(size_t n, size_t k, const double *z, const int *label,
                            double tol, int max_iter, double *coef, double *work,
                            gpc_coxrecal_result *result, gpc_poll poll, void *data);

#endif
