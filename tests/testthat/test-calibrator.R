# The path that every calibrator takes, on the two simplest.

data3 <- oracle_data(60, 3, seed = 2)
z <- data3$z
y <- factor(c("a", "b", "c")[data3$y])
fits <- list(
  none = calib_none(z, y), temperature = calib_temperature(z, y),
  none_probs = calib_none(oracle_softmax(z), y),
  temperature_probs = calib_temperature(oracle_softmax(z), y)
)
scores_of <- function(fit) if (fit$input == "probs") oracle_softmax(z) else z

# Objects ---------------------------------------------------------------------------------

test_that("every object has the common fields, as plain vectors", {
  common <- c("method", "classes", "input", "n", "call", "converged", "iterations")
  for (fit in fits) {
    expect_s3_class(fit, c(paste0("calib_", fit$method), "calibrator"), exact = TRUE)
    expect_true(all(common %in% names(fit)))
    expect_identical(fit$classes, c("a", "b", "c"))
    expect_identical(fit$n, 60L)
    plain <- vapply(unclass(fit), function(x) is.atomic(x) || is.language(x), NA)
    expect_true(all(plain))
  }
  expect_identical(fits$none$input, "logits")
  expect_identical(fits$none_probs$input, "probs")
})

test_that("objects are small however they are made", {
  n <- 20000
  big <- matrix(rnorm(n * 2), n)
  frame <- as.data.frame(big)
  names(frame) <- c("a", "b")
  label <- factor(rep(c("a", "b"), n / 2))
  calls <- list(
    calib_none(big, label),
    do.call(calib_none, list(big, label)),
    do.call("calib_none", list(scores = frame, labels = label, weights = rep(1, n))),
    do.call(calib_none, list(frame, as.character(label))),
    eval(bquote(calib_none(.(big)[1:20000, ], .(label)))),
    calib_none((function(x) x)(big), label)
  )
  for (fit in calls) expect_lt(length(serialize(fit, NULL)), 4000)
  expect_identical(calls[[1]]$call, quote(calib_none(scores = big, labels = label)))
  expect_identical(calls[[2]]$call, quote(calib_none(scores = ..., labels = ...)))
  expect_identical(calls[[3]]$call, quote(calib_none(scores = ..., labels = ..., weights = ...)))
  expect_identical(deparse(calls[[5]]$call$scores), "...[1:20000, ]")
  expect_match(deparse(calls[[6]]$call$scores), "(big)", fixed = TRUE)
})

# Prediction ------------------------------------------------------------------------------

test_that("probabilities are those of a slow softmax", {
  p <- oracle_softmax(z)
  expect_equal(unname(predict(fits$none, z)), p, tolerance = 1e-14)
  expect_identical(unname(predict(fits$none_probs, p)), p)
  temperature <- fits$temperature$temperature
  expect_equal(unname(predict(fits$temperature, z)), oracle_softmax(z / temperature),
    tolerance = 1e-13)
  expect_equal(unname(predict(fits$temperature_probs, p)), oracle_softmax(z / temperature),
    tolerance = 1e-7)
})

test_that("rows sum to one, columns are the classes, rows keep their names and order", {
  for (fit in fits) {
    x <- scores_of(fit)
    rownames(x) <- paste0("case", seq_len(nrow(x)))
    p <- predict(fit, x)
    expect_true(is.matrix(p) && is.double(p))
    expect_identical(dimnames(p), list(rownames(x), fit$classes))
    expect_equal(unname(rowSums(p)), rep(1, nrow(x)), tolerance = 1e-14)
    turned <- predict(fit, x[nrow(x):1, ])
    expect_identical(turned, p[nrow(x):1, ])
    expect_identical(dimnames(predict(fit, unname(x))), list(NULL, fit$classes))
  }
})

test_that("type = \"class\" is the most likely class, as a factor with all levels", {
  for (fit in fits) {
    x <- scores_of(fit)
    p <- predict(fit, x)
    guess <- predict(fit, x, type = "class")
    expect_identical(guess, factor(fit$classes[max.col(p, "first")], levels = fit$classes))
    expect_identical(levels(predict(fit, x[1:2, ], type = "class")), c("a", "b", "c"))
  }
  expect_identical(as.character(predict(fits$none, rbind(c(1, 1, 0), c(0, 2, 2)), "class")),
    c("a", "b"))
})

