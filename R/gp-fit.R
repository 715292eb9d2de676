# The fit behind calib_gp(): floors, resolution, inducing inputs, starts, and what the C core needs to
# know of them.

# Fitting ---------------------------------------------------------------------------------

#' One prior mean, all floors worth trying
#'
#' The floors are compared by quick fits without more inducing inputs; the best is then fitted as
#' it would be alone.
#' @noRd
fit_gp_floors <- function(data, mean, spec, floor) {
  scores <- gp_scores(data, mean, floor)
  center <- if (is.null(spec$center)) mean != "log" else spec$center
  scale <- if (mean == "log") identity else log
  best <- NULL
  spent <- 0L
  if (length(scores$floors) > 1) {
    quick <- spec
    quick$control$tol <- max(spec$control$tol, 1e-3)
    quick$control$max_passes <- min(spec$control$max_passes, 12L)
    for (candidate in scores$floors) {
      trial <- tryCatch(
        fit_gp(data, scores$z, mean, center, scale(candidate), quick, best, FALSE),
        gpcalib_error_numeric = identity
      )
      if (inherits(trial, "error")) { # another floor may do
        failed <- trial
        next
      }
      spent <- spent + trial$passes
      if (is.null(best) || trial$elbo > best$elbo) best <- c(trial, floor = candidate)
    }
    if (is.null(best)) stop(failed)
    spent <- spent - best$passes
  }
  chosen <- if (is.null(best)) scores$floors else best$floor
  fit <- fit_gp(data, scores$z, mean, center, scale(chosen), spec, best)
  fit$passes <- fit$passes + if (is.null(best)) 0L else best$passes
  fit$passes_floor <- spent
  fit$floor <- if (scores$floored) chosen
  fit$mean <- mean
  fit$center <- center
  c(fit, gp_shape(fit, data, scores$z, scale))
}

#' Scores on the scale of g, and the floors to try
#' @noRd
gp_scores <- function(data, mean, floor) {
  if (mean != "log") return(log_scores(data, floor))
  floor <- check_floor(floor, length(data$classes))
  if (!is.null(floor)) return(list(z = data$scores, floors = floor, floored = TRUE))
  if (data$scan$lowest > 0) {
    return(list(z = data$scores, floors = .Machine$double.xmin, floored = FALSE))
  }
  smallest <- min(data$scores[data$scores > 0])
  list(z = data$scores, floors = try_floors(smallest / 2, length(data$classes)), floored = TRUE)
}

# Few rows cannot tell a bend of the map from chance: at least eight for every inducing input, if
# there are to be more than 16.
most_inducing <- 64L

#' Fit with as many inducing inputs as the lengthscale asks for
#' @noRd
fit_gp <- function(data, z, mean, center, floor, spec, start = NULL, more = TRUE) {
  threads <- spec$control$threads
  prep <- .Call(C_gp_prepare, z, floor, center, threads)
  names(prep$range) <- c("lowest", "highest", "low", "high")
  prep <- check_resolution(prep, center)
  if (center && data$input == "logits" && floor == -Inf) check_far_down(z, prep$range)
  seen <- scores_seen(data, z, mean, floor, prep$shift, prep$range, threads)
  prep$slope <- if (prep$flat) NA else seen$slope
  sep <- gp_slope_limit(data, z, mean, floor, spec)
  points <- if (is.null(spec$inducing)) 16L else spec$inducing
  rows <- if (is.null(data$weights)) nrow(z) else sum(data$weights)
  passes <- 0L
  repeat {
    may_double <- more && is.null(spec$inducing) && 2 * points <= min(most_inducing, rows / 8)
    fit <- fit_gp_once(data, z, mean, floor, spec, prep, points, sep, start, may_double)
    passes <- passes + fit$passes
    if (fit$status != "too_few") break
    points <- 2L * points
    # A variance that has grown beyond all measure made up for a lengthscale that could not shrink.
    start <- if (fit$variance <= 30) {
      fit
    } else {
      list(hyper = c(variance = 1, lengthscale = fit$lengthscale, slope = NA))
    }
  }
  fit$passes <- passes
  fit$separated <- !is.null(sep)
  fit$flat <- prep$flat
  fit$range <- unname(prep$range[c("lowest", "highest")])
  fit$seen <- seen$kept
  fit
}

