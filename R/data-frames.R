# Data frames: columns named by the user in place of matrices and vectors.

#' Fit a calibrator to columns of a data frame
#'
#' For predictions in a data frame that also has a column with the true classes, as in tidymodels: columns
#' `.pred_<class>`, one for each class.
#'
#' @param data A data frame.
#' @param truth The column with the true classes: a name.
#' @param estimate The score columns: names, `c()` of names, or a selection such as
#'   `starts_with(".pred_")`, by \pkg{tidyselect} if it is installed; without it names, strings, `c()` and
#'   `starts_with()` are understood. Columns named like the classes, with or without `.pred_`, are matched
#'   by name. `.pred_class` and the truth are never taken for scores. For two classes one column is enough.
#' @param method The name of a calibrator: `"gp"` for [calib_gp()] and so on.
#' @param weights `NULL`, or a column with case weights.
#' @param ... Arguments of the calibrator.
#' @return What the calibrator returns. Its field `columns` holds the names of the score columns, so that
#'   [predict()][predict.calibrator] and [augment()][calibrator] find them in other data frames.
#' @seealso [calib_metrics()], [reliability_table()] and [calib_validate()] take `truth` and `estimate`, too;
#'   [as_yardstick()].
#' @examples
#' rain <- data.frame(airport = rain_nyc$origin, rain = rain_nyc$rain, .pred_rain = rain_nyc$prob)
#' fit <- calib_fit(rain, rain, method = "platt")
#' fit
#' head(predict(fit, rain), 3)
#' head(augment(fit, rain), 3)
#' calib_metrics(rain, truth = rain, by = airport, eps = 1e-6)
#' @export
calib_fit <- function(data, truth, estimate = starts_with(".pred_"), method = "gp", weights = NULL, ...) {
  if (missing(data)) stop_input("data", "is missing", "Give a data frame.")
  if (missing(truth)) stop_input("truth", "is missing", "Name the column with the true classes.")
  known <- known_calibrators()
  if (!is.character(method) || length(method) != 1 || !sub("^calib_", "", method) %in% known) {
    stop_input("method", paste("must be one of", say_values(known, 20)), say_given(method))
  }
  frame <- parent.frame()
  taken <- take_columns(data, substitute(truth), substitute(estimate), frame)
  weights <- eval(substitute(weights), data, frame)
  fit <- get(paste0("calib_", sub("^calib_", "", method)), topenv())
  object <- fit(taken$scores, taken$labels, weights = weights, ...)
  object$call <- slim_call(match.call(), "fit")
  object$columns <- names(taken$scores)
  object
}

#' Scores and labels from the columns of a data frame
#'
#' @param truth,estimate expressions; @param frame where the user wrote them.
#' @return list: `scores` (a data frame) and `labels`.
#' @noRd
take_columns <- function(data, truth, estimate, frame, arg = "data") {
  if (!is.data.frame(data)) {
    stop_input(arg, "must be a data frame when `truth` is given", say_given(data))
  }
  name <- select_columns(truth, data, frame, "truth")
  if (length(name) != 1) {
    stop_input("truth", paste("must name one column, but names", length(name)),
      paste0("The columns are ", say_values(names(data), 10), "."))
  }
  scores <- setdiff(select_columns(estimate, data, frame, "estimate"), c(name, ".pred_class"))
  if (!length(scores)) {
    stop_input("estimate", "names no score column", paste0("Without it, columns that begin with .pred_ are taken. Name those with the ",
      "scores, as in estimate = c(first, second); the columns are ", say_values(setdiff(names(data), name), 10), "."))
  }
  list(scores = as.data.frame(data)[scores], labels = data[[name]])
}

#' Names of the columns that an expression selects
#' @noRd
select_columns <- function(expr, data, frame, arg) {
  found <- tryCatch(
    if (requireNamespace("tidyselect", quietly = TRUE)) {
      names(data)[tidyselect::eval_select(expr, data, env = frame)]
    } else {
      plain_select(expr, names(data), frame)
    },
    gpcalib_error_input = stop,
    error = function(e) {
      stop_input(arg, paste0("cannot be read as a choice of columns: ",
        sub("\\.$", "", trimws(gsub("\\s+", " ", conditionMessage(e))))),
        paste0("The columns are ", say_values(names(data), 10), "."))
    })
  unknown <- setdiff(found, names(data))
  if (length(unknown)) {
    stop_input(arg, paste0("names columns that are not there (", say_values(unknown), ")"),
      paste0("The columns are ", say_values(names(data), 10), "."))
  }
  unique(found)
}

#' Without tidyselect: names, strings, c() and starts_with()
#' @noRd
plain_select <- function(expr, names, frame) {
  if (is.symbol(expr) && as.character(expr) %in% names) return(as.character(expr))
  if (is.character(expr)) return(expr)
  if (is.call(expr) && identical(expr[[1]], quote(c))) {
    return(unlist(lapply(as.list(expr)[-1], plain_select, names = names, frame = frame)))
  }
  if (is.call(expr) && identical(expr[[1]], quote(starts_with))) {
    return(names[startsWith(names, eval(expr[[2]], frame))])
  }
  value <- eval(expr, frame)
  if (is.numeric(value)) names[value] else as.character(value)
}

