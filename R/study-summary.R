# Tables of a study.

#' Tables of a study
#'
#' `summary()` averages a [calib_study()] over its splits and compares each method with a reference, split by split.
#' `print()` shows a table of the means, with the best methods marked.
#'
#' # Standard errors
#' Let s be the standard deviation of a metric over the J splits, or of its difference to the reference in the same
#' splits. There are three standard errors, which answer different questions.
#' * `"rows"`, the default: what would the mean be on other rows from the same source? All splits use the same N rows,
#'   so that this standard error does not go to zero with more splits. Metrics that are means of a loss over rows (log
#'   loss, Brier score, accuracy) get
#'   \deqn{\sqrt{s_\mathrm{row}^2/N + s^2/J},}{sqrt(s_row^2/N + s^2/J),}
#'   \eqn{s_\mathrm{row}}{s_row} the standard deviation over rows of each row's loss (or difference of losses)
#'   averaged over the splits in which it was tested. Each of the `groups` of a study counts as one row, and weights are
#'   used. Other metrics, in particular the calibration errors, get `"corrected"`.
#' * `"corrected"`, of Nadeau and Bengio (2003):
#'   \eqn{s \sqrt{1/J + n_\mathrm{test}/n_\mathrm{cal}}}{s sqrt(1/J + n_test/n_cal)}, an approximation to the same
#'   standard error, in which the correlation between splits is taken to be
#'   \eqn{n_\mathrm{test}/(n_\mathrm{cal}+n_\mathrm{test})}{n_test / (n_cal + n_test)}. It is too large when there are
#'   few calibration rows and many test rows.
#' * `"splits"`, \eqn{s/\sqrt{J}}{s / sqrt(J)}: would another run of the study on *these* rows, with other splits, give
#'   the same table? It goes to zero as the number of splits grows, and does not show whether one method is better on
#'   new rows: equally good methods then appear to differ in a third of cases or more.
#'
#' Differences are paired, and therefore usually more precise than the two means.
#'
#' # Marks
#' The method with the best mean is marked by a star, and so are those whose paired difference to it is at most two
#' standard errors of this difference: on these splits they cannot be told from the best. A method whose results vary much from
#' split to split, as the calibration error often does, can therefore have a star although its mean is worse than that of a method
#' without one. Methods that failed in a split are not marked, because their means are over other splits. No stars are printed for a metric with corrected standard
#' errors where these are known to be too large (more than twice as many test rows as calibration rows) or give every method a star; the column
#' `best` of the summary does not change.
#'
#' @param object,x A study, or for `print()` its summary.
#' @param reference The method to compare with; `NULL`: `"none"` if it is there, otherwise the
#'   first.
#' @param std_error Which standard error, see below.
#' @param digits How many decimals to print.
#' @param ... Not used.
#' @return `summary()`: a data frame of class `summary.calib_study` with one row per data set, metric
#'   and method and the columns `data`, `metric`, `method`, `splits` (the number of successful ones), `failed`, `infinite`
#'   (the number of splits with an infinite value), `mean`, `sd`, `std.error`, `difference` to the reference and its
#'   `diff.error`, over the splits in which both succeeded (where one of them failed in some splits, `std_error = "rows"` has the corrected error there), `best` (whether it is marked), and the medians of `fit_time` and
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
summary.calib_study <- function(object, reference = NULL,
                                std_error = c("rows", "splits", "corrected"), ...) {
  check_dots_empty(...)
  std_error <- check_choice(std_error, study_errors, "std_error")
  reference <- check_reference(reference, object)
  higher <- attr(object, "higher")
  target <- attr(object, "target")
  table <- droplevels(as.data.frame(object))
  blocks <- split(table, list(table$metric, table$data), drop = TRUE)
  rows <- lapply(blocks, function(block) {
    metric <- as.character(block$metric[1])
    known <- if (std_error == "rows") attr(object, "rows")[[as.character(block$data[1])]][[metric]]
    summarise_block(block, reference, list(kind = std_error, rows = known),
      isTRUE(higher[metric]), if (is.null(target)) NA else target[metric])
  })
  out <- do.call(rbind, unname(rows))
  structure(out, reference = reference, std_error = std_error, higher = higher, target = target,
    corrected = Filter(function(metric) std_error == "corrected" || std_error == "rows" && !errors_of_rows(object, metric), levels(table$metric)),
    same = same_methods(table), many_test = mean(table$n_test) > many_test * mean(table$n_cal), problems = count_problems(object), sizes = unique(table[c("n_cal", "n_test")]), splits = range(table(unique(table[c("data", "split")])$data)),
    class = c("summary.calib_study", "data.frame"))
}

