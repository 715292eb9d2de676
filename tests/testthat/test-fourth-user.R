# What a reader who reads quickly stumbled over: classes without rows, two columns of one name, messages over two lines.

absent_fits <- function() {
  set.seed(3)
  z <- matrix(rnorm(120 * 3), 120, dimnames = list(NULL, c("a", "b", "c")))
  z[, "c"] <- z[, "c"] - 3
  y <- factor(ifelse(z[, "b"] > z[, "a"] + rnorm(120), "b", "a"), levels = c("a", "b", "c"))
  list(z = z, y = y)
}
lines_on <- function(fit, words) grep(words, utils::capture.output(print(fit)), value = TRUE)

test_that("print() names a class without calibration rows, once", {
  d <- absent_fits()
  for (method in list(calib_gp, calib_temperature, calib_vector, calib_matrix)) {
    said <- lines_on(suppressWarnings(method(d$z, d$y)), "no calibration rows of")
    expect_identical(said, "  no calibration rows of class \"c\": its probabilities are based on the rows of the other classes alone")
  }
  for (method in list(calib_platt, calib_isotonic, calib_beta, calib_bbq, calib_histogram)) {
    said <- lines_on(suppressWarnings(method(d$z, d$y)), "no calibration rows of")
    expect_identical(said, "  no calibration rows of class \"c\": it gets a constant probability")
  }
  expect_length(lines_on(calib_none(d$z, d$y), "no calibration rows"), 0)
})

test_that("several such classes are counted, and a class that comes later is no longer named", {
  d <- absent_fits()
  z <- cbind(d$z, d = -3)
  fit <- calib_temperature(z, factor(d$y, levels = c("a", "b", "c", "d")))
  expect_length(lines_on(fit, "of 2 of 4 classes \\(\"c\", \"d\"\\): their probabilities"), 1)
  expect_length(lines_on(update(fit, z[1:4, ], c("c", "d", "a", "b")), "no calibration rows"), 0)
  one <- suppressWarnings(calib_gp(d$z, factor(rep("a", 120), levels = c("a", "b", "c"))))
  expect_length(lines_on(one, "every calibration row is of class \"a\": nothing can be learned about the others"), 1)
})

test_that("columns of summary(study) have names of their own, and an infinite difference no standard error", {
  set.seed(1)
  study <- suppressWarnings(calib_study(rain_nyc$prob, rain_nyc$rain, c("none", "platt"), n_cal = 300, splits = 2, metrics = "log_loss"))
  out <- utils::capture.output(print(summary(study)))
  head <- grep("^ method", out, value = TRUE)
  expect_match(head, "s.e. mean difference s.e. diff.", fixed = TRUE)
  platt <- grep("^ platt", out, value = TRUE)
  expect_match(platt, "-Inf")
  expect_no_match(platt, "NaN")
  expect_match(out[2], "difference: method minus \"none\"; s.e.: standard error including the sampling of test rows", fixed = TRUE)
})

test_that("messages are one line and use no private unit", {
  said <- function(expr) {
    out <- NULL
    withCallingHandlers(expr, warning = function(w) {
      out <<- c(out, conditionMessage(w))
      invokeRestart("muffleWarning")
    })
    out
  }
  apart <- c(seq(-3, -1, length.out = 20), seq(1, 3, length.out = 20))
  y <- rep(0:1, each = 20)
  words <- c(said(calib_platt(apart, y, input = "logits", targets = "raw")), said(calib_temperature(apart, y, input = "logits")),
    said(calib_gp(apart, y, input = "logits")), said(calib_vector(apart, y, input = "logits")),
    said(calib_temperature(-apart, y, input = "logits")), said(calib_gp(-apart, y, input = "logits", monotone = TRUE)))
  expect_gte(length(words), 5)
  expect_no_match(words, "\n")
  expect_no_match(words, "nats")
  expect_match(words[1], "the likelihood has no maximum", fixed = TRUE)
})
