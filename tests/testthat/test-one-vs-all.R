# What the five binary methods share: two classes, one-vs-all, edges, objects.

methods <- list(
  platt = calib_platt, platt_raw = function(...) calib_platt(..., targets = "raw"),
  platt_logit = function(...) calib_platt(..., scale = "logit"),
  isotonic = calib_isotonic, isotonic_step = function(...) calib_isotonic(..., interpolate = FALSE),
  beta = calib_beta, beta_am = function(...) calib_beta(..., params = "am"),
  beta_ab = function(...) calib_beta(..., params = "ab"), bbq = calib_bbq,
  histogram = calib_histogram,
  histogram_mass = function(...) calib_histogram(..., binning = "mass", bins = 7)
)
is_probs <- function(p) {
  is.matrix(p) && all(is.finite(p)) && all(p >= 0 & p <= 1) && all(abs(rowSums(p) - 1) < 1e-12)
}
strip <- function(fit) {
  fit$call <- NULL
  fit
}
data4 <- oracle_data(300, 4, seed = 21)
z <- data4$z
p <- oracle_softmax(z)
y <- data4$y
new <- oracle_softmax(oracle_data(50, 4, seed = 22)$z)

# The path ----------------------------------------------------------------------------------

test_that("objects have the common fields, as plain vectors, and survive a file", {
  common <- c("method", "classes", "input", "n", "call", "converged", "iterations")
  for (name in names(methods)) {
    fit <- methods[[name]](p, y)
    expect_s3_class(fit, c(paste0("calib_", sub("_.*", "", name)), "calibrator"), exact = TRUE)
    expect_true(all(common %in% names(fit)), info = name)
    plain <- function(x) is.atomic(x) || is.language(x)
    expect_true(all(vapply(unclass(fit)[names(fit) != "points"], plain, NA)))
    expect_true(all(vapply(as.list(fit$points), plain, NA)))
    file <- tempfile(fileext = ".rds")
    saveRDS(fit, file)
    expect_identical(predict(readRDS(file), new), predict(fit, new), info = name)
    unlink(file)
  }
})

test_that("rows are probabilities, keep their names and order, whatever the threads", {
  for (name in names(methods)) {
    fit <- methods[[name]](p, y)
    named <- new
    rownames(named) <- paste0("r", seq_len(nrow(new)))
    v <- predict(fit, named)
    expect_true(is_probs(v), info = name)
    expect_identical(dimnames(v), list(rownames(named), as.character(1:4)))
    expect_identical(predict(fit, named[50:1, ]), v[50:1, ], info = name)
    expect_identical(predict(fit, named[7, , drop = FALSE]), v[7, , drop = FALSE], info = name)
    expect_identical(dim(predict(fit, new[0, ])), c(0L, 4L))
    expect_identical(predict(fit, new, "class"), factor(max.col(unname(v), "first"), levels = 1:4))
    expect_identical(strip(methods[[name]](p, y, threads = 2)), strip(fit), info = name)
    expect_identical(predict(fit, named, threads = 2), v)
  }
})

test_that("blocks of rows do not show", {
  big <- oracle_softmax(oracle_data(1100, 3, seed = 23)$z)
  for (name in names(methods)) {
    fit <- methods[[name]](p[, 1:3] / rowSums(p[, 1:3]), rep(1:3, 100))
    v <- predict(fit, big)
    for (rows in list(1:100, 500:530, 1090:1100)) {
      expect_identical(predict(fit, big[rows, ]), v[rows, ], info = name)
    }
  }
})

test_that("every class is calibrated against the rest and rows are divided by their sum", {
  one_fit <- function(method) {
    function(s, t, at) unname(predict(method(s, factor(t, levels = 0:1), input = "probs"), at)[, 2])
  }
  for (name in names(methods)) {
    fit <- methods[[name]](p, y)
    expect_equal(unname(predict(fit, new)), oracle_ova(p, y, new, one_fit(methods[[name]])),
      tolerance = 1e-9, info = name)
  }
})

