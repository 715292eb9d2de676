columns <- c("class", "bin", "lower", "upper", "n", "confidence", "observed", "gap", "conf.low",
  "conf.high")

test_that("the table agrees with scikit-learn's calibration_curve", {
  p <- c(.1, .2, .3, .4, .65, .7, .8, .9, 1)
  y <- c(0, 0, 0, 0, 1, 1, 1, 1, 1)
  table <- reliability_table(p, y, bins = 3, type = "event")
  expect_s3_class(table, c("reliability_table", "data.frame"), exact = TRUE)
  expect_named(table, columns)
  expect_equal(table$observed, c(0, .5, 1))
  expect_equal(table$confidence, c(.2, .525, .85))
  expect_equal(table$gap, c(.2, .025, -.15))
  expect_equal(table$n, c(3, 2, 4))
  expect_equal(as.character(table$class), rep("1", 3))
  expect_equal(attr(table, "ece"), ece(p, y, 3, type = "event"))
})

test_that("its ECE is that of ece(), for every type and binning", {
  set.seed(1)
  set <- random_forecast(90, 4, digits = 2)
  w <- as.double(sample(0:3, 90, TRUE))
  for (type in ece_types) {
    for (binning in ece_binnings) {
      event <- if (type == "event") "3"
      table <- reliability_table(set$probs, set$labels, 12, type, event = event,
        binning = binning, weights = w)
      expect_equal(attr(table, "ece"),
        ece(set$probs, set$labels, 12, binning = binning, type = type, event = event, weights = w))
      per <- summary(table)
      share <- per$n / sum(per$n)
      expect_equal(sum((share * per$ece)[share > 0]), attr(table, "ece"))
      expect_equal(max(per$mce, na.rm = TRUE),
        mce(set$probs, set$labels, 12, binning, type = type, event = event, weights = w))
    }
  }
  attributes <- c("type", "method", "binning", "N", "K", "classes", "overconfidence")
  expect_true(all(attributes %in% names(attributes(table))))
  expect_equal(attr(table, "overconfidence"), overconfidence(set$probs, set$labels, w))
  expect_equal(attr(table, "underconfidence"), underconfidence(set$probs, set$labels, w))
  expect_equal(attr(table, "N"), 90)
  expect_equal(attr(table, "K"), 4)
})

test_that("empty bins are kept, classes are in order", {
  table <- reliability_table(c(.05, .95), c(0, 1), bins = 10, type = "event")
  expect_equal(table$n, c(1, rep(0, 8), 1))
  expect_true(all(is.na(table[2:9, 6:10])))
  expect_equal(table$lower, (0:9) / 10)
  set.seed(2)
  set <- random_forecast(40, 3)
  labels <- factor(c("x", "a", "m")[set$labels], levels = c("x", "a", "m"))
  table <- reliability_table(set$probs, labels, 5, "classwise")
  expect_equal(as.character(table$class), rep(c("x", "a", "m"), each = 5))
  expect_equal(table$bin, rep(1:5, 3))
  table <- reliability_table(set$probs, labels, 5)
  expect_true(all(is.na(table$class)))
  # A class that is never predicted
  table <- reliability_table(rbind(c(.5, .3, .2), c(.6, .1, .3)), c(1, 2), 4, "top_label")
  expect_equal(table$n, c(0, 1, 1, 0, rep(0, 8)))
})

test_that("intervals are Wilson's and Clopper and Pearson's", {
  p <- rep(c(.15, .65), c(10, 7))
  y <- rep(c(1, 0, 1, 0), c(2, 8, 7, 0))
  for (level in c(.5, .95)) {
    table <- reliability_table(p, y, 2, "event", conf_level = level)
    for (i in 1:2) {
      # It warns of a test that is not wanted here.
      want <- suppressWarnings(prop.test(table$n[i] * table$observed[i], table$n[i],
        conf.level = level, correct = FALSE))$conf.int
      expect_equal(c(table$conf.low[i], table$conf.high[i]), as.vector(want))
    }
    table <- reliability_table(p, y, 2, "event", conf_level = level, interval = "clopper-pearson")
    for (i in 1:2) {
      hits <- round(table$n[i] * table$observed[i])
      want <- binom.test(hits, table$n[i], conf.level = level)$conf.int
      expect_equal(c(table$conf.low[i], table$conf.high[i]), as.vector(want))
    }
  }
  none <- reliability_table(p, y, 2, "event", conf_level = NULL)
  expect_true(all(is.na(none$conf.low)) && all(is.na(none$conf.high)))
})

