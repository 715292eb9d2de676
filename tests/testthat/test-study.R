# Studies against the same steps taken by hand.

made <- oracle_data(240, 3, seed = 61)
z <- made$z
y <- factor(c("a", "b", "c")[made$y], levels = c("a", "b", "c"))
colnames(z) <- levels(y)
p2 <- rain_nyc$prob[1:300]
y2 <- rain_nyc$rain[1:300]

quick <- function(..., methods = c("none", "temperature"), splits = 3, metrics = "brier_score") {
  set.seed(5)
  calib_study(..., methods = methods, splits = splits, metrics = metrics)
}
# Probabilities that do not depend on the scores, to see what a method is given.
spy <- function(note) {
  function(scores, labels, ...) {
    note(scores, labels, ...)
    function(newdata) matrix(1 / 3, nrow(newdata), 3)
  }
}

test_that("values are those of fits and measures made by hand", {
  rows <- list(1:100, c(3, 200:240), 50:149)
  study <- calib_study(z, y, list("none", "temperature", gp = list("gp", mean = "identity",
    predict = list(approx = "mean"))), splits = rows,
    metrics = list("ece", few = list("ece", bins = 7, norm = 2), "log_loss"))
  expect_s3_class(study, c("calib_study", "data.frame"), exact = TRUE)
  expect_identical(nrow(study), 3L * 3L * 3L)
  expect_identical(names(study), c("data", "split", "method", "metric", "value", "fit_time",
    "predict_time", "n_cal", "n_test", "error"))
  expect_identical(levels(study$method), c("none", "temperature", "gp"))
  for (split in 1:3) {
    cal <- rows[[split]]
    fits <- list(
      none = calib_none(z[cal, ], y[cal]), temperature = calib_temperature(z[cal, ], y[cal]),
      gp = calib_gp(z[cal, ], y[cal], mean = "identity")
    )
    for (method in names(fits)) {
      args <- if (method == "gp") list(approx = "mean")
      p <- suppressWarnings(do.call(predict, c(list(fits[[method]], z[-cal, ]), args)))
      found <- study[study$split == split & study$method == method, ]
      expect_equal(found$value,
        c(ece(p, y[-cal]), ece(p, y[-cal], bins = 7, norm = 2), log_loss(p, y[-cal])),
        tolerance = 1e-12)
      expect_identical(found$n_cal, rep(length(cal), 3))
      expect_identical(found$n_test, rep(240L - length(cal), 3))
    }
  }
  expect_true(all(study$fit_time > 0) && all(study$predict_time > 0))
  expect_true(all(is.na(study$error)))
})

test_that("splits can name their test rows, and must not overlap", {
  study <- quick(z, y, splits = list(list(cal = 1:50, test = 101:120)))
  p <- predict(calib_none(z, y), z[101:120, ])
  expect_equal(study$value[1], brier_score(p, y[101:120]))
  expect_identical(study$n_test, c(20L, 20L))
  overlap <- list(list(cal = 1:50, test = 50:60))
  expect_error(quick(z, y, splits = overlap), "each at most once", class = "gpcalib_error_input")
  expect_error(quick(z, y, splits = list(0:9)), class = "gpcalib_error_input")
  expect_error(quick(z, y, splits = list(1:239)), class = "gpcalib_error_input")
  expect_error(quick(z, y, splits = list()), class = "gpcalib_error_input")
})

test_that("the seed governs, and n_cal, n_test are obeyed", {
  once <- quick(z, y, n_cal = 80, n_test = 30)
  expect_identical(quick(z, y, n_cal = 80, n_test = 30)$value, once$value)
  expect_identical(unique(once$n_cal), 80L)
  expect_identical(unique(once$n_test), 30L)
  set.seed(6)
  other <- calib_study(z, y, c("none", "temperature"), 80, 3, "brier_score", n_test = 30)
  expect_false(any(other$value == once$value))
  expect_identical(unique(quick(z, y)$n_cal), 120L)
  expect_identical(unique(quick(z, y, n_cal = 0.25, n_test = 0.5)$n_test), 120L)
})

