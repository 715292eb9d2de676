# The layers and the words of a reliability diagram.

# The upper panel -------------------------------------------------------------------------

upper_panel <- function(rows) in_panel(rows, 1, panel_names)

diagonal <- function(pen) {
  geom_abline(aes(slope = 1, intercept = 0), data = upper_panel(data.frame(one = 1)),
    colour = "grey55", linewidth = 0.4 * pen)
}

#' @param sized size of the largest point, where their area is in proportion to the rows; NULL: all alike.
#' @noRd
bin_layers <- function(rows, pen, sized, low = 0) {
  rows <- upper_panel(rows)
  rows$side <- ifelse(rows$gap > 0, "high", "low")
  rows$shade <- gap_shade(rows$n)
  rows$strength <- point_shade(rows$n)
  known <- rows[!is.na(rows$conf.low), ]
  cut <- known[known$conf.low < low, ]
  known$conf.low <- pmax(known$conf.low, low)
  list(
    geom_rect(aes(xmin = .data$lower, xmax = .data$upper, ymin = .data$confidence,
      ymax = .data$observed, fill = .data$side, alpha = .data$shade), data = rows),
    diagonal(pen),
    geom_linerange(aes(.data$confidence, ymin = .data$conf.low, ymax = .data$conf.high, alpha = .data$strength),
      data = known, linewidth = 0.4 * pen),
    if (nrow(cut)) {
      geom_segment(aes(.data$confidence, low + 0.04 * (1 - low), xend = .data$confidence, yend = low, alpha = .data$strength),
        data = cut, linewidth = 0.4 * pen, arrow = grid::arrow(length = unit(0.06 * pen, "inches")))
    },
    if (!is.null(sized)) {
      geom_point(aes(.data$confidence, .data$observed, size = point_area(.data$n, sized), alpha = .data$strength), data = rows)
    } else {
      geom_point(aes(.data$confidence, .data$observed, alpha = .data$strength), data = rows, size = 1.3 * pen)
    }
  )
}

#' What bins with few rows show fades: it says little
#' @noRd
gap_shade <- function(n) 0.06 + 0.4 * n / (n + 10)
point_shade <- function(n) 0.15 + 0.85 * n / (n + 10)

#' Size of points whose area is in proportion to the rows, but none too small to be seen
#' @noRd
point_area <- function(n, most) most * pmax(0.35, sqrt(n / max(n)))

curve_layers <- function(rows, bands, pen) {
  rows <- upper_panel(rows)
  # Each block is level from its lowest to its highest score.
  ends <- rows[rep(seq_len(nrow(rows)), each = 2), ]
  ends$score <- as.vector(rbind(rows$lower, rows$upper))
  list(
    if (!is.null(bands)) {
      geom_ribbon(aes(.data$score, ymin = .data$conf.low, ymax = .data$conf.high),
        data = upper_panel(bands), fill = "grey80")
    },
    diagonal(pen),
    geom_path(aes(.data$score, .data$observed), data = ends, colour = "#D55E00",
      linewidth = 0.6 * pen),
    # Blocks stand out from the lines between them; a single score is a point.
    geom_segment(aes(.data$lower, .data$observed, xend = .data$upper, yend = .data$observed),
      data = rows, colour = "#D55E00", linewidth = 1.2 * pen, lineend = "round")
  )
}

smooth_layers <- function(bands, spread, pen) {
  bands <- upper_panel(bands)
  known <- bands[!is.na(bands$conf.low), ]
  seen <- seen_stretches(bands, spread)
  list(
    if (nrow(known)) {
      geom_ribbon(aes(.data$score, ymin = .data$conf.low, ymax = .data$conf.high), data = known,
        fill = "#D55E00", alpha = 0.25)
    },
    diagonal(pen),
    geom_path(aes(.data$score, .data$observed), data = bands, colour = "#D55E00", linewidth = 0.25 * pen),
    geom_path(aes(.data$score, .data$observed, group = .data$stretch), data = seen, colour = "#D55E00",
      linewidth = 0.8 * pen)
  )
}

