# Numbers from outside ----------------------------------------------------------------------

test_that("ece() agrees with the torchmetrics documentation", {
  p <- c(.25, .25, .55, .75, .75)
  y <- c(0, 0, 1, 1, 1)
  expect_equal(ece(p, y, bins = 2, type = "event"), 0.29, tolerance = 1e-12)
  expect_equal(ece(p, y, bins = 2, type = "event", norm = 2), 0.2918, tolerance = 2e-4)
  expect_equal(ece(p, y, bins = 2, type = "event", norm = Inf), 0.95 / 3, tolerance = 1e-12)
  expect_equal(mce(p, y, bins = 2, type = "event"), 0.3167, tolerance = 2e-4)

  probs <- rbind(c(.25, .20, .55), c(.55, .05, .40), c(.10, .30, .60), c(.90, .05, .05))
  y <- c(0, 1, 2, 0)
  expect_equal(ece(probs, y, bins = 3), 0.2, tolerance = 1e-12)
  expect_equal(ece(probs, y, bins = 3, norm = 2), 0.2082, tolerance = 2e-4)
  expect_equal(mce(probs, y, bins = 3), 0.7 / 3, tolerance = 1e-12)
})

test_that("ece() agrees with the tests of verified_calibration", {
  p <- c(.5, .5, .5, .6, .5, .6, .6, .6, .6)
  y <- c(0, 1, 0, 1, 0, 1, 1, 1, 0)
  for (binning in c("width", "mass")) {
    got <- vapply(1:3, function(norm) {
      ece(p, y, bins = 10, norm = norm, binning = binning, type = "event")
    }, 0)
    expect_equal(got, c(0.222222, 0.223607, 0.224989), tolerance = 5e-6)
  }
})

test_that("hand-worked cases hold", {
  # One bin, 3 of 4 right at 0.9: gap 0.15; debiased: 0.15^2 - (3/4)(1/4)/3 < 0.
  p <- rep(.9, 4)
  y <- c(1, 1, 1, 0)
  expect_equal(ece(p, y), 0.15, tolerance = 1e-12)
  expect_equal(ece(p, y, norm = 2, debias = TRUE), 0)
  # Twenty times as many rows: 0.0225 - 0.1875/79.
  expect_equal(ece(rep(p, 20), rep(y, 20), norm = 2, debias = TRUE), sqrt(.0225 - .1875 / 79),
    tolerance = 1e-12)
  # 10 bins over [1/2, 1]: 0.9 is in [0.9, 0.95), centre 0.925; unweighted: 0.15/10.
  expect_equal(ece(p, y, bins = 10, estimator = "midpoint", type = "confidence"), 0.175,
    tolerance = 1e-12)
  # Of the event the bins are over [0, 1]: 0.9 is in [0.9, 1], centre 0.95.
  expect_equal(ece(p, y, bins = 10, estimator = "midpoint"), 0.2, tolerance = 1e-12)
  expect_equal(ece(p, y, bins = 10, estimator = "unweighted"), 0.015, tolerance = 1e-12)
  expect_equal(mce(p, y, bins = 10, estimator = "unweighted"), 0.015, tolerance = 1e-12)
})

# Oracles -----------------------------------------------------------------------------------

test_that("every combination agrees with the slow version", {
  set.seed(1)
  grid <- expand.grid(
    type = c("confidence", "classwise", "top_label", "event"),
    binning = c("width", "mass"), estimator = c("mean", "midpoint", "unweighted"),
    norm = c(1, 1.7, 2, 40, Inf), weighted = c("none", "whole", "real"), debias = c(FALSE, TRUE),
    stringsAsFactors = FALSE
  )
  grid <- grid[!grid$debias | (grid$norm == 2 & grid$estimator == "mean"), ]
  sets <- list(
    c(random_forecast(40, 2), bins = 7), c(random_forecast(60, 3, digits = 1), bins = 10),
    c(random_forecast(60, 4, digits = 2), bins = 100), c(random_forecast(30, 3), bins = 1)
  )
  for (set in sets) {
    n <- nrow(set$probs)
    all_weights <- list(none = NULL, whole = as.double(sample(0:3, n, TRUE)), real = rexp(n))
    for (i in seq_len(nrow(grid))) {
      g <- grid[i, ]
      weights <- all_weights[[g$weighted]]
      got <- suppressWarnings(ece(set$probs, set$labels, bins = set$bins, norm = g$norm, binning = g$binning,
        estimator = g$estimator, type = g$type, event = if (g$type == "event") 2,
        debias = g$debias, weights = weights), classes = "gpcalib_warning_bins")
      want <- oracle_ece(set$probs, set$labels, set$bins, g$norm, g$binning, g$estimator, g$type,
        2, g$debias, weights)
      # info is slow to build; compare first.
      if (!isTRUE(all.equal(got, want, tolerance = 1e-10))) {
        expect_equal(got, want, tolerance = 1e-10, info = paste(format(g), collapse = " "))
      }
    }
    expect_true(TRUE)
  }
})

