/* gp_fit.h: the latent Gaussian process fitted, from scores to posterior: chooses the
 * floor for scores of zero, the resolution of the line, where to begin, and the number of
 * inducing inputs. Everything that calib_gp() decides by the data is decided here. */
#ifndef GPC_GP_FIT_H
#define GPC_GP_FIT_H

#include "gp_effects.h"
#include "gp_mixture.h"
#include "gp_offsets.h"
#include "gp_wide.h"
#include "gp_optimise.h"
#include "gp_stream.h"
#include "mono_mass.h"

#define GPC_MASS_BINS 128

typedef struct {
  gpc_mean mean;
  gpc_cov cov;
  int centre; /* subtract each row's mean from its scores? */
  size_t floors;
  const double *floor; /* [floors] lower limits of the scores to choose from by the bound,
                          on the scale of the scores; usually one */
  const double *floor_prior; /* [floors] log prior of each, added to its bound; NULL: 0 */
  size_t m;                  /* number of inducing inputs; 0: 16, and more if need be */
  const double *inducing;    /* [m] their positions; NULL: evenly over the bulk */
  int move;                  /* are they moved as well? */
  double variance, lengthscale, slope; /* held fixed; NAN: estimated. Without a slope to
                                          estimate (eq. (3)) slope is held at 1 */
  double least_l; /* no lengthscale shorter than this is estimated; 0: no such limit */
  double noise;
  const int *arg; /* [n] class with the highest score of each row, from 1 */
  double tol;
  double effects_tol, enough; /* of effects of few classes (gp_effects.h), if larger than
                                 .01 and a tenth of that, or than tol and a tenth of it */
  int max_passes;
  size_t bins;                        /* of the histograms of scores */
  int effects[GPC_BLOCKS];            /* which effects of the classes to add */
  double effect_variance[GPC_BLOCKS]; /* held; NAN: estimated */
  double worthless, odds;             /* gp_effects.h */
  int many;                       /* effects of many classes: gp_offsets.h, gp_wide.h */
  double least_score, full_score; /* gp_offsets.h */
  double least_wide[2];           /* gp_wide.h: score and worth of the matrix */
  const gpc_wide_site *wide_site; /* rows seen before, of effects of many classes */
  const gpc_joint_site *effect_site;    /* rows seen before, with the effects, or NULL */
  const gpc_offsets_site *offsets_site; /* the same, of offsets of many classes */
  const gpc_site *site;                 /* the same for the process alone ... */
  double begin_slope;  /* ... and the slope that they had, from which ... */
  double slope_factor; /* ... no more than this factor leads away */
  int freeze;          /* is the data term to be frozen, for later rows ... */
  int loosen;          /* ... about a process that is not stiff (gp_freeze.c)? */
  int integrate; /* the mixture over the hyperparameters that are estimated as well? */
} gpc_fit_settings;

typedef struct {
  gpc_params at;
  int averaged, passes_average; /* there is, by so many passes more, a ... */
  gpc_posterior mixture;        /* ... over the hyperparameters (gp_mixture.h) */
  double elbo, promise;
  int passes, passes_floor, steps; /* passes_floor: those of floors not chosen */
  double slope_var, *slope_cross;  /* eq. (26a); 0 where the slope is held */
  size_t floor;                    /* which was chosen */
  gpc_gp_range range;
  double farthest; /* the largest of |score| and |row mean| */
  int flat;        /* the scores of every row are equal */
  int separated;   /* the slope had to be limited */
  double shortest; /* the shortest lengthscale that can be held */
  int sparse;      /* sparse rows were used */
  size_t nodes, fine_nodes;
  int increasing; /* the mean map, over the scores seen */
  size_t changed; /* rows whose most likely class changes under the mean map */
  /* for the picture: */
  double ends[2];                 /* of the histograms, logarithms for the log mean */
  double *truth, *other;          /* [bins + 2] */
  double mass[GPC_MASS_BINS + 2]; /* mono_mass.h, between the same ends */
  size_t sample_rows;
  gpc_status temperature_status;
  double beta;           /* 1/T of the sample */
  double log_beta_error; /* standard error of log beta, of all rows */
  /* with `freeze`, memory as gpc_site says, the weight that of all rows: */
  gpc_site site;
  int tried; /* effects were asked for: */
  gpc_effects_result effects;
  gpc_offsets_result offsets; /* instead, where `many`, and ... */
  gpc_wide_result wide;       /* ... more than offsets, where that is asked for */
} gpc_fit_result;

/* Memory of the result comes from `memory`. `progress` is kept up to date for poll().
 * GPC_OK, GPC_NOT_CONVERGED; otherwise there is no fit: GPC_NOT_PD, GPC_NOT_FINITE;
 * GPC_TOO_COARSE: a few scores lie too far from the rest; GPC_TOO_FAR: scores that cannot
 * be squared; GPC_TOO_CLOSE: scores that differ by less than a billionth of their size;
 * GPC_TOO_SHORT: a lengthscale is held that would need too many nodes. */
gpc_status gpc_gp_fit(const gpc_gp_data *data, const gpc_fit_settings *settings,
                      const gpc_memory *memory, gpc_poll poll, void *poll_data,
                      gpc_progress *progress, gpc_fit_result *result);

#endif
