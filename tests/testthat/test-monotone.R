# calib_gp(monotone = TRUE): the promise, to the last bit, and what it rests on.

quiet_fit <- function(...) suppressWarnings(calib_gp(..., monotone = TRUE))
# labels of a map that falls in places
bent <- function(n = 400, k = 4, seed = 1) {
  set.seed(seed)
  bent_data(n, k, bend = function(z) z + 3 * sin(1.5 * z))
}
nodes_of <- function(fit) .Call(gpcalib:::C_mono_table, fit)$t
none <- c(delta = 0, mean = 0, mc = 0, estimate = 0, lower = 0, upper = 0, draws = 0, latent = 0, class = 0)

test_that("the checker sees pairs out of order and broken ties", {
  z <- rbind(c(1, 2, 3), c(1, 1, 2), c(-Inf, -Inf, 0))
  expect_equal(out_of_order(z, rbind(c(0.1, 0.2, 0.7), c(0.1, 0.1, 0.8), c(0, 0, 1))), 0)
  expect_equal(out_of_order(z, rbind(c(0.2, 0.1, 0.7), c(0.1, 0.1, 0.8), c(0, 0, 1))), 1)
  expect_equal(out_of_order(z, rbind(c(0.1, 0.2, 0.7), c(0.1, 0.1 + 1e-17 + 2^-56, 0.8), c(0, 1e-300, 1))), 2)
  d <- bent()
  free <- suppressWarnings(calib_gp(d$scores, d$labels, class_effects = "none"))
  expect_gt(out_of_order(d$scores, predict(free, d$scores)), 10)
  expect_false(free$increasing)
  expect_false(free$monotone)
})

test_that("logits keep their order in every mode", {
  d <- bent()
  for (center in c(TRUE, FALSE)) {
    fit <- quiet_fit(d$scores, d$labels, center = center)
    expect_true(fit$monotone)
    expect_false(fit$increasing) # or nothing would be asked of the projection
    set.seed(2)
    rows <- hard_logits(nodes_of(fit), 4, 600)
    expect_equal(order_by_mode(fit, rows), none)
    expect_equal(order_by_mode(fit, d$scores), none)
  }
})

test_that("probabilities keep theirs, with and without zeros, and so does the log mean", {
  d <- bent(300, 5, 3)
  p <- exp(d$scores) / rowSums(exp(d$scores))
  zeros <- p
  zeros[zeros < 0.01] <- 0
  zeros <- zeros / rowSums(zeros)
  set.seed(4)
  rows <- hard_probs(5, 500)
  for (fit in list(quiet_fit(p, d$labels), quiet_fit(zeros, d$labels), quiet_fit(p, d$labels, mean = "log"),
    quiet_fit(zeros, d$labels, mean = "log"), quiet_fit(p, d$labels, mean = "identity", center = FALSE))) {
    expect_equal(order_by_mode(fit, rows), none)
  }
  # rows that are no exact probabilities are divided by their sum; the class is that of the scores as given
  wide <- rows * (1 + stats::runif(500, -9e-4, 9e-4))
  expect_equal(order_by_mode(quiet_fit(p, d$labels), wide), none)
})

test_that("the class is that of the scores as given, not of rows divided by their sum", {
  d <- bent(300, 3, 3)
  p <- exp(d$scores) / rowSums(exp(d$scores))
  fit <- quiet_fit(p, d$labels)
  set.seed(15)
  top <- stats::runif(20000, 0.4, 0.49)
  rows <- cbind(top, ulps(top, 1), 1 + 9e-4 - 2 * top)
  divided <- rows / rowSums(rows)
  expect_gt(sum(max.col(divided, "first") != 2), 0) # some become ties
  expect_equal(as.integer(predict(fit, rows, type = "class")), rep(2, 20000))
  expect_equal(out_of_order(rows, predict(fit, rows)), 0)
})

test_that("two classes, given as a vector", {
  set.seed(5)
  z <- stats::rnorm(300, sd = 3)
  y <- stats::runif(300) < stats::plogis(z + 2 * sin(2 * z))
  new <- c(stats::rnorm(500, sd = 4), ulps(rep(0, 9), -4:4), 1e6, -1e6, -Inf, 5e-324)
  fit <- quiet_fit(z, y)
  p <- suppressWarnings(predict(fit, new))
  expect_equal(out_of_order(cbind(0, new), p), 0)
  expect_equal(unname(p[501:509, 2]), rep(0.5, 9), tolerance = 1e-10)
  ends <- suppressWarnings(predict(fit, new, type = "interval", n_draws = 50))
  expect_equal(out_of_order(cbind(0, new), ends[, , 2]), 0)
  expect_equal(out_of_order(cbind(0, new), ends[, , 3]), 0)
})

