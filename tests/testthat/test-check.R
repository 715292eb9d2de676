# Bad input of every kind, for calibrators and measures, and the input that looks bad but is
# good. Each message is to name the argument, what is wrong, where, and what to do.

z <- rbind(c(2, 0, -1), c(0, 1, 0.5), c(-1, 0, 3), c(1, 2, 0))
p <- rbind(c(.7, .2, .1), c(.1, .6, .3), c(.2, .2, .6), c(.3, .5, .2))
y <- factor(c("a", "b", "c", "b"), levels = c("a", "b", "c"))
named <- function(x, names = c("a", "b", "c")) `colnames<-`(x, names)
put <- function(x, i, j, value) {
  x[i, j] <- value
  x
}

# A snapshot of the message alone: how errors are shown differs between versions of testthat.
complain <- function(call) writeLines(tryCatch(call, gpcalib_error_input = conditionMessage))
expect_complaint <- function(call) {
  eval.parent(bquote(expect_snapshot(complain(.(call)))))
}

# What must fail, as calls: they are shown in the snapshot.
bad_fits <- list(
  # scores
  "scores of another type" = quote(calib_temperature("a", y)),
  "scores as a list" = quote(calib_temperature(list(1, 2), y)),
  "scores as an array" = quote(calib_temperature(array(0, c(4, 3, 2)), y)),
  "no columns" = quote(calib_temperature(z[, 0], y)),
  "a column of text" = quote(calib_temperature(data.frame(a = 1:4, b = letters[1:4], c = 1), y)),
  "names given twice" = quote(calib_temperature(named(z, c("a", "b", "b")), y)),
  "names that are not the classes" = quote(calib_temperature(named(z, c("a", "b", "d")), y)),
  "a missing score" = quote(calib_temperature(put(z, 2, 1, NA), y)),
  "many missing scores" = quote(calib_temperature(z[rep(1:4, 3), ] / c(NaN, 1), y[rep(1:4, 3)])),
  "an infinite score" = quote(calib_temperature(put(z, c(1, 3), 1, Inf), y)),
  "every class ruled out" = quote(calib_temperature(put(z, 4, 1:3, -Inf), y)),
  "both infinities" = quote(calib_temperature(put(put(z, 4, 1, -Inf), 4, 2, Inf), y)),
  "one row" = quote(calib_temperature(z[1, , drop = FALSE], y[1])),
  "no rows" = quote(calib_temperature(z[0, ], y[0])),
  "logits as probabilities" = quote(calib_temperature(z, y, input = "probs")),
  "a row that does not sum to one" = quote(calib_temperature(put(p, 3, 2, .3), y, "probs")),
  "a negative probability" = quote(calib_temperature(put(p, 1, 2:3, c(-.2, .5)), y, "probs")),
  "a vector beyond [0, 1]" = quote(calib_temperature(c(.1, 1.2, .5, -3), c(0, 1, 1, 0), "probs")),
  "an unknown kind of input" = quote(calib_temperature(z, y, input = "log")),
  # labels
  "labels of another type" = quote(calib_temperature(z, as.list(y))),
  "labels as indicators" = quote(calib_temperature(z, diag(3)[y, ])),
  "labels as dates" = quote(calib_temperature(z, as.Date("2020-01-01") + 0:3)),
  "too few labels" = quote(calib_temperature(z, y[1:3])),
  "a missing label" = quote(calib_temperature(z, replace(y, 2, NA))),
  "labels that are not whole" = quote(calib_temperature(z, c(1, 2, 2.5, 3))),
  "an infinite label" = quote(calib_temperature(z, c(1, 2, Inf, 3))),
  "a label beyond the columns" = quote(calib_temperature(z, c(1, 2, 4, 3))),
  "a label beyond, counting from 0" = quote(calib_temperature(z, c(0, 1, 2, 3))),
  "a negative label" = quote(calib_temperature(z, c(1, -1, 2, 3))),
  "too many levels" = quote(calib_temperature(z, factor(c("a", "b", "c", "d")))),
  "too few levels" = quote(calib_temperature(z, factor(c("a", "b", "a", "b")))),
  "too few different values" = quote(calib_temperature(z, c("a", "b", "a", "b"))),
  "logical labels for three classes" = quote(calib_temperature(z, c(TRUE, FALSE, TRUE, TRUE))),
  "one class" = quote(calib_temperature(c(.1, .2), factor(c("a", "a")))),
  "three classes for a vector" = quote(calib_temperature(c(.1, .2, .3), factor(c("a", "b", "c")))),
  "a label that no column has" = quote(calib_temperature(named(z), c("a", "b", "d", "c"))),
  "labels that no column has" = quote(calib_temperature(named(z), c("u", "v", "w", "u"))),
  "numbers for columns with names" = quote(calib_temperature(named(z), c(1, 2, 3, 1))),
  "a number that no column has" =
    quote(calib_temperature(named(z, c("1", "2", "3")), c(1, 2, 3, 7))),
  # weights
  "weights of another type" = quote(calib_temperature(z, y, weights = letters[1:4])),
  "weights as a matrix" = quote(calib_temperature(z, y, weights = diag(2))),
  "too many weights" = quote(calib_temperature(z, y, weights = 1:5)),
  "a negative weight" = quote(calib_temperature(z, y, weights = c(1, -1, 1, 1))),
  "missing weights" = quote(calib_temperature(z, y, weights = c(NA, 1, NaN, 1))),
  "an infinite weight" = quote(calib_temperature(z, y, weights = c(1, 1, 1, Inf))),
  "weights that are all zero" = quote(calib_temperature(z, y, weights = rep(0, 4))),
  # options
  "a floor of zero" = quote(calib_temperature(p, y, floor = 0)),
  "a floor of text" = quote(calib_temperature(p, y, floor = "low")),
  "a tolerance that is not positive" = quote(calib_temperature(z, y, tol = 0)),
  "half an iteration" = quote(calib_temperature(z, y, max_iter = 0.5)),
  "no threads" = quote(calib_temperature(z, y, threads = 0)),
  "threads without a number" = quote(calib_temperature(z, y, threads = NULL))
)

