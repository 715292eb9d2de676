# Tests of calibration where rows depend on each other within groups.

#' The tests with groups
#' @param groups codes 1..G; @param estimator,kernel,bandwidth for "skce".
#' @noRd
test_groups <- function(forecast, groups, method, replicates, estimator, kernel, bandwidth) {
  switch(method,
    mcb = test_mcb_groups(forecast, groups, replicates),
    skce = test_skce_groups(forecast, groups, replicates, estimator, kernel, bandwidth),
    test_scores_groups(forecast, groups, method, replicates)
  )
}

say_signs <- function(replicates, groups) {
  paste0("p-value by ", replicates, " changes of the signs of ", max(groups), " groups")
}

test_mcb_groups <- function(forecast, groups, replicates) {
  if (is.null(replicates)) replicates <- default_replicates(length(forecast$labels))
  test <- redraw_test(function(seed, first, count) {
    .Call(C_mcb_sign_draw, forecast, groups, max(groups), seed, first, count)
  }, replicates)
  list(statistic = c(MCB = test$observed), p.value = test$p.value,
    method = paste0("Test of calibration by isotonic miscalibration of the Brier score, ", say_signs(replicates, groups)))
}

#' Pairs of rows of different groups only: those of one group differ from 0 on average under calibration, too
#' @noRd
test_skce_groups <- function(forecast, groups, replicates, estimator, kernel, bandwidth) {
  n <- length(forecast$labels)
  if (estimator == "linear") {
    stop_input("estimator", "is \"linear\", which cannot account for `groups`", "Leave it out.")
  }
  if (n > most_skce_rows) {
    stop_input("groups", paste0("can be taken into account by method \"skce\" for at most ", most_skce_rows, " rows"),
      "Use \"likelihood\", or fewer rows.")
  }
  if (is.null(bandwidth)) bandwidth <- skce_bandwidth(forecast, kernel)
  if (is.null(replicates)) replicates <- 999L
  count <- max(groups)
  sums <- .Call(C_skce_groups, forecast, kernel, bandwidth, groups, count)
  pairs <- (n^2 - sum(as.double(tabulate(groups, count))^2)) / 2
  # s'Hs / 2 with the signs s of the groups
  test <- redraw_test(function(seed, first, count) {
    signs <- cbind(1, .Call(C_sign_draw, max(groups), seed, first, count))
    matrix(colSums(signs * (sums %*% signs)) / (2 * pairs), 1)
  }, replicates)
  list(statistic = c(SKCE = test$observed), parameter = c(bandwidth = bandwidth), p.value = test$p.value,
    estimate = c(SKCE = test$observed),
    method = paste0("Test of calibration by the squared kernel calibration error (pairs of different groups), ",
      say_signs(replicates, groups)))
}

#' Score tests by Hotelling's T-squared of the sums over groups
#' @noRd
test_scores_groups <- function(forecast, groups, method, replicates) {
  if (!is.null(replicates)) {
    stop_input("replicates", "is given together with `groups`",
      "Labels that are redrawn row by row are independent: leave one of the two out.")
  }
  rows <- if (method == "likelihood") recal_scores(forecast) else spread_scores(forecast)
  test <- hotelling(rowsum(rows, groups, reorder = FALSE))
  title <- if (method == "likelihood") "Score test of calibration (Cox's slope and class offsets)" else {
    "Spiegelhalter's test of calibration"
  }
  list(statistic = c(F = test$statistic), parameter = c("num df" = test$df[1], "denom df" = test$df[2]),
    p.value = test$p.value, method = paste0(title, ", robust to dependence within ", max(groups), " groups"))
}

#' Derivatives of the log-likelihood of each row in slope and offsets (the first class's is 0)
#' @noRd
recal_scores <- function(forecast) {
  p <- forecast$probs
  given <- p[cbind(seq_along(forecast$labels), forecast$labels)]
  if (any(given <= 0)) {
    rows <- which(given <= 0)
    stop_input("probs", paste0("give the label probability 0 (", say_rows(rows, length(rows)), ")"),
      "This is impossible for a calibrated forecast; leave those rows out to test the others.")
  }
  z <- log(p)
  z[p <= 0] <- 0 # counts nowhere
  hit <- matrix(0, nrow(p), ncol(p))
  hit[cbind(seq_along(forecast$labels), forecast$labels)] <- 1
  cbind(log(given) - rowSums(p * z), (hit - p)[, -1, drop = FALSE])
}

spread_scores <- function(forecast) {
  p <- forecast$probs
  cbind(rowSums(p^2) - p[cbind(seq_along(forecast$labels), forecast$labels)])
}

#' Is the mean of the rows of x nought? Directions in which they never differ are left out.
#' @return list: `statistic` (F), `df` (2 numbers), `p.value`.
#' @noRd
hotelling <- function(x) {
  count <- nrow(x)
  spread <- crossprod(x)
  scale <- sqrt(diag(spread))
  used <- scale > 1e-9 * max(scale, 1e-300)
  if (!any(used)) {
    stop_input("probs", "has no rows that the test can use", "In every row the probabilities are 0 and 1, or all equal.")
  }
  parts <- eigen(spread[used, used, drop = FALSE] / outer(scale[used], scale[used]), symmetric = TRUE)
  keep <- parts$values > 1e-10
  q <- sum(keep)
  if (count <= q + 1) {
    stop_input("groups", paste0("are ", count, ", too few for ", q, " parameters"), "Form more groups.")
  }
  # T = S'(sum x x')^-1 S lies between 0 and the number of rows; Hotelling's T^2 is (G - 1) T / (G - T).
  along <- crossprod(parts$vectors[, keep, drop = FALSE], colSums(x)[used] / scale[used])
  t <- min(sum(along^2 / parts$values[keep]), count * (1 - 1e-12))
  f <- t / (count - t) * (count - q) / q
  list(statistic = f, df = c(q, count - q), p.value = stats::pf(f, q, count - q, lower.tail = FALSE))
}
