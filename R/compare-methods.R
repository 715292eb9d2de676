# What can be done with a comparison of forecasts.

#' @param x,object A comparison of forecasts.
#' @param digits How many decimals to print.
#' @param ... Not used.
#' @rdname compare_forecasts
#' @export
print.forecast_comparison <- function(x, digits = 4, ...) {
  names <- levels(x$scores$forecast)
  cat(say_count(length(names), "forecast"), " of ", say_number(sum(x$n)), " cases, ", length(x$classes), " classes",
    if (!is.null(x$groups)) paste0(", ", say_number(x$groups), " groups"), "\n", sep = "")
  if (is.null(x$scores[["by"]])) {
    print_comparison(x$scores, x$differences, x$reference, digits)
  } else {
    for (name in levels(x$scores$by)) {
      cat("\n-- ", name, " (", say_number(x$n[[name]]), " cases)\n", sep = "")
      print_comparison(x$scores[x$scores$by == name, ], x$differences[x$differences$by == name, ], x$reference, digits)
    }
  }
  cat("\nIntervals at ", say_level(x$conf_level), if (!is.null(x$groups)) ", robust to dependence within groups",
    ".\n", sep = "")
  if (nrow(x$differences)) {
    cat("p-values are for these forecasts as they are. If they come from calibrators, another\ncalibration sample may reverse the order: see calib_study().\n")
  }
  if (!all(is.na(x$scores$miscalibration))) cat("score = MCB - DSC + UNC: miscalibration, discrimination, uncertainty of the outcome\n")
  invisible(x)
}

print_comparison <- function(scores, differences, reference, digits) {
  against <- if (is.null(reference)) "the constant forecast" else reference
  for (measure in unique(scores$measure)) {
    part <- scores[scores$measure == measure, ]
    cat("\n", score_titles[[measure]], " (smaller is better; skill against ", against, ")\n", sep = "")
    table <- part[c("forecast", "score", "conf.low", "conf.high", "skill", "miscalibration", "discrimination",
      "uncertainty")]
    names(table)[6:8] <- c("MCB", "DSC", "UNC")
    table <- table[vapply(table, function(column) !all(is.na(column)), NA)]
    print_rounded(table, digits)
    if (measure == "log_loss" && !"MCB" %in% names(table)) cat("(no MCB, DSC and UNC of the log loss with three or more classes)\n")
    part <- differences[differences$measure == measure, ]
    if (!nrow(part)) next
    part$pair <- paste(part$forecast, "-", part$reference)
    table <- part[c("pair", "difference", "std.error", "conf.low", "conf.high", "p.value")]
    table$p.value <- say_p(table$p.value)
    names(table)[3] <- "s.e."
    cat("differences, paired:\n")
    print_rounded(table, digits)
  }
}

score_titles <- c(log_loss = "Log loss", brier_score = "Brier score", rps = "Ranked probability score")
score_words <- c(log_loss = "log loss", brier_score = "Brier score", rps = "ranked probability score")

#' "= 0.012", "< 0.001"
#' @noRd
say_p <- function(p) ifelse(is.na(p), "NA", ifelse(p < 0.001, "< 0.001", formatC(p, digits = 3, format = "f")))

print_rounded <- function(table, digits) {
  numeric <- vapply(table, is.double, NA)
  table[numeric] <- lapply(table[numeric], function(x) no_minus_zero(formatC(x, digits = digits, format = "f")))
  text <- !numeric
  table[text] <- lapply(table[text], as.character)
  print(table, row.names = FALSE, right = TRUE)
}

#' @rdname compare_forecasts
#' @export
summary.forecast_comparison <- function(object, ...) object # print() has everything

#' @rdname compare_forecasts
#' @export
tidy.forecast_comparison <- function(x, ...) x$differences

#' @rdname compare_forecasts
#' @param row.names,optional Not used.
#' @export
as.data.frame.forecast_comparison <- function(x, row.names = NULL, optional = FALSE, ...) x$scores

most_caps <- 15 # rows of a picture with caps at the ends of its intervals

