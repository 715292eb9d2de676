# Pictures of a study.

#' Picture of a study
#'
#' One panel per metric and data set, with a pale point for each split, and the mean plus and minus one standard error.
#'
#' @param object,x A study, the result of [calib_study()].
#' @param reference A method: draw the differences to it, split by split, instead of the values. A
#'   line at zero stands for the reference.
#' @param metrics,data Names of the metrics and data sets to show; `NULL` for all.
#' @param std_error Which standard error to draw; see [summary.calib_study()].
#' @param base_size Size of the text, in points; 7 suits a picture three inches wide.
#' @param ... Not used.
#' @return A ggplot object. Add `ggplot2::scale_x_log10()` when one method is far from the others.
#'   `plot()` prints it.
#' @examples
#' set.seed(1)
#' study <- calib_study(rain_nyc$prob, rain_nyc$rain, c("none", "temperature", "gp"), splits = 5,
#'   metrics = c("ece", "brier_score"))
#' autoplot(study)
#' autoplot(study, reference = "temperature")
#' @export
autoplot.calib_study <- function(object, reference = NULL, metrics = NULL, data = NULL,
                                 std_error = c("rows", "splits", "corrected"), base_size = 9, ...) {
  check_dots_empty(...)
  base_size <- check_number(base_size, "base_size", 1, 100)
  object <- keep_levels(keep_levels(object, "metric", metrics, "metrics"), "data", data, "data")
  table <- summary(object, reference, std_error)
  means <- as.data.frame(table)
  means_all <- means
  points <- as.data.frame(object)
  failed <- sum(!is.na(points$error))
  points <- points[is.na(points$error), ]
  infinite <- sum(!is.finite(points$value))
  unmatched <- 0L
  if (!is.null(reference)) {
    points <- subtract_reference(points, reference)
    unmatched <- sum(is.finite(points$own) & !is.finite(points$value))
    means <- means[means$method != reference, ]
    means$mean <- means$difference
    means$std.error <- means$diff.error
  }
  points <- points[is.finite(points$value), ]
  means <- means[is.finite(means$mean), ]
  means$std.error[is.na(means$std.error)] <- 0
  if (!nrow(points)) {
    stop_input("object", "holds nothing to draw: every value is missing or infinite",
      "Choose other `metrics`, or look at print(object).")
  }
  drawn <- range(base::table(study_key(points)), if (any(means_all$splits == 0 & !means_all$method %in% reference)) 0)
  pen <- base_size / 11
  far <- far_methods(points, means)
  points <- points[!study_key(points) %in% study_key(far), ]
  means <- means[!study_key(means) %in% study_key(far), ]
  methods <- setdiff(methods_by_result(table), reference) # as print() has them
  columns <- study_panel_columns(means_all, base_size)
  narrow <- base_size < 8 && columns > 2
  rows_of_panels <- ceiling(nrow(unique(means_all[c("data", "metric")])) / columns)
  tick <- 4 * pen * min(1, (if (base_size < 8) 7 else 11) / (length(methods) * rows_of_panels)) # neighbours must not join
  longest <- if (base_size < 8) 14 else 28
  ggplot(points, aes(.data$value, .data$method)) +
    if_reference(reference, points, pen) +
    geom_linerange(aes(.data$mean, xmin = pmax(.data$mean - .data$std.error, if (is.null(reference) && all(points$value >= 0)) 0 else -Inf),
      xmax = .data$mean + .data$std.error), data = means, linewidth = 1.2 * pen, colour = "grey60") +
    geom_point(colour = "#0072B2", alpha = 0.5, size = (if (narrow) 0.9 else 1.3) * pen) +
    geom_point(aes(.data$mean), data = means, shape = 124, size = tick) +
    far_arrows(far, pen, base_size) +
    # Panels without a value have no axis.
    scale_x_continuous(breaks = if (narrow) function(limits) study_breaks(limits, 3) else study_breaks, labels = say_decimal, guide = ggplot2::guide_axis(check.overlap = TRUE)) +
    # Methods without a single value keep their place.
    ggplot2::scale_y_discrete(limits = rev(methods), labels = function(x) shorten(x, longest),
      guide = ggplot2::guide_axis(check.overlap = TRUE)) +
    mark_labels(means_all, reference, base_size) +
    mark_room(means_all, means, points, reference, base_size) +
    lost_panels(means_all, points, reference, methods, base_size) +
    study_labels(means_all, object, reference, table, c(failed = failed, infinite = infinite, unmatched = unmatched, far = nrow(far)),
      drawn, base_size) +
    picture_theme(base_size) +
    theme(panel.spacing.x = unit(1.2, "lines"),
      axis.text.y = element_text(size = rel(if (base_size >= 8) 0.9 else if (length(methods) > 6) 0.65 else 0.8)),
      axis.text.x = element_text(size = rel(if (base_size >= 8) 0.9 else 0.75))) +
    study_facets(means_all, base_size)
}