test_that("single functions keep the order around every node", {
  d <- bent()
  fit <- quiet_fit(d$scores, d$labels, center = FALSE)
  t <- nodes_of(fit)
  step <- t[2] - t[1]
  ladder <- as.vector(rbind(ulps(t, -1), t, ulps(t, 1), t + step * 2^-20, t + step / 3, t + step * (1 - 2^-20)))
  ladder <- sort(ladder)
  # every pair of neighbours on the ladder, beside a third class
  rows <- cbind(ladder[-length(ladder)], ladder[-1], stats::median(t))
  three <- quiet_fit(d$scores[, 1:3], factor(pmin(as.integer(d$labels), 3)), center = FALSE)
  process <- c("inducing", "q_mean", "q_cov", "hyper", "range", "scores_seen", "order_mass", "slope_cross", "slope_sd")
  three[process] <- fit[process]
  three["averaged"] <- list(NULL) # the nodes are those of the fit's own posterior
  set.seed(6)
  draws <- suppressWarnings(predict(three, rows, type = "draws", n_draws = 40, vary_slope = FALSE))
  expect_equal(sum(apply(draws, 3, function(p) sum(p[, 2] < p[, 1]))), 0)
  map <- latent(three, ladder)$mean
  expect_true(all(diff(map) >= 0))
  # and they do rise: the promise is not kept by being flat
  expect_gt(mean(draws[, 2, ] > draws[, 1, ]), 0.3)
})

test_that("a range wider than exponentials have room for", {
  d <- bent()
  fit <- quiet_fit(d$scores * 1000, d$labels, hyper = c(slope = 1))
  table <- .Call(gpcalib:::C_mono_table, fit)
  expect_gt(diff(range(table$map)), 2000)
  set.seed(7)
  expect_equal(order_by_mode(fit, hard_logits(table$t, 4, 200)), none)
  p <- suppressWarnings(predict(fit, d$scores * 1000, approx = "mean"))
  expect_equal(rowSums(p), rep(1, nrow(p)), tolerance = 1e-10)
})

test_that("-Inf is never above a very low logit, with or without the promise", {
  d <- bent()
  rows <- rbind(c(-Inf, -2000, 0, 1), c(-2000, -Inf, 3, -Inf), c(-Inf, -1e300, 0, 1), c(-1e9, -Inf, -1e9, 5))
  for (fit in list(quiet_fit(d$scores, d$labels), suppressWarnings(calib_gp(d$scores, d$labels, class_effects = "none")))) {
    p <- suppressWarnings(predict(fit, rows))
    for (i in seq_len(nrow(rows))) expect_lte(max(p[i, rows[i, ] == -Inf]), min(p[i, rows[i, ] > -Inf]))
  }
})

test_that("threads, permutations and files change nothing", {
  d <- bent()
  fit <- quiet_fit(d$scores, d$labels)
  set.seed(8)
  rows <- hard_logits(nodes_of(fit), 4, 300)
  quiet <- function(fit, ...) suppressWarnings(predict(fit, ...))
  p <- quiet(fit, rows)
  expect_identical(quiet(fit, rows, threads = 2), p)
  turn <- sample(nrow(rows))
  expect_identical(quiet(fit, rows[turn, ]), p[turn, ])
  expect_identical(quiet(fit, rows[1:7, ]), p[1:7, ])
  set.seed(9)
  ends <- quiet(fit, rows[1:50, ], type = "interval", n_draws = 30)
  set.seed(9)
  expect_identical(quiet(fit, rows[1:50, ], type = "interval", n_draws = 30, threads = 2), ends)
  file <- tempfile(fileext = ".rds")
  saveRDS(fit, file)
  expect_identical(quiet(readRDS(file), rows), p)
  unlink(file)
  columns <- c(3, 1, 4, 2)
  other <- quiet_fit(d$scores[, columns], factor(as.character(d$labels), levels = columns))
  expect_equal(out_of_order(rows[, columns], quiet(other, rows[, columns])), 0)
  expect_equal(unname(quiet(other, d$scores[, columns])[, order(columns)]), unname(quiet(fit, d$scores)), tolerance = 1e-4)
})

