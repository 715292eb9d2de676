# Maps that fall. A calibrated probability that falls while the score rises is rarely what one wants, and with few rows it is
# mostly chance: a map that falls is kept only where the rows insist on it (methods, eq. (39a)).

falls_worth <- 10 # nats: by which a falling map must be the better one. Chosen on splits 6 to 9 of 20 classifier outputs with 60 to 5000 rows
falls_rows <- c(250, 1000) # up to the first, of three or more classes; half as much from the second on. Splits 6 to 13, 60, 200 and 1000 rows
longer <- c(4, 16) # how many times its lengthscale is tried as the shortest allowed; 2, 4, 8, 16 were no better
fall_seen <- 1e-3 # of a probability: less is within the error of averages over the posterior
# Standard deviations of the map: where rows are frozen in a quadratic it is off by as much (900 rows of 100 classes, bench/stream.R), and a smaller fall is none.
# A longer lengthscale for it costs more than it mends: of 83 such updates of simulated rows, in log loss .010.
fall_known <- 0.1

#' Is the map of a fit increasing on the scores seen?
#'
#' Of three or more classes the mean of the map that all share is meant. Of two classes it is the probability, effects
#' included, of the mean and averaged over the posterior: where few rows inform the map, averages turn back towards 1/2.
#' @param ends of the scores of the second class, with two classes.
#' @param slack how many of its standard deviations the map of three or more classes may fall.
#' @noRd
gp_increasing <- function(fit, mean, ends, slack = 0) {
  fit$hyper <- gp_named(fit$hyper)
  fit$mean <- mean
  if (is.null(ends)) {
    if (is.null(fit$effects) && slack == 0) return(fit$increasing)
    map <- .Call(C_gp_latent, fit, seq(fit$range[1], fit$range[2], length.out = 512))
    value <- map$mean
    if (slack > 0) return(all(cummax(value) - value <= slack * sqrt(pmax(map$var, 0))))
    return(all(diff(value) >= -1e-9 * diff(range(value))))
  }
  z <- seq(ends[1], ends[2], length.out = 512)
  at <- list(z = cbind(-z, z), floor = -Inf)
  at <- c(at, .Call(C_gp_centre, at, TRUE, c(-Inf, Inf), 1L))
  fall <- function(approx) {
    p <- gp_probs(fit, at, approx)[, 2]
    max(cummax(p) - p)
  }
  fall("mean") <= 1e-9 && fall("delta") <= fall_seen
}

#' Between which centred scores of the second of two classes the rows lie; NULL for more classes
#' @noRd
two_ends <- function(scores, fit) {
  z <- scores$z
  if (ncol(z) != 2) return(NULL)
  least <- if (scores$floored) log(scores$floors[fit$floor]) else log(.Machine$double.xmin)
  .Call(C_pair_range, z, least) / 2
}

#' Should the map of this fit increase? That of version 0.1 (`class_effects = "none"`) and one with a given lengthscale are taken as they are.
#' @noRd
asks_rising <- function(spec) (spec$class_effects != "none" || spec$monotone) && !"lengthscale" %in% names(spec$hyper)

#' How much better a falling map must be. With few rows a bound that is 8 better may belong to a map that is much worse (a handful of wrong rows decides);
#' with many rows of three or more classes, whose shared map may well fall, half of that is enough.
#' @noRd
fall_limit <- function(classes, rows) {
  falls_worth * if (classes == 2) 1 else sqrt(falls_rows[1] / min(max(rows, falls_rows[1]), falls_rows[2]))
}

#' The best fit whose map increases, unless that costs more than `worth` in the bound: lengthscales are longer step by step
#' @param fit the best of all; @param fit_with fits with another `spec`; @param rises says whether the map of a fit increases.
#' @return a fit, whose field `rises` says whether its map increases.
#' @noRd
rising_fit <- function(fit, fit_with, spec, rises, worth) {
  spec$floor <- fit$floor
  passes <- fit$passes
  best <- fit
  for (factor in longer) {
    spec$least_l <- factor * fit$hyper[2]
    other <- tryCatch(fit_with(spec), gpcalib_error_numeric = function(e) NULL) # the fit that there is stands
    if (is.null(other)) break
    passes <- passes + other$passes
    if (other$elbo < fit$elbo - worth) break
    if (rises(other)) {
      best <- other
      best$rises <- TRUE
      break
    }
  }
  best$passes <- passes
  best
}
