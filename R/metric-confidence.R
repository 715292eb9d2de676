# Over- and underconfidence and what they leave between them.

#' Over- and underconfidence
#'
#' How sure a classifier is when it is wrong, how unsure when it is right, and the difference
#' between its mean confidence and its accuracy.
#'
#' With the confidence \eqn{\hat z = \max_k p_k}{z = max_k p_k} of the predicted class,
#' \deqn{o = \mathrm{E}[\hat z \mid \mathrm{wrong}], \qquad
#'       u = \mathrm{E}[1 - \hat z \mid \mathrm{right}],}{
#'       o = E[z | wrong],  u = E[1 - z | right],}
#' and `confidence_gap()` is
#' \deqn{\left| o \, P(\mathrm{wrong}) - u \, P(\mathrm{right}) \right| =
#'       \left| \mathrm{E}\,\hat z - P(\mathrm{right}) \right|.}{
#'       |o P(wrong) - u P(right)| = |E z - P(right)|.}
#' All are estimated by means over the rows and lie in \eqn{[0, 1]}. A gap near 0 is good. It has no sign: the forecast is
#' overconfident on average if \eqn{o \, P(\mathrm{wrong})}{o P(wrong)} is the larger of the two (the mean confidence exceeds the accuracy), and
#' underconfident otherwise; `print()` of [calib_metrics()] says which. Compare over- and
#' underconfidence between forecasts of the same rows; lowering one often raises the other. Neither is zero for a
#' calibrated forecast: even the true probabilities have positive over- and underconfidence, unless all of them are 0 or
#' 1, but the two then balance and the gap is zero. The gap is a lower bound of the calibration error ([ece()]),
#' whatever the bins (Wenger et al., 2020, Theorem 1).
#'
#' @inheritParams ece
#' @return A number; with `by` a vector of them. `overconfidence()` is `NaN`, with a warning of class
#'   `gpcalib_warning_undefined`, when no prediction is wrong, and `underconfidence()` when none is
#'   right; `confidence_gap()` is always defined.
#' @references
#' Wenger, J., Kjellström, H. and Triebel, R. (2020). Non-parametric calibration for
#' classification. *International Conference on Artificial Intelligence and Statistics*.
#' @examples
#' # Stated: 90 %. Observed: 75 %.
#' p <- rep(.9, 100)
#' y <- rep(1:0, c(75, 25))
#' overconfidence(p, y)
#' underconfidence(p, y)
#' confidence_gap(p, y)
#' @name over_underconfidence
NULL

#' @rdname over_underconfidence
#' @export
overconfidence <- function(probs, labels, weights = NULL, by = NULL) {
  each_group(check_forecast(probs, labels, weights), by, function(forecast) {
    measure_overconfidence(confidence_sums(forecast))
  })
}

#' @rdname over_underconfidence
#' @export
underconfidence <- function(probs, labels, weights = NULL, by = NULL) {
  each_group(check_forecast(probs, labels, weights), by, function(forecast) {
    measure_underconfidence(confidence_sums(forecast))
  })
}

#' @rdname over_underconfidence
#' @export
confidence_gap <- function(probs, labels, weights = NULL, by = NULL) {
  each_group(check_forecast(probs, labels, weights), by, function(forecast) {
    measure_gap(confidence_sums(forecast))
  })
}

# Each takes a list of sums: the weight of all rows and of those predicted right, the sum of the
# confidence over the wrong ones (over) and of 1 - confidence over the right ones (under).
# Elements may be vectors, one value per bootstrap replicate.

measure_overconfidence <- function(totals, warn = TRUE) {
  wrong <- totals$wrong
  if (warn && wrong <= 0) {
    warn_gpcalib("undefined", "Overconfidence is undefined (NaN): no prediction is wrong.")
  }
  ifelse(wrong > 0, totals$over / wrong, NaN)
}

measure_underconfidence <- function(totals, warn = TRUE) {
  if (warn && totals$right <= 0) {
    warn_gpcalib("undefined", "Underconfidence is undefined (NaN): no prediction is right.")
  }
  ifelse(totals$right > 0, totals$under / totals$right, NaN)
}

measure_signed_gap <- function(totals) (totals$over - totals$under) / totals$weight
measure_gap <- function(totals) abs(measure_signed_gap(totals))

measure_accuracy <- function(totals) totals$right / totals$weight
