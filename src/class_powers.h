/* class_powers.h: the powers gamma_k of eq. (33),
 *
 *   gamma_k log p_nk = gamma_k (slope z_nk - L_n),   p_n = softmax(slope z_n),  L_n = lse(slope z_n),
 *
 * in terms of the features that all classes share (class_features.h): slope z_nk is a
 * contrast of the scores, sum_j a_kj x_nj over the features of the matrix, and -L_n a
 * feature of its own. So a class has the coefficients
 *
 *   e_k = T_k c_k:   e_kj = c_kj + a_kj gamma_k (matrix),   e_k = c_k elsewhere.
 *
 * The prior is independent in c, and a fit is made in c; passes over rows, and whoever
 * predicts, know e. Without powers T is the identity and nothing is done. */
#ifndef GPC_CLASS_POWERS_H
#define GPC_CLASS_POWERS_H

#include "class_features.h"

/* x := T_k x, and x := T_k' x, for the r numbers of class k, `step` apart: n such vectors,
 * `apart` from one to the next. */
void gpc_powers_apply(const gpc_features *features, size_t k, size_t n, size_t apart,
                      size_t step, double *x);
void gpc_powers_transpose(const gpc_features *features, size_t k, size_t n, size_t apart,
                          size_t step, double *x);

/* block [r x r], `step` from column to column := T_k block T_l', or T_k' block T_l. */
void gpc_powers_apply_block(const gpc_features *features, size_t k, size_t l, size_t step,
                            double *block);
void gpc_powers_transpose_block(const gpc_features *features, size_t k, size_t l,
                                size_t step, double *block);

/* block := T_k^-1 block T_l^-T: a covariance of c from one of e. */
void gpc_powers_free_block(const gpc_features *features, size_t k, size_t l, size_t step,
                           double *block);

/* effect [k r] and cov [size x size] of numbers whose last k r are effects, from c to
 * e. */
void gpc_powers_collapse(const gpc_features *features, size_t size, double *effect,
                         double *cov);

#endif
