# Calibration maps: calibrated against raw probability.

#' Calibration map
#'
#' Draws the calibrated probability against the raw probability (see [calib_map()]), one curve for each calibrator, with
#' a band for [calib_gp()] and, with two classes, for [calib_platt()] and [calib_beta()]; the caption says what it is. More than two bands are outlined, since their fills would hide each other. The diagonal means no change; where a curve lies below it, probabilities are lowered.
#'
#' Two classes have one map, that of the second class. With more classes only the one-vs-all methods have maps, one for
#' each class, which are drawn side by side; for [calib_gp()] and [calib_temperature()] use [plot_latent()].
#'
#' @param x,object A calibrator; for `plot_map()` also a named list of them, for the same classes.
#' @param scores `NULL`, or raw scores, such as those of the calibration rows: they are drawn as ticks at the foot of the picture (1000 of them where there are more). Without
#'   them no ticks are drawn. Where there were no calibration rows the map is interpolated or extended.
#' @param level Level of the bands. The band of [calib_gp()] comes from random draws and is smoothed over 3 % of the axis to either side, by at most 0.01; use
#'   [set.seed()] to make it reproducible. The band is averaged over the hyperparameters, while the curve is that of their best values. The curve can
#'   therefore run along an edge of the band.
#' @param classes With more than two classes: how many to draw, those with the most calibration rows, or their names.
#' @param points At how many evenly spaced probabilities to evaluate the maps.
#' @param range The part of the axis of raw probabilities to draw, for scores that lie close together.
#' @param base_size Size of the text, in points; 7 suits a picture three inches wide.
#' @param ... For `autoplot()` and `plot()`: the arguments above. For `plot_map()` must be empty.
#' @return A ggplot object, to which layers, scales and themes can be added; its `data` is that of
#'   [calib_map()] with a column `fit` and, for [calib_platt()] and [calib_beta()] of two classes, the limits of their bands,
#'   which [calib_map()] does not have. `plot()` prints it and returns its argument.
#' @family pictures
#' @examples
#' cal <- rain_nyc[rain_nyc$part == "calibration", ]
#' plot_map(list(
#'   GP = calib_gp(cal$prob, cal$rain),
#'   Temperature = calib_temperature(cal$prob, cal$rain)
#' ), scores = cal$prob)
#' @export
plot_map <- function(x, ..., scores = NULL, level = 0.95, classes = 8, points = 401, range = c(0, 1), base_size = 9) {
  check_dots_empty(...)
  if (missing(x)) stop_input("x", "is missing", "Give a calibrator, or a named list of them.")
  fits <- as_named_list(x, function(x) inherits(x, "calibrator"), "x", "a calibrator")
  fits <- lapply(fits, check_object, arg = "x")
  level <- check_level(level, "level")
  points <- check_count(points, "points", 2, 1e5)
  if (!is.numeric(range) || length(range) != 2 || anyNA(range) || range[1] < 0 || range[2] > 1 || range[1] >= range[2]) {
    stop_input("range", "must be two probabilities, the lower one first", say_given(range))
  }
  base_size <- check_number(base_size, "base_size", 1, 100)
  first <- fits[[1]]$classes
  differ <- which(!vapply(fits, function(fit) identical(fit$classes, first), NA))
  if (length(differ)) {
    stop_input(paste0("x[[", differ[1], "]]"), "has other classes than the first calibrator",
      "Draw calibrators of the same classes together.")
  }
  shown <- if (length(first) > 2) map_classes(fits[[1]], classes)
  names <- if (is.null(names(fits))) describe(fits[[1]])$title else names(fits)
  at <- seq(range[1], range[2], length.out = points)
  rows <- do.call(rbind, unname(Map(function(fit, name) {
    map <- tryCatch(known_band(fit, add_wald_band(calib_map(fit, at, level), fit, level)), gpcalib_error_input = function(e) {
      if (length(fits) == 1 || !grepl("no calibration map", conditionMessage(e))) stop(e)
      stop_input(paste0("x[[\"", name, "\"]]"), paste0("of class ", class(fit)[1], " has no calibration map for ", length(fit$classes), " classes"),
        "Leave it out, or draw shared maps by plot_latent().")
    })
    cbind(map, fit = factor(rep(name, nrow(map)), levels = names))
  }, fits, names)))
  if (!is.null(shown)) {
    rows <- rows[rows$class %in% shown, ]
    rows$class <- factor(as.character(rows$class), levels = shown)
  }
  draw_map(rows, shown, length(first), paste0(say_bands(fits, names, rows, level), say_flare(rows), say_event_range(fits, range)), base_size,
    if (!is.null(scores)) map_rug(fits[[1]], scores, if (is.null(shown)) first[2] else shown), range)
}

