# Platt scaling of two classes; what the methods share is in test-one-vs-all.R.

value <- function(fit, at) unname(predict(fit, at)[, 2])

test_that("raw targets are glm(binomial) to 1e-8, with its standard errors and likelihood", {
  for (seed in 1:4) {
    d <- oracle_pair(500, seed)
    for (scale in c("score", "logit")) {
      s <- if (scale == "score") d$p else qlogis(d$p)
      fit <- calib_platt(d$p, d$y, targets = "raw", scale = scale)
      ref <- glm(d$y ~ s, family = binomial, control = list(epsilon = 1e-14))
      expect_equal(unname(coef(fit)), unname(rev(coef(ref))), tolerance = 1e-8)
      expect_equal(tidy(fit)$std.error, unname(rev(sqrt(diag(vcov(ref))))), tolerance = 1e-6)
      expect_equal(glance(fit)$logLik, as.numeric(logLik(ref)), tolerance = 1e-10)
      expect_equal(value(fit, d$p), unname(fitted(ref)), tolerance = 1e-9)
      expect_true(fit$converged)
    }
  }
})

test_that("smoothed targets are those of Lin, Lin and Weng, weights count rows", {
  d <- oracle_pair(80, 5)
  w <- with_seed(6, runif(80, 0, 4))
  score <- calib_platt(d$p, d$y, scale = "score")
  expect_equal(unname(coef(score)), oracle_platt(d$p, d$y), tolerance = 1e-9)
  expect_equal(unname(coef(calib_platt(d$p, d$y))), oracle_platt(qlogis(d$p), d$y), tolerance = 1e-9)
  for (smoothed in c(TRUE, FALSE)) {
    fit <- calib_platt(d$p, d$y, weights = w, targets = if (smoothed) "smoothed" else "raw",
      scale = "score")
    expect_equal(unname(coef(fit)), oracle_platt(d$p, d$y, w, smoothed), tolerance = 1e-8)
  }
})

test_that("libsvm's numbers", {
  fit <- calib_platt(c(5, -4, 1), c(1, 0, 0), input = "logits")
  expect_equal(unname(coef(fit)), c(0.202614, -0.652363), tolerance = 1e-5)
})

test_that("a case by hand", {
  # Two scores, three rows each: the fit goes through the smoothed frequencies. With 3 of each
  # class targets are .8 and .2: at -1 (1 of 3) .4, at 1 (2 of 3) .6.
  fit <- calib_platt(rep(c(-1, 1), each = 3), c(0, 0, 1, 0, 1, 1), input = "logits")
  expect_equal(unname(coef(fit)), c(qlogis(0.6), 0), tolerance = 1e-10)
  expect_equal(value(fit, c(-1, 0, 1)), c(0.4, 0.5, 0.6), tolerance = 1e-10)
})

test_that("it keeps the order of scores", {
  d <- oracle_pair(300, 7)
  for (scale in c("score", "logit")) {
    v <- value(calib_platt(d$p, d$y, scale = scale), sort(d$p))
    expect_true(all(diff(v) > 0))
  }
})

test_that("scores may be of any size and place", {
  d <- oracle_pair(200, 8)
  x <- qlogis(d$p)
  a <- calib_platt(x, d$y, input = "logits", targets = "raw")
  for (by in c(1e-6, 1e4)) {
    b <- calib_platt(by * x + 3 * by, d$y, input = "logits", targets = "raw")
    expect_equal(coef(b)[["slope"]] * by, coef(a)[["slope"]], tolerance = 1e-8)
    expect_equal(value(b, by * x + 3 * by), value(a, x), tolerance = 1e-8)
  }
})

test_that("separated classes stop at a confidence of (N + 1)/(N + 2), smoothed ones need not", {
  s <- c(-3, -2, -1, 1, 2, 5)
  y <- rep(0:1, each = 3)
  expect_warning(fit <- calib_platt(s, y, input = "logits", targets = "raw"),
    class = "gpcalib_warning_separated")
  expect_false(fit$converged)
  expect_true(all(is.na(tidy(fit)$std.error)))
  p <- predict(fit, s)
  expect_equal(mean(pmax(p[, 1], p[, 2])), 7 / 8, tolerance = 1e-7)
  expect_silent(calib_platt(s, y, input = "logits"))
  many <- cbind(diag(3), 0.5)[rep(1:3, 4), ]
  expect_warning(calib_platt(10 * many, factor(rep(1:3, 4), levels = 1:4), "logits", targets = "raw") |>
    withCallingHandlers(gpcalib_warning_absent = function(w) invokeRestart("muffleWarning")),
    "3 of 4 classes", class = "gpcalib_warning_separated")
})