#' The parts of the curves where there are scores, numbered
#' @noRd
seen_stretches <- function(bands, spread) {
  if (is.null(spread) || !nrow(bands)) return(cbind(bands, stretch = rep(1L, nrow(bands))))
  curve <- function(rows) paste(rows$forecast, as.character(rows$class))
  parts <- lapply(split(bands, curve(bands)), function(part) {
    own <- spread[curve(spread) == curve(part)[1] & spread$n > 0, ]
    inside <- vapply(part$score, function(at) any(at >= own$lower - 1e-9 & at <= own$upper + 1e-9), NA)
    part$stretch <- paste(curve(part)[1], cumsum(c(1L, diff(inside) != 0)))
    part[inside, ]
  })
  do.call(rbind, unname(parts))
}

#' Does a smooth curve end visibly before 0 or 1, where rows beyond the percentiles were left out? (inner_range(): of fewer than 100 rows none are)
#' @noRd
ends_early <- function(tables) {
  any(vapply(tables, function(table) {
    band <- attr(table, "band")
    at <- split(band$score, as.character(band$class))
    length(at) > 0 && isTRUE(attr(table, "N") >= 1 / outer_share) && any(vapply(at, function(at) min(at) > 0.02 || max(at) < 0.98, NA))
  }, NA))
}

#' Has a smooth curve a stretch without rows, which is drawn thin?
#' @noRd
any_thin <- function(tables) {
  bands <- join_tables(lapply(tables, attr, "band"))
  nrow(seen_stretches(bands, join_tables(lapply(tables, attr, "spread")))) < nrow(bands)
}

# The lower panel -------------------------------------------------------------------------

#' Shares of the rows within their forecast and class
#' @noRd
row_shares <- function(rows) {
  group <- paste(rows$forecast, as.integer(rows$class))
  rows$n / as.vector(tapply(rows$n, group, sum)[group])
}

#' @param height of the tallest bar, in the unit of the upper axis.
#' @noRd
share_layer <- function(rows, height, pen) {
  rows <- rows[rows$n > 0, ]
  share <- row_shares(rows)
  rows$height <- height * share / max(share)
  geom_rect(aes(xmin = .data$lower, xmax = .data$upper, ymin = 0, ymax = .data$height),
    data = in_panel(rows, 2, panel_names), fill = "grey65", colour = "white",
    linewidth = 0.2 * pen)
}

# Facets ----------------------------------------------------------------------------------

#' How panels are titled: the words, how many letters of them fit, and the size at which that is so
#'
#' @return list: `say` makes a title of a name; `room`, `side_room` letters of a line above the panels and at their side, where
#'   titles have two lines; `scale`, `side_scale` shares of the usual size.
#' @noRd
diagram_titles <- function(plan, base_size) {
  crowded <- is_crowded(plan, base_size)
  # With one forecast the titles have room for the cases of the class, and panels of different rows for their number.
  say <- if (plan$by_class && !plan$both && !is.null(plan$sizes)) {
    function(x) paste0(x, " (", say_number(round(plan$sizes[x])), if (plan$type == "top_label") "\u00a0rows)" else "\u00a0cases)") # not broken within
  } else if (counted_panels(plan, base_size)) {
    rows <- vapply(plan$tables, function(table) say_number(attr(table, "N")), "")
    function(x) paste0(x, " (n\u00a0=\u00a0", rows[x], ")")
  } else {
    identity
  }
  classes <- levels(plan$tables[[1]]$class)
  forecasts <- if (is.null(names(plan$tables))) "" else names(plan$tables)
  above <- if (plan$by_class && !plan$across) say(classes) else forecasts
  room <- if (crowded) min(12, title_letters(plan$columns)) else title_letters(plan$columns)
  # Titles at the right run along the panels' height, of which there is less.
  side <- max(5, floor((if (base_size < 8) 24 else 36) / (if (plan$across) plan$panels else length(plan$tables))))
  shares <- if (base_size < 8) smaller else c(smaller, 0.7, 0.65)
  scale <- if (crowded) 1 else title_scale(above, room, shares = shares)
  side_scale <- if (crowded || !plan$both) 1 else title_scale(if (plan$across) classes else forecasts, side, 2, shares)
  list(say = say, room = floor(room / scale), side_room = floor(side / side_scale), scale = scale, side_scale = side_scale)
}

