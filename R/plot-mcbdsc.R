# Miscalibration against discrimination.

#' Miscalibration and discrimination picture
#'
#' Each forecast of a comparison is a point: its miscalibration (what isotonic recalibration would gain)
#' against its discrimination (what the recalibrated forecast is better by than a constant). Forecasts on
#' the same grey line have the same mean score, MCB - DSC + UNC; scores are better above it and to the left.
#'
#' @param x A result of [compare_forecasts()].
#' @param measure Which score; `NULL`: the Brier score if there is one, otherwise the first that has parts.
#' @param base_size Size of the text, in points; 7 suits a picture three inches wide.
#' @param ... Must be empty.
#' @return A ggplot object; its `data` are the rows of `x$scores`. Forecasts without finite parts are named
#'   in the caption.
#' @references
#' Dimitriadis, T., Gneiting, T., Jordan, A. I. and Vogel, P. (2024). Evaluating probabilistic
#' classifiers: the triptych. *International Journal of Forecasting* 40, 1101-1122.
#' @family pictures
#' @examples
#' fit <- calib_platt(rain_nyc$prob, rain_nyc$rain, scale = "logit")
#' both <- list(raw = rain_nyc$prob, platt = predict(fit, rain_nyc$prob),
#'   rough = round(rain_nyc$prob, 1))
#' plot_mcbdsc(compare_forecasts(both, rain_nyc$rain, scores = "brier_score"))
#' @export
plot_mcbdsc <- function(x, measure = NULL, ..., base_size = 9) {
  check_dots_empty(...)
  if (!inherits(x, "forecast_comparison")) {
    stop_input("x", "must be a comparison of forecasts", "Give the result of compare_forecasts().")
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

draw_mcbdsc <- function(rows, placed, measure, base_size) {
  pen <- base_size / 10
  names <- levels(rows$forecast)
  short <- stats::setNames(shorten(names, 24), names)
  least <- 0.02 * placed$uncertainty[1]
  top <- c(mcb = 1.2 * max(placed$miscalibration, least), dsc = 1.15 * max(placed$discrimination, least))
  lines <- score_lines(placed$uncertainty[1], top)
  lost <- setdiff(names, as.character(placed$forecast))
  ggplot(rows, aes(.data$miscalibration, .data$discrimination)) +
    geom_segment(aes(x = .data$x, y = .data$y, xend = .data$xend, yend = .data$yend), data = lines,
      colour = "grey75", linewidth = 0.4 * pen) +
    ggplot2::geom_text(aes(.data$label.x, .data$label.y, label = .data$label), data = lines,
      size = text_size(base_size, 0.65), colour = "grey40", check_overlap = TRUE) +
    geom_point(aes(colour = .data$forecast, shape = .data$forecast), data = placed, size = 2.6 * pen,
      show.legend = length(names) > 1) +
    ggplot2::scale_colour_manual(values = stats::setNames(pick(ink, length(names)), names), labels = short) +
    ggplot2::scale_shape_manual(values = stats::setNames(pick(marks, length(names)), names), labels = short) +
    scale_x_continuous(limits = c(0, top[["mcb"]]), breaks = few_breaks, labels = say_plain, expand = c(0, 0)) +
    scale_y_continuous(limits = c(0, top[["dsc"]]), labels = say_plain, expand = c(0, 0)) +
    ggplot2::coord_cartesian(clip = "off") +
    labs(x = "Miscalibration", y = "Discrimination", colour = NULL, shape = NULL,
      caption = wrap_words("Grey: equal mean ", tolower_first(score_titles[[measure]]), ". Best is the upper left; ",
        "uncertainty ", say_three(placed$uncertainty[1]), ".", if (length(lost)) {
          paste0(" Infinite for ", paste(shorten(lost, 20), collapse = ", "), ".")
        })) +
    picture_theme(base_size) +
    ggplot2::theme(panel.grid.major = element_blank()) +
    legend_above(short, c("colour", "shape"))
}

tolower_first <- function(x) paste0(tolower(substr(x, 1, 1)), substring(x, 2))

#' Lines of equal score, DSC = MCB + UNC - score, from edge to edge, with a label inside
#' @noRd
score_lines <- function(uncertainty, top) {
  score <- pretty(c(uncertainty - top[["dsc"]], uncertainty + top[["mcb"]]), 7)
  rise <- uncertainty - score
  x <- pmax(0, -rise)
  xend <- pmin(top[["mcb"]], top[["dsc"]] - rise)
  keep <- xend > x
  lines <- data.frame(score = score, x = x, y = x + rise, xend = xend, yend = xend + rise)[keep, ]
  at <- 0.88 # of the way to its end
  lines$label.x <- lines$x + at * (lines$xend - lines$x)
  lines$label.y <- lines$y + at * (lines$yend - lines$y)
  lines$label <- say_plain(signif(lines$score, 4))
  # a line that only cuts a corner has no room for a label
  lines$label[lines$xend - lines$x < 0.12 * top[["mcb"]]] <- ""
  lines
}
