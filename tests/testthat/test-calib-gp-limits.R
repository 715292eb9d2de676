# What scores can do to the latent process without being wrong: offsets, outliers, scales,
# weights of zero, and few rows.

test_that("offsets that leave no differences do no harm", {
  z <- matrix(9.225e16, 31, 117)
  expect_warning(fit <- calib_gp(z, rep_len(1:117, 31)), class = "gpcalib_warning_flat")
  expect_true(all(is.finite(predict(fit, z))))
  set.seed(1)
  z <- 1e16 + 2 * matrix(rbinom(600, 1, 0.5), 200)
  for (center in c(TRUE, FALSE)) {
    expect_warning(fit <- calib_gp(z, sample(3, 200, TRUE), center = center),
      class = "gpcalib_warning_flat")
    p <- predict(fit, z)
    expect_true(all(is.finite(p)))
    expect_equal(unname(rowSums(p)), rep(1, 200), tolerance = 1e-8)
  }
  # rows that are equal up to rounding say nothing, and nothing is made of it
  z <- matrix(rep(rnorm(50), 4), 50) / 3 + 0.1
  expect_warning(fit <- calib_gp(z, sample(4, 50, TRUE)), class = "gpcalib_warning_flat")
  expect_equal(unname(predict(fit, z)), matrix(0.25, 50, 4), tolerance = 1e-6)
  # one row far off does not make the others flat
  d <- bent_data(200, 4)
  d$scores[7, ] <- d$scores[7, ] + 1e14
  expect_silent(fit <- calib_gp(d$scores, d$labels))
  expect_gt(fit$hyper[["slope"]], 0)
  expect_error(calib_gp(1e10 + d$scores[-7, ] * 1e-3, d$labels[-7], center = FALSE),
    "center = TRUE", class = "gpcalib_error_input")
  expect_error(calib_gp(d$scores[-7, ] * 1e148, d$labels[-7]), "too far", class = "gpcalib_error_input")
})

test_that("a few rows far out leave the map of the others alone", {
  set.seed(2)
  for (k in c(3, 40)) {
    d <- bent_data(500, k, bend = function(z) 0.7 * z + sin(z))
    near <- shared_gp(d$scores, d$labels)
    d$scores[1:3, ] <- d$scores[1:3, ] * 1000
    d$labels[1:3] <- max.col(d$scores[1:3, ])
    far <- shared_gp(d$scores, d$labels)
    expect_true(far$converged)
    expect_lt(diff(range(far$inducing)), 2 * diff(range(near$inducing)))
    p <- predict(near, d$scores[4:200, ])
    expect_lt(mean(abs(predict(far, d$scores[4:200, ]) - p)), 0.02)
    direct <- gpcalib:::gp_bound(d$scores - rowMeans(d$scores), d$labels, far$inducing, far$q_mean,
      far$q_cov, far$hyper)
    expect_equal(far$elbo, direct$elbo, tolerance = 1e-7)
  }
})

test_that("rows too far out for any grid are an error of the input", {
  set.seed(9)
  d <- bent_data(50, 3)
  d$scores[1, ] <- c(1e100, 0, 0)
  expect_error(calib_gp(d$scores, d$labels), "too far", class = "gpcalib_error_input")
})

test_that("a logit far below the others does not wipe them out", {
  set.seed(10)
  d <- bent_data(300, 4)
  fit <- calib_gp(d$scores, d$labels)
  new <- d$scores[1:20, ]
  new[, 2] <- -Inf
  ruled_out <- suppressWarnings(predict(fit, new))
  for (low in c(-1e12, -1e20, -3.4e38, -1e308)) {
    new[, 2] <- low
    expect_equal(suppressWarnings(predict(fit, new)), ruled_out, tolerance = 1e-12)
    masked <- d$scores
    masked[cbind(1:300, as.integer(d$labels) %% 4 + 1)] <- low
    expect_error(calib_gp(masked, d$labels), "-Inf|too far", class = "gpcalib_error_input")
  }
  expect_error(predict(fit, new * 0 + 1e308), "too far", class = "gpcalib_error_input")
  # far above there is nothing to lose
  d$labels[1] <- levels(d$labels)[1]
  for (far in c(1e9, 3e10, 1e11)) {
    d$scores[1, ] <- c(far, 1, 2, 3)
    expect_error(suppressWarnings(calib_gp(d$scores, d$labels, class_effects = "none")), NA)
  }
  expect_error(suppressWarnings(calib_gp(d$scores, d$labels)), NA)
})

test_that("rows without differences leave the few others their map", {
  set.seed(8)
  for (n in c(20, 100, 1000)) { # 0.95 (n - 1) lies between the last equal row and the next
    d <- bent_data(n, 3)
    d$scores[seq_len(0.95 * n), ] <- 0
    expect_silent(fit <- calib_gp(d$scores, d$labels))
    expect_gt(diff(range(fit$inducing)), 0)
    expect_equal(unname(rowSums(predict(fit, d$scores))), rep(1, n), tolerance = 1e-8)
  }
})

