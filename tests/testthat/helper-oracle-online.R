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

# The e-process of two classes row by row, sharing nothing with the package: the product of p_cal(y_t) / p_raw(y_t), where p_cal of row t is made of rows
# before t alone. For temperature, bins and offset p_cal averages recalibrated forecasts by what each has gained so far; the process is a fit of the rows up
# to the last hundred, and the mean of products that begin with its first, second, ... fit. `event`: probability of class 2, y 0 or 1.
# Returns the e-values [rows x alternatives] after every row, and p_cal(class 2) of temperature, bins and offset.
oracle_e_process <- function(event, y, process = FALSE) {
  grid <- function(smallest, steps, centre) { # both signs of sizes that grow by the root of 2, log-normal weights
    value <- smallest * sqrt(2)^(0:(steps - 1))
    value <- c(value, -value)
    weight <- exp(-(log(abs(value)) - log(centre))^2 / 2)
    list(value = value, weight = weight / sum(weight))
  }
  logit <- log(event / (1 - event))
  temperature <- grid(0.02, 14, 0.25)
  shift <- grid(0.05, 12, 0.4)
  sizes <- c(0, shift$value) # of bins: half of the weight on a bin that is calibrated
  halves <- c(0.5, 0.5 * shift$weight)
  learned <- list(temperature$weight, matrix(halves, length(halves), 10), shift$weight)
  bin <- 1 + rowSums(outer(event, c(0.01, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99), ">"))
  n <- length(y)
  cal <- matrix(0, n, 3, dimnames = list(NULL, c("temperature", "bins", "offset")))
  for (t in seq_len(n)) {
    q <- list(stats::plogis(exp(temperature$value) * logit[t]), stats::plogis(logit[t] + sizes), stats::plogis(logit[t] - shift$value)) # offset: of class 1
    for (i in 1:3) {
      w <- if (i == 2) learned[[2]][, bin[t]] else learned[[i]]
      cal[t, i] <- sum(w * q[[i]]) / sum(w)
      w <- w * (if (y[t] == 1) q[[i]] else 1 - q[[i]])
      if (i == 2) learned[[2]][, bin[t]] <- w / sum(w) else learned[[i]] <- w / sum(w)
    }
  }
  gain <- function(q) (q / event)^y * ((1 - q) / (1 - event))^(1 - y)
  e <- gain(cal)
  e[] <- apply(e, 2, cumprod)
  if (process) e <- cbind(e, process = oracle_e_fits(event, y, gain))
  list(e = cbind(mean = rowMeans(e), e), cal = cal)
}

# A fit for every hundred rows (a tenth of the rows seen, beyond 1000), which predicts those behind them with 1e-6 of the forecast mixed in
oracle_e_fits <- function(event, y, gain) {
  n <- length(y)
  labels <- factor(y, 0:1)
  scores <- cbind(1 - event, event)
  at <- numeric(n) # the number of fits before each row
  q <- event
  fit <- NULL
  fits <- seen <- 0
  while (seen < n) {
    rows <- seq(seen + 1, min(n, seen + max(100, ceiling(seen / 10))))
    at[rows] <- fits
    if (fits) q[rows] <- (1 - 1e-6) * suppressWarnings(predict(fit, scores[rows, , drop = FALSE]))[, 2] + 1e-6 * event[rows]
    fit <- suppressWarnings(if (fits) update(fit, scores[rows, ], labels[rows]) else calib_gp(scores[rows, ], labels[rows], integrate = FALSE))
    fits <- fits + 1
    seen <- max(rows)
  }
  vapply(seq_len(n), function(t) {
    j <- seq_len(at[t])
    begun <- vapply(j, function(j) prod(gain(q)[seq_len(t)][at[seq_len(t)] >= j]), 0)
    sum(begun / (j * (j + 1))) + 1 / (at[t] + 1)
  }, 0)
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
