# Class probabilities of chosen rows with their uncertainty.

#' Class probabilities with intervals
#'
#' Draws the calibrated probabilities of a few rows as points with ranges, from
#' `predict(type = "interval")` of a calibrator that has intervals: [calib_gp()], and temperature, Platt and beta calibration.
#'
#' The interval shows the uncertainty of the calibration map at these scores: it
#' is narrow where there are many calibration rows of several classes, and wide where there are
#' few rows, or few of one class among them. It says nothing about the uncertainty of the classifier itself.
#'
#' With more than two classes each row gets a panel with its most likely classes; with two, the rows
#' stand one above the other with the probability of the second class. Hollow circles are the raw probabilities; with two classes
#' and rows without names these stand in brackets instead.
#'
#' @param object A fit of [calib_gp()], [calib_temperature()], [calib_platt()] or [calib_beta()].
#' @param newdata Scores of the rows to draw, as in [predict.calib_gp()]. Row names become titles.
#' @param labels Their true classes, to be marked; or `NULL`.
#' @param level Coverage of the intervals.
#' @param classes How many classes of a row to draw at most, the most likely ones.
#' @param rows How many rows to draw at most, the first ones. `NULL`: all of up to six, otherwise 4 (always 4 if `base_size` is below 8), or 20 for two classes (10 if `base_size` is below 8).
#' @param n_draws How many functions to draw for the intervals of a fit of [calib_gp()]. Use [set.seed()] to make them
#'   reproducible.
#' @param base_size Size of the text, in points; 7 suits a picture three inches wide.
#' @param ... Must be empty.
#' @return A ggplot object, to which layers, scales and themes can be added; its `data` has the columns
#'   `row`, `class`, `estimate`, `conf.low`, `conf.high`, `true` (`NA` without labels) and `raw`, the raw probability.
#' @family pictures
#' @examples
#' cal <- letters_nn$cal
#' test <- letters_nn$test
#' fit <- calib_gp(cal$scores, cal$labels)
#' set.seed(1)
#' plot_interval(fit, test$scores[c(2, 13, 20, 33), ], test$labels[c(2, 13, 20, 33)])
#' @export
plot_interval <- function(object, newdata, labels = NULL, ..., level = 0.95, classes = 4, rows = NULL,
                          n_draws = 1000, base_size = 9) {
  check_dots_empty(...)
  if (missing(newdata)) stop_input("newdata", "is missing", "Give the scores of the rows to draw.")
  if (!inherits(object, "calibrator")) stop_input("object", "must be a fitted calibrator", say_given(object))
  object <- check_object(object)
  level <- check_level(level, "level")
  base_size <- check_number(base_size, "base_size", 1, 100)
  classes <- check_count(classes, "classes")
  pair <- length(object$classes) == 2
  given <- if (length(dim(newdata)) == 2) nrow(newdata) else length(newdata)
  if (given < 1) stop_input("newdata", "has no rows", "Give the scores of the rows to draw.")
  most <- if (pair) c(10L, 20L) else c(4L, if (given <= 6) 6L else 4L) # one or two rows are not left out
  rows <- if (is.null(rows)) most[if (base_size < 8) 1 else 2] else check_count(rows, "rows")
  first <- seq_len(min(rows, given))
  truth <- check_truth(labels, given, object$classes)[first]
  newdata <- if (length(dim(newdata)) == 2) newdata[first, , drop = FALSE] else newdata[first]
  values <- if (inherits(object, "calib_gp")) {
    predict(object, newdata, type = "interval", level = level, n_draws = n_draws)
  } else {
    predict(object, newdata, type = "interval", level = level)
  }
  brackets <- pair && is.null(dimnames(values)[[1]])
  table <- interval_table(values, truth, object$classes, if (!pair) classes, raw_probs(object, newdata, "newdata"), brackets)
  draw_interval(table, pair, object$classes, given, classes, level, base_size, brackets,
    if (inherits(object, "calib_gp")) "posterior intervals" else if (!is.null(object$x0)) "Venn-Abers pairs" else "confidence intervals", !is.null(object[["averaged"]]))
}

