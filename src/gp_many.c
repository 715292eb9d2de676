/* gp_many.c: effects of many classes on top of the process, which stays as it is
 * (gp_fitting.h). */
#include "gp_fitting.h"
#include "gp_stream.h"

#include <math.h>
#include <string.h>

#define MOST_RISE 0.5 /* as far as the gradient can be taken to change in proportion */

/* The share e by which the map `to` has risen above `from`: to = (1 + e) from, by least
 * squares weighted by the curvature w [p x p], which does not see constants. */
static double rise(size_t p, const double *w, const double *from, const double *to) {
  double up = 0.0, all = 0.0;
  for (size_t j = 0; j < p; j++) {
    double pull = 0.0;
    for (size_t i = 0; i < p; i++)
      pull += w[i + p * j] * from[i];
    up += pull * (to[j] - from[j]);
    all += pull * from[j];
  }
  return all > 0.0 && isfinite(up / all) ? fmin(fmax(up / all, -MOST_RISE), MOST_RISE)
                                         : 0.0;
}

/* Rows seen before, under the map of this fit, eq. (O5a). The old knots are its last
 * nodes. */
static gpc_offsets_site site_under(const gpc_fitting *f, const gpc_visit *map) {
  const gpc_offsets_site *old = f->settings->offsets_site;
  const gpc_site *site = f->settings->site;
  const size_t k = f->data->k;
  double *g = gpc_get_doubles(f->memory, k), *cross = gpc_get_doubles(f->memory, k);
  const double e =
      rise(site->p, site->curvature, old->psi, map->psi + map->nodes->g - site->p);
  for (size_t j = 0; j < k; j++) {
    g[j] = old->g[j] - e * old->cross[j];
    cross[j] = (1.0 + e) * old->cross[j];
  }
  return (gpc_offsets_site){.b = old->b, .g = g, .h = old->h, .cross = cross};
}

/* What later fits are to know of the offsets. */
static gpc_status freeze(gpc_fitting *f, gpc_optimiser *o, const gpc_offsets_site *old) {
  const gpc_site *site = &f->result->site;
  gpc_offsets_result *offsets = &f->result->offsets;
  gpc_offsets_freeze(o->visitor, &o->here, old, offsets);
  offsets->psi = gpc_get_doubles(f->memory, site->p);
  return gpc_visit_psi(o->visitor, &o->here, site->p, site->z, offsets->psi);
}

gpc_status gpc_many_fit(gpc_fitting *f, gpc_optimiser *o) {
  const gpc_fit_settings *s = f->settings;
  gpc_offsets_site old;
  const gpc_offsets_site *site = s->offsets_site ? &old : NULL;
  if (site)
    old = site_under(f, &o->here);
  const gpc_offsets_settings offsets = {.site = site,
                                        .variance = s->effect_variance[GPC_OFFSET],
                                        .least_score = s->least_score,
                                        .full_score = s->full_score,
                                        .tol = fmax(1e-2, s->tol),
                                        .max_passes = s->max_passes,
                                        .poll = f->poll,
                                        .poll_data = f->poll_data};
  gpc_offsets_fit(o->visitor, &o->here, &offsets, &f->result->offsets);
  if (s->effects[GPC_SOFTMAX]) {
    const gpc_wide_settings wide = {.steep = s->wide_site      ? s->wide_site->steep
                                             : isnan(f->guess) ? f->at.slope
                                                               : f->guess,
                                    .power = s->effects[GPC_POWER],
                                    .variance = {s->effect_variance[GPC_OFFSET],
                                                 s->effect_variance[GPC_POWER],
                                                 s->effect_variance[GPC_SOFTMAX]},
                                    .least_score = s->least_wide[0],
                                    .least_worth = s->least_wide[1],
                                    .site = s->wide_site,
                                    .offsets_site = site,
                                    .freeze = s->freeze,
                                    .tol = fmax(5e-2, s->tol),
                                    .max_passes = s->max_passes,
                                    .poll = f->poll,
                                    .poll_data = f->poll_data};
    gpc_wide_fit(o->visitor, &o->here, &f->result->offsets, &wide, &f->result->wide);
  }
  return s->freeze ? freeze(f, o, site) : GPC_OK;
}
