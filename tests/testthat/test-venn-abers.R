# Venn-Abers predictors.

test_that("pairs are those of isotonic regression with one more row", {
  for (seed in 1:60) {
    d <- with_seed(seed, {
      n <- sample(2:16, 1)
      list(z = round(stats::runif(n), 1 + seed %% 2), y = c(0, 1, stats::rbinom(n - 2, 1, 0.5)),
        w = if (seed %% 3) rep(1, n) else sample(1:3, n, TRUE), new = stats::runif(4))
    })
    fit <- calib_isotonic(d$z, d$y, weights = d$w, type = "venn-abers")
    at <- c(d$z, d$new, 0, 1)
    got <- predict(fit, at, type = "interval")
    want <- t(vapply(at, function(s) oracle_venn(d$z, d$y, s, d$w), c(0, 0)))
    expect_equal(unname(got[, 2, 2:3]), want, tolerance = 1e-12)
    expect_equal(unname(got[, 2, 1]), want[, 2] / (1 - want[, 1] + want[, 2]), tolerance = 1e-12)
    expect_equal(unname(got[, 1, 2:3]), 1 - want[, 2:1], tolerance = 1e-12)
    expect_equal(unname(predict(fit, at)[, 2]), unname(got[, 2, 1]))
  }
})

test_that("a case by hand", {
  # scores 1, 2, 3 of 0, 1, 0. At .2 with label 1: (0, 1)(1)(0) pools to 1/2 and the rest to 1/2.
  fit <- calib_isotonic(c(.1, .2, .3), c(0, 1, 0), type = "venn-abers")
  got <- predict(fit, c(.05, .2, .35), type = "interval")[, 2, 2:3]
  # below all: label 0 stays alone at 0; label 1 is pooled with everything, 2/4
  expect_equal(unname(got[1, ]), c(0, 1 / 2))
  # at .2: label 0: (0), (1, 0, 0) = 1/3; label 1: (0), (1, 1, 0) = 2/3
  expect_equal(unname(got[2, ]), c(1 / 3, 2 / 3))
  # above all: label 0: (0), (1, 0, 0) = 1/3; label 1 stays alone at 1
  expect_equal(unname(got[3, ]), c(1 / 3, 1))
})

test_that("the example in the README of the vennabers package (1.0.0, CRAN)", {
  fit <- calib_isotonic(c(0.1, 0.4, 0.35, 0.8), c(FALSE, TRUE, FALSE, TRUE), type = "venn-abers")
  got <- predict(fit, c(0.2, 0.5, 0.9), type = "interval")[, 2, ]
  expect_equal(unname(got[, "lower"]), c(0, 0.5, 0.6666667), tolerance = 1e-7)
  expect_equal(unname(got[, "upper"]), c(0.5, 1, 1))
  expect_equal(unname(got[, "estimate"]), c(0.3333333, 0.6666667, 0.75), tolerance = 1e-7)
  expect_equal(brier_score(unname(got[, "estimate"]), c(FALSE, TRUE, TRUE)), 0.09490741, tolerance = 1e-7)
})

test_that("steps rise, hold the regression between them, and are few", {
  d <- oracle_forecast(4000, 2, power = 0.5, seed = 5)
  p <- d$p[, 2]
  fit <- calib_isotonic(p, d$y == 2, type = "venn-abers")
  at <- seq(0, 1, length.out = 501)
  got <- predict(fit, at, type = "interval")[, 2, ]
  expect_false(is.unsorted(got[, "lower"]) || is.unsorted(got[, "upper"]))
  expect_true(all(got[, "lower"] < got[, "upper"]))
  expect_true(all(got[, "estimate"] > 0 & got[, "estimate"] < 1))
  plain <- predict(calib_isotonic(p, d$y == 2, interpolate = FALSE), p)[, 2]
  own <- predict(fit, p, type = "interval")[, 2, ]
  expect_true(all(own[, "lower"] <= plain + 1e-12 & plain <= own[, "upper"] + 1e-12))
  expect_lt(length(serialize(fit[names(fit) != "points"], NULL)), 20000)
})

test_that("more classes and logits take the road of the other methods", {
  d <- oracle_data(300, 3, seed = 6)
  y <- factor(letters[d$y])
  fit <- calib_isotonic(d$z, y, type = "venn-abers")
  p <- oracle_softmax(d$z)
  same <- calib_isotonic(p, y, type = "venn-abers")
  expect_equal(predict(fit, d$z), predict(same, p), tolerance = 1e-10)
  got <- predict(fit, d$z[1:5, ], type = "interval")
  one <- predict(calib_isotonic(p[, 2], d$y == 2, type = "venn-abers"), p[1:5, 2], type = "interval")
  expect_equal(got[, 2, 2:3], one[, 2, 2:3], ignore_attr = TRUE)
  merged <- got[, , 3] / (1 - got[, , 2] + got[, , 3])
  expect_equal(unname(got[, , 1]), unname(merged / rowSums(merged)))
  expect_equal(unname(rowSums(predict(fit, d$z))), rep(1, 300))
  map <- calib_map(fit, c(0.1, 0.6))
  expect_equal(map$calibrated[3], unname(predict(calib_isotonic(p[, 2], d$y == 2, type = "venn-abers"), 0.1)[, 2]))
  expect_true(all(map$conf.low < map$calibrated & map$calibrated < map$conf.high))
  two <- calib_isotonic(p[, 2], d$y == 2, type = "venn-abers")
  expect_equal(calib_map(two, c(0.1, 0.6))$conf.high, unname(predict(two, c(0.1, 0.6), type = "interval")[, 2, 3]))
  expect_match(plot_map(two)$labels$caption, "Venn-Abers pair")
  expect_output(print(fit), "Venn-Abers calibration")
  expect_identical(dim(predict(fit, d$z[0, ])), c(0L, 3L))
})

test_that("its objects are looked at as others are", {
  d <- oracle_forecast(80, 2, seed = 7)
  fit <- calib_isotonic(d$p[, 2], d$y == 2, type = "venn-abers")
  expect_identical(check_object(unserialize(serialize(fit, NULL))), fit)
  for (field in c("x0", "y0", "start0")) {
    for (value in list(NULL, numeric(), "a", NA_real_, fit[[field]][-1], c(fit[[field]], 2))) {
      bad <- unclass(fit)
      bad[field] <- list(value)
      expect_error(predict(structure(bad, class = class(fit)), 0.2), class = "gpcalib_error_object")
    }
  }
  expect_error(calib_isotonic(d$p[, 2], d$y, type = "zz"), "`type`", class = "gpcalib_error_input")
  expect_error(predict(calib_isotonic(d$p[, 2], d$y == 2), 0.3, type = "interval"), "venn-abers",
    class = "gpcalib_error_input")
  expect_warning(never <- calib_isotonic(d$p, factor(rep(1, 80), levels = 1:2), type = "venn-abers"),
    class = "gpcalib_warning_absent")
  expect_equal(unname(predict(never, c(0.2, 0.9))[, 2]), rep(0.5 / 81, 2) / 1, tolerance = 1e-12)
})