test_that("several data sets stand side by side, matched by name", {
  study <- quick(list(three = z, two = p2), list(two = y2, three = y), n_cal = c(100, 150))
  expect_identical(levels(study$data), c("three", "two"))
  expect_identical(unique(study$n_cal[study$data == "two"]), 150L)
  expect_identical(study$value[study$data == "three"], quick(z, y, n_cal = 100)$value)
  in_order <- quick(list(three = z, two = p2), list(y, y2), n_cal = c(100, 150))
  expect_identical(in_order$value, study$value)
  expect_error(quick(list(z, p2), list(y, y2)), "without a name", class = "gpcalib_error_input")
  expect_error(quick(list(a = z, b = p2), list(a = y, c = y2)), "one entry for each",
    class = "gpcalib_error_input")
  expect_error(quick(list(a = z, b = p2), list(y, y2[-1])), "In the data set \"b\"",
    class = "gpcalib_error_input")
})

test_that("all calibrators of the package take part by default, and nothing else", {
  known <- known_calibrators()
  expect_true(all(c("none", "temperature", "gp") %in% known))
  expect_false(any(c("study", "metrics", "map") %in% known))
  exported <- sub("calib_", "", grep("^calib_", getNamespaceExports("gpcalib"), value = TRUE))
  expect_setequal(known, setdiff(exported, c("study", "metrics", "map", "cv", "test", "fit", "validate", "monitor",
    "sql", "sums", "counts", "query", "switch")))
  set.seed(1)
  study <- suppressWarnings(calib_study(z, y, splits = 1))
  expect_identical(levels(study$method), known)
  expect_true(all(is.na(study$error)))
  expect_identical(levels(study$metric)[1], "log_loss") # tables are sorted by it
  # of two classes a matrix is a vector: one of them is enough
  set.seed(1)
  two <- suppressWarnings(calib_study(p2, y2, splits = 1))
  expect_identical(levels(two$method), setdiff(known, "matrix"))
  both <- suppressWarnings(calib_study(p2, y2, c("vector", "matrix"), splits = 2))
  expect_equal(both$value[both$method == "vector"], both$value[both$method == "matrix"], tolerance = 1e-6)
})

# What can be a method --------------------------------------------------------------------

test_that("methods can be names, functions, lists, with names of their own or not", {
  twice <- function(scores, labels, ...) calib_temperature(2 * scores, labels, ...)
  set.seed(5)
  study <- calib_study(z, y, list("calib_temperature", calib_none, twice, list("gp"),
    function(scores, labels) calib_none(scores, labels), own = list(fit = function(s, l) 1,
      predict = function(fit, newdata) matrix(1 / 3, nrow(newdata), 3))), splits = 3,
    metrics = "brier_score")
  expect_identical(levels(study$method), c("temperature", "none", "twice", "gp", "method5", "own"))
  expect_true(all(is.na(study$error)))
  expect_equal(study$value[study$method == "own"], rep(2 / 3, 3))
  alone <- quick(z, y, methods = calib_none)
  expect_identical(levels(alone$method), "none")
  expect_identical(alone$value, study$value[study$method == "none"])
  expect_identical(alone$value, study$value[study$method == "method5"])
  expect_identical(levels(calib_study(z, y, twice, splits = 1)$method), "twice")
  # predict() of a model from elsewhere, in columns of another order
  glm_like <- function(scores, labels) structure(list(k = levels(labels)), class = "study_test_fit")
  registerS3method("predict", "study_test_fit", function(object, newdata, ...) {
    p <- exp(newdata) / rowSums(exp(newdata))
    p[, c("c", "a", "b")]
  })
  expect_equal(quick(z, y, methods = glm_like)$value, alone$value)
})

