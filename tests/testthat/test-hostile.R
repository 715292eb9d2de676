# Hostile calls (see helper-hostile.R), some hundred of them; bench/stress/hostile.R makes tens of
# thousands. Then what they found, each once.

test_that("hostile calls give a valid answer or an error of ours", {
  skip_on_cran()
  results <- lapply(seq_len(300), hostile_call)
  wrong <- unlist(Filter(is.character, results))
  expect_identical(wrong, NULL, info = paste(wrong, collapse = "\n"))
  answered <- vapply(results, function(x) isTRUE(attr(x, "answered")), NA)
  # neither all refused nor all answered
  expect_gt(sum(answered), 50)
  expect_gt(sum(!answered), 50)
  kinds <- unique(vapply(results, function(x) attr(x, "what") %or% "", ""))
  expect_gt(length(kinds), 30)
})

test_that("the judge of hostile calls is not blind", {
  expect_match(hostile_wrong(list(what = "ece"), NaN, character()), "silently")
  expect_null(hostile_wrong(list(what = "overconfidence"), NaN, "gpcalib_warning_undefined"))
  expect_match(hostile_wrong_rows(matrix(c(0.5, 0.6), 1)), "sum to 1")
  expect_match(hostile_wrong_rows(matrix(c(NaN, 1), 1)), "not finite")
  fit <- calib_temperature(c(0.2, 0.9, 0.6, 0.3), c(0, 1, 0, 1))
  fit$temperature <- NaN
  expect_match(hostile_wrong_fit(fit), "cannot be printed")
})

# Found by them ---------------------------------------------------------------------------

data3 <- oracle_data(60, 3, seed = 3)
y3 <- factor(letters[data3$y])

test_that("log-odds that cannot be squared do not undo calib_platt()", {
  for (far in c(1e145, 1e300, 1.7e308)) {
    z <- data3$z
    z[1, 1] <- far
    fit <- suppressWarnings(calib_platt(z, y3))
    expect_true(all(is.finite(fit$coefficients)))
    expect_true(all(is.finite(predict(fit, z))))
  }
  expect_true(all(is.finite(calib_platt(data3$z * 1e100, y3)$coefficients)))
})

test_that("probabilities that differ by denormal numbers leave calib_platt() a finite slope", {
  p <- c(0, 0, 1.4e-308, 0, 5e-324, 1.4e-304)
  fit <- suppressWarnings(calib_platt(p, c(1, 0, 0, 1, 1, 0), input = "probs"))
  expect_true(all(is.finite(fit$coefficients)))
  expect_true(all(is.finite(predict(fit, c(p, 0.5, 1)))))
})

test_that("a class whose weight is lost in rounding has the constant rate", {
  p <- oracle_softmax(data3$z)
  w <- ifelse(data3$y == 1, 1e280, 1e-280)
  for (f in list(calib_beta, calib_platt, calib_isotonic, calib_histogram)) {
    expect_warning(fit <- f(p, y3, weights = w), class = "gpcalib_warning_absent")
    expect_setequal(fit$fixed, c("a", "b", "c"))
    expect_true(all(is.finite(predict(fit, p))))
  }
})

test_that("temperature scaling survives scores at the limits of doubles", {
  z <- data3$z
  expect_error(calib_temperature(z / max(abs(z)) * 1.7e308, y3), "too large", class = "gpcalib_error_input")
  fit <- calib_temperature(z * 1e150, y3)
  expect_equal(predict(fit, z * 1e150), predict(calib_temperature(z, y3), z), tolerance = 1e-8)
  # no curvature left to make a standard error of
  expect_identical(temperature_error(list(curvature = 0, beta = 1)), NA_real_)
  expect_identical(temperature_error(list(curvature = Inf, beta = 1e-200)), NA_real_)
  tiny <- cbind(rep(c(0, 5e-324), 8), 0)
  fit <- suppressWarnings(calib_temperature(tiny, rep(2, 16)))
  expect_true(is.finite(fit$temperature) && fit$temperature > 0)
})

test_that("no scores at all are no reason to warn", {
  fit <- calib_temperature(data3$z[, 1], data3$y == 1, input = "logits")
  expect_silent(p <- predict(fit, numeric()))
  expect_identical(dim(p), c(0L, 2L))
  expect_silent(augment(fit, numeric()))
})

test_that("labels that are none, or no vector, are errors of ours without warnings", {
  expect_no_warning <- function(code) expect_identical(capture_warnings(try(code, silent = TRUE)), character())
  expect_no_warning(calib_histogram(matrix(0, 0, 3), integer()))
  expect_error(calib_histogram(matrix(0, 0, 3), integer()), "has 0 rows", class = "gpcalib_error_input")
  expect_error(calib_beta(data3$z, quote(f(x))), "labels", class = "gpcalib_error_input")
})

test_that("classes are never missing, and what is held fixed can be computed with", {
  p <- `colnames<-`(oracle_softmax(data3$z), c("a", NA, "c"))
  expect_error(calib_beta(p, rep("a", 60)), "for some columns", class = "gpcalib_error_input")
  expect_error(calib_beta(p, y3), "column names", class = "gpcalib_error_input")
  expect_error(calib_gp(data3$z, y3, inducing = c(-1e300, 1e300)), "inducing", class = "gpcalib_error_input")
  for (name in c("variance", "noise", "slope")) {
    expect_error(calib_gp(data3$z, y3, hyper = stats::setNames(1e300, name)), "hyper", class = "gpcalib_error_input")
  }
})

test_that("augment() takes matrices of any class, and plot_interval() asks for newdata", {
  fit <- calib_platt(data3$z, y3)
  votes <- structure(data3$z, class = c("matrix", "votes"))
  expect_identical(augment(fit, votes)$.pred_a, unname(predict(fit, data3$z)[, 1]))
  expect_error(plot_interval(calib_gp(data3$z, y3)), "newdata", class = "gpcalib_error_input")
})

test_that("latent() of scores whose square is beyond the range of numbers has a finite standard deviation", {
  fit <- calib_gp(data3$z, y3, input = "logits")
  near <- latent(fit, c(-1e100, 1e100))
  far <- latent(fit, c(-1e200, 1e200)) # its square is 1e400
  expect_equal(far$sd, near$sd * 1e100, tolerance = 1e-8)
  expect_gt(min(near$sd), 1e90) # the slope is uncertain
  steep <- calib_gp(data3$z / 10, y3, input = "logits")
  expect_gt(latent(steep, 1)$mean - latent(steep, 0)$mean, 2)
  expect_error(latent(steep, c(0, -1.7e308)), "`z` is too large", class = "gpcalib_error_input")
})
