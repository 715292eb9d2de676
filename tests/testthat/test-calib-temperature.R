# Temperature scaling against a slow search, its invariances, and data without a best T.

temperature <- function(...) calib_temperature(...)$temperature

test_that("T is where a slow search finds it", {
  cases <- list(
    oracle_data(200, 2, temperature = 2, seed = 1),
    oracle_data(200, 5, temperature = 0.4, seed = 2),
    oracle_data(50, 26, temperature = 3, seed = 3),
    oracle_data(5000, 40, temperature = 1.5, seed = 4) # solved on some of the rows first
  )
  for (data in cases) {
    fit <- calib_temperature(data$z, data$y)
    slow <- oracle_temperature(data$z, data$y)
    expect_equal(fit$temperature, slow, tolerance = 1e-9)
    expect_equal(fit$log_lik, -oracle_temperature_loss(1 / slow, data$z, data$y),
      tolerance = 1e-12)
    expect_true(fit$converged)
    expect_lte(fit$iterations, 8)
  }
})

test_that("labels drawn at temperature T give T back", {
  data <- oracle_data(20000, 4, temperature = 2.5, seed = 5)
  fit <- calib_temperature(data$z, data$y)
  expect_lt(abs(fit$temperature - 2.5), 4 * fit$std_error)
  expect_lt(fit$std_error, 0.05)
})

test_that("with weights, T is where a slow search finds it", {
  data <- oracle_data(300, 3, seed = 6)
  w <- with_seed(1, rexp(300)) * (seq_len(300) %% 4 > 0)
  fit <- calib_temperature(data$z, data$y, weights = w)
  expect_equal(fit$temperature, oracle_temperature(data$z, data$y, w), tolerance = 1e-9)
  expect_equal(fit$log_lik, -oracle_temperature_loss(1 / fit$temperature, data$z, data$y, w),
    tolerance = 1e-12)
})

test_that("whole weights are repeated rows", {
  data <- oracle_data(150, 3, seed = 7)
  w <- rep(0:2, 50)
  rows <- rep(seq_along(w), w)
  weighted <- calib_temperature(data$z, data$y, weights = w)
  repeated <- calib_temperature(data$z[rows, ], data$y[rows])
  fields <- c("temperature", "std_error", "log_lik")
  expect_equal(weighted[fields], repeated[fields], tolerance = 1e-8)
  # where T stops for separated rows depends on the sum of the weights
  z <- diag(3)[c(1:3, 1:3), ] * 4
  stopped <- suppressWarnings(calib_temperature(z, c(1:3, 1:3), weights = rep(1:2, 3)))
  again <- rep(1:6, rep(1:2, 3))
  expect_equal(stopped$temperature,
    suppressWarnings(temperature(z[again, ], c(1:3, 1:3)[again])), tolerance = 1e-6)
})

test_that("the standard error is the curvature of the loss", {
  data <- oracle_data(400, 4, seed = 8)
  fit <- calib_temperature(data$z, data$y)
  loss <- function(t) oracle_temperature_loss(1 / t, data$z, data$y)
  t <- fit$temperature
  h <- 1e-3 * t
  curvature <- (loss(t + h) - 2 * loss(t) + loss(t - h)) / h^2
  expect_equal(fit$std_error, 1 / sqrt(curvature), tolerance = 1e-4)
})

# Invariances -----------------------------------------------------------------------------

test_that("a shift of rows changes nothing", {
  data <- oracle_data(200, 4, seed = 9)
  shift <- with_seed(2, rnorm(200, sd = 10))
  expect_equal(temperature(data$z + shift, data$y), temperature(data$z, data$y),
    tolerance = 1e-9)
  p <- oracle_softmax(data$z)
  expect_equal(temperature(p, data$y), temperature(data$z, data$y), tolerance = 1e-9)
  expect_equal(temperature(log(p), data$y), temperature(data$z, data$y), tolerance = 1e-9)
})

