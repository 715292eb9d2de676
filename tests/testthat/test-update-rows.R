# New rows for fits of the process whose old rows are still there: then an update is a fit of all of them.

rows_gp <- function(..., control = gp_control(buffer = NULL)) suppressWarnings(calib_gp(..., integrate = FALSE, control = control))
more <- function(...) suppressWarnings(update(...))

test_that("numbers in single precision, by hand", {
  expect_identical(to_single(c(1, -2, 0, -0, -Inf, -1e-60)), c(0x3f800000L, -0x40000000L, 0L, 0L, -0x800000L, 0L))
  x <- c(pi, -1e-30, 1e20, -Inf, 0)
  expect_equal(from_single(to_single(x)), x, tolerance = 1e-7)
  expect_false(anyNA(to_single(x)))
})

test_that("as long as the rows are kept, batch by batch is the fit of all rows", {
  for (k in c(2, 3)) for (input in c("probs", "logits")) {
    d <- with_seed(60 + k, mixed_data(400, k))
    scores <- if (input == "probs") oracle_softmax(d$scores) else d$scores
    fit <- rows_gp(scores[1:50, ], d$labels[1:50], input)
    for (b in 1:7) fit <- more(fit, scores[50 * b + 1:50, ], d$labels[50 * b + 1:50])
    whole <- rows_gp(scores, d$labels, input)
    expect_equal(predict(fit, scores), predict(whole, scores), tolerance = 1e-5)
    expect_equal(fit$elbo, whole$elbo, tolerance = 1e-5)
    expect_identical(fit$class_effects, whole$class_effects)
    expect_equal(fit$scores_seen, whole$scores_seen, tolerance = 1e-5)
    expect_equal(fit$changed, whole$changed)
    expect_equal(fit$prior, whole$prior)
    expect_null(fit$stream$knots)
    expect_length(fit$stream$rows$labels, 400)
  }
})

test_that("weights and forgetting are weights of the kept rows", {
  d <- with_seed(64, mixed_data(300, 3))
  w <- with_seed(65, runif(300, 0.5, 2))
  one <- rows_gp(d$scores[1:100, ], d$labels[1:100], weights = w[1:100])
  two <- more(one, d$scores[101:200, ], d$labels[101:200], w[101:200], forget = 0.5)
  new <- more(two, d$scores[201:300, ], d$labels[201:300], w[201:300], forget = 0.2)
  whole <- rows_gp(d$scores, d$labels, weights = w * rep(c(0.4, 0.8, 1), each = 100))
  expect_equal(predict(new, d$scores), predict(whole, d$scores), tolerance = 1e-4)
  expect_equal(new$prior, whole$prior)
  # the rows of a fit without weights have none, and forgotten rows go
  expect_null(rows_gp(d$scores, d$labels)$stream$rows$weights)
  expect_length(more(two, d$scores[201:300, ], d$labels[201:300], forget = 1)$stream$rows$labels, 100)
})

test_that("the floor for zeros is chosen again, and one that was given stays", {
  d <- with_seed(66, mixed_data(400, 3))
  p <- oracle_softmax(2 * d$scores)
  p[p < 1e-3] <- 0
  p <- p / rowSums(p)
  late <- order(rowSums(p == 0) > 0) # rows without zeros come first
  p <- p[late, ]
  y <- d$labels[late]
  fit <- rows_gp(p[1:100, ], y[1:100])
  expect_null(fit$floor)
  for (b in 1:3) fit <- more(fit, p[100 * b + 1:100, ], y[100 * b + 1:100])
  whole <- rows_gp(p, y)
  expect_equal(fit$floor, whole$floor, tolerance = 1e-6)
  expect_equal(predict(fit, p), predict(whole, p), tolerance = 1e-4)
  given <- rows_gp(p[1:100, ], y[1:100], floor = 1e-5)
  expect_equal(more(given, p[101:400, ], y[101:400])$floor, 1e-5)
})

test_that("rows are kept up to a limit, then all are frozen and new ones kept beside the quadratic", {
  d <- with_seed(67, mixed_data(900, 3))
  few <- gp_control(buffer = 250)
  fit <- rows_gp(d$scores[1:100, ], d$labels[1:100], control = few)
  kept <- 100
  for (b in 1:7) {
    fit <- more(fit, d$scores[100 * b + 1:100, ], d$labels[100 * b + 1:100])
    kept <- if (kept + 100 > 250) 0 else kept + 100
    expect_length(fit$stream$rows$labels, kept)
    expect_identical(is.null(fit$stream$knots), b < 2)
  }
  expect_identical(nobs(fit), 800L)
  expect_equal(fit$stream$rest[2], 600) # frozen
  expect_equal(fit$scores_seen$rows, 800)
  expect_equal(sum(fit$scores_seen$true) / (1 - fit$scores_seen$beyond[["true"]]), 800, tolerance = 1e-6)
  whole <- rows_gp(d$scores[1:800, ], d$labels[1:800])
  expect_lt(abs(fit$changed - whole$changed), 20)
  expect_lt(mean(abs(predict(fit, d$scores) - predict(whole, d$scores))), 0.01)
  # and the same through a file of either kind
  file <- tempfile()
  on.exit(unlink(file))
  expected <- predict(more(fit, d$scores[801:900, ], d$labels[801:900]), d$scores)
  saveRDS(fit, file)
  expect_identical(predict(more(readRDS(file), d$scores[801:900, ], d$labels[801:900]), d$scores), expected)
  write_calibrator(fit, file)
  expect_identical(predict(more(read_calibrator(file), d$scores[801:900, ], d$labels[801:900]), d$scores), expected)
})

