# What a monitor has to say: computed from its sums, never from rows.

#' The part of the sums of some periods, added up or one row each
#' @noRd
monitor_sums <- function(monitor, part, rows = seq_along(monitor$period)) {
  monitor$sums[rows, monitor_part(length(monitor$classes), part), drop = FALSE]
}

#' 1/temperature that fits best: the maximum of a spline through the log likelihood ratios of the grid
#'
#' NA where nothing is known, where the maximum is at an end, or beyond.
#' @noRd
monitor_slope <- function(ratios) {
  t <- c(monitor_t$value, 0)
  value <- c(ratios, 0)
  if (!all(is.finite(value)) || all(value == 0)) return(NA_real_)
  order <- order(t)
  t <- t[order]
  value <- value[order]
  best <- which.max(value)
  if (best %in% c(1L, length(t))) return(NA_real_)
  curve <- stats::splinefun(t, value, "natural")
  exp(stats::optimize(curve, t[best + c(-1, 1)], maximum = TRUE, tol = 1e-6)$maximum)
}

#' A likelihood interval of the same: what the likelihood ratio test does not reject. An end beyond the grid is that of the grid
#' @return c(low, high); NA where monitor_slope() is.
#' @noRd
monitor_slope_interval <- function(ratios, level = 0.95) {
  best <- monitor_slope(ratios)
  if (is.na(best)) return(c(NA_real_, NA_real_))
  t <- c(monitor_t$value, 0)
  curve <- stats::splinefun(t, c(ratios, 0), "natural")
  least <- curve(log(best)) - stats::qchisq(level, 1) / 2
  end <- function(at) {
    over <- function(x) curve(x) - least
    if (over(at) >= 0) at else stats::uniroot(over, sort(c(at, log(best))), tol = 1e-6)$root
  }
  exp(c(end(min(t)), end(max(t))))
}

#' Where the best inverse temperature lies: -1 at or beyond the lower end of the grid, 1 the upper, else 0
#' @noRd
monitor_extreme <- function(ratios) {
  best <- monitor_t$value[which.max(c(ratios, 0))]
  if (anyNA(ratios) || anyNA(best)) 0 else (best == max(monitor_t$value)) - (best == min(monitor_t$value))
}

#' @rdname calib_monitor
#' @order 3
#' @export
tidy.calib_monitor <- function(x, ...) {
  x <- check_monitor(x, "x")
  total <- monitor_sums(x, "total")
  colnames(total) <- monitor_totals
  n <- total[, "weight"]
  share <- function(a, b) ifelse(b > 0, a / b, NaN)
  loss <- ifelse(total[, "impossible"] > 0, Inf, share(total[, "loss"], n))
  table <- data.frame(
    period = x$period, run = x$period_run, n = n, log_loss = loss,
    brier = share(total[, "brier"], n) / if (length(x$classes) == 2) 2 else 1,
    accuracy = share(total[, "hits"], n), confidence = share(total[, "conf"], n),
    overconfidence = share(total[, "over"], n - total[, "hits"]),
    underconfidence = share(total[, "under"], total[, "hits"]),
    slope = apply(monitor_sums(x, "temperature"), 1, monitor_slope)
  )
  if (length(x$classes) == 2) {
    table$oe <- share(monitor_sums(x, "observed")[, 2], monitor_sums(x, "expected")[, 2])
  }
  row.names(table) <- NULL
  table
}

#' @rdname calib_monitor
#' @order 3
#' @export
glance.calib_monitor <- function(x, ...) {
  x <- check_monitor(x, "x")
  e <- log_e_values(x)
  data.frame(classes = length(x$classes), periods = length(x$period), run = x$run, fed = x$fed,
    waiting = length(x$waiting$id), nobs = sum(x$sums[, 1]), e_value = exp(e[[1]]), alarm = alarm_at(x) > 0)
}

#' The rows of the path that belong to a run
#' @noRd
run_path <- function(monitor, run = monitor$run) monitor$path[monitor$path[, 1] == run, , drop = FALSE]

#' The first look of the current run at which the mean (or another column) reached 1/level; 0 for none
#' @noRd
alarm_at <- function(monitor, column = 4L, path = run_path(monitor)) {
  at <- which(path[, column] >= -log(monitor$level))
  if (length(at)) at[1] else 0L
}

