# Reliability diagrams, drawn from what reliability tables hold and nothing else.

#' Reliability diagram
#'
#' Draws a [reliability_table()]: observed frequencies against predicted probabilities, and below, on the same axis, the
#' distribution of the probabilities. `plot_reliability()` makes the tables of one forecast or several and draws them
#' side by side.
#'
#' A calibrated forecast follows the diagonal. For bins, each point shows the mean predicted probability and the
#' observed frequency of a bin, with an interval. The height of the shaded box over a bin is the gap between the two:
#' orange, below the diagonal, where the predicted probability is too high, and blue, above it, where it is too low. An
#' isotonic table is drawn as a curve with a band, by default the band in which the curve of a calibrated forecast would
#' lie; a smooth table as a curve with its confidence band. The lower panel shows the share of rows in each bin: wide
#' intervals and large gaps often belong to bins with few rows.
#'
#' A corner of each panel shows numbers. Where bins take up most of the two corners that are usually free, it shows the first of them or none, and if that
#' happens in more than a quarter of the panels it does so in all (`summary()` has all numbers). They are the ECE of the bins drawn, with `type = "confidence"` also the mean
#' confidence less the accuracy (above 0 the forecast is overconfident on average, below 0 underconfident), with `type = "event"` also the mean
#' forecast and the frequency of the event; for an isotonic curve
#' miscalibration (MCB), discrimination (DSC) and uncertainty (UNC), which make up the Brier score; for a
#' smooth one the mean (ICI), the 90 % quantile (E90) and the largest (Emax) distance from the diagonal. In small panels only the first of these numbers is
#' shown.
#'
#' Tables with several classes get a panel for each, in their own order, or the largest first if some are left out; `classes` and `rarest` choose others. With one forecast the title says
#' how many cases the class has (with `type = "top_label"`, how many rows were predicted to be of it). Panels of different rows (`by`, or a list of labels) have their number of rows in the title. With four panels or more there are no
#' lower panels; the size of the points shows the number of rows instead. Panels are square.
#'
#' @param object,x A [reliability_table()]; for `plot_reliability()` the probabilities of one forecast
#'   (matrix, data frame or vector) or a named list of such.
#' @param labels The true classes, the same for all forecasts, or a list with those of each.
#' @param histogram Whether to draw the lower panel. `NULL`: yes, with up to three panels side by side.
#' @param classes How many classes to draw at most, or their names. `NULL`: six of one forecast; of several up to six if
#'   all would make at most 15 panels, otherwise three. Classes without cases are drawn only if named.
#' @param rarest Whether a number of classes means those with the fewest rows instead of those with the
#'   most.
#' @param base_size Size of the text, in points; 7 suits a picture three inches wide.
#' @param ... For `plot_reliability()`: arguments of [reliability_table()], such as `type`, `bins`,
#'   `method`, `event`, `band`, `conf_level`, `weights`, `groups` and `by` (a panel for each value). Otherwise
#'   must be empty.
#' @return A ggplot object, to which layers, scales and themes can be added; its `data` is the table
#'   (with a column `forecast`). `plot()` prints it and returns its argument.
#' @seealso [reliability_table()] for the numbers.
#' @family pictures
#' @examples
#' cal <- letters_nn$cal
#' test <- letters_nn$test
#' none <- predict(calib_none(cal$scores, cal$labels), test$scores)
#' temperature <- predict(calib_temperature(cal$scores, cal$labels), test$scores)
#' plot_reliability(list(Uncalibrated = none, Temperature = temperature), test$labels)
#' plot_reliability(temperature, test$labels, type = "classwise", bins = 8, classes = c("I", "O"))
#'
#' # A smooth curve for each airport
#' plot_reliability(rain_nyc$prob, rain_nyc$rain, method = "smooth", by = rain_nyc$origin)
#'
#' # The forecasters' form: an isotonic curve with its consistency band
#' curve <- reliability_table(rain_nyc$prob, rain_nyc$rain, method = "isotonic",
#'   replicates = 100)
#' summary(curve)
#' autoplot(curve) + ggplot2::labs(title = "Rain in New York")
#' @importFrom ggplot2 aes facet_grid facet_wrap geom_abline geom_linerange geom_path geom_point
#'   geom_rect geom_ribbon geom_segment ggplot labs scale_fill_manual
#'   scale_x_continuous scale_y_continuous vars .data
#' @export
autoplot.reliability_table <- function(object, histogram = NULL, classes = NULL, base_size = 9,
                                       rarest = FALSE, ...) {
  check_dots_empty(...)
  parts <- attr(object, "parts")
  draw_reliability(if (is.null(parts)) list(object) else parts, histogram, classes, rarest, base_size)
}

