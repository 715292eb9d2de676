fit_bent <- function(n = 300, k = 5, ...) {
  d <- bent_data(n, k)
  c(d, list(fit = quiet_gp(d$scores, d$labels, ...)))
}

# The exact answer for one row by brute force over its joint Gaussian.
brute <- function(fit, z, draws = 20000) {
  row <- oracle_row(z - mean(z), fit$inducing, fit$q_mean, fit$q_cov, fit$hyper)
  e <- eigen(row$cov, symmetric = TRUE)
  x <- e$vectors %*% (sqrt(pmax(e$values, 0)) * matrix(rnorm(length(z) * draws), length(z)))
  g <- row$phi + cbind(x, -x)
  g <- exp(g - max(row$phi))
  rowMeans(g / rep(colSums(g), each = length(z)))
}

test_that("the mean approximation is the softmax of the posterior mean", {
  set.seed(1)
  for (k in c(3, 40, 300)) {
    d <- fit_bent(200, k, class_effects = "none")
    p <- predict(d$fit, d$scores, approx = "mean")
    for (n in c(1, 17, 200)) {
      z <- d$scores[n, ] - mean(d$scores[n, ])
      row <- oracle_row(z, d$fit$inducing, d$fit$q_mean, d$fit$q_cov, d$fit$hyper)
      expect_equal(unname(p[n, ]), oracle_soft(row$phi), tolerance = 1e-6)
    }
  }
})

test_that("delta is the second-order expansion, and close to the truth", {
  set.seed(2)
  for (k in c(4, 200)) { # few scores, and by way of the nodes
    d <- fit_bent(2000, k, class_effects = "none")
    p <- predict(d$fit, d$scores)
    expect_equal(unname(rowSums(p)), rep(1, 2000), tolerance = 1e-8)
    expanded <- moved <- 0
    for (n in 1:30) {
      z <- d$scores[n, ] - mean(d$scores[n, ])
      row <- oracle_row(z, d$fit$inducing, d$fit$q_mean, d$fit$q_cov, d$fit$hyper)
      s <- oracle_soft(row$phi)
      cs <- drop(row$cov %*% s)
      dk <- diag(row$cov) - 2 * cs + sum(s * cs)
      if (max(s * dk^2, max(s) * sum(s * dk^2)) < 3e-4) {
        expanded <- expanded + 1
        second <- s * (1 + (dk - sum(s * dk)) / 2)
        expect_lt(max(abs(p[n, ] - second)), 6e-5)
        moved <- max(moved, max(abs(second - s)))
      }
      expect_lt(max(abs(p[n, ] - brute(d$fit, d$scores[n, ], 4000))), 3e-3)
    }
    expect_gt(expanded, 2) # there were such rows,
    expect_gt(moved, 5e-4) # and the second order is seen in them
  }
})

test_that("two classes agree with one-dimensional quadrature", {
  set.seed(3)
  z <- rnorm(300, sd = 3)
  y <- runif(300) < plogis(z / 2 + sin(z))
  fit <- shared_gp(z, y, input = "logits")
  new <- c(-20, -3, 0, 0.5, 2, 8, 30)
  p <- suppressWarnings(predict(fit, new))
  for (i in seq_along(new)) {
    row <- oracle_row(c(-new[i], new[i]) / 2, fit$inducing, fit$q_mean, fit$q_cov, fit$hyper)
    mean <- diff(row$phi)
    sd <- sqrt(sum(row$cov * c(1, -1, -1, 1)))
    exact <- integrate(function(x) plogis(mean + sd * x) * dnorm(x), -9, 9, rel.tol = 1e-12,
      subdivisions = 1000)$value
    expect_equal(p[[i, 2]], exact, tolerance = 1e-9)
  }
  expect_equal(unname(rowSums(p)), rep(1, length(new)), tolerance = 1e-10)
})

