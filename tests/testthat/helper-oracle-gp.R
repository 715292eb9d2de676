# Slow, obvious versions of the latent process: every matrix written out.

oracle_features <- function(z, inducing, hyper) {
  k <- function(a, b) hyper[["variance"]] * exp(-outer(a, b, "-")^2 / (2 * hyper[["lengthscale"]]^2))
  root <- t(chol(k(inducing, inducing) + hyper[["noise"]] * diag(length(inducing))))
  a <- forwardsolve(root, k(inducing, z))
  list(a = a, rho = pmax(hyper[["variance"]] + hyper[["noise"]] - colSums(a^2), 0))
}

# Posterior mean and K x K covariance of the latent values at the scores z of one row.
oracle_row <- function(z, inducing, q_mean, q_cov, hyper, mean = "linear") {
  f <- oracle_features(z, inducing, hyper)
  prior <- if (mean == "log") log(z) else hyper[["slope"]] * z
  list(
    phi = prior + drop(crossprod(f$a, q_mean)),
    cov = t(f$a) %*% q_cov %*% f$a + diag(f$rho, length(z))
  )
}

oracle_soft <- function(phi) exp(phi - max(phi)) / sum(exp(phi - max(phi)))

oracle_bound <- function(scores, labels, inducing, q_mean, q_cov, hyper, mean = "linear",
                         covariance = "full", weights = rep(1, nrow(scores))) {
  if (mean == "identity") hyper[["slope"]] <- 1
  total <- 0
  for (n in seq_len(nrow(scores))) {
    row <- oracle_row(scores[n, ], inducing, q_mean, q_cov, hyper, mean)
    cov <- if (covariance == "diag") diag(diag(row$cov)) else row$cov
    s <- oracle_soft(row$phi)
    total <- total + weights[n] *
      (log(s[labels[n]]) + (drop(s %*% cov %*% s) - sum(diag(cov) * s)) / 2)
  }
  size <- length(inducing)
  total - (sum(diag(q_cov)) + sum(q_mean^2) - size -
    as.numeric(determinant(q_cov)$modulus)) / 2
}

# A random point of the model with random data; `k` classes.
random_point <- function(k, mean = "linear", n = 15, size = 6) {
  scores <- matrix(stats::rnorm(n * k, sd = 3), n)
  if (mean == "log") scores <- exp(scores) / rowSums(exp(scores))
  inducing <- seq(min(scores), max(scores), length.out = size)
  list(
    scores = scores, labels = sample(k, n, TRUE), inducing = inducing,
    q_mean = stats::rnorm(size),
    q_cov = crossprod(matrix(stats::rnorm(size^2), size)) * 0.3 / size + diag(size) * 0.1,
    hyper = c(
      variance = stats::runif(1, 0.5, 2),
      lengthscale = stats::runif(1, 1.3, 3) * diff(range(inducing)) / (size - 1),
      noise = 1e-4, slope = stats::runif(1, 0.5, 1.5)
    ),
    weights = stats::runif(n, 0.5, 2)
  )
}

bound_at <- function(point, ...) {
  do.call(gpcalib:::gp_bound, c(point, list(...)))
}

# Classifier-like data: labels drawn from softmax(g(z)) with a bent g.
bent_data <- function(n, k, spread = 2, bend = function(z) z + 1.5 * sin(z)) {
  z <- matrix(stats::rnorm(n * k, sd = spread), n)
  g <- bend(z - rowMeans(z))
  y <- max.col(g - log(-log(matrix(stats::runif(n * k), n))))
  list(scores = z, labels = factor(y, levels = seq_len(k)))
}

# The process shared by all classes, without effects of their own: version 0.1's.
shared_gp <- function(...) suppressWarnings(gpcalib::calib_gp(..., class_effects = "none", integrate = FALSE), classes = "gpcalib_warning_changed")
# bent_data() is not increasing, so that fits of it change classes, and say so.
quiet_gp <- function(...) suppressWarnings(gpcalib::calib_gp(...), classes = "gpcalib_warning_changed")
