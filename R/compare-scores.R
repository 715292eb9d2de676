# What compare_forecasts() computes: scores row by row, means with honest errors, parts.

#' Scores of every row, a column for each of `measures`
#' @noRd
row_scores <- function(forecast, measures, eps) {
  rows <- .Call(C_row_scores, forecast, eps, "rps" %in% measures)
  colnames(rows) <- score_names[seq_len(ncol(rows))]
  rows <- rows[, measures, drop = FALSE]
  if (!is.null(forecast$weights)) rows[forecast$weights == 0, ] <- 0
  rows
}

warn_infinite <- function(rows) {
  bad <- vapply(rows, function(x) any(is.infinite(x)), NA)
  if (any(bad)) {
    first <- which(bad)[1]
    at <- which(is.infinite(rows[[first]]), arr.ind = TRUE)[, 1]
    warn_gpcalib("infinite", paste0("The log loss of ", say_values(names(rows)[bad]), " is infinite: a label ",
      "has probability 0 (", say_rows(at, length(at)), if (sum(bad) > 1) paste0(" of \"", names(rows)[first], "\""),
      "). Its differences are NA; use `eps` > 0 for finite values."))
  }
}

#' Mean of x with the standard error that goes with groups, and Student's interval
#' @return c(mean, se, df, low, high); all but the mean NA where it is not finite.
#' @noRd
mean_interval <- function(x, weights, groups, level) {
  centre <- row_mean(x, weights)
  if (!is.finite(centre)) return(c(centre, NA, NA, NA, NA))
  error <- mean_error(x - centre, weights, groups)
  half <- if (error$df > 0) stats::qt((1 + level) / 2, error$df) * error$se else NA_real_
  c(centre, error$se, error$df, centre - half, centre + half)
}

#' Standard error of a mean from deviations; groups are codes 1..G or NULL
#' @noRd
mean_error <- function(deviation, weights, groups) {
  total <- length(deviation)
  if (!is.null(weights)) {
    deviation <- deviation * weights
    total <- sum(weights)
    counted <- weights > 0
    deviation <- deviation[counted]
    if (!is.null(groups)) groups <- groups[counted]
  }
  if (!is.null(groups)) deviation <- drop(rowsum(deviation, groups, reorder = FALSE))
  count <- length(deviation)
  list(se = if (count > 1) sqrt(count / (count - 1) * sum(deviation^2)) / total else NA_real_,
    df = count - 1)
}

score_table <- function(forecasts, rows, base, measures, estimate) {
  parts <- lapply(measures, function(measure) {
    one <- lapply(names(forecasts), function(name) {
      score <- estimate(rows[[name]][, measure])
      skill <- skill_interval(rows[[name]][, measure], base[, measure], estimate)
      parts <- score_parts(forecasts[[name]], measure)
      data.frame(measure = measure, forecast = name, score = score[1], conf.low = score[4],
        conf.high = score[5], skill = skill[1], skill.low = skill[2], skill.high = skill[3],
        miscalibration = score[1] - parts[1], discrimination = parts[2] - parts[1], uncertainty = parts[2])
    })
    do.call(rbind, one)
  })
  out <- do.call(rbind, parts)
  out$forecast <- factor(out$forecast, levels = names(forecasts))
  rownames(out) <- NULL
  out
}

#' 1 - S / S_ref: its deviations are -(s - (S / S_ref) s_ref) / S_ref to first order
#' @noRd
skill_interval <- function(own, base, estimate) {
  reference <- estimate(base)[1]
  score <- estimate(own)[1]
  if (!is.finite(reference) || !is.finite(score) || reference <= 0) {
    known <- is.finite(reference) && reference > 0
    return(c(if (known) 1 - score / reference else NA_real_, NA, NA))
  }
  ratio <- score / reference
  spread <- estimate((own - ratio * base) / reference)
  c(1 - ratio, 1 - ratio + spread[4] - spread[1], 1 - ratio + spread[5] - spread[1])
}

#' Mean scores of the recalibrated and of the constant forecast
#' @noRd
score_parts <- function(forecast, measure) {
  k <- length(forecast$classes)
  part <- if (measure == "log_loss") "log" else "brier"
  if (k == 2) {
    fit <- .Call(C_corp_fit, forecast, 2L)
    return(fit[[part]][2:3])
  }
  if (measure == "log_loss") return(c(NA_real_, NA_real_))
  total <- c(0, 0)
  below <- 0
  for (j in seq_len(if (measure == "rps") k - 1 else k)) {
    if (measure == "rps") {
      below <- pmin(below + forecast$probs[, j], 1)
      pair <- event_pair(below, forecast$labels <= j, forecast$weights)
      fit <- .Call(C_corp_fit, pair, 2L)
    } else {
      fit <- .Call(C_corp_fit, forecast, j)
    }
    total <- total + fit$brier[2:3]
  }
  total
}

#' A forecast of an event as the C code reads it
#' @noRd
event_pair <- function(p, happened, weights) {
  list(probs = cbind(1 - p, p, deparse.level = 0), labels = happened + 1L, conf = pmax(p, 1 - p),
    pred = ifelse(p > 0.5, 2L, 1L), weights = weights)
}

difference_table <- function(rows, reference, measures, estimate) {
  names <- names(rows)
  pairs <- if (is.null(reference)) {
    if (length(names) > 1) utils::combn(names, 2, simplify = FALSE) else list()
  } else {
    lapply(setdiff(names, reference), function(name) c(reference, name))
  }
  parts <- lapply(measures, function(measure) lapply(pairs, function(pair) {
    x <- rows[[pair[2]]][, measure] - rows[[pair[1]]][, measure]
    found <- if (anyNA(x) || any(is.infinite(x))) rep(NA_real_, 5) else estimate(x)
    # No difference in any row is no evidence at all.
    t <- if (isTRUE(found[2] == 0) && found[1] == 0) 0 else found[1] / found[2]
    data.frame(measure = measure, forecast = pair[2], reference = pair[1], difference = found[1],
      std.error = found[2], statistic = t, df = found[3], conf.low = found[4], conf.high = found[5],
      p.value = if (is.na(t)) NA_real_ else 2 * stats::pt(-abs(t), found[3]))
  }))
  out <- do.call(rbind, c(unlist(parts, recursive = FALSE), list(data.frame(measure = character(),
    forecast = character(), reference = character(), difference = numeric(), std.error = numeric(),
    statistic = numeric(), df = numeric(), conf.low = numeric(), conf.high = numeric(), p.value = numeric()))))
  rownames(out) <- NULL
  out
}