for (case in names(bad_fits)) {
  test_that(paste("fits refuse", case), {
    call <- bad_fits[[case]]
    expect_error(eval(call), class = "gpcalib_error_input")
    expect_error(eval(call), class = "gpcalib_error")
    expect_complaint(call)
  })
}

# Every measure reads its input by the same door: a few cases for the messages, all for all.
bad_forecasts <- list(
  "a missing probability" = quote(log_loss(put(p, 2, 1, NA), y)),
  "an infinite probability" = quote(log_loss(put(p, 2, 1, Inf), y)),
  "logits" = quote(log_loss(z, y)),
  "-Inf" = quote(log_loss(put(p, 1, 1, -Inf), y)),
  "a row that does not sum to one" = quote(log_loss(put(p, 3, 2, .3), y)),
  "rows that do not sum to one" = quote(log_loss(p / 2, y)),
  "a vector beyond [0, 1]" = quote(log_loss(c(.1, 1.2), c(0, 1))),
  "one row" = quote(log_loss(p[1, , drop = FALSE], y[1])),
  "no columns" = quote(log_loss(p[, 0], y)),
  "text" = quote(log_loss(letters[1:4], y)),
  "names that are not the classes" = quote(log_loss(named(p, c("x", "y", "z")), y)),
  "too few labels" = quote(log_loss(p, y[1:3])),
  "a missing label" = quote(log_loss(p, replace(y, 2, NA))),
  "a label beyond the columns" = quote(log_loss(p, c(1, 2, 4, 3))),
  "a label that no column has" = quote(log_loss(named(p), c("a", "b", "d", "c"))),
  "too many levels" = quote(log_loss(p, factor(c("a", "b", "c", "d")))),
  "a negative weight" = quote(log_loss(p, y, weights = c(1, -1, 1, 1))),
  "weights that are all zero" = quote(log_loss(p, y, weights = rep(0, 4))),
  "too few weights" = quote(log_loss(p, y, weights = 1:3))
)
measures <- c("ece", "mce", "overconfidence", "underconfidence", "confidence_gap",
  "class_accuracy", "sharpness", "log_loss", "brier_score", "calib_metrics",
  "reliability_table")

for (case in names(bad_forecasts)) {
  test_that(paste("measures refuse", case), {
    call <- bad_forecasts[[case]]
    expect_complaint(call)
    for (measure in measures) {
      call[[1]] <- as.name(measure)
      expect_error(eval(call), class = "gpcalib_error_input")
    }
  })
}

