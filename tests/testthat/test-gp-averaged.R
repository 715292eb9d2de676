# Intervals and draws averaged over the variance and the lengthscale of the process.

two_bent <- function(n, seed) { # two classes, log-odds 4 tanh(z)
  with_seed(seed, {
    z <- outer(stats::rnorm(n, sd = 1.25), c(1, -1))
    list(z = z, y = factor(oracle_draw(oracle_softmax(2 * tanh(z))), levels = 1:2))
  })
}
three_bent <- function(n, seed) {
  with_seed(seed, {
    z <- matrix(stats::rnorm(3 * n, sd = 1.5), n)
    z <- z - rowMeans(z)
    list(z = z, y = factor(oracle_draw(oracle_softmax(1.5 * tanh(z) + 0.2 * z)), levels = 1:3))
  })
}
fit_gp2 <- function(d, ...) suppressWarnings(calib_gp(d$z, d$y, input = "logits", ...))
band <- function(fit, z, ...) with_seed(1, suppressWarnings(predict(fit, z, type = "interval", ...)))

test_that("probabilities and the fit itself do not depend on it, intervals are wider", {
  for (d in list(two_bent(150, 1), three_bent(200, 2))) {
    for (effects in c("auto", "none", "matrix")) {
      yes <- fit_gp2(d, class_effects = effects)
      no <- fit_gp2(d, class_effects = effects, integrate = FALSE)
      expect_null(no$averaged)
      expect_false(is.null(yes$averaged))
      expect_gt(yes$averaged$passes, 0)
      kept <- setdiff(names(yes), c("call", "averaged"))
      expect_identical(yes[kept], no[kept])
      for (approx in c("delta", "mean")) expect_identical(predict(yes, d$z, approx = approx), predict(no, d$z, approx = approx))
      x <- band(yes, d$z)
      old <- band(no, d$z)
      expect_identical(x[, , "estimate"], old[, , "estimate"])
      doubted <- effects == "auto" && !is.null(yes$effects) && ncol(d$z) > 2 # effects that may not be there are smaller in the average
      if (!doubted) expect_gt(mean(x[, , "upper"] - x[, , "lower"]), mean(old[, , "upper"] - old[, , "lower"]))
      expect_true(all(x[, , "lower"] <= x[, , "estimate"] & x[, , "estimate"] <= x[, , "upper"]))
    }
  }
})

three_straight <- function(n, seed) {
  with_seed(seed, {
    z <- matrix(stats::rnorm(3 * n, sd = 1.5), n)
    z <- z - rowMeans(z)
    list(z = z, y = factor(oracle_draw(oracle_softmax(0.7 * z)), levels = 1:3))
  })
}

