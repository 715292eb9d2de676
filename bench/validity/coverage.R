# How sure a simulated coverage is, for bench/validity/intervals.R.

# Wilson's interval of the mean of `each`, shares between 0 and 1 of independent sets. A set counts as an observation or,
# where sets differ less than all-or-nothing sets would, as more; t quantiles since that is estimated.
share_interval <- function(each, size, tests = 1) {
  sets <- length(each)
  p <- mean(each)
  q <- stats::qt(1 - 0.025 / tests, sets - 1)
  spread <- sum((each - p)^2) / (sets - 1)
  n <- sets * if (spread > 0) min(max(1, p * (1 - p) / spread), size) else 1
  centre <- (p + q^2 / (2 * n)) / (1 + q^2 / n)
  half <- q / (1 + q^2 / n) * sqrt(p * (1 - p) / n + q^2 / (4 * n^2))
  c(centre - half, centre + half)
}

# Coverage on average and of the worst tenth of the rows by their score, with their intervals over sets.
summarise_sets <- function(runs, which) {
  part <- lapply(runs, `[[`, which)
  size <- length(part[[1]]$top)
  holds <- unlist(lapply(part, `[[`, "top"))
  set <- rep(seq_along(part), each = size)
  tenth <- cut(rank(unlist(lapply(runs, `[[`, "score")), ties.method = "first"), 10, labels = FALSE)
  worst <- which.min(tapply(holds, tenth, mean))
  average <- share_interval(tapply(holds, set, mean), size)
  low <- share_interval(tapply(holds[tenth == worst], set[tenth == worst], mean), size / 10, tests = 10)
  field <- function(name) mean(vapply(part, `[[`, 0, name))
  data.frame(coverage = mean(holds), low = average[1], high = average[2], worst = mean(holds[tenth == worst]), worst_low = low[1],
    worst_high = low[2], all = field("all"), width = field("width"))
}

# "met" or "missed" where the intervals say so, with a question mark where only the estimates do.
verdict <- function(x) {
  line <- x$truth %in% lines
  met <- x$averaged.coverage >= 0.92 & x$averaged.worst >= 0.8 & (!line | x$averaged.coverage <= 0.98)
  surely <- x$averaged.low >= 0.92 & x$averaged.worst_low >= 0.8 & (!line | x$averaged.high <= 0.98)
  no <- x$averaged.high < 0.92 | x$averaged.worst_high < 0.8 | (line & x$averaged.low > 0.98)
  ifelse(met, ifelse(surely, "met", "met?"), ifelse(no, "missed", "missed?"))
}
