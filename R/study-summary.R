# Tables of a study.

#' Tables of a study
#'
#' `summary()` averages a [calib_study()] over its splits and compares each method with a reference,
#' split by split. `print()` shows the means as a table in which the best methods are marked.
#'
#' # Standard errors
#' With values \eqn{v_1, \ldots, v_J}{v_1, ..., v_J} of J splits, or their differences to the
#' reference in the same splits, and their standard deviation s, the standard error of the mean is
#' \deqn{s \sqrt{1/J} \quad\mbox{or}\quad s \sqrt{1/J + n_\mathrm{test}/n_\mathrm{cal}}.}{
#'   s sqrt(1/J)  or  s sqrt(1/J + n_test/n_cal).}
#' The first (`"splits"`) tells how well the mean over *all possible splits of these rows* is known: it
#' answers whether another run of the study would give the same table, and it shrinks to zero when
#' `splits` grows. All splits share the same rows, so that their values are correlated, and the
#' sampling of the rows themselves is not in it: it is too small a yardstick for what would happen on
#' other rows from the same source. The second (`"corrected"`), of Nadeau and Bengio (2003), adds a
#' rough allowance for that by taking the correlation between splits to be
#' \eqn{n_\mathrm{test}/(n_\mathrm{cal}+n_\mathrm{test})}{n_test / (n_cal + n_test)}. It does not
#' shrink below a limit however many splits are drawn, and is cautious when few rows calibrate and
#' many test. Differences are paired, hence as a rule more precise than the two means they are made of.
#'
#' # Marks
#' The method with the best mean is marked by a star, and so are those within one standard error
#' (of that mean) of it. Methods that failed in some split take no part, as their means belong to
#' other splits.
#'
#' @param object,x A study, or for `print()` its summary.
#' @param reference The method to compare with; `NULL`: `"none"` if it is there, otherwise the
#'   first.
#' @param std_error Which standard error, see below.
#' @param digits How many decimals to print.
#' @param ... Not used.
#' @return `summary()`: a data frame of class `summary.calib_study` with one row per data set, metric
#'   and method and the columns `data`, `metric`, `method`, `splits` (that went well), `failed`,
#'   `mean`, `sd`, `std.error`, `difference` to the reference and its `diff.error`, over the splits in
#'   which both went well, `best` (whether it is marked), and the medians of `fit_time` and
#'   `predict_time` in seconds. `print()` returns its argument.
#' @references
#' Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. *Machine Learning*
#' **52**, 239-281. \doi{10.1023/A:1024068626366}
#' @examples
#' set.seed(1)
#' study <- calib_study(rain_nyc$prob, rain_nyc$rain, c("none", "temperature", "gp"), splits = 4,
#'   metrics = c("ece", "brier_score"))
#' study
#' summary(study, reference = "temperature")
#' summary(study, reference = "temperature", std_error = "corrected")
#' @export
summary.calib_study <- function(object, reference = NULL, std_error = c("splits", "corrected"), ...) {
  check_dots_empty(...)
  std_error <- check_choice(std_error, c("splits", "corrected"), "std_error")
  reference <- check_reference(reference, object)
  higher <- attr(object, "higher")
  table <- droplevels(as.data.frame(object))
  blocks <- split(table, list(table$metric, table$data), drop = TRUE)
  rows <- lapply(blocks, summarise_block, reference = reference, corrected = std_error == "corrected",
    higher = higher)
  out <- do.call(rbind, unname(rows))
  structure(out, reference = reference, std_error = std_error, higher = higher,
    problems = count_problems(object), sizes = unique(table[c("n_cal", "n_test")]), splits = range(table(unique(table[c("data", "split")])$data)),
    class = c("summary.calib_study", "data.frame"))
}

check_reference <- function(reference, study) {
  known <- levels(droplevels(study$method))
  if (is.null(reference)) return(if ("none" %in% known) "none" else known[1])
  check_choice(reference, known, "reference")
}

#' One data set, one metric
#' @noRd
summarise_block <- function(block, reference, corrected, higher) {
  values <- function(method) {
    rows <- block[block$method == method & is.na(block$error), ]
    stats::setNames(rows$value, rows$split)
  }
  base <- values(reference)
  ratio <- if (corrected) mean(block$n_test) / mean(block$n_cal) else 0
  error_of <- function(x) stats::sd(x) * sqrt(1 / length(x) + ratio)
  rows <- lapply(levels(droplevels(block$method)), function(method) {
    rows <- block[block$method == method, ]
    x <- values(method)
    both <- intersect(names(x), names(base))
    apart <- x[both] - base[both]
    other <- method != reference
    data.frame(
      data = block$data[1], metric = block$metric[1],
      method = factor(method, levels = levels(block$method)),
      splits = length(x), failed = nrow(rows) - length(x),
      mean = mean_or_na(x), sd = stats::sd(x), std.error = error_of(x),
      difference = if (other) mean_or_na(apart) else NA_real_,
      diff.error = if (other) error_of(apart) else NA_real_,
      best = FALSE,
      fit_time = stats::median(rows$fit_time, na.rm = TRUE),
      predict_time = stats::median(rows$predict_time, na.rm = TRUE)
    )
  })
  out <- do.call(rbind, rows)
  out$best <- mark_best(out, isTRUE(higher[as.character(block$metric[1])]))
  out
}

