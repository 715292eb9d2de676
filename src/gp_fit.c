/* gp_fit.c: see gp_fit.h. gpc_gp_fit() is the whole fit, from top to bottom:
 *
 *   for every floor, if there is a choice:  prepare, begin, optimise roughly
 *   for the best floor:                     optimise, with more inducing inputs
 *                                           while the lengthscale asks for them,
 *                                           a second time if that is asked for
 *   effects of few classes
 *   describe the result, average over the hyperparameters
 *   effects of many classes
 *
 * Each stage gives back what the next does not read (memory.h). */
#include "gp_fitting.h"

#include <math.h>
#include <string.h>

#define LOST 1.0 /* nats below `worthless` at the end: there are no effects after all */

/* Effects of the classes may be added whose posterior is joint with the process. */
static int joins_effects(const gpc_fitting *f) {
  const gpc_fit_settings *s = f->settings;
  int some = 0;
  for (int b = 0; b < GPC_BLOCKS; b++)
    some |= s->effects[b];
  return some && !s->many && (!f->now.flat || s->effect_site);
}

/* Effects of the classes on top of the process. */
static gpc_status add_effects(gpc_fitting *f, gpc_optimiser *o) {
  const gpc_fit_settings *s = f->settings;
  gpc_optimise_settings limits = {.tol = s->tol};
  if ((f->now.flat && !s->effect_site) || !(s->effects[GPC_OFFSET] || joins_effects(f)))
    return GPC_OK;
  f->result->tried = 1;
  if (s->many) {
    return gpc_many_fit(f, o);
  }
  gpc_start_limits(f, &f->at, &limits);
  const double tol = fmax(1e-2, s->tol);
  gpc_effects_settings how = {.slope = isnan(f->guess) ? f->at.slope : f->guess,
                              .s2_free = limits.box.s2_free,
                              .l_free = limits.box.l_free,
                              .s2_low = limits.box.s2_low,
                              .s2_high = limits.box.s2_high,
                              .l_low = limits.box.l_low,
                              .l_high = limits.box.l_high,
                              .integrate = s->integrate,
                              .width = gpc_fitting_width(f),
                              .worthless = s->worthless,
                              .odds = s->odds,
                              .site = s->effect_site,
                              .freeze = s->freeze,
                              .tol = fmax(tol, s->effects_tol),
                              .enough = fmax(0.1 * tol, s->enough),
                              .max_passes = s->max_passes,
                              .poll = f->poll,
                              .poll_data = f->poll_data};
  memcpy(how.wanted, s->effects, sizeof how.wanted);
  memcpy(how.variance, s->effect_variance, sizeof how.variance);
  gpc_effects_result *effects = &f->result->effects;
  const gpc_status status =
      gpc_effects_fit(o->visitor, &o->here, &f->now.range, &how, effects);
  /* What was promised may not be kept, with a few rows that are nearly separated. */
  if (status == GPC_OK && s->worthless > -INFINITY &&
      effects->elbo - fmax(effects->none, o->here.elbo) < s->worthless - LOST)
    effects->kept = 0;
  return status;
}

/* What is reported, and the posterior of the process for later rows and on average over its
 * hyperparameters. */
static gpc_status finish(gpc_fitting *f, gpc_optimiser *o) {
  const gpc_fit_settings *s = f->settings;
  gpc_fitting_describe(f, o);
  if (s->freeze) {
    const gpc_status frozen = gpc_fitting_freeze(f, o);
    if (frozen != GPC_OK)
      return frozen;
  }
  if (s->integrate && !f->result->effects.kept) {
    gpc_ruler_keep(o->visitor->ruler, 1);
    gpc_fitting_average(f, o);
    gpc_ruler_keep(o->visitor->ruler, 0);
  }
  gpc_visitor_give(o->visitor);
  return GPC_OK;
}

/* The largest stage comes last, or after that of the process at least. What it is to have is
 * asked for first, and given back: so the stages before live in its room (arena.h), and
 * not beside it. */
static void make_room(const gpc_fitting *f) {
  const gpc_fit_settings *s = f->settings;
  const size_t n = f->data->n, k = f->data->k;
  double *one = NULL, *other = NULL;
  if (s->many && s->effects[GPC_OFFSET]) {
    const size_t room = gpc_offsets_room(n, k, s->least_score);
    /* both together, since a stage before may have a longer one, and a bit between them */
    one = room ? gpc_get_doubles(f->memory, room + room / 2 + 16) : NULL;
  } else if (joins_effects(f)) {
    one = gpc_get_doubles(f->memory, gpc_effects_room(k, s->effects));
    other = gpc_get_doubles(f->memory, n * k);
  }
  gpc_give(f->memory, one);
  gpc_give(f->memory, other);
}

gpc_status gpc_gp_fit(const gpc_gp_data *data, const gpc_fit_settings *settings,
                      const gpc_memory *memory, gpc_poll poll, void *poll_data,
                      gpc_progress *progress, gpc_fit_result *result) {
  gpc_laid_line *line = NULL;
  gpc_optimiser optimiser;
  memset(result, 0, sizeof *result);
  gpc_fitting f = {
      .data = data,
      .settings = settings,
      .memory = memory,
      .poll = poll,
      .poll_data = poll_data,
      .progress = progress,
      .result = result,
      .at = gpc_params_get(memory, settings->m ? settings->m : GPC_FIRST_INDUCING),
      .guess = NAN};
  f.now.shift = settings->centre ? gpc_get_doubles(memory, data->n) : NULL;
  make_room(&f);
  gpc_status status = gpc_floors_begin(&f, &line);
  result->range = f.now.range;
  result->farthest = f.now.farthest;
  if (status != GPC_OK)
    return status;
  status = gpc_floors_fit(&f, &line, &optimiser);
  if (!gpc_fitting_done(status))
    return status;
  gpc_optimiser_give(&optimiser);
  gpc_ruler_keep(&line->ruler, 0);
  gpc_status rest = GPC_OK;
  if (!settings->many)
    rest = add_effects(&f, &optimiser);
  if (rest == GPC_OK)
    rest = finish(&f, &optimiser);
  /* effects of many classes leave the process as it was, and have many numbers to keep */
  if (rest == GPC_OK && settings->many) {
    gpc_ruler_give_rows(&line->ruler);
    rest = add_effects(&f, &optimiser);
  }
  return rest == GPC_OK ? status : rest;
}
