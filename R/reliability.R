# Reliability tables: what a reliability diagram draws.

#' Reliability table
#'
#' Predicted probabilities and observed frequencies, in bins, along an isotonic curve or along a smooth curve: the
#' numbers behind a reliability diagram.
#'
#' @section Bins:
#' `method = "bins"` sorts the scores into bins as [ece()] does. `conf.low` and `conf.high` are an
#' interval for the frequency in the bin: Wilson's, or that of Clopper and Pearson. With weights, the number of trials
#' is the effective number of rows in the bin, \eqn{(\sum w)^2/\sum w^2}{(sum w)^2 / sum w^2}; with `groups` it is
#' derived from the variance between groups. Intervals are pointwise: at a level of 95 %, about one bin in twenty lies
#' outside its interval by chance.
#'
#' @section Isotonic curve:
#' `method = "isotonic"`, for the types `"event"` and `"classwise"`, needs no bins: the frequency is
#' taken to rise with the probability and is estimated by the pool-adjacent-violators algorithm (the CORP
#' approach of Dimitriadis, Gneiting and Jordan, 2021). Each row of the table is one block of pooled
#' scores; `lower` and `upper` are the smallest and the largest of them. The meaning of `conf.low` and `conf.high` depends
#' on `band`:
#' * `"consistency"` (the default): the range in which the curve at the score `confidence` would lie with probability
#'   `conf_level` if the forecast were calibrated. It is found by drawing outcomes from the probabilities and fitting
#'   again, `replicates` times (use [set.seed()] to make it reproducible). It surrounds the diagonal, not the estimate.
#'   It is pointwise: at a given score, an `observed` value outside the band is evidence against calibration, but among
#'   many scores some lie outside by chance (this happens in half of all calibrated forecasts of 2000 rows).
#' * `"simultaneous"`: the same, but wide enough to contain the whole curve of a calibrated forecast with probability
#'   `conf_level` (at 95 %, this was 92 to 98 % in simulations of 500 rows and more). A curve that leaves the band
#'   anywhere is evidence against calibration.
#' * `"confidence"`: a pointwise interval for the frequency, by a smoothed bootstrap (Sen, Banerjee and Woodroofe,
#'   2010): the range of isotonic curves fitted to outcomes drawn from the smooth curve (see below), extended where
#'   needed to contain the curve itself. It is too wide where the forecast is calibrated (in simulations of 500 and 2000
#'   rows, the 95 % band covered the truth at 99 % of scores) or has few rows.
#'
#' With `groups`, bands come from a wild bootstrap: all residuals of a group keep or change their sign together. The
#' attribute `band` contains the band at more scores, from the lowest to the highest.
#'
#' `summary()` of an isotonic table decomposes the Brier score and the log loss of each class's probability into
#' \deqn{\mathrm{score} = \mathrm{MCB} - \mathrm{DSC} + \mathrm{UNC},}{score = MCB - DSC + UNC,}
#' miscalibration (the improvement by recalibration with the curve; 0 is best), discrimination (the improvement of the curve
#' over the constant frequency; higher is better) and uncertainty (the score of that
#' constant, the same for all forecasts of the event).
#'
#' @section Smooth curve:
#' `method = "smooth"`, for the same types, is a logistic regression of the event on a natural cubic spline of the
#' log-odds (ten knots at quantiles). Its roughness is penalised, and the penalty is chosen by restricted maximum
#' likelihood. If a straight line is enough, it is the line of logistic recalibration. Each row of the table is one of
#' `bins` bins; `observed` is the curve at its mean score. The band is `"confidence"`, pointwise around the curve, or
#' `"simultaneous"`, for the whole curve. Where thousands of rows near 0 have no event, say, the log-odds of the curve are all but unknown. Where their standard error exceeds 2, the pointwise band
#' therefore takes the curve to be increasing: its upper limit is at most that of the frequency of the 5 % of the rows (at least 50) with the next higher scores, its lower limit at least that of those with
#' the next lower scores (exact binomial limits of Clopper and Pearson), and both are no wider than at the next score, above and below, where the standard error is smaller. The limits of a bin with at least 50 rows are there no wider than the exact ones of its own rows. Both bands have their nominal coverage for gently curved functions. A strongly
#' curved one (log-odds off by a sine wave of amplitude 0.8) is smoothed too much with 500 rows: in simulations the
#' pointwise 95 % band then covered it at 90 % of scores, and the simultaneous one covered 78 % of whole curves (with
#' 2000 rows 96 % and 90 %). `summary()` gives the mean, the median, the 90 % quantile and the maximum of its distance
#' from the diagonal over the rows (ICI, E50, E90 and Emax, see [calib_validate()]).
#'
#' @inheritParams ece
#' @inheritParams calib_metrics
#' @param bins Number of bins.
#' @param type What is compared with what, see [ece()].
#' @param method `"bins"`, the `"isotonic"` or the `"smooth"` curve, see below.
#' @param band Which band a curve gets, see below. `NULL`: `"consistency"` for isotonic ones, `"confidence"`
#'   for smooth ones.
#' @param groups `NULL`, or one value per row: rows with the same value (patients, days) may depend on each
#'   other, which intervals and bands then allow for.
#' @param by `NULL`, or one value per row: a table for each of its values, in one, with a first column `by`.
#' @param conf_level Level of the intervals or the band; `NULL` for none.
#' @param interval Kind of interval for a bin's frequency.
#' @param classes For `"classwise"` and `"top_label"`: the names of the classes to keep, or how many of the largest
#'   classes to keep (by the number of true rows, or of predicted ones for `"top_label"`), largest first; `NULL` for
#'   all.
#' @param replicates For `method = "isotonic"`: how many draws to compute the band from. `NULL`: 1000 for up
#'   to 20,000 rows, fewer for more (2e7 divided by the rows), but at least 100.
#' @return A data frame of class `reliability_table` with one row per bin or block, empty bins
#'   included, and the columns
#'   \describe{
#'     \item{`class`}{factor: the class (`"classwise"`, `"event"`), the predicted class
#'       (`"top_label"`), or `NA`;}
#'     \item{`bin`}{number of the bin, within the class;}
#'     \item{`lower`, `upper`}{its edges;}
#'     \item{`n`}{number of rows, or their weight;}
#'     \item{`confidence`, `observed`}{mean score and frequency; `NA` in empty bins. (The score is the probability of the class or event for `type = "classwise"` and
#'       `"event"`; the column has the same name for all types);}
#'     \item{`gap`}{`confidence - observed`: positive where the forecast is too high;}
#'     \item{`conf.low`, `conf.high`}{interval or band.}
#'   }
#'   Attributes: `type`, `method`, `binning`, `conf_level`, `N` (rows), `K`, `classes`, `ece` (with
#'   norm 1, from the rows of the table), `overconfidence`, `underconfidence`, `total` (sum of `n`),
#'   for smooth tables `smooth`, which `summary()` returns, and for isotonic tables `corp`, which `summary()` returns, `band` (columns `class`, `score`,
#'   `conf.low`, `conf.high`; `observed` for smooth curves) and `spread` (a histogram: `class`, `lower`, `upper`, `n`). Rows taken
#'   out by `[` leave a table whose `ece` is that of the rows left.
#' @references
#' Dimitriadis, T., Gneiting, T. and Jordan, A. I. (2021). Stable reliability diagrams for
#' probabilistic classifiers. *Proceedings of the National Academy of Sciences* 118, e2016191118.
#'
#' Sen, B., Banerjee, M. and Woodroofe, M. (2010). Inconsistency of bootstrap: the Grenander estimator.
#' *Annals of Statistics* 38, 1953-1977.
#'
#' Wood, S. N. (2011). Fast stable restricted maximum likelihood and marginal likelihood estimation of
#' semiparametric generalized linear models. *Journal of the Royal Statistical Society B* 73, 3-36.
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
#'
#' summary(reliability_table(rain_nyc$prob, rain_nyc$rain, method = "smooth", by = rain_nyc$origin))
#' @order 1
#' @export
reliability_table <- function(probs, labels, bins = 15,
                              type = c("auto", "confidence", "classwise", "top_label", "event"),
                              method = c("bins", "isotonic", "smooth"), event = NULL,
                              binning = c("width", "mass"), conf_level = 0.95,
                              interval = c("wilson", "clopper-pearson"), classes = NULL,
                              replicates = NULL, weights = NULL,
                              event_level = c("second", "first"), band = NULL, by = NULL,
                              groups = NULL, truth, estimate) {
  if (!missing(probs) && (is_lazy(probs) || inherits(probs, "calib_sums"))) {
    return(table_of_sums(match.call(), probs, parent.frame()))
  }
  columns <- from_columns(match.call(), if (!missing(probs)) probs, parent.frame())
  if (!is.null(columns)) {
    probs <- columns$probs
    labels <- columns$labels
    weights <- columns$more$weights
    by <- columns$more$by
    groups <- columns$more$groups
  }
  forecast <- check_forecast(probs, labels, weights)
  spec <- ece_spec(forecast$classes, bins = bins, type = type, event = event, binning = binning,
    event_level = event_level)
  type <- ece_types[spec$type + 1]
  method <- check_choice(method, c("bins", "isotonic", "smooth"), "method")
  if (!is.null(conf_level)) conf_level <- check_level(conf_level)
  how <- list(spec = spec, type = type, method = method, level = conf_level,
    interval = check_choice(interval, c("wilson", "clopper-pearson"), "interval"),
    replicates = if (!is.null(replicates)) check_count(replicates, "replicates", 1),
    band = check_band(band, method), kept = kept_classes(forecast, classes, type))
  clusters <- check_clusters(groups, nrow(forecast$probs))
  if (is.null(by)) {
    if (!is.null(conf_level)) warn_clusters(clusters)
    return(one_table(forecast, how, clusters))
  }
  rows <- rows_by(check_by(by, nrow(forecast$probs)))
  parts <- Map(function(rows, name) {
    one_table(forecast_rows(forecast, rows, name), how, cluster_rows(clusters, rows))
  }, rows, names(rows))
  structure(bind_groups(parts, names(rows)), parts = parts, type = type, method = method,
    conf_level = conf_level, N = nrow(forecast$probs), K = length(forecast$classes), classes = forecast$classes,
    class = c("reliability_table", "data.frame"))
}

