/* gp_joint_points.h: the average of a softmax over a fixed set of normal points, in pairs x
 * and -x (gp_design.h), for rows of a prediction where no expansion is good enough: a set of
 * 64 pairs, and one of 128 for rows that are wide. */
#ifndef GPC_GP_JOINT_POINTS_H
#define GPC_GP_JOINT_POINTS_H

#include "gpc.h"
#include "memory.h"

#define GPC_JOINT_FEW 64
#define GPC_JOINT_MANY 128

typedef struct {
  size_t k, step; /* step: k, rounded up */
  int *made;      /* [2] have the few points, or the many, been asked for? */
  double *reach;  /* [2] the largest squared length of one of them */
  float *points
      [2]; /* [pairs x (k + 1)] of each set: columns with covariance I, and one of 0 */
  float *moves, *row;  /* [2 pairs k], [2 (k + 1)] */
  float *cov;          /* [step x k] */
  double *work, *side; /* to make the points with */
} gpc_joint_points;

/* For at most k dimensions. */
gpc_joint_points gpc_joint_points_get(size_t k, const gpc_memory *memory);

/* out [n] := E softmax(0, f), f ~ N(phi, cov), phi <= 0, in n >= 2 dimensions, without the
 * class whose latent value is 0. The lower triangle of self->cov [step x n] has the covariances; all of it is overwritten. The first dimensions are integrated best.
 * many: is the row wide? */
void gpc_joint_points_average(const gpc_joint_points *self, int many, size_t n,
                              const double *phi, double *out);

#endif