test_that("the average is that of rough processes and a line by Laplace's method, written out", {
  for (d in list(three_bent(400, 4), three_straight(150, 4))) {
    fit <- fit_gp2(d, class_effects = "none")
    got <- fit$averaged
    knots <- got$inducing
    step <- knots[2] - knots[1]
    expect_equal(diff(knots), rep(step, length(knots) - 1))
    expect_lt(knots[1], fit$inducing[1])
    at <- seq(-3, 3, length.out = 15)
    # weights of the values at the knots, by the kernel in which the average is kept
    expect_equal(got$hyper[["lengthscale"]], 1.5 * step)
    rbf <- function(a, b) exp(-outer(a, b, "-")^2 / (2 * got$hyper[["lengthscale"]]^2))
    between <- function(z) rbf(z, knots) %*% solve(rbf(knots, knots) + diag(1e-9, length(knots)))
    n <- nrow(d$z)
    features <- array(between(as.vector(d$z)), c(n, 3, length(knots)))
    # the mode of (values, slope) and the evidence for one kernel, with a flat prior of the slope
    component <- function(correlation, sigma) {
      root <- t(chol(sigma^2 * correlation + diag(1e-6, length(knots))))
      x <- array(0, c(n, 3, length(knots) + 1))
      for (k in 1:3) x[, k, ] <- cbind(features[, k, ] %*% root, d$z[, k])
      prior <- diag(rep(c(1, 0), c(length(knots), 1)))
      par <- rep(c(0, 0.5), c(length(knots), 1))
      for (step in 1:30) {
        p <- oracle_softmax(sapply(1:3, function(k) x[, k, ] %*% par))
        mean <- Reduce(`+`, lapply(1:3, function(k) p[, k] * x[, k, ]))
        own <- t(sapply(seq_len(n), function(i) x[i, d$y[i], ]))
        h <- Reduce(`+`, lapply(1:3, function(k) crossprod(x[, k, ], p[, k] * x[, k, ]))) - crossprod(mean) + prior
        move <- solve(h, colSums(own - mean) - drop(prior %*% par))
        par <- par + move / max(1, max(abs(move)) / 3)
        if (max(abs(move)) < 1e-6) break
      }
      p <- oracle_softmax(sapply(1:3, function(k) x[, k, ] %*% par))
      value <- sum(log(p[cbind(seq_len(n), d$y)])) - 0.5 * sum(par * (prior %*% par)) - 0.5 * determinant(h)$modulus
      a <- cbind((between(at) - rep(between(0), each = length(at))) %*% root, at) # the map less its value at 0
      list(value = value, mean = drop(a %*% par), var = rowSums((a %*% solve(h)) * a))
    }
    width <- diff(range(fit$inducing))
    r <- abs(outer(knots, knots, "-"))
    grid <- expand.grid(sigma = exp(-3.5:3.5), l = width / 5 * exp(-3:2), kind = c("3/2", "1/2"), stringsAsFactors = FALSE)
    grid <- grid[grid$l > 0.9 * step & grid$l < 3 * width, ]
    parts <- Map(function(sigma, l, kind) {
      component(if (kind == "1/2") exp(-r / l) else (1 + sqrt(3) * r / l) * exp(-sqrt(3) * r / l), sigma)
    }, grid$sigma, grid$l, grid$kind)
    # sigma ~ Exp(1/10); log l ~ N(log(width / 5), 1), and a third for the exponential kernel
    prior <- dexp(grid$sigma, 0.1, log = TRUE) + log(grid$sigma) + dnorm(log(grid$l), log(width / ifelse(grid$kind == "1/2", 3, 5)), 1, log = TRUE)
    # a line with 1/5 of the prior mass of each kernel
    line <- 0.2
    prior <- c(prior + log(1 - line), log(2 * line))
    parts <- c(parts, list(component(diag(length(knots)), 1e-3)))
    value <- vapply(parts, `[[`, 0, "value") + prior
    weight <- exp(value - max(value))
    weight <- weight / sum(weight)
    mean <- drop(sapply(parts, `[[`, "mean") %*% weight)
    var <- drop(sapply(parts, function(x) x$var + (x$mean - mean)^2) %*% weight)
    # what the fit keeps
    root <- t(chol(got$hyper[["variance"]] * rbf(knots, knots) + diag(got$hyper[["noise"]], length(knots))))
    feature <- function(z) t(forwardsolve(root, got$hyper[["variance"]] * rbf(knots, z)))
    a <- feature(at) - rep(feature(0), each = length(at))
    along <- at + drop(a %*% got$slope_cross)
    own <- got$hyper[["slope"]] * at + drop(a %*% got$q_mean)
    own_sd <- sqrt(rowSums((a %*% got$q_cov) * a) + (got$slope_sd * along)^2)
    far <- abs(at) > 0.3
    expect_lt(max(abs(own - mean)), 0.15 * max(sqrt(var)))
    expect_equal(own_sd[far], sqrt(var)[far], tolerance = 0.15)
  }
})

test_that("effects that could have been left out enter with the variance they have on average", {
  d <- with_seed(20, { # five classes: 60 effects
    z <- matrix(stats::rnorm(5 * 120, sd = 1.5), 120)
    z <- z - rowMeans(z)
    list(z = z, y = factor(oracle_draw(oracle_softmax(0.7 * z)), levels = 1:5))
  })
  doubted <- fit_gp2(d)
  asked <- fit_gp2(d, class_effects = "matrix")
  expect_lt(abs(doubted$effects$worth), 1)
  expect_equal(doubted$effects$sd, asked$effects$sd, tolerance = 0.05)
  spread <- function(fit) mean(diag(effects_cov(fit$averaged$effects))[-seq_len(length(fit$averaged$q_mean) + 1)])
  share <- stats::plogis(log(1 / 3) + doubted$effects$worth)
  expect_lt(spread(doubted), (share + 0.2) * spread(asked)) # little is learned of such effects: about their prior variance
  expect_gt(spread(doubted), (share - 0.2) * spread(asked))
  offsets <- list(worth = 0.4, sd = c(offset = 0.5), mean = c(0.1, -0.1, 0), var = c(0.1, 0.2, 0.25))
  share <- exp(0.4) / 3 / (1 + exp(0.4) / 3)
  expect_equal(effects_likely(offsets$worth), share)
  less <- offsets_tempered(offsets, share)
  expect_equal(less$var, 1 / (1 / (0.25 * share) + c(6, 1, 0)))
  expect_equal(less$mean, offsets$mean * less$var / offsets$var)
  expect_equal(offsets_tempered(offsets, effects_likely(50)), offsets)
})