test_that("permuting classes permutes the answer", {
  turn <- c(3, 1, 4, 2)
  for (name in names(methods)) {
    v <- unname(predict(methods[[name]](p, y), new))
    w <- unname(predict(methods[[name]](p[, turn], match(y, turn)), new[, turn]))
    expect_equal(w, v[, turn], tolerance = 1e-12, info = name)
  }
})

test_that("logits are their softmax; Platt scaling takes log-odds", {
  fine <- setdiff(names(methods), c("platt", "platt_raw", "platt_logit"))
  new_z <- oracle_data(50, 4, seed = 22)$z
  for (name in fine) {
    a <- predict(methods[[name]](z, y, input = "logits"), new_z)
    b <- predict(methods[[name]](p, y), new)
    expect_equal(a, b, tolerance = 1e-8, info = name)
  }
  a <- predict(calib_platt(z, y, input = "logits"), new_z)
  expect_equal(a, predict(calib_platt(p, y, scale = "logit"), new), tolerance = 1e-8)
  expect_equal(a, predict(calib_platt(z + 100, y), new_z - 7), tolerance = 1e-10)
})

test_that("integer weights equal replication, weights of zero leave rows out", {
  set.seed(3)
  w <- sample(0:3, nrow(p), TRUE)
  rows <- rep(seq_len(nrow(p)), w)
  for (name in names(methods)) {
    a <- predict(methods[[name]](p, y, weights = w), new)
    b <- predict(methods[[name]](p[rows, ], y[rows]), new)
    expect_equal(a, b, tolerance = 1e-9, info = name)
    plain <- predict(methods[[name]](p, y), new)
    expect_equal(predict(methods[[name]](p, y, weights = rep(1, nrow(p))), new), plain,
      tolerance = 1e-12, info = name)
    expect_false(isTRUE(all.equal(a, plain, tolerance = 1e-3)), info = name)
  }
  two <- p[, 2] / (p[, 1] + p[, 2])
  label <- as.integer(y %in% c(2, 4))
  for (name in names(methods)) {
    a <- predict(methods[[name]](two, label, weights = w), new[, 1])
    b <- predict(methods[[name]](two[rows], label[rows]), new[, 1])
    expect_equal(a, b, tolerance = 1e-9, info = name)
  }
})

# Two classes -------------------------------------------------------------------------------

test_that("two classes as a vector, as columns, by name in either order", {
  s <- p[, 1]
  label <- factor(ifelse(y == 1, "yes", "no"))
  for (name in names(methods)) {
    fit <- methods[[name]](s, label)
    v <- predict(fit, new[, 1])
    expect_true(is_probs(v), info = name)
    both <- cbind(yes = s, no = 1 - s)
    expect_equal(predict(methods[[name]](both, label), cbind(yes = new[, 1], no = 1 - new[, 1])),
      v, tolerance = 1e-9, info = name)
    # the map is that of the second class alone
    expect_equal(calib_map(fit, new[, 1])$calibrated, unname(v[, "yes"]), tolerance = 1e-12)
  }
})

test_that("where one class is all but certain the other keeps its digits", {
  d <- oracle_pair(200, 5)
  x <- qlogis(d$p)
  fit <- calib_platt(x, d$y, input = "logits")
  far <- 300 / coef(fit)[["slope"]]
  v <- predict(fit, c(-far, far))
  expect_equal(unname(log(v[2, 1])), -300 - coef(fit)[["intercept"]], tolerance = 1e-10)
  expect_equal(unname(log(v[1, 2])), -300 + coef(fit)[["intercept"]], tolerance = 1e-10)
})

# Edges -------------------------------------------------------------------------------------

test_that("classes seen never get the rate (n + 1/K)/(N + 1), with one warning", {
  y3 <- rep(c(1, 2, 4), 100)
  for (name in names(methods)) {
    expect_warning(fit <- methods[[name]](p, y3), "\"3\"", class = "gpcalib_warning_absent")
    expect_identical(fit$fixed, "3")
    expect_true(is_probs(predict(fit, new)), info = name)
    map <- calib_map(fit, c(0, 0.3, 1))
    expect_equal(map$calibrated[map$class == "3"], rep((0 + 1 / 4) / 301, 3), tolerance = 1e-12)
    warned <- 0
    withCallingHandlers(methods[[name]](p, rep(1:2, 150)),
      gpcalib_warning_absent = function(w) {
        warned <<- warned + 1
        expect_match(conditionMessage(w), "2 of the 4 classes: \"3\", \"4\"")
        invokeRestart("muffleWarning")
      })
    expect_identical(warned, 1)
  }
})