check_band <- function(band, method) {
  known <- switch(method, isotonic = c("consistency", "confidence", "simultaneous"),
    smooth = c("confidence", "simultaneous"))
  if (is.null(band)) return(known[1])
  if (is.null(known)) {
    stop_input("band", "is given but method is \"bins\"", "Only the curves have a band.")
  }
  check_choice(band, known, "band")
}

#' The table of one forecast, or of one group of its rows
#' @noRd
one_table <- function(forecast, how, clusters) {
  parts <- switch(how$method,
    bins = {
      bins <- .Call(C_bin_sums, forecast, how$spec)
      parts <- binned_parts(bins, how, forecast$classes, row_trials(forecast, how, bins, clusters))
      # Bins of equal mass do not show where the scores are.
      if (how$spec$mass) parts$spread <- score_spread(forecast, how)
      parts
    },
    isotonic = isotonic_parts(forecast, how, clusters),
    smooth = smooth_parts(forecast, how, clusters)
  )
  finish_table(parts, confidence_sums(forecast), how, nrow(forecast$probs), forecast$classes)
}

#' @param parts list of `table` and `limits`, and of what the attributes of curves are; @param totals as confidence_sums() has them.
#' @noRd
finish_table <- function(parts, totals, how, rows, classes) {
  table <- parts$table
  table$gap <- table$confidence - table$observed
  table$conf.low <- parts$limits$low
  table$conf.high <- parts$limits$high
  structure(table,
    type = how$type, method = how$method,
    binning = if (how$method == "bins") ece_binnings[how$spec$mass + 1],
    region = how$band,
    conf_level = how$level, N = rows, K = length(classes),
    classes = classes,
    ece = table_ece(table), total = sum(table$n),
    overconfidence = measure_overconfidence(totals, warn = FALSE),
    underconfidence = measure_underconfidence(totals, warn = FALSE),
    corp = parts$corp, smooth = parts$smooth, band = parts$band, spread = parts$spread,
    class = c("reliability_table", "data.frame")
  )
}