#' @rdname autoplot.reliability_table
#' @export
plot.reliability_table <- function(x, ...) {
  print(autoplot(x, ...))
  invisible(x)
}

#' @rdname autoplot.reliability_table
#' @export
plot_reliability <- function(x, labels, ..., histogram = NULL, classes = NULL, rarest = FALSE,
                             base_size = 9) {
  if (missing(x)) stop_input("x", "is missing", "Give the probabilities of the classes.")
  check_no_fit(x, "x")
  if (missing(labels)) stop_input("labels", "is missing", "Give the true class of every row.")
  if (is.factor(x)) stop_input("x", "must be probabilities", "It is a factor. Labels come second, and predicted classes are not probabilities.")
  forecasts <- as_named_list(x, is_forecast, "x", "probabilities")
  dots <- list(...)
  known <- setdiff(names(formals(reliability_table)), c("probs", "labels", "classes", "truth", "estimate"))
  bad <- if (length(dots) && is.null(names(dots))) "" else setdiff(names(dots), known)
  if (length(bad)) {
    stop_input("...", paste0("has arguments that reliability_table() does not know",
      if (any(nzchar(bad))) paste0(": ", paste(bad[nzchar(bad)], collapse = ", "))),
      paste0(if (length(near <- near_name(bad[nzchar(bad)][1], known))) paste0("Did you mean ", near, "? "),
        "It takes ", paste(known, collapse = ", "), ", by name."))
  }
  # Labels, and what else there is one of for each row, may differ between forecasts.
  each <- c(list(labels = labels), dots[intersect(names(dots), c("weights", "by", "groups"))])
  each <- Map(function(value, arg) per_forecast(value, forecasts, arg), each, names(each))
  dots <- dots[setdiff(names(dots), names(each))]
  by_class <- isTRUE(dots$type %in% c("classwise", "top_label"))
  if (is.null(classes) && by_class) classes <- most_classes(length(forecasts), ncol(as_score_matrix(forecasts[[1]], "x")))
  rarest <- check_flag(rarest, "rarest")
  every <- by_class && is.numeric(classes) && length(classes) == 1 && isTRUE(classes >= max(2, ncol(as_score_matrix(forecasts[[1]], "x"))))
  chosen <- first <- NULL
  if (by_class && is.numeric(classes) && (rarest || length(forecasts) > 1)) {
    # The same classes for all; predicted ones may differ, true ones do not.
    first <- reliability_table(forecasts[[1]], each$labels[[1]], bins = 1, type = dots$type,
      conf_level = NULL, weights = each$weights[[1]])
    chosen <- drawn_classes(list(first), classes, dots$type, rarest)
  } else if (by_class && is.numeric(classes) && !every) {
    first <- reliability_table(forecasts[[1]], each$labels[[1]], bins = 1, type = dots$type, conf_level = NULL, weights = each$weights[[1]])
  }
  # One after the other, each with draws of its own, in the caller's order.
  tables <- lapply(seq_along(forecasts), function(i) {
    own <- lapply(each, `[[`, i)
    kept <- list(classes = if (!is.null(chosen)) chosen else if (!every) classes) # NULL: all, in their own order
    do.call(reliability_table, c(list(forecasts[[i]]), own, dots, kept))
  })
  names(tables) <- names(forecasts)
  tie <- !is.null(first) && is_tie(class_sizes(first, dots$type), min(classes, attr(first, "K")), rarest)
  draw_reliability(flatten_tables(tables), histogram, classes, rarest, base_size, own = TRUE, tie = tie)
}

