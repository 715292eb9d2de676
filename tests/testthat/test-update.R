# New rows for a fitted calibrator.

parts_of <- function(k, n = 400, seed = 1, temperature = 1.6) {
  d <- oracle_stream(n, k, seed, temperature)
  d$y <- factor(letters[d$y], levels = letters[seq_len(k)])
  list(all = d, one = list(p = d$p[1:150, ], y = d$y[1:150]), two = list(p = d$p[-(1:150), ], y = d$y[-(1:150)]))
}

test_that("histograms and no calibration are exact, with weights and with forgetting", {
  for (k in c(2, 4)) {
    d <- parts_of(k)
    w <- with_seed(3, sample(1:3, 400, TRUE))
    for (binning in c("width")) {
      whole <- calib_histogram(d$all$p, d$all$y, weights = w, binning = binning, bins = 7)
      fit <- calib_histogram(d$one$p, d$one$y, weights = w[1:150], binning = binning, bins = 7)
      other <- calib_histogram(d$two$p, d$two$y, weights = w[-(1:150)], binning = binning, bins = 7)
      for (got in list(update(fit, d$two$p, d$two$y, w[-(1:150)]), merge(fit, other))) {
        for (part in c("x", "y", "start", "fixed", "n", "prior", "mass", "hits", "seen_weight")) {
          expect_equal(got[[part]], whole[[part]])
        }
        expect_identical(predict(got, d$all$p[1:5, ]), predict(whole, d$all$p[1:5, ]))
      }
    }
    # forgetting half is the old rows at half their weight
    half <- calib_histogram(d$all$p, d$all$y, weights = c(rep(0.5, 150), rep(1, 250)), bins = 7)
    fit <- calib_histogram(d$one$p, d$one$y, bins = 7)
    expect_equal(update(fit, d$two$p, d$two$y, forget = 0.5)$y, half$y)
    none <- update(calib_none(d$one$p, d$one$y), d$two$p, d$two$y)
    expect_equal(none$prior, calib_none(d$all$p, d$all$y)$prior)
    expect_equal(none$n, 400L)
  }
  # a class that first occurs in the new rows
  p <- oracle_stream(60, 3, 5)$p
  y <- factor(c(rep(c("a", "b"), 20), rep(c("a", "b", "c", "c"), 5)), levels = c("a", "b", "c"))
  fit <- suppressWarnings(calib_histogram(p[1:40, ], y[1:40], bins = 4))
  expect_identical(fit$fixed, "c")
  new <- update(fit, p[41:60, ], y[41:60])
  whole <- calib_histogram(p, y, bins = 4)
  for (part in c("x", "y", "start", "fixed")) expect_equal(new[[part]], whole[[part]])
})

test_that("one more row by hand", {
  fit <- calib_histogram(c(0.1, 0.4, 0.7, 0.8), c(0, 1, 0, 1), bins = 2)
  expect_equal(fit$y, c(1 / 2, 1 / 2))
  expect_equal(update(fit, 0.6, 1)$y, c(1 / 2, 2 / 3))
})

test_that("temperature, Platt and beta: the maximum of the written-out approximation", {
  d <- parts_of(3, seed = 2)
  fit <- calib_temperature(d$one$p, d$one$y)
  new <- update(fit, d$two$p, d$two$y, forget = 0.25)
  z <- log(d$two$p)
  at <- cbind(seq_len(250), as.integer(d$two$y))
  goal <- function(beta) {
    sum(beta * z[at] - log(rowSums(exp(beta * z)))) - 0.75 / 2 * (beta - 1 / fit$temperature)^2 * fit$temperature^4 / fit$std_error^2
  }
  best <- stats::optimize(goal, c(0.1, 3), maximum = TRUE, tol = 1e-9)$maximum
  expect_equal(1 / new$temperature, best, tolerance = 1e-6)
  d <- parts_of(2, seed = 3)
  for (targets in c("raw", "smoothed")) {
    fit <- calib_platt(d$one$p, d$one$y, targets = targets)
    new <- update(fit, d$two$p, d$two$y)
    x <- cbind(log(d$two$p[, 2] / d$two$p[, 1]), 1)
    hit <- d$two$y == "b"
    count <- table(d$all$y)
    t <- if (targets == "raw") hit else ifelse(hit, (count[["b"]] + 1) / (count[["b"]] + 2), 1 / (count[["a"]] + 2))
    prior <- solve(matrix(fit$covariance, 2))
    gradient <- as.vector(t(x) %*% (t - stats::plogis(x %*% new$coefficients)) - prior %*% (new$coefficients - fit$coefficients))
    expect_equal(gradient, c(0, 0), tolerance = 1e-5)
    p <- as.vector(stats::plogis(x %*% new$coefficients))
    expect_equal(matrix(new$covariance, 2), solve(prior + t(x) %*% (x * p * (1 - p))), tolerance = 1e-6)
  }
  for (params in c("abm", "am", "ab")) {
    fit <- calib_beta(d$one$p, d$one$y, params = params)
    new <- update(fit, d$two$p, d$two$y)
    whole <- calib_beta(d$all$p, d$all$y, params = params)
    expect_lt(max(abs(predict(new, d$all$p) - predict(whole, d$all$p))), 0.02)
    expect_gt(max(abs(predict(fit, d$all$p) - predict(whole, d$all$p))), max(abs(predict(new, d$all$p) - predict(whole, d$all$p))))
    expect_true(all(new$std_error < fit$std_error))
    expect_equal(new$std_error, whole$std_error, tolerance = 0.1)
  }
})

