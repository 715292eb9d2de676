# Decision curves: what is gained by acting on a risk, threshold by threshold.

#' Net benefit and decision curves
#'
#' The net benefit of treating those whose risk of an event reaches a threshold, compared with treating all and treating none: the
#' decision curve of Vickers and Elkin (2006). The threshold \eqn{t} is the risk from which on treatment is worthwhile. It states how
#' harmful an unnecessary treatment is compared with a missed event: to treat from 10 % on is to accept nine unnecessary treatments for each event that is treated.
#' "Treat" stands for any action that is taken because of the risk.
#'
#' With N rows, of which \eqn{\mathrm{TP}(t)}{TP(t)} have the event and a risk of at least \eqn{t}, and \eqn{\mathrm{FP}(t)}{FP(t)} no event and a risk of at
#' least \eqn{t},
#' \deqn{\mathrm{NB}(t) = \frac{\mathrm{TP}(t)}{N} - \frac{\mathrm{FP}(t)}{N}\,\frac{t}{1 - t}.}{NB(t) = TP(t)/N - FP(t)/N * t/(1 - t).}
#' Treating none has net benefit 0; treating all has \eqn{\pi - (1 - \pi) t / (1 - t)}{pi - (1 - pi) t / (1 - t)}, where \eqn{\pi}{pi} is the frequency of the event. A
#' net benefit of 0.05 is worth 5 treated events among 100 people, with no unnecessary treatment. Higher is better, and at most
#' \eqn{\pi}{pi}. With `weights`, counts are sums of weights.
#'
#' A model is useful at a threshold if its net benefit exceeds that of treating all **and** that of treating none. `gain` is its net
#' benefit less the larger of the two. Choose beforehand the range of thresholds at which people would reasonably decide, and look
#' at the curve there. Do not choose a threshold because the curve is high there. Miscalibration lowers the net benefit, and a miscalibrated model can be worse
#' than treating all or none (Van Calster and Vickers, 2015).
#'
#' # Intervals
#' The net benefit at a threshold is a mean over rows. Its interval is Student's, with the standard error of a mean; with `groups`, that of sums within
#' groups. If m rows are treated, the standard error is taken as at least \eqn{\sqrt{m\, t / (1 - t)} / N}{sqrt(m t / (1 - t)) / N}, its value if their risk were exactly
#' \eqn{t}: otherwise a few treated people who all have the event would leave no uncertainty. If no row is treated, there is no interval.
#'
#' The gain is the smaller of two differences: from treating all, and from treating none. Each difference has a paired interval. `gain.low` is the smaller of their lower limits, `gain.high` the
#' smaller of their upper limits. If `gain.low` is above 0, the model is better than both strategies, at the level of the interval.
#'
#' An interval holds for its threshold, not for all thresholds at once. It takes the model, and a calibrator, as known.
#'
#' # Murphy diagrams
#' The mean elementary score of [plot_murphy()] is the same quantity on another scale, \eqn{2(1 - t)\{\pi - \mathrm{NB}(t)\}}{2 (1 - t) (pi - NB(t))}, apart
#' from risks of exactly \eqn{t} (within 1e-9), which are treated here.
#'
#' @param probs The probabilities of one forecast, as in [ece()], or a named list of such.
#' @param labels The true classes, the same for all.
#' @param thresholds Risks from 0 to below 1. At each of them, everyone with at least this risk is treated.
#' @param event The class that is the event. `NULL`: the second of two classes.
#' @param conf_level Level of the intervals; `NULL` for none.
#' @param by `NULL`, or a factor with one value per row: one result for each of its values.
#' @param groups `NULL`, or one value per row: rows with the same value may depend on each other.
#' @param weights `NULL`, or one weight per row.
#' @param event_level `"first"`: the first of two classes is the event.
#' @return A data frame of class `net_benefit` with one row per forecast and threshold, those of the strategies `"treat all"` and `"treat none"` last, and the columns `forecast`,
#'   `threshold`, `treated` (the share of rows with a risk of at least that), `net_benefit`, `std.error`, `conf.low`, `conf.high`, `gain`, `gain.low`
#'   and `gain.high` (`NA` for the two strategies); with `by`, that first.
#' @references
#' Vickers, A. J. and Elkin, E. B. (2006). Decision curve analysis: a novel method for evaluating prediction models. *Medical Decision Making*
#' 26, 565-574.
#'
#' Van Calster, B. and Vickers, A. J. (2015). Calibration of risk prediction models: impact on decision-analytic performance. *Medical Decision Making*
#' 35, 162-169.
#' @seealso [calib_validate()] for the calibration of the same risk.
#' @family pictures
#' @examples
#' fit <- calib_platt(rain_nyc$prob, rain_nyc$rain)
#' curves <- net_benefit(list(raw = rain_nyc$prob, platt = predict(fit, rain_nyc$prob)),
#'   rain_nyc$rain, thresholds = seq(0.05, 0.6, 0.01), groups = as.Date(rain_nyc$time))
#' curves
#' ggplot2::autoplot(curves)
#' @export
net_benefit <- function(probs, labels, thresholds = seq(0.01, 0.99, 0.01), event = NULL, ..., conf_level = 0.95, by = NULL,
                        groups = NULL, weights = NULL, event_level = c("second", "first")) {
  check_dots_empty(...)
  if (missing(probs)) stop_input("probs", "is missing", "Give the probabilities of the classes.")
  check_no_fit(probs, "probs")
  if (missing(labels)) stop_input("labels", "is missing", "Give the true class of every row.")
  thresholds <- check_thresholds(thresholds)
  forecasts <- check_forecasts(probs, labels, weights, "probs")
  taken <- intersect(names(forecasts), names(strategies))
  if (length(taken)) {
    stop_input("probs", paste0("has a forecast named ", say_values(taken)), "That is the name of a strategy in the result; choose another.")
  }
  first <- forecasts[[1]]
  event <- check_event(event, "event", first$classes, event_level)
  if (!is.null(conf_level)) conf_level <- check_level(conf_level)
  groups <- check_groups(groups, nrow(first$probs))
  rows <- if (!is.null(by)) rows_by(check_by(by, nrow(first$probs)))
  parts <- if (is.null(by)) list(first) else lapply(names(rows), function(name) forecast_rows(first, rows[[name]], name))
  tables <- lapply(seq_along(parts), function(i) {
    own <- if (is.null(rows)) seq_len(nrow(first$probs)) else rows[[i]]
    risks <- lapply(forecasts, function(forecast) forecast$probs[own, event])
    benefit_table(risks, first$labels[own] == event, first$weights[own], thresholds, conf_level, groups[own])
  })
  hit <- lapply(parts, function(part) part$labels == event & if (is.null(part$weights)) TRUE else part$weights > 0)
  counted <- vapply(parts, function(part) if (is.null(part$weights)) length(part$labels) else sum(part$weights > 0), 0)
  structure(if (is.null(by)) tables[[1]] else bind_groups(tables, names(rows)), event = first$classes[event],
    n = stats::setNames(counted, names(rows)), events = stats::setNames(vapply(hit, sum, 0), names(rows)), conf_level = conf_level,
    groups = if (!is.null(groups)) max(groups), class = c("net_benefit", "data.frame"))
}