test_that("T scales with the scores, and the predictions stay", {
  data <- oracle_data(200, 4, seed = 10)
  fit <- calib_temperature(data$z, data$y)
  for (factor in c(1e-6, 1e-3, 1e3, 1e6)) {
    scaled <- calib_temperature(factor * data$z, data$y)
    expect_equal(scaled$temperature, factor * fit$temperature, tolerance = 1e-9)
    expect_equal(scaled$std_error, factor * fit$std_error, tolerance = 1e-6)
    expect_equal(predict(scaled, factor * data$z), predict(fit, data$z), tolerance = 1e-9)
  }
})

test_that("permuted rows and classes permute the answer", {
  data <- oracle_data(300, 5, seed = 11)
  fit <- calib_temperature(data$z, data$y)
  rows <- with_seed(3, sample(300))
  expect_equal(temperature(data$z[rows, ], data$y[rows]), fit$temperature, tolerance = 1e-9)
  classes <- c(3, 5, 1, 2, 4)
  permuted <- calib_temperature(data$z[, classes], match(data$y, classes))
  expect_equal(permuted$temperature, fit$temperature, tolerance = 1e-9)
  expect_equal(unname(predict(permuted, data$z[, classes])),
    unname(predict(fit, data$z)[, classes]), tolerance = 1e-9)
})

test_that("the most likely class stays", {
  for (t in c(0.3, 4)) {
    data <- oracle_data(500, 6, temperature = t, seed = 12)
    fit <- calib_temperature(data$z, data$y)
    expect_identical(max.col(predict(fit, data$z), "first"), max.col(data$z, "first"))
    p <- oracle_softmax(data$z)
    fit <- calib_temperature(p, data$y)
    expect_identical(max.col(predict(fit, p), "first"), max.col(p, "first"))
  }
})

# Data without a best T -------------------------------------------------------------------

test_that("separated rows stop at a mean confidence of (N + 1)/(N + 2)", {
  for (scale in c(1e-6, 1, 1e4)) {
    data <- oracle_data(40, 3, seed = 13)
    best <- max.col(data$z)
    expect_warning(fit <- calib_temperature(scale * data$z, best),
      class = "gpcalib_warning_separated")
    expect_false(fit$converged)
    expect_gt(fit$temperature, 0)
    expect_identical(fit$std_error, NA_real_)
    p <- predict(fit, scale * data$z)
    expect_equal(mean(apply(p, 1, max)), 41 / 42, tolerance = 1e-6)
  }
})

test_that("scores that point the wrong way give equal probabilities", {
  for (scale in c(1e-6, 1, 1e4)) {
    data <- oracle_data(40, 3, seed = 14)
    worst <- max.col(-data$z)
    expect_warning(expect_warning(fit <- calib_temperature(scale * data$z, worst),
      class = "gpcalib_warning_bound"), class = "gpcalib_warning_against")
    expect_false(fit$converged)
    expect_true(is.finite(fit$temperature) && fit$temperature > 0)
    expect_lt(max(abs(predict(fit, scale * data$z) - 1 / 3)), 1e-5)
    expect_equal(fit$log_lik, -40 * log(3), tolerance = 1e-5)
  }
})

test_that("constant scores leave T at one", {
  flat <- matrix(rep(1:4 / 10, 3), 4)
  expect_warning(fit <- calib_temperature(flat, c(1, 2, 3, 1)), class = "gpcalib_warning_flat")
  expect_identical(fit$temperature, 1)
  expect_equal(unname(predict(fit, flat)), matrix(1 / 3, 4, 3), tolerance = 1e-15)
  even <- matrix(1 / 3, 4, 3)
  expect_warning(calib_temperature(even, c(1, 2, 3, 1)), class = "gpcalib_warning_flat")
  expect_warning(calib_temperature(rep(.5, 4), c(0, 1, 1, 0)), class = "gpcalib_warning_flat")
})

test_that("too few iterations are said to be too few", {
  data <- oracle_data(100, 3, seed = 15)
  expect_warning(fit <- calib_temperature(data$z, data$y, max_iter = 1),
    class = "gpcalib_warning_not_converged")
  expect_false(fit$converged)
  expect_identical(fit$iterations, 1L)
})

