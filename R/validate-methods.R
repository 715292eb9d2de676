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
  limited <- part$far[["slope"]]
  moved <- isTRUE(abs(limited - value("slope")) > far_change) # as print() has it
  constant <- part$events %in% c(0, part$n) # there is no curve
  numbers <- if (constant) (if (part$events > 0) "only events" else "no events") else {
    paste0("O:E ", say_measure(value("oe_ratio")), if (moved) "\nlimited slope " else "\nslope ",
      if (moved && is.infinite(limited)) "undefined" else say_measure(if (moved) limited else value("slope")), "\nc ", say_measure(value("c_index")))
  }
  structure(table, type = "event", method = "smooth", region = "confidence", conf_level = level,
    N = part$n, K = 2L, classes = forecast$classes, total = sum(table$n), smooth = parts$smooth,
    band = if (constant) parts$band[0, ] else parts$band, spread = parts$spread, corner = numbers, limited_slope = moved,
    class = c("reliability_table", "data.frame"))
}

validation_words <- c(oe_ratio = "Observed : expected (O:E)", in_the_large = "In the large: mean outcome - risk",
  intercept = "Calibration intercept (slope 1)", slope = "Recalibration slope (Cox)",
  slope_intercept = "  Intercept (with that slope)", ici = "ICI (curve from diagonal, mean)", e50 = "  E50", e90 = "  E90",
  emax = "  Emax", c_index = "c-index", brier_score = "Brier score", scaled_brier = "Scaled Brier score")
validation_ideal <- c(oe_ratio = "1", in_the_large = "0", intercept = "0", slope = "1", slope_intercept = "0",
  ici = "0", e50 = "0", e90 = "0", emax = "0", c_index = "1", brier_score = "0", scaled_brier = "1")

#' @param x,object A validation.
#' @param digits How many decimals to print.
#' @param histogram,base_size As in [plot_reliability()]. With `histogram = TRUE` all panels stand in one row.
#' @param classes Which classes to draw: their names, or how many of those with the smallest p-values. `NULL`: six, or all if there are no more.
#'   Rows of whole classes or groups, as in `x[x$class == "a", ]`, can be drawn and printed as well; their p-values remain adjusted for all classes or groups that were validated.
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
  number <- function(v) ifelse(is.na(v) & !is.nan(v), "", say_decimals(v, digits))
  cat("Validation of the probability of \"", attr(x, "event"), "\": ", say_number(n), " rows, ", say_number(events),
    " events (", format(100 * events / n, digits = 3), " %)\n", sep = "")
  shown <- data.frame(measure = validation_words[x$measure], estimate = number(x$estimate))
  if (!is.null(level)) {
    shown$interval <- ifelse(is.na(x$conf.low), "undefined", paste(say_ends(x$conf.low, digits), "to", say_ends(x$conf.high, digits)))
    names(shown)[3] <- paste(say_level(level), "interval")
  }
  shown$ideal <- validation_ideal[x$measure]
  names(shown)[1] <- ""
  shown[[1]] <- format(shown[[1]])
  print(shown, row.names = FALSE, right = TRUE)
  said <- c(validation_verdict(x), say_far(x))
  if (length(said)) cat(paste0(strwrap(said, 80), collapse = "\n"), "\n", sep = "")
}

#' Numbers with so many decimals; one above 0 that would be printed as 0 is said to be small, so that the limit of an interval shows on
#' which side of 0 it lies
#' @noRd
say_decimals <- function(v, digits) {
  text <- no_minus_zero(formatC(v, digits = digits, format = "f"))
  small <- is.finite(v) & v > 0 & v < 0.5 * 10^-digits
  text[small] <- paste0("<", formatC(10^-digits, digits = digits, format = "f"))
  text
}

