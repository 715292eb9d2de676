# Which labels to ask for.

query_case <- function(k, effects, n = 60, pool = 25, ...) {
  with_seed(10 + k, {
    d <- mixed_data(n + pool, k)
    fit <- suppressWarnings(calib_gp(d$scores[1:n, ], d$labels[1:n], class_effects = effects, ...))
    list(fit = fit, pool = d$scores[-(1:n), ])
  })
}

information_of <- function(fit, scores) {
  posterior <- query_posterior(fit, check_pool(fit, scores, 1))
  .Call(C_query_information, posterior$fit, posterior$at, posterior$offset)
}

greedy_of <- function(fit, scores, n) {
  posterior <- query_posterior(fit, check_pool(fit, scores, 1))
  .Call(C_query_greedy, posterior$fit, posterior$at, posterior$offset, n)
}

greedy_of_one <- function(fit, at, i) {
  at <- list(z = at$z[i, , drop = FALSE], floor = at$floor, shift = at$shift[i])
  .Call(C_query_greedy, fit, at, NULL, 1L)$cov
}

centred <- function(z) z - rowMeans(z)

test_that("mutual information is that of dense Monte Carlo", {
  for (k in c(2, 3, 6)) for (effects in c("none", "offset", "matrix")) {
    case <- query_case(k, effects, pool = 6)
    got <- information_of(case$fit, case$pool)
    s <- oracle_query_cov(case$fit)
    z <- centred(case$pool)
    want <- with_seed(1, vapply(1:6, function(i) {
      oracle_query_mc(oracle_query_row(case$fit, z[i, ]), s, 4000)$information
    }, 0))
    expect_gt(min(want), 0)
    expect_lt(max(abs(got / want - 1)), 0.06)
  }
})

test_that("more classes than inducing inputs: functions in place of latent values, offsets as they are", {
  d <- with_seed(3, mixed_data(120, 30))
  for (effects in c("none", "offset")) {
    fit <- suppressWarnings(calib_gp(d$scores[1:110, ], d$labels[1:110], class_effects = effects, monotone = effects == "offset"))
    expect_identical(is.null(fit$offsets), effects == "none")
    z <- centred(d$scores[111:114, ])
    s <- oracle_query_cov(fit)
    want <- with_seed(1, vapply(1:4, function(i) oracle_query_mc(oracle_query_row(fit, z[i, ]), s, 3000)$information, 0))
    expect_lt(max(abs(information_of(fit, d$scores[111:114, ]) / want - 1)), 0.1)
  }
  # and the update there is the Gaussian one
  fit <- suppressWarnings(calib_gp(d$scores[1:110, ], d$labels[1:110], class_effects = "none"))
  one <- greedy_of(fit, d$scores[111, , drop = FALSE], 1L)
  row <- oracle_query_row(fit, drop(centred(d$scores[111, , drop = FALSE])))
  s <- oracle_query_cov(fit)
  w <- with_seed(2, oracle_query_mc(row, s, 5000)$w)
  want <- solve(solve(s) + t(row$x) %*% w %*% row$x)
  expect_lt(max(abs(one$cov - want)) / max(abs(want - s)), 0.05)
})

test_that("a matrix of many classes is taken as known, as their offsets are", {
  d <- with_seed(5, confused_data(910, 30))
  fit <- suppressWarnings(calib_gp(d$scores[1:900, ], d$labels[1:900], class_effects = "matrix"))
  expect_false(is.null(fit$offsets$wide))
  pool <- d$scores[901:910, ]
  z <- centred(pool)
  s <- oracle_query_cov(fit)
  sums <- oracle_wide_sums(fit, z)$mean
  want <- with_seed(1, vapply(1:10, function(i) {
    row <- oracle_query_row(fit, z[i, ])
    row$phi <- row$phi - unname(fit$offsets$mean) + sums[i, ]
    oracle_query_mc(row, s, 3000)$information
  }, 0))
  expect_lt(max(abs(information_of(fit, pool) / want - 1)), 0.1)
  expect_equal(information_of(fit, pool[2, , drop = FALSE]), information_of(fit, pool)[2])
})

