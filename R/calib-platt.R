#' Platt scaling
#'
#' Logistic regression of the label on the score s:
#' \deqn{\pi(s) = \frac{1}{1 + \exp(-(a s + b))}.}{pi(s) = 1 / (1 + exp(-(a s + b))).}
#'
#' The score s is the log-odds of the class: \eqn{\log(p_k/(1 - p_k))}{log(p_k/(1 - p_k))} for probabilities; for two
#' classes with logits, their difference or the vector that was given. With `scale = "score"`, probabilities are used as
#' they are. That suits scores between 0 and 1 that are not probabilities. Infinite
#' log-odds, from probabilities of exactly 0 or 1, are replaced by the most extreme finite
#' log-odds among the calibration scores of the class, or, if fewer than ten are finite, by minus or plus \eqn{\log(N +
#' 1)}{log(N + 1)} where that is more extreme. New scores are limited to the same range. If no calibration score is
#' infinite, new probabilities are limited to the range from \eqn{2^{-52}}{2^-52} to \eqn{1 - 2^{-52}}{1 - 2^-52}, and
#' logits are not limited.
#'
#' `targets = "smoothed"` replaces the labels 1 and 0 by
#' \eqn{(N_+ + 1)/(N_+ + 2)}{(N+ + 1)/(N+ + 2)} and \eqn{1/(N_- + 2)}{1/(N- + 2)}, with \eqn{N_+}{N+} rows of the class and
#' \eqn{N_-}{N-} of the others, which keeps the fit finite when scores separate the classes.
#' `"raw"` is plain maximum likelihood, as by `glm(family = binomial)`. With completely separated classes the likelihood has
#' no maximum: the slope is then limited so that the mean confidence is (N + 1)/(N + 2) of the largest value that tied
#' scores allow (`gpcalib_warning_separated`). If all scores are equal, the slope is 0
#' (`gpcalib_warning_flat`). The slope is not restricted: it becomes negative when the class is more frequent among low
#' scores.
#'
#' # When to use it
#' With few calibration rows (a few dozen are enough), and when the log-odds only need to be multiplied by a factor and
#' shifted, as is common for the margins of support vector machines. Two-class scores keep their
#' order, unless the slope is negative.
#'
#' What it cannot do: it cannot correct a map that is not a sigmoid. With `scale = "score"` the identity is not among
#' its maps, so that it can make calibrated probabilities worse; with `scale = "logit"`, and in [calib_beta()], the
#' identity is included.
#'
#' @inheritSection calib_isotonic More than two classes
#' @inheritParams calib_temperature
#' @param targets `"smoothed"` targets or the `"raw"` labels.
#' @param scale For probabilities: whether to use their log-odds (`"logit"`) or the probabilities themselves
#'   (`"score"`). Logits always give log-odds.
#' @param max_iter The largest number of Newton iterations of one fit. (Where [calib_beta()] leaves out a term, the
#'   class is fitted again; `iterations` counts all iterations.)
#' @return An object of class `c("calib_platt", "calibrator")` with, beside the fields of every
#'   calibrator, `coefficients` and `std_error` (2 x K matrices with rows `slope` and `intercept`; one
#'   column for two classes), `covariance` (of the coefficients, class after class), `targets`, `log_odds` (whether scores
#'   are log-odds), `range` (the limits of the scores), `log_lik` (of the calibration labels, for two classes) and `fixed`,
#'   the classes with a constant probability. See [predict.calibrator()], [calib_map()] and [calibrator].
#' @references
#' Platt, J. C. (2000). Probabilistic outputs for support vector machines and comparisons to
#' regularized likelihood methods. In *Advances in Large Margin Classifiers*, MIT Press, 61-74.
#'
#' Lin, H.-T., Lin, C.-J. and Weng, R. C. (2007). A note on Platt's probabilistic outputs for support
#' vector machines. *Machine Learning* 68, 267-276.
#' @family calibrators
#' @examples
#' fit <- calib_platt(rain_nyc$prob, rain_nyc$rain)
#' fit
#' summary(fit)
#' calib_map(fit, c(0.1, 0.5, 0.9))
#' @export
calib_platt <- function(scores, labels, input = c("auto", "probs", "logits"), weights = NULL,
                        targets = c("smoothed", "raw"), scale = c("logit", "score"),
                        max_iter = 100, threads = 1) {
  threads <- check_threads(threads)
  targets <- check_choice(targets, c("smoothed", "raw"), "targets")
  scale <- check_choice(scale, c("logit", "score"), "scale")
  max_iter <- check_count(max_iter, "max_iter")
  data <- check_calibration(scores, labels, input, weights, threads)
  log_odds <- data$input == "logits" || scale == "logit"
  ova <- ova_data(data, threads, log_odds)
  fit <- fit_scaling(data, ova, list(beta = FALSE, smoothed = targets == "smoothed", params = 0L,
    clip = 0, tol = scaling_tol, max_iter = max_iter,
    limit = platt_limit(data$input, log_odds)), threads)
  warn_scaling(fit, data$classes)
  name_scaling("platt", data, match.call(), fit, c("slope", "intercept"), targets = targets,
    log_odds = log_odds, range = fit$range, fixed = ova$fixed)
}

