/* gp_joint_moments.h: eq. (24a), the average of a softmax by the moments of its denominator
 * (gp_joint_softmax.h). In single precision, where numbers are of order one: probabilities of
 * rows for which it serves are off by less than 5e-7. */
#ifndef GPC_GP_JOINT_MOMENTS_H
#define GPC_GP_JOINT_MOMENTS_H

#include "gp_joint_softmax.h"

#define GPC_JOINT_WIDE_CLASS 4.0 /* D of a class that may win now and then */

/* Floats that it works with. */
size_t gpc_joint_moments_work(size_t k);

/* Into out [step], sum one; 0 if it is not good enough. work [3 step]. */
int gpc_joint_moments(const gpc_joint_row *row, double *work, float *single, double *out);

#endif
