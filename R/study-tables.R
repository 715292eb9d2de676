# How studies and their summaries are printed.

#' @rdname summary.calib_study
#' @export
print.calib_study <- function(x, digits = 4, ...) {
  table <- summary(x)
  plain <- starless(table)
  table$best[table$metric %in% plain] <- FALSE
  say_study(table)
  if (nlevels(table$data) == 1) {
    print_one_set(table, digits)
  } else {
    print_sets(table, digits)
  }
  metrics <- levels(table$metric)
  directions <- say_directions(attr(table, "higher")[metrics], attr(table, "target")[metrics])
  starred <- setdiff(metrics, plain)
  cat(strwrap(paste0(if (length(starred)) {
    paste0("* best, or less than two standard errors of the paired difference from the best (", directions, ")")
  } else {
    paste0(toupper(substr(directions, 1, 1)), substring(directions, 2))
  }, if (nlevels(droplevels(table$method)) > 1) paste0("; methods sorted by ", metrics[1]), ".", if (length(starred)) say_errors(x, starred),
  say_starless(table, plain), say_noisy(table)), 100, exdent = 2), sep = "\n")
  if (any(table$infinite > 0)) {
    one <- table[which(table$infinite > 0)[1], ]
    cat(strwrap(paste0(say_infinite(one), ": infinite in ", one$infinite, " of ", say_count(one$splits, "split"),
      ", where a class of probability 0 occurred", if (one$metric == "log_loss") {
        "; to raise such probabilities first: metrics = list(list(\"log_loss\", eps = 1e-4))"
      }), 100, exdent = 2), sep = "\n")
  }
  say_same(table)
  say_problems(attr(table, "problems"))
  invisible(x)
}

#' Each value of a summary as a loss, which is better when smaller
#' @noRd
study_loss <- function(table) {
  metric <- as.character(table$metric)
  target <- attr(table, "target")
  target <- if (is.null(target)) rep(NA_real_, nrow(table)) else unname(target[metric])
  ifelse(!is.na(target), abs(table$mean - target), ifelse(unname(attr(table, "higher")[metric]) %in% TRUE, -table$mean, table$mean))
}

#' A star goes by the standard error of a difference, which a noisy method has larger: where it stands at a worse mean than that of a
#' method without one, say why
#' @return a sentence after a blank, or NULL.
#' @noRd
say_noisy <- function(table) {
  loss <- study_loss(table)
  blocks <- split(seq_len(nrow(table)), list(table$data, table$metric), drop = TRUE)
  for (rows in blocks) {
    marked <- rows[table$best[rows]]
    plain <- rows[!table$best[rows] & table$failed[rows] == 0 & is.finite(loss[rows])]
    if (!length(marked) || !length(plain)) next
    worst <- marked[which.max(loss[marked])]
    better <- plain[which.min(loss[plain])]
    if (loss[better] >= loss[worst]) next
    return(paste0(" For ", table$metric[worst], " \"", table$method[worst], "\" has a star although the mean of \"", table$method[better],
      "\", which has no star, is better: the difference between \"", table$method[worst],
      "\" and the best method varies more from split to split, so that they cannot be told apart."))
  }
  NULL
}

#' Do the standard errors of a metric come from the rows, in all data sets?
#' @noRd
errors_of_rows <- function(study, metric) {
  kept <- attr(study, "rows")[levels(droplevels(study$data))]
  length(kept) > 0 && !any(vapply(kept, function(set) is.null(set[[metric]]), NA))
}

#' Metrics whose stars are not printed, since they rest on corrected standard errors that are too large: because there are many test rows,
#' or so large that every method has a star
#' @noRd
starless <- function(table) {
  if (isTRUE(attr(table, "many_test"))) return(attr(table, "corrected"))
  Filter(function(metric) {
    rows <- table[table$metric == metric & table$failed == 0, ]
    nlevels(droplevels(rows$method)) > 1 && all(rows$best)
  }, attr(table, "corrected"))
}

say_starless <- function(table, metrics) {
  if (!length(metrics)) return(NULL)
  its <- if (length(metrics) > 1) "their" else "its"
  paste0(" No stars for ", say_and(metrics), ": ", its, " standard errors (by the correction of Nadeau and Bengio) are ", if (isTRUE(attr(table, "many_test"))) {
    "too large when there are many more test rows than calibration rows, so that a star would say nothing."
  } else {
    "so large that every method would have one."
  })
}

many_test <- 2 # times as many test rows as calibration rows: corrected standard errors are then too large

