# Validation of forecasts of an event as clinicians report it.

#' Validate predicted probabilities of an event
#'
#' Calibration in the large, Cox's recalibration intercept and slope, the ratio of observed to expected events, the
#' distance from a smooth calibration curve, discrimination and overall performance, each with an interval: the contents
#' of a report on external validation.
#'
#' With p the probability of the event, y whether it happened and means over rows,
#' \describe{
#'   \item{`oe_ratio`}{observed to expected, \eqn{\sum y / \sum p}{sum y / sum p}; ideal 1. Below 1 the risk
#'     is stated too high.}
#'   \item{`in_the_large`}{\eqn{\bar y - \bar p}{mean(y) - mean(p)}; ideal 0. (Mean calibration, or calibration in the large, of Van Calster et al., 2019.)}
#'   \item{`intercept`}{a of \eqn{\mathrm{logit}\, P(y = 1) = a + \mathrm{logit}\, p}{logit P(y = 1) = a + logit p},
#'     with the slope fixed at 1; ideal 0. TRIPOD calls this intercept, rather than the difference of the means, "calibration-in-the-large".}
#'   \item{`slope`, `slope_intercept`}{b and a of
#'     \eqn{\mathrm{logit}\, P(y = 1) = a + b\, \mathrm{logit}\, p}{logit P(y = 1) = a + b logit p}; ideal 1 and 0. This is Cox's recalibration
#'     slope ("calibration slope" in TRIPOD; `Slope` and `Intercept` of `rms::val.prob()`). Below 1 the predictions are too extreme.
#'     `calib_slope` of [calib_metrics()] is another number: the inverse temperature, without an intercept.}
#'   \item{`ici`, `e50`, `e90`, `emax`}{mean, median, 90 % quantile and maximum over the rows of
#'     \eqn{|\hat f(p) - p|}{|f(p) - p|}, where f is the curve of `reliability_table(method = "smooth")`; ideal 0.
#'     (`rms::val.prob()` calls them `Eavg`, `E90` and `Emax`, and uses a lowess curve.) The maximum is that between the
#'     1st and 99th percentile of p (with 100 rows or more): beyond them the curve is only extended, and a single row could decide.}
#'   \item{`c_index`}{the share of pairs of an event and a non-event in which the event has the higher
#'     probability (`C (ROC)`); 1/2 is chance.}
#'   \item{`brier_score`, `scaled_brier`}{mean of \eqn{(p - y)^2}{(p - y)^2}, and one minus its ratio to
#'     that of the constant forecast \eqn{\bar y}{mean(y)}; ideal 0 and 1.}
#' }
#'
#' # Intervals
#' Intercept and slopes have Wald intervals with a robust (sandwich) covariance, HC3 or, with `groups`, cluster-robust,
#' so that they are also valid where the true curve is not a straight line. The intervals of `oe_ratio`, `in_the_large`,
#' `c_index` and the Brier scores come from the influence function of each row (for the c-index that is the method of
#' DeLong et al., 1988), summed within `groups`; they are computed on the log scale for O:E and the Brier score and on
#' the logit scale for the c-index. Where no row is an event, or all rows are, `oe_ratio` and `in_the_large` have the limits of the exact
#' binomial interval (Clopper and Pearson). The intervals of `ici`, `e50`, `e90` and `emax` are quantiles of 1000 curves drawn
#' from the normal approximation to the distribution of the smooth curve, weighted by the ratio of their likelihood to that approximation (importance sampling; use [set.seed()] to make them reproducible). These measures are distances:
#' they are never negative and are overestimated near calibration. Their intervals begin at 0 unless the curve differs
#' significantly from the diagonal (Wald test at its knots). If it does, the lower limit is
#' the distance of a curve between the diagonal and the fitted one: the nearest to the diagonal that is still compatible with the rows by the same test (or the quantile of the drawn curves, if that is smaller). For the curve, odds are limited to between 1/N and N, N being the number
#' of rows (at least 1000), because N rows cannot tell smaller probabilities apart. The recalibration slope takes the log-odds as they are; where it would move by more
#' than 0.1 if odds were limited to between 1/(10 N) and 10 N (10,000 for fewer than 1000 rows), `print()` gives the slope with this limit, too. For intercept and slopes, probabilities of exactly 0 and 1 get
#' the most extreme odds of the other rows, but at most 10 N (10,000), and at least N + 1; a warning of class `gpcalib_warning_limited` says so. A warning of class
#' `gpcalib_warning_few` says when there are fewer than 10 events or non-events.
#'
#' The intervals are those of the probabilities as they are: if these come from a calibrator, it is taken as known, and the error of
#' the rows it was fitted to is not part of them.
#'
#' In simulations of 500 and 2000 rows, 95 % intervals covered the true value in 92 to 98 % of samples; with a strongly curved truth (log-odds
#' off by a sine wave of amplitude 0.8) those of `e50`, `e90` and `emax` did in 87 to 99 %. (This was measured without importance sampling, which changed the limits little.) `bench/results/workbench.md` in the sources has all figures.
#'
#' # What print() concludes
#' It judges the mean (`oe_ratio`, `in_the_large`, `intercept`), the slope, its intercept and the curve (`ici`), and names those whose interval
#' excludes the ideal value; the c-index and the Brier scores are not judged. A single one of them may be off by chance: for perfectly
#' calibrated probabilities, about one validation in seven has a 95 % interval that excludes its ideal value. `print()` therefore calls the evidence weak in two cases:
#' * Only one of the three (mean, slope, curve) is off, and its p-value is above (1 - `conf_level`) / 3. For the mean, which has three measures
#'   (`oe_ratio`, `in_the_large` and `intercept`), this must hold for each of them whose interval excludes the ideal value.
#' * The slope and another of the three are off, and the p-value of the slope is above this limit. Then only what is said of the slope is called weak evidence.
#'
#' With several classes, or `by`, each gets the p-value of a Wald test that its curve is the diagonal,
#' adjusted for the number of classes or groups by Holm's method; unadjusted p-values are in the attribute `p.value`. If nothing is found, do not calibrate
#' (again): a calibrator fitted to the same few rows would add its own error.
#'
#' @inheritParams ece
#' @inheritParams calib_metrics
#' @param event The class that is the event. `NULL`: the second of two classes; with more, each class
#'   against the rest.
#' @param conf_level Level of the intervals; `NULL` for none.
#' @return A data frame of class `calib_validation` with the columns `measure`, `estimate`, `conf.low` and
#'   `conf.high`; before them `by` and `class` where there are several. Attributes `n` and `events` count the rows
#'   and events of each part, `p.value` tests whether its curve is the diagonal,
#'   `far` holds how many rows have odds beyond 10 N to 1, and the slope (with interval) after limiting the odds to that (infinite if limited odds separate the events from the others), and `tables` holds its smooth curve, which `autoplot()` draws.
#' @references
#' Van Calster, B., McLernon, D. J., van Smeden, M., Wynants, L. and Steyerberg, E. W. (2019). Calibration:
#' the Achilles heel of predictive analytics. *BMC Medicine* 17, 230.
#'
#' Austin, P. C. and Steyerberg, E. W. (2019). The integrated calibration index (ICI) and related metrics
#' for quantifying the calibration of logistic regression models. *Statistics in Medicine* 38, 4051-4065.
#'
#' DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988). Comparing the areas under two or more
#' correlated receiver operating characteristic curves. *Biometrics* 44, 837-845.
#' @seealso [net_benefit()] for decision curves, [reliability_table()] for the curve, [calib_metrics()] for measures of any number of classes, and for why its intervals differ a little.
#' @examples
#' set.seed(1)
#' risk <- pmin(pmax(rain_nyc$prob, 0.001), 0.999) # without exact 0 and 1
#' valid <- calib_validate(risk, rain_nyc$rain)
#' valid
#' ggplot2::autoplot(valid)
#'
#' # One for each airport; hours of a day depend on each other
#' calib_validate(risk, rain_nyc$rain, by = rain_nyc$origin,
#'   groups = as.Date(rain_nyc$time))
#' @order 1
#' @export
calib_validate <- function(probs, labels, event = NULL, conf_level = 0.95, by = NULL, groups = NULL,
                           weights = NULL, event_level = c("second", "first"), truth, estimate) {
  if (!missing(probs) && is_lazy(probs)) return(validate_lazy(match.call(), probs, parent.frame()))
  columns <- from_columns(match.call(), if (!missing(probs)) probs, parent.frame())
  if (!is.null(columns)) {
    probs <- columns$probs
    labels <- columns$labels
    weights <- columns$more$weights
    by <- columns$more$by
    groups <- columns$more$groups
  }
  if (!missing(probs)) check_one_forecast(probs)
  forecast <- check_forecast(probs, labels, weights)
  if (!is.null(conf_level)) conf_level <- check_level(conf_level)
  clusters <- check_clusters(groups, nrow(forecast$probs))
  codes <- validated_classes(forecast$classes, event, event_level)
  if (is.null(by)) warn_clusters(clusters)
  validate_forecast(forecast, codes, conf_level, by, clusters)
}