#' @rdname compare_forecasts
#' @param base_size Size of the text, in points.
#' @return `autoplot()` draws the differences with their intervals, one panel per score.
#' @importFrom ggplot2 aes .data geom_point geom_vline ggplot labs
#' @export
autoplot.forecast_comparison <- function(object, base_size = 9, ...) {
  check_dots_empty(...)
  base_size <- check_number(base_size, "base_size", 1, 100)
  table <- object$differences
  lost <- sum(!is.finite(table$difference))
  table <- table[is.finite(table$difference), , drop = FALSE]
  if (!nrow(table)) {
    stop_input("object", "has no differences that could be drawn", "Compare at least two forecasts with finite scores.")
  }
  table$panel <- factor(score_titles[table$measure], levels = score_titles)
  against <- object$reference
  # one list of names, so that each has one short form
  names <- unique(c(as.character(table$forecast), as.character(table$reference)))
  short <- stats::setNames(shorten(names, if (is.null(against)) 14 else 24), names)
  table$pair <- if (is.null(against)) {
    paste(short[as.character(table$forecast)], "-", short[as.character(table$reference)])
  } else {
    short[as.character(table$forecast)]
  }
  table$pair <- factor(table$pair, levels = rev(unique(table$pair)))
  clear <- table$conf.low > 0 | table$conf.high < 0
  clear[is.na(clear)] <- FALSE
  table$verdict <- factor(ifelse(!clear, "no clear difference", ifelse(table$difference < 0, "better", "worse")),
    levels = c("better", "no clear difference", "worse"))
  title <- if (is.null(against)) "Difference of the mean scores" else {
    paste("Mean score minus that of", shorten(against, 24))
  }
  whiskers <- table[is.finite(table$conf.low), , drop = FALSE]
  ggplot(table, aes(x = .data$difference, y = .data$pair, colour = .data$verdict, shape = .data$verdict)) +
    geom_vline(xintercept = 0, colour = "grey50", linewidth = 0.4) +
    ggplot2::geom_segment(aes(x = .data$conf.low, xend = .data$conf.high, yend = .data$pair),
      data = whiskers, linewidth = 0.06 * base_size, show.legend = FALSE,
      # ends that are seen where an interval is shorter than its point; those of neighbours would touch where there are many
      arrow = if (nlevels(table$pair) <= most_caps) grid::arrow(angle = 90, ends = "both", length = unit(0.09 * base_size, "mm"))) +
    geom_point(size = (if (nlevels(table$pair) <= most_caps) 0.17 else 0.13) * base_size) +
    ggplot2::scale_colour_manual(values = c(better = ink[3], "no clear difference" = "grey45", worse = ink[2])) +
    ggplot2::scale_shape_manual(values = c(better = 16, "no clear difference" = 1, worse = 17)) +
    ggplot2::scale_x_continuous(breaks = function(limits) few_breaks(limits, if (base_size >= 9 && length(unique(table$panel)) <= 2) 5 else 3), labels = say_plain) +
    # With many pairs some names are left out rather than printed over each other.
    ggplot2::scale_y_discrete(guide = ggplot2::guide_axis(check.overlap = TRUE)) +
    comparison_facets(table) +
    labs(x = wrap_words(title, width = 40), y = NULL,
      caption = wrap_words(say_level(object$conf_level), " intervals, paired", if (!is.null(object$groups)) {
        ", robust within groups"
      }, if (is.null(against)) "; left of 0 the first named is better." else "; left of 0 is better.", if (lost) {
        paste0(" ", say_count(lost, "difference"), " of infinite or undefined scores ", if (lost == 1) "is" else "are", " left out.")
      }, base_size = base_size)) +
    picture_theme(base_size) +
    ggplot2::theme(legend.position = "top", legend.justification = "centre",
      axis.text.y = element_text(size = rel(if (nlevels(table$pair) > 12 && base_size < 8) 0.6 else if (nlevels(table$pair) > 20) 0.65 else 0.9)),
      panel.grid.major.y = ggplot2::element_blank())
}

#' A panel for each score; with `by`, a row of panels for each of its values
#' @noRd
comparison_facets <- function(table) {
  if (is.null(table[["by"]])) return(ggplot2::facet_wrap(ggplot2::vars(.data$panel), scales = "free_x"))
  ggplot2::facet_grid(ggplot2::vars(.data$by), ggplot2::vars(.data$panel), scales = "free_x",
    labeller = ggplot2::labeller(by = function(x) shorten(x, 20)))
}

#' Two to `most` breaks, evenly spaced, so that labels of small panels do not run into each other
#' @noRd
few_breaks <- function(limits, most) {
  inside <- function(n) {
    at <- pretty(limits, n)
    at[at >= limits[1] & at <= limits[2]]
  }
  for (n in (most + 1):1) {
    at <- inside(n)
    if (length(at) %in% 2:most) return(at)
  }
  at <- inside(most + 1)
  at[seq(1, length(at), by = 2)]
}

#' @rdname compare_forecasts
#' @export
plot.forecast_comparison <- function(x, ...) {
  print(autoplot(x, ...))
  invisible(x)
}
