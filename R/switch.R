# Whether the next labels should train the classifier or calibrate it.

#' Should the next labels go to training or to calibration?
#'
#' Labels can train a classifier or calibrate it. `calib_switch()` says whether the calibration map is already estimated
#' precisely enough, so that further labels are better used for training.
#'
#' # The rule
#' The mean over the pool of the mutual information between a label and the map (see [calib_query()]),
#' \deqn{\mathrm{gain} = \frac1N \sum_n I(y_n; \theta),}{gain = mean_n I(y_n; theta),}
#' is the expected information of a random label about the map. It is also the expected excess of the log loss of the
#' fit over that of the true map, if the posterior is right. So no number of further labels can lower the log loss by
#' more than this. Labels therefore go to calibration while `gain` is above `threshold`, and to training after that.
#' When the classifier is trained further, its map changes as well: call `calib_switch()` again with the next fit.
#'
#' With d effective parameters, the gain is about d / (2 n) after n labels. The default threshold of 0.01 is typically
#' reached after a few hundred labels. `labels_needed` uses this relation: it is the approximate number of further
#' random labels after which the gain falls to the threshold.
#'
#' # How far to trust it
#' The gain covers only the uncertainty that the posterior represents. With two classes it agrees with the improvement
#' on held-out rows by a fit to 2000 further labels (`bench/results/switch.md` in the sources): after 100 labels, 0.012
#' predicted and 0.013 observed on one set, 0.008 and 0.006 on another. With several classes and few labels it is too
#' small, because class effects that the fit has not found yet are not included: after 100 labels, 0.017 to 0.026
#' predicted and 0.07 to 0.15 observed on three sets; after 1000 labels the two agree. The decision was right in these
#' cases, too, but `labels_needed` is then too low. So collect labels in small steps, and call `calib_switch()` again
#' after each.
#'
#' The active learning experiment of Wenger et al. (2020) was repeated (`bench/results/paper/active.md`, ten shuffles).
#' A Mondrian forest asks for labels by the entropy of its predictions. Of 14,000 rows it asks for the labels of 10,139 without
#' calibration, of 4342 when 1000 labels are set aside for calibration at fixed points, and of 4228 with this rule,
#' which sets aside 380. The error on held-out rows is lowest with the rule; on other drives it is the same as without
#' calibration.
#'
#' @inheritParams calib_query
#' @param fit A fit of [calib_gp()] on the labels that were set aside for calibration so far.
#' @param scores Scores of unlabelled rows like those to be predicted.
#' @param threshold Labels go to training when the gain, in units of the log loss, is below this value.
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
  posterior <- query_posterior(fit, data)
  information <- .Call(C_query_information, posterior$fit, posterior$at, posterior$offset)
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
  cat("<calib_switch> use the next labels for ", x$decision, "\n", sep = "")
  cat("  further calibration labels can lower the expected log loss by at most ", say(x$gain), " (threshold ", say(x$threshold), ")\n",
    sep = "")
  if (is.finite(x$labels_needed) && x$labels_needed > 0) {
    cat("  the threshold would be reached after about ", format(x$labels_needed, big.mark = ","), " further random labels\n", sep = "")
  }
  cat("  fit of ", format(x$labels, big.mark = ",", digits = 6), " labelled rows; average over a pool of ",
    format(x$pool, big.mark = ","), if (x$pool == 1) " row" else " rows", "; the most informative row: ", say(x$best), "\n", sep = "")
  invisible(x)
}