test_that("a matrix of many classes that could have been left out enters with the variance it has on average", {
  k <- 30
  d <- with_seed(8, {
    z <- matrix(stats::rnorm(k * 150), 150)
    z[cbind(1:150, sample(k, 150, TRUE))] <- 3
    z <- z - rowMeans(z)
    list(z = z, y = factor(oracle_draw(oracle_softmax(0.8 * z)), levels = seq_len(k)))
  })
  fit <- fit_gp2(d)
  expect_true(has_wide(fit))
  expect_lt(fit$offsets$worth, 1)
  expect_equal(fit$averaged$likely, effects_likely(fit$offsets$worth))
  expect_null(fit_gp2(d, class_effects = "matrix")$averaged$likely)
  before <- unpack_wide(fit$offsets)
  after <- unpack_wide(gp_averaged(fit)$offsets)
  for (name in names(fit$offsets$sd)) {
    at <- wide_parts(k)[[name]]
    tau2 <- fit$offsets$sd[[name]]^2
    var <- 1 / (1 / (fit$averaged$likely * tau2) + pmax(1 / before$var[at] - 1 / tau2, 0))
    expect_equal(after$var[at], var, tolerance = 1e-3) # two bytes each
    expect_equal(after$mean[at], before$mean[at] * var / before$var[at], tolerance = 1e-3)
  }
  sure <- fit
  sure$averaged$likely <- NULL
  width <- function(fit) mean(band(fit, d$z)[, , "upper"] - band(fit, d$z)[, , "lower"])
  expect_lt(width(fit), 0.95 * width(sure))
  expect_identical(predict(fit, d$z), predict(sure, d$z))
})

test_that("rough maps are uncertain between their knots", {
  d <- with_seed(6, { # a root
    z <- outer(stats::rnorm(1500, sd = 1.25), c(1, -1))
    list(z = z, y = factor(oracle_draw(oracle_softmax(1.5 * sign(z) * sqrt(abs(z)))), levels = 1:2))
  })
  fit <- fit_gp2(d, class_effects = "none")
  expect_gt(fit$averaged$between, 1e-3)
  none <- fit
  none$averaged$between <- 0
  z <- outer(c(0.05, 1), c(1, -1))
  spread <- function(fit) {
    draws <- with_seed(2, predict(fit, z, type = "draws", n_draws = 4000))
    apply(log(draws[, 1, ] / draws[, 2, ]), 1, stats::var)
  }
  expect_equal(spread(fit) - spread(none), rep(2 * fit$averaged$between, 2), tolerance = 0.3) # of two classes
  expect_identical(predict(fit, z), predict(none, z))
  old <- fit # of a version that did not know
  old$averaged$between <- NULL
  expect_identical(band(old, z), band(none, z))
})

test_that("draws are those of the averaged posterior", {
  d <- two_bent(120, 4)
  fit <- fit_gp2(d, class_effects = "none")
  fit$averaged$ends <- NULL # without the growth of eq. (26b), which has a test of its own
  z <- outer(c(-2, -1, 0.5, 1.5), c(1, -1))
  draws <- with_seed(2, predict(fit, z, type = "draws", n_draws = 4000))
  logit <- log(draws[, 1, ] / draws[, 2, ])
  averaged <- gp_averaged(fit)
  for (i in seq_len(nrow(z))) {
    row <- oracle_row(z[i, ], averaged$inducing, averaged$q_mean, averaged$q_cov, averaged$hyper)
    along <- oracle_row(z[i, ], averaged$inducing, averaged$slope_cross, averaged$q_cov, replace(averaged$hyper, "slope", 1))$phi
    var <- sum(row$cov * c(1, -1, -1, 1)) + (averaged$slope_sd * diff(along))^2
    expect_equal(mean(logit[i, ]), -diff(row$phi), tolerance = 0.05)
    expect_equal(sd(logit[i, ]), sqrt(var), tolerance = 0.06)
  }
})

