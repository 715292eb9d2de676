/* gp_fitting.h: a fit on its way, shared by the parts of the driver (gp_fit.c): where to
 * begin (gp_start.c), the process alone (gp_floors.c) and what to report
 * (gp_describe.c). */
#ifndef GPC_GP_FITTING_H
#define GPC_GP_FITTING_H

#include "gp_fit.h"
#include "gp_sample.h"

typedef struct {
  const gpc_gp_data *data; /* without shift and floor */
  const gpc_fit_settings *settings;
  const gpc_memory *memory;
  gpc_poll poll;
  void *poll_data;
  gpc_progress *progress;
  gpc_fit_result *result;
  gpc_prepared now; /* the data with the present floor */
  gpc_params at;    /* where the fit stands */
  int begun;        /* `at` holds hyperparameters worth beginning from ... */
  int warm;         /* ... and a posterior on its inducing inputs */
  double guess;     /* 1/T of the sample: the slope to begin with; NAN: not known */
} gpc_fitting;

#define GPC_FIRST_INDUCING 16

/* Has an optimiser left something to go on with? */
static inline int gpc_fitting_done(gpc_status status) {
  return status == GPC_OK || status == GPC_NOT_CONVERGED;
}

/* Width of the bulk of the scores. */
static inline double gpc_fitting_width(const gpc_fitting *f) {
  return f->now.range.bulk_high - f->now.range.bulk_low;
}

/* Where to begin: gp_start.c --------------------------------------------------------- */

/* 1 if the slope is estimated. */
int gpc_start_slope_free(const gpc_fitting *f);

/* The temperature of some rows, gathered into `sample`: the slope to begin with, and for
 * the picture. start: a guess at 1/T; 0: none. Sets f->guess, result->beta,
 * result->log_beta_error and result->temperature_status. */
void gpc_start_guess(gpc_fitting *f, gpc_sample *sample, double start);

/* Where the slope must stop when the rows are separated: f->now.slope_limit. */
void gpc_start_limit_slope(gpc_fitting *f);

/* Rows seen before widen the range of the present ones, and end worries about theirs. */
void gpc_start_seen(gpc_fitting *f);

/* The slope, free between limits or held: sets *slope and the visitor's limits. */
void gpc_start_slope(const gpc_fitting *f, gpc_visitor *visitor, double *slope);

/* Inducing inputs [m], evenly over the bulk or as given. */
void gpc_start_inducing(const gpc_fitting *f, size_t m, double *inducing);

/* Limits of the hyperparameters for the inducing inputs of `at`: how->box.
 * GPC_TOO_SHORT if the lengthscale is held below result->shortest, which is set. */
gpc_status gpc_start_limits(gpc_fitting *f, const gpc_params *at,
                            gpc_optimise_settings *how);

/* Hyperparameters to begin from: at->hyper, or several lengthscales start_l [2] to choose
 * from by the surrogate. */
void gpc_start_hyper(const gpc_fitting *f, gpc_params *at, double start_l[2],
                     gpc_optimise_settings *how);

/* One floor, or the best of several: gp_floors.c ------------------------------------- */

/* The line for one floor, and what visits need. */
typedef struct {
  gpc_ruler ruler;
  gpc_visitor visitor;
} gpc_laid_line;

/* f->now and where f->at begins: for the only floor, or for the best by quick fits, whose
 * line is then *line where it was kept. */
gpc_status gpc_floors_begin(gpc_fitting *f, gpc_laid_line **line);

/* The fit of that floor, on *line, which is laid if there is none. */
gpc_status gpc_floors_fit(gpc_fitting *f, gpc_laid_line **line, gpc_optimiser *o);

/* Over the hyperparameters: gp_average.c --------------------------------------------- */

/* The mixture of f->at, the optimum, and its neighbours: result->mixture and
 * result->averaged. */
void gpc_fitting_average(gpc_fitting *f, gpc_optimiser *o);

/* For later rows: gp_freeze.c -------------------------------------------------------- */

/* All rows, old and new, as result->site. */
gpc_status gpc_fitting_freeze(gpc_fitting *f, gpc_optimiser *o);

/* Effects of many classes: gp_many.c -------------------------------------------------- */

/* Offsets, and where it is asked for a matrix: result->offsets and result->wide. */
gpc_status gpc_many_fit(gpc_fitting *f, gpc_optimiser *o);

/* What to report: gp_describe.c ------------------------------------------------------ */

/* Fills f->result but for the effects of the classes. */
void gpc_fitting_describe(gpc_fitting *f, gpc_optimiser *o);

#endif