#' As few ticks as are needed for two or more within the limits: one alone does not tell the scale
#'
#' @param most every second is left out of more than these.
#' @noRd
study_breaks <- function(limits, most = Inf) {
  if (diff(limits) > 0 && max(abs(limits)) < nothing) return(numeric())
  if (!diff(limits) > 0) return(pretty(limits, 3))
  for (n in 3:10) {
    at <- pretty(limits, n)
    at <- at[at >= limits[1] - 1e-9 * diff(limits) & at <= limits[2] + 1e-9 * diff(limits)]
    if (length(at) >= 2) break
  }
  if (length(at) <= most) return(at)
  zero <- which(abs(at) < 1e-9 * diff(limits)) # stays, for differences
  at[seq(if (length(zero)) 2 - zero %% 2 else 1, length(at), by = 2)]
}

nothing <- 1e-8 # scale of a panel that holds words only

#' @rdname autoplot.calib_study
#' @export
plot.calib_study <- function(x, ...) {
  print(autoplot(x, ...))
  invisible(x)
}

study_key <- function(rows) paste(rows$data, rows$metric, rows$method, sep = "\r")

far_times <- 2 # a method farther from all others than so many times their range has an arrow in place of its points

#' The method of each panel, if there is one, that lies so far above all others that these would be drawn upon one another
#' @return data frame: data, metric, method, mean, and `from`, `to` where the arrow is drawn.
#' @noRd
far_methods <- function(points, means) {
  none <- cbind(means[0, c("data", "metric", "method", "mean")], from = numeric(), to = numeric())
  panels <- split(means, paste(means$data, means$metric, sep = "\r"))
  found <- lapply(panels, function(panel) {
    if (nrow(panel) < 4) return(none)
    top <- panel[which.max(panel$mean), ]
    own <- points[as.character(points$data) == as.character(top$data) & as.character(points$metric) == as.character(top$metric), ]
    is_top <- as.character(own$method) == as.character(top$method)
    rest <- range(own$value[!is_top])
    if (!(diff(rest) > 0 && min(own$value[is_top]) > rest[2] + far_times * diff(rest))) return(none)
    cbind(top[c("data", "metric", "method", "mean")], from = rest[2], to = rest[2] + 0.25 * diff(rest))
  })
  do.call(rbind, c(list(none), unname(found)))
}

far_arrows <- function(far, pen, base_size) {
  if (!nrow(far)) return(NULL)
  far$label <- format(far$mean, digits = 3)
  list(
    geom_segment(aes(.data$from, .data$method, xend = .data$to, yend = .data$method), data = far, linewidth = 0.6 * pen,
      arrow = ggplot2::arrow(length = unit(1.5 * pen, "mm"), type = "closed")),
    ggplot2::geom_text(aes(.data$from, .data$method, label = .data$label), data = far, hjust = 1.15, size = text_size(base_size, 0.8))
  )
}

keep_levels <- function(study, column, wanted, arg) {
  if (is.null(wanted)) return(study)
  known <- levels(droplevels(study[[column]]))
  if (!is.character(wanted) || !length(wanted) || !all(wanted %in% known)) {
    stop_input(arg, paste("must be some of", say_values(known, 20)), say_given(wanted))
  }
  study[study[[column]] %in% wanted, ]
}

subtract_reference <- function(points, reference) {
  key <- function(rows) paste(rows$data, rows$metric, rows$split, sep = "\r")
  base <- points[points$method == reference, ]
  points <- points[points$method != reference, ]
  points$own <- points$value
  points$value <- points$value - base$value[match(key(points), key(base))]
  points
}

#' A line at zero in the panels that have differences
#' @noRd
if_reference <- function(reference, points, pen) {
  if (is.null(reference)) return(NULL)
  ggplot2::geom_vline(aes(xintercept = 0), data = unique(points[c("data", "metric")]), colour = "grey55", linewidth = 0.4 * pen)
}

#' What a mean does not show: "Inf 9/10" where values are infinite, "failed 1/10" where there are none
#' @noRd
study_marks <- function(means) {
  infinite <- ifelse(means$infinite > 0, say_infinite(means), "")
  failed <- ifelse(means$failed > 0, paste0("failed ", means$failed, "/", means$failed + means$splits), "")
  paste0(infinite, ifelse(nzchar(infinite) & nzchar(failed), ", ", ""), failed)
}