#' Can the scores be told apart beside what they have in common?
#'
#' Scores that differ by rounding only are flat: the slope is left alone, and the range is given
#' some width to put inducing inputs on.
#' @noRd
check_resolution <- function(prep, center) {
  range <- prep$range
  size <- max(abs(range))
  farthest <- max(size, abs(as.double(prep$shift)))
  if (farthest > 1e145) {
    stop_input("scores", paste0("reach ", format(farthest, digits = 2), ", too far to be squared"),
      "Divide them by a constant.")
  }
  if (!prep$flat && size < 1e-145) prep$flat <- TRUE
  if (!prep$flat && range[["highest"]] - range[["lowest"]] < 1e-9 * size) {
    stop_input("scores", paste0("differ by less than a billionth of their size (",
      format(size, digits = 2), ")"),
      if (center) "Rescale them." else "Subtract what they have in common, or use center = TRUE.")
  }
  if (!prep$flat) return(prep)
  margin <- if (is.null(prep$shift)) 1e-6 * size else 1e-12 * max(abs(prep$shift))
  prep$range <- range + max(0.5, margin) * c(-1, 1, -1, 1)
  prep
}

#' Does a score lie so far down that centring leaves nothing of the others in its row?
#' @noRd
check_far_down <- function(z, range) {
  gap <- function(rows) { # between the two highest scores
    apply(z[rows, , drop = FALSE], 1, function(x) {
      top <- which.max(x)
      x[top] - max(x[-top])
    })
  }
  some <- gap(unique(round(seq(1, nrow(z), length.out = 25))))
  usual <- if (any(some > 0)) stats::median(some[some > 0]) else 0
  if (range[["highest"]] - range[["lowest"]] <= 1e10 * usual) return()
  spread <- apply(z, 1, function(x) diff(range(x)))
  rows <- which(spread > 1e10 * usual)
  rows <- rows[gap(rows) < 1e-6 * spread[rows]]
  if (!length(rows) || usual == 0) return()
  stop_input("scores", paste0("has logits like ", format(min(z[rows, ]), digits = 3), " (",
    say_rows(rows, length(rows)), "), beside which centring loses the others of the row"),
    "Write -Inf for a class that is ruled out, or use center = FALSE.")
}

#' Where the slope must stop when the calibration rows are separated; NULL when they are not
#' @noRd
gp_slope_limit <- function(data, z, mean, floor, spec) {
  if (mean != "linear" || "slope" %in% names(spec$hyper)) return(NULL)
  separated <- if (is.null(data$weights)) {
    identical(data$scan$arg, data$labels)
  } else {
    all(data$scan$arg == data$labels | data$weights == 0)
  }
  if (!separated) return(NULL)
  limit <- .Call(C_temperature_fit, z, data$labels, data$weights, floor, 0, 1e-8, 200L,
    spec$control$threads)
  if (limit$status == "upper") limit
}

