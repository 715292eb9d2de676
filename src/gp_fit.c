/* gp_fit.c: see gp_fit.h. gpc_gp_fit() is the whole fit, from top to bottom:
 *
 *   for every floor, if there is a choice:  prepare, begin, optimise roughly
 *   for the best floor:                     optimise, with more inducing inputs
 *                                           while the lengthscale asks for them
 *   describe the result
 */
#include "gp_fit.h"
#include "gp_shape.h"
#include "seen.h"
#include "temperature.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FIRST_INDUCING 16
#define MOST_INDUCING 64
#define ROWS_PER_INDUCING 8.0 /* fewer rows cannot tell a bend of the map from chance */
#define SHORT 1.5             /* spacings: a lengthscale below wants more inputs */
#define MANY_CLASSES 24       /* from here on rows are worth being made sparse */

/* The data with one floor, and what must be known of them to begin. */
typedef struct {
  gpc_gp_data data;
  double *shift; /* [n], or NULL without centring */
  gpc_gp_range range;
  double farthest;
  int flat;
  double slope_limit; /* of separated data; NAN: none */
} prepared;

/* A fit on its way. */
typedef struct {
  const gpc_gp_data *data; /* without shift and floor */
  const gpc_fit_settings *settings;
  const gpc_memory *memory;
  gpc_poll poll;
  void *poll_data;
  gpc_progress *progress;
  gpc_fit_result *result;
  prepared now;
  gpc_params at;   /* where the fit stands */
  int begun;       /* `at` holds hyperparameters worth beginning from ... */
  int warm;        /* ... and a posterior on its inducing inputs */
  double guess;    /* 1/T of the sample: the slope to begin with; NAN: not known */
} fitting;

/* Preparation ------------------------------------------------------------------------ */

/* Scores that differ by rounding only are flat: the slope is left alone, and the range is
 * given some width to put inducing inputs on. */
static gpc_status check_resolution(prepared *p) {
  gpc_gp_range *range = &p->range;
  const double size = fmax(fabs(range->lowest), fabs(range->highest));
  double most = 0.0;
  for (size_t i = 0; i < p->data.n && p->shift; i++)
    most = fmax(most, fabs(p->shift[i]));
  p->farthest = fmax(size, most);
  if (p->farthest > 1e145)
    return GPC_TOO_FAR;
  if (size < 1e-145)
    p->flat = 1;
  if (!p->flat)
    return range->highest - range->lowest < 1e-9 * size ? GPC_TOO_CLOSE : GPC_OK;
  const double margin = fmax(0.5, p->shift ? 1e-12 * most : 1e-6 * size);
  range->lowest -= margin;
  range->highest += margin;
  range->bulk_low -= margin;
  range->bulk_high += margin;
  return GPC_OK;
}

static gpc_status prepare(fitting *f, size_t floor) {
  prepared *p = &f->now;
  const size_t n = f->data->n;
  p->data = *f->data;
  p->data.floor = f->settings->floor[floor];
  void *mark = f->memory->mark(f->memory->self);
  double *low = gpc_get_doubles(f->memory, n), *high = gpc_get_doubles(f->memory, n);
  gpc_gp_row_range(&p->data, p->shift, low, high);
  p->data.shift = p->shift;
  p->flat = gpc_gp_is_flat(n, p->shift, low, high);
  gpc_gp_find_range(n, low, high, &p->range);
  f->memory->release(f->memory->self, mark);
  return check_resolution(p);
}

/* Where to begin --------------------------------------------------------------------- */

static double width_of(const gpc_gp_range *range) {
  return range->bulk_high - range->bulk_low;
}

static int estimates_slope(const fitting *f) {
  return f->settings->mean == GPC_MEAN_LINEAR && isnan(f->settings->slope);
}

/* The temperature of some rows: the slope to begin with, and for the picture. */
static void guess_slope(fitting *f, gpc_sample *sample, double start) {
  const prepared *p = &f->now;
  const int logs = f->settings->mean == GPC_MEAN_LOG;
  void *mark = f->memory->mark(f->memory->self);
  double *work =
      gpc_get_doubles(f->memory, gpc_temperature_work(sample->rows, sample->k));
  double beta = 1.0;
  gpc_sample_gather(&p->data, logs, sample);
  const gpc_status status = gpc_sample_temperature(sample, start, p->data.threads,
                                                   f->poll, f->poll_data, work, &beta);
  f->memory->release(f->memory->self, mark);
  f->result->temperature_status = status;
  f->result->beta = beta;
  const int known = status == GPC_OK || status == GPC_AT_UPPER || status == GPC_AT_LOWER;
  f->guess = known && !p->flat ? beta : NAN;
}

