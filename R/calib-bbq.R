#' Bayesian binning into quantiles
#'
#' Averages over histogram calibrations with different numbers of bins, each weighted by how well it
#' explains the labels.
#'
#' With N calibration rows (or their total weight), the binnings have B bins of equal frequency, with B from
#' \eqn{\max(1, \lfloor N^{1/3}/10 \rfloor)}{max(1, floor(N^(1/3)/10))} to \eqn{\min(\lceil N/5 \rceil, \lceil 10
#' N^{1/3} \rceil)}{min(ceiling(N/5), ceiling(10 N^(1/3)))}. A bin with m events among n rows and centre c has a Beta
#' prior with \eqn{\alpha = 2c/B}{alpha = 2 c/B} and \eqn{\beta = 2(1 - c)/B}{beta = 2 (1 - c)/B} and predicts its
#' posterior mean, \eqn{(m + \alpha)/(n + 2/B)}{(m + alpha)/(n + 2/B)}. Each binning is weighted by its marginal
#' likelihood,
#' \deqn{\prod_b \frac{\mathrm{B}(m_b + \alpha_b, n_b - m_b + \beta_b)}{\mathrm{B}(\alpha_b,
#'   \beta_b)}.}{prod_b Beta(m_b + alpha_b, n_b - m_b + beta_b) / Beta(alpha_b, beta_b).}
#'
#' Bins end half-way between the b/B quantile of the scores and the next larger score. The outer edges are 0 and 1, so
#' that the outer bins include all scores outside the range of the calibration scores. Tied scores are never split:
#' quantiles that fall into one tie make one bin, and B is then the number of bins that are left.
#'
#' The average of step functions is again a step function, with a step at every edge of every binning, and only this
#' average is stored. Binnings whose likelihood is less than 1e-13 of the best are left out.
#'
#' # When to use it
#' In place of [calib_histogram()], when the result should not depend on the number of bins. It does not assume that
#' higher scores mean higher probabilities, and its predictions are exactly 0 or 1 only through rounding.
#'
#' What it cannot do: it does not keep the order of scores, its map has many small steps, and with two classes the
#' result changes slightly if they are exchanged, because bins contain their upper edges. The size of the object grows
#' with the number of edges: up to two numbers per distinct score of each class, when many binnings explain the labels
#' about equally well.
#'
#' @inheritSection calib_isotonic More than two classes
#' @inheritParams calib_temperature
#' @return An object of class `c("calib_bbq", "calibrator")` with, beside the fields of every
#'   calibrator, for every step its upper edge `x` and its value `y`, of which `start[k] + 1` to
#'   `start[k + 1]` belong to class k (for two classes there is one map, that of the second), and
#'   `log_evidence`, the logarithm of the mean of the marginal likelihoods, per map. `fixed` names the
#'   classes with a constant probability. `points` is what [`update()`][update.calibrator] needs of the calibration rows. See [predict.calibrator()], [calib_map()] and [calibrator].
#' @references
#' Naeini, M. P., Cooper, G. F. and Hauskrecht, M. (2015). Obtaining well calibrated probabilities
#' using Bayesian binning. *Proceedings of AAAI*, 2901-2907.
#' @family calibrators
#' @examples
#' fit <- calib_bbq(rain_nyc$prob, rain_nyc$rain)
#' fit
#' calib_map(fit, c(0, 0.1, 0.5, 0.9, 1))
#' @export
calib_bbq <- function(scores, labels, input = c("auto", "probs", "logits"), weights = NULL,
                      threads = 1) {
  threads <- check_threads(threads)
  data <- check_calibration(scores, labels, input, weights, threads)
  ova <- ova_data(data, threads)
  if (ova$total > 1e9) {
    stop_input("weights", paste0("sum to ", format(ova$total, digits = 3), " rows"),
      "The number of bins grows with that sum: rescale the weights.")
  }
  fit <- fit_curves(data, ova, 2L, 1L, threads)
  new_calibrator("bbq", data, match.call(),
    converged = TRUE, iterations = 1L, x = fit$x, y = fit$y, start = fit$start,
    log_evidence = fit$evidence, fixed = ova$fixed, points = ova_points(ova$scores, data)
  )
}

#' @export
ova_maps.calib_bbq <- function(object) curve_maps(object, 1L)

#' @export
predict_probs.calib_bbq <- function(object, data) predict_ova(object, data)

#' @export
class_maps.calib_bbq <- function(object, p) map_ova(object, p)

#' @export
describe.calib_bbq <- function(object) {
  lines <- paste0("an average of histograms with different bins, ", say_points(object, "step"))
  list(title = "Bayesian binning into quantiles", lines = describe_ova(object, lines),
    details = if (length(object$classes) == 2 && is.finite(object$log_evidence)) {
      paste("log evidence", format(object$log_evidence, digits = 6))
    })
}

#' @export
parameters.calib_bbq <- function(object) tidy_points(object, bin_terms(object))

#' @export
object_fields.calib_bbq <- function(object) {
  c(curve_fields(object), list(log_evidence = field("number", ova_count(object), na = TRUE)))
}

#' @export
object_wrong.calib_bbq <- function(object) c(curve_wrong(object), points_wrong(object))