#' Do the titles of the panels say how many rows each has?
#' @noRd
counted_panels <- function(plan, base_size) {
  if (plan$by_class || length(plan$tables) < 2 || is_crowded(plan, base_size) || !all(vapply(plan$tables, is_whole, NA))) return(FALSE)
  length(unique(vapply(plan$tables, function(table) as.double(attr(table, "N")), 0))) > 1
}

diagram_facets <- function(plan, titles) {
  by <- if (plan$by_class) vars(.data$class) else if (plan$panels > 1) vars(.data$forecast)
  labeller <- ggplot2::as_labeller(function(x) wrap_title(titles$say(x), titles$room))
  if (plan$histogram) {
    square_grid(rows = vars(.data$panel), cols = by, scales = "free_y", space = "free",
      switch = "y", labeller = ggplot2::labeller(.cols = labeller))
  } else if (plan$both) {
    side <- ggplot2::as_labeller(function(x) wrap_title(x, titles$side_room, 2))
    own <- vars(.data$forecast)
    facet_grid(rows = if (plan$across) by else own, cols = if (plan$across) own else by,
      labeller = ggplot2::labeller(.cols = labeller, .rows = side))
  } else if (!is.null(by)) {
    facet_wrap(by, labeller = labeller, ncol = plan$columns)
  }
}

#' A grid with panels of different heights in which a unit is as long on both axes, so that the diagonal
#' rises at 45 degrees
#'
#' Panels with free space are as large as their axes are long, in units that the two directions do not
#' share unless the table of panels says so. A ratio set by the theme would be refused.
#' @noRd
square_grid <- function(...) ggproto(NULL, FacetSquare, params = facet_grid(...)$params)

FacetSquare <- ggproto("FacetSquare", ggplot2::FacetGrid,
  draw_panels = function(self, panels, layout, x_scales, y_scales, ranges, coord, data, theme, params) {
    table <- ggproto_parent(ggplot2::FacetGrid, self)$draw_panels(panels, layout, x_scales, y_scales,
      ranges, coord, data, theme, params)
    table$respect <- TRUE
    table
  }
)

# The numbers in the corner ---------------------------------------------------------------

corner_layer <- function(tables, rows, plan, base_size) {
  few <- plan$columns > 2 || base_size < 8
  parts <- lapply(tables, corner_numbers, few = few, crowded = is_crowded(plan, base_size), mean_gap = says_mean_gap(tables, base_size))
  text <- join_tables(parts)
  # Where there is no room for all lines, there may be for the first, and else for none.
  place <- function(labels) vapply(seq_len(nrow(text)), function(i) {
    mine <- rows$forecast == text$forecast[i] &
      (is.na(text$class[i]) | rows$class %in% text$class[i])
    free_corner(rows[mine, ], plan$low, corner_box(labels[i], panel_side(plan, base_size)), plan$method == "bins")
  }, "")
  free <- place(text$label)
  # Numbers in some of the panels would look like a mistake.
  without <- function() if (mean(free == "neither") > few_without) rep(TRUE, length(free)) else free == "neither"
  text$label[without()] <- sub("\n.*", "", text$label[without()])
  free <- place(text$label)
  text$label[without()] <- ""
  above <- free == "above"
  inside <- function(share) plan$low + (1 - plan$low) * share
  text$x <- inside(ifelse(above, 0.02, 0.99))
  text$y <- inside(ifelse(above, 0.98, 0.03))
  text$hjust <- as.numeric(!above)
  text$vjust <- as.numeric(above)
  # Half the panel's width would reach the diagonal where the numbers are lowest.
  geom_fit_text(aes(.data$x, .data$y, label = .data$label, hjust = .data$hjust, vjust = .data$vjust),
    data = upper_panel(text), width = 0.45, height = 0.3, size = text_size(base_size), corner = TRUE, ground = plan$method == "smooth",
    lineheight = 0.95, colour = "grey20")
}

few_without <- 0.25 # of the panels

