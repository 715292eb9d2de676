# Intervals of two classes, whose functions hardly fall: eq. (43c)

set.seed(1)
n <- 400
risk <- plogis(rnorm(n, sd = 2))
event <- rbinom(n, 1, plogis(1.3 * qlogis(risk) + 0.5))
# One event where no other is leaves rough maps free to rise towards low scores.
event[risk < 0.03] <- 0
event[which.min(risk)] <- 1
fit <- calib_gp(risk, event)

# The nearest function with steps of at least `least`, by repeated pooling: slow and obvious
nearest <- function(f, w, least) {
  lift <- cumsum(c(0, least))
  h <- f - lift
  block <- as.list(seq_along(h))
  level <- h
  weight <- w
  while (any(falls <- diff(level) < 0)) {
    at <- which(falls)[1]
    level[at] <- sum(level[at + 0:1] * weight[at + 0:1]) / sum(weight[at + 0:1])
    weight[at] <- sum(weight[at + 0:1])
    block[[at]] <- unlist(block[at + 0:1])
    level <- level[-(at + 1)]
    weight <- weight[-(at + 1)]
    block <- block[-(at + 1)]
  }
  h[unlist(block)] <- rep(level, lengths(block))
  h + lift
}

test_that("limits are quantiles of functions that are made to hardly fall", {
  set.seed(2)
  z <- sort(rnorm(20, sd = 2))
  f <- 0.8 * z + matrix(rnorm(20 * 60, sd = ifelse(z < -2, 2, 0.5)), 20)
  p <- aperm(array(c(plogis(-f), plogis(f)), c(20, 60, 2)), c(1, 3, 2))
  w <- 1 / (rowMeans((f - rowMeans(f))^2) + 1e-8)
  slope <- coef(lm(rowMeans(f) ~ z, weights = w))[[2]]
  h <- apply(f, 2, nearest, w = w, least = -0.25 * slope * diff(z))
  expect_gt(max(abs(h - f)), 1) # it is not idle
  limits <- .Call(C_rising_limits, p, z, c(0.05, 0.9))
  expect_equal(limits, unname(t(apply(h, 1, quantile, c(0.05, 0.9)))), tolerance = 1e-10)
  expect_null(.Call(C_rising_limits, p[, 2:1, ], z, c(0.05, 0.9))) # these fall
  for (bad in list(z[1], numeric(), rep(z, 7))) expect_error(.Call(C_rising_limits, p, bad, c(0.05, 0.9)), "internal error")
})

test_that("limits of neighbouring scores hardly fall, and functions as drawn do", {
  p <- plogis(seq(qlogis(min(risk)), 1, length.out = 300))
  set.seed(3)
  x <- predict(fit, p, type = "interval")
  expect_true(all(x[, , "lower"] <= x[, , "estimate"] & x[, , "estimate"] <= x[, , "upper"]))
  expect_equal(x[, 1, "lower"], 1 - x[, 2, "upper"], tolerance = 1e-12)
  expect_equal(x[, 1, "upper"], 1 - x[, 2, "lower"], tolerance = 1e-12)
  upper <- qlogis(x[, 2, "upper"])
  slope <- diff(range(qlogis(x[, 2, "estimate"]))) / diff(range(qlogis(p)))
  expect_gt(min(diff(upper)), -0.5 * slope * diff(qlogis(p))[1])
  draws <- predict(fit, p, type = "draws", n_draws = 400)
  expect_lt(min(diff(qlogis(apply(draws[, 2, ], 1, quantile, 0.975)))), min(diff(upper)))
})

