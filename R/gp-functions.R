# Random numbers for functions drawn from the posterior (src/gp_draws.h), which intervals and draws are made of.

#' Functions to draw, in antithetic pairs: equation (26) of the methods vignette
#'
#' `vary_slope` draws an estimated slope as well, equation (26a): with it the whitened mean moves by
#' `slope_cross`; x is in units of the root of q_cov.
#' @return list: `x` [m x pairs], `e` [k x pairs], `tilt` [pairs] of the slope, or NULL,
#'   `independent`.
#' @noRd
gp_functions <- function(object, at, pairs, vary_slope = FALSE) {
  if (isTRUE(object$monotone)) return(mono_functions(object, pairs, vary_slope))
  if (!is.null(object$effects)) { # all of (m, slope, e) together; see gp_known_slope()
    size <- length(object$inducing) + object$effects$slopes + length(object$effects$effect)
    out <- list(x = stats::rnorm(size * pairs), e = stats::rnorm(ncol(at$z) * pairs))
    return(if (vary_slope) c(out, gp_growth(object, pairs)) else out)
  }
  out <- list(x = stats::rnorm(length(object$inducing) * pairs),
    e = stats::rnorm(ncol(at$z) * pairs), tilt = NULL, independent = FALSE)
  if (!vary_slope) return(out)
  known <- is.null(object$slope_sd) || object$slope_sd == 0
  if (!known) out <- gp_tilt(object, out, pairs)
  c(out, gp_growth(object, pairs))
}

#' Slopes of the functions `out`
#' @noRd
gp_tilt <- function(object, out, pairs) {
  out$tilt <- object$slope_sd * stats::rnorm(pairs)
  move <- forwardsolve(t(chol(object$q_cov)), object$slope_cross)
  out$x <- out$x + as.vector(outer(move, out$tilt))
  out
}

# Median of the growth where there is any: by so many times its slope the map steepens over half of the width that rows tell of. Chosen,
# as what rows leave open (src/gp_ends.c), on maps that grow like powers, squares and exponentials, and on some that flatten out.
growth_scale <- 4

growth_share <- 0.25 # of the draws of maps that are no lines

#' Growth beyond the scores that rows tell of, equation (26b): every fourth pair of draws has some, or fewer where the map may be a line
#' @return list: `growth` [pairs], `ends` = c(low, high, scale of G); NULL for posteriors that are not averaged.
#' @noRd
gp_growth <- function(object, pairs) {
  ends <- object$growth_ends
  if (is.null(ends) || object$mean == "log") return(NULL) # whose scores are probabilities
  share <- growth_share * if (is.null(object$bent)) 1 else object$bent # which fits of older versions do not know
  some <- diff(floor(share * 0:pairs + 1e-9)) > 0
  growth <- numeric(pairs)
  growth[some] <- stats::qcauchy((1 + even_draws(sum(some))) / 2, scale = growth_scale) # of the absolute value
  list(growth = growth, ends = c(ends, 2 * object$hyper[["slope"]] / (ends[2] - ends[1])))
}

#' Uniform numbers in (0, 1), one in each of n equal parts, in random order: quantiles of what is made of them hardly depend on chance, which
#' matters in the long tails of growths
#' @noRd
even_draws <- function(n) {
  if (n == 0) return(numeric())
  (order(stats::runif(n)) - stats::runif(n)) / n
}

#' Shares of rows that the model knows nothing of, equation (38b), one per draw
#'
#' The quantiles of Beta(a, N) at multiples of the golden ratio, which fill (0, 1) evenly: limits vary less than with random shares. Draws are in
#' no order, so that shares are independent of them.
#' @return list: `share` [draws], `even`: probabilities of the classes in such rows, one number or [n x k]; NULL for a fit without.
#' @noRd
gp_unknown <- function(object, at, draws) {
  if (!has_unknown(object)) return(NULL)
  u <- (seq_len(draws) * (sqrt(5) - 1) / 2) %% 1
  list(share = stats::qbeta(u, object$outside, old_weight(object)), even = even_classes(object, at))
}
