# The isotonic and the smooth curve of a reliability table, with their bands.

# Isotonic --------------------------------------------------------------------------------

isotonic_parts <- function(forecast, how, clusters) {
  codes <- curve_codes(forecast, how)
  fits <- list(codes = codes, fits = lapply(codes, function(code) .Call(C_corp_fit, forecast, code)))
  table <- isotonic_rows(forecast, fits)
  band <- isotonic_band(forecast, fits, how, clusters)
  list(table = table, band = band, limits = band_at(band, table), corp = corp_parts(forecast, fits),
    spread = score_spread(forecast, how))
}

isotonic_rows <- function(forecast, fits) {
  table <- table_columns(fits$codes, fits$fits, forecast$classes)
  table$confidence <- unlist(lapply(fits$fits, `[[`, "score"))
  table$observed <- unlist(lapply(fits$fits, `[[`, "fit"))
  table
}

band_points <- 50 # places of a band at least, evenly spaced, beside the ends of the blocks

#' The band from the lowest to the highest score of each class
#' @noRd
isotonic_band <- function(forecast, fits, how, clusters) {
  if (is.null(how$level)) return(NULL)
  replicates <- how$replicates
  if (is.null(replicates)) {
    replicates <- as.integer(max(100, min(1000, floor(2e7 / nrow(forecast$probs)))))
  }
  seed <- draw_seed()
  parts <- Map(function(code, fit) {
    ends <- range(fit$lower, fit$upper)
    at <- sort(unique(c(fit$lower, fit$score, fit$upper,
      seq(ends[1], ends[2], length.out = band_points))))
    # A band for the whole curve is made at places that know nothing of the labels: at its own jumps the
    # observed curve is more extreme than others are there.
    places <- if (how$band == "simultaneous") score_places(forecast$probs[, code]) else at
    # What outcomes are drawn from: the probabilities (NULL), or a smooth curve.
    smooth <- if (how$band == "confidence") {
      smooth_fit(forecast$probs[, code], as.integer(forecast$labels == code), forecast$weights)
    }
    from <- if (!is.null(smooth)) smooth_at(smooth, curve_log_odds(forecast$probs[, code], sum(smooth$cells$w))$x)$value
    draw <- function(first, count) {
      .Call(C_band_draw, forecast, code, places, from, clusters$codes, clusters$count, seed, first, count)
    }
    drawn <- draw_replicates(draw, replicates)
    limits <- switch(how$band,
      consistency = apply(drawn, 1, middle_range, level = how$level),
      simultaneous = spread_band(whole_band(cbind(curve_at(fit, places), drawn), how$level), places, at),
      around_curve(drawn, curve_at(fit, at), how$level))
    data.frame(class = factor(forecast$classes[code], levels = forecast$classes), score = at,
      conf.low = limits[1, ], conf.high = limits[2, ])
  }, fits$codes, fits$fits)
  do.call(rbind, parts)
}

#' Quantiles of the scores and evenly spaced places between the lowest and the highest
#' @noRd
score_places <- function(scores) {
  ends <- range(scores)
  sort(unique(c(stats::quantile(scores, seq(0, 1, length.out = 2 * band_points), type = 1, names = FALSE),
    seq(ends[1], ends[2], length.out = band_points))))
}

#' A band at other places: between two of its own the curve rises from the one to the other
#' @noRd
spread_band <- function(limits, places, at) {
  left <- pmax(1L, findInterval(at, places))
  right <- pmin(length(places), findInterval(at, places, left.open = TRUE) + 1L)
  rbind(limits[1, left], limits[2, right])
}

#' Values of a fitted curve
#' @noRd
curve_at <- function(fit, at) {
  stats::approx(c(rbind(fit$lower, fit$upper)), rep(fit$fit, each = 2), at, ties = "ordered", rule = 2)$y
}

#' A band that a share `level` of the curves does not leave anywhere
#'
#' On the scale of arcsine square roots, where frequencies have about the same spread everywhere: so many standard
#' deviations to each side of the mean curve.
#' @param drawn curves in columns, the observed one among them: under calibration it is one of equals, and so it is among the
#'   share that leaves the band with probability 1 - level at most, however few curves were drawn.
#' @return 2 x places.
#' @noRd
whole_band <- function(drawn, level) {
  bent <- asin(sqrt(drawn))
  middle <- rowMeans(bent)
  spread <- pmax(sqrt(rowMeans((bent - middle)^2)), 1e-9)
  farthest <- apply(abs(bent - middle) / spread, 2, max)
  factor <- sort(farthest)[ceiling(level * length(farthest) - 1e-9)] * (1 + 1e-9) # the curve that decides is inside
  rbind(sin(pmax(0, middle - factor * spread))^2, sin(pmin(pi / 2, middle + factor * spread))^2)
}