test_that("the warnings say what happened", {
  complain <- function(code) {
    tryCatch(suppressWarnings(code, classes = "gpcalib_warning_against"),
      gpcalib_warning = function(w) writeLines(conditionMessage(w)))
  }
  z <- oracle_data(40, 3, seed = 13)$z
  expect_snapshot({
    complain(calib_temperature(z, max.col(z)))
    complain(calib_temperature(z, max.col(-z)))
    complain(calib_temperature(0 * z, max.col(z)))
    complain(calib_temperature(z, rep(1:2, 20), max_iter = 1))
  })
})

# Scores at the edge ----------------------------------------------------------------------

test_that("logits of 1e4 neither overflow nor spoil T", {
  data <- oracle_data(300, 4, seed = 16)
  data$z[1:3, ] <- data$z[1:3, ] + 1e4
  data$z[4:6, ] <- data$z[4:6, ] - 1e4
  fit <- calib_temperature(data$z, data$y)
  expect_equal(fit$temperature, oracle_temperature(data$z, data$y), tolerance = 1e-8)
  far <- rbind(c(1e4, -1e4, 0), c(-1e4, 0, 1e4), c(0, 1e4, -1e4), c(1e4, 0, -1e4))
  fit <- calib_temperature(far, c(1, 3, 2, 2))
  expect_equal(fit$temperature, oracle_temperature(far, c(1, 3, 2, 2), lower = 1, upper = 1e6),
    tolerance = 1e-8)
  p <- predict(calib_none(far, c(1, 3, 2, 2)), far)
  expect_identical(unname(p), (far == 1e4) * 1)
})

test_that("a class that never occurs is predicted all the same", {
  data <- oracle_data(200, 4, seed = 17)
  keep <- data$y != 3
  fit <- calib_temperature(data$z[keep, ], data$y[keep])
  expect_equal(fit$temperature, oracle_temperature(data$z[keep, ], data$y[keep]),
    tolerance = 1e-9)
  expect_gt(max(predict(fit, data$z)[, 3]), 0.1)
})

test_that("K = 1000 with N = 50, and N = 2", {
  data <- oracle_data(50, 1000, seed = 18)
  fit <- calib_temperature(data$z, data$y)
  expect_equal(fit$temperature, oracle_temperature(data$z, data$y), tolerance = 1e-8)
  z <- rbind(c(2, 0, 1), c(1, 3, 0))
  fit <- calib_temperature(z, c(1, 1))
  expect_equal(fit$temperature, oracle_temperature(z, c(1, 1)), tolerance = 1e-8)
  expect_warning(fit <- calib_temperature(z, 1:2), class = "gpcalib_warning_separated")
  expect_equal(mean(apply(predict(fit, z), 1, max)), 3 / 4, tolerance = 1e-6)
})

# Zeros -----------------------------------------------------------------------------------

# Every candidate, floored by hand and fitted by the slow search.
slow_floor <- function(p, y) {
  candidates <- c(min(p[p > 0]) / 2, 10^-(2:8))
  slow <- vapply(candidates, function(floor) {
    z <- log(pmax(p, floor))
    t <- oracle_temperature(z, y)
    c(t, oracle_temperature_loss(1 / t, z, y))
  }, c(0, 0))
  best <- which.min(slow[2, ])
  list(floor = candidates[best], temperature = slow[1, best], loss = slow[2, best])
}

with_zeros <- function(n, k, below, misses, seed, digits = NULL) {
  data <- oracle_data(n, k, seed = seed)
  p <- oracle_softmax(data$z)
  own <- cbind(seq_len(n), data$y)
  p[p < below] <- 0
  if (!is.null(digits)) p <- round(p, digits)
  p[own[seq_len(misses), , drop = FALSE]] <- 0
  dead <- rowSums(p) == 0
  p[dead, 1] <- 1
  list(p = p / rowSums(p), y = data$y)
}