# Probabilities that are at least any threshold, and below every one
strategies <- c("treat all" = Inf, "treat none" = -Inf)

same_risk <- 1e-9 # rounding must not decide whether a risk of 0.3 reaches a threshold of 0.3

check_thresholds <- function(thresholds) {
  if (!is.numeric(thresholds) || !length(thresholds) || length(dim(thresholds)) > 1) {
    stop_input("thresholds", "must be numbers from 0 to below 1", say_given(thresholds))
  }
  bad <- which(is.na(thresholds) | thresholds < 0 | thresholds >= 1)
  if (length(bad)) {
    value <- thresholds[bad[1]]
    stop_input("thresholds", "must be numbers from 0 to below 1", paste0("One of them is ", format(value), ".",
      if (isTRUE(value > 1 & value < 100)) paste0(" Write ", value / 100, " for ", value, " %.")))
  }
  sort(unique(as.double(thresholds)))
}

#' All forecasts, then the strategies
#' @param risks a list of probabilities of the event; @param hit whether it happened.
#' @noRd
benefit_table <- function(risks, hit, weights, thresholds, level, groups) {
  n <- length(hit)
  all <- c(risks, lapply(strategies, rep, n))
  parts <- lapply(names(all), function(name) {
    found <- vapply(thresholds, function(t) benefit_at(all[[name]], hit, weights, t, level, groups, !name %in% names(strategies)), numeric(8))
    out <- as.data.frame(t(found))
    names(out) <- c("treated", "net_benefit", "std.error", "conf.low", "conf.high", "gain", "gain.low", "gain.high")
    cbind(forecast = name, threshold = thresholds, out)
  })
  out <- do.call(rbind, parts)
  out$forecast <- factor(out$forecast, levels = names(all))
  out
}

