# Slow, obvious versions of the effects of many classes (src/gp_wide.h), eq. (39b)

# Labels of k classes: some are taken for another where that has a high probability, and classes have offsets
confused_data <- function(n, k, strength = 4, peak = 5) {
  z <- matrix(stats::rnorm(n * k), n)
  z[cbind(seq_len(n), sample(k, n, TRUE))] <- peak + stats::rnorm(n)
  p <- oracle_soft_rows(z)
  w <- matrix(0, k, k)
  for (j in seq_len(k)) w[j %% k + 1, j] <- strength # the next class is as likely as j says
  f <- z + p %*% t(w) + rep(stats::rnorm(k, sd = 0.2), each = n)
  y <- max.col(f - log(-log(matrix(stats::runif(n * k), n))))
  list(scores = z, labels = factor(y, levels = seq_len(k)))
}

oracle_soft_rows <- function(f) t(apply(f, 1, oracle_soft))

# Means and variances of the effects of a fit: offsets, powers, matrix
oracle_wide <- function(fit) {
  k <- length(fit$classes)
  offsets <- fit$offsets
  read <- function(part) {
    bytes <- writeBin(part$codes, raw(), endian = "little")
    low <- as.integer(bytes[c(TRUE, FALSE)])[seq_len(k^2)]
    high <- as.integer(bytes[c(FALSE, TRUE)])[seq_len(k^2)]
    matrix(part$unit * (low + 256 * high - 32767), k)
  }
  list(b = unname(offsets$mean), v = offsets$wide$power, w = read(offsets$wide$mean), b_var = offsets$var, v_var = offsets$wide$power_var,
    w_var = read(offsets$wide$sd)^2)
}

oracle_wide_features <- function(fit, z) {
  p <- oracle_soft_rows(fit$offsets$wide$steep * z)
  list(x = pmax(p - 1 / (2 * ncol(z)), 0), q = pmax(log(p), -30))
}

# Sums of the effects in rows of centred scores: mean and variance
oracle_wide_sums <- function(fit, z, e = oracle_wide(fit)) {
  d <- oracle_wide_features(fit, z)
  n <- nrow(z)
  list(mean = rep(e$b, each = n) + d$q * rep(e$v, each = n) + d$x %*% t(e$w),
    var = rep(e$b_var, each = n) + d$q^2 * rep(e$v_var, each = n) + d$x^2 %*% t(e$w_var))
}

# The tilted bound of a row with independent latent values: minimised over a by many small steps
oracle_tilt <- function(phi, c) {
  a <- oracle_soft(phi)
  for (i in 1:200) {
    d <- c * (1 - 2 * a) + sum(a^2 * c)
    a <- 0.5 * a + 0.5 * oracle_soft(phi + d / 2)
  }
  d <- c * (1 - 2 * a) + sum(a^2 * c)
  list(bound = log(sum(exp(phi + d / 2))), pi = a)
}

# By how much the effects raise the bound, and gradient and curvature at their means
oracle_wide_bound <- function(fit, z, y, weights = rep(1, nrow(z))) {
  phi <- matrix(latent(fit, as.vector(z))$mean, nrow(z))
  e <- oracle_wide(fit)
  sums <- oracle_wide_sums(fit, z, e)
  d <- oracle_wide_features(fit, z)
  f <- phi + sums$mean
  value <- 0
  residual <- curvature <- 0 * z
  for (n in seq_len(nrow(z))) {
    tilt <- oracle_tilt(f[n, ], sums$var[n, ])
    value <- value + weights[n] * (f[n, y[n]] - tilt$bound)
    residual[n, ] <- weights[n] * ((seq_len(ncol(z)) == y[n]) - tilt$pi)
    curvature[n, ] <- weights[n] * tilt$pi * (1 - tilt$pi)
  }
  sd <- fit$offsets$sd
  part <- function(mean, var, name, hyperprior) {
    if (!name %in% names(sd)) return(0)
    t <- sd[[name]]^2
    sum(0.5 * (var / t + mean^2 / t - 1 - log(var / t))) - hyperprior(sd[[name]])
  }
  value <- value - part(e$b, e$b_var, "offset", function(sd) -0.5 * log(sd / 0.3)^2) - part(e$v, e$v_var, "power", function(sd) -0.5 * log(sd / 0.05)^2) -
    part(e$w, e$w_var, "softmax", function(sd) -log(1 + (log(sd / 0.4) / 0.28)^2))
  none <- sum(weights * log(oracle_soft_rows(phi)[cbind(seq_along(y), y)]))
  list(worth = value - none, g_b = colSums(residual), g_w = t(residual) %*% d$x, h_b = colSums(curvature), h_w = t(curvature) %*% d$x^2)
}
