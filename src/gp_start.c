/* gp_start.c: where a fit begins: slope, inducing inputs, hyperparameters and their limits
 * (gp_fitting.h). */
#include "gp_fitting.h"
#include "temperature.h"

#include <math.h>

int gpc_start_slope_free(const gpc_fitting *f) {
  return gpc_mean_has_slope(f->settings->mean) && isnan(f->settings->slope);
}

void gpc_start_guess(gpc_fitting *f, gpc_sample *sample, double start) {
  const gpc_prepared *p = &f->now;
  const int logs = gpc_mean_of_logs(f->settings->mean);
  void *mark = f->memory->mark(f->memory->self);
  double *work =
      gpc_get_doubles(f->memory, gpc_temperature_work(sample->rows, sample->k));
  double beta = 1.0;
  gpc_sample_gather(&p->data, logs, sample);
  const gpc_status status = gpc_sample_temperature(
      sample, start, gpc_gp_total(&p->data), p->data.threads, f->poll, f->poll_data, work,
      &beta, &f->result->log_beta_error);
  f->memory->release(f->memory->self, mark);
  f->result->temperature_status = status;
  f->result->beta = beta;
  const int known = status == GPC_OK || status == GPC_AT_UPPER || status == GPC_AT_LOWER;
  f->guess = known && !p->flat ? beta : NAN;
  if (f->settings->site) /* a few rows may be of any temperature */
    f->guess = f->settings->begin_slope;
}

void gpc_start_seen(gpc_fitting *f) {
  if (!f->settings->site)
    return;
  gpc_site_range(f->settings->site, &f->now.range);
  f->now.flat = 0;
}

/* Has every row's label its highest score? */
static int separated(const gpc_gp_data *data, const int *arg) {
  for (size_t i = 0; i < data->n; i++)
    if (arg[i] != data->label[i] && gpc_gp_weight(data, i) > 0.0)
      return 0;
  return 1;
}

void gpc_start_limit_slope(gpc_fitting *f) {
  f->now.slope_limit = NAN;
  if (!gpc_start_slope_free(f) || f->settings->site ||
      !separated(f->data, f->settings->arg))
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

void gpc_start_slope(const gpc_fitting *f, gpc_visitor *visitor, double *slope) {
  const double width = gpc_fitting_width(f);
  const int held = !gpc_start_slope_free(f) || isnan(f->guess);
  visitor->slope_free = !held;
  if (held) {
    const double given = f->settings->slope;
    *slope = gpc_start_slope_free(f) || isnan(given) ? 1.0 : given;
    return;
  }
  visitor->slope_low = 0.01 / width;
  visitor->slope_high = isnan(f->now.slope_limit)
                            ? fmax(100.0 * f->guess, 1000.0 / width)
                            : fmax(f->now.slope_limit, 0.01 / width);
  /* The quadratic of confident rows hardly bends: it would let them be forgotten for a map
   * that bends in the bulk of the scores and has no slope beyond. */
  if (f->settings->site && f->settings->slope_factor > 1.0) {
    visitor->slope_low = fmax(visitor->slope_low, f->guess / f->settings->slope_factor);
    visitor->slope_high = fmin(visitor->slope_high, f->guess * f->settings->slope_factor);
  }
  *slope =
      fmin(fmax(f->begun ? *slope : f->guess, visitor->slope_low), visitor->slope_high);
}

void gpc_start_inducing(const gpc_fitting *f, size_t m, double *inducing) {
  const gpc_gp_range *range = &f->now.range;
  for (size_t i = 0; i < m; i++)
    inducing[i] = f->settings->inducing ? f->settings->inducing[i]
                  : i + 1 == m          ? range->bulk_high
                                        : range->bulk_low +
                                     gpc_fitting_width(f) * (double)i / ((double)m - 1.0);
}

static double span_of(size_t m, const double *x, double low, double high) {
  for (size_t i = 0; i < m; i++) {
    low = fmin(low, x[i]);
    high = fmax(high, x[i]);
  }
  return high - low;
}

gpc_status gpc_start_limits(gpc_fitting *f, const gpc_params *at,
                            gpc_optimise_settings *how) {
  const gpc_fit_settings *s = f->settings;
  const gpc_gp_range *range = &f->now.range;
  const double width = gpc_fitting_width(f);
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
  box->l_low = fmax(fmax(fmin(spacing, width), f->result->shortest), s->least_l);
  box->l_high = fmax(4.0 * width, 2.0 * box->l_low);
  box->max_steps = 30;
  box->tol = 0.1 * how->tol;
  box->fraction = 1e-4;
  box->poll = f->poll;
  box->poll_data = f->poll_data;
  return GPC_OK;
}

/* Lengthscales (and with them variances) to begin from: a quarter and a sixteenth of the
 * range are the two basins that real data have. */
void gpc_start_hyper(const gpc_fitting *f, gpc_params *at, double start_l[2],
                     gpc_optimise_settings *how) {
  const gpc_trust_box *box = &how->box;
  const gpc_fit_settings *s = f->settings;
  const double width = gpc_fitting_width(f);
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
