#' Pictures of a monitor
#'
#' Draws the evidence against calibration, the scores of each period, or a reliability diagram for each group of periods.
#'
#' @param object A monitor made by [calib_monitor()].
#' @param what `"evidence"`: the e-value after every batch, with the line at which the alarm is raised;
#'   `"scores"`: log loss, Brier score, accuracy with mean confidence, and inverse temperature by period; `"reliability"`:
#'   observed against forecast frequencies in ten bins, by period. Bars are 95 % intervals, where the sums that a monitor keeps allow them: Wilson's
#'   for accuracy and frequencies, that of the likelihood ratio for the inverse temperature; none for the log loss and the Brier score. Rows are taken as independent, and the sum of the weights as their number.
#'   A dotted vertical line marks a restart. Periods with less than a quarter of the median number of rows have faint points; where they would make the others flat, they are cut off, with an arrow.
#' @param periods For `"reliability"`: into how many groups of successive periods to divide.
#' @param base_size Size of the text.
#' @param ... Must be empty.
#' @param type Another name of `what`.
#' @return A ggplot.
#' @examples
#' # calibrated on the first quarter of a year, watched from then on, restarted in September
#' rain <- rain_nyc[order(rain_nyc$time), ]
#' month <- format(rain$time, "%m")
#' fit <- calib_platt(rain$prob[month <= "03"], rain$rain[month <= "03"])
#' m <- calib_monitor(classes = levels(rain$rain))
#' for (now in unique(month[month > "03"])) {
#'   rows <- month == now
#'   p <- predict(fit, rain$prob[rows])
#'   m <- update(m, p, rain$rain[rows], period = now, restart = now == "09")
#' }
#' autoplot(m)
#' autoplot(m, "reliability")
#' @export
autoplot.calib_monitor <- function(object, what = c("evidence", "scores", "reliability"), periods = 4,
                                   base_size = 9, ..., type = what) {
  check_dots_empty(...)
  object <- check_monitor(object)
  what <- type
  if (identical(what, "score")) what <- "scores"
  what <- check_choice(what, c("evidence", "scores", "reliability"), "what")
  periods <- check_count(periods, "periods", 1, 100)
  base_size <- check_number(base_size, "base_size", 1, 100)
  if (!nrow(object$path)) stop_input("object", "has seen nothing yet", "Feed it with update().")
  plot <- switch(what, evidence = plot_evidence(object, base_size), scores = plot_monitor_scores(object, base_size),
    reliability = plot_monitor_reliability(object, periods, base_size))
  plot + picture_theme(base_size) + ggplot2::theme(legend.position = "bottom")
}

plot_evidence <- function(monitor, base_size) {
  path <- monitor$path
  names <- c("mean", monitor$alternatives)
  ceiling <- log(1e12) # beyond that nobody needs to know
  logs <- path[, -(1:3)]
  logs <- logs[is.finite(logs)]
  beyond <- paste(c(if (any(logs > ceiling)) "values above 1e12 at 1e12", if (any(logs < -ceiling)) "values below 1e-12 at 1e-12"), collapse = ", ")
  table <- data.frame(
    look = rep(seq_len(nrow(path)), length(names)), run = rep(path[, 1], length(names)),
    alternative = factor(rep(names, each = nrow(path)), names),
    e = exp(pmin(pmax(as.vector(path[, -(1:3)]), -ceiling), ceiling))
  )
  # A label of probability 0 makes all of them infinite: lines end there.
  never <- which(path[, 4] == Inf)
  table <- table[is.finite(as.vector(path[, -(1:3)])), ]
  lined <- stats::ave(table$look, table$run, table$alternative, FUN = length) > 1
  ggplot2::ggplot(table, ggplot2::aes(.data$look, .data$e, colour = .data$alternative,
    linetype = .data$alternative, group = interaction(.data$run, .data$alternative))) +
    ggplot2::geom_blank(ggplot2::aes(.data$look, 1), data = data.frame(look = seq_len(nrow(path))), inherit.aes = FALSE) +
    (if (length(never)) {
      ggplot2::geom_text(ggplot2::aes(.data$look, Inf), label = "Inf", data = data.frame(look = never), vjust = 1.3, size = text_size(base_size, 0.6),
        inherit.aes = FALSE, check_overlap = TRUE)
    }) +
    ggplot2::geom_hline(yintercept = 1, colour = "grey60") +
    restart_lines(path[, 1], base_size) +
    ggplot2::geom_hline(yintercept = 1 / monitor$level, linetype = "longdash", colour = "firebrick") +
    ggplot2::geom_line(ggplot2::aes(linewidth = .data$alternative == "mean"), data = table[lined, ]) +
    ggplot2::geom_point(ggplot2::aes(size = .data$alternative == "mean")) +
    ggplot2::scale_discrete_manual("linewidth", values = c("FALSE" = 0.4, "TRUE" = 1), guide = "none") +
    ggplot2::scale_discrete_manual("size", values = c("FALSE" = 0.8, "TRUE" = if (any(lined)) 1.3 else 2.6), guide = "none") +
    ggplot2::scale_y_log10(expand = ggplot2::expansion(mult = c(0.05, if (length(never)) 0.15 else 0.05))) +
    ggplot2::scale_colour_manual(values = stats::setNames(pick(ink[c(4, 1, 2, 3, 5)], length(names), shift = FALSE), names)) +
    ggplot2::scale_linetype_manual(values = stats::setNames(pick(strokes, length(names)), names)) +
    scale_periods(nrow(path), monitor$period[path[, 2]], base_size) +
    ggplot2::labs(x = "Period", y = "e-value", colour = NULL, linetype = NULL,
      caption = wrap_words("Evidence against calibration, by alternative (1: none); the alarm uses the mean", if (any(lined)) " (thick)" else if (nrow(table)) " (large point)", ". Dashed horizontal line: alarm, at an e-value of ",
        format(1 / monitor$level), ".", if (nzchar(beyond)) paste0(" Drawn: ", beyond, "."),
        if (length(never)) " Inf: all e-values are infinite, because a label had probability 0.", say_restarts(path[, 1], " (evidence counts from 1 again)"), base_size = base_size))
}

