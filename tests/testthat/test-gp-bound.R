relative <- function(x, y) max(abs(x - y)) / max(abs(y))

test_that("the direct bound is the definition", {
  set.seed(1)
  for (k in c(2, 5)) for (mean in c("linear", "identity", "log")) for (cov in c("full", "diag")) {
    p <- random_point(k, mean)
    expect_equal(bound_at(p, mean = mean, covariance = cov)$elbo,
      do.call(oracle_bound, c(p, list(mean = mean, covariance = cov))), tolerance = 1e-12)
  }
})

central <- function(p, field, i, step, ...) {
  up <- down <- p
  up[[field]][i] <- up[[field]][i] + step
  down[[field]][i] <- down[[field]][i] - step
  if (field == "q_cov") { # keep it symmetric
    up$q_cov <- (up$q_cov + t(up$q_cov)) / 2
    down$q_cov <- (down$q_cov + t(down$q_cov)) / 2
  }
  (bound_at(up, ...)$elbo - bound_at(down, ...)$elbo) / (2 * step)
}

test_that("every gradient agrees with central differences", {
  set.seed(2)
  for (k in c(2, 6)) for (mean in c("linear", "identity", "log")) {
    for (cov in c("full", "diag")) for (point in 1:2) {
      p <- random_point(k, mean)
      g <- bound_at(p, mean = mean, covariance = cov)$gradient
      differences <- function(field, step = 1e-5) {
        vapply(seq_along(p[[field]]), function(i) central(p, field, i, step, mean = mean,
          covariance = cov), 0)
      }
      expect_lt(relative(g$q_mean, differences("q_mean")), 1e-7)
      expect_lt(relative(g$inducing, differences("inducing")), 1e-6)
      expect_lt(relative(as.vector(g$q_cov), differences("q_cov")), 1e-6)
      names <- c("variance", "lengthscale", "noise", if (mean == "linear") "slope")
      steps <- c(variance = 1e-5, lengthscale = 1e-5, noise = 1e-7, slope = 1e-5)
      for (name in names) {
        at <- match(name, names(p$hyper))
        expect_equal(g[[name]], central(p, "hyper", at, steps[[name]], mean = mean,
          covariance = cov), tolerance = 1e-5)
      }
    }
  }
})

test_that("the three routes agree", {
  set.seed(3)
  for (k in c(2, 7, 60)) for (mean in c("linear", "log")) for (cov in c("full", "diag")) {
    p <- random_point(k, mean, n = 30)
    direct <- bound_at(p, mean = mean, covariance = cov)
    for (route in c("grid", "rows")) {
      other <- bound_at(p, mean = mean, covariance = cov, route = route)
      expect_identical(other$route, route)
      expect_lt(abs(other$elbo / direct$elbo - 1), 1e-8)
      for (name in c("q_mean", "q_cov", "inducing")) {
        expect_lt(relative(other$gradient[[name]], direct$gradient[[name]]), 1e-8)
      }
      scalars <- c("variance", "lengthscale", "slope")
      expect_lt(relative(unlist(other$gradient[scalars]), unlist(direct$gradient[scalars])), 1e-8)
    }
  }
})

test_that("the routes agree for scores of any range", {
  set.seed(4)
  for (scale in c(1e-4, 1, 1e4)) {
    p <- random_point(5, n = 30)
    p$scores <- p$scores * scale
    p$inducing <- p$inducing * scale
    p$hyper[["lengthscale"]] <- p$hyper[["lengthscale"]] * scale
    direct <- bound_at(p)
    for (route in c("grid", "rows")) {
      other <- bound_at(p, route = route) # with logits of 1e4 rows falls back, and says so
      expect_lt(abs(other$elbo / direct$elbo - 1), 1e-8)
      expect_lt(relative(other$gradient$q_mean, direct$gradient$q_mean), 1e-8)
    }
  }
  # a few scores far outside the rest
  p <- random_point(5, n = 40)
  p$scores[1, ] <- p$scores[1, ] * 500
  direct <- bound_at(p)
  for (route in c("grid", "rows")) {
    expect_lt(abs(bound_at(p, route = route)$elbo / direct$elbo - 1), 1e-8)
  }
})

test_that("threads do not change the bound, and weights are replication", {
  set.seed(5)
  p <- random_point(4, n = 300)
  for (route in c("grid", "rows")) {
    expect_identical(bound_at(p, route = route), bound_at(p, route = route, threads = 2))
  }
  p$weights <- sample(0:3, 300, TRUE)
  twice <- rep(seq_len(300), p$weights)
  q <- p
  q$scores <- p$scores[twice, ]
  q$labels <- p$labels[twice]
  q$weights <- NULL
  for (route in c("direct", "grid", "rows")) {
    expect_equal(bound_at(p, route = route)$elbo, bound_at(q, route = route)$elbo, tolerance = 1e-10)
  }
})

test_that("bad points are refused", {
  p <- random_point(3)
  expect_error(bound_at(utils::modifyList(p, list(q_mean = 1))), class = "gpcalib_error_input")
  p$hyper <- p$hyper[-1]
  expect_error(bound_at(p), class = "gpcalib_error_input")
})

test_that("a wide range of the map does not spoil the compressed rows", {
  set.seed(6)
  z <- rbind(matrix(rnorm(300), 10), c(380, rep(0, 29)))
  p <- list(scores = z, labels = sample(30, 11, TRUE), inducing = seq(-3, 380, length.out = 6),
    q_mean = rnorm(6), q_cov = diag(6) * 0.2, hyper = c(variance = 1, lengthscale = 40))
  direct <- bound_at(p, mean = "identity")
  for (route in c("grid", "rows")) {
    expect_equal(bound_at(p, mean = "identity", route = route)$elbo, direct$elbo, tolerance = 1e-8)
  }
})