#' Probabilities [n x K] of scores as they are
#' @noRd
raw_probs <- function(fit, scores, arg) {
  like <- structure(list(classes = fit$classes, input = fit$input, method = "none"), class = c("calib_none", "calibrator"))
  predict_probs(like, list(scores = check_newdata(like, scores, arg = arg)$scores, threads = 1L))
}

most_rug <- 1000L # of a rug: more are thinned, evenly by rank

#' The raw probabilities of each class drawn, for a rug. A histogram would not show the few scores that lie apart.
#' @noRd
map_rug <- function(fit, scores, classes) {
  probs <- raw_probs(fit, scores, "scores")
  if (!nrow(probs)) stop_input("scores", "has no rows", "Give the raw scores of the calibration rows, or leave it out.")
  kept <- unique(round(seq(1, nrow(probs), length.out = min(nrow(probs), most_rug))))
  do.call(rbind, lapply(classes, function(class) {
    data.frame(class = factor(class, levels = classes), p = sort(probs[, match(class, fit$classes)])[kept])
  }))
}

#' Names of the classes to draw, in their own order; of a number of them those with the most calibration rows
#' @noRd
map_classes <- function(fit, classes) {
  all <- fit$classes
  if (is.numeric(classes) && length(classes) == 1) {
    count <- check_count(classes, "classes")
    shares <- if (is.null(fit$prior)) rep(0, length(all)) else fit$prior
    by_size <- order(-shares)
    tie <- count < length(all) && shares[by_size[count]] == shares[by_size[count + 1]]
    how <- if (is.null(fit$prior)) ", the first" else paste0(", those with the most calibration rows", if (tie) " (the first of equals)")
    return(structure(all[sort(utils::head(by_size, count))], how = how))
  }
  classes <- as.character(classes)
  if (!length(classes) || !all(classes %in% all) || anyDuplicated(classes)) {
    stop_input("classes", "must be a number, or names of classes, each once",
      paste0("The classes are ", say_values(all), "."))
  }
  classes
}

#' The map with the intervals of a fit that has them by its covariance
#' @noRd
add_wald_band <- function(map, fit, level) {
  if (length(fit$classes) > 2 || !inherits(fit, c("calib_platt", "calib_beta"))) return(map)
  # A fit without a covariance has limits that are NA, and gets no band.
  band <- withCallingHandlers(within_range(predict(fit, as_pair(fit, map$p), type = "interval", level = level)),
    gpcalib_warning_undefined = function(w) invokeRestart("muffleWarning"))
  map$conf.low <- unname(band[, 2, 2])
  map$conf.high <- unname(band[, 2, 3])
  map
}

#' Between which raw probabilities of the event the calibration rows of a fit lie, or NULL
#' @noRd
event_ends <- function(fit) {
  ends <- fit[["event_range"]]
  if (is.null(ends) || fit$input == "probs") ends else stats::plogis(ends)
}

#' A map without its band beyond the calibration scores, where it would show how little is known as a spike at the edge
#' @noRd
known_band <- function(fit, map) {
  ends <- event_ends(fit)
  if (is.null(ends) || is.null(map[["conf.low"]])) return(map)
  map[map$p < ends[1] | map$p > ends[2], c("conf.low", "conf.high")] <- NA_real_
  map
}

#' Where the calibration scores of one fit end, if that is not at 0 and 1: a sentence, or NULL
#' @noRd
say_event_range <- function(fits, range = c(0, 1)) {
  ends <- if (length(fits) == 1) event_ends(fits[[1]])
  if (is.null(ends) || ends[1] <= 0 && ends[2] >= 1) return(NULL)
  digits <- 2
  while (as.numeric(format(ends[2], digits = digits)) == 1 && ends[2] < 1 && digits < 7) digits <- digits + 1
  paste0(" The calibration scores lie between ", format(ends[1], digits = 2), " and ", format(ends[2], digits = digits), "; what is beyond is extrapolated, and has no band.",
    if (diff(ends) < little_of_axis * diff(range)) " The scores take up little of the axis: with `range` only a part of it is drawn.")
}

little_of_axis <- 0.35