same_within <- 1e-5 # values that differ by less are printed alike

#' Methods whose values agree in every split, and in a metric other than the accuracy, which many methods leave alone
#' @return list of groups of names.
#' @noRd
same_methods <- function(table) {
  methods <- levels(table$method)
  values <- lapply(methods, function(method) {
    rows <- table[table$method == method, ]
    rows$value[order(rows$data, rows$metric, rows$split)]
  })
  telling <- any(levels(table$metric) != "class_accuracy")
  if (!telling) return(list())
  agree <- function(i, j) {
    x <- values[[i]]
    y <- values[[j]]
    length(x) == length(y) && identical(is.finite(x), is.finite(y)) && any(is.finite(x)) && all(abs(x - y)[is.finite(x)] < same_within)
  }
  group <- seq_along(methods)
  for (j in seq_along(methods)[-1]) {
    like <- Position(function(i) agree(i, j), seq_len(j - 1))
    if (!is.na(like)) group[j] <- group[like]
  }
  unname(Filter(function(names) length(names) > 1, split(methods, group)))
}

say_same <- function(table) {
  lines <- vapply(attr(table, "same"), function(names) {
    shrunk <- intersect(names, c("vector", "matrix"))
    paste0(say_and(paste0("\"", names, "\"")), " have the same values in every split", if (length(shrunk) && "temperature" %in% names) {
      paste0(": the ridge penalty made ", say_and(shrunk), " scaling temperature scaling")
    }, ".")
  }, "")
  if (length(lines)) cat(strwrap(lines, 100, exdent = 2), sep = "\n")
}

study_errors <- c("rows", "splits", "corrected")

check_reference <- function(reference, study) {
  known <- levels(droplevels(study$method))
  if (is.null(reference)) return(if ("none" %in% known) "none" else known[1])
  check_choice(reference, known, "reference")
}

#' One data set, one metric
#' @param error list: `kind` of standard error, `rows` the covariance of row means (NULL: none).
#' @noRd
summarise_block <- function(block, reference, error, higher, target) {
  values <- function(method) {
    rows <- block[block$method == method & is.na(block$error), ]
    stats::setNames(rows$value, rows$split)
  }
  rest <- if (error$kind == "splits") 0 else mean(block$n_test) / mean(block$n_cal)
  corrected <- function(x, ratio) stats::sd(x) * sqrt(1 / length(x) + ratio)
  # `apart`: coefficients of the methods whose mean, or difference, it is
  error_of <- function(x, apart) {
    if (is.null(error$rows)) return(corrected(x, rest))
    known <- error$rows[names(apart), names(apart)]
    between <- if (length(x) > 1) stats::var(x) / length(x) else 0
    sqrt(max(0, drop(apart %*% known %*% apart)) + between)
  }
  paired <- function(one, other, bend = identity) {
    x <- values(one)
    y <- values(other)
    both <- intersect(names(x), names(y))
    apart <- bend(x[both]) - bend(y[both])
    list(mean = mean_or_na(apart), error = if (setequal(names(x), names(y))) error_of(apart, stats::setNames(c(1, -1), c(one, other))) else {
      corrected(apart, rest) # the rows' losses are over other splits
    })
  }
  rows <- lapply(levels(droplevels(block$method)), function(method) {
    rows <- block[block$method == method, ]
    x <- values(method)
    other <- method != reference
    apart <- if (other) paired(method, reference)
    data.frame(
      data = block$data[1], metric = block$metric[1],
      method = factor(method, levels = levels(block$method)),
      splits = length(x), failed = nrow(rows) - length(x), infinite = sum(is.infinite(x)),
      mean = mean_or_na(x), sd = stats::sd(x), std.error = error_of(x, stats::setNames(1, method)),
      difference = if (other) apart$mean else NA_real_,
      diff.error = if (other) apart$error else NA_real_,
      best = FALSE,
      fit_time = stats::median(rows$fit_time, na.rm = TRUE),
      predict_time = stats::median(rows$predict_time, na.rm = TRUE)
    )
  })
  out <- do.call(rbind, rows)
  bend <- if (!is.na(target)) function(x) abs(x - target) else if (higher) function(x) -x else identity
  out$best <- mark_best(out, vapply(as.character(out$method), function(m) mean_or_na(bend(values(m))), 0),
    function(one, other) paired(one, other, bend))
  out
}