/* Where the slope must stop when the rows are separated. */
static void limit_slope(fitting *f) {
  f->now.slope_limit = NAN;
  if (!estimates_slope(f) || !f->settings->separated)
    return;
  const gpc_gp_data *data = &f->now.data;
  const gpc_temperature_data rows = {.n = data->n,
                                     .k = data->k,
                                     .z = data->z,
                                     .label = data->label,
                                     .w = data->w,
                                     .floor = data->floor,
                                     .threads = data->threads};
  gpc_temperature_result result;
  void *mark = f->memory->mark(f->memory->self);
  double *work = gpc_get_doubles(f->memory, gpc_temperature_work(data->n, data->k));
  if (gpc_temperature_fit(&rows, 0.0, 1e-8, 200, f->poll, f->poll_data, work, &result) ==
      GPC_AT_UPPER)
    f->now.slope_limit = result.beta;
  f->memory->release(f->memory->self, mark);
}

/* The slope: free between limits, or held. */
static void set_slope(const fitting *f, gpc_visitor *visitor, double *slope) {
  const double width = width_of(&f->now.range);
  const int held = !estimates_slope(f) || isnan(f->guess);
  visitor->slope_free = !held;
  if (held) {
    const double given = f->settings->slope;
    *slope = estimates_slope(f) || isnan(given) ? 1.0 : given;
    return;
  }
  visitor->slope_low = 0.01 / width;
  visitor->slope_high = isnan(f->now.slope_limit) ? fmax(100.0 * f->guess, 1000.0 / width)
                                              : fmax(f->now.slope_limit, 0.01 / width);
  *slope = fmin(fmax(f->begun ? *slope : f->guess, visitor->slope_low),
                visitor->slope_high);
}

/* Inducing inputs evenly over the bulk, or as given. */
static void place_inducing(const fitting *f, size_t m, double *inducing) {
  const gpc_gp_range *range = &f->now.range;
  for (size_t i = 0; i < m; i++)
    inducing[i] = f->settings->inducing ? f->settings->inducing[i]
                  : i + 1 == m          ? range->bulk_high
                                        : range->bulk_low + width_of(range) * (double)i /
                                                                ((double)m - 1.0);
}

static double span_of(size_t m, const double *x, double low, double high) {
  for (size_t i = 0; i < m; i++) {
    low = fmin(low, x[i]);
    high = fmax(high, x[i]);
  }
  return high - low;
}

/* Limits of the hyperparameters for these inducing inputs. */
static gpc_status set_limits(fitting *f, const gpc_params *at,
                             gpc_optimise_settings *how) {
  const gpc_fit_settings *s = f->settings;
  const gpc_gp_range *range = &f->now.range;
  const double width = width_of(range);
  const double spacing =
      span_of(at->m, at->inducing, INFINITY, -INFINITY) / ((double)at->m - 1.0);
  /* a shorter lengthscale would need a line of thousands of nodes */
  f->result->shortest =
      span_of(at->m, at->inducing, range->bulk_low, range->bulk_high) / 300.0;
  if (s->lengthscale < f->result->shortest)
    return GPC_TOO_SHORT;
  gpc_trust_box *box = &how->box;
  box->s2_free = isnan(s->variance);
  box->l_free = isnan(s->lengthscale);
  box->inducing_free = s->move;
  box->radius = 1.0;
  box->s2_low = 1e-6;
  box->s2_high = 1e4;
  box->l_low = fmax(fmin(spacing, width), f->result->shortest);
  box->l_high = fmax(4.0 * width, 2.0 * box->l_low);
  box->max_steps = 30;
  box->tol = 0.1 * how->tol;
  box->fraction = 1e-4;
  box->poll = f->poll;
  box->poll_data = f->poll_data;
  return GPC_OK;
}

