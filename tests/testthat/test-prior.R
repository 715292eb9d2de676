# Other class frequencies.

d <- oracle_forecast(500, 3, seed = 7)
y <- factor(letters[d$y])
fit <- calib_none(d$p, y)
share <- as.vector(table(y)) / 500

test_that("prior is Bayes' rule, for every calibrator", {
  to <- c(a = 0.6, b = 0.1, c = 0.3)
  for (make in list(calib_none, calib_temperature, calib_platt, calib_isotonic, calib_beta, calib_bbq,
    calib_histogram, function(...) calib_isotonic(..., type = "venn-abers"))) {
    one <- make(d$p, y)
    expect_equal(one$prior, share)
    p <- predict(one, d$p[1:50, ])
    want <- p * rep(to / share, each = 50)
    want <- want / rowSums(want)
    expect_equal(predict(one, d$p[1:50, ], prior = to), want, tolerance = 1e-12)
    expect_equal(predict(one, d$p[1:50, ], prior = to[c(3, 1, 2)]), want, tolerance = 1e-12)
    expect_equal(predict(one, d$p[1:50, ], prior = unname(to)), want, tolerance = 1e-12)
    expect_identical(as.integer(predict(one, d$p[1:50, ], "class", prior = to)), max.col(want, "first"))
    expect_equal(predict(one, d$p[1:50, ], prior = share), p, tolerance = 1e-12)
  }
})

test_that("weights count in the frequencies", {
  w <- rep(1:2, 250)
  expect_equal(calib_none(d$p, y, weights = w)$prior, as.vector(tapply(w, y, sum)) / sum(w))
})

test_that("intervals shift with the probabilities", {
  p <- d$p[, 2]
  z <- d$y == 2
  to <- 0.7
  for (make in list(calib_temperature, calib_platt, calib_beta, function(...) calib_isotonic(..., type = "venn-abers"))) {
    one <- make(p, z)
    plain <- predict(one, p[1:9], type = "interval")
    moved <- predict(one, p[1:9], type = "interval", prior = to)
    expect_equal(unname(moved[, , 1]), unname(predict(one, p[1:9], prior = c(0.3, 0.7))), tolerance = 1e-12)
    shift <- stats::qlogis(0.7) - stats::qlogis(mean(z))
    for (side in 2:3) {
      expect_equal(moved[, 2, side], stats::plogis(stats::qlogis(plain[, 2, side]) + shift), tolerance = 1e-9)
    }
  }
  many <- calib_temperature(log(d$p), y)
  got <- predict(many, log(d$p)[1:5, ], type = "interval", prior = c(0.5, 0.25, 0.25))
  expect_equal(got[, , 1], predict(many, log(d$p)[1:5, ], prior = c(0.5, 0.25, 0.25)))
  expect_true(all(got[, , 2] < got[, , 1] & got[, , 1] < got[, , 3]))
  venn <- calib_isotonic(d$p, y, type = "venn-abers")
  expect_error(predict(venn, d$p, type = "interval", prior = share), "`prior`", class = "gpcalib_error_input")
})

test_that("bad frequencies are named", {
  bad <- list("a", c(0.5, 0.5), c(0.5, 0.6, 0.2), c(-0.1, 0.6, 0.5), c(NA, 0.5, 0.5), c(x = 0.2, y = 0.3, z = 0.5),
    0.2, list(0.2, 0.3, 0.5), matrix(1 / 3, 3, 1), numeric())
  for (prior in bad) expect_error(predict(fit, d$p, prior = prior), "`prior`", class = "gpcalib_error_input")
  # a class that no calibration row has
  some <- suppressWarnings(calib_none(d$p, factor(ifelse(d$y == 3, "b", letters[d$y]), levels = letters[1:3])))
  expect_error(predict(some, d$p, prior = c(0.3, 0.3, 0.4)), "no calibration row has", class = "gpcalib_error_input")
  expect_true(all(predict(some, d$p, prior = c(0.5, 0.5, 0))[, 3] == 0))
  # nothing is left in a row
  expect_error(predict(fit, rbind(c(0, 0.5, 0.5), c(1, 0, 0)), prior = c(0, 0.5, 0.5)), "row 2",
    class = "gpcalib_error_input")
  old <- fit
  old$prior <- NULL
  expect_error(predict(old, d$p, prior = share), "again", class = "gpcalib_error_input")
})

