/* gp_params.h: the parameters of the process that a fit moves. */
#ifndef GPC_GP_PARAMS_H
#define GPC_GP_PARAMS_H

#include "gp_model.h"
#include "memory.h"

typedef struct {
  size_t m;
  gpc_hyper hyper;
  double slope;     /* of the linear prior mean */
  double *inducing; /* [m] w */
  double *q_mean;   /* [m] m */
  double *q_cov;    /* [m x m] S */
} gpc_params;

/* Room for m inducing inputs; all zero. */
gpc_params gpc_params_get(const gpc_memory *memory, size_t m);

void gpc_params_give(const gpc_memory *memory, gpc_params *params);

/* to := from, of the same m. */
void gpc_params_copy(const gpc_params *from, gpc_params *to);

/* The prior with the slope of these parameters. */
static inline gpc_prior gpc_params_prior(const gpc_params *params,
                                         const gpc_prior *prior) {
  gpc_prior own = *prior;
  own.slope = params->slope;
  return own;
}

/* The map of `from` at other inducing inputs: to->inducing [to->m] is given, to->q_mean
 * and to->q_cov become the whitened posterior of the values there, the rest is copied.
 * work: gpc_params_move_work(). GPC_NOT_PD where rounding forbids it; q is then zero. */
size_t gpc_params_move_work(size_t from_m, size_t to_m);
gpc_status gpc_params_move(const gpc_params *from, double *work, gpc_params *to);

#endif