fit_gp_once <- function(data, z, mean, floor, spec, prep, points, sep, start, may_double) {
  range <- prep$range
  low <- range[["low"]]
  high <- range[["high"]]
  inducing <- if (length(points) == 1) seq(low, high, length.out = points) else points
  width <- high - low
  spacing <- diff(range(inducing)) / (length(inducing) - 1)
  held <- spec$hyper
  holds <- function(name) name %in% names(held)
  slope <- gp_start_slope(prep$slope, mean, held, sep, start, width)
  # a shorter lengthscale would need a grid of thousands of nodes
  shortest <- diff(range(inducing, low, high)) / 300
  l_low <- max(min(spacing, width), shortest)
  l_high <- max(4 * width, 2 * l_low)
  if (holds("lengthscale") && held[["lengthscale"]] < shortest) {
    stop_input("hyper", paste0("holds a lengthscale of ", format(held[["lengthscale"]], digits = 3),
      ", less than 1/300 of the range of the scores and inducing inputs (",
      format(300 * shortest, digits = 3), ")"), "Hold a longer one.")
  }
  starts <- if (holds("lengthscale")) {
    held[["lengthscale"]]
  } else {
    l <- if (is.null(start)) width / c(4, 16) else start$hyper[["lengthscale"]]
    pmin(pmax(l, l_low), l_high)
  }
  step <- min(spacing / 5, min(starts[1], l_low) / 5, if (holds("lengthscale")) starts / 8)
  step <- max(step, (width + 2 * max(starts)) / 3000)
  options <- list(
    floor = floor, log_mean = mean == "log", diag = spec$covariance == "diag",
    slope_free = slope$free, slope_low = slope$low, slope_high = slope$high, slope = slope$start,
    variance_free = !holds("variance"), variance_low = 1e-6, variance_high = 1e4,
    variance = if (holds("variance")) held[["variance"]] else start_variance(start),
    lengthscale_free = !holds("lengthscale"), lengthscale_low = l_low, lengthscale_high = l_high,
    start_lengthscale = unique(starts), inducing_free = spec$move, radius = 1,
    short_lengthscale = if (may_double) 1.5 * spacing else 0,
    noise = if (holds("noise")) held[["noise"]] else 1e-6, tol = spec$control$tol,
    max_passes = spec$control$max_passes, lowest = range[["lowest"]], highest = range[["highest"]],
    bulk_low = low, bulk_high = high, step = step, rows = ncol(z) >= 24L,
    trace = spec$control$trace, q_mean = NULL, q_cov = NULL
  )
  if (!is.null(start$q_mean) && length(start$inducing) < length(inducing) &&
    !is.null(moved <- gp_transfer(start, inducing))) {
    options$variance <- start$hyper[["variance"]]
    options$q_mean <- moved$mean
    options$q_cov <- moved$cov
  }
  fit <- .Call(C_gp_fit, z, data$labels, data$weights, prep$shift, inducing, options,
    spec$control$threads)
  if (fit$status == "too_coarse") {
    stop_input("scores", paste0("reach from ", format(range[["lowest"]], digits = 2), " to ",
      format(range[["highest"]], digits = 2), ", too far from most of them, which lie between ",
      format(low, digits = 2), " and ", format(high, digits = 2)),
      "Look at the rows far out; logits of -Inf rule out a class.")
  }
  if (fit$status %in% c("not_pd", "not_finite")) {
    stop(errorCondition(paste0("calib_gp() failed: ", if (fit$status == "not_pd") {
      "the covariance of the inducing inputs is not positive definite. Use fewer `inducing`."
    } else {
      "the bound is not finite. Check the scale of the scores."
    }), class = c("gpcalib_error_numeric", "gpcalib_error"), call = NULL))
  }
  fit$gave_up <- fit$passes < spec$control$max_passes
  fit$hyper <- c(variance = fit$variance, lengthscale = fit$lengthscale, noise = fit$noise,
    slope = if (mean == "log") 1 else fit$slope)
  fit
}

#' The whitened posterior of a fit's map at other inducing inputs, or NULL where rounding forbids
#' @noRd
gp_transfer <- function(fit, inducing) {
  hyper <- fit$hyper
  kernel <- function(x, y) {
    hyper[["variance"]] * exp(-outer(x, y, "-")^2 / (2 * hyper[["lengthscale"]]^2))
  }
  noise <- hyper[["noise"]] + 1e-12 * hyper[["variance"]]
  factor <- function(x) chol(kernel(x, x) + diag(noise, length(x)))
  tryCatch({
    features <- backsolve(factor(fit$inducing), kernel(fit$inducing, inducing), transpose = TRUE)
    root <- factor(inducing)
    whiten <- function(x) backsolve(root, x, transpose = TRUE)
    cov <- kernel(inducing, inducing) + diag(noise, length(inducing)) - crossprod(features) +
      crossprod(features, fit$q_cov %*% features)
    cov <- whiten(t(whiten(cov)))
    cov <- (cov + t(cov)) / 2
    chol(cov)
    list(mean = drop(whiten(crossprod(features, fit$q_mean))), cov = cov)
  }, error = function(e) NULL)
}