#' What the bands are and, beside other maps, whose
#' @noRd
say_bands <- function(fits, names, rows, level) {
  banded <- vapply(names, function(name) any(!is.na(rows$conf.low[rows$fit == name])), NA)
  if (!any(banded)) return(NULL)
  kind <- vapply(fits[banded], function(fit) {
    if (inherits(fit, "calib_gp")) "posterior interval" else if (!is.null(fit$x0)) "Venn-Abers pair" else "confidence interval"
  }, "")
  words <- vapply(unique(kind), function(one) {
    paste0(if (one != "Venn-Abers pair") paste0(say_level(level), " "), one, if (length(fits) > 1) paste0(" (", paste0("\"", shorten(names[banded][kind == one], 20), "\"", collapse = ", "), ")"))
  }, "")
  averaged <- banded & vapply(fits, function(fit) !is.null(fit[["averaged"]]), NA) # the limits, not the estimate
  paste0(if (sum(banded) > 1) " Bands: " else " Band: ", paste(words, collapse = "; "), ".", if (any(averaged)) {
    whose <- if (length(fits) > 1) paste0(" of ", paste0("\"", shorten(names[averaged], 20), "\"", collapse = " and "))
    if (sum(averaged) > 1) {
      paste0(" The curves", whose, " have the most probable smoothness; their bands average over other values of it, so that a curve need not be in the middle of its band.")
    } else {
      paste0(" The curve", whose, " has the most probable smoothness; ", if (length(fits) > 1) "its" else "the", " band averages over other values of it, so that the curve need not be in the middle of the band.")
    }
  })
}

flare <- 1.5 # times the median width, of the probabilities and of their log-odds

#' A band that is much wider in one place looks like an error: why it is, or NULL. The log-odds tell whether more than a probability nearer to 1/2 is behind it.
#' @noRd
say_flare <- function(rows) {
  rows <- rows[!is.na(rows$conf.low), ]
  wide <- vapply(split(rows, list(rows$fit, rows$class), drop = TRUE), function(band) {
    odds <- function(p) stats::qlogis(pmin(pmax(p, 1e-6), 1 - 1e-6))
    width <- cbind(band$conf.high - band$conf.low, odds(band$conf.high) - odds(band$conf.low))
    any(width[, 1] > flare * stats::median(width[, 1]) & width[, 2] > flare * stats::median(width[, 2]))
  }, NA)
  if (any(wide)) " Bands widen where there are few calibration rows, or few of one class among them."
}

alike_curves <- 0.015 # largest distance of two curves that are hard to tell apart

#' Which curves lie on each other: a sentence, or NULL
#' @noRd
say_alike_curves <- function(rows) {
  curves <- split(rows$calibrated, rows$fit)
  alike <- near_ones(names(curves), function(one, other) max(abs(curves[[one]] - curves[[other]])) < alike_curves)
  if (length(alike)) paste0(" The curves of ", paste(alike, collapse = ", and those of "), " nearly coincide.")
}

band_window <- 0.03 # of the axis, to either side
band_moved <- 0.01 # by which smoothing may move a limit: about the error of the draws

#' Limits from random draws with their small steps smoothed: the distance from the curve, by local lines
#' @noRd
smooth_bands <- function(banded) {
  for (rows in split(seq_len(nrow(banded)), list(banded$fit, banded$class), drop = TRUE)) {
    n <- length(rows)
    if (n * band_window < 3) next # too few places for steps to be seen
    curve <- banded$calibrated[rows]
    if (all(diff(curve) == 0) || mean(diff(curve) == 0) > 0.5) next # steps are meant
    even <- function(limit) {
      away <- limit - curve
      smooth <- stats::lowess(banded$p[rows], away, f = 2 * band_window, iter = 0)$y
      pmin(pmax(smooth, away - band_moved), away + band_moved)
    }
    banded$conf.low[rows] <- pmax(0, curve + pmin(0, even(banded$conf.low[rows])))
    banded$conf.high[rows] <- pmin(1, curve + pmax(0, even(banded$conf.high[rows])))
  }
  banded
}