test_that("columns of new data are matched by name, as are those of the scores", {
  for (fit in fits) {
    x <- scores_of(fit)
    p <- predict(fit, x)
    colnames(x) <- c("a", "b", "c")
    expect_identical(predict(fit, x[, c(2, 3, 1)]), p)
    expect_identical(predict(fit, as.data.frame(x)[c(3, 2, 1)]), p)
    colnames(x) <- paste0(".pred_", colnames(x))
    expect_identical(predict(fit, x[, c(3, 1, 2)]), p)
  }
  colnames(z) <- c("a", "b", "c")
  expect_identical(coef(calib_temperature(z[, c(3, 1, 2)], y)), coef(fits$temperature))
  expect_identical(coef(calib_temperature(as.data.frame(z)[c(2, 1, 3)], y)),
    coef(fits$temperature))
})

test_that("data frames and tibbles are matrices with row names", {
  frame <- data.frame(a = z[, 1], b = z[, 2], c = z[, 3])
  fit <- calib_temperature(frame, y)
  expect_identical(coef(fit), coef(fits$temperature))
  p <- predict(fit, frame)
  expect_identical(unname(p), unname(predict(fits$temperature, z)))
  expect_null(rownames(p))
  expect_identical(rownames(predict(fit, frame[7:9, ])), c("7", "8", "9"))
  skip_if_not_installed("tibble")
  wide <- tibble::as_tibble(frame)
  expect_identical(coef(calib_temperature(wide, y)), coef(fit))
  expect_identical(predict(fit, wide), p)
  expect_identical(coef(calib_temperature(wide, tibble::tibble(y = y))), coef(fit))
})

test_that("new data may have no rows, or one", {
  for (fit in fits) {
    x <- scores_of(fit)
    empty <- predict(fit, x[0, ])
    expect_identical(dim(empty), c(0L, 3L))
    expect_identical(colnames(empty), fit$classes)
    expect_identical(predict(fit, x[0, ], "class"), factor(character(), levels = fit$classes))
    expect_identical(predict(fit, x[5, , drop = FALSE]), predict(fit, x)[5, , drop = FALSE])
  }
  expect_identical(dim(predict(calib_none(c(.1, .9), 0:1), numeric())), c(0L, 2L))
})

test_that("the number of threads changes nothing", {
  big <- oracle_data(3000, 12, seed = 3)
  one <- calib_temperature(big$z, big$y)
  two <- calib_temperature(big$z, big$y, threads = 2)
  two$call <- one$call
  expect_identical(one, two)
  expect_identical(predict(one, big$z), predict(one, big$z, threads = 2))
  p <- predict(one, big$z)
  one <- calib_temperature(p, big$y)
  two <- calib_temperature(p, big$y, threads = 2)
  two$call <- one$call
  expect_identical(one, two)
  none <- calib_none(big$z, big$y)
  expect_identical(predict(none, big$z, "class"), predict(none, big$z, "class", threads = 2))
})

# Two classes -----------------------------------------------------------------------------

test_that("a vector, two columns and logits are the same forecast", {
  p <- plogis(z[, 1])
  event <- data3$y == 1
  vector <- calib_temperature(p, event)
  expect_identical(vector$classes, c("FALSE", "TRUE"))
  columns <- calib_temperature(cbind(1 - p, p), event) # whose second column is named "p"
  odds <- calib_temperature(z[, 1], event, input = "logits")
  logits <- calib_temperature(cbind(0, z[, 1]), event)
  expect_equal(vector$temperature, columns$temperature, tolerance = 1e-12)
  expect_equal(vector$temperature, logits$temperature, tolerance = 1e-9)
  expect_identical(odds$temperature, logits$temperature)
  expect_identical(predict(vector, p), predict(vector, cbind(1 - p, p)))
  expect_identical(predict(odds, z[, 1]), predict(odds, cbind(0, z[, 1])))
  expect_equal(predict(vector, p), predict(odds, z[, 1]), tolerance = 1e-8)
  expect_equal(unname(predict(odds, z[, 1])[, 2]), plogis(z[, 1] / odds$temperature),
    tolerance = 1e-14)
  # names of the vector are row names
  expect_identical(rownames(predict(vector, c(u = .2, v = .3))), c("u", "v"))
  # the second class is the second level
  flipped <- calib_temperature(1 - p, factor(event, levels = c(TRUE, FALSE)))
  expect_equal(flipped$temperature, vector$temperature, tolerance = 1e-9)
  expect_equal(unname(predict(flipped, 1 - p)), unname(predict(vector, p))[, 2:1],
    tolerance = 1e-8)
})