# What is computed -----------------------------------------------------------------------------

test_that("the projection is the weighted least-squares one", {
  d <- bent()
  fit <- quiet_fit(d$scores, d$labels)
  table <- .Call(gpcalib:::C_mono_table, fit)
  inside <- table$first:table$last
  least <- 0.01 * fit$hyper[["slope"]]
  t <- table$t[inside]
  y <- table$phi[inside] - least * t
  w <- table$weight[inside]
  expect_true(all(w > 0))
  # optimality of an increasing h: sums of w (y - h) over its blocks are zero, and no sum from a block's start is negative
  h <- table$map[inside] - least * t
  expect_true(all(diff(h) > -1e-9))
  block <- cumsum(c(TRUE, diff(h) > 1e-9))
  expect_lt(max(block), length(h)) # something was pooled
  left <- w * (y - h)
  expect_lt(max(abs(tapply(left, block, sum))), 1e-8 * sum(w))
  expect_gt(min(unlist(tapply(left, block, cumsum))), -1e-8 * sum(w)) # earlier ones lie above
  expect_equal(table$phi, drop(gpcalib:::latent(`class<-`(replace(unclass(fit), "monotone", FALSE), class(fit)), table$t)$mean),
    tolerance = 1e-8)
  beyond <- c(seq_len(table$first), table$last:length(table$t))
  slopes <- diff(table$map[beyond]) / diff(table$t[beyond])
  expect_equal(slopes[-table$first], rep(fit$hyper[["slope"]], length(beyond) - 2), tolerance = 1e-8)
})

test_that("prediction is the softmax of the projected mean, and an average over projected functions", {
  d <- bent(300, 3)
  fit <- quiet_fit(d$scores, d$labels)
  soft <- function(g) exp(g - apply(g, 1, max)) / rowSums(exp(g - apply(g, 1, max)))
  mean <- predict(fit, d$scores, type = "latent")$mean
  expect_equal(unname(predict(fit, d$scores, approx = "mean")), unname(soft(mean)), tolerance = 2e-4)
  expect_equal(latent(fit, d$scores[, 1] - rowMeans(d$scores))$mean, unname(mean[, 1]), tolerance = 1e-12)
  # many random functions agree with the fixed ones
  set.seed(10)
  many <- predict(fit, d$scores, approx = "mc", n_draws = 20000)
  expect_lt(max(abs(many - predict(fit, d$scores))), 0.01) # four standard errors of 20,000 draws
  expect_lt(mean(abs(many - predict(fit, d$scores))), 1e-3)
  draws <- predict(fit, d$scores[1:20, ], type = "draws", n_draws = 2000, vary_slope = TRUE)
  set.seed(11)
  ends <- predict(fit, d$scores[1:20, ], type = "interval", n_draws = 2000)
  expect_equal(unname(ends[, , 2]), unname(apply(draws, 1:2, stats::quantile, 0.025)), tolerance = 0.05)
  expect_true(all(ends[, , 2] <= ends[, , 3]))
  expect_equal(rowSums(predict(fit, d$scores)), rep(1, 300), tolerance = 1e-10)
  expect_equal(range(apply(draws, c(1, 3), sum)), c(1, 1), tolerance = 1e-10)
})

test_that("where the map is increasing anyway, little changes", {
  z <- letters_nn$cal$scores
  free <- calib_gp(z, letters_nn$cal$labels, class_effects = "none")
  fit <- calib_gp(z, letters_nn$cal$labels, monotone = TRUE)
  expect_true(free$increasing)
  expect_equal(fit$order_cost, 0, tolerance = 1e-8)
  new <- letters_nn$test$scores
  expect_lt(max(abs(predict(fit, new) - predict(free, new))), 1e-3)
  expect_lt(max(abs(predict(fit, new, approx = "mean") - predict(free, new, approx = "mean"))), 1e-4)
  expect_equal(predict(fit, new, type = "latent")$mean, predict(free, new, type = "latent")$mean, tolerance = 1e-3)
})