/* Weight of all rows. */
static double total_weight(const gpc_gp_data *data) {
  double sum = 0.0;
  for (size_t i = 0; i < data->n; i++)
    sum += gpc_gp_weight(data, i);
  return sum;
}

/* Lengthscales (and with them variances) to begin from: a quarter and a sixteenth of the
 * range are the two basins that real data have. */
static void set_start(const fitting *f, const gpc_trust_box *box, gpc_params *at,
                      double start_l[2], gpc_optimise_settings *how) {
  const gpc_fit_settings *s = f->settings;
  const double width = width_of(&f->now.range);
  how->start_l = start_l;
  how->starts = 0;
  at->hyper.sn2 = s->noise;
  at->hyper.s2 = !isnan(s->variance) ? s->variance : f->begun ? at->hyper.s2 : 1.0;
  if (!f->warm && isnan(s->variance))
    at->hyper.s2 = fmin(fmax(at->hyper.s2, 1e-3), 100.0);
  if (!isnan(s->lengthscale)) {
    at->hyper.l = s->lengthscale;
  } else if (f->begun) {
    at->hyper.l = fmin(fmax(at->hyper.l, box->l_low), box->l_high);
  } else {
    how->starts = 2;
    for (size_t i = 0; i < 2; i++)
      start_l[i] = fmin(fmax(width / (i ? 16.0 : 4.0), box->l_low), box->l_high);
    at->hyper.l = start_l[0];
    if (start_l[1] == start_l[0])
      how->starts = 1;
  }
}

/* Optimising ------------------------------------------------------------------------- */

/* Twice as many inducing inputs, with the posterior carried over. */
static void double_inducing(fitting *f) {
  gpc_params more = gpc_params_get(f->memory, 2 * f->at.m);
  place_inducing(f, more.m, more.inducing);
  void *mark = f->memory->mark(f->memory->self);
  double *work =
      gpc_get_doubles(f->memory, gpc_params_move_work(f->at.m, 2 * f->at.m));
  f->warm = gpc_params_move(&f->at, work, &more) == GPC_OK;
  f->memory->release(f->memory->self, mark);
  /* A variance that has grown beyond all measure made up for a lengthscale that could not
   * shrink. */
  if (more.hyper.s2 > 30.0) {
    more.hyper.s2 = 1.0;
    f->warm = 0;
    more.slope = f->guess;
  }
  f->at = more;
}

/* The fit of one floor, from f->at if it has begun. quick: only to compare floors, until
 * the bound to_beat is out of reach. */