test_that("several classes: near the fit of all rows, and nearer than the old one", {
  d <- parts_of(4, 1200, 4)
  for (make in list(calib_temperature, calib_platt, calib_beta)) {
    whole <- predict(make(d$all$p, d$all$y), d$all$p)
    fit <- make(d$one$p, d$one$y)
    new <- predict(update(fit, d$two$p, d$two$y), d$all$p)
    expect_lt(max(abs(new - whole)), 0.03)
    expect_lt(mean(abs(new - whole)), 0.3 * mean(abs(predict(fit, d$all$p) - whole)))
  }
})

test_that("with forget = 1 only the new rows count", {
  d <- parts_of(3, seed = 5)
  for (make in list(calib_temperature, calib_platt, calib_beta, calib_histogram,
    function(p, y) calib_gp(p, y, class_effects = "none"))) {
    fit <- make(d$one$p, d$one$y)
    new <- update(fit, d$two$p, d$two$y, forget = 1)
    expect_equal(predict(new, d$all$p), predict(make(d$two$p, d$two$y), d$all$p), tolerance = 1e-6)
    expect_equal(new$prior, make(d$two$p, d$two$y)$prior)
  }
})

test_that("methods that cannot say so, and what they cannot merge", {
  d <- parts_of(2)
  old <- calib_isotonic(d$one$p, d$one$y)
  old$points <- NULL # of an older version
  expect_error(update(old, d$two$p, d$two$y), "contains no scores", class = "gpcalib_error_input")
  fit <- calib_temperature(d$one$p, d$one$y)
  expect_error(merge(fit, fit), "cannot be merged", class = "gpcalib_error_input")
  expect_error(merge(calib_none(d$one$p, d$one$y), fit), "method", class = "gpcalib_error_input")
  expect_error(merge(calib_histogram(d$one$p, d$one$y, bins = 3), calib_histogram(d$one$p, d$one$y, bins = 4)), "bins",
    class = "gpcalib_error_input")
  sure <- suppressWarnings(calib_temperature(cbind(c(0.9, 0.1), c(0.1, 0.9)), 1:2))
  expect_error(update(sure, cbind(0.4, 0.6), 2), "standard error", class = "gpcalib_error_input")
})

