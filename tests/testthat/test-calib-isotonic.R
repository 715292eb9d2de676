# Isotonic calibration of two classes; what the methods share is in test-one-vs-all.R.

grid <- c(0, seq(0.001, 0.999, length.out = 200), 1)
value <- function(fit, at) unname(predict(fit, at)[, 2])

test_that("it is isoreg(), with lines or steps", {
  for (seed in 1:5) {
    d <- oracle_pair(400, seed)
    fitted <- isoreg(d$p, d$y)
    steps <- as.stepfun(fitted)
    o <- order(d$p)
    lines <- approxfun(d$p[o], fitted$yf, rule = 2)
    expect_equal(value(calib_isotonic(d$p, d$y), grid), lines(grid), tolerance = 1e-12)
    expect_equal(value(calib_isotonic(d$p, d$y, interpolate = FALSE), grid), steps(grid),
      tolerance = 1e-12)
    expect_equal(value(calib_isotonic(d$p, d$y), d$p[o]), fitted$yf, tolerance = 1e-12)
  }
})

test_that("ties are pooled first, weights are weights", {
  for (digits in 1:2) {
    d <- oracle_pair(150, 6, digits)
    w <- with_seed(7, runif(150, 0, 3))
    for (weights in list(rep(1, 150), w, round(w))) {
      o <- oracle_iso(d$p, d$y, weights)
      expect_equal(value(calib_isotonic(d$p, d$y, weights = weights), grid),
        approx(o$x, o$y, grid, rule = 2)$y, tolerance = 1e-12)
      expect_equal(value(calib_isotonic(d$p, d$y, weights = weights, interpolate = FALSE), grid),
        stepfun(o$x[-length(o$x)], o$y, right = TRUE)(grid), tolerance = 1e-12)
    }
  }
})

test_that("a case by hand", {
  # sorted: .1 .2 .3 .3 .6 .9 with 0 1 0 0 1 1; the ties at .3 are 0 of 2, pooled with .2: 1 of 3
  fit <- calib_isotonic(c(.3, .1, .2, .3, .9, .6), c(0, 0, 1, 0, 1, 1))
  expect_equal(fit$x, c(.1, .2, .3, .6))
  expect_equal(fit$y, c(0, 1 / 3, 1 / 3, 1))
  expect_equal(value(fit, c(0, .15, .25, .45, .95)), c(0, 1 / 6, 1 / 3, 2 / 3, 1))
  step <- calib_isotonic(c(.3, .1, .2, .3, .9, .6), c(0, 0, 1, 0, 1, 1), interpolate = FALSE)
  expect_equal(step$x, c(.1, .3, .9))
  expect_equal(value(step, c(0, .1, .15, .3, .31)), c(0, 0, 1 / 3, 1 / 3, 1))
})

test_that("it is monotone and idempotent, and constant outside", {
  for (interpolate in c(TRUE, FALSE)) {
    d <- oracle_pair(2000, 8)
    fit <- calib_isotonic(d$p, d$y, interpolate = interpolate)
    expect_true(all(diff(value(fit, grid)) >= 0))
    expect_true(all(diff(value(fit, sort(d$p))) >= 0))
    once <- value(fit, d$p)
    again <- calib_isotonic(once, d$y, interpolate = interpolate)
    expect_equal(value(again, once), once, tolerance = 1e-12)
    inside <- d$p > 0.2 & d$p < 0.8
    cut <- calib_isotonic(d$p[inside], d$y[inside], interpolate = interpolate)
    expect_identical(value(cut, c(0, 0.1)), rep(value(cut, min(d$p[inside])), 2))
    expect_identical(value(cut, c(0.9, 1)), rep(value(cut, max(d$p[inside])), 2))
  }
})

test_that("objects are small", {
  d <- oracle_pair(50000, 9)
  fit <- calib_isotonic(d$p, d$y)
  expect_lt(length(serialize(fit[names(fit) != "points"], NULL)), 8000)
  expect_lt(length(serialize(fit$points, NULL)), 25000) # at most 1000 of them, for update()
  expect_false(is.unsorted(fit$x, strictly = TRUE))
})

test_that("a constant map says so, and terms are told apart", {
  expect_output(print(calib_isotonic(c(.2, .8), c(1, 0))), "constant, 0.5")
  close <- calib_isotonic(1 - c(4, 3, 2, 1) * 1e-9, c(0, 1, 0, 1))
  expect_false(anyDuplicated(tidy(close)$term) > 0)
})

test_that("bad arguments are named", {
  expect_error(calib_isotonic(c(.1, .9), 0:1, interpolate = NA), "`interpolate`",
    class = "gpcalib_error_input")
  expect_error(calib_isotonic(c(.1, .9), 0:1, threads = 0), "`threads`",
    class = "gpcalib_error_input")
  expect_error(calib_isotonic(c(.1, NA), 0:1), "`scores`", class = "gpcalib_error_input")
})
