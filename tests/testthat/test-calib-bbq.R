# Bayesian binning into quantiles; what the methods share is in test-one-vs-all.R.

grid <- c(0, 1e-9, seq(0.01, 0.99, length.out = 99), 1)
value <- function(fit, at) unname(predict(fit, at)[, 2])

test_that("it is what a literal version gives", {
  for (case in list(list(60, NULL), list(300, NULL), list(300, 2), list(300, 1), list(1331, NULL))) {
    d <- oracle_pair(case[[1]], 1, case[[2]])
    fit <- calib_bbq(d$p, d$y)
    at <- c(grid, d$p)
    slow <- oracle_bbq(d$p, d$y, at)
    expect_equal(value(fit, at), slow$value, tolerance = 1e-10)
    expect_equal(fit$log_evidence, slow$evidence, tolerance = 1e-10)
  }
})

test_that("weights are weights", {
  d <- oracle_pair(120, 2, 2)
  for (w in list(with_seed(3, runif(120, 0, 3)), with_seed(3, sample(0:2, 120, TRUE)))) {
    fit <- calib_bbq(d$p, d$y, weights = w)
    slow <- oracle_bbq(d$p, d$y, grid, w)
    expect_equal(value(fit, grid), slow$value, tolerance = 1e-9)
  }
})

test_that("a weight that is lost beside the others makes no bin of its own", {
  for (n in c(12, 18, 38)) {
    p <- seq(0.05, 0.9, length.out = n)
    y <- as.integer(p > 0.5)
    y[seq(1, n, 5)] <- 1 - y[seq(1, n, 5)]
    fit <- calib_bbq(c(p, 0.95), c(y, 1), weights = c(rep(1, n), 1e-14))
    expect_equal(value(fit, grid), value(calib_bbq(p, y), grid), tolerance = 1e-10)
  }
})

test_that("a case by hand", {
  # Four rows make one bin, ceiling(4/5): alpha = beta = 1, (2 + 1)/(4 + 2).
  fit <- calib_bbq(c(.1, .4, .6, .9), c(0, 1, 0, 1))
  expect_equal(value(fit, c(0, 0.5, 1)), rep(0.5, 3))
  expect_equal(fit$log_evidence, lbeta(3, 3) - lbeta(1, 1))
  # Six rows: B = 1 (likelihood Beta(4, 4)) and B = 2, cut at .5, centres .25 and .75
  fit <- calib_bbq(c(.1, .2, .4, .6, .8, .9), c(0, 0, 1, 0, 1, 1))
  one <- beta(4, 4)
  two <- (beta(1.25, 2.75) / beta(.25, .75)) * (beta(2.75, 1.25) / beta(.75, .25))
  share <- two / (one + two)
  expect_equal(value(fit, c(.5, .51)), (1 - share) * .5 + share * c(1.25, 2.75) / 4)
})

test_that("0, 1 and scores beyond those seen are in the outer bins; nothing is 0 or 1", {
  d <- oracle_pair(500, 4)
  d$p <- 0.3 + 0.4 * d$p
  fit <- calib_bbq(d$p, d$y)
  expect_identical(value(fit, c(0, 0.1)), rep(value(fit, min(d$p)), 2))
  expect_identical(value(fit, c(0.9, 1)), rep(value(fit, max(d$p)), 2))
  sure <- calib_bbq(d$p, as.integer(d$p > 0.5))
  expect_true(all(value(sure, grid) > 0 & value(sure, grid) < 1))
})

test_that("objects stay small when the evidence is clear", {
  d <- oracle_pair(20000, 5)
  fit <- calib_bbq(d$p, d$y)
  expect_lt(length(serialize(fit[names(fit) != "points"], NULL)), 20000)
})

test_that("weights that stand for too many rows are an error", {
  expect_error(calib_bbq(c(.1, .9), 0:1, weights = c(1e10, 1)), "`weights`",
    class = "gpcalib_error_input")
})
