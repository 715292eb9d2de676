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
  turned <- calib_beta(1 - d$p, d$y)
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
