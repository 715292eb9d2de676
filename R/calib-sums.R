# Sums that merge: what tables and measures of a forecast are made of, so that counting can be done in parts, in
# another process or in a database.

sum_bins <- c("n", "weight", "square", "score", "hits")
sum_totals <- c("n", "weight", "square", "right", "wrong", "over", "under", "log", "impossible", "brier", "conf", "spread")

#' Sums of a forecast, for tables and measures in parts
#'
#' Counts and sums over rows from which [reliability_table()] and [calib_metrics()] are computed. Sums of parts (batches, days,
#' the workers of a cluster) add up with `+` to those of all rows, in any order: counts to the last bit, sums
#' up to rounding. They are small and can be saved by [saveRDS()].
#'
#' For every bin b of equal width these are the number of rows, \eqn{\sum w}{sum w}, \eqn{\sum w^2}{sum w^2},
#' \eqn{\sum w s}{sum w s} and \eqn{\sum w y}{sum w y} with the weights w, scores s and outcomes y of its
#' rows; and over all rows the sums behind accuracy, log loss, Brier score, over- and underconfidence and sharpness.
#'
#' From them come `reliability_table(sums)`, with the arguments `conf_level`, `interval` and `classes`, and
#' `calib_metrics(sums)`, with `norm`, `debias` and `estimator` (`"mean"` or `"unweighted"`): the same objects as
#' from rows, with the same methods. Sums do not give `calib_slope` and the intervals of [calib_metrics()] (`NA`), bins of equal mass, or
#' curves (for these see [calib_counts()]).
#'
#' @inheritParams ece
#' @inheritParams calib_metrics
#' @param probs Probabilities, or a data frame or lazy table (of \pkg{dbplyr}) with `truth` and `estimate`. A lazy table is summed by the
#'   database. There `by` may name several columns, `weights` one.
#' @param x,e1,e2 Sums; for `+` of the same forecasts: equal classes, bins, type and `eps`.
#' @param ... Not used.
#' @return An object of class `calib_sums`, a list: `type`, `event`, `classes`, `bins`, `eps`, `by` (whether there are groups)
#'   and `parts`, one for each group: `bins`, a matrix with a row per bin (for types `"classwise"` and `"top_label"`
#'   a row per class and bin), and `totals`.
#' @seealso [calib_counts()], [calib_sql()].
#' @examples
#' one <- calib_sums(rain_nyc$prob[1:1000], rain_nyc$rain[1:1000], eps = 1e-6)
#' two <- calib_sums(rain_nyc$prob[1001:2000], rain_nyc$rain[1001:2000], eps = 1e-6)
#' both <- one + two
#' both
#' calib_metrics(both)
#' reliability_table(both)
#' @export
calib_sums <- function(probs, labels, bins = 15, type = c("auto", "confidence", "classwise", "top_label", "event"),
                       event = NULL, weights = NULL, event_level = c("second", "first"), eps = 0, by = NULL,
                       truth, estimate) {
  bins <- check_count(bins, "bins", 1, most_bins)
  eps <- check_number(eps, "eps", 0, 1)
  if (!missing(probs) && is_lazy(probs)) {
    return(lazy_sums(match.call(), probs, parent.frame(),
      list(bins = bins, type = type, event = event, event_level = event_level), eps))
  }
  columns <- from_columns(match.call(), if (!missing(probs)) probs, parent.frame(), c("weights", "by"))
  if (!is.null(columns)) {
    probs <- columns$probs
    labels <- columns$labels
    weights <- columns$more$weights
    by <- columns$more$by
  }
  forecast <- check_forecast(probs, labels, weights)
  if (!is.null(forecast$weights) && (max(forecast$weights) > 1e140 || max(forecast$weights) < 1e-140)) {
    stop_input("weights", "are too large or too small to be squared", "Rescale them.")
  }
  spec <- ece_spec(forecast$classes, bins = bins, type = type, event = event, event_level = event_level)
  rows <- if (is.null(by)) list(all = NULL) else rows_by(check_by(by, nrow(forecast$probs)))
  parts <- Map(function(rows, name) {
    forecast_sums(if (is.null(rows)) forecast else forecast_rows(forecast, rows, name), spec, eps)
  }, rows, names(rows))
  new_sums(spec, forecast$classes, eps, !is.null(by), lapply(parts, stack_bins))
}

new_sums <- function(spec, classes, eps, by, parts) {
  structure(list(type = ece_types[spec$type + 1], event = spec$event, classes = classes, bins = spec$bins, eps = eps,
    by = by, parts = parts), class = "calib_sums")
}

#' @rdname calib_sums
#' @export
Ops.calib_sums <- function(e1, e2) {
  if (.Generic != "+" || missing(e2)) {
    stop_input("e1", paste0("is of class calib_sums, for which there is no `", .Generic, "`"), "Sums can be added.")
  }
  check_sums(e1, "e1")
  check_sums(e2, "e2")
  for (name in c("type", "event", "classes", "bins", "eps", "by")) {
    if (!identical(e1[[name]], e2[[name]])) {
      stop_input("e2", paste0("differs from `e1` in `", name, "`"), "Sums of the same kind can be added.")
    }
  }
  for (name in names(e2$parts)) {
    mine <- e1$parts[[name]]
    theirs <- e2$parts[[name]]
    e1$parts[[name]] <- if (is.null(mine)) theirs else {
      list(bins = mine$bins + theirs$bins, totals = add_totals(mine$totals, theirs$totals))
    }
  }
  e1$parts <- e1$parts[order(names(e1$parts), method = "radix")]
  e1
}

#' Sums come back from files and other processes: is this what they were?
#' @noRd
check_sums <- function(x, arg) {
  if (!inherits(x, "calib_sums")) stop_input(arg, "must be made by calib_sums()", say_given(x))
  fine <- function(part) {
    size <- if (x$type %in% c("classwise", "top_label")) x$bins * length(x$classes) else x$bins
    is.list(part) && is.matrix(part$bins) && is.double(part$bins) && identical(dim(part$bins), c(as.integer(size), 5L)) &&
      identical(colnames(part$bins), sum_bins) && is.double(part$totals) && identical(names(part$totals), sum_totals) &&
      !anyNA(part$bins) && !anyNA(part$totals) && all(part$bins >= 0)
  }
  known <- is.list(x) && is.character(x$classes) && length(x$classes) >= 2 && isTRUE(x$type %in% ece_types) &&
    is.numeric(x$bins) && length(x$bins) == 1 && is.list(x$parts) && length(x$parts) > 0 && !is.null(names(x$parts)) &&
    all(vapply(x$parts, fine, NA))
  if (!known) stop_input(arg, "is of class calib_sums, but damaged", "Create it again with calib_sums().")
  invisible(x)
}

#' @rdname calib_sums
#' @export
print.calib_sums <- function(x, ...) {
  check_sums(x, "x")
  rows <- sum(vapply(x$parts, function(part) part$totals[["n"]], 0))
  cat("<calib_sums> ", format(rows, big.mark = ",", scientific = FALSE), " rows, ", length(x$classes), " classes, ", x$type,
    if (x$type == "event") paste0(" \"", x$classes[x$event], "\""), ", ", say_count(x$bins, "bin"),
    if (x$by) paste0(", ", say_count(length(x$parts), "group")), "\n", sep = "")
  invisible(x)
}
