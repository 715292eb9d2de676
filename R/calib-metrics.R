# All measures in one table, with intervals and reference ranges by resampling.

#' All measures of a forecast
#'
#' Accuracy, log loss, Brier score, calibration errors, over- and underconfidence and sharpness in
#' one data frame; on request with intervals, and with the range of the calibration errors that a
#' calibrated forecast would show.
#'
#' With `conf_level`, measures that are means get an interval (`conf.low`, `conf.high`). The accuracy has Wilson's interval,
#' with the effective number of rows \eqn{(\sum w)^2/\sum w^2}{(sum w)^2 / sum w^2} when there are weights. Log loss, Brier
#' score, over- and underconfidence and the gap have bootstrap-t intervals: each replicate is studentised, so that the
#' interval follows the skewness caused by rare errors. No interval is given, with a warning of class
#' `gpcalib_warning_few`, where there are too few rows for a valid one: fewer than 10 wrongly or 10 correctly classified
#' rows for the losses and the gap, fewer than 30 wrongly classified rows for overconfidence, and fewer than 30
#' correctly classified ones for underconfidence. The gap is an absolute value. Its interval consists of the absolute
#' values in the interval of the signed gap, so that it begins at 0 when both signs are possible. Accuracy, gap, over-
#' and underconfidence always refer to the most likely class, whatever `type` says.
#'
#' Three functions give an interval of the same Brier score or log loss, by three methods, and these differ in the second or third digit: bootstrap-t here; by the
#' influence function, on the log scale, in [calib_validate()]; Student's t of the rows' scores in [compare_forecasts()], which is the one for differences between
#' forecasts. All three are valid for many rows; report one of them.
#'
#' The calibration errors have no interval, because resampling adds to their bias: a bootstrap interval might not even contain the
#' estimate. Instead they are compared with their distribution under calibration. Labels are drawn from the
#' probabilities, `replicates` times. `null.low` and `null.high` enclose the central share `conf_level` of the resulting errors: what is usual for
#' calibrated probabilities, too small as well as too large errors being unusual. The p-value asks only how often the error would be at least as large as observed, \eqn{(1 + \#\{\mathrm{drawn} \ge \mathrm{observed}\}) /
#' (\mathrm{replicates} + 1)}{(1 + #(drawn >= observed)) / (replicates + 1)}, so that it can be below 0.05 for an error just inside the
#' 95 % range. A small p-value is evidence against calibration.
#'
#' `calib_slope` is the inverse temperature 1/T: the factor a by which the log-probabilities would have to be multiplied,
#' \eqn{\mathrm{softmax}(a \log p)}{softmax(a log p)}, estimated by maximum likelihood. It is 1 for a calibrated forecast and less
#' for an overconfident one. It has no intercept. Cox's recalibration slope, `slope` of [calib_validate()], is estimated together with
#' an intercept; the two slopes differ where the event is forecast too often or too rarely. The interval of `calib_slope` is a Wald interval with a
#' robust standard error. Its p-value is that of the likelihood-ratio test of a = 1, computed from labels drawn in the
#' same way. If a true class has probability 0, the slope is undefined (`NaN`), but the test is not: a calibrated forecast cannot be wrong
#' in this way, the likelihood ratio is infinite, and the p-value is the smallest possible one, 1/(`replicates` + 1). This test is more powerful than those of ECE and MCE where a forecast is over- or underconfident
#' throughout: with two classes, 500 rows and a slope of 0.8 it detected the miscalibration in 60 % of simulated cases,
#' ECE in 24 % and MCE in 17 %. The p-value of MCE has little power, because the largest gap is usually that of the bin
#' with the fewest rows; `print()` says so where that bin has fewer than 10.
#'
#' With `groups` (patients, days, blocks of time), rows of a group may depend on each other: the bootstrap draws whole
#' groups, and the distribution under calibration comes from a wild bootstrap, which changes the sign of all residuals of a
#' group together at random, instead of drawing labels row by row.
#'
#' Use [set.seed()] to make the resampling reproducible. Two numbers from R's generator are the seed of a separate
#' generator, which has one stream per replicate.
#'
#' @inheritParams ece
#' @param probs As in [ece()], or a named list of such forecasts of the same cases.
#' @param ... Arguments of [ece()], used for [mce()] as well where it has them: `bins`, `norm`, `binning`,
#'   `estimator`, `type`, `event`, `event_level`, `debias`. For `print()`: to [print.data.frame()].
#' @param conf_level Level of the intervals and ranges, such as 0.95; `NULL` for none.
#' @param replicates How often to resample, at least 20.
#' @param eps Probabilities below this value are raised to it in the log loss ([log_loss()]) and in `calib_slope`.
#' @param truth,estimate Instead of `labels`, when `probs` is a data frame: the column with the true classes, and
#'   the columns with the probabilities (`starts_with(".pred_")` when left out), as in [calib_fit()]. `weights`, `by`
#'   and `groups` may then be columns, too.
#' @param groups `NULL`, or one value per row: rows with the same value may depend on each other.
#' @return A data frame of class `calib_metrics` with one row per measure and the columns `measure` (the name of the
#'   function that computes it alone; only `calib_slope` has none), `estimate`, `conf.low`, `conf.high`, `null.low`, `null.high`, `p.value`; `NA` where
#'   a column does not apply. With `by` there is one such row for each of its values, and a first column `by`; of a list of forecasts, one for each of them,
#'   and a first column `forecast`. An undefined measure is `NaN`, an infinite one `Inf`, with a warning
#'   (see [overconfidence()] and [log_loss()]).
#' @seealso [ece()], [over_underconfidence], [scores] for the definitions.
#' @references
#' Wenger, J., Kjellström, H. and Triebel, R. (2020). Non-parametric calibration for
#' classification. *International Conference on Artificial Intelligence and Statistics*.
#' @examples
#' # Stated: 90 %. Observed: 75 %.
#' p <- rep(.9, 200)
#' y <- rep(1:0, c(150, 50))
#' calib_metrics(p, y)
#' calib_metrics(list(stated = p, corrected = 0.9 * p), y)
#' set.seed(1)
#' calib_metrics(p, y, conf_level = .95, replicates = 200)
#' @export
calib_metrics <- function(probs, labels, ..., conf_level = NULL, replicates = 1000, eps = 0,
                          weights = NULL, by = NULL, groups = NULL, truth, estimate) {
  if (!missing(probs) && (is_lazy(probs) || inherits(probs, "calib_sums"))) {
    return(metrics_of_sums(match.call(), probs, parent.frame(), ...))
  }
  columns <- from_columns(match.call(), if (!missing(probs)) probs, parent.frame())
  if (!is.null(columns)) {
    probs <- columns$probs
    labels <- columns$labels
    weights <- columns$more$weights
    by <- columns$more$by
    groups <- columns$more$groups
  }
  several <- !missing(probs) && is.list(probs) && !is.object(probs) && length(probs) > 0
  forecasts <- if (several) check_forecasts(probs, labels, weights, "probs") else list(check_forecast(probs, labels, weights))
  forecast <- forecasts[[1]]
  eps <- check_number(eps, "eps", 0, 1)
  specs <- metric_specs(forecast$classes, ...)
  if (!is.null(conf_level)) conf_level <- check_level(conf_level)
  replicates <- check_count(replicates, "replicates", 20)
  clusters <- check_clusters(groups, nrow(forecast$probs))
  how <- list(specs = specs, level = conf_level, replicates = replicates, eps = eps)
  if (is.null(by) && !is.null(conf_level)) warn_clusters(clusters)
  rows <- if (!is.null(by)) rows_by(check_by(by, nrow(forecast$probs)))
  measure <- function(one) {
    if (is.null(by)) return(metric_table(one, how, clusters))
    bind_groups(lapply(names(rows), function(name) {
      metric_table(forecast_rows(one, rows[[name]], name), how, cluster_rows(clusters, rows[[name]]))
    }), names(rows))
  }
  table <- if (several) {
    bind_groups(lapply(names(forecasts), function(name) warn_of(name, measure(forecasts[[name]]))), names(forecasts), "forecast")
  } else {
    measure(forecast)
  }
  gaps <- unlist(lapply(forecasts, function(one) {
    if (is.null(by)) return(gap_errors(one, clusters))
    vapply(names(rows), function(name) gap_errors(forecast_rows(one, rows[[name]], name), cluster_rows(clusters, rows[[name]])), 0)
  }), use.names = FALSE)
  few <- unlist(lapply(forecasts, function(one) {
    if (is.null(by)) return(mce_rows(one, specs$mce))
    vapply(names(rows), function(name) mce_rows(forecast_rows(one, rows[[name]], name), specs$mce), 0)
  }), use.names = FALSE)
  crowded <- unlist(lapply(forecasts, function(one) {
    if (is.null(by)) return(crowded_bin(one, specs$ece))
    vapply(names(rows), function(name) crowded_bin(forecast_rows(one, rows[[name]], name), specs$ece), 0)
  }), use.names = FALSE)
  structure(table, crowded = stats::setNames(crowded, unique(measure_keys(table))), type = ece_types[specs$ece$type + 1], event = if (specs$ece$event > 0) forecast$classes[specs$ece$event], conf_level = conf_level,
    gap = stats::setNames(gaps, unique(measure_keys(table))), mce_rows = stats::setNames(few, unique(measure_keys(table))), class = c("calib_metrics", "data.frame"))
}