test_that("a class seen always is no different, for two classes and for more", {
  for (name in names(methods)) {
    expect_warning(fit <- methods[[name]](p, factor(rep(2, 300), levels = 1:4)),
      "every|Every", class = "gpcalib_warning_absent")
    expected <- c(0.25, 300.25, 0.25, 0.25) / 301
    expect_equal(unname(predict(fit, new[1:2, ])), rbind(expected, expected, deparse.level = 0),
      tolerance = 1e-12, info = name, ignore_attr = TRUE)
    for (only in c("no", "yes")) {
      label <- factor(rep(only, 300), levels = c("no", "yes"))
      expect_warning(fit <- methods[[name]](p[, 1], label), class = "gpcalib_warning_absent")
      rate <- (300 * (only == "yes") + 0.5) / 301
      expect_equal(unname(predict(fit, c(0, 0.4, 1))[, "yes"]), rep(rate, 3), tolerance = 1e-12)
    }
    # by weight: rows of weight zero do not count
    expect_warning(fit <- methods[[name]](p[, 1], y == 2, weights = as.numeric(y == 2)),
      class = "gpcalib_warning_absent")
    n <- sum(y == 2)
    expect_equal(unname(predict(fit, 0.5)[, 2]), (n + 0.5) / (n + 1), tolerance = 1e-12)
  }
})

test_that("zeros, ones, ties and constant scores give probabilities", {
  set.seed(4)
  hard <- list(
    zeros_ones = c(rep(0, 40), rep(1, 40), runif(20)), ties = rep(c(0.1, 0.5, 0.9), c(40, 30, 30)),
    two_values = rep(0:1, 50), constant = rep(0.3, 100), all_zero = rep(0, 100),
    all_one = rep(1, 100), tiny = 10^-seq(1, 320, length.out = 100),
    near_one = 1 - 10^-seq(1, 18, length.out = 100)
  )
  label <- rep(c(0, 1, 1, 0, 1), 20)
  at <- c(0, 1e-300, 0.2, 0.5, 1 - 1e-16, 1)
  for (name in names(methods)) {
    for (case in names(hard)) {
      fit <- suppressWarnings(methods[[name]](hard[[case]], label))
      expect_true(is_probs(predict(fit, at)), info = paste(name, case))
      expect_true(is_probs(predict(fit, hard[[case]])), info = paste(name, case))
      expect_true(all(is.finite(calib_map(fit)$calibrated)), info = paste(name, case))
    }
    expect_true(is_probs(predict(methods[[name]](c(0.2, 0.9), 0:1) |> suppressWarnings(), at)))
  }
})

test_that("classes ruled out by -Inf, logits of 1e4 and more classes than rows", {
  ruled <- z
  ruled[cbind(1:300, ifelse(y == 4, 1, 4))] <- -Inf
  big <- z * 1e4
  set.seed(5)
  wide <- matrix(rnorm(50 * 200, sd = 3), 50)
  for (name in names(methods)) {
    for (x in list(ruled, big)) {
      fit <- suppressWarnings(methods[[name]](x, y))
      expect_true(is_probs(predict(fit, x)), info = name)
      expect_true(is_probs(predict(fit, z)), info = name)
    }
    fit <- suppressWarnings(methods[[name]](wide, sample(200, 50, TRUE)))
    expect_true(is_probs(predict(fit, wide)), info = name)
  }
  two <- cbind(c(0, -Inf, 0, 1, 2, 0), c(-Inf, 0, 1, 1, 0, 3))
  for (name in names(methods)) {
    fit <- suppressWarnings(methods[[name]](two, c(1, 2, 2, 1, 1, 2)))
    expect_true(is_probs(predict(fit, two)), info = name)
  }
})

