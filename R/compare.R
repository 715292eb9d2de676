# Forecasts of the same cases compared: scores, paired differences, and what the scores are made of.

#' Compare forecasts of the same cases
#'
#' Mean scores of several forecasts with their decomposition, and differences between them with paired intervals
#' and tests: the same rows are easy or hard for all of them, so that differences are estimated more precisely
#' than the scores themselves.
#'
#' # Scores
#' The log loss, the Brier score and, for ordered classes, the ranked probability score, as [log_loss()],
#' [brier_score()] and [rps()] define them. Smaller is better for all three. The skill is
#' \eqn{1 - S / S_\mathrm{ref}}{1 - S / S_ref}, `S` the mean score of a forecast and `S_ref` that of the
#' reference; without `reference`, that of the constant forecast of the class frequencies ("climatology").
#'
#' # Differences
#' With \eqn{d_n} the difference of the scores of two forecasts in row n and \eqn{\bar d}{mean(d)} its mean, the
#' standard error is that of a mean of independent rows, and the interval and the two-sided p-value are
#' those of Student's t. With `groups` (patients of a hospital, days of a week, all hours of one storm)
#' the rows of a group may depend on each other in any way: the variance is
#' \eqn{\frac{G}{G - 1} \sum_g (\sum_{n \in g} (d_n - \bar d))^2 / N^2}{
#' G/(G - 1) sum_g (sum_{n in g} (d_n - mean(d)))^2 / N^2} for G groups, and t has G - 1 degrees of freedom.
#' For forecasts over time use blocks that are longer than the dependence. Intervals of scores and skill are computed in
#' the same way, those of the skill by linearisation. With few groups (say, fewer than 20) of very different sizes they
#' are too short.
#'
#' Each p-value is for one comparison; for many comparisons adjust them by [stats::p.adjust()]. The forecasts are taken as they are: if they come
#' from calibrators, these are taken as known, and another calibration sample may reverse the order. [calib_study()] compares calibrators on many samples.
#'
#' # Decomposition
#' Each score is decomposed into miscalibration, discrimination and uncertainty,
#' \eqn{S = \mathrm{MCB} - \mathrm{DSC} + \mathrm{UNC}}{S = MCB - DSC + UNC}, by isotonic recalibration
#' (see [reliability_table()]). With more than two classes the Brier score is a sum over classes, and the
#' ranked probability score one over cumulative probabilities, and the components are the sums of theirs; the log loss has
#' no such decomposition (`NA`).
#'
#' @param forecasts A list of forecasts, each as `probs` in [ece()], best with names.
#' @param labels The true classes of the cases, the same for all.
#' @param reference The name or number of the forecast that the others are compared with; `"climatology"`
#'   for the constant forecast of the class frequencies; `NULL`: every forecast with every other.
#' @param groups `NULL`, or one value per row: rows with the same value may depend on each other.
#' @param scores Which scores: `"log_loss"`, `"brier_score"`, `"rps"`. `NULL`: the first two, and the third
#'   when `labels` is an ordered factor of more than two classes. The accuracy is none of them: for that of two forecasts use
#'   [stats::mcnemar.test()] on which rows each of them has right.
#' @param conf_level Level of the intervals.
#' @param eps Probabilities below this value are raised to it in the log loss. An infinite log loss has no
#'   difference (`NA`), with a warning of class `gpcalib_warning_infinite`.
#' @param weights `NULL`, or one weight per row.
#' @param by `NULL`, or a factor with one value per row (hospitals, seasons): the forecasts are compared within each of its
#'   values, and a column `by` comes first in both tables.
#' @return An object of class `forecast_comparison`, a list of
#'   \describe{
#'     \item{`scores`}{a data frame with one row per score and forecast: `measure`, `forecast`, `score`,
#'       `conf.low`, `conf.high`, `skill`, `skill.low`, `skill.high`, `miscalibration`, `discrimination`,
#'       `uncertainty`;}
#'     \item{`differences`}{one with a row per score and pair: `measure`, `forecast`, `reference`,
#'       `difference` (forecast less reference: negative when the forecast is better), `std.error`,
#'       `statistic`, `df`, `conf.low`, `conf.high`, `p.value`;}
#'   }
#'   and `reference`, `conf_level`, `n` (with `by` one number for each of its values), `groups` (their number, or `NULL`), `classes`. `tidy()` gives the
#'   differences, `as.data.frame()` the scores, and `summary()` the comparison itself, since `print()` shows all of it.
#' @references
#' Diebold, F. X. and Mariano, R. S. (1995). Comparing predictive accuracy. *Journal of Business and
#' Economic Statistics* 13, 253-263.
#'
#' Dimitriadis, T., Gneiting, T., Jordan, A. I. and Vogel, P. (2024). Evaluating probabilistic
#' classifiers: the triptych. *International Journal of Forecasting* 40, 1101-1122.
#' @seealso [plot_mcbdsc()] for a picture of the parts, [plot_murphy()] for all proper scores at once,
#'   [calib_study()] to compare calibrators on repeated splits, [calib_metrics()] for why its intervals differ a little.
#' @examples
#' half <- seq_len(nrow(rain_nyc)) %% 2 == 0
#' cal <- rain_nyc[half, ]
#' test <- rain_nyc[!half, ]
#' forecasts <- list(
#'   raw = test$prob,
#'   platt = predict(calib_platt(cal$prob, cal$rain, scale = "logit"), test$prob),
#'   beta = predict(calib_beta(cal$prob, cal$rain, clip = 1e-3), test$prob)
#' )
#' result <- compare_forecasts(forecasts, test$rain, reference = "raw", eps = 1e-4,
#'   groups = as.Date(test$time))
#' result
#' tidy(result)
#' @order 1
#' @export
compare_forecasts <- function(forecasts, labels, reference = NULL, groups = NULL, scores = NULL,
                              conf_level = 0.95, eps = 0, weights = NULL, by = NULL) {
  if (missing(forecasts)) stop_input("forecasts", "is missing", "Give a list of forecasts.")
  if (missing(labels)) stop_input("labels", "is missing", "Give the true class of every row.")
  conf_level <- check_level(conf_level)
  eps <- check_number(eps, "eps", 0, 1)
  checked <- check_forecasts(forecasts, labels, weights)
  first <- checked[[1]]
  classes <- first$classes
  measures <- check_scores_wanted(scores, labels, length(classes))
  groups <- check_groups(groups, nrow(first$probs))
  reference <- check_base_forecast(reference, names(checked))
  how <- list(measures = measures, eps = eps, level = conf_level, reference = reference)
  warn_infinite(lapply(checked, row_scores, measures = measures, eps = eps))
  parts <- if (is.null(by)) {
    list(compare_rows(checked, how, groups))
  } else {
    rows <- rows_by(check_by(by, nrow(first$probs)))
    lapply(names(rows), function(name) {
      own <- lapply(checked, forecast_rows, rows = rows[[name]], name = name)
      compare_rows(own, how, if (!is.null(groups)) match(groups[rows[[name]]], unique(groups[rows[[name]]])))
    })
  }
  all_of <- function(field) {
    tables <- lapply(parts, `[[`, field)
    if (is.null(by)) tables[[1]] else bind_groups(tables, names(rows))
  }
  structure(list(
    scores = all_of("scores"), differences = all_of("differences"), reference = reference, conf_level = conf_level,
    n = if (is.null(by)) nrow(first$probs) else lengths(rows), groups = if (!is.null(groups)) max(groups), classes = classes
  ), class = "forecast_comparison")
}