test_that("equal scores give the rate, with a warning", {
  expect_warning(fit <- calib_platt(rep(0.3, 8), rep(c(0, 1, 1, 1), 2), targets = "raw"),
    class = "gpcalib_warning_flat")
  expect_equal(value(fit, c(0, 0.3, 1)), rep(0.75, 3), tolerance = 1e-12)
})

test_that("infinite log-odds count as the most extreme finite ones", {
  p <- c(0, 0.1, 0.3, 0.6, 0.9, 1, 1, 0)
  y <- c(0, 1, 0, 0, 1, 1, 1, 0)
  fit <- calib_platt(p, y, scale = "logit")
  bounded <- calib_platt(pmin(pmax(p, 0.1), 0.9), y, scale = "logit")
  expect_equal(coef(fit), coef(bounded), tolerance = 1e-12)
  expect_equal(value(fit, c(0, 1)), value(fit, c(0.1, 0.9)), tolerance = 1e-12)
  few <- calib_platt(c(0, 0.4, 1), c(0, 1, 1), scale = "logit") # as odds of N + 1 to 1
  far <- calib_platt(c(1 / 5, 0.4, 4 / 5), c(0, 1, 1), scale = "logit")
  expect_equal(coef(few), coef(far), tolerance = 1e-12)
  z <- cbind(0, c(-Inf, Inf, 1, -1, -1, 2, -2, 0.5, 0.3, -0.3, 1.5, -1.5, 0))
  z[2, ] <- c(-Inf, 0)
  fit <- calib_platt(z, c(1, 2, 2, 1, 2, 2, 1, 2, 1, 1, 2, 1, 2))
  expect_equal(value(fit, rbind(c(0, -Inf), c(-Inf, 0))), value(fit, rbind(c(0, -2), c(0, 2))),
    tolerance = 1e-12)
})

test_that("zeros and ones do not break the order of scores", {
  set.seed(8)
  p <- runif(100, 0.1, 0.9)
  y <- runif(100) < p
  at <- c(0, 1e-300, 1e-12, 0.05, 0.1, 0.9, 0.95, 1 - 1e-12, 1)
  for (with in list(p, c(p, 0, 1, 1), c(p, 0))) {
    fit <- calib_platt(with, rep_len(y, length(with)), scale = "logit")
    expect_gt(fit$coefficients[1], 0)
    v <- value(fit, at)
    expect_false(is.unsorted(v))
    expect_true(all(v > 0 & v < 1))
    expect_false(is.unsorted(calib_map(fit)$calibrated))
  }
  # beyond the calibration scores as glm() has it, where no infinite ones were among them
  fit <- calib_platt(p, y, scale = "logit", targets = "raw")
  expect_equal(value(fit, 0.01), stats::plogis(sum(coef(fit) * c(stats::qlogis(0.01), 1))), tolerance = 1e-12)
})

test_that("a hard classifier is not constant, and rows of weight 0 are absent", {
  expect_silent(fit <- calib_platt(rep(0:1, 50), rep(0:1, 50), scale = "logit"))
  expect_equal(value(fit, 0:1), c(1, 51) / 52, tolerance = 1e-8)
  p <- c(1e-9, 0.2, 0.3, 0.4, 0.6, 0.7, 0, 1)
  y <- c(0, 0, 1, 0, 1, 0, 0, 1)
  expect_equal(coef(calib_platt(p, y, weights = c(0, rep(1, 7)), scale = "logit")),
    coef(calib_platt(p[-1], y[-1], scale = "logit")), tolerance = 1e-12)
})

test_that("a constant map is the rate with its standard error, and has converged", {
  fit <- suppressWarnings(calib_platt(rep(0.3, 50), rep(0:1, c(10, 40)), targets = "raw"))
  ref <- stats::glm(rep(0:1, c(10, 40)) ~ 1, family = stats::binomial())
  expect_equal(unname(coef(fit)[["intercept"]]), unname(coef(ref)), tolerance = 1e-8)
  expect_equal(tidy(fit)$std.error[2], sqrt(stats::vcov(ref)[1]), tolerance = 1e-6)
  expect_true(fit$converged)
})

