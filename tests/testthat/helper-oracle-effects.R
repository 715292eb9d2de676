# Slow, obvious versions of the class effects: every row's design written out.

# Features of a row of centred scores, by their definition
oracle_effect_features <- function(fit, z) {
  s <- fit$effects$scale
  k <- length(z)
  z <- pmin(pmax(z, s[["low"]]), s[["high"]])
  z <- z - mean(z)
  helmert <- sapply(seq_len(k - 1), function(j) c(rep(-1, j), j, rep(0, k - j - 1)) / sqrt(j * (j + 1)))
  d <- s[["slope"]] * (z[2] - z[1])
  has <- fit$effects$count > 0
  c(if (has[1]) 1,
    if (has[2]) if (k == 2) log(1 + exp(d)) + log(1 + exp(-d)) - 2 * log(2) else drop(t(helmert) %*% z) / s[["rms"]],
    if (has[3]) if (k == 2) oracle_shapes(d) else drop(t(helmert) %*% oracle_soft(s[["slope"]] * z)),
    if (has[4]) -log(sum(exp(s[["slope"]] * z))))
}

# Integrals of hats of width 1/2 about 1/2, 1, ..., 9/2 from 2 to |d|, piece by piece
oracle_shapes <- function(d) {
  area <- function(from, to, i) { # of a hat, whose corners are among the ends of the pieces
    ends <- sort(unique(c(from, to, pmin(pmax(i / 2 + c(-0.5, 0, 0.5), from), to))))
    height <- pmax(0, 1 - abs(ends / 0.5 - i))
    sum(diff(ends) * (height[-1] + height[-length(height)]) / 2)
  }
  vapply(1:9, function(i) sign(abs(d) - 2) * area(min(2, abs(d)), max(2, abs(d)), i), 0)
}

# From coefficients of the features, class after class, to the parameters of the model, a matrix: what a unit of a class's power adds
# to the coefficients is found by regression of log p on the features
oracle_effect_free <- function(fit) {
  k <- ncol(fit$effects$effect)
  r <- nrow(fit$effects$effect)
  out <- diag(k * r)
  if (fit$effects$count[4] == 0) return(out)
  scale <- fit$effects$scale
  z <- with_seed(1, matrix(stats::runif(6 * r * k, -1, 1) * min(abs(scale[c("low", "high")])) / 2, ncol = k))
  z <- z - rowMeans(z)
  x <- t(apply(z, 1, oracle_effect_features, fit = fit))
  for (j in seq_len(k)) {
    at <- (j - 1) * r + seq_len(r)
    log_p <- apply(z, 1, function(z) log(oracle_soft(scale[["slope"]] * z)[j]))
    out[at, max(at)] <- qr.solve(x, log_p) # the power is the last
  }
  solve(out)
}

# The covariance of (v, slope, effects) from its lower triangle, which may be bits of single precision
oracle_effect_cov <- function(fit) {
  size <- length(fit$inducing) + fit$effects$slopes + length(fit$effects$effect)
  cov <- matrix(0, size, size)
  lower <- fit$effects$cov
  if (is.integer(lower)) lower <- readBin(writeBin(lower, raw()), "double", length(lower), size = 4)
  at <- 0
  for (j in seq_len(size)) for (i in j:size) {
    at <- at + 1
    cov[i, j] <- cov[j, i] <- lower[at]
  }
  cov
}

# Mean and covariance of the latent values of a row of centred scores
oracle_effect_row <- function(fit, z, known_slope = FALSE) {
  k <- length(z)
  f <- oracle_features(z, fit$inducing, fit$hyper)
  x <- oracle_effect_features(fit, z)
  design <- matrix(0, k, length(fit$inducing) + fit$effects$slopes + k * length(x))
  own <- length(fit$inducing) + fit$effects$slopes
  for (j in seq_len(k)) {
    design[j, seq_along(fit$inducing)] <- f$a[, j]
    if (fit$effects$slopes) design[j, own] <- z[j]
    design[j, own + (j - 1) * length(x) + seq_along(x)] <- x
  }
  cov <- oracle_effect_cov(fit)
  if (known_slope && fit$effects$slopes) {
    cov <- cov - tcrossprod(cov[, own]) / cov[own, own]
  }
  list(phi = fit$hyper[["slope"]] * z + drop(crossprod(f$a, fit$q_mean)) + drop(x %*% unname(fit$effects$effect)),
    cov = design %*% cov %*% t(design) + diag(f$rho, k))
}

