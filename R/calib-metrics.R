# All measures in one table, with intervals and reference ranges by resampling.

#' All measures of a forecast
#'
#' Accuracy, log loss, Brier score, calibration errors, over- and underconfidence and sharpness in
#' one data frame; on request with intervals, and with the range of the calibration errors that a
#' calibrated forecast would show.
#'
#' With `conf_level`, measures that are made of means get a percentile bootstrap interval over rows
#' (weights travel with their rows): `conf.low`, `conf.high`. The calibration errors do not, because
#' resampling adds to their bias: the interval can miss the estimate itself. They are compared with
#' what calibration would give instead. Labels are drawn from the probabilities, `replicates`
#' times, and `null.low`, `null.high` are the quantiles of the error that hold a share `conf_level`
#' of these; `p.value` is \eqn{(1 + \#\{\mathrm{drawn} \ge \mathrm{observed}\}) /
#' (\mathrm{replicates} + 1)}{(1 + #(drawn >= observed)) / (replicates + 1)}. A small one speaks
#' against calibration. Sharpness is a sum, not a mean, and gets no interval.
#'
#' The confidence gap is an absolute value: its interval is that of the signed gap without the
#' sign, so that it begins at 0 when both signs are possible. Over- and underconfidence get an
#' interval only when at least five rows are wrong (correct). Accuracy, gap, over- and
#' underconfidence always refer to the most likely class, whatever `type` says.
#'
#' Resampling is governed by [set.seed()]: it uses two numbers of R's generator as the seed of its
#' own, which has one stream per replicate.
#'
#' @inheritParams ece
#' @param ... Passed on to [ece()] and, as far as it has them, [mce()]: `bins`, `norm`, `binning`,
#'   `estimator`, `type`, `event`, `debias`.
#' @param conf_level Level of the intervals and ranges, such as 0.95; `NULL` for none.
#' @param replicates How often to resample, at least 20.
#' @param eps Passed on to [log_loss()].
#' @return A data frame with one row per measure and the columns `measure` (the name of its
#'   function), `estimate`, `conf.low`, `conf.high`, `null.low`, `null.high`, `p.value`; `NA` where
#'   a column does not apply. An undefined measure is `NaN`, an infinite one `Inf`, with a warning
#'   (see [overconfidence()] and [log_loss()]).
#' @seealso [ece()], [over_underconfidence], [scores] for the definitions.
#' @references
#' Wenger, J., Kjellström, H. and Triebel, R. (2020). Non-parametric calibration for
#' classification. *International Conference on Artificial Intelligence and Statistics*.
#' @examples
#' # Nine in ten claimed, three in four achieved
#' p <- rep(.9, 200)
#' y <- rep(1:0, c(150, 50))
#' calib_metrics(p, y, bins = 15)
#' set.seed(1)
#' calib_metrics(p, y, bins = 15, conf_level = .95, replicates = 200)
#' @export
calib_metrics <- function(probs, labels, ..., conf_level = NULL, replicates = 1000, eps = 0,
                          weights = NULL) {
  forecast <- check_forecast(probs, labels, weights)
  eps <- check_number(eps, "eps", 0, 1)
  specs <- metric_specs(forecast$classes, ...)
  if (!is.null(conf_level)) conf_level <- check_level(conf_level)
  replicates <- check_count(replicates, "replicates", 20)

  totals <- forecast_totals(forecast)
  estimate <- c(
    class_accuracy = measure_accuracy(totals),
    log_loss = measure_log_loss(forecast, eps),
    brier_score = measure_brier(forecast),
    ece = measure_ece(forecast, specs$ece),
    mce = .Call(C_ece, forecast, specs$mce),
    overconfidence = measure_overconfidence(totals),
    underconfidence = measure_underconfidence(totals),
    confidence_gap = measure_gap(totals),
    sharpness = measure_sharpness(forecast)
  )
  table <- data.frame(
    measure = names(estimate), estimate = unname(estimate),
    conf.low = NA_real_, conf.high = NA_real_, null.low = NA_real_, null.high = NA_real_,
    p.value = NA_real_
  )
  if (is.null(conf_level)) return(table)
  seed <- draw_seed()
  table <- add_bootstrap(table, forecast, conf_level, replicates, seed, eps = eps)
  add_null(table, forecast, specs$ece, conf_level, replicates, seed)
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
    }, paste0("It takes the arguments of ece(): ", paste(known, collapse = ", "), "."))
  }
  dots$classes <- classes
  spec <- do.call(ece_spec, dots)
  maximum <- spec
  maximum$norm <- Inf
  maximum$debias <- FALSE
  list(ece = spec, mce = maximum)
}