#' Where one run ends and the next begins: half-way between their points
#' @param run of each point.
#' @noRd
restarts_at <- function(run) which(diff(run) != 0) + 0.5

restart_lines <- function(run, base_size) {
  at <- restarts_at(run)
  if (length(at)) ggplot2::geom_vline(xintercept = at, linetype = "dotted", colour = "grey30", linewidth = 0.05 * base_size)
}

say_restarts <- function(run, what = "") {
  n <- length(restarts_at(run))
  if (n) paste0(" Dotted vertical ", if (n == 1) "line" else "lines", ": restart", what, ".")
}

#' Periods below a picture: evenly spaced ones, as many as there is room for
#' @noRd
scale_periods <- function(n, labels, base_size, columns = 1) {
  room <- max(2, floor((if (base_size < 8) 40 else 70) / columns / (max(nchar(labels)) + 2)))
  breaks <- seq(1, n, by = ceiling(n / room))
  ggplot2::scale_x_continuous(breaks = breaks, labels = labels[breaks], guide = ggplot2::guide_axis(check.overlap = TRUE))
}

plot_monitor_scores <- function(monitor, base_size) {
  table <- tidy(monitor)
  # Where panels are small, their titles are short, and the caption says what is good.
  small <- base_size < 8
  good <- if (small) "" else c(" (lower is better)", " (lower is better)", "", "", " (best: 1)")
  shown <- stats::setNames(paste0(c("Log loss", "Brier score", "Accuracy", "Accuracy", "Inverse temperature"), good),
    c("log_loss", "brier", "accuracy", "confidence", "slope"))
  long <- do.call(rbind, lapply(names(shown), function(name) {
    data.frame(at = seq_len(nrow(table)), run = table$run, measure = shown[[name]],
      what = if (name == "confidence") "Mean confidence" else "Observed", value = table[[name]])
  }))
  long$measure <- factor(long$measure, unique(shown))
  limits <- monitor_limits(monitor, table, shown)
  # Periods of few rows must not make those of many flat.
  few <- table$n < few_share * stats::median(table$n[table$n > 0])
  ends <- panel_ends(long, limits, few, shown)
  # Lines end where a value is infinite or undefined: a new piece begins after it.
  long$piece <- stats::ave(as.integer(!is.finite(long$value)), long$measure, long$what, FUN = cumsum)
  lost <- long[!is.finite(long$value), ]
  long <- long[is.finite(long$value), ]
  arrows <- beyond_panel(long, limits, ends)
  long <- within_panel(long, "value", ends)
  limits <- within_panel(within_panel(limits, "conf.low", ends), "conf.high", ends)
  few <- few & seq_along(few) %in% long$at
  bare <- setdiff(as.character(lost$measure), as.character(long$measure))
  key <- function(rows) paste(rows$run, rows$what, rows$measure, rows$piece)
  alone <- table(key(long))[key(long)] < 2
  n <- nrow(table)
  label <- function(rows) ifelse(is.infinite(rows$value), "Inf", "?")
  said <- if (nrow(lost)) {
    paste0(" Not drawn, marked at the top (", paste(c("Inf" = "Inf: infinite", "?" = "?: undefined")[unique(label(lost))], collapse = ", "), "): ", paste(vapply(split(lost, droplevels(lost$measure)), function(rows) {
      paste0(tolower(sub(" [(].*", "", as.character(rows$measure[1]))), " of ", length(unique(rows$at)), " of ", say_count(n, "period"))
    }, ""), collapse = ", "), ".")
  }
  good <- if (small) " Log loss, Brier score: lower is better; inverse temperature: best at 1."
  ggplot2::ggplot(long, ggplot2::aes(.data$at, .data$value, linetype = .data$what, shape = .data$what)) +
    ggplot2::geom_hline(ggplot2::aes(yintercept = .data$value), data = data.frame(value = 1,
      measure = factor(shown[["slope"]], unique(shown))), colour = "grey60") +
    ggplot2::geom_linerange(ggplot2::aes(.data$at, ymin = .data$conf.low, ymax = .data$conf.high), data = limits, inherit.aes = FALSE,
      colour = "grey55", linewidth = 0.05 * base_size) +
    restart_lines(table$run, base_size) +
    ggplot2::geom_line(ggplot2::aes(group = interaction(.data$run, .data$what, .data$piece)), data = long[!alone, ]) +
    ggplot2::geom_point(size = 0.13 * base_size, alpha = ifelse(few[long$at], 0.4, 1)) +
    (if (nrow(arrows)) {
      ggplot2::geom_segment(ggplot2::aes(.data$at, .data$from, xend = .data$at, yend = .data$to), data = arrows, inherit.aes = FALSE, colour = "grey25",
        linewidth = 0.05 * base_size, arrow = grid::arrow(length = ggplot2::unit(0.2 * base_size, "mm")))
    }) +
    (if (nrow(lost)) {
      lost$label <- label(lost)
      ggplot2::geom_text(ggplot2::aes(.data$at, Inf, label = .data$label), data = lost, vjust = 1.3,
        size = text_size(base_size, 0.6), inherit.aes = FALSE, check_overlap = TRUE)
    }) +
    ggplot2::scale_linetype_manual(values = c(Observed = "solid", "Mean confidence" = "42")) +
    ggplot2::scale_shape_manual(values = c(Observed = 16, "Mean confidence" = 1)) +
    ggplot2::facet_wrap(ggplot2::vars(.data$measure), scales = "free_y") +
    scale_periods(n, table$period, base_size, 2) +
    (if (length(bare)) {
      # A panel without a value needs a scale for its marks; its axis has no ticks.
      ggplot2::geom_blank(ggplot2::aes(1, .data$value), inherit.aes = FALSE,
        data = data.frame(value = c(-1, 1) * nothing / 4, measure = factor(rep(bare, each = 2), unique(shown))))
    }) +
    ggplot2::scale_y_continuous(breaks = if (length(bare)) function(x) if (max(abs(x)) < nothing) numeric() else pretty(x, 4) else ggplot2::waiver(),
      expand = ggplot2::expansion(mult = c(0.05, if (nrow(lost)) 0.2 else 0.05))) +
    ggplot2::labs(x = "Period", y = NULL, linetype = NULL, shape = NULL,
      caption = wrap_words("Accuracy and mean confidence should agree. Bars: ", say_level(monitor_bars), " intervals. No bars for log loss and Brier score: the monitor does not store the sums they need.",
        if (any(few)) " Faint points: less than a quarter of the usual number of rows.", if (nrow(arrows)) " Arrows: such a period lies, or its interval reaches, beyond the panel.", good, said, say_restarts(table$run),
        base_size = base_size))
}

