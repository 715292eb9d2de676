# What is known of the parameters of simple calibrators, and of the maps they make: covariances,
# intervals, likelihoods. Wald throughout: a fit keeps its curvature, not its data.

#' Uncertainty of simple calibrators
#'
#' `vcov()` and `confint()` for the parameters of [calib_temperature()], [calib_platt()], [calib_beta()],
#' [calib_vector()] and [calib_matrix()], and `logLik()`, so that [stats::AIC()] and [stats::BIC()] compare them. For
#' intervals of calibrated probabilities see `type = "interval"` of [predict.calibrator()].
#'
#' Covariances are the inverse of the observed information (the negative Hessian of the log-likelihood at its maximum), as
#' in [stats::glm()]. With the smoothed targets of [calib_platt()] it is that of the smoothed likelihood, which acts like
#' two additional rows.
#'
#' Intervals are Wald intervals, the estimate plus and minus the standard error times a normal quantile; that of the
#' temperature is computed for log T, so that it stays positive. Terms that were not estimated (set to zero by
#' [calib_beta()], or of a class with a constant probability) have `NA`, and so does everything where the likelihood has
#' no maximum. With more than two classes the maps of [calib_platt()] and [calib_beta()] are fitted one by one:
#' covariances between classes are `NA`, and there is no joint likelihood.
#'
#' `logLik()` is the log-likelihood of the calibration labels, also for smoothed targets, where it is slightly below its
#' maximum. Its degrees of freedom are the number of estimated terms, or their effective number with a ridge penalty.
#'
#' @param object A calibrator.
#' @param parm Which parameters: names or numbers; all when missing.
#' @param level Level of the intervals.
#' @param ... Not used.
#' @return `vcov()` a matrix and `confint()` one with two columns, a row per parameter (see
#'   [`coef()`][calibrator]); `logLik()` an object of class `logLik`.
#' @examples
#' fit <- calib_beta(rain_nyc$prob, rain_nyc$rain, clip = 1e-3)
#' vcov(fit)
#' confint(fit)
#' tidy(fit, conf.int = TRUE)
#'
#' # Is the third parameter worth having?
#' AIC(fit, calib_beta(rain_nyc$prob, rain_nyc$rain, clip = 1e-3, params = "am"))
#' @name calibrator_inference
NULL

#' @rdname calibrator_inference
#' @importFrom stats confint
#' @export
confint.calibrator <- function(object, parm, level = 0.95, ...) {
  object <- check_object(object)
  level <- check_level(level, "level")
  table <- parameters(object)
  ends <- parameter_interval(object, table, level)
  tails <- paste(format(100 * c(1 - level, 1 + level) / 2, trim = TRUE, digits = 3), "%")
  out <- matrix(ends, ncol = 2, dimnames = list(table$term, tails))
  if (missing(parm)) return(out)
  known <- (is.numeric(parm) && all(parm %in% seq_len(nrow(out)))) ||
    (is.character(parm) && all(parm %in% rownames(out)))
  if (!known || !length(parm)) {
    stop_input("parm", "must be names or numbers of parameters", if (nrow(out)) {
      paste0("There are ", say_values(rownames(out)), ".")
    } else {
      "This calibrator has none."
    })
  }
  out[parm, , drop = FALSE]
}

#' Ends of Wald intervals, a column each; `table` as parameters() gives it
#' @noRd
parameter_interval <- function(object, table, level) {
  q <- stats::qnorm((1 + level) / 2)
  if (inherits(object, "calib_temperature")) {
    factor <- exp(q * table$std.error / table$estimate)
    return(cbind(table$estimate / factor, table$estimate * factor))
  }
  cbind(table$estimate - q * table$std.error, table$estimate + q * table$std.error)
}

#' tidy(conf.int = TRUE)
#' @noRd
add_interval <- function(object, table, level) {
  level <- check_level(level, "conf.level")
  ends <- parameter_interval(object, table, level)
  table$conf.low <- ends[, 1]
  table$conf.high <- ends[, 2]
  table
}

