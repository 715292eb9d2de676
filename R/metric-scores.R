# Scores of whole forecasts: proper scores, accuracy, sharpness.

#' Scores of probabilities
#'
#' The log loss and the Brier score, which depend on calibration and on discrimination, and two
#' measures that leave calibration out: accuracy and sharpness.
#'
#' With \eqn{p_{nk}} the probability of class \eqn{k} in row \eqn{n}, \eqn{y_n} its label and means
#' taken with the weights,
#' \describe{
#'   \item{`log_loss()`}{mean of \eqn{-\log \max(p_{n y_n}, \epsilon)}{-log max(p_ny, eps)}; from 0
#'     to `Inf`, lower is better.}
#'   \item{`brier_score()`}{mean of \eqn{\sum_k (p_{nk} - [y_n = k])^2}{sum_k (p_nk - [y_n = k])^2},
#'     from 0 to 2 (`"multiclass"`), or of
#'     \eqn{(p_{n2} - [y_n = 2])^2}{(p_n2 - [y_n = 2])^2}, from 0 to 1, which is half of it
#'     (`"binary"`, two classes only); lower is better. `"auto"` is binary for two classes. For more than two
#'     classes it is twice the value of `yardstick::brier_class()`, which halves the sum; for two it is
#'     the same.}
#'   \item{`class_accuracy()`}{share of the rows whose label has the largest probability (the
#'     first of them, if tied); from 0 to 1, higher is better.}
#'   \item{`sharpness()`}{\eqn{\frac{4 K^2}{(K - 1)^2} \frac{1}{N - 1} \sum_n (\hat z_n - \bar z)^2}{
#'     4 K^2/(K - 1)^2 1/(N - 1) sum_n (z_n - mean(z))^2}, the sample variance of the confidence
#'     \eqn{\hat z_n = \max_k p_{nk}}{z_n = max_k p_nk} in units of its largest possible value; weights
#'     count as rows. The labels are not used. It lies between 0 and about 1; higher means sharper.}
#' }
#'
#' @inheritParams ece
#' @param eps Probabilities below this value are raised to it. With `eps = 0`, a label that was given
#'   probability 0 makes the log loss infinite, with a warning of class `gpcalib_warning_infinite`
#'   that names the rows.
#' @param type For `brier_score()`: the sum over all classes, or only the second of two classes.
#' @return A number; with `by` a vector of them, named by its values.
#' @references
#' Brier, G. W. (1950). Verification of forecasts expressed in terms of probability. *Monthly
#' Weather Review* 78, 1--3.
#'
#' Wenger, J., Kjellström, H. and Triebel, R. (2020). Non-parametric calibration for
#' classification. *International Conference on Artificial Intelligence and Statistics*.
#' @examples
#' probs <- rbind(c(.7, .2, .1), c(.1, .6, .3), c(.3, .3, .4), c(.5, .3, .2))
#' labels <- c(1, 2, 3, 2)
#' log_loss(probs, labels)
#' brier_score(probs, labels)
#' class_accuracy(probs, labels)
#' sharpness(probs, labels)
#'
#' brier_score(c(.2, .7, .9), c(0, 1, 1))
#' @name scores
NULL

#' @rdname scores
#' @export
log_loss <- function(probs, labels, eps = 0, weights = NULL, by = NULL) {
  eps <- check_number(eps, "eps", 0, 1)
  each_group(check_forecast(probs, labels, weights), by, function(forecast) {
    measure_log_loss(log_sums(forecast, eps), forecast)
  })
}

#' @rdname scores
#' @export
brier_score <- function(probs, labels, type = c("auto", "multiclass", "binary"),
                        weights = NULL, by = NULL) {
  type <- check_choice(type, c("auto", "multiclass", "binary"), "type")
  each_group(check_forecast(probs, labels, weights), by, function(forecast) {
    measure_brier(brier_sums(forecast, type))
  })
}

#' @rdname scores
#' @export
class_accuracy <- function(probs, labels, weights = NULL, by = NULL) {
  each_group(check_forecast(probs, labels, weights), by, function(forecast) {
    measure_accuracy(confidence_sums(forecast))
  })
}

#' @rdname scores
#' @export
sharpness <- function(probs, labels, weights = NULL, by = NULL) {
  each_group(check_forecast(probs, labels, weights), by, function(forecast) {
    measure_sharpness(spread_sums(forecast), length(forecast$classes))
  })
}

# From sums to measures -------------------------------------------------------------------

# Each takes a list of sums (see calib_sums()), of a forecast or added up.

#' @param rows the forecast, to name the rows; or NULL.
#' @noRd
measure_log_loss <- function(totals, rows = NULL) {
  if (totals$impossible <= 0) return(totals$log / totals$weight)
  where <- if (is.null(rows)) {
    paste0("rows of weight ", format(totals$impossible), ". Use `eps` > 0 in calib_sums() for a finite value.")
  } else {
    bad <- rows$probs[cbind(seq_along(rows$labels), rows$labels)] <= 0
    if (!is.null(rows$weights)) bad <- bad & rows$weights > 0
    paste0(say_rows(which(bad), sum(bad)), ". Use `eps` > 0 for a finite value.")
  }
  warn_gpcalib("infinite", paste0("The log loss is infinite: the label has probability 0 in ", where))
  Inf
}

measure_brier <- function(totals) totals$brier / totals$weight

measure_sharpness <- function(totals, k) {
  if (totals$weight <= 1) {
    warn_gpcalib("undefined", paste0("Sharpness is undefined (NaN): weights count as rows, and they sum to ",
      format(totals$weight, digits = 3), "."))
    return(NaN)
  }
  4 * k^2 / (k - 1)^2 * totals$spread / (totals$weight - 1)
}
