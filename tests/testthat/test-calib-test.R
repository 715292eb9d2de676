# Tests of calibration, and the smooth calibration error.

pair <- oracle_forecast(200, 2, power = 1.6, seed = 1)
p2 <- pair$p[, 2]
y2 <- as.integer(pair$y == 2)
three <- oracle_forecast(150, 3, power = 0.7, seed = 2)

test_that("all methods return an htest that prints", {
  for (method in c("likelihood", "spiegelhalter", "mcb", "skce")) {
    for (replicates in list(NULL, 19)) {
      set.seed(1)
      got <- calib_test(three$p, three$y, method, replicates = replicates)
      expect_s3_class(got, "htest")
      expect_true(got$p.value > 0 && got$p.value <= 1)
      expect_output(print(got), "calibration")
      expect_match(got$data.name, "three\\$p and three\\$y")
      expect_match(got$method, if (!is.null(replicates)) "by 19 redraws" else "chi-square|normal|redraws")
    }
  }
})

# Likelihood ratio ------------------------------------------------------------------------

test_that("for two classes it is the likelihood ratio of Cox's regression", {
  got <- calib_test(p2, y2)
  full <- stats::glm(y2 ~ stats::qlogis(p2), family = stats::binomial, control = list(epsilon = 1e-12))
  null <- sum(log(ifelse(y2 == 1, p2, 1 - p2)))
  expect_equal(unname(got$statistic), 2 * (as.numeric(stats::logLik(full)) - null), tolerance = 1e-8)
  expect_equal(unname(got$parameter), 2)
  expect_equal(got$p.value, stats::pchisq(unname(got$statistic), 2, lower.tail = FALSE))
  expect_equal(unname(got$estimate["slope"]), unname(stats::coef(full)[2]), tolerance = 1e-5)
  expect_equal(unname(diff(got$estimate[2:3])), unname(stats::coef(full)[1]), tolerance = 1e-5)
})

test_that("for more it is the maximum over slope and offsets", {
  got <- calib_test(three$p, three$y)
  best <- stats::optim(c(1, 0, 0), function(t) -oracle_recal(three$p, three$y, t[1], c(0, t[2:3])), method = "BFGS",
    control = list(reltol = 1e-14))
  null <- oracle_recal(three$p, three$y, 1, c(0, 0, 0))
  expect_equal(unname(got$statistic), 2 * (-best$value - null), tolerance = 1e-6)
  expect_equal(unname(got$parameter), 3)
  expect_equal(unname(got$estimate["slope"]), best$par[1], tolerance = 1e-3)
  # the information is the negative second derivative at the null, averaged over the labels
  info <- .Call(C_coxrecal_fit, check_forecast(three$p, three$y))$information
  slow <- matrix(0, 3, 3)
  for (i in 1:150) {
    x <- cbind(log(three$p[i, ]), c(0, 1, 0), c(0, 0, 1))
    slow <- slow + t(x) %*% (diag(three$p[i, ]) - outer(three$p[i, ], three$p[i, ])) %*% x
  }
  expect_equal(info, unname(slow), tolerance = 1e-10)
})

test_that("zeros, absent classes and separated labels are survived", {
  zeros <- three$p
  zeros[1:20, ] <- t(vapply(1:20, function(i) {
    row <- replace(zeros[i, ], three$y[i] %% 3 + 1, 0)
    row / sum(row)
  }, numeric(3)))
  got <- calib_test(zeros, three$y)
  slow <- -stats::optim(c(1, 0, 0), function(t) -oracle_recal(zeros, three$y, t[1], c(0, t[2:3])), method = "BFGS",
    control = list(reltol = 1e-14))$value
  expect_equal(unname(got$statistic), 2 * (slow - oracle_recal(zeros, three$y, 1, rep(0, 3))), tolerance = 1e-6)
  # a class that never occurs: as if it were not possible
  some <- three$y != 3
  got <- calib_test(three$p[some, ], factor(three$y[some], levels = 1:3))
  rest <- three$p[some, 1:2] / rowSums(three$p[some, 1:2])
  inner <- calib_test(rest[, 2], three$y[some] == 2)
  extra <- -2 * sum(log(rowSums(three$p[some, 1:2])))
  expect_equal(unname(got$statistic), unname(inner$statistic) + extra, tolerance = 1e-6)
  expect_identical(unname(got$estimate[4]), -Inf)
  # separated: the supremum of the likelihood is 1
  x <- c(0.2, 0.3, 0.4, 0.6, 0.7)
  y <- c(0, 0, 0, 1, 1)
  expect_equal(unname(calib_test(x, y)$statistic), -2 * sum(log(ifelse(y == 1, x, 1 - x))), tolerance = 1e-6)
  # one probability for all: only the frequencies can be tested
  expect_equal(unname(calib_test(rep(0.4, 30), rep(0:1, 15))$parameter), 1)
  expect_error(calib_test(rep(0:1, 10), rep(0:1, 10)), "one class", class = "gpcalib_error_input")
  expect_warning(got <- calib_test(c(0, 0.5, 0.7), c(1, 0, 1)), class = "gpcalib_warning_infinite")
  expect_identical(got$p.value, 0)
})