#' Scores and differences of forecasts of the same rows
#' @noRd
compare_rows <- function(forecasts, how, groups) {
  first <- forecasts[[1]]
  constant <- constant_forecast(first)
  all <- if (identical(how$reference, "climatology")) c(forecasts, list(climatology = constant)) else forecasts
  rows <- lapply(all, row_scores, measures = how$measures, eps = how$eps)
  base <- if (is.null(how$reference)) row_scores(constant, how$measures, how$eps) else rows[[how$reference]]
  estimate <- function(x) mean_interval(x, first$weights, groups, how$level)
  list(scores = score_table(all, rows, base, how$measures, estimate),
    differences = difference_table(rows, how$reference, how$measures, estimate))
}

# What comes in ---------------------------------------------------------------------------

#' A list of forecasts of the same cases, each as check_forecast() returns it
#' @noRd
check_forecasts <- function(forecasts, labels, weights, arg = "forecasts") {
  single <- is_forecast(forecasts)
  forecasts <- as_named_list(forecasts, is_forecast, arg, "a forecast: a numeric matrix, data frame or vector")
  if (is.null(names(forecasts))) names(forecasts) <- "forecast"
  checked <- lapply(names(forecasts), function(name) {
    tryCatch(check_forecast(forecasts[[name]], labels, weights), gpcalib_error_input = function(e) {
      text <- sub("`probs`", paste0("`", arg, if (!single) paste0("$", name), "`"), conditionMessage(e), fixed = TRUE, useBytes = TRUE) # names may be no valid text
      stop(errorCondition(text, class = class(e)[seq_len(2)], call = NULL))
    })
  })
  names(checked) <- names(forecasts)
  for (name in names(checked)[-1]) {
    if (!setequal(checked[[name]]$classes, checked[[1]]$classes)) {
      stop_input(paste0(arg, "$", name), "has other classes than the first forecast",
        "All forecasts must be of the same classes.")
    }
    if (!identical(checked[[name]]$classes, checked[[1]]$classes)) {
      # labels without levels take the order of the columns: bring all to that of the first
      at <- match(checked[[1]]$classes, checked[[name]]$classes)
      checked[[name]]$probs <- checked[[name]]$probs[, at, drop = FALSE]
      checked[[name]]$labels <- checked[[1]]$labels
      checked[[name]]$pred <- match(checked[[name]]$pred, at)
      checked[[name]]$classes <- checked[[1]]$classes
    }
  }
  checked
}

