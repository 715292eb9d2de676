# What one more reader of the README stumbled over.

votes <- local({
  set.seed(1)
  p <- rbinom(500, 1, 0.4)
  list(p = p, y = factor(ifelse(runif(500) < 0.1 + 0.6 * p, "b", "a")))
})

test_that("scores that are predicted classes are called that, and judged by what they can say", {
  share <- tapply(votes$y == "b", votes$p, mean)
  for (method in list(calib_gp, calib_platt, calib_isotonic, calib_temperature)) {
    said <- paste(capture.output(fit <- print(method(votes$p, votes$y))), collapse = "\n")
    expect_match(said, "the scores are only 0 and 1, that is, predicted classes")
    expect_match(said, "a probability of 0 becomes 0\\.[0-9]+, 1 becomes 0\\.[0-9]+\n")
    expect_no_match(said, "are treated as|confident|0.9 becomes")
    if (fit$method != "temperature") expect_equal(predict(fit, 0:1)[, "b"], share, tolerance = 0.06, ignore_attr = TRUE)
  }
  # Every vote is sure of itself and a third of them is wrong: they are not underconfident.
  three <- diag(3)[rep(1:3, 50), ]
  truth <- ifelse(seq_len(150) %% 7 < 5, max.col(three), max.col(three) %% 3 + 1)
  expect_no_match(capture.output(print(calib_gp(three, truth))), "confident|treated as")
  expect_null(calib_gp(c(0.5, votes$p), c("a", as.character(votes$y)))$votes)
  file <- tempfile(fileext = ".json")
  fit <- calib_gp(votes$p, votes$y)
  suppressMessages(write_calibrator(fit, file))
  expect_true(read_calibrator(file)$votes)
  unlink(file)
  expect_null(update(calib_platt(votes$p, votes$y), c(0.2, 0.7), c("a", "b"))$votes)
})

test_that("print() says why small probabilities are raised, unless the user asked for it", {
  p <- c(0, 0.3, 0.6, 0.2, 0.9, 0.7, 0.4, 0.8)
  y <- rep(0:1, 4)
  expect_output(print(calib_temperature(p, y)), "are treated as [0-9.e-]+, since zeros occur")
  expect_output(print(calib_temperature(p, y, floor = 0.01)), "are treated as 0.01$")
})

test_that("a validation of predicted classes says that it needs probabilities", {
  expect_warning(calib_validate(votes$p, votes$y), "All probabilities are 0 or 1, that is, predicted classes.*give the probabilities",
    class = "gpcalib_warning_limited")
  expect_warning(calib_validate(c(0.4, votes$p), c("a", as.character(votes$y))), "500 probabilities are exactly 0 or 1", class = "gpcalib_warning_limited")
})

test_that("a validation does not speak of 1 event for each one expected where these differ, nor of a remedy that was taken", {
  expect_equal(say_ratio(1.0349), "1.03")
  expect_equal(say_ratio(0.9991), "0.999")
  expect_equal(say_ratio(0.687), "0.69")
  expect_equal(say_ratio(1), "1")
  expect_match(say_recalibrate(FALSE), "Not calibrated on this population yet\\? Use calib_gp\\(\\), calib_platt\\(\\) or calib_beta\\(\\)")
})

test_that("slips of the pen get a hint", {
  p <- votes$p * 0.5 + 0.25
  input <- "gpcalib_error_input"
  expect_error(calib_gp(p, votes$y, montone = TRUE), "Did you mean monotone\\?", class = input)
  expect_error(calib_gp(p, votes$y, wieghts = 1), "Did you mean weights\\?", class = input)
  expect_error(calib_gp(p, votes$y, colour = TRUE), "unknown argument, colour. Check the spelling", class = input)
  expect_error(plot_reliability(p, votes$y, bin = 10), "does not know: bin. Did you mean bins\\?", class = input)
  expect_error(calib_validate(p, votes$y, conf_level = 95), "It is 95. Write 0.95 for 95 %.", class = input)
  for (swapped in list(quote(calib_gp(votes$y, p)), quote(ece(votes$y, p)), quote(calib_validate(votes$y, p)), quote(plot_reliability(votes$y, p)))) {
    expect_error(eval(swapped), "Labels come second, and predicted classes are no", class = input)
  }
  expect_error(calib_gp(votes$p == 1, votes$y), "predicted classes are not scores", class = input)
  expect_warning(calib_platt(votes$p + 1, votes$y), "only 1 and 2, which look like predicted classes", class = "gpcalib_warning_input")
  expect_warning(calib_platt(2 * votes$p - 1, votes$y), "only -1 and 1", class = "gpcalib_warning_input")
  expect_no_warning(calib_platt(4 * votes$p - 1.5, votes$y))
  cal <- letters_nn$cal
  expect_error(calib_temperature(t(cal$scores), cal$labels), "Rows are cases and columns are classes; t\\(scores\\) exchanges them", class = input)
})

