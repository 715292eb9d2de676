# Slow, obvious versions of what calib_query() computes.

oracle_entropy <- function(p) -sum(ifelse(p > 0, p * log(p), 0))

# The design X of a row of centred scores and the covariance S of theta = (v, slope, effects)
oracle_query_cov <- function(fit) {
  if (!is.null(fit$effects)) return(oracle_effect_cov(fit))
  m <- length(fit$inducing)
  if (fit$slope_sd == 0) return(fit$q_cov)
  # theta = (v0 + cross t, t), v0 ~ N(0, q_cov), t ~ N(0, slope_sd^2)
  to <- rbind(cbind(diag(m), fit$slope_cross), c(rep(0, m), 1))
  to %*% rbind(cbind(fit$q_cov, 0), c(rep(0, m), fit$slope_sd^2)) %*% t(to)
}

oracle_query_row <- function(fit, z) {
  k <- length(z)
  f <- oracle_features(z, fit$inducing, fit$hyper)
  slopes <- if (is.null(fit$effects)) as.integer(fit$slope_sd > 0) else fit$effects$slopes
  x <- if (!is.null(fit$effects)) oracle_effect_features(fit, z)
  own <- length(fit$inducing) + slopes
  design <- matrix(0, k, own + k * length(x))
  for (j in seq_len(k)) {
    design[j, seq_along(fit$inducing)] <- f$a[, j]
    if (slopes) design[j, own] <- z[j]
    if (length(x)) design[j, own + (j - 1) * length(x) + seq_along(x)] <- x
  }
  phi <- fit$hyper[["slope"]] * z + drop(crossprod(f$a, fit$q_mean))
  if (length(x)) phi <- phi + drop(x %*% unname(fit$effects$effect))
  if (!is.null(fit$offsets)) phi <- phi + unname(fit$offsets$mean)
  list(x = design, phi = phi)
}

# I(y; theta) and W = E(diag p - pp') of a row by Monte Carlo, antithetic
oracle_query_mc <- function(row, s, draws) {
  c <- row$x %*% s %*% t(row$x)
  e <- eigen((c + t(c)) / 2, symmetric = TRUE)
  root <- e$vectors %*% diag(sqrt(pmax(e$values, 0)), length(e$values))
  move <- root %*% matrix(stats::rnorm(length(row$phi) * draws), ncol = draws)
  p <- apply(row$phi + cbind(move, -move), 2, oracle_soft)
  mean <- rowMeans(p)
  list(information = oracle_entropy(mean) - mean(apply(p, 2, oracle_entropy)), w = diag(mean) - tcrossprod(p) / ncol(p))
}