test_that("the limits of a row do not depend on other rows, its form or its class frequencies", {
  some <- quantile(risk, c(0.1, 0.5, 0.9))
  limits <- function(p, ...) {
    set.seed(4)
    unname(predict(fit, p, type = "interval", ...))
  }
  three <- limits(some)
  expect_identical(limits(some[2])[1, , ], three[2, , ])
  expect_identical(limits(cbind(1 - some, some)), three)
  even <- limits(some, prior = c(0.5, 0.5))
  expect_false(isTRUE(all.equal(even, three)))
  odds <- function(x) qlogis(x[, 2, ])
  expect_equal(odds(even) - odds(three), matrix((odds(even) - odds(three))[1], 3, 3), tolerance = 1e-6)
  # logits, of which only the difference counts
  set.seed(5)
  logits <- calib_gp(cbind(0, qlogis(risk)), event, input = "logits")
  set.seed(4)
  a <- predict(logits, cbind(0, qlogis(some)), type = "interval")
  set.seed(4)
  b <- predict(logits, cbind(7, 7 + qlogis(some)), type = "interval")
  expect_equal(a, b, tolerance = 1e-10)
})

test_that("beyond the calibration scores limits are those of the row, kept on their side of the ends", {
  ends <- range(risk)
  set.seed(6)
  x <- suppressWarnings(predict(fit, c(ends, ends[1] / 10, 1 - (1 - ends[2]) / 10, 1e-12, 1 - 1e-12), type = "interval"))
  expect_lte(x[3, 2, "upper"], x[1, 2, "upper"] + 1e-9)
  expect_gte(x[4, 2, "lower"], x[2, 2, "lower"] - 1e-9)
  expect_lte(x[5, 2, "upper"], x[1, 2, "upper"] + 1e-9)
  expect_gte(x[6, 2, "lower"], x[2, 2, "lower"] - 1e-9)
  expect_gte(x[5, 1, "lower"], x[1, 1, "lower"] - 1e-9)
  expect_true(all(is.finite(x)) && all(x >= 0 & x <= 1))
  expect_equal(x[, 1, "lower"] <= x[, 1, "estimate"], rep(TRUE, 6))
})

test_that("where maps fall, or nothing is averaged, limits are those of the rows", {
  set.seed(7)
  fallen <- suppressWarnings(calib_gp(risk, 1 - rbinom(n, 1, risk)))
  of_rows <- function(fit, p) {
    object <- gp_averaged(fit)
    is.null(rising_limits(object, gp_newdata(fit, prepare_newdata(fit, p, 1))$floor, 400, TRUE, c(0.025, 0.975), 1L))
  }
  expect_true(of_rows(fallen, 0.3))
  expect_false(of_rows(fit, 0.3))
  expect_null(limits_grid(gp_averaged(calib_gp(risk, event, monotone = TRUE)), -Inf))
  expect_null(limits_grid(calib_gp(letters_nn$cal$scores[1:100, ], letters_nn$cal$labels[1:100], class_effects = "none"), -Inf))
  old <- fit
  old["event_range"] <- NULL # of an older version
  expect_null(limits_grid(gp_averaged(old), -Inf))
  expect_identical(dim(predict(old, 0.3, type = "interval")), c(1L, 2L, 3L))
})

test_that("zeros and far scores have limits", {
  p <- c(0, 0, 1, 1, risk)
  y <- c(0, 0, 1, 1, event)
  zeros <- calib_gp(p, y)
  x <- predict(zeros, c(0, 1e-30, 0.5, 1), type = "interval")
  expect_true(all(is.finite(x)) && all(x >= 0 & x <= 1))
  expect_true(all(x[, , "lower"] <= x[, , "upper"]))
  far <- suppressWarnings(calib_gp(cbind(0, c(-1e4, 1e4, qlogis(risk))), c(0, 1, event) + 1, input = "logits"))
  x <- suppressWarnings(predict(far, cbind(0, c(-Inf, -1e4, -5000, -1, 0, 1, 1e4, 1e6)), type = "interval"))
  expect_true(all(is.finite(x)) && all(x[, , "lower"] <= x[, , "upper"]))
})

test_that("a few functions or very many are no trouble", {
  expect_true(all(is.finite(predict(fit, c(0.2, 0.7), type = "interval", n_draws = 2))))
  set.seed(8)
  most <- predict(fit, 0.3, type = "interval", n_draws = 20000)
  set.seed(8)
  expect_identical(predict(fit, 0.3, type = "interval", n_draws = 1e6), most) # these would take 3 GB
})
