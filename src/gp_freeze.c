/* gp_freeze.c: what a fit leaves of its rows for later ones (gp_stream.h). */
#include "gp_fitting.h"
#include "gp_stream.h"

#include <math.h>
#include <string.h>

/* The process about which rows are frozen that are not kept: at least this variance, at most
 * this lengthscale (the width over this number). A line, or a map as stiff as few rows ask
 * for, is far from what later rows make of it, and the quadratic about it then misjudges
 * all other maps by nats: the order of the batches would decide. */
#define ROUGH_VARIANCE 1.0
#define ROUGH_PER_WIDTH 8.0
#define ROUGH_TOL 0.05 /* nats */

/* Is the process too stiff to be frozen? rough->hyper is as it should be. */
static int too_stiff(const gpc_fitting *f, const gpc_trust_box *box, gpc_params *rough) {
  const double l = fmax(gpc_fitting_width(f) / ROUGH_PER_WIDTH, box->l_low);
  rough->hyper.s2 = fmax(rough->hyper.s2, ROUGH_VARIANCE);
  rough->hyper.l = fmin(rough->hyper.l, l);
  return rough->hyper.s2 > f->at.hyper.s2 || rough->hyper.l < f->at.hyper.l;
}

/* The fit once more with a process that is not stiff, in rough->here; 0 if the one that
 * there is will do, or has to. */
static int loosen(gpc_fitting *f, gpc_optimiser *o, gpc_optimiser *rough) {
  gpc_optimise_settings how = {.tol = ROUGH_TOL,
                               .elbo_to_beat = -INFINITY,
                               .local = 1,
                               .max_passes = f->settings->max_passes};
  gpc_params at = gpc_params_get(f->memory, f->at.m);
  gpc_params_copy(&f->at, &at);
  gpc_status status = gpc_start_limits(f, &at, &how);
  const gpc_trust_box *box = &how.box;
  const int stiff = status == GPC_OK && box->s2_free && box->l_free &&
                    !box->inducing_free && too_stiff(f, box, &at);
  if (stiff) {
    how.box.s2_free = how.box.l_free = 0;
    memset(rough, 0, sizeof *rough);
    rough->visitor = o->visitor;
    rough->poll = f->poll;
    rough->poll_data = f->poll_data;
    gpc_optimiser_get(rough, at.m);
    gpc_params_copy(&at, &rough->here.at);
    status = gpc_optimise(rough, &how);
    f->result->passes += rough->progress.passes;
    gpc_optimiser_give(rough);
  }
  gpc_params_give(f->memory, &at);
  return stiff && gpc_fitting_done(status);
}

gpc_status gpc_fitting_freeze(gpc_fitting *f, gpc_optimiser *o) {
  const gpc_site *old = f->settings->site;
  gpc_site *site = &f->result->site;
  double *z = gpc_get_doubles(f->memory, GPC_SITE_MOST);
  site->p = gpc_site_knots(old, &f->now.range, z);
  const size_t p = site->p;
  double *psi = gpc_get_doubles(f->memory, p), *b = gpc_get_doubles(f->memory, p);
  double *v = gpc_get_doubles(f->memory, p), *w = gpc_get_doubles(f->memory, p * p);
  gpc_optimiser rough;
  const int loose = f->settings->loosen && loosen(f, o, &rough);
  const gpc_visit *at = loose ? &rough.here : &o->here;
  site->weight = gpc_gp_total(&f->now.data) + (old ? old->weight : 0.0);
  site->bulk_low = f->now.range.bulk_low;
  site->bulk_high = f->now.range.bulk_high;
  site->loss = at->stats.loss;
  site->z = z;
  site->psi = psi;
  site->b = b;
  site->spread = v;
  site->curvature = w;
  const gpc_status status = gpc_site_freeze(o->visitor, at, p, z, psi, b, v, w);
  if (loose)
    gpc_visit_give(f->memory, &rough.here);
  return status;
}