test_that("logits that the softmax cannot tell apart are named", {
  set.seed(1)
  s <- rnorm(300, 0, 100)
  y <- runif(300) < stats::plogis((s - 80) / 15)
  for (method in list(calib_isotonic, calib_beta, calib_bbq, calib_histogram)) {
    expect_warning(method(s, y, input = "logits"), "is rounded to 1", class = "gpcalib_warning_saturated")
  }
  expect_silent(calib_platt(s, y, input = "logits"))
})

test_that("a negative slope is allowed, and said", {
  d <- oracle_pair(200, 9)
  expect_warning(fit <- calib_platt(1 - d$p, d$y), class = "gpcalib_warning_against")
  expect_lt(coef(fit)[["slope"]], 0)
  expect_output(print(fit), "negative")
})

test_that("the iteration limit is told, bad arguments are named", {
  d <- oracle_pair(100, 10)
  expect_warning(fit <- calib_platt(d$p, d$y, max_iter = 1), class = "gpcalib_warning_not_converged")
  expect_false(fit$converged)
  expect_error(calib_platt(d$p, d$y, targets = "soft"), "`targets`", class = "gpcalib_error_input")
  expect_error(calib_platt(d$p, d$y, scale = 1), "`scale`", class = "gpcalib_error_input")
  expect_error(calib_platt(d$p, d$y, max_iter = 0), "`max_iter`", class = "gpcalib_error_input")
})

test_that("the scale of the weights does not matter to raw targets", {
  d <- oracle_pair(300, 7)
  for (fit in list(
    function(w) calib_platt(d$p, d$y, weights = w, targets = "raw"),
    function(w) calib_beta(d$p, d$y, weights = w)
  )) {
    plain <- coef(fit(rep(1, 300)))
    for (w in 10^c(-200, -20, -14, 20, 200)) {
      expect_silent(other <- fit(rep(w, 300)))
      expect_true(other$converged)
      expect_equal(coef(other), plain, tolerance = 1e-6)
    }
  }
})

test_that("scores of any scale give the same probabilities", {
  set.seed(8)
  z <- rnorm(300)
  y <- rbinom(300, 1, plogis(2 * z - 1))
  plain <- predict(calib_platt(z, y, input = "logits"), z)
  for (scale in 10^c(-300, -200, -140, 140, 200, 300)) {
    expect_silent(fit <- calib_platt(z * scale, y, input = "logits"))
    expect_equal(predict(fit, z * scale), plain, tolerance = 1e-6)
  }
  w <- rep(1e280, 300) # weighted scores overflow
  expect_equal(predict(calib_platt(z * 1e100, y, input = "logits", weights = w), z * 1e100),
    predict(calib_platt(z, y, input = "logits", targets = "raw"), z), tolerance = 1e-6)
})

test_that("fits that begin on a sample of the rows end where glm() does, however the rows lie", {
  set.seed(12)
  n <- 40000 # every 16th block of 512 rows is the sample
  z <- rnorm(n, sd = 2)
  y <- as.integer(runif(n) < plogis(0.5 * z - 1))
  inside <- (seq_len(n) - 1) %/% 512 %% 16 == 0
  against <- y
  against[inside] <- as.integer(runif(sum(inside)) < plogis(-4 * z[inside]))
  rare <- as.integer(runif(n) < plogis(z - 11)) # some hundred, a few in the sample
  cases <- list(mixed = list(z, y), sorted = list(sort(z), y[order(z)]), labels = list(z[order(y)], sort(y)),
    against = list(z, against), rare = list(z, rare))
  for (name in names(cases)) {
    at <- cases[[name]]
    fit <- calib_platt(at[[1]], at[[2]], targets = "raw", input = "logits")
    ref <- suppressWarnings(stats::glm(at[[2]] ~ at[[1]], family = stats::binomial(), epsilon = 1e-14))
    expect_equal(unname(coef(fit)[c("intercept", "slope")]), unname(coef(ref)), tolerance = 1e-8, info = name)
    expect_lt(fit$iterations, 15)
  }
})

test_that("many rows of a rare class take no more passes than few", {
  set.seed(13)
  n <- 50000
  p <- plogis(rnorm(n, -7.5, 2))
  y <- runif(n) < p^0.8 * 0.3
  fit <- calib_beta(p, y)
  expect_true(fit$converged)
  expect_lt(fit$iterations, 50)
})
