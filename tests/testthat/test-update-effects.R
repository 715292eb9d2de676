# New rows for fits of the process with effects of the classes, where the old ones are a quadratic.

frozen_gp <- function(...) suppressWarnings(calib_gp(..., control = gp_control(buffer = 0)))

lower <- function(packed) {
  size <- (sqrt(8 * length(packed) + 1) - 1) / 2
  h <- matrix(0, size, size)
  h[lower.tri(h, TRUE)] <- packed
  h + t(h) - diag(diag(h), size)
}

test_that("what is kept is the gradient and the curvature of the rows at the optimum", {
  for (k in c(2, 4)) {
    d <- with_seed(20 + k, mixed_data(300, k))
    fit <- frozen_gp(d$scores, d$labels, class_effects = "matrix", integrate = FALSE)
    site <- fit$stream$effects
    parameters <- oracle_effect_parameters(fit)
    tau <- parameters$tau
    knots <- length(fit$stream$knots)
    own <- knots + seq_along(site$effect)
    # where the bound is highest the gradient of the rows is that of the prior, with the other sign
    expect_lt(max(abs(site$b[own] - site$effect / tau^2)), 0.1 * max(abs(site$b[own])) + 0.1)
    free <- parameters$free # what is kept is in the parameters of the model
    expect_equal(site$effect, drop(free %*% as.vector(fit$effects$effect)))
    # posterior precision = curvature of the rows + prior precision
    cov <- effects_cov(fit$effects)
    at <- nrow(cov) - length(site$effect) + seq_along(site$effect)
    cov[at, ] <- free %*% cov[at, ]
    cov[, at] <- cov[, at] %*% t(free)
    precision <- solve(cov)
    expect_equal(precision[at, at], lower(site$h)[own, own] + diag(1 / tau^2), tolerance = 1e-6)
    expect_gt(min(eigen(lower(site$h), symmetric = TRUE, only.values = TRUE)$values), -1e-8 * max(site$h))
    expect_equal(site$psi, latent(fit, fit$stream$knots)$mean, tolerance = 1e-8)
  }
})

test_that("batch by batch is as good as a fit of all rows, from the default on", {
  for (k in c(2, 4)) {
    d <- with_seed(30 + k, mixed_data(3000, k))
    one <- frozen_gp(d$scores[1:200, ], d$labels[1:200])
    fit <- one
    for (b in 2:5) {
      rows <- 200 * (b - 1) + 1:200
      fit <- suppressWarnings(update(fit, d$scores[rows, ], d$labels[rows]))
    }
    whole <- frozen_gp(d$scores[1:1000, ], d$labels[1:1000], integrate = FALSE)
    loss <- function(object) suppressWarnings(log_loss(predict(object, d$scores[1001:3000, ]), d$labels[1001:3000]))
    expect_lt(loss(fit) - loss(whole), 0.002)
    expect_gt(loss(one) - loss(whole), 0.005) # the first rows alone are not enough
    expect_identical(fit$class_effects, "matrix")
    expect_identical(nobs(fit), 1000L)
    expect_lt(max(abs(predict(fit, d$scores[1:50, ]) - predict(whole, d$scores[1:50, ]))), 0.05)
    # uncertainty as well: about as much as of all rows
    expect_equal(mean(predict(fit, d$scores[1:50, ], type = "latent")$var), mean(predict(whole, d$scores[1:50, ], type = "latent")$var),
      tolerance = 0.3)
    expect_lt(as.numeric(object.size(fit)), 1.1 * as.numeric(object.size(one)) + 5000)
    file <- tempfile()
    saveRDS(fit, file)
    expect_identical(predict(update(readRDS(file), d$scores[1:20, ], d$labels[1:20]), d$scores[1:5, ]),
      predict(update(fit, d$scores[1:20, ], d$labels[1:20]), d$scores[1:5, ]))
  }
})

test_that("effects can appear and go, forgetting follows a change, forgetting all is a new fit", {
  d <- with_seed(41, mixed_data(1200, 3, w = 0, b = 2))
  plain <- with_seed(42, mixed_data(1200, 3, w = 0, b = 0))
  fit <- frozen_gp(plain$scores[1:60, ], plain$labels[1:60])
  for (b in 1:4) fit <- suppressWarnings(update(fit, d$scores[200 * (b - 1) + 1:200, ], d$labels[200 * (b - 1) + 1:200]))
  expect_false(fit$class_effects == "none")
  favoured <- fit$effects$effect[1, ]
  expect_identical(which.max(favoured), c(`1` = 1L))
  test <- 801:1200
  loss <- function(object) log_loss(predict(object, plain$scores[test, ]), plain$labels[test])
  follow <- function(forget) {
    new <- fit
    for (b in 1:2) new <- suppressWarnings(update(new, plain$scores[200 * (b - 1) + 1:200, ], plain$labels[200 * (b - 1) + 1:200], forget = forget))
    new
  }
  expect_lt(loss(follow(0.7)), loss(follow(0)) - 0.01)
  alone <- frozen_gp(plain$scores[1:200, ], plain$labels[1:200], integrate = FALSE)
  new <- suppressWarnings(update(fit, plain$scores[1:200, ], plain$labels[1:200], forget = 1))
  expect_equal(predict(new, plain$scores[1:20, ]), predict(alone, plain$scores[1:20, ]), tolerance = 1e-6)
})