few_share <- 0.25 # of the median number of rows

#' The ends of the panels: what periods with enough rows need, and half as much again for the others
#' @return matrix: a row for each measure, NA where all have room.
#' @noRd
panel_ends <- function(long, limits, few, shown) {
  measures <- unique(unname(shown))
  out <- matrix(NA_real_, length(measures), 2, dimnames = list(measures, c("low", "high")))
  if (!any(few) || all(few)) return(out)
  for (name in measures) {
    own <- limits[limits$measure == name & !few[limits$at], ]
    needed <- c(long$value[long$measure == name & !few[long$at]], own$conf.low, own$conf.high, if (name == shown[["slope"]]) 1)
    needed <- needed[is.finite(needed)]
    if (length(needed) && diff(range(needed)) > 0) out[name, ] <- range(needed) + c(-0.5, 0.5) * diff(range(needed))
  }
  out
}

#' Values no farther than the ends of their panels
#' @noRd
within_panel <- function(rows, column, ends) {
  own <- ends[match(as.character(rows$measure), rownames(ends)), , drop = FALSE]
  rows[[column]] <- pmin(pmax(rows[[column]], own[, 1], na.rm = TRUE), own[, 2], na.rm = TRUE)
  rows
}

#' Arrows where a value or an interval ends beyond its panel
#' @noRd
beyond_panel <- function(long, limits, ends) {
  values <- rbind(long[c("at", "measure")], limits[c("at", "measure")], limits[c("at", "measure")])
  values$value <- c(long$value, limits$conf.low, limits$conf.high)
  own <- ends[match(as.character(values$measure), rownames(ends)), , drop = FALSE]
  up <- which(values$value > own[, 2])
  down <- which(values$value < own[, 1])
  size <- 0.12 * (own[, 2] - own[, 1])
  values$from <- own[, 2] - size
  values$to <- own[, 2]
  values$from[down] <- own[down, 1] + size[down]
  values$to[down] <- own[down, 1]
  unique(values[c(up, down), c("at", "measure", "from", "to")])
}

