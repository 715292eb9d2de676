/* optim.h: maximise a smooth function of a few variables between limits: BFGS with
 * backtracking, variables at a limit held there while the gradient points outside.
 *
 * The function may cost a lot more than the steps between its values, so that a first
 * step is short and few values are asked for; it need not exist everywhere. */
#ifndef GPC_OPTIM_H
#define GPC_OPTIM_H

#include "gpc.h"

typedef struct {
  size_t dim;
  /* The function at x [dim]. Any status but GPC_OK: it does not exist there, and the step
   * is shortened. */
  gpc_status (*value)(void *self, const double *x, double *value);
  /* Its gradient g [dim] at the x for which value() was called last. */
  void (*gradient)(void *self, double *g);
  void *self;
  const double *low, *high; /* [dim]; low = high holds a variable */
  int max_steps;
  double tol;      /* stop when a step gains less than this ... */
  double fraction; /* ... or less than this fraction of all that was gained so far */
  double *memory;  /* [1 + dim^2], or NULL: the inverse Hessian of the last time, kept
                      for problems alike; memory[0] = 0 says that there is none yet */
  gpc_poll poll;   /* called once per step */
  void *poll_data;
} gpc_optim;

/* Doubles of work space. */
size_t gpc_optim_work(size_t dim);

/* From x [dim], within the limits, to the best point found; *best is the value there, and
 * value() was called there last. GPC_OK also when max_steps is reached: the caller asked
 * for no more. Otherwise the status of value() at the start. */
gpc_status gpc_optim_maximise(const gpc_optim *problem, double *work, double *x,
                              double *best);

#endif
