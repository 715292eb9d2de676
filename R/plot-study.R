# Pictures of a study.

#' Picture of a study
#'
#' One panel per metric and data set: each split as a pale point, and the mean with one standard
#' error to each side.
#'
#' @param object,x A study, the result of [calib_study()].
#' @param reference A method: draw the differences to it, split by split, instead of the values. A
#'   line at zero stands for the reference.
#' @param metrics,data Names of the metrics and data sets to show; `NULL` for all.
#' @param std_error Which standard error to draw; see [summary.calib_study()].
#' @param base_size Size of the text, in points.
#' @param ... Not used.
#' @return A ggplot object. Add `ggplot2::scale_x_log10()` when one method is far off the others.
#'   `plot()` prints it.
#' @examples
#' set.seed(1)
#' study <- calib_study(rain_nyc$prob, rain_nyc$rain, c("none", "temperature", "gp"), splits = 5,
#'   metrics = c("ece", "brier_score"))
#' autoplot(study)
#' autoplot(study, reference = "temperature")
#' @export
autoplot.calib_study <- function(object, reference = NULL, metrics = NULL, data = NULL,
                                 std_error = c("rows", "splits", "corrected"), base_size = 11, ...) {
  check_dots_empty(...)
  base_size <- check_number(base_size, "base_size", 1, 100)
  object <- keep_levels(keep_levels(object, "metric", metrics, "metrics"), "data", data, "data")
  means <- as.data.frame(summary(object, reference, std_error))
  means_all <- means
  points <- as.data.frame(object)[is.na(object$error), ]
  if (!is.null(reference)) {
    points <- subtract_reference(points, reference)
    means <- means[means$method != reference, ]
    means$mean <- means$difference
    means$std.error <- means$diff.error
  }
  hidden <- sum(!is.finite(points$value))
  points <- points[is.finite(points$value), ]
  means <- means[is.finite(means$mean), ]
  means$std.error[is.na(means$std.error)] <- 0
  if (!nrow(points)) {
    stop_input("object", "holds nothing to draw: every value is missing or infinite",
      "Choose other `metrics`, or look at print(object).")
  }
  pen <- base_size / 11
  ggplot(points, aes(.data$value, .data$method)) +
    if_reference(reference, pen) +
    geom_linerange(aes(.data$mean, xmin = .data$mean - .data$std.error,
      xmax = .data$mean + .data$std.error), data = means, linewidth = 1.2 * pen, colour = "grey60") +
    geom_point(colour = "#0072B2", alpha = 0.5, size = 1.3 * pen) +
    geom_point(aes(.data$mean), data = means, shape = 124, size = 4 * pen) +
    study_facets(points) +
    scale_x_continuous(n.breaks = 4, guide = ggplot2::guide_axis(check.overlap = TRUE)) +
    # Methods without a single value keep their place.
    ggplot2::scale_y_discrete(limits = rev(setdiff(levels(droplevels(object$method)), reference))) +
    infinite_labels(means_all, reference, base_size) +
    study_labels(points, object, reference, hidden, base_size) +
    theme_bw(base_size) +
    theme(panel.grid.minor = ggplot2::element_blank(), plot.title.position = "plot",
      panel.spacing.x = ggplot2::unit(1.2, "lines"), plot.margin = ggplot2::margin(5, 12, 5, 5),
      axis.text.y = ggplot2::element_text(size = ggplot2::rel(if (base_size < 8 && nlevels(droplevels(object$method)) > 6) 0.75 else 1)),
      plot.caption.position = "plot", plot.caption = ggplot2::element_text(
        size = ggplot2::rel(0.7), hjust = 0))
}

#' @rdname autoplot.calib_study
#' @export
plot.calib_study <- function(x, ...) {
  print(autoplot(x, ...))
  invisible(x)
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
  points$value <- points$value - base$value[match(key(points), key(base))]
  points
}

if_reference <- function(reference, pen) {
  if (!is.null(reference)) {
    ggplot2::geom_vline(xintercept = 0, colour = "grey55", linewidth = 0.4 * pen)
  }
}

#' "Inf 9/10" at the right edge, where values are infinite, "failed 2/4" where fits failed
#' @noRd
infinite_labels <- function(means, reference, base_size) {
  rows <- means[(means$infinite > 0 | means$failed > 0) & !means$method %in% reference, ]
  if (!nrow(rows)) return(NULL)
  failed <- ifelse(rows$failed > 0, paste0("failed ", rows$failed, "/", rows$failed + rows$splits), "")
  rows$label <- trimws(paste(ifelse(rows$infinite > 0, say_infinite(rows), ""), failed))
  ggplot2::geom_text(aes(Inf, .data$method, label = .data$label), data = rows, hjust = 1.1,
    size = text_size(base_size), colour = "grey20")
}

study_facets <- function(points) {
  sets <- nlevels(droplevels(points$data))
  metrics <- nlevels(droplevels(points$metric))
  if (sets > 1 && metrics > 1) {
    facet_wrap(vars(.data$data, .data$metric), scales = "free_x", ncol = metrics,
      labeller = function(labels) lapply(labels, shorten, most = max(15, floor(70 / metrics))))
  } else if (sets > 1) {
    facet_wrap(vars(.data$data), scales = "free_x")
  } else {
    facet_wrap(vars(.data$metric), scales = "free_x")
  }
}

study_labels <- function(points, object, reference, hidden, base_size) {
  metrics <- levels(droplevels(points$metric))
  what <- if (length(metrics) == 1) metrics else "value"
  higher <- attr(object, "higher")[metrics]
  way <- say_directions(higher, attr(object, "target")[metrics])
  splits <- max(table(unique(as.data.frame(object)[c("data", "split")])$data))
  labs(
    title = if (is.null(reference)) "Calibrators compared" else {
      paste0("Differences to \"", reference, "\" in the same split")
    },
    x = if (is.null(reference)) what else paste("difference in", what), y = NULL,
    caption = wrap_words("Points: ", say_count(splits, "split"), "; bars: mean with one standard error. ",
      toupper(substr(way, 1, 1)), substring(way, 2), ".",
      if (hidden) paste0(" ", say_count(hidden, "infinite or undefined value"), " left out."), base_size = base_size)
  )
}