#' Say of which forecast a warning is
#' @noRd
warn_of <- function(name, value) {
  withCallingHandlers(value, gpcalib_warning = function(w) {
    warning(warningCondition(paste0("\"", name, "\": ", conditionMessage(w)), class = class(w), call = NULL))
    invokeRestart("muffleWarning")
  })
}

#' All measures of one forecast, or of one group of its rows
#' @noRd
metric_table <- function(forecast, how, clusters) {
  raised <- raise_zeros(forecast, how$eps)
  slope <- measure_slope(raised, clusters)
  if (is.nan(slope$estimate)) {
    warn_gpcalib("undefined", paste0("`calib_slope`, the inverse temperature, is undefined (NaN): ", if (is.finite(slope$t)) {
      "in every row the probabilities are all equal, or only 0 and 1."
    } else {
      "a true class has probability 0. Raise such probabilities by `eps`, such as eps = 1e-6."
    }))
  }
  sums <- forecast_sums(forecast, how$specs$ece, how$eps)
  table <- measures_table(sums, how$specs, length(forecast$classes), slope$estimate, forecast)
  if (is.null(how$level)) return(table)
  seed <- draw_seed()
  table <- add_bootstrap(table, forecast, how$level, how$replicates, seed, eps = how$eps,
    clusters = clusters)
  table <- add_null(table, forecast, how$specs$ece, how$level, how$replicates, seed, clusters = clusters)
  add_slope(table, raised, slope, how$level, how$replicates, seed, clusters)
}