fit3 <- calib_none(named(z), y)
fit3p <- calib_none(p, y)
fit2 <- calib_none(c(.1, .8, .4, .6), c(0, 1, 0, 1))
bad_predictions <- list(
  "no new data" = quote(predict(fit3)),
  "new data of another type" = quote(predict(fit3, "a")),
  "too few columns" = quote(predict(fit3, z[, 1:2])),
  "a vector for three classes" = quote(predict(fit3, z[, 1])),
  "three columns for two classes" = quote(predict(fit2, p)),
  "columns of other names" = quote(predict(fit3, named(z, c("a", "b", "d")))),
  "a missing value" = quote(predict(fit3, put(z, 2, 1, NaN))),
  "an infinite value" = quote(predict(fit3, put(z, 2, 1, Inf))),
  "every class ruled out" = quote(predict(fit3, put(z, 2, 1:3, -Inf))),
  "logits after probabilities" = quote(predict(fit3p, z)),
  "a probability of two" = quote(predict(fit2, c(.5, 2))),
  "an unknown type" = quote(predict(fit3, z, type = "latent")),
  "threads of text" = quote(predict(fit3, z, threads = "two")),
  "nothing to augment" = quote(augment(fit3)),
  "other rows to augment" = quote(augment(fit3, z, data = data.frame(id = 1:3))),
  "no data frame to augment" = quote(augment(fit3, z, data = 1:4)),
  "no latent map" = quote(latent(1, 0)),
  "a latent map at text" = quote(latent(fit3, "a")),
  "a latent map at NA" = quote(latent(fit3, c(0, NA)))
)

for (case in names(bad_predictions)) {
  test_that(paste("predictions refuse", case), {
    call <- bad_predictions[[case]]
    expect_error(eval(call), class = "gpcalib_error_input")
    expect_complaint(call)
  })
}

test_that("messages name the argument first", {
  calls <- c(bad_fits, bad_forecasts, bad_predictions)
  for (case in names(calls)) {
    message <- tryCatch(eval(calls[[case]]), error = conditionMessage)
    expect_match(message, "^`[a-z_]+` .+\\. .+\\.$", info = case)
  }
})

# What is good ----------------------------------------------------------------------------

seen <- function(scores, labels, input = "auto", weights = NULL) {
  check_calibration(scores, labels, input, weights)
}

test_that("input is told apart by its values", {
  expect_identical(seen(p, y)$input, "probs")
  expect_identical(seen(z, y)$input, "logits")
  expect_identical(seen(p, y, "logits")$input, "logits")
  expect_identical(seen(2 * p, y)$input, "logits")
  expect_identical(seen(c(0, .5, 1), c(0, 1, 1))$input, "probs")
  expect_identical(seen(c(0, .5, 1.01), c(0, 1, 1))$input, "logits")
  expect_identical(seen(c(0, .5, 1), c(0, 1, 1), "logits")$input, "logits")
  # 1e-3 is where values and sums stop being probabilities
  expect_identical(seen(put(p, 1, 1, .7009), y)$input, "probs")
  expect_warning(off <- seen(put(p, 1, 1, .7011), y), class = "gpcalib_warning_input")
  expect_identical(off$input, "logits")
  expect_identical(seen(put(p, 1, 1:3, c(-9e-4, .5, .5)), y)$input, "probs")
  expect_identical(seen(put(p, 1, 1:3, c(-.002, .5, .502)), y)$input, "logits")
  # -Inf is a logit
  expect_identical(seen(put(z, 1, 2, -Inf), y)$input, "logits")
})

test_that("probabilities are clamped and rows divided by their sum", {
  off <- put(p, 1, 1:3, c(1.0005, -2e-4, 0))
  got <- seen(off, y)$scores
  expect_identical(got[1, ], c(1, 0, 0))
  expect_identical(got[2:4, ], p[2:4, ])
  off <- p * c(1, 1.0005, 1, 0.9995)
  expect_equal(seen(off, y)$scores, p, tolerance = 1e-15)
  # exact zeros and ones, and sums off by rounding, stay what they are
  edge <- rbind(c(0, 1, 0), c(.1, .2, .7), c(1, 0, 0), c(1 / 3, 1 / 3, 1 / 3))
  expect_identical(seen(edge, y)$scores, edge)
  # single precision
  single <- round(p, 4) * (1 + 3e-6)
  expect_equal(rowSums(seen(single, y)$scores), rep(1, 4), tolerance = 1e-15)
  expect_warning(one <- seen(c(-5e-4, .25, 1.0005), c(0, 0, 1))$scores,
    "has 2 values a little above 1 \\(by up to 5e-04\\) or below 0 \\(by up to 5e-04\\), which count as 1 and 0: one of the classes is then impossible", class = "gpcalib_warning_clamped")
  expect_identical(unname(one),
    cbind(c(1, .75, 0), c(0, .25, 1)))
})

