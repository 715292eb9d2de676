/* gp_joint_brief.h: the short form of the covariance of a fit with class effects
 * (gp_joint_predict.h), found from the whole. With (m, slope) = x and effects e_k of the
 * classes,
 *
 *   Cov(e) = C'S^-1 C + E,   S = Var(x),   C = Cov(x, e):
 *
 * E keeps its blocks E_kk; E_kl becomes the mean of all pairs, which cancels in the
 * differences of a row's latent values. */
#ifndef GPC_GP_JOINT_BRIEF_H
#define GPC_GP_JOINT_BRIEF_H

#include "class_powers.h"
#include "memory.h"

#define GPC_JOINT_FIRM                                                                   \
  1e-5 /* of the variances: a matrix that has a factor without so much keeps one when its  \
          numbers are rounded to single precision (6e-8, times the size of some rows) */

/* packed [size (size + 1) / 2] := the lower triangle of cov [size x size], by columns. */
void gpc_joint_pack(size_t size, const double *cov, double *packed);

/* Has the matrix with this lower triangle a factor after rounding? GPC_OK or GPC_NOT_PD. */
gpc_status gpc_joint_firm(size_t size, const double *packed, const gpc_memory *memory);

/* The parts of the short form: own [r (r + 1) / 2 x k] and common [r (r + 1) / 2], lower
 * triangles, from packed [size (size + 1) / 2], size = x + k r, k > 1. weight [r]: mean
 * squares of what the parameters c of class_powers.h stand at. GPC_OK; GPC_NOT_CONVERGED where the variances of latent values
 * that two pairs of classes share differ by more than `alike`, or the short form is no
 * firm covariance; GPC_NOT_PD where the whole is none. */
gpc_status gpc_joint_brief(size_t x, const gpc_features *features, const double *packed,
                           const double *weight, double alike, const gpc_memory *memory,
                           double *own, double *common);

#endif
