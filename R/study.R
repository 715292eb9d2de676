# Studies: calibrators compared on random divisions of the same rows into calibration and test.

#' Compare calibrators on your own scores
#'
#' Monte-Carlo cross-validation: the rows are split at random into calibration rows and test rows, `splits` times. Every
#' method is fitted to the calibration rows and measured on the test rows. All methods get the same splits. There may be
#' one set of scores or several.
#'
#' @section Methods:
#' Each entry of `methods` is one of
#' * the name of a calibrator: `"gp"` for [calib_gp()] and so on;
#' * a function `(scores, labels, ...)`. It gets a matrix with the classes as column names, and a factor. It returns a
#'   fit for which `predict(fit, newdata)` works, or a function of the new scores. The predictions must be probabilities
#'   in the same form as the scores;
#' * a list of one of these and arguments for it: `list("gp", mean = "identity")`. Among these arguments,
#'   `predict` holds those for `predict()`, as in `list("gp", predict = list(approx = "mean"))`,
#'   or a function `(fit, newdata)` that takes its place, as in `list(fit = f, predict = g)`.
#'
#' Entries can be named, `list(gp = "gp", mean = list("gp", predict = list(approx = "mean")))`; methods that differ only
#' in their predictions share their fits. `input` and `weights` are passed to functions that have arguments of these
#' names (`weights` also through `...`), unless the entry specifies them itself.
#'
#' A method that stops with an error, or whose predictions are not probabilities, is recorded as failed in that split,
#' with its message. The study continues, and ends with a warning of class `gpcalib_warning_failed`. Warnings and
#' messages are collected as well: `attr(study, "conditions")` is a data frame of errors, warnings and messages.
#'
#' @section Metrics:
#' Each entry of `metrics` is the name of a measure (`"ece"`, `"mce"`, `"log_loss"`, `"brier_score"`,
#' `"class_accuracy"`, `"overconfidence"`, `"underconfidence"`, `"confidence_gap"`, `"sharpness"`), a
#' function `(probs, labels, ...)` that returns a number, or a list of one of these and arguments,
#' such as `list("ece", bins = 100)`. Small values are taken to be good, except for `"class_accuracy"`
#' and `"sharpness"`; `higher = TRUE` among the arguments of a metric says that large values are good, and `target = 1` that the
#' value nearest to 1 is best, as for a slope or a ratio of observed to expected events. Undefined values (`NaN`) are
#' kept as they are, with a warning of class `gpcalib_warning_undefined`.
#'
#' @section Splits:
#' By default the calibration rows are a simple random sample. With `stratify = TRUE` the classes have the same shares
#' among calibration and test rows. `groups` are never split (patients, speakers, days, blocks of time): whole groups
#' are drawn in random order until the number of their rows is as close to `n_cal` as possible. With `time` the
#' calibration rows are a window of consecutive rows at a random place, and the test rows are those that come next, so
#' that no test row is older than a calibration row; rows of the same time stay together.
#'
#' @section Random numbers:
#' Use [set.seed()] to make a study reproducible. All splits are drawn first. Then every pair of data set and split has
#' its own random stream, and each method starts at the same place of this stream. So the result of a method depends
#' neither on the number of workers nor on which other methods are compared.
#'
#' @section In parallel:
#' When a [future::plan()] is set and the package **future.apply** is installed, data sets, splits and methods are
#' distributed over the workers (or nodes of a cluster). Each worker gets all scores: for more than 500 MB increase the
#' option `future.globals.maxSize`. Times are wall-clock times of one fit while others run in parallel. Progress is
#' reported through **progressr**: call `progressr::handlers(global = TRUE)` once, or wrap the call in
#' `progressr::with_progress()`.
#'
#' @param scores Scores of a classifier for rows it was not trained on, in any form that
#'   [gpcalib_input] describes; or a named list of these.
#' @param labels Their true classes; or a list of these, in the order of `scores` or with its names.
#' @param methods What to compare, see below. `NULL`: all calibrators of this package with their
#'   defaults (for two classes without `"matrix"`, which then gives the same probabilities as `"vector"`).
#' @param n_cal The number of calibration rows, or their share if less than 1; or one such value for each data set.
#'   `NULL`: half of the rows, 1000 at most.
#' @param splits How many random splits to make; or a list with the splits themselves, each given by the row numbers of
#'   its calibration rows or by `list(cal = , test = )` (for several data sets a list of such lists).
#' @param metrics What to measure, see below. Tables and pictures list the methods by the first of them, from the best to the worst.
#' @param ... Must be empty, so that a misspelt argument is noticed.
#' @param input Whether `scores` are probabilities or logits; `"auto"` decides by the values of all rows of a set.
#' @param weights Case weights, used in fits and metrics; or `NULL`. Like `groups`, `time` and `by` a list
#'   when `scores` is one.
#' @param stratify Keep the class frequencies equal in calibration and test rows?
#' @param groups One value per row: rows with the same value stay together.
#' @param time One value per row that can be sorted: calibrate on the past, test on the future.
#' @param by One value per row (hospital, airport): methods are fitted to all calibration rows, and measured
#'   on the test rows of each value. The values take the place of data sets in tables and pictures.
#' @param n_test How many rows to test on, a number or a share. `NULL`: all that are left, with
#'   `time` half of them.
#' @return A data frame of class `calib_study` with one row per data set, split, method and metric
#'   and the columns `data`, `split`, `method`, `metric`, `value`, `fit_time` and `predict_time` (in
#'   seconds; of the method, hence the same for all metrics), `n_cal`, `n_test` and `error` (the
#'   message of a failure, or `NA`). See [summary.calib_study()] for tables and
#'   [autoplot.calib_study()] for pictures.
#' @references
#' Picard, R. R. and Cook, R. D. (1984). Cross-validation of regression models. *Journal of the
#' American Statistical Association* **79**, 575-583.
#'
#' Wenger, J., Kjellström, H. and Triebel, R. (2020). Non-parametric calibration for
#' classification. *Proceedings of AISTATS*, PMLR 108, 178-190.
#' @seealso [calib_metrics()] for one forecast.
#' @examples
#' set.seed(1)
#' study <- calib_study(rain_nyc$prob, rain_nyc$rain, n_cal = 200, splits = 4,
#'   methods = list("none", "temperature", "gp", flat = list("gp", predict = list(approx = "mean"))),
#'   metrics = list("ece", "log_loss" = list("log_loss", eps = 1e-4)))
#' study
#' summary(study, reference = "temperature")
#'
#' # A method of one's own: the class frequencies for every row
#' climate <- function(scores, labels, ...) {
#'   rate <- prop.table(table(labels))
#'   function(newdata) matrix(rate, nrow(newdata), length(rate), byrow = TRUE)
#' }
#' calib_study(rain_nyc$prob, rain_nyc$rain, list("temperature", climate), splits = 2,
#'   metrics = "brier_score")
#' @export
calib_study <- function(scores, labels, methods = NULL, n_cal = NULL, splits = 10,
                        metrics = c("log_loss", "brier_score", "ece", "class_accuracy"), ...,
                        input = c("auto", "probs", "logits"), weights = NULL, stratify = FALSE,
                        groups = NULL, time = NULL, n_test = NULL, by = NULL) {
  check_dots_empty(...)
  if (missing(scores)) stop_input("scores", "is missing", "Give the scores of the rows to divide.")
  if (missing(labels)) stop_input("labels", "is missing", "Give the true class of every row.")
  every <- is.null(methods)
  methods <- check_methods(methods, substitute(methods))
  metrics <- check_metrics(metrics, substitute(metrics))
  sets <- check_sets(scores, labels, input, weights, groups, time, by)
  # Of two classes a matrix has no more to say than a vector.
  if (every && all(vapply(sets, function(set) ncol(set$scores), 0L) == 2L)) {
    methods <- Filter(function(method) method$name != "matrix", methods)
  }
  if (!is.null(weights)) warn_unweighted(methods, metrics)
  plans <- check_plans(sets, splits, n_cal, n_test, stratify)
  drawn <- Map(draw_splits, sets, plans)
  counts <- lengths(drawn)
  job <- list(sets = sets, splits = drawn, methods = methods, metrics = metrics,
    streams = split(draw_streams(sum(counts)), rep(seq_along(sets), counts)))
  sums <- new_row_sums(job)
  results <- study_apply(study_tasks(counts, methods), job, sums)
  finish_study(unlist(results, recursive = FALSE), job, sums)
}