test_that("-Inf rules a class out, also in a vector of log-odds", {
  expect_identical(seen(put(z, 1, 2:3, -Inf), y)$scores[1, 2:3], c(-Inf, -Inf))
  expect_identical(unname(seen(c(-Inf, 1, 2), c(0, 1, 1))$scores), cbind(0, c(-Inf, 1, 2)))
  none <- calib_none(c(-Inf, 1, 2), c(0, 1, 1))
  expect_identical(unname(predict(none, c(-Inf, 0))), rbind(c(1, 0), c(.5, .5)))
})

test_that("labels of every kind give the same codes", {
  codes <- c(1L, 2L, 3L, 2L)
  expect_identical(seen(z, y)$labels, codes)
  expect_identical(seen(z, as.ordered(y))$labels, codes)
  expect_identical(seen(z, as.character(y))$labels, codes)
  expect_identical(seen(z, codes)$labels, codes)
  expect_identical(seen(z, as.double(codes))$labels, codes)
  expect_identical(seen(z, codes - 1L)$labels, codes)
  expect_identical(seen(z, codes - 1)$labels, codes)
  expect_identical(seen(z, data.frame(y = y))$labels, codes)
  expect_identical(seen(z, codes)$classes, c("1", "2", "3"))
  expect_identical(seen(z, codes - 1)$classes, c("0", "1", "2"))
  expect_identical(seen(z, y)$classes, c("a", "b", "c"))
  two <- seen(z[, 1:2], c(FALSE, TRUE, TRUE, FALSE))
  expect_identical(two$labels, c(1L, 2L, 2L, 1L))
  expect_identical(two$classes, c("FALSE", "TRUE"))
})

test_that("unused levels and absent numbers are kept", {
  rare <- factor(c("a", "b", "a", "b"), levels = c("a", "b", "c"))
  expect_identical(seen(z, rare)$classes, c("a", "b", "c"))
  expect_identical(seen(z, c(1, 1, 2, 2))$classes, c("1", "2", "3"))
  expect_identical(seen(z, c(0, 1, 0, 1))$classes, c("0", "1", "2"))
  expect_identical(seen(named(z), c("a", "b", "a", "b"))$classes, c("a", "b", "c"))
})

test_that("columns are matched by name", {
  wanted <- seen(z, y)$scores
  mixed <- named(z)[, c(3, 1, 2)]
  expect_identical(unname(seen(mixed, y)$scores), wanted)
  dots <- named(z, c(".pred_a", ".pred_b", ".pred_c"))[, c(2, 3, 1)]
  expect_identical(unname(seen(dots, y)$scores), wanted)
  expect_identical(unname(seen(as.data.frame(dots), y)$scores), wanted)
  # classes that begin with .pred_ themselves
  own <- factor(paste0(".pred_", y))
  expect_identical(seen(dots, own)$classes, levels(own))
  expect_identical(unname(seen(dots, own)$scores), wanted)
  # without levels the names give classes and order
  expect_identical(seen(mixed, as.character(y))$labels, c(2L, 3L, 1L, 3L))
  expect_identical(seen(mixed, as.character(y))$classes, c("c", "a", "b"))
  expect_identical(seen(named(z, c("3", "1", "2")), c(1, 2, 3, 2))$labels, c(2L, 3L, 1L, 3L))
  expect_identical(seen(dots, as.character(y))$classes, c("b", "c", "a"))
  tf <- `colnames<-`(z[, 1:2], c("TRUE", "FALSE"))
  expect_identical(unname(seen(tf, c(TRUE, FALSE, TRUE, TRUE))$scores), z[, 2:1])
  # names with gaps, as cbind(1 - p, p) makes them, are none; but not if one is a class
  expect_identical(unname(seen(named(z, c("", "p", "q")), y)$scores), z)
  expect_identical(unname(seen(named(z, c(NA, "p", "q")), y)$scores), z)
  expect_identical(unname(seen(named(z, c("", "", "q")), y)$scores), z)
  expect_identical(unname(predict(calib_none(p, y), named(p, c("", "", "q")))), p)
  expect_error(seen(named(z, c("", "a", "b")), y), class = "gpcalib_error_input")
  expect_error(seen(named(z, c("", ".pred_a", "b")), as.character(y)),
    class = "gpcalib_error_input")
  # dropping the names, as the message advises
  expect_identical(seen(unname(mixed), y)$scores, unname(mixed))
  expect_identical(unname(seen(unname(as.data.frame(mixed)), y)$scores), unname(mixed))
})