test_that("Monte Carlo draws functions with the posterior covariance", {
  set.seed(4)
  d <- fit_bent(integrate = FALSE)
  new <- d$scores[1:3, ]
  draws <- predict(d$fit, new, type = "draws", n_draws = 4000, vary_slope = FALSE)
  expect_equal(dim(draws), c(3, 5, 4000))
  expect_equal(unname(apply(draws, 1:2, mean)), unname(predict(d$fit, new)), tolerance = 5e-3)
  # log-ratios of probabilities are differences of latent values
  ratio <- log(draws[1, 2, ]) - log(draws[1, 1, ])
  z <- new[1, ] - mean(new[1, ])
  row <- oracle_row(z, d$fit$inducing, d$fit$q_mean, d$fit$q_cov, d$fit$hyper)
  expect_equal(mean(ratio), diff(row$phi[1:2]), tolerance = 1e-3)
  expect_equal(var(ratio), sum(row$cov[1:2, 1:2] * c(1, -1, -1, 1)), tolerance = 0.1)
  set.seed(5)
  a <- predict(d$fit, new, approx = "mc")
  set.seed(5)
  expect_identical(predict(d$fit, new, approx = "mc"), a)
  expect_false(identical(predict(d$fit, new, approx = "mc"), a))
  lone <- predict(d$fit, new, approx = "mc", n_draws = 4000, independent = TRUE)
  expect_equal(unname(rowSums(lone)), rep(1, 3), tolerance = 1e-8)
})

test_that("the default leaves the random numbers alone", {
  set.seed(6)
  d <- fit_bent()
  before <- .Random.seed
  p <- suppressWarnings(predict(d$fit, d$scores * 2))
  expect_identical(.Random.seed, before)
  expect_true(all(p > 0))
})

test_that("latent values, intervals and classes have their shapes and agree", {
  set.seed(7)
  d <- fit_bent()
  rownames(d$scores) <- paste0("r", seq_len(nrow(d$scores)))
  new <- d$scores[1:4, ]
  latent <- predict(d$fit, new, type = "latent")
  z <- new[2, ] - mean(new[2, ])
  row <- oracle_row(z, d$fit$inducing, d$fit$q_mean, d$fit$q_cov, d$fit$hyper)
  expect_equal(unname(latent$mean[2, ]), row$phi, tolerance = 1e-8, ignore_attr = TRUE)
  expect_gt(d$fit$slope_sd, 0) # by a unit of the slope the map moves by z + a(z)'slope_cross
  along <- oracle_row(z, d$fit$inducing, d$fit$slope_cross, d$fit$q_cov, replace(d$fit$hyper, "slope", 1))$phi
  expect_equal(unname(latent$var[2, ]), diag(row$cov) + (d$fit$slope_sd * along)^2, tolerance = 1e-6, ignore_attr = TRUE)
  expect_equal(unname(latent$var[2, ]), latent(d$fit, z)$sd^2, tolerance = 1e-8)
  band <- predict(d$fit, new, type = "interval")
  expect_equal(dim(band), c(4, 5, 3))
  expect_equal(dimnames(band)[[1]], paste0("r", 1:4))
  expect_true(all(band[, , "lower"] <= band[, , "upper"]))
  expect_equal(band[, , "estimate"], predict(d$fit, new))
  draws <- predict(d$fit, new, type = "draws", n_draws = 2000)
  set.seed(8)
  wide <- predict(d$fit, new, type = "interval", level = 0.5, n_draws = 2000)
  expect_equal(unname(wide[, , "lower"]), unname(apply(draws, 1:2, quantile, 0.25)), tolerance = 0.05)
  expect_equal(predict(d$fit, new, type = "class"),
    factor(max.col(predict(d$fit, new)), levels = 1:5))
})

test_that("outside the range the map returns to the prior and intervals widen", {
  set.seed(9)
  d <- fit_bent()
  width <- diff(d$fit$range)
  far <- latent(d$fit, c(0, d$fit$range[2] + 10 * width))
  expect_gt(far$sd[2], far$sd[1])
  expect_equal(far$sd[2]^2, sum(d$fit$hyper[c("variance", "noise")]) + (d$fit$slope_sd * far$z[2])^2, tolerance = 1e-6)
  expect_equal(far$mean[2], d$fit$hyper[["slope"]] * far$z[2], tolerance = 1e-6)
  expect_warning(p <- predict(d$fit, d$scores * 10), class = "gpcalib_warning_extrapolation")
  expect_false(anyNA(p))
  expect_silent(predict(d$fit, d$scores))
  near <- predict(d$fit, d$scores[1:20, ], type = "interval")
  out <- suppressWarnings(predict(d$fit, d$scores[1:20, ] / 4 + matrix(c(0, 0, 0, 0, 6 * width), 20, 5,
    byrow = TRUE), type = "draws", n_draws = 400))
  expect_false(anyNA(out))
})

