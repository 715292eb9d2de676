# New rows for isotonic calibration and BBQ, and merging.

points_data <- function(n, k, seed) {
  d <- oracle_stream(n, k, seed, 1.6)
  d$y <- factor(letters[d$y], levels = letters[seq_len(k)])
  d
}
makers <- list(isotonic = calib_isotonic, steps = function(...) calib_isotonic(..., interpolate = FALSE),
  pairs = function(...) calib_isotonic(..., type = "venn-abers"), bbq = calib_bbq)
map_parts <- c("x", "y", "start", "fixed", "x0", "y0", "start0", "log_evidence", "prior")

test_that("until scores are pooled, new rows and merging give the fit of all rows", {
  for (k in c(2, 4)) for (name in names(makers)) {
    make <- makers[[name]]
    d <- points_data(400, k, 90 + k)
    d$p <- round(d$p, 3) # ties
    d$p <- d$p / rowSums(d$p)
    w <- with_seed(91, sample(1:3, 400, TRUE))
    whole <- make(d$p, d$y, weights = w)
    one <- make(d$p[1:150, ], d$y[1:150], weights = w[1:150])
    other <- make(d$p[151:400, ], d$y[151:400], weights = w[151:400])
    step <- update(update(one, d$p[151:300, ], d$y[151:300], w[151:300]), d$p[301:400, ], d$y[301:400], w[301:400])
    for (got in list(step, merge(one, other))) {
      for (part in map_parts) expect_equal(got[[part]], whole[[part]], tolerance = 1e-10)
      expect_equal(predict(got, d$p), predict(whole, d$p), tolerance = 1e-10)
      expect_identical(nobs(got), 400L)
      expect_false(got$points$pooled)
    }
    half <- make(d$p, d$y, weights = rep(c(0.5, 1), c(150, 250)))
    expect_equal(predict(update(make(d$p[1:150, ], d$y[1:150]), d$p[151:400, ], d$y[151:400], forget = 0.5), d$p), predict(half, d$p),
      tolerance = 1e-10)
    alone <- make(d$p[151:400, ], d$y[151:400])
    expect_equal(predict(update(one, d$p[151:400, ], d$y[151:400], forget = 1), d$p), predict(alone, d$p), tolerance = 1e-10)
    file <- tempfile()
    suppressMessages(write_calibrator(one, file))
    expect_equal(predict(update(read_calibrator(file), d$p[151:400, ], d$y[151:400], w[151:400]), d$p), predict(whole, d$p), tolerance = 1e-10)
    unlink(file)
  }
})

test_that("points by hand, and pooled by hand", {
  fit <- calib_isotonic(c(0.2, 0.2, 0.7), c(0, 1, 1))
  expect_equal(fit$points, list(x = c(0.2, 0.7), mass = c(2, 1), hits = c(1, 1), start = c(0L, 2L), pooled = FALSE))
  many <- list(x = (1:6) / 10, mass = c(1, 1, 1, 1, 2, 2), hits = c(0, 1, 0, 1, 1, 2), pooled = FALSE)
  expect_equal(pool_points(many, 2), list(x = c(0.25, 0.55), mass = c(4, 4), hits = c(2, 3), pooled = TRUE))
  expect_identical(pool_points(many, 6), many)
})

test_that("a class that first occurs in the new rows, logits, single rows", {
  p <- oracle_stream(60, 3, 5)$p
  y <- factor(c(rep(c("a", "b"), 20), rep(c("a", "b", "c", "c"), 5)), levels = c("a", "b", "c"))
  fit <- suppressWarnings(calib_isotonic(p[1:40, ], y[1:40]))
  expect_identical(fit$fixed, "c")
  new <- update(fit, p[41:60, ], y[41:60])
  whole <- calib_isotonic(p, y)
  for (part in map_parts) expect_equal(new[[part]], whole[[part]])
  fit <- calib_bbq(log(p[1:59, ]), y[1:59], input = "logits")
  expect_equal(predict(update(fit, log(p[60, , drop = FALSE]), y[60]), log(p)), predict(calib_bbq(log(p), y, input = "logits"), log(p)),
    tolerance = 1e-10)
})

test_that("with many scores they are pooled: the object stays small, and its forecasts as good", {
  d <- points_data(6000, 2, 95)
  test <- points_data(4000, 2, 96)
  for (make in makers) {
    fit <- make(d$p[1:500, ], d$y[1:500])
    for (b in 1:11) fit <- update(fit, d$p[500 * b + 1:500, ], d$y[500 * b + 1:500])
    expect_true(fit$points$pooled)
    expect_lte(length(fit$points$x), 1000)
    expect_equal(sum(fit$points$mass), 6000)
    expect_equal(sum(fit$points$hits), sum(d$y == "b"))
    whole <- make(d$p, d$y)
    expect_lt(mean(abs(predict(fit, test$p) - predict(whole, test$p))), 0.005)
    brier <- function(object) brier_score(predict(object, test$p), test$y)
    expect_lt(brier(fit) - brier(whole), 0.0005)
    expect_error(merge(fit, fit), "cannot be merged", class = "gpcalib_error_input")
  }
})

test_that("large fits keep nothing and say so, damaged points are recognised", {
  p <- with_seed(97, runif(100001))
  fit <- calib_isotonic(p, with_seed(98, runif(100001)) < p)
  expect_null(fit$points)
  expect_error(update(fit, 0.5, TRUE), "100,000", class = "gpcalib_error_input")
  expect_error(merge(fit, fit), "100,000", class = "gpcalib_error_input")
  d <- points_data(60, 3, 99)
  fit <- calib_bbq(d$p, d$y)
  for (part in names(fit$points)) for (value in list(NULL, "x", NA, numeric(), c(2, 1), rev(fit$points[[part]])[-1])) {
    broken <- fit
    broken$points[part] <- list(value)
    expect_error(update(broken, d$p, d$y), class = "gpcalib_error_object")
  }
})

test_that("fits of the process that have all their rows can be merged", {
  d <- with_seed(100, mixed_data(300, 3))
  fit <- function(rows, ..., control = gp_control(buffer = NULL)) {
    suppressWarnings(calib_gp(d$scores[rows, ], d$labels[rows], integrate = FALSE, control = control, ...))
  }
  both <- suppressWarnings(merge(fit(1:100), fit(101:300)))
  expect_equal(predict(both, d$scores), predict(fit(1:300), d$scores), tolerance = 1e-5)
  expect_identical(nobs(both), 300L)
  expect_equal(both$prior, fit(1:300)$prior)
  expect_error(merge(fit(1:100, control = gp_control(buffer = 0)), fit(101:300)), "cannot be merged", class = "gpcalib_error_input")
  expect_error(merge(fit(1:100), fit(101:300, mean = "identity")), "mean", class = "gpcalib_error_input")
})