test_that("conditioning on a row is the literal Gaussian update", {
  for (k in c(2, 4)) for (effects in c("none", "matrix")) {
    case <- query_case(k, effects)
    s <- oracle_query_cov(case$fit)
    one <- greedy_of(case$fit, case$pool[3, , drop = FALSE], 1L)
    expect_identical(one$row, 1)
    row <- oracle_query_row(case$fit, drop(centred(case$pool[3, , drop = FALSE])))
    w <- with_seed(4, oracle_query_mc(row, s, 20000)$w)
    c <- row$x %*% s %*% t(row$x)
    want <- -s %*% t(row$x) %*% w %*% solve(diag(k) + c %*% w) %*% row$x %*% s
    expect_lt(max(abs(one$cov - s - want)) / max(abs(want)), 0.02)
    expect_equal(one$cov, t(one$cov), tolerance = 1e-12)
    expect_gt(min(eigen(one$cov, symmetric = TRUE, only.values = TRUE)$values), -1e-10)
  }
})

test_that("greedy: each step takes the row that tells most beside those before, and asks nothing twice", {
  for (k in c(2, 3)) for (effects in c("none", "matrix")) {
    case <- query_case(k, effects)
    n <- nrow(case$pool)
    got <- greedy_of(case$fit, case$pool, 8L)
    expect_false(anyDuplicated(got$row) > 0)
    expect_true(all(diff(got$gain) <= 1e-12))
    # every row looked at in every step, S by hand; a close second is no mistake
    posterior <- query_posterior(case$fit, check_pool(case$fit, case$pool, 1))
    fit <- posterior$fit
    at <- posterior$at
    left <- seq_len(n)
    for (step in 1:8) {
      value <- .Call(C_query_information, fit, at, NULL)
      expect_equal(value[got$row[step]] / got$gain[step], 1, tolerance = 1e-6)
      expect_gte(value[got$row[step]], max(value[left]) - 1e-6)
      left <- setdiff(left, got$row[step])
      after <- greedy_of_one(fit, at, got$row[step])
      fit$effects$cov <- after[lower.tri(after, TRUE)]
    }
  }
  # the same row five times: what it tells falls
  case <- query_case(3, "none")
  same <- greedy_of(case$fit, case$pool[rep(2, 5), ], 5L)
  expect_identical(same$row, c(1, 2, 3, 4, 5))
  expect_true(all(diff(same$gain) < 0))
})

test_that("a share at random, with weights under which sums are those of the pool", {
  case <- query_case(3, "none", pool = 40)
  value <- information_of(case$fit, case$pool) # anything that is known of the rows
  estimate <- with_seed(1, replicate(300, {
    ask <- calib_query(case$fit, case$pool, 20)
    stats::weighted.mean(value[ask$row], ask$weight)
  }))
  error <- stats::sd(estimate) / sqrt(300)
  expect_lt(abs(mean(estimate) - mean(value)), 3 * error)
  ask <- with_seed(2, calib_query(case$fit, case$pool, 20))
  expect_s3_class(ask, c("calib_query", "data.frame"), exact = TRUE)
  expect_identical(as.vector(table(ask$reason)), c(10L, 10L))
  expect_false(anyDuplicated(ask$row) > 0)
  expect_equal(sum(1 / ask$inclusion), 40)
  expect_equal(mean(ask$weight), 1)
  expect_equal(ask$weight[20] / ask$weight[1], 3)
  unweighted <- with_seed(1, replicate(300, mean(value[calib_query(case$fit, case$pool, 20)$row])))
  expect_gt(abs(mean(unweighted) - mean(value)), 3 * error) # without them they are not
  # rounding, nothing at random, all at random, everything
  expect_identical(sum(calib_query(case$fit, case$pool, 3)$reason == "random"), 1L)
  expect_true(all(is.na(calib_query(case$fit, case$pool, 3, "information")$weight)))
  expect_true(all(is.na(calib_query(case$fit, case$pool, 3, random = 0)$weight)))
  expect_identical(calib_query(case$fit, case$pool, 4, random = 1)$weight, rep(1, 4))
  whole <- calib_query(case$fit, case$pool, 40, "information")
  expect_identical(sort(whole$row), 1:40)
  expect_identical(whole$weight, rep(1, 40))
  plain <- calib_query(case$fit, case$pool, 5, "random")
  expect_equal(plain$inclusion, rep(1 / 8, 5))
  expect_identical(plain$weight, rep(1, 5))
})

test_that("entropy takes the rows of the least certain prediction, for any calibrator", {
  case <- query_case(3, "none")
  ask <- calib_query(case$fit, case$pool, 5, "entropy")
  h <- apply(predict(case$fit, case$pool), 1, oracle_entropy)
  expect_identical(ask$row, order(-h)[1:5])
  d <- with_seed(5, mixed_data(60, 3))
  for (fit in list(calib_temperature(d$scores, d$labels), calib_isotonic(d$scores, d$labels), calib_none(d$scores, d$labels))) {
    h <- apply(predict(fit, case$pool), 1, oracle_entropy)
    expect_identical(calib_query(fit, case$pool, 5, "entropy")$row, order(-h)[1:5])
    expect_length(calib_query(fit, case$pool, 5, "random")$row, 5)
    expect_error(calib_query(fit, case$pool, 5), "no posterior of its map", class = "gpcalib_error_input")
  }
})