test_that("one column is a vector", {
  v <- c(.1, .8, .4, .6)
  two <- unname(seen(v, c(0, 1, 0, 1))$scores)
  expect_identical(two, cbind(1 - v, v, deparse.level = 0))
  expect_identical(unname(seen(matrix(v), c(0, 1, 0, 1))$scores), two)
  expect_identical(unname(seen(data.frame(prob = v), c(0, 1, 0, 1))$scores), two)
  expect_identical(unname(seen(c(-1, 2, 0, 1), c(0, 1, 0, 1))$scores), cbind(0, c(-1, 2, 0, 1)))
})

test_that("integers, tables of weights and names pass", {
  expect_identical(seen(matrix(1:12, 4), y)$scores, matrix(as.double(1:12), 4))
  expect_identical(seen(z, y, weights = 1:4)$weights, c(1, 2, 3, 4))
  expect_identical(seen(z, y, weights = c(a = 0, b = 1, c = 2, d = 0))$weights, c(0, 1, 2, 0))
  expect_null(seen(z, y)$weights)
})

test_that("a single named column is matched with its class", {
  y <- factor(c("no", "yes", "no", "yes"))
  p <- c(.2, .7, .4, .9)
  right <- log_loss(p, y)
  expect_equal(log_loss(data.frame(yes = p), y), right)
  expect_equal(log_loss(data.frame(.pred_yes = p), y), right)
  expect_equal(log_loss(data.frame(.pred_no = 1 - p), y), right)
  expect_equal(log_loss(cbind(no = 1 - p), y), right)
  expect_equal(log_loss(data.frame(p = p), y), right)
  expect_error(log_loss(data.frame(.pred_maybe = p), y), class = "gpcalib_error_input")
  fit <- suppressWarnings(calib_temperature(qlogis(p), y, input = "logits"))
  expect_equal(predict(fit, cbind(no = -qlogis(p))), predict(fit, qlogis(p)))
})

test_that("scores that only look like logits are pointed out", {
  set.seed(1)
  p <- matrix(rexp(60), 20)
  p <- p / rowSums(p)
  y <- max.col(p + matrix(rexp(60, 5), 20))
  off <- p
  off[3, ] <- off[3, ] * 1.01
  expect_warning(calib_temperature(off, y), "row 3 sums to", class = "gpcalib_warning_input")
  expect_warning(calib_temperature(100 * p, y), "percentages", class = "gpcalib_warning_input")
  expect_silent(calib_temperature(100 * p, y, input = "logits"))
  expect_silent(fit <- calib_temperature(5 * log(p) + 1, y))
  expect_warning(predict(fit, p), "looks like probabilities", class = "gpcalib_warning_input")
  expect_warning(log_loss(c(.7, .8), c(1, 1)), "all 1", class = "gpcalib_warning_labels")
  expect_silent(log_loss(c(.7, .8), factor(c(1, 1), levels = 0:1)))
})

test_that("columns that are no class, and missing arguments, are named", {
  y <- factor(c("a", "b", "a"))
  wide <- data.frame(id = 1:3, a = .5, b = .5)
  expect_error(log_loss(wide, y), "no class \\(\"id\"\\)", class = "gpcalib_error_input")
  expect_error(calib_temperature(matrix(0, 3, 2)), "`labels` is missing",
    class = "gpcalib_error_input")
  expect_error(ece(), "`probs` is missing", class = "gpcalib_error_input")
  fit <- suppressWarnings(calib_temperature(matrix(rnorm(20), 10), rep(1:2, 5)))
  expect_error(latent(fit), "`z` is missing", class = "gpcalib_error_input")
  expect_error(predict(fit, matrix(0, 1, 2), Type = "class"), "Type", class = "gpcalib_error_input")
})

test_that("a matrix with a class of its own is a matrix", {
  votes <- structure(matrix(c(.2, .8, .6, .4), 2, byrow = TRUE), class = c("matrix", "array", "votes"))
  expect_equal(log_loss(votes, c(2, 1)), -mean(log(c(.8, .6))))
})

test_that("malformed factors and weights beyond summing are refused", {
  p <- matrix(1 / 3, 6, 3)
  for (code in c(0L, -5L, 9L, 2000000000L)) {
    y <- structure(c(1:3, 1:2, code), levels = c("a", "b", "c"), class = "factor")
    expect_error(log_loss(p, y), "not a valid factor", class = "gpcalib_error_input")
  }
  y <- rep(1:3, 2)
  for (w in c(1e300, 1e-300)) {
    expect_error(log_loss(p, y, weights = rep(w, 6)), "Rescale", class = "gpcalib_error_input")
  }
})