say_and <- function(x) if (length(x) > 1) paste(paste(x[-length(x)], collapse = ", "), "and", x[length(x)]) else x

#' Which standard errors the marks of a study rest on
#' @param metrics those with stars.
#' @noRd
say_errors <- function(study, metrics) {
  other <- metrics[!vapply(metrics, errors_of_rows, NA, study = study)]
  paste0(" Standard errors include the sampling of test rows", if (length(other)) {
    paste0(" (", if (length(other) < length(metrics)) paste0("for ", say_and(other), " "), "by the correction of Nadeau and Bengio)")
  }, ".")
}

#' @rdname summary.calib_study
#' @export
print.summary.calib_study <- function(x, digits = 4, ...) {
  say_study(x)
  kind <- switch(attr(x, "std_error"), corrected = "corrected for overlapping splits",
    splits = "over splits of these rows", "including the sampling of test rows")
  cat("difference: method minus \"", attr(x, "reference"), "\"; s.e.: standard error ", kind, "\n", sep = "")
  if (attr(x, "std_error") != "splits" && any(is.finite(x$sd))) {
    cat("sd: spread over these splits. s.e.: also counts that all splits reuse the same rows, and can exceed sd.\n")
  }
  plain <- starless(x)
  best <- x$best
  x$best[x$metric %in% plain] <- FALSE
  star <- x$best
  if (any(best)) {
    cat(strwrap(trimws(paste0(if (any(star)) "* best, or less than two standard errors of the paired difference from the best.", say_starless(x, plain), say_noisy(x))), 100,
      exdent = 2), sep = "\n")
  }
  number <- function(v) ifelse(is.na(v) & !is.nan(v) | is.nan(v) & !is.na(x$mean) & is.infinite(x$mean), "",
    formatC(v, digits = digits, format = "f"))
  shown <- data.frame(
    method = paste0(x$method, ifelse(star, " *", "")),
    mean = ifelse(x$infinite > 0, say_infinite(x), number(x$mean)), sd = number(x$sd),
    `s.e. mean` = number(x$std.error),
    difference = ifelse(is.na(x$difference), "", formatC(x$difference, digits = digits, format = "f",
      flag = "+")),
    `s.e. diff.` = ifelse(is.infinite(x$difference), "", number(x$diff.error)), fit = say_seconds(x$fit_time),
    predict = say_seconds(x$predict_time), check.names = FALSE
  )
  if (any(x$failed > 0)) shown$failed <- ifelse(x$failed > 0, x$failed, "")
  for (data in levels(droplevels(x$data))) {
    for (metric in levels(droplevels(x$metric))) {
      rows <- which(x$data == data & x$metric == metric)
      one <- structure(as.data.frame(x)[rows, ], higher = attr(x, "higher"), target = attr(x, "target"))
      rows <- rows[match(methods_by_result(one, metric), x$method[rows])]
      cat("\n", if (nlevels(droplevels(x$data)) > 1) paste0(data, ", "), metric, "\n", sep = "")
      print(left_names(shown[rows, ], "method"), row.names = FALSE)
    }
  }
  say_same(x)
  say_problems(attr(x, "problems"))
  x$best <- best
  invisible(x)
}

#' Methods from the best to the worst by the mean of a metric, over data sets by their mean; those that failed or are infinite
#' somewhere last: the fewer values they lack the earlier, then by the mean of the others
#' @noRd
methods_by_result <- function(table, metric = levels(droplevels(table$metric))[1]) {
  at <- table$metric == metric
  rows <- table[at, ]
  loss <- study_loss(table)[at]
  loss[is.na(loss)] <- Inf
  lost <- rows$failed + pmax(rows$infinite, is.infinite(loss) & rows$splits > 0) # undefined without being infinite: at least once
  methods <- levels(droplevels(table$method))
  of <- function(x, how) vapply(methods, function(method) how(x[rows$method == method]), 0)
  methods[order(of(lost, sum), of(loss, function(x) if (any(is.finite(x))) mean(x[is.finite(x)]) else Inf))]
}

study_few <- 100

say_study <- function(table) {
  splits <- unique(attr(table, "splits"))
  sets <- nlevels(droplevels(table$data))
  methods <- nlevels(droplevels(table$method))
  sizes <- attr(table, "sizes")
  cat("<calib_study> ", if (sets > 1) paste0(sets, " data sets, "), say_count(methods, "method"), ", ",
    paste(splits, collapse = " to "), if (identical(as.integer(splits), 1L)) " split" else " splits",
    if (nrow(sizes) == 1) paste0(": ", sizes$n_cal, " calibration rows and ", sizes$n_test, " test rows"),
    "\n", sep = "")
  if (min(sizes$n_cal, sizes$n_test) < study_few) {
    cat("few rows: with fewer than ", study_few, " to calibrate or test, differences are mostly chance\n", sep = "")
  }
}

