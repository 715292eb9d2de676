test_that("scores agree with the slow version, with and without weights", {
  set.seed(1)
  for (K in c(2, 3, 11)) {
    n <- 611 # more than a block of rows, and not a multiple of one
    set <- random_forecast(n, K)
    for (weights in list(NULL, rexp(n), sample(0:3, n, TRUE))) {
      want <- oracle_scores(set$probs, set$labels, if (is.null(weights)) rep(1, n) else weights)
      expect_equal(log_loss(set$probs, set$labels, weights = weights), want[["log_loss"]])
      expect_equal(brier_score(set$probs, set$labels, weights = weights), want[["brier_score"]])
      expect_equal(class_accuracy(set$probs, set$labels, weights), want[["class_accuracy"]])
      expect_equal(sharpness(set$probs, set$labels, weights), want[["sharpness"]])
    }
  }
})

test_that("whole weights equal replication", {
  set.seed(2)
  set <- random_forecast(50, 3)
  w <- sample(0:3, 50, TRUE)
  rows <- rep(1:50, w)
  for (measure in list(log_loss, brier_score, class_accuracy, sharpness, overconfidence,
    underconfidence, confidence_gap)) {
    expect_equal(measure(set$probs, set$labels, weights = w),
      measure(set$probs[rows, ], set$labels[rows]))
  }
})

test_that("hand-worked values hold", {
  p <- c(.2, .7)
  expect_equal(log_loss(p, c(0, 1)), -mean(log(c(.8, .7))))
  expect_equal(brier_score(p, c(0, 1)), mean(c(.04, .09)))
  expect_equal(brier_score(p, c(0, 1), type = "multiclass"), 2 * mean(c(.04, .09)))
  expect_equal(brier_score(p, c(0, 1), type = "binary"), mean(c(.04, .09)))
  expect_equal(brier_score(rbind(c(1, 0, 0), c(0, 1, 0)), c(1, 3)), 1)
  # Two classes, confidence .8 and .7: 4 * 4 * 2 * .05^2
  expect_equal(sharpness(p, c(0, 1)), .08)
  expect_identical(sharpness(rep(.9, 7), rep(0:1, c(3, 4))), 0)
  # Reference of reliabilitydiag
  x <- c(.4, .3, .2, .1, .5, .9)
  y <- c(0, 0, 0, 1, 1, 1)
  expect_equal(brier_score(x, y), .2266667, tolerance = 1e-6)
  expect_equal(log_loss(x, y), .6986228, tolerance = 1e-6)
})

test_that("an impossible label makes the log loss infinite and says where", {
  p <- c(0, 1, .5, 0)
  y <- c(1, 1, 0, 1)
  expect_warning(loss <- log_loss(p, y), "rows 1 and 4", class = "gpcalib_warning_infinite")
  expect_identical(loss, Inf)
  expect_silent(loss <- log_loss(p, y, eps = 1e-3))
  expect_equal(loss, -mean(log(c(1e-3, 1, .5, 1e-3))))
  expect_silent(loss <- log_loss(p, y, weights = c(0, 1, 1, 0)))
  expect_equal(loss, -log(.5) / 2)
  expect_warning(log_loss(p, y, weights = c(0, 1, 1, 2)), "row 4",
    class = "gpcalib_warning_infinite")
  expect_equal(log_loss(c(0, 1), c(0, 1)), 0)
})

test_that("wrong arguments are input errors", {
  probs <- rbind(c(.2, .3, .5), c(.1, .8, .1))
  error <- function(...) expect_error(..., class = "gpcalib_error_input")
  error(brier_score(probs, c(1, 2), type = "binary"), "type")
  error(brier_score(probs, c(1, 2), type = "half"), "type")
  error(log_loss(probs, c(1, 2), eps = -1), "eps")
  error(log_loss(probs, c(1, 2), eps = "a"), "eps")
  error(sharpness(probs, c(1, 4)), "labels")
})

test_that("K = 1000 and N = 2 work", {
  set.seed(3)
  wide <- random_forecast(40, 1000)
  want <- oracle_scores(wide$probs, wide$labels)
  expect_equal(brier_score(wide$probs, wide$labels), want[["brier_score"]])
  expect_equal(log_loss(wide$probs, wide$labels), want[["log_loss"]])
  expect_equal(brier_score(c(0, 1), c(0, 1)), 0)
  expect_equal(class_accuracy(c(0, 1), factor(c(1, 1), levels = 0:1)), .5)
})

test_that("Brier score and log loss are those of yardstick", {
  stored <- readRDS(test_path("fixtures", "yardstick.rds"))
  for (set in stored$sets) {
    times <- if (ncol(set$p) == 2) 1 else 2 # its Brier score is half of ours for more than two classes
    want <- set$values
    expect_equal(brier_score(set$p, set$y), times * want[["brier"]], tolerance = 1e-12)
    # its case weights of the Brier score are exp(w), as of yardstick 1.4.0
    expect_equal(brier_score(set$p, set$y, weights = exp(set$w)), times * want[["brier_weighted"]], tolerance = 1e-12)
    expect_equal(log_loss(set$p, set$y), want[["log_loss"]], tolerance = 1e-12)
    expect_equal(log_loss(set$p, set$y, weights = set$w), want[["log_loss_weighted"]], tolerance = 1e-12)
  }
})
