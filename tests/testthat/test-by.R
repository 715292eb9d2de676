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