#' These words at the right edge
#' @noRd
mark_labels <- function(means, reference, base_size) {
  means$label <- study_marks(means)
  rows <- means[nzchar(means$label) & !means$method %in% reference, ]
  if (!is.null(reference)) { # a panel without the reference's values says that alone
    panel <- function(rows) paste(rows$data, rows$metric)
    lost <- means$method == reference & (means$splits == 0 | means$infinite == means$splits)
    rows <- rows[!panel(rows) %in% panel(means[lost, ]), ]
  }
  if (!nrow(rows)) return(NULL)
  ggplot2::geom_label(aes(Inf, .data$method, label = .data$label), data = rows, hjust = 1, fill = "white", label.size = 0,
    label.padding = unit(0.08, "lines"), size = text_size(base_size, mark_size(base_size)), colour = "grey20")
}

mark_size <- function(base_size) if (base_size < 8) 0.55 else 0.66

#' Nothing, so far to the right that these words hide nothing in their row: narrow panels need more of it
#' @noRd
mark_room <- function(all, means, points, reference, base_size) {
  marked <- all[nzchar(study_marks(all)) & !all$method %in% reference, ]
  panel <- function(rows) paste(rows$data, rows$metric, sep = "\r")
  drawn <- c(points$value, means$mean - means$std.error, means$mean + means$std.error)
  ends <- split(drawn, c(panel(points), panel(means), panel(means)))
  own <- split(drawn, c(study_key(points), study_key(means), study_key(means)))
  marked <- marked[panel(marked) %in% names(ends), ]
  if (!nrow(marked)) return(NULL)
  # Widths as multiples of the size of the text.
  wide <- (if (base_size < 8) 24 else 32) / study_panel_columns(all, base_size) - 1.3
  share <- pmin(0.5, (0.5 * mark_size(base_size) * nchar(study_marks(marked)) + 0.4) / wide)
  from <- vapply(ends[panel(marked)], min, 0)
  top <- vapply(ends[panel(marked)], max, 0)
  reach <- ifelse(study_key(marked) %in% names(own), vapply(own[study_key(marked)], function(x) max(x, -Inf), 0), -Inf)
  if (!is.null(reference)) reach <- pmax(reach, 0) # nor the line at zero
  # What lies in the row and the words share the width with what lies left of both.
  marked$room <- ifelse(reach > from, pmax(top, reach + (reach - from) * share / (1 - share)), top)
  ggplot2::geom_blank(aes(.data$room, .data$method), data = marked)
}

#' A panel in which no difference can be drawn says why
#' @noRd
lost_panels <- function(means, points, reference, methods, base_size) {
  panels <- unique(means[c("data", "metric")])
  key <- function(rows) paste(rows$data, rows$metric, sep = "\r")
  panels <- panels[!key(panels) %in% key(points), ]
  if (!nrow(panels)) return(NULL)
  own <- if (!is.null(reference)) means[means$method == reference, ]
  own <- own[match(key(panels), key(own)), ]
  panels$label <- if (is.null(reference)) "no finite value" else {
    ifelse(own$splits == 0, "reference failed", ifelse(own$infinite == own$splits, "reference infinite", "no finite difference"))
  }
  # Between two rows, whose words at the right edge stay free.
  panels$at <- if (length(methods) > 1) floor(length(methods) / 2) + 0.5 else 1
  list(
    ggplot2::geom_blank(aes(-nothing / 4, .data$at), data = panels), ggplot2::geom_blank(aes(nothing / 4, .data$at), data = panels),
    ggplot2::geom_label(aes(0, .data$at, label = .data$label), data = panels, fill = "white", label.size = 0,
      label.padding = unit(0.08, "lines"), size = text_size(base_size, if (base_size < 8) 0.6 else 0.72), colour = "grey20")
  )
}

#' Panels with one title for data set and metric, on two lines where one would be too long
#'
#' @return what is added to a plot: the panels and the size of their titles.
#' @noRd
study_facets <- function(means, base_size) {
  columns <- study_panel_columns(means, base_size)
  sets <- levels(droplevels(means$data))
  several <- length(sets) > 1
  metrics <- levels(droplevels(means$metric))
  said <- say_metric(metrics, begin = !several)
  most <- max(8, floor((if (base_size < 8) 46 else 80) / columns))
  scale <- title_scale(c(if (several) sets, said), most, if (several) 1 else 2, c(smaller, 0.7))
  most <- floor(most / scale)
  titles <- function(labels) {
    metric <- say_metric(labels$metric, begin = !several)
    list(if (!several) wrap_title(metric, most, 2) else {
      set <- wrap_title(labels$data, most, 1)
      one_line <- all(nchar(set) + nchar(metric) + 2 <= most)
      if (length(metrics) > 1) paste0(set, if (one_line) ", " else ",\n", wrap_title(metric, most, 1)) else set
    })
  }
  list(
    facet_wrap(vars(.data$data, .data$metric), scales = "free_x", ncol = columns, labeller = titles),
    theme(strip.text = element_text(size = rel((if (base_size >= 8) 0.9 else 0.75) * scale)))
  )
}