#' @rdname calib_monitor
#' @order 3
#' @export
summary.calib_monitor <- function(object, ...) {
  object <- check_monitor(object)
  path <- run_path(object)
  columns <- 3L + seq_len(1L + length(object$alternatives))
  now <- log_e_values(object)
  alarm <- vapply(columns, function(column) alarm_at(object, column, path), 0L)
  evidence <- data.frame(
    alternative = c("mean", object$alternatives), e_value = unname(exp(now)),
    highest = exp(vapply(columns, function(column) max(0, path[, column]), 0)),
    alarm = ifelse(alarm > 0, object$period[path[pmax(alarm, 1), 2]], NA_character_)
  )
  here <- object$period_run == object$run
  structure(list(monitor = object, evidence = evidence, rise = rise_began(object, path, alarm[1]),
    slope = monitor_slope(colSums(monitor_sums(object, "temperature", here))),
    extreme = monitor_extreme(colSums(monitor_sums(object, "temperature", here))), periods = tidy(object)),
    class = "summary.calib_monitor")
}

#' The period after the lowest e-value before the alarm; the first one if it only rose. No estimate of when calibration was lost: a forecast
#' that was a little off from the start has its lowest e-value anywhere.
#' @noRd
rise_began <- function(monitor, path, alarm) {
  if (alarm == 0 || path[alarm, 4] == Inf) return(NA_character_) # a single label of probability 0 is no rise
  before <- c(0, path[seq_len(alarm), 4])
  low <- which.min(before[-length(before)])
  monitor$period[path[low, 2]]
}

#' An e-value; beyond what a double holds, by its logarithm
#' @noRd
say_e <- function(x, log_x = log(x)) {
  ifelse(is.infinite(x) & is.finite(log_x), paste0("1e", round(log_x / log(10))),
    ifelse(x > 1e6, format(x, digits = 2), sub("[.]$", "", formatC(x, digits = 3, format = "fg", flag = "#"))))
}

#' @rdname calib_monitor
#' @order 3
#' @export
print.calib_monitor <- function(x, ...) {
  x <- check_monitor(x, "x")
  one <- glance(x)
  cat("<calib_monitor> ", one$classes, " classes, ", say_count(one$periods, "period"), ", ",
    format(one$nobs, big.mark = ",", digits = 15), " labelled rows",
    if (one$waiting) paste0(", ", one$waiting, " waiting for their label"), "\n", sep = "")
  if (x$run > 1) cat("  run ", x$run, " (restarted ", if (x$run == 2) "once" else say_count(x$run - 1L, "time"), ")\n", sep = "")
  if (!one$nobs) {
    cat("  nothing seen yet\n")
    return(invisible(x))
  }
  now <- say_e(one$e_value, log_e_values(x)[[1]])
  limit <- format(1 / x$level, digits = 3)
  path <- run_path(x)
  at <- alarm_at(x)
  if (at > 0) {
    then <- say_e(exp(path[at, 4]), path[at, 4])
    cat("  alarm raised in period \"", x$period[path[at, 2]], "\", when the e-value ", if (is.infinite(path[at, 4])) "became infinite" else paste("was", then), " (alarm at ", limit, ")",
      if (now != then) paste0(";\n  it is ", now, " now", if (log_e_values(x)[[1]] < -log(x$level)) "; the alarm stays"), "\n", sep = "")
  } else {
    cat("  e-value against calibration ", now, ": no alarm (raised at ", limit, ")\n", sep = "")
  }
  cat("  (an e-value of 1 is no evidence, a larger one is evidence against calibration)\n")
  if (!is.null(x$process) && x$process$failed > 0) {
    cat("  the alternative \"process\" could not learn from ", say_count(x$process$failed, "part"), " of the rows\n", sep = "")
  }
  if (x$impossible > 0) cat("  labels of probability 0 occurred: the forecast cannot be calibrated\n")
  invisible(x)
}

