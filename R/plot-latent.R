# The latent map: what the Gaussian process makes of a score, beside temperature scaling and no
# calibration at all.

#' Latent map
#'
#' Draws the map that a calibrator applies to every score before the softmax (see [latent()]):
#' `autoplot()` for one fit, `plot_latent()` for one or several.
#'
#' A constant added to a map changes no probability. All curves are therefore shifted to have the same average over the
#' calibration scores, in which the scores of the true classes and those of the other classes each have half of the
#' weight (without a fit of [calib_gp()]: over the scores drawn). The band is the pointwise posterior interval of the map minus this average (by normal quantiles). It shows
#' how precisely the shape of the map is estimated, without the constant, which the data cannot determine.
#'
#' For one [calib_gp()] the lines to compare with are its prior mean, the map of temperature scaling
#' (a line of slope 1/T) and the identity, which is no calibration. Circles mark the inducing inputs.
#' The lower panel shows, on the same axis, histograms of the calibration scores: those of the true classes and those of
#' all other classes, each adding up to 1. Where there are no scores the map returns to its prior mean.
#'
#' For this picture a fit keeps a histogram of its scores and a temperature. With more than
#' 200,000 scores the histogram of the other classes and the temperature are computed from a part of the rows, spread evenly
#' over the data (the caption says how many); to draw the temperature of all rows, give it:
#' `plot_latent(list(GP = fit, Temperature = calib_temperature(scores, labels)))`.
#'
#' With class effects (see [calib_gp()]) the map drawn is the one that all classes share. The argument `what` draws the
#' offsets or the matrix instead; the `data` of these pictures have one row per class or pair of classes. For two
#' classes [plot_map()] shows the combined effect.
#'
#' @param object,x A fit of [calib_gp()], [calib_temperature()] or [calib_none()], for
#'   `plot_latent()` also a named list of them. All fits of [calib_gp()] in it must work on the same
#'   scale: centred or not, and all or none with `mean = "log"`.
#' @param compare Which lines to add: any of `"prior"`, `"temperature"` and `"identity"`. `NULL`: all
#'   of them for a single fit of [calib_gp()], otherwise the identity. Prior mean and temperature are
#'   those of the first such fit.
#' @param level Level of the band; `NULL` for none.
#' @param range The lowest and highest score to draw. `NULL`: where the central 99 % of the calibration scores
#'   lie, or -10 to 10 if there is no fit of [calib_gp()].
#' @param histogram Whether to draw the scores below (those of the first fit of [calib_gp()]).
#' @param inducing Whether to mark the inducing inputs.
#' @param base_size Size of the text, in points; 7 suits a picture three inches wide.
#' @param ... For `autoplot()` and `plot()`: the arguments above; those of the other pictures than the map
#'   are `level` (of the intervals of offsets) and `base_size`. For `plot_latent()` must be empty.
#' @return A ggplot object, to which layers, scales and themes can be added; its `data` has the columns
#'   `map`, `z`, `mean`, `conf.low` and `conf.high`. `plot()` prints it and returns its argument.
#' @family pictures
#' @examples
#' cal <- letters_nn$cal
#' fit <- calib_gp(cal$scores, cal$labels, class_effects = "offset")
#' autoplot(fit)
#' autoplot(fit, what = "offsets")
#' plot_latent(list(
#'   "Full covariance" = fit,
#'   "Diagonal" = calib_gp(cal$scores, cal$labels, covariance = "diag"),
#'   "Temperature" = calib_temperature(cal$scores, cal$labels)
#' ))
#' @export
plot_latent <- function(x, ..., compare = NULL, level = 0.95, range = NULL, histogram = TRUE,
                        inducing = TRUE, base_size = 9) {
  check_dots_empty(...)
  if (missing(x)) stop_input("x", "is missing", "Give a fit of calib_gp(), or a named list of fits.")
  has_map <- function(x) inherits(x, c("calib_gp", "calib_temperature", "calib_none"))
  fits <- as_named_list(x, has_map, "x", "a fit with a latent map")
  fits <- lapply(fits, check_object, arg = "x")
  if (!is.null(level)) level <- check_level(level, "level")
  base_size <- check_number(base_size, "base_size", 1, 100)
  plan <- latent_plan(fits, compare, range)
  histogram <- check_flag(histogram, "histogram") && !is.null(plan$seen)
  curves <- latent_curves(plan, level)
  points <- if (check_flag(inducing, "inducing")) latent_points(plan, curves)
  draw_latent(plan, curves, points, level, histogram, base_size)
}