mean_or_na <- function(x) if (length(x)) mean(x) else NA_real_

best_errors <- 2 # standard errors of the difference within which a method is as good as the best

#' @param loss by method, smaller is better; @param paired the difference of two methods and its error.
#' @noRd
mark_best <- function(table, loss, paired) {
  loss[table$failed > 0 | !is.finite(loss)] <- NA
  if (all(is.na(loss))) return(rep(FALSE, length(loss)))
  methods <- as.character(table$method)
  first <- which.min(loss)
  vapply(seq_along(loss), function(i) {
    if (is.na(loss[i])) return(FALSE)
    if (i == first || loss[i] == loss[first]) return(TRUE)
    apart <- paired(methods[i], methods[first])
    isTRUE(apart$mean <= best_errors * apart$error)
  }, NA)
}

count_problems <- function(study) {
  seen <- attr(study, "conditions")
  bad <- study[!is.na(study$error), ]
  list(
    failed = unique(data.frame(data = bad$data, split = bad$split, method = bad$method)),
    first = if (nrow(bad)) paste0(bad$method[1], ": ", bad$error[1]),
    warnings = if (is.null(seen)) 0L else sum(seen$kind == "warning"),
    kinds = common_warnings(seen)
  )
}

#' The first sentence of a message, or as many whole words of it as `most` letters hold
#' @noRd
first_words <- function(x, most) {
  x <- sub("(?<=[a-z0-9)])[.] (?=[A-Z]).*$", ".", x, perl = TRUE)
  if (nchar(x) <= most) x else paste(strwrap(x, most - 3)[1], "...")
}

kinds_said <- 3L

#' A warning that was given several times: with its numbers if they are always the same
#' @noRd
say_alike <- function(messages, kind) if (length(unique(messages)) == 1) messages[1] else kind

#' Which methods warned, and of what: the most common warnings, a line each
#' @noRd
common_warnings <- function(seen) {
  if (!all(c("kind", "method", "message") %in% names(seen))) return(NULL)
  seen <- seen[seen$kind == "warning", ]
  if (!nrow(seen)) return(NULL)
  first <- vapply(seen$message, first_words, "", most = 1000, USE.NAMES = FALSE)
  words <- gsub("[0-9]+(, [0-9]+)*( and [0-9]+)?( more)?", "...", first) # the same warning about other numbers
  kinds <- sort(table(words), decreasing = TRUE)
  lines <- vapply(utils::head(names(kinds), kinds_said), function(kind) {
    by <- table(as.character(seen$method[words == kind]))
    by <- by[order(-by)]
    paste0("from ", paste0(names(by), " (", by, ")", collapse = ", "), ": \"", first_words(say_alike(first[words == kind], kind), 160), "\"")
  }, "")
  c(unname(lines), if (length(kinds) > kinds_said) paste("and", say_count(length(kinds) - kinds_said, "other kind")))
}