test_that("fits of every kind can ask", {
  d <- with_seed(6, mixed_data(90, 3))
  p <- oracle_softmax(d$scores)
  p[5, ] <- c(0, 0.3, 0.7)
  fits <- suppressWarnings(list(calib_gp(p, d$labels), calib_gp(p, d$labels, mean = "log"), calib_gp(p, d$labels, monotone = TRUE),
    calib_gp(p, d$labels, mean = "identity"), calib_gp(p, d$labels, integrate = TRUE),
    calib_gp(p, d$labels, covariance = "diag", center = FALSE, inducing = 10)))
  for (fit in fits) {
    ask <- with_seed(1, calib_query(fit, p, 9))
    expect_true(all(is.finite(ask$information[ask$reason == "information"])))
    expect_gt(min(ask$information, na.rm = TRUE), 0)
    expect_gt(calib_switch(fit, p)$gain, 0)
  }
  two <- suppressWarnings(calib_gp(p[, 2] / (p[, 1] + p[, 2]), d$labels == "2"))
  expect_length(calib_query(two, c(0, 0.1, 0.5, 1), 2)$row, 2)
})

test_that("what is wrong with a question is said", {
  case <- query_case(3, "none")
  bad <- function(...) expect_error(calib_query(...), class = "gpcalib_error_input")
  bad(case$fit, case$pool)
  bad(case$fit, n = 3)
  bad(case$fit, case$pool, 26)
  bad(case$fit, case$pool, 0)
  bad(case$fit, case$pool, NA)
  bad(case$fit, case$pool, 2.5)
  bad(case$fit, case$pool[0, ], 1)
  bad(case$fit, case$pool[, 1:2], 1)
  bad(case$fit, replace(case$pool, 3, NaN), 1)
  bad(case$fit, case$pool, 3, "zzz")
  bad(case$fit, case$pool, 3, "entropy", random = 0.2)
  bad(case$fit, case$pool, 3, random = 2)
  bad(case$fit, case$pool, 3, share = 1)
  bad(1, case$pool, 3)
  expect_error(calib_switch(calib_none(case$pool, rep(1:3, length.out = 25)), case$pool), "calib_gp", class = "gpcalib_error_input")
  expect_error(calib_switch(case$fit, case$pool, -1), class = "gpcalib_error_input")
  expect_error(calib_switch(case$fit), class = "gpcalib_error_input")
})

test_that("the switch compares the mean information with its threshold", {
  case <- query_case(3, "none")
  gain <- mean(information_of(case$fit, case$pool))
  say <- calib_switch(case$fit, case$pool, gain / 2)
  expect_identical(say$decision, "calibration")
  expect_equal(say$gain / gain, 1)
  expect_equal(say$labels_needed, 60)
  expect_equal(say$best, max(information_of(case$fit, case$pool)))
  expect_identical(calib_switch(case$fit, case$pool, 2 * gain)[c("decision", "labels_needed")], list(decision = "training", labels_needed = 0))
  # more labels leave less to learn, about in proportion
  d <- with_seed(7, mixed_data(2000, 3))
  gains <- vapply(c(100, 400, 1600), function(n) {
    calib_switch(suppressWarnings(calib_gp(d$scores[1:n, ], d$labels[1:n], class_effects = "none")), d$scores[1601:2000, ])$gain
  }, 0)
  expect_true(all(gains[-3] / gains[-1] > 1.7))
})

test_that("questions print", {
  case <- query_case(3, "none")
  out <- utils::capture.output(print(with_seed(1, calib_query(case$fit, case$pool, 10))))
  expect_match(out[1], "10 rows of 25 to label, strategy \"mixed\"", fixed = TRUE)
  expect_match(out[2], "5 for their information")
  expect_match(out[3], "5 drawn at random")
  expect_match(out[4], "weights for estimates")
  expect_match(utils::capture.output(print(calib_query(case$fit, case$pool, 1, "information")))[3], "not valid for the pool")
  out <- utils::capture.output(print(calib_switch(case$fit, case$pool, 1e-3)))
  expect_match(out[1], "use the next labels for calibration")
  expect_match(out[3], "further random labels")
  expect_match(utils::capture.output(print(calib_switch(case$fit, case$pool, 50)))[1], "training")
  expect_output(print(calib_query(case$fit, case$pool, 3)["row"]), "row") # a part of one
})
