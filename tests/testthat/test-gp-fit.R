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

test_that("a floor that was chosen gives the fit of the same floor given", {
  rain <- rain_nyc[rain_nyc$part == "calibration", ]
  chosen <- calib_gp(rain$prob, rain$rain, integrate = FALSE)
  given <- calib_gp(rain$prob, rain$rain, integrate = FALSE, floor = chosen$floor)
  # the features of the effects follow the temperature, which is that of the floor: it was that of another one
  expect_equal(chosen$elbo, given$elbo, tolerance = 1e-4)
  expect_equal(predict(chosen, c(0, 0.1, 0.5, 0.9)), predict(given, c(0, 0.1, 0.5, 0.9)), tolerance = 2e-3)
})

test_that("rounding errors in the scores do not choose between optima where a floor is chosen", {
  # the quick fit of the first floor runs out of passes here, and where it stood led the next one to either of two optima
  set.seed(18)
  y <- sample(3, 150, TRUE)
  u <- matrix(rnorm(450), 150)
  u[cbind(1:150, y)] <- u[cbind(1:150, y)] + 3
  p <- exp(4 * u) / rowSums(exp(4 * u))
  p[p < 1e-3] <- 0
  p <- p / rowSums(p)
  set.seed(1)
  fits <- lapply(0:2, function(i) quiet_gp(p * (1 + (i > 0) * 1e-9 * rnorm(450)), factor(y), class_effects = "offset", integrate = FALSE))
  bounds <- vapply(fits, `[[`, 0, "elbo")
  expect_lt(diff(range(bounds)), 0.02)
  given <- quiet_gp(p, factor(y), class_effects = "offset", integrate = FALSE, floor = fits[[1]]$floor)
  expect_lt(max(abs(predict(fits[[2]], p) - predict(given, p))), 1e-3)
})
