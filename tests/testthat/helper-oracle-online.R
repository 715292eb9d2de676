# Oracles for what goes on over time: slow and obvious.

# Labels drawn from the rows of probabilities
oracle_draw <- function(p) apply(p, 1, function(row) sample.int(length(row), 1, prob = row))

oracle_stream <- function(n, k, seed, temperature = 1) {
  with_seed(seed, {
    z <- matrix(stats::rnorm(n * k, sd = 1.5), n)
    p <- oracle_softmax(z)
    list(p = p, y = oracle_draw(oracle_softmax(z / temperature)))
  })
}

# E-values of all rows by the definition: forecasts q of every alternative, written out
oracle_e_values <- function(p, y, w = rep(1, length(y))) {
  k <- ncol(p)
  n <- length(y)
  at <- cbind(seq_len(n), y)
  mix <- function(values, weights) sum(weights * values)
  t_weight <- exp(monitor_t$log_weight)
  d_weight <- exp(monitor_d$log_weight)
  ratio <- function(q, rows = seq_len(n)) {
    if (!length(rows)) return(1)
    prod((q[at[rows, , drop = FALSE]] / p[at[rows, , drop = FALSE]])^w[rows])
  }
  temperature <- mix(vapply(monitor_t$value, function(t) {
    q <- p^exp(t)
    ratio(q / rowSums(q))
  }, 0), t_weight)
  top <- if (k == 2) rep(2L, n) else max.col(p, "first")
  event <- p[cbind(seq_len(n), top)]
  bin <- cut(event, c(-1, monitor_edges, 2), labels = FALSE)
  bins <- prod(vapply(1:10, function(b) {
    values <- vapply(monitor_d$value, function(d) {
      new <- event * exp(d) / (1 - event + event * exp(d))
      q <- p * ((1 - new) / (1 - event))
      q[cbind(seq_len(n), top)] <- new
      ratio(q, which(bin == b))
    }, 0)
    0.5 + 0.5 * mix(values, d_weight)
  }, 0))
  share <- 1 / (k - 1)
  offset <- prod(vapply(seq_len(k - 1), function(c) {
    values <- vapply(monitor_d$value, function(d) {
      # odds of class c among c, ..., K times exp(d): the others keep their shares
      rest <- rowSums(p[, c:k, drop = FALSE])
      own <- p[, c] / rest
      new <- own * exp(d) / (1 - own + own * exp(d))
      q <- p
      q[, c] <- rest * new
      if (c < k) q[, (c + 1):k] <- p[, (c + 1):k] * (1 - new) / (1 - own)
      ratio(q)
    }, 0)
    (1 - share) + share * mix(values, d_weight)
  }, 0))
  all <- c(temperature = temperature, bins = bins, offset = offset)
  c(mean = mean(all), all)
}

# The e-value of the safe Hosmer-Lemeshow test (Henzi, Puke, Dimitriadis and Ziegel, 2023) for two classes, from its formula: the product of
# q(y)/p(y) where q is the isotonic regression of the labels of earlier batches on their probabilities. Half of every stake is kept (q is mixed with p), so
# that a block without events cannot lose all.
oracle_safe_hl <- function(event, y, batch) {
  log_e <- 0
  out <- NULL
  for (b in unique(batch)) {
    now <- batch == b
    past <- batch < b
    if (any(past)) {
      order <- order(event[past])
      map <- stats::isoreg(event[past][order], y[past][order])$yf
      q <- 0.5 * event[now] + 0.5 * stats::approx(event[past][order], map, event[now], "constant", rule = 2, ties = mean)$y
      log_e <- log_e + sum(log(ifelse(y[now] == 1, q / event[now], (1 - q) / (1 - event[now]))))
    }
    out <- c(out, log_e)
  }
  out
}