#' @param mean_gap whether there is room for the mean confidence less the accuracy, and for its words in the caption.
#' @noRd
corner_numbers <- function(table, few, crowded = FALSE, mean_gap = TRUE) {
  type <- attr(table, "type")
  corner <- attr(table, "corner")
  # What the caption would have to explain is left out where it would be too small to read.
  if (!is.null(corner)) return(data.frame(class = table$class[1], label = if (crowded && grepl("O:E", corner)) "" else corner))
  per <- summary(table)
  if (attr(table, "method") == "smooth") {
    label <- if (crowded) rep("", nrow(per)) else paste("ICI", say_three(per$ici))
    if (!few) label <- paste0(label, "\nE90 ", say_three(per$e90), "\nEmax ", say_three(per$emax))
    return(data.frame(class = per$class, label = label))
  }
  if (attr(table, "method") == "isotonic") {
    per <- per[per$measure == "brier_score", ]
    label <- paste("MCB", say_three(per$miscalibration))
    if (!few) {
      label <- paste0(label, "\nDSC ", say_three(per$discrimination), "\nUNC ",
        say_three(per$uncertainty))
    }
    return(data.frame(class = per$class, label = label))
  }
  label <- paste("ECE", say_three(per$ece))
  if (type == "confidence" && is_whole(table) && !crowded && mean_gap) {
    # On one line these would be too long to be drawn in a size that can be read.
    label <- paste0(label, "\n", "conf. - acc.", if (few) "\n" else " ", say_signed(per$confidence - per$observed))
  } else if (type == "event" && !few) {
    label <- paste0(label, "\nmean forecast ", say_three(per$confidence), "\nfrequency ",
      say_three(per$observed))
  }
  data.frame(class = per$class, label = label)[per$n > 0, ]
}

#' Small panels side by side have no room for it
#' @noRd
says_mean_gap <- function(tables, base_size) base_size >= 8 || length(tables) == 1

say_signed <- function(x) paste0(if (x >= 5e-4) "+", sub("^-(0[.]?0*)$", "\\1", say_three(x)))

say_measure <- function(x) if (is.na(x)) "undefined" else say_three(x)

#' Width and height of these words as shares of a panel, whose side is a multiple of the text's size
#' @noRd
corner_box <- function(label, side) {
  lines <- strsplit(label, "\n")[[1]]
  pmin(c(0.45, 0.3), 0.72 * c(0.55 * max(0, nchar(lines)), 1.15 * length(lines)) / side)
}

#' Top left or bottom right: where nothing would lie behind the words or, if that holds for both, where less is drawn
#'
#' @param box width and height of the words; @param strict whether they are left out where something lies behind them in both corners.
#' @return "above", "below" or "neither".
#' @noRd
free_corner <- function(rows, least, box = c(0.45, 0.1), strict = TRUE) {
  inside <- function(share) least + (1 - least) * share
  taken <- box
  behind <- function(x, y) {
    box <- function(xmin, xmax, ymin, ymax) xmin < inside(x[2]) & xmax > inside(x[1]) & ymin < inside(y[2]) & ymax > inside(y[1])
    bar <- box(rows$confidence - 0.01, rows$confidence + 0.01, rows$conf.low, rows$conf.high)
    point <- box(rows$confidence - 0.03, rows$confidence + 0.03, rows$observed - 0.03, rows$observed + 0.03)
    gap <- box(rows$lower, rows$upper, pmin(rows$observed, rows$confidence), pmax(rows$observed, rows$confidence))
    sum(bar, point, gap, na.rm = TRUE)
  }
  top <- behind(c(0.02, 0.02 + taken[1]), c(0.98 - taken[2], 0.98))
  bottom <- behind(c(0.99 - taken[1], 0.99), c(0.03, 0.03 + taken[2]))
  if (strict && top > 0 && bottom > 0) return("neither")
  if (top != bottom) return(if (bottom < top) "below" else "above")
  low <- pmin(rows$observed, rows$confidence, rows$conf.low, na.rm = TRUE)
  high <- pmax(rows$observed, rows$confidence, rows$conf.high, na.rm = TRUE)
  above <- sum(rows$lower < inside(0.45) & high > inside(0.68))
  below <- sum(rows$upper > inside(0.55) & low < inside(0.32))
  if (below < above) "below" else "above"
}