score_names <- c("log_loss", "brier_score", "rps")

check_scores_wanted <- function(scores, labels, k) {
  if (is.null(scores)) return(score_names[c(TRUE, TRUE, is.ordered(labels) && k > 2)])
  if (!is.character(scores) || !length(scores) || !all(scores %in% score_names) || anyDuplicated(scores)) {
    other <- if (is.character(scores)) setdiff(scores, score_names)
    stop_input("scores", paste("must be some of", say_values(score_names), "each once"), paste(c(
      if (length(other)) paste0(say_values(other), if (length(other) > 1) " are not among them." else " is not among them.") else say_given(scores),
      if (any(grepl("accuracy", other))) "For the accuracy of two forecasts of the same rows use stats::mcnemar.test() on which of them are right."
    ), collapse = " "))
  }
  scores
}

#' Groups of rows as codes 1..G, or NULL
#' @noRd
check_groups <- function(groups, n, arg = "groups") {
  if (is.null(groups)) return(NULL)
  if (!is.atomic(groups) && !inherits(groups, "POSIXlt") || length(dim(groups)) > 1) {
    stop_input(arg, "must be a vector with one value per row, or NULL", say_given(groups))
  }
  if (inherits(groups, "POSIXlt")) groups <- as.POSIXct(groups)
  if (length(groups) != n) {
    stop_input(arg, paste0("has ", say_count(length(groups), "value"), " but there are ", n, " rows"),
      "Give one value per row.")
  }
  if (anyNA(groups)) {
    bad <- which(is.na(groups))
    stop_input(arg, paste0("has missing values (", say_rows(bad, length(bad)), ")"),
      "Give each such row a group of its own, or leave it out.")
  }
  codes <- match(groups, unique(groups))
  if (max(codes) < 2) {
    stop_input(arg, "has the same value in every row", "At least two groups are needed.")
  }
  codes
}

check_base_forecast <- function(reference, names) {
  if (is.null(reference)) return(NULL)
  if (length(reference) == 1 && is.numeric(reference) && !is.object(reference) &&
    reference %in% seq_along(names)) {
    return(names[reference])
  }
  if (length(reference) == 1 && is.character(reference) && reference %in% c(names, "climatology")) {
    return(reference)
  }
  stop_input("reference", paste0("must be one of the forecasts (", say_values(names),
    "), its number, or \"climatology\""), say_given(reference))
}

#' The constant forecast of the class frequencies
#' @noRd
constant_forecast <- function(forecast) {
  k <- length(forecast$classes)
  share <- class_weights(forecast$labels, forecast$weights, k)
  share <- as.double(share / sum(share))
  forecast$probs <- matrix(share, nrow(forecast$probs), k, byrow = TRUE)
  forecast$conf <- rep(max(share), nrow(forecast$probs))
  forecast$pred <- rep(which.max(share), nrow(forecast$probs))
  forecast
}
