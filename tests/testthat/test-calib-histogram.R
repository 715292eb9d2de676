# Histogram binning; what the methods share is in test-one-vs-all.R.

grid <- c(0, seq(0.005, 0.995, length.out = 100), 1)
value <- function(fit, at) unname(predict(fit, at)[, 2])

test_that("it is what a literal version gives", {
  for (digits in list(NULL, 2, 1)) {
    d <- oracle_pair(200, 1, digits)
    w <- with_seed(2, runif(200, 0, 3))
    for (bins in c(1, 4, 15, 100)) {
      for (binning in c("width", "mass")) {
        for (weights in list(NULL, w)) {
          fit <- calib_histogram(d$p, d$y, binning = binning, bins = bins, weights = weights)
          slow <- oracle_histogram(d$p, d$y, c(grid, d$p), bins, binning == "mass",
            if (is.null(weights)) rep(1, 200) else weights)
          expect_equal(value(fit, c(grid, d$p)), slow, tolerance = 1e-13)
        }
      }
    }
  }
})

test_that("it reproduces the frequencies of the bins", {
  d <- oracle_pair(1000, 3)
  fit <- calib_histogram(d$p, d$y, bins = 10)
  bin <- cut(d$p, 0:10 / 10, include.lowest = TRUE)
  expect_equal(value(fit, d$p), ave(d$y, bin), tolerance = 1e-13)
  # and so is calibrated in the bins of its own frequencies
  expect_equal(ece(predict(fit, d$p), d$y, bins = 100, type = "event"), 0, tolerance = 1e-13)
})

test_that("a case by hand", {
  p <- c(0, .1, .2, .21, .9, .9)
  y <- c(1, 0, 1, 0, 1, 0)
  fit <- calib_histogram(p, y, bins = 5)
  # (.4, .6] and (.6, .8] are empty and keep the score; .2 belongs to the first bin
  expect_equal(value(fit, c(0, .2, .3, .5, .7, 1)), c(2 / 3, 2 / 3, 0, .5, .7, .5))
  mass <- calib_histogram(p, y, binning = "mass", bins = 3)
  expect_equal(mass$x, c(.1, .21, .9))
  expect_equal(value(mass, c(0, .15, 1)), c(.5, .5, .5))
  expect_identical(tidy(fit)$term[c(1, 5)], c("[0, 0.2]", "(0.8, 1]"))
})

test_that("edges are b/B in doubles", {
  p <- c(.07, .14, .28, .55, .56)
  fit <- calib_histogram(rep(p, 2), rep(0:1, each = 5), bins = 100)
  filled <- fit$x[!is.nan(fit$y)]
  expect_identical(filled, c(7, 14, 28, 55, 56) / 100)
})

test_that("bad arguments are named", {
  for (bins in list(0, 1.5, NA, "a", 2e6)) {
    expect_error(calib_histogram(c(.1, .9), 0:1, bins = bins), "`bins`", class = "gpcalib_error_input")
  }
  expect_error(calib_histogram(c(.1, .9), 0:1, binning = "equal"), "`binning`",
    class = "gpcalib_error_input")
})
