# Reliability diagrams, drawn from what a reliability_table holds and nothing else.

#' Reliability diagram
#'
#' Draws a [reliability_table()]: observed frequencies against stated probabilities, and below
#' them, on the same axis, how the probabilities are spread.
#'
#' A calibrated forecast follows the diagonal. In bins, each point stands at the mean stated
#' probability and the frequency of a bin; the shaded box over the bin reaches from one to the
#' other, so that its height is the gap (orange where the forecast states too much, blue where
#' it states too little). An isotonic table is drawn as its curve over the band in which the
#' curve of a calibrated forecast would lie. The lower panel shows the share of rows in each bin
#' or block: wide intervals and large gaps often belong to bins that hardly any row falls into.
#'
#' Tables with several classes get a panel for each. Beyond six classes the lower panel gives
#' way to points whose size shows the number of rows.
#'
#' @param object,x A [reliability_table()].
#' @param histogram Whether to draw the lower panel; `NULL`: for up to six classes.
#' @param base_size Size of the text, in points; 7 suits a picture 3 inches wide.
#' @param ... Not used.
#' @return A ggplot object, to which layers, scales and themes can be added. `plot()` prints it.
#' @seealso [reliability_table()]
#' @examples
#' none <- calib_none(letters_nn$cal$scores, letters_nn$cal$labels)
#' fit <- calib_temperature(letters_nn$cal$scores, letters_nn$cal$labels)
#' test <- letters_nn$test
#' autoplot(reliability_table(predict(none, test$scores), test$labels))
#' autoplot(reliability_table(predict(fit, test$scores), test$labels))
#' @importFrom ggplot2 aes facet_grid facet_wrap geom_abline geom_linerange geom_path geom_point
#'   geom_rect geom_ribbon geom_segment ggplot labs scale_fill_manual scale_size_area
#'   scale_x_continuous scale_y_continuous theme theme_bw vars .data
#' @export
autoplot.reliability_table <- function(object, histogram = NULL, base_size = 11, ...) {
  base_size <- check_number(base_size, "base_size", 1, 100)
  rows <- as.data.frame(object)
  rows <- rows[rows$n > 0, ]
  classes <- if (anyNA(rows$class)) 1L else length(unique(rows$class))
  histogram <- if (is.null(histogram)) classes <= 6 else check_flag(histogram, "histogram")
  isotonic <- attr(object, "method") == "isotonic"
  if (!isotonic) rows <- widen_bins(rows)
  pen <- base_size / 11 # points and lines shrink with the text
  curve <- if (isotonic) curve_layers(rows, pen) else bin_layers(rows, pen, sized = !histogram)
  below <- if (histogram) share_layer(rows, pen, isotonic)

  ggplot() +
    diagram_facets(object, classes, histogram) +
    curve + below +
    scale_fill_manual(values = c(high = "#D55E00", low = "#0072B2"), guide = "none") +
    scale_size_area(max_size = 2.5 * pen, guide = "none") +
    scale_x_continuous(limits = c(0, 1), breaks = if (classes > 3) c(0, 0.5, 1) else quarters,
      labels = say_plain, expand = c(0.02, 0.02)) +
    share_scale(rows, histogram) +
    diagram_labels(object, histogram) +
    theme_bw(base_size) +
    theme(
      panel.grid.minor = ggplot2::element_blank(),
      plot.title.position = "plot", plot.caption.position = "plot",
      plot.title = ggplot2::element_text(size = ggplot2::rel(1.05)),
      axis.title = ggplot2::element_text(size = ggplot2::rel(0.9)),
      plot.subtitle = ggplot2::element_text(size = ggplot2::rel(0.85)),
      plot.caption = ggplot2::element_text(size = ggplot2::rel(0.7), hjust = 0),
      strip.placement = "outside",
      strip.background.y = ggplot2::element_blank(),
      panel.spacing.y = ggplot2::unit(0.5, "lines")
    )
}

#' @rdname autoplot.reliability_table
#' @export
plot.reliability_table <- function(x, ...) {
  print(autoplot(x, ...))
  invisible(x)
}

#' Bins of a single, often repeated score have no width: drawn as wide as can be seen
#' @noRd
widen_bins <- function(rows, least = 0.01) {
  narrow <- !is.na(rows$lower) & rows$upper - rows$lower < least
  middle <- (rows$lower + rows$upper)[narrow] / 2
  middle <- pmin(pmax(middle, least / 2), 1 - least / 2)
  rows$lower[narrow] <- middle - least / 2
  rows$upper[narrow] <- middle + least / 2
  rows
}

quarters <- c(0, 0.25, 0.5, 0.75, 1)
say_plain <- function(x) format(x, drop0trailing = TRUE, trim = TRUE)

panel_names <- c("Observed frequency", "Rows")
in_panel <- function(rows, panel) {
  rows$panel <- factor(rep(panel_names[panel], nrow(rows)), levels = panel_names)
  rows
}

# The upper panel -------------------------------------------------------------------------

diagonal <- function(pen) {
  geom_abline(aes(slope = 1, intercept = 0),
    data = in_panel(data.frame(one = 1), 1), colour = "grey55", linewidth = 0.4 * pen)
}

