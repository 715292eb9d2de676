# The inverse temperature of any number of classes: log p times a slope, by maximum likelihood. The
# likelihood knows of the labels only T = sum w log p_y, so that drawing labels anew means drawing T.

slope_limits <- c(1e-3, 1e3)

#' A(a) and its derivatives (src/slope.h)
#' @noRd
slope_at <- function(forecast, a) .Call(C_slope_at, forecast, a)

#' The slope at which A'(a) = T, by Newton's method within bounds
#' @noRd
solve_slope <- function(forecast, t, start = 1) {
  if (is.nan(t) || t == -Inf) return(NaN)
  ends <- slope_limits
  a <- start
  for (i in 1:60) {
    at <- slope_at(forecast, a)
    if (at[2] < t) ends[1] <- a else ends[2] <- a
    step <- (t - at[2]) / at[3]
    if (!is.finite(step)) return(NaN)
    # In log a, where A' is closer to a line; halfway when Newton leaves the bounds.
    new <- a * exp(step / a)
    if (!is.finite(new) || new <= ends[1] || new >= ends[2]) new <- sqrt(ends[1] * ends[2])
    if (abs(new - a) <= 1e-9 * a) return(new)
    a <- new
  }
  a
}

#' Twice the log-likelihood gained by the slope a, as a function of a where T = A'(a)
#' @noRd
slope_gain <- function(at, one, a) 2 * ((a - 1) * at[2] - (at[1] - one[1]))

#' The forecast with probabilities of at least `eps`, rows summing to 1
#' @noRd
raise_zeros <- function(forecast, eps) {
  if (eps > 0 && any(forecast$probs < eps)) {
    forecast$probs <- pmax(forecast$probs, eps)
    forecast$probs <- forecast$probs / rowSums(forecast$probs)
  }
  forecast
}

#' @return list: `estimate`, `error` (robust), `gain` (likelihood ratio), `t`, `one` (A at 1), `rows`.
#' @noRd
measure_slope <- function(forecast, clusters = NULL) {
  rows <- .Call(C_slope_rows, forecast)
  one <- slope_at(forecast, 1)
  t <- one[2] + sum(rows)
  # Rows with equal probabilities say nothing of the slope.
  if (!is.finite(t) || one[3] <= 0) {
    return(list(estimate = NaN, error = NaN, gain = if (t == -Inf) Inf else NaN, t = t, one = one, rows = rows))
  }
  estimate <- solve_slope(forecast, t)
  if (is.nan(estimate)) {
    return(list(estimate = NaN, error = NaN, gain = NaN, t = t, one = one, rows = rows))
  }
  edge <- estimate <= 1.01 * slope_limits[1] || estimate >= slope_limits[2] / 1.01
  at <- slope_at(forecast, estimate)
  # Residuals at a = 1 stand for those at the estimate but for their mean.
  centred <- rows - weights_of(forecast) * sum(rows) / sum(weights_of(forecast) * rep(1, length(rows)))
  if (!is.null(clusters)) centred <- rowsum(centred, clusters$codes)
  list(estimate = estimate, error = if (edge) NaN else sqrt(sum(centred^2)) / at[3],
    gain = slope_gain(at, one, estimate), t = t, one = one, rows = rows)
}

#' Fill in the row of the slope: interval, range under calibration, p-value
#' @noRd
add_slope <- function(table, forecast, slope, level, replicates, seed, clusters = NULL) {
  row <- match("calib_slope", table$measure)
  if (is.finite(slope$error)) {
    half <- stats::qnorm((1 + level) / 2) * slope$error
    table[row, c("conf.low", "conf.high")] <- list(slope$estimate - half, slope$estimate + half)
  }
  if (is.nan(slope$gain)) return(table)
  drawn <- as.vector(draw_replicates(slope_draws(forecast, slope, seed, clusters), replicates))
  ends <- middle_range(drawn, level)
  table[row, c("null.low", "null.high")] <- as.list(vapply(ends, function(t) {
    solve_slope(forecast, t)
  }, 0))
  table$p.value[row] <- (1 + sum(slope_beyond(forecast, slope, drawn))) / (replicates + 1)
  table
}

#' T with labels drawn anew; with groups, with the signs of their residuals drawn
#' @noRd
slope_draws <- function(forecast, slope, seed, clusters) {
  if (is.null(clusters)) {
    return(function(first, count) .Call(C_slope_draw, forecast, seed, first, count))
  }
  sums <- rowsum(slope$rows, clusters$codes, reorder = TRUE)
  sums[!is.finite(sums)] <- 0
  function(first, count) {
    slope$one[2] + crossprod(sums, .Call(C_sign_draw, clusters$count, seed, first, count))
  }
}

#' Which T gain at least as much likelihood as the one observed: those beyond it, and those beyond
#' the T on the other side with the same gain
#' @noRd
slope_beyond <- function(forecast, slope, drawn) {
  if (is.infinite(slope$gain)) return(rep(FALSE, length(drawn)))
  one <- slope$one
  above <- slope$t >= one[2]
  target <- slope$gain
  # The gain grows away from 1: bisect on the other side, in log a.
  low <- 0
  high <- log(slope_limits[2])
  side <- if (above) -1 else 1
  gain <- function(x) {
    a <- exp(side * x)
    slope_gain(slope_at(forecast, a), one, a)
  }
  guess <- sqrt(target / one[3])
  if (guess > 0 && guess < high) { # close to it, to spare steps
    if (gain(guess * 1.3) > target) high <- min(high, guess * 1.3)
    if (gain(guess / 1.3) < target) low <- guess / 1.3
  }
  for (i in 1:40) {
    middle <- (low + high) / 2
    if (gain(middle) < target) low <- middle else high <- middle
    if (high - low < 1e-6 * (guess + 1e-9)) break
  }
  a <- exp(side * (low + high) / 2)
  other <- slope_at(forecast, a)[2]
  slack <- 1e-12 * abs(one[2])
  if (above) drawn >= slope$t - slack | drawn <= other else drawn <= slope$t + slack | drawn >= other
}
