# Does a prediction keep the order of the scores, to the last bit?

# Pairs of classes, over all rows, of which the one with the higher score has the lower probability, or with equal
# scores and different probabilities. Every pair is looked at.
out_of_order <- function(scores, p) {
  bad <- 0
  for (a in seq_len(ncol(scores))[-1]) {
    for (b in seq_len(a - 1)) {
      higher <- sign(scores[, a] - scores[, b])
      higher[scores[, a] == scores[, b]] <- 0 # two -Inf
      bad <- bad + sum(higher * (p[, a] - p[, b]) < 0 | (higher == 0 & p[, a] != p[, b]))
    }
  }
  bad
}

# x moved by `steps` units in the last place.
ulps <- function(x, steps) x + steps * 2^(pmax(floor(log2(abs(x))), -1022) - 52)

# Rows of k logits that are hard to keep in order, for a fit of center = FALSE or rows that sum to about 0: scores ulps
# apart, at nodes and ulps beside them, tied, far outside, zero, subnormal, -Inf.
hard_logits <- function(nodes, k, n) {
  width <- diff(range(nodes))
  anywhere <- function(m) stats::runif(m, nodes[1] - width, nodes[length(nodes)] + width)
  near <- function(m) ulps(sample(nodes, m, TRUE), sample(-3:3, m, TRUE))
  # steps of 2^-20 of a cell around nodes and around places in cells
  fine <- function(m) sample(nodes, m, TRUE) + diff(nodes[1:2]) * sample(0:8, m, TRUE) / 8 +
    diff(nodes[1:2]) * 2^-20 * sample(-4:4, m, TRUE)
  rows <- matrix(0, n, k)
  for (i in seq_len(n)) {
    start <- anywhere(1)
    rows[i, ] <- switch(sample(10, 1),
      anywhere(k), near(k), fine(k), ulps(start, sample(-5:5, k, TRUE)),
      sample(c(start, anywhere(1)), k, TRUE), ulps(sample(nodes, 1), sample(-2:2, k, TRUE)),
      sample(c(-1e4, 1e4, 1), k, TRUE) * width * stats::runif(k),
      sample(c(0, -0, 5e-324, -5e-324, 1e-310, 2^-1022), k, TRUE),
      ifelse(stats::runif(k) < 0.3, -Inf, anywhere(k)), c(anywhere(1), ulps(start, sample(-5:5, k - 1, TRUE)))
    )
    if (all(rows[i, ] == -Inf)) rows[i, 1] <- 0
  }
  rows
}

# The same for probabilities: logits through a softmax, and values by hand.
hard_probs <- function(k, n) {
  rows <- matrix(stats::rexp(n * k)^sample(c(0.2, 1, 5, 40), n, TRUE), n)
  tied <- sample(n, n %/% 3)
  rows[tied, ] <- round(rows[tied, ] / rowSums(rows[tied, ]), 2)
  few <- sample(n, n %/% 3)
  rows[few, -1] <- abs(ulps(rows[few, 1], sample(-6:6, length(few) * (k - 1), TRUE)))
  zero <- sample(n, n %/% 4)
  rows[zero, 2] <- sample(c(0, 5e-324, 1e-310, 1e-300), length(zero), TRUE)
  rows[rowSums(rows) == 0, 1] <- 1
  rows / rowSums(rows)
}

# Every way of predicting, each against the scores: counts of pairs out of order, by name.
order_by_mode <- function(fit, scores, n_draws = 20) {
  quiet <- function(...) suppressWarnings(predict(fit, scores, ...))
  interval <- quiet(type = "interval", n_draws = n_draws)
  some <- seq_len(min(nrow(scores), 200))
  part <- scores[some, , drop = FALSE]
  draws <- suppressWarnings(predict(fit, part, type = "draws", n_draws = n_draws, vary_slope = TRUE))
  c(delta = out_of_order(scores, quiet()), mean = out_of_order(scores, quiet(approx = "mean")),
    mc = out_of_order(scores, quiet(approx = "mc", n_draws = n_draws)), estimate = out_of_order(scores, interval[, , 1]),
    lower = out_of_order(scores, interval[, , 2]), upper = out_of_order(scores, interval[, , 3]),
    draws = sum(apply(draws, 3, function(p) out_of_order(part, p))),
    latent = out_of_order(scores, quiet(type = "latent")$mean),
    class = sum(as.integer(quiet(type = "class")) != max.col(scores, "first")))
}