test_that("scores on the edges fall into the bin below them", {
  p <- c(.07, .14, .28, .55, .29, .57, .58, .01, 1, 0)
  # ceiling() would put .07, .14, .28, .55 one bin too high.
  table <- reliability_table(p, rep(0:1, 5), bins = 100, type = "event")
  expect_equal(sort(table$bin[table$n > 0]), sort(c(7, 14, 28, 55, 29, 57, 58, 1, 100)))
  expect_equal(table$n[1], 2)
  for (B in c(3, 7, 10, 49, 100, 1000)) {
    p <- (0:B) / B
    y <- rep_len(0:1, B + 1)
    table <- reliability_table(p, y, bins = B, type = "event")
    expect_equal(table$n, c(2, rep(1, B - 1)))
    expect_equal(table$upper, p[-1])
    # Left-closed bins with centres: the last two scores share one.
    want <- sum(abs(c((seq_len(B) - .5) / B, 1 - .5 / B) - y)[seq_len(B - 1)])
    last <- 2 * abs(1 - .5 / B - mean(y[B + 0:1]))
    expect_equal(ece(p, y, bins = B, type = "event", estimator = "midpoint"),
      (want + last) / (B + 1), tolerance = 1e-10)
  }
})

test_that("random numbers near the edges fall where comparisons put them", {
  set.seed(2)
  for (B in c(10, 100, 977)) {
    edge <- sample(0:B, 400, TRUE) / B
    p <- pmin(pmax(edge + sample(-3:3, 400, TRUE) * 2^-54, 0), 1)
    table <- reliability_table(p, rep_len(0:1, 400), bins = B, type = "event", conf_level = NULL)
    expect_equal(table$n, tabulate(oracle_bin(p, (0:B) / B), B))
  }
})

# Theorem 1 -----------------------------------------------------------------------------------

test_that("confidence_gap <= ECE_p <= ECE_q for p < q, whatever the bins", {
  set.seed(3)
  for (run in 1:60) {
    K <- sample(2:6, 1)
    n <- sample(2:150, 1)
    set <- random_forecast(n, K, power = runif(1, 0, 3), digits = if (run %% 2) 1)
    weights <- if (run %% 3 == 0) rexp(n)
    gap <- confidence_gap(set$probs, set$labels, weights)
    for (binning in c("width", "mass")) {
      for (type in c("confidence", "top_label")) {
        bins <- sample(c(1:5, 15, 100, 1000), 1)
        errors <- vapply(c(1, 1.3, 2, 3, 10, 300, Inf), function(norm) {
          ece(set$probs, set$labels, bins, norm, binning, type = type, weights = weights)
        }, 0)
        expect_gte(errors[1], gap - 1e-12)
        expect_true(all(diff(errors) >= -1e-12))
      }
    }
  }
})

test_that("one bin makes the error of confidence the gap", {
  set.seed(4)
  set <- random_forecast(50, 3)
  expect_equal(ece(set$probs, set$labels, bins = 1), confidence_gap(set$probs, set$labels))
})

# Weights, order, shapes ----------------------------------------------------------------------

