# Slow, obvious versions of what compares and tests forecasts. Nothing here calls the package.

# Ranked probability score, row by row
oracle_rps <- function(p, y) {
  k <- ncol(p)
  vapply(seq_along(y), function(i) {
    sum(vapply(seq_len(k - 1), function(j) (sum(p[i, seq_len(j)]) - (y[i] <= j))^2, 0))
  }, 0)
}

# Elementary score of one forecast at one threshold
oracle_elementary <- function(x, y, theta) {
  if (y == 0 && x > theta) return(2 * theta)
  if (y == 1 && x <= theta) return(2 * (1 - theta))
  0
}

# Venn-Abers pair at s: isotonic regression of one more row, by the min-max formula
oracle_venn <- function(z, y, s, w = rep(1, length(y))) {
  one <- function(label) {
    at <- sort(unique(c(z, s)))
    group <- factor(c(z, s), levels = at)
    hits <- tapply(c(w * y, label), group, sum)
    weight <- tapply(c(w, 1), group, sum)
    i <- match(s, at)
    max(vapply(seq_len(i), function(a) {
      min(vapply(i:length(at), function(b) sum(hits[a:b]) / sum(weight[a:b]), 0))
    }, 0))
  }
  c(one(0), one(1))
}

# Smooth calibration error at a bandwidth: every row's kernel with its mirror images
oracle_smooth <- function(x, y, sigma, w = rep(1, length(x)), points = 8001) {
  t <- seq(0, 1, length.out = points)
  r <- numeric(points)
  for (i in seq_along(x)) {
    for (m in seq(-ceiling(4 * sigma), ceiling(4 * sigma))) {
      r <- r + w[i] * (y[i] - x[i]) *
        (stats::dnorm(t, x[i] + 2 * m, sigma) + stats::dnorm(t, -x[i] + 2 * m, sigma))
    }
  }
  r <- abs(r / sum(w))
  (sum(r) - (r[1] + r[points]) / 2) / (points - 1)
}

# h_ij of the squared kernel calibration error, all pairs
oracle_skce <- function(p, y, width, gaussian = FALSE) {
  n <- nrow(p)
  residual <- diag(ncol(p))[y, ] - p
  h <- matrix(0, n, n)
  for (i in seq_len(n)) {
    for (j in seq_len(n)) {
      d <- if (gaussian) sqrt(sum((p[i, ] - p[j, ])^2)) else sum(abs(p[i, ] - p[j, ])) / 2
      k <- if (gaussian) exp(-d^2 / (2 * width^2)) else exp(-d / width)
      h[i, j] <- k * sum(residual[i, ] * residual[j, ])
    }
  }
  h
}

# Log-likelihood of p_k^b e^c_k
oracle_recal <- function(p, y, b, c) {
  q <- p^b * rep(exp(c), each = nrow(p))
  q <- q / rowSums(q)
  sum(log(q[cbind(seq_along(y), y)]))
}

# A forecast whose labels are drawn from it, or from a power of it
oracle_forecast <- function(n, k, power = 1, seed = 1) {
  with_seed(seed, {
    p <- oracle_softmax(matrix(stats::rnorm(n * k, sd = 1.5), n, k))
    q <- p^power / rowSums(p^power)
    list(p = p, y = apply(q, 1, function(row) sample.int(k, 1, prob = row)))
  })
}