#' Several forecasts: what to write instead
#' @noRd
check_one_forecast <- function(probs) {
  if (!is.list(probs) || is.object(probs) || !length(probs) || !all(vapply(probs, is_forecast, NA))) return(invisible())
  stop_input("probs", paste0("is a list of ", say_count(length(probs), "forecast")), paste0("Give one at a time: ",
    if (length(probs) == 1) "probs[[1]]" else "lapply(probs, calib_validate, labels = labels) validates each", ". plot_reliability(method = \"smooth\") draws the curves of several, ",
    "calib_metrics() and compare_forecasts() compare them."))
}

#' All events and groups of a forecast, whose weights may be counts (`forecast$counts`)
#' @noRd
validate_forecast <- function(forecast, codes, conf_level, by = NULL, clusters = NULL) {
  n <- nrow(forecast$probs)
  rows <- if (is.null(by)) list(seq_len(n)) else rows_by(check_by(by, n))
  parts <- list()
  for (name in seq_along(rows)) {
    part <- if (is.null(by)) forecast else forecast_rows(forecast, rows[[name]], names(rows)[name])
    own <- if (is.null(by)) clusters else cluster_rows(clusters, rows[[name]])
    for (code in codes) {
      parts[[length(parts) + 1]] <- c(validate_event(part, code, conf_level, own),
        list(by = names(rows)[name], class = forecast$classes[code]))
    }
  }
  warn_validation(parts)
  finish_validation(parts, conf_level, !is.null(by), forecast$classes, names(rows), n)
}