test_that("order_cost is the log-likelihood lost", {
  d <- bent()
  expect_warning(fit <- calib_gp(d$scores, d$labels, monotone = TRUE), class = "gpcalib_warning_order_cost")
  free <- suppressWarnings(calib_gp(d$scores, d$labels, class_effects = "none"))
  loss <- function(fit) nrow(d$scores) * log_loss(predict(fit, d$scores, approx = "mean"), d$labels)
  expect_equal(fit$order_cost, loss(fit) - loss(free), tolerance = 1e-2) # both sides are interpolated
  expect_gt(fit$order_cost, 5)
  expect_equal(fit$changed, 0)
})

# What is said ---------------------------------------------------------------------------------

test_that("arguments that contradict the promise are refused", {
  d <- bent()
  expect_error(calib_gp(d$scores, d$labels, monotone = NA), "`monotone`", class = "gpcalib_error_input")
  expect_error(calib_gp(d$scores, d$labels, monotone = TRUE, class_effects = "matrix"), "class_effects",
    class = "gpcalib_error_input")
  fit <- quiet_fit(d$scores, d$labels)
  expect_equal(fit$class_effects, "none")
  expect_error(predict(fit, d$scores, approx = "mc", independent = TRUE), "independent", class = "gpcalib_error_input")
})

test_that("scores against their labels give a flat map, and a warning", {
  set.seed(12)
  z <- matrix(stats::rnorm(1200, sd = 2), 400)
  y <- max.col(-z - log(-log(matrix(stats::runif(1200), 400))))
  seen <- character()
  withCallingHandlers(fit <- calib_gp(z, y, monotone = TRUE), warning = function(w) {
    seen <<- c(seen, class(w))
    invokeRestart("muffleWarning")
  })
  expect_true("gpcalib_warning_flat" %in% seen)
  expect_lt(max(suppressWarnings(predict(fit, z))), 0.4)
  expect_equal(out_of_order(z, suppressWarnings(predict(fit, z))), 0)
})

test_that("print() and summary() name the promise, or the remedy", {
  d <- bent()
  fit <- quiet_fit(d$scores, d$labels)
  expect_output(print(fit), "keeps the order of the classes in every row")
  expect_output(print(summary(fit)), "increasing by construction")
  free <- suppressWarnings(calib_gp(d$scores, d$labels, class_effects = "none"))
  expect_output(print(free), "monotone = TRUE")
  expect_output(print(summary(free)), "monotone = TRUE")
})

test_that("offsets keep the order of classes with the higher score and no lower offset", {
  d <- bent(600, 4, 13)
  set.seed(14)
  y <- factor(ifelse(stats::runif(600) < 0.3, 2, as.integer(d$labels)), levels = 1:4)
  fit <- quiet_fit(d$scores, y, class_effects = "offset")
  expect_equal(fit$class_effects, "offset")
  offset <- fit$offsets$mean
  rows <- rbind(d$scores, hard_logits(nodes_of(fit), 4, 300))
  for (approx in c("mean", "delta", "mc")) {
    p <- suppressWarnings(predict(fit, rows, approx = approx))
    for (a in 1:4) {
      for (b in setdiff(which(offset >= offset[a]), a)) expect_false(any(p[rows[, b] >= rows[, a], b] < p[rows[, b] >= rows[, a], a]))
    }
  }
  expect_gt(sum(max.col(p) != max.col(rows, "first")), 0) # offsets do change classes
})

test_that("objects of older versions have the promise's name for something else", {
  d <- bent()
  fit <- suppressWarnings(calib_gp(d$scores, d$labels, class_effects = "none"))
  old <- fit
  old$monotone <- old$increasing
  old$increasing <- NULL
  old$format <- 3L
  expect_identical(predict(old, d$scores), predict(fit, d$scores))
  expect_equal(gpcalib:::check_object(old)$increasing, fit$increasing)
  expect_false(gpcalib:::check_object(old)$monotone)
})

test_that("a damaged fit whose nodes cannot be placed does not break the session", {
  set.seed(1)
  z <- matrix(rnorm(900), 300)
  y <- max.col(z + rnorm(900), "first")
  fit <- suppressWarnings(calib_gp(z, y, monotone = TRUE))
  fit$hyper[["slope"]] <- 1e-320
  fit$inducing <- 1e10 + seq_along(fit$inducing) * 0.1
  fit$range <- c(0, 0)
  out <- tryCatch(suppressWarnings(predict(fit, z)), error = identity)
  expect_true(inherits(out, "error") || is.matrix(out))
})