start_variance <- function(start) {
  if (is.null(start)) 1 else min(max(start$hyper[["variance"]], 1e-3), 100)
}

gp_start_slope <- function(guess, mean, held, sep, start, width) {
  if (mean != "linear" || "slope" %in% names(held)) {
    value <- if ("slope" %in% names(held)) held[["slope"]] else 1
    return(list(free = FALSE, low = value, high = value, start = value))
  }
  if (is.na(guess)) return(list(free = FALSE, low = 1, high = 1, start = 1))
  low <- 0.01 / width
  high <- if (is.null(sep)) max(100 * guess, 1000 / width) else max(sep$beta, low)
  value <- if (is.null(start) || is.na(start$hyper[["slope"]])) guess else start$hyper[["slope"]]
  list(free = TRUE, low = low, high = high, start = min(max(value, low), high))
}

#' Is the map increasing over the scores seen, and how many rows change their class?
#' @noRd
gp_shape <- function(fit, data, z, scale) {
  at <- seq(fit$range[1], fit$range[2], length.out = 400)
  if (fit$mean == "log") at <- pmax(at, if (is.null(fit$floor)) .Machine$double.xmin else fit$floor)
  map <- .Call(C_gp_latent, fit, at)$mean
  monotone <- all(diff(map) >= 0)
  changed <- 0L
  if (!monotone) {
    floor <- if (is.null(fit$floor)) (if (data$input == "probs") .Machine$double.xmin else 0) else fit$floor
    at <- list(z = z, floor = scale(floor))
    at$shift <- .Call(C_gp_centre, at, fit$center, c(-Inf, Inf), 1L)$shift
    probs <- .Call(C_gp_predict, fit, at, 0L, 1L)
    changed <- sum(scan_rows(probs)$arg != data$scan$arg)
  }
  list(monotone = monotone, changed = changed)
}

warn_gp <- function(fit, data) {
  if (fit$separated) {
    warn_gpcalib("separated", paste0("The calibration rows are separated: every true class has ",
      "the highest score. The slope of the prior mean stopped at ",
      format(fit$hyper[["slope"]], digits = 3), "."))
  }
  if (fit$flat) {
    warn_gpcalib("flat", "All scores of every row are equal, so that they say nothing about the map.")
  }
  if (fit$status == "not_converged") {
    warn_gpcalib("not_converged", paste0("The fit stopped after ", fit$passes,
      if (fit$passes == 1) " pass" else " passes", " over the data",
      if (fit$gave_up) {
        paste0(" because no step raised the bound any more, though ",
          format(fit$promise, digits = 2), " nats were promised. Its bound may be improved upon.")
      } else {
        paste0(if (fit$promise > 0) paste(" with", format(fit$promise, digits = 2), "nats still promised"),
          ". Raise `max_passes` in gp_control().")
      }, hint_gp(fit, data)))
  }
}

#' What may be wrong with data on which the fit does not converge
#' @noRd
hint_gp <- function(fit, data) {
  total <- sum(data$weights)
  if (total > 1000 * length(data$labels)) {
    return(paste0(" The weights count as ", format(total, digits = 2), " rows; divide them by a ",
      "constant if there were not so many."))
  }
  if (data$input == "logits" && diff(fit$range) > 1e4) {
    paste0(" The logits reach ", format(diff(fit$range), digits = 2), " far; write -Inf for a class ",
      "that is ruled out.")
  }
}
