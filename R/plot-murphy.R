# Murphy diagrams: forecasts of an event under every proper score at once.

#' Murphy diagram
#'
#' The mean elementary score of each forecast of an event against the threshold
#' \eqn{\theta}{theta}. A decision maker who acts when the probability exceeds \eqn{\theta}{theta} loses
#' \eqn{2\theta}{2 theta} by a false alarm and \eqn{2(1 - \theta)}{2 (1 - theta)} by a missed event:
#' \deqn{S_\theta(x, y) = 2\theta\,[x > \theta, y = 0] + 2(1 - \theta)\,[x \le \theta, y = 1].}{
#'   S(x, y) = 2 theta [x > theta, y = 0] + 2 (1 - theta) [x <= theta, y = 1].}
#' Every proper score is a mixture of these (Ehm et al., 2016): the area under a curve is the Brier score,
#' with the weight \eqn{1 / (2\theta(1 - \theta))}{1 / (2 theta (1 - theta))} it is the log loss. A forecast whose curve
#' lies everywhere below that of another is better under every proper score. Where curves cross, the better forecast
#' depends on the threshold.
#'
#' @param x The probabilities of one forecast (matrix, data frame or vector) or a named list of such.
#' @param labels The true classes, the same for all.
#' @param event The name of the class that is the event. May be left out for two classes; then it is the
#'   second.
#' @param points How many thresholds, evenly spaced. Forecasts with fewer different values than that are
#'   drawn exactly, with their jumps.
#' @param weights `NULL`, or one weight per row.
#' @param by `NULL`, or a factor with one value per row: a panel for each of its values.
#' @param base_size Size of the text, in points; 7 suits a picture three inches wide.
#' @param ... Must be empty.
#' @return A ggplot object; its `data` has the columns `forecast`, `theta` and `score` (with `by`, that first). The grey line is
#'   the constant forecast of the event's frequency (`climatology`).
#' @references
#' Ehm, W., Gneiting, T., Jordan, A. and Krueger, F. (2016). Of quantiles and expectiles: consistent scoring
#' functions, Choquet representations and forecast rankings. *Journal of the Royal Statistical Society B*
#' 78, 505-562.
#' @family pictures
#' @examples
#' fit <- calib_platt(rain_nyc$prob, rain_nyc$rain, scale = "logit")
#' plot_murphy(list(raw = rain_nyc$prob, platt = predict(fit, rain_nyc$prob)), rain_nyc$rain)
#' @export
plot_murphy <- function(x, labels, event = NULL, ..., points = 501, weights = NULL, by = NULL, base_size = 9) {
  check_dots_empty(...)
  if (missing(x)) stop_input("x", "is missing", "Give the probabilities of the classes.")
  check_no_fit(x, "x")
  if (missing(labels)) stop_input("labels", "is missing", "Give the true class of every row.")
  points <- check_count(points, "points", 2, 1e5)
  base_size <- check_number(base_size, "base_size", 1, 100)
  forecasts <- check_forecasts(x, labels, weights, "x")
  event <- check_event(event, "event", forecasts[[1]]$classes)
  rows <- if (!is.null(by)) rows_by(check_by(by, nrow(forecasts[[1]]$probs)))
  curves <- function(forecasts) {
    table <- do.call(rbind, lapply(names(forecasts), function(name) {
      cbind(forecast = name, murphy_curve(forecasts[[name]], event, points))
    }))
    table$forecast <- factor(table$forecast, levels = names(forecasts))
    table
  }
  constant <- function(forecasts) murphy_curve(constant_forecast(forecasts[[1]]), event, points)
  each <- function(make) {
    if (is.null(rows)) return(make(forecasts))
    bind_groups(lapply(names(rows), function(name) {
      make(lapply(forecasts, forecast_rows, rows = rows[[name]], name = name))
    }), names(rows))
  }
  draw_murphy(each(curves), each(constant), forecasts[[1]]$classes[event], base_size)
}

