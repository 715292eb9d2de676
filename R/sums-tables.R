# From sums to tables and measures.

#' @param sums what check_sums() accepts; @param args arguments of reliability_table() that were given.
#' @noRd
sums_table <- function(sums, conf_level = 0.95, interval = c("wilson", "clopper-pearson"), classes = NULL) {
  check_sums(sums, "probs")
  if (!is.null(conf_level)) conf_level <- check_level(conf_level)
  interval <- check_choice(interval, c("wilson", "clopper-pearson"), "interval")
  tables <- lapply(sums$parts, one_sums_table, sums = sums, level = conf_level, interval = interval, kept = classes)
  if (!sums$by) return(tables[[1]])
  structure(bind_groups(tables, names(tables)), parts = tables, type = sums$type, method = "bins", conf_level = conf_level,
    N = sum(vapply(sums$parts, function(part) part$totals[["n"]], 0)), K = length(sums$classes), classes = sums$classes,
    class = c("reliability_table", "data.frame"))
}

one_sums_table <- function(part, sums, level, interval, kept) {
  bins <- as.data.frame(part$bins)
  size <- sums$bins
  problems <- nrow(bins) / size
  edges <- seq(0, size) / size
  codes <- switch(sums$type, confidence = NA_integer_, event = sums$event, seq_len(problems))
  table <- data.frame(class = factor(sums$classes[rep(codes, each = size)], levels = sums$classes),
    bin = rep(seq_len(size), problems), lower = rep(edges[-length(edges)], problems), upper = rep(edges[-1], problems),
    n = bins$weight)
  share <- function(x) ifelse(bins$weight > 0, x / bins$weight, NA_real_)
  table$confidence <- share(bins$score)
  table$observed <- share(bins$hits)
  table$trials <- ifelse(bins$square > 0, bins$weight^2 / bins$square, 0)
  table <- keep_rows(table, sums_classes(part, sums, kept), sums$classes)
  limits <- frequency_interval(table$observed, table$trials, level, interval)
  table$trials <- NULL
  table$gap <- table$confidence - table$observed
  table$conf.low <- limits$low
  table$conf.high <- limits$high
  totals <- as.list(part$totals)
  structure(table, type = sums$type, method = "bins", binning = "width", conf_level = level, N = totals$n,
    K = length(sums$classes), classes = sums$classes, ece = table_ece(table), total = sum(table$n),
    overconfidence = measure_overconfidence(totals, warn = FALSE),
    underconfidence = measure_underconfidence(totals, warn = FALSE), class = c("reliability_table", "data.frame"))
}

#' kept_classes() of sums: the largest by true, or predicted, rows
#' @noRd
sums_classes <- function(part, sums, classes) {
  if (is.null(classes)) return(NULL)
  if (sums$type %in% c("classwise", "top_label") && is.numeric(classes) && length(classes) == 1) {
    most <- check_count(classes, "classes")
    owner <- rep(seq_along(sums$classes), each = sums$bins)
    sizes <- rowsum(part$bins[, if (sums$type == "classwise") "hits" else "weight"], owner)
    return(utils::head(order(-sizes), most))
  }
  kept_classes(list(classes = sums$classes), classes, sums$type)
}

# Measures --------------------------------------------------------------------------------

sums_metrics <- function(sums, ...) {
  check_sums(sums, "probs")
  given <- list(...)
  allowed <- c("norm", "debias", "estimator")
  bad <- setdiff(names(given), allowed)
  if (length(bad) || length(given) && is.null(names(given))) {
    stop_input("...", paste0("has arguments that sums cannot follow any more (", say_values(bad), ")"),
      "Bins, type and event are those that calib_sums() was given; of the rest there are norm, debias and estimator.")
  }
  spec <- ece_spec(sums$classes, bins = sums$bins, type = sums$type, norm = given$norm %||% 1,
    debias = given$debias %||% FALSE, estimator = given$estimator %||% "mean",
    event = if (sums$type == "event") sums$classes[sums$event])
  if (spec$estimator == 1L) stop_input("estimator", "is \"midpoint\", whose bins are others", "Use rows, or \"mean\".")
  tables <- lapply(sums$parts, function(part) one_sums_metrics(part, sums, spec))
  table <- if (sums$by) bind_groups(tables, names(tables)) else tables[[1]]
  structure(table, type = sums$type, conf_level = NULL, class = c("calib_metrics", "data.frame"))
}

`%||%` <- function(a, b) if (is.null(a)) b else a

one_sums_metrics <- function(part, sums, spec) {
  totals <- as.list(part$totals)
  k <- length(sums$classes)
  maximum <- spec
  maximum$norm <- Inf
  maximum$debias <- FALSE
  loss <- if (totals$impossible > 0) Inf else totals$log / totals$weight
  if (is.infinite(loss)) {
    warn_gpcalib("infinite", paste0("The log loss is infinite: the label has probability 0 in rows of weight ",
      format(totals$impossible), ". Sum with eps > 0 to bound it."))
  }
  spread <- max(0, totals$conf2 - totals$conf^2 / totals$weight)
  estimate <- c(
    class_accuracy = measure_accuracy(totals), log_loss = loss, brier_score = totals$brier / totals$weight,
    ece = sums_ece(part$bins, sums, spec), mce = sums_ece(part$bins, sums, maximum),
    overconfidence = measure_overconfidence(totals), underconfidence = measure_underconfidence(totals),
    confidence_gap = measure_gap(totals),
    sharpness = if (totals$weight > 1) 4 * k^2 / (k - 1)^2 * spread / (totals$weight - 1) else NaN,
    calib_slope = NA
  )
  data.frame(measure = names(estimate), estimate = unname(estimate), conf.low = NA_real_, conf.high = NA_real_,
    null.low = NA_real_, null.high = NA_real_, p.value = NA_real_)
}

#' The calibration error of sums, as gpc_ece() has it
#' @noRd
sums_ece <- function(bins, sums, spec) {
  size <- sums$bins
  owner <- rep(seq_len(nrow(bins) / size), each = size)
  p <- spec$norm
  parts <- vapply(split(seq_len(nrow(bins)), owner), function(rows) {
    w <- bins[rows, "weight"]
    full <- w > 0
    if (!any(full)) return(c(0, 0))
    gap <- abs(bins[rows, "score"] - bins[rows, "hits"])[full] / w[full]
    rate <- bins[rows, "hits"][full] / w[full]
    w <- w[full]
    error <- if (spec$debias) {
      two <- w > 1
      sqrt(max(0, sum((w * (gap^2 - rate * (1 - rate) / (w - 1)))[two]) / sum(w)))
    } else if (spec$estimator == 2L) {
      (if (is.infinite(p)) max(gap) else sum(gap^p)^(1 / p)) / size
    } else if (is.infinite(p)) {
      max(gap)
    } else {
      (sum(w * gap^p) / sum(w))^(1 / p)
    }
    c(error, sum(w))
  }, numeric(2))
  if (ncol(parts) == 1) return(parts[[1, 1]])
  if (is.infinite(p)) return(max(parts[1, ]))
  share <- if (sums$type == "top_label") parts[2, ] / sum(parts[2, ]) else rep(1 / ncol(parts), ncol(parts))
  sum(share * parts[1, ]^p)^(1 / p)
}