test_that("a saved fit predicts the same in a new session", {
  skip_on_cran()
  set.seed(10)
  d <- fit_bent()
  file <- tempfile(fileext = ".rds")
  out <- tempfile(fileext = ".rds")
  on.exit(unlink(c(file, out)))
  saveRDS(list(fit = d$fit, new = d$scores), file)
  code <- sprintf("x <- readRDS('%s'); .libPaths(c(%s)); saveRDS(predict(x$fit, x$new), '%s')",
    file, paste0("'", .libPaths(), "'", collapse = ", "), out)
  code <- paste("invisible(loadNamespace('gpcalib', lib.loc = ",
    deparse(dirname(system.file(package = "gpcalib"))), "));", code)
  system2(file.path(R.home("bin"), "Rscript"), c("-e", shQuote(code)))
  expect_identical(readRDS(out), predict(d$fit, d$scores))
})

test_that("zeros and ruled-out classes in new scores are safe", {
  d <- rain_nyc[rain_nyc$prob > 0.01 & rain_nyc$prob < 0.99, ]
  fit <- calib_gp(d$prob, d$rain)
  p <- suppressWarnings(predict(fit, c(0, 1e-300, 0.5, 1)))
  expect_true(all(is.finite(p)) && all(p > 0))
  d <- fit_bent()
  new <- d$scores[1:3, ]
  new[1, 2] <- -Inf
  p <- suppressWarnings(predict(d$fit, new))
  expect_true(all(is.finite(p)))
  expect_lt(p[1, 2], 1e-6)
  expect_equal(dim(predict(d$fit, new[0, ])), c(0, 5))
})

test_that("a row's answer does not depend on the rows beside it", {
  set.seed(11)
  for (k in c(5, 300)) {
    d <- fit_bent(300, k)
    new <- rbind(d$scores[1:40, ], 3 * d$scores[41:50, ])
    all <- suppressWarnings(predict(d$fit, new))
    for (rows in list(1:3, 17, 45:50)) {
      some <- suppressWarnings(predict(d$fit, new[rows, , drop = FALSE]))
      expect_equal(some, all[rows, , drop = FALSE], tolerance = 1e-12)
    }
  }
  # some of these rows are near the border between the expansion and the integral
  set.seed(1)
  d <- bent_data(400, 50)
  fit <- suppressWarnings(calib_gp(d$scores, d$labels, hyper = c(variance = 2, lengthscale = 3)))
  new <- 1.5 * d$scores[1:100, ]
  for (approx in c("mean", "delta")) {
    one <- function(rows) suppressWarnings(predict(fit, new[rows, , drop = FALSE], approx = approx))
    expect_equal(do.call(rbind, lapply(1:100, one)), one(1:100), tolerance = 1e-12)
  }
})

test_that("a class ruled out in one row moves no other, and leaves the rest of its own", {
  set.seed(12)
  d <- bent_data(400, 5)
  for (center in c(TRUE, FALSE)) {
    fit <- quiet_gp(d$scores, d$labels, center = center)
    new <- d$scores[1:20, ]
    before <- predict(fit, new)
    new[3, 2] <- -Inf
    after <- suppressWarnings(predict(fit, new))
    expect_equal(after[-3, ], before[-3, ], tolerance = 1e-12)
    expect_lt(after[3, 2], 1e-6)
    if (!center) next
    # the others are where they would be in a problem without that class
    four <- latent(fit, new[3, -2] - mean(new[3, -2]))$mean
    expect_equal(unname(after[3, -2]), exp(four) / sum(exp(four)), tolerance = 0.05)
  }
})