#' Bins as rows of a table
#' @param bins list of sums, one for each problem; @param trials of the intervals, where groups of rows change them.
#' @noRd
binned_parts <- function(bins, how, classes, trials = NULL) {
  table <- bin_rows(bins, how$spec, how$type, classes)
  table$trials <- if (is.null(trials)) weight_trials(bins) else trials
  table <- keep_rows(table, how$kept, classes)
  limits <- frequency_interval(table$observed, table$trials, how$level, how$interval)
  table$trials <- NULL
  list(table = table, limits = limits)
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

bin_rows <- function(bins, spec, type, classes) {
  codes <- switch(type, confidence = NA_integer_, event = spec$event, seq_along(bins))
  table <- table_columns(codes, bins, classes)
  share <- function(name) {
    sums <- unlist(lapply(bins, `[[`, name))
    ifelse(table$n > 0, sums / table$n, NA_real_)
  }
  table$confidence <- share("score")
  table$observed <- share("hits")
  table
}

#' The class-against-rest problems that curves are drawn of
#' @noRd
curve_codes <- function(forecast, how) {
  switch(how$type, event = how$spec$event,
    classwise = if (is.null(how$kept)) seq_along(forecast$classes) else how$kept,
    stop_input("method", paste0("can be \"", how$method, "\" only for type \"event\" or \"classwise\""),
      "The other types refer to the predicted class, not to the probability of one class."))
}