mean_or_na <- function(x) if (length(x)) mean(x) else NA_real_

mark_best <- function(table, higher) {
  loss <- if (higher) -table$mean else table$mean
  loss[table$failed > 0 | !is.finite(loss)] <- NA
  if (all(is.na(loss))) return(rep(FALSE, length(loss)))
  first <- which.min(loss)
  slack <- table$std.error[first]
  if (!is.finite(slack)) slack <- 0
  !is.na(loss) & loss <= loss[first] + slack
}

count_problems <- function(study) {
  seen <- attr(study, "conditions")
  bad <- study[!is.na(study$error), ]
  list(
    failed = unique(data.frame(data = bad$data, split = bad$split, method = bad$method)),
    first = if (nrow(bad)) paste0(bad$method[1], ": ", bad$error[1]),
    warnings = if (is.null(seen)) 0L else sum(seen$kind == "warning")
  )
}

# Printing --------------------------------------------------------------------------------

#' @rdname summary.calib_study
#' @export
print.calib_study <- function(x, digits = 4, ...) {
  table <- summary(x)
  say_study(table)
  if (nlevels(table$data) == 1) {
    print_one_set(table, digits)
  } else {
    print_sets(table, digits)
  }
  cat("* best, or within one standard error of the best (",
    if (any(attr(table, "higher")[levels(table$metric)])) {
      say_directions(attr(table, "higher")[levels(table$metric)])
    } else {
      "smaller is better"
    }, ")\n", sep = "")
  say_problems(attr(table, "problems"))
  invisible(x)
}

#' @rdname summary.calib_study
#' @export
print.summary.calib_study <- function(x, digits = 4, ...) {
  say_study(x)
  kind <- if (attr(x, "std_error") == "corrected") "corrected for overlapping splits" else {
    "over splits"
  }
  cat("Differences are to \"", attr(x, "reference"), "\"; standard errors ", kind, "\n", sep = "")
  number <- function(v) ifelse(is.na(v), "", formatC(v, digits = digits, format = "f"))
  shown <- data.frame(
    method = paste0(x$method, ifelse(x$best, " *", "")), mean = number(x$mean), sd = number(x$sd),
    s.e. = number(x$std.error),
    difference = ifelse(is.na(x$difference), "", formatC(x$difference, digits = digits, format = "f",
      flag = "+")),
    `s.e. ` = number(x$diff.error), fit = say_seconds(x$fit_time),
    predict = say_seconds(x$predict_time), check.names = FALSE
  )
  if (any(x$failed > 0)) shown$failed <- ifelse(x$failed > 0, x$failed, "")
  for (data in levels(droplevels(x$data))) {
    for (metric in levels(droplevels(x$metric))) {
      rows <- x$data == data & x$metric == metric
      cat("\n", if (nlevels(droplevels(x$data)) > 1) paste0(data, ", "), metric, "\n", sep = "")
      print(left_names(shown[rows, ], "method"), row.names = FALSE)
    }
  }
  say_problems(attr(x, "problems"))
  invisible(x)
}

say_study <- function(table) {
  splits <- unique(attr(table, "splits"))
  sets <- nlevels(droplevels(table$data))
  methods <- nlevels(droplevels(table$method))
  sizes <- attr(table, "sizes")
  cat("<calib_study> ", if (sets > 1) paste0(sets, " data sets, "), say_count(methods, "method"), ", ",
    paste(splits, collapse = " to "), if (identical(as.integer(splits), 1L)) " split" else " splits",
    if (nrow(sizes) == 1) paste0(": ", sizes$n_cal, " rows calibrate, ", sizes$n_test, " test"),
    "\n", sep = "")
}

#' Rows are methods, columns metrics and times; standard deviations if there is room for them
#' @noRd
print_one_set <- function(table, digits) {
  methods <- levels(droplevels(table$method))
  one <- table[!duplicated(table$method), ]
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
  methods <- levels(droplevels(table$method))
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
  if (spread) {
    known <- is.finite(rows$sd)
    text[known] <- paste0(text[known], " (", number(rows$sd[known]), ")")
  }
  some <- rows$failed > 0 & rows$splits > 0
  text[some] <- paste0(text[some], " ", rows$failed[some], " failed")
  paste0(text, ifelse(rows$best, "*", " "))
}

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

say_directions <- function(higher) {
  if (all(higher)) return("larger is better")
  paste0("smaller is better, larger for ", paste(names(higher)[higher], collapse = ", "))
}

say_problems <- function(problems) {
  count <- nrow(problems$failed)
  if (count) cat(say_count(count, "failure"), ", the first of ", problems$first, "\n", sep = "")
  if (problems$warnings > 0) {
    cat(say_count(problems$warnings, "warning"), " collected: attr(x, \"conditions\")\n", sep = "")
  }
}
