#' Beta calibration
#'
#' A family of maps on \[0, 1\] that includes sigmoids, inverse sigmoids and the identity:
#' \deqn{\pi(z) = \frac{1}{1 + e^{-c} (1 - z)^b z^{-a}}, \quad a, b \ge 0,}{
#'   pi(z) = 1 / (1 + exp(-c) (1 - z)^b z^-a), a, b >= 0,}
#' which is logistic regression on the two features \eqn{\log z}{log z} and
#' \eqn{-\log(1 - z)}{-log(1 - z)}. a = b = 1 with c = 0 is the identity.
#'
#' `params = "abm"` fits all three; `"am"` sets a = b, which is Platt scaling of the log-odds
#' with raw targets; `"ab"` sets \eqn{c = (a - b) \log 2}{c = (a - b) log 2}, so that 1/2 stays 1/2.
#' The likelihood is maximised by Newton's method. A negative a or b would reverse the order of scores. If one is
#' negative, the fit is repeated without that term; if the other is then negative, the map is constant. When scores
#' separate the classes completely, the estimates are limited as in [calib_platt()] (`gpcalib_warning_separated`); with
#' equal scores the map is constant (`gpcalib_warning_flat`); for `"ab"`, a = b is then chosen so that the score gets
#' the observed frequency.
#'
#' # Zeros and ones
#' In fitting and in prediction, values of z and 1 - z below `clip` are raised to it, because 0 has no logarithm. The
#' default is the rounding error of double precision; a larger value (1e-6, say) makes the fit less sensitive to single
#' scores of exactly 0 or 1.
#'
#' # When to use it
#' For probabilities, with some hundreds of calibration rows, when Platt scaling is not flexible enough: it can make
#' probabilities more or less extreme, with different corrections near 0 and near 1. It keeps the order of two-class
#' scores. The identity is among its maps, so that calibrated probabilities hardly change.
#'
#' What it cannot do: with three parameters it cannot follow every map ([calib_isotonic()] and [calib_gp()] are more
#' flexible), and scores of exactly 0 or 1 have a strong influence. If all rows beyond a score very near 0 or 1 are of one class,
#' a or b becomes huge and the map jumps there, with probabilities of exactly 0 or 1 beyond; a warning
#' (`gpcalib_warning_steep`) says so and names methods to use instead.
#'
#' @inheritSection calib_isotonic More than two classes
#' @inheritParams calib_platt
#' @param params Which parameters are estimated: see Details.
#' @param clip Lower limit of z and 1 - z.
#' @return An object of class `c("calib_beta", "calibrator")` with, beside the fields of every
#'   calibrator, `coefficients` and `std_error` (3 x K matrices with rows `a`, `b` and `c`; one column
#'   for two classes), `covariance` (of the coefficients, class after class), `params`, `clip`, `log_lik` (of the calibration labels, for two classes) and
#'   `fixed`, the classes with a constant probability. Terms that were left out have no standard error.
#'   See [predict.calibrator()], [calib_map()] and [calibrator].
#' @references
#' Kull, M., Silva Filho, T. M. and Flach, P. (2017). Beyond sigmoids: how to obtain
#' well-calibrated probabilities from binary classifiers with beta calibration. *Electronic Journal
#' of Statistics* 11, 5052-5080.
#' @family calibrators
#' @examples
#' fit <- calib_beta(rain_nyc$prob, rain_nyc$rain, clip = 1e-3)
#' fit
#' tidy(fit)
#' calib_map(fit, c(0.1, 0.5, 0.9))
#' @export
calib_beta <- function(scores, labels, input = c("auto", "probs", "logits"), weights = NULL,
                       params = c("abm", "am", "ab"), clip = 2^-52, max_iter = 100, threads = 1) {
  threads <- check_threads(threads)
  params <- check_choice(params, c("abm", "am", "ab"), "params")
  clip <- check_number(clip, "clip", 1e-300, 0.1)
  max_iter <- check_count(max_iter, "max_iter")
  data <- check_calibration(scores, labels, input, weights, threads)
  ova <- ova_data(data, threads)
  fit <- fit_scaling(data, ova, list(beta = TRUE, smoothed = FALSE,
    params = match(params, c("abm", "am", "ab")) - 1L, clip = clip, tol = scaling_tol,
    max_iter = max_iter, limit = 0), threads)
  warn_scaling(fit, data$classes)
  # where all rows beyond some tiny score are of one class
  warn_maps(colSums(matrix(fit$coef, 3)[1:2, , drop = FALSE] > steep) > 0, data$classes, "steep", paste0("The map jumps from near 0 to near 1%s: `a` or `b` exceeds ", steep,
    ", because above a score very near 1, or below one very near 0, all rows are of one class. Predicted probabilities can be exactly 0 or 1 and wrong. ",
    "Use `params = \"am\"`, calib_platt() or calib_gp() instead."))
  name_scaling("beta", data, match.call(), fit, c("a", "b", "c"), params = params, clip = clip,
    fixed = ova$fixed)
}

steep <- 1000 # a or b: the map then jumps within a hundredth of 0 or 1

#' @export
ova_maps.calib_beta <- function(object) {
  list(kind = 2L, coef = object$coefficients, clip = object$clip)
}

#' @export
predict_probs.calib_beta <- function(object, data) predict_ova(object, data)

#' @export
class_maps.calib_beta <- function(object, p) map_ova(object, p)

#' @export
describe.calib_beta <- function(object) {
  list(
    title = "Beta calibration",
    lines = describe_ova(object, paste0("calibrated log-odds = a log p - b log(1 - p) + c: ", say_coefficients(object))),
    details = switch(object$params, abm = "a, b and c estimated", am = "a and c estimated, b = a",
      ab = "a and b estimated, c = (a - b) log 2")
  )
}

#' @export
parameters.calib_beta <- function(object) tidy_scaling(object)

#' @export
object_fields.calib_beta <- function(object) {
  c(scaling_fields(object, 3L), list(
    params = field("text", among = c("abm", "am", "ab")),
    clip = field("number", low = 1e-300, high = 0.1)
  ))
}

#' @export
object_wrong.calib_beta <- function(object) scaling_wrong(object, c("a", "b", "c"))