test_that("redrawn labels agree with the chi-square distribution where that holds", {
  big <- oracle_forecast(1500, 3, seed = 11)
  a <- calib_test(big$p, big$y)
  set.seed(1)
  b <- calib_test(big$p, big$y, replicates = 400)
  expect_equal(unname(a$statistic), unname(b$statistic))
  expect_lt(abs(a$p.value - b$p.value), 4 * sqrt(a$p.value * (1 - a$p.value) / 400) + 0.01)
})

# Spiegelhalter ---------------------------------------------------------------------------

test_that("Spiegelhalter's z is his formula for two classes, and a sum over classes for more", {
  z <- sum((y2 - p2) * (1 - 2 * p2)) / sqrt(sum((1 - 2 * p2)^2 * p2 * (1 - p2)))
  got <- calib_test(p2, y2, "spiegelhalter")
  expect_equal(unname(got$statistic), z, tolerance = 1e-12)
  expect_equal(got$p.value, 2 * stats::pnorm(-abs(z)), tolerance = 1e-12)
  expect_equal(unname(got$estimate), c(brier_score(p2, y2), mean(p2 * (1 - p2))), tolerance = 1e-12)
  p <- three$p
  score <- function(i, y) sum((p[i, ] - diag(3)[y, ])^2)
  centre <- spread <- 0
  for (i in 1:150) { # mean and variance over the three outcomes
    s <- vapply(1:3, function(y) score(i, y), 0)
    centre <- centre + score(i, three$y[i]) - sum(p[i, ] * s)
    spread <- spread + sum(p[i, ] * s^2) - sum(p[i, ] * s)^2
  }
  expect_equal(unname(calib_test(p, three$y, "spiegelhalter")$statistic), centre / sqrt(spread), tolerance = 1e-10)
  expect_error(calib_test(rep(0.5, 20), rep(0:1, 10), "spiegelhalter"), "same probability", class = "gpcalib_error_input")
  expect_lt(calib_test(c(0.99, 0.98, 0.99, 0.97) , c(1, 0, 0, 1), "spiegelhalter")$p.value, 0.01)
})

# Miscalibration --------------------------------------------------------------------------

test_that("the miscalibration is that of compare_forecasts()", {
  set.seed(1)
  got <- calib_test(p2, y2, "mcb", replicates = 99)
  expect_equal(unname(got$statistic), compare_forecasts(p2, y2)$scores$miscalibration[2], tolerance = 1e-12)
  tied <- round(three$p, 1)
  tied <- tied / rowSums(tied)
  set.seed(1)
  got <- calib_test(tied, three$y, "mcb", replicates = 99)
  expect_equal(unname(got$statistic), compare_forecasts(tied, three$y, scores = "brier_score")$scores$miscalibration,
    tolerance = 1e-10)
  # clearly off
  set.seed(1)
  expect_equal(calib_test(p2^3, y2, "mcb", replicates = 199)$p.value, 1 / 200)
})

# Kernel error ----------------------------------------------------------------------------

test_that("the kernel errors are means over pairs, one by one", {
  for (kernel in c("laplace", "gaussian")) {
    for (case in list(list(p = cbind(1 - p2, p2), y = y2 + 1L), three)) {
      n <- length(case$y)
      h <- oracle_skce(case$p, case$y, 0.3, kernel == "gaussian")
      set.seed(1)
      got <- calib_test(case$p, factor(case$y), "skce", kernel = kernel, bandwidth = 0.3, replicates = 19)
      expect_equal(unname(got$estimate), mean(h[upper.tri(h)]), tolerance = 1e-10)
      got <- calib_test(case$p, factor(case$y), "skce", kernel = kernel, bandwidth = 0.3, estimator = "linear")
      linear <- h[cbind(seq(1, n - 1, 2), seq(2, n, 2))]
      expect_equal(unname(got$estimate), mean(linear), tolerance = 1e-12)
      expect_equal(unname(got$statistic), mean(linear) / (stats::sd(linear) / sqrt(length(linear))), tolerance = 1e-10)
    }
  }
})