# Words -----------------------------------------------------------------------------------

#' @param numbers whether any that need words stand in the corners.
#' @noRd
diagram_labels <- function(tables, plan, base_size, numbers) {
  event <- if (plan$type == "event") shorten(tables[[1]]$class[1], 20)
  alone <- if (plan$by_class && plan$panels == 1) shorten(tables[[1]]$class[1], 20)
  labs(
    title = switch(plan$type,
      confidence = "Reliability of the predicted class",
      classwise = if (is.null(alone)) "Reliability of each class" else paste0("Reliability for \"", alone, "\""),
      top_label = if (is.null(alone)) "Reliability by predicted class" else paste0("Reliability when \"", alone, "\" is predicted"),
      event = paste0("Reliability for \"", event, "\"")
    ),
    x = switch(plan$type,
      confidence = "Confidence",
      classwise = "Probability of the class",
      top_label = "Confidence",
      event = paste0("Probability of \"", event, "\"")
    ),
    y = if (plan$histogram) NULL else "Observed frequency",
    caption = diagram_caption(tables, plan, base_size, numbers)
  )
}

# With few events the smooth curve is nearly straight, whatever the truth, and so is its band. Where the log-odds were off by a sine wave of
# amplitude 0.8, bands of 95 % held the true curve in 0.75 to 0.97 of 300 samples with 10 to 30 events (at the deciles 1 and 9: 0.75 to 0.86), in 0.86 to 0.98 with 60, in 0.91 to
# 0.98 with 100; where it was straight, in 0.94 to 0.99.
few_for_bends <- 50

#' @return a sentence, or NULL where all curves rest on more events and non-events.
#' @noRd
say_bends <- function(tables) {
  counts <- do.call(rbind, lapply(tables, function(table) {
    spread <- attr(table, "spread")
    shown <- spread[spread$class %in% table$class, ]
    if (is.null(shown$hits) || !nrow(shown)) return(NULL)
    rowsum(cbind(events = shown$hits, "non-events" = shown$n - shown$hits), as.character(shown$class))
  }))
  counts <- counts[rowSums(counts == 0) == 0, , drop = FALSE] # others have no curve
  if (!length(counts) || !any(counts < few_for_bends)) return(NULL)
  rarer <- which.min(counts[1, ])
  paste0(if (nrow(counts) == 1) paste0(" Only ", round(counts[1, rarer]), " ", colnames(counts)[rarer], ":") else {
    paste0(" Where there are fewer than ", few_for_bends, " events or non-events,")
  }, " a bent curve may look straight, and the band does not show that.")
}

#' What "limited slope" means in the corner, or NULL
#' @noRd
say_limited <- function(tables) {
  limited <- vapply(tables, function(table) isTRUE(attr(table, "limited_slope")), NA)
  if (!any(limited)) return(NULL)
  most <- unique(vapply(tables[limited], function(table) far_odds * max(attr(table, "N"), least_odds), 0))
  most <- if (length(most) == 1) say_number(most) else "10 N"
  paste0("; limited slope: the same with odds beyond ", most, " to 1 set to ", most, " to 1")
}

least_bins <- 4L

#' Are scores so close together that hardly any bin is filled?
#' @noRd
few_bins <- function(tables) {
  any(vapply(tables, function(table) {
    class <- if (is.null(table[["class"]])) rep("", nrow(table)) else as.character(table[["class"]])
    filled <- tapply(table$n > 0, class, sum)
    rows <- tapply(table$n, class, sum)
    all <- tapply(table$n, class, length)
    own <- rows[match(class, names(rows))]
    inner <- table$lower > 0 & table$upper < 1 & table$n >= crowded_share * own
    any(filled < least_bins & rows >= 200 & all >= 10) || isTRUE(any(inner & own >= 200))
  }, NA))
}