test_that("the floor is the candidate with the lowest log loss", {
  cases <- list(
    with_zeros(300, 4, below = 1e-3, misses = 12, seed = 19),
    with_zeros(300, 4, below = 1e-8, misses = 1, seed = 20),
    with_zeros(400, 3, below = 0, misses = 40, seed = 21, digits = 1),
    with_zeros(300, 6, below = 1e-5, misses = 0, seed = 22)
  )
  floors <- vapply(cases, function(data) {
    fit <- calib_temperature(data$p, data$y)
    slow <- slow_floor(data$p, data$y)
    expect_equal(fit$floor, slow$floor, tolerance = 1e-12)
    expect_equal(fit$temperature, slow$temperature, tolerance = 1e-8)
    expect_equal(fit$log_lik, -slow$loss, tolerance = 1e-10)
    # it is used in prediction, where zeros become positive
    expect_equal(unname(predict(fit, data$p)),
      oracle_softmax(log(pmax(data$p, fit$floor)) / fit$temperature), tolerance = 1e-12)
    fit$floor
  }, 0)
  # the choice depends on the data; half the smallest value is among it
  expect_gt(length(unique(floors)), 1)
  expect_true(any(!floors %in% 10^-(2:8)))
})

test_that("-Inf logits take the floor that zeros take", {
  data <- with_zeros(300, 4, below = 1e-3, misses = 12, seed = 19)
  from_p <- calib_temperature(data$p, data$y)
  from_z <- calib_temperature(log(data$p) + 5, data$y)
  expect_identical(from_z$input, "logits")
  expect_equal(from_z$floor, from_p$floor, tolerance = 1e-12)
  expect_equal(from_z$temperature, from_p$temperature, tolerance = 1e-9)
  expect_equal(predict(from_z, log(data$p) + 5), predict(from_p, data$p), tolerance = 1e-9)
  expect_gt(min(predict(from_z, log(data$p))), 0)
})

test_that("a floor of one's own is used and kept", {
  data <- with_zeros(200, 3, below = 1e-3, misses = 3, seed = 23)
  fit <- calib_temperature(data$p, data$y, floor = 0.02)
  expect_identical(fit$floor, 0.02)
  z <- log(pmax(data$p, 0.02))
  expect_equal(fit$temperature, oracle_temperature(z, data$y), tolerance = 1e-9)
  expect_equal(unname(predict(fit, data$p)), oracle_softmax(z / fit$temperature),
    tolerance = 1e-12)
})

test_that("without zeros nothing is floored, and later zeros stay near zero", {
  data <- oracle_data(200, 3, seed = 24)
  p <- oracle_softmax(data$z)
  fit <- calib_temperature(p, data$y)
  expect_null(fit$floor)
  new <- predict(fit, rbind(c(0, .5, .5), c(1, 0, 0)))
  expect_true(all(is.finite(new)))
  expect_lt(new[1, 1], 1e-20)
  expect_equal(new[[1, 2]], .5)
  logits <- calib_temperature(data$z, data$y)
  expect_null(logits$floor)
  expect_identical(predict(logits, rbind(c(-Inf, 0, 0)))[[1, 1]], 0)
})

test_that("probabilities of 0 and 1 only have a fit", {
  sure <- diag(3)[rep(1:3, 10), ]
  truth <- rep(1:3, 10)
  truth[c(3, 8)] <- c(1, 1)
  fit <- calib_temperature(sure, truth)
  slow <- slow_floor(sure, truth)
  expect_equal(-fit$log_lik, slow$loss, tolerance = 1e-8)
  # whatever the floor, 28 of 30 are right
  expect_equal(mean(apply(predict(fit, sure), 1, max)), 28 / 30, tolerance = 1e-6)
})

test_that("separated rows with ties stop as well", {
  expect_warning(fit <- calib_temperature(c(.5, .1, .9, .5), c(0, 0, 1, 1)),
    class = "gpcalib_warning_separated")
  expect_false(fit$converged)
  p <- predict(fit, c(.5, .1, .9, .5))
  # ties leave two rows at 1/2: 3/4 can be reached, and (N + 1)/(N + 2) of that is aimed at
  expect_equal(mean(apply(p, 1, max)), 0.75 * 5 / 6, tolerance = 1e-5)
})