# Labels from softmax(W z + b): a class is taken for another, and one is favoured
mixed_data <- function(n, k, w = 0.5, b = 1) {
  z <- matrix(stats::rnorm(n * k, sd = 2), n)
  weight <- diag(0.7, k)
  weight[1, 2] <- w
  offset <- c(b, rep(0, k - 1))
  f <- z %*% t(weight) + rep(offset, each = n)
  y <- max.col(f - log(-log(matrix(stats::runif(n * k), n))))
  list(scores = z, labels = factor(y, levels = seq_len(k)))
}

# From coefficients to the parameters of the model with the two parts of the matrix, eq. (33b): list of the matrix that does it and of the
# standard deviations of the parameters. At class q and feature i of the matrix: q <= i symmetric, q > i skew, the last class the level.
oracle_effect_parameters <- function(fit) {
  effects <- fit$effects
  k <- ncol(effects$effect)
  r <- nrow(effects$effect)
  out <- diag(k * r)
  tau <- rep(rep(effects$sd[names(effects$sd) != "skew"], effects$count[effects$count > 0]), k)
  if ("skew" %in% names(effects$sd)) {
    helmert <- sapply(seq_len(k - 1), function(j) c(rep(-1, j), j, rep(0, k - j - 1)) / sqrt(j * (j + 1)))
    place <- function(q, i) (q - 1) * r + 1 + i
    d <- function(q, i) replace(numeric(k * r), place(seq_len(k), i), helmert[, q])
    for (i in seq_len(k - 1)) {
      out[place(k, i), ] <- replace(numeric(k * r), place(seq_len(k), i), 1 / sqrt(k))
      for (q in seq_len(k - 1)) {
        out[place(q, i), ] <- if (q == i) d(i, i) else (d(q, i) + sign(i - q) * d(i, q)) / sqrt(2)
        if (q > i) tau[place(q, i)] <- effects$sd[["skew"]]
      }
    }
  }
  list(free = out %*% oracle_effect_free(fit), tau = unname(tau))
}

# Effects of two classes beside a straight line, on average over the standard deviation of each block, eq. (45): the model is a logistic
# regression of the differences of the effects, whose variances are twice those of the effects. The mean and the covariance of those.
oracle_open_tau <- function(fit, z, y, centre, sd) {
  x <- cbind(z[, 2] - z[, 1], do.call(rbind, lapply(seq_len(nrow(z)), function(i) oracle_effect_features(fit, z[i, ]))))
  second <- as.integer(y) == 2
  block <- rep(seq_along(fit$effects$sd), fit$effects$count[fit$effects$count > 0])
  precision <- function(tau) diag(c(0, 1 / (2 * tau[block]^2)))
  mode <- function(tau) {
    par <- c(0.5, rep(0, length(block)))
    for (step in 1:50) {
      p <- drop(stats::plogis(x %*% par))
      par <- par + solve(crossprod(x, p * (1 - p) * x) + precision(tau), crossprod(x, second - p) - precision(tau) %*% par)
    }
    drop(par)
  }
  tau <- unname(fit$effects$sd)
  par <- mode(tau)
  p <- drop(stats::plogis(x %*% par))
  h <- crossprod(x, p * (1 - p) * x)
  right <- crossprod(x, second - p) + h %*% par
  evidence <- function(tau, b) { # by the quadratic of the mode, with the prior of one block
    q <- h + precision(tau)
    drop(0.5 * crossprod(right, solve(q, right)) - 0.5 * determinant(q)$modulus) - sum(log(tau[block])) -
      0.5 * (log(tau[b] / centre[b]) / sd)^2
  }
  u <- seq(-2, 2.5, by = 0.9)
  open <- vapply(seq_along(tau), function(b) {
    value <- vapply(u, function(u) evidence(replace(tau, b, tau[b] * exp(u)), b), 0)
    weight <- exp(value - max(value))
    tau[b] * sqrt(sum(weight * exp(2 * u)) / sum(weight))
  }, 0)
  par <- mode(open)
  p <- drop(stats::plogis(x %*% par))
  list(tau = open, mean = par[-1], cov = solve(crossprod(x, p * (1 - p) * x) + precision(open))[-1, -1, drop = FALSE])
}