#' Codes of the true classes, NA without labels
#' @noRd
check_truth <- function(labels, n, classes) {
  if (is.null(labels)) return(rep(NA_integer_, n))
  if (length(labels) != n) {
    stop_input("labels", paste0("has ", say_count(length(labels), "value"), " but `newdata` has ",
      say_count(n, "row")), "Give one label per row.")
  }
  codes <- match(as.character(labels), classes)
  if (anyNA(codes)) {
    bad <- which(is.na(codes))
    stop_input("labels", paste0("has values that are not among the classes (",
      say_rows(bad, length(bad)), ")"), paste0("The classes are ", say_values(classes), "."))
  }
  codes
}

#' One line per row and class drawn
#' @param most how many classes of a row; NULL for the second of two.
#' @param raw raw probabilities; @param brackets whether they stand behind the numbers of the rows.
#' @noRd
interval_table <- function(values, truth, classes, most, raw, brackets) {
  names <- dimnames(values)[[1]]
  if (is.null(names)) names <- paste0("Row ", seq_len(dim(values)[1]), if (brackets) paste0(" (", say_raw(raw[, 2]), ")"))
  names <- make.unique(names)
  parts <- lapply(seq_along(names), function(i) {
    one <- matrix(values[i, , ], ncol = 3)
    kept <- if (is.null(most)) 2L else utils::head(order(-one[, 1]), most)
    data.frame(
      row = factor(names[i], levels = names), class = factor(classes[kept], levels = classes),
      estimate = one[kept, 1], conf.low = one[kept, 2], conf.high = one[kept, 3],
      true = kept == truth[i], raw = raw[i, kept]
    )
  })
  do.call(rbind, parts)
}

#' Probabilities in brackets: two digits, those beside 0 and 1 told apart from these
#' @noRd
say_raw <- function(p) {
  said <- vapply(signif(p, 2), say_decimal, "")
  high <- !is.na(p) & p > 0.99
  said[high] <- say_each(1 - signif(1 - p[high], 1))
  said[!is.na(p) & p > 0 & p < 1e-4] <- "<.0001"
  said[!is.na(p) & p < 1 & p > 1 - 1e-4] <- ">.9999"
  said
}

#' The part of the axis that is shown: from 0, or to 1, where all intervals lie in one half
#' @noRd
interval_axis <- function(table, brackets) {
  raw <- if (!brackets) table$raw
  low <- min(table$conf.low, table$estimate, raw, na.rm = TRUE)
  high <- max(table$conf.high, table$estimate, raw, na.rm = TRUE)
  if (high < 0.5) c(0, max(pretty(c(0, high), 4))) else if (low > 0.5) c(min(pretty(c(low, 1), 4)), 1) else c(0, 1)
}

#' Points at the end of their intervals look like errors: why they are there, or NULL
#' @noRd
say_at_end <- function(table) {
  away <- pmin(table$estimate - table$conf.low, table$conf.high - table$estimate)
  near <- away < 0.1 * (table$conf.high - table$conf.low)
  if (any(near, na.rm = TRUE)) {
    " Points come from the best map, lines from many possible ones, less smooth maps among them: so a point can lie at the end of its line."
  }
}

dot_width <- 0.02 # of the axis, about
label_lines <- 28 # lines of the names of classes that a picture four inches high has room for