#' Thresholds and mean elementary scores; at a jump, both its ends
#' @noRd
murphy_curve <- function(forecast, event, points) {
  values <- unique(forecast$probs[, event])
  theta <- seq(0, 1, length.out = points)
  if (length(values) > points) {
    return(data.frame(theta = theta, score = .Call(C_murphy, forecast, event, theta)[, 1]))
  }
  theta <- sort(unique(c(theta, values)))
  both <- .Call(C_murphy, forecast, event, theta)
  jump <- both[, 1] != both[, 2] & theta > 0 # nothing lies left of 0
  out <- data.frame(theta = c(theta[jump], theta), score = c(both[jump, 2], both[, 1]))
  out <- out[order(out$theta, rep(0:1, c(sum(jump), length(theta)))), ]
  rownames(out) <- NULL
  out
}

#' Which curves lie on each other in all panels: a sentence, or NULL
#' @noRd
say_alike_scores <- function(table, top) {
  at <- seq(0, 1, length.out = 401)
  curves <- lapply(split(table, table$forecast), function(own) {
    unlist(lapply(split(own, if (is.null(own[["by"]])) rep(1, nrow(own)) else own$by, drop = TRUE), function(part) {
      stats::approx(part$theta, part$score, at, ties = mean, rule = 2)$y
    }))
  })
  alike <- near_ones(names(curves), function(one, other) {
    length(curves[[one]]) == length(curves[[other]]) && max(abs(curves[[one]] - curves[[other]])) < alike_curves * top
  })
  if (length(alike)) paste0(" The curves of ", paste(alike, collapse = ", and those of "), " nearly coincide.")
}

draw_murphy <- function(table, constant, event, base_size) {
  pen <- base_size / 10
  names <- levels(table$forecast)
  short <- stats::setNames(legend_names(names, base_size), names)
  width <- (if (length(names) > length(ink)) 0.5 else 0.7) * pen # many curves are thinner
  # A constant forecast far above the others would press their curves together.
  top <- max(table$score)
  cut <- top > 0 && max(constant$score) > 1.5 * top
  top <- if (cut) 1.15 * top else max(table$score, constant$score)
  curve <- paste(table$forecast, table[["by"]])
  stepped <- table[curve %in% curve[duplicated(data.frame(curve, table$theta))], ]
  ggplot(table, aes(.data$theta, .data$score)) +
    geom_path(data = constant, colour = "grey50", linewidth = 0.3 * pen) +
    # Gaps of a broken line at a jump would look like gaps of the curve: a thin line runs below it.
    geom_path(aes(colour = .data$forecast, group = .data$forecast), data = stepped, linewidth = 0.25 * pen, show.legend = FALSE) +
    geom_path(aes(colour = .data$forecast, linetype = .data$forecast), linewidth = width,
      show.legend = length(names) > 1) +
    ggplot2::scale_colour_manual(values = stats::setNames(pick(ink, length(names), shift = FALSE), names), breaks = names, labels = short) +
    ggplot2::scale_linetype_manual(values = stats::setNames(pick(strokes, length(names)), names), breaks = names, labels = short) +
    scale_x_continuous(limits = c(0, 1), breaks = seq(0, 1, 0.25), labels = say_plain, expand = c(0.01, 0)) +
    scale_y_continuous(labels = say_plain, expand = ggplot2::expansion(mult = c(0, 0.05))) +
    ggplot2::coord_cartesian(ylim = c(0, top)) +
    labs(x = "Threshold", y = "Mean elementary score", colour = NULL, linetype = NULL,
      caption = wrap_words("Event: ", shorten(event, 30), ". The area under a curve is the Brier score; lower is ",
        "better. Thin grey: the constant forecast", if (cut) ", which is worse than all others where it leaves the picture", ".", say_alike_scores(table, top), base_size = base_size)) +
    picture_theme(base_size) +
    (if (!is.null(table[["by"]])) facet_wrap(vars(.data$by), labeller = ggplot2::as_labeller(function(x) shorten(x, 24)))) +
    legend_above(short, c("colour", "linetype"), base_size)
}
