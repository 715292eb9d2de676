test_that("a bent map is found, and beats temperature scaling", {
  set.seed(1)
  cal <- bent_data(1500, 10)
  test <- bent_data(3000, 10)
  gp <- quiet_gp(cal$scores, cal$labels)
  temp <- calib_temperature(cal$scores, cal$labels)
  expect_true(gp$converged)
  gain <- log_loss(predict(temp, test$scores), test$labels) -
    log_loss(predict(gp, test$scores), test$labels)
  expect_gt(gain, 0.05)
  at <- seq(-1, 4, by = 0.5) # lower scores have next to no say in the softmax
  map <- latent(gp, at)
  truth <- at + 1.5 * sin(at)
  off <- (map$mean - mean(map$mean)) - (truth - mean(truth))
  expect_lt(max(abs(off)), 0.5)
  expect_named(map, c("z", "mean", "sd"))
})

test_that("S satisfies its fixed point, and the point is stationary", {
  set.seed(2)
  d <- bent_data(400, 5)
  z <- d$scores - rowMeans(d$scores)
  for (cov in c("full", "diag")) {
    fit <- shared_gp(d$scores, d$labels, covariance = cov, control = gp_control(tol = 1e-9))
    b <- gpcalib:::gp_bound(z, d$labels, fit$inducing, fit$q_mean, fit$q_cov, fit$hyper,
      covariance = cov)
    expect_equal(b$elbo, fit$elbo, tolerance = 1e-8)
    expect_lt(max(abs(b$gradient$q_cov)), 1e-4 * nrow(z)) # dELBO/dS = 0
    scale <- c(fit$hyper[["variance"]], fit$hyper[["lengthscale"]], fit$hyper[["slope"]])
    slopes <- unlist(b$gradient[c("variance", "lengthscale", "slope")]) * scale
    expect_lt(max(abs(slopes)), 0.05)
    expect_lt(max(abs(b$gradient$q_mean)), 0.05)
    # S^-1 = I + sum_n A (diag(s) - s s') A', from the definition
    f <- oracle_features(as.vector(t(z)), fit$inducing, fit$hyper)$a
    h <- diag(length(fit$inducing))
    for (n in seq_len(nrow(z))) {
      a <- f[, (n - 1) * 5 + 1:5]
      s <- oracle_soft(fit$hyper[["slope"]] * z[n, ] + drop(crossprod(a, fit$q_mean)))
      w <- if (cov == "full") diag(s) - tcrossprod(s) else diag(s - s^2)
      h <- h + a %*% w %*% t(a)
    }
    expect_equal(solve(fit$q_cov), h, tolerance = 1e-6)
  }
})

test_that("the bound is no lower than a general optimiser's", {
  set.seed(3)
  d <- bent_data(120, 4)
  z <- d$scores - rowMeans(d$scores)
  fit <- shared_gp(d$scores, d$labels, mean = "identity", inducing = 8)
  size <- length(fit$inducing)
  lower <- lower.tri(diag(size), TRUE)
  unpack <- function(x) {
    root <- matrix(0, size, size)
    root[lower] <- x[size + seq_len(sum(lower))]
    list(q_mean = x[seq_len(size)], root = root,
      hyper = c(variance = exp(x[length(x) - 1]), lengthscale = exp(x[length(x)]), noise = 1e-6))
  }
  evaluate <- function(x) {
    p <- unpack(x)
    tryCatch(gpcalib:::gp_bound(z, d$labels, fit$inducing, p$q_mean, tcrossprod(p$root), p$hyper,
      mean = "identity"), error = function(e) NULL)
  }
  value <- function(x) {
    b <- evaluate(x)
    if (is.null(b)) 1e10 else -b$elbo
  }
  slope <- function(x) {
    b <- evaluate(x)
    if (is.null(b)) return(0 * x)
    p <- unpack(x)
    g_root <- 2 * b$gradient$q_cov %*% p$root
    -c(b$gradient$q_mean, g_root[lower], b$gradient$variance * p$hyper[["variance"]],
      b$gradient$lengthscale * p$hyper[["lengthscale"]])
  }
  start <- c(rep(0, size), diag(size)[lower], 0, log(diff(range(z)) / 4))
  best <- stats::optim(start, value, slope, method = "BFGS", control = list(maxit = 500))
  expect_gt(fit$elbo, -best$value - 1e-3)
})