#' Limits of intervals, where exactly 0 is told from what is rounded to it
#' @noRd
say_ends <- function(v, digits) {
  text <- say_decimals(v, digits)
  text[v %in% 0] <- "0"
  text
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
  number <- function(v) say_decimals(v, digits)
  level <- attr(x, "conf_level")
  moved <- far_moved(x)
  for (name in c("oe_ratio", "slope", "ici", "c_index")) {
    part <- table[table$measure == name, ]
    text <- number(part$estimate)
    if (name != "c_index" && !is.null(level)) {
      ends <- paste0(" (", say_ends(part$conf.low, digits), ", ", say_ends(part$conf.high, digits), ")")
      text <- format(paste0(text, ifelse(is.na(part$conf.low), "", ends)))
    }
    shown[[switch(name, oe_ratio = "O:E", ici = "ICI", c_index = "c", name)]] <- text
    if (name == "slope" && length(moved)) shown$limited <- limited_slopes(x, part$estimate, digits)
  }
  p <- validation_p(x)
  if (any(!is.na(p))) shown[["p (Holm)"]] <- ifelse(is.na(p), "", say_p(p))
  cat("Validation of ", if ("class" %in% names(table)) "each class against the rest" else {
    paste0("the probability of \"", attr(x, "event"), "\"")
  }, if (same) paste0(", ", say_number(rows[1]), " rows", if (length(rows) > 1 && "by" %in% names(table)) " each"),
  if (!is.null(level)) paste0("; ", say_level(level), " intervals"), "\n", sep = "")
  wide <- options(width = max(getOption("width"), 120L)) # a line for each part
  on.exit(options(wide))
  print(shown, row.names = FALSE)
  said <- c(validations_verdict(x), say_far(x))
  if (length(said)) cat(paste0(strwrap(said, 80), collapse = "\n"), "\n", sep = "")
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

#' Rows of whole parts are a validation of these parts, all else is a plain table
#' @noRd
#' @export
`[.calib_validation` <- function(x, ...) {
  table <- as.data.frame(x)
  out <- table[...]
  parts <- length(attr(x, "n"))
  each <- length(validation_measures)
  if (!is.data.frame(out) || !nrow(out) || !identical(names(out), names(table)) || nrow(table) != parts * each) return(out)
  numbered <- table
  numbered[[1]] <- seq_len(nrow(table))
  rows <- numbered[...][[1]]
  kept <- unique((rows - 1) %/% each + 1)
  if (!identical(as.double(rows), as.double(outer(seq_len(each), (kept - 1) * each, `+`)))) return(out)
  row.names(out) <- NULL
  events <- attr(x, "event")
  structure(out, n = attr(x, "n")[kept], events = attr(x, "events")[kept],
    event = if ("class" %in% names(out)) intersect(events, as.character(out$class)) else events, conf_level = attr(x, "conf_level"),
    far = attr(x, "far")[, kept, drop = FALSE], p.value = attr(x, "p.value")[kept], tables = attr(x, "tables")[kept],
    holm = validation_p(x)[kept], tests = validation_tests(x), class = class(x))
}

#' @rdname calib_validate
#' @export
autoplot.calib_validation <- function(object, histogram = NULL, base_size = 9, ..., classes = NULL) {
  check_dots_empty(...)
  tables <- attr(object, "tables")
  if (is.null(tables)) {
    stop_input("object", "has lost its curves", "Draw what calib_validate() returns.")
  }
  names <- validation_names(object)
  count <- length(tables)
  shown <- validated_shown(object, classes)
  tables <- one_slope(tables[shown], attr(object, "far")["slope", shown])
  plot <- draw_reliability(if (is.null(names)) tables else stats::setNames(tables, names[shown]), histogram, NULL, FALSE,
    base_size)
  if (length(shown) < count && !is.character(classes)) {
    what <- if ("by" %in% names(object)) "panels" else "classes"
    p <- attr(object, "p.value")
    why <- if (all(is.na(p))) "the first ones" else if (all(is.na(p[-shown]))) {
      "those with both events and non-events, smallest p-value first" # no others have a p-value
    } else {
      "those with the smallest p-values, smallest first"
    }
    plot <- plot + labs(subtitle = paste(strwrap(paste0(length(shown), " of ", count, " ", what, ", ", why), if (base_size < 8) 48 else 66), collapse = "\n"))
    if (is.null(classes)) {
      message(small_message(paste0(length(shown), " of ", count, " ", what, " are drawn, ", why, ". ",
        if (what == "classes") "Choose others with autoplot(x, classes = ): their names, or how many.\n" else "Draw others with autoplot(x[x$by == \"...\", ]).\n"),
        "gpcalib_message_classes"))
    }
  }
  if ("class" %in% names(object)) plot <- plot + labs(title = "Each class against the rest", x = "Probability of the class")
  plot
}

#' The slopes in the corners of all panels of a kind: limited ones, if one is
#' @noRd
one_slope <- function(tables, limited) {
  if (!any(vapply(tables, function(table) isTRUE(attr(table, "limited_slope")), NA))) return(tables)
  Map(function(table, slope) {
    none <- is.na(slope) && !is.nan(slope) # no row is limited
    new <- if (none) "\nlimited slope" else paste0("\nlimited slope ", if (is.finite(slope)) say_three(slope) else "undefined")
    attr(table, "corner") <- sub(if (none) "\nslope" else "\nslope [^\n]*", new, attr(table, "corner"))
    table
  }, tables, limited)
}

most_panels <- 12L

#' Which parts are drawn: the named classes, or those that depart most clearly, worst first
#' @noRd
validated_shown <- function(object, classes) {
  count <- length(attr(object, "tables"))
  if (is.character(classes) || is.factor(classes)) classes <- as.character(classes)
  if (!is.null(classes) && !"class" %in% names(object)) {
    stop_input("classes", "was given, but there is one event only", "It chooses among the classes of a validation of three or more, without `event`.")
  }
  if (is.character(classes)) {
    own <- as.character(as.data.frame(object)$class)[seq(1, nrow(object), length(validation_measures))]
    if (!length(classes) || !all(classes %in% own) || anyDuplicated(classes)) {
      stop_input("classes", "must be a number, or names of classes, each once", paste0("The classes are ", say_values(unique(own)), "."))
    }
    return(unlist(lapply(classes, function(class) which(own == class))))
  }
  by <- "by" %in% names(object)
  most <- if (!is.null(classes)) check_count(classes, "classes") else if (by) most_panels else most_classes(1, count)
  if (most >= count) return(seq_len(count))
  p <- attr(object, "p.value") # none where there are no events: there is no curve either
  utils::head(if (all(is.na(p))) seq_len(count) else order(p, na.last = NA), most)
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