test_that("rows too uncertain for the expansion are integrated well", {
  for (seed in 1:4) {
    set.seed(seed)
    d <- bent_data(60, c(3, 5, 10, 30)[seed], spread = 3)
    fit <- suppressWarnings(calib_gp(d$scores, d$labels,
      hyper = c(variance = 2, lengthscale = 3)))
    new <- matrix(rnorm(20 * ncol(d$scores), sd = 4), 20)
    exact <- suppressWarnings(predict(fit, new, approx = "mc", n_draws = 1e5))
    expect_lt(max(abs(suppressWarnings(predict(fit, new)) - exact)), 2.5e-3)
    mean <- suppressWarnings(predict(fit, new, approx = "mean"))
    expect_gt(max(abs(mean - exact)), 0.01) # there is something to integrate
  }
})

test_that("and so they are with many inducing inputs", {
  set.seed(1)
  d <- bent_data(60, 10, spread = 3)
  new <- matrix(rnorm(200, sd = 9), 20)
  for (effects in c("none", "matrix")) { # effects have fewer points to integrate over
    fit <- suppressWarnings(calib_gp(d$scores, d$labels, inducing = 250, class_effects = effects,
      hyper = c(variance = 2, lengthscale = 3)))
    exact <- suppressWarnings(predict(fit, new, approx = "mc", n_draws = 4e4))
    expect_lt(max(abs(suppressWarnings(predict(fit, new)) - exact)), if (effects == "none") 5e-3 else 1e-2)
  }
})

test_that("intervals of many classes need little memory at a time", {
  set.seed(13)
  d <- bent_data(60, 2000)
  fit <- calib_gp(d$scores, d$labels)
  ends <- suppressWarnings(predict(fit, d$scores[1:3, ], type = "interval", n_draws = 2000))
  expect_equal(dim(ends), c(3, 2000, 3))
  expect_true(all(ends[, , "lower"] <= ends[, , "upper"]))
})

test_that("intervals know that the slope was estimated", {
  set.seed(14)
  x <- rnorm(500, 0, 1.5)
  y <- factor(rbinom(500, 1, plogis(x)), 0:1)
  fit <- shared_gp(cbind(0, 2 * x), y)
  line <- calib_temperature(cbind(0, 2 * x), y)
  # where the process adds nothing, its slope is 1/T, and so is the standard error
  expect_lt(fit$hyper[["variance"]], 0.05)
  expect_equal(fit$slope_sd, line$std_error / line$temperature^2, tolerance = 0.05)
  expect_equal(tidy(fit)$std.error[4], fit$slope_sd)
  at <- c(-3, 1, 4)
  ends <- predict(fit, cbind(0, at), type = "interval", n_draws = 20000)[, 2, ]
  wald <- plogis(outer(at, 1 / line$temperature + c(-1.96, 1.96) * fit$slope_sd))
  expect_equal(unname(ends[, c("lower", "upper")]), t(apply(wald, 1, sort)), tolerance = 0.02)
  draws <- predict(fit, cbind(0, at), type = "draws", n_draws = 20000, vary_slope = TRUE)
  expect_equal(unname(apply(draws[, 2, ], 1, quantile, 0.975)), unname(ends[, "upper"]),
    tolerance = 0.02)
  # a slope that is held is known
  held <- shared_gp(cbind(0, 2 * x), y, hyper = c(slope = 0.5))
  expect_identical(held$slope_sd, 0)
  expect_lt(diff(predict(held, cbind(0, 4), type = "interval")[1, 2, 2:3]), 0.02)
})

