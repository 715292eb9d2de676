# Slow, obvious versions of the measures, written from their definitions. `probs` is a matrix,
# `labels` are codes 1..K, `weights` one number per row.

# The bin of x, by comparing with every edge; left_closed: [lo, hi), the last closed.
oracle_bin <- function(x, edges, left_closed = FALSE) {
  bins <- length(edges) - 1L
  vapply(x, function(v) {
    for (b in seq_len(bins)) {
      lo <- edges[b]
      hi <- edges[b + 1]
      inside <- if (left_closed) v >= lo && v < hi else v > lo && v <= hi
      if (inside) return(b)
    }
    if (v <= edges[1]) 1L else bins
  }, 0L)
}

oracle_edges_width <- function(bins, lower = 0) lower + (1 - lower) * ((0:bins) / bins)

# Smallest x whose cumulative weight reaches b/bins of the total, for every b.
oracle_edges_mass <- function(x, weights, bins) {
  x <- x[weights > 0]
  weights <- weights[weights > 0]
  values <- sort(unique(x))
  below <- vapply(values, function(v) sum(weights[x <= v]), 0)
  uppers <- vapply(seq_len(bins), function(b) {
    values[which(below * bins >= b * sum(weights) * (1 - 1e-14))[1]]
  }, 0)
  c(min(x), unique(uppers))
}

# One problem: scores against hits.
oracle_error <- function(score, hit, weights, bins, norm, binning, estimator, debias, lower) {
  if (sum(weights) == 0) return(0)
  edges <- if (binning == "mass") {
    oracle_edges_mass(score, weights, bins)
  } else if (estimator == "midpoint") {
    oracle_edges_width(bins, lower)
  } else {
    oracle_edges_width(bins)
  }
  bin <- oracle_bin(score, edges, left_closed = estimator == "midpoint" && binning == "width")
  B <- length(edges) - 1
  gap <- n <- var <- numeric(B)
  for (b in seq_len(B)) {
    here <- bin == b & weights > 0
    n[b] <- sum(weights[here])
    if (!any(here)) next
    acc <- sum(weights[here] * hit[here]) / n[b]
    conf <- if (estimator == "midpoint") {
      (edges[b] + edges[b + 1]) / 2
    } else {
      sum(weights[here] * score[here]) / n[b]
    }
    gap[b] <- abs(conf - acc)
    var[b] <- if (n[b] > 1) acc * (1 - acc) / (n[b] - 1) else gap[b]^2
  }
  if (debias) return(sqrt(max(0, sum(n / sum(n) * (gap^2 - var)))))
  if (estimator == "unweighted") {
    return(if (is.infinite(norm)) max(gap) / B else sum(gap^norm)^(1 / norm) / B)
  }
  if (is.infinite(norm)) max(gap[n > 0]) else sum(n / sum(n) * gap^norm)^(1 / norm)
}

oracle_ece <- function(probs, labels, bins = 15, norm = 1, binning = "width",
                       estimator = "mean", type = "confidence", event = 2, debias = FALSE,
                       weights = NULL) {
  n <- nrow(probs)
  K <- ncol(probs)
  if (is.null(weights)) weights <- rep(1, n)
  conf <- apply(probs, 1, max)
  pred <- apply(probs, 1, which.max)
  one <- function(score, hit, w, lower) {
    oracle_error(score, hit, w, bins, norm, binning, estimator, debias, lower)
  }
  if (type == "confidence") return(one(conf, pred == labels, weights, 1 / K))
  if (type == "event") return(one(probs[, event], labels == event, weights, 0))
  if (type == "classwise") {
    e <- vapply(seq_len(K), function(k) one(probs[, k], labels == k, weights, 0), 0)
    share <- rep(1 / K, K)
  } else {
    share <- vapply(seq_len(K), function(k) sum(weights[pred == k]), 0) / sum(weights)
    e <- vapply(seq_len(K), function(k) {
      here <- pred == k
      one(conf[here], labels[here] == k, weights[here], 1 / K)
    }, 0)
  }
  if (is.infinite(norm)) max(e[share > 0]) else sum(share * e^norm)^(1 / norm)
}

oracle_scores <- function(probs, labels, weights = rep(1, nrow(probs))) {
  K <- ncol(probs)
  conf <- apply(probs, 1, max)
  right <- apply(probs, 1, which.max) == labels
  truth <- outer(labels, seq_len(K), "==") + 0
  mean_of <- function(x, rows = TRUE) sum((weights * x)[rows]) / sum(weights[rows])
  c(
    class_accuracy = mean_of(right),
    log_loss = mean_of(-log(probs[cbind(seq_along(labels), labels)])),
    brier_score = if (K == 2) {
      mean_of((probs[, 2] - truth[, 2])^2)
    } else {
      mean_of(rowSums((probs - truth)^2))
    },
    overconfidence = mean_of(conf, !right),
    underconfidence = mean_of(1 - conf, right),
    confidence_gap = abs(mean_of(conf) - mean_of(right)),
    sharpness = 4 * K^2 / (K - 1)^2 * sum(weights * (conf - mean_of(conf))^2) / (sum(weights) - 1)
  )
}

# A forecast and labels drawn from a sharper or flatter version of it; `digits` makes ties.
random_forecast <- function(n, K, power = 1.5, digits = NULL) {
  z <- matrix(rexp(n * K)^2, n, K)
  probs <- z / rowSums(z)
  if (!is.null(digits)) {
    probs <- round(probs, digits)
    probs[, K] <- pmax(0, round(1 - rowSums(probs[, -K, drop = FALSE]), digits))
    probs <- probs / rowSums(probs)
  }
  truth <- probs^power + 1e-3
  labels <- apply(truth, 1, function(p) sample.int(K, 1, prob = p))
  list(probs = probs, labels = labels)
}

# Isotonic regression by its min-max formula: ties pooled, then
# fit_i = max over a <= i of min over b >= i of the mean from a to b.
oracle_isotonic <- function(x, y, weights = rep(1, length(x))) {
  values <- sort(unique(x[weights > 0]))
  w <- vapply(values, function(v) sum(weights[x == v]), 0)
  h <- vapply(values, function(v) sum((weights * y)[x == v]), 0)
  m <- length(values)
  fit <- vapply(seq_len(m), function(i) {
    max(vapply(seq_len(i), function(a) {
      min(vapply(i:m, function(b) sum(h[a:b]) / sum(w[a:b]), 0))
    }, 0))
  }, 0)
  list(values = values, fit = fit)
}
