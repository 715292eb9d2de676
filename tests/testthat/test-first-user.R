# What a first user stumbled over: prints and messages that were false or led astray.

churn <- local({
  set.seed(7)
  x <- rnorm(1500)
  list(p = plogis(1.2 * x + 1), y = factor(ifelse(runif(1500) < plogis(1.2 * x - 1), "yes", "no")))
})

test_that("a shifted class of two is not called a map that is not increasing, and nobody is told to undo the shift", {
  expect_no_warning(fit <- calib_gp(churn$p, churn$y)) # more rows are right: print() says so
  expect_true(fit$increasing)
  right <- function(p) mean(levels(churn$y)[1 + (p > 0.5)] == churn$y)
  expect_equal(fit$row_accuracy, c(before = right(churn$p), after = right(predict(fit, churn$p, approx = "mean")[, 2])))
  expect_output(print(fit), sprintf("accuracy on the calibration rows: %.1f %% before, %.1f %% after", 100 * fit$row_accuracy[[1]], 100 * fit$row_accuracy[[2]]))
  expect_true(all(diff(suppressWarnings(predict(fit, seq(0.05, 0.95, 0.01)), classes = "gpcalib_warning_extrapolation")[, 2]) > 0))
  said <- paste(capture.output(print(fit)), collapse = " ")
  expect_match(said, "change their most likely class")
  expect_no_match(said, "not increasing|monotone = TRUE|overconfident|underconfident")
  kept <- calib_gp(churn$p, churn$y, monotone = TRUE)
  expect_output(print(kept), "monotone = TRUE cannot shift a class; .*class_effects = \"offset\" can, and so can\\s+calib_gp\\(\\)")
})

test_that("an offset is not called a map that falls where the order is kept", {
  set.seed(4)
  z <- rnorm(900, 0.7)
  y <- rbinom(900, 1, plogis(0.1 * z - 0.3)) # nearly flat: the offset changes classes and helps no row
  seen <- capture_warnings(fit <- calib_gp(plogis(z), y, class_effects = "offset", monotone = TRUE))
  said <- c(seen, capture.output(print(fit)))
  expect_gt(fit$changed, 90)
  expect_no_match(said, "falls where|not increasing", all = TRUE)
})

test_that("few distinct scores are named where a map changes classes in vain", {
  object <- structure(list(changed = 60, n = 100, prior = c(0.5, 0.5), classes = c("a", "b"), class_effects = "none", monotone = FALSE,
    increasing = FALSE, row_accuracy = c(before = 0.6, after = 0.6)), class = "calibrator")
  data <- list(scores = cbind(1 - rep(1:5, 20) / 6, rep(1:5, 20) / 6))
  expect_warning(warn_changed(object, data), "60 of the 100 .*60.0 % before, 60.0 % after.* only 5 distinct scores.*calib_isotonic", class = "gpcalib_warning_changed")
  object$row_accuracy[["after"]] <- 0.7
  expect_no_warning(warn_changed(object, data))
  object$class_effects <- "matrix"
  object$classes <- letters[1:3]
  object$effects <- list()
  expect_no_warning(warn_changed(object, data))
  object$row_accuracy[["after"]] <- 0.5
  expect_warning(warn_changed(object, data), "60 of the 100 calibration rows .*expected where the scores are far from calibrated", class = "gpcalib_warning_changed")
})

test_that("a map of two classes with effects that falls is said to fall", {
  set.seed(1)
  d <- rnorm(2000, sd = 2)
  y <- factor(ifelse(runif(2000) < plogis(3 * exp(-d^2 / 2)), "b", "a"))
  fit <- suppressWarnings(calib_gp(cbind(a = -d / 2, b = d / 2), y))
  map <- predict(fit, cbind(a = -seq(-4, 4, 0.05) / 2, b = seq(-4, 4, 0.05) / 2), approx = "mean")[, "b"]
  expect_equal(fit$increasing, all(diff(map) > 0))
  expect_false(fit$increasing)
})

test_that("calib_gp() and calib_temperature() judge overconfidence alike, by its standard error", {
  set.seed(2)
  z <- matrix(rnorm(150, sd = 2), 50)
  y <- max.col(z / 1.1 - log(-log(matrix(runif(150), 50))))
  temperature <- calib_temperature(z, y)
  fit <- calib_gp(z, y, class_effects = "none")
  expect_equal(fit$scores_seen$temperature_error, temperature$std_error / temperature$temperature, tolerance = 1e-4)
  clear <- abs(log(temperature$temperature)) > 2 * temperature$std_error / temperature$temperature
  expect_false(clear)
  expect_output(print(fit), "no clear over- or underconfidence")
  expect_output(print(calib_gp(10 * z, y, class_effects = "none")), "the scores were overconfident")
  weighted <- calib_gp(z, y, weights = rep(4, 50), class_effects = "none")
  expect_equal(weighted$scores_seen$temperature_error, fit$scores_seen$temperature_error / 2, tolerance = 1e-3)
})

