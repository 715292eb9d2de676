#' Predictions of a latent Gaussian process calibrator
#'
#' Calibrated probabilities of new scores, their posterior intervals and draws, the most likely classes, or the latent values.
#'
#' @inheritParams predict.calibrator
#' @param object A fit of [calib_gp()].
#' @param type `"prob"` for probabilities, `"class"` for the most likely class, `"latent"` for the
#'   posterior mean and variance of the latent values, `"interval"` for probabilities with their
#'   interval, `"draws"` for probabilities under functions drawn from the posterior.
#' @param approx How the latent posterior is integrated for `"prob"` and `"class"`.
#'   `"delta"` expands the softmax to second order about the posterior mean. Where that is not accurate enough (where
#'   the next terms of the expansion might change a probability by more than 1e-4), it averages over a fixed set of 512
#'   functions instead. With two classes every row is integrated by quadrature. `"delta"` uses no random numbers.
#'   `"mean"` takes the softmax of the posterior mean. `"mc"`
#'   averages over `n_draws` random functions.
#' @param n_draws How many functions to draw. They come in antithetic pairs, so that an odd number is rounded up. The
#'   default is 100 for `approx = "mc"` and 1000 for draws. For intervals it is 4000 with two classes. With three or more classes it is between 1000 and 20,000: the fewer
#'   rows and classes, the more draws, so that limits of a few rows hardly change from one call to the next. (With two classes, intervals use no more than 20,000 draws.) Lower limits of
#'   probabilities near 0 can be tiny (1e-50, say) and change by a factor from call to call: read them as 0.
#' @param level Coverage of the interval, for `type = "interval"`.
#' @param independent For `approx = "mc"`: draw the latent values of a row independently of each other, as in the paper,
#'   instead of drawing functions? This is kept for comparison only. It changes the most likely class of some rows, and
#'   needs a fit without class effects.
#' @param vary_slope For `"interval"` and `"draws"`: draw the slope of the linear prior mean as well,
#'   or take it as known? With class effects, the slope and the effects are drawn together unless this is `FALSE`.
#' @param prior Class frequencies of the new rows, where they differ from those of the calibration rows, as in
#'   [predict.calibrator()]. Probabilities are corrected as for every calibrator: they are multiplied by the ratio of
#'   new to old frequency, and each row is divided by its sum. This includes the estimates of `"interval"`. Each of the
#'   `"draws"` is corrected in the same way, and the limits of `"interval"` come from corrected draws. Not for
#'   `"latent"`.
#' @param ... Must be empty, so that a misspelt argument is noticed. An argument that does not
#'   apply, such as `level` without `type = "interval"`, is an error as well.
#' @details
#' The drawn latent value of a score z of class k is \eqn{\mu(z) + a(z)'v + \sqrt{\rho(z)}\,e_k}{mu(z) + a(z)'v +
#' sqrt(rho(z)) e_k}. Here v is drawn from the variational posterior of the whitened inducing values, one v per draw for
#' all rows and classes; a(z) are the features and \eqn{\rho(z)}{rho(z)} is the residual variance of
#' `vignette("methods", package = "gpcalib")`; \eqn{e_k}{e_k} is standard normal, one per class. So the latent values of
#' a row have their joint posterior covariance. Draws use R's random number generator; use [set.seed()] to make them
#' reproducible.
#'
#' The slope of the linear prior mean is estimated, and intervals and draws take its uncertainty into account. Its
#' standard deviation, `fit$slope_sd`, comes from the curvature of the evidence lower bound. If the slope were treated
#' as known (`vary_slope = FALSE`), intervals would be too short where the map is close to temperature scaling: much too short
#' without class effects and with `integrate = FALSE`, because the slope is then the only source of uncertainty, and hardly shorter otherwise.
#' Without class effects, probabilities are computed with the slope fixed at its estimate. The variance of `"latent"`
#' includes the variance of the slope, and so does the band of [`autoplot()`][autoplot.calib_gp].
#'
#' Intervals and draws also take into account that the variance and the lengthscale of the process are not known, unless the fit was made
#' with `integrate = FALSE`: see the section on hyperparameters of [calib_gp()]. Probabilities and `"latent"` are
#' computed with the optimal values of both. The average of many draws therefore differs from `type = "prob"`. Usually the difference is
#' small, but it can be large where few rows inform the map, or where curved maps fit nearly as well as the best one, a straight line: for the calibration rows of [rain_nyc] and a score of 0.9, `type = "prob"` is 0.54, the average of
#' the draws 0.43 and the 95 % interval 0.28 to 0.62. To get the average over the hyperparameters, use `apply(draws, 1:2, mean)` with the array that
#' `type = "draws"` returns. For the same reason a probability can lie near one end of its interval; an interval that would not
#' contain it is extended. An interval describes the uncertainty of the calibrated probability
#' itself, that is, of the map. It is not a prediction interval for the next label.
#'
#' Rows with probabilities near 0 and 1 carry little information about the map, so that intervals are wide there. With the default
#' `integrate = TRUE` the limits allow for maps that are rougher than the fitted one, which lowers the lower limits of probabilities near 1, and for maps that are steeper
#' than it beyond most of the calibration scores, which raises the upper limits. (The second is not done with `vary_slope = FALSE`, `monotone = TRUE` or
#' `mean = "log"`; for details see "Where probabilities are near 1" in `vignette("methods", package = "gpcalib")`.)
#'
#' With two classes a calibrated probability hardly ever falls while the score rises, and the limits allow for that. Each function drawn is replaced by the nearest one that
#' nowhere falls faster than a quarter of the mean slope (on the scale of log-odds; equation (43c) of the same vignette). So the limits of a score depend on those of its neighbours. They can still fall a little while the score
#' rises where intervals soon become wider, as near the ends of the calibration scores (by up to 0.05 in half of the fits of 1000 rows that we looked at). This is not done where the mean of the
#' functions clearly falls itself, nor with `integrate = FALSE`, `monotone = TRUE` or `mean = "log"`. `"draws"` are functions as they are drawn.
#'
#' The coverage of 95 % intervals was measured in simulations with known truth. Averaged over rows, it is 0.92 to 1.00
#' for most true maps, and lower for wavy or shifted maps and few calibration rows. The tables are in
#' `vignette("uncertainty", package = "gpcalib")`.
#'
#' A fit with `monotone = TRUE` ([calib_gp()]) keeps the order of the scores for every `type` and `approx`. Its drawn
#' functions are increasing and leave out the residual terms \eqn{\sqrt{\rho(z)}\,e_k}{sqrt(rho(z)) e_k}. `"delta"`
#' averages over 128 fixed functions, also with two classes, and over 1024 in rows where the averages over the two
#' halves of the 128 differ by more than 5e-4. `"latent"` gives the increasing map and the variance of the drawn
#' functions about it. `independent = TRUE` is an error.
#'
#' With 3 to 26 classes and class effects, probabilities allow for new rows that are unlike all N calibration rows
#' (N is the total weight if rows are weighted). A new row is assumed to be of this kind with probability 0.2/(N + 0.2),
#' and then all K classes are equally likely. So no class gets a probability below 0.2/(N + 0.2)/K, unless a logit of
#' `-Inf` rules it out. 0.2/(N + 0.2) is the mean of the unknown share of such rows, whose distribution, Beta(0.2, N), is very skewed: half of it lies below
#' a tenth of the mean, and its 97.5 % quantile is 7.5 times the mean. Limits of intervals are computed twice, without such rows and with shares from this distribution, and
#' the limit further out is taken. So with 3 to 26 classes and class effects the interval of a probability near 0 goes from practically 0 to a multiple of the
#' estimate. Draws are without such rows, and so is `approx = "mean"`, which is the softmax of the posterior mean.
#'
#' With more than 26 classes the offsets are taken at their means for `"prob"` and `"class"`. If there is a matrix as well, `"delta"` takes into account
#' the uncertainty of matrix, powers and offsets, by a second-order expansion on top of the probabilities of the map. `"mc"` and intervals draw
#' the sums of the effects of each row, `"draws"` the effects themselves, so that rows share them.
#'
#' A logit more than 1e8 / slope below the highest of its row is treated as `-Inf`, that is, its class is ruled out: otherwise it would
#' dominate the row mean that is subtracted from all scores.
#'
#' Outside the range of the calibration scores the map returns to its prior mean, and intervals become wider in log-odds, which near 0 and 1 is not wide in probabilities. When more
#' than 1 % of the new scores lie outside this range, there is a warning of class `gpcalib_warning_extrapolation`.
#' @return For `"prob"` an N x K matrix and for `"class"` a factor, as [predict.calibrator()]; for
#'   `"latent"` a list of the N x K matrices `mean` and `var`; for `"interval"` an array N x K x 3
#'   (estimate, lower, upper); for `"draws"` an array N x K x `n_draws`.
#' @examples
#' fit <- calib_gp(rain_nyc$prob[1:500], rain_nyc$rain[1:500])
#' predict(fit, c(0.01, 0.5, 0.99))
#' predict(fit, c(0.01, 0.5, 0.99), type = "interval")[, "rain", ]
#' @export
predict.calib_gp <- function(object, newdata,
                             type = c("prob", "class", "latent", "interval", "draws"),
                             approx = c("delta", "mean", "mc"), n_draws = NULL, level = 0.95,
                             independent = FALSE, vary_slope = type %in% c("interval", "draws"), ...,
                             prior = NULL, threads = 1) {
  check_predict_dots(...)
  object <- check_object(object)
  given <- c(approx = !missing(approx), n_draws = !is.null(n_draws), level = !missing(level),
    independent = !missing(independent), vary_slope = !missing(vary_slope), prior = !is.null(prior))
  type <- check_predict_type(type, c("prob", "class", "latent", "interval", "draws"))
  approx <- check_choice(approx, c("delta", "mean", "mc"), "approx")
  check_applies(given, type, approx)
  vary_slope <- check_flag(vary_slope, "vary_slope")
  if (!given[["vary_slope"]] && !is.null(object$effects)) vary_slope <- TRUE
  independent <- check_flag(independent, "independent")
  if (independent && !identical(object$class_effects, "none")) {
    stop_input("independent", "is TRUE, but the fit has class effects, which the model of the paper does not have",
      "Fit with class_effects = \"none\" to compare with the paper.")
  }
  level <- check_number(level, "level", 0.001, 0.9999)
  data <- prepare_newdata(object, newdata, threads)
  if (is.null(n_draws)) {
    n_draws <- switch(type, interval = interval_draws(nrow(data$scores), length(object$classes)), draws = 1000, 100)
  }
  n_draws <- check_count(n_draws, "n_draws", 2, 1e6)
  map_draws <- if (given[["n_draws"]]) min(n_draws, most_limits_draws) else limits_draws
  shift <- check_shift(object, prior)
  dims <- list(data$rows, object$classes)
  if (nrow(data$scores) == 0) return(empty_prediction(object, dims, type, n_draws))
  at <- gp_newdata(object, data)
  warn_outside(at, object, data)
  switch(type,
    latent = lapply(gp_latent_rows(object, at, data$threads), `dimnames<-`, dims),
    draws = gp_draws_prior(object, at, n_draws, vary_slope, dims, data$threads, shift),
    interval = if (is.null(shift)) {
      gp_interval(object, at, n_draws, level, vary_slope, dims, data$threads, map_draws)
    } else {
      gp_interval_prior(object, at, n_draws, level, vary_slope, dims, data$threads, shift, map_draws)
    },
    gp_prob_or_class(object, at, approx, n_draws, independent, data, type, shift)
  )
}