test_that("a fit asked for offsets stays one, held variances stay held, single rows and flat rows will do", {
  d <- with_seed(43, mixed_data(400, 3))
  fit <- frozen_gp(d$scores[1:200, ], d$labels[1:200], class_effects = "offset", hyper = c(offset = 0.04))
  new <- suppressWarnings(update(fit, d$scores[201:400, ], d$labels[201:400]))
  expect_identical(new$class_effects, "offset")
  expect_equal(unname(new$effects$sd), 0.2)
  one <- suppressWarnings(update(new, d$scores[1, , drop = FALSE], d$labels[1]))
  expect_identical(nobs(one), 401L)
  expect_lt(max(abs(predict(one, d$scores) - predict(new, d$scores))), 0.05)
  flat <- suppressWarnings(update(new, matrix(0, 20, 3), factor(rep(3, 20), levels = 1:3)))
  expect_gt(flat$effects$effect[1, 3], new$effects$effect[1, 3]) # they still speak for their class
  # twice the weight is twice the rows
  twice <- suppressWarnings(update(new, d$scores[c(1:50, 1:50), ], d$labels[c(1:50, 1:50)]))
  heavy <- suppressWarnings(update(new, d$scores[1:50, ], d$labels[1:50], weights = rep(2, 50)))
  expect_equal(predict(twice, d$scores), predict(heavy, d$scores), tolerance = 1e-4)
})

test_that("offsets of many classes are estimated anew with every batch", {
  d <- with_seed(44, mixed_data(1800, 30, w = 0, b = 1))
  fit <- frozen_gp(d$scores[1:300, ], d$labels[1:300], class_effects = "offset")
  # what is kept of them, by hand: residuals and sum of p (1 - p) at the map and offsets of the fit
  expect_equal(fit$stream$offsets$at, unname(fit$offsets$mean))
  f <- matrix(latent(fit, as.vector(d$scores[1:300, ] - rowMeans(d$scores[1:300, ])))$mean, 300) + rep(fit$offsets$mean, each = 300)
  s <- oracle_softmax(f)
  expect_equal(fit$stream$offsets$g, as.vector(tabulate(d$labels[1:300], 30) - colSums(s)), tolerance = 0.1)
  expect_equal(fit$stream$offsets$h, colSums(s * (1 - s)), tolerance = 0.05)
  expect_equal(fit$stream$offsets$cross, colSums(s * (f - rowSums(s * f))) - colSums(s * rep(fit$offsets$mean, each = 300)) +
    colSums(s * as.vector(s %*% fit$offsets$mean)), tolerance = 0.05) # of the map alone, without the offsets
  expect_equal(fit$stream$offsets$psi, latent(fit, fit$stream$knots)$mean, tolerance = 1e-6)
  new <- fit
  for (b in 1:4) new <- suppressWarnings(update(new, d$scores[300 * b + 1:300, ], d$labels[300 * b + 1:300]))
  whole <- frozen_gp(d$scores[1:1500, ], d$labels[1:1500], class_effects = "offset", integrate = FALSE)
  expect_gt(stats::cor(new$offsets$mean, whole$offsets$mean), 0.98)
  expect_gt(stats::cor(new$offsets$mean, whole$offsets$mean), stats::cor(fit$offsets$mean, whole$offsets$mean) + 0.05)
  expect_equal(new$offsets$var, whole$offsets$var, tolerance = 0.2)
  loss <- function(object) log_loss(suppressWarnings(predict(object, d$scores[1501:1800, ])), d$labels[1501:1800])
  expect_lt(loss(new) - loss(whole), 0.003)
  # forgetting everything is a new fit
  alone <- frozen_gp(d$scores[301:600, ], d$labels[301:600], class_effects = "offset", integrate = FALSE)
  expect_equal(suppressWarnings(update(fit, d$scores[301:600, ], d$labels[301:600], forget = 1))$offsets$mean, alone$offsets$mean,
    tolerance = 1e-6)
  # a fit of an older version, which kept nothing of them: they stay
  old <- fit
  old$stream$offsets <- NULL
  expect_identical(suppressWarnings(update(old, d$scores[301:600, ], d$labels[301:600]))$offsets, fit$offsets)
  for (part in names(fit$stream$offsets)) for (value in list(NULL, "x", NA, c(2, 1))) {
    broken <- fit
    broken$stream$offsets[part] <- list(value)
    expect_error(update(broken, d$scores, d$labels), class = "gpcalib_error_object")
  }
})