draw_map <- function(rows, shown, k, bands, base_size, rug = NULL, range = c(0, 1)) {
  if (!is.null(rug)) rug <- rug[rug$p >= range[1] & rug$p <= range[2], ]
  whole <- identical(as.double(range), c(0, 1))
  pen <- base_size / 10
  banded <- smooth_bands(rows[!is.na(rows$conf.low), ])
  fits <- levels(rows$fit)
  columns <- if (is.null(shown)) 1 else if (length(shown) %in% 7:8) 4 else ggplot2::wrap_dims(length(shown))[2] # pictures are wider than high
  event <- if (is.null(shown)) shorten(rows$class[1], 20)
  of <- if (is.null(shown)) paste0(" of \"", event, "\"") else " of the class"
  left_out <- if (!is.null(shown) && length(shown) < k) {
    paste0(length(shown), " of ", k, " classes", attr(shown, "how"), ". ")
  }
  # Dashes lose the upright parts of steps, and gaps look like jumps: steps are solid and, beside others, carry marks.
  steps <- vapply(split(rows, rows$fit), function(map) mean(diff(map$calibrated) == 0) > 0.5, NA)
  stroke <- pick(strokes, length(fits))
  stroke[steps] <- "solid"
  mark <- rep(NA_real_, length(fits))
  mark[steps] <- pick(marks, sum(steps))
  marked <- if (length(fits) > 1 && any(steps)) mark_steps(rows, fits[steps])
  said <- legend_names(fits, base_size)
  outlined <- length(unique(banded$fit)) > 2 # more fills on each other have one colour
  ggplot(rows, aes(.data$p, .data$calibrated)) +
    (if (!is.null(rug)) {
      ggplot2::geom_rug(aes(.data$p), data = rug, inherit.aes = FALSE, sides = "b", length = unit(0.035, "npc"), linewidth = 0.3 * pen, colour = "grey20",
        alpha = max(0.3, min(1, 100 * nlevels(rug$class) / nrow(rug))))
    }) +
    geom_abline(slope = 1, intercept = 0, colour = "grey55", linewidth = 0.4 * pen) +
    (if (nrow(banded)) {
      geom_ribbon(aes(ymin = .data$conf.low, ymax = .data$conf.high, fill = .data$fit, colour = if (outlined) .data$fit),
        data = banded, alpha = if (outlined) 0.06 else 0.25, linewidth = 0.25 * pen, show.legend = FALSE)
    }) +
    ggplot2::geom_line(aes(colour = .data$fit, linetype = .data$fit), linewidth = 0.7 * pen, show.legend = length(fits) > 1) +
    (if (!is.null(marked)) {
      list(
        ggplot2::geom_point(aes(colour = .data$fit, shape = .data$fit), data = marked, size = 2 * pen),
        ggplot2::scale_shape_manual(values = mark, breaks = fits, limits = fits, labels = said)
      )
    }) +
    ggplot2::scale_colour_manual(values = pick(ink, length(fits), shift = FALSE), breaks = fits, labels = said) +
    scale_fill_manual(values = stats::setNames(pick(ink, length(fits), shift = FALSE), fits), guide = "none") +
    ggplot2::scale_linetype_manual(values = stroke, breaks = fits, labels = said) +
    scale_x_continuous(limits = range, labels = say_plain, expand = c(0.04, 0),
      breaks = if (!whole) inner_breaks(range, if (columns > 2) 2 else 4) else if (columns > 2) c(0, 0.5, 1) else quarters) +
    scale_y_continuous(limits = c(0, 1), labels = say_plain, expand = c(0.02, 0.02),
      breaks = if (columns > 2) c(0, 0.5, 1) else quarters) +
    (if (!is.null(shown)) facet_wrap(vars(.data$class), ncol = columns, labeller = short_labels(columns))) +
    labs(
      title = if (length(fits) == 1) paste0("Calibration map", if (base_size >= 8) paste0(", ", fits)),
      x = paste0("Raw probability", of), y = "Calibrated probability",
      colour = NULL, linetype = NULL, shape = NULL,
      caption = wrap_words(left_out, "Diagonal: no calibration.", if (is.null(shown)) say_alike_curves(rows), if (nrow(banded)) bands, if (outlined) " Thin lines: the edges of the bands.", if (!is.null(marked)) " Marks: some corners of step-like maps, to tell their curves apart.",
        if (!is.null(rug)) " Ticks at the foot: the scores.", base_size = base_size)
    ) +
    picture_theme(base_size) +
    legend_above(said, c("colour", "linetype", if (!is.null(marked)) "shape"), base_size) +
    square_theme()
}

#' Rows of step maps that carry a mark: up to eight corners of each, those of different maps of a panel at different probabilities
#' @noRd
mark_steps <- function(rows, names) {
  used <- list() # of each class: each has a panel
  parts <- list()
  for (name in names) for (part in split(rows[rows$fit == name, ], rows$class[rows$fit == name], drop = TRUE)) {
    class <- as.character(part$class[1])
    bend <- abs(diff(diff(part$calibrated)))
    corners <- 1L + which(bend > 1e-9)
    corners <- corners[c(TRUE, diff(corners) > 1)] # a corner between two places bends at both
    corners <- corners[!part$p[corners] %in% used[[class]]]
    if (length(corners) > 8) corners <- corners[round(seq(1, length(corners), length.out = 8))]
    used[[class]] <- c(used[[class]], part$p[corners])
    parts <- c(parts, list(part[corners, ]))
  }
  do.call(rbind, parts)
}

#' @rdname plot_map
#' @export
autoplot.calibrator <- function(object, ...) plot_map(object, ...)

#' @rdname plot_map
#' @export
plot.calibrator <- function(x, ...) {
  print(autoplot(x, ...))
  invisible(x)
}
