# One result for each value of a factor.

test_that("every measure takes by, and gives what the rows of each group give", {
  set.seed(1)
  for (K in 2:3) {
    set <- random_forecast(240, K)
    w <- sample(1:3, 240, TRUE)
    by <- sample(c("b", "a", "c"), 240, TRUE)
    for (name in c("ece", "mce", "log_loss", "brier_score", "class_accuracy", "sharpness",
      "overconfidence", "underconfidence", "confidence_gap")) {
      measure <- get(name)
      got <- measure(set$probs, set$labels, weights = w, by = by)
      want <- vapply(c(a = "a", b = "b", c = "c"), function(g) {
        rows <- by == g
        measure(set$probs[rows, ], factor(set$labels[rows], levels = seq_len(K)), weights = w[rows])
      }, 0)
      expect_equal(got, want)
    }
  }
  expect_named(ece(set$probs, set$labels, by = factor(by, levels = c("z", "c", "b", "a"))), c("c", "b", "a"))
})

test_that("wrong values of by are input errors", {
  p <- c(.2, .7, .9)
  y <- c(0, 1, 1)
  error <- function(...) expect_error(..., "`(by|weights)`", class = "gpcalib_error_input")
  error(ece(p, y, by = 1:2))
  error(ece(p, y, by = c(1, NA, 2)))
  error(ece(p, y, by = list(1, 2, 3)))
  error(ece(p, y, by = NULL, weights = 1:2))
  error(log_loss(p, y, by = c("a", "b", "b"), weights = c(0, 1, 1)))
})

test_that("every measure has by, and its values are those of the rows alone", {
  d <- oracle_forecast(300, 3, seed = 3)
  by <- factor(rep(c("x", "y", "y"), 100), levels = c("empty", "y", "x"))
  y <- factor(d$y, levels = 1:3)
  for (name in c("ece", "mce", "overconfidence", "underconfidence", "confidence_gap", "class_accuracy", "sharpness",
    "log_loss", "brier_score", "rps", "smooth_ece")) {
    measure <- get(name)
    got <- measure(d$p, y, by = by)
    expect_identical(names(got), c("y", "x"), info = name) # in the order of the levels, without empty ones
    expect_equal(got[["x"]], measure(d$p[by == "x", ], y[by == "x"]), info = name)
    expect_equal(got[["y"]], measure(d$p[by == "y", ], y[by == "y"]), info = name)
  }
  two <- factor(ifelse(d$y == 2, "b", "a"))
  p <- d$p[, 2]
  expect_equal(smooth_ece(p, two, event_level = "first"), smooth_ece(1 - p, two == "a"), tolerance = 1e-6)
  expect_error(smooth_ece(d$p, y, event_level = "first"), "`event_level`", class = "gpcalib_error_input")
})

test_that("a table of groups is printed as one", {
  set.seed(1)
  p <- runif(60)
  table <- reliability_table(p, rbinom(60, 1, p), bins = 3, by = rep(c("x", "y"), 30))
  expect_output(print(table), "Reliability table of 2 groups: event, bins; 60 rows, 2 classes")
})
