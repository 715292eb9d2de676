# Over- against underconfidence.

#' Over- and underconfidence picture
#'
#' Each forecast is a point: its underconfidence u (mean doubt when right) against its
#' overconfidence o (mean confidence when wrong), see [overconfidence()].
#'
#' On average over the rows a classifier is calibrated when o P(wrong) = u P(right), that is
#' \deqn{\frac{o}{u} = \frac{P(\mathrm{right})}{P(\mathrm{wrong})},}{o / u = P(right) / P(wrong),}
#' the odds of being correct. This is a line through the origin for each forecast, drawn in its colour and stroke (the legend shows
#' the accuracy where there is room); with several forecasts and without intervals, a thin vertical line (horizontal where there is no room) joins each point to its own line. A forecast above its line is overconfident on average, one below it
#' underconfident. Of two calibrated forecasts with the same accuracy the one nearer to the origin separates right and wrong rows better.
#'
#' @param x The probabilities of one forecast (matrix, data frame or vector) or a named list of such.
#' @param labels The true classes; for forecasts of different rows a list of them, in the order of `x`.
#' @param conf_level Level of bootstrap intervals for o and u (see [calib_metrics()]); `NULL` for
#'   none.
#' @param replicates How often to resample. Use [set.seed()] to make the intervals reproducible.
#' @param weights `NULL`, or one weight per row (with several sets of labels: a list).
#' @param by `NULL`, or a factor: a point for each of its values; with several forecasts a panel for each.
#' @param base_size Size of the text, in points; 7 suits a picture three inches wide.
#' @param ... Must be empty.
#' @return A ggplot object, to which layers, scales and themes can be added; its `data` has the columns
#'   `forecast` (with several forecasts and `by` also `group`), `accuracy`, `underconfidence`, `overconfidence` and the ends of the intervals,
#'   `under.low`, `under.high`, `over.low`, `over.high`. A forecast that is never wrong, or never
#'   right, has no place in the picture and is named in the caption.
#' @references
#' Wenger, J., Kjellström, H. and Triebel, R. (2020). Non-parametric calibration for
#' classification. *Proceedings of AISTATS*, PMLR 108, 178-190.
#' @family pictures
#' @examples
#' cal <- letters_nn$cal
#' test <- letters_nn$test
#' fits <- list(Uncalibrated = calib_none(cal$scores, cal$labels),
#'   Temperature = calib_temperature(cal$scores, cal$labels),
#'   GP = calib_gp(cal$scores, cal$labels, class_effects = "none"))
#' plot_confidence(lapply(fits, predict, test$scores), test$labels)
#' @export
plot_confidence <- function(x, labels, ..., conf_level = NULL, replicates = 1000, weights = NULL,
                            base_size = 9, by = NULL) {
  check_dots_empty(...)
  if (missing(x)) stop_input("x", "is missing", "Give the probabilities of the classes.")
  check_no_fit(x, "x")
  if (missing(labels)) stop_input("labels", "is missing", "Give the true class of every row.")
  base_size <- check_number(base_size, "base_size", 1, 100)
  forecasts <- as_named_list(x, is_forecast, "x", "probabilities")
  labels <- per_forecast(labels, forecasts, "labels")
  weights <- per_forecast(weights, forecasts, "weights")
  groups <- NULL
  if (!is.null(by)) {
    parts <- split_forecasts(forecasts, labels, weights, per_forecast(by, forecasts, "by"))
    forecasts <- parts$forecasts
    labels <- parts$labels
    weights <- parts$weights
    if (length(unique(parts$forecast)) > 1) groups <- parts
  }
  rows <- do.call(rbind, lapply(seq_along(forecasts), function(i) {
    confidence_row(forecasts[[i]], labels[[i]], weights[[i]], conf_level, replicates)
  }))
  names <- if (is.null(names(forecasts))) "Forecast" else names(forecasts)
  rows <- if (is.null(groups)) {
    cbind(forecast = factor(names, levels = names), rows)
  } else {
    own <- function(x) factor(x, levels = unique(x))
    cbind(forecast = own(groups$forecast), group = own(groups$group), rows)
  }
  draw_confidence(rows, conf_level, base_size)
}

#' A list with one set of labels (weights) per forecast, by name or in order
#' @noRd
per_forecast <- function(value, forecasts, arg) {
  if (!is.list(value) || is.data.frame(value)) return(rep(list(value), length(forecasts)))
  if (length(value) != length(forecasts)) {
    stop_input(arg, paste0("is a list of ", length(value), " but there are ", length(forecasts),
      " forecasts"), "Give one for each, or one for all.")
  }
  if (is.null(names(value)) || is.null(names(forecasts))) return(unname(value))
  if (!setequal(names(value), names(forecasts))) {
    stop_input(arg, "is a list with other names than the forecasts",
      paste0("The forecasts are ", say_values(names(forecasts)), "."))
  }
  unname(value[names(forecasts)])
}