#' A fit that keeps the order predicts the class with the highest score
#' @noRd
gp_prob_or_class <- function(object, at, approx, n_draws, independent, data, type, shift) {
  if (type == "class" && object$monotone && is.null(object$offsets) && is.null(shift)) {
    return(factor(object$classes[data$scan$arg], levels = object$classes))
  }
  probs <- gp_probs(object, at, approx, n_draws, independent, data$threads)
  finish_probs(shift_probs(probs, shift), object, data, type)
}

#' Arguments that change nothing are mistakes
#' @param given named flags: which arguments have been given.
#' @noRd
check_applies <- function(given, type, approx) {
  probs <- type %in% c("prob", "class")
  functions <- type %in% c("interval", "draws")
  mc <- probs && approx == "mc"
  applies <- c(approx = probs, n_draws = mc || functions, level = type == "interval",
    independent = mc, vary_slope = functions, prior = probs || functions)
  only <- c(approx = "type = \"prob\" and \"class\"",
    n_draws = "approx = \"mc\" and type = \"interval\" and \"draws\"", level = "type = \"interval\"",
    independent = "approx = \"mc\"", vary_slope = "type = \"interval\" and \"draws\"",
    prior = "type = \"prob\", \"class\", \"interval\" and \"draws\"")
  wrong <- names(which(given & !applies[names(given)]))
  if (length(wrong)) stop_input(wrong[1], paste("is only for", only[[wrong[1]]]), "Leave it out.")
}