test_that("the slope's variance is that of the joint curvature", {
  set.seed(15)
  d <- bent_data(300, 4)
  fit <- shared_gp(d$scores, d$labels)
  z <- d$scores - rowMeans(d$scores)
  precision <- diag(c(rep(1, length(fit$inducing)), 0))
  for (n in seq_len(nrow(z))) {
    f <- oracle_features(z[n, ], fit$inducing, fit$hyper)
    s <- oracle_soft(oracle_row(z[n, ], fit$inducing, fit$q_mean, fit$q_cov, fit$hyper)$phi)
    x <- rbind(f$a, z[n, ])
    precision <- precision + x %*% (diag(s) - tcrossprod(s)) %*% t(x)
  }
  cov <- solve(precision)
  last <- nrow(cov)
  expect_equal(fit$slope_sd, sqrt(cov[last, last]), tolerance = 1e-4)
  expect_equal(fit$slope_cross, cov[-last, last] / cov[last, last], tolerance = 1e-3)
})

test_that("intervals cover the truth about as often as they say", {
  hits <- NULL
  set.seed(16)
  for (i in 1:40) {
    z <- matrix(rnorm(400 * 3, sd = 3), 400)
    p <- exp(z / 1.7) / rowSums(exp(z / 1.7))
    y <- max.col(z / 1.7 - log(-log(matrix(runif(1200), 400))))
    fit <- suppressWarnings(calib_gp(z[1:390, ], y[1:390]))
    ends <- suppressWarnings(predict(fit, z[391:400, ], type = "interval"))
    hits <- c(hits, mean(ends[, , "lower"] <= p[391:400, ] & p[391:400, ] <= ends[, , "upper"]))
  }
  expect_gt(mean(hits), 0.85)
})

test_that("no probability is exactly 0, however it is averaged", {
  d <- oracle_data(80, 4, seed = 6)
  fit <- calib_gp(d$z, d$y)
  far <- rbind(c(0, -5000, 1, 2), c(3000, 1, 2, 0))
  for (approx in c("delta", "mean", "mc")) {
    p <- suppressWarnings(predict(fit, far, approx = approx))
    expect_gt(min(p), 0)
    expect_equal(unname(rowSums(p)), c(1, 1))
  }
})

test_that("a ruled-out class is never above a logit of its row", {
  set.seed(17)
  d <- bent_data(300, 4)
  for (center in c(TRUE, FALSE)) {
    fit <- calib_gp(4 * d$scores, d$labels, center = center) # a slope of about 0.3
    new <- rbind(c(0, -Inf, -2000, 1), c(-Inf, 0, 1, -1e5), c(0, 1, -Inf, -Inf), c(0, 1, 2, 3))
    p <- suppressWarnings(predict(fit, new))
    expect_lte(p[1, 2], p[1, 3])
    expect_lte(p[2, 1], p[2, 4])
    expect_lt(max(p[3, 3:4]), 1e-90)
    expect_true(all(p > 0))
    expect_equal(unname(rowSums(p)), rep(1, 4))
    # the row without is what it is alone, to the last bit
    expect_identical(p[4, , drop = FALSE], predict(fit, new[4, , drop = FALSE]))
  }
})

test_that("-Inf in one row leaves the others as they are", {
  set.seed(18)
  d <- bent_data(300, 4)
  fit <- calib_gp(d$scores, d$labels)
  data <- check_newdata(fit, rbind(d$scores, c(0, -Inf, 1, 2)), 1L)
  at <- gp_newdata(fit, c(data, threads = 1L))
  expect_identical(at$z[1:300, ], data$scores[1:300, ])
  expect_equal(at$shift[1:300], rowMeans(d$scores), tolerance = 1e-14)
  expect_equal(at$shift[301], 1)
})

test_that("scores outside the range are counted alike on either road", {
  set.seed(19)
  d <- bent_data(300, 4)
  fit <- calib_gp(d$scores, d$labels)
  new <- 2 * d$scores
  data <- c(check_newdata(fit, new, 1L), threads = 1L)
  at <- gp_newdata(fit, data)
  centred <- new - rowMeans(new)
  outside <- sum(centred < fit$range[1] | centred > fit$range[2])
  expect_gt(outside, 10)
  expect_equal(at$outside, outside)
  expect_equal(gp_centre(fit, at[c("z", "floor")], 1L)[c("shift", "outside")], at[c("shift", "outside")])
})