# What is given for each data set -----------------------------------------------------------

#' @return list of list(name, scores, labels, input, weights, groups, time, by) in canonical form.
#' @noRd
check_sets <- function(scores, labels, input, weights, groups, time, by = NULL) {
  input <- check_choice(input, c("auto", "probs", "logits"), "input")
  if (!is.null(groups) && !is.null(time)) {
    stop_input("time", "cannot be given together with `groups`",
      "Calibrate on the past with `time`, or keep blocks of time together with `groups`.")
  }
  several <- is.list(scores) && !is.data.frame(scores)
  names <- if (several) set_names(scores)
  parts <- Map(function(x, arg) if (several) match_sets(x, names, arg) else list(x),
    list(scores, labels, weights, groups, time, by),
    c("scores", "labels", "weights", "groups", "time", "by"))
  lapply(seq_along(parts[[1]]), function(i) {
    part <- lapply(parts, `[[`, i)
    tryCatch(
      check_set(names[i], part[[1]], part[[2]], input, part[[3]], part[[4]], part[[5]],
        part[[6]]),
      gpcalib_error_input = function(e) {
        if (several) {
          e$message <- paste0("In the data set \"", names[i], "\": ", conditionMessage(e))
        }
        stop(e)
      })
  })
}

set_names <- function(scores) {
  names <- entry_names(scores)
  if (!length(scores) || any(names == "") || anyDuplicated(names)) {
    stop_input("scores", "is a list without a name of its own for each data set",
      "Name them: list(one = ..., two = ...).")
  }
  names
}

