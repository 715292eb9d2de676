# Vector and matrix scaling with a ridge.

set.seed(31)
d3 <- mixed_data(300, 3)
makers <- list(vector = calib_vector, matrix = calib_matrix)

# Every derivative of every latent value, row by row: theta = (a, b, d or D class by class)
oracle_linear <- function(z, y, w, method) {
  u <- z - rowMeans(z)
  rms <- sqrt(stats::weighted.mean(rowMeans(u^2), w))
  u <- u / rms
  k <- ncol(u)
  size <- 1 + k + if (method == "vector") k else k^2
  design <- lapply(seq_len(nrow(u)), function(n) {
    x <- matrix(0, k, size)
    x[, 1] <- u[n, ]
    for (j in seq_len(k)) {
      x[j, 1 + j] <- 1
      if (method == "vector") x[j, 1 + k + j] <- u[n, j] else x[j, 1 + k + (j - 1) * k + seq_len(k)] <- u[n, ]
    }
    x
  })
  value <- function(theta, ridge) {
    fit <- sum(w * mapply(function(x, y) log(oracle_soft(drop(x %*% theta)))[y], design, y))
    c(fit, fit - ridge[1] / 2 * sum(theta[1 + seq_len(k)]^2) - ridge[2] / 2 * sum(theta[-seq_len(1 + k)]^2), use.names = FALSE)
  }
  curvature <- function(theta) {
    Reduce(`+`, Map(function(x, w) {
      s <- oracle_soft(drop(x %*% theta))
      w * t(x) %*% (diag(s) - tcrossprod(s)) %*% x
    }, design, w))
  }
  list(value = value, curvature = curvature, size = size, k = k, rms = rms)
}

# theta of a fit, up to what changes no probability
theta_of <- function(fit, oracle) {
  if (fit$method == "vector") {
    s <- fit$weights * oracle$rms
    return(c(mean(s), fit$offset, s - mean(s)))
  }
  c(0, fit$offset, as.vector(t(fit$weights)) * oracle$rms)
}

test_that("given ridges give the optimum of a general optimiser", {
  y <- as.integer(d3$labels)[1:80]
  z <- d3$scores[1:80, ]
  w <- rep(1:2, 40)
  for (method in names(makers)) {
    oracle <- oracle_linear(z, y, w, method)
    ridge <- c(offset = 2, slope = 3)
    fit <- makers[[method]](z, y, weights = w, ridge = ridge)
    best <- stats::optim(c(1, rep(0, oracle$size - 1)), function(x) -oracle$value(x, ridge)[2], method = "BFGS",
      control = list(maxit = 500, reltol = 1e-14))
    expect_equal(fit$log_lik, oracle$value(best$par, ridge)[[1]], tolerance = 1e-5)
    u <- (z - rowMeans(z)) / oracle$rms
    e <- best$par[-(1:4)]
    own <- if (method == "vector") u * rep(e, each = 80) else u %*% matrix(e, 3)
    f <- best$par[1] * u + rep(best$par[2:4], each = 80) + own
    p <- exp(f) / rowSums(exp(f))
    expect_lt(max(abs(predict(fit, z) - p)), 1e-3)
    expect_gte(oracle$value(theta_of(fit, oracle), c(0, 0))[1], fit$log_lik - 1e-6)
  }
})