#' Codes of the classes that are events
#' @noRd
validated_classes <- function(classes, event, event_level) {
  if (length(classes) > 2 && is.null(event) && check_choice(event_level, event_levels, "event_level") == "second") {
    return(seq_along(classes))
  }
  check_event(event, "event", classes, event_level)
}

#' One event, one group of rows
#' @return list: `table`, `n`, `events`, `fit` (the smooth curve), and what there is to warn of.
#' @noRd
validate_event <- function(forecast, code, level, clusters) {
  p <- forecast$probs[, code]
  hit <- as.integer(forecast$labels == code)
  w <- forecast$weights
  counted <- if (is.null(w)) rep(TRUE, length(p)) else w > 0
  counts <- if (isTRUE(forecast$counts)) w
  n <- if (is.null(counts)) sum(counted) else sum(counts)
  events <- if (is.null(counts)) sum(hit[counted]) else sum(counts * hit)
  fit <- smooth_fit(p, hit, w, clusters, counts)
  table <- rbind(validate_means(p, hit, w, clusters, level, counts), validate_lines(p, hit, w, clusters, level, counts),
    validate_curve(fit, level, events > 0 && events < n))
  table <- table[validation_measures, ]
  list(table = data.frame(measure = rownames(table), estimate = unname(table[, 1]), conf.low = unname(table[, 2]),
      conf.high = unname(table[, 3])),
    n = n, events = events, fit = fit, probs = p, hit = hit, weights = w,
    p.value = if (events > 0 && events < n) departure_p(fit) else NA_real_,
    limited = fit$limited, taken = if (fit$limited > 0) finite_log_odds(p, counts)$most else NA, separated = is.nan(table["slope", 1]), far = far_slope(p, hit, w, clusters, counts, n, level))
}