monitor_bars <- 0.95 # level of the intervals in pictures

#' Intervals that sums allow: Wilson's of the accuracy, that of the likelihood for the inverse temperature. The scores would need sums of squares
#' @noRd
monitor_limits <- function(monitor, table, shown) {
  hits <- frequency_interval(table$accuracy, table$n, monitor_bars, "wilson")
  slope <- apply(monitor_sums(monitor, "temperature"), 1, monitor_slope_interval, level = monitor_bars)
  at <- seq_len(nrow(table))
  limits <- rbind(data.frame(at = at, measure = shown[["accuracy"]], conf.low = hits$low, conf.high = hits$high),
    data.frame(at = at, measure = shown[["slope"]], conf.low = slope[1, ], conf.high = slope[2, ]))
  limits$measure <- factor(limits$measure, unique(shown))
  limits[is.finite(limits$conf.low) & is.finite(limits$conf.high), ]
}

plot_monitor_reliability <- function(monitor, groups, base_size) {
  bins <- length(monitor_edges) + 1L
  n <- length(monitor$period)
  group <- ceiling(seq_len(n) * min(groups, n) / n)
  table <- do.call(rbind, lapply(unique(group), function(g) {
    rows <- which(group == g)
    sums <- matrix(colSums(monitor_sums(monitor, "bin", rows)), bins)
    ends <- unique(monitor$period[range(rows)])
    data.frame(group = paste(ends, collapse = if (base_size < 8) " -\n" else " to "), n = sums[, 1], forecast = sums[, 2] / sums[, 1],
      observed = sums[, 3] / sums[, 1])
  }))
  table <- table[table$n > 0, ]
  limits <- frequency_interval(table$observed, table$n, monitor_bars, "wilson")
  table$conf.low <- limits$low
  table$conf.high <- limits$high
  table$group <- factor(table$group, unique(table$group))
  event <- if (length(monitor$classes) == 2) monitor$classes[2] else "the most likely class"
  pooled <- if (n > max(group)) if (max(group) == 1) " All periods pooled." else paste0(" Periods pooled into ", max(group), " groups.")
  ggplot2::ggplot(table, ggplot2::aes(.data$forecast, .data$observed)) +
    ggplot2::geom_abline(slope = 1, intercept = 0, colour = "grey60") + ggplot2::geom_line(data = table[stats::ave(table$n, table$group, FUN = length) > 1, ], colour = "grey70", linewidth = 0.03 * base_size) +
    ggplot2::geom_linerange(ggplot2::aes(ymin = .data$conf.low, ymax = .data$conf.high), colour = "grey55", linewidth = 0.05 * base_size) +
    ggplot2::geom_point(ggplot2::aes(size = point_area(.data$n, 0.3 * base_size), alpha = pmax(0.5, point_shade(.data$n)))) +
    ggplot2::scale_size_identity() + ggplot2::scale_alpha_identity() +
    ggplot2::facet_wrap(ggplot2::vars(.data$group)) +
    ggplot2::scale_x_continuous(breaks = c(0, 0.5, 1), labels = say_plain) +
    ggplot2::scale_y_continuous(breaks = c(0, 0.5, 1), labels = say_plain) +
    ggplot2::coord_equal(xlim = c(0, 1), ylim = c(0, 1)) +
    ggplot2::labs(x = paste("Probability of", event), y = "Observed frequency",
      caption = wrap_words("Means of ten bins, with ", say_level(monitor_bars), " intervals; size of the points: number of rows, faint where a bin has few.", pooled, base_size = base_size))
}

#' @rdname autoplot.calib_monitor
#' @param x A monitor.
#' @export
plot.calib_monitor <- function(x, ...) {
  print(autoplot(x, ...))
  invisible(x)
}