test_that("what cannot be read is an error that says what could", {
  bad <- function(...) expect_error(quick(z, y, ...), class = "gpcalib_error_input")
  expect_match(conditionMessage(bad(methods = "gb")), "\"temperature\", \"gp\"")
  bad(methods = 3)
  bad(methods = list())
  bad(methods = list(list(mean = "identity")))
  bad(methods = list(list("gp", "identity")))
  bad(methods = list(list("gp", predict = "mean")))
  expect_match(conditionMessage(bad(methods = c("gp", "gp"))), "same name")
  expect_match(conditionMessage(bad(metrics = "nll")), "log_loss")
  bad(metrics = NULL)
  bad(metrics = c("ece", "ece"))
  bad(n_cal = 239)
  bad(n_cal = -1)
  bad(n_cal = 10.5)
  bad(n_cal = 100, n_test = 200)
  bad(splits = 0)
  bad(stratify = NA)
  bad(groups = 1:10)
  bad(groups = rep(1, 240))
  bad(groups = 1:240, time = 1:240)
  bad(groups = 1:240, stratify = TRUE)
  bad(time = c(NA, 2:240))
  expect_match(conditionMessage(bad(n_cals = 10)), "n_cals")
})

test_that("methods that differ in prediction alone share the fit", {
  fits <- 0
  count <- function(scores, labels) {
    fits <<- fits + 1
    calib_gp(scores, labels)
  }
  study <- quick(z, y, methods = list(delta = count, mean = list(count, predict = list(approx = "mean")),
    other = list(function(scores, labels) count(scores, labels))))
  expect_identical(fits, 6)
  apart <- quick(z, y, methods = list(mean = list(calib_gp, predict = list(approx = "mean"))))
  expect_identical(study$value[study$method == "mean"], apart$value)
  value <- function(method, column) study[[column]][study$method == method]
  expect_identical(value("delta", "fit_time"), value("mean", "fit_time"))
  expect_false(identical(value("delta", "value"), value("mean", "value")))
})

test_that("functions get named columns, factors, and the input and weights they ask for", {
  got <- list()
  keep <- function(scores, labels, ...) got[[length(got) + 1]] <<- list(scores, labels, ...)
  w <- rep(c(1, 2), 120)
  quick(unname(z), as.integer(y), methods = spy(keep), splits = list(1:100), weights = w)
  expect_equal(got[[1]], list(matrix(z[1:100, ], 100, dimnames = list(NULL, c("1", "2", "3"))),
    factor(as.integer(y)[1:100], levels = 1:3), weights = w[1:100]))
  # Small probabilities in the calibration rows alone do not make probabilities of logits.
  mixed <- rbind(matrix(1 / 3, 20, 3), z[1:40, ])
  told <- quick(mixed, y[1:60], methods = function(scores, labels, input) {
    stop("input is ", input)
  }, splits = list(1:20)) |> suppressWarnings()
  expect_identical(told$error, "input is logits")
  own <- quick(exp(z) / rowSums(exp(z)), y, methods = list(list("temperature", input = "logits")),
    splits = list(1:100))
  probs <- exp(z) / rowSums(exp(z))
  by_hand <- predict(calib_temperature(probs[1:100, ], y[1:100], input = "logits"), probs[-(1:100), ]) |>
    suppressWarnings()
  expect_equal(own$value, brier_score(by_hand, y[-(1:100)]))
})

test_that("weights reach fits and metrics", {
  w <- c(rep(3, 60), rep(1, 180))
  rows <- list(list(cal = 31:140, test = c(1:30, 141:240)))
  study <- quick(z, y, methods = "temperature", splits = rows, weights = w,
    metrics = list("log_loss", n = function(probs, labels, weights) sum(weights)))
  fit <- calib_temperature(z[31:140, ], y[31:140], weights = w[31:140])
  test <- rows[[1]]$test
  expect_equal(study$value[1], log_loss(predict(fit, z[test, ]), y[test], weights = w[test]))
  expect_identical(study$value[2], sum(w[test]))
  expect_warning(quick(z, y, weights = w, metrics = list(m = function(p, l) 1)), "\"m\"",
    class = "gpcalib_warning_weights")
})

# Metrics ---------------------------------------------------------------------------------