test_that("whole weights equal replication", {
  set.seed(5)
  set <- random_forecast(80, 3, digits = 2)
  w <- sample(0:4, 80, TRUE)
  rows <- rep(seq_len(80), w)
  for (type in c("confidence", "classwise", "top_label")) {
    for (binning in c("width", "mass")) {
      for (estimator in c("mean", "midpoint", "unweighted")) {
        for (norm in c(1, 2, Inf)) {
          debias <- norm == 2 && estimator == "mean"
          expect_equal(
            ece(set$probs, set$labels, 10, norm, binning, estimator, type, debias = debias,
              weights = w),
            ece(set$probs[rows, ], set$labels[rows], 10, norm, binning, estimator, type,
              debias = debias),
            tolerance = 1e-12
          )
        }
      }
    }
  }
  expect_equal(mce(set$probs, set$labels, weights = w), mce(set$probs[rows, ], set$labels[rows]))
})

test_that("the order of rows and classes does not matter", {
  set.seed(6)
  set <- random_forecast(70, 4)
  rows <- sample(70)
  classes <- sample(4)
  for (type in c("confidence", "classwise", "top_label")) {
    for (binning in c("width", "mass")) {
      want <- ece(set$probs, set$labels, 10, 2, binning, type = type)
      expect_equal(ece(set$probs[rows, ], set$labels[rows], 10, 2, binning, type = type), want)
      expect_equal(
        ece(set$probs[, classes], match(set$labels, classes), 10, 2, binning, type = type), want
      )
    }
  }
})

test_that("the large error of one bin survives a large norm", {
  p <- rep(c(.9, .2), c(999, 1))
  y <- rep(c(1, 0), c(999, 1))
  # (.999 * .1^500 + .001 * .2^500)^(1/500), which underflows as it stands
  expect_equal(ece(p, y, norm = 500, type = "event"), .2 * (.999 * .5^500 + .001)^(1 / 500),
    tolerance = 1e-10)
  expect_gt(ece(p / 1e3, y, norm = 500, type = "event"), 0)
})

test_that("edge cases are numbers", {
  expect_equal(ece(c(0, 1), c(0, 1)), 0)
  expect_equal(ece(c(0, 1), c(1, 0)), 1)
  expect_equal(mce(c(0, 1), c(1, 0), type = "event"), 1)
  expect_equal(ece(c(0, 1), c(1, 0), binning = "mass", type = "event"), 1)
  # One class only among the labels
  set.seed(7)
  set <- random_forecast(20, 3)
  one <- factor(rep("b", 20), levels = c("a", "b", "c"))
  for (type in c("confidence", "classwise", "top_label")) {
    for (binning in c("width", "mass")) {
      expect_equal(ece(set$probs, one, 9, binning = binning, type = type),
        oracle_ece(set$probs, rep(2, 20), 9, binning = binning, type = type))
    }
  }
  # More classes than rows
  wide <- random_forecast(50, 1000)
  for (type in c("confidence", "classwise", "top_label")) {
    got <- ece(wide$probs, wide$labels, binning = "mass", type = type)
    expect_true(got >= 0 && got <= 1)
    expect_equal(ece(wide$probs, wide$labels, 20, type = type),
      oracle_ece(wide$probs, wide$labels, 20, type = type))
  }
})

test_that("equal-mass bins hold equal numbers when there are no ties", {
  set.seed(8)
  p <- runif(120)
  table <- reliability_table(p, rbinom(120, 1, p), bins = 8, type = "event", binning = "mass")
  expect_equal(table$n, rep(15, 8))
  expect_equal(table$upper, unname(quantile(p, (1:8) / 8, type = 1)))
  expect_equal(table$lower[1], min(p))
  # A tie heavier than a bin is one bin, and fewer are left.
  p <- c(rep(.1, 50), rep(.5, 40), .6, .7)
  y <- rep_len(0:1, 92)
  table <- reliability_table(p, y, bins = 10, type = "event", binning = "mass")
  expect_equal(table$upper, c(.1, .5, .7))
  expect_equal(table$n, c(50, 40, 2))
})

# Input ---------------------------------------------------------------------------------------