test_that("the kernel error of two rows has the values in the tests of CalibrationErrors.jl", {
  value <- function(y) {
    .Call(C_skce_draw, check_forecast(rbind(c(1, 0), c(0, 1)), factor(y, levels = 1:2)), 1L, 1, c(1, 1), 0L, 0L)[1]
  }
  expect_identical(value(c(1, 2)), 0)
  expect_identical(value(c(1, 1)), 0)
  expect_identical(value(c(2, 2)), 0)
  expect_equal(value(c(2, 1)), -2 * exp(-1), tolerance = 1e-14)
})

test_that("redrawn labels are those of the statistic itself", {
  # drawing labels in R by the same stream is not possible: compare the distribution instead
  set.seed(1)
  drawn <- .Call(C_skce_draw, check_forecast(three$p, three$y), 0L, 0.3, draw_seed(), 0L, 400L)[-1]
  slow <- with_seed(2, vapply(1:400, function(r) {
    y <- apply(three$p, 1, function(row) sample.int(3, 1, prob = row))
    .Call(C_skce_draw, check_forecast(three$p, factor(y, levels = 1:3)), 0L, 0.3, c(1, 1), 0L, 0L)[1]
  }, 0))
  expect_gt(stats::ks.test(drawn, slow)$p.value, 0.01)
  # unbiased: the mean over the labels is nought
  expect_lt(abs(mean(drawn)), 4 * stats::sd(drawn) / 20)
})

test_that("the bandwidth is the median distance", {
  got <- calib_test(three$p, three$y, "skce", estimator = "linear")
  d <- as.matrix(stats::dist(three$p, "manhattan")) / 2
  expect_equal(unname(got$parameter), stats::median(d[upper.tri(d)]), tolerance = 1e-12)
  big <- oracle_forecast(10100, 2, seed = 4)
  fast <- calib_test(big$p, big$y, "skce")
  expect_match(fast$method, "linear")
  said <- function(x) gsub("\\s+", " ", paste(capture.output(print(x)), collapse = " "))
  expect_match(said(fast), "with the linear estimator, chosen because there are more than 10,000 rows, its power is much lower. Use estimator = \"quadratic\"",
    fixed = TRUE)
  expect_match(said(got), "with the linear estimator its power is much lower", fixed = TRUE)
  expect_match(say_linear(31000, TRUE), "With up to 30,000 of the rows, estimator = \"quadratic\" is possible.", fixed = TRUE)
})

# Groups ----------------------------------------------------------------------------------

test_that("with groups the scores of rows are summed and tested by Hotelling's T-squared", {
  g <- rep(1:30, 5)
  got <- calib_test(three$p, three$y, "spiegelhalter", groups = g)
  u <- rowSums(three$p^2) - three$p[cbind(1:150, three$y)]
  ref <- stats::t.test(tapply(u, g, sum))
  expect_equal(unname(got$statistic), unname(ref$statistic)^2, tolerance = 1e-10)
  expect_equal(got$p.value, ref$p.value, tolerance = 1e-10)
  # likelihood: derivatives by differences, T^2 by its textbook formula
  score <- vapply(1:3, function(a) {
    at <- function(h) {
      t <- replace(c(1, 0, 0), a, c(1, 0, 0)[a] + h)
      vapply(1:150, function(i) oracle_recal(three$p[i, , drop = FALSE], three$y[i], t[1], c(0, t[2:3])), 0)
    }
    (at(1e-5) - at(-1e-5)) / 2e-5
  }, numeric(150))
  x <- rowsum(score, g)
  t2 <- drop(30 * colMeans(x) %*% solve(stats::var(x)) %*% colMeans(x))
  got <- calib_test(three$p, three$y, groups = letters[g %% 26 + 1]) # other labels, other groups
  expect_false(isTRUE(all.equal(unname(got$parameter), c(3, 27))))
  got <- calib_test(three$p, three$y, groups = paste("g", g))
  expect_equal(unname(got$statistic), t2 * 27 / (3 * 29), tolerance = 1e-6)
  expect_equal(unname(got$parameter), c(3, 27))
  # groups of one row: close to the likelihood ratio test
  expect_lt(abs(calib_test(three$p, three$y, groups = 1:150)$p.value - calib_test(three$p, three$y)$p.value), 0.05)
  # every row five times in its group: what single rows say
  expect_equal(calib_test(p2[rep(1:200, 5)], y2[rep(1:200, 5)], groups = rep(1:200, 5))$p.value,
    calib_test(p2, y2, groups = 1:200)$p.value, tolerance = 1e-10)
  error <- function(...) expect_error(..., class = "gpcalib_error_input")
  error(calib_test(p2, y2, groups = rep(1:20, 10), replicates = 99), "`replicates`")
  error(calib_test(p2, y2, groups = rep(1:2, 100)), "too few")
  error(calib_test(p2, y2, groups = 1:3), "`groups`")
  error(calib_test(c(0, 0.5, 0.7, 0.2), c(1, 0, 1, 0), groups = 1:4), "row 1")
})