#' How far scores count where no infinite ones were seen: log-odds of probabilities as far as 2^-52
#' @noRd
platt_limit <- function(input, log_odds) {
  if (input == "probs" && log_odds) 52 * log(2) else .Machine$double.xmax
}

# Newton's last step, in standard errors; the error it leaves is about its square.
scaling_tol <- 1e-6

fit_scaling <- function(data, ova, options, threads) {
  .Call(C_scaling_fit, ova$scores, data$labels, data$weights, ova$constant, options, threads)
}

#' One warning for all classes of a kind
#' @noRd
warn_scaling <- function(fit, classes) {
  tell <- function(status, class, what) warn_maps(fit$status == status, classes, class, what)
  tell("upper", "separated", paste0("The scores separate the classes of the calibration rows completely%s: the likelihood ",
    "has no maximum. The slope was limited so that the mean confidence is (N + 1)/(N + 2) of its largest possible value."))
  tell("flat", "flat", paste0("All calibration scores are equal%s: every row gets the frequency ", "of the class."))
  tell("not_converged", "not_converged", paste0("The fit did not converge%s; raise `max_iter`."))
}

#' A warning about some of the maps
#' @param hit for each map, whether it is meant; @param what text, in which %s stands for the classes.
#' @noRd
warn_maps <- function(hit, classes, class, what) {
  if (!any(hit)) return()
  who <- if (length(classes) == 2) "" else paste0(" (", sum(hit), " of ", length(classes), " classes: ", say_values(classes[hit]), ")")
  warn_gpcalib(class, sub("%s", who, what))
}

#' The object of a method with coefficients
#' @noRd
name_scaling <- function(method, data, call, fit, terms, ...) {
  classes <- if (length(data$classes) == 2) data$classes[2] else data$classes
  named <- function(x) matrix(x, length(terms), dimnames = list(terms, classes))
  new_calibrator(method, data, call,
    converged = all(fit$status %in% c("ok", "flat")), iterations = max(fit$iterations),
    coefficients = named(fit$coef), std_error = named(fit$se), covariance = as.vector(fit$cov), ...,
    log_lik = if (length(data$classes) == 2) fit$log_lik
  )
}

tidy_scaling <- function(object, terms = rownames(object$coefficients)) {
  estimate <- object$coefficients[terms, , drop = FALSE]
  term <- rep(terms, ncol(estimate))
  if (length(object$classes) > 2) {
    term <- paste0(rep(colnames(estimate), each = length(terms)), ": ", term)
  }
  data.frame(term = term, estimate = as.vector(estimate),
    std.error = as.vector(object$std_error[terms, ]))
}

#' "slope 1.2, intercept -0.3", or their ranges over the classes
#' @noRd
say_coefficients <- function(object, terms = rownames(object$coefficients)) {
  say <- function(x) format(x, digits = 4)
  parts <- vapply(terms, function(term) {
    values <- object$coefficients[term, ]
    if (length(values) == 1) return(paste(term, say(values)))
    paste(term, say(min(values)), "to", say(max(values)))
  }, "")
  paste(parts, collapse = ", ")
}

#' @export
ova_maps.calib_platt <- function(object) {
  list(kind = 1L, coef = object$coefficients, range = object$range, log_odds = object$log_odds)
}

#' @export
predict_probs.calib_platt <- function(object, data) predict_ova(object, data)

#' @export
class_maps.calib_platt <- function(object, p) map_ova(object, p)

#' @export
describe.calib_platt <- function(object) {
  lines <- c(
    paste0(if (object$log_odds) "calibrated log-odds = slope * log-odds + intercept: " else {
      "calibrated log-odds = slope * probability + intercept: "
    }, say_coefficients(object)),
    if (any(object$coefficients["slope", ] < 0)) "a slope is negative: the class is more frequent where its scores are low"
  )
  list(title = "Platt scaling", lines = describe_ova(object, lines),
    details = paste("logistic regression on", if (object$targets == "raw") "the labels" else "smoothed labels (Platt's targets)"))
}

#' @export
parameters.calib_platt <- function(object) tidy_scaling(object)

#' @export
object_fields.calib_platt <- function(object) {
  c(scaling_fields(object, 2L), list(
    targets = field("text", among = c("smoothed", "raw")), log_odds = field("flag"),
    range = field("number", 2L * ova_count(object))
  ))
}

#' @export
object_wrong.calib_platt <- function(object) {
  if (!object$log_odds && object$input == "logits") return("scores logits as they are")
  scaling_wrong(object, c("slope", "intercept"))
}

scaling_fields <- function(object, terms) {
  list(
    coefficients = field("number", terms * ova_count(object)),
    std_error = field("number", terms * ova_count(object), low = 0, na = TRUE),
    covariance = field("number", terms^2 * ova_count(object), na = TRUE, optional = TRUE),
    log_lik = field("number", na = TRUE, optional = TRUE), fixed = field("text", NA, among = object$classes)
  )
}

scaling_wrong <- function(object, terms) {
  named <- list(terms, ova_classes(object))
  if (!identical(dimnames(object$coefficients), named) || !identical(dimnames(object$std_error), named)) {
    "has coefficients that are not those of its classes"
  }
}
