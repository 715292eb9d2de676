# What can be done with a validation: print, draw.

#' The smooth curve of a part as a reliability table, with the numbers for its corner
#' @noRd
validation_table <- function(part, level, classes) {
  p <- part$probs
  forecast <- list(probs = cbind(1 - p, p), labels = part$hit + 1L, classes = c("", part$class),
    weights = part$weights, conf = pmax(p, 1 - p), pred = ifelse(p > 0.5, 2L, 1L))
  spec <- ece_spec(forecast$classes, event = part$class)
  how <- list(spec = spec, type = "event", method = "smooth", level = level, band = "confidence")
  parts <- smooth_table(bin_rows(.Call(C_bin_sums, forecast, spec), spec, "event", forecast$classes), part$class, forecast$classes, list(part$fit), how,
    score_spread(forecast, how))
  table <- parts$table
  table$gap <- table$confidence - table$observed
  table$conf.low <- parts$limits$low
  table$conf.high <- parts$limits$high
  value <- function(name) part$table$estimate[part$table$measure == name]
  structure(table, type = "event", method = "smooth", region = "confidence", conf_level = level,
    N = part$n, K = 2L, classes = forecast$classes, total = sum(table$n), smooth = parts$smooth, band = parts$band,
    spread = parts$spread, corner = paste0("O:E ", say_measure(value("oe_ratio")), "\nslope ",
      say_measure(value("slope")), "\nc ", say_measure(value("c_index"))),
    class = c("reliability_table", "data.frame"))
}

validation_words <- c(oe_ratio = "Observed : expected (O:E)", in_the_large = "Mean outcome - mean risk",
  intercept = "Calibration in the large", slope = "Recalibration slope (Cox)",
  slope_intercept = "  and its intercept", ici = "ICI (mean distance from curve)", e50 = "  E50", e90 = "  E90",
  emax = "  Emax", c_index = "c-index", brier_score = "Brier score", scaled_brier = "Scaled Brier score")
validation_ideal <- c(oe_ratio = "1", in_the_large = "0", intercept = "0", slope = "1", slope_intercept = "0",
  ici = "0", e50 = "0", e90 = "0", emax = "0", c_index = "1", brier_score = "0", scaled_brier = "1")

#' @param x,object A validation.
#' @param digits How many decimals to print.
#' @param histogram,base_size As in [plot_reliability()].
#' @param ... Not used.
#' @rdname calib_validate
#' @export
print.calib_validation <- function(x, digits = 3, ...) {
  if (is.null(attr(x, "n")) || !all(c("measure", "estimate") %in% names(x))) {
    print(as.data.frame(x), ...)
    return(invisible(x))
  }
  several <- any(c("by", "class") %in% names(x))
  if (several) print_validations(x, digits) else print_validation(x, digits)
  invisible(x)
}

print_validation <- function(x, digits) {
  n <- attr(x, "n")
  events <- attr(x, "events")
  level <- attr(x, "conf_level")
  number <- function(v) ifelse(is.na(v) & !is.nan(v), "", formatC(v, digits = digits, format = "f"))
  cat("Validation of the probability of \"", attr(x, "event"), "\": ", say_number(n), " rows, ", say_number(events),
    " events (", format(100 * events / n, digits = 3), " %)\n", sep = "")
  shown <- data.frame(measure = validation_words[x$measure], estimate = number(x$estimate))
  if (!is.null(level)) {
    shown$interval <- ifelse(is.na(x$conf.low), "undefined", paste(number(x$conf.low), "to", number(x$conf.high)))
    names(shown)[3] <- paste(say_level(level), "interval")
  }
  shown$ideal <- validation_ideal[x$measure]
  names(shown)[1] <- ""
  shown[[1]] <- format(shown[[1]])
  print(shown, row.names = FALSE, right = TRUE)
  said <- validation_verdict(x)
  if (length(said)) cat(paste0(strwrap(said, 90), collapse = "\n"), "\n", sep = "")
}