test_that("with groups residuals of whole groups change their sign", {
  g <- rep(1:30, 5)
  # miscalibration: outcomes p + s (y - p), pooled by isotonic regression, class by class
  slow <- function(p, y, s) {
    classes <- if (ncol(p) == 2) 2 else seq_len(ncol(p))
    sum(vapply(classes, function(k) {
      x <- p[, k]
      out <- x + s * ((y == k) - x)
      mean((out - x)^2) - mean((out - stats::ave(stats::isoreg(x[order(x)], out[order(x)])$yf, seq_along(x))[rank(x)])^2)
    }, 0))
  }
  for (case in list(three, list(p = cbind(1 - p2, p2)[1:150, ], y = y2[1:150] + 1L))) {
    forecast <- check_forecast(case$p, factor(case$y, levels = seq_len(ncol(case$p))))
    seed <- c(3, 4)
    got <- .Call(C_mcb_sign_draw, forecast, g, 30L, seed, 0L, 4L)
    signs <- .Call(C_sign_draw, 30L, seed, 0L, 4L)
    want <- vapply(0:4, function(r) slow(case$p, case$y, if (r) signs[g, r] else 1), 0)
    expect_equal(as.vector(got), want, tolerance = 1e-10)
    # kernel error: the mean of h over pairs of different groups
    h <- oracle_skce(case$p, case$y, 0.3)
    apart <- outer(g, g, "!=")
    set.seed(1)
    test <- calib_test(case$p, factor(case$y), "skce", bandwidth = 0.3, groups = g, replicates = 99)
    expect_equal(unname(test$estimate), mean(h[apart]), tolerance = 1e-10)
    set.seed(1)
    signs <- .Call(C_sign_draw, 30L, draw_seed(), 0L, 99L)
    drawn <- apply(signs, 2, function(s) mean((outer(s[g], s[g]) * h)[apart]))
    expect_equal(test$p.value, (1 + sum(drawn >= mean(h[apart]))) / 100)
  }
  expect_match(calib_test(three$p, three$y, "mcb", groups = g, replicates = 19)$method, "19 changes of the signs of 30 groups")
  expect_error(calib_test(p2, y2, "skce", groups = rep(1:20, 10), estimator = "linear"), "`estimator`",
    class = "gpcalib_error_input")
})

test_that("bad arguments are named", {
  bad <- function(..., text) expect_error(calib_test(p2, y2, ...), text, class = "gpcalib_error_input")
  bad("zz", text = "`method`")
  bad(replicates = 3, text = "`replicates`")
  bad("skce", kernel = "x", text = "`kernel`")
  bad("skce", bandwidth = 0, text = "`bandwidth`")
  bad("skce", estimator = "cubic", text = "`estimator`")
  expect_error(calib_test(rep(0.2, 31000), rep(0:1, 15500), "skce", estimator = "quadratic"), "31000 rows",
    class = "gpcalib_error_input")
})

# Smooth calibration error ------------------------------------------------------------------

test_that("at a bandwidth it is the integral of the smoothed residuals", {
  for (x in list(p2[1:60], p2[1:60]^4, round(p2[1:60], 1), rep(c(0, 1), 30))) {
    y <- y2[1:60]
    for (sigma in c(0.01, 0.05, 0.3, 1)) {
      expect_equal(smooth_ece(x, y, bandwidth = sigma), oracle_smooth(x, y, sigma), tolerance = 1e-4)
    }
    w <- rep(1:3, 20)
    expect_equal(smooth_ece(x, y, bandwidth = 0.1, weights = w), oracle_smooth(x, y, 0.1, w), tolerance = 1e-4)
  }
})

