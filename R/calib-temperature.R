#' Temperature scaling
#'
#' Divides all logits by one number T > 0, chosen to minimise the log loss on the calibration
#' rows:
#' \deqn{\pi(z)_k = \frac{\exp(z_k / T)}{\sum_j \exp(z_j / T)}.}{
#'   pi(z)_k = exp(z_k / T) / sum_j exp(z_j / T).}
#' T > 1 makes probabilities less extreme, T < 1 more extreme. Usually the classifier was then overconfident or underconfident, but a few extreme rows can
#' raise T as well; `print()` therefore says so only if the mean confidence differs from the accuracy by more than two standard errors. The most likely class
#' never changes.
#'
#' For probabilities the logits are their logarithms. The loss is convex in 1/T. Its minimum is found by a safeguarded
#' Halley iteration in log T, so that T is always positive, and scores of any size are allowed. The standard error of T
#' comes from the curvature of the loss at its minimum.
#'
#' # Zeros
#' Probabilities of exactly 0 (and logits of `-Inf`) have no logarithm. When they occur among
#' the calibration scores, values below a floor are raised to it; `floor = NULL` tries half the
#' smallest positive value and 0.01, 0.001, ..., 1e-8 (those below 1/K), and keeps the one with the
#' lowest log loss. The floor is stored and used in prediction. Without zeros no score is changed.
#'
#' With zeros T depends on the floor, and each function chooses its own: T here, the best single temperature that `print()` and
#' [`autoplot()`][plot_latent] of [calib_gp()] show, and 1/`calib_slope` of [calib_metrics()], where `eps` is the floor, then differ a little. With the same
#' `floor` (and `eps`) they agree.
#'
#' # When T has no finite optimum
#' Each of these cases gives `converged = FALSE` and a warning:
#' * Every calibration row is classified correctly, so that the loss decreases to its limit as T goes to 0. T is then
#'   chosen so that the mean confidence is (N + 1)/(N + 2) of its largest possible value, which is 1 unless rows have
#'   ties (`gpcalib_warning_separated`).
#' * The scores carry no information, or higher scores go with the wrong classes, so that uniform probabilities are
#'   best: T is set to a very large value (`gpcalib_warning_bound`).
#' * The scores within every row are all equal: T = 1 (`gpcalib_warning_flat`).
#' * `max_iter` passes over the data were not enough (`gpcalib_warning_not_converged`).
#'
#' @param scores Scores of the calibration rows, one column per class, or a vector for the
#'   second of two classes; see [gpcalib_input].
#' @param labels Their true classes.
#' @param input Whether `scores` are probabilities or logits; `"auto"` decides by their values.
#' @param weights Case weights, or `NULL`.
#' @param floor Probabilities below this value are raised to it; from 2.23e-308 (where numbers begin to lose digits) to less than 1/K. `NULL`: when
#'   zeros occur among the calibration scores, the value with the lowest log loss; otherwise 2.23e-308, so that in practice no score is changed. The standard error of T treats it as known.
#' @param tol The largest error allowed in log T.
#' @param max_iter The largest number of passes over the data.
#' @param threads How many threads to use. The result does not depend on it.
#' @return An object of class `c("calib_temperature", "calibrator")` with, beside the fields of
#'   every calibrator (`method`, `classes`, `input`, `n`, `call`, `converged`, `iterations`),
#'   `temperature`, `std_error` (`NA` without convergence), `log_lik` (of the calibration rows)
#'   and `floor`. See [predict.calibrator()] and [calibrator].
#' @references
#' Guo, C., Pleiss, G., Sun, Y. and Weinberger, K. Q. (2017). On calibration of modern neural
#' networks. *Proceedings of ICML*, PMLR 70, 1321-1330.
#' @family calibrators
#' @examples
#' fit <- calib_temperature(letters_nn$cal$scores, letters_nn$cal$labels)
#' fit
#' p <- predict(fit, letters_nn$test$scores)
#' ece(p, letters_nn$test$labels)
#' log_loss(p, letters_nn$test$labels)
#' @export
calib_temperature <- function(scores, labels, input = c("auto", "probs", "logits"),
                              weights = NULL, floor = NULL, tol = 1e-10, max_iter = 100,
                              threads = 1) {
  threads <- check_threads(threads)
  tol <- check_number(tol, "tol", 1e-15, 0.1)
  max_iter <- check_count(max_iter, "max_iter")
  data <- check_calibration(scores, labels, input, weights, threads)
  latent <- log_scores(data, floor)
  fit <- NULL
  for (candidate in latent$floors) {
    start <- if (is.null(fit)) 0 else fit$beta
    trial <- .Call(C_temperature_fit, latent$z, data$labels, data$weights, log(candidate), start,
      tol, max_iter, threads)
    if (is.null(fit) || trial$loss < fit$loss) fit <- c(trial, floor = candidate)
  }
  warn_temperature(fit)
  new_calibrator("temperature", data, match.call(),
    converged = fit$status == "ok", iterations = fit$passes,
    temperature = 1 / fit$beta,
    std_error = if (fit$status == "ok") temperature_error(fit) else NA_real_,
    log_lik = -fit$loss, floor = if (latent$floored) fit$floor
  )
}

#' The standard error of T = 1/beta; NA where squares of the scores leave the range of doubles
#' @noRd
temperature_error <- function(fit) {
  error <- sqrt(1 / fit$curvature) / fit$beta^2
  if (is.finite(error)) error else NA_real_
}