static gpc_status optimise(fitting *f, int quick, double to_beat, gpc_optimiser *o) {
  const gpc_fit_settings *s = f->settings;
  const double rows = total_weight(&f->now.data);
  double start_l[2];
  for (;;) {
    gpc_optimise_settings how = {
        .tol = quick ? fmax(s->tol, 1e-3) : s->tol,
        .elbo_to_beat = to_beat,
        .max_passes = quick && s->max_passes > 12 ? 12 : s->max_passes};
    gpc_status status = set_limits(f, &f->at, &how);
    if (status != GPC_OK)
      return status;
    const double most = fmin(MOST_INDUCING, rows / ROWS_PER_INDUCING);
    if (!quick && s->m == 0 && 2.0 * (double)f->at.m <= most)
      how.short_l = SHORT * width_of(&f->now.range) / ((double)f->at.m - 1.0);
    set_slope(f, o->visitor, &f->at.slope);
    set_start(f, &how.box, &f->at, start_l, &how);
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

/* The line for the present floor, and what visits need. */
static int set_visitor(fitting *f, gpc_ruler *ruler, gpc_visitor *visitor) {
  const gpc_fit_settings *s = f->settings;
  memset(visitor, 0, sizeof *visitor);
  visitor->data = &f->now.data;
  visitor->memory = f->memory;
  visitor->prior.mean = s->mean;
  visitor->cov = s->cov;
  visitor->ruler = ruler;
  return gpc_ruler_lay(&f->now.data, &visitor->prior, &f->now.range,
                       f->now.data.k >= MANY_CLASSES, f->memory, ruler);
}

static void begin_optimiser(fitting *f, gpc_visitor *visitor, gpc_optimiser *o) {
  memset(o, 0, sizeof *o);
  o->visitor = visitor;
  o->poll = f->poll;
  o->poll_data = f->poll_data;
  o->watch = f->progress;
}

/* The floor with the highest bound, by quick fits, each begun where the best so far
 * ended; f is left with the best. */
static gpc_status choose_floor(fitting *f, gpc_sample *sample) {
  gpc_status worst = GPC_NOT_PD;
  double best = -INFINITY;
  const size_t m = f->at.m;
  gpc_params best_at = gpc_params_get(f->memory, m);
  prepared best_now = f->now;
  best_now.shift = f->now.shift ? gpc_get_doubles(f->memory, f->data->n) : NULL;
  int best_passes = 0;
  for (size_t i = 0; i < f->settings->floors; i++) {
    gpc_ruler ruler;
    gpc_visitor visitor;
    gpc_optimiser o;
    gpc_status status = prepare(f, i);
    if (status != GPC_OK)
      return status;
    limit_slope(f);
    if (i == 0 || isnan(f->guess))
      guess_slope(f, sample, 0.0);
    f->at = (gpc_params){.m = m,
                         .hyper = best_at.hyper,
                         .slope = best_at.slope,
                         .inducing = f->at.inducing,
                         .q_mean = f->at.q_mean,
                         .q_cov = f->at.q_cov};
    f->begun = best > -INFINITY;
    f->warm = 0;
    void *mark = f->memory->mark(f->memory->self);
    place_inducing(f, m, f->at.inducing);
    status = GPC_TOO_COARSE;
    if (set_visitor(f, &ruler, &visitor)) {
      begin_optimiser(f, &visitor, &o);
      status = optimise(f, 1, best, &o);
    }
    f->memory->release(f->memory->self, mark);
    if (status != GPC_OK && status != GPC_NOT_CONVERGED) { /* another floor may do */
      worst = status;
      continue;
    }
    f->result->passes_floor += o.progress.passes;
    if (o.here.elbo > best) {
      const prepared swap = best_now;
      best = o.here.elbo;
      best_passes = o.progress.passes;
      best_now = f->now;
      best_now.data.shift = best_now.shift;
      f->now.shift = swap.shift;
      gpc_params_copy(&f->at, &best_at);
      f->result->floor = i;
    }
  }
  if (best == -INFINITY)
    return worst;
  f->result->passes_floor -= best_passes;
  f->result->passes = best_passes;
  f->now = best_now;
  f->at = best_at;
  f->begun = f->warm = 1;
  return GPC_OK;
}

/* Effects of the classes on top of the process. */
static gpc_status add_effects(fitting *f, gpc_optimiser *o) {
  const gpc_fit_settings *s = f->settings;
  gpc_optimise_settings limits = {.tol = s->tol};
  int some = 0;
  for (int b = 0; b < GPC_BLOCKS; b++)
    some |= s->effects[b];
  if (!some || f->now.flat)
    return GPC_OK;
  f->result->tried = 1;
  if (s->many) {
    const gpc_offsets_settings how = {.variance = s->effect_variance[GPC_OFFSET],
                                      .least_score = s->least_score,
                                      .tol = fmax(1e-2, s->tol),
                                      .max_passes = s->max_passes,
                                      .poll = f->poll,
                                      .poll_data = f->poll_data};
    gpc_offsets_fit(o->visitor, &o->here, &how, &f->result->offsets);
    return GPC_OK;
  }
  set_limits(f, &f->at, &limits);
  gpc_effects_settings how = {.slope = isnan(f->guess) ? f->at.slope : f->guess,
                              .s2_free = limits.box.s2_free,
                              .l_free = limits.box.l_free,
                              .s2_low = limits.box.s2_low,
                              .s2_high = limits.box.s2_high,
                              .l_low = limits.box.l_low,
                              .l_high = limits.box.l_high,
                              .worthless = s->worthless,
                              .tol = fmax(1e-2, s->tol),
                              .max_passes = s->max_passes,
                              .poll = f->poll,
                              .poll_data = f->poll_data};
  memcpy(how.wanted, s->effects, sizeof how.wanted);
  memcpy(how.variance, s->effect_variance, sizeof how.variance);
  return gpc_effects_fit(o->visitor, &o->here, &f->now.range, &how, &f->result->effects);
}

/* What is reported beside the fit. */
static void describe(fitting *f, gpc_optimiser *o, gpc_sample *sample) {
  gpc_fit_result *result = f->result;
  const gpc_fit_settings *s = f->settings;
  const int logs = s->mean == GPC_MEAN_LOG;
  const gpc_prior prior = gpc_params_prior(&f->at, &o->visitor->prior);
  result->at = f->at;
  result->elbo = o->here.elbo;
  result->promise = o->progress.promise;
  result->passes += o->progress.passes;
  result->steps = o->progress.steps;
  result->range = f->now.range;
  result->farthest = f->now.farthest;
  result->flat = f->now.flat;
  result->separated = !isnan(f->now.slope_limit);
  result->slope_cross = gpc_get_doubles(f->memory, f->at.m);
  memset(result->slope_cross, 0, f->at.m * sizeof(double));
  if (o->visitor->slope_free)
    result->slope_var = gpc_visit_slope(o->visitor, &o->here, result->slope_cross);
  result->sparse = o->visitor->ruler->rows != NULL;
  result->nodes = o->here.nodes->g;
  result->fine_nodes = result->sparse ? o->visitor->ruler->rows->line.g : 0;
  double lowest = result->range.lowest;
  if (logs)
    lowest = fmax(lowest, f->now.data.floor);
  result->increasing =
      gpc_shape_increasing(&prior, &f->at, lowest, result->range.highest, f->memory);
  if (!result->increasing)
    result->changed =
        gpc_shape_changed(&f->now.data, &prior, &o->here, s->arg,
                          gpc_get_doubles(f->memory, o->here.nodes->g));
  /* the picture */
  for (size_t i = 0; i < 2; i++) {
    const double end = i ? result->range.bulk_high : result->range.bulk_low;
    result->ends[i] = logs ? log(fmax(end, DBL_MIN)) : end;
  }
  if (result->ends[1] <= result->ends[0]) {
    result->ends[1] = result->ends[0] + 0.5;
    result->ends[0] -= 0.5;
  }
  if (s->floors > 1) /* the sample is that of another floor */
    guess_slope(f, sample, estimates_slope(f) ? f->at.slope : 1.0);
  result->sample_rows = sample->rows;
  result->truth = gpc_get_doubles(f->memory, s->bins + 2);
  result->other = gpc_get_doubles(f->memory, s->bins + 2);
  gpc_seen_count(&f->now.data, logs, sample, result->ends[0], result->ends[1], s->bins,
                 result->truth, result->other);
}

gpc_status gpc_gp_fit(const gpc_gp_data *data, const gpc_fit_settings *settings,
                      const gpc_memory *memory, gpc_poll poll, void *poll_data,
                      gpc_progress *progress, gpc_fit_result *result) {
  const size_t m = settings->m ? settings->m : FIRST_INDUCING;
  gpc_ruler ruler;
  gpc_visitor visitor;
  gpc_optimiser optimiser;
  memset(result, 0, sizeof *result);
  fitting f = {.data = data,
               .settings = settings,
               .memory = memory,
               .poll = poll,
               .poll_data = poll_data,
               .progress = progress,
               .result = result,
               .at = gpc_params_get(memory, m),
               .guess = NAN};
  f.now.shift = settings->centre ? gpc_get_doubles(memory, data->n) : NULL;
  gpc_sample sample = gpc_sample_get(memory, gpc_sample_size(data->n, data->k), data->k);
  gpc_status status;
  if (settings->floors > 1) {
    status = choose_floor(&f, &sample);
  } else {
    status = prepare(&f, 0);
    if (status == GPC_OK) {
      limit_slope(&f);
      guess_slope(&f, &sample, 0.0);
      place_inducing(&f, m, f.at.inducing);
    }
  }
  result->range = f.now.range;
  result->farthest = f.now.farthest;
  if (status != GPC_OK)
    return status;
  if (!set_visitor(&f, &ruler, &visitor))
    return GPC_TOO_COARSE;
  begin_optimiser(&f, &visitor, &optimiser);
  status = optimise(&f, 0, -INFINITY, &optimiser);
  if (status != GPC_OK && status != GPC_NOT_CONVERGED)
    return status;
  describe(&f, &optimiser, &sample);
  const gpc_status effects = add_effects(&f, &optimiser);
  return effects == GPC_OK ? status : effects;
}