test_that("a fit that stops at the line although a bend has the higher bound has intervals that know of bends", {
  d <- with_seed(16302, { # found among 60 sets: the optimum is local
    z <- outer(stats::rnorm(300, sd = 1.25), c(1, -1))
    gumbel <- -log(-log(matrix(stats::runif(600), 300)))
    list(z = z, y = factor(max.col(log(oracle_softmax(2 * tanh(z))) + gumbel, "first"), levels = 1:2))
  })
  fit <- fit_gp2(d, class_effects = "none")
  expect_lt(fit$hyper[["variance"]], 1e-4)
  expect_true(fit$converged)
  short <- fit_gp2(d, class_effects = "none", hyper = c(lengthscale = diff(range(fit$inducing)) / 12))
  expect_gt(short$elbo, fit$elbo)
  curved <- function(fit) { # standard deviation of the second difference of the log-odds, 0 for lines
    p <- with_seed(2, predict(fit, outer(c(0.5, 1, 1.5), c(1, -1)), type = "draws", n_draws = 400))
    g <- log(p[, 1, ] / p[, 2, ])
    sd(g[3, ] - 2 * g[2, ] + g[1, ])
  }
  expect_gt(curved(fit), 5 * curved(fit_gp2(d, class_effects = "none", integrate = FALSE)))
})

test_that("there is nothing to average over where both are held, and elsewhere it is not done", {
  d <- three_bent(150, 5)
  expect_null(fit_gp2(d, hyper = c(variance = 1, lengthscale = 1))$averaged)
  expect_false(is.null(fit_gp2(d, hyper = c(variance = 1))$averaged))
  expect_equal(fit_gp2(d, class_effects = "none", hyper = c(lengthscale = 1.5))$averaged$hyper[["lengthscale"]], 1.5)
  expect_null(fit_gp2(d, covariance = "diag")$averaged)
  expect_null(fit_gp2(d, class_effects = "none", optimize_inducing = TRUE)$averaged)
  expect_null(suppressWarnings(calib_gp(matrix(0, 20, 3), rep(1:3, length.out = 20), input = "logits"))$averaged)
  expect_error(calib_gp(d$z, d$y, integrate = NA), "`integrate`", class = "gpcalib_error_input")
})

test_that("fits through files, of older versions and with damage", {
  d <- three_bent(150, 6)
  pair <- two_bent(150, 6)
  for (fit in list(fit_gp2(d), fit_gp2(d, class_effects = "none"), fit_gp2(d, monotone = TRUE), fit_gp2(pair), fit_gp2(pair, class_effects = "offset"))) {
    if (length(fit$classes) == 2) d <- pair
    file <- tempfile()
    saveRDS(fit, file)
    expect_identical(band(readRDS(file), d$z[1:5, ]), band(fit, d$z[1:5, ]))
    old <- fit
    old["averaged"] <- NULL # a fit of version 0.1 has no such field
    expect_identical(predict(old, d$z), predict(fit, d$z))
    # effects that are in doubt make the average narrower: eq. (45a)
    if (is.null(fit$effects)) expect_lt(mean(band(old, d$z)[, , "upper"]), mean(band(fit, d$z)[, , "upper"]))
    for (part in names(fit$averaged)) {
      for (value in list(NULL, "x", NA, numeric(), c(2, -1))) {
        broken <- fit
        broken$averaged[part] <- list(value)
        expect_error(predict(broken, d$z), class = "gpcalib_error_object")
      }
    }
    broken <- fit
    broken$averaged <- 1
    expect_error(predict(broken, d$z), "averaged", class = "gpcalib_error_object")
    broken <- fit
    if (is.null(fit$effects)) {
      broken$averaged$q_cov <- -broken$averaged$q_cov
    } else {
      broken$averaged$effects$cov[1] <- broken$averaged$effects$cov[1] + bitwNot(2^31 - 1L)
    }
    expect_error(predict(broken, d$z), "averaged", class = "gpcalib_error_object")
  }
})