#' One forecast at one threshold
#' @return the columns of the table from `treated` on.
#' @noRd
benefit_at <- function(risk, hit, weights, t, level, groups, model) {
  treated <- risk >= t - same_risk
  worth <- ifelse(hit, 1, -t / (1 - t)) # of a treatment; the mean over the treated is TP/N - FP/N t/(1 - t)
  own <- benefit_interval(worth, treated, t, weights, groups, level)
  gain <- c(NA_real_, NA, NA)
  if (model) {
    # What treating all loses by the others. The worse one of two differences decides, estimate and limits.
    over_all <- benefit_interval(-worth, !treated, t, weights, groups, level)
    gain <- pmin(own, over_all)[c(1, 3, 4)]
  }
  c(row_mean(as.double(treated), weights), own, gain)
}

#' The sum of `worth` over some of the rows, divided by the number of all, with its interval
#'
#' If the risk of these rows were just t, each would have mean 0 and variance t/(1 - t). This is the least variance that is taken: a few rows
#' without a single error would have almost none of their own. No rows at all have no interval.
#' @return c(estimate, error, low, high)
#' @noRd
benefit_interval <- function(worth, some, t, weights, groups, level) {
  found <- mean_interval(ifelse(some, worth, 0), weights, groups, 0.5)
  w <- if (is.null(weights)) rep(1, length(worth)) else weights
  least <- sqrt(sum(w[some]^2) * t / (1 - t)) / sum(w)
  error <- max(found[2], least)
  half <- if (!is.null(level) && found[3] > 0 && any(some)) stats::qt((1 + level) / 2, found[3]) * error else NA_real_
  c(found[1], error, found[1] - half, found[1] + half)
}

#' @param x,object A result of `net_benefit()`.
#' @param digits How many decimals to print.
#' @param ... Must be empty; for `plot()`, arguments of `autoplot()`.
#' @rdname net_benefit
#' @export
print.net_benefit <- function(x, digits = 3, ...) {
  whole <- c("forecast", "threshold", "net_benefit", "conf.low", "conf.high", "gain.low")
  table <- as.data.frame(x)
  parts <- if (is.null(table[["by"]])) list(table) else split(table, table$by)
  if (is.null(attr(x, "n")) || !all(whole %in% names(x)) || !all(vapply(parts, is_complete, NA))) {
    print(table, ...)
    return(invisible(x))
  }
  level <- attr(x, "conf_level")
  wide <- options(width = max(getOption("width"), 100L)) # a line for each threshold
  on.exit(options(wide))
  cat("Net benefit of acting on the probability of \"", attr(x, "event"), "\"", if (!is.null(level)) paste0(", ", say_level(level), " intervals"), "\n", sep = "")
  for (i in seq_along(parts)) {
    n <- attr(x, "n")[[i]]
    events <- attr(x, "events")[[i]]
    cat(if (!is.null(table[["by"]])) paste0("\n-- ", names(parts)[i], ": "), say_number(n), " rows, ", say_number(events), " events (",
      format(100 * events / n, digits = 3), " %)\n", sep = "")
    print(shown_benefit(parts[[i]], digits, level), row.names = FALSE, right = TRUE)
    if (!is.null(level)) cat(paste0(strwrap(say_gains(parts[[i]], level), 80), collapse = "\n"), "\n", sep = "")
  }
  cat("Treating none: 0 at every threshold. All numbers: as.data.frame(); curves: autoplot()\n")
  invisible(x)
}