test_that("integer weights are replication, and row and class order do not matter", {
  set.seed(4)
  d <- bent_data(200, 4)
  w <- sample(1:3, 200, TRUE)
  rows <- rep(1:200, w)
  a <- calib_gp(d$scores, d$labels, weights = w)
  b <- calib_gp(d$scores[rows, ], d$labels[rows])
  expect_equal(a$elbo, b$elbo, tolerance = 1e-6)
  expect_equal(predict(a, d$scores), predict(b, d$scores), tolerance = 1e-4)
  fit <- quiet_gp(d$scores, d$labels)
  shuffle <- sample(200)
  expect_equal(quiet_gp(d$scores[shuffle, ], d$labels[shuffle])$elbo, fit$elbo, tolerance = 1e-7)
  turn <- c(3, 1, 4, 2)
  turned <- quiet_gp(d$scores[, turn], match(as.integer(d$labels), turn))
  expect_equal(turned$elbo, fit$elbo, tolerance = 1e-7)
  expect_equal(unname(predict(turned, d$scores[, turn], approx = "mean")),
    unname(predict(fit, d$scores, approx = "mean")[, turn]), tolerance = 1e-4)
  # the points that integrals over effects are taken at know an order of the classes
  apart <- unname(predict(turned, d$scores[, turn])) - unname(predict(fit, d$scores)[, turn])
  expect_lt(max(abs(apart)), 2e-3)
  shared <- shared_gp(d$scores, d$labels)
  turned <- shared_gp(d$scores[, turn], match(as.integer(d$labels), turn))
  expect_equal(unname(predict(turned, d$scores[, turn])), unname(predict(shared, d$scores)[, turn]),
    tolerance = 1e-4)
})

test_that("scaled and shifted logits give the same fit under the linear mean", {
  set.seed(5)
  d <- bent_data(300, 5)
  fit <- quiet_gp(d$scores, d$labels)
  for (scale in c(1e-6, 1e3)) {
    other <- quiet_gp(d$scores * scale + rnorm(300), d$labels, input = "logits")
    if (scale < 1) other <- quiet_gp(d$scores * scale, d$labels, input = "logits")
    expect_equal(other$elbo, fit$elbo, tolerance = 1e-5)
    expect_equal(unname(predict(other, d$scores * scale)), unname(predict(fit, d$scores)),
      tolerance = 1e-3)
  }
})

test_that("no variance leaves the prior mean's softmax", {
  set.seed(6)
  d <- bent_data(100, 3)
  fit <- shared_gp(d$scores, d$labels, mean = "identity", hyper = c(variance = 1e-12, noise = 0))
  expect_equal(predict(fit, d$scores), predict(calib_none(d$scores, d$labels), d$scores),
    tolerance = 1e-6)
  line <- shared_gp(d$scores, d$labels, hyper = c(variance = 1e-10, noise = 1e-12))
  temp <- calib_temperature(d$scores, d$labels)
  expect_equal(line$hyper[["slope"]], 1 / coef(temp)[["temperature"]], tolerance = 1e-3)
})

test_that("what is held stays, and threads change nothing", {
  set.seed(7)
  d <- bent_data(300, 30)
  fit <- quiet_gp(d$scores, d$labels, hyper = c(lengthscale = 2, slope = 0.7, variance = 0.5))
  expect_equal(fit$hyper[c("variance", "lengthscale", "slope")],
    c(variance = 0.5, lengthscale = 2, slope = 0.7))
  one <- quiet_gp(d$scores, d$labels)
  two <- quiet_gp(d$scores, d$labels, threads = 2)
  fields <- setdiff(names(one), "call")
  expect_identical(one[fields], two[fields])
  expect_identical(predict(one, d$scores), predict(one, d$scores, threads = 2))
})

test_that("the number of inducing inputs follows the lengthscale", {
  set.seed(8)
  d <- bent_data(3000, 6, bend = function(z) z + 2 * sin(4 * z))
  fit <- quiet_gp(d$scores, d$labels)
  expect_gt(length(fit$inducing), 16)
  expect_equal(length(calib_gp(d$scores, d$labels, inducing = 12)$inducing), 12)
  at <- seq(-4, 4, by = 1)
  expect_equal(quiet_gp(d$scores, d$labels, inducing = at)$inducing, at)
})

test_that("the paper's configuration is one call", {
  d <- letters_nn$cal
  fit <- calib_gp(d$scores, d$labels, mean = "identity", center = FALSE, covariance = "diag",
    inducing = 10, optimize_inducing = TRUE)
  expect_length(fit$inducing, 10)
  expect_false(isTRUE(all.equal(diff(fit$inducing), rep(mean(diff(fit$inducing)), 9))))
  set.seed(1)
  p <- predict(fit, letters_nn$test$scores, approx = "mc", n_draws = 100)
  expect_lt(log_loss(p, letters_nn$test$labels), 0.6)
  held <- calib_gp(d$scores, d$labels, mean = "identity", center = FALSE, covariance = "diag",
    inducing = 10)
  expect_gt(fit$elbo, held$elbo - 1e-3)
})

