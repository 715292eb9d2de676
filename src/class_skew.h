/* class_skew.h: the matrix between the classes as a symmetric and a skew-symmetric part, each with a
 * variance of its own, eq. (33b): that k is taken for j says something of whether j is taken
 * for k.
 *
 * The coefficients E [k x (k-1)] of the matrix's contrasts (class_features.h) become a square
 * matrix D = U'E [(k-1) x (k-1)], and a level 1'E / sqrt(k) that changes no probability.
 * The parameters of the model are
 *
 *   c_qi = (D_qi + D_iq) / sqrt(2)   q < i      symmetric
 *   c_ii = D_ii                                 symmetric
 *   c_iq = (D_iq - D_qi) / sqrt(2)   q < i      skew
 *
 * at the place (class, feature) of D, and the level as class k - 1, with the symmetric ones.
 * All of that is a rotation R, E = R c: with equal variances nothing changes. Without a
 * skew block R is the identity and nothing is done. */
#ifndef GPC_CLASS_SKEW_H
#define GPC_CLASS_SKEW_H

#include "class_features.h"

/* x := R x, and x := R' x, for n vectors of the numbers of all classes, `apart` from one to the
 * next; class k's feature i is at k class_step + i feature_step. */
void gpc_skew_apply(const gpc_features *features, size_t n, size_t apart,
                    size_t class_step, size_t feature_step, double *x);
void gpc_skew_transpose(const gpc_features *features, size_t n, size_t apart,
                        size_t class_step, size_t feature_step, double *x);

/* x [size x size], whose last k r rows and columns are those of all classes: R x R', or
 * R' x R. */
void gpc_skew_apply_both(const gpc_features *features, size_t size, double *x);
void gpc_skew_transpose_both(const gpc_features *features, size_t size, double *x);

/* effect [k r] and cov [size x size] of numbers whose last k r are effects, from c to E. */
void gpc_skew_collapse(const gpc_features *features, size_t size, double *effect,
                       double *cov);

#endif