test_that("metrics can be functions, and say which way is better", {
  right <- structure(function(probs, labels) mean(colnames(probs)[max.col(probs)] == labels),
    direction = "maximize")
  study <- quick(z, y, metrics = list("class_accuracy", right = right, gain = list(function(p, y, by) by,
    by = 2, higher = TRUE)))
  expect_identical(levels(study$metric), c("class_accuracy", "right", "gain"))
  expect_identical(attr(study, "higher"), c(class_accuracy = TRUE, right = TRUE, gain = TRUE))
  wide <- function(metric) study$value[study$metric == metric]
  expect_equal(wide("right"), wide("class_accuracy"))
  expect_identical(wide("gain"), rep(2, 6))
  named <- calib_study(z, y, "none", splits = 1, metrics = list("mce", right, function(p, y) 1))
  expect_identical(levels(named$metric), c("mce", "right", "metric3"))
})

# Failures --------------------------------------------------------------------------------

test_that("failures are recorded with their message and the rest goes on", {
  calls <- 0
  moody <- function(scores, labels) {
    calls <<- calls + 1
    if (calls == 2) stop("not today")
    calib_none(scores, labels)
  }
  wrong <- function(p) function(scores, labels) function(newdata) p(newdata)
  expect_warning(
    study <- quick(z, y, methods = list(moody = moody, short = wrong(function(x) x[-1, ]),
      missing = wrong(function(x) x * NA), logits = wrong(identity), none = "none"),
      metrics = list("brier_score", odd = function(p, y) stop("no metric"), two = function(p, y) 1:2)),
    "not today|failed", class = "gpcalib_warning_failed")
  error <- function(method, metric = "brier_score") {
    study$error[study$method == method & study$metric == metric]
  }
  expect_identical(error("moody"), c(NA, "not today", NA))
  expect_match(error("short"), "119 rows instead of 120")
  expect_match(error("missing"), "missing values")
  expect_match(error("logits"), "not probabilities")
  expect_identical(error("none"), rep(NA_character_, 3))
  expect_match(error("none", "odd"), "no metric")
  expect_match(error("none", "two"), "one number")
  expect_true(all(is.na(study$value) == !is.na(study$error)))
  failed <- study[study$method == "moody" & study$split == 2, ]
  expect_true(all(is.na(failed$fit_time)) && all(is.na(failed$predict_time)))
  expect_identical(study$value[study$method == "none" & study$metric == "brier_score"],
    quick(z, y)$value[c(1, 3, 5)])
  seen <- attr(study, "conditions")
  expect_identical(seen$message[seen$method == "moody" & seen$stage == "fit"], "not today")
})

test_that("warnings and messages are collected, not shown", {
  loud <- function(scores, labels) {
    message("hello")
    warning("careful")
    calib_none(scores, labels)
  }
  expect_silent(study <- quick(z, y, methods = loud, splits = 2))
  seen <- attr(study, "conditions")
  expect_identical(seen$message, rep(c("hello", "careful"), 2))
  expect_identical(seen$kind, rep(c("message", "warning"), 2))
  expect_identical(seen$split, c(1L, 1L, 2L, 2L))
  expect_identical(unique(seen$stage), "fit")
})

# Random numbers and workers --------------------------------------------------------------

noisy <- function(scores, labels) {
  shift <- stats::rnorm(1)
  function(newdata) {
    p <- exp(newdata * (1 + abs(shift)) + stats::runif(length(newdata)))
    p / rowSums(p)
  }
}

test_that("a method's random numbers depend neither on the others nor on the session", {
  alone <- quick(z, y, methods = noisy)
  after <- stats::runif(1)
  expect_identical(quick(z, y, methods = noisy)$value, alone$value)
  both <- quick(z, y, methods = list("none", noisy = noisy))
  expect_identical(stats::runif(1), after)
  expect_identical(both$value[both$method == "noisy"], alone$value)
  # fit and prediction draw different numbers, and so do splits
  drawn <- numeric()
  note <- function(scores, labels) {
    drawn <<- c(drawn, stats::runif(1))
    function(newdata) {
      drawn <<- c(drawn, stats::runif(1))
      matrix(1 / 3, nrow(newdata), 3)
    }
  }
  quick(z, y, methods = note)
  expect_length(unique(drawn), 6)
  old <- RNGkind()
  suppressWarnings(RNGkind("Wichmann-Hill", "Box-Muller", "Rounding"))
  on.exit(do.call(RNGkind, as.list(old)))
  quick(z, y, methods = noisy)
  expect_identical(RNGkind(), c("Wichmann-Hill", "Box-Muller", "Rounding"))
})