#' Which parts of calibration have an interval that excludes the ideal: named flags, NA where there is none
#' @noRd
validation_outside <- function(x) {
  row <- function(name) as.data.frame(x)[x$measure == name, ]
  outside <- function(name, ideal) {
    part <- row(name)
    if (is.na(part$conf.low) || is.na(part$conf.high)) NA else part$conf.low > ideal || part$conf.high < ideal
  }
  c("O:E" = outside("oe_ratio", 1), slope = outside("slope", 1), curve = outside("ici", 0))
}

#' What can be done about it
#' @noRd
say_recalibrate <- function(several) {
  paste0("If the probabilities have not been calibrated on rows of this population, ", shifting_methods(if (several) 3 else 2, "or"),
    " can correct that; if they have, more calibration rows may help.")
}

#' Two digits, more where these would say 1
#' @noRd
say_ratio <- function(x) {
  digits <- 2
  while (as.numeric(format(x, digits = digits)) == 1 && digits < 6) digits <- digits + 1
  format(x, digits = digits)
}

#' What the numbers of one part say in words
#' @noRd
validation_verdict <- function(x) {
  row <- function(name) as.list(as.data.frame(x)[x$measure == name, ])
  ratio <- row("oe_ratio")
  slope <- row("slope")
  if (isTRUE(slope$conf.high < 0)) {
    return(paste("The probabilities contradict the event: the higher they are, the rarer it is (the slope is below 0).",
      "Check which class is the event (`event`, `event_level`)."))
  }
  outside <- validation_outside(x)
  if (all(is.na(outside))) return(NULL)
  is_out <- function(name) isTRUE(outside[[name]])
  said <- c(
    if (is_out("O:E")) {
      paste0("The probabilities are too ", if (ratio$estimate < 1) "high" else "low", " on average: ",
        say_ratio(ratio$estimate), " events were observed for each one expected.")
    },
    if (is_out("slope")) {
      paste0(if (is_out("O:E")) "They" else "The probabilities", " are too ", if (slope$estimate < 1) "extreme" else "cautious", ": the recalibration slope is ",
        if (slope$estimate < 1) "below" else "above", " 1.")
    },
    if (is_out("curve") && !is_out("O:E") && !is_out("slope")) {
      paste0("Mean and slope show no error, but the calibration curve departs from the diagonal, by ",
        format(row("ici")$estimate, digits = 2), " on average (ICI): see autoplot().")
    }
  )
  if (length(said)) return(paste(c(said, say_recalibrate(FALSE)), collapse = " "))
  paste0("No miscalibration found: the intervals of ", paste(c("O:E" = "O:E", slope = "slope", curve = "ICI")[which(!outside)], collapse = ", "),
    " contain their ideal values.", if (isTRUE(min(attr(x, "events"), attr(x, "n") - attr(x, "events")) < few_events)) {
      " With so few events or non-events only large errors could be found."
    })
}

#' The same of several parts: which exclude the ideal, and for what
#' @noRd
validations_verdict <- function(x) {
  table <- as.data.frame(x)
  each <- length(validation_measures)
  parts <- split(table, rep(seq_len(nrow(table) / each), each = each))
  outside <- vapply(parts, validation_outside, c("O:E" = NA, slope = NA, curve = NA))
  if (all(is.na(outside))) return(NULL)
  hit <- which(colSums(outside, na.rm = TRUE) > 0)
  if (!length(hit)) return("No miscalibration found: all intervals of O:E, slope and ICI contain their ideal values.")
  names <- validation_names(x)[hit]
  what <- apply(outside[, hit, drop = FALSE], 2, function(flags) paste(names(which(flags)), collapse = ", "))
  some <- seq_len(min(length(hit), 8))
  paste0("The interval excludes the ideal value for ", paste0(names[some], " (", what[some], ")", collapse = "; "),
    if (length(hit) > 8) paste0("; and ", length(hit) - 8, " more"), if (length(hit) < length(parts)) "; not for the others", ". ",
    if (length(parts) >= 8) paste0("Of ", length(parts), " calibrated parts a few would do so by chance. "),
    say_recalibrate("class" %in% names(table)))
}

