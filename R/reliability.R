# Reliability tables: what a reliability diagram draws.

#' Reliability table
#'
#' Stated probabilities beside observed frequencies, in bins or along an isotonic curve: the
#' numbers behind a reliability diagram.
#'
#' @section Bins:
#' `method = "bins"` sorts the scores into bins as [ece()] does. `conf.low` and `conf.high` are an
#' interval for the frequency in the bin: Wilson's, or that of Clopper and Pearson, with the
#' weight in the bin as the number of trials.
#'
#' @section Isotonic curve:
#' `method = "isotonic"`, for the types `"event"` and `"classwise"`, needs no bins: the frequency is
#' taken to rise with the probability and is estimated by pooling adjacent violators (the CORP
#' approach of Dimitriadis, Gneiting and Jordan, 2021). Each row of the table is one block of pooled
#' scores; `lower` and `upper` are the smallest and the largest of them. Here `conf.low` and
#' `conf.high` do not surround the estimate: they are a consistency band, the range in which the
#' curve at the score `confidence` would lie with probability `conf_level` if the forecast were
#' calibrated, found by drawing outcomes from the probabilities and fitting again, `replicates`
#' times ([set.seed()] governs). An `observed` outside its band speaks against calibration. The
#' attribute `band` holds the band at more places, from the lowest to the highest score.
#'
#' `summary()` of such a table splits the mean score of each class's probability, Brier score and
#' log loss, into
#' \deqn{\mathrm{score} = \mathrm{MCB} - \mathrm{DSC} + \mathrm{UNC},}{score = MCB - DSC + UNC,}
#' miscalibration (what the curve would improve; 0 is best), discrimination (what the curve is
#' better by than the constant frequency; higher is better) and uncertainty (the score of that
#' constant, the same for all forecasts of the event).
#'
#' @inheritParams ece
#' @param bins Number of bins.
#' @param type What is compared with what, see [ece()].
#' @param method `"bins"` or the `"isotonic"` curve, see below.
#' @param conf_level Level of the intervals or the band; `NULL` for none.
#' @param interval Kind of interval for a bin's frequency. Weights count as numbers of rows in it, so
#'   that their scale matters.
#' @param classes For `"classwise"` and `"top_label"`: the names of the classes to keep, or a number
#'   for that many of the largest (by true, or predicted, rows), largest first; `NULL` for all.
#' @param replicates For `method = "isotonic"`: how many draws the band rests on. `NULL`: 1000 for up
#'   to 20,000 rows, fewer for more (2e7 divided by the rows), but at least 100.
#' @return A data frame of class `reliability_table` with one row per bin or block, empty bins
#'   included, and the columns
#'   \describe{
#'     \item{`class`}{factor: the class (`"classwise"`, `"event"`), the predicted class
#'       (`"top_label"`), or `NA`;}
#'     \item{`bin`}{number of the bin, within the class;}
#'     \item{`lower`, `upper`}{its edges;}
#'     \item{`n`}{number of rows, or their weight;}
#'     \item{`confidence`, `observed`}{mean score and frequency; `NA` in empty bins;}
#'     \item{`gap`}{`confidence - observed`: positive where the forecast promises too much;}
#'     \item{`conf.low`, `conf.high`}{interval or band.}
#'   }
#'   Attributes: `type`, `method`, `binning`, `conf_level`, `N` (rows), `K`, `classes`, `ece` (with
#'   norm 1, from the rows of the table), `overconfidence`, `underconfidence`, `total` (sum of `n`),
#'   and for isotonic tables `corp`, which `summary()` returns, `band` (columns `class`, `score`,
#'   `conf.low`, `conf.high`) and `spread` (a histogram: `class`, `lower`, `upper`, `n`). Rows taken
#'   out by `[` leave a table whose `ece` is that of the rows left.
#' @references
#' Dimitriadis, T., Gneiting, T. and Jordan, A. I. (2021). Stable reliability diagrams for
#' probabilistic classifiers. *Proceedings of the National Academy of Sciences* 118, e2016191118.
#'
#' Guo, C., Pleiss, G., Sun, Y. and Weinberger, K. Q. (2017). On calibration of modern neural
#' networks. *International Conference on Machine Learning*.
#' @examples
#' p <- c(.1, .2, .3, .4, .65, .7, .8, .9, 1)
#' y <- c(0, 0, 0, 0, 1, 1, 1, 1, 1)
#' reliability_table(p, y, bins = 3)
#'
#' x <- c(.4, .3, .2, .1, .5, .9)
#' curve <- reliability_table(x, c(0, 0, 0, 1, 1, 1), method = "isotonic")
#' curve
#' summary(curve)
#' @export
reliability_table <- function(probs, labels, bins = 15,
                              type = c("auto", "confidence", "classwise", "top_label", "event"),
                              method = c("bins", "isotonic"), event = NULL,
                              binning = c("width", "mass"), conf_level = 0.95,
                              interval = c("wilson", "clopper-pearson"), classes = NULL,
                              replicates = NULL, weights = NULL,
                              event_level = c("second", "first")) {
  forecast <- check_forecast(probs, labels, weights)
  spec <- ece_spec(forecast$classes, bins = bins, type = type, event = event, binning = binning,
    event_level = event_level)
  method <- check_choice(method, c("bins", "isotonic"), "method")
  interval <- check_choice(interval, c("wilson", "clopper-pearson"), "interval")
  if (!is.null(conf_level)) conf_level <- check_level(conf_level)
  if (!is.null(replicates)) replicates <- check_count(replicates, "replicates", 1)
  type <- ece_types[spec$type + 1]
  kept <- kept_classes(forecast, classes, type)

  corp <- band <- spread <- NULL
  if (method == "bins") {
    table <- keep_rows(bin_rows(forecast, spec, type), kept, forecast$classes)
    limits <- frequency_interval(table$observed, table$n, conf_level, interval)
  } else {
    fits <- isotonic_fits(forecast, spec, type, kept)
    table <- isotonic_rows(forecast, fits)
    corp <- corp_parts(forecast, fits)
    spread <- score_spread(forecast, spec, type, kept)
    band <- consistency_band(forecast, fits, conf_level, replicates)
    limits <- band_at(band, table)
  }
  totals <- forecast_totals(forecast)
  table$gap <- table$confidence - table$observed
  table$conf.low <- limits$low
  table$conf.high <- limits$high
  structure(table,
    type = type, method = method,
    binning = if (method == "bins") ece_binnings[spec$mass + 1],
    conf_level = conf_level, N = nrow(forecast$probs), K = length(forecast$classes),
    classes = forecast$classes,
    ece = table_ece(table), total = sum(table$n),
    overconfidence = measure_overconfidence(totals, warn = FALSE),
    underconfidence = measure_underconfidence(totals, warn = FALSE),
    corp = corp, band = band, spread = spread,
    class = c("reliability_table", "data.frame")
  )
}