test_that("wrong arguments are input errors", {
  p <- c(.2, .7, .9)
  y <- c(0, 1, 1)
  three <- rbind(c(.2, .3, .5), c(.1, .8, .1))
  error <- function(...) expect_error(..., class = "gpcalib_error_input")
  error(ece(p, y, bins = 0), "bins")
  error(ece(p, y, bins = 2.5), "bins")
  error(ece(p, y, norm = .5), "norm")
  error(ece(p, y, norm = NA), "norm")
  error(ece(p, y, binning = "equal"), "binning")
  error(ece(p, y, estimator = "median"), "estimator")
  error(ece(p, y, type = "all"), "type")
  error(ece(p, y, debias = TRUE), "debias")
  error(ece(p, y, norm = 2, estimator = "midpoint", debias = TRUE), "debias")
  error(ece(p, y, norm = 2, debias = NA), "debias")
  error(ece(p, y, event = "1", type = "confidence"), "event")
  error(ece(p, y, event_level = "first", type = "classwise"), "event_level")
  error(ece(p, y, event_level = "first", event = "1"), "event_level")
  error(ece(p, y, event_level = "third"), "event_level")
  error(ece(three, c(1, 2), event_level = "first"), "event_level")
  error(ece(three, c(1, 2), type = "event"), "event")
  error(ece(three, c(1, 2), type = "event", event = "4"), "event")
  error(ece(three, c(1, 2), type = "event", event = c("1", "2")), "event")
  error(ece(p, y, weights = c(1, -1, 1)), "weights")
  error(mce(p, y, type = "all"), "type")
  error(ece(p, c(0, 1, NA)), "labels")
})

test_that("two classes are judged by the event, more by the confidence", {
  set.seed(3)
  two <- random_forecast(200, 2)
  three <- random_forecast(200, 3)
  expect_identical(ece(two$probs, two$labels), ece(two$probs, two$labels, type = "event", event = "2"))
  expect_identical(ece(two$probs, two$labels, event = "1"), ece(two$probs, two$labels, event_level = "first"))
  expect_false(ece(two$probs, two$labels) == ece(two$probs, two$labels, type = "confidence"))
  expect_identical(ece(three$probs, three$labels), ece(three$probs, three$labels, type = "confidence"))
  expect_identical(mce(three$probs, three$labels, event = "3"),
    mce(three$probs, three$labels, type = "event", event = "3"))
  expect_identical(ece(three$probs, three$labels), ece(three$probs, three$labels, bins = 15))
  expect_identical(attr(reliability_table(two$probs, two$labels), "type"), "event")
  expect_identical(attr(reliability_table(three$probs, three$labels), "type"), "confidence")
  # Forecast too high everywhere: the confidence is right on average, the event is not.
  p <- rep(c(.3, .7), each = 500)
  y <- rep(rep(1:0, 2), c(100, 400, 300, 200))
  expect_equal(ece(p, y), .1)
  expect_lt(ece(p, y, type = "confidence"), 1e-12)
})

test_that("bins of one row cannot be corrected, and it is said", {
  p <- (1:20) / 21
  y <- rep(0:1, 10)
  expect_warning(value <- ece(p, y, bins = 1000, binning = "mass", norm = 2, debias = TRUE),
    class = "gpcalib_warning_undefined")
  expect_identical(value, NaN)
  expect_warning(ece(p, y, bins = 12, binning = "mass", norm = 2, debias = TRUE), "alone",
    class = "gpcalib_warning_bins")
  expect_silent(ece(p, y, bins = 4, norm = 2, debias = TRUE))
})

test_that("the event is found by name, the second class by default", {
  set.seed(9)
  set <- random_forecast(60, 3)
  labels <- factor(c("lo", "mid", "hi")[set$labels], levels = c("lo", "mid", "hi"))
  for (k in 1:3) {
    expect_equal(ece(set$probs, labels, 10, type = "event", event = levels(labels)[k]),
      oracle_ece(set$probs, set$labels, 10, type = "event", event = k))
  }
  p <- set$probs[, 1]
  y <- set$labels == 1
  expect_equal(ece(p, y, type = "event"), ece(p, y, type = "event", event = TRUE))
  expect_equal(ece(unname(cbind(1 - p, p)), y, type = "event", event = FALSE),
    oracle_ece(cbind(1 - p, p), y + 1, type = "event", event = 1))
})

test_that("equal-mass bins do not depend on the scale of the weights", {
  set.seed(7)
  p <- runif(200)
  y <- factor(runif(200) < p, levels = c(FALSE, TRUE))
  plain <- ece(p, y, bins = 10, binning = "mass")
  for (w in c(1 / 200, 0.1, 3)) {
    expect_equal(ece(p, y, bins = 10, binning = "mass", weights = rep(w, 200)), plain)
  }
})