test_that("objects leave out of the average what follows from the rest", {
  pair_of <- function(x, r) { # effects whose sums are independent of all else
    all <- with_seed(x, crossprod(matrix(stats::rnorm((x + r)^2), x + r)) + diag(x + r))
    sums <- seq_len(r) / 4
    signs <- rbind(cbind(diag(x), matrix(0, x, r)), cbind(matrix(0, r, x), diag(r) / 2), cbind(matrix(0, r, x), -diag(r) / 2))
    cov <- signs %*% all %*% t(signs)
    one <- x + seq_len(r)
    for (a in 0:1) for (b in 0:1) cov[one + a * r, one + b * r] <- cov[one + a * r, one + b * r] + diag(sums, r) / 4
    cov
  }
  full <- function(cov, x, classes) {
    r <- (nrow(cov) - x) / classes
    own <- seq_len(x - 1)
    list(hyper = c(slope = 1), q_mean = own / 2, q_cov = cov[own, own] - tcrossprod(cov[own, x]) / cov[x, x], slope_sd = sqrt(cov[x, x]),
      slope_cross = cov[own, x] / cov[x, x], effects = list(slopes = 1L, effect = matrix(0, r, classes), cov = cov[lower.tri(cov, TRUE)]))
  }
  for (r in c(1, 4)) {
    part <- full(pair_of(6, r), 6, 2)
    small <- pack_averaged(part)
    expect_null(small$q_cov)
    expect_length(small$effects$cov, (6 + r) * (7 + r) / 2)
    expect_equal(unpack_averaged(small)[names(part)], part, tolerance = 1e-6)
  }
  part <- full(pair_of(5, 6), 5, 3) # of three classes no more is known
  expect_equal(unpack_averaged(pack_averaged(part))[names(part)], part, tolerance = 1e-12)
  expect_identical(unpack_averaged(part), part) # as objects of older versions have it
  expect_lt(length(serialize(fit_gp2(two_bent(150, 6)), NULL)), 25000)
})

test_that("a quarter of the draws grow beyond the scores that rows tell of, and nothing else changes", {
  d <- with_seed(31, { # probabilities near 1 in many rows
    z <- matrix(stats::rnorm(4 * 400, sd = 2.5), 400)
    z <- z - rowMeans(z)
    list(z = z, y = factor(oracle_draw(oracle_softmax(z)), levels = 1:4))
  })
  for (effects in c("none", "offset", "matrix")) {
    fit <- fit_gp2(d, class_effects = effects)
    expect_true(fit$averaged$bent >= 0 && fit$averaged$bent <= 1)
    half <- fit
    half$averaged$bent <- 0.5 # then every eighth pair
    expect_identical(which(gp_growth(gp_averaged(half), 40)$growth > 0), seq(8L, 40L, 8L))
    fit$averaged$bent <- NULL # as fits of older versions
    ends <- fit$averaged$ends
    # eq. (26b): by information, of which 8 (or a tenth of all) are left on either side
    p <- predict(fit, d$z)
    v <- (p * (1 - p))[order(d$z)]
    left <- min(8, sum(v) / 10)
    by_hand <- c(sort(d$z)[which(cumsum(v) > left)[1]], sort(d$z, TRUE)[which(cumsum(rev(v)) > left)[1]])
    expect_lt(max(abs(ends - by_hand)), 0.5)
    none <- fit
    none$averaged$ends <- NULL
    z <- rbind(c(6, -1, -2, -3), c(7, -2, -2, -3), c(0.2, 0.1, -0.1, -0.2), c(-6, 2, 2, 2))
    draws <- function(fit, ...) with_seed(5, suppressWarnings(predict(fit, z, type = "draws", n_draws = 80, ...)))
    moved <- log(draws(fit)) - log(draws(none))
    moved <- moved - aperm(array(moved[, 2, ], c(4, 80, 4)), c(1, 3, 2)) # against the second class
    half <- diff(ends) / 2
    lift <- fit$averaged$hyper[["slope"]] / half * (pmax(z - ends[2], 0)^2 - pmax(ends[1] - z, 0)^2) / 2
    lift <- lift - lift[, 2]
    growth <- moved[1, 1, ] / lift[1, 1]
    expect_equal(growth[seq(1, 80, 2)], growth[seq(2, 80, 2)], tolerance = 1e-6) # of both draws of a pair
    grow <- rep(seq_len(40) %% 4 == 0, each = 2)
    expect_lt(max(abs(growth[!grow])), 1e-12)
    expect_true(all(growth[grow] > 0))
    small <- abs(outer(as.vector(lift), growth)) < 30 # otherwise probabilities are 0
    expect_lt(max(abs(as.vector(moved) - as.vector(outer(as.vector(lift), growth)))[small]), 1e-6)
    expect_identical(draws(fit, vary_slope = FALSE), draws(none, vary_slope = FALSE))
    expect_identical(suppressWarnings(predict(fit, z)), suppressWarnings(predict(none, z)))
    with <- band(fit, z)
    without <- band(none, z)
    expect_lt(1 - with[1, 1, "upper"], (1 - without[1, 1, "upper"]) / 10)
    expect_equal(with[3, , ], without[3, , ])
  }
})

