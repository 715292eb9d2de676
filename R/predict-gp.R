#' Predictions of a latent Gaussian process calibrator
#'
#' @inheritParams predict.calibrator
#' @param object A fit of [calib_gp()].
#' @param type `"prob"` for probabilities, `"class"` for the most likely class, `"latent"` for the
#'   posterior mean and variance of the latent values, `"interval"` for probabilities with their
#'   interval, `"draws"` for probabilities under functions drawn from the posterior.
#' @param approx How the latent posterior is integrated for `"prob"` and `"class"`.
#'   `"delta"` expands the softmax to second order about the posterior mean; rows for which that
#'   is not good enough (its next terms may exceed 2e-4) are integrated: by quadrature for two
#'   classes, which is used for all of their rows, and otherwise over a fixed set of functions.
#'   It needs no random numbers. `"mean"` takes the softmax of the posterior mean. `"mc"`
#'   averages over `n_draws` random functions.
#' @param n_draws How many functions to draw (in antithetic pairs, so that an odd number is
#'   rounded up): 100 for `approx = "mc"`, 1000 for intervals and draws unless given.
#' @param level Coverage of the interval.
#' @param independent For `approx = "mc"`: give every latent value noise of its own instead of
#'   drawing functions, as in the paper. Kept for comparison; it changes the most likely class of
#'   some rows.
#' @param vary_slope For `"interval"` and `"draws"`: draw the slope of the linear prior mean as well,
#'   or take it as known?
#' @param ... Must be empty, so that a misspelt argument is noticed.
#' @details
#' A function is drawn as \eqn{g(z) = \mu(z) + a(z)'v + \sqrt{\rho(z)}\,e_k}{g(z) = mu(z) + a(z)'v
#' + sqrt(rho(z)) e_k}, v from the variational posterior and shared by all rows, \eqn{e_k}{e_k} one
#' per class, so that the latent values of a row have their joint posterior covariance. Draws use
#' R's generator: [set.seed()] governs them.
#'
#' The slope a of the linear prior mean is estimated. Intervals take its uncertainty into account, by
#' the curvature of the bound (`fit$slope_sd` holds it); without it the intervals of a fit that needs
#' no more than a temperature would be far too short. Probabilities, `"latent"` and, unless
#' `vary_slope = TRUE`, `"draws"` are those of the process given the slope. An interval is for the calibrated probability itself, that
#' is, for the map; it does not say what the next label will be.
#'
#' A logit more than 1e8 / slope below the highest of its row counts as `-Inf`, a class ruled out:
#' beside it the row mean would leave nothing of the other scores.
#'
#' Beyond the scores seen in fitting the map returns to its prior mean and intervals widen. When
#' more than 1 % of the scores lie outside their range, a warning of class
#' `gpcalib_warning_extrapolation` says so.
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
                             independent = FALSE, vary_slope = type == "interval", ...,
                             threads = 1) {
  check_dots_empty(...)
  object <- check_object(object)
  types <- c("prob", "class", "latent", "interval", "draws")
  type <- check_choice(type, types, "type")
  approx <- check_choice(approx, c("delta", "mean", "mc"), "approx")
  vary_slope <- check_flag(vary_slope, "vary_slope")
  independent <- check_flag(independent, "independent")
  level <- check_number(level, "level", 0.001, 0.9999)
  if (is.null(n_draws)) n_draws <- if (type %in% c("interval", "draws")) 1000 else 100
  n_draws <- check_count(n_draws, "n_draws", 2, 1e6)
  data <- prepare_newdata(object, newdata, threads)
  dims <- list(data$rows, object$classes)
  if (nrow(data$scores) == 0) return(empty_prediction(object, dims, type, n_draws))
  at <- gp_newdata(object, data)
  warn_outside(at)
  if (type == "latent") {
    out <- .Call(C_gp_latent_rows, at$z, at$floor, at$shift, object$inducing, at$hyper,
      object$q_mean, object$q_cov, at$log_mean, data$threads)
    return(lapply(out, function(x) {
      dimnames(x) <- dims
      x
    }))
  }
  if (type == "draws") {
    draws <- gp_all_draws(object, at, n_draws, vary_slope, data$threads)
    draws <- array(draws, c(nrow(at$z), ncol(at$z), n_draws + n_draws %% 2))
    return(structure(draws[, , seq_len(n_draws), drop = FALSE], dimnames = c(dims, list(NULL))))
  }
  if (type == "interval") {
    ends <- gp_interval(object, at, n_draws, level, vary_slope, data$threads)
    estimate <- gp_probs(object, at, "delta", n_draws, FALSE, data$threads)
    return(array(c(estimate, ends), c(dim(estimate), 3),
      dimnames = c(dims, list(c("estimate", "lower", "upper")))))
  }
  probs <- gp_probs(object, at, approx, n_draws, independent, data$threads)
  finish_probs(probs, object, data, type)
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

#' New scores on the scale of g, and what goes with them into .Call
#' @noRd
gp_newdata <- function(object, data) {
  data <- rule_out_far(object, data)
  log_mean <- object$mean == "log"
  floored <- !is.null(object$floor)
  floor <- if (floored) {
    object$floor
  } else if (object$input == "probs") {
    .Machine$double.xmin
  } else {
    0
  }
  z <- if (log_mean) data$scores else latent_scale(data$scores, object$input, floored)
  floor <- if (log_mean) floor else log(floor)
  ruled_out <- if (!floored && object$input == "logits" && data$scan$n_neginf > 0) {
    which(data$scan$min == -Inf)
  }
  if (length(ruled_out)) z[ruled_out, ] <- lower_ruled_out(z[ruled_out, , drop = FALSE])
  at <- gp_centre(object, data, z, floor, floored, ruled_out)
  c(at, list(z = z, floor = floor, log_mean = log_mean, hyper = unname(object$hyper)))
}

#' Logits so far below the highest of their row that their mean leaves nothing of the others (1e20
#' less than it, say, where a program writes that for a class it rules out) are as good as -Inf
#' @noRd
rule_out_far <- function(object, data) {
  if (object$input != "logits" || !is.null(object$floor) || !object$center) return(data)
  if (any(abs(data$scan$max) > 1e300)) {
    stop_input("newdata", "has rows of logits beyond 1e300, too far to be summed", "Rescale them.")
  }
  far <- 1e8 / object$hyper[["slope"]] # the mean is then good to 2e-8 / slope
  rows <- which(data$scan$max - data$scan$min > far)
  if (!length(rows)) return(data)
  part <- data$scores[rows, , drop = FALSE]
  part[part < data$scan$max[rows] - far] <- -Inf
  data$scores[rows, ] <- part
  data$scan$min[rows] <- -Inf
  data$scan$n_neginf <- data$scan$n_neginf + length(rows)
  data
}

#' A class ruled out by -Inf in a fit that has seen none: as far down as a probability can be
#' @noRd
lower_ruled_out <- function(z) {
  top <- apply(z, 1, max)
  lowest <- top + log(rowSums(exp(z - top))) + log(.Machine$double.xmin)
  gone <- z == -Inf
  z[gone] <- lowest[row(z)[gone]]
  z
}

#' Row means and the number of scores outside the range seen in fitting
#'
#' For logits as they are, the scan of the checks has already seen all that is needed. Rows with
#' classes ruled out are centred by the others, which are then where they would be without them.
#' @noRd
gp_centre <- function(object, data, z, floor, floored, ruled_out) {
  seen <- object$range
  if (object$input == "logits" && !floored && data$scan$n_neginf == 0) {
    shift <- if (object$center) data$scan$sum / ncol(z)
    centre <- if (object$center) shift else 0
    range <- c(min(data$scan$min - centre), max(data$scan$max - centre))
    if (range[1] >= seen[1] && range[2] <= seen[2]) {
      return(list(shift = shift, outside = 0))
    }
  }
  at <- .Call(C_gp_centre, z, floor, object$center, seen[1], seen[2], data$threads)
  if (length(ruled_out) && object$center) {
    rest <- data$scores[ruled_out, , drop = FALSE]
    rest[rest == -Inf] <- NA
    before <- z[ruled_out, , drop = FALSE] - at$shift[ruled_out]
    at$shift[ruled_out] <- rowMeans(rest, na.rm = TRUE)
    after <- z[ruled_out, , drop = FALSE] - at$shift[ruled_out]
    outside <- function(x) sum(x < seen[1] | x > seen[2])
    at$outside <- at$outside - outside(before) + outside(after)
  }
  at
}

warn_outside <- function(at) {
  if (at$outside > 0.01 * length(at$z)) {
    warn_gpcalib("extrapolation", paste0(format(100 * at$outside / length(at$z), digits = 2),
      " % of the scores in `newdata` lie outside the range seen in fitting, where the map ",
      "returns to its prior mean."))
  }
}

gp_probs <- function(object, at, approx, n_draws, independent, threads) {
  if (approx != "mc") {
    return(.Call(C_gp_predict, at$z, at$floor, at$shift, object$inducing, at$hyper,
      object$q_mean, object$q_cov, at$log_mean, match(approx, c("mean", "delta")) - 1L, threads))
  }
  probs <- gp_draws(object, at, n_draws, independent, threads)
  matrix(probs, nrow(at$z))
}

#' Functions to draw (antithetic pairs) for intervals and draws: with a slope that was estimated
#'
#' With the slope the whitened mean moves by `slope_cross`; x is in units of the root of q_cov.
#' @return list: `x` [m x pairs], `e` [k x pairs], `tilt` [pairs] of the slope, or NULL.
#' @noRd
gp_functions <- function(object, at, pairs, vary_slope) {
  out <- list(x = stats::rnorm(length(object$inducing) * pairs),
    e = stats::rnorm(ncol(at$z) * pairs), tilt = NULL)
  if (!vary_slope || is.null(object$slope_sd) || object$slope_sd == 0) return(out)
  out$tilt <- object$slope_sd * stats::rnorm(pairs)
  move <- forwardsolve(t(chol(object$q_cov)), object$slope_cross)
  out$x <- out$x + as.vector(outer(move, out$tilt))
  out
}

#' Averages over function draws; `independent` in blocks of rows
#' @noRd
gp_draws <- function(object, at, n_draws, independent, threads) {
  pairs <- (n_draws + 1L) %/% 2L
  size <- length(object$inducing)
  call <- function(z, shift, x, e) {
    .Call(C_gp_draws, z, at$floor, shift, object$inducing, at$hyper, object$q_mean,
      object$q_cov, at$log_mean, x, e, NULL, independent, FALSE, threads)
  }
  if (!independent) {
    x <- stats::rnorm(size * pairs)
    return(call(at$z, at$shift, x, stats::rnorm(ncol(at$z) * pairs)))
  }
  n <- nrow(at$z)
  block <- max(1L, as.integer(4e6 / (ncol(at$z) * pairs)))
  parts <- lapply(split(seq_len(n), (seq_len(n) - 1L) %/% block), function(rows) {
    z <- at$z[rows, , drop = FALSE]
    e <- stats::rnorm(length(z) * pairs)
    matrix(call(z, at$shift[rows], numeric(size * pairs), e), length(rows))
  })
  do.call(rbind, parts)
}

gp_interval <- function(object, at, n_draws, level, vary_slope, threads) {
  f <- gp_functions(object, at, (n_draws + 1L) %/% 2L, vary_slope)
  .Call(C_gp_interval, at$z, at$floor, at$shift, object$inducing, at$hyper, object$q_mean,
    object$q_cov, at$log_mean, f$x, f$e, f$tilt, (1 - level) / 2, (1 + level) / 2, threads)
}

gp_all_draws <- function(object, at, n_draws, vary_slope, threads) {
  f <- gp_functions(object, at, (n_draws + 1L) %/% 2L, vary_slope)
  .Call(C_gp_draws, at$z, at$floor, at$shift, object$inducing, at$hyper, object$q_mean,
    object$q_cov, at$log_mean, f$x, f$e, f$tilt, FALSE, TRUE, threads)
}

#' @export
predict_probs.calib_gp <- function(object, data) {
  gp_probs(object, gp_newdata(object, data), "delta", 100L, FALSE, data$threads)
}

# Looking inside --------------------------------------------------------------------------

#' @export
latent.calib_gp <- function(object, z, ...) {
  object <- check_object(object)
  if (!is.numeric(z) || anyNA(z) || any(is.infinite(z))) {
    stop_input("z", "must be numeric and finite", say_given(z))
  }
  z <- as.double(z)
  if (object$mean == "log" && any(z <= 0)) {
    stop_input("z", "must be positive: the map of mean = \"log\" is one of probabilities")
  }
  out <- .Call(C_gp_latent, z, object$inducing, unname(object$hyper), object$q_mean, object$q_cov,
    object$mean == "log")
  data.frame(z = z, mean = out$mean, sd = sqrt(pmax(out$var, 0)))
}

#' How far the map is from its prior mean, both shifted to agree on average over `at`, since a
#' constant does not matter; with the standard deviation of that difference
#' @noRd
gp_departure <- function(object, at) {
  hyper <- object$hyper
  kernel <- function(a, b) {
    hyper[["variance"]] * exp(-outer(a, b, "-")^2 / (2 * hyper[["lengthscale"]]^2))
  }
  inner <- kernel(object$inducing, object$inducing)
  diag(inner) <- diag(inner) + max(hyper[["noise"]], 1e-10 * hyper[["variance"]])
  features <- t(backsolve(chol(inner), kernel(object$inducing, at), transpose = TRUE))
  features <- sweep(features, 2, colMeans(features))
  data.frame(
    z = at, departure = drop(features %*% object$q_mean),
    sd = sqrt(pmax(rowSums((features %*% object$q_cov) * features), 0))
  )
}

gp_edf <- function(object) {
  length(object$q_mean) - sum(diag(object$q_cov)) + (object$mean == "linear")
}

#' @export
describe.calib_gp <- function(object) {
  hyper <- object$hyper
  mean <- switch(object$mean,
    linear = paste0("linear, slope ", format(hyper[["slope"]], digits = 3)),
    identity = "identity",
    log = "log of the raw probabilities"
  )
  lines <- c(
    paste0("prior mean ", mean, if (object$mean != "log") {
      if (object$center) "; scores centred by row" else "; scores not centred"
    }),
    paste0("kernel variance ", format(hyper[["variance"]], digits = 3), ", lengthscale ",
      format(hyper[["lengthscale"]], digits = 3), "; ", length(object$inducing),
      " inducing inputs, ", object$covariance, " covariance"),
    paste0("bound ", format(object$elbo, digits = 6), " after ", object$passes,
      " passes; effective degrees of freedom ", format(gp_edf(object), digits = 2))
  )
  if (object$changed > 0) {
    lines <- c(lines, paste0("not increasing: ", say_count(object$changed, "calibration row"),
      " change their most likely class"))
  }
  if (!is.null(object$floor)) {
    lines <- c(lines, paste0("probabilities below ", format(object$floor, digits = 2),
      " count as that much (zeros occurred)"))
  }
  list(title = "Latent Gaussian process", lines = lines)
}

#' @rdname calibrator
#' @export
summary.calib_gp <- function(object, ...) {
  object <- check_object(object)
  out <- summary.calibrator(object)
  at <- seq(object$range[1], object$range[2], length.out = 200)
  if (object$mean == "log") at <- pmax(at, .Machine$double.xmin)
  out$departure <- gp_departure(object, at)
  out$edf <- gp_edf(object)
  structure(out, class = c("summary.calib_gp", "summary.calibrator"))
}

#' @export
print.summary.calib_gp <- function(x, ...) {
  NextMethod()
  fit <- x$fit
  cat("\nThe map on the scores seen, ", format(fit$range[1], digits = 3), " to ",
    format(fit$range[2], digits = 3), ":\n", sep = "")
  if (fit$monotone) {
    cat("  increasing, so that no row changes its most likely class\n")
  } else {
    cat("  not increasing everywhere; ", fit$changed, " of ", fit$n,
      " calibration rows change their most likely class\n", sep = "")
  }
  away <- x$departure
  clear <- abs(away$departure) > 2 * away$sd
  most <- which.max(abs(away$departure))
  cat("  departs from the prior mean by at most ", format(abs(away$departure[most]), digits = 2),
    " (at ", format(away$z[most], digits = 3), "); by more than two standard deviations on ",
    format(100 * mean(clear), digits = 2), " % of the range\n", sep = "")
  invisible(x)
}

#' @export
parameters.calib_gp <- function(object) {
  hyper <- object$hyper
  keep <- if (object$mean == "log") names(hyper) != "slope" else TRUE
  sd <- if (is.null(object$slope_sd) || object$slope_sd == 0) NA_real_ else object$slope_sd
  data.frame(term = names(hyper)[keep], estimate = unname(hyper)[keep],
    std.error = ifelse(names(hyper)[keep] == "slope", sd, NA_real_))
}

#' @rdname calibrator
#' @export
glance.calib_gp <- function(x, ...) {
  x <- check_object(x, "x")
  cbind(glance.calibrator(x), elbo = x$elbo, passes = x$passes, edf = gp_edf(x))
}

# What objects must be --------------------------------------------------------------------

#' @export
object_fields.calib_gp <- function(object) {
  size <- length(object$inducing)
  # squares of these must neither overflow nor vanish
  list(
    elbo = field("number"), hyper = field("number", 4L, low = 0, high = 1e150),
    inducing = field("number", NULL, low = -1e150, high = 1e150), q_mean = field("number", size),
    q_cov = field("number", size^2), passes = field("whole", low = 0),
    mean = field("text", among = c("linear", "identity", "log")),
    covariance = field("text", among = c("full", "diag")), center = field("flag"),
    floor = field("number", low = .Machine$double.xmin, high = 0.5, optional = TRUE),
    range = field("number", 2L), monotone = field("flag"), changed = field("whole", low = 0),
    slope_sd = field("number", low = 0, optional = TRUE),
    slope_cross = field("number", size, optional = TRUE)
  )
}

#' @export
object_wrong.calib_gp <- function(object) {
  hyper <- object$hyper
  size <- length(object$inducing)
  if (!identical(names(hyper), c("variance", "lengthscale", "noise", "slope"))) {
    return("has hyperparameters without their names")
  }
  if (hyper[["variance"]] <= 0 || hyper[["lengthscale"]] < 1e-150 || hyper[["slope"]] <= 0) {
    return("has hyperparameters out of range")
  }
  if (object$range[1] > object$range[2]) return("has a range that is not in order")
  if (object$mean == "log" && (object$center || object$input != "probs")) {
    return("has a log mean, but not of raw probabilities")
  }
  if (size < 2 || anyDuplicated(object$inducing)) return("has inducing inputs that coincide")
  # the places of a lookup table: fits have a few hundred
  if (diff(range(object$inducing)) > 1e4 * hyper[["lengthscale"]]) {
    return("has a lengthscale far below the range of its inducing inputs")
  }
  cov <- object$q_cov
  if (!identical(dim(cov), c(size, size)) || !isSymmetric(cov, tol = 1e-8) ||
    inherits(try(chol(cov), silent = TRUE), "try-error")) {
    return("has a posterior covariance that is none")
  }
  wrong <- seen_wrong(object$scores_seen)
  if (length(wrong)) paste0("has a field `scores_seen` that ", wrong)
}