test_that("learned ridges satisfy MacKay's equations, and covariances are inverse curvatures", {
  y <- as.integer(d3$labels)
  for (method in names(makers)) {
    fit <- makers[[method]](d3$scores, y)
    expect_true(fit$converged)
    oracle <- oracle_linear(d3$scores, y, rep(1, 300), method)
    raw <- .Call(C_linear_fit, d3$scores, y, NULL, list(floor = -Inf, matrix = method == "matrix", slope = 1,
      hold_slope = FALSE, ridge = c(NaN, NaN), tol = 1e-8, max_passes = 100L))
    h <- oracle$curvature(raw$theta)
    prior <- c(0, rep(raw$ridge, c(3, oracle$size - 4)))
    cov <- solve(h + diag(prior))
    expect_equal(raw$cov, cov, tolerance = 1e-4)
    for (part in list(2:4, 5:oracle$size)) {
      ridge <- prior[part[1]]
      expect_equal(ridge * sum(raw$theta[part]^2), length(part) - ridge * sum(diag(cov)[part]), tolerance = 1e-3)
    }
    # eq. (41)
    evidence <- oracle$value(raw$theta, raw$ridge)[2] + sum(log(prior[-1])) / 2 -
      as.numeric(determinant(h + diag(prior))$modulus) / 2
    expect_equal(raw$evidence, evidence, tolerance = 1e-6)
    # the offset of the first class, less the mean: from its definition
    weight <- c(0, c(1, 0, 0) - 1 / 3, rep(0, oracle$size - 4))
    expect_equal(tidy(fit)$std.error[1], sqrt(drop(weight %*% cov %*% weight)), tolerance = 1e-3)
    weight <- if (method == "vector") c(1, 0, 0, 0, 1, 0, 0) else {
      even <- diag(3) - 1 / 3 # weight[1, 2] = (even D even)_12 and its share of a
      c(even[1, 2], 0, 0, 0, as.vector(outer(even[2, ], even[1, ])))
    }
    at <- if (method == "vector") 4 else match("weight[1, 2]", tidy(fit)$term)
    expect_equal(tidy(fit)$std.error[at], sqrt(drop(weight %*% cov %*% weight)) / oracle$rms, tolerance = 1e-3)
    expect_equal(sqrt(diag(vcov(fit))), stats::setNames(tidy(fit)$std.error, tidy(fit)$term), tolerance = 1e-6)
    expect_equal(attr(logLik(fit), "df"), fit$edf)
  }
  terms <- coef(calib_matrix(d3$scores, y))
  expect_gt(terms[["weight[1, 2]"]] - terms[["weight[3, 2]"]], 0.15) # as it was made
})

test_that("the ridge's ends are temperature scaling and logistic regression", {
  fit <- calib_vector(d3$scores, d3$labels, ridge = Inf)
  expect_equal(predict(fit, d3$scores), predict(calib_temperature(d3$scores, d3$labels), d3$scores), tolerance = 1e-5)
  set.seed(32)
  x <- rnorm(200)
  y <- runif(200) < plogis(0.5 + 2 * x)
  line <- stats::glm(y ~ x, family = stats::binomial())
  for (make in makers) {
    fit <- make(x, y, input = "logits", ridge = 0)
    expect_equal(unname(predict(fit, x)[, 2]), unname(stats::fitted(line)), tolerance = 1e-5)
  }
})

test_that("weights are replication; order, scale and shift of scores do not matter", {
  y <- as.integer(d3$labels)
  w <- rep(1:3, 100)
  rows <- rep(1:300, w)
  turn <- c(3, 1, 2)
  for (make in makers) {
    a <- make(d3$scores[rows, ], y[rows], ridge = 1)
    fit <- make(d3$scores, y)
    p <- predict(fit, d3$scores)
    turned <- make(d3$scores[, turn], match(y, turn))
    expect_equal(unname(predict(turned, d3$scores[, turn])), unname(p[, turn]), tolerance = 1e-5)
    other <- make(1e6 * d3$scores + 5, y)
    expect_equal(predict(other, 1e6 * d3$scores), p, tolerance = 1e-5)
    order <- sample(300)
    expect_equal(make(d3$scores[order, ], y[order])$evidence, fit$evidence, tolerance = 1e-8)
    b <- make(d3$scores, y, weights = w, ridge = 1)
    expect_equal(predict(a, d3$scores), predict(b, d3$scores), tolerance = 1e-8)
  }
})

test_that("odd data are fitted", {
  good <- function(p) expect_true(all(is.finite(p)) && all(p >= 0) && all(abs(rowSums(p) - 1) < 1e-8))
  for (make in makers) {
    # a class that never occurs
    y <- factor(pmin(as.integer(d3$labels), 2), levels = 1:3)
    fit <- make(d3$scores, y)
    good(predict(fit, d3$scores))
    expect_identical(unname(which.min(fit$offset)), 3L)
    expect_warning(fit <- make(d3$scores, max.col(d3$scores)), class = "gpcalib_warning_separated")
    expect_false(fit$converged)
    expect_lt(mean(apply(predict(fit, d3$scores), 1, max)), 0.9999)
    expect_warning(fit <- make(matrix(0.5, 20, 2), rep(c(1, 1, 1, 2), 5)), class = "gpcalib_warning_flat")
    expect_gt(predict(fit, matrix(0.5, 1, 2))[1], 0.6)
    # zeros take temperature scaling's floor, new ones are safe
    p <- oracle_softmax(d3$scores)
    p[p < 0.02] <- 0
    p <- p / rowSums(p)
    fit <- make(p, d3$labels)
    expect_identical(fit$floor, calib_temperature(p, d3$labels)$floor)
    good(predict(fit, p))
    masked <- d3$scores
    masked[cbind(1:300, as.integer(d3$labels) %% 3 + 1)] <- -Inf
    good(predict(suppressWarnings(make(masked, d3$labels)), masked))
    fit <- make(d3$scores, d3$labels)
    new <- rbind(c(-Inf, 0, 1), c(-Inf, -Inf, 3), c(1e300, -1e300, 0))
    p <- predict(fit, new)
    good(p)
    expect_identical(unname(p[1:2, 1]), c(0, 0))
    good(predict(make(rnorm(50), rbinom(50, 1, 0.5)), c(-3, 0, 3)))
    good(predict(suppressWarnings(make(d3$scores[1:2, ], d3$labels[1:2])), d3$scores))
  }
})