#' One entry of a list for each data set: by name, or in order
#' @noRd
match_sets <- function(x, names, arg) {
  if (is.null(x)) return(vector("list", length(names)))
  if (!is.list(x) || is.data.frame(x) || length(x) != length(names) ||
    !is.null(names(x)) && !setequal(names(x), names)) {
    stop_input(arg, "must be a list with one entry for each data set in `scores`",
      paste0("The data sets are ", say_values(names), "."))
  }
  if (is.null(names(x))) x else x[names]
}

check_set <- function(name, scores, labels, input, weights, groups, time, by = NULL) {
  data <- check_data(scores, labels, input, weights, "scores")
  n <- nrow(data$scores)
  dimnames(data$scores) <- list(NULL, data$classes)
  list(
    name = name, scores = data$scores, input = data$input, weights = data$weights,
    labels = factor(data$classes[data$labels], levels = data$classes),
    groups = check_per_row(groups, n, "groups"), time = check_per_row(time, n, "time"),
    by = if (!is.null(by)) check_by(by, n)
  )
}

check_per_row <- function(x, n, arg) {
  if (is.null(x)) return(NULL)
  if (!(is.atomic(x) || inherits(x, "POSIXt")) || length(x) != n || anyNA(x)) {
    stop_input(arg, paste0("must hold one value for each of the ", n, " rows, none missing"),
      say_given(x))
  }
  if (arg == "groups" && length(unique(x)) < 2) {
    stop_input("groups", "has one group only", "At least two are needed.")
  }
  if (inherits(x, "POSIXlt")) as.POSIXct(x) else x
}

#' How each data set is to be divided
#' @noRd
check_plans <- function(sets, splits, n_cal, n_test, stratify) {
  stratify <- check_flag(stratify, "stratify")
  if (stratify && (!is.null(sets[[1]]$groups) || !is.null(sets[[1]]$time))) {
    stop_input("stratify", "cannot be combined with `groups` or `time`",
      "In whole groups or windows the shares of the classes cannot be chosen.")
  }
  count <- length(sets)
  n_cal <- check_sizes(n_cal, count, "n_cal")
  n_test <- check_sizes(n_test, count, "n_test")
  if (!is.list(splits)) {
    splits <- rep(list(check_count(splits, "splits")), count)
  } else if (!is.null(sets[[1]]$name)) {
    splits <- match_sets(splits, vapply(sets, `[[`, "", "name"), "splits")
  } else {
    splits <- list(splits)
  }
  if (any(lengths(splits) == 0)) {
    stop_input("splits", "has no split", "Give a number, or the rows to calibrate on.")
  }
  Map(function(splits, n_cal, n_test) {
    list(splits = splits, n_cal = n_cal, n_test = n_test, stratify = stratify)
  }, splits, n_cal, n_test)
}

check_sizes <- function(x, count, arg) {
  if (is.null(x)) return(rep(NA_real_, count))
  good <- is.numeric(x) && length(x) %in% c(1, count) && !anyNA(x) && all(x > 0) &&
    all(is.finite(x)) && all(x < 1 | x == floor(x))
  if (!good) {
    stop_input(arg, "must be a number of rows, or a share of them between 0 and 1",
      paste(say_given(x), if (length(x) > 1) paste0("One number for ", if (count == 1) "these scores" else paste("each of the", count, "data sets"), "; to compare sizes, ",
        "give the same rows several times, scores = list(few = s, many = s), labels = list(few = y, many = y), with a number for each.")))
  }
  rep_len(as.double(x), count)
}

#' Functions that know nothing of weights
#' @noRd
warn_unweighted <- function(methods, metrics) {
  without <- c(
    Filter(function(method) !takes(method$fit, "weights", TRUE), methods),
    Filter(function(metric) !takes(metric$fun, "weights", TRUE), metrics)
  )
  if (length(without)) {
    warn_gpcalib("weights", paste0("`weights` are not used by ",
      say_values(vapply(without, `[[`, "", "name"), 10), ", which have no such argument."))
  }
}