test_that("arguments complain where they do not apply", {
  fit <- calib_gp(rain_nyc$prob[1:300], rain_nyc$rain[1:300])
  bad <- function(...) expect_error(predict(fit, 0.4, ...), class = "gpcalib_error_input")
  bad(type = "interval", approx = "mean")
  bad(type = "latent", approx = "delta")
  bad(level = 0.9)
  bad(type = "draws", level = 0.9)
  bad(n_draws = 10)
  bad(type = "latent", n_draws = 10)
  bad(independent = TRUE)
  bad(type = "draws", independent = TRUE)
  bad(vary_slope = TRUE)
  bad(approx = "mc", vary_slope = TRUE)
  expect_error(predict(fit, 0.4, level = 0.9), "`level` is only for type = \"interval\"", fixed = TRUE)
  plain <- shared_gp(rain_nyc$prob[1:300], rain_nyc$rain[1:300])
  expect_equal(dim(predict(plain, 0.4, approx = "mc", n_draws = 10, independent = TRUE)), c(1, 2))
  expect_identical(fit$class_effects, "matrix")
  expect_error(predict(fit, 0.4, approx = "mc", independent = TRUE), "the fit has class effects",
    class = "gpcalib_error_input")
  expect_equal(dim(predict(fit, 0.4, type = "draws", n_draws = 10, vary_slope = TRUE)), c(1, 2, 10))
  expect_equal(dim(predict(fit, 0.4, type = "interval", level = 0.5, vary_slope = FALSE)), c(1, 2, 3))
})

test_that("summary() measures the departure by the core's own features", {
  set.seed(20)
  d <- bent_data(300, 5)
  fit <- suppressWarnings(calib_gp(d$scores, d$labels, inducing = 40,
    hyper = c(noise = 0, lengthscale = 6, variance = 2)))
  away <- summary(fit)$departure
  map <- latent(fit, away$z)$mean - fit$hyper[["slope"]] * away$z
  # the line has the map's mean over the calibration scores, true and other classes with half of the weight each
  seen <- fit$scores_seen
  middle <- seen$breaks[1] + (seq_along(seen$true) - 0.5) * diff(seen$breaks[c(1, length(seen$breaks))]) / length(seen$true)
  at <- latent(fit, middle)$mean - fit$hyper[["slope"]] * middle
  half <- 0.5 * seen$true / sum(seen$true) + 0.5 * seen$other / sum(seen$other)
  expect_equal(away$departure, map - sum(half * at), tolerance = 1e-6)
  expect_true(all(is.finite(away$sd)))
  expect_lt(max(away$sd), sqrt(2 * 2))
})

test_that("summary() says of the map only what is true", {
  set.seed(21)
  z <- matrix(rnorm(1500, sd = 3), 500)
  fit <- calib_gp(z, max.col(z / 2 - log(-log(matrix(runif(1500), 500)))))
  expect_true(fit$increasing)
  text <- capture.output(print(summary(fit)))
  expect_match(text, "its mean keeps the order of the classes", all = FALSE)
  expect_no_match(text, "no row changes")
})

test_that("many unlikely classes together can make an expansion wrong, and are integrated", {
  set.seed(20)
  d <- bent_data(60, 200, spread = 3)
  fit <- suppressWarnings(calib_gp(d$scores, d$labels, hyper = c(variance = 8, lengthscale = 2)))
  new <- matrix(rnorm(20 * 200, sd = 3), 20)
  exact <- suppressWarnings(predict(fit, new, approx = "mc", n_draws = 4e4))
  expect_lt(max(abs(suppressWarnings(predict(fit, new)) - exact)), 1e-3)
  expect_gt(max(abs(suppressWarnings(predict(fit, new, approx = "mean")) - exact)), 1e-2)
})

