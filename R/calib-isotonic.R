#' Isotonic calibration
#'
#' The non-decreasing map from scores to probabilities that is nearest to the labels:
#' \deqn{\min_{\pi(z_1) \le \dots \le \pi(z_N)} \sum_n w_n (y_n - \pi(z_n))^2, \quad z_1 \le \dots \le z_N,}{
#'   min sum_n w_n (y_n - pi(z_n))^2 over all non-decreasing functions pi,}
#' computed by the pool-adjacent-violators algorithm. Tied scores are pooled first, so that each score has one
#' value.
#'
#' Between two calibration scores the map is a straight line (`interpolate = TRUE`) or has the
#' value of the next higher score (`interpolate = FALSE`, the step function of [stats::isoreg()]);
#' below the smallest and above the largest score it is constant.
#'
#' # Venn-Abers
#' `type = "venn-abers"` fits isotonic regression twice for each new score s: once to the calibration rows and one more
#' row with this score and label 0, which gives \eqn{p_0(s)}, and once with label 1 for that row, which gives
#' \eqn{p_1(s) > p_0(s)}. One of the two fits has used the true label of the new row. If rows are exchangeable, that fit
#' gives a calibrated probability (Vovk and Petej, 2014). [`predict()`][predict.calibrator] gives \eqn{p_1/(1 - p_0 +
#' p_1)}, which is never 0 or 1, and with `type = "interval"` the pair. The distance between the two shows how uncertain
#' the map is at this score. All pairs are computed in one sweep over the sorted rows (Vovk, Petej and Fedorova, 2015).
#' With more than two classes the pairs are those of each class against the rest, before rows are divided by their sum.
#' `interpolate` is not used.
#'
#' # When to use it
#' With about a thousand calibration rows or more (for each class, if there are more than two), and a classifier that ranks
#' cases well but whose scores are wrong in a way that no simple formula describes. It keeps the order of two-class
#' scores, except that it makes ties, so that the area under the curve changes little.
#'
#' What it cannot do: with few rows it overfits. A score below those of all events gets a probability of exactly 0, and one above
#' those of all non-events exactly 1, so that the log loss on new rows can be infinite ([calib_bbq()] and [calib_platt()] give
#' 0 and 1 only through rounding). It gives no measure of uncertainty (Venn-Abers pairs and
#' [calib_gp()] do).
#'
#' # More than two classes
#' The five methods [calib_platt()], [calib_isotonic()], [calib_beta()], [calib_bbq()] and
#' [calib_histogram()] are made for two classes. With more, each class is calibrated against the
#' rest, and each row of results is divided by its sum. A row in which every class gets 0 keeps its original
#' probabilities. The order of the classes within a row, and so the accuracy, can change.
#'
#' Logits go through the softmax first, for two classes as well, except in [calib_platt()], which takes
#' their log-odds. Where the logit of a class exceeds all others by more than about 37, its probability is rounded to 1,
#' and such rows can no longer be distinguished. When these are more than a fifth of the rows, there is a warning
#' (`gpcalib_warning_saturated`).
#'
#' For a class that occurs in no calibration row, or in all of them, no map can be fitted: it gets the constant probability
#' \eqn{(n_k + 1/K)/(N + 1)} before the row is divided by its sum, with one warning
#' (`gpcalib_warning_absent`) for all such classes. Here \eqn{n_k}{n_k} is the number of rows of the class, N the number
#' of all rows and K the number of classes; with weights, sums of weights take the place of numbers of rows.
#'
#' @inheritParams calib_temperature
#' @param type Isotonic `"regression"`, or `"venn-abers"` pairs.
#' @param interpolate Whether the map is a straight line between two fitted points (`TRUE`) or a step.
#' @return An object of class `c("calib_isotonic", "calibrator")` with, beside the fields of every
#'   calibrator, the points of the maps: `x` and `y`, of which `start[k] + 1` to `start[k + 1]`
#'   belong to class k (for two classes there is one map, that of the second); points that
#'   change nothing are left out. For Venn-Abers these are the steps of \eqn{p_1}, and `x0`, `y0`, `start0`
#'   those of \eqn{p_0}. `fixed` names the classes with a constant probability. `points` is what [`update()`][update.calibrator] needs of the calibration rows.
#'   See [predict.calibrator()], [calib_map()] and [calibrator].
#' @references
#' Zadrozny, B. and Elkan, C. (2002). Transforming classifier scores into accurate multiclass
#' probability estimates. *Proceedings of KDD*, 694-699.
#'
#' Ayer, M., Brunk, H. D., Ewing, G. M., Reid, W. T. and Silverman, E. (1955). An empirical
#' distribution function for sampling with incomplete information. *Annals of Mathematical
#' Statistics* 26, 641-647.
#'
#' Vovk, V. and Petej, I. (2014). Venn-Abers predictors. *Proceedings of UAI*, 829-838.
#'
#' Vovk, V., Petej, I. and Fedorova, V. (2015). Large-scale probabilistic predictors with and without
#' guarantees of validity. *Advances in Neural Information Processing Systems* 28.
#' @family calibrators
#' @examples
#' fit <- calib_isotonic(rain_nyc$prob, rain_nyc$rain)
#' fit
#' calib_map(fit, c(0.1, 0.5, 0.9))
#'
#' pairs <- calib_isotonic(rain_nyc$prob[1:500], rain_nyc$rain[1:500], type = "venn-abers")
#' predict(pairs, c(0.1, 0.5, 0.9), type = "interval")[, "rain", ]
#'
#' many <- calib_isotonic(letters_nn$cal$scores, letters_nn$cal$labels)
#' p <- predict(many, letters_nn$test$scores)
#' ece(p, letters_nn$test$labels)
#' @export
calib_isotonic <- function(scores, labels, input = c("auto", "probs", "logits"), weights = NULL,
                           interpolate = TRUE, threads = 1, type = c("regression", "venn-abers")) {
  threads <- check_threads(threads)
  type <- check_choice(type, c("regression", "venn-abers"), "type")
  interpolate <- check_flag(interpolate, "interpolate")
  data <- check_calibration(scores, labels, input, weights, threads)
  ova <- ova_data(data, threads)
  if (type == "venn-abers") {
    fit <- fit_venn(data, ova)
    return(new_calibrator("isotonic", data, match.call(), converged = TRUE, iterations = 1L,
      interpolate = FALSE, x = fit$x, y = fit$y, start = fit$start, fixed = ova$fixed, x0 = fit$x0,
      y0 = fit$y0, start0 = fit$start0, points = ova_points(ova$scores, data)))
  }
  fit <- fit_curves(data, ova, if (interpolate) 0L else 1L, 1L, threads)
  new_calibrator("isotonic", data, match.call(),
    converged = TRUE, iterations = 1L, interpolate = interpolate, x = fit$x, y = fit$y,
    start = fit$start, fixed = ova$fixed, points = ova_points(ova$scores, data)
  )
}