# Labels ----------------------------------------------------------------------------------

test_that("labels of every kind give the same fit", {
  kinds <- list(as.ordered(y), as.character(y), as.integer(y), as.integer(y) - 1, as.double(y))
  for (labels in kinds) {
    expect_identical(coef(calib_temperature(z, labels)), coef(fits$temperature))
  }
  expect_identical(calib_none(z, as.integer(y) - 1L)$classes, c("0", "1", "2"))
  expect_identical(calib_none(z, as.integer(y))$classes, c("1", "2", "3"))
})

test_that("levels that do not occur are classes", {
  rare <- factor(rep(c("a", "c"), 30), levels = c("a", "b", "c", "d"))
  wide <- cbind(z, -1)
  fit <- calib_none(wide, rare)
  expect_identical(colnames(predict(fit, wide)), c("a", "b", "c", "d"))
  expect_identical(levels(predict(fit, wide, "class")), c("a", "b", "c", "d"))
})

# Looking at fits -------------------------------------------------------------------------

test_that("print() says what was fitted", {
  separated <- suppressWarnings(calib_temperature(diag(3)[y, ] * 4, y))
  zeros <- oracle_softmax(z)
  zeros[1, ] <- c(0, .5, .5)
  expect_snapshot({
    fits$none
    fits$none_probs
    fits$temperature
    calib_temperature(zeros, y, floor = 1e-3)
    separated
    calib_none(c(.1, .9), c(FALSE, TRUE))
  })
  capture.output(expect_invisible(print(fits$none)))
})

test_that("summary() adds the call, the parameters and the classes", {
  many <- calib_none(matrix(0, 40, 20) + diag(20)[rep(1:20, 2), ], rep(1:20, 2))
  expect_snapshot({
    summary(fits$none)
    summary(fits$temperature)
    summary(many)
  })
  expect_s3_class(summary(fits$temperature), "summary.calibrator")
})

test_that("coef(), nobs(), tidy() and glance()", {
  fit <- fits$temperature
  expect_identical(coef(fit), c(temperature = fit$temperature))
  expect_length(coef(fits$none), 0)
  expect_identical(nobs(fit), 60L)
  expect_identical(tidy(fit), data.frame(
    term = "temperature", estimate = fit$temperature, std.error = fit$std_error
  ))
  expect_identical(names(tidy(fits$none)), names(tidy(fit)))
  expect_identical(nrow(tidy(fits$none)), 0L)
  expect_identical(glance(fit), data.frame(
    method = "temperature", input = "logits", classes = 3L, nobs = 60L, converged = TRUE,
    iterations = fit$iterations, logLik = fit$log_lik
  ))
  expect_identical(glance(fits$none)$logLik, NA_real_)
  expect_identical(names(glance(fits$none)), names(glance(fit)))
  expect_identical(nrow(do.call(rbind, lapply(fits, glance))), 4L)
})

test_that("augment() adds the probabilities and the class", {
  fit <- fits$temperature
  p <- predict(fit, z)
  colnames(z) <- fit$classes
  added <- c(".pred_a", ".pred_b", ".pred_c", ".pred_class")
  out <- augment(fit, z)
  expect_identical(names(out), c("a", "b", "c", added))
  expect_identical(unname(as.matrix(out[added[1:3]])), unname(p))
  expect_identical(out$.pred_class, predict(fit, z, "class"))
  # beside other columns, in any order
  frame <- data.frame(id = letters[1:6], c = z[1:6, 3], a = z[1:6, 1], b = z[1:6, 2])
  out <- augment(fit, frame)
  expect_identical(names(out), c(names(frame), added))
  expect_identical(out$.pred_b, unname(p[1:6, 2]))
  # to another data frame
  out <- augment(fit, z[1:6, ], data = data.frame(id = 1:6))
  expect_identical(names(out), c("id", added))
  expect_identical(out$.pred_a, unname(p[1:6, 1]))
  # scores under .pred_ names are replaced
  old <- stats::setNames(as.data.frame(z), added[1:3])
  out <- augment(fit, old)
  expect_identical(names(out), added)
  expect_identical(out$.pred_c, unname(p[, 3]))
  # a vector
  two <- calib_none(c(.1, .9), factor(c("no", "yes")))
  expect_identical(augment(two, c(.25, .75)), data.frame(
    score = c(.25, .75), .pred_no = c(.75, .25), .pred_yes = c(.25, .75),
    .pred_class = factor(c("no", "yes"))
  ))
  skip_if_not_installed("tibble")
  expect_s3_class(augment(fit, tibble::as_tibble(frame)), "tbl_df")
})

