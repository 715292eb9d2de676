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
#'   the caption, and so are those whose marks are on the same spot. With more than eight forecasts names stand beside the points
#'   in place of a legend.
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
  short <- stats::setNames(if (many) shorten(names, 24) else legend_names(names, base_size), names)
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
  dims <- if (grouped) rev(ggplot2::wrap_dims(length(unique(placed$by)))) else c(1, 1)
  named <- if (many) name_places(placed, short, top, lines, base_size, dims[1], dims[2])
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
        if (!grouped) paste0("uncertainty ", say_three(placed$uncertainty[1]), "."), if (many) say_unnamed(named), if (many && any(lengths(named$all) > 1)) " Names one below the other: points on the same spot.",
        if (!grouped && !many) say_alike_points(placed, top), if (length(lost)) paste0(" Infinite for ", paste(shorten(lost, 20), collapse = ", "), "."))) +
    picture_theme(base_size) +
    ggplot2::theme(panel.grid.major = element_blank()) +
    (if (grouped) facet_wrap(vars(.data$by), labeller = ggplot2::as_labeller(function(x) shorten(x, 24)))) +
    (if (many) named_points(placed, named, base_size) else marked_points(placed, short, base_size))
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

named_points <- function(placed, named, base_size) {
  led <- named[named$led, ]
  list(
    geom_segment(aes(.data$miscalibration, .data$discrimination, xend = .data$to.x, yend = .data$to.y), data = led,
      colour = "grey40", linewidth = 0.02 * base_size),
    geom_point(data = placed, colour = ink[1], size = dot_size * base_size),
    ggplot2::geom_text(aes(.data$to.x, .data$to.y, label = .data$name, hjust = .data$hjust, vjust = .data$vjust),
      data = named[!is.na(named$to.x), ], size = text_size(base_size, name_size), lineheight = 0.9)
  )
}

dot_size <- 0.2 # of a point, as a share of the text's
name_size <- 0.65
name_ways <- 16 # directions in which a name may lie from its point
most_joint <- 3 # names beside points on the same spot