draw_interval <- function(table, pair, classes, given, most, level, base_size, brackets, kind, averaged) {
  pen <- base_size / 10
  panels <- nlevels(table$row)
  columns <- if (pair) 1 else ggplot2::wrap_dims(panels)[2]
  # Each panel has classes of its own, the most likely one on top: places carry row and class.
  place <- if (pair) table$row else interaction(table$row, table$class, drop = TRUE, lex.order = TRUE)
  order <- if (pair) rev(levels(table$row)) else as.character(place)[order(table$row, table$estimate)]
  table$place <- factor(as.character(place), levels = order)
  names <- if (pair) levels(table$row) else as.character(table$class)
  # On several lines where there is room for them, then smaller, and shortened only if nothing else helps.
  letters <- floor(36 / columns)
  lines <- if (pair) 1 else max(1, min(3, floor(label_lines / (ceiling(panels / columns) * max(table(table$row))))))
  share <- title_scale(names, letters, lines, smaller)
  names <- stats::setNames(wrap_title(names, floor(letters / share), lines), if (pair) levels(table$row) else place)
  marked <- !all(is.na(table$true))
  table$mark <- factor(ifelse(table$true %in% TRUE, "true class", "other"), c("true class", "other"))
  left_out <- c(
    if (panels < given) paste0("the first ", panels, " of ", say_number(given), " rows"),
    if (!pair && most < length(classes)) {
      paste0("the ", most, " most likely of ", length(classes), " classes")
    }
  )
  left_out <- paste(left_out, collapse = ", ")
  if (nzchar(left_out)) left_out <- paste0(toupper(substr(left_out, 1, 1)), substring(left_out, 2), ". ")
  what <- if (pair) paste0(" of \"", shorten(classes[2], 20), "\"")
  truth <- if (marked) {
    shown <- any(table$true %in% TRUE) # a mark that is not drawn is not explained
    if (pair) {
      paste0(if (shown) " Triangles: rows of \"" else " None of these rows is of \"", shorten(classes[2], 20), "\".")
    } else if (shown) " Triangles: the true class." else " The true classes are not among those drawn."
  }
  ends <- if (pair) interval_axis(table, brackets) else c(0, 1)
  ggplot(table, aes(.data$estimate, .data$place)) +
    geom_linerange(aes(xmin = .data$conf.low, xmax = .data$conf.high), colour = "grey45",
      linewidth = 0.7 * pen) +
    geom_point(aes(colour = .data$mark, shape = .data$mark), size = 1.9 * pen * (if (pair) min(1, (if (base_size < 8) 22 else 40) / panels) else 1), show.legend = FALSE) +
    (if (!brackets) geom_point(aes(.data$raw), shape = 1, size = 2.6 * pen, stroke = 0.5 * pen, colour = "grey30")) +
    ggplot2::scale_colour_manual(values = c("true class" = ink[2], other = "black")) +
    ggplot2::scale_shape_manual(values = c("true class" = 17, other = 16)) +
    ggplot2::scale_y_discrete(labels = names, guide = ggplot2::guide_axis(check.overlap = TRUE)) +
    scale_x_continuous(limits = ends, labels = say_plain, expand = c(0.02, 0.02),
      breaks = if (diff(ends) < 1) pretty(ends, 4) else if (columns > 2) c(0, 0.5, 1) else quarters) +
    (if (!pair) facet_wrap(vars(.data$row), scales = "free_y", labeller = short_labels(columns))) +
    labs(
      x = paste0("Calibrated probability", what), y = NULL,
      caption = wrap_words(left_out, "Lines: ", if (kind != "Venn-Abers pairs") paste0(say_level(level), " "), kind, " of the probability.", if (brackets) " In brackets: raw probabilities." else " Hollow circles: raw probabilities.", if (averaged) say_at_end(table), truth,
        if (any(table$conf.high - table$conf.low < dot_width * diff(ends), na.rm = TRUE)) " Lines shorter than a point are hidden by it.",
        if (diff(ends) < 1) paste0(" The axis shows ", say_plain(ends[1]), " to ", say_plain(ends[2]), " only."))
    ) +
    picture_theme(base_size) +
    theme(panel.grid.major.y = element_blank(), axis.text.y = element_text(size = rel(share * (if (pair && panels > (if (base_size < 8) 12 else 36)) 0.75 else 1)), lineheight = 0.85))
}