diagram_caption <- function(tables, plan, base_size, numbers) {
  level <- attr(tables[[1]], "conf_level")
  percent <- if (!is.null(level)) say_level(level)
  counts <- vapply(tables, function(table) as.double(attr(table, "N")), 0)
  rows <- if (counted_panels(plan, base_size)) NULL else if (all(vapply(tables, is_whole, NA)) || plan$by_class) {
    paste0("N = ", paste(unique(range(counts)) |> vapply(say_number, ""), collapse = " to "),
      if (length(tables) > 1 && !plan$by_class) if (length(unique(counts)) > 1) ", depending on the panel" else " in each panel", ". ")
  }
  low <- unlist(lapply(tables, function(table) table$conf.low[table$n > 0]))
  classes <- if (plan$left_out > 0) {
    paste0(plan$panels, " of ", plan$panels + plan$left_out, " classes",
      if (!is.null(plan$chosen)) paste0(", ", plan$chosen), ". ")
  }
  kind <- attr(tables[[1]], "region")
  how <- if (plan$method == "isotonic") {
    paste0("Isotonic curve", if (!is.null(level)) {
      switch(kind,
        confidence = paste0("; band: its pointwise ", percent, " intervals"),
        simultaneous = paste0("; grey: ", percent, " range of the whole curve if the forecast were calibrated"),
        paste0("; grey: pointwise ", percent, " range of the curve if the forecast were calibrated"))
    }, ".")
  } else if (plan$method == "smooth") {
    paste0("Smooth curve", if (!is.null(level)) {
      paste0("; band: ", if (kind == "simultaneous") "simultaneous " else "pointwise ", percent, " confidence")
    }, ".", if (ends_early(tables)) paste0(if (is.null(level)) " It is" else " Curve and band are", " drawn only where the middle 98 % of the probabilities lie."), if (any_thin(tables)) " The curve is thin where there are no rows.", say_bends(tables))
  } else {
    paste0("Boxes", if (identical(attr(tables[[1]], "binning"), "mass")) " (each of about as many rows)", ": difference between mean probability and observed frequency", say_colours(tables), if (!identical(attr(tables[[1]], "binning"), "mass")) ", faint where a bin has few rows",
      if (!is.null(level)) paste0("; lines: pointwise ", percent, " intervals of the frequency"),
      if (plan$low > 0 && any(low < plan$low, na.rm = TRUE)) ", arrows where they go on", if (!plan$histogram) "; size of points: rows", ".",
      if (few_bins(tables)) " Where most scores are in few of the bins, these hide how they differ within them: see method = \"smooth\".")
  }
  wrap_words(rows, classes, how, numbers = if (numbers) say_corner(tables, plan, base_size), base_size = base_size)
}

#' What the colours of the boxes mean, of those that are drawn
#' @noRd
say_colours <- function(tables) {
  gap <- unlist(lapply(tables, function(table) table$gap[table$n > 0]))
  said <- c(if (any(gap > 0, na.rm = TRUE)) "orange: probability too high", if (any(gap < 0, na.rm = TRUE)) "blue: too low")
  if (length(said)) paste0(" (", sub("^blue: too low$", "blue: probability too low", paste(said, collapse = ", ")), ")")
}

#' What the numbers in the corner are, or NULL where they need no words
#' @noRd
say_corner <- function(tables, plan, base_size) {
  few <- plan$columns > 2 || base_size < 8
  if (plan$method == "isotonic") {
    if (few) return(" MCB: miscalibration, as part of the Brier score.")
    return(" Brier score = MCB\u00a0-\u00a0DSC\u00a0+\u00a0UNC: miscalibration, discrimination, uncertainty.")
  }
  if (is_crowded(plan, base_size)) return(NULL) # only what needs no words is shown
  if (plan$method == "smooth") {
    if (!is.null(attr(tables[[1]], "corner"))) {
      if (!any(grepl("O:E", vapply(tables, attr, "", "corner")))) return(NULL) # no events anywhere
      return(paste0(" O:E: observed to expected events (best: 1); slope: Cox's recalibration slope (best: 1)", say_limited(tables),
        "; c: area under the ROC curve."))
    }
    return(if (few) " ICI: mean distance from the diagonal." else " ICI, E90, Emax: mean, 90% quantile and maximum of its distance from the diagonal.")
  }
  if (plan$type == "confidence" && says_mean_gap(tables, base_size)) {
    paste0(" Conf. - acc.: mean confidence less accuracy (positive: overconfident).")
  }
}
