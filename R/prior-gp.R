# Other class frequencies in predictions of a latent Gaussian process: those of each function drawn are
# corrected, so that intervals and draws know of the shift as probabilities do.

#' Intervals under other class frequencies
#'
#' With two classes a probability moves up or down as a whole, and so do the limits of its interval. With more
#' classes the limits are quantiles of corrected draws, in blocks of rows.
#' @param shift list(from, to) of class frequencies.
#' @return array N x K x 3.
#' @noRd
gp_interval_prior <- function(object, at, n_draws, level, vary_slope, dims, threads, shift, map_draws = n_draws) {
  if (length(object$classes) == 2) {
    out <- gp_interval(object, at, n_draws, level, vary_slope, dims, threads, map_draws)
    for (part in 1:3) out[, 2, part] <- shift_probs(cbind(1 - out[, 2, part], out[, 2, part]), shift)[, 2]
    out[, 1, ] <- 1 - out[, 2, c(1, 3, 2)] # the lower limit of one class is the upper one of the other
    return(out)
  }
  estimate <- shift_probs(gp_probs(object, at, "delta", threads = threads), shift)
  out <- array(estimate, c(dim(estimate), 3), c(dims, list(c("estimate", "lower", "upper"))))
  n <- nrow(estimate)
  block <- max(1L, as.integer(4e6 / (ncol(estimate) * n_draws)))
  for (rows in split(seq_len(n), (seq_len(n) - 1L) %/% block)) {
    part <- rows_of(at, rows)
    draws <- gp_draws(object, part, n_draws, vary_slope, list(NULL, object$classes), threads)
    limits <- function(draws) {
      .Call(C_draw_quantiles, as.vector(shift_draws(draws, shift)), length(rows) * ncol(estimate), c(1 - level, 1 + level) / 2)
    }
    ends <- limits(draws)
    unknown <- gp_unknown(object, part, n_draws)
    if (!is.null(unknown)) { # as r_effects_interval() has it
      for (d in seq_len(n_draws)) draws[, , d] <- (1 - unknown$share[d]) * draws[, , d] + unknown$share[d] * unknown$even
      shared <- limits(draws)
      ends <- cbind(pmin(ends[, 1], shared[, 1]), pmax(ends[, 2], shared[, 2]))
    }
    out[rows, , 2:3] <- ends
  }
  if (has_other_posterior(object)) with_estimate(out) else out
}

#' Draws under other class frequencies: array N x K x n_draws
#' @noRd
gp_draws_prior <- function(object, at, n_draws, vary_slope, dims, threads, shift) {
  shift_draws(gp_draws(object, at, n_draws, vary_slope, dims, threads), shift)
}

shift_draws <- function(draws, shift) {
  if (is.null(shift)) return(draws)
  for (d in seq_len(dim(draws)[3])) {
    draws[, , d] <- shift_probs(matrix(draws[, , d], nrow(draws)), shift)
  }
  draws
}