print_validations <- function(x, digits) {
  table <- as.data.frame(x)
  each <- length(validation_measures)
  if (nrow(table) %% each != 0) return(print(table))
  first <- seq(1, nrow(table), each)
  shown <- table[first, intersect(c("by", "class"), names(table)), drop = FALSE]
  whole <- nrow(shown) == length(attr(x, "n"))
  if (whole) {
    shown$rows <- attr(x, "n")
    shown$events <- attr(x, "events")
  }
  number <- function(v) formatC(v, digits = digits, format = "f")
  for (name in c("oe_ratio", "slope", "ici", "c_index")) {
    rows <- table[table$measure == name, ]
    text <- number(rows$estimate)
    if (name %in% c("oe_ratio", "slope") && !is.null(attr(x, "conf_level"))) {
      ends <- paste0(" (", number(rows$conf.low), " to ", number(rows$conf.high), ")")
      text <- format(paste0(text, ifelse(is.na(rows$conf.low), "", ends)))
    }
    shown[[switch(name, oe_ratio = "O:E", ici = "ICI", c_index = "c", name)]] <- text
  }
  cat("Validation of ", if ("class" %in% names(table)) "each class against the rest" else {
    paste0("the probability of \"", attr(x, "event"), "\"")
  }, if (!is.null(attr(x, "conf_level"))) paste0("; ", say_level(attr(x, "conf_level")), " intervals"), "\n", sep = "")
  print(shown, row.names = FALSE)
  said <- validations_verdict(x)
  if (length(said)) cat(paste0(strwrap(said, 90), collapse = "\n"), "\n", sep = "")
  cat("More in as.data.frame()\n")
}

#' @rdname calib_validate
#' @export
tidy.calib_validation <- function(x, ...) as.data.frame(x)

#' @rdname calib_validate
#' @export
summary.calib_validation <- function(object, ...) object

#' @export
as.data.frame.calib_validation <- function(x, ...) {
  attributes(x) <- c(attributes(x)[c("names", "row.names")], class = "data.frame")
  x
}

#' @export
`[.calib_validation` <- function(x, ...) as.data.frame(x)[...]

#' @rdname calib_validate
#' @export
autoplot.calib_validation <- function(object, histogram = NULL, base_size = 9, ...) {
  check_dots_empty(...)
  tables <- attr(object, "tables")
  if (is.null(tables)) {
    stop_input("object", "has lost its curves", "Draw what calib_validate() returns.")
  }
  names <- validation_names(object)
  if (length(tables) > most_panels) {
    tables <- tables[seq_len(most_panels)]
    names <- names[seq_len(most_panels)]
  }
  left <- length(attr(object, "tables")) - length(tables)
  plot <- draw_reliability(if (is.null(names)) tables else stats::setNames(tables, names), histogram, NULL, FALSE,
    base_size)
  if (left) plot <- plot + labs(subtitle = paste("The first", most_panels, "of", most_panels + left, if ("by" %in% names(object)) "panels" else "classes"))
  if ("class" %in% names(object)) plot <- plot + labs(title = "Each class against the rest", x = "Probability of the class")
  plot
}

most_panels <- 12L

validation_names <- function(object) {
  table <- as.data.frame(object)
  first <- seq(1, nrow(table), length(validation_measures))
  parts <- table[first, intersect(c("by", "class"), names(table)), drop = FALSE]
  if (!length(parts)) return(NULL)
  do.call(paste, c(unname(lapply(parts, as.character)), sep = ", "))
}

#' @rdname calib_validate
#' @export
plot.calib_validation <- function(x, ...) {
  print(autoplot(x, ...))
  invisible(x)
}