#' Rows are methods, columns metrics and times; standard deviations if there is room for them
#' @noRd
print_one_set <- function(table, digits) {
  methods <- methods_by_result(table)
  one <- table[match(methods, table$method), ]
  lines <- lapply(c(TRUE, FALSE), function(spread) {
    out <- data.frame(method = methods)
    for (metric in levels(droplevels(table$metric))) {
      rows <- table[table$metric == metric, ]
      out[[metric]] <- say_means(rows[match(methods, rows$method), ], digits, spread)
    }
    out$fit <- say_seconds(one$fit_time)
    out$predict <- say_seconds(one$predict_time)
    utils::capture.output(print(left_names(out, "method"), row.names = FALSE))
  })
  wide <- length(lines[[1]]) > length(methods) + 1 # it had to be broken
  cat(lines[[1 + wide]], sep = "\n")
  if (!wide && any(is.finite(table$sd))) cat("in brackets: standard deviations over splits\n")
}

#' As in the paper: a table per metric, data sets in rows, methods in columns
#' @noRd
print_sets <- function(table, digits) {
  methods <- methods_by_result(table)
  for (metric in levels(droplevels(table$metric))) {
    rows <- table[table$metric == metric, ]
    sets <- levels(droplevels(rows$data))
    out <- data.frame(data = sets)
    for (method in methods) {
      one <- rows[rows$method == method, ]
      out[[method]] <- say_means(one[match(sets, one$data), ], digits, spread = FALSE)
    }
    cat("\n", metric, "\n", sep = "")
    print(left_names(out, "data"), row.names = FALSE)
  }
}

#' Means, with the standard deviation on request, a star for the best, and failures
#' @noRd
say_means <- function(rows, digits, spread) {
  number <- function(v) formatC(v, digits = digits, format = "f")
  text <- ifelse(is.na(rows$mean) & !is.nan(rows$mean), "failed", number(rows$mean))
  some <- !is.na(rows$infinite) & rows$infinite > 0
  text[some] <- say_infinite(rows[some, ])
  if (spread) {
    known <- is.finite(rows$sd)
    text[known] <- paste0(text[known], " (", number(rows$sd[known]), ")")
  }
  some <- rows$failed > 0 & rows$splits > 0
  text[some] <- paste0(text[some], " ", rows$failed[some], " failed")
  paste0(text, ifelse(rows$best, "*", " "))
}

#' "Inf 9/10": infinite in nine of ten splits
#' @noRd
say_infinite <- function(rows) paste0("Inf ", rows$infinite, "/", rows$splits)

say_seconds <- function(x) {
  ifelse(is.na(x), "", ifelse(x < 0.9995, paste(signif(1000 * x, 2), "ms"),
    paste(signif(x, 2), "s")))
}

#' Left-justified text in the first column
#' @noRd
left_names <- function(table, column) {
  table[[column]] <- format(as.character(table[[column]]), width = nchar(column))
  names(table)[names(table) == column] <- format(column, width = nchar(table[[column]][1]))
  table
}

#' "smaller is better, larger for gain, nearest to 1 for slope"
#' @noRd
say_directions <- function(higher, target = NULL) {
  target <- if (is.null(target)) rep(NA_real_, length(higher)) else target
  way <- ifelse(!is.na(target), paste("nearest to", target), ifelse(higher, "larger", "smaller"))
  ways <- unique(way[order(way != "smaller", way != "larger")])
  if (length(ways) == 1) return(paste(ways, if (ways %in% c("smaller", "larger")) "is better" else "is best"))
  rest <- vapply(ways[-1], function(one) {
    paste0(one, " for ", paste(names(higher)[way == one], collapse = ", "))
  }, "")
  paste0(ways[1], " is better, ", paste(rest, collapse = ", "))
}

say_problems <- function(problems) {
  count <- nrow(problems$failed)
  if (count) cat(say_count(count, "failure"), ", the first of ", problems$first, "\n", sep = "")
  if (problems$warnings > 0) {
    cat(say_count(problems$warnings, "warning"), " collected in attr(x, \"conditions\")\n", sep = "")
    if (length(problems$kinds)) cat(strwrap(problems$kinds, 100, indent = 2, exdent = 2), sep = "\n")
  }
}