test_that("they say what they are, and complain", {
  fit <- calib_vector(d3$scores, d3$labels)
  expect_output(print(fit), "Vector scaling.*slopes.*overconfident.*offsets from")
  expect_output(print(summary(fit)), "ridge .* effective degrees of freedom")
  expect_output(print(calib_matrix(d3$scores, d3$labels)), "Matrix scaling.*of others")
  expect_output(print(summary(fit)), "offset\\[1\\]")
  expect_identical(names(coef(fit)), c(paste0("offset[", 1:3, "]"), paste0("slope[", 1:3, "]")))
  expect_equal(nrow(confint(fit)), 6)
  expect_error(calib_map(fit), "coef\\(\\)", class = "gpcalib_error_input")
  bad <- function(...) expect_error(calib_vector(d3$scores, d3$labels, ...), class = "gpcalib_error_input")
  bad(ridge = -1)
  bad(ridge = c(1, 2))
  bad(ridge = c(offset = 1, matrix = 2))
  bad(ridge = NA)
  bad(ridge = "a")
  bad(tol = 0)
  bad(rigde = 1)
  wide <- matrix(rnorm(51 * 60), 60)
  expect_error(calib_matrix(wide, rep_len(1:51, 60)), "51 classes", class = "gpcalib_error_input")
  pair <- calib_vector(rain_nyc$prob, rain_nyc$rain)
  expect_equal(calib_map(pair, 0.3)$calibrated, unname(predict(pair, 0.3)[, 2]))
  expect_error(vcov(calib_matrix(oracle_data(60, 11, seed = 1)$z, factor(oracle_data(60, 11, seed = 1)$y, levels = 1:11))),
    "up to 120", class = "gpcalib_error_input")
})

test_that("slopes that cannot be told from 1 are not called overconfident", {
  set.seed(2)
  p <- plogis(rnorm(300))
  y <- rbinom(300, 1, plogis(0.95 * qlogis(p)))
  fit <- calib_vector(p, y)
  expect_lt(max(fit$weights), 1)
  said <- capture.output(print(fit))
  expect_false(any(grepl("overconfident", said)))
  expect_output(print(calib_vector(plogis(3 * qlogis(p)), y)), "slope 0.298: the scores were overconfident")
})

test_that("equal slopes are printed once", {
  expect_identical(say_span(c(0.29, 0.302, 0.32)), "0.29 to 0.32")
  expect_identical(say_span(c(0.3021, 0.30211)), "all 0.302")
  expect_identical(say_span(-0.196), "-0.196")
  fit <- calib_vector(letters_nn$cal$scores, letters_nn$cal$labels)
  expect_output(print(fit), "slopes all 0.302: the scores of every class were overconfident", fixed = TRUE)
})

test_that("vector and matrix scaling that are shrunk to temperature scaling say so", {
  set.seed(8)
  z <- matrix(rnorm(900), 300) + 2 * diag(3)[rep(1:3, 100), ]
  y <- rep(1:3, 100)
  for (fit in list(calib_vector(z, y, ridge = 1e6), calib_matrix(z, y, ridge = 1e6))) {
    fit$offset[] <- 0
    w <- fit$weights
    fit$weights[] <- if (is.matrix(w)) 2 * diag(3) + rep(c(0.3, 0, -1), each = 3) else 2 # a number for each column changes nothing
    expect_output(print(fit), "this is temperature scaling \\(temperature 0.5\\): offsets and .* are shrunk to almost 0")
    fit$weights[1] <- fit$weights[1] + 0.01
    expect_no_match(capture.output(print(fit)), "this is temperature scaling")
  }
})
