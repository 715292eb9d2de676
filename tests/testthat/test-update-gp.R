# New rows for the process, where the old ones are a quadratic (test-update-rows.R: where they are kept).

shared <- function(p, y, ...) calib_gp(p, y, class_effects = "none", control = gp_control(buffer = 0), ...)
bent_stream <- function(n, k, seed) { # a map that is no line
  with_seed(seed, {
    z <- matrix(stats::rnorm(n * k, sd = 1.5), n)
    z <- z - rowMeans(z)
    list(z = z, y = factor(oracle_draw(oracle_softmax(1.5 * tanh(z) + 0.2 * z)), levels = seq_len(k)))
  })
}

test_that("the frozen quadratic is the curvature of rows on hat functions, written out", {
  d <- bent_stream(80, 3, 1)
  fit <- shared(d$z, d$y)
  knots <- fit$stream$knots
  size <- length(knots)
  w <- matrix(0, size, size)
  v <- numeric(size)
  for (i in 1:80) {
    s <- oracle_softmax(matrix(latent(fit, d$z[i, ])$mean, 1))[1, ]
    hats <- vapply(d$z[i, ], function(x) {
      low <- max(1, min(size - 1, findInterval(x, knots)))
      share <- (x - knots[low]) / (knots[low + 1] - knots[low])
      replace(numeric(size), c(low, low + 1), c(1 - share, share))
    }, numeric(size))
    w <- w + hats %*% (diag(s) - outer(s, s)) %*% t(hats)
    v <- v + hats %*% (s * (1 - s))
  }
  expect_equal(fit$stream$w, w[lower.tri(w, TRUE)], tolerance = 1e-3)
  expect_equal(fit$stream$v, as.vector(v), tolerance = 1e-3)
  expect_equal(fit$stream$psi, latent(fit, knots)$mean, tolerance = 1e-8)
  # at the optimum a change of the slope changes nothing: sum b z = 0 up to the tolerance of the fit
  expect_lt(abs(sum(fit$stream$b * knots)), 0.05)
  expect_equal(fit$stream$rest[2], 80)
})

test_that("nothing new changes nothing: rows of no weight beside the frozen ones give the fit back", {
  d <- bent_stream(600, 3, 2)
  fit <- shared(d$z, d$y)
  again <- update(fit, d$z[1:2, ], d$y[1:2], weights = c(1e-9, 1e-9))
  at <- seq(fit$range[1], fit$range[2], length.out = 30)
  expect_lt(max(abs(latent(fit, at)$mean - latent(again, at)$mean - mean(latent(fit, at)$mean - latent(again, at)$mean))), 0.05)
  expect_lt(max(abs(predict(fit, d$z) - predict(again, d$z))), 0.005)
  expect_equal(again$elbo, fit$elbo, tolerance = 1e-3)
})

test_that("batches come near the fit of all rows, in any order, and the object keeps its size", {
  d <- bent_stream(1500, 3, 3)
  new <- bent_stream(2000, 3, 4)
  whole <- shared(d$z, d$y)
  run <- function(order) {
    fit <- shared(d$z[order[1:100], ], d$y[order[1:100]])
    for (b in 2:15) {
      rows <- order[100 * (b - 1) + 1:100]
      fit <- update(fit, d$z[rows, ], d$y[rows])
    }
    fit
  }
  one <- run(1:1500)
  other <- run(1500:1)
  loss <- function(fit) log_loss(predict(fit, new$z), new$y)
  expect_lt(abs(loss(one) - loss(whole)), 0.002)
  expect_lt(abs(loss(other) - loss(whole)), 0.002)
  expect_lt(mean(abs(predict(one, new$z) - predict(other, new$z))), 0.005)
  expect_lt(loss(one), loss(shared(d$z[1401:1500, ], d$y[1401:1500])))
  expect_equal(one$n, 1500L)
  expect_lt(length(one$stream$knots), 41)
  knots <- length(one$averaged$inducing) # a matrix and three vectors
  expect_lt(as.numeric(object.size(one)), 22600 + 8 * (length(one$inducing)^2 + knots^2 + 3 * knots))
  expect_equal(sum(one$scores_seen$true) / (1 - one$scores_seen$beyond[["true"]]), 1500, tolerance = 1e-6)
  expect_identical(one, run(1:1500))
})

test_that("forgetting follows a change", {
  before <- oracle_stream(1000, 3, 5, 1)
  after <- oracle_stream(600, 3, 6, 2.5)
  test <- oracle_stream(3000, 3, 7, 2.5)
  y <- function(x) factor(x, levels = 1:3)
  run <- function(forget) {
    fit <- shared(before$p, y(before$y))
    for (b in 1:6) fit <- update(fit, after$p[100 * (b - 1) + 1:100, ], y(after$y[100 * (b - 1) + 1:100]), forget = forget)
    log_loss(predict(fit, test$p), y(test$y))
  }
  expect_lt(run(0.3), run(0) - 0.005)
})

