# The smooth calibration curve.

stored <- readRDS(test_path("fixtures", "validate.rds"))

test_that("curve, band and degrees of freedom are those of mgcv", {
  fit <- smooth_fit(plogis(stored$x), stored$y)
  expect_equal(fit$knots, stored$knots)
  got <- smooth_at(fit, stored$at, 1)
  expect_equal(got$eta, stored$fit, tolerance = 1e-4)
  basis <- .Call(C_smooth_basis, fit$knots, stored$at)
  expect_equal(sqrt(rowSums((basis %*% fit$plain) * basis)), stored$se, tolerance = 1e-4)
  # Its uncertainty about the smoothness only adds.
  expect_gt(mean(got$error / stored$se), 1)
  expect_equal(fit$edf, stored$edf, tolerance = 1e-4)
  expect_equal(got$low, plogis(got$eta - got$error))
  heavy <- smooth_fit(plogis(stored$x), stored$y, stored$w)
  expect_equal(smooth_at(heavy, stored$at)$eta, stored$heavy, tolerance = 1e-4)
})

test_that("the basis is a natural cubic spline through its values", {
  knots <- c(-2, -1, 0.5, 2, 3)
  values <- c(1, -1, 0, 2, 1)
  at <- seq(-4, 5, by = 0.1)
  want <- splinefun(knots, values, method = "natural")(at)
  expect_equal(drop(.Call(C_smooth_basis, knots, at) %*% values), want)
  expect_equal(drop(.Call(C_smooth_basis, c(0, 1), c(-1, 3)) %*% c(2, 4)), c(0, 8))
})

test_that("cells do not matter, and rows of equal score count", {
  set.seed(1)
  x <- rnorm(20000, 0, 1.5)
  y <- rbinom(20000, 1, plogis(x - 0.2 * x^2))
  cells <- smooth_fit(plogis(x), y)
  rows <- .Call(C_smooth_fit, cells$knots, x, rep(1, 20000), as.double(y))
  expect_lt(length(cells$cells$x), 4097)
  basis <- .Call(C_smooth_basis, cells$knots, seq(-4, 4, .5))
  expect_lt(max(abs(plogis(basis %*% rows$beta) - plogis(basis %*% cells$beta))), 5e-5)
  x <- round(x[1:500], 1)
  once <- rle(sort(x))
  hits <- tapply(y[1:500], x, sum)
  a <- .Call(C_smooth_fit, c(-3, -1, 0, 1, 3), x, rep(1, 500), as.double(y[1:500]))
  b <- .Call(C_smooth_fit, c(-3, -1, 0, 1, 3), once$values, as.double(once$lengths), as.double(hits))
  expect_equal(a$beta, b$beta, tolerance = 1e-6)
})

test_that("the uncertain smoothness is integrated over, as written out", {
  x <- stored$x
  y <- stored$y
  fit <- .Call(C_smooth_fit, stored$knots, x, rep(1, 800), as.double(y))
  basis <- .Call(C_smooth_basis, stored$knots, x)
  # The penalty, from second derivatives of the basis, which are linear between knots.
  k <- stored$knots
  second <- vapply(1:10, function(j) splinefun(k, as.numeric(1:10 == j), method = "natural")(k, deriv = 2), k)
  h <- diff(k)
  penalty <- Reduce(`+`, lapply(1:9, function(i) h[i] / 6 * (2 * tcrossprod(second[i, ]) +
    2 * tcrossprod(second[i + 1, ]) + tcrossprod(second[i, ], second[i + 1, ]) + tcrossprod(second[i + 1, ], second[i, ]))))
  rho <- log(fit$lambda) + seq(8, -6, length.out = 21)
  parts <- lapply(rho, function(r) {
    beta <- fit$beta
    for (step in 1:50) {
      q <- plogis(drop(basis %*% beta))
      H <- crossprod(basis, q * (1 - q) * basis) + exp(r) * penalty
      beta <- beta + drop(solve(H, crossprod(basis, y - q) - exp(r) * penalty %*% beta))
    }
    eta <- drop(basis %*% beta)
    list(beta = beta, cov = solve(H), weight = sum(y * eta - log1p(exp(eta))) - exp(r) / 2 * sum(beta * (penalty %*% beta)) +
      4 * r - determinant(H)$modulus / 2 - r / 2 - exp(-r / 2))
  })
  w <- vapply(parts, `[[`, 0, "weight")
  w <- exp(w - max(w)) / sum(exp(w - max(w)))
  want <- Reduce(`+`, Map(function(p, w) w * (p$cov + tcrossprod(p$beta - fit$beta)), parts, w))
  expect_equal(fit$spread, want, tolerance = 1e-4)
})

