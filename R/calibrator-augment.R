# augment(): a data frame with its calibrated probabilities beside it.

#' @rdname calibrator
#' @export
augment.calibrator <- function(x, newdata, data = NULL, interval = FALSE, level = 0.95, ...) {
  x <- check_object(x, "x")
  if (missing(newdata)) stop_input("newdata", "is missing", "Give the scores to calibrate.")
  interval <- check_flag(interval, "interval")
  if (is_lazy(newdata)) {
    if (!is.null(data) || interval) {
      stop_input(if (interval) "interval" else "data", "is not for lazy tables", "Leave it out, or collect the rows.")
    }
    return(augment_lazy(x, newdata, ...))
  }
  if (!is.null(data) && is.data.frame(newdata) && !is.data.frame(data) && is.numeric(unclass(data))) {
    stop_input("newdata", "is a data frame and `data` holds numbers: they seem to have been exchanged",
      "`newdata` are the scores, `data` the data frame to add to.")
  }
  scores <- if (is.data.frame(newdata)) own_columns(x, newdata) else newdata
  if (is.null(data)) {
    data <- if (is.data.frame(newdata)) {
      newdata
    } else {
      data <- as_score_matrix(newdata, "newdata")
      if (is.matrix(newdata)) as.data.frame(data) else data.frame(score = data[, 1])
    }
  }
  if (!is.data.frame(data)) stop_input("data", "must be a data frame", say_given(data))
  probs <- predict(x, scores, ...)
  if (nrow(data) != nrow(probs)) {
    stop_input("data", paste0("has ", nrow(data), " rows but `newdata` has ", nrow(probs)),
      "They must describe the same cases.")
  }
  winner <- scan_rows(probs)$arg
  for (k in seq_along(x$classes)) data[[paste0(".pred_", x$classes[k])]] <- unname(probs[, k])
  data[[".pred_class"]] <- factor(x$classes[winner], levels = x$classes)
  if (interval) add_intervals(data, x, scores, level) else data
}

#' Columns .pred_lower_<class> and .pred_upper_<class>
#' @noRd
add_intervals <- function(data, object, scores, level) {
  level <- check_level(level, "level")
  # what there is to warn of was said with the probabilities
  quiet <- function(code) withCallingHandlers(code, gpcalib_warning_extrapolation = function(w) invokeRestart("muffleWarning"))
  ends <- tryCatch(quiet(predict(object, scores, type = "interval", level = level)),
    gpcalib_error_input = function(e) {
      if (!grepl("^`type`|^`\\.\\.\\.`", conditionMessage(e))) stop(e)
      stop_input("interval", paste0("is TRUE, but fits of ", class(object)[1], " have no intervals"),
        "Leave it out, or use calib_gp().")
    })
  for (k in seq_along(object$classes)) {
    data[[paste0(".pred_lower_", object$classes[k])]] <- unname(ends[, k, 2])
    data[[paste0(".pred_upper_", object$classes[k])]] <- unname(ends[, k, 3])
  }
  data
}

#' The score columns of a data frame: those the fit was made with, or those named after its classes; all, if
#' none of these is there
#' @noRd
own_columns <- function(object, newdata) {
  if (!is.null(object$columns) && all(object$columns %in% names(newdata))) return(newdata[object$columns])
  found <- find_score_columns(names(newdata), object$classes)
  if (is.null(found)) newdata else newdata[found]
}

#' Positions of the columns named after the classes, or NULL
#' @noRd
find_score_columns <- function(names, classes) {
  for (wanted in list(paste0(".pred_", classes), classes)) {
    if (all(wanted %in% names)) return(match(wanted, names))
  }
  if (length(classes) == 2) { # one column stands for the second class
    for (wanted in c(paste0(".pred_", classes[2]), classes[2])) {
      if (wanted %in% names) return(match(wanted, names))
    }
  }
  NULL
}