test_that("bad batches are refused whole by every method, and the object stays as it was", {
  methods <- c("none", "histogram", "temperature", "platt", "beta", "vector", "matrix", "isotonic", "bbq", "gp")
  has <- sub("^update_fit[.]calib_", "", grep("^update_fit[.]calib_", ls(asNamespace("gpcalib"), all.names = TRUE), value = TRUE))
  expect_setequal(has, methods) # one that is added is to be added here
  refused <- function(k) {
    d <- parts_of(k)
    fit <- function(method, ...) suppressWarnings(match.fun(paste0("calib_", method))(d$one$p, d$one$y, ...))
    fits <- c(lapply(methods, fit), list(fit("gp", class_effects = "none"), fit("gp", monotone = TRUE), fit("gp", integrate = FALSE, control = gp_control(buffer = 0)),
      suppressWarnings(update(fit("temperature"), d$two$p, d$two$y, forget = "auto"))))
    p <- d$two$p
    y <- d$two$y
    n <- length(y)
    bad <- list(list(p[, 1, drop = FALSE][, c(1, 1, 1, 1)], y), list(cbind(p, 0), y), list(p, rep("z", n)), list(p, c(as.character(y[-1]), "z")),
      list(replace(p, 7, NaN), y), list(replace(p, 7, NA), y), list(replace(p, 7, Inf), y), list(p * 3, y), list(-p, y),
      list(p, y[-1]), list(p, replace(y, 4, NA)), list(p[0, ], y[0]),
      list(`colnames<-`(p, c(levels(y)[-1], "q")), y), list(p, factor(as.character(y), levels = rev(levels(y)))))
    for (object in fits) {
      before <- serialize(object, NULL) # not a second name for the same memory
      say <- paste(class(object)[1], k)
      for (i in seq_along(bad)) expect_error(update(object, bad[[i]][[1]], bad[[i]][[2]]), class = "gpcalib_error_input", info = paste(say, i))
      for (weights in list(rep(0, n), rep(-1, n), replace(rep(1, n), 3, NA), replace(rep(1, n), 3, Inf), rep(1, n - 1), "1")) {
        expect_error(update(object, p, y, weights), "weights", class = "gpcalib_error_input", info = say)
      }
      for (forget in list(2, -0.1, NA, "no", c(0, 1))) expect_error(update(object, p, y, forget = forget), "forget", class = "gpcalib_error_input", info = say)
      expect_error(update(object, p, y, odd = 3), class = "gpcalib_error_input")
      expect_error(update(object), "scores", class = "gpcalib_error_input")
      expect_identical(serialize(object, NULL), before, info = say)
    }
  }
  refused(3)
  refused(2)
})

test_that("counts of rows may pass the largest integer", {
  expect_identical(add_count(5L, 3L), 8L)
  expect_identical(add_count(.Machine$integer.max, 10L), .Machine$integer.max + 10)
})

test_that("vector and matrix scaling: the maximum of the written-out approximation, close to a fit of all rows", {
  d <- with_seed(50, mixed_data(1500, 3))
  one <- 1:500
  for (make in list(calib_vector, calib_matrix)) {
    fit <- make(d$scores[one, ], d$labels[one])
    full <- fit$method == "matrix"
    new <- update(fit, d$scores[501:1000, ], d$labels[501:1000], forget = 0.25)
    old <- c(fit$offset, fit$weights)
    cov <- from_lower(fit$covariance)
    e <- eigen(cov, symmetric = TRUE)
    keep <- e$values > 1e-8 * e$values[1]
    precision <- e$vectors[, keep] %*% diag(1 / e$values[keep]) %*% t(e$vectors[, keep])
    u <- d$scores[501:1000, ] - rowMeans(d$scores[501:1000, ])
    goal <- function(theta) {
      f <- if (full) u %*% t(matrix(theta[-(1:3)], 3)) else u * rep(theta[4:6], each = 500)
      f <- f + rep(theta[1:3], each = 500)
      sum(f[cbind(1:500, as.integer(d$labels[501:1000]))] - log(rowSums(exp(f)))) -
        0.75 / 2 * drop(t(theta - old) %*% precision %*% (theta - old))
    }
    theta <- unname(c(new$offset, new$weights))
    slope <- vapply(seq_along(theta), function(i) {
      h <- replace(0 * theta, i, 1e-4)
      (goal(theta + h) - goal(theta - h)) / 2e-4
    }, 0)
    expect_lt(max(abs(slope)), 1e-3)
    expect_gt(max(abs(theta - old)), 0.01)
    new <- update(fit, d$scores[501:1500, ], d$labels[501:1500])
    whole <- make(d$scores, d$labels)
    loss <- function(object) log_loss(predict(object, d$scores), d$labels)
    expect_lt(loss(new) - loss(whole), 5e-4)
    expect_gt(loss(fit) - loss(whole), loss(new) - loss(whole))
    expect_lt(max(abs(new$std_error / whole$std_error - 1)), 0.2)
    expect_s3_class(update(new, d$scores[1, , drop = FALSE], d$labels[1]), class(new)[1])
    expect_equal(predict(update(fit, d$scores, d$labels, forget = 1), d$scores), predict(whole, d$scores))
  }
  many <- with_seed(51, mixed_data(400, 12))
  expect_error(update(calib_matrix(many$scores, many$labels), many$scores, many$labels), "parameters", class = "gpcalib_error_input")
})
