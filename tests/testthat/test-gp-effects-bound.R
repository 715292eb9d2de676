# Class effects against the evidence they bound, and on small and hostile data.

# log of the integral of prod_n plogis(sign_n (odds_n + x_n'd)) over d ~ N(0, 2 diag(sd^2)), on a grid:
# the difference of two classes' effects has twice their variance.
grid_evidence <- function(odds, second, x, sd) {
  at <- seq(-6, 6, length.out = 81)
  grid <- as.matrix(expand.grid(rep(list(at), ncol(x))))
  prior <- rowSums(dnorm(grid, log = TRUE)) + ncol(x) * log(at[2] - at[1])
  shift <- x %*% (t(grid) * sqrt(2) * sd)
  value <- prior + colSums(plogis(ifelse(second, 1, -1) * (odds + shift), log.p = TRUE))
  max(value) + log(sum(exp(value - max(value))))
}

two_classes <- function(n, slope, shift) {
  odds <- rnorm(n, sd = 2)
  second <- runif(n) < plogis(slope * odds + shift)
  list(odds = odds, second = second, scores = cbind(0, odds), labels = 1 + second)
}

test_that("the bound lies below the evidence, and not far", {
  for (seed in 1:6) {
    set.seed(seed)
    d <- two_classes(c(4, 15, 60)[1 + seed %% 3], 1, 1)
    if (length(unique(d$labels)) < 2) next
    held <- c(variance = 1e-8, lengthscale = 3, slope = 1, offset = 0.6^2, matrix = 0.4^2, softmax = 1e-12)
    fit <- suppressWarnings(calib_gp(d$scores, factor(d$labels, 1:2), input = "logits", class_effects = "offset",
      hyper = held))
    exact <- grid_evidence(d$odds, d$second, cbind(rep(1, length(d$odds))), 0.6)
    expect_lt(fit$elbo, exact + 1e-6)
    expect_gt(fit$elbo, exact - 0.2)
    both <- suppressWarnings(calib_gp(d$scores, factor(d$labels, 1:2), input = "logits", class_effects = "matrix",
      hyper = held))
    far <- abs(both$effects$scale[["slope"]] * d$odds)
    x <- cbind(1, far + 2 * log1p(exp(-far)) - 2 * log(2))
    exact <- grid_evidence(d$odds, d$second, x, c(0.6, 0.4))
    expect_lt(both$elbo, exact + 1e-6)
    expect_gt(both$elbo, exact - 0.4)
  }
})

# A small problem with whatever may go wrong: absent classes, ties, zeros, separation, -Inf.
random_problem <- function() {
  n <- sample(2:60, 1)
  k <- sample(c(2, 2, 3, 4, 6), 1)
  z <- matrix(rnorm(n * k, sd = exp(runif(1, -2, 2.5))), n)
  if (runif(1) < 0.3) z <- round(z)
  present <- if (runif(1) < 0.3) sample(k, max(1, k - 1)) else seq_len(k)
  labels <- present[1 + floor(length(present) * runif(n))]
  if (runif(1) < 0.5) labels <- ifelse(runif(n) < 0.7, max.col(z, "first"), labels)
  if (runif(1) < 0.15) labels <- max.col(z, "first")
  if (runif(1) < 0.2) z[sample(length(z), 1)] <- -Inf
  if (runif(1) < 0.5) {
    z <- exp(z - apply(z, 1, max))
    z <- z / rowSums(z)
    z[z < 1e-3] <- 0
    z <- z / rowSums(z)
  }
  list(scores = z, labels = factor(labels, seq_len(k)), weights = if (runif(1) < 0.3) sample(0:3, n, TRUE))
}

test_that("300 small problems end well, with effects asked for and chosen", {
  set.seed(11)
  fitted <- 0
  for (i in 1:300) {
    d <- random_problem()
    if (!is.null(d$weights) && sum(d$weights > 0) < 2) d$weights <- NULL
    how <- if (i %% 2) "auto" else sample(c("offset", "matrix"), 1)
    fit <- tryCatch(suppressMessages(suppressWarnings(calib_gp(d$scores, d$labels, weights = d$weights,
      class_effects = how))), gpcalib_error_input = function(e) e)
    if (inherits(fit, "error")) next # refused, and said why
    fitted <- fitted + 1
    p <- suppressWarnings(predict(fit, d$scores))
    expect_true(is.finite(fit$elbo) && all(is.finite(p)) && max(abs(rowSums(p) - 1)) < 1e-8,
      label = paste("problem", i))
    part <- c(fit$effects$worth, fit$offsets$worth)
    if (how == "auto" && length(part)) expect_gte(part, -2, label = paste("worth of problem", i))
  }
  expect_gt(fitted, 250)
})

few_classes <- function(n = 120) {
  set.seed(21)
  truth <- sample(4, n, TRUE, c(0.5, 0.2, 0.2, 0.1))
  z <- matrix(rnorm(4 * n), n) + 2 * diag(4)[truth, ]
  list(scores = z - rep(c(1, 0, 0, -1), each = n), labels = truth)
}

test_that("weights count as repeated rows, and the order of rows does not matter", {
  d <- few_classes()
  w <- rep(1:3, 40)
  many <- rep(seq_along(w), w)
  weighted <- suppressWarnings(calib_gp(d$scores, d$labels, weights = w))
  repeated <- suppressWarnings(calib_gp(d$scores[many, ], d$labels[many]))
  expect_identical(weighted$class_effects, "matrix")
  expect_equal(weighted$elbo, repeated$elbo, tolerance = 1e-4)
  expect_equal(predict(weighted, d$scores), predict(repeated, d$scores), tolerance = 1e-3)
  turned <- rev(seq_along(w))
  back <- suppressWarnings(calib_gp(d$scores[turned, ], d$labels[turned], weights = w[turned]))
  expect_equal(back$elbo, weighted$elbo, tolerance = 1e-6)
  expect_equal(predict(back, d$scores), predict(weighted, d$scores), tolerance = 1e-4)
})

test_that("classes in another order get the same probabilities", {
  d <- few_classes()
  order <- c(3, 1, 4, 2)
  one <- suppressWarnings(calib_gp(d$scores, d$labels))
  other <- suppressWarnings(calib_gp(d$scores[, order], match(d$labels, order)))
  expect_identical(other$class_effects, one$class_effects)
  expect_equal(other$elbo, one$elbo, tolerance = 1e-6)
  same <- function(approx, tolerance) {
    expect_equal(unname(predict(other, d$scores[, order], approx = approx)),
      unname(predict(one, d$scores, approx = approx)[, order]), tolerance = tolerance)
  }
  same("mean", 1e-4)
  same("delta", 2e-3) # the points that some rows are integrated over have an order
})
