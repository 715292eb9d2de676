# Beta calibration of two classes; what the methods share is in test-one-vs-all.R.

value <- function(fit, at) unname(predict(fit, at)[, 2])
# glm.fit(), not glm(): the latter looks for weights where the formula was made
reference <- function(formula, w = NULL) {
  x <- model.matrix(formula)
  y <- model.response(model.frame(formula))
  suppressWarnings(glm.fit(x, y, weights = if (is.null(w)) rep(1, length(y)) else w,
    family = binomial(), control = list(epsilon = 1e-14, maxit = 100)))$coefficients
}

test_that("positive coefficients are those of glm() on the two logarithms", {
  compared <- 0
  for (seed in 1:6) {
    d <- oracle_pair(600, seed)
    up <- log(d$p)
    down <- -log(1 - d$p)
    w <- with_seed(seed, runif(600, 0, 2))
    for (weights in list(NULL, w)) {
      ref <- reference(d$y ~ up + down, weights)
      if (ref[2] < 0 || ref[3] < 0) next
      compared <- compared + 1
      fit <- calib_beta(d$p, d$y, weights = weights)
      expect_equal(unname(coef(fit)), unname(ref[c(2, 3, 1)]), tolerance = 1e-8)
    }
    odds <- up + down
    am <- reference(d$y ~ odds)
    expect_equal(unname(coef(calib_beta(d$p, d$y, params = "am"))), unname(am[c(2, 2, 1)]),
      tolerance = 1e-8)
    up2 <- up + log(2)
    down2 <- down - log(2)
    ab <- reference(d$y ~ 0 + up2 + down2)
    if (all(ab > 0)) {
      fit <- coef(calib_beta(d$p, d$y, params = "ab"))
      expect_equal(unname(fit), c(unname(ab), unname(ab[1] - ab[2]) * log(2)), tolerance = 1e-8)
    }
  }
  expect_gte(compared, 6)
})

test_that("predictions are the formula", {
  d <- oracle_pair(300, 7)
  for (params in c("abm", "am", "ab")) {
    fit <- calib_beta(d$p, d$y, params = params)
    k <- coef(fit)
    expect_equal(value(fit, d$p), oracle_beta_map(d$p, k[["a"]], k[["b"]], k[["c"]]),
      tolerance = 1e-12)
    expect_true(all(diff(value(fit, sort(d$p))) > 0))
  }
  expect_equal(value(calib_beta(d$p, d$y, params = "ab"), 0.5), 0.5, tolerance = 1e-14)
  expect_equal(coef(calib_beta(d$p, d$y, params = "am"))[["a"]],
    coef(calib_platt(d$p, d$y, targets = "raw", scale = "logit"))[["slope"]], tolerance = 1e-8)
})

test_that("a = b = 1 with c = 0 is the identity", {
  d <- oracle_pair(50, 8)
  fit <- calib_beta(d$p, d$y)
  fit$coefficients[] <- c(1, 1, 0)
  expect_equal(value(fit, d$p), d$p, tolerance = 1e-14)
})

test_that("a case by hand", {
  # Scores 1/4 (1 of 4) and 3/4 (3 of 4) are calibrated: a = b = 1, c = 0 for "am"
  s <- rep(c(0.25, 0.75), each = 4)
  y <- c(1, 0, 0, 0, 1, 1, 1, 0)
  expect_equal(unname(coef(calib_beta(s, y, params = "am"))), c(1, 1, 0), tolerance = 1e-9)
  # 1/4 is seen at 1/10: a = b = log 9 / log 3 = 2
  y10 <- c(rep(0:1, c(9, 1)), rep(0:1, c(1, 9)))
  fit <- calib_beta(rep(c(0.25, 0.75), each = 10), y10, params = "am")
  expect_equal(unname(coef(fit)), c(2, 2, 0), tolerance = 1e-9)
})

test_that("a negative term is left out and the rest is fitted again", {
  found <- c(a = 0, b = 0)
  for (seed in 1:40) {
    d <- oracle_pair(60, seed)
    up <- log(d$p)
    down <- -log(1 - d$p)
    ref <- reference(d$y ~ up + down)
    if (ref[2] < 0 && ref[3] > 0) {
      alone <- reference(d$y ~ down)
      if (alone[2] < 0) next
      found["a"] <- found["a"] + 1
      expect_equal(unname(coef(calib_beta(d$p, d$y))), unname(c(0, alone[2], alone[1])),
        tolerance = 1e-7)
    } else if (ref[2] > 0 && ref[3] < 0) {
      alone <- reference(d$y ~ up)
      if (alone[2] < 0) next
      found["b"] <- found["b"] + 1
      expect_equal(unname(coef(calib_beta(d$p, d$y))), unname(c(alone[2], 0, alone[1])),
        tolerance = 1e-7)
    }
  }
  expect_true(all(found > 0))
  d <- oracle_pair(400, 3)
  expect_warning(turned <- calib_beta(1 - d$p, d$y), class = "gpcalib_warning_against")
  expect_equal(unname(coef(turned)), c(0, 0, oracle_logit(mean(d$y))), tolerance = 1e-9)
  expect_true(is.na(tidy(turned)$std.error[1]))
})