test_that("another prior keeps the order of classes that gain no less by it", {
  d <- bent()
  k <- ncol(d$scores)
  fit <- suppressWarnings(calib_gp(d$scores, d$labels, monotone = TRUE))
  prior <- 2^(seq_len(k) - 1)
  prior <- prior / sum(prior)
  gain <- prior / (tabulate(as.integer(d$labels), k) / length(d$labels))
  rows <- d$scores + 1e-9 * rep(-1:1, length.out = nrow(d$scores))
  set.seed(1)
  p <- predict(fit, rows, prior = prior)
  for (a in seq_len(k)) {
    for (b in setdiff(which(gain >= gain[a]), a)) {
      higher <- rows[, b] >= rows[, a]
      expect_false(any(p[higher, b] < p[higher, a]))
    }
  }
  expect_identical(as.integer(predict(fit, rows, prior = prior, type = "class")), max.col(p, "first"))
  expect_gt(sum(max.col(p, "first") != max.col(rows, "first")), 0) # classes do change
})

shifted <- local({ # two classes, of which one is far rarer than the scores say
  set.seed(3)
  z <- rnorm(900, 0.7)
  list(x = plogis(z), y = rbinom(900, 1, plogis(z - 1.6)))
})

test_that("the map and the offsets are estimated together", {
  at <- c(0.1, 0.3, 0.5, 0.9)
  fit <- calib_gp(shifted$x, shifted$y, class_effects = "offset", monotone = TRUE)
  free <- calib_gp(shifted$x, shifted$y, class_effects = "offset")
  p <- predict(fit, at)[, 2]
  expect_lt(max(abs(p - predict(free, at)[, 2])), 0.003)
  expect_lt(abs(p[3] - plogis(-1.6)), 0.03)
  expect_equal(fit$elbo, free$elbo)
  expect_no_match(capture.output(print(fit)), "overconfident|miscalibrated|not increasing")
  # intervals know that slope and offset go together: with independent ones they were 0.8 and 1.5 times as wide
  set.seed(1)
  width <- function(fit) apply(predict(fit, at, type = "interval")[, 2, 2:3], 1, diff)
  expect_true(all(abs(log(width(fit) / width(free))) < log(1.2)))
})

test_that("covariances of process and offsets are those of the draws", {
  set.seed(2)
  fit <- calib_gp(shifted$x, shifted$y, class_effects = "offset", monotone = TRUE)
  z <- matrix(c(-1, 0.5, 1, -0.5), 2)
  pairs <- 4000
  functions <- gp_functions(fit, list(z = z), pairs, TRUE)
  offsets <- gp_offset_draws(fit, functions, pairs)[, 2 * seq_len(pairs) - 1]
  v <- fit$q_mean + t(chol(fit$q_cov)) %*% functions$x[seq_along(fit$inducing), ]
  drawn <- vapply(seq_len(pairs), function(d) {
    one <- fit
    one$q_mean <- v[, d]
    one$hyper[["slope"]] <- fit$hyper[["slope"]] + functions$tilt[d]
    .Call(C_gp_latent, one, as.double(z))$mean
  }, numeric(4))
  by_hand <- matrix(c(cov(t(drawn[1:2, ]), offsets[1, ]), cov(t(drawn[3:4, ]), offsets[2, ])), 2)
  exact <- mono_offset_cov(fit, z)
  expect_lt(max(abs(exact - by_hand)), 0.1 * max(abs(exact)))
  sd <- apply(offsets, 1, var)
  expect_equal(sd, fit$offsets$var, tolerance = 0.1)
})

test_that("new rows join offsets of a fit that keeps the order", {
  rows <- 1:500
  fit <- calib_gp(shifted$x[rows], shifted$y[rows], class_effects = "offset", monotone = TRUE)
  more <- update(fit, shifted$x[-rows], shifted$y[-rows])
  all <- calib_gp(shifted$x, shifted$y, class_effects = "offset", monotone = TRUE)
  at <- c(0.1, 0.3, 0.5, 0.9)
  expect_lt(max(abs(predict(more, at) - predict(all, at))), 0.01)
  expect_false(is.null(more$offsets$cross))
})