empty_prediction <- function(object, dims, type, n_draws) {
  none <- matrix(0, 0, length(object$classes), dimnames = dims)
  switch(type,
    prob = none,
    class = factor(character(), levels = object$classes),
    latent = list(mean = none, var = none),
    interval = array(0, c(dim(none), 3),
      dimnames = c(dims, list(c("estimate", "lower", "upper")))),
    draws = array(0, c(dim(none), n_draws), dimnames = c(dims, list(NULL)))
  )
}

#' Probabilities N x K; `approx` "delta", "mean" or "mc"
#' @noRd
gp_probs <- function(object, at, approx, n_draws = 100L, independent = FALSE, threads = 1L) {
  if (isTRUE(object$monotone)) return(mono_probs(object, at, approx, n_draws, independent, threads))
  if (approx == "mc") return(gp_mc(object, at, n_draws, independent, threads))
  how <- match(approx, c("mean", "delta")) - 1L
  if (!is.null(object$effects)) {
    probs <- effects_result(.Call(C_effects_predict, object, at, how, threads))
    return(if (approx == "mean") probs else share_out(probs, object, at))
  }
  probs <- .Call(C_gp_predict, object, at, how, threads)
  # in place, since nobody else has them
  if (has_wide(object)) return(.Call(C_wide_apply, probs, at, unpack_wide(object$offsets), approx == "delta", threads))
  if (is.null(object$offsets)) return(probs)
  .Call(C_offsets_apply, probs, matrix(unname(object$offsets$mean)), nrow(probs))
}

