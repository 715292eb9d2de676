# Scores: from what users pass in to a double matrix with a column per class.

#' A numeric matrix as given: double, no checks of its values. A vector or a single column
#' becomes a one-column matrix.
#' @noRd
as_score_matrix <- function(x, arg) {
  if (is_lazy(x)) {
    stop_input(arg, "is a lazy table, whose rows are not in R", paste0("Collect the rows first. Lazy tables are for augment(), calib_sums(), ",
      "calib_metrics(), reliability_table(), calib_validate() and calib_counts(), to which calibrators can be fitted."))
  }
  if (is.data.frame(x)) {
    bad <- names(x)[!vapply(x, function(col) is.numeric(col) && is.null(dim(col)), NA)]
    if (length(bad)) {
      stop_input(arg, paste0("has columns that are not numeric (", say_values(bad), ")"),
        "Keep only the score columns (one per class, or one alone for two classes): the predictions of the classifier, not its predictors.")
    }
    x <- as.matrix(x)
  }
  if (is.object(x) && is.numeric(unclass(x)) && length(dim(x)) == 2) {
    x <- matrix(x, nrow(x), dimnames = dimnames(x)) # votes, tables: a matrix all the same
  }
  if (is.list(x) && !is.object(x) && length(x) && all(vapply(x, function(one) is.data.frame(one) || is.numeric(one) && length(one) > 1, NA))) {
    stop_input(arg, "is a list", paste0("Give one forecast at a time, for example by lapply(). These take several: calib_metrics(), ",
      "compare_forecasts(), net_benefit(), plot_reliability()."))
  }
  if (!is.numeric(x) || is.object(x) || length(dim(x)) > 2) {
    stop_input(arg, "must be a numeric matrix, data frame or vector",
      paste0("It is ", if (is.character(x) && !is.null(dim(x))) "a character matrix." else {
        sub("^It is ", "", say_given(x))
      }, if ((is.factor(x) || is.logical(x)) && arg %in% c("scores", "probs")) {
        " Labels come second, and predicted classes are not scores: give probabilities or logits."
      } else {
        " Give one row per case and one column per class."
      }))
  }
  if (length(dim(x)) < 2) {
    x <- matrix(x, ncol = 1, dimnames = if (!is.null(names(x))) list(names(x), NULL))
  }
  if (!is.double(x)) storage.mode(x) <- "double"
  if (ncol(x) == 0) stop_input(arg, "has no columns", "Give one column per class.")
  if (anyDuplicated(colnames(x)[!is_gap(colnames(x))])) {
    twice <- unique(colnames(x)[duplicated(colnames(x))])
    stop_input(arg, paste0("has duplicated column names (", say_values(twice), ")"),
      "Name each class once, or remove the names with unname().")
  }
  x
}

probs_slack <- 1e-3 # how far values and row sums may stray from a probability's
exact_slack <- 1e-10 # rows closer to 1 than this are not rescaled

#' One look at all scores; `keep` names the row vectors wanted ("max", "min", "sum") beside the
#' position of the maximum
#' @noRd
scan_rows <- function(x, threads = 1L, keep = character()) {
  .Call(C_scan, x, threads, c("max", "min", "sum") %in% keep)
}

looks_like_probs <- function(scan, one_column) {
  in_range <- scan$lowest >= -probs_slack && scan$highest <= 1 + probs_slack
  in_range && (one_column || scan$off <= probs_slack)
}

#' Finite values, except that logits may rule out a class by -Inf
#' @noRd
check_finite <- function(scan, arg) {
  if (scan$n_nan > 0) {
    stop_input(arg, paste0("has missing values (", say_rows(scan$nan_rows, scan$n_nan), ")"),
      "Remove those rows, or fill them in.")
  }
  if (scan$n_posinf > 0) {
    stop_input(arg, paste0("has infinite values (", say_rows(scan$posinf_rows, scan$n_posinf), ")"),
      if (arg == "probs") {
        "Probabilities must lie in [0, 1]."
      } else {
        "Only -Inf is allowed, in logits, for a class that is ruled out."
      })
  }
}

stop_not_probs <- function(scan, x, arg) {
  bad <- which(rowSums(x < -probs_slack | x > 1 + probs_slack) > 0 |
    (ncol(x) > 1 & abs(scan$sum - 1) > probs_slack))
  row <- bad[1]
  what <- if (ncol(x) > 1 && abs(scan$sum[row] - 1) > probs_slack) {
    paste0("has rows that are not probabilities: row ", row, " sums to ", format(scan$sum[row]))
  } else {
    out <- x[row, x[row, ] < -probs_slack | x[row, ] > 1 + probs_slack][1]
    paste0("has rows that are not probabilities: row ", row, " holds ", format(unname(out)))
  }
  if (length(bad) > 1) what <- paste0(what, " (", length(bad), " such rows)")
  in_range <- scan$lowest >= -probs_slack && scan$highest <= 1 + probs_slack
  stop_input(arg, what, switch(arg,
    scores = "Divide rows by their sum, or pass input = \"logits\" for unnormalised scores.",
    newdata = paste("The calibrator was fitted to probabilities:", if (in_range) "divide the rows by their sum." else "give scores of the same kind."),
    "Values must lie in [0, 1] and rows sum to 1: divide percentages by 100, and turn logits into probabilities by predict(calib_none(scores, labels), scores)."
  ))
}

#' Two whole numbers; most data have a third value among the first
#' @noRd
class_numbers <- function(x) {
  two <- function(x) length(unique(x)) <= 2
  two(utils::head(x, 100)) && two(x) && all(x == round(x)) && min(x) < max(x)
}