test_that("zeros and ones are clipped", {
  p <- c(0, 0.2, 0.4, 0.6, 0.8, 1, 0, 1)
  y <- c(0, 1, 0, 1, 0, 1, 1, 0)
  for (clip in c(1e-6, 2^-52)) {
    fit <- calib_beta(p, y, clip = clip)
    other <- calib_beta(pmin(pmax(p, clip), 1 - clip), y, clip = clip)
    expect_equal(coef(fit), coef(other), tolerance = 1e-6)
    expect_identical(value(fit, 0), value(fit, clip / 2))
  }
})

test_that("separated and equal scores are told", {
  expect_warning(fit <- calib_beta(c(.1, .2, .3, .7, .8, .9), rep(0:1, each = 3)),
    class = "gpcalib_warning_separated")
  expect_true(all(coef(fit)[c("a", "b")] >= 0))
  p <- predict(fit, c(.1, .2, .3, .7, .8, .9))
  expect_equal(mean(pmax(p[, 1], p[, 2])), 7 / 8, tolerance = 1e-6)
  expect_warning(fit <- calib_beta(rep(0.3, 8), rep(c(0, 1, 1, 1), 2)),
    class = "gpcalib_warning_flat")
  expect_equal(value(fit, c(0.1, 0.3)), rep(0.75, 2), tolerance = 1e-12)
})

test_that("bad arguments are named", {
  expect_error(calib_beta(c(.1, .9), 0:1, params = "abc"), "`params`", class = "gpcalib_error_input")
  expect_error(calib_beta(c(.1, .9), 0:1, clip = 0), "`clip`", class = "gpcalib_error_input")
})

test_that("steep maps are found, not given up", {
  # a wall at the end of Newton's step, which a secant is afraid of
  p <- c(0.1233711, 0.41634879, 0.43766649, 0.45744547, 0.58992547, 0.77671768, 0.94197012, 0.96033793,
    0.97332854, 0.97336517)
  y <- c(0, 0, 1, 0, 1, 1, 1, 1, 1, 1)
  expect_silent(fit <- calib_beta(p, y))
  expect_lt(fit$iterations, 60)
  # the unconstrained fit must have ended before a term is dropped by its sign
  p <- c(0.0938232914375182, 0.124233298682373, 0.190229130553098, 0.362105222472714, 0.367003305231327,
    0.390990658092568, 0.413070848139556, 0.413246898539069, 0.598400195809184, 0.643606086768633)
  y <- c(0, 0, 0, 0, 0, 0, 1, 0, 1, 1)
  expect_equal(calib_beta(p, y)$log_lik, -1.41172, tolerance = 1e-5)
  set.seed(3)
  for (i in 1:40) {
    p <- runif(100)
    y <- as.integer(runif(100) < stats::plogis(25 * (p - 0.5)))
    told <- character()
    fit <- withCallingHandlers(calib_beta(p, y), warning = function(w) {
      told <<- class(w)[1]
      invokeRestart("muffleWarning")
    })
    if (length(told)) {
      expect_identical(told, "gpcalib_warning_separated")
      next
    }
    x <- cbind(log(p), -log1p(-p), 1)
    best <- -Inf
    for (use in list(1:3, c(1, 3), 2:3)) {
      ref <- suppressWarnings(stats::glm.fit(x[, use], y, family = stats::binomial(), control = list(maxit = 200)))
      if (all(ref$coefficients[-length(use)] >= 0)) best <- max(best, -ref$deviance / 2)
    }
    expect_gt(fit$log_lik, best - 1e-6)
  }
})

test_that("equal scores with \"ab\" give their rate by a power of the odds", {
  expect_warning(fit <- calib_beta(rep(0.3, 100), rep(0:1, c(80, 20)), params = "ab"),
    class = "gpcalib_warning_flat")
  expect_equal(unname(predict(fit, c(0.3, 0.5))[, 2]), c(0.2, 0.5), tolerance = 1e-12)
  expect_equal(fit$log_lik, 80 * log(0.8) + 20 * log(0.2), tolerance = 1e-12)
  fit <- suppressWarnings(calib_beta(rep(0.5, 100), rep(0:1, c(80, 20)), params = "ab"))
  expect_identical(unname(coef(fit)), c(1, 1, 0))
})

test_that("a map that jumps is told, and one power for both ends does not", {
  set.seed(1)
  x <- rnorm(500, -12, 5)
  y <- rbinom(500, 1, plogis(0.3 * (x + 8)))
  p <- plogis(x)
  p[y == 0] <- pmin(p[y == 0], 2e-5 * runif(sum(y == 0))) # whatever is likelier is of the event
  expect_warning(fit <- calib_beta(p, y), class = "gpcalib_warning_steep")
  expect_gt(fit$coefficients["b", 1], steep)
  expect_identical(unname(predict(fit, 0.1)[, 2]), 1)
  expect_no_warning(calib_beta(p, y, params = "am"))
  expect_no_warning(calib_beta(rain_nyc$prob, rain_nyc$rain))
})