#' Forecasts, with what belongs to their rows, taken apart by the values of `by`
#' @return list: `forecasts` (named), `labels`, `weights`, and the names of `forecast` and `group` of each.
#' @noRd
split_forecasts <- function(forecasts, labels, weights, by) {
  out <- list(forecasts = list(), labels = list(), weights = list(), forecast = character(), group = character())
  for (i in seq_along(forecasts)) {
    x <- as_score_matrix(forecasts[[i]], "x")
    rows <- rows_by(check_by(by[[i]], nrow(x)))
    own <- if (is.data.frame(labels[[i]])) labels[[i]][[1]] else labels[[i]]
    if (length(own) != nrow(x)) stop_input("labels", "has not one value for each row", "Give one label per row.")
    # Classes that a group lacks stay classes.
    if (is.character(own) || is.logical(own) || is.numeric(own) && is.null(colnames(x))) {
      own <- check_data(x, own, "probs", NULL, "x")
      own <- factor(own$classes[own$labels], levels = own$classes)
    }
    for (name in names(rows)) {
      at <- rows[[name]]
      key <- if (length(forecasts) > 1) paste0(names(forecasts)[i], ", ", name) else name
      out$forecasts[[key]] <- x[at, , drop = FALSE]
      out$labels <- c(out$labels, list(own[at]))
      out$weights <- c(out$weights, list(weights[[i]][at]))
      out$forecast <- c(out$forecast, if (length(forecasts) > 1) names(forecasts)[i] else "")
      out$group <- c(out$group, name)
    }
  }
  out
}

confidence_row <- function(probs, labels, weights, conf_level, replicates) {
  # Undefined measures are left out of the picture, and its caption says so.
  table <- withCallingHandlers(
    calib_metrics(probs, labels, conf_level = conf_level, replicates = replicates, eps = 1e-300,
      weights = weights),
    gpcalib_warning_undefined = function(w) invokeRestart("muffleWarning")
  )
  rownames(table) <- table$measure
  data.frame(
    accuracy = table["class_accuracy", "estimate"],
    underconfidence = table["underconfidence", "estimate"],
    overconfidence = table["overconfidence", "estimate"],
    under.low = table["underconfidence", "conf.low"],
    under.high = table["underconfidence", "conf.high"],
    over.low = table["overconfidence", "conf.low"], over.high = table["overconfidence", "conf.high"]
  )
}