few_logits <- 10L # rows: with fewer it is no wonder if none is negative

#' Scores taken for logits that look as if they were meant as probabilities
#' @noRd
warn_near_probs <- function(scan, x, arg) {
  if (ncol(x) == 1 && nrow(x) >= few_logits && class_numbers(x)) {
    values <- sort(unique(x))
    warn_gpcalib("input", paste0("`", arg, "` are only ", values[1], " and ", values[2], ", which look like predicted classes: taken as ",
      "log-odds. Give probabilities or decision values, or 0 and 1 for predicted classes."))
    return()
  }
  if (nrow(x) == 0 || scan$lowest < -probs_slack || scan$highest > 100.1) return()
  if (ncol(x) == 1) {
    # Log-odds that are never negative but often large are hardly log-odds.
    if (nrow(x) >= 10 && stats::quantile(x, 0.9) > 10) {
      warn_gpcalib("input", paste0("`", arg, "` look like percentages: taken as log-odds. Divide ",
        "them by 100, or pass input = \"logits\" if they are not."))
    }
    return()
  }
  scan <- scan_rows(x, 1L, "sum")
  sums <- stats::median(scan$sum)
  positive <- scan$lowest >= 0 && scan$highest > scan$lowest && nrow(x) >= few_logits
  like <- if (scan$highest <= 1 + probs_slack && (positive || abs(sums - 1) < 0.1)) {
    row <- which.max(abs(scan$sum - 1))
    paste0("lie in [0, 1], but row ", row, " sums to ", format(scan$sum[row], digits = 6))
  } else if (abs(sums - 100) < 1) {
    "look like percentages"
  } else if (positive) {
    "have no negative value, which is unusual for logits"
  }
  if (!is.null(like)) {
    warn_gpcalib("input", paste0("`", arg, "` ", like, ": taken as logits. Divide the rows by ",
      "their sum if they are probabilities, or pass input = \"logits\" if they are not."))
  }
}

far_off <- 1e-12 # beyond 0 or 1: more than rounding

#' A vector of probabilities with values a little beyond 0 or 1, which count as 0 or 1: the complement is lost
#' @noRd
warn_clamped <- function(x, scan, arg) {
  above <- sum(x > 1)
  below <- sum(x < 0)
  one <- above + below == 1
  by <- function(size) paste0(" (by up to ", format(size, digits = 1), ")")
  warn_gpcalib("clamped", paste0("`", arg, "` ", if (one) "has a value" else paste("has", above + below, "values"), " a little ",
    if (above) paste0("above 1", by(scan$highest - 1)), if (above && below) " or ", if (below) paste0("below 0", by(-scan$lowest)), ", which ",
    if (one) "counts" else "count", " as ", if (above) "1", if (above && below) " and ", if (below) "0", ": one of the classes is then impossible. If you have the probabilities of both classes, ",
    "give them as a matrix, whose rows are divided by their sums."))
}

#' The values of a score matrix checked and made canonical
#'
#' @return list: `scores` (N x K, K >= 2; for one column the second of two classes),
#'   `input` ("probs" or "logits"), `scan` of the canonical matrix with the row vectors in `keep`. With `flip` a single
#'   column stands for the first class.
#' @noRd
check_scores <- function(x, input, arg, min_rows = 2, threads = 1L, flip = FALSE,
                         keep = character()) {
  if (nrow(x) < min_rows) {
    stop_input(arg, paste0("has ", nrow(x), if (nrow(x) == 1) " row" else " rows"),
      paste("At least", min_rows, "are needed."))
  }
  scan <- scan_rows(x, threads, keep)
  check_finite(scan, arg)
  one_column <- ncol(x) == 1
  if (input == "auto") {
    input <- if (nrow(x) && looks_like_probs(scan, one_column)) "probs" else "logits"
    if (input == "logits") warn_near_probs(scan, x, arg)
  } else if (input == "probs" && nrow(x) && !looks_like_probs(scan, one_column)) {
    stop_not_probs(scan_rows(x, threads, "sum"), x, arg)
  }
  # A vector of -Inf rules out the second class only: the first has a logit of 0.
  if (input == "logits" && !one_column && scan$n_dead > 0) {
    stop_input(arg, paste0("rules out every class by -Inf (", say_rows(scan$dead_rows, scan$n_dead),
      ")"), "At least one class of a row must have a finite logit.")
  }
  changed <- TRUE
  if (one_column) {
    x <- if (input == "probs") {
      if (scan$highest - 1 > far_off || -scan$lowest > far_off) warn_clamped(x, scan, arg)
      names <- rownames(x)
      p <- .Call(C_pair_probs, x, flip)
      if (!is.null(names)) rownames(p) <- names
      p
    } else {
      none <- rep(0, nrow(x)) # not 0, which cbind() would warn of when there are no rows
      if (flip) cbind(x, none, deparse.level = 0) else cbind(none, x, deparse.level = 0)
    }
  } else if (input == "probs" && nrow(x) && (scan$lowest < 0 || scan$highest > 1 ||
    scan$off > exact_slack)) {
    names <- dimnames(x)
    x <- .Call(C_normalise, x, exact_slack)
    dimnames(x) <- names
  } else {
    changed <- FALSE
  }
  if (changed) {
    given <- scan$arg
    scan <- scan_rows(x, threads, keep)
    if (!one_column) scan$arg <- given # division may make a tie of two scores that differ
  }
  list(scores = x, input = input, scan = scan)
}