test_that("how many rows are kept is known, and can be none", {
  d <- with_seed(68, mixed_data(300, 3))
  expect_null(rows_gp(d$scores, d$labels, control = gp_control(buffer = 0))$stream$rows)
  expect_null(rows_gp(d$scores, d$labels, control = gp_control(buffer = 299))$stream$rows)
  expect_length(rows_gp(d$scores, d$labels, control = gp_control(buffer = 300))$stream$rows$labels, 300)
  blocks <- function(...) stats::setNames(c(...), effect_blocks)
  expect_identical(buffer_rows(NULL, blocks(0, 0, 0), 3), 500L)
  expect_identical(buffer_rows(NULL, blocks(1, 1, 0), 2), 500L)
  expect_identical(buffer_rows(NULL, blocks(1, 1, 1), 3), 1500L)
  expect_identical(buffer_rows(NULL, blocks(1, 1, 1), 10), 2000L)
  expect_identical(buffer_rows(NULL, blocks(1, 0, 0), 1000), 8L) # 32 kB
  expect_equal(buffer_rows(NULL, blocks(1, 1, 0), 26), 5000)
  expect_error(gp_control(buffer = -1), "buffer", class = "gpcalib_error_input")
  # logits that single precision cannot hold are frozen at once
  far <- rows_gp(cbind(c(1e35, 0, 1e35, 0), 0), c(1, 2, 1, 1), center = FALSE, class_effects = "none")
  expect_null(far$stream$rows)
})

test_that("quadratics of older versions, which had no rows beside them, go on", {
  d <- with_seed(69, mixed_data(400, 3))
  fit <- rows_gp(d$scores[1:200, ], d$labels[1:200], control = gp_control(buffer = 0))
  old <- fit
  old$stream$control <- NULL
  old$stream$effects$held <- old$stream$held[effect_blocks]
  old$stream$held <- old$stream$held[1:4]
  expect_identical(predict(more(old, d$scores[201:400, ], d$labels[201:400]), d$scores),
    predict(more(fit, d$scores[201:400, ], d$labels[201:400]), d$scores))
  expect_null(more(old, d$scores[201:400, ], d$labels[201:400])$stream$rows) # nor are there any later
})

test_that("more effects than a quadratic can hold: rows up to their limit, then it says what to do", {
  d <- with_seed(70, mixed_data(300, 21))
  many <- function(n, buffer = NULL) {
    rows_gp(d$scores[seq_len(n), ], d$labels[seq_len(n)], class_effects = "matrix", hyper = c(variance = 0.1, lengthscale = 2, offset = 0.1,
      matrix = 0.01), control = gp_control(buffer = buffer, max_passes = 6))
  }
  fit <- many(100)
  new <- more(fit, d$scores[101:150, ], d$labels[101:150])
  expect_length(new$stream$rows$labels, 150)
  expect_error(update(many(100, 0), d$scores[101:150, ], d$labels[101:150]), "Fit it again", class = "gpcalib_error_input")
  last <- more(many(100, 120), d$scores[101:150, ], d$labels[101:150]) # still the fit of all rows
  expect_equal(predict(last, d$scores), predict(new, d$scores), tolerance = 1e-6)
  expect_error(update(last, d$scores[151:200, ], d$labels[151:200]), "no summary of its rows is kept", class = "gpcalib_error_input")
})

test_that("a fit holds no calibration rows unless it is asked to", {
  d <- with_seed(72, mixed_data(100, 3))
  fit <- suppressWarnings(calib_gp(d$scores, d$labels))
  expect_null(fit$stream$rows)
  expect_null(more(fit, d$scores, d$labels)$stream$rows)
  expect_length(rows_gp(d$scores, d$labels)$stream$rows$labels, 100)
})

test_that("damaged rows are recognised", {
  d <- with_seed(71, mixed_data(60, 3))
  fit <- rows_gp(d$scores, d$labels, weights = rep(2, 60))
  for (part in names(fit$stream$rows)) for (value in list(NULL, "x", NA, integer(), 2:1, rep(0x7f800000L, 60), rep(NA_integer_, 180))) {
    broken <- fit
    broken$stream$rows[part] <- list(value)
    if (part == "weights" && (is.null(value) || identical(value, rep(NA_integer_, 180)))) next
    expect_error(update(broken, d$scores, d$labels), class = "gpcalib_error_object")
  }
  broken <- fit
  broken$stream$rows <- NULL
  expect_error(update(broken, d$scores, d$labels), class = "gpcalib_error_object")
})