test_that("measures from sums say why the slope is missing, those from rows what it is", {
  expect_output(print(calib_metrics(votes$p / 2 + 0.1, votes$y)), "calib_slope is 1/temperature")
  expect_output(print(calib_metrics(calib_sums(votes$p / 2 + 0.1, votes$y))), "calib_slope cannot be computed from sums")
  expect_no_match(capture.output(print(calib_metrics(votes$p / 2 + 0.1, votes$y)[1:3, ])), "calib_slope")
})

test_that("the picture of the shared map of two classes says what is not in it", {
  fit <- suppressWarnings(calib_gp(rain_nyc$prob[1:600], rain_nyc$rain[1:600], class_effects = "offset"))
  said <- autoplot(fit)$labels
  expect_match(said$x, "half the log-odds")
  expect_match(gsub("\n", " ", said$caption), "effects of the classes are not drawn here; plot_map\\(\\) shows them")
})

test_that("a small device is told how large the text should be, others are not", {
  p <- c(0.2, 0.7, 0.4, 0.9)
  y <- c(0, 1, 0, 1)
  draw <- function(width, plot) {
    grDevices::pdf(NULL, width, 2)
    on.exit(grDevices::dev.off())
    print(plot)
  }
  expect_message(draw(3, plot_reliability(p, y)), "3 x 2 inches.*base_size = 7", class = "gpcalib_message_small")
  expect_no_message(draw(3, plot_reliability(p, y, base_size = 7)))
  expect_no_message(draw(6, plot_reliability(p, y)))
})

test_that("metrics have the names of the field in pictures, and those of users stay", {
  expect_equal(say_metric(c("ece", "log_loss", "brier_score", "my_gain")), c("ECE", "Log loss", "Brier score", "my gain"))
  expect_equal(say_metric(c("smooth_ece", "class_accuracy", "brier_score"), begin = FALSE), c("smooth ECE", "class accuracy", "Brier score"))
  set.seed(1)
  study <- calib_study(rain_nyc$prob, rain_nyc$rain, c("none", "platt"), splits = 2, metrics = c("ece", "class_accuracy"))
  expect_match(gsub("\n", " ", autoplot(study)$labels$caption), "larger for class accuracy")
})

test_that("the most common warning of a study ends at a word", {
  expect_equal(first_words("The log loss is infinite. Use `eps` > 0 for a finite value.", 90), "The log loss is infinite.")
  expect_equal(first_words("one two three four", 12), "one two ...")
})

test_that("strokes for lowered cells of a matrix are half a cell wide, however many classes", {
  set.seed(3)
  truth <- sample(3, 600, TRUE)
  z <- matrix(rnorm(1800), 600) + 3 * diag(3)[truth, ]
  z[truth == 1, 2] <- z[truth == 1, 2] + 1
  fit <- calib_gp(z, truth, class_effects = "matrix")
  layers <- ggplot2::ggplot_build(autoplot(fit, what = "matrix"))$data
  strokes <- Filter(function(layer) "xend" %in% names(layer), layers)
  moved <- effect_moves(fit)$estimate
  expect_length(strokes, 1)
  expect_equal(unique(round(as.numeric(strokes[[1]]$xend) - as.numeric(strokes[[1]]$x), 6)), 0.5)
  expect_lte(nrow(strokes[[1]]), sum(moved < 0))
})
