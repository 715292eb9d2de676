/* gp_joint_softmax.h: the average of softmax(f) over f ~ N(phi, C), C dense [k x k]: the
 * expansion of eq. (24) where that is good enough, otherwise an average over a fixed set
 * of normal points. */
#ifndef GPC_GP_JOINT_SOFTMAX_H
#define GPC_GP_JOINT_SOFTMAX_H

#include "gpc.h"
#include "memory.h"

typedef struct {
  size_t pairs;
  const double *points; /* [pairs x k] of the fixed design, columns with covariance I */
  double *chol;         /* [k x k] */
  double *work;         /* moves, both ways */
} gpc_joint_softmax;

/* With so many pairs of points, at most GPC_GP_DESIGN_PAIRS. */
gpc_joint_softmax gpc_joint_softmax_get(size_t k, size_t pairs, const gpc_memory *memory);

/* Is eq. (24) good enough for a class of probability s, with variance d of its distance to
 * the mean of all? And for a row with this mean of d? */
int gpc_joint_softmax_narrow(double s, double d);
int gpc_joint_softmax_narrow_row(double mean);

/* out [k], sum one. phi [k]; s [k] = softmax(phi); c [k x k] may be singular. k may be
 * less than in gpc_joint_softmax_get(). */
void gpc_joint_softmax_average(const gpc_joint_softmax *self, size_t k, const double *phi,
                               const double *s, const double *c, double *out);

#endif