#' From sums to measures
#' @param sums what forecast_sums() returned, or such sums added up; @param k the number of classes;
#' @param rows the forecast, to name rows in warnings, or NULL.
#' @noRd
measures_table <- function(sums, specs, k, slope = NA_real_, rows = NULL) {
  totals <- sums$totals
  estimate <- c(
    class_accuracy = measure_accuracy(totals),
    log_loss = measure_log_loss(totals, rows),
    brier_score = measure_brier(totals),
    ece = measure_ece(sums$bins, specs$ece),
    mce = .Call(C_sums_error, sums$bins, specs$mce),
    overconfidence = measure_overconfidence(totals),
    underconfidence = measure_underconfidence(totals),
    confidence_gap = measure_gap(totals),
    sharpness = measure_sharpness(totals, k),
    calib_slope = slope
  )
  data.frame(
    measure = names(estimate), estimate = unname(estimate),
    conf.low = NA_real_, conf.high = NA_real_, null.low = NA_real_, null.high = NA_real_,
    p.value = NA_real_
  )
}

#' Of what each row of a table of measures is: "forecast, group"
#' @noRd
measure_keys <- function(x) {
  whose <- intersect(c("forecast", "by"), names(x))
  if (length(whose)) do.call(paste, c(unname(lapply(as.data.frame(x)[whose], as.character)), sep = ", ")) else rep("", nrow(x))
}

