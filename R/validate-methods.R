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

validation_words <- c(oe_ratio = "Observed : expected (O:E)", in_the_large = "In the large: mean outcome - risk",
  intercept = "Calibration intercept (slope 1)", slope = "Recalibration slope (Cox)",
  slope_intercept = "  and its intercept", ici = "ICI (mean distance from curve)", e50 = "  E50", e90 = "  E90",
  emax = "  Emax", c_index = "c-index", brier_score = "Brier score", scaled_brier = "Scaled Brier score")
validation_ideal <- c(oe_ratio = "1", in_the_large = "0", intercept = "0", slope = "1", slope_intercept = "0",
  ici = "0", e50 = "0", e90 = "0", emax = "0", c_index = "1", brier_score = "0", scaled_brier = "1")

#' @param x,object A validation.
#' @param digits How many decimals to print.
#' @param histogram,base_size As in [plot_reliability()].
#' @param classes Which classes to draw: their names, or how many of those with the most rows. `NULL`: six, or all if there are no more.
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
  said <- c(validation_verdict(x), say_far(x))
  if (length(said)) cat(paste0(strwrap(said, 90), collapse = "\n"), "\n", sep = "")
}

print_validations <- function(x, digits) {
  table <- as.data.frame(x)
  each <- length(validation_measures)
  if (nrow(table) %% each != 0) return(print(table))
  first <- seq(1, nrow(table), each)
  shown <- table[first, intersect(c("by", "class"), names(table)), drop = FALSE]
  rows <- if (nrow(shown) == length(attr(x, "n"))) attr(x, "n")
  same <- length(unique(rows)) == 1
  if (!is.null(rows)) {
    if (!same) shown$rows <- rows
    shown$events <- attr(x, "events")
  }
  number <- function(v) formatC(v, digits = digits, format = "f")
  level <- attr(x, "conf_level")
  for (name in c("oe_ratio", "slope", "ici", "c_index")) {
    part <- table[table$measure == name, ]
    text <- number(part$estimate)
    if (name != "c_index" && !is.null(level)) {
      ends <- paste0(" (", number(part$conf.low), ", ", number(part$conf.high), ")")
      text <- format(paste0(text, ifelse(is.na(part$conf.low), "", ends)))
    }
    shown[[switch(name, oe_ratio = "O:E", ici = "ICI", c_index = "c", name)]] <- text
  }
  p <- validation_p(x)
  if (any(!is.na(p))) shown[["p (Holm)"]] <- ifelse(is.na(p), "", say_p(p))
  cat("Validation of ", if ("class" %in% names(table)) "each class against the rest" else {
    paste0("the probability of \"", attr(x, "event"), "\"")
  }, if (same) paste0(", ", say_number(rows[1]), " rows", if (length(rows) > 1 && "by" %in% names(table)) " each"),
  if (!is.null(level)) paste0("; ", say_level(level), " intervals"), "\n", sep = "")
  wide <- options(width = max(getOption("width"), 100L)) # a line for each part
  on.exit(options(wide))
  print(shown, row.names = FALSE)
  said <- c(validations_verdict(x), say_far(x))
  if (length(said)) cat(paste0(strwrap(said, 90), collapse = "\n"), "\n", sep = "")
  cat("All measures: as.data.frame()\n")
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
autoplot.calib_validation <- function(object, histogram = NULL, base_size = 9, ..., classes = NULL) {
  check_dots_empty(...)
  tables <- attr(object, "tables")
  if (is.null(tables)) {
    stop_input("object", "has lost its curves", "Draw what calib_validate() returns.")
  }
  names <- validation_names(object)
  by_class <- "class" %in% names(object)
  if (!is.null(classes) && (!by_class || "by" %in% names(object))) {
    stop_input("classes", "was given, but the validation is not one of each class", "It is for three classes or more, without `by` and `event`.")
  }
  count <- length(tables)
  shown <- if (by_class && !"by" %in% names(object)) {
    validated_shown(names, attr(object, "events"), classes)
  } else {
    seq_len(min(count, most_panels))
  }
  tables <- tables[shown]
  plot <- draw_reliability(if (is.null(names)) tables else stats::setNames(tables, names[shown]), histogram, NULL, FALSE,
    base_size)
  if (length(shown) < count) {
    which <- if ("by" %in% names(object)) paste("The first", most_panels, "of", count, "panels. ") else {
      paste0(length(shown), " of ", count, " classes", if (!is.character(classes)) ", those with the most cases", ". ")
    }
    plot <- plot + labs(caption = wrap_words(which, attr(plot$labels$caption, "words"), base_size = base_size))
  }
  if (by_class) plot <- plot + labs(title = "Each class against the rest", x = "Probability of the class")
  plot
}

most_panels <- 12L

#' Which classes are drawn, as in plot_reliability(): the named ones, or those with the most rows; all of them in their own order
#' @noRd
validated_shown <- function(names, events, classes) {
  if (is.character(classes)) {
    if (!length(classes) || !all(classes %in% names) || anyDuplicated(classes)) {
      stop_input("classes", "must be a number, or names of classes, each once", paste0("The classes are ", say_values(names), "."))
    }
    return(match(classes, names))
  }
  count <- if (is.null(classes)) most_classes(1, length(names)) else check_count(classes, "classes")
  if (count >= length(names)) seq_along(names) else utils::head(order(-events), count)
}

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