test_that("limits of tiny probabilities are steady, and are not the estimates", {
  d <- with_seed(31, {
    z <- matrix(stats::rnorm(4 * 400, sd = 2.5), 400)
    z <- z - rowMeans(z)
    list(z = z, y = factor(oracle_draw(oracle_softmax(z)), levels = 1:4))
  })
  fit <- fit_gp2(d, class_effects = "matrix")
  fit$averaged$bent <- NULL # all growths there may be
  z <- rbind(c(7, -2, -2, -3), c(-7, 3, 2, 2), c(0.2, 0.1, -0.1, -0.2))
  limits <- function(seed, ...) with_seed(seed, suppressWarnings(predict(fit, z, type = "interval", n_draws = 4000, ...)))
  all <- lapply(1:6, limits)
  lowest <- vapply(all, function(x) log10(x[cbind(c(1, 1, 2), c(2, 4, 1), 2)]), numeric(3))
  expect_lt(max(lowest), -10)
  expect_lt(max(apply(lowest, 1, function(x) diff(range(x)))), 1.5) # 12 to 25 with growths drawn at random
  expect_true(all(all[[1]][, , "upper"] > all[[1]][, , "estimate"]))
  expect_gt(all[[1]][1, 4, "upper"], 3 * all[[1]][1, 4, "estimate"])

  # eq. (38b), from the same draws
  share <- stats::qbeta((seq_len(4000) * (sqrt(5) - 1) / 2) %% 1, 0.2, 400)
  expect_equal(mean(share), 0.2 / 400.2, tolerance = 0.02)
  for (prior in list(NULL, c(0.4, 0.3, 0.2, 0.1))) {
    draws <- unname(with_seed(1, suppressWarnings(predict(fit, z, type = "draws", n_draws = 4000))))
    limit <- function(p) {
      if (!is.null(prior)) {
        p <- sweep(p, 2, prior / fit$prior, "*")
        p <- sweep(p, c(1, 3), apply(p, c(1, 3), sum), "/")
      }
      apply(p, 1:2, stats::quantile, c(0.025, 0.975), names = FALSE)
    }
    plain <- limit(draws)
    shared <- limit(sweep(draws, 3, 1 - share, "*") + rep(share / 4, each = length(z)))
    found <- unname(limits(1, prior = prior))
    expect_equal(found[, , 2], pmin(plain[1, , ], shared[1, , ], found[, , 1]), tolerance = 1e-10)
    expect_equal(found[, , 3], pmax(plain[2, , ], shared[2, , ], found[, , 1]), tolerance = 1e-10)
  }
})

test_that("monotone fits keep the order in averaged intervals and draws", {
  d <- two_bent(100, 7)
  fit <- fit_gp2(d, monotone = TRUE)
  expect_false(is.null(fit$averaged))
  z <- outer(seq(-4, 4, by = 0.25), c(1, -1))
  x <- band(fit, z, n_draws = 100)
  up <- z[, 1] > 0
  for (part in c("estimate", "lower", "upper")) {
    expect_true(all(x[up, 1, part] >= x[up, 2, part]))
    expect_true(all(diff(x[, 1, part]) >= -1e-9))
  }
  draws <- with_seed(3, suppressWarnings(predict(fit, z, type = "draws", n_draws = 50)))
  expect_true(all(draws[up, 1, ] >= draws[up, 2, ]))
  expect_true(all(apply(draws[, 1, ], 2, diff) >= -1e-9))
})

