/* gp_floors.c: the process alone, for one floor or the best of several (gp_fitting.h). */
#include "gp_fitting.h"

#include <math.h>
#include <string.h>

#define MOST_INDUCING 64
#define ROWS_PER_INDUCING 8.0 /* fewer rows cannot tell a bend of the map from chance */
#define SHORT 1.5             /* spacings: a lengthscale below wants more inputs */
#define MANY_CLASSES 24       /* from here on rows are worth being made sparse */

/* One floor -------------------------------------------------------------------------- */

/* Twice as many inducing inputs, with the posterior carried over. */
static void double_inducing(gpc_fitting *f) {
  gpc_params more = gpc_params_get(f->memory, 2 * f->at.m);
  gpc_start_inducing(f, more.m, more.inducing);
  void *mark = f->memory->mark(f->memory->self);
  double *work = gpc_get_doubles(f->memory, gpc_params_move_work(f->at.m, 2 * f->at.m));
  f->warm = gpc_params_move(&f->at, work, &more) == GPC_OK;
  f->memory->release(f->memory->self, mark);
  /* A variance that has grown beyond all measure made up for a lengthscale that could not
   * shrink. */
  if (more.hyper.s2 > 30.0) {
    more.hyper.s2 = 1.0;
    f->warm = 0;
    more.slope = f->guess;
  }
  gpc_params_give(f->memory, &f->at);
  f->at = more;
}

/* The fit of one floor, from f->at if it has begun. quick: only to compare floors, until
 * the bound to_beat is out of reach. */
static gpc_status optimise(gpc_fitting *f, int quick, double to_beat, gpc_optimiser *o) {
  const gpc_fit_settings *s = f->settings;
  const double rows = gpc_gp_total(&f->now.data) + (s->site ? s->site->weight : 0.0);
  double start_l[2];
  for (;;) {
    gpc_optimise_settings how = {.tol = quick ? fmax(s->tol, 1e-3) : s->tol,
                                 .elbo_to_beat = to_beat,
                                 .local = quick, /* the fit of the best will look */
                                 .max_passes =
                                     quick && s->max_passes > 12 ? 12 : s->max_passes};
    gpc_status status = gpc_start_limits(f, &f->at, &how);
    if (status != GPC_OK)
      return status;
    const double most = fmin(MOST_INDUCING, rows / ROWS_PER_INDUCING);
    if (!quick && s->m == 0 && 2.0 * (double)f->at.m <= most)
      how.short_l = SHORT * gpc_fitting_width(f) / ((double)f->at.m - 1.0);
    gpc_start_slope(f, o->visitor, &f->at.slope);
    gpc_start_hyper(f, &f->at, start_l, &how);
    how.warm = f->warm;
    gpc_optimiser_get(o, f->at.m);
    gpc_params_copy(&f->at, &o->here.at);
    status = gpc_optimise(o, &how);
    gpc_params_copy(&o->here.at, &f->at);
    f->begun = f->warm = 1;
    if (status != GPC_TOO_FEW)
      return status;
    double_inducing(f);
  }
}

/* The line for the present floor; NULL if it would need too many nodes. */
static gpc_laid_line *lay_line(gpc_fitting *f) {
  const gpc_fit_settings *s = f->settings;
  gpc_laid_line *line = f->memory->get(f->memory->self, sizeof *line);
  gpc_visitor *visitor = &line->visitor;
  gpc_ruler *ruler = &line->ruler;
  memset(visitor, 0, sizeof *visitor);
  visitor->data = &f->now.data;
  visitor->memory = f->memory;
  visitor->prior.mean = s->mean;
  visitor->cov = s->cov;
  visitor->ruler = ruler;
  const int ok = gpc_ruler_lay(&f->now.data, &visitor->prior, &f->now.range,
                               f->now.data.k >= MANY_CLASSES, f->memory, ruler);
  visitor->site = s->site;
  ruler->extra = s->site ? s->site->p : 0;
  ruler->extra_z = s->site ? s->site->z : NULL;
  return ok ? line : NULL;
}

static void begin_optimiser(gpc_fitting *f, gpc_visitor *visitor, gpc_optimiser *o) {
  memset(o, 0, sizeof *o);
  o->visitor = visitor;
  o->poll = f->poll;
  o->poll_data = f->poll_data;
  o->watch = f->progress;
}

/* What visits left of a line is given back. */
static void give_line(gpc_laid_line *line) {
  gpc_visitor_give(&line->visitor);
  gpc_ruler_keep(&line->ruler, 0);
  gpc_ruler_give_rows(&line->ruler);
}

/* Floors ----------------------------------------------------------------------------- */

/* What has been found of the floors tried so far. */
typedef struct {
  double value; /* bound and log prior; -INFINITY: no floor could be fitted */
  int settled;  /* its quick fit has ended at an optimum */
  int passes;
  gpc_prepared now;
  gpc_params at;
  gpc_laid_line *line; /* or NULL */
} best_floor;

