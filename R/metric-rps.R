# The ranked probability score, for classes with an order.

#' Ranked probability score
#'
#' A proper score for ordered classes (grades, stages, categories of wind), in which probability given to classes near
#' the true class costs less than probability given to classes far from it:
#' \deqn{\mathrm{RPS} = \frac1N \sum_n \sum_{j=1}^{K-1} \Big(\sum_{k \le j} p_{nk} - [y_n \le j]\Big)^2.}{
#'   RPS = mean over n of sum_{j < K} (p_n1 + ... + p_nj - [y_n <= j])^2.}
#' It lies between 0 and K - 1, lower is better. For two classes it is the Brier score. Other software
#' divides by K - 1: `scale = TRUE`.
#'
#' The order of the classes is that of the factor's levels, or of the columns (see [gpcalib_input]).
#'
#' @inheritParams ece
#' @param scale Divide by K - 1, so that the score lies in \[0, 1\]?
#' @return A number; with `by` a vector of them, named by its values.
#' @references
#' Epstein, E. S. (1969). A scoring system for probability forecasts of ranked categories. *Journal of
#' Applied Meteorology* 8, 985-987.
#'
#' Murphy, A. H. (1971). A note on the ranked probability score. *Journal of Applied Meteorology* 10,
#' 155-156.
#' @seealso [brier_score()] for classes without order, [compare_forecasts()].
#' @examples
#' grade <- factor(c("low", "high", "mid"), levels = c("low", "mid", "high"), ordered = TRUE)
#' near <- rbind(c(.4, .5, .1), c(.1, .5, .4), c(.3, .4, .3))
#' far <- rbind(c(.4, .1, .5), c(.5, .1, .4), c(.3, .4, .3))
#' rps(near, grade)
#' rps(far, grade)
#' brier_score(near, grade) == brier_score(far, grade)
#' @export
rps <- function(probs, labels, scale = FALSE, weights = NULL, by = NULL) {
  scale <- check_flag(scale, "scale")
  forecast <- check_forecast(probs, labels, weights)
  most <- if (scale) length(forecast$classes) - 1 else 1
  each_group(forecast, by, function(forecast) {
    row_mean(.Call(C_row_scores, forecast, 0, TRUE)[, 3], forecast$weights) / most
  })
}

#' Mean by weight
#' @noRd
row_mean <- function(x, weights) {
  if (is.null(weights)) mean(x) else sum((weights * x)[weights > 0]) / sum(weights)
}