# a of eq. (38a): of N rows none was outside of the model; the next may be. Chosen on splits 6 to 10 of 13 classifier outputs with 200 rows,
# where .1 and .3 were about as good.
outside_rows <- 0.2

#' Probabilities of three or more classes with effects, and of rows that these know nothing of, which may be of any class
#' @param probs probabilities; @param at as of gp_newdata(): classes that are ruled out stay so.
#' @noRd
share_out <- function(probs, object, at) {
  if (!has_unknown(object)) return(probs)
  share <- object$outside / (old_weight(object) + object$outside)
  (1 - share) * probs + share * even_classes(object, at)
}

# fits of older versions have none
has_unknown <- function(object) length(object$classes) > 2 && !is.null(object$effects) && !is.null(object$outside)

#' Probabilities of the classes in a row that the effects know nothing of: one number, or [n x k] where some are ruled out
#' @noRd
even_classes <- function(object, at) {
  if (is.null(at$gone)) 1 / length(object$classes) else as.vector(!at$gone) / rowSums(!at$gone)
}

#' The routine of the core for a fit that keeps the order, one of the process alone, or one with effects
#' @noRd
call_draws <- function(object, at, functions, keep, threads) {
  if (isTRUE(object$monotone)) return(.Call(C_mono_draws, object, at, functions, keep, threads))
  if (!is.null(object$effects)) {
    out <- effects_result(.Call(C_effects_draws, gp_full_effects(object), at, functions, keep, threads))
    return(if (keep) out else share_out(out, object, at)) # draws are of the model; their average is a prediction
  }
  .Call(C_gp_draws, object, at, functions, keep, threads)
}

call_interval <- function(object, at, functions, ends, threads) {
  if (isTRUE(object$monotone)) return(.Call(C_mono_interval, object, at, functions, ends, threads))
  if (!is.null(object$effects)) {
    return(effects_result(.Call(C_effects_interval, gp_full_effects(object), at, functions, ends, threads)))
  }
  .Call(C_gp_interval, object, at, functions, ends, threads)
}

#' The offsets of many classes on top of probabilities of the process alone
#' @noRd
gp_shift <- function(object, probs) {
  if (is.null(object$offsets)) return(probs)
  .Call(C_offsets_apply, probs, matrix(unname(object$offsets$mean)), nrow(probs))
}

#' The offsets of antithetic pairs of draws, given the functions they go with: [k x 2 pairs]
#' @noRd
gp_offset_draws <- function(object, functions, pairs) {
  offsets <- object$offsets
  classes <- length(offsets$mean)
  joint <- !is.null(offsets$cross)
  e <- sqrt(if (joint) offsets$given else offsets$var) * matrix(stats::rnorm(classes * pairs), classes)
  if (joint) {
    own <- seq_along(object$inducing)
    v <- crossprod(chol(object$q_cov), matrix(functions$x, ncol = pairs)[own, , drop = FALSE])
    slope <- if (ncol(offsets$cross) > length(own)) if (is.null(functions$tilt)) numeric(pairs) else functions$tilt
    e <- e + offsets$cross %*% rbind(v, slope)
  }
  unname(offsets$mean) + matrix(rbind(e, -e), classes)
}

