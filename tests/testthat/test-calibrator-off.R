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
  error <- max(sqrt(sum(q * (1 - q))) / 1000, sqrt(mean(d$y) * (1 - mean(d$y)) / 2000))
  expect_equal(fit$off[["errors"]], abs(mean(d$y) - mean(q)) / error)
  expect_output(print(fit), "mean predicted probability .* frequency .* cannot shift a class; calib_gp\\(\\), calib_platt\\(\\) and calib_beta")
  for (method in list(calib_platt, calib_beta, calib_isotonic, calib_histogram, calib_gp)) {
    expect_null(suppressWarnings(method(d$p, d$y), classes = "gpcalib_warning_changed")[["off"]])
  }
  bare <- suppressWarnings(calib_gp(d$p, d$y, class_effects = "none"))
  expect_output(print(bare), "class_effects = \"none\" cannot shift a class; calib_gp\\(\\) with its defaults does")
  fair <- biased(1000)
  expect_null(calib_temperature(plogis(qlogis(fair$p) - 1), fair$y)$off)
  expect_null(calib_none(d$p, d$y)$off)
})

test_that("print() says what becomes of probabilities, and what the rows lose before and after", {
  d <- biased(1000)
  fit <- calib_platt(d$p, d$y)
  expect_equal(fit$row_loss, c(before = log_loss(d$p, d$y), after = log_loss(predict(fit, d$p), d$y)))
  p <- formatC(predict(fit, c(0.1, 0.5, 0.9))[, 2], digits = 3, format = "g", flag = "#")
  expect_output(print(fit), sprintf("class \"1\": a probability of 0.1 becomes %s, 0.5 becomes %s, 0.9 becomes %s", p[1], p[2], p[3]))
  expect_output(print(fit), sprintf("log loss on these rows: %.4f before, %.4f after", fit$row_loss[[1]], fit$row_loss[[2]]))

  # logits, weights, more than two classes
  set.seed(1)
  z <- matrix(rnorm(600), 200)
  y <- apply(z, 1, which.max)
  y[1:40] <- sample(3, 40, replace = TRUE)
  w <- rep(1:2, 100)
  many <- calib_beta(z, y, weights = w)
  expect_equal(many$row_loss, c(before = log_loss(exp(z) / rowSums(exp(z)), y, weights = w), after = log_loss(predict(many, z), y, weights = w)))
  ends <- range(calib_map(many, 0.9)$calibrated)
  expect_output(print(many), sprintf("0.9 becomes %.3f to %.5f, depending on the class", ends[1], ends[2]))
  # what becomes of a probability depends on its row, and nothing is said
  expect_false(any(grepl("becomes", capture.output(print(calib_temperature(z, y))))))

  # a label of probability 0; probabilities of 0 and 1 that come out
  zero <- calib_histogram(c(0, 0, 0.3, 0.6, 0.95, 1), c(0, 1, 0, 1, 1, 1), bins = 3)
  expect_output(print(zero), "infinite before")
  expect_output(print(zero), "exactly 1, so that the log loss of new rows can be infinite")
  # printing draws no random numbers, and an updated fit no longer knows the loss of its rows
  gp <- calib_gp(plogis(qlogis(d$p) - 1), d$y)
  set.seed(2)
  seed <- .Random.seed
  capture.output(print(gp))
  expect_identical(.Random.seed, seed)
  expect_null(update(fit, d$p[1:10], d$y[1:10])$row_loss)
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

test_that("summary() has mean probabilities before and after beside the frequencies", {
  set.seed(6)
  z <- matrix(rnorm(1600), 400, dimnames = list(NULL, c("a", "b", "c", "d")))
  y <- factor(colnames(z)[max.col(z + rep(c(0, 0, 1, -1), each = 400) - log(-log(matrix(runif(1600), 400))))], levels = colnames(z))
  w <- rexp(400)
  for (input in c("logits", "probs")) {
    p <- exp(z) / rowSums(exp(z))
    fit <- calib_temperature(if (input == "logits") z else p, y, weights = w)
    got <- means_table(fit)
    got <- got[order(got$class), ]
    mean_of <- function(x) unname(drop(crossprod(x, w)) / sum(w))
    expect_equal(got$before, mean_of(p), tolerance = 1e-12)
    expect_equal(got$observed, mean_of(outer(y, levels(y), "==") + 0), tolerance = 1e-12)
    expect_equal(got$after, mean_of(predict(fit, if (input == "logits") z else p)), tolerance = 1e-12)
  }
  # farthest off first
  far <- abs(means_table(fit)$before - means_table(fit)$observed)
  expect_gt(far[1], far[4])
  expect_output(print(summary(fit)), "Mean probability on the calibration rows:\n +class +before observed +after")
  expect_null(means_table(update(fit, p, y)))
  old <- fit
  old[["row_means"]] <- NULL
  expect_output(print(summary(old)), "Parameters")
  two <- calib_gp(rain_nyc$prob, rain_nyc$rain)
  expect_equal(means_table(two)$class, "rain")
  expect_equal(means_table(two)$before, mean(rain_nyc$prob), tolerance = 1e-12)
  many <- matrix(rnorm(500 * 30), 500)
  expect_output(print(summary(calib_temperature(many, max.col(many - log(-log(matrix(runif(15000), 500))))))), "rows, of the 6 classes\nthat were farthest off before \\(in standard errors, worst first\\):")
})

test_that("all classes that remain miscalibrated are named, the worst first, and up to ten classes have their means in order", {
  set.seed(3)
  p <- matrix(rgamma(4000 * 8, 1), 4000)
  p <- p / rowSums(p)
  q <- sweep(p, 2, c(1, 2, 0.5, 1.5, 0.7, 1, 1, 0.98), "*")
  fit <- calib_temperature(p, max.col(log(q) - log(-log(matrix(runif(32000), 4000)))))
  after <- predict(fit, p)
  observed <- fit$prior
  apart <- abs(colMeans(after) - observed) / sqrt(pmax(colSums(after * (1 - after)) / 4000^2, observed * (1 - observed) / 8000))
  off <- which(apart > 4)
  expect_gt(length(off), 3)
  expect_equal(unname(fit$off[names(fit$off) == "class"]), order(-apart)[1:3])
  expect_equal(unname(fit$off[names(fit$off) == "errors"]), unname(sort(apart, decreasing = TRUE)[1:3]))
  expect_equal(fit$off[["count"]], length(off))
  said <- grep("remain clearly miscalibrated", capture.output(print(fit)), value = TRUE)
  expect_match(said, paste0(length(off), " of 8 classes remain .*more than 4 standard errors apart; calib_validate\\(\\) also finds smaller errors\\): \"", order(-apart)[1], "\" \\(predicted .* and ", length(off) - 3, " more$"))
  expect_identical(means_table(fit)$class[1:2] == as.character(1:2), c(FALSE, FALSE))
  expect_output(print(summary(fit)), "calibration rows:\n class before observed after\n 1 .*\n 2 .*\n 8 ")
  # what has been damaged
  for (bad in list(fit$off[-1], replace(fit$off, 5, 9), replace(fit$off, "count", 2), fit$off[1:8])) {
    broken <- fit
    broken$off <- bad
    expect_error(print(broken), class = "gpcalib_error_object")
  }
  # a rare class: ten rows where two are expected are far off, two where 0.1 are expected are not
  seen <- function(observed, predicted) list(observed = c(1 - observed, observed, 0), predicted = c(1 - predicted, predicted, 0), variance = c(1, predicted, 1e-6) / 1000)
  expect_equal(classes_off(seen(0.014, 0.002), 1 / 1000)[["class"]], 2)
  expect_null(classes_off(seen(0.002, 0.0001), 1 / 1000))
})

test_that("of many rows a sample is said to be one", {
  d <- biased(6000)
  fit <- calib_platt(d$p, d$y)
  expect_output(print(fit), "log loss on a sample of 5,000 calibration rows: ")
  expect_identical(say_own_rows(fit, TRUE), "the same 5,000 calibration rows")
  expect_output(print(summary(fit)), "Mean probability on a sample of 5,000 calibration rows:")
})

test_that("all methods that can shift a class are named", {
  expect_identical(shifting_methods(3), "calib_gp(), calib_vector() and calib_matrix()")
  expect_identical(shifting_methods(2, "or"), "calib_gp(), calib_platt() or calib_beta()")
})
