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
#' times ([set.seed()] governs). An `observed` outside its band speaks against calibration.
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
#' @param replicates For `method = "isotonic"`: how many draws the band rests on.
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
#'   norm 1, from the rows of the table), `overconfidence`, `underconfidence`, and for isotonic
#'   tables `corp`, which `summary()` returns.
#' @references
#' Dimitriadis, T., Gneiting, T. and Jordan, A. I. (2021). Stable reliability diagrams for
#' probabilistic classifiers. *Proceedings of the National Academy of Sciences* 118, e2016191118.
#'
#' Guo, C., Pleiss, G., Sun, Y. and Weinberger, K. Q. (2017). On calibration of modern neural
#' networks. *International Conference on Machine Learning*.
#' @examples
#' p <- c(.1, .2, .3, .4, .65, .7, .8, .9, 1)
#' y <- c(0, 0, 0, 0, 1, 1, 1, 1, 1)
#' reliability_table(p, y, bins = 3, type = "event")
#'
#' x <- c(.4, .3, .2, .1, .5, .9)
#' curve <- reliability_table(x, c(0, 0, 0, 1, 1, 1), type = "event", method = "isotonic")
#' curve
#' summary(curve)
#' @export
reliability_table <- function(probs, labels, bins = 15,
                              type = c("confidence", "classwise", "top_label", "event"),
                              method = c("bins", "isotonic"), event = NULL,
                              binning = c("width", "mass"), conf_level = 0.95,
                              interval = c("wilson", "clopper-pearson"), replicates = 1000,
                              weights = NULL) {
  forecast <- check_forecast(probs, labels, weights)
  spec <- ece_spec(forecast$classes, bins = bins, type = type, event = event, binning = binning)
  method <- check_choice(method, c("bins", "isotonic"), "method")
  interval <- check_choice(interval, c("wilson", "clopper-pearson"), "interval")
  if (!is.null(conf_level)) conf_level <- check_level(conf_level)
  replicates <- check_count(replicates, "replicates", 1)
  type <- ece_types[spec$type + 1]

  corp <- NULL
  if (method == "bins") {
    table <- bin_rows(forecast, spec, type)
    limits <- frequency_interval(table$observed, table$n, conf_level, interval)
  } else {
    fits <- isotonic_fits(forecast, spec, type)
    table <- isotonic_rows(forecast, fits)
    limits <- consistency_band(forecast, fits, conf_level, replicates)
    corp <- corp_parts(forecast, fits)
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
    ece = sum(table$n * abs(table$gap), na.rm = TRUE) / sum(table$n),
    overconfidence = measure_overconfidence(totals, warn = FALSE),
    underconfidence = measure_underconfidence(totals, warn = FALSE),
    corp = corp,
    class = c("reliability_table", "data.frame")
  )
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

isotonic_fits <- function(forecast, spec, type) {
  codes <- switch(type, event = spec$event, classwise = seq_along(forecast$classes),
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

consistency_band <- function(forecast, fits, level, replicates) {
  if (is.null(level)) return(list(low = NA_real_, high = NA_real_))
  seed <- draw_seed()
  ranges <- Map(function(code, fit) {
    at <- fit$score
    draw <- function(first, count) .Call(C_band_draw, forecast, code, at, seed, first, count)
    apply(draw_replicates(draw, replicates), 1, middle_range, level = level)
  }, fits$codes, fits$fits)
  ranges <- do.call(cbind, ranges)
  list(low = ranges[1, ], high = ranges[2, ])
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

# Methods ---------------------------------------------------------------------------------

#' @param object,x A reliability table.
#' @param digits,rows How many decimals and rows to print.
#' @param ... Passed on to [print.data.frame()]; `summary()` ignores it.
#' @rdname reliability_table
#' @return `summary()` returns, for isotonic tables, a data frame with the columns `class`,
#'   `measure`, `score`, `miscalibration`, `discrimination`, `uncertainty`; for bins, one with
#'   `class`, `n`, `confidence`, `observed`, `gap`, `ece` and `mce` (norms 1 and Inf).
#' @export
summary.reliability_table <- function(object, ...) {
  corp <- attr(object, "corp")
  if (!is.null(corp)) return(corp)
  table <- as.data.frame(object)
  code <- ifelse(is.na(table$class), 0L, as.integer(table$class))
  rows <- lapply(split(table, code), function(part) {
    full <- part[part$n > 0, ]
    total <- sum(full$n)
    average <- function(x) if (total > 0) sum(full$n * x) / total else NA_real_
    data.frame(
      class = part$class[1], n = total,
      confidence = average(full$confidence), observed = average(full$observed),
      gap = average(full$gap), ece = average(abs(full$gap)),
      mce = if (total > 0) max(abs(full$gap)) else NA_real_
    )
  })
  out <- do.call(rbind, rows)
  rownames(out) <- NULL
  out
}

#' @rdname reliability_table
#' @export
print.reliability_table <- function(x, digits = 3, rows = 20, ...) {
  about <- function(name) attr(x, name)
  if (!is.null(about("type"))) {
    kind <- if (about("method") == "isotonic") "isotonic" else paste0("equal ", about("binning"))
    cat("Reliability table: ", about("type"), ", ", kind, "; ", about("N"), " rows, ",
      about("K"), " classes; ECE ", format(round(about("ece"), digits)), "\n", sep = "")
  }
  table <- as.data.frame(x)
  filled <- if (is.null(table$n)) table else table[table$n > 0, , drop = FALSE]
  if (!is.null(filled$class) && all(is.na(filled$class))) filled$class <- NULL
  numeric <- vapply(filled, is.double, NA)
  filled[numeric] <- lapply(filled[numeric], round, digits = digits)
  print(utils::head(filled, rows), row.names = FALSE, ...)
  hidden <- c(nrow(filled) - min(rows, nrow(filled)), nrow(table) - nrow(filled))
  said <- c(sprintf("%d more rows", hidden[1]), sprintf("%d empty bins", hidden[2]))[hidden > 0]
  if (length(said)) cat("(", paste(said, collapse = ", "), ")\n", sep = "")
  invisible(x)
}

#' @export
as.data.frame.reliability_table <- function(x, ...) {
  plain <- c("names", "row.names")
  attributes(x) <- c(attributes(x)[plain], class = "data.frame")
  x
}
