# What a fit says of its own rows.

biased <- function(n, seed = 1) {
  set.seed(seed)
  z <- rnorm(n)
  list(p = plogis(z + 1), y = rbinom(n, 1, plogis(z)))
}

test_that("a method that cannot shift says so, and what can does not", {
  d <- biased(1000)
  fit <- calib_temperature(d$p, d$y)
  q <- predict(fit, d$p)[, 2]
  expect_equal(fit$off[["class"]], 2)
  expect_equal(unname(fit$off[c("observed", "predicted")]), c(mean(d$y), mean(q)))
  error <- max(sqrt(sum(q * (1 - q))) / 1000, sqrt(mean(d$y) * (1 - mean(d$y)) / 1000))
  expect_equal(fit$off[["errors"]], abs(mean(d$y) - mean(q)) / error)
  expect_output(print(fit), "mean predicted probability .* frequency .* cannot shift a class; calib_gp\\(\\), calib_vector")
  for (method in list(calib_platt, calib_beta, calib_isotonic, calib_histogram, calib_gp)) {
    expect_null(suppressWarnings(method(d$p, d$y), classes = "gpcalib_warning_changed")[["off"]])
  }
  bare <- suppressWarnings(calib_gp(d$p, d$y, class_effects = "none"))
  expect_output(print(bare), "class_effects = \"none\" cannot shift a class; the default does")
  fair <- biased(1000)
  expect_null(calib_temperature(plogis(qlogis(fair$p) - 1), fair$y)$off)
  expect_null(calib_none(d$p, d$y)$off)
})

test_that("the numbers go through a file, and damaged ones are found", {
  d <- biased(1000)
  fit <- calib_temperature(d$p, d$y)
  expect_identical(check_object(unserialize(serialize(fit, NULL))), fit)
  fit$off <- "a"
  expect_error(print(fit), class = "gpcalib_error_object")
})

test_that("weights and many rows", {
  d <- biased(800)
  w <- rep(1:2, 400)
  fit <- calib_temperature(d$p, d$y, weights = w)
  rows <- rep(1:800, w)
  double <- calib_temperature(d$p[rows], d$y[rows])
  expect_equal(fit$off[1:3], double$off[1:3], tolerance = 1e-6)
  big <- biased(50000)
  expect_gt(calib_temperature(big$p, big$y)$off[["errors"]], 4)
})

test_that("a map that changes many classes is named", {
  set.seed(1)
  z <- rnorm(400, 0, 3)
  y <- rbinom(400, 1, plogis(-z))
  seen <- character()
  withCallingHandlers(calib_gp(z, y, input = "logits"), warning = function(w) {
    seen <<- c(seen, class(w)[1])
    invokeRestart("muffleWarning")
  })
  expect_true("gpcalib_warning_changed" %in% seen)
  expect_true("gpcalib_warning_against" %in% seen)
})