#' Tables made with `by` as one table for each of its values
#' @noRd
flatten_tables <- function(tables) {
  if (is.null(attr(tables[[1]], "parts"))) return(tables)
  several <- length(tables) > 1
  parts <- lapply(seq_along(tables), function(i) {
    part <- attr(tables[[i]], "parts")
    if (several) names(part) <- paste0(names(tables)[i], ", ", names(part))
    part
  })
  do.call(c, parts)
}

most_class_panels <- 15L

#' How many classes to draw where the user does not say: all of them where there is room
#' @noRd
most_classes <- function(forecasts, k) {
  if (forecasts == 1) 6L else if (forecasts * k <= most_class_panels) min(max(2L, as.integer(k)), 6L) else 3L # more panels side by side would be too narrow
}

#' @param own whether plot_reliability() made the tables; others may have been cut by the user.
#' @param tie whether a class it left out has as many rows as one of them; NULL: the tables tell.
#' @noRd
draw_reliability <- function(tables, histogram, classes, rarest, base_size, own = FALSE, tie = NULL) {
  base_size <- check_number(base_size, "base_size", 1, 100)
  plan <- diagram_plan(tables, histogram, classes, check_flag(rarest, "rarest"), own, tie)
  tables <- plan$tables
  rows <- join_tables(lapply(tables, function(table) as.data.frame(table)[table$n > 0, ]))
  if (plan$method == "bins") rows <- widen_bins(rows)
  titles <- diagram_titles(plan, base_size)
  pen <- base_size / 10 # points and lines shrink with the text
  limits <- c(plan$low, 1)
  breaks <- if (plan$low > 0) pretty(limits, 4) else if (plan$columns > 5) 0:1 else if (plan$columns > 2) c(0, 0.5, 1) else quarters
  # No score of the most likely of two classes lies below a half.
  if (plan$halves) rows$lower <- pmax(rows$lower, 0.5)
  spread <- join_tables(lapply(tables, attr, "spread"))
  upper <- switch(plan$method,
    isotonic = curve_layers(rows, join_tables(lapply(tables, attr, "band")), pen),
    smooth = smooth_layers(join_tables(lapply(tables, attr, "band")), spread, pen),
    bin_layers(rows, pen, sized = if (!plan$histogram) 2.5 * pen * min(1, max(0.3, panel_side(plan, base_size) / 8)), low = plan$low)
  )
  if (is.null(spread)) spread <- rows
  if (plan$halves) spread <- spread[spread$n > 0, ]
  if (plan$halves) spread$lower <- pmax(spread$lower, 0.5)
  corner <- corner_layer(tables, rows, plan, base_size)
  ggplot(rows) +
    diagram_facets(plan, titles) +
    (if (plan$method == "smooth") corner) + # its ground would hide the ends of curves
    upper +
    upper_extent(limits, limits, panel_names) +
    (if (plan$method != "smooth") corner) +
    (if (plan$histogram) share_layer(spread, plan$below * diff(limits), pen)) +
    scale_fill_manual(values = c(high = "#D55E00", low = "#0072B2"), guide = "none") +
    ggplot2::scale_alpha_identity() +
    ggplot2::scale_size_identity() +
    scale_x_continuous(limits = limits, breaks = breaks, labels = say_plain, expand = c(0.02, 0.02)) +
    (if (plan$histogram) {
      two_panel_scale(limits, breaks, max(row_shares(spread)), say_percent, plan$below)
    } else {
      scale_y_continuous(limits = limits, labels = say_plain, expand = c(0.02, 0.02), breaks = breaks)
    }) +
    diagram_labels(tables, plan, base_size, any(grepl(if (plan$method == "bins") "\n" else ".", corner$data$label))) +
    picture_theme(base_size) +
    (if (plan$columns > 5) theme(panel.spacing.x = unit(0.55, "lines"))) +
    theme(aspect.ratio = if (!plan$histogram) 1) + # with lower panels the facets see to it
    title_theme(plan, titles, base_size)
}

