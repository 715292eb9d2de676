/* gp_describe.c: what a fit reports beside its posterior (gp_fitting.h). */
#include "gp_fitting.h"
#include "gp_shape.h"
#include "seen.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* What is reported beside the fit. */
void gpc_fitting_describe(gpc_fitting *f, gpc_optimiser *o) {
  gpc_fit_result *result = f->result;
  const gpc_fit_settings *s = f->settings;
  const int logs = gpc_mean_of_logs(s->mean);
  result->at = f->at;
  const gpc_prior prior = gpc_params_prior(&result->at, &o->visitor->prior);
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
      gpc_shape_increasing(&prior, &result->at, lowest, result->range.highest, f->memory);
  if (!result->increasing)
    result->changed = gpc_shape_changed(&f->now.data, &prior, &o->here, s->arg,
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
  gpc_mono_mass(&o->here, logs, result->ends[0], result->ends[1], GPC_MASS_BINS,
                result->mass);
  result->sample_rows = gpc_sample_size(f->data->n, f->data->k);
  result->truth = gpc_get_doubles(f->memory, s->bins + 2);
  result->other = gpc_get_doubles(f->memory, s->bins + 2);
  gpc_seen_count(&f->now.data, logs, result->sample_rows, result->ends[0],
                 result->ends[1], s->bins, result->truth, result->other);
}