table_ece <- function(table) sum(table$n * abs(table$gap), na.rm = TRUE) / sum(table$n)

# Which classes ---------------------------------------------------------------------------

#' Codes of the classes that a table is to hold, in its order; NULL for all of them
#' @noRd
kept_classes <- function(forecast, classes, type) {
  if (is.null(classes)) return(NULL)
  if (!type %in% c("classwise", "top_label")) {
    stop_input("classes", paste0("is given but type is \"", type, "\""),
      "Only \"classwise\" and \"top_label\" tables have several classes.")
  }
  codes <- if (type == "top_label") forecast$pred else forecast$labels
  if (is.numeric(classes) && length(classes) == 1) {
    most <- check_count(classes, "classes")
    known <- factor(codes, levels = seq_along(forecast$classes))
    sizes <- if (is.null(forecast$weights)) table(known) else {
      stats::xtabs(forecast$weights ~ known)
    }
    return(utils::head(order(-as.vector(sizes)), most))
  }
  found <- match(as.character(classes), forecast$classes)
  if (!length(found) || anyNA(found) || anyDuplicated(found)) {
    stop_input("classes", "must be a number, or names of classes, each once",
      paste0("The classes are ", say_values(forecast$classes), "."))
  }
  found
}

keep_rows <- function(table, kept, classes) {
  if (is.null(kept)) return(table)
  table <- do.call(rbind, lapply(kept, function(code) table[as.integer(table$class) == code, ]))
  rownames(table) <- NULL
  table$class <- factor(as.character(table$class), levels = classes)
  table
}