far_odds <- 10 # times 1 to N

#' How many rows have probabilities that N rows cannot know, and the slope with their odds limited to 10 N to 1
#'
#' The slope is that of all rows by definition, but the log-odds of a few probabilities of 1e-100 decide it.
#' @return c(rows, slope, low, high); the slope is NA where there are no such rows, infinite where limited odds separate the events from the others, and
#'   NaN where it is not defined.
#' @noRd
far_slope <- function(p, hit, w, clusters, counts, n, level) {
  most <- log(far_odds * max(n, least_odds))
  far <- abs(finite_log_odds(p, counts)$x) > most
  if (!is.null(w)) far <- far & w > 0
  if (!any(far)) return(c(rows = 0, slope = NA, low = NA, high = NA))
  line <- validate_lines(p, hit, w, clusters, level, counts, most)["slope", ]
  if (is.nan(line[1])) line[1] <- separated_slope(pmin(pmax(finite_log_odds(p, counts)$x, -most), most), hit, w)
  c(rows = if (is.null(counts)) sum(far) else sum(counts[far]), slope = line[1], low = line[2], high = line[3])
}

#' The slope of scores that separate the events from the others; NaN if they do not
#' @noRd
separated_slope <- function(x, hit, w) {
  if (!is.null(w)) {
    x <- x[w > 0]
    hit <- hit[w > 0]
  }
  with <- x[hit == 1]
  without <- x[hit == 0]
  if (!length(with) || !length(without) || min(x) == max(x)) NaN else if (min(with) >= max(without)) Inf else if (max(with) <= min(without)) -Inf else NaN
}

validation_measures <- c("oe_ratio", "in_the_large", "intercept", "slope", "slope_intercept", smooth_errors, "c_index",
  "brier_score", "scaled_brier")

#' An interval from the influence of each row, on a scale `to` with derivative `d`
#' @noRd
influence_interval <- function(value, influence, clusters, level, to = identity, back = identity, d = 1, counts = NULL) {
  if (is.null(level) || !is.finite(value)) return(c(value, NA, NA))
  if (!is.null(counts)) influence <- (influence / sqrt(counts))[counts > 0] # that of each of so many rows, squared and added
  if (!is.null(clusters)) {
    influence <- rowsum(influence, clusters$codes) * sqrt(clusters$count / max(1, clusters$count - 1))
  }
  half <- stats::qnorm((1 + level) / 2) * sqrt(sum(influence^2)) * d
  if (!is.finite(half)) return(c(value, NA, NA))
  c(value, back(to(value) - half), back(to(value) + half))
}

#' Where all outcomes are equal the rows' influences say nothing of the rate: its exact binomial limits (Clopper and Pearson, 1934)
#'
#' For weights the effective number of rows counts, for rows that depend on each other the number of clusters.
#' @return c(low, high); NULL where there are events and non-events, or no interval is asked for.
#' @noRd
one_sided_rate <- function(rate, share, clusters, level, counts = NULL) {
  if (is.null(level) || (rate > 0 && rate < 1)) return(NULL)
  n <- if (!is.null(clusters)) clusters$count else if (!is.null(counts)) sum(counts) else 1 / sum(share^2)
  far <- 1 - ((1 - level) / 2)^(1 / n) # the largest rate with which no event in n rows has probability (1 - level) / 2
  if (rate == 0) c(0, far) else c(1 - far, 1)
}