test_that("a straight line stays one", {
  set.seed(2)
  x <- rnorm(3000)
  y <- rbinom(3000, 1, plogis(0.5 + 0.7 * x))
  fit <- smooth_fit(plogis(x), y)
  line <- coef(glm(y ~ x, family = binomial))
  if (fit$edf < 2.01) {
    expect_equal(smooth_at(fit, c(-2, 0, 2))$eta, unname(line[1] + line[2] * c(-2, 0, 2)), tolerance = 1e-2)
  }
  expect_lt(fit$edf, 4)
})

test_that("edges: one score, two scores, zeros and ones, separated events", {
  one <- smooth_fit(rep(.3, 50), rep(0:1, 25))
  expect_equal(smooth_at(one, qlogis(.3))$value, .5)
  two <- smooth_fit(rep(c(.2, .8), 50), rep(c(0, 0, 0, 1, 1, 1, 0, 1), length.out = 100))
  rate <- tapply(rep(c(0, 0, 0, 1, 1, 1, 0, 1), length.out = 100), rep(c(.2, .8), 50), mean)
  expect_equal(smooth_at(two, qlogis(c(.2, .8)))$value, as.vector(rate), tolerance = 1e-6)
  odds <- finite_log_odds(c(0, .5, .999, 1))
  expect_identical(odds$limited, 2L)
  expect_equal(odds$x, c(-qlogis(.999), 0, qlogis(.999), qlogis(.999)))
  expect_equal(finite_log_odds(c(0, 1))$x, c(-1, 1) * log(3))
  p <- seq(.01, .99, length.out = 60)
  curve <- smooth_at(smooth_fit(p, as.integer(p > .5)), qlogis(p))$value
  expect_true(all(is.finite(curve)) && all(diff(curve) > -1e-6))
})

test_that("groups widen the band as repeated rows demand", {
  set.seed(3)
  x <- rnorm(300)
  y <- rbinom(300, 1, plogis(x))
  again <- rep(1:300, each = 5)
  once <- smooth_fit(plogis(x), y)
  five <- smooth_fit(plogis(x[again]), y[again], clusters = list(codes = again, count = 300L))
  plain <- smooth_fit(plogis(x[again]), y[again])
  at <- c(-1, 0, 1)
  expect_lt(max(abs(log(smooth_at(five, at)$error / smooth_at(once, at)$error))), .25)
  expect_lt(max(smooth_at(plain, at)$error / smooth_at(once, at)$error), .7)
})

test_that("errors of a curve are those of its rows", {
  gap <- c(.1, .3, .2, .4)
  x <- qlogis(c(.5, .2, .4, .3)) # two curves, above and below the forecasts
  curves <- cbind(qlogis(plogis(x) + gap), qlogis(plogis(x) - gap / 3))
  for (way in 1:2) {
    got <- gap_summaries(curves[, way, drop = FALSE], x, c(1, 1, 1, 1))
    expect_equal(c(1, 3)[way] * got[, 1], c(ici = .25, e50 = .2, e90 = .4, emax = .4))
  }
  expect_equal(gap_summaries(curves, x, c(5, 1, 1, 1), c(TRUE, TRUE, TRUE, FALSE))[, 1], c(ici = 1.4 / 8, e50 = .1, e90 = .4, emax = .3))
  # many, against R
  drawn <- matrix(rnorm(600), 30)
  w <- rexp(30)
  at <- rnorm(30)
  slow <- apply(abs(plogis(drawn) - plogis(at)), 2, function(g) {
    q <- function(share) min(g[vapply(g, function(u) sum(w[g <= u]) >= share * sum(w), NA)])
    c(sum(w * g) / sum(w), q(.5), q(.9), max(g))
  })
  expect_equal(unname(gap_summaries(drawn, at, w)), slow)
  fit <- smooth_fit(plogis(stored$x), stored$y)
  apart <- abs(smooth_at(fit, stored$x)$value - plogis(stored$x))
  got <- smooth_summary(fit)[, 1]
  expect_equal(unname(got[c(1, 4)]), c(mean(apart), max(apart)))
  expect_equal(unname(got[2:3]), unname(quantile(apart, c(.5, .9), type = 1)))
})

