# The calibration slope and its likelihood-ratio test.

slope_loglik <- function(a, probs, labels, w) {
  q <- probs^a
  sum(w * log((q / rowSums(q))[cbind(seq_along(labels), labels)]))
}

test_that("slope and gain are those of a plain search, and A has the derivatives it says", {
  set.seed(1)
  for (K in c(2, 4)) {
    set <- random_forecast(150, K, power = .6)
    w <- rexp(150)
    forecast <- check_forecast(set$probs, set$labels, w)
    slope <- measure_slope(forecast)
    best <- optimize(slope_loglik, c(.05, 5), set$probs, set$labels, w, maximum = TRUE, tol = 1e-10)
    expect_equal(slope$estimate, best$maximum, tolerance = 1e-6)
    expect_equal(slope$gain, 2 * (best$objective - slope_loglik(1, set$probs, set$labels, w)), tolerance = 1e-8)
    h <- 1e-5
    for (a in c(.4, 1, 2)) {
      ends <- vapply(c(-h, 0, h), function(d) slope_at(forecast, a + d), numeric(3))
      expect_equal((ends[1, 3] - ends[1, 1]) / (2 * h), ends[2, 2], tolerance = 1e-7)
      expect_equal((ends[2, 3] - ends[2, 1]) / (2 * h), ends[3, 2], tolerance = 1e-7)
    }
    # Wald's error agrees with the curvature where the model holds and weights are 1.
    plain <- measure_slope(check_forecast(set$probs, set$labels))
    expect_lt(abs(log(plain$error * sqrt(slope_at(check_forecast(set$probs, set$labels), plain$estimate)[3]))), .3)
  }
})

test_that("for two classes it is the slope of a logistic regression without intercept", {
  set.seed(2)
  p <- plogis(rnorm(400))
  y <- rbinom(400, 1, plogis(.7 * qlogis(p)))
  fit <- glm(y ~ 0 + qlogis(p), family = binomial)
  expect_equal(measure_slope(check_forecast(p, y))$estimate, unname(coef(fit)), tolerance = 1e-6)
})

test_that("drawn labels have the moments of the probabilities, and chunks do not matter", {
  set.seed(3)
  for (K in c(2, 5)) {
    set <- random_forecast(80, K)
    forecast <- check_forecast(set$probs, set$labels, rexp(80))
    one <- slope_at(forecast, 1)
    t <- as.vector(.Call(C_slope_draw, forecast, c(1, 2), 0L, 4000L))
    var <- sum(forecast$weights^2 * vapply(1:80, function(i) {
      p <- set$probs[i, ]
      sum(p * log(p)^2) - sum(p * log(p))^2
    }, 0))
    expect_lt(abs(mean(t) - one[2]), 4 * sqrt(var / 4000))
    expect_lt(abs(log(stats::var(t) / var)), .15)
    expect_identical(t[11:20], as.vector(.Call(C_slope_draw, forecast, c(1, 2), 10L, 10L)))
  }
  s <- .Call(C_sign_draw, 5L, c(1, 2), 0L, 2000L)
  expect_true(all(s == 1 | s == -1))
  expect_lt(max(abs(rowMeans(s))), .1)
})

test_that("the p-value counts the T that gain as much, on both sides", {
  set.seed(4)
  set <- random_forecast(60, 3, power = 1.2)
  forecast <- check_forecast(set$probs, set$labels)
  slope <- measure_slope(forecast)
  t <- as.vector(.Call(C_slope_draw, forecast, c(5, 6), 0L, 200L))
  gain <- vapply(t, function(t) {
    a <- solve_slope(forecast, t)
    slope_gain(slope_at(forecast, a), slope$one, a)
  }, 0)
  expect_identical(slope_beyond(forecast, slope, t), gain >= slope$gain)
})

test_that("equal probabilities say nothing of the slope", {
  p <- rep(.5, 40)
  out <- suppressWarnings(calib_metrics(p, rep(0:1, 20), conf_level = .9, replicates = 20))
  row <- out[out$measure == "calib_slope", ]
  expect_identical(row$estimate, NaN)
  expect_true(is.na(row$p.value))
  # 0 and 1, all right: no slope is better than another.
  out <- suppressWarnings(calib_metrics(rep(0:1, 20), rep(0:1, 20), conf_level = .9, replicates = 20))
  expect_identical(out$estimate[out$measure == "calib_slope"], NaN)
})

test_that("eps raises the probabilities that the slope is measured on", {
  set.seed(1)
  p <- matrix(rexp(600), 200)
  p <- p / rowSums(p)
  y <- max.col(log(p) - log(-log(matrix(runif(600), 200))))
  p[1, ] <- c(0, .5, .5)
  y[1] <- 1 # impossible
  slope <- function(...) with(suppressWarnings(calib_metrics(p, y, ...)), estimate[measure == "calib_slope"])
  expect_equal(slope(), NaN)
  raised <- pmax(p, 1e-4) / rowSums(pmax(p, 1e-4))
  nll <- function(a) -sum(log((raised^a / rowSums(raised^a))[cbind(1:200, y)]))
  expect_equal(slope(eps = 1e-4), optimise(nll, c(.1, 3), tol = 1e-8)$minimum, tolerance = 1e-6)
})