#' Ratio, difference, c-index and Brier scores
#' @noRd
validate_means <- function(p, hit, w, clusters, level, counts = NULL) {
  share <- if (is.null(w)) rep(1 / length(p), length(p)) else w / sum(w)
  rate <- sum(share * hit)
  expected <- sum(share * p)
  ratio <- if (expected > 0) rate / expected else NaN
  loss <- (p - hit)^2
  brier <- sum(share * loss)
  constant <- rate * (1 - rate)
  scaled <- if (constant > 0) 1 - brier / constant else NaN
  pairs <- .Call(C_concordance, p, hit, w)
  value <- if (constant > 0) pairs$value else NaN
  interval <- function(...) influence_interval(..., clusters = clusters, level = level, counts = counts)
  ends <- one_sided_rate(rate, share, clusters, level, counts)
  rbind(
    oe_ratio = if (!is.null(ends) && is.finite(ratio)) c(ratio, ends / expected) else
      interval(ratio, share * (hit - ratio * p) / expected, to = log, back = exp, d = 1 / ratio),
    in_the_large = if (!is.null(ends)) c(rate - expected, ends - expected) else interval(rate - expected, share * (hit - p - rate + expected)),
    c_index = interval(value, pairs$influence, to = stats::qlogis, back = stats::plogis,
      d = 1 / (value * (1 - value))),
    brier_score = interval(brier, share * (loss - brier), to = log, back = exp, d = 1 / brier),
    scaled_brier = interval(scaled, -share * ((loss - brier) / constant -
      brier / constant^2 * (1 - 2 * rate) * (hit - rate)))
  )
}

#' Logistic recalibration, on request with log-odds no farther than `most`
#' @noRd
validate_lines <- function(p, hit, w, clusters, level, counts = NULL, most = Inf) {
  x <- finite_log_odds(p, counts)$x
  x <- pmin(pmax(x, -most), most)
  each <- if (is.null(w) || !is.null(counts)) 1 else w # of a single row
  line <- function(hold) {
    fit <- .Call(C_recal_fit, x, hit, w, hold)
    if (fit$status != "ok") return(list(coef = c(NaN, NaN), error = c(NaN, NaN)))
    q <- stats::plogis(fit$coef[1] + fit$coef[2] * x)
    own <- fit$inverse[1, 1] + 2 * fit$inverse[1, 2] * x + fit$inverse[2, 2] * x^2
    r <- each * (hit - q)
    if (is.null(clusters)) {
      r <- r / pmax(1 - each * q * (1 - q) * own, 0.01) # leverage, as in HC3
      if (!is.null(counts)) r <- sqrt(counts) * r # so many rows, squared and added
    }
    scores <- cbind(r, r * x)
    if (!is.null(clusters)) {
      scores <- rowsum(scores, clusters$codes) * sqrt(clusters$count / max(1, clusters$count - 1))
    }
    cov <- fit$inverse %*% crossprod(scores) %*% fit$inverse
    var <- diag(cov)
    list(coef = fit$coef, error = sqrt(ifelse(var > 0, var, NA))) # rounding, where the rows are nearly separated
  }
  z <- if (is.null(level)) NA else stats::qnorm((1 + level) / 2)
  with_ends <- function(value, error) c(value, value - z * error, value + z * error)
  held <- line(TRUE)
  # The fit may call a slope found that only stopped growing.
  free <- if (is.infinite(separated_slope(x, hit, w))) list(coef = c(NaN, NaN), error = c(NaN, NaN)) else line(FALSE)
  rbind(intercept = with_ends(held$coef[1], held$error[1]), slope = with_ends(free$coef[2], free$error[2]),
    slope_intercept = with_ends(free$coef[1], free$error[1]))
}