#' What a function with `truth` and `estimate` was called with: probabilities, labels, and the arguments that
#' may be columns
#'
#' @param call its match.call(); @param frame where it was called; @param more names of those arguments.
#' @return list: `probs`, `labels`, and `more` by name. NULL when `truth` was not given.
#' @noRd
from_columns <- function(call, data, frame, more = c("weights", "by", "groups")) {
  if (is.null(call$truth)) return(NULL)
  if (!is.null(call$labels)) {
    stop_input("labels", "is given together with `truth`", "Give one of the two.")
  }
  estimate <- if (is.null(call$estimate)) quote(starts_with(".pred_")) else call$estimate
  taken <- take_columns(data, call$truth, estimate, frame, "probs")
  values <- lapply(stats::setNames(more, more), function(name) eval(call[[name]], data, frame))
  c(list(probs = taken$scores, labels = taken$labels), list(more = values))
}

# yardstick -------------------------------------------------------------------------------

#' A measure for yardstick
#'
#' Turns a measure of this package into a metric that \code{\link[yardstick:metric_set]{yardstick::metric_set()}}, `tune` and `workflows` take,
#' by \code{\link[yardstick:new-metric]{yardstick::new_prob_metric()}}.
#'
#' @param measure A function `(probs, labels, ...)` that returns a number, such as [ece()], [log_loss()] or
#'   [brier_score()]; or its name.
#' @param ... Arguments for it, such as `bins = 15`.
#' @param direction `"minimize"`, `"maximize"` or `"zero"`. `NULL`: the right one for measures of this package, and
#'   `"minimize"` for others.
#' @param name What `.metric` shows. `NULL`: the name of the measure.
#' @return A metric function `(data, truth, ..., na_rm = TRUE, event_level = "first", case_weights = NULL)` that
#'   returns a tibble with `.metric`, `.estimator` and `.estimate`. As everywhere in yardstick, the first level is
#'   the event unless `event_level` says otherwise.
#' @examplesIf requireNamespace("yardstick", quietly = TRUE)
#' ece_15 <- as_yardstick(ece, bins = 15)
#' rain <- data.frame(rain = rain_nyc$rain, .pred_rain = rain_nyc$prob)
#' ece_15(rain, rain, .pred_rain, event_level = "second")
#' yardstick::metric_set(ece_15, yardstick::brier_class)(rain, truth = rain, .pred_rain,
#'   event_level = "second")
#' @export
as_yardstick <- function(measure, ..., direction = NULL, name = NULL) {
  if (!requireNamespace("yardstick", quietly = TRUE)) {
    stop_input("measure", "cannot be turned into a metric: the package yardstick is not installed",
      "Install it with install.packages(\"yardstick\").")
  }
  written <- substitute(measure)
  if (is.character(measure) && length(measure) == 1 && measure %in% metric_functions) {
    if (is.null(name)) name <- measure
    measure <- get(measure, topenv())
  }
  if (!is.function(measure)) {
    stop_input("measure", paste("must be a function, or one of", say_values(metric_functions, 20)), say_given(measure))
  }
  if (is.null(name)) name <- if (is.symbol(written)) as.character(written) else "measure"
  if (is.null(direction)) direction <- if (name %in% higher_metrics) "maximize" else "minimize"
  direction <- check_choice(direction, c("minimize", "maximize", "zero"), "direction")
  args <- list(...)
  value <- function(truth, estimate, case_weights = NULL, event_level = "first", ...) {
    yardstick_value(measure, args, truth, estimate, case_weights, event_level)
  }
  metric <- function(data, truth, ..., na_rm = TRUE, event_level = "first", case_weights = NULL) {
    yardstick::prob_metric_summarizer(name = name, fn = value, data = data, truth = {{ truth }}, ...,
      na_rm = na_rm, event_level = event_level, case_weights = {{ case_weights }})
  }
  yardstick::new_prob_metric(metric, direction = direction)
}

#' One group of rows, as yardstick hands it over: for two classes the probability of the event
#' @noRd
yardstick_value <- function(measure, args, truth, estimate, case_weights, event_level) {
  if (length(dim(estimate)) < 2) {
    probs <- cbind(estimate, 1 - estimate)
    if (event_level == "second") probs <- probs[, 2:1]
  } else {
    probs <- as.matrix(estimate)
  }
  colnames(probs) <- levels(truth)
  args$weights <- if (!is.null(case_weights) && takes(measure, "weights", TRUE)) as.double(case_weights)
  if (nlevels(truth) == 2 && event_level == "first" && takes(measure, "event_level") && is.null(args$event) &&
    (is.null(args$type) || args$type %in% c("auto", "event"))) {
    args$event_level <- "first"
  }
  do.call(measure, c(list(probs, truth), args))
}

# Of tidyselect, or understood without it; never called as a function of ours.
utils::globalVariables("starts_with")
