# One result for each value of a factor: hospitals, airports, sexes.

#' A factor with one value per row, levels that occur
#' @noRd
check_by <- function(by, n, arg = "by") {
  if (is.data.frame(by) && length(by) == 1) by <- by[[1]]
  known <- is.factor(by) || is.character(by) || is.logical(by) || is.numeric(by) ||
    inherits(by, c("Date", "POSIXct"))
  if (!known || length(dim(by)) > 1 || length(by) != n) {
    stop_input(arg, paste0("must be a factor, or a vector, with one value for each of the ", n, " rows"),
      say_given(by))
  }
  if (anyNA(by)) {
    bad <- which(is.na(by))
    stop_input(arg, paste0("has missing values (", say_rows(bad, length(bad)), ")"),
      "Remove those rows, or give them a value of their own.")
  }
  by <- if (is.factor(by)) droplevels(by) else factor(by)
  if (nlevels(by) > most_groups) {
    stop_input(arg, paste0("has ", nlevels(by), " different values"),
      paste0("At most ", most_groups, " are possible: form fewer, with cut() for numbers."))
  }
  by
}

most_groups <- 10000L

#' The rows of each value, in the order of the levels
#' @noRd
rows_by <- function(by) split(seq_along(by), by)

#' A forecast of some of its rows
#' @noRd
forecast_rows <- function(forecast, rows, name) {
  out <- list(
    probs = forecast$probs[rows, , drop = FALSE], labels = forecast$labels[rows],
    classes = forecast$classes, weights = forecast$weights[rows], conf = forecast$conf[rows],
    pred = forecast$pred[rows], counts = forecast$counts
  )
  if (!is.null(out$weights) && sum(out$weights) <= 0) {
    stop_input("weights", paste0("is zero for every row of \"", name, "\""),
      "At least one row of each group must count.")
  }
  out
}

#' Measure each group: a number, or a vector named by the groups
#' @noRd
each_group <- function(forecast, by, measure) {
  if (is.null(by)) return(measure(forecast))
  by <- check_by(by, nrow(forecast$probs))
  rows <- rows_by(by)
  vapply(names(rows), function(name) measure(forecast_rows(forecast, rows[[name]], name)), 0)
}

#' Bind the tables of the groups, with a first column that says whose each row is
#' @noRd
bind_groups <- function(parts, names, column = "by") {
  sizes <- vapply(parts, nrow, 0L)
  out <- do.call(rbind, unname(lapply(parts, as.data.frame)))
  rownames(out) <- NULL
  out <- cbind(by = factor(rep(names, sizes), levels = names), out)
  names(out)[1] <- column
  out
}
