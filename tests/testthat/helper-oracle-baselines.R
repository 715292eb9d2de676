# Slow and obvious versions of the baselines, for one class against the rest: y is 0 or 1, p its
# score. Nothing here calls the package.

# Data: p in (0, 1), y drawn from a distorted p; `digits` makes ties
oracle_pair <- function(n, seed, digits = NULL) {
  with_seed(seed, {
    p <- stats::plogis(stats::rnorm(n, sd = 2))
    if (!is.null(digits)) p <- round(p, digits)
    y <- as.integer(stats::runif(n) < stats::plogis(0.3 + 0.6 * stats::qlogis(pmin(pmax(p, .02), .98))))
    list(p = p, y = y)
  })
}

# Isotonic: max over a <= i of min over b >= i of the mean of a..b; value at each distinct score
oracle_iso <- function(p, y, w = rep(1, length(p))) {
  x <- sort(unique(p[w > 0]))
  hits <- vapply(x, function(v) sum((w * y)[p == v]), 0)
  weight <- vapply(x, function(v) sum(w[p == v]), 0)
  m <- length(x)
  mean_of <- function(a, b) sum(hits[a:b]) / sum(weight[a:b])
  fit <- vapply(seq_len(m), function(i) {
    max(vapply(seq_len(i), function(a) min(vapply(i:m, function(b) mean_of(a, b), 0)), 0))
  }, 0)
  list(x = x, y = fit)
}

oracle_logit <- function(v) log(v / (1 - v))

oracle_platt <- function(s, y, w = rep(1, length(s)), smoothed = TRUE) {
  pos <- sum(w[y == 1])
  neg <- sum(w[y == 0])
  t <- if (smoothed) ifelse(y == 1, (pos + 1) / (pos + 2), 1 / (neg + 2)) else y
  fit <- suppressWarnings(stats::glm(t ~ s, family = stats::binomial, weights = w,
    control = list(epsilon = 1e-15, maxit = 100)))
  unname(rev(stats::coef(fit)))
}

oracle_beta_map <- function(z, a, b, c) 1 / (1 + exp(-c) * (1 - z)^b * z^-a)

# Equal-mass edges: the smallest score at or below which lies a share of at least b/B
oracle_cuts <- function(p, bins, w = rep(1, length(p))) {
  x <- sort(unique(p[w > 0]))
  share <- vapply(x, function(v) sum(w[p <= v]), 0) / sum(w)
  unique(vapply(seq_len(bins) / bins, function(q) x[which(share >= q - 1e-11)[1]], 0))
}

oracle_histogram <- function(p, y, new, bins, mass = FALSE, w = rep(1, length(p))) {
  upper <- if (mass) oracle_cuts(p, bins, w) else seq_len(bins) / bins
  bin <- function(v) min(which(c(upper[-length(upper)], Inf) >= v))
  at <- vapply(p, bin, 0)
  vapply(new, function(v) {
    inside <- at == bin(v)
    if (sum(w[inside]) == 0) v else sum((w * y)[inside]) / sum(w[inside])
  }, 0)
}

# BBQ as it is written: every binning, every bin
oracle_bbq <- function(p, y, new, w = rep(1, length(p))) {
  n <- sum(w)
  root <- round(n^(1 / 3), 10)
  low <- max(1, floor(root / 10))
  models <- seq(low, max(low, min(ceiling(n / 5), ceiling(10 * root))))
  x <- sort(unique(p[w > 0]))
  fits <- lapply(models, function(nominal) {
    last <- match(oracle_cuts(p, nominal, w), x)
    inner <- last[-length(last)]
    edges <- c(0, (x[inner] + x[inner + 1]) / 2, 1)
    b <- length(edges) - 1
    bin_of <- function(v) pmax(1, pmin(b, findInterval(v, edges, left.open = TRUE)))
    at <- bin_of(p)
    m <- vapply(seq_len(b), function(i) sum((w * y)[at == i]), 0)
    k <- vapply(seq_len(b), function(i) sum(w[at == i]), 0)
    centre <- (edges[-1] + edges[-(b + 1)]) / 2
    alpha <- 2 / b * centre
    beta <- 2 / b * (1 - centre)
    list(
      weight = sum(lbeta(m + alpha, k - m + beta) - lbeta(alpha, beta)),
      value = ((m + alpha) / (k + 2 / b))[bin_of(new)]
    )
  })
  weight <- vapply(fits, `[[`, 0, "weight")
  share <- exp(weight - max(weight)) / sum(exp(weight - max(weight)))
  evidence <- max(weight) + log(mean(exp(weight - max(weight))))
  values <- vapply(fits, `[[`, numeric(length(new)), "value")
  list(value = as.vector(matrix(values, length(new)) %*% share), evidence = evidence)
}

# One against the rest: `map(s, y, new)` gives the values of one class
oracle_ova <- function(scores, labels, new, map) {
  v <- vapply(seq_len(ncol(scores)), function(k) {
    map(scores[, k], as.integer(labels == k), new[, k])
  }, numeric(nrow(new)))
  v <- matrix(v, nrow(new))
  sums <- rowSums(v)
  p <- v / sums
  p[sums == 0, ] <- new[sums == 0, ]
  p
}