# Isotonic ----------------------------------------------------------------------------------

test_that("the parts of the scores agree with reliabilitydiag", {
  x <- c(.4, .3, .2, .1, .5, .9)
  y <- c(0, 0, 0, 1, 1, 1)
  parts <- summary(reliability_table(x, y, type = "event", method = "isotonic", conf_level = NULL))
  expect_equal(parts$measure, c("brier_score", "log_loss"))
  expect_equal(parts$score, c(.2266667, .6986228), tolerance = 1e-6)
  expect_equal(parts$miscalibration, c(.1016667, .3237327), tolerance = 1e-6)
  expect_equal(parts$discrimination, c(.125, .3182571), tolerance = 1e-6)
  expect_equal(parts$uncertainty, c(.25, .6931472), tolerance = 1e-6)
})

test_that("the curve is the isotonic regression, for ties and weights too", {
  set.seed(3)
  for (run in 1:20) {
    n <- sample(2:60, 1)
    p <- round(runif(n), sample(1:3, 1))
    y <- c(0, 1, rbinom(n - 2, 1, .5))
    w <- if (run %% 2) sample(0:3, n, TRUE) + (seq_len(n) == 1) else rep(1, n)
    table <- reliability_table(p, y, type = "event", method = "isotonic", weights = w,
      conf_level = NULL)
    want <- oracle_isotonic(p, y, w)
    at <- vapply(want$values, function(v) which(v >= table$lower & v <= table$upper), 0L)
    expect_equal(table$observed[at], want$fit)
    expect_true(all(diff(table$observed) > 0))
    expect_equal(sum(table$n), sum(w))
    expect_equal(sum(table$n * table$confidence), sum(w * p))
    if (n > 2) {
      base <- isoreg(sort(unique(p)), tapply(y, p, mean))
      if (!anyDuplicated(p) && all(w == 1)) expect_equal(table$observed[at], base$yf)
    }
  }
})

test_that("whole weights equal replication", {
  set.seed(4)
  p <- round(runif(50), 2)
  y <- rbinom(50, 1, p^2)
  w <- sample(0:3, 50, TRUE)
  rows <- rep(1:50, w)
  for (method in c("bins", "isotonic")) {
    a <- reliability_table(p, y, type = "event", method = method, weights = w, conf_level = NULL)
    b <- reliability_table(p[rows], y[rows], type = "event", method = method, conf_level = NULL)
    expect_equal(as.data.frame(a), as.data.frame(b))
    expect_equal(summary(a), summary(b))
  }
})

test_that("score = MCB - DSC + UNC, per class, with parts that are not negative", {
  set.seed(5)
  set <- random_forecast(200, 4)
  w <- rexp(200)
  parts <- summary(reliability_table(set$probs, set$labels, type = "classwise",
    method = "isotonic", conf_level = NULL, weights = w))
  expect_equal(nrow(parts), 8)
  expect_equal(parts$score, parts$miscalibration - parts$discrimination + parts$uncertainty)
  expect_true(all(parts$miscalibration >= 0 & parts$discrimination >= 0))
  brier <- parts$score[parts$measure == "brier_score"]
  expect_equal(sum(brier), brier_score(set$probs, set$labels, weights = w))
  rates <- vapply(1:4, function(k) sum(w[set$labels == k]) / sum(w), 0)
  expect_equal(parts$uncertainty[parts$measure == "brier_score"], rates * (1 - rates))
  # What is isotonic already has no miscalibration.
  p <- c(0, 0, .5, .5, 1, 1)
  parts <- summary(reliability_table(p, c(0, 0, 0, 1, 1, 1), type = "event", method = "isotonic",
    conf_level = NULL))
  expect_equal(parts$miscalibration, c(0, 0))
  # Probability 0 for what happened
  parts <- summary(reliability_table(c(0, .5, 1), c(1, 0, 1), type = "event", method = "isotonic",
    conf_level = NULL))
  expect_equal(parts$miscalibration[2], Inf)
})