#' Draws [n x k x d] of the process with the offsets drawn as well
#' @noRd
gp_shift_draws <- function(object, draws, functions, at) {
  rows <- nrow(at$z)
  if (is.null(object$offsets)) return(draws)
  if (has_wide(object)) return(wide_draws(object, at, draws))
  pairs <- length(draws) / (2 * rows * length(object$offsets$mean))
  .Call(C_offsets_apply, as.vector(draws), gp_offset_draws(object, functions, pairs), rows)
}

#' Averages over function draws; `independent` in blocks of rows
#' @noRd
gp_mc <- function(object, at, n_draws, independent, threads) {
  pairs <- (n_draws + 1L) %/% 2L
  n <- nrow(at$z)
  average <- function(at, functions) {
    out <- call_draws(object, at, functions, FALSE, threads)
    dim(out) <- dim(at$z) # in place, since nobody else has them
    out
  }
  if (!is.null(object$offsets)) {
    out <- matrix(0, n, ncol(at$z))
    gp_each_offsets(object, at, pairs, FALSE, threads, function(rows, draws) {
      out[rows, ] <<- pmax(rowMeans(matrix(draws, length(rows) * ncol(at$z))), .Machine$double.xmin)
    })
    return(out)
  }
  if (!independent) return(average(at, gp_functions(object, at, pairs)))
  block <- max(1L, as.integer(4e6 / (ncol(at$z) * pairs)))
  parts <- lapply(split(seq_len(n), (seq_len(n) - 1L) %/% block), function(rows) {
    part <- rows_of(at, rows)
    average(part, list(x = numeric(length(object$inducing) * pairs),
      e = stats::rnorm(length(part$z) * pairs), independent = TRUE))
  })
  do.call(rbind, parts)
}

#' Array N x K x n_draws
#' @noRd
gp_draws <- function(object, at, n_draws, vary_slope, dims, threads) {
  pairs <- (n_draws + 1L) %/% 2L
  object <- gp_averaged(object)
  if (!vary_slope) object <- gp_known_slope(object)
  functions <- gp_functions(object, at, pairs, vary_slope)
  draws <- call_draws(object, at, functions, TRUE, threads)
  draws <- gp_shift_draws(object, draws, functions, at)
  draws <- array(draws, c(dim(at$z), 2L * pairs))
  structure(draws[, , seq_len(n_draws), drop = FALSE], dimnames = c(dims, list(NULL)))
}

#' Posterior mean and variance of the latent values: list of N x K matrices
#' @noRd
gp_latent_rows <- function(object, at, threads) {
  if (object$monotone) return(mono_latent_rows(object, at))
  out <- if (is.null(object$effects)) {
    rows <- function(fit) .Call(C_gp_latent_rows, fit, at, threads)
    with_slope_var(object, rows(object), rows)
  } else {
    effects_result(.Call(C_effects_latent, gp_full_effects(object), at, threads))
  }
  if (is.null(object$offsets)) return(out)
  if (has_wide(object)) return(Map(`+`, out, wide_rows(object, at)))
  list(mean = sweep(out$mean, 2, object$offsets$mean, "+"), var = sweep(out$var, 2, object$offsets$var, "+"))
}

#' Draws of a fit with offsets of many classes, in blocks of rows
#'
#' @param use function(rows, draws) that takes the draws [n x k x 2 pairs] of these rows.
#' @noRd
gp_each_offsets <- function(object, at, pairs, vary_slope, threads, use) {
  n <- nrow(at$z)
  k <- ncol(at$z)
  functions <- gp_functions(object, at, pairs, vary_slope)
  wide <- has_wide(object)
  # those of a draw are the same in all rows
  both <- if (wide) matrix(stats::rnorm(k * pairs), k) else gp_offset_draws(object, functions, pairs)
  block <- max(1L, as.integer(4e6 / (2 * k * pairs)))
  for (rows in split(seq_len(n), (seq_len(n) - 1L) %/% block)) {
    part <- rows_of(at, rows)
    draws <- call_draws(object, part, functions, TRUE, threads)
    use(rows, if (wide) wide_shift(object, part, draws, both) else .Call(C_offsets_apply, draws, both, length(rows)))
  }
}

#' As predict() has them by default: for looks at the calibration rows themselves
#' @export
#' @noRd
predict_probs.calib_gp <- function(object, data) {
  gp_probs(object, gp_newdata(object, data), "delta", threads = data$threads)
}
