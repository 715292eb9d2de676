# Intervals of calib_gp(): quantiles over functions drawn from the posterior. Those of two classes allow for what is known of such maps,
# that they hardly ever fall: methods, eq. (43c).

#' How many functions to draw for intervals: with 1000, limits of single rows change in the second decimal from call to call. The
#' effects of K classes that are drawn grow with K^2.
#' @noRd
interval_draws <- function(rows, classes) min(20000, max(1000, 2 * floor(5e5 / (max(rows, 1) * classes^2))))

#' Array N x K x 3
#' @noRd
gp_interval <- function(object, at, n_draws, level, vary_slope, dims, threads, map_draws = n_draws) {
  estimate <- gp_probs(object, at, "delta", threads = threads)
  pairs <- (n_draws + 1L) %/% 2L
  probs <- c(1 - level, 1 + level) / 2
  out <- array(c(estimate, rep(0, 2 * length(estimate))), c(dim(estimate), 3),
    dimnames = c(dims, list(c("estimate", "lower", "upper"))))
  another <- has_other_posterior(object)
  object <- gp_averaged(object)
  if (!is.null(object$offsets)) {
    gp_each_offsets(object, at, pairs, vary_slope, threads, function(rows, draws) {
      out[rows, , 2:3] <<- .Call(C_draw_quantiles, draws, length(rows) * ncol(estimate), probs)
    })
  } else {
    if (!vary_slope) object <- gp_known_slope(object)
    of_rows <- function(at) {
      functions <- c(gp_functions(object, at, pairs, vary_slope), gp_unknown(object, at, 2 * pairs))
      call_interval(object, at, functions, probs, threads)
    }
    map <- if (another) rising_limits(object, at$floor, map_draws, vary_slope, probs, threads)
    out[, , 2:3] <- if (is.null(map)) of_rows(at) else limits_by_map(map, at, of_rows)
  }
  if (another) with_estimate(out) else out
}

#' Do intervals come from another posterior than the estimate?
#' @noRd
has_other_posterior <- function(object) !is.null(object$averaged) || has_unknown(object)

#' Intervals made to hold the estimate, which belongs to the hyperparameters of the optimum, and may have a share of eq. (38a), whose
#' distribution is skewed: of intervals that are not wide (50 %, say), the mean may lie above the upper limit
#' @noRd
with_estimate <- function(x) {
  x[, , 2] <- pmin(x[, , 2], x[, , 1])
  x[, , 3] <- pmax(x[, , 3], x[, , 1])
  x
}

limits_draws <- 4000 # functions for the limits of two classes, which cost the same for any number of rows
most_limits_draws <- 20000 # at the most: all are held at a time, 50 MB; more change no limit by a twentieth of a standard deviation
limits_places <- 128 # at so many log-odds: more than four to a distance of knots
limits_beyond <- 8 # and at so many beyond the knots on either side, where maps are nearly straight

#' The limits of two classes as functions of the score
#'
#' The functions drawn are made to fall hardly anywhere, unless their mean falls clearly. (They cannot be for the rows alone: what is
#' possible at one score depends on all others.)
#' @param object with the averaged posterior; @param floor lower scores count as this.
#' @return list: `z` (log-odds in the scores), `low` and `high` (log-odds); NULL where limits are those of the rows.
#' @noRd
rising_limits <- function(object, floor, n_draws, vary_slope, probs, threads) {
  z <- limits_grid(object, floor)
  if (is.null(z)) return(NULL)
  at <- gp_centre(object, list(z = cbind(-z, z) / 2, floor = -Inf), threads)
  functions <- gp_functions(object, at, (n_draws + 1L) %/% 2L, vary_slope)
  limits <- .Call(C_rising_limits, call_draws(object, at, functions, TRUE, threads), z, probs)
  if (!is.null(limits)) list(z = z, low = limits[, 1], high = limits[, 2])
}

#' Where the limits of two classes are looked at: between the log-odds of the calibration rows, close together where there are knots
#' @noRd
limits_grid <- function(object, floor) {
  ends <- object[["event_range"]]
  if (length(object$classes) > 2 || is.null(ends) || isTRUE(object$monotone) || object$mean == "log" || !object$center) return(NULL)
  if (object$input == "probs") ends <- log_odds_above(cbind(log1p(-ends), log(ends)), floor)
  reach <- abs(floor)
  ends <- pmin(pmax(ends, -reach), reach)
  knots <- pmin(pmax(2 * range(object$inducing), ends[1]), ends[2])
  z <- c(seq(ends[1], knots[1], length.out = limits_beyond), seq(knots[1], knots[2], length.out = limits_places),
    seq(knots[2], ends[2], length.out = limits_beyond))
  z <- unique(sort(z))
  if (length(z) > 2 && all(is.finite(z))) z
}

#' Differences of the two columns of z, none of which counts as less than `floor`
#' @noRd
log_odds_above <- function(z, floor) pmax(z[, 2], floor) - pmax(z[, 1], floor)

#' Limits N x 2 x 2 of rows: those of the map, and beyond the scores of the calibration rows those of functions drawn for the row, kept on the
#' right side of where the map ends
#' @param of_rows limits of rows given as `at`.
#' @noRd
limits_by_map <- function(map, at, of_rows) {
  eta <- log_odds_above(at$z, at$floor)
  ends <- range(map$z)
  of_map <- function(limit) stats::approx(map$z, limit, eta, rule = 2)$y
  limit <- cbind(of_map(map$low), of_map(map$high))
  out <- array(stats::plogis(c(-limit[, 2], limit[, 1], -limit[, 1], limit[, 2])), c(length(eta), 2, 2))
  slack <- 1e-9 * (1 + abs(ends))
  for (side in 1:2) {
    rows <- which(if (side == 1) eta < ends[1] - slack[1] else eta > ends[2] + slack[2])
    if (!length(rows)) next
    own <- array(of_rows(rows_of(at, rows)), c(length(rows), 2, 2))
    other <- 3 - side # below the lowest score: the second class, which is not likelier than there; the first is not less likely
    own[, side, 1] <- pmax(own[, side, 1], out[rows, side, 1])
    own[, other, 2] <- pmin(own[, other, 2], out[rows, other, 2])
    out[rows, , ] <- own
  }
  out
}