test_that("a zero that fitting has not seen leaves the other classes where they were", {
  set.seed(21)
  z <- matrix(rnorm(400 * 4, sd = 2), 400)
  p <- exp(z) / rowSums(exp(z))
  y <- max.col(z / 2 - log(-log(matrix(runif(1600), 400))))
  far <- function(...) suppressWarnings(predict(...), classes = "gpcalib_warning_extrapolation")
  new <- rbind(c(0.5, 0.3, 0.2, 0), c(0.5, 0.3, 0.2, 1e-12))
  for (mean in c("linear", "log")) {
    fit <- calib_gp(p, y, mean = mean, class_effects = "none")
    expect_null(fit$floor)
    expect_equal(fit$least, min(p))
    got <- far(fit, new)
    expect_true(all(got > 0)) # never an exact 0
    # below the square of the smallest seen, at most 1e-8, all is the same
    expect_equal(got[1, ], got[2, ], tolerance = 1e-12)
    expect_gt(got[1, 4], 1e-12)
    # what is exported says the same
    expect_equal(gp_formula(fit)$floor, min(fit$least, 1e-4)^2)
    # smaller than seen, but no zero: still told apart
    low <- far(fit, rbind(c(0.5, 0.3, 0.2 - 1e-5, 1e-5), c(0.5, 0.3, 0.2 - 1e-7, 1e-7)))
    expect_lt(low[2, 4], 0.5 * low[1, 4])
  }
  fit["least"] <- NULL # of an earlier version: as it was
  expect_lt(far(fit, new)[1, 4], 1e-200)
})

test_that("limits of a few rows hardly depend on the draw, and n_draws is the user's", {
  set.seed(1)
  z <- rnorm(160)
  y <- rbinom(160, 1, plogis(0.8 * z))
  fit <- suppressWarnings(calib_gp(plogis(z), y))
  upper <- vapply(1:8, function(i) predict(fit, 0.3, type = "interval")[, 2, 3], 0)
  expect_lt(diff(range(upper)), 0.008)
  set.seed(2)
  one <- predict(fit, 0.3, type = "interval")
  set.seed(2)
  expect_identical(predict(fit, 0.3, type = "interval", n_draws = 4000), one)
  set.seed(2)
  expect_false(identical(predict(fit, 0.3, type = "interval", n_draws = 1000), one))
  # limits are those of the map, whatever the other rows are
  many <- c(0.3, runif(500, 0.3, 0.7))
  set.seed(2)
  expect_identical(predict(fit, many, type = "interval")[1, , ], one[1, , ])
  # without the average they are those of the rows
  plain <- suppressWarnings(calib_gp(plogis(z), y, integrate = FALSE))
  set.seed(2)
  one <- predict(plain, 0.3, type = "interval")
  set.seed(2)
  expect_identical(predict(plain, 0.3, type = "interval", n_draws = 20000), one)
  many <- rep(0.3, 500) # take no more than before
  set.seed(3)
  all <- predict(plain, many, type = "interval")
  set.seed(3)
  expect_identical(predict(plain, many, type = "interval", n_draws = 1000), all)
})

test_that("two classes: scores are outside where no row was, whatever the map has seen", {
  set.seed(3)
  p <- runif(400, 0.2, 0.95)
  y <- rbinom(400, 1, p)
  fit <- calib_gp(p, y)
  expect_equal(fit$event_range, range(p))
  # of 0.1 the map has seen the other class's score: that of 0.9
  expect_warning(predict(fit, c(0.1, 0.15, 0.5, 0.6)), "^50 % of the scores", class = "gpcalib_warning_extrapolation")
  expect_silent(predict(fit, p))
  logits <- calib_gp(cbind(0, qlogis(p)), y + 1)
  expect_warning(predict(logits, cbind(0, qlogis(c(0.1, 0.5)))), "^50 % of the scores", class = "gpcalib_warning_extrapolation")
  expect_silent(predict(logits, cbind(0, qlogis(p))))
  expect_match(gsub("\n", " ", plot_map(fit)$labels$caption), "The calibration scores lie between 0.21 and 0.95; what is beyond is extrapolated, and has no band.", fixed = TRUE)
  more <- suppressWarnings(update(fit, c(0.05, 0.5), c(0, 1)))
  expect_equal(more$event_range, c(0.05, max(p)))
  expect_silent(predict(more, c(0.1, 0.15, 0.5, 0.6)))
  old <- fit
  old["event_range"] <- list(NULL)
  expect_silent(predict(old, c(0.1, 0.15, 0.5, 0.6)))
})
