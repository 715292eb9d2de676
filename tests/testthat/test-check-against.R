# Scores that run against their labels.

against <- function(...) expect_warning(..., class = "gpcalib_warning_against")

test_that("two classes: the first level taken for the event", {
  set.seed(1)
  p <- runif(300)
  y <- factor(ifelse(runif(300) < p, "ill", "well")) # levels: ill, well; p is that of "ill"
  against(ece(p, y), "\"well\", is 0.3")
  for (measure in list(log_loss, brier_score, class_accuracy, overconfidence, mce, calib_metrics,
    reliability_table)) {
    against(measure(p, y))
  }
  for (method in list(calib_platt, calib_isotonic, calib_histogram, calib_bbq, calib_none)) {
    against(method(p, y))
    against(method(qlogis(p), y))
  }
  turned <- factor(y, levels = c("well", "ill"))
  expect_silent(ece(p, turned))
  expect_silent(calib_platt(p, turned))
  against(log_loss(p, y, weights = rep(2, 300)))
  # What a calibrated forecast does by chance is no reason to warn.
  said <- replicate(50, {
    p <- rbeta(60, 1, 30)
    y <- factor(runif(60) < p, levels = c(FALSE, TRUE))
    tryCatch({ brier_score(p, y); 0 }, gpcalib_warning_against = function(w) 1)
  })
  expect_lte(sum(said), 1)
})

test_that("more classes: columns in another order, labels counted from another number", {
  scores <- unname(letters_nn$cal$scores)
  labels <- letters_nn$cal$labels
  expect_silent(calib_none(scores, labels))
  set.seed(2)
  against(calib_none(scores[, sample(26)], labels), "another order")
  # Two columns exchanged are found by their rows.
  swapped <- scores
  swapped[, 1:2] <- scores[, 2:1]
  against(calib_none(swapped, labels), "with the columns in another order")
  # A rare class that is always taken for a frequent one is no such case, nor are two that look alike.
  rare <- c(rep(1:3, c(500, 500, 40)))
  said <- c(rep(1, 480), rep(2, 20), rep(2, 500), rep(1, 40))
  expect_silent(class_accuracy(unname(diag(3)[said, ]) * .7 + .1, rare))
  set.seed(4)
  alike <- ifelse(rare == 3, 3, sample(1:2, 1040, TRUE))
  expect_silent(class_accuracy(unname(diag(3)[alike, ]) * .7 + .1, rare))
  # Labels 1 to 3 of 0 to 3, taken for those of columns 1 to 3.
  set.seed(3)
  z <- matrix(rnorm(400 * 4), 400)
  z[, 1] <- -2
  truth <- apply(z, 1, function(z) sample(0:3, 1, prob = exp(2 * z)))
  keep <- truth > 0
  p <- exp(z[keep, ]) / rowSums(exp(z[keep, ]))
  against(log_loss(p, truth[keep]), "Counted from 0 instead of 1")
  expect_silent(log_loss(p, factor(truth[keep], levels = 0:3)))
  expect_equal(matched_rows(c(1L, 1L, 1L, 2L, 2L, 3L, 3L), c(2L, 2L, 1L, 1L, 1L, 3L, 3L), 3L)$total, 6)
})