#' @export
print.summary.calib_monitor <- function(x, ...) {
  print(x$monitor)
  if (!nrow(x$periods)) return(invisible(x))
  cat("\nEvidence against calibration", if (x$monitor$run > 1) paste0(", run ", x$monitor$run), "\n(e-values; the alarm uses the mean):\n", sep = "")
  shown <- x$evidence
  shown$e_value <- say_e(shown$e_value, unname(log_e_values(x$monitor)))
  path <- run_path(x$monitor)
  shown$highest <- say_e(shown$highest, vapply(3L + seq_len(nrow(shown)), function(column) max(0, path[, column]), 0))
  names(shown)[names(shown) == "alarm"] <- paste("reached", format(1 / x$monitor$level, digits = 3), "in")
  print(shown, row.names = FALSE)
  if (!is.na(x$rise)) {
    begun <- x$periods$period[x$periods$run == x$monitor$run][1]
    first <- identical(as.character(begun), as.character(x$rise))
    cat("The rise that led to the alarm began in ", if (first) "the first period, ", if (!first) "period ", "\"", x$rise, "\".\n  ", if (first) {
      "The forecast seems to have been miscalibrated from the start."
    } else {
      "The forecast may have been miscalibrated before, even from the start:\n  small errors show late."
    }, "\n  If it was calibrated, the reason may be the error of its limited\n  calibration rows, and not a change: update() the fit then.\n", sep = "")
  }
  if (is.finite(x$slope)) {
    cat("Inverse temperature ", format(x$slope, digits = 3), " (below 1: overconfident, above 1: underconfident)\n", sep = "")
  } else if (isTRUE(x$extreme != 0)) {
    cat("Inverse temperature ", if (x$extreme < 0) "below " else "above ", format(exp(if (x$extreme < 0) min(monitor_t$value) else max(monitor_t$value)), digits = 2),
      " (ideal: 1): very ", if (x$extreme < 0) "over" else "under", "confident\n", sep = "")
  }
  cat("\nPeriods:\n")
  shown <- utils::tail(x$periods, 12)
  if (x$monitor$run == 1) shown$run <- NULL
  short <- c(log_loss = "log loss", brier = "Brier", confidence = "conf.", overconfidence = "over", underconfidence = "under", oe = "O:E")
  names(shown) <- ifelse(names(shown) %in% names(short), short[names(shown)], names(shown))
  print(shown, row.names = FALSE, digits = 3)
  cat("conf.: mean confidence; over, under: over- and underconfidence;\nslope: inverse temperature", if ("O:E" %in% names(shown)) "; O:E: observed to expected events", "\n", sep = "")
  if (nrow(x$periods) > 12) cat("the last 12 of ", nrow(x$periods), ": see tidy()\n", sep = "")
  invisible(x)
}

#' @rdname calib_monitor
#' @order 3
#' @export
nobs.calib_monitor <- function(object, ...) sum(check_monitor(object)$sums[, 1])

#' @rdname calib_monitor
#' @order 3
#' @export
Ops.calib_monitor <- function(e1, e2) {
  if (.Generic != "+" || missing(e2)) {
    stop_input("e1", paste0("is a monitor, for which there is no `", .Generic, "`"), "Monitors can be added with +.")
  }
  a <- check_monitor(e1, "e1")
  b <- check_monitor(e2, "e2")
  for (part in c("classes", "alternatives", "level", "run")) {
    if (!identical(a[[part]], b[[part]])) {
      stop_input("e2", paste0("has another `", part, "` than `e1`"), "Such monitors cannot be added.")
    }
  }
  both <- intersect(a$waiting$id, b$waiting$id)
  if (length(both)) {
    stop_input("e2", paste0("waits for labels under the same id as `e1`: ", say_values(both, 3)),
      "Give rows an id that no other machine gives.")
  }
  merge_monitors(a, b)
}

merge_monitors <- function(a, b) {
  key <- function(x) paste(x$period_run, x$period)
  at <- match(key(b), key(a))
  new <- is.na(at)
  at[new] <- length(a$period) + seq_len(sum(new))
  a$period <- c(a$period, b$period[new])
  a$period_run <- c(a$period_run, b$period_run[new])
  sums <- rbind(a$sums, matrix(0, sum(new), ncol(a$sums)))
  sums[at, ] <- sums[at, ] + b$sums
  a$sums <- sums
  a$evidence <- a$evidence + b$evidence
  a$impossible <- a$impossible + b$impossible
  if (!is.null(a$process)) a$process <- merge_processes(a$process, b$process)
  a$fed <- a$fed + b$fed
  a$batches <- a$batches + b$batches
  a$waiting <- list(probs = rbind(a$waiting$probs, b$waiting$probs), id = c(a$waiting$id, b$waiting$id),
    period = c(a$waiting$period, at[b$waiting$period]), weight = c(a$waiting$weight, b$waiting$weight))
  if (nrow(a$path) || nrow(b$path)) {
    message("The sums and the evidence were added. The earlier path of e-values is lost, because the order of the rows of the ",
      "two monitors is not known; a new path starts here.",
      if (!is.null(a$process)) " Of the two fits of \"process\", the one with more rows is continued.")
  }
  a$path <- a$path[0, , drop = FALSE]
  if (length(a$period)) add_look(a, length(a$period)) else a
}