#' The mean confidence less the accuracy in standard errors; the error under calibration if that is larger
#' @noRd
gap_errors <- function(forecast, clusters) {
  w <- if (is.null(forecast$weights)) rep(1, length(forecast$conf)) else forecast$weights
  w <- w / sum(w)
  gap <- forecast$conf - (forecast$pred == forecast$labels)
  error <- w * (gap - sum(w * gap))
  if (!is.null(clusters)) error <- rowsum(error, clusters$codes)
  sum(w * gap) / sqrt(max(sum(error^2), sum(w^2 * forecast$conf * (1 - forecast$conf)), 1e-24))
}

#' How many rows are in the bin with the largest gap; NA where that bin cannot be told from its sums
#' @noRd
mce_rows <- function(forecast, spec) {
  bins <- .Call(C_bin_sums, forecast, spec)
  all_of <- function(name) unlist(lapply(bins, `[[`, name), use.names = FALSE)
  weight <- all_of("weight")
  middle <- (all_of("lower") + all_of("upper")) / 2
  stated <- if (ece_estimators[spec$estimator + 1] == "midpoint") middle else all_of("score") / weight
  gap <- ifelse(weight > 0, abs(stated - all_of("hits") / weight), NA)
  at <- which.max(gap)
  if (length(at) && isTRUE(abs(gap[at] - .Call(C_sums_error, bins, spec)) < 1e-9)) as.double(all_of("n")[at]) else NA_real_
}

#' The share of the rows in the fullest bin, if that is neither the first nor the last: these are full in most data, and their rows much alike
#' @noRd
crowded_bin <- function(forecast, spec) {
  bins <- .Call(C_bin_sums, forecast, spec)
  if (length(bins) != 1) return(NA_real_) # classwise
  bins <- bins[[1]]
  at <- which.max(bins$n)
  inner <- bins$lower[at] > min(bins$lower) && bins$upper[at] < max(bins$upper)
  if (isTRUE(inner)) bins$n[at] / sum(bins$n) else NA_real_
}

crowded_share <- 0.7 # of the rows in one bin

#' What print() says of an ece for which one bin decides
#' @noRd
say_crowded <- function(x) {
  share <- attr(x, "crowded")
  full <- which(share >= crowded_share)
  if (!length(full) || !any(x$measure == "ece")) return(NULL)
  paste0("ece: ", if (length(share) == 1) paste0(round(100 * share), " % of the rows are in one bin") else {
    paste0("one bin has ", round(100 * min(share[full])), " % of the rows or more for ", if (length(full) == length(share)) "all of them" else if (length(full) > 4) paste(length(full), "of", length(share)) else {
      paste0("\"", names(share)[full], "\"", collapse = ", ")
    })
  }, ", which hides errors within it: use binning = \"mass\", or the ICI of calib_validate()")
}

few_in_bin <- 10 # rows

#' What print() says of an mce, and of its p-value, that few rows decide
#' @noRd
say_mce_rows <- function(x) {
  n <- attr(x, "mce_rows")
  rows <- which(x$measure == "mce")
  n <- n[match(measure_keys(x)[rows], names(n))]
  tested <- if (is.null(x[["p.value"]])) rep(FALSE, length(rows)) else !is.na(x$p.value[rows])
  few <- which(n < few_in_bin)
  if (!length(few)) return(NULL)
  what <- if (any(tested[few])) "mce and its p-value" else "mce"
  if (length(rows) == 1) {
    return(paste0("mce: the bin with the largest gap has ", if (n == 1) "one row, which decides" else paste(n, "rows, which decide"),
      " ", what, if (any(tested)) "; the p-values of ece and calib_slope rest on all rows"))
  }
  names <- unique(names(n)[few])
  paste0("mce: the bin with the largest gap has fewer than ", few_in_bin, " rows, which decide ", what, ", for ",
    if (length(few) == length(rows)) "all of them" else if (length(names) > 4) paste(length(names), "of", length(rows)) else paste0("\"", names, "\"", collapse = ", "))
}