#' Side of a panel as a multiple of the text's size, in a picture three inches wide or one of six
#' @noRd
panel_side <- function(plan, base_size) {
  down <- if (plan$both) {
    if (plan$across) plan$panels else length(plan$tables)
  } else {
    ceiling(plan$panels / plan$columns)
  }
  room <- if (base_size < 8) c(24, 10) else c(32, 18)
  max(1, min(room[1] / plan$columns - 0.8, room[2] / (down + (if (plan$histogram) plan$below else 0))))
}

title_theme <- function(plan, titles, base_size) {
  usual <- if (base_size >= 8 || plan$columns == 1) 0.8 else if (plan$columns > 3 || is_crowded(plan, base_size)) 0.6 else 0.7
  theme(strip.text = element_text(size = rel(usual)), strip.text.x = element_text(size = rel(titles$scale)),
    strip.text.y = element_text(size = rel(titles$side_scale)))
}

#' Rows of panels in a small picture: they are too small for more than one number in the corner and for long titles
#' @noRd
is_crowded <- function(plan, base_size) base_size < 8 && plan$panels > 3 && !plan$histogram

quarters <- c(0, 0.25, 0.5, 0.75, 1)
panel_names <- c("Observed frequency", "Rows")

#' Rows of a grid of squares in a picture half as wide again as high. Each row also takes the height of its titles: with ten panels or
#' more, two rows of five or six leave larger squares than three.
#' @noRd
panel_rows <- function(panels) max(1, round(sqrt(panels / (if (panels > 9) 2 else 1.5))))

#' What goes where: which classes, how many panels, whether there is a lower one
#' @noRd
diagram_plan <- function(tables, histogram, classes, rarest, own, tie) {
  type <- attr(tables[[1]], "type")
  method <- attr(tables[[1]], "method")
  if (is.null(type) || is.null(method)) {
    stop_input("object", "has lost the attributes of a reliability table",
      "Draw what reliability_table() returns, or rows of it taken out by `[`.")
  }
  by_class <- type %in% c("classwise", "top_label")
  left_out <- 0L
  if (by_class) {
    shown <- drawn_classes(tables, classes, type, rarest)
    left_out <- attr(tables[[1]], "K") - length(shown)
    sizes <- class_sizes(tables[[1]], type)
    # Tables of plot_reliability() hold no more than the classes to draw: fewer than asked for, if others have no cases.
    empty <- any(sizes == 0 & !names(sizes) %in% shown) || own && is.numeric(classes) && length(shown) < min(classes, attr(tables[[1]], "K"))
    tables <- lapply(tables, function(table) {
      table <- table[table$class %in% shown, ]
      table$class <- factor(as.character(table$class), levels = shown)
      for (name in c("corp", "smooth", "band", "spread")) {
        part <- attr(table, name)
        if (is.null(part)) next
        part$class <- factor(as.character(part$class), levels = shown)
        attr(table, name) <- part
      }
      table
    })
  }
  panels <- if (by_class) length(shown) else length(tables)
  both <- by_class && length(tables) > 1
  if (!is.null(histogram)) histogram <- check_flag(histogram, "histogram")
  if (isTRUE(histogram) && both) {
    stop_input("histogram", "is TRUE, but there are several classes and several forecasts",
      "There is room for it with one forecast, or one class.")
  }
  if (is.null(histogram)) histogram <- panels <= 3 && !both
  # Pictures are wider than high, and so are grids of squares; of classes and forecasts the more stand side by side.
  across <- both && length(tables) > panels
  columns <- if (across) length(tables) else if (histogram || both) panels else ceiling(panels / panel_rows(panels))
  list(tables = tables, type = type, method = method, by_class = by_class, both = both,
    # Squares side by side are limited by the picture's width, which leaves height to the panels below.
    below = if (columns > 2) 0.5 else below_height, across = across, histogram = histogram, panels = panels, columns = columns, left_out = left_out,
    halves = type == "confidence" && attr(tables[[1]], "K") == 2, sizes = if (by_class) class_sizes(tables[[1]], type),
    chosen = if (by_class && !is.character(classes) && (own || length(shown) < length(sizes) || length(sizes) == attr(tables[[1]], "K"))) say_chosen(length(shown) == sum(sizes > 0) && empty, rarest, type, if (is.null(tie)) is_tie(sizes, length(shown), rarest) else tie), low = lowest_drawn(tables, type))
}

