/* gp_effects.h: effects of the classes added to a fit of the process: which blocks there
 * are, where to begin, and the steps. See gp_joint.h for the model. */
#ifndef GPC_GP_EFFECTS_H
#define GPC_GP_EFFECTS_H

#include "gp_joint_average.h"
#include "gp_joint_site.h"
#include "gp_visit.h"

typedef struct {
  int wanted[GPC_BLOCKS];
  double variance[GPC_BLOCKS]; /* held at this tau^2; NAN: estimated */
  double slope;                /* of temperature scaling, for the features */
  int integrate;               /* the mixture over the hyperparameters as well? */
  double width;                /* of the bulk of the scores */
  int s2_free, l_free;
  double s2_low, s2_high, l_low, l_high;
  double worthless; /* nats: with less than this promised at the start there are no
                       effects; -INFINITY: there are whatever they promise */
  double odds;      /* of effects to none before the rows, eq. (45a); 0: not doubted */
  const gpc_joint_site *site; /* rows seen before, or NULL */
  int freeze;                 /* are these rows to be frozen, for later ones? */
  double tol;                 /* nats: to which steps are made, which may choose between
                                 maxima; stop when one promises less, ... */
  double
      enough; /* ... or less than this where it is larger; or has gained less than this,
                    having promised less than tol */
  int max_passes;
  gpc_poll poll;
  void *poll_data;
} gpc_effects_settings;

typedef struct {
  int kept; /* 0: the effects are worth nothing, and the process stands as it was */
  gpc_features features;
  gpc_params at;
  int averaged, passes_average; /* there is, by so many passes more, a ... */
  gpc_posterior mixture; /* ... over the hyperparameters of the process (gp_mixture.h) */
  double tau[GPC_BLOCKS];
  double worth[GPC_BLOCKS]; /* of each block, in nats: Savage-Dickey; NAN if unknown */
  double *effect;           /* [k r], class k at k r */
  size_t m, slopes;         /* 1 where the slope is estimated, else 0 */
  double *cov;              /* [size x size], size = m + slopes + k r: (m, slope, e) */
  double elbo, none;        /* the bound with and without effects */
  int passes, converged;
  double promise;      /* what the last step was to gain */
  gpc_joint_site site; /* with `freeze`, whether the effects are kept or not */
} gpc_effects_result;

/* About as many doubles as the steps of a fit have in work beside the softmaxes [n x k]: three
 * passes, S, and what a pass needs of pairs of classes and features. */
size_t gpc_effects_room(size_t k, const int wanted[GPC_BLOCKS]);

/* From a visit at the optimum of the process alone. Memory of the result comes from the
 * visitor's. */
gpc_status gpc_effects_fit(gpc_visitor *visitor, const gpc_visit *from,
                           const gpc_gp_range *range,
                           const gpc_effects_settings *settings,
                           gpc_effects_result *result);

#endif