test_that("a row in which every class gets nothing becomes the row that went in", {
  x <- rbind(c(.6, .35, .05), c(.05, .6, .35), c(.35, .05, .6))[c(1:3, 1:3), ]
  empty <- rbind(c(.34, .33, .33), c(.32, .33, .35))
  for (interpolate in c(TRUE, FALSE)) {
    fit <- calib_isotonic(x, c(1, 2, 3, 1, 2, 3), interpolate = interpolate)
    expect_identical(unname(predict(fit, empty)), empty)
    expect_identical(unname(predict(fit, rbind(empty, x[1, ]))), rbind(empty, c(1, 0, 0)))
  }
  # rows of logits become their softmax; the margin keeps rounding away from the edges
  fit <- calib_isotonic(log(x), c(1, 2, 3, 1, 2, 3), interpolate = FALSE)
  expect_equal(unname(predict(fit, log(empty[1, , drop = FALSE]) + 3)), empty[1, , drop = FALSE],
    tolerance = 1e-14)
})

# Looking at fits ---------------------------------------------------------------------------

test_that("tidy, coef, glance, augment, summary and calib_map work for all", {
  two <- p[, 1]
  for (name in names(methods)) {
    for (fit in list(methods[[name]](p, y), methods[[name]](two, y == 1))) {
      terms <- tidy(fit)
      expect_identical(names(terms), c("term", "estimate", "std.error"))
      expect_false(anyDuplicated(terms$term) > 0, info = name)
      expect_identical(names(coef(fit)), terms$term)
      one <- glance(fit)
      expect_identical(c(one$method, as.character(one$nobs)), c(fit$method, "300"))
      expect_output(print(summary(fit)), "Call: ")
      expect_output(print(fit), paste0("<calib_", fit$method, ">"))
      k <- length(fit$classes)
      map <- calib_map(fit, c(0, 0.5, 1))
      expect_identical(nrow(map), if (k == 2) 3L else 3L * k)
      expect_true(all(map$calibrated >= 0 & map$calibrated <= 1))
      expect_error(latent(fit, 1), class = "gpcalib_error_input")
    }
    wide <- augment(methods[[name]](p, y), new)
    expect_identical(unname(as.matrix(wide[paste0(".pred_", 1:4)])),
      unname(predict(methods[[name]](p, y), new)))
  }
})

test_that("maps of many classes are those before the division", {
  fit <- calib_isotonic(p, y)
  map <- calib_map(fit, new[, 1])
  values <- vapply(1:4, function(k) {
    fit <- isoreg(p[, k], as.integer(y == k))
    approx(sort(p[, k]), fit$yf, new[, 1], rule = 2)$y
  }, numeric(50))
  expect_equal(map$calibrated, as.vector(values), tolerance = 1e-13)
  platt <- calib_platt(z, y)
  expect_equal(calib_map(platt, c(0.2, 0.7))$calibrated[3:4], unname(plogis(
    platt$coefficients["slope", 2] * qlogis(c(0.2, 0.7)) + platt$coefficients["intercept", 2])),
    tolerance = 1e-13)
})

test_that("long tables of parameters are cut when printed", {
  fit <- calib_bbq(p, y)
  expect_gt(nrow(tidy(fit)), 100)
  expect_lt(length(capture.output(print(summary(fit)))), 45)
})

test_that("a damaged object is an error, not a crash", {
  fit <- calib_isotonic(p, y)
  for (start in list(fit$start + 1L, rev(fit$start), c(fit$start[1:4], 1000000L), fit$start[1:3])) {
    bad <- fit
    bad$start <- start
    expect_error(predict(bad, new), class = "gpcalib_error_object")
  }
})

test_that("what prints", {
  d <- oracle_pair(100, 9)
  two <- factor(c("dry", "rain")[d$y + 1])
  expect_snapshot({
    calib_platt(d$p, two)
    calib_platt(p, y)
    calib_isotonic(d$p, two)
    calib_beta(d$p, two, params = "am")
    calib_bbq(d$p, two)
    calib_histogram(d$p, two, bins = 4)
    summary(calib_histogram(d$p, two, bins = 4))
  })
})