#' A band around the curve: where curves of outcomes drawn from a smooth one lie, and the curve itself
#'
#' Drawn from the isotonic curve, whose steps are not there in truth, they would promise too much
#' (Sen, Banerjee and Woodroofe, 2010).
#' @noRd
around_curve <- function(drawn, own, level) {
  ends <- apply(drawn, 1, middle_range, level = level)
  rbind(pmin(own, ends[1, ]), pmax(own, ends[2, ]))
}

#' The band at the blocks' mean scores, which are among its places
#' @noRd
band_at <- function(band, table) {
  if (is.null(band)) return(list(low = NA_real_, high = NA_real_))
  rows <- match(paste(as.integer(table$class), format_exact(table$confidence)),
    paste(as.integer(band$class), format_exact(band$score)))
  list(low = band$conf.low[rows], high = band$conf.high[rows])
}

format_exact <- function(x) sprintf("%a", x)

spread_bins <- 20L

#' A histogram of the scores, which blocks of pooled scores do not show
#' @noRd
score_spread <- function(forecast, how) {
  spec <- how$spec
  spec$bins <- spread_bins
  spec$mass <- FALSE
  table <- keep_rows(bin_rows(.Call(C_bin_sums, forecast, spec), spec, how$type, forecast$classes), how$kept, forecast$classes)
  table$hits <- ifelse(table$n > 0, table$n * table$observed, 0) # a smooth curve does not keep them
  table[c("class", "lower", "upper", "n", "hits")]
}

corp_parts <- function(forecast, fits) {
  rows <- Map(function(code, fit) {
    parts <- rbind(fit$brier, fit$log)
    data.frame(
      class = factor(forecast$classes[code], levels = forecast$classes),
      measure = c("brier_score", "log_loss"),
      score = parts[, 1],
      miscalibration = parts[, 1] - parts[, 2],
      discrimination = parts[, 3] - parts[, 2],
      uncertainty = parts[, 3]
    )
  }, fits$codes, fits$fits)
  do.call(rbind, rows)
}

# Smooth ------------------------------------------------------------------------------------

smooth_parts <- function(forecast, how, clusters) {
  codes <- curve_codes(forecast, how)
  fits <- lapply(codes, function(code) {
    smooth_fit(forecast$probs[, code], as.integer(forecast$labels == code), forecast$weights, clusters)
  })
  table <- keep_rows(bin_rows(.Call(C_bin_sums, forecast, how$spec), how$spec, how$type, forecast$classes), how$kept, forecast$classes)
  smooth_table(table, forecast$classes[codes], forecast$classes, fits, how, score_spread(forecast, how))
}

#' @param table the bins; @param names the classes of the fits, of all `classes`.
#' @noRd
smooth_table <- function(table, names, classes, fits, how, spread) {
  level <- how$level
  table$observed <- NA_real_
  limits <- list(low = rep(NA_real_, nrow(table)), high = rep(NA_real_, nrow(table)))
  bands <- errors <- list()
  for (i in seq_along(fits)) {
    fit <- fits[[i]]
    rows <- which(table$class == names[i] & table$n > 0)
    ends <- range(fit$cells$x)
    shown <- inner_range(fit$cells) # beyond it the curve is only extended
    places <- sort(unique(c(stats::qlogis(seq(stats::plogis(shown[1]), stats::plogis(shown[2]),
      length.out = 2 * band_points)), seq(shown[1], shown[2], length.out = band_points))))
    places <- places[is.finite(places)]
    z <- if (is.null(level)) 0 else if (how$band == "simultaneous") {
      simultaneous_errors(fit, places, level)
    } else {
      stats::qnorm((1 + level) / 2)
    }
    sharp <- !is.null(level) && how$band != "simultaneous"
    limited <- function(x) {
      curve <- smooth_at(fit, x, z)
      if (sharp) sharpen_limits(fit, x, curve, level) else curve
    }
    curve <- limited(places)
    at <- limited(pmin(pmax(stats::qlogis(table$confidence[rows]), ends[1]), ends[2]))
    if (sharp) at <- sharpen_bins(fit, table$lower[rows], table$upper[rows], at, level)
    table$observed[rows] <- at$value
    if (!is.null(level)) {
      limits$low[rows] <- at$low
      limits$high[rows] <- at$high
    }
    class <- factor(names[i], levels = classes)
    bands[[i]] <- data.frame(class = class, score = stats::plogis(places), observed = curve$value,
      conf.low = if (is.null(level)) NA_real_ else curve$low,
      conf.high = if (is.null(level)) NA_real_ else curve$high)
    errors[[i]] <- data.frame(class = class, t(smooth_summary(fit)[, 1]), edf = fit$edf)
  }
  list(table = table, limits = limits, band = do.call(rbind, bands), smooth = do.call(rbind, errors),
    spread = spread)
}