#' Does the table still have every forecast at every threshold? Some rows of it may have been chosen.
#' @noRd
is_complete <- function(part) {
  places <- table(factor(part$threshold), part$forecast)
  length(places) > 0 && all(places == 1)
}

#' A column for each forecast, at about nine thresholds at most
#' @noRd
shown_benefit <- function(part, digits, level) {
  thresholds <- unique(part$threshold)
  if (length(thresholds) > 9) { # those nearest to round numbers
    thresholds <- thresholds[unique(vapply(pretty(range(thresholds), 7), function(at) which.min(abs(thresholds - at)), 0L))]
  }
  number <- function(v) no_minus_zero(formatC(v, digits = digits, format = "f"))
  out <- data.frame(threshold = say_plain(thresholds))
  for (name in setdiff(levels(part$forecast), "treat none")) {
    own <- part[part$forecast == name & part$threshold %in% thresholds, ]
    ends <- if (is.null(level) || name == "treat all") "" else ifelse(is.na(own$conf.low), "", paste0(" (", number(own$conf.low), ", ", number(own$conf.high), ")"))
    out[[name]] <- paste0(number(own$net_benefit), ends)
  }
  out
}

#' Where each forecast is clearly better than both strategies, in words
#' @noRd
say_gains <- function(part, level) {
  vapply(setdiff(levels(part$forecast), names(strategies)), function(name) {
    own <- part[part$forecast == name, ]
    own <- own[order(own$threshold), ]
    clear <- !is.na(own$gain.low) & own$gain.low > 0
    paste0("\"", name, "\": ", if (any(clear)) {
      paste0("better than both treating all and treating none at thresholds ", say_stretches(own$threshold, clear), " (paired ", say_level(level), " interval of the gain above 0).")
    } else {
      "at no threshold clearly better than both treating all and treating none (paired interval of the gain above 0)."
    })
  }, "")
}

#' "0.1 to 0.4 and 0.6"
#' @noRd
say_stretches <- function(at, chosen) {
  runs <- rle(chosen)
  last <- cumsum(runs$lengths)
  first <- last - runs$lengths + 1
  text <- ifelse(first == last, say_plain(at[first]), paste(say_each(at[first]), "to", say_each(at[last])))[runs$values]
  if (length(text) > 5) return(paste0(paste(text[1:5], collapse = ", "), " and some others"))
  if (length(text) == 1) return(text)
  paste(paste(text[-length(text)], collapse = ", "), "and", text[length(text)])
}

say_each <- function(x) vapply(x, say_plain, "")

#' @export
as.data.frame.net_benefit <- function(x, ...) {
  attributes(x) <- c(attributes(x)[c("names", "row.names")], class = "data.frame")
  x
}

#' @rdname net_benefit
#' @export
tidy.net_benefit <- function(x, ...) as.data.frame(x)