test_that("no scale is too small or too large", {
  set.seed(3)
  d <- bent_data(300, 4)
  for (effects in c("none", "auto")) {
    fit <- quiet_gp(d$scores, d$labels, class_effects = effects)
    for (scale in 10^c(-140, -30, -9, 30, 140)) {
      other <- quiet_gp(d$scores * scale, d$labels, class_effects = effects)
      # a fit stops within 1e-5 nats of the maximum, wherever rounding has led it
      expect_equal(other$elbo, fit$elbo, tolerance = if (effects == "none") 1e-5 / abs(fit$elbo) else 0.01 / abs(fit$elbo)) # effects: within 0.01
      expect_equal(other$hyper[["slope"]] * scale, fit$hyper[["slope"]], tolerance = 1e-2)
      expect_equal(unname(predict(other, d$scores * scale)), unname(predict(fit, d$scores)),
        tolerance = if (effects == "none") 1e-4 else 1e-3)
    }
  }
})

test_that("rows of weight zero are absent", {
  set.seed(4)
  d <- bent_data(300, 4)
  w <- rep(0:1, 150) # whatever rows a sample of them would take
  d$scores[w == 0, ] <- d$scores[w == 0, ] * 50
  with <- calib_gp(d$scores, d$labels, weights = w)
  without <- calib_gp(d$scores[w == 1, ], d$labels[w == 1])
  expect_equal(with$n, 300)
  fields <- c("elbo", "hyper", "inducing", "q_mean", "range")
  expect_equal(with[fields], without[fields], tolerance = 1e-10)
})

test_that("weights that no rows could stand for are refused, heavy ones are named when a fit fails", {
  set.seed(4)
  d <- bent_data(100, 4)
  expect_error(calib_gp(d$scores, d$labels, weights = rep(1e20, 100)), "`weights` sum to 1e\\+22",
    class = "gpcalib_error_input")
  heavy <- 10^seq(-3, 9, length.out = 100)
  expect_warning(suppressWarnings(calib_gp(d$scores, d$labels, weights = heavy, control = gp_control(max_passes = 5)),
    classes = "gpcalib_warning_changed"), "weights count as .*e\\+09 rows", class = "gpcalib_warning_not_converged")
})

test_that("logits that stand for a mask are named when a fit fails", {
  set.seed(4)
  d <- bent_data(100, 4)
  d$scores[cbind(1:100, as.integer(d$labels) %% 4 + 1)] <- -1e9
  expect_warning(calib_gp(d$scores, d$labels, control = gp_control(max_passes = 1)), "write -Inf",
    class = "gpcalib_warning_not_converged")
})

test_that("rows that share an offset beyond computing are refused", {
  flat <- matrix(-1e300, 5, 3)
  expect_error(calib_gp(flat, c(1, 2, 3, 1, 2)), "reach 1e\\+300", class = "gpcalib_error_input")
})

test_that("a fit of few rows has converged when it says so, and its bound is the direct one", {
  set.seed(5)
  checked <- 0
  for (i in 1:60) {
    n <- sample(3:60, 1)
    d <- bent_data(n, sample(2:15, 1), spread = exp(rnorm(1, 1)))
    covariance <- sample(c("full", "diag"), 1)
    fit <- suppressWarnings(shared_gp(d$scores, d$labels, covariance = covariance))
    if (fit$status != "ok") next
    at <- gpcalib:::gp_bound(d$scores - rowMeans(d$scores), d$labels, fit$inducing, fit$q_mean,
      fit$q_cov, fit$hyper, covariance = covariance)
    expect_equal(fit$elbo, at$elbo, tolerance = 1e-7)
    slope <- at$gradient$q_mean # Newton's gain in m, H = S^-1
    expect_lt(drop(slope %*% fit$q_cov %*% slope) / 2, 1e-3)
    checked <- checked + 1
  }
  expect_gt(checked, 50)
})

test_that("held values that cannot be used are refused", {
  set.seed(6)
  d <- bent_data(100, 3)
  expect_error(calib_gp(d$scores, d$labels, hyper = c(lengthscale = 1e-4)), "longer",
    class = "gpcalib_error_input")
  expect_error(calib_gp(d$scores, d$labels, mean = "identity", hyper = c(slope = 2)), "slope",
    class = "gpcalib_error_input")
  expect_silent(calib_gp(d$scores, d$labels, inducing = c(-50, -1, 0, 1, 60)))
})

test_that("a fit that gives up says so", {
  set.seed(7)
  d <- bent_data(300, 4)
  expect_warning(fit <- calib_gp(d$scores, d$labels, control = gp_control(max_passes = 3)),
    "max_passes", class = "gpcalib_warning_not_converged")
  expect_false(fit$converged)
})

test_that("a score far below all others is a class ruled out, however far", {
  set.seed(3)
  z <- matrix(rnorm(3000, sd = 2), 300)
  y <- max.col(z / 1.5 - log(-log(matrix(runif(3000), 300))))
  other <- y[7] %% 10 + 1
  z[7, other] <- -60
  near <- calib_gp(z, y, class_effects = "none", center = FALSE, integrate = FALSE)
  for (far in c(-1e9, -2e11, -1e15)) {
    z[7, other] <- far
    fit <- calib_gp(z, y, class_effects = "none", center = FALSE, integrate = FALSE)
    expect_equal(fit$elbo, near$elbo, tolerance = 1e-6)
    expect_equal(fit$hyper[["slope"]], near$hyper[["slope"]], tolerance = 1e-3)
  }
})