#' First columns of the table; each argument a list with one vector per problem
#' @noRd
table_columns <- function(codes, parts, classes) {
  sizes <- vapply(parts, function(part) length(part$weight), 0L)
  column <- function(name) unlist(lapply(parts, `[[`, name), use.names = FALSE)
  data.frame(
    class = factor(classes[rep(codes, sizes)], levels = classes),
    bin = sequence(sizes),
    lower = column("lower"), upper = column("upper"), n = column("weight")
  )
}

bin_rows <- function(forecast, spec, type) {
  parts <- .Call(C_bin_sums, forecast, spec)
  codes <- switch(type, confidence = NA_integer_, event = spec$event, seq_along(parts))
  table <- table_columns(codes, parts, forecast$classes)
  share <- function(name) {
    sums <- unlist(lapply(parts, `[[`, name))
    ifelse(table$n > 0, sums / table$n, NA_real_)
  }
  table$confidence <- share("score")
  table$observed <- share("hits")
  table
}

#' An interval for a frequency `p` among `n` trials, which need not be whole numbers
#' @noRd
frequency_interval <- function(p, n, level, kind) {
  if (is.null(level)) return(list(low = rep(NA_real_, length(p)), high = rep(NA_real_, length(p))))
  if (kind == "wilson") {
    z2 <- stats::qnorm((1 + level) / 2)^2
    centre <- (p + z2 / (2 * n)) / (1 + z2 / n)
    half <- sqrt(z2 * (p * (1 - p) + z2 / (4 * n)) / n) / (1 + z2 / n)
    # At p = 0 and 1 the outer limit is p itself, up to rounding.
    return(list(low = ifelse(p == 0, 0, pmax(centre - half, 0)),
      high = ifelse(p == 1, 1, pmin(centre + half, 1))))
  }
  tail <- (1 - level) / 2
  p0 <- ifelse(is.na(p), 0, p)
  list(
    low = ifelse(is.na(p), NA, stats::qbeta(tail, p0 * n, n - p0 * n + 1)),
    high = ifelse(is.na(p), NA, stats::qbeta(1 - tail, p0 * n + 1, n - p0 * n))
  )
}

# Isotonic --------------------------------------------------------------------------------

isotonic_fits <- function(forecast, spec, type, kept) {
  codes <- switch(type, event = spec$event,
    classwise = if (is.null(kept)) seq_along(forecast$classes) else kept,
    stop_input("method", paste0("can be \"isotonic\" only for type \"event\" or \"classwise\""),
      "Other types compare within predictions, not the probability of a class."))
  list(codes = codes, fits = lapply(codes, function(code) .Call(C_corp_fit, forecast, code)))
}

isotonic_rows <- function(forecast, fits) {
  table <- table_columns(fits$codes, fits$fits, forecast$classes)
  table$confidence <- unlist(lapply(fits$fits, `[[`, "score"))
  table$observed <- unlist(lapply(fits$fits, `[[`, "fit"))
  table
}

band_points <- 50 # places of a band at least, evenly spaced, beside the ends of the blocks

#' The range of the curve under calibration, from the lowest to the highest score of each class
#' @noRd
consistency_band <- function(forecast, fits, level, replicates) {
  if (is.null(level)) return(NULL)
  if (is.null(replicates)) {
    replicates <- as.integer(max(100, min(1000, floor(2e7 / nrow(forecast$probs)))))
  }
  seed <- draw_seed()
  parts <- Map(function(code, fit) {
    ends <- range(fit$lower, fit$upper)
    at <- sort(unique(c(fit$lower, fit$score, fit$upper,
      seq(ends[1], ends[2], length.out = band_points))))
    draw <- function(first, count) .Call(C_band_draw, forecast, code, at, NULL, NULL, 0L, seed, first, count)
    limits <- apply(draw_replicates(draw, replicates), 1, middle_range, level = level)
    data.frame(class = factor(forecast$classes[code], levels = forecast$classes), score = at,
      conf.low = limits[1, ], conf.high = limits[2, ])
  }, fits$codes, fits$fits)
  do.call(rbind, parts)
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
score_spread <- function(forecast, spec, type, kept) {
  spec$bins <- spread_bins
  spec$mass <- FALSE
  table <- keep_rows(bin_rows(forecast, spec, type), kept, forecast$classes)
  table[c("class", "lower", "upper", "n")]
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