/* A quick fit with a floor of this log prior, from the hyperparameters of the best so
 * far. Where that fit was still on its way they are chance: a rounding error in the scores
 * may lead it elsewhere, and this one into another basin. */
static gpc_status try_floor(gpc_fitting *f, const best_floor *best, double prior,
                            gpc_laid_line **line, gpc_optimiser *o) {
  f->begun = best->settled;
  f->warm = 0;
  f->at.hyper = best->at.hyper;
  f->at.slope = best->at.slope;
  gpc_start_inducing(f, f->at.m, f->at.inducing);
  *line = lay_line(f);
  if (!*line)
    return GPC_TOO_COARSE;
  begin_optimiser(f, &(*line)->visitor, o);
  return optimise(f, 1, best->value - prior, o);
}

/* Scores of so few rows keep the line of the best floor so far, with 3 MB at most. Of more
 * rows it is given back and laid again at the end: lines and sparse rows of several floors
 * would take more memory than the scores. */
#define KEEP_LINE 32768

/* The floor with the highest bound and log prior; f is left with the best, and *line is its
 * line where it was kept. */
static gpc_status choose_floor(gpc_fitting *f, gpc_sample *sample, gpc_laid_line **line) {
  const int keep = f->data->n * f->data->k <= KEEP_LINE;
  gpc_status worst = GPC_NOT_PD;
  best_floor best = {.value = -INFINITY, .at = gpc_params_get(f->memory, f->at.m)};
  best.at.hyper = f->at.hyper;
  best.at.slope = f->at.slope;
  best.now.shift = f->now.shift ? gpc_get_doubles(f->memory, f->data->n) : NULL;
  for (size_t i = 0; i < f->settings->floors; i++) {
    gpc_optimiser o;
    gpc_status status =
        gpc_gp_prepare(f->data, f->settings->floor[i], f->memory, &f->now);
    if (status != GPC_OK)
      return status;
    gpc_start_seen(f);
    gpc_start_limit_slope(f);
    if (!best.settled || isnan(f->guess))
      gpc_start_guess(f, sample, 0.0);
    const double prior = f->settings->floor_prior ? f->settings->floor_prior[i] : 0.0;
    void *mark = f->memory->mark(f->memory->self);
    gpc_laid_line *own;
    status = try_floor(f, &best, prior, &own, &o);
    const int fitted = gpc_fitting_done(status);
    const int better = fitted && o.here.elbo + prior > best.value;
    if (!(better && keep))
      f->memory->release(f->memory->self, mark);
    if (!fitted) { /* another floor may do */
      worst = status;
      continue;
    }
    f->result->passes_floor += o.progress.passes;
    if (better) {
      double *shift = best.now.shift;
      if (keep) {
        gpc_optimiser_give(&o);
        gpc_visit_give(f->memory, &o.here);
      }
      if (best.line)
        give_line(best.line);
      best.line = keep ? own : NULL;
      best.value = o.here.elbo + prior;
      best.settled = status == GPC_OK;
      best.passes = o.progress.passes;
      best.now = f->now;
      f->now.shift = shift; /* room for the next floor */
      gpc_params_copy(&f->at, &best.at);
      f->result->floor = i;
    }
  }
  if (best.value == -INFINITY)
    return worst;
  f->result->passes_floor -= best.passes;
  f->result->passes = best.passes;
  f->now = best.now;
  f->at = best.at;
  f->begun = f->warm = 1;
  *line = best.line;
  return GPC_OK;
}

/* The data prepared, with the best floor, and where the fit begins; *line may be laid. */
gpc_status gpc_floors_begin(gpc_fitting *f, gpc_laid_line **line) {
  const gpc_fit_settings *s = f->settings;
  gpc_sample sample =
      gpc_sample_get(f->memory, gpc_sample_size(f->data->n, f->data->k), f->data->k);
  if (s->floors > 1) {
    const gpc_status status = choose_floor(f, &sample, line);
    if (status == GPC_OK) /* the last sample was that of another floor */
      gpc_start_guess(f, &sample, gpc_start_slope_free(f) ? f->at.slope : 1.0);
    gpc_sample_give(f->memory, &sample);
    return status;
  }
  const gpc_status status = gpc_gp_prepare(f->data, s->floor[0], f->memory, &f->now);
  if (status != GPC_OK)
    return status;
  gpc_start_seen(f);
  gpc_start_limit_slope(f);
  gpc_start_guess(f, &sample, 0.0);
  gpc_sample_give(f->memory, &sample);
  gpc_start_inducing(f, f->at.m, f->at.inducing);
  return GPC_OK;
}

gpc_status gpc_floors_fit(gpc_fitting *f, gpc_laid_line **line, gpc_optimiser *o) {
  if (!*line)
    *line = lay_line(f);
  if (!*line)
    return GPC_TOO_COARSE;
  begin_optimiser(f, &(*line)->visitor, o);
  return optimise(f, 0, -INFINITY, o);
}