#' @rdname plot_latent
#' @param what For `autoplot()` of a fit of [calib_gp()]: `"map"`, the latent map that all classes share;
#'   `"offsets"`, the offset of each class with its interval; `"matrix"`, for more than two classes, by how much the
#'   latent value of each class changes in a row where temperature scaling gives one class a probability of 90 % and the others equal ones.
#' @param type Another name of `what`.
#' @export
autoplot.calib_gp <- function(object, what = c("map", "offsets", "matrix"), ..., type = what) {
  what <- type
  if (identical(what, "offset")) what <- "offsets"
  what <- check_choice(what, c("map", "offsets", "matrix"), "what")
  switch(what,
    map = plot_latent(object, ...),
    offsets = plot_offsets(object, ...),
    matrix = plot_moves(object, ...)
  )
}

#' @rdname plot_latent
#' @export
autoplot.calib_temperature <- function(object, ...) plot_latent(object, ...)

#' @rdname plot_latent
#' @export
autoplot.calib_none <- function(object, ...) plot_latent(object, ...)

# What to draw ----------------------------------------------------------------------------

latent_plan <- function(fits, compare, range) {
  is_gp <- vapply(fits, inherits, NA, "calib_gp")
  gps <- fits[is_gp]
  known <- c("prior", "temperature", "identity")
  if (is.null(compare)) compare <- if (length(fits) == 1 && any(is_gp)) known else "identity"
  if (!is.character(compare) || !all(compare %in% known)) {
    stop_input("compare", paste("must be some of", say_values(known)), say_given(compare))
  }
  scales <- vapply(gps, function(fit) if (fit$mean == "log") "log" else paste(fit$center), "")
  if (length(unique(scales)) > 1) {
    stop_input("x", paste0("has fits whose maps work on different scales: centred and raw scores, or ",
      "raw probabilities (mean = \"log\")"), "Draw them apart.")
  }
  seen <- if (length(gps) && gps[[1]]$scores_seen$rows > 0) gps[[1]]$scores_seen
  if (is.null(range)) {
    ends <- lapply(gps, function(fit) bulk_range(fit$scores_seen))
    range <- if (length(gps)) base::range(unlist(ends)) else c(-10, 10)
  } else {
    if (!is.numeric(range) || length(range) != 2 || any(!is.finite(range)) || range[1] >= range[2]) {
      stop_input("range", "must be two numbers, the lower one first", say_given(range))
    }
    if (identical(unname(scales[1]), "log")) {
      if (range[1] <= 0) {
        stop_input("range", "must be positive: the map of mean = \"log\" is defined for probabilities")
      }
      range <- log(range)
    }
  }
  list(fits = fits, gps = gps, compare = compare, seen = seen, range = range,
    logs = identical(unname(scales[1]), "log"))
}

#' Scores and weights over which all maps are made to agree
#' @noRd
latent_average <- function(plan) {
  seen <- plan$seen
  if (is.null(seen)) return(list(z = seq(plan$range[1], plan$range[2], length.out = 101), p = rep(1 / 101, 101)))
  share <- function(counts) if (sum(counts) > 0) counts / sum(counts) else 0 * counts
  p <- share(seen$true) + share(seen$other)
  if (sum(p) == 0) p[] <- 1
  edges <- seq(seen$breaks[1], seen$breaks[2], length.out = length(p) + 1)
  list(z = (edges[-1] + edges[-length(edges)]) / 2, p = p / sum(p))
}

#' The curves as one table. Positions are kept as x, on the axis of the histogram (logarithms where
#' the map works on raw probabilities), and as z, the scores themselves.
#' @noRd
latent_curves <- function(plan, level) {
  x <- seq(plan$range[1], plan$range[2], length.out = 201)
  average <- latent_average(plan)
  own <- function(at) if (plan$logs) exp(at) else at # scores as a calib_gp() takes them
  shifted <- function(map) map(x) - sum(average$p * map(average$z))
  curve <- function(name, mean, sd = 0) {
    half <- if (is.null(level)) NA_real_ else stats::qnorm((1 + level) / 2) * sd
    data.frame(map = name, z = own(x), mean = mean, conf.low = mean - half, conf.high = mean + half)
  }
  fit_curve <- function(fit, name) {
    if (!inherits(fit, "calib_gp")) return(curve(name, shifted(function(at) latent(fit, at)$mean), NA))
    shape <- .Call(C_centred, fit, own(x), own(average$z), average$p)
    variance <- shape$var + shape$rho + slope_variance(fit, x, average)
    curve(name, shifted(function(at) latent(fit, own(at))$mean), sqrt(variance))
  }
  names <- names(plan$fits)
  if (is.null(names)) names <- if (length(plan$gps)) "Posterior mean" else latent_name(plan$fits[[1]])
  parts <- Map(fit_curve, plan$fits, names)
  line <- function(name, slope) curve(name, shifted(function(at) slope * at), NA)
  parts <- c(parts, Map(line, names(latent_lines(plan)), latent_lines(plan)))
  curves <- do.call(rbind, unname(parts))
  curves$map <- factor(curves$map, levels = unique(curves$map))
  curves
}