check_level <- function(x, arg = "conf_level") {
  x <- check_number(x, arg, 0, 1)
  if (x == 0 || x == 1) {
    stop_input(arg, "must lie strictly between 0 and 1", say_given(x))
  }
  x
}

# Resampling ------------------------------------------------------------------------------

#' Two draws of R's generator, to seed ours
#' @noRd
draw_seed <- function() floor(stats::runif(2) * 2^32)

#' Run `draw(first, count)`, which returns a column per replicate, over all replicates
#'
#' In chunks of about half a second, so that a progress bar can show in between; what comes out
#' does not depend on them. `chunk` fixes their size, for tests.
#' @noRd
draw_replicates <- function(draw, replicates, chunk = NULL) {
  clock <- function() proc.time()[["elapsed"]]
  start <- clock()
  size <- if (is.null(chunk)) 1L else chunk
  parts <- list()
  done <- 0L
  bar <- NULL
  on.exit(if (!is.null(bar)) close(bar))
  while (done < replicates) {
    before <- clock()
    count <- as.integer(min(size, replicates - done))
    parts[[length(parts) + 1]] <- draw(done, count)
    done <- done + count
    if (is.null(chunk)) {
      size <- min(10 * size, max(1, floor(0.5 * count / max(clock() - before, 1e-3))))
    }
    if (is.null(bar) && interactive() && done < replicates && clock() - start > 2) {
      bar <- utils::txtProgressBar(max = replicates, style = 3)
    }
    if (!is.null(bar)) utils::setTxtProgressBar(bar, done)
  }
  do.call(cbind, parts)
}

#' The quantiles that hold the middle `level` of x; NA when nothing is left of it
#' @noRd
middle_range <- function(x, level) {
  x <- x[!is.na(x)]
  if (!length(x)) return(c(NA_real_, NA_real_))
  stats::quantile(x, c((1 - level) / 2, (1 + level) / 2), names = FALSE)
}

add_bootstrap <- function(table, forecast, level, replicates, seed, chunk = NULL, eps = 0) {
  rows <- .Call(C_boot_rows, forecast, eps)
  draw <- function(first, count) .Call(C_boot_draw, rows, seed, first, count)
  sums <- draw_replicates(draw, replicates, chunk)
  totals <- list(weight = sums[1, ], right = sums[2, ], over = sums[3, ], under = sums[4, ],
    wrong = sums[7, ])
  drawn <- list(
    class_accuracy = measure_accuracy(totals),
    log_loss = sums[5, ] / totals$weight,
    brier_score = sums[6, ] / totals$weight,
    overconfidence = measure_overconfidence(totals, warn = FALSE),
    underconfidence = measure_underconfidence(totals, warn = FALSE),
    confidence_gap = measure_signed_gap(totals)
  )
  wrong <- sum(forecast$pred != forecast$labels & weights_of(forecast) > 0)
  right <- sum(forecast$pred == forecast$labels & weights_of(forecast) > 0)
  if (wrong < few_rows) drawn$overconfidence <- NULL
  if (right < few_rows) drawn$underconfidence <- NULL
  for (name in names(drawn)) {
    row <- match(name, table$measure)
    ends <- middle_range(drawn[[name]], level)
    if (name == "confidence_gap") ends <- without_sign(ends)
    table[row, c("conf.low", "conf.high")] <- ends
  }
  table
}

few_rows <- 5 # fewer rows than this say nothing of the spread of their mean

weights_of <- function(forecast) if (is.null(forecast$weights)) 1 else forecast$weights

#' The interval of |x| from that of x
#' @noRd
without_sign <- function(ends) {
  if (anyNA(ends)) return(ends)
  c(if (ends[1] <= 0 && ends[2] >= 0) 0 else min(abs(ends)), max(abs(ends)))
}

add_null <- function(table, forecast, spec, level, replicates, seed, chunk = NULL) {
  if (spec$bins * as.double(length(forecast$classes)) > .Machine$integer.max) { # cells are ints
    stop_input("bins", "is too large for so many classes", "Ask for fewer bins.")
  }
  observed <- NULL
  draw <- function(first, count) {
    # The first column is the error observed, summed in the same order: ties are exact.
    out <- .Call(C_null_draw, forecast, spec, seed, first, count)
    observed <<- out[, 1]
    out[, -1, drop = FALSE]
  }
  drawn <- draw_replicates(draw, replicates, chunk)
  for (i in 1:2) {
    row <- match(c("ece", "mce")[i], table$measure)
    table[row, c("null.low", "null.high")] <- middle_range(drawn[i, ], level)
    table$p.value[row] <- (1 + sum(drawn[i, ] >= observed[i])) / (replicates + 1)
  }
  table
}