#' @export
ova_maps.calib_isotonic <- function(object) curve_maps(object, if (object$interpolate) 0L else 1L)

#' @export
predict_probs.calib_isotonic <- function(object, data) {
  if (is.null(object$x0)) predict_ova(object, data) else predict_venn(object, data)
}

#' @export
class_maps.calib_isotonic <- function(object, p) {
  if (is.null(object$x0)) map_ova(object, p) else venn_maps(object, p)
}

#' @export
describe.calib_isotonic <- function(object) {
  lines <- if (!is.null(object$x0)) {
    describe_venn(object)
  } else if (length(object$x) == 1) {
    paste("constant,", format(object$y, digits = 4))
  } else if (object$interpolate) {
    paste("an increasing map, linear between", say_points(object, "point"))
  } else {
    paste("an increasing map of", say_points(object, "step"))
  }
  title <- if (is.null(object$x0)) "Isotonic calibration" else "Venn-Abers calibration"
  list(title = title, lines = describe_ova(object, c(lines, if (is.null(object$x0)) say_certain(object))))
}

#' @export
parameters.calib_isotonic <- function(object) {
  tidy_points(object, paste("at", signif(object$x, 4)))
}

#' @export
object_fields.calib_isotonic <- function(object) {
  c(curve_fields(object), list(interpolate = field("flag")), venn_fields(object))
}

#' @export
object_wrong.calib_isotonic <- function(object) c(curve_wrong(object), venn_wrong(object), points_wrong(object))