test_that("latent() is the line z / T", {
  at <- c(-3, 0, 1e4)
  expect_identical(latent(fits$none, at), data.frame(z = at, mean = at, sd = 0))
  map <- latent(fits$temperature, at)
  expect_equal(map$mean, at / fits$temperature$temperature, tolerance = 1e-15)
  expect_identical(map$sd, c(0, 0, 0))
  expect_identical(dim(latent(fits$none, numeric())), c(0L, 3L))
  # it is the map that predict() applies
  mapped <- matrix(latent(fits$temperature, z)$mean, nrow(z))
  expect_equal(unname(predict(fits$temperature, z)), oracle_softmax(mapped), tolerance = 1e-13)
})

# Another session -------------------------------------------------------------------------

test_that("a saved fit predicts the same in a fresh session", {
  skip_on_cran()
  file <- tempfile(fileext = ".rds")
  out <- tempfile(fileext = ".rds")
  script <- tempfile(fileext = ".R")
  on.exit(unlink(c(file, out, script)))
  saveRDS(list(fits = fits, x = lapply(fits, scores_of), paths = .libPaths()), file)
  writeLines(c(
    "args <- commandArgs(TRUE)",
    "saved <- readRDS(args[1])",
    ".libPaths(saved$paths)",
    "library(gpcalib, lib.loc = args[3])",
    "saveRDS(Map(function(f, x) predict(f, x), saved$fits, saved$x), args[2])"
  ), script)
  library_path <- dirname(system.file(package = "gpcalib"))
  status <- system2(file.path(R.home("bin"), "Rscript"),
    shQuote(c("--vanilla", script, file, out, library_path)), stdout = FALSE, stderr = FALSE)
  expect_identical(status, 0L)
  expect_identical(readRDS(out), Map(function(f, x) predict(f, x), fits, lapply(fits, scores_of)))
})

test_that("predict() finds its columns in data frames with more", {
  d <- oracle_data(40, 3, seed = 2)
  scores <- data.frame(a = d$z[, 1], b = d$z[, 2], c = d$z[, 3])
  fit <- calib_temperature(scores, factor(letters[d$y]))
  wide <- cbind(scores, id = seq_len(40), truth = letters[d$y])
  expect_identical(predict(fit, wide), predict(fit, scores))
  expect_identical(augment(fit, wide)$.pred_b, unname(predict(fit, scores)[, "b"]))
})

test_that("augment() finds the one column of two classes", {
  fit <- calib_temperature(c(0.2, 0.8, 0.4, 0.9, 0.3), factor(c("no", "yes", "no", "yes", "yes")))
  for (name in c("yes", ".pred_yes")) {
    d <- stats::setNames(data.frame(1:2, c(0.1, 0.9)), c("id", name))
    expect_equal(augment(fit, d)$.pred_yes, unname(predict(fit, c(0.1, 0.9))[, 2]))
  }
})

test_that("augment() with intervals warns of scores out of range once", {
  set.seed(1)
  p <- runif(200, 0.3, 0.7)
  fit <- suppressWarnings(calib_gp(p, rbinom(200, 1, p)))
  count <- 0
  withCallingHandlers(augment(fit, c(0.001, 0.999), interval = TRUE), gpcalib_warning_extrapolation = function(w) {
    count <<- count + 1
    invokeRestart("muffleWarning")
  })
  expect_identical(count, 1)
})
