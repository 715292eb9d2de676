# The short form of the effects' covariance, and objects with effects that are damaged.

set.seed(41)
d <- mixed_data(300, 9)
fit <- quiet_gp(d$scores, d$labels, class_effects = "matrix", hyper = c(matrix = 0.01, softmax = 0.01))
single <- fit
fit$effects <- effects <- gpcalib:::effects_double(fit$effects)
full <- gpcalib:::gp_full_effects(fit)

# S of (v, slope) and effects as eq. (33) has it, written out from the fields.
written_out <- function(effects) {
  x <- (sqrt(8 * length(effects$cov) + 1) - 1) / 2
  s <- matrix(0, x, x)
  s[lower.tri(s, TRUE)] <- effects$cov
  s <- s + t(s) - diag(diag(s))
  symmetric <- function(v) {
    b <- matrix(0, nrow(effects$effect), nrow(effects$effect))
    b[lower.tri(b, TRUE)] <- v
    b + t(b) - diag(diag(b), nrow(b))
  }
  k <- ncol(effects$effect)
  r <- nrow(effects$effect)
  e <- t(effects$cross) %*% solve(s) %*% effects$cross
  for (a in 1:k) for (b in 1:k) {
    at <- list((a - 1) * r + 1:r, (b - 1) * r + 1:r)
    e[at[[1]], at[[2]]] <- e[at[[1]], at[[2]]] + symmetric(if (a == b) effects$own[, a] else effects$common)
  }
  rbind(cbind(s, effects$cross), cbind(t(effects$cross), e))
}

in_short <- function(effects, m) {
  short <- .Call(gpcalib:::C_effects_short, effects, ncol(effects$effect), as.integer(m + effects$slopes), gpcalib:::alike_pairs)
  if (is.null(short)) effects else c(effects[names(effects) != "cov"], short)
}

test_that("the short form stands for the covariance it says", {
  expect_named(effects, c("worth", "sd", "parts", "scale", "count", "slopes", "effect", "cov", "cross", "own", "common"))
  cov <- written_out(effects)
  expect_equal(gpcalib:::effects_cov(effects), cov, tolerance = 1e-10)
  expect_equal(full$effects$cov, cov[lower.tri(cov, TRUE)], tolerance = 1e-10)
  expect_silent(chol(cov))
  expect_lt(length(effects$own) + length(effects$cross), length(full$effects$cov) / 3)
})

test_that("pairs of classes that are alike lose nothing by it", {
  k <- 9
  r <- nrow(effects$effect)
  again <- in_short(full$effects, length(fit$inducing))
  expect_equal(again, effects, tolerance = 1e-7)
  # one pair with a covariance of its own is too much
  cov <- gpcalib:::effects_cov(effects)
  x <- nrow(cov) - k * r
  at <- x + c(1, r + 1)
  cov[at, at] <- cov[at, at] + 0.1
  apart <- full$effects
  apart$cov <- cov[lower.tri(cov, TRUE)]
  expect_identical(in_short(apart, length(fit$inducing)), apart)
})

test_that("predictions from the short form are those from the full one", {
  set.seed(42)
  new <- mixed_data(400, 9)$scores
  p <- predict(fit, new)
  expect_equal(rowSums(p), rep(1, 400), tolerance = 1e-7)
  expect_lt(max(abs(p - predict(full, new))), 1e-3)
  expect_gt(max(abs(p - predict(fit, new, approx = "mean"))), 5e-3) # there is something to integrate
  expect_equal(predict(fit, new, approx = "mean"), predict(full, new, approx = "mean"))
  expect_equal(predict(fit, new[7, , drop = FALSE]), p[7, , drop = FALSE], tolerance = 1e-10)
  set.seed(1)
  a <- predict(fit, new[1:5, ], type = "draws", n_draws = 10)
  set.seed(1)
  expect_equal(predict(full, new[1:5, ], type = "draws", n_draws = 10), a, tolerance = 1e-8)
})

test_that("rows in which the expansion fails are integrated", {
  wide <- fit
  grow <- 10 # effects far less certain than they are
  wide$effects$own <- grow * effects$own
  wide$effects$common <- grow * effects$common
  set.seed(43)
  new <- mixed_data(25, 9)$scores
  p <- suppressWarnings(predict(wide, new))
  set.seed(1)
  exact <- suppressWarnings(predict(wide, new, approx = "mc", n_draws = 40000))
  expect_lt(max(abs(p - exact)), 6e-3)
  expect_gt(max(abs(suppressWarnings(predict(wide, new, approx = "mean")) - exact)), 0.05)
})