test_that("the band covers under calibration and shows miscalibration", {
  set.seed(6)
  p <- runif(1500)
  good <- reliability_table(p, rbinom(1500, 1, p), type = "event", method = "isotonic",
    replicates = 300)
  inside <- good$observed >= good$conf.low & good$observed <= good$conf.high
  expect_gt(sum(good$n[inside]) / 1500, .8)
  expect_true(all(good$conf.low <= good$conf.high))
  bad <- reliability_table(p, rbinom(1500, 1, .5 + (p - .5) / 3), type = "event",
    method = "isotonic", replicates = 300)
  inside <- bad$observed >= bad$conf.low & bad$observed <= bad$conf.high
  expect_lt(sum(bad$n[inside]) / 1500, .6)
})

test_that("the band agrees with drawing and fitting in R, whatever the chunks", {
  set.seed(7)
  p <- c(.1, .1, .2, .3, .35, .35, .4, .6, .7, .8, .9, .9)
  w <- rep(1:2, 6)
  forecast <- check_forecast(p, rep(0:1, 6), weights = w)
  at <- c(.05, .2, .5, .9)
  got <- .Call(C_band_draw, forecast, 2L, at, NULL, NULL, 0L, c(3, 4), 0L, 2000L)
  want <- replicate(800, {
    fit <- oracle_isotonic(p, rbinom(12, 1, p), w)
    approx(fit$values, fit$fit, at, rule = 2)$y
  })
  for (i in seq_along(at)) {
    expect_lt(abs(mean(got[i, ]) - mean(want[i, ])), 5 * sd(want[i, ]) * sqrt(1 / 2000 + 1 / 800))
    expect_lt(abs(log(sd(got[i, ]) / sd(want[i, ]))), .15)
  }
  draw <- function(first, count) .Call(C_band_draw, forecast, 2L, at, NULL, NULL, 0L, c(3, 4), first, count)
  expect_identical(draw_replicates(draw, 2000L, 333), got)
  run <- function() {
    set.seed(8)
    reliability_table(p, forecast$labels, type = "event", method = "isotonic", replicates = 40)
  }
  expect_identical(run(), run())
})

test_that("one distinct score and two rows give a table", {
  table <- reliability_table(c(.5, .5), c(0, 1), type = "event", method = "isotonic")
  expect_equal(nrow(table), 1)
  expect_equal(table$observed, .5)
  table <- reliability_table(c(0, 1), c(0, 1), type = "event", method = "isotonic")
  expect_equal(table$observed, c(0, 1))
  expect_equal(table$conf.low, c(0, 1))
  expect_equal(reliability_table(c(.5, .5), c(0, 1), bins = 3, binning = "mass")$n, 2)
})

test_that("printing shows the filled bins and says what is left out", {
  table <- reliability_table(c(.05, .95, .96), c(0, 1, 0), bins = 10, type = "event")
  text <- capture.output(out <- withVisible(print(table)))
  expect_match(text[1], "Reliability table: event, equal width; 3 rows, 2 classes; ECE")
  expect_length(text, 5)
  expect_match(text[5], "8 empty bins")
  expect_false(out$visible)
  expect_output(print(table[1:3, ]), "confidence")
  curve <- reliability_table(runif(300), rep_len(0:1, 300), type = "event", method = "isotonic",
    conf_level = NULL)
  expect_match(capture.output(print(curve))[1], "isotonic")
  expect_s3_class(as.data.frame(table), "data.frame", exact = TRUE)
})

test_that("wrong arguments are input errors", {
  p <- c(.2, .9, .8)
  y <- c(0, 1, 0)
  error <- function(...) expect_error(..., class = "gpcalib_error_input")
  error(reliability_table(p, y, method = "isotonic", type = "confidence"), "method")
  error(reliability_table(p, y, method = "isotonic", type = "top_label"), "method")
  error(reliability_table(p, y, method = "loess"), "method")
  error(reliability_table(p, y, conf_level = 0), "conf_level")
  error(reliability_table(p, y, interval = "exact"), "interval")
  error(reliability_table(p, y, bins = -1), "bins")
})