test_that("no floor hides the most likely class", {
  set.seed(2)
  q <- matrix(rexp(60 * 200)^2, 60)
  q <- q / rowSums(q)
  y <- max.col(q - log(-log(matrix(runif(60 * 200), 60))))
  q[cbind(1:20, y[1:20])] <- 0
  q <- q / rowSums(q)
  fit <- suppressWarnings(calib_temperature(q, factor(y, levels = 1:200)))
  expect_lt(fit$floor, 1 / 200)
  even <- matrix((1:200) / sum(1:200), 1)
  expect_identical(as.character(predict(fit, even, type = "class")), "200")
  expect_error(calib_temperature(q, factor(y, levels = 1:200), floor = 0.01),
    "less than 1/K", class = "gpcalib_error_input")
})

test_that("logLik, vcov and confint are there", {
  fit <- calib_temperature(letters_nn$cal$scores, letters_nn$cal$labels)
  expect_equal(as.numeric(logLik(fit)), fit$log_lik)
  expect_equal(sqrt(vcov(fit)[[1]]), fit$std_error)
  expect_true(all(confint(fit) > 3 & confint(fit) < 4))
})

test_that("data that are not separated have their optimum, whatever the weights' scale", {
  z <- cbind(0, c(rep(1000, 98), 10, 1))
  y <- c(rep(2, 99), 1)
  expect_silent(fit <- calib_temperature(z, y))
  best <- optimize(function(t) oracle_temperature_loss(1 / t, z, y), c(1, 50), tol = 1e-10)$minimum
  expect_equal(fit$temperature, best, tolerance = 1e-5)
  set.seed(5)
  z <- matrix(rnorm(2000), 500)
  y <- max.col(3 * z - log(-log(matrix(runif(2000), 500))))
  one <- calib_temperature(z, y)
  for (w in c(1 / 500, 1e-6, 1e6)) {
    expect_equal(calib_temperature(z, y, weights = rep(w, 500))$temperature, one$temperature,
      tolerance = 1e-8)
  }
})

test_that("masked classes and padding rows do not move T", {
  set.seed(6)
  z <- matrix(rnorm(2000), 500)
  y <- max.col(z / 2 - log(-log(matrix(runif(2000), 500))))
  one <- calib_temperature(z, y)
  for (mask in c(-1e9, -1e12, -1e30, -3.4e38)) {
    some <- z
    rows <- which(y != 4)[1:10]
    some[rows, 4] <- mask
    masked <- z
    masked[rows, 4] <- -Inf
    expect_equal(calib_temperature(some, y)$temperature, one$temperature, tolerance = 0.05)
    all_rows <- cbind(z, mask)
    expect_equal(calib_temperature(all_rows, y)$temperature, one$temperature, tolerance = 1e-6)
  }
  padded <- calib_temperature(rbind(z, -3.4e38), c(y, 1), weights = c(rep(1, 500), 0))
  expect_equal(padded$temperature, one$temperature, tolerance = 1e-8)
  huge <- calib_temperature(z * 1e110, y)
  expect_equal(huge$temperature / 1e110, one$temperature, tolerance = 1e-6)
  expect_true(is.finite(huge$std_error) && is.finite(huge$log_lik))
})

test_that("with zeros the temperature depends on the floor: it is said, and the same floor gives the same temperature", {
  set.seed(1)
  y <- sample(4, 300, TRUE)
  z <- matrix(stats::rnorm(1200), 300)
  z[cbind(1:300, y)] <- z[cbind(1:300, y)] + 2
  p <- round(exp(2 * z) / rowSums(exp(2 * z)), 2)
  p <- p / rowSums(p)
  expect_output(print(calib_temperature(p, y)), "since zeros occur; the temperature depends on that")
  gp <- calib_gp(p, y, floor = 1e-3)
  expect_output(print(calib_gp(p, y)), "since zeros occur; the temperature depends on that")
  expect_match(attr(autoplot(gp)$labels$caption, "words"), "The temperature line was fitted after raising probabilities below 0.001 to 0.001.", fixed = TRUE)
  none <- calib_metrics(p, y, eps = 1e-3)
  t <- calib_temperature(p, y, floor = 1e-3)$temperature
  expect_equal(c(gp$scores_seen$temperature, 1 / none$estimate[none$measure == "calib_slope"]), c(t, t), tolerance = 1e-5)
  positive <- (p + 1e-3) / rowSums(p + 1e-3)
  expect_no_match(utils::capture.output(print(calib_temperature(positive, y))), "depends on that")
})