#' On which side the mean confidence lies, of all that are in a table, as words behind a line of print(): only where the interval of the gap
#' excludes 0; without intervals, where the gap is more than 1.96 standard errors
#' @noRd
say_gap_side <- function(x) {
  errors <- attr(x, "gap")
  key <- measure_keys(x)
  errors <- errors[match(unique(key), names(errors))]
  if (!length(errors) || anyNA(errors)) return(NULL) # of sums
  clear <- abs(errors) > stats::qnorm(0.975)
  if (!is.null(attr(x, "conf_level"))) {
    rows <- x$measure == "confidence_gap"
    clear <- (x$conf.low[rows][match(unique(key), key[rows])] > 0) %in% TRUE
  }
  side <- ifelse(!clear, "no clear direction", ifelse(errors > 0, "overconfident", "underconfident"))
  several <- length(side) > 1
  if (length(unique(side)) == 1) {
    return(if (!any(clear)) paste0("; ", side[1], if (several) " in any of them") else paste0("; ", if (several) paste0(if (is.null(x[["forecast"]])) "all groups " else "all forecasts "), side[1], " on average"))
  }
  parts <- split(unique(key), factor(side, c("overconfident", "underconfident", "no clear direction")), drop = TRUE)
  paste0("; on average ", paste0(names(parts), ": ", vapply(parts, function(one) {
    if (length(one) > 4) say_count(length(one), if (is.null(x[["forecast"]])) "group" else if (is.null(x[["by"]])) "forecast" else "row") else paste(one, collapse = ", ")
  }, ""), collapse = "; "))
}

#' @param x A table of measures.
#' @param digits How many decimals to print.
#' @rdname calib_metrics
#' @export
print.calib_metrics <- function(x, digits = 4, ...) {
  table <- as.data.frame(x)
  if (!is.null(attr(x, "type")) && "measure" %in% names(table)) {
    said <- paste0("Measures of ", if (is.null(table[["forecast"]])) "a forecast" else say_count(length(unique(table$forecast)), "forecast"), "; ece and mce are those of ", switch(attr(x, "type"), event = if (is.null(attr(x, "event"))) "the probability of the event" else paste0("the probability of \"", attr(x, "event"), "\""),
      confidence = "the confidence (the highest probability of a row)", classwise = "the probability of each class",
      top_label = "the confidence, by predicted class", attr(x, "type")))
    cat(strwrap(said, 80), if (!is.null(attr(x, "conf_level"))) {
      strwrap(paste0(say_level(attr(x, "conf_level")), " intervals (conf; ece and mce have none), and ranges of a calibrated forecast (null)"), 80)
    }, sep = "\n")
  }
  whose <- intersect(c("forecast", "by"), names(table))
  wide <- beside(table)
  if (!length(whose) || all(is.na(table[intersect(metric_limits, names(table))]))) {
    print_metrics(wide, digits, ...)
  } else { # a block for each, since all columns beside each other are too wide for a line
    key <- do.call(paste, c(unname(lapply(table[whose], as.character)), sep = ", "))
    for (name in unique(key)) {
      cat("\n-- ", name, "\n", sep = "")
      print_metrics(table[key == name, setdiff(names(table), whose), drop = FALSE], digits, ...)
    }
    cat("\n")
  }
  few <- if ("measure" %in% names(table)) c(say_crowded(x), say_mce_rows(x))
  if (length(few)) cat(strwrap(few, 79, exdent = 2), sep = "\n")
  slope <- x$estimate[x$measure == "calib_slope"]
  if (length(slope)) {
    cat(if (all(is.na(slope) & !is.nan(slope))) {
      "calib_slope cannot be computed from sums: it needs the rows"
    } else {
      "calib_slope is 1/temperature, without intercept (Cox's slope: calib_validate())"
    }, "\n", sep = "")
    if (any(is.nan(slope) & is.finite(x$p.value[x$measure == "calib_slope"]))) {
      cat("undefined (NaN) with a p-value: a true class has probability 0, which cannot\nhappen to a calibrated forecast, so that the p-value is the smallest possible\n")
    }
  }
  if ("sharpness" %in% x$measure) cat("sharpness: variance of the confidence, divided by the largest possible one;\n  it does not judge calibration\n")
  if (all(c("overconfidence", "underconfidence") %in% x$measure)) {
    cat("overconfidence: mean confidence of wrong predictions\nunderconfidence: mean doubt (1 - confidence) of correct ones\n")
    if ("confidence_gap" %in% x$measure) {
      cat(strwrap(paste0("confidence_gap: |mean confidence - accuracy|, of the most likely class", say_gap_side(x)), 79, exdent = 2), sep = "\n")
    }
  }
  invisible(x)
}

