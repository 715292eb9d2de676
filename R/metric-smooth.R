# The smooth calibration error.

#' Smooth calibration error
#'
#' A calibration error without bins: residuals are smoothed over the probabilities, with a bandwidth that is equal to the
#' error itself.
#'
#' With probabilities \eqn{f_n} of an event and outcomes \eqn{y_n}, residuals are smoothed by a Gaussian
#' kernel of standard deviation \eqn{\sigma}{sigma}, reflected at 0 and 1,
#' \deqn{r_\sigma(t) = \frac1N \sum_n K_\sigma(t, f_n)\,(y_n - f_n), \qquad
#'   \mathrm{smECE}_\sigma = \int_0^1 |r_\sigma(t)|\,dt.}{
#'   r(t) = mean of K_sigma(t, f_n) (y_n - f_n),  smECE_sigma = integral of |r| over [0, 1].}
#' The error decreases as \eqn{\sigma}{sigma} grows. The smooth error is the value at which it equals
#' \eqn{\sigma}{sigma}; there is exactly one, so that no bandwidth has to be chosen. It lies in \[0, 1\], 0 is best.
#' Unlike the binned error it changes little when probabilities change little, and up to constant factors it is the
#' distance to the nearest calibrated forecast (Blasiok and Nakkiran, 2023). It is biased upwards in small samples as
#' [ece()] is, by less than with many bins.
#'
#' The rows are spread over a grid of at least 32 steps h to the bandwidth. The error this makes is below
#' \eqn{(h/\sigma)^2/8 < 1.3 \cdot 10^{-4}}{(h/sigma)^2/8 < 1.3e-4} times the mean absolute residual; in
#' tests against direct summation it is below 1e-4 of the result. Time grows linearly with the rows.
#' Errors below 1e-4 are given for the bandwidth 1e-4.
#'
#' @inheritParams ece
#' @param type `"event"`: the probability of one class against its frequency; `"confidence"`: that of
#'   the most likely class against whether it is right; `"auto"`: the event for two classes, the confidence
#'   for more. `event` alone implies `"event"`.
#' @param bandwidth \eqn{\sigma}{sigma} from 1e-4 to 1, or `NULL` for the fixed point.
#' @return A number; with `by` a vector of them, named by its values.
#' @references
#' Blasiok, J. and Nakkiran, P. (2023). Smooth ECE: principled reliability diagrams via kernel smoothing.
#' arXiv:2309.12236.
#' @seealso [ece()] for binned errors, [calib_test()] for tests.
#' @examples
#' smooth_ece(rain_nyc$prob, rain_nyc$rain)
#' fit <- calib_platt(rain_nyc$prob, rain_nyc$rain, scale = "logit")
#' smooth_ece(predict(fit, rain_nyc$prob), rain_nyc$rain)
#'
#' # Residuals smoothed to nothing: the difference of the means
#' smooth_ece(rain_nyc$prob, rain_nyc$rain, bandwidth = 1)
#' mean(rain_nyc$prob) - mean(rain_nyc$rain == "rain")
#' @export
smooth_ece <- function(probs, labels, type = c("auto", "event", "confidence"), event = NULL,
                       bandwidth = NULL, weights = NULL, event_level = c("second", "first"), by = NULL) {
  forecast <- check_forecast(probs, labels, weights)
  type <- check_choice(type, c("auto", "event", "confidence"), "type")
  if (type == "auto") {
    type <- if (!is.null(event) || length(forecast$classes) == 2) "event" else "confidence"
  }
  event <- check_event(event, type, forecast$classes, event_level)
  if (!is.null(bandwidth)) bandwidth <- check_number(bandwidth, "bandwidth", 1e-4, 1)
  each_group(forecast, by, function(forecast) measure_smooth_ece(forecast, type, event, bandwidth))
}

measure_smooth_ece <- function(forecast, type, event, bandwidth) {
  if (type == "event") {
    x <- forecast$probs[, event]
    y <- forecast$labels == event
  } else {
    x <- pmin(forecast$conf, 1)
    y <- forecast$labels == forecast$pred
  }
  residual <- (y - x) * weights_of(forecast)
  total <- if (is.null(forecast$weights)) length(x) else sum(forecast$weights)
  .Call(C_smooth_ece, unname(x), as.double(unname(residual)), as.double(total),
    if (is.null(bandwidth)) 0 else bandwidth, 1e-7)[1]
}