#' @param band Whether to draw the pointwise intervals. `NULL`: for one or two forecasts.
#' @param base_size Size of the text, in points; 7 suits a picture three inches wide.
#' @return `autoplot()` gives a ggplot object; its `data` are the rows of the table.
#' @rdname net_benefit
#' @export
autoplot.net_benefit <- function(object, band = NULL, base_size = 9, ...) {
  check_dots_empty(...)
  base_size <- check_number(base_size, "base_size", 1, 100)
  if (!all(c("forecast", "threshold", "net_benefit", "conf.low", "conf.high") %in% names(object)) || !nrow(object)) {
    stop_input("object", "has lost columns or all rows", "Draw what net_benefit() returns.")
  }
  if (length(unique(object$threshold)) < 2) {
    stop_input("object", "has one threshold only, which is no curve", "Give net_benefit() two `thresholds` or more.")
  }
  table <- as.data.frame(object)
  table$forecast <- factor(table$forecast)
  models <- setdiff(levels(table$forecast), names(strategies))
  if (is.null(band)) band <- length(models) <= 2
  draw_benefit(table, models, check_flag(band, "band") && any(!is.na(table$conf.low)), attr(object, "event"), attr(object, "conf_level"), base_size)
}

draw_benefit <- function(table, models, band, event, level, base_size) {
  pen <- base_size / 10
  own <- table[table$forecast %in% models, ]
  names <- c(models, intersect(names(strategies), levels(table$forecast)))
  short <- stats::setNames(legend_names(names, base_size), names)
  colours <- stats::setNames(c(pick(ink, length(models), shift = FALSE), rep("grey45", length(names) - length(models))), names)
  stroke <- stats::setNames(c(pick(strokes, length(models)), c("treat all" = "11", "treat none" = "1171")[setdiff(names, models)]), names)
  # What lies below treating none matters only as such: the axis ends a little below 0.
  top <- max(table$net_benefit, if (band) own$conf.high, na.rm = TRUE)
  if (top <= 0) top <- 0.01
  low <- max(-0.25 * top, min(table$net_benefit, if (band) own$conf.low, 0, na.rm = TRUE))
  cut <- any(table$net_benefit < low - 1e-12)
  ggplot(table, aes(.data$threshold, .data$net_benefit)) +
    (if (band) {
      # Where bands overlap, their fills mix to one colour: edges in that of the line tell them apart.
      ggplot2::geom_ribbon(aes(ymin = .data$conf.low, ymax = .data$conf.high, fill = .data$forecast, colour = .data$forecast, linetype = .data$forecast),
        data = own[!is.na(own$conf.low), ], alpha = 0.1, linewidth = 0.3 * pen, outline.type = "both", show.legend = FALSE)
    }) +
    ggplot2::geom_line(aes(colour = .data$forecast, linetype = .data$forecast), linewidth = 0.6 * pen) +
    ggplot2::scale_colour_manual(values = colours, breaks = names, labels = short) +
    scale_fill_manual(values = colours, guide = "none") +
    ggplot2::scale_linetype_manual(values = stroke, breaks = names, labels = short) +
    scale_x_continuous(labels = say_plain, expand = c(0.01, 0)) +
    scale_y_continuous(labels = say_plain) +
    ggplot2::coord_cartesian(ylim = c(low, top)) +
    labs(x = paste0("Threshold probability", if (!is.null(event)) paste0(" of \"", shorten(event, 20), "\"")), y = "Net benefit", colour = NULL, linetype = NULL,
      caption = wrap_words("Higher is better; a model is useful where it lies above both treating all and treating none.",
        if (band && !is.null(level)) paste0(" Bands: ", say_level(level), " intervals at each threshold, with edges in the colour of the line."),
        if (cut) " Where a line leaves the picture at the bottom, that model or strategy is worse there than treating none.", base_size = base_size)) +
    picture_theme(base_size) +
    (if (!is.null(table[["by"]])) facet_wrap(vars(.data$by), labeller = ggplot2::as_labeller(function(x) shorten(x, 24)))) +
    legend_above(short, c("colour", "linetype"), base_size)
}

#' @rdname net_benefit
#' @export
plot.net_benefit <- function(x, ...) {
  print(autoplot(x, ...))
  invisible(x)
}