#' @rdname calibrator_inference
#' @importFrom stats vcov
#' @export
vcov.calibrator <- function(object, ...) {
  object <- check_object(object)
  stop_input("object", paste0("of class ", class(object)[1], " has no covariances"),
    "calib_temperature(), calib_platt(), calib_beta(), calib_vector() and calib_matrix() have them.")
}

#' @rdname calibrator_inference
#' @importFrom stats logLik
#' @export
logLik.calibrator <- function(object, ...) {
  object <- check_object(object)
  stop_input("object", paste0("of class ", class(object)[1], " has no likelihood"),
    "calib_temperature(), calib_platt(), calib_beta(), calib_vector() and calib_matrix() have one; calib_gp() has a bound, `elbo`.")
}

# Platt scaling and beta calibration ------------------------------------------------------

#' Covariances of the coefficients, [terms x terms x maps]
#' @noRd
scaling_covariance <- function(object) {
  if (is.null(object$covariance)) {
    stop_input("object", "was fitted by a version of gpcalib that kept no covariances",
      "Fit the calibrator again.")
  }
  terms <- nrow(object$coefficients)
  array(object$covariance, c(terms, terms, ncol(object$coefficients)))
}

vcov_scaling <- function(object) {
  object <- check_object(object)
  covariance <- scaling_covariance(object)
  terms <- dim(covariance)[1]
  names <- parameters(object)$term
  out <- matrix(NA_real_, length(names), length(names), dimnames = list(names, names))
  for (j in seq_len(dim(covariance)[3])) {
    at <- (j - 1) * terms + seq_len(terms)
    block <- matrix(covariance[, , j], terms)
    unknown <- is.na(object$std_error[, j])
    block[unknown, ] <- block[, unknown] <- NA
    out[at, at] <- block
  }
  out
}

#' @export
vcov.calib_platt <- function(object, ...) vcov_scaling(object)

#' @export
vcov.calib_beta <- function(object, ...) vcov_scaling(object)

logLik_scaling <- function(object, df) {
  if (length(object$classes) > 2) {
    stop_input("object", paste0("has a map for each of ", length(object$classes),
      " classes, fitted one by one, and no likelihood of all"),
      "logLik() of this method is for two classes; calib_temperature() has one for any number.")
  }
  new_log_lik(object, df)
}

#' An object of class `logLik` with what a fit holds
#' @noRd
new_log_lik <- function(object, df) {
  if (is.null(object$log_lik)) {
    stop_input("object", "does not hold the log-likelihood of its calibration rows: it was merged, or fitted by an older version",
      "Fit the calibrator to all rows again.")
  }
  structure(object$log_lik, df = df, nobs = object$n, class = "logLik")
}

#' @export
logLik.calib_platt <- function(object, ...) {
  object <- check_object(object)
  flat <- object$coefficients[1] == 0 && is.na(object$std_error[1])
  logLik_scaling(object, if (flat) 1 else 2)
}

#' @export
logLik.calib_beta <- function(object, ...) {
  object <- check_object(object)
  dropped <- object$coefficients[1:2] == 0
  df <- switch(object$params, abm = 3 - sum(dropped), am = 2 - dropped[1], ab = 2 - sum(dropped))
  logLik_scaling(object, df)
}

# Intervals of probabilities --------------------------------------------------------------

#' What predict(type = "interval") gives: list(estimate, lower, upper), N x K each
#'
#' @param data what check_newdata() returned; @param shift NULL, or list(from, to) of class
#'   frequencies.
#' @noRd
predict_interval <- function(object, data, level, shift) UseMethod("predict_interval")

#' @export
predict_interval.default <- function(object, data, level, shift) {
  stop_input("type", paste0("is \"interval\", which ", class(object)[1], "() does not have"),
    paste0("calib_gp(), calib_temperature()", if (length(object$classes) == 2) ", calib_platt(), calib_beta()",
      " and calib_isotonic(type = \"venn-abers\") have intervals."))
}

