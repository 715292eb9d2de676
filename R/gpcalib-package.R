#' gpcalib: calibrate classifiers
#'
#' A classifier that predicts a class with a probability of 90 % should be right in 90 % of such cases. Few classifiers
#' are. gpcalib takes the scores of a hold-out set with their labels, learns how to correct them, and applies the
#' correction to new scores.
#'
#' * **Calibrators**: [calib_gp()], a latent Gaussian process shared by all classes, the default choice;
#'   [calib_temperature()], [calib_vector()], [calib_matrix()], [calib_platt()], [calib_isotonic()], [calib_beta()],
#'   [calib_bbq()], [calib_histogram()] and [calib_none()]. Each returns an object for
#'   [`predict()`][predict.calibrator]; [calib_map()] compares their maps. [calib_fit()] takes columns of a data frame.
#' * **Measures**: [calib_metrics()] for all of them at once; [ece()] and [mce()], [smooth_ece()],
#'   [overconfidence()] and [underconfidence()], [log_loss()], [brier_score()], [rps()] one by one.
#' * **Validation and comparison**: [calib_validate()] for the probability of an event, [net_benefit()] for decisions based on it; [calib_study()] compares
#'   calibrators on your own scores, [compare_forecasts()] forecasts of the same cases; [calib_test()] tests calibration.
#' * **Special situations**: [calib_cv()] where there is no hold-out set, [estimate_prior()] where class
#'   frequencies change.
#' * **Over time**: [`update()`][update.calibrator] with new rows, [calib_monitor()] to detect a loss of calibration,
#'   [calib_query()] and [calib_switch()] where labels are expensive.
#' * **Databases and other languages**: [calib_sql()], [calib_sums()], [calib_counts()], [write_calibrator()].
#' * **Tables and pictures**: [reliability_table()] and [plot_reliability()] for reliability diagrams,
#'   [plot_latent()] and [plot_map()] for the map of a calibrator, [plot_interval()] for
#'   probabilities with their uncertainty, [plot_confidence()] for over- and underconfidence, [plot_murphy()] and
#'   [plot_mcbdsc()] for comparisons.
#' * **Data to try it on**: [letters_nn], [rain_nyc].
#'
#' All functions accept scores and labels in the same forms: see [gpcalib_input].
#'
#' @references
#' Wenger, J., Kjellström, H. and Triebel, R. (2020). Non-parametric calibration for
#' classification. *Proceedings of AISTATS*, PMLR 108, 178-190.
#'
#' @keywords internal
#' @useDynLib gpcalib, .registration = TRUE, .fixes = "C_"
#' @importFrom stats coef nobs predict
#' @importFrom ggplot2 autoplot
"_PACKAGE"

#' @importFrom generics tidy
#' @export
generics::tidy

#' @importFrom generics glance
#' @export
generics::glance

#' @importFrom generics augment
#' @export
generics::augment

#' @seealso For calibrators: [tidy, glance and augment][calibrator]; autoplot: [of their maps][plot_latent],
#'   [of a study][autoplot.calib_study], [of a monitor][autoplot.calib_monitor], [of a validation][calib_validate].
#' @export
ggplot2::autoplot

#' Scores and labels, as every function takes them
#'
#' All calibrators and measures accept scores, labels and weights by the same rules.
#'
#' # Scores
#' A numeric matrix or data frame with one row per case and one column per class. A numeric
#' vector (or a single column) stands for the second of two classes: its probability, or its
#' log-odds with `input = "logits"`.
#'
#' `input = "auto"` treats the scores as probabilities when every value lies in \[0, 1\] and
#' every row sums to 1, both within 0.001, and as logits otherwise; the decision is stored in the fitted object and
#' printed. Probabilities are then clamped to \[0, 1\] and their rows divided by their sum (rows that sum to 1 within
#' 1e-10 are left as they are). Of a vector with values a little above 1 the other class is lost (its probability is 0), which a warning of class
#' `gpcalib_warning_clamped` says: give both columns if there are two. Exact zeros remain zeros; a 1 becomes less by what the other entries of its row add up to. A logit of `-Inf` rules a class out: it is treated
#' as a probability of 0, which calibration may raise slightly, like any other probability of 0. Other infinite values
#' are errors.
#'
#' A single column stands for the class it is named after; without a name, or with another one, for
#' the second. Scores that are taken for logits although they look like probabilities or
#' percentages give a warning of class `gpcalib_warning_input`.
#'
#' # Labels
#' A factor, ordered factor, character or logical vector, or whole numbers, one per row.
#'
#' Columns with names are matched with the classes **by name**, in any order, with or without
#' the prefix `.pred_` that tidymodels uses; names that do not match are an error. Columns
#' without names are taken in the order of the factor's levels, of the sorted values of a
#' character vector, of `FALSE`, `TRUE`, or, for whole numbers, as classes 1 to K. **When a 0
#' occurs among the whole numbers, the columns are classes 0 to K - 1.** Levels that do not
#' occur are kept. (In a subset of 0/1 labels without a 0, classes would be counted from 1; for two classes there is a
#' warning. A factor is safer.)
#'
#' # Weights
#' `weights` are case weights: finite, not negative, not all zero. A weight of two counts like
#' a row given twice.
#'
#' # Errors
#' Bad input raises a condition of class `gpcalib_error_input`. Its message names the argument,
#' what is wrong with it, the first rows concerned, and what to do.
#'
#' @name gpcalib_input
#' @examples
#' # The same two-class forecast in three forms
#' rain <- rain_nyc[1:200, ]
#' log_loss(rain$prob, rain$rain, eps = 1e-4)
#' log_loss(cbind(dry = 1 - rain$prob, rain = rain$prob), rain$rain, eps = 1e-4)
#' log_loss(data.frame(.pred_rain = rain$prob, .pred_dry = 1 - rain$prob), rain$rain, eps = 1e-4)
#'
#' # What a mistake looks like
#' try(log_loss(cbind(a = 1 - rain$prob, b = rain$prob), rain$rain))
NULL