test_that("damaged effects are an error that says so, in every type of prediction", {
  new <- d$scores[1:3, ]
  refuse <- function(object, what) {
    for (type in c("prob", "latent", "interval", "draws")) {
      expect_error(suppressWarnings(predict(object, new, type = type)), what, class = "gpcalib_error_object")
    }
  }
  with <- function(name, value, from = fit) {
    from$effects[[name]] <- value
    from
  }
  refuse(with("slopes", 1.0), "`slopes`")
  refuse(with("own", effects$own[-1, ]), "not that of its classes")
  refuse(with("own", -effects$own), "covariance that is not positive definite")
  refuse(with("common", effects$common[-1]), "not that of its classes")
  refuse(with("cross", t(effects$cross)), "not that of its classes")
  refuse(with("cov", replace(effects$cov, 2, 1e6)), "covariance that is not positive definite")
  full["averaged"] <- list(NULL) # or draws would not look at the damaged part
  refuse(with("cov", replace(full$effects$cov, 2, 1e6), full), "covariance that is not positive definite")
  refuse(with("effect", effects$effect[, -1]), "not that of its classes")
  lost <- fit
  lost$effects["own"] <- NULL
  refuse(lost, "not complete")
  plain <- shared_gp(d$scores, d$labels)
  plain["slope_cross"] <- list(NULL)
  refuse(plain, "slope_cross")
})

test_that("a large covariance is kept in single precision, and predictions stay", {
  set.seed(44)
  new <- mixed_data(200, 9)$scores
  expect_type(single$effects$own, "integer")
  expect_identical(dim(single$effects$cross), dim(effects$cross))
  expect_type(single$effects$cov, "double") # of the process: its inverse is needed
  expect_lt(length(serialize(single, NULL)), length(serialize(fit, NULL)) - 3.9 * length(effects$own))
  expect_identical(predict(single, new), predict(fit, new))
  # against doubles that were never rounded
  cov <- full$effects$cov * (1 + 4e-8 * rep_len(c(-1, 1, 0.3), length(full$effects$cov)))
  exact <- full
  exact$effects$cov <- cov
  rounded <- exact
  rounded$effects <- gpcalib:::effects_single(exact$effects)
  expect_type(rounded$effects$cov, "integer")
  expect_gt(max(abs(gpcalib:::effects_double(rounded$effects)$cov - cov)), 0)
  expect_lt(max(abs(predict(rounded, new) - predict(exact, new))), 1e-6)
  set.seed(1)
  a <- predict(rounded, new[1:5, ], type = "interval")
  set.seed(1)
  expect_equal(predict(exact, new[1:5, ], type = "interval"), a, tolerance = 1e-4)
  few <- quiet_gp(mixed_data(100, 3)$scores, mixed_data(100, 3)$labels, class_effects = "matrix")
  expect_type(few$effects$cov, "double")
})

test_that("a covariance that rounding could spoil stays in doubles", {
  size <- 100
  cov <- diag(1e-8, size) + 1 # regular, but not beyond single precision
  effects <- list(cov = cov[lower.tri(cov, TRUE)])
  expect_silent(chol(cov))
  expect_identical(gpcalib:::effects_single(effects), effects)
  cov <- diag(1e-2, size) + 1
  effects$cov <- cov[lower.tri(cov, TRUE)]
  expect_type(gpcalib:::effects_single(effects)$cov, "integer")
  effects$cov[2] <- 1e31
  expect_identical(gpcalib:::effects_single(effects), effects)
})

test_that("bits that are no numbers are found out", {
  broken <- single
  broken$effects$own[3] <- 2147483647L # not a number
  expect_error(predict(broken, rbind(1:9 / 9)), class = "gpcalib_error_object")
  broken <- single
  broken$effects$cross[1] <- 2139095040L # infinite
  expect_error(predict(broken, rbind(1:9 / 9)), class = "gpcalib_error_object")
  broken$effects$cross[1] <- 2139095039L # 3e38, more than is ever kept
  expect_error(predict(broken, rbind(1:9 / 9)), "out of range", class = "gpcalib_error_object")
  broken <- single
  broken$effects$own[1] <- NA # the bits of -0
  expect_error(predict(broken, rbind(1:9 / 9)), "not positive definite", class = "gpcalib_error_object")
  broken$effects$own[1] <- -1082130432L # -1
  expect_error(predict(broken, rbind(1:9 / 9)), "not positive definite", class = "gpcalib_error_object")
})