#' What the slope's own uncertainty adds to that of the map less its average
#' @noRd
slope_variance <- function(fit, x, average) {
  moved <- slope_moved(fit)
  if (is.null(moved)) return(0)
  move <- function(z) .Call(C_gp_latent, moved, z)$mean
  (fit$slope_sd * (move(x) - sum(average$p * move(average$z))))^2
}

latent_name <- function(fit) if (inherits(fit, "calib_none")) "Identity" else "Temperature scaling"

#' Slopes of the straight lines to compare with, named as in the legend
#' @noRd
latent_lines <- function(plan) {
  first <- if (length(plan$gps)) plan$gps[[1]]
  wanted <- function(name) name %in% plan$compare
  prior <- if (wanted("prior") && !is.null(first)) first$hyper[["slope"]]
  if (!is.null(first) && first$mean == "log") prior <- if (wanted("prior")) 1
  temperature <- if (wanted("temperature") && !is.null(plan$seen)) plan$seen$temperature
  if (is.null(temperature) || is.na(temperature)) temperature <- NULL
  none <- vapply(plan$fits, inherits, NA, "calib_none")
  same <- !is.null(prior) && first$mean != "linear" && prior == 1
  c(
    if (!is.null(prior)) stats::setNames(prior, if (same) "Prior mean, identity" else "Prior mean"),
    if (!is.null(temperature)) {
      stats::setNames(1 / temperature, paste("Temperature", format(temperature, digits = 3)))
    },
    if (wanted("identity") && !any(none) && !same) c(Identity = 1)
  )
}

#' Inducing inputs on their curves
#' @noRd
latent_points <- function(plan, curves) {
  is_gp <- which(vapply(plan$fits, inherits, NA, "calib_gp"))
  parts <- lapply(is_gp, function(i) {
    rows <- curves[curves$map == levels(curves$map)[i], ]
    z <- plan$fits[[i]]$inducing
    z <- z[z >= min(rows$z) & z <= max(rows$z)]
    if (!length(z)) return(NULL)
    data.frame(map = rows$map[1], z = z, mean = stats::approx(rows$z, rows$mean, z)$y)
  })
  do.call(rbind, unname(parts))
}

# Drawing ---------------------------------------------------------------------------------

latent_panels <- c("Latent g", "Scores")

draw_latent <- function(plan, curves, points, level, histogram, base_size) {
  pen <- base_size / 10
  upper <- function(rows) in_panel(rows, 1, latent_panels)
  maps <- levels(curves$map)
  fitted <- length(plan$fits)
  # No calibration is a line to compare with even when it is among the fits.
  none <- vapply(plan$fits, inherits, NA, "calib_none")
  own <- if (all(none)) seq_len(fitted) else which(!none)
  limits <- latent_limits(curves, maps[own])
  banded <- curves[!is.na(curves$conf.low), ]
  # Lines to compare with may leave the panel: fits are what it is there for.
  drawn <- curves[curves$mean >= limits[1] & curves$mean <= limits[2], ]
  looks <- latent_looks(maps, own, which(none))
  width <- ifelse(seq_along(maps) %in% own, 0.8, 0.5) * pen
  said <- legend_names(maps, base_size)
  plot <- ggplot(curves) +
    (if (nrow(banded)) {
      ggplot2::geom_ribbon(aes(.data$z, ymin = .data$conf.low, ymax = .data$conf.high,
        fill = .data$map), data = upper(banded), alpha = 0.25, show.legend = FALSE)
    }) +
    ggplot2::geom_line(aes(.data$z, .data$mean, colour = .data$map, linetype = .data$map,
      linewidth = .data$map), data = upper(drawn)) +
    (if (!is.null(points)) {
      geom_point(aes(.data$z, .data$mean, colour = .data$map), data = upper(points), shape = 21,
        fill = "white", size = 1.3 * pen, stroke = 0.4 * pen, show.legend = FALSE)
    }) +
    ggplot2::scale_colour_manual(values = looks$colour, breaks = maps, labels = said) +
    scale_fill_manual(values = looks$colour, guide = "none") +
    ggplot2::scale_linetype_manual(values = looks$linetype, breaks = maps, labels = said) +
    ggplot2::scale_discrete_manual("linewidth", values = width, breaks = maps, labels = said) +
    latent_x_scale(plan) +
    labs(x = latent_axis(plan), y = if (histogram) NULL else latent_panels[1], caption = latent_caption(plan, level, histogram,
        !is.null(points), same_lines(plan, curves), base_size), colour = NULL, linetype = NULL, linewidth = NULL) +
    picture_theme(base_size) +
    legend_above(said, c("colour", "linetype", "linewidth"), base_size)
  if (!histogram) return(plot + scale_y_continuous(limits = limits, labels = say_plain))
  shares <- latent_shares(plan)
  below <- below_height * diff(limits)
  plot +
    upper_extent(limits, range(curves$z), latent_panels) +
    latent_histogram(plan, shares, below, base_size) +
    two_panel_scale(limits, inner_breaks(limits), head_room * max(shares$share), say_percent) +
    facet_grid(rows = vars(.data$panel), scales = "free_y", space = "free_y", switch = "y")
}