test_that("a forked child does not hang after threads were used", {
  skip_on_os("windows")
  skip_on_cran()
  z <- matrix(rnorm(20000), 2000)
  y <- max.col(z + rnorm(20000))
  one <- calib_temperature(z, y, threads = 2)$temperature
  job <- parallel::mcparallel(calib_temperature(z, y, threads = 2)$temperature)
  out <- parallel::mccollect(job, wait = FALSE, timeout = 20)
  if (is.null(out)) tools::pskill(job$pid, tools::SIGKILL)
  expect_identical(out[[1]], one)
})

test_that("percentages in a vector are noticed", {
  set.seed(1)
  p <- runif(50)
  y <- rbinom(50, 1, p)
  expect_warning(calib_platt(100 * p, y), "percentages", class = "gpcalib_warning_input")
  expect_silent(calib_platt(100 * p, y, input = "logits"))
  expect_silent(calib_platt(abs(rnorm(50)), y))
})

test_that("calibrators say which class is the event", {
  expect_error(calib_gp(c(.2, .8), 0:1, event = "1"), "unknown argument, event. All classes are calibrated; with two, the event is the second level of `labels`.", fixed = TRUE)
})

test_that("an unknown argument is named without being evaluated", {
  fit <- calib_platt(c(0.1, 0.4, 0.6, 0.9), c(0, 1, 0, 1))
  expect_error(update(fit, 0.3, 1, truth = no_such_column), "truth", class = "gpcalib_error_input")
})

test_that("classes that scores and labels do not share are named, with a remedy that works", {
  p <- matrix(c(.5, .2, .2, .1, .1, .6, .1, .2), 4, 4, byrow = TRUE, dimnames = list(NULL, c("a", "b", "c", "d")))
  # Columns of classes without a row: leaving them out would turn probabilities into logits.
  short <- factor(c("a", "b", "a", "b"))
  expect_error(log_loss(p, short), 'factor(labels, levels = colnames(probs))', fixed = TRUE, class = "gpcalib_error_input")
  expect_equal(log_loss(p, factor(short, levels = colnames(p))), -mean(log(c(.5, .6, .5, .6))))
  named <- `colnames<-`(p, paste0(".pred_", colnames(p)))
  expect_error(log_loss(named, short), 'levels = sub("^.pred_", "", colnames(probs))', fixed = TRUE, class = "gpcalib_error_input")
  expect_equal(log_loss(named, factor(short, levels = sub("^.pred_", "", colnames(named)))), -mean(log(c(.5, .6, .5, .6))))
  # A class without a column, with a row and without one.
  expect_error(log_loss(p, factor(c("a", "b", "e", "d"), levels = c(letters[1:5]))), 'without a column in `probs`: "e".*the row of "e"',
    class = "gpcalib_error_input")
  expect_error(log_loss(p, factor(c("a", "b", "c", "d"), levels = c(letters[1:5]))), "droplevels(labels)", fixed = TRUE, class = "gpcalib_error_input")
  # Other names are other names.
  expect_error(log_loss(p, factor(c("w", "x", "y", "z"))), "do not match the classes", class = "gpcalib_error_input")
})

test_that("one row of two columns that R has made a vector is noticed", {
  set.seed(60)
  p <- cbind(no = stats::runif(80), yes = 0)
  p[, "yes"] <- 1 - p[, "no"]
  y <- factor(ifelse(stats::runif(80) < p[, "yes"], "yes", "no"), c("no", "yes"))
  fit <- calib_platt(p, y)
  expect_error(predict(fit, p[1, ]), "is a vector with the names of the two classes.*drop = FALSE", class = "gpcalib_error_input")
  expect_message(predict(fit, unname(p[1, ])), "read as two rows, each the probability of \"yes\".*drop = FALSE", class = "gpcalib_message_vector")
  expect_no_message(predict(fit, c(0.2, 0.7)))
  expect_no_message(predict(fit, unname(p[1:2, 2])))
  expect_no_message(predict(fit, c(a = 0.2, b = 0.7)))
  expect_no_message(predict(fit, p[1, , drop = FALSE]))
  expect_identical(suppressMessages(predict(fit, c(0.3, 0.7)))[2, ], predict(fit, 0.7)[1, ])
})