#' By what the classes that are drawn were chosen
#' @param others whether all others are empty; @param equals whether one that is left out has as many rows as one of them.
#' @noRd
say_chosen <- function(others, rarest, type, equals) {
  what <- if (type == "top_label") "rows" else "cases"
  if (others) return(paste("the others have no", what))
  paste0("those with the ", if (rarest) "fewest " else "most ", what, if (rarest) " (of those that have any)", if (equals) " (the first of equals)")
}

#' Has the first class that is left out as many rows as the last that is drawn?
#' @noRd
is_tie <- function(sizes, count, rarest) {
  sizes <- sort(sizes[sizes > 0], decreasing = !rarest)
  count < length(sizes) && sizes[[count]] == sizes[[count + 1]]
}

#' Where the axes begin: the confidence in one of two classes is at least 1/2, and half of the panel
#' would be empty
#' @noRd
lowest_drawn <- function(tables, type) {
  if (type != "confidence" || attr(tables[[1]], "K") != 2) return(0)
  observed <- unlist(lapply(tables, function(table) table$observed[table$n > 0]))
  floor(10 * min(0.5, observed)) / 10
}

#' Names of the classes to draw, largest (or rarest) first
#' @noRd
drawn_classes <- function(tables, classes, type, rarest) {
  table <- tables[[1]]
  present <- as.character(unique(table$class))
  if (is.null(classes)) classes <- most_classes(length(tables), attr(table, "K"))
  if (is.character(classes) || length(classes) != 1 || !is.numeric(classes)) {
    shown <- as.character(classes)
    known <- attr(table, "classes")
    if (!length(shown) || !all(shown %in% known) || anyDuplicated(shown)) {
      stop_input("classes", "must be a number, or names of classes, each once",
        paste0("The classes are ", say_values(known), "."))
    }
    # A class that is never predicted may have no bins at all.
    return(shown[shown %in% unlist(lapply(tables, function(table) as.character(table$class)))])
  }
  sizes <- class_sizes(table, type)[present]
  count <- check_count(classes, "classes")
  if (any(sizes > 0)) present <- present[sizes > 0] # there is nothing to compare with in others
  sizes <- sizes[present]
  if (!rarest && count >= length(present)) return(present) # all of them, in their own order
  shown <- present[order(if (rarest) sizes else -sizes)]
  utils::head(shown, count)
}

#' Rows of each class: predicted ones of `"top_label"`, else true ones, which a smooth curve does not sum to
#' @noRd
class_sizes <- function(table, type) {
  spread <- attr(table, "spread")
  if (!is.null(spread$hits) && type != "top_label") {
    return(vapply(split(spread$hits, as.character(spread$class)), sum, 0))
  }
  hits <- if (type == "top_label") table$n else ifelse(table$n > 0, table$n * table$observed, 0)
  vapply(split(hits, as.character(table$class)), sum, 0)
}

#' Tables of several forecasts in one, with a column that says whose
#' @noRd
join_tables <- function(parts) {
  if (is.null(parts[[1]])) return(NULL) # tables without a band
  labels <- if (is.null(names(parts))) rep("", length(parts)) else names(parts)
  parts <- Map(function(part, label) {
    cbind(part, forecast = factor(rep(label, nrow(part)), levels = labels))
  }, parts, labels)
  rows <- do.call(rbind, unname(parts))
  rownames(rows) <- NULL
  rows
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