test_that("updates keep it: one batch is the fit of that batch, several come near the fit of all rows", {
  d <- three_bent(900, 8)
  part <- function(rows) list(z = d$z[rows, ], y = d$y[rows])
  fit <- fit_gp2(part(1:300), class_effects = "none")
  fresh <- fit_gp2(part(301:600), class_effects = "none")
  again <- update(fit, d$z[301:600, ], d$y[301:600], forget = 1)
  expect_equal(band(again, d$z[1:20, ]), band(fresh, d$z[1:20, ]), tolerance = 1e-6)
  all <- fit_gp2(d, class_effects = "none")
  for (b in 1:2) fit <- update(fit, d$z[300 * b + 1:300, ], d$y[300 * b + 1:300])
  width <- function(fit) mean(band(fit, d$z[1:200, ])[, , "upper"] - band(fit, d$z[1:200, ])[, , "lower"])
  expect_equal(width(fit), width(all), tolerance = 0.2)
  expect_null(update(fit_gp2(part(1:300), class_effects = "none", integrate = FALSE), d$z[301:600, ], d$y[301:600])$averaged)
})

test_that("summary() says so", {
  d <- two_bent(100, 9)
  expect_output(print(summary(fit_gp2(d))), "intervals averaged over variance and lengthscale")
  expect_false(any(grepl("averaged", capture.output(print(summary(fit_gp2(d, integrate = FALSE)))))))
})

test_that("the standard deviations of few effects are averaged over as well: a large offset is held back less", {
  d <- with_seed(21, {
    z <- outer(stats::rnorm(100, sd = 1.25), c(1, -1))
    list(z = z, y = factor(oracle_draw(oracle_softmax(sweep(z, 2, c(1.2, -1.2), "+"))), levels = 1:2))
  })
  fit <- fit_gp2(d, class_effects = "offset")
  offset <- function(effects) diff(effects$effect[1, 1:2])
  expect_lt(offset(fit$effects), -0.3)
  expect_lt(offset(fit$averaged$effects), 1.1 * offset(fit$effects))
  # labels whose frequencies agree with the scores: there is nothing to hold back
  same <- with_seed(22, factor(oracle_draw(oracle_softmax(d$z)), levels = 1:2))
  none <- fit_gp2(list(z = d$z, y = same), class_effects = "offset")
  expect_lt(abs(offset(none$averaged$effects)), 0.3)
})

test_that("every block has a factor of its own, written out", {
  d <- with_seed(23, { # a large offset, and no shape
    z <- outer(stats::rnorm(300, sd = 1.25), c(1, -1))
    list(z = z, y = factor(oracle_draw(oracle_softmax(sweep(z, 2, c(0.75, -0.75), "+"))), levels = 1:2))
  })
  centre <- c(0.25, 0.125, 0.15)
  for (effects in c("offset", "matrix")) {
    fit <- fit_gp2(d, class_effects = effects, hyper = c(variance = 1e-4)) # a line
    by_hand <- oracle_open_tau(fit, d$z, d$y, centre, 1.5)
    got <- gp_averaged(fit)
    own <- length(got$inducing) + got$effects$slopes
    r <- nrow(got$effects$effect)
    difference <- cbind(matrix(0, r, own), -diag(r), diag(r))
    cov <- difference %*% oracle_effect_cov(got) %*% t(difference)
    mean <- unname(got$effects$effect[, 2] - got$effects$effect[, 1])
    expect_lt(max(abs(mean - by_hand$mean)), 0.1 * max(sqrt(diag(by_hand$cov))))
    expect_equal(sqrt(diag(cov)), sqrt(diag(by_hand$cov)), tolerance = 0.03, ignore_attr = TRUE)
    # of an offset that there is, the standard deviation is larger; of a shape that there is none, hardly
    expect_gt(by_hand$tau[1] / fit$effects$sd[["offset"]], 1.5)
  }
})

test_that("intervals do not depend on the unit of the scores", {
  d <- with_seed(4, {
    z <- matrix(stats::rnorm(1500, sd = 2), 500)
    list(z = z, y = oracle_draw(oracle_softmax(tanh(z) + z / 4)))
  })
  width <- function(scale, ...) {
    fit <- suppressWarnings(calib_gp(d$z * scale, d$y, input = "logits", ...))
    ends <- with_seed(1, predict(fit, d$z[1:50, ] * scale, type = "interval"))
    mean(ends[, , "upper"] - ends[, , "lower"])
  }
  for (effects in c("none", "matrix")) {
    one <- width(1, class_effects = effects)
    for (scale in c(1e-7, 1e5)) expect_equal(width(scale, class_effects = effects), one, tolerance = 0.1)
  }
})