#' Colours and line types by map: fits one after the other, lines to compare with always the same
#' @noRd
latent_looks <- function(maps, own, none = integer()) {
  place <- stroke <- stats::setNames(c(P = 2, T = 3, I = 4)[substr(maps, 1, 1)], NULL)
  place[none] <- stroke[none] <- 4
  place[own] <- rep_len(c(1, 5, 8, 7, 6, 3, 2), length(own))
  stroke[own] <- rep_len(c(1, 5, 6, 7, 8, 2, 3), length(own))
  list(colour = stats::setNames(ink[place], maps), linetype = stats::setNames(strokes[stroke], maps))
}

head_room <- 1.25 # for words above the bars

#' From the lowest to the highest value of fits and bands, and half as much again
#' @noRd
latent_limits <- function(curves, fits) {
  own <- curves[curves$map %in% fits, ]
  limits <- range(own$mean, own$conf.low, own$conf.high, na.rm = TRUE)
  if (diff(limits) == 0) limits <- limits + c(-0.5, 0.5)
  all <- range(limits, curves$mean)
  room <- 0.25 * diff(limits)
  c(max(all[1], limits[1] - room), min(all[2], limits[2] + room))
}

inner_breaks <- function(limits, n = 5) {
  at <- pretty(limits, n)
  at[at >= limits[1] & at <= limits[2]]
}

#' Shares of the scores per bin, of the true class and of the others
#' @noRd
latent_shares <- function(plan) {
  seen <- plan$seen
  bins <- length(seen$true)
  edges <- seq(seen$breaks[1], seen$breaks[2], length.out = bins + 1)
  if (plan$logs) edges <- exp(edges)
  # Scores beyond the bins count in the whole, so that shares are shares of all.
  share <- function(counts, beyond) if (sum(counts) > 0) (1 - beyond) * counts / sum(counts) else counts
  data.frame(
    group = rep(c("other", "true"), each = bins), lower = edges[-(bins + 1)], upper = edges[-1],
    share = c(share(seen$other, seen$beyond[["other"]]), share(seen$true, seen$beyond[["true"]]))
  )
}

latent_histogram <- function(plan, shares, height, base_size) {
  shares$height <- height * shares$share / (head_room * max(shares$share))
  shares <- in_panel(shares, 2, latent_panels)
  ends <- if (plan$logs) exp(plan$range) else plan$range
  centre <- function(rows) sum((rows$lower + rows$upper) / 2 * rows$share) / sum(rows$share)
  right <- isTRUE(centre(shares[shares$group == "true", ]) >= centre(shares[shares$group == "other", ]))
  shares <- shares[shares$upper > ends[1] & shares$lower < ends[2], ]
  shares$lower <- pmax(shares$lower, ends[1])
  shares$upper <- pmin(shares$upper, ends[2])
  other <- shares[shares$group == "other", ]
  true <- shares[shares$group == "true", ]
  words <- data.frame(
    x = if (right) ends else rev(ends), y = height, hjust = if (right) 0:1 else 1:0,
    label = c("other classes", "true class"), group = c("other", "true")
  )
  outline <- data.frame(
    x = as.vector(rbind(true$lower, true$upper)), y = rep(true$height, each = 2)
  )
  outline <- rbind(data.frame(x = true$lower[1], y = 0), outline,
    data.frame(x = max(ends[1], true$upper), y = 0))
  outline <- outline[nrow(true) > 0 & !is.na(outline$x), ]
  list(
    geom_rect(aes(xmin = .data$lower, xmax = .data$upper, ymin = 0, ymax = .data$height),
      data = other, fill = "grey75"),
    geom_path(aes(.data$x, .data$y), data = in_panel(outline, 2, latent_panels), colour = ink[1],
      linewidth = 0.05 * base_size),
    # From 0 to the top, even if the highest bar is not in sight.
    ggplot2::geom_blank(aes(.data$x, .data$y),
      data = in_panel(data.frame(x = ends[1], y = c(0, height)), 2, latent_panels)),
    if (!tiny_words(TRUE, base_size)) geom_fit_text(aes(.data$x, .data$y, label = .data$label, hjust = .data$hjust), vjust = 1.1,
      data = in_panel(words, 2, latent_panels), width = 0.3, height = 0.18,
      size = text_size(base_size), colour = c("grey40", ink[1]))
  )
}

