# Miscalibration against discrimination.

#' Miscalibration and discrimination picture
#'
#' Each forecast of a comparison is a point: its discrimination (how much better the recalibrated forecast is than a
#' constant one) against its miscalibration (the improvement by isotonic recalibration). Forecasts on the same grey line
#' have the same mean score, MCB - DSC + UNC. Points further up and to the left are better. A comparison with `by` gives
#' a panel for each of its values.
#'
#' @param x A result of [compare_forecasts()], or, as in [plot_reliability()], the probabilities of one forecast or a named list of such.
#' @param labels The true classes, where `x` is probabilities.
#' @param measure Which score; `NULL`: the Brier score if there is one, otherwise the first that has a decomposition.
#' @param base_size Size of the text, in points; 7 suits a picture three inches wide.
#' @param ... Must be empty.
#' @return A ggplot object; its `data` are the rows of `x$scores`. Forecasts whose decomposition is not finite are named in
#'   the caption, and so are those whose marks are on the same spot.
#' @references
#' Dimitriadis, T., Gneiting, T., Jordan, A. I. and Vogel, P. (2024). Evaluating probabilistic
#' classifiers: the triptych. *International Journal of Forecasting* 40, 1101-1122.
#' @family pictures
#' @examples
#' fit <- calib_platt(rain_nyc$prob, rain_nyc$rain, scale = "logit")
#' both <- list(raw = rain_nyc$prob, platt = predict(fit, rain_nyc$prob),
#'   rough = round(rain_nyc$prob, 1))
#' plot_mcbdsc(both, rain_nyc$rain)
#' @export
plot_mcbdsc <- function(x, labels = NULL, measure = NULL, ..., base_size = 9) {
  check_dots_empty(...)
  if (inherits(x, "forecast_comparison")) {
    # The second argument was the measure once.
    if (is.null(measure) && is.character(labels) && length(labels) == 1) measure <- labels
  } else {
    if (is.null(labels)) {
      stop_input("x", "must be a comparison of forecasts", "Give the result of compare_forecasts(), or probabilities and `labels`.")
    }
    x <- compare_forecasts(as_named_list(x, is_forecast, "x", "probabilities"), labels, scores = if (is.null(measure)) "brier_score" else measure)
  }
  base_size <- check_number(base_size, "base_size", 1, 100)
  known <- unique(x$scores$measure[!is.na(x$scores$uncertainty)])
  if (is.null(measure)) {
    measure <- if ("brier_score" %in% known) "brier_score" else if (length(known)) known[1] else "log_loss"
  }
  measure <- check_choice(measure, unique(x$scores$measure), "measure")
  if (!measure %in% known) {
    stop_input("measure", paste0("\"", measure, "\" has no parts for ", length(x$classes), " classes"),
      "Choose the Brier score or the ranked probability score.")
  }
  rows <- x$scores[x$scores$measure == measure, ]
  rows$forecast <- droplevels(rows$forecast)
  placed <- rows[is.finite(rows$miscalibration) & is.finite(rows$discrimination), ]
  if (!nrow(placed)) {
    stop_input("x", "has no forecast with a finite score", "Pass eps > 0 to compare_forecasts().")
  }
  draw_mcbdsc(rows, placed, measure, base_size)
}

most_marks <- 8 # forecasts with a colour and a mark of their own; more get their names beside them

draw_mcbdsc <- function(rows, placed, measure, base_size) {
  pen <- base_size / 10
  names <- levels(rows$forecast)
  many <- length(names) > most_marks
  short <- stats::setNames(if (many) shorten(names, 14) else legend_names(names, base_size), names)
  grouped <- !is.null(placed[["by"]])
  least <- max(0.02 * placed$uncertainty, 1e-3) # labels of one class have no uncertainty
  # Miscalibration begins at 0, the best there is. Discrimination is drawn where the forecasts are, on a stretch
  # long enough that a unit of it does not look much larger than one of miscalibration.
  top <- c(mcb = 1.2 * max(placed$miscalibration, least), dsc = 0, low = 0)
  ends <- range(placed$discrimination)
  span <- max(diff(ends), top[["mcb"]] / 2, least)
  top[["dsc"]] <- ends[2] + 0.2 * span
  top[["low"]] <- max(0, ends[1] - 0.2 * span)
  if (top[["low"]] < 0.1 * top[["dsc"]]) top[["low"]] <- 0
  lines <- if (grouped) {
    groups <- split(placed, placed$by, drop = TRUE)
    do.call(rbind, lapply(names(groups), function(name) {
      cbind(by = factor(name, levels(placed$by)), score_lines(groups[[name]]$uncertainty[1], top, groups[[name]]))
    }))
  } else {
    score_lines(placed$uncertainty[1], top, placed)
  }
  lost <- setdiff(names, as.character(placed$forecast))
  ggplot(rows, aes(.data$miscalibration, .data$discrimination)) +
    geom_segment(aes(x = .data$x, y = .data$y, xend = .data$xend, yend = .data$yend), data = lines,
      colour = "grey75", linewidth = 0.4 * pen) +
    ggplot2::geom_label(aes(.data$label.x, .data$label.y, label = .data$label),
      data = lines[!is.na(lines$label.x), ], size = text_size(base_size, 0.65), colour = "grey40", label.size = 0,
      label.padding = unit(0.08, "lines"), fill = "white") +
    scale_x_continuous(limits = c(0, top[["mcb"]]), n.breaks = if (base_size < 8) 4 else 5, labels = say_plain, expand = c(0, 0)) +
    scale_y_continuous(limits = c(top[["low"]], top[["dsc"]]), n.breaks = if (base_size < 8) 4 else 5, labels = say_plain, expand = c(0, 0)) +
    labs(x = "Miscalibration", y = "Discrimination", colour = NULL, shape = NULL, size = NULL,
      caption = wrap_words("Grey lines: equal mean ", score_words[[measure]], ". Best is the upper left", if (grouped) "." else "; ",
        if (!grouped) paste0("uncertainty ", say_three(placed$uncertainty[1]), "."), if (many) " Names that would overlap are left out.",
        if (!grouped && !many) say_alike_points(placed, top), if (length(lost)) paste0(" Infinite for ", paste(shorten(lost, 20), collapse = ", "), "."))) +
    picture_theme(base_size) +
    ggplot2::theme(panel.grid.major = element_blank()) +
    (if (grouped) facet_wrap(vars(.data$by), labeller = ggplot2::as_labeller(function(x) shorten(x, 24)))) +
    (if (many) named_points(placed, short, top, base_size) else marked_points(placed, short, base_size))
}

