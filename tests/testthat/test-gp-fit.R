# The driver of the fit: maxima of the bound beside the nearest one.

# Labels drawn from softmax(g(z)) of normal scores.
drawn_from <- function(seed, n, k, sd, g) {
  set.seed(seed)
  z <- matrix(rnorm(n * k, sd = sd), n)
  list(scores = z, labels = factor(max.col(g(z) - log(-log(matrix(runif(n * k), n)))), levels = seq_len(k)))
}

# The highest bound over lengthscales that are held.
best_held <- function(d, lengthscales) {
  bounds <- vapply(lengthscales, function(l) {
    calib_gp(d$scores, d$labels, class_effects = "none", hyper = c(lengthscale = l))$elbo
  }, 0)
  max(bounds)
}

test_that("a fit that has lost its process looks whether a lengthscale brings it back", {
  d <- drawn_from(303, 100, 4, 2, function(z) ifelse(z > 1, z, .6 * z + .4))
  fit <- calib_gp(d$scores, d$labels, class_effects = "none")
  line <- calib_gp(d$scores, d$labels, class_effects = "none", hyper = c(variance = 1e-6))
  expect_gt(fit$elbo, line$elbo + .03)
  expect_gte(fit$elbo, best_held(d, c(.8, 1, 1.25, 1.5)) - 1e-4)
  held <- calib_gp(d$scores, d$labels, class_effects = "none", hyper = c(lengthscale = 1.25))
  expect_gt(held$hyper[["variance"]], .05)
})

test_that("a fit at a long lengthscale looks at short ones", {
  d <- drawn_from(6, 400, 8, 2, function(z) z + .9 * sin(2 * z))
  fit <- calib_gp(d$scores, d$labels, class_effects = "none")
  expect_gte(fit$elbo, best_held(d, c(1, 1.1, 1.2, 4.3)) - 1e-4)
})

# Names of the routines that an expression calls, by copies of the package's functions.
called <- function(run) {
  ns <- asNamespace("gpcalib")
  copies <- new.env(parent = ns)
  for (name in ls(ns, all.names = TRUE)) {
    f <- get(name, ns)
    if (is.function(f) && identical(environment(f), ns)) {
      environment(f) <- copies
      assign(name, f, copies)
    }
  }
  names <- character()
  copies$.Call <- function(.NAME, ...) {
    names <<- c(names, .NAME$name)
    base::.Call(.NAME, ...)
  }
  suppressMessages(suppressWarnings(run(copies$calib_gp)))
  names
}

test_that("a fit with zeros, and one of every mean, is a handful of calls", {
  set.seed(1)
  d <- drawn_from(1, 200, 5, 2, identity)
  p <- exp(d$scores) / rowSums(exp(d$scores))
  p[p < .01] <- 0
  p <- p / rowSums(p)
  zeros <- called(function(f) f(p, d$labels, class_effects = "none"))
  expect_equal(sum(zeros == "gp_fit"), 1)
  expect_lte(length(zeros), 8)
  every <- called(function(f) f(p, d$labels, class_effects = "none", mean = "auto"))
  expect_equal(sum(every == "gp_fit"), 3)
  expect_lte(length(every), 10)
})

test_that("inducing inputs that class effects have made needless are given back", {
  set.seed(50)
  z <- rnorm(946, 1, 1.5)
  y <- rbinom(946, 1, plogis(z - 3))
  fit <- quiet_gp(plogis(z), y)
  alone <- quiet_gp(plogis(z), y, class_effects = "none")
  expect_gt(length(alone$inducing), 16) # the process alone has to bend
  expect_length(fit$inducing, 16)
  many <- quiet_gp(plogis(z), y, inducing = 32)
  expect_lt(max(abs(predict(fit, 1:9 / 10) - predict(many, 1:9 / 10))), 1e-3)
  expect_gt(fit$elbo, many$elbo - 0.02)
})

# Probabilities that are far too sure of themselves: those of softmax(6 z), labels by softmax(z).
far_down <- function(n, k) {
  d <- drawn_from(8, n, k, 2, identity)
  p <- exp(6 * (d$scores - apply(d$scores, 1, max)))
  list(scores = p / rowSums(p), labels = d$labels)
}

test_that("very small probabilities of three or more classes are raised, where a matrix is tried", {
  d <- far_down(150, 4)
  fit <- calib_gp(d$scores, d$labels, integrate = FALSE)
  temperature <- calib_temperature(d$scores, d$labels)$temperature
  floor <- (0.1 / (150 * 4))^temperature
  expect_equal(fit$floor, floor, tolerance = 1e-4)
  expect_lt(min(d$scores), floor)
  raised <- pmax(d$scores, floor)
  expect_equal(predict(fit, d$scores), predict(fit, raised), tolerance = 1e-4) # but for the sum
  expect_equal(calib_gp(d$scores, d$labels, floor = floor, integrate = FALSE)$elbo, fit$elbo, tolerance = 1e-5)
  # weights count as rows
  weighted <- calib_gp(d$scores, d$labels, weights = rep(2, 150), integrate = FALSE)
  expect_equal(weighted$floor, (0.1 / (300 * 4))^temperature, tolerance = 1e-4)
  # left alone: no matrix, logits, two classes, a floor that is given, nothing that is so low
  expect_null(calib_gp(d$scores, d$labels, class_effects = "none")$floor)
  expect_null(calib_gp(d$scores, d$labels, class_effects = "offset", integrate = FALSE)$floor)
  expect_null(calib_gp(log(d$scores), d$labels, integrate = FALSE)$floor)
  two <- far_down(150, 2)
  expect_null(calib_gp(two$scores, two$labels, integrate = FALSE)$floor)
  expect_identical(calib_gp(d$scores, d$labels, floor = 1e-300, integrate = FALSE)$floor, 1e-300)
  mild <- d$scores^0.02
  expect_null(calib_gp(mild / rowSums(mild), d$labels, integrate = FALSE)$floor)
})

test_that("the bound decides whether very small probabilities are raised", {
  d <- drawn_from(8, 400, 4, 20, function(z) 6 * tanh((z - rowMeans(z)) / 15)) # the low scores matter, by the mean of the row
  p <- exp(d$scores - apply(d$scores, 1, max))
  p <- p / rowSums(p)
  floor <- (0.1 / (400 * 4))^calib_temperature(p, d$labels)$temperature
  expect_lt(min(p), floor)
  bound <- function(floor) calib_gp(p, d$labels, floor = floor, class_effects = "none")$elbo
  expect_gt(bound(NULL), bound(floor) + 1.5)
  expect_null(calib_gp(p, d$labels, integrate = FALSE)$floor)
})

test_that("very small probabilities have a floor beside those for zeros", {
  d <- far_down(150, 4)
  data <- list(scores = d$scores, input = "probs", classes = 1:4, labels = as.integer(d$labels), threads = 1L)
  data$scores[1, 4] <- 0
  data$scores <- data$scores / rowSums(data$scores)
  data$scan <- scan_rows(data$scores)
  spec <- list(class_effects = "auto")
  before <- gp_scores(data, "linear", NULL)
  after <- try_low_floor(before, data, spec)
  expect_identical(after$floors[-1], before$floors)
  expect_gt(after$floors[1], before$floors[1])
  expect_equal(after$prior, c(0, floor_prior(before$floors, spec) - 1))
  expect_true(all(after$floored))
  fit <- calib_gp(data$scores, d$labels, integrate = FALSE)
  expect_true(fit$floor %in% before$floors || isTRUE(all.equal(fit$floor, after$floors[1], tolerance = 1e-3)))
})