test_that("what is known of offsets follows a map that rises", {
  # batches whose scores are twice as long: the map falls to about half, and old rows would expect other numbers of each class
  d <- with_seed(46, mixed_data(1200, 30, w = 0, b = 1))
  fit <- frozen_gp(d$scores[1:600, ], d$labels[1:600], class_effects = "offset", integrate = FALSE)
  new <- suppressWarnings(update(fit, 2 * d$scores[601:1200, ], d$labels[601:1200]))
  stale <- fit
  stale$stream$offsets$cross <- 0 * stale$stream$offsets$cross
  stale <- suppressWarnings(update(stale, 2 * d$scores[601:1200, ], d$labels[601:1200]))
  # counts of the old rows, expected under the new map with the offsets of the fit
  f <- function(z) matrix(latent(new, as.vector(z - rowMeans(z)))$mean, nrow(z))
  old <- oracle_softmax(f(d$scores[1:600, ]) + rep(fit$offsets$mean, each = 600))
  g <- tabulate(d$labels[1:600], 30) - colSums(old)
  rise <- function(object) fit$stream$offsets$g - object
  e <- sum(rise(g) * fit$stream$offsets$cross) / sum(fit$stream$offsets$cross^2)
  expect_lt(e, -0.1)
  expect_lt(stats::cor(rise(g), fit$stream$offsets$cross), -0.9) # (O5a) says what has changed
  # the new batch alone counts as well: all rows under the new map
  solved <- function(object) {
    b <- object$offsets$mean
    s1 <- oracle_softmax(f(d$scores[1:600, ]) + rep(b, each = 600))
    s2 <- oracle_softmax(f(2 * d$scores[601:1200, ]) + rep(b, each = 600))
    sum((tabulate(d$labels, 30) - colSums(s1) - colSums(s2) - b / object$offsets$sd^2)^2)
  }
  expect_lt(solved(new), solved(stale) / 2)
})

test_that("with more than 200 classes batches are frozen about a map that is not stiff, and their order matters little", {
  k <- 210
  d <- with_seed(4, {
    z <- matrix(stats::rnorm(2200 * k, sd = 2), ncol = k)
    f <- 1.2 * z - 0.6 * log1p(exp(z)) + rep(stats::rnorm(k, sd = 0.5), each = nrow(z))
    list(scores = z, labels = factor(max.col(f - log(-log(matrix(stats::runif(length(f)), nrow(f))))), seq_len(k)))
  })
  batches <- function(order) {
    rows <- split(order, rep(1:12, each = 100))
    fit <- suppressMessages(suppressWarnings(calib_gp(d$scores[rows[[1]], ], d$labels[rows[[1]]], integrate = FALSE)))
    for (i in rows[-1]) fit <- suppressMessages(suppressWarnings(update(fit, d$scores[i, ], d$labels[i])))
    fit
  }
  p <- lapply(list(batches(1:1200), batches(1200:1)), predict, d$scores[1201:2200, ])
  expect_lt(mean(rowSums(abs(p[[1]] - p[[2]]))) / 2, 0.004)
  # a line does not depend on what it is expanded about; the map that is kept is the one with the highest bound all the same
  line <- suppressWarnings(calib_gp(d$scores[1:100, ], d$labels[1:100], class_effects = "none", integrate = FALSE))
  held <- suppressWarnings(calib_gp(d$scores[1:100, ], d$labels[1:100], class_effects = "none", integrate = FALSE,
    hyper = c(variance = max(1, line$hyper[["variance"]]), lengthscale = min(diff(range(line$inducing)) / 8, line$hyper[["lengthscale"]]))))
  expect_lt(line$hyper[["variance"]], 1)
  expect_lt(max(abs(line$stream$psi - held$stream$psi)), 0.05 * max(abs(held$stream$psi)))
  expect_equal(sum(line$stream$v), sum(held$stream$v), tolerance = 0.02)
})

test_that("fits that keep the order go on keeping it", {
  d <- with_seed(45, mixed_data(900, 3, w = 0, b = 0))
  fit <- frozen_gp(d$scores[1:300, ], d$labels[1:300], monotone = TRUE)
  new <- suppressWarnings(update(fit, d$scores[301:600, ], d$labels[301:600]))
  whole <- frozen_gp(d$scores[1:600, ], d$labels[1:600], monotone = TRUE, integrate = FALSE)
  p <- predict(new, d$scores[601:900, ])
  expect_identical(unname(max.col(p, "first")), max.col(d$scores[601:900, ], "first"))
  expect_lt(max(abs(p - predict(whole, d$scores[601:900, ]))), 0.03)
  expect_gt(sum(new$order_mass), sum(fit$order_mass))
})

test_that("damaged quadratics of effects are recognised", {
  d <- with_seed(46, mixed_data(80, 3))
  fit <- frozen_gp(d$scores, d$labels)
  for (part in names(fit$stream$effects)) for (value in list(NULL, "x", NA, numeric(), c(2, 1))) {
    broken <- fit
    broken$stream$effects[part] <- list(value)
    expect_error(update(broken, d$scores, d$labels), class = "gpcalib_error_object")
  }
  fit$stream <- NULL
  expect_error(update(fit, d$scores, d$labels), "class_effects = \"none\"", class = "gpcalib_error_input")
})