alike_points <- 0.01 # of the axes: marks this near lie on each other

#' Which points lie on each other: a sentence, or NULL
#' @noRd
say_alike_points <- function(placed, top) {
  x <- stats::setNames(placed$miscalibration / top[["mcb"]], placed$forecast)
  y <- stats::setNames(placed$discrimination / (top[["dsc"]] - top[["low"]]), placed$forecast)
  alike <- near_ones(names(x), function(one, other) max(abs(c(x[[one]] - x[[other]], y[[one]] - y[[other]]))) < alike_points)
  if (length(alike)) paste0(" Marks on the same spot: ", paste(alike, collapse = "; "), ".")
}

marked_points <- function(placed, short, base_size) {
  names <- names(short)
  list(
    # Later ones are smaller, so that none is hidden by one on the same spot.
    geom_point(aes(colour = .data$forecast, shape = .data$forecast, size = .data$forecast), data = placed,
      show.legend = length(names) > 1),
    ggplot2::scale_size_manual(values = stats::setNames(seq(0.34, 0.2, length.out = max(2, length(names)))[seq_along(names)] *
      base_size, names), labels = short),
    ggplot2::scale_colour_manual(values = stats::setNames(pick(ink, length(names), shift = FALSE), names), labels = short),
    ggplot2::scale_shape_manual(values = stats::setNames(pick(marks, length(names)), names), labels = short),
    legend_above(short, c("colour", "shape", "size"), base_size)
  )
}

named_points <- function(placed, short, top, base_size) {
  placed$name <- short[as.character(placed$forecast)]
  placed$side <- ifelse(placed$miscalibration > 0.6 * top[["mcb"]], 1.1, -0.1)
  list(
    geom_point(data = placed, colour = ink[1], size = 0.2 * base_size),
    ggplot2::geom_text(aes(label = .data$name, hjust = .data$side), data = placed, vjust = -0.4,
      size = text_size(base_size, 0.65), check_overlap = TRUE)
  )
}

#' Lines of equal score, DSC = MCB + UNC - score, from edge to edge; a label where no point is near
#' @noRd
score_lines <- function(uncertainty, top, placed = NULL) {
  low <- if ("low" %in% names(top)) top[["low"]] else 0
  score <- pretty(c(uncertainty - top[["dsc"]], uncertainty - low + top[["mcb"]]), 7)
  rise <- uncertainty - score
  # An end beyond its limits by rounding would take the line away, and is put on it.
  x <- pmax(0, low - rise)
  xend <- pmin(top[["mcb"]], top[["dsc"]] - rise)
  keep <- xend - x > 1e-6 * top[["mcb"]]
  within <- function(y) pmin(pmax(y, low), top[["dsc"]])
  lines <- data.frame(score = score, x = x, y = within(x + rise), xend = xend, yend = within(xend + rise))[keep, ]
  lines$label <- say_plain(signif(lines$score, 4))
  lines$label.x <- lines$label.y <- rep(NA_real_, nrow(lines))
  for (i in seq_len(nrow(lines))) {
    at <- seq(lines$x[i], lines$xend[i], length.out = 25)
    u <- at / top[["mcb"]]
    v <- (at + lines$y[i] - lines$x[i] - low) / (top[["dsc"]] - low)
    room <- pmin(u, 1 - u, v, 1 - v) # to the edges, as shares of the panel
    near <- vapply(seq_along(at), function(j) {
      min(1, abs(placed$miscalibration / top[["mcb"]] - u[j]) + abs((placed$discrimination - low) / (top[["dsc"]] - low) - v[j]))
    }, 0)
    best <- which.max(pmin(near, 2 * room) - 0.02 * abs(u - 0.5))
    if (room[best] < 0.05 || near[best] < 0.1) next # no room for a label
    lines$label.x[i] <- at[best]
    lines$label.y[i] <- at[best] + lines$y[i] - lines$x[i]
  }
  lines
}