# Estimation ------------------------------------------------------------------------------

test_that("the estimate maximises the likelihood of the scores", {
  rows <- with_seed(1, sample(500, 400, prob = c(3, 1, 0.5)[d$y]))
  got <- estimate_prior(fit, d$p[rows, ], tol = 1e-12)
  loglik <- function(theta) {
    to <- exp(c(0, theta))
    to <- to / sum(to)
    sum(log(d$p[rows, ] %*% (to / share)))
  }
  best <- stats::optim(c(0, 0), loglik, method = "BFGS", control = list(fnscale = -1, reltol = 1e-14))
  to <- exp(c(0, best$par))
  expect_equal(as.vector(got), to / sum(to), tolerance = 1e-4)
  expect_true(attr(got, "converged"))
  expect_identical(names(got), letters[1:3])
  expect_equal(sum(got), 1)
  # one step by hand
  one <- suppressWarnings(estimate_prior(fit, d$p[rows, ], max_iter = 2, tol = 1e-14))
  expect_equal(as.vector(one), local({
    first <- colMeans(d$p[rows, ])
    q <- d$p[rows, ] * rep(first / share, each = length(rows))
    colMeans(q / rowSums(q))
  }), tolerance = 1e-12)
})

test_that("a shift is found and mended", {
  big <- oracle_forecast(4000, 3, seed = 8)
  rows <- with_seed(2, sample(4000, 2000, prob = c(4, 1, 1)[big$y]))
  all <- calib_none(big$p, factor(letters[big$y]))
  got <- estimate_prior(all, big$p[rows, ])
  expect_lt(max(abs(got - tabulate(big$y[rows], 3) / 2000)), 0.03)
  expect_lt(log_loss(predict(all, big$p[rows, ], prior = got), factor(letters[big$y[rows]])),
    log_loss(predict(all, big$p[rows, ]), factor(letters[big$y[rows]])))
  expect_output(print(got), "Class frequencies of 2,000 new rows")
})

test_that("convergence and bad input are spoken of", {
  expect_warning(estimate_prior(fit, d$p, max_iter = 1, tol = 1e-14), class = "gpcalib_warning_not_converged")
  expect_error(estimate_prior(fit, d$p[0, ]), "no rows", class = "gpcalib_error_input")
  expect_error(estimate_prior(fit, d$p, tol = 0), "`tol`", class = "gpcalib_error_input")
  expect_error(estimate_prior(fit), "`newdata`", class = "gpcalib_error_input")
  expect_error(estimate_prior(fit, d$p, type = "class"), "`...`", class = "gpcalib_error_input")
  some <- suppressWarnings(calib_none(d$p, factor(ifelse(d$y == 3, "b", letters[d$y]), levels = letters[1:3])))
  expect_warning(got <- estimate_prior(some, d$p), class = "gpcalib_warning_absent")
  expect_identical(unname(got[3]), 0)
  expect_error(suppressWarnings(estimate_prior(some, rbind(c(0, 0, 1), c(0.5, 0.5, 0)))), "`newdata`",
    class = "gpcalib_error_input")
})

test_that("calib_gp() keeps its class frequencies, and they can be estimated", {
  gp <- calib_gp(d$p, y)
  expect_equal(gp$prior, share)
  rows <- with_seed(4, sample(500, 400, prob = c(4, 1, 1)[d$y]))
  got <- estimate_prior(gp, d$p[rows, ])
  expect_lt(max(abs(got - tabulate(d$y[rows], 3) / 400)), 0.08)
})