warn_temperature <- function(fit) {
  value <- format(1 / fit$beta, digits = 3)
  if (fit$status == "upper") {
    warn_gpcalib("separated", paste0("Every calibration row is classified correctly, so that the log loss has no minimum: it ",
      "decreases as the temperature goes to 0. The temperature was limited to T = ", value, ", with a mean confidence of ",
      format(fit$confidence, digits = 4), "."))
  } else if (fit$status == "lower") {
    warn_gpcalib("bound", paste0("Higher scores do not go with the true classes: the temperature ",
      "reached its upper limit, T = ", value, ", which makes all classes equally likely."))
  } else if (fit$status == "flat") {
    warn_gpcalib("flat", paste0("The scores within each row are all equal and carry no information: the temperature is ",
      "set to 1."))
  } else if (fit$status == "not_converged") {
    warn_gpcalib("not_converged", paste0("The temperature did not converge in ", fit$passes,
      if (fit$passes == 1) " pass" else " passes", " over the data; increase `max_iter`."))
  } else if (fit$status == "not_finite") {
    stop_input("scores", "are too large or too small for the log loss to be computed",
      "Rescale them.")
  }
}

# Scores on the latent scale --------------------------------------------------------------

floor_candidates <- 10^-(2:8)

#' Canonical scores as logits or log-probabilities, and the floors to try
#'
#' @return list: `z` [N x K]; `floors`, the candidates (a single one when nothing is to be
#'   chosen; 0 for none); `floored`, whether the chosen one belongs into the object.
#' @noRd
log_scores <- function(data, floor) {
  floor <- check_floor(floor, length(data$classes))
  probs <- data$input == "probs"
  zeros <- if (probs) data$scan$lowest == 0 else data$scan$n_neginf > 0
  z <- latent_scale(data$scores, data$input, floored = zeros || !is.null(floor), data$threads)
  if (!is.null(floor)) return(list(z = z, floors = floor, floored = TRUE))
  if (!zeros) {
    return(list(z = z, floors = if (probs) .Machine$double.xmin else 0, floored = FALSE))
  }
  smallest <- exp(min(z[z > -Inf]))
  half <- max(smallest / 2, .Machine$double.xmin)
  list(z = z, floors = try_floors(half, length(data$classes)), floored = TRUE)
}

#' A floor must lie below 1/K: the largest probability of a row is never lower than that, so that
#' it stays the largest
#' @noRd
check_floor <- function(floor, k) {
  if (is.null(floor)) return(NULL)
  if (!is.numeric(floor) || length(floor) != 1 || is.na(floor) || floor < 1 / k) {
    floor <- check_number(floor, "floor", .Machine$double.xmin, 1 / k)
  } else {
    stop_input("floor", paste0("must be less than 1/K = ", format(1 / k, digits = 3)),
      "A higher floor would hide which class is the most likely.")
  }
  floor
}

try_floors <- function(half, k) unique(c(half, floor_candidates[floor_candidates < 1 / k]))

#' Log-probabilities, or logits as they are unless they are to be floored
#' @noRd
latent_scale <- function(scores, input, floored, threads) {
  if (input == "probs") return(log(scores))
  if (floored) .Call(C_log_softmax, scores, threads) else scores
}

# Methods ---------------------------------------------------------------------------------

#' @export
predict_probs.calib_temperature <- function(object, data) {
  z <- latent_scale(data$scores, object$input, floored = !is.null(object$floor), data$threads)
  .Call(C_softmax, z, 1 / object$temperature, log(temperature_floor(object)), data$threads)
}

#' What probabilities count as at least
#' @noRd
temperature_floor <- function(object) {
  if (!is.null(object$floor)) return(object$floor)
  if (object$input == "probs") .Machine$double.xmin else 0
}

#' @export
describe.calib_temperature <- function(object) {
  t <- object$temperature
  lines <- paste("temperature", format(t, digits = 4))
  if (is.finite(object$std_error) && !isTRUE(object$votes)) {
    verdict <- if (length(object$classes) == 2 && !is.null(object[["off"]])) {
      "not a measure of overconfidence here, since the class is miscalibrated on average" # it has to make up for a shift
    } else {
      confidence_verdict(object, t, abs(log(t)) >= 2 * object$std_error / t)
    }
    lines <- paste0(lines, " (s.e. ", format(object$std_error, digits = 2), "): ", verdict)
  }
  list(title = "Temperature scaling", lines = c(lines, say_floor(object)))
}

#' @export
latent.calib_temperature <- function(object, z, ...) {
  latent_line(z, 1 / check_object(object)$temperature)
}

#' @export
parameters.calib_temperature <- function(object) {
  data.frame(term = "temperature", estimate = object$temperature, std.error = object$std_error)
}

#' @importFrom stats logLik
#' @export
logLik.calib_temperature <- function(object, ...) {
  object <- check_object(object)
  new_log_lik(object, 1)
}

#' @importFrom stats vcov
#' @export
vcov.calib_temperature <- function(object, ...) {
  object <- check_object(object)
  matrix(object$std_error^2, 1, 1, dimnames = list("temperature", "temperature"))
}

#' @export
object_fields.calib_temperature <- function(object) {
  list(
    temperature = field("number", low = .Machine$double.xmin),
    std_error = field("number", low = 0, na = TRUE), log_lik = field("number"),
    floor = field("number", low = .Machine$double.xmin, high = 0.5, optional = TRUE)
  )
}