validate_curve <- function(fit, level, both) {
  if (!both) return(matrix(NaN, 4, 3, dimnames = list(smooth_errors, NULL)))
  smooth_summary(fit, level)
}

few_events <- 10

warn_validation <- function(parts) {
  name_of <- function(part) c(part$by, part$class)
  few <- Filter(function(part) min(part$events, part$n - part$events) < few_events, parts)
  if (length(few)) {
    one <- few[[1]]
    warn_gpcalib("few", paste0("Few events or non-events",
      if (length(parts) > 1) paste0(" in ", length(few), " of ", length(parts), " ", if (is.null(one$by)) "classes" else "groups", " (the first is \"",
        paste(name_of(one), collapse = ", "), "\")"), ": ", say_count(one$events, "event"), " in ", say_count(one$n, "row"),
      ". Intervals are unsafe with fewer than ", few_events, " of either."))
  }
  limited <- sum(vapply(parts, function(part) as.double(part$limited), 0))
  if (limited) {
    all_limited <- limited == sum(vapply(parts, function(part) as.double(part$n), 0))
    warn_gpcalib("limited", if (all_limited) {
      "All probabilities are 0 or 1, that is, predicted classes. Intercept, slope and curve mean nothing for them: give the probabilities of the classifier."
    } else {
      n <- unique(pmax(vapply(parts, function(part) as.double(part$n), 0), least_odds))
      taken <- vapply(parts, function(part) part$taken, 0)
      taken <- unique(round(exp(taken[!is.na(taken)])))
      one <- limited == 1
      paste0(limited, if (one) " probability is" else " probabilities are", " exactly 0 or 1, with infinite odds. For intercept and slope ", if (one) "it gets" else "they get", if (length(taken) == 1) {
        paste(" odds of", say_number(taken), "to 1")
      } else {
        paste0(" the most extreme odds of other rows (", say_number(min(taken)), " to 1 up to ", say_number(max(taken)), " to 1, depending on the ",
          if (is.null(parts[[1]]$by)) "class" else "group", ")")
      }, ". The curve limits all odds to ", if (length(n) == 1) {
        paste0(say_number(n), " to 1; see ?calib_validate.")
      } else {
        "the number of rows (at least 1,000) to 1; see ?calib_validate."
      })
    })
  }
  apart <- Filter(function(part) part$separated && part$events > 0 && part$events < part$n, parts)
  if (length(apart)) {
    warn_gpcalib("separated", paste0("Recalibration slope and intercept are undefined (NaN)",
      if (length(parts) > 1) paste0(" in ", say_count(length(apart), "part")),
      ": the probabilities are all equal, or separate the events from the others."))
  }
}

finish_validation <- function(parts, level, by, classes, levels, n) {
  whose <- function(field, levels) {
    factor(rep(vapply(parts, function(part) part[[field]], ""), each = length(validation_measures)), levels = levels)
  }
  table <- do.call(rbind, lapply(parts, `[[`, "table"))
  shown <- unique(vapply(parts, `[[`, "", "class"))
  if (length(shown) > 1) table <- cbind(class = whose("class", classes), table)
  if (by) table <- cbind(by = whose("by", levels), table)
  structure(table, n = vapply(parts, `[[`, parts[[1]]$n, "n"), events = vapply(parts, `[[`, parts[[1]]$events, "events"), event = shown,
    conf_level = level, far = vapply(parts, `[[`, c(rows = 0, slope = 0, low = 0, high = 0), "far"), p.value = vapply(parts, `[[`, 0, "p.value"), tables = lapply(parts, validation_table, level = level, classes = classes),
    class = c("calib_validation", "data.frame"))
}