#' @export
predict_interval.calib_platt <- function(object, data, level, shift) {
  check_pair_interval(object)
  s <- if (object$log_odds) {
    .Call(C_log_odds, data$scores, object$input == "logits", data$threads)[, 2]
  } else {
    data$scores[, 2]
  }
  s <- pmin(pmax(s, object$range[1]), object$range[2])
  eta_interval(object, cbind(s, 1, deparse.level = 0), level, shift)
}

#' @export
predict_interval.calib_beta <- function(object, data, level, shift) {
  check_pair_interval(object)
  p <- data$scores
  if (object$input == "logits") p <- .Call(C_softmax, p, 1, -Inf, data$threads)
  p <- pmax(p, object$clip)
  eta_interval(object, cbind(log(p[, 2]), -log(p[, 1]), 1, deparse.level = 0), level, shift)
}

check_pair_interval <- function(object) {
  if (length(object$classes) == 2) return()
  stop_input("type", paste0("is \"interval\", which ", class(object)[1], "() has for two classes only, not ",
    length(object$classes)),
    "Its maps are fitted one by one; calib_gp() and calib_temperature() have intervals for any number of classes.")
}

#' The delta method for log-odds x'b, one map: exact but for the normal distribution of b
#' @noRd
eta_interval <- function(object, x, level, shift) {
  covariance <- scaling_covariance(object)[, , 1]
  eta <- drop(x %*% as.vector(object$coefficients))
  se <- if (anyNA(covariance)) {
    warn_no_interval(object)
    rep(NA_real_, length(eta))
  } else {
    sqrt(pmax(rowSums((x %*% covariance) * x), 0))
  }
  if (!is.null(shift)) {
    ratio <- log(shift$to) - log(shift$from)
    eta <- eta + (ratio[2] - ratio[1])
  }
  pair_interval(eta, stats::qnorm((1 + level) / 2) * se)
}

#' Probabilities of both classes from the log-odds of the second, and half the interval's width
#' @noRd
pair_interval <- function(eta, half) {
  both <- function(second, first) {
    cbind(stats::plogis(-first), stats::plogis(second), deparse.level = 0)
  }
  list(estimate = both(eta, eta), lower = both(eta - half, eta + half),
    upper = both(eta + half, eta - half))
}

warn_no_interval <- function(object) {
  warn_gpcalib("undefined", paste0("The fit has no standard errors, ", if (!object$converged) {
    "because it did not converge"
  } else {
    "because its calibration rows do not determine it well enough"
  }, ": the limits of the intervals are NA."))
}

#' Temperature scaling: the log-odds of class k change with b = 1/T by z_k less the mean of the
#' other scores, weighted by their probabilities
#' @export
#' @noRd
predict_interval.calib_temperature <- function(object, data, level, shift) {
  p <- shift_probs(predict_probs(object, data), shift)
  n <- nrow(p)
  if (n == 0) return(list(estimate = p, lower = p, upper = p))
  floor <- temperature_floor(object)
  z <- pmax(latent_scale(data$scores, object$input, floored = !is.null(object$floor), data$threads), log(floor))
  winner <- cbind(seq_len(n), scan_rows(p, data$threads)$arg)
  z <- z - z[winner]
  z[p == 0] <- 0 # counts nowhere
  se <- object$std_error / object$temperature^2
  if (is.na(se)) warn_no_interval(object)
  # 1 - p is a sum of the others where p is the largest, so that nothing is lost in rounding.
  others <- p
  others[winner] <- 0
  rest <- 1 - p
  rest[winner] <- rowSums(others)
  mean <- (rowSums(p * z) - p * z) / rest
  mean[winner] <- rowSums(others * z) / rest[winner]
  half <- stats::qnorm((1 + level) / 2) * se * abs(z - mean)
  eta <- log(p) - log(rest)
  lower <- pmin(stats::plogis(eta - half), p) # up to rounding
  upper <- pmax(stats::plogis(eta + half), p)
  sure <- p == 0 | rest == 0 # as far as doubles go
  lower[sure] <- upper[sure] <- p[sure]
  list(estimate = p, lower = lower, upper = upper)
}