test_that("a temperature is called overconfidence only if the mean confidence differs from the accuracy", {
  set.seed(3)
  z <- matrix(rnorm(1500, sd = 2), 500)
  y <- max.col(1.1 * z - log(-log(matrix(runif(1500), 500))))
  z[1:12, ] <- rep(c(14, 0, -1), each = 12) # a few rows that are far too sure
  y[1:12] <- rep(1:2, 6)
  conf <- apply(exp(z) / rowSums(exp(z)), 1, max)
  right <- max.col(z) == y
  for (fit in list(calib_temperature(z, y), calib_gp(z, y, class_effects = "none"))) {
    expect_equal(fit$row_confidence, c(mean(conf), sqrt(mean((conf - right - mean(conf - right))^2) / 500)))
    expect_output(print(fit), sprintf("less extreme probabilities fit better, although the mean confidence (%.3f) is within two standard errors of the accuracy (%.3f)", mean(conf), mean(right)), fixed = TRUE)
    fit["row_confidence"] <- list(NULL) # as after update()
    expect_output(print(fit), "less extreme probabilities fit better$|less extreme probabilities fit better\n")
  }
  logits <- calib_temperature(letters_nn$cal$scores, letters_nn$cal$labels)
  p <- exp(letters_nn$cal$scores - apply(letters_nn$cal$scores, 1, max))
  probs <- calib_temperature(p / rowSums(p), letters_nn$cal$labels)
  expect_equal(probs$row_confidence, logits$row_confidence)
  expect_output(print(probs), "the scores were overconfident")
  said <- function(...) confidence_verdict(list(row_confidence = c(0.8, 0.01), row_accuracy = c(0.9, 0.9)), ...)
  expect_identical(said(0.5, TRUE), "the scores were underconfident")
  expect_identical(said(1.02, FALSE), "mean confidence 0.800, accuracy 0.900, but no temperature clearly improves the fit")
})

test_that("labels of one class are called that", {
  one <- factor(rep("yes", 100), levels = c("no", "yes"))
  seen <- NULL
  withCallingHandlers(calib_gp(churn$p[1:100], one), warning = function(w) {
    seen <<- c(seen, class(w)[1])
    invokeRestart("muffleWarning")
  })
  expect_true("gpcalib_warning_absent" %in% seen)
  expect_false("gpcalib_warning_changed" %in% seen)
})

test_that("a falling map of two classes is not called a shift", {
  seen <- NULL
  withCallingHandlers(calib_gp(1 - churn$p, churn$y), warning = function(w) {
    seen <<- c(seen, conditionMessage(w))
    invokeRestart("muffleWarning")
  })
  expect_match(seen, "contradict `labels`", all = FALSE)
  expect_no_match(paste(seen, collapse = " "), "shifts classes")
})

test_that("scores that are never negative are not taken for logits in silence", {
  cal <- letters_nn$cal
  z <- cal$scores[1:300, ]
  y <- cal$labels[1:300]
  p <- exp(z - apply(z, 1, max))
  p <- p / rowSums(p)
  expect_warning(calib_temperature(plogis(z), y), "lie in \\[0, 1\\]", class = "gpcalib_warning_input")
  expect_warning(calib_temperature(p * c(1, 1.1), y), "no negative value", class = "gpcalib_warning_input")
  expect_no_warning(calib_temperature(p * c(1, 1.1), y, input = "logits"), class = "gpcalib_warning_input")
  expect_no_warning(calib_temperature(z, y), class = "gpcalib_warning_input")
  expect_error(predict(calib_temperature(p, y), round(p, 2)), "divide the rows by their sum", class = "gpcalib_error_input")
  expect_error(predict(calib_temperature(p, y), 10 * p), "give scores of the same kind", class = "gpcalib_error_input")
  expect_error(predict(calib_temperature(p, y), p[1, ]), "drop = FALSE", class = "gpcalib_error_input")
  expect_error(ece(apply(p, 1, max), y), "A vector stands for the second of two classes", class = "gpcalib_error_input")
  expect_error(calib_temperature(churn$p, c(-1, 1)[churn$y]), "-1 in rows .*factor\\(labels\\)", class = "gpcalib_error_input")
})

test_that("plot_interval() draws every calibrator that has intervals, and calib_sql() finds a connection in the wrong place", {
  fit <- calib_platt(churn$p, churn$y)
  picture <- plot_interval(fit, churn$p[1:5])
  expect_equal(unname(picture$data$conf.low), unname(predict(fit, churn$p[1:5], type = "interval")[, 2, "lower"]))
  expect_error(plot_interval(calib_isotonic(churn$p, churn$y), churn$p[1:5]), "interval", class = "gpcalib_error_input")
  skip_if_not_installed("dbplyr")
  expect_error(calib_sql(fit, dbplyr::simulate_sqlite()), "columns.* is a connection.*con = con", class = "gpcalib_error_input")
})

test_that("a map that nowhere leaves its straight line is not called curved for its degrees of freedom", {
  set.seed(5)
  d <- rnorm(1000, sd = 3)
  bent <- calib_gp(plogis(d), factor(runif(1000) < plogis(3 * tanh(d))), class_effects = "none")
  expect_output(print(bent), "shared map: curved, with")
  straight <- bent
  straight$q_mean <- 0.005 * bent$q_mean
  expect_gt(gp_edf(straight), 1.5)
  expect_output(print(straight), "shared map: close to a straight line")
})

test_that("measures of two classes name the event they belong to", {
  expect_output(print(calib_metrics(churn$p, churn$y)), "ece and mce are those of the probability of \"yes\"", fixed = TRUE)
  expect_output(print(calib_metrics(churn$p, churn$y, event_level = "first")), "the probability of \"no\"", fixed = TRUE)
  expect_output(print(calib_metrics(calib_sums(churn$p, churn$y))), "the probability of \"yes\"", fixed = TRUE)
})
