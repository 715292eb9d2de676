# Whether the next labels should train the classifier or calibrate it.

#' Should the next labels go to training or to calibration?
#'
#' Labels can train a classifier or calibrate it. `calib_switch()` says whether the map of a fit is known well enough, so that further
#' labels are better used for training.
#'
#' # The rule
#' The mean over the pool of the mutual information between a label and the map (see [calib_query()]),
#' \deqn{\mathrm{gain} = \frac1N \sum_n I(y_n; \theta),}{gain = mean_n I(y_n; theta),}
#' is what a label drawn at random tells about the map, in nats. It is at the same time the log loss that
#' not knowing the map costs: the expected log loss of the fit exceeds that of the true map by it, if the
#' posterior is right. No number of further labels can gain more than that. So labels go to calibration while
#' `gain` is above `threshold`, and to training from then on. A classifier that goes on learning changes, and its map with it: ask again
#' when the fit is renewed.
#'
#' With d parameters that the data have to determine the gain is about d / (2 n) after n labels. The default of
#' 0.01 is reached after some hundred labels. `labels_needed` uses this law: about how many more random labels bring the gain down to the
#' threshold.
#'
#' # How far to trust it
#' The gain covers only the uncertainty that the posterior represents. With two classes it agrees with what a fit to 2000 further labels gained on held-out rows
#' (`bench/results/switch.md` in the sources: after 100 labels .012 as said and .013 in fact on one set, .008 and .006 on another). With several classes and few labels it
#' is too small, since effects of single classes that the fit has not found yet are not in it: after 100 labels of three sets .017 to .026 as said and .07 to .15 in fact;
#' after 1000 labels the two agree. The decision was right in these cases all the same, but `labels_needed` is then too low. So set labels aside
#' in small steps, and ask again after each.
#'
#' In the paper's experiment in active learning (`bench/results/paper/active.md`, ten shuffles) a Mondrian forest that asks for labels by the entropy of its
#' predictions has 10,139 of 14,000 rows labelled uncalibrated, 4342 when 1000 labels are set aside at fixed points, and 4228 when this rule sets labels aside, which
#' are then 380. The error on held-out rows is the lowest with the rule; on other drives it is the same without calibration.
#'
#' @inheritParams calib_query
#' @param fit A fit of [calib_gp()] on the labels that were set aside for calibration so far.
#' @param scores Scores of unlabelled rows like those to be predicted.
#' @param threshold Labels go to training when the gain, in nats of log loss, is below this value.
#' @return An object of class `calib_switch`: a list of `decision` (`"calibration"` or `"training"`), `gain`, `best` (the largest
#'   information of a single row of the pool), `threshold`, `labels` (how many the fit has seen), `labels_needed` (0 for
#'   `"training"`) and `pool` (its number of rows).
#' @seealso [calib_query()] for which rows to label.
#' @references
#' Houlsby, N., Huszár, F., Ghahramani, Z. and Lengyel, M. (2011). Bayesian active learning for classification and
#' preference learning. arXiv:1112.5745.
#' @examples
#' pool <- rain_nyc$prob[1001:2000]
#' few <- calib_gp(rain_nyc$prob[1:60], rain_nyc$rain[1:60])
#' calib_switch(few, pool)
#' many <- calib_gp(rain_nyc$prob[1:1000], rain_nyc$rain[1:1000])
#' calib_switch(many, pool)$decision
#' @export
calib_switch <- function(fit, scores, threshold = 0.01, ..., threads = 1) {
  check_dots_empty(...)
  fit <- check_object(fit, "fit")
  threshold <- check_number(threshold, "threshold", 0, 100)
  if (missing(scores)) stop_input("scores", "is missing", "Give the scores of rows like those to be predicted.")
  if (!inherits(fit, "calib_gp")) {
    stop_input("fit", paste0("is of class ", class(fit)[1], ", which has no posterior of its map"), "Give a fit of calib_gp().")
  }
  data <- check_pool(fit, scores, threads)
  posterior <- query_posterior(fit)
  information <- .Call(C_query_information, posterior$fit, gp_newdata_free(fit, data), posterior$offset)
  gain <- mean(information)
  labels <- old_weight(fit)
  calibrate <- gain > threshold
  structure(list(decision = if (calibrate) "calibration" else "training", gain = gain, best = max(information), threshold = threshold,
    labels = labels, labels_needed = if (calibrate) ceiling(labels * (gain / threshold - 1)) else 0, pool = nrow(data$scores)),
    class = "calib_switch")
}

#' @rdname calib_switch
#' @param x An answer of `calib_switch()`.
#' @export
print.calib_switch <- function(x, ...) {
  say <- function(value) format(value, digits = 2)
  cat("<calib_switch> next labels to: ", x$decision, "\n", sep = "")
  cat("  more labels can gain ", say(x$gain), " nats of log loss, threshold ", say(x$threshold), "\n", sep = "")
  if (is.finite(x$labels_needed) && x$labels_needed > 0) {
    cat("  about ", format(x$labels_needed, big.mark = ","), " random labels more would reach it\n", sep = "")
  }
  cat("  fitted to ", format(x$labels, big.mark = ",", digits = 6), " labels, asked for ", say_count(x$pool, "row"),
    "; the most a single one tells: ", say(x$best), "\n", sep = "")
  invisible(x)
}