bin_layers <- function(rows, pen, sized) {
  rows <- in_panel(rows, 1)
  rows$side <- ifelse(rows$gap > 0, "high", "low")
  known <- rows[!is.na(rows$conf.low), ]
  list(
    geom_rect(aes(xmin = .data$lower, xmax = .data$upper, ymin = .data$confidence,
      ymax = .data$observed, fill = .data$side), data = rows, alpha = 0.4),
    diagonal(pen),
    geom_linerange(aes(.data$confidence, ymin = .data$conf.low, ymax = .data$conf.high),
      data = known, linewidth = 0.4 * pen),
    if (sized) {
      geom_point(aes(.data$confidence, .data$observed, size = .data$n), data = rows)
    } else {
      geom_point(aes(.data$confidence, .data$observed), data = rows, size = 1.3 * pen)
    }
  )
}

curve_layers <- function(rows, pen) {
  rows <- in_panel(rows, 1)
  known <- rows[!is.na(rows$conf.low), ]
  # Each block is level from its lowest to its highest score.
  ends <- rows[rep(seq_len(nrow(rows)), each = 2), ]
  ends$score <- as.vector(rbind(rows$lower, rows$upper))
  list(
    geom_ribbon(aes(.data$confidence, ymin = .data$conf.low, ymax = .data$conf.high),
      data = known, fill = "grey82"),
    diagonal(pen),
    geom_path(aes(.data$score, .data$observed), data = ends, colour = "#D55E00",
      linewidth = 0.6 * pen)
  )
}

# The lower panel -------------------------------------------------------------------------

# Panels of a grid are as high as their axes are long. The shares are drawn on an axis of this
# length, whatever they are, which makes the lower panel 0.3 times as high as the upper.
share_height <- 0.3

#' Shares of the rows within their class
#' @noRd
row_shares <- function(rows) {
  class <- addNA(rows$class, ifany = TRUE)
  rows$n / as.vector(tapply(rows$n, class, sum)[as.integer(class)])
}

share_layer <- function(rows, pen, isotonic) {
  share <- row_shares(rows)
  rows$height <- share_height * share / max(share)
  rows <- in_panel(rows, 2)
  if (isotonic) { # most blocks are single scores, without any width
    geom_segment(aes(.data$confidence, 0, xend = .data$confidence, yend = .data$height),
      data = rows, colour = "grey45", linewidth = 0.5 * pen)
  } else {
    geom_rect(aes(xmin = .data$lower, xmax = .data$upper, ymin = 0, ymax = .data$height),
      data = rows, fill = "grey65", colour = "white", linewidth = 0.2 * pen)
  }
}

#' The axis of both panels: frequencies above, shares stretched to `share_height` below
#' @noRd
share_scale <- function(rows, histogram) {
  most <- max(row_shares(rows))
  shares <- pretty(c(0, most), 2)
  shares <- shares[shares <= most]
  upper <- function(x) !histogram || max(x, na.rm = TRUE) > 2 * share_height
  scale_y_continuous(
    limits = function(x) if (upper(x)) c(0, 1) else c(0, share_height),
    breaks = function(x) if (upper(x)) quarters else share_height * shares / most,
    labels = function(x) {
      if (upper(x)) return(say_plain(x))
      paste0(say_plain(signif(100 * x * most / share_height, 3)), "%")
    },
    expand = c(0.02, 0.02)
  )
}

# Facets and words ------------------------------------------------------------------------

diagram_facets <- function(object, classes, histogram) {
  one <- attr(object, "type") %in% c("confidence", "event")
  if (histogram) {
    facet_grid(rows = vars(.data$panel), cols = if (!one) vars(.data$class),
      scales = "free_y", space = "free_y", switch = "y")
  } else if (!one) {
    facet_wrap(vars(.data$class))
  }
}

diagram_labels <- function(object, histogram) {
  type <- attr(object, "type")
  event <- if (type == "event") as.character(object$class[1])
  title <- switch(type,
    confidence = "Reliability of the predicted class",
    classwise = "Reliability of each class's probability",
    top_label = "Reliability within each predicted class",
    event = paste0("Reliability of the forecast of \"", event, "\"")
  )
  x <- switch(type,
    confidence = "Confidence",
    classwise = "Probability of the class",
    top_label = "Confidence",
    event = paste0("Forecast probability of \"", event, "\"")
  )
  labs(title = title, subtitle = diagram_numbers(object), x = x,
    y = if (histogram) NULL else panel_names[1], caption = diagram_caption(object))
}

diagram_numbers <- function(object) {
  type <- attr(object, "type")
  corp <- attr(object, "corp")
  mean_of <- function(x) sum(object$n * x, na.rm = TRUE) / sum(object$n)
  numbers <- if (!is.null(corp)) {
    brier <- corp[corp$measure == "brier_score", ]
    colMeans(brier[c("miscalibration", "discrimination", "uncertainty")])
  } else if (type == "classwise") {
    c(ECE = attr(object, "ece"))
  } else {
    means <- c(mean_of(object$confidence), mean_of(object$observed))
    names(means) <- if (type == "event") c("forecast", "observed") else c("confidence", "accuracy")
    c(ECE = attr(object, "ece"), means)
  }
  numbers <- paste(names(numbers), formatC(numbers, digits = 3, format = "f"))
  rows <- paste("N =", format(attr(object, "N"), big.mark = ","))
  paste0(if (!is.null(corp)) "Brier score: ", paste(c(numbers, rows), collapse = ", "))
}

diagram_caption <- function(object) {
  level <- attr(object, "conf_level")
  percent <- paste(format(100 * level), "%")
  if (attr(object, "method") == "isotonic") {
    if (is.null(level)) return(NULL)
    return(paste0("Band: where the curve of a calibrated forecast lies with probability ",
      percent, "."))
  }
  paste0(
    "Boxes: gap of stated and observed (orange: stated too high, blue: too low).",
    if (!is.null(level)) paste0("\nLines: ", percent, " intervals for the frequency in a bin.")
  )
}