study_panel_columns <- function(means, base_size) {
  sets <- nlevels(droplevels(means$data))
  metrics <- nlevels(droplevels(means$metric))
  if (sets > 1 && metrics > 1) return(metrics)
  # Two rows of small panels have no room for the names of many methods.
  if (base_size < 8 && max(sets, metrics) <= 4 && nlevels(droplevels(means$method)) > 6) return(max(sets, metrics))
  ggplot2::wrap_dims(max(sets, metrics))[2]
}

#' Names of metrics as words; those of the package as a title or, with `begin = FALSE`, as in a sentence
#' @noRd
say_metric <- function(x, begin = TRUE) {
  own <- x %in% getNamespaceExports(topenv())
  words <- sub("^brier", "Brier", gsub("_", " ", as.character(x), fixed = TRUE))
  words <- ifelse(own, gsub("\\b(ece|mce|rps)\\b", "\\U\\1", words, perl = TRUE), words)
  ifelse(own & begin, paste0(toupper(substr(words, 1, 1)), substring(words, 2)), words)
}

#' Bars that are known to be too long, as print() has no stars for them: a sentence, or NULL
#' @noRd
say_too_long <- function(table, metrics) {
  long <- if (isTRUE(attr(table, "many_test"))) intersect(metrics, attr(table, "corrected"))
  if (length(long)) paste0(" Bars of ", say_and(say_metric(long, begin = FALSE)), " are too long, because there are many more test rows than calibration rows (see ?summary.calib_study).")
}

#' @param drawn the least and the most points of a method in a panel.
#' @noRd
study_labels <- function(means, object, reference, table, lost, drawn, base_size) {
  metrics <- levels(droplevels(means$metric))
  what <- if (length(metrics) == 1) say_metric(metrics) else "Value of the metric"
  higher <- attr(object, "higher")[metrics]
  target <- attr(object, "target")[metrics]
  said <- say_metric(metrics, begin = FALSE)
  way <- say_directions(stats::setNames(higher, said), target)
  # Left of the reference is better where smaller is.
  side <- if (!is.null(reference) && all(is.na(target))) {
    side <- ifelse(higher, "right", "left")
    if (length(unique(side)) == 1) {
      paste0("Better than ", reference, ": ", side[1], " of 0.")
    } else {
      paste0("Better than ", reference, ": left of 0, for ", paste(said[side == "right"], collapse = ", "), " right.")
    }
  } else {
    paste0(toupper(substr(way, 1, 1)), substring(way, 2), ".")
  }
  splits <- max(table(unique(as.data.frame(object)[c("data", "split")])$data))
  labs(
    title = if (is.null(reference)) "Calibrators compared" else {
      paste0("Differences to \"", reference, "\" in the same split")
    },
    x = if (is.null(reference)) what else paste("Difference in", if (length(metrics) == 1) said else "the metric"), y = NULL,
    caption = wrap_words("Points: ", if (drawn[1] < splits) "up to ", if (drawn[2] < splits) paste(drawn[2], "of "), say_count(splits, "split"), "; tick: mean; bar: one standard error ",
      if (is.null(reference)) "to either side (of the mean, not of differences). " else "of the mean difference to either side. ", side, say_too_long(table, metrics),
      if (length(metrics) > 1) paste0(" Methods sorted by ", said[1], if (any(nzchar(study_marks(means[means$metric == metrics[1], ])))) ", those that failed or are infinite last", "."),
      if (lost[["far"]]) " Arrows: beyond the panel, with the mean; drawn to scale, the others could not be told apart.",
      if (lost[["failed"]]) paste0(" ", say_count(lost[["failed"]], "value"), " missing because a fit failed."),
      if (lost[["infinite"]]) paste0(" ", say_count(lost[["infinite"]], "infinite or undefined value"), " not drawn."),
      if (lost[["unmatched"]]) paste0(" ", say_count(lost[["unmatched"]], "value"), " without a finite value of ", reference, " in the same split."),
      base_size = base_size)
  )
}