test_that("with_stream() leaves the generator as it was, even if it was not there", {
  set.seed(9)
  stream <- draw_streams(2)[[2]]
  before <- .Random.seed
  drawn <- with_stream(stream, stats::runif(2))
  expect_identical(.Random.seed, before)
  expect_identical(with_stream(stream, stats::runif(2)), drawn)
  expect_false(any(stats::runif(2) == drawn))
  kind <- RNGkind()
  rm(".Random.seed", envir = globalenv())
  with_stream(stream, stats::runif(1))
  expect_false(exists(".Random.seed", globalenv(), inherits = FALSE))
  expect_identical(RNGkind(), kind)
  set.seed(1)
})

test_that("the number of workers changes nothing", {
  skip_on_cran()
  skip_if_not_installed("future.apply")
  # Of the global environment, as a user's would be; with a helper of its own.
  assign("study_test_helper", function(x) x / 2, globalenv())
  on.exit(rm("study_test_helper", envir = globalenv()))
  global <- eval(quote(function(scores, labels) {
    force(study_test_helper(1))
    calib_temperature(study_test_helper(scores), labels)
  }), globalenv())
  run <- function() {
    suppressWarnings(quick(list(a = z, b = p2), list(y, y2), splits = 3,
      methods = list("none", noisy = noisy, global = global, mc = list("gp", predict = list(approx = "mc",
        n_draws = 20)), never = function(scores, labels) stop("never"))))
  }
  here <- run()
  next_here <- stats::runif(1)
  expect_true(all(is.na(here$error[here$method == "global"])))
  future::plan(future::multisession, workers = 2)
  on.exit(future::plan(future::sequential), add = TRUE)
  there <- run()
  expect_identical(stats::runif(1), next_here)
  timeless <- function(study) {
    study$fit_time <- study$predict_time <- NULL
    as.data.frame(study)
  }
  expect_identical(timeless(there), timeless(here))
  expect_identical(attr(there, "conditions"), attr(here, "conditions"))
})

test_that("progress is reported task by task", {
  skip_if_not_installed("progressr")
  seen <- 0
  withCallingHandlers(
    progressr::with_progress(quick(z, y, splits = 4), handlers = progressr::handler_void(),
      enable = TRUE),
    progression = function(p) if (p$type == "update") seen <<- seen + p$amount
  )
  expect_equal(seen, 8)
})

# The object ------------------------------------------------------------------------------

test_that("rows of a study are a study, columns of it a data frame", {
  study <- quick(z, y, metrics = c("ece", "class_accuracy"))
  part <- study[study$metric == "class_accuracy", ]
  expect_s3_class(part, "calib_study")
  expect_identical(attr(part, "higher"), attr(study, "higher"))
  expect_identical(class(study[c("method", "value")]), "data.frame")
  expect_identical(class(study[1:3, c("method", "value")]), "data.frame")
  expect_type(study[, "value"], "double")
  expect_identical(class(as.data.frame(study)), "data.frame")
  expect_null(attr(as.data.frame(study), "higher"))
})

test_that("a study does not keep the data", {
  big <- oracle_data(4000, 3, seed = 62)
  small <- quick(z, y)
  expect_lt(length(serialize(quick(big$z, big$y), NULL)), length(serialize(small, NULL)) + 200)
})

test_that("values that are not numbers are told", {
  odd <- function(probs, labels) if (mean(probs) > 2) 1 else NaN
  expect_warning(study <- calib_study(rain_nyc$prob[1:300], rain_nyc$rain[1:300], "none", splits = 2,
    metrics = list("brier_score", odd = odd)), "2 of the 4 values are undefined \\(NaN; \"odd\"\\)",
    class = "gpcalib_warning_undefined")
  expect_true(all(is.nan(study$value[study$metric == "odd"])))
  expect_true(all(is.na(study$error)))
})