#' Where the names stand: beside their points, farther off at the end of a line, or nowhere; points on the same spot share a place
#'
#' @param placed the forecasts of all panels; @param short their names as written; @param lines labels of which are kept free.
#' @param columns of panels, @param rows of them.
#' @return data frame, a row for each place: `forecast` and `by` of its first point, where that is, `name` (a line for each),
#'   `to.x`, `to.y` (NA: no room), `hjust`, `vjust`, whether a line leads there (`led`), and in `all` the forecasts.
#' @noRd
name_places <- function(placed, short, top, lines, base_size, columns = 1, rows = 1) {
  # Lengths as multiples of the text's size, about as on a picture three inches wide or one of six.
  size <- if (base_size < 8) c(25 / columns, 13 / rows) else c(33 / columns, 19 / rows)
  across <- function(x) size[1] * x / top[["mcb"]]
  up <- function(y) size[2] * (y - top[["low"]]) / (top[["dsc"]] - top[["low"]])
  box <- function(x, y, wide, high, hjust = 0.5, vjust = 0.5) c(x - hjust * wide, x + (1 - hjust) * wide, y - vjust * high, y + (1 - vjust) * high)
  meets <- function(a, b) a[1] < b[2] && b[1] < a[2] && a[3] < b[4] && b[3] < a[4]
  crosses <- function(from, to, b) {
    at <- seq(0, 1, length.out = 25)
    x <- from[1] + at * (to[1] - from[1])
    y <- from[2] + at * (to[2] - from[2])
    any(x > b[1] & x < b[2] & y > b[3] & y < b[4])
  }
  one_panel <- function(rows, lines) {
    x <- across(rows$miscalibration)
    y <- up(rows$discrimination)
    spot <- integer(nrow(rows))
    for (i in seq_along(x)) {
      same <- which(abs(x - x[i]) < alike_points * size[1] & abs(y - y[i]) < alike_points * size[2])
      spot[i] <- if (any(spot[same] > 0)) max(spot[same]) else max(spot) + 1L
    }
    first <- match(unique(spot), spot)
    out <- rows[first, intersect(c("forecast", "by", "miscalibration", "discrimination"), names(rows))]
    out$all <- unname(split(as.character(rows$forecast), factor(spot, unique(spot))))
    out$name <- vapply(out$all, function(names) {
      said <- short[utils::head(names, most_joint)]
      if (length(names) > most_joint) said[most_joint] <- paste("and", length(names) - most_joint + 1, "more")
      paste(said, collapse = "\n")
    }, "")
    out[c("to.x", "to.y", "hjust", "vjust")] <- NA_real_
    out$led <- FALSE
    dots <- Map(function(x, y) box(x, y, 0.6, 0.6), x[first], y[first])
    words <- Map(function(x, y, label) box(across(x), up(y), 0.5 * nchar(label), 0.9), lines$label.x, lines$label.y, lines$label)
    leads <- list()
    # The most crowded first: they have the least choice.
    crowd <- vapply(first, function(i) sum(1 / (0.1 + (x[first] - x[i])^2 + (y[first] - y[i])^2)), 0)
    angle <- 2 * pi * (seq_len(name_ways) - 1) / name_ways
    angle <- angle[order(abs(sin(angle)) > 0.5, -cos(angle))] # right, left, then slanting
    for (k in order(-crowd)) {
      at <- c(x[first[k]], y[first[k]])
      label <- strsplit(out$name[k], "\n")[[1]]
      wide <- 0.55 * name_size * max(nchar(label))
      high <- 1.2 * name_size * length(label)
      for (reach in c(0.45, 1, 1.6, 2.4, 3.3, 4.5)) {
        for (way in angle) {
          to <- at + reach * c(cos(way), sin(way))
          hjust <- if (cos(way) > 0.3) 0 else if (cos(way) < -0.3) 1 else 0.5
          vjust <- if (sin(way) > 0.8) 0 else if (sin(way) < -0.8) 1 else 0.5
          own <- box(to[1], to[2], wide, high, hjust, vjust)
          if (own[1] < 0.1 || own[2] > size[1] - 0.1 || own[3] < 0.1 || own[4] > size[2] - 0.1) next
          if (any(vapply(c(dots[-k], words), meets, NA, own))) next
          if (any(vapply(leads, function(lead) crosses(lead[1:2], lead[3:4], own), NA))) next
          led <- reach > 0.5
          if (led && any(vapply(c(dots[-k], words), function(b) crosses(at, to, b), NA))) next
          # Beside its own point a name must not be taken for that of another.
          off <- function(i) max(own[1] - x[i], x[i] - own[2], 0)^2 + max(own[3] - y[i], y[i] - own[4], 0)^2
          if (!led && any(vapply(first[-k], off, 0) < 1.2 * off(first[k]))) next
          out$to.x[k] <- to[1] / size[1] * top[["mcb"]]
          out$to.y[k] <- top[["low"]] + to[2] / size[2] * (top[["dsc"]] - top[["low"]])
          out$hjust[k] <- hjust
          out$vjust[k] <- vjust
          out$led[k] <- led
          words <- c(words, list(own))
          if (led) leads <- c(leads, list(c(at, to)))
          break
        }
        if (!is.na(out$to.x[k])) break
      }
    }
    out
  }
  lines <- lines[!is.na(lines$label.x), ]
  if (is.null(placed[["by"]])) return(one_panel(placed, lines))
  do.call(rbind, lapply(split(placed, placed$by, drop = TRUE), function(rows) one_panel(rows, lines[lines$by == rows$by[1], ])))
}

#' Which forecasts have no name in the picture: a sentence, or NULL
#' @noRd
say_unnamed <- function(named) {
  lost <- lapply(seq_len(nrow(named)), function(i) if (is.na(named$to.x[i])) named$all[[i]] else named$all[[i]][-seq_len(if (length(named$all[[i]]) > most_joint) most_joint - 1 else most_joint)])
  lost <- Map(function(names, by) if (length(names)) paste0(paste(shorten(names, 20), collapse = "; "), if (length(by)) paste0(" (", shorten(by, 20), ")")),
    lost, if (is.null(named[["by"]])) list(NULL) else as.list(as.character(named$by)))
  lost <- unlist(lost)
  if (length(lost)) paste0(" Without a name in the picture: ", paste(lost, collapse = "; "), ".")
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
