# Maps that fall (R/gp-rising.R), methods (39a).

# A logistic regression that is calibrated, with few rows of which one is far out.
few_rows <- function(seed, n = 60) {
  set.seed(seed)
  d <- c(rnorm(n - 1, -1, 1.5), 4.5)
  list(p = plogis(d), y = c(rbinom(n - 1, 1, plogis(d[-n])), 0))
}

fall_of <- function(fit, p) {
  grid <- plogis(seq(qlogis(min(p)), qlogis(max(p)), length.out = 300))
  value <- predict(fit, grid)[, 2]
  max(cummax(value) - value)
}

test_that("with few rows the probability does not fall while the score rises", {
  some <- 0
  for (seed in 1:6) {
    d <- few_rows(seed)
    fit <- suppressWarnings(calib_gp(d$p, d$y))
    expect_true(fit$increasing)
    expect_lt(fall_of(fit, d$p), 0.002)
    free <- free_fit(d$p, d$y)
    some <- some + (fall_of(free, d$p) > 0.05)
    expect_lte(fit$elbo, free$elbo + 0.01)
    expect_gte(fit$hyper[["lengthscale"]], free$hyper[["lengthscale"]] - 1e-6)
  }
  expect_gt(some, 0) # or nothing was asked of the rule
})

test_that("a map falls where many rows say so, and print() says it", {
  set.seed(1)
  d <- runif(3000, -4, 4)
  y <- rbinom(3000, 1, plogis(3 * sin(d) + 0.8))
  fit <- suppressWarnings(calib_gp(plogis(d), y))
  expect_false(fit$increasing)
  expect_gt(fall_of(fit, plogis(d)), 0.3)
  expect_output(print(fit), "a higher score gets a lower probability")
})

test_that("the model of version 0.1 and given lengthscales are left as they are", {
  d <- few_rows(2)
  none <- suppressWarnings(calib_gp(d$p, d$y, class_effects = "none"))
  expect_identical(free_fit(d$p, d$y, class_effects = "none")$elbo, none$elbo)
  held <- suppressWarnings(calib_gp(d$p, d$y, hyper = c(lengthscale = 0.5)))
  expect_equal(held$hyper[["lengthscale"]], 0.5)
})

test_that("several classes: the shared map rises, and the floor stays the one that was chosen", {
  found <- 0
  for (seed in 1:12) {
    set.seed(seed)
    z <- matrix(rnorm(50 * 4, sd = 2), 50)
    y <- max.col(z - log(-log(matrix(runif(200), 50))))
    p <- exp(z) / rowSums(exp(z))
    p[p < 0.02] <- 0
    p <- p / rowSums(p)
    fit <- suppressWarnings(calib_gp(p, y))
    free <- free_fit(p, y)
    expect_identical(fit$floor, free$floor)
    expect_true(fit$increasing || free$elbo - fit$elbo < 1e-9)
    found <- found + (fit$increasing && !free$increasing)
  }
  expect_gt(found, 0)
})

test_that("a fall within the error of frozen rows is none, which the object says all the same", {
  set.seed(2)
  z <- 2 * matrix(rnorm(750), 250)
  z <- z - rowMeans(z)
  y <- max.col(z + 0.55 * sin(2 * z) - log(-log(matrix(runif(750), 250))))
  fit_rows <- function(rows) {
    suppressWarnings(calib_gp(z[rows, ], y[rows], class_effects = "offset", integrate = FALSE, control = gp_control(buffer = 0)))
  }
  fit <- suppressWarnings(update(fit_rows(1:200), z[201:250, ], y[201:250]))
  map <- .Call(C_gp_latent, fit, seq(fit$range[1], fit$range[2], length.out = 512))
  fall <- max((cummax(map$mean) - map$mean) / sqrt(map$var))
  expect_gt(fall, 1e-3)
  expect_lt(fall, fall_known)
  expect_false(fit$increasing)
  expect_lt(fit$hyper[["lengthscale"]], 1) # of a map made to rise: 40
  expect_false(gp_increasing(fit, "linear", NULL, 0.9 * fall))
  expect_true(gp_increasing(fit, "linear", NULL, 1.1 * fall))
  expect_true(fit_rows(1:250)$increasing) # with nothing frozen the rule is as strict as ever
})

test_that("an update follows the same rule", {
  d <- few_rows(2)
  rows <- seq_len(30)
  fit <- suppressWarnings(update(calib_gp(d$p[rows], d$y[rows]), d$p[-rows], d$y[-rows]))
  expect_true(fit$increasing)
  expect_lt(fall_of(fit, d$p), 0.002)
})

test_that("with many rows of three or more classes less is asked of a falling map", {
  expect_equal(fall_limit(2, 1e6), falls_worth)
  expect_equal(fall_limit(3, c(60)), falls_worth)
  expect_equal(fall_limit(4, 1000), falls_worth / 2)
  expect_equal(fall_limit(4, 1e6), falls_worth / 2)
  expect_equal(fall_limit(26, 500), falls_worth / sqrt(2))
})
