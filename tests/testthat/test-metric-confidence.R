test_that("the paper's example holds: 90 % and 75 % claimed where 75 % is right", {
  y <- rep(1:0, c(75, 25))
  expect_equal(overconfidence(rep(.9, 100), y), .9)
  expect_equal(underconfidence(rep(.9, 100), y), .1)
  expect_equal(confidence_gap(rep(.9, 100), y), .15)
  expect_equal(overconfidence(rep(.75, 100), y), .75)
  expect_equal(underconfidence(rep(.75, 100), y), .25)
  expect_equal(confidence_gap(rep(.75, 100), y), 0)
})

test_that("they agree with the slow version, with and without weights", {
  set.seed(1)
  for (K in c(2, 3, 7)) {
    set <- random_forecast(203, K)
    for (weights in list(rep(1, 203), rexp(203), sample(0:2, 203, TRUE))) {
      want <- oracle_scores(set$probs, set$labels, weights)
      expect_equal(overconfidence(set$probs, set$labels, weights), want[["overconfidence"]])
      expect_equal(underconfidence(set$probs, set$labels, weights), want[["underconfidence"]])
      expect_equal(confidence_gap(set$probs, set$labels, weights), want[["confidence_gap"]])
    }
    expect_equal(overconfidence(set$probs, set$labels),
      oracle_scores(set$probs, set$labels)[["overconfidence"]])
  }
})

test_that("the gap is what over- and underconfidence leave", {
  set.seed(2)
  set <- random_forecast(100, 4)
  right <- class_accuracy(set$probs, set$labels)
  expect_equal(
    confidence_gap(set$probs, set$labels),
    abs(overconfidence(set$probs, set$labels) * (1 - right) -
      underconfidence(set$probs, set$labels) * right)
  )
})

test_that("without wrong (right) predictions they are NaN, with a warning", {
  p <- c(.2, .9, .8)
  expect_warning(o <- overconfidence(p, c(0, 1, 1)), class = "gpcalib_warning_undefined")
  expect_identical(o, NaN)
  expect_warning(u <- underconfidence(p, c(1, 0, 0)), class = "gpcalib_warning_undefined")
  expect_identical(u, NaN)
  expect_silent(gap <- confidence_gap(p, c(1, 0, 0)))
  expect_equal(gap, mean(c(.8, .9, .8)))
  # A wrong row of weight zero is none.
  expect_warning(o <- overconfidence(p, c(0, 1, 0), weights = c(.3, .1, 0)),
    class = "gpcalib_warning_undefined")
  expect_identical(o, NaN)
})

test_that("tied maxima go to the first class", {
  probs <- rbind(c(.4, .4, .2), c(.4, .4, .2))
  expect_equal(class_accuracy(probs, c(1, 2)), .5)
  expect_equal(overconfidence(probs, c(1, 2)), .4)
})

test_that("weights of very different size do not cancel", {
  w <- c(1e10, 1e9, 1e-6, 3)
  expect_equal(overconfidence(c(.9, .8, .7, .9), c(1, 1, 0, 1), weights = w), 0.7)
})