test_that("intervals of the distances hold their estimate", {
  # The curve leaves the diagonal for high probabilities only; for most rows its distance is smaller than that of nearly all drawn curves.
  set.seed(7)
  z <- rnorm(2000, -2, 1.3)
  y <- rbinom(2000, 1, plogis(z + 1.5 * pmax(z - 0.5, 0)))
  out <- suppressWarnings(calib_validate(plogis(z), y))
  e50 <- out[out$measure == "e50", ]
  expect_gt(e50$conf.low, 0)
  expect_lte(e50$conf.low, e50$estimate)
})

test_that("drawn curves that the rows rule out do not widen the distances", {
  # A rare class that is recognised well: few events, nearly all at high probabilities.
  set.seed(1)
  z <- c(rnorm(1900, -9, 1.5), rnorm(100, 1, 2))
  p <- plogis(z)
  y <- rbinom(2000, 1, plogis(z + 0.5 * sin(z)))
  got <- suppressWarnings(calib_validate(p, y))
  high <- function(name) got$conf.high[got$measure == name]
  expect_lt(high("ici"), mean(p) + mean(y))
  expect_lt(high("e50"), 0.005) # 0.005 of half of the rows would be five events where there are none
  expect_gte(high("ici"), got$estimate[got$measure == "ici"])
  # by hand: a cell of weight 2 at log-odds 0; its log-likelihood falls by 2 log(cosh(d/2)), by d^2/4 in the normal approximation
  step <- c(-1, 0, 3)
  expect_equal(.Call(C_smooth_excess, 0, 2, t(step)), 2 * log(cosh(step / 2)) - step^2 / 4)
})

test_that("lower limits of the distances rise from 0 with the evidence and do not stop at the estimate", {
  set.seed(2)
  z <- rnorm(400, -1, 1.2)
  y <- rbinom(400, 1, plogis(-1 + 0.6 * z))
  fit <- smooth_fit(plogis(z), y)
  expect_lt(departure_p(fit), 0.05)
  size <- departure_size(fit)
  low <- smooth_summary(fit, 0.95)[, "low"]
  estimate <- smooth_summary(fit)[, "estimate"]
  expect_true(all(low > 0 & low < 0.95 * estimate))
  # at the level at which the curve is just significant, they are 0
  expect_lt(max(smooth_summary(fit, pchisq(0.99 * size, fit$edf))[, "low"]), 0.01)
  expect_equal(unname(smooth_summary(fit, pchisq(1.01 * size, fit$edf))[, "low"]), rep(0, 4))
})

test_that("thinned cells leave the largest distance where rows are few", {
  # most rows are far down, and the curve is off where few are: cells of equal weight averaged it away
  set.seed(5)
  z <- c(rnorm(2940, -8, 1), runif(60, -5, 6))
  fit <- smooth_fit(plogis(z), rbinom(3000, 1, plogis(1.5 * z)))
  thin <- thin_cells(fit$cells, inner_range(fit$cells))
  expect_lt(length(thin$x), 330)
  expect_equal(sum(thin$w), 3000)
  expect_equal(sum(thin$w * thin$x), sum(fit$cells$w * fit$cells$x))
  expect_false(is.unsorted(thin$x))
  all_cells <- local({
    basis <- .Call(C_smooth_basis, fit$knots, fit$cells$x)
    ends <- inner_range(fit$cells)
    set.seed(6)
    curves <- drop(basis %*% fit$beta) + basis %*% draw_normal(fit$cov, 1000)
    gap_summaries(curves, fit$cells$x, fit$cells$w, fit$cells$x >= ends[1] & fit$cells$x <= ends[2])
  })
  set.seed(6)
  # the other distances are pulled down by the likelihood of the drawn curves, which hardly matters here
  expect_equal(smooth_summary(fit, 0.95)[["emax", "high"]], quantile(all_cells["emax", ], 0.975, names = FALSE), tolerance = 0.05)
})