latent_x_scale <- function(plan) {
  if (plan$logs) ggplot2::scale_x_log10(expand = c(0.02, 0), labels = say_plain) else {
    scale_x_continuous(expand = c(0.02, 0), labels = say_plain)
  }
}

latent_axis <- function(plan) {
  if (plan$logs) return("Probability (logarithmic scale)")
  if (!length(plan$gps)) return("Score (logit or log-probability)")
  say_scores_unit(plan$gps[[1]])
}

#' What the scores of a process are
#' @noRd
say_scores_unit <- function(fit) {
  unit <- if (fit$mean == "log") "probability" else if (fit$input == "probs") "log-probability" else "logit"
  if (fit$center) paste0("Centred ", unit, if (length(fit$classes) == 2) " (half the log-odds)") else paste0(toupper(substr(unit, 1, 1)), substring(unit, 2))
}

scores_said <- " Below: scores of the true class (blue outline) and of the other classes (grey)."

#' Would the words in the lower panel be too small to read?
#' @noRd
tiny_words <- function(histogram, base_size) histogram && base_size < 8

#' The lines that lie upon that of a single fit, and this, by name
#' @noRd
same_lines <- function(plan, curves) {
  if (length(plan$fits) > 1) return(NULL)
  mean <- split(curves$mean, curves$map)
  apart <- vapply(mean, function(one) max(abs(one - mean[[1]])), 0)
  same <- apart < 0.005 * diff(range(mean[[1]]))
  if (sum(same) > 1) names(mean)[same]
}

latent_caption <- function(plan, level, histogram, points, same, base_size) {
  seen <- plan$seen
  first <- if (length(plan$gps)) plan$gps[[1]]
  some <- !is.null(seen) && seen$rows < first$n &&
    ("temperature" %in% plan$compare && !is.na(seen$temperature) || histogram)
  beyond <- if (histogram) beyond_axis(plan) else 0
  wrap_words(
    if (!is.null(level) && length(plan$gps)) {
      paste0("Band: ", say_level(level), " posterior interval. ")
    },
    if (points) "Circles: inducing inputs, whose values determine the map. ",
    if (length(plan$fits) + length(latent_lines(plan)) > 1) paste0("Only differences between the classes matter, so all lines are shifted to the same mean over the ",
      if (is.null(seen)) "scores drawn." else "calibration scores (true and other classes have half of the weight each)."),
    if (!is.null(same)) paste0(" ", say_and(same), " are nearly the same: their lines coincide."),
    if (any(vapply(plan$gps, function(fit) fit$class_effects != "none", NA))) {
      if (length(first$classes) == 2) {
        " The effects of the classes are not drawn here; plot_map() shows them."
      } else {
        " The effects of the classes are not drawn here."
      }
    },
    if (!is.null(first$floor) && "temperature" %in% plan$compare && isTRUE(is.finite(seen$temperature))) {
      paste0(" The temperature line was fitted after raising probabilities below ", format(first$floor, digits = 2), " to ", format(first$floor, digits = 2), ".")
    },
    if (some) {
      paste0(" Temperature and other classes from ", say_number(seen$rows), " of ",
        say_number(first$n), " rows.")
    },
    if (beyond > 5e-4) paste0(" Shown: the central ", format(100 * (1 - beyond), digits = 3), "% of the scores."),
    if (tiny_words(histogram, base_size)) scores_said, instead = if (histogram && !tiny_words(histogram, base_size)) scores_said, base_size = base_size
  )
}