metric_limits <- c("conf.low", "conf.high", "null.low", "null.high", "p.value")

#' Rounded, without columns that are empty
#' @noRd
print_metrics <- function(table, digits, ...) {
  numbers <- names(table)[vapply(table, is.double, NA)]
  for (name in numbers) {
    values <- table[[name]]
    if (all(is.na(values) & !is.nan(values)) && nrow(table)) {
      table[[name]] <- NULL
      next
    }
    text <- no_minus_zero(formatC(values, digits = digits, format = "f"))
    table[[name]] <- ifelse(is.na(values) & !is.nan(values), "", text)
  }
  print(table, row.names = FALSE, ...)
}

#' Several forecasts without intervals: a column for each, where the table has a row for each of the same measures
#' @noRd
beside <- function(table) {
  given <- intersect(c("by", "measure"), names(table))
  if (!nrow(table) || !all(c("forecast", "measure", "estimate") %in% names(table))) return(table)
  parts <- split(table, factor(table$forecast, unique(table$forecast)))
  first <- parts[[1]]
  ends <- intersect(metric_limits, names(table))
  same <- all(vapply(parts, function(part) identical(lapply(part[given], as.character), lapply(first[given], as.character)), NA))
  if (!same || !all(is.na(table[ends]))) return(table)
  out <- first[given]
  for (name in names(parts)) out[[name]] <- parts[[name]]$estimate
  out
}

#' @export
as.data.frame.calib_metrics <- function(x, ...) {
  attributes(x) <- c(attributes(x)[c("names", "row.names")], class = "data.frame")
  x
}

#' Arguments in `...` as the descriptions of the two calibration errors
#' @noRd
metric_specs <- function(classes, ...) {
  dots <- list(...)
  known <- setdiff(names(formals(ece_spec)), "classes")
  bad <- if (length(dots) && is.null(names(dots))) "" else setdiff(names(dots), known)
  if (length(bad)) {
    stop_input("...", if (nzchar(bad[1])) {
      paste0("has unknown arguments (", say_values(bad), ")")
    } else {
      "has arguments without names"
    }, paste0("It takes the arguments of ece(): ", paste(known, collapse = ", "), ".",
      if (any(c("metrics", "measures") %in% bad)) " All measures are given; choose rows of the result by its column `measure`."))
  }
  dots$classes <- classes
  spec <- do.call(ece_spec, dots)
  list(ece = spec, mce = maximum_spec(spec))
}

maximum_spec <- function(spec) {
  spec$norm <- Inf
  spec$debias <- FALSE
  spec
}

check_level <- function(x, arg = "conf_level") {
  if (is.numeric(x) && isTRUE(x > 1 & x < 100)) {
    stop_input(arg, "must lie strictly between 0 and 1", paste0(say_given(x), " Write ", x / 100, " for ", x, " %."))
  }
  x <- check_number(x, arg, 0, 1)
  if (x == 0 || x == 1) {
    stop_input(arg, "must lie strictly between 0 and 1", say_given(x))
  }
  x
}