test_that("mean = \"auto\" takes the highest bound and says so", {
  d <- rain_nyc[rain_nyc$part == "calibration", ]
  expect_message(fit <- calib_gp(d$prob, d$rain, mean = "auto"), "chose .*evidence lower bounds: linear")
  for (mean in c("linear", "identity", "log")) {
    expect_gte(fit$elbo, calib_gp(d$prob, d$rain, mean = mean)$elbo - 1e-8)
  }
})

test_that("few rows do not make a score of zero impossible", {
  set.seed(8) # no zero is the true class, and the bound alone takes the lowest floor of all
  truth <- sample(8, 150, TRUE)
  z <- matrix(rnorm(1200), 150)
  z[cbind(1:150, truth)] <- z[cbind(1:150, truth)] + 3
  p <- exp(z) / rowSums(exp(z))
  p[p < 0.01] <- 0
  p <- p / rowSums(p)
  lowest <- min(p[p > 0]) / 2
  suppressWarnings({
    with <- calib_gp(p, truth)
    without <- calib_gp(p, truth, class_effects = "none")
  })
  expect_lt(without$floor, lowest)
  expect_gte(with$floor, lowest)
})

test_that("the floor is chosen by the bound", {
  d <- rain_nyc[rain_nyc$part == "calibration", ]
  fit <- shared_gp(d$prob, d$rain)
  tried <- vapply(10^-(2:8), function(f) shared_gp(d$prob, d$rain, floor = f)$elbo, 0)
  expect_gte(fit$elbo, max(tried) - 1e-3)
  expect_false(is.null(fit$floor))
  expect_null(calib_gp(letters_nn$cal$scores, letters_nn$cal$labels)$floor)
})

test_that("the traps hold", {
  finite_fit <- function(...) {
    fit <- suppressWarnings(calib_gp(...))
    expect_true(is.finite(fit$elbo))
    expect_false(anyNA(fit$q_cov))
    fit
  }
  rows_ok <- function(p) {
    expect_true(all(is.finite(p)) && all(p > 0))
    expect_equal(unname(rowSums(p)), rep(1, nrow(p)), tolerance = 1e-6)
  }
  set.seed(9)
  # exact zeros under the log mean
  p <- cbind(c(0, 0.2, 0.9, 1, 0.5, 0), 0)
  p[, 2] <- 1 - p[, 1]
  fit <- finite_fit(p, c(2, 2, 1, 1, 2, 1), mean = "log")
  rows_ok(predict(fit, p))
  # all scores equal
  flat <- matrix(0.25, 10, 4)
  expect_warning(fit <- calib_gp(flat, rep(1:4, length.out = 10)), class = "gpcalib_warning_flat")
  expect_equal(unname(predict(fit, flat)), flat, tolerance = 1e-6)
  # fewer distinct scores than inducing inputs
  few <- matrix(sample(c(-1, 0, 1), 60, TRUE), 20)
  fit <- finite_fit(few, max.col(few, "first"))
  rows_ok(suppressWarnings(predict(fit, few)))
  # a vector, two columns, logits: the same fit
  d <- rain_nyc[1:300, ]
  prob <- pmin(pmax(d$prob, 0.01), 0.99)
  one <- calib_gp(prob, d$rain)
  expect_equal(calib_gp(cbind(1 - prob, prob), d$rain)$elbo, one$elbo, tolerance = 1e-9)
  expect_equal(calib_gp(qlogis(prob), d$rain, input = "logits")$elbo, one$elbo, tolerance = 1e-9)
  # a class that never occurs, one row per class
  d <- bent_data(40, 5)
  labels <- factor(pmin(as.integer(d$labels), 4), levels = 1:5)
  rows_ok(predict(finite_fit(d$scores, labels), d$scores))
  d <- bent_data(5, 5)
  rows_ok(suppressWarnings(predict(finite_fit(d$scores, 1:5), d$scores)))
  # logits of 1e4
  d <- bent_data(60, 4)
  rows_ok(predict(finite_fit(d$scores * 1e4, d$labels), d$scores * 1e4))
  d$scores[1, ] <- c(1e4, -1e4, 0, 10)
  rows_ok(predict(finite_fit(d$scores, d$labels, mean = "identity"), d$scores))
  # many classes, few rows
  d <- bent_data(50, 1000)
  rows_ok(predict(finite_fit(d$scores, d$labels), d$scores))
})