test_that("the range may grow, zeros may come, weights are rows, and objects go through files", {
  d <- bent_stream(400, 3, 8)
  far <- d$z[1:20, ] * 5
  fit <- shared(d$z[1:200, ], d$y[1:200])
  wide <- update(fit, rbind(d$z[201:300, ], far), d$y[c(201:300, 1:20)])
  expect_lte(wide$range[1], min(far - rowMeans(far)))
  expect_gte(max(wide$stream$knots), max(far))
  expect_silent(p <- predict(wide, far))
  expect_false(anyNA(p))
  probs <- oracle_softmax(d$z)
  zeros <- probs[201:400, ]
  zeros[1:40, 1] <- 0
  zeros <- zeros / rowSums(zeros)
  fit <- shared(probs[1:200, ], d$y[1:200])
  expect_null(fit$floor)
  floored <- update(fit, zeros, d$y[201:400])
  expect_gt(floored$floor, 0)
  expect_false(anyNA(predict(floored, zeros)))
  twice <- update(fit, probs[rep(201:300, 2), ], d$y[rep(201:300, 2)])
  heavy <- update(fit, probs[201:300, ], d$y[201:300], weights = rep(2, 100))
  expect_equal(predict(twice, probs), predict(heavy, probs), tolerance = 1e-5)
  file <- tempfile()
  saveRDS(fit, file)
  expect_identical(update(readRDS(file), zeros, d$y[201:400]), floored)
})

test_that("other means and covariances, held hyperparameters", {
  d <- bent_stream(300, 3, 9)
  p <- oracle_softmax(d$z)
  for (args in list(list(mean = "log"), list(mean = "identity"), list(covariance = "diag"), list(center = FALSE),
    list(inducing = 10), list(hyper = c(lengthscale = 2)))) {
    fit <- do.call(shared, c(list(p[1:150, ], d$y[1:150]), args))
    new <- update(fit, p[151:300, ], d$y[151:300])
    whole <- do.call(shared, c(list(p, d$y), args))
    expect_lt(mean(abs(predict(new, p) - predict(whole, p))), 0.02)
    if (!is.null(args$inducing)) expect_length(new$inducing, 10)
    if (!is.null(args$hyper)) expect_equal(new$hyper[["lengthscale"]], 2)
    if (identical(args$mean, "identity")) expect_equal(new$hyper[["slope"]], 1)
  }
})

test_that("damaged quadratics are recognised", {
  d <- bent_stream(60, 3, 11)
  fit <- shared(d$z, d$y)
  for (part in names(fit$stream)) {
    for (value in list(NULL, "x", NA, numeric(), c(-2, 1))) {
      if (part %in% c("control", "anchor") && is.null(value)) next # older versions had none
      broken <- fit
      broken$stream[part] <- list(value)
      expect_error(update(broken, d$z, d$y), class = "gpcalib_error_object")
    }
  }
})

test_that("with many classes, whose rows are frozen on the nodes, an update is close to a fit of all rows", {
  set.seed(2)
  n <- 600
  k <- 40
  z <- matrix(rnorm(n * k, sd = 1.5), n)
  y <- sample.int(k, n, TRUE)
  z[cbind(1:n, y)] <- z[cbind(1:n, y)] + rgamma(n, 4, 0.4) * 1.3
  y <- factor(y, levels = 1:k)
  first <- 1:300
  half <- shared(z[first, ], y[first])
  both <- update(half, z[-first, ], y[-first])
  whole <- calib_gp(z, y, class_effects = "none")
  apart <- function(fit) mean(abs(predict(fit, z) - predict(whole, z)))
  expect_lt(apart(both), 2e-4)
  expect_gt(apart(half), 5 * apart(both))
  knots <- (sqrt(8 * length(half$stream$w) + 1) - 1) / 2
  w <- matrix(0, knots, knots)
  w[lower.tri(w, TRUE)] <- half$stream$w
  w <- w + t(w) - diag(diag(w))
  expect_gt(min(eigen(w)$values), -1e-3 * max(eigen(w)$values))
})

test_that("a quadratic that is left behind does not lead the process astray", {
  d <- with_seed(71, mixed_data(300, 3))
  fit <- quiet_gp(d$scores[1:200, ], d$labels[1:200], integrate = FALSE, control = gp_control(buffer = 0))
  far <- fit
  far$stream$b <- 300 * fit$stream$b + 30 * (seq_along(fit$stream$b) == 1) # as if it were at a place with steep slopes
  new <- suppressWarnings(update(far, d$scores[201:300, ], d$labels[201:300]))
  expect_equal(new$hyper[c("variance", "lengthscale")], fit$hyper[c("variance", "lengthscale")])
  expect_identical(new$stream$held, fit$stream$held) # next time they may move again
  free <- suppressWarnings(update(fit, d$scores[201:300, ], d$labels[201:300]))
  expect_gt(abs(free$hyper[["lengthscale"]] - fit$hyper[["lengthscale"]]), 0)
})

test_that("a batch of equal probabilities keeps the range of mean = \"log\" above 0", {
  set.seed(1)
  probs <- matrix(rexp(270), 90)
  probs <- probs / rowSums(probs)
  labels <- factor(max.col(probs^2 + matrix(rexp(270), 90) / 3), levels = 1:3)
  for (monotone in c(FALSE, TRUE)) {
    fit <- calib_gp(probs, labels, mean = "log", monotone = monotone)
    more <- update(fit, matrix(1 / 3, 2, 3), c("2", "2")) # was an error with monotone = TRUE, and a range from -1/6 without
    expect_gt(more$range[1], 0)
    expect_equal(rowSums(predict(more, probs)), rep(1, 90))
  }
  flat <- suppressWarnings(calib_gp(matrix(1 / 3, 50, 3), factor(rep_len(1:3, 50)), input = "probs", mean = "log"))
  expect_gt(flat$range[1], 0)
})