test_that("calib_gp() takes a prior in every type but the latent one", {
  to <- c(a = 0.6, b = 0.1, c = 0.3)
  gp <- calib_gp(d$p, y)
  new <- d$p[1:40, ]
  bayes <- function(p) {
    q <- p * rep(to / share, each = nrow(p))
    q / rowSums(q)
  }
  want <- bayes(predict(gp, new))
  expect_equal(predict(gp, new, prior = to), want, tolerance = 1e-12)
  expect_equal(predict(gp, new, prior = rev(to)), want, tolerance = 1e-12)
  expect_equal(predict(gp, new, prior = share), predict(gp, new), tolerance = 1e-12)
  expect_identical(as.integer(predict(gp, new, "class", prior = to)), max.col(want, "first"))
  plain <- with_seed(1, predict(gp, new, type = "draws", n_draws = 6))
  drawn <- with_seed(1, predict(gp, new, type = "draws", n_draws = 6, prior = to))
  expect_equal(drawn[, , 4], bayes(plain[, , 4]), tolerance = 1e-12)
  got <- with_seed(1, predict(gp, new, type = "interval", n_draws = 1000, prior = to))
  expect_equal(got[, , 1], want, tolerance = 1e-12)
  drawn <- with_seed(1, predict(gp, new, type = "draws", n_draws = 1000, vary_slope = TRUE, prior = to))
  ends <- apply(drawn, 1:2, stats::quantile, c(0.025, 0.975))
  expect_lt(max(abs(got[, , 2] - ends[1, , ]), abs(got[, , 3] - ends[2, , ])), 0.003)
  expect_error(predict(gp, new, type = "latent", prior = to), "`prior`", class = "gpcalib_error_input")
  expect_error(predict(gp, new, prior = c(1, 1, 1)), "`prior`", class = "gpcalib_error_input")

  # Two classes: a shift of the log-odds, limits and all
  two <- calib_gp(d$p[, 2], d$y == 2)
  plain <- with_seed(1, predict(two, d$p[1:9, 2], type = "interval"))
  moved <- with_seed(1, predict(two, d$p[1:9, 2], type = "interval", prior = 0.7))
  shift <- stats::qlogis(0.7) - stats::qlogis(mean(d$y == 2))
  expect_equal(moved[, 2, ], stats::plogis(stats::qlogis(plain[, 2, ]) + shift), tolerance = 1e-8)
  expect_equal(moved[, 1, c(1, 3, 2)], 1 - moved[, 2, ], tolerance = 1e-12, ignore_attr = TRUE)
  expect_equal(unname(moved[, , 1]), unname(predict(two, d$p[1:9, 2], prior = c(0.3, 0.7))), tolerance = 1e-12)
})

test_that("standard errors of estimated frequencies are those of repeated samples", {
  set.seed(5)
  centre <- matrix(c(0, 0, 1.5, 0, 0, 1.5), 2)
  draw <- function(n, share) {
    y <- sample(3, n, TRUE, share)
    x <- t(centre[, y]) + matrix(rnorm(2 * n), n)
    d <- vapply(1:3, function(k) exp(-rowSums(sweep(x, 2, centre[, k])^2) / 2), numeric(n))
    list(p = d / rowSums(d), y = y)
  }
  cal <- draw(3000, c(1, 1, 1) / 3)
  fit <- calib_none(cal$p, factor(cal$y))
  fit$prior <- c(1, 1, 1) / 3
  many <- lapply(1:200, function(i) estimate_prior(fit, draw(400, c(0.5, 0.3, 0.2))$p))
  spread <- apply(vapply(many, as.numeric, numeric(3)), 1, sd)
  error <- rowMeans(vapply(many, attr, numeric(3), "std.error"))
  expect_lt(max(abs(log(spread / error))), 0.15)
  expect_output(print(many[[1]]), "std. error.*standard errors")
  expect_true(all(is.na(prior_error(matrix(1 / 3, 50, 3), rep(1 / 3, 3), rep(1 / 3, 3))))) # scores that say nothing
})

test_that("print() has a verdict for every shift, with a limit for the number of classes", {
  frequencies <- function(new, from, error) structure(stats::setNames(new, letters[seq_along(new)]), from = from, std.error = error, from_n = 1e6,
    iterations = 1L, class = "prior_estimate")
  shape <- estimate_prior(calib_platt(rain_nyc$prob, rain_nyc$rain), rain_nyc$prob)
  like <- function(x) structure(x, class = class(shape))
  said <- function(x) paste(capture.output(print(like(x))), collapse = " ")
  expect_match(said(frequencies(c(0.4, 0.6), c(0.5, 0.5), c(0.05, 0.05))), "2.0 standard errors of that difference: a clear shift$")
  expect_match(said(frequencies(c(0.45, 0.55), c(0.5, 0.5), c(0.05, 0.05))), "1.0 standard errors of that difference: no clear shift$")
  many <- rep(1 / 26, 26)
  moved <- many + c(0.025, -0.025, rep(0, 24))
  expect_match(said(frequencies(moved, many, rep(0.01, 26))), "2.5 standard errors of that difference: no clear shift \\(the limit for 26 classes is 3.1\\)$")
})
