/* init.c: registration only. Add a declaration and a CALL() line per routine. */
#include "r_util.h"
#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>

#define CALL(name, args)                                                                 \
  { #name, (DL_FUNC)&r_##name, args }

SEXP r_scan(SEXP x, SEXP threads, SEXP keep);
SEXP r_pair_range(SEXP x, SEXP least);
SEXP r_normalise(SEXP x, SEXP slack);
SEXP r_pair_probs(SEXP x, SEXP flip);
SEXP r_softmax(SEXP z, SEXP beta, SEXP floor, SEXP threads);
SEXP r_log_softmax(SEXP z, SEXP threads);
SEXP r_temperature_fit(SEXP z, SEXP labels, SEXP weights, SEXP floor, SEXP start,
                       SEXP tol, SEXP max_passes, SEXP threads);

/* r_gp_*.c */
SEXP r_gp_bound(SEXP z, SEXP labels, SEXP weights, SEXP inducing, SEXP q_mean, SEXP q_cov,
                SEXP hyper, SEXP log_mean, SEXP diag, SEXP route, SEXP step,
                SEXP threads);
SEXP r_gp_fit(SEXP z, SEXP labels, SEXP weights, SEXP settings, SEXP threads);
SEXP r_gp_centre(SEXP at, SEXP centre, SEXP range, SEXP threads);
SEXP r_gp_outside(SEXP at, SEXP rows, SEXP range);
SEXP r_gp_predict(SEXP fit, SEXP at, SEXP approx, SEXP threads);
SEXP r_gp_latent(SEXP fit, SEXP z);
SEXP r_gp_latent_rows(SEXP fit, SEXP at, SEXP threads);
SEXP r_centred(SEXP fit, SEXP z, SEXP at, SEXP p);
SEXP r_gp_draws(SEXP fit, SEXP at, SEXP functions, SEXP keep, SEXP threads);
SEXP r_gp_interval(SEXP fit, SEXP at, SEXP functions, SEXP ends, SEXP threads);
/* r_gp_effects.c */
SEXP r_effects_short(SEXP effects, SEXP classes, SEXP before, SEXP alike);
SEXP r_effects_firm(SEXP cov);
SEXP r_single_size(SEXP x);
SEXP r_effects_predict(SEXP fit, SEXP at, SEXP approx, SEXP threads);
SEXP r_effects_changed(SEXP fit, SEXP at, SEXP rows, SEXP threads);
SEXP r_largest_score(SEXP x, SEXP how);
SEXP r_coarse_scores(SEXP x, SEXP unit, SEXP step);
SEXP r_short_scores(SEXP x, SEXP top);
SEXP r_median_below(SEXP x);
SEXP r_gp_changed(SEXP fit, SEXP at, SEXP rows, SEXP wide, SEXP offset, SEXP threads);
SEXP r_effects_latent(SEXP fit, SEXP at, SEXP threads);
SEXP r_effects_draws(SEXP fit, SEXP at, SEXP functions, SEXP keep, SEXP threads);
SEXP r_effects_interval(SEXP fit, SEXP at, SEXP functions, SEXP ends, SEXP threads);
SEXP r_offsets_apply(SEXP p, SEXP offset, SEXP rows);
SEXP r_pack_units(SEXP x);
SEXP r_wide_apply(SEXP p, SEXP at, SEXP wide, SEXP tilted, SEXP threads);
SEXP r_wide_latent(SEXP at, SEXP wide);
SEXP r_wide_shift(SEXP p, SEXP mean, SEXP sd, SEXP e);
SEXP r_wide_draws(SEXP p, SEXP at, SEXP wide, SEXP e);
SEXP r_draw_quantiles(SEXP draws, SEXP rows, SEXP ends);
SEXP r_rising_limits(SEXP draws, SEXP z, SEXP ends);
/* r_merge.c */
SEXP r_merge_rows(SEXP f, SEXP cell, SEXP label, SEXP weight, SEXP most);
/* r_query.c */
SEXP r_query_information(SEXP fit, SEXP at, SEXP offset);
SEXP r_query_greedy(SEXP fit, SEXP at, SEXP offset, SEXP count);
/* r_mono.c */
SEXP r_mono_table(SEXP fit);
SEXP r_mono_inputs(SEXP fit);
SEXP r_mono_predict(SEXP fit, SEXP at, SEXP approx, SEXP threads);
SEXP r_mono_draws(SEXP fit, SEXP at, SEXP functions, SEXP keep, SEXP threads);
SEXP r_mono_interval(SEXP fit, SEXP at, SEXP functions, SEXP ends, SEXP threads);
SEXP r_mono_cost(SEXP fit, SEXP at, SEXP labels, SEXP weights, SEXP threads);
SEXP r_mono_latent(SEXP fit, SEXP t);
SEXP r_mono_clear(SEXP p);
/* r_measures.c */
SEXP r_bin_sums(SEXP forecast, SEXP spec);
SEXP r_sums_error(SEXP sums, SEXP spec);
SEXP r_measure_totals(SEXP forecast);
SEXP r_measure_spread(SEXP forecast);
SEXP r_measure_log_loss(SEXP forecast, SEXP eps);
SEXP r_measure_brier(SEXP forecast, SEXP event);
SEXP r_corp_fit(SEXP forecast, SEXP event);
/* r_resample.c */
SEXP r_boot_rows(SEXP forecast, SEXP eps, SEXP groups, SEXP units);
SEXP r_sign_draw(SEXP units, SEXP seed, SEXP first, SEXP count);
SEXP r_slope_at(SEXP forecast, SEXP a);
SEXP r_slope_rows(SEXP forecast);
SEXP r_slope_draw(SEXP forecast, SEXP seed, SEXP first, SEXP count);
SEXP r_boot_draw(SEXP rows, SEXP seed, SEXP first, SEXP count);
SEXP r_null_draw(SEXP forecast, SEXP spec, SEXP groups, SEXP units, SEXP seed, SEXP first,
                 SEXP count);
SEXP r_band_draw(SEXP forecast, SEXP event, SEXP at, SEXP fit, SEXP groups, SEXP units,
                 SEXP seed, SEXP first, SEXP count);
/* r_validate.c */
SEXP r_smooth_fit(SEXP knots, SEXP x, SEXP w, SEXP h);
SEXP r_smooth_basis(SEXP knots, SEXP x);
SEXP r_smooth_distances(SEXP curves, SEXP x, SEXP w, SEXP inner);
SEXP r_smooth_excess(SEXP eta, SEXP w, SEXP step);
SEXP r_recal_fit(SEXP x, SEXP hit, SEXP weights, SEXP hold);
SEXP r_concordance(SEXP x, SEXP hit, SEXP weights);
SEXP r_two_means(SEXP z, SEXP labels, SEXP weights, SEXP logits);
/* r_own_rows.c */
SEXP r_own_rows(SEXP probs, SEXP scores, SEXP top, SEXP labels, SEXP share, SEXP logits);
/* r_ova.c, r_curves.c, r_scaling.c */
SEXP r_log_odds(SEXP z, SEXP logits, SEXP threads);
SEXP r_ova_predict(SEXP z, SEXP logits, SEXP maps, SEXP threads);
SEXP r_ova_map(SEXP score, SEXP rest, SEXP maps, SEXP count);
SEXP r_curves_fit(SEXP scores, SEXP labels, SEXP weights, SEXP method, SEXP bins,
                  SEXP total, SEXP constant, SEXP threads);
SEXP r_scaling_fit(SEXP scores, SEXP labels, SEXP weights, SEXP constant, SEXP options,
                   SEXP threads);
/* r_compare.c */
SEXP r_row_scores(SEXP forecast, SEXP eps, SEXP rps);
SEXP r_murphy(SEXP forecast, SEXP event, SEXP theta);
SEXP r_smooth_ece(SEXP x, SEXP residual, SEXP total, SEXP sigma, SEXP tol);
SEXP r_prior_apply(SEXP probs, SEXP ratio);
SEXP r_prior_em(SEXP probs, SEXP from, SEXP tol, SEXP max_iter);
/* r_calibtest.c */
SEXP r_coxrecal_draw(SEXP forecast, SEXP seed, SEXP first, SEXP count);
SEXP r_coxrecal_fit(SEXP forecast);
SEXP r_spread_draw(SEXP forecast, SEXP square, SEXP seed, SEXP first, SEXP count);
SEXP r_mcb_draw(SEXP forecast, SEXP seed, SEXP first, SEXP count);
SEXP r_skce_draw(SEXP forecast, SEXP kernel, SEXP width, SEXP seed, SEXP first,
                 SEXP count);
SEXP r_mcb_sign_draw(SEXP forecast, SEXP group, SEXP units, SEXP seed, SEXP first,
                     SEXP count);
SEXP r_skce_groups(SEXP forecast, SEXP kernel, SEXP width, SEXP group, SEXP units);
SEXP r_skce_pairs(SEXP forecast, SEXP kernel, SEXP width);
SEXP r_skce_distances(SEXP forecast, SEXP kernel, SEXP rows);
/* r_monitor.c */
SEXP r_monitor_sums(SEXP probs, SEXP labels, SEXP weights, SEXP edge, SEXP t, SEXP d);
/* r_linear.c */
SEXP r_linear_fit(SEXP z, SEXP labels, SEXP weights, SEXP settings);
SEXP r_linear_predict(SEXP z, SEXP floor, SEXP offset, SEXP weights);
/* r_laplace.c */
SEXP r_laplace_temperature(SEXP z, SEXP labels, SEXP weights, SEXP floor, SEXP beta0,
                           SEXP precision, SEXP threads);
SEXP r_laplace_logistic(SEXP x, SEXP targets, SEXP weights, SEXP m0, SEXP p0);
SEXP r_laplace_softmax(SEXP z, SEXP labels, SEXP weights, SEXP floor, SEXP matrix,
                       SEXP m0, SEXP p0);
/* r_venn.c */
SEXP r_venn_fit(SEXP scores, SEXP labels, SEXP code, SEXP weights);

static const R_CallMethodDef calls[] = {
    CALL(scan, 3),
    CALL(pair_range, 2),
    CALL(normalise, 2),
    CALL(pair_probs, 2),
    CALL(softmax, 4),
    CALL(log_softmax, 2),
    CALL(temperature_fit, 8),
    CALL(linear_fit, 4),
    CALL(linear_predict, 4),
    CALL(gp_bound, 12),
    CALL(gp_fit, 5),
    CALL(gp_centre, 4),
    CALL(gp_outside, 3),
    CALL(gp_predict, 4),
    CALL(gp_draws, 5),
    CALL(gp_interval, 5),
    CALL(gp_latent, 2),
    CALL(gp_latent_rows, 3),
    CALL(centred, 4),
    CALL(effects_predict, 4),
    CALL(effects_changed, 4),
    CALL(gp_changed, 6),
    CALL(largest_score, 2),
    CALL(coarse_scores, 3),
    CALL(short_scores, 2),
    CALL(median_below, 1),
    CALL(effects_short, 4),
    CALL(effects_firm, 1),
    CALL(single_size, 1),
    CALL(effects_latent, 3),
    CALL(effects_draws, 5),
    CALL(effects_interval, 5),
    CALL(offsets_apply, 3),
    CALL(pack_units, 1),
    CALL(wide_apply, 5),
    CALL(wide_latent, 2),
    CALL(wide_shift, 4),
    CALL(wide_draws, 4),
    CALL(draw_quantiles, 3),
    CALL(rising_limits, 3),
    CALL(merge_rows, 5),
    CALL(query_information, 3),
    CALL(query_greedy, 4),
    CALL(mono_table, 1),
    CALL(mono_inputs, 1),
    CALL(mono_predict, 4),
    CALL(mono_draws, 5),
    CALL(mono_interval, 5),
    CALL(mono_cost, 5),
    CALL(mono_latent, 2),
    CALL(mono_clear, 1),
    CALL(bin_sums, 2),
    CALL(sums_error, 2),
    CALL(measure_totals, 1),
    CALL(measure_spread, 1),
    CALL(measure_log_loss, 2),
    CALL(measure_brier, 2),
    CALL(corp_fit, 2),
    CALL(boot_rows, 4),
    CALL(sign_draw, 4),
    CALL(slope_at, 2),
    CALL(slope_rows, 1),
    CALL(slope_draw, 4),
    CALL(boot_draw, 4),
    CALL(null_draw, 7),
    CALL(band_draw, 9),
    CALL(smooth_fit, 4),
    CALL(smooth_basis, 2),
    CALL(smooth_distances, 4),
    CALL(smooth_excess, 3),
    CALL(recal_fit, 4),
    CALL(concordance, 3),
    CALL(two_means, 4),
    CALL(own_rows, 6),
    CALL(log_odds, 3),
    CALL(ova_predict, 4),
    CALL(ova_map, 4),
    CALL(curves_fit, 8),
    CALL(scaling_fit, 6),
    CALL(row_scores, 3),
    CALL(murphy, 3),
    CALL(smooth_ece, 5),
    CALL(prior_apply, 2),
    CALL(prior_em, 4),
    CALL(coxrecal_draw, 4),
    CALL(coxrecal_fit, 1),
    CALL(spread_draw, 5),
    CALL(mcb_draw, 4),
    CALL(skce_draw, 6),
    CALL(mcb_sign_draw, 6),
    CALL(skce_groups, 5),
    CALL(skce_pairs, 3),
    CALL(skce_distances, 3),
    CALL(monitor_sums, 6),
    CALL(laplace_temperature, 7),
    CALL(laplace_logistic, 5),
    CALL(laplace_softmax, 7),
    CALL(venn_fit, 4),
    {NULL, NULL, 0},
};

void attribute_visible R_init_gpcalib(DllInfo *dll) {
  r_remember_process();
  R_registerRoutines(dll, NULL, calls, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
}