draw_confidence <- function(rows, conf_level, base_size) {
  pen <- base_size / 10
  placed <- rows[!is.na(rows$overconfidence) & !is.na(rows$underconfidence), ]
  reach <- function(...) min(1, 1.15 * max(0.02, ..., na.rm = TRUE))
  top <- c(u = reach(placed$underconfidence, placed$under.high),
    o = reach(placed$overconfidence, placed$over.high))
  lines <- balance_lines(placed, top)
  ranged <- placed[!is.na(placed$over.low) & !is.na(placed$under.low), ]
  forecasts <- levels(rows$forecast)
  by_group <- !is.null(rows$group)
  name <- function(rows) if (by_group) paste0(rows$forecast, ", ", rows$group) else as.character(rows$forecast)
  lost <- setdiff(name(rows), name(placed))
  # The accuracy stands in the legend where there is room beside whole names: labels of many lines would lie on one another.
  legend <- confidence_legend(forecasts, if (!by_group) rows$accuracy, base_size)
  said <- legend$said
  many <- length(forecasts) > 1
  stems <- many && nrow(lines) && !nrow(ranged) # beside bars they would look like bars
  strokes_of <- if (many) pick(strokes, length(forecasts)) else "solid"
  ggplot(rows, aes(.data$underconfidence, .data$overconfidence)) +
    (if (nrow(lines)) {
      list(
        # The line of a forecast has its colour and stroke; shared ones are drawn over each other.
        geom_segment(aes(x = 0, y = 0, xend = .data$u, yend = .data$o, colour = .data$forecast, linetype = .data$forecast),
          data = lines, linewidth = 0.45 * pen, alpha = 0.8, show.legend = many),
        if (!many) {
          ggplot2::geom_text(aes(.data$at * .data$u, .data$at * .data$o, label = .data$label, hjust = .data$hjust,
            vjust = .data$vjust), data = lines, size = text_size(base_size), colour = "grey35")
        }
      )
    }) +
    (if (nrow(ranged)) {
      list(
        geom_segment(aes(x = .data$under.low, xend = .data$under.high, yend = .data$overconfidence,
          colour = .data$forecast), data = ranged, linewidth = 0.4 * pen, show.legend = FALSE),
        geom_segment(aes(y = .data$over.low, yend = .data$over.high, xend = .data$underconfidence,
          colour = .data$forecast), data = ranged, linewidth = 0.4 * pen, show.legend = FALSE)
      )
    }) +
    (if (nrow(placed)) {
      list(
        geom_point(aes(colour = .data$forecast, shape = .data$forecast), data = placed,
          size = 2.4 * pen, show.legend = many),
        # Lines of like accuracies lie in a bundle: a stem shows which is that of a point, and on which side the point is.
        if (stems) {
          geom_segment(aes(x = .data$at_u, xend = .data$stem_u, y = .data$at_o, yend = .data$stem_o, colour = .data$forecast),
            data = lines, linewidth = 0.25 * pen, show.legend = FALSE)
        },
        ggplot2::scale_colour_manual(values = stats::setNames(pick(ink, length(forecasts), shift = FALSE),
          forecasts), labels = said),
        ggplot2::scale_shape_manual(values = stats::setNames(pick(marks, length(forecasts)),
          forecasts), labels = said),
        ggplot2::scale_linetype_manual(values = stats::setNames(strokes_of, forecasts), labels = said)
      )
    }) +
    # What ends a rounding error outside the limits is drawn all the same.
    scale_x_continuous(limits = c(0, top[["u"]]), labels = say_plain, expand = c(0, 0), oob = keep_outside) +
    scale_y_continuous(limits = c(0, top[["o"]]), labels = say_plain, expand = c(0, 0), oob = keep_outside) +
    labs(
      x = "Underconfidence", y = "Overconfidence", colour = NULL, shape = NULL, linetype = NULL,
      caption = wrap_words("Vertical: mean confidence of wrong predictions. Horizontal: mean doubt (1 - confidence) of correct ones. A calibrated forecast lies on the line",
        if (many) paste0(" of its colour, which its accuracy determines", if (stems) " (thin stems join points and lines)", if (!by_group && any(diff(sort(lines$accuracy)) < 0.002)) "; the lines of nearly equal accuracies coincide or nearly so") else " that its accuracy determines",
        ". Points above their line are too confident, points below it not confident enough. ", "Of two forecasts on a line the better one is nearer to the origin.", if (legend$brackets) " In brackets: accuracy.",
        if (nrow(ranged)) paste0(" Bars: ", say_level(conf_level), " bootstrap intervals."),
        if (length(lost)) {
          paste0(" Not defined for ", paste(shorten(lost, 20), collapse = ", "),
            ": never wrong, or never right.")
        }, base_size = base_size)
    ) +
    (if (by_group) ggplot2::facet_wrap(vars(.data$group), labeller = short_labels(ggplot2::wrap_dims(nlevels(rows$group))[2]))) +
    picture_theme(base_size) +
    legend_above(said, c("colour", "shape", "linetype"), base_size)
}

keep_outside <- function(x, ...) x

#' Names with the accuracy, where there is room beside whole names: in words, or as a number that the caption explains
#'
#' @param accuracy of each, or NULL. @return list: `said`, and whether the numbers stand in `brackets`.
#' @noRd
confidence_legend <- function(forecasts, accuracy, base_size) {
  plain <- list(said = legend_names(forecasts, base_size), brackets = FALSE)
  if (is.null(accuracy) || length(forecasts) < 2) return(plain)
  number <- paste0(formatC(100 * accuracy, digits = 1, format = "f"), " %")
  for (before in c("accuracy ", "")) {
    tail <- paste0(" (", before, number, ")")
    said <- legend_names(forecasts, base_size, tail)
    if (legend_rows(said, base_size) <= legend_most_rows(length(said)) && all(said == paste0(forecasts, tail))) {
      return(list(said = said, brackets = !nzchar(before)))
    }
  }
  plain
}

#' Where the line of each forecast leaves the picture
#' @noRd
balance_lines <- function(placed, top) {
  placed <- placed[placed$accuracy > 0 & placed$accuracy < 1, ]
  if (!nrow(placed)) return(data.frame())
  odds <- placed$accuracy / (1 - placed$accuracy)
  right <- odds * top[["u"]] <= top[["o"]] # leaves at the right edge, not at the top
  u <- ifelse(right, top[["u"]], top[["o"]] / odds)
  # Words stand above the line and left of its end, or below and right of one that starts steeply.
  steep <- u < 0.4 * top[["u"]]
  lines <- data.frame(
    forecast = placed$forecast, accuracy = placed$accuracy, u = u, o = ifelse(right, odds * u, top[["o"]]), at = 0.94,
    at_u = placed$underconfidence, at_o = placed$overconfidence, stem_u = placed$underconfidence, stem_o = odds * placed$underconfidence,
    label = paste0(" accuracy ", formatC(placed$accuracy, digits = 3, format = "f"), " "),
    hjust = ifelse(steep, 0, 1), vjust = ifelse(steep, 1, 0)
  )
  # A stem is upright, or level where it would leave the picture.
  level <- lines$stem_o > top[["o"]]
  lines$stem_u[level] <- (lines$at_o / odds)[level]
  lines$stem_o[level] <- lines$at_o[level]
  lines$group <- placed$group # NULL: none
  lines
}