test_that("separated data stop at the limit, with a warning", {
  set.seed(10)
  z <- matrix(rnorm(150), 50)
  y <- max.col(z)
  expect_warning(fit <- calib_gp(z, y), class = "gpcalib_warning_separated")
  p <- predict(fit, z)
  expect_lt(mean(apply(p, 1, max)), 51 / 52 + 0.005)
  expect_false(fit$converged)
})

test_that("outlying rows do not spoil the rest", {
  set.seed(11)
  d <- bent_data(1000, 6)
  plain <- quiet_gp(d$scores, d$labels)
  far <- d
  far$scores[1:3, ] <- far$scores[1:3, ] * 1000
  far$labels[1:3] <- levels(d$labels)[max.col(far$scores[1:3, ])]
  with_far <- calib_gp(far$scores, far$labels)
  expect_lt(diff(range(with_far$inducing)), 3 * diff(range(plain$inducing)))
  keep <- -(1:3)
  expect_equal(log_loss(predict(with_far, d$scores[keep, ]), d$labels[keep]),
    log_loss(predict(plain, d$scores[keep, ]), d$labels[keep]), tolerance = 0.02)
})

test_that("200 small random problems are fitted", {
  set.seed(12)
  for (i in 1:200) {
    n <- sample(2:50, 1)
    k <- sample(2:20, 1)
    z <- matrix(rnorm(n * k, sd = exp(rnorm(1))), n)
    kind <- sample(6, 1)
    if (kind == 1) z <- round(z) # ties
    if (kind == 2) z[] <- 0 # constant
    y <- sample(k, n, TRUE) # classes missing
    if (kind == 3) y <- max.col(z) # separable
    if (kind == 4) z <- exp(z) / rowSums(exp(z))
    if (kind == 5) { # zeros
      z <- exp(z) / rowSums(exp(z))
      z[z < 1 / (2 * k)] <- 0
      z <- z / rowSums(z)
    }
    fit <- suppressWarnings(calib_gp(z, factor(y, levels = seq_len(k))))
    p <- suppressWarnings(predict(fit, z))
    expect_true(is.finite(fit$elbo) && !anyNA(p) && all(p >= 0) && all(abs(rowSums(p) - 1) < 1e-6))
  }
})

test_that("the trace never falls", {
  d <- bent_data(300, 5)
  lines <- utils::capture.output(calib_gp(d$scores, d$labels, control = gp_control(trace = TRUE)))
  lines <- grep("^pass", lines, value = TRUE)
  bounds <- as.numeric(sub(".*elbo (\\S+).*", "\\1", lines))
  begun <- cumsum(grepl("^pass +1 ", lines)) # the map falls, so that others are tried
  expect_gt(length(bounds), 2)
  for (one in split(bounds, begun)) expect_true(all(diff(one) >= -1e-6))
})

test_that("bad arguments are named", {
  z <- matrix(rnorm(30), 10)
  y <- rep(1:3, length.out = 10)
  bad <- function(...) expect_error(calib_gp(z, y, ...), class = "gpcalib_error_input")
  bad(mean = "cubic")
  bad(mean = "log")
  bad(covariance = "half")
  bad(inducing = 1)
  bad(inducing = c(1, NA))
  bad(hyper = c(lenghtscale = 1))
  bad(hyper = c(variance = -1))
  bad(control = list(tol = 1))
  bad(floor = 2)
  bad(optimise_inducing = TRUE)
  p <- matrix(1 / 3, 10, 3)
  expect_error(calib_gp(p, y, mean = "log", center = TRUE), class = "gpcalib_error_input")
  expect_error(calib_gp(z, y, threads = 0), class = "gpcalib_error_input")
})

test_that("print and summary say what was done", {
  fit <- calib_gp(letters_nn$cal$scores, letters_nn$cal$labels)
  expect_output(print(fit), "Latent Gaussian process")
  expect_output(print(summary(fit)), "increasing")
  expect_identical(names(coef(fit))[1:4], c("variance", "lengthscale", "noise", "slope"))
  expect_named(coef(calib_gp(letters_nn$cal$scores, letters_nn$cal$labels, class_effects = "none")),
    c("variance", "lengthscale", "noise", "slope"))
  expect_equal(nrow(glance(fit)), 1)
  expect_true(all(c("elbo", "passes", "edf") %in% names(glance(fit))))
  # (v, slope, effects) have a joint covariance, of which half is kept
  each <- length(fit$inducing) + 1 + length(fit$effects$effect)
  expect_lt(as.numeric(object.size(fit)), 30000 + 8 * each * (each + 1) / 2)
  expect_lt(as.numeric(object.size(shared_gp(letters_nn$cal$scores, letters_nn$cal$labels))), 22000)
})