test_that("without one it is its own bandwidth", {
  for (seed in 1:5) {
    d <- oracle_forecast(300, 2, power = 2, seed = seed)
    e <- smooth_ece(d$p, d$y)
    expect_equal(smooth_ece(d$p, d$y, bandwidth = e), e, tolerance = 1e-6)
  }
  # one place: everything is smoothed to the difference of the means, whatever the bandwidth
  expect_equal(smooth_ece(rep(0.3, 100), rep(0:1, c(50, 50))), 0.2, tolerance = 1e-6)
  expect_identical(smooth_ece(rep(0:1, 10), rep(0:1, 10)), 0)
  # below what is looked at
  expect_lt(smooth_ece(rep(0:1, each = 5e4), rep(0:1, c(49999, 50001))), 1.1e-4)
})

test_that("it judges the event of two classes and the confidence of more", {
  expect_equal(smooth_ece(three$p, three$y, event = 2), smooth_ece(three$p[, 2], three$y == 2))
  top <- apply(three$p, 1, max)
  expect_equal(smooth_ece(three$p, three$y), smooth_ece(top, max.col(three$p) == three$y))
  expect_equal(smooth_ece(three$p, three$y, type = "confidence"), smooth_ece(three$p, three$y))
  expect_equal(smooth_ece(p2, y2), smooth_ece(1 - p2, 1 - y2), tolerance = 1e-5)
  expect_error(smooth_ece(three$p, three$y, type = "event"), "`event`", class = "gpcalib_error_input")
  expect_error(smooth_ece(p2, y2, bandwidth = 2), "`bandwidth`", class = "gpcalib_error_input")
  expect_error(smooth_ece(p2, y2, type = "confidence", event = 1), "`event`", class = "gpcalib_error_input")
})

test_that("by gives the test of each group of rows, with Holm's adjustment", {
  p <- rep(c(0.2, 0.5, 0.8), 100)
  y <- rep(c(0, 0, 1, 0, 1, 1, 1, 1, 1, 0), 30)
  part <- rep(c("b", "a", "c"), c(90, 120, 90))
  for (method in c("likelihood", "spiegelhalter")) {
    table <- calib_test(p, y, method, by = part)
    alone <- lapply(c("a", "b", "c"), function(v) calib_test(p[part == v], y[part == v], method))
    expect_equal(as.character(table$by), c("a", "b", "c"))
    expect_equal(table$n, c(120, 90, 90))
    expect_equal(table$statistic, vapply(alone, function(test) test$statistic[[1]], 0))
    expect_equal(table$p.value, vapply(alone, `[[`, 0, "p.value"))
    expect_equal(table$p.adjusted, p.adjust(table$p.value, "holm"))
    expect_s3_class(attr(table, "tests")$b, "htest")
    expect_match(attr(table, "tests")$b$data.name, "p and y, b")
  }
  # Redrawn labels: each group has its own draws, in the order of the table.
  set.seed(3)
  table <- calib_test(p, y, "mcb", replicates = 99, by = part)
  set.seed(3)
  first <- calib_test(p[part == "a"], y[part == "a"], "mcb", replicates = 99)
  expect_equal(table$p.value[1], first$p.value)
  # Groups of dependent rows within each.
  days <- rep(1:60, each = 5)
  table <- calib_test(p, y, groups = days, by = part)
  expect_equal(table$p.value[2], calib_test(p[part == "b"], y[part == "b"], groups = days[part == "b"])$p.value)
})

test_that("a group of rows that cannot be tested is named", {
  p <- rep(c(0.2, 1), c(20, 5))
  y <- rep(c(0, 1), c(16, 9))
  expect_error(calib_test(p, y, by = rep(c("left", "right"), c(20, 5))), "`by`.*\"right\", whose 5 rows cannot be tested")
  expect_error(calib_test(p, y, by = 1:3), "`by`")
})

test_that("pairs of rows need two rows in every group", {
  d <- with_seed(1, {
    p <- matrix(stats::runif(60), 20)
    list(p = p / rowSums(p), y = sample(3, 20, TRUE))
  })
  expect_error(calib_test(d$p, d$y, method = "skce", by = c("alone", rep("others", 19))), "a single row", class = "gpcalib_error_input")
})
