# Every check of what users pass in, and the conditions it raises. Calibrators and measures
# share one canonical form: a double matrix with the classes as columns, integer codes for the
# labels, and weights as doubles or NULL.

# Conditions ------------------------------------------------------------------------------

#' Raise an input error: "`arg` what. remedy"
#' @noRd
stop_input <- function(arg, what, remedy = NULL) {
  message <- paste0("`", arg, "` ", what, ".", if (!is.null(remedy)) paste0(" ", remedy))
  stop(errorCondition(message, class = c("gpcalib_error_input", "gpcalib_error"), call = NULL))
}

#' Warn with class gpcalib_warning_<class>
#' @noRd
warn_gpcalib <- function(class, message) {
  warning(warningCondition(message,
    class = c(paste0("gpcalib_warning_", class), "gpcalib_warning"), call = NULL
  ))
}

#' "row 4", "rows 4 and 9", "rows 4, 9, 11, 12, 15 and 30 more"
#' @noRd
say_rows <- function(rows, count = length(rows)) {
  rows <- as.character(utils::head(rows, 5))
  if (count == 1) return(paste("row", rows))
  if (count > length(rows)) {
    return(paste0("rows ", paste(rows, collapse = ", "), " and ", count - length(rows), " more"))
  }
  last <- length(rows)
  paste0("rows ", paste(rows[-last], collapse = ", "), " and ", rows[last])
}

say_count <- function(n, what) paste0(n, " ", what, if (n != 1) "s")

say_values <- function(x, most = 6) {
  shown <- paste0("\"", utils::head(x, most), "\"", collapse = ", ")
  if (length(x) > most) paste0(shown, ", ...") else shown
}

# Single values ---------------------------------------------------------------------------

#' Nothing may be left over in `...`: a misspelt argument would be lost there
#' @noRd
check_dots_empty <- function(...) {
  if (...length() == 0) return()
  name <- names(list(...))[1]
  stop_input("...", if (is.null(name) || is_gap(name)) {
    "must be empty"
  } else {
    paste0("has an unknown argument, ", name)
  }, "Check the spelling of the arguments.")
}

check_number <- function(x, arg, lower = -Inf, upper = Inf) {
  if (!is.numeric(x) || length(x) != 1 || is.na(x) || x < lower || x > upper) {
    stop_input(arg, paste0("must be one number", say_limits(lower, upper)), say_given(x))
  }
  as.double(x)
}

check_count <- function(x, arg, min = 1, max = .Machine$integer.max) {
  if (!is.numeric(x) || length(x) != 1 || is.na(x) || x != floor(x) || x < min || x > max) {
    stop_input(arg, paste0("must be one whole number", say_limits(min, max)), say_given(x))
  }
  as.integer(x)
}

check_flag <- function(x, arg) {
  if (!is.logical(x) || length(x) != 1 || is.na(x)) {
    stop_input(arg, "must be TRUE or FALSE", say_given(x))
  }
  x
}

#' match.arg() with our error; `x` as given (the whole vector of choices means the first)
#' @noRd
check_choice <- function(x, choices, arg) {
  if (identical(x, choices)) return(choices[1])
  if (!is.character(x) || length(x) != 1 || is.na(x) || !x %in% choices) {
    stop_input(arg, paste("must be one of", say_values(choices, 20)), say_given(x))
  }
  x
}

#' Threads are never more than the user names; the default is one
#' @noRd
check_threads <- function(threads) check_count(threads, "threads", 1, 1024)

say_limits <- function(lower, upper) {
  if (upper == .Machine$integer.max) upper <- Inf
  say <- function(x) format(x, digits = 3)
  if (is.finite(lower) && is.finite(upper)) return(paste(" from", say(lower), "to", say(upper)))
  if (is.finite(lower)) return(paste(" of at least", say(lower)))
  if (is.finite(upper)) return(paste(" of at most", say(upper)))
  ""
}

say_given <- function(x) {
  what <- if (is.null(x)) {
    "NULL"
  } else if (is.atomic(x) && length(x) == 1) {
    if (is.character(x)) paste0("\"", x, "\"") else format(x)
  } else {
    paste0("an object of class ", paste(class(x), collapse = "/"), " and length ", length(x))
  }
  paste0("It is ", what, ".")
}

check_weights <- function(weights, n) {
  if (is.null(weights)) return(NULL)
  if (!is.numeric(weights) || !is.null(dim(weights)) && length(dim(weights)) > 1) {
    stop_input("weights", "must be a numeric vector or NULL", say_given(weights))
  }
  if (length(weights) != n) {
    stop_input("weights", paste0("has ", say_count(length(weights), "value"), " but there are ", n,
      " rows"),
      "Give one weight per row.")
  }
  bad <- which(!is.finite(weights) | weights < 0)
  if (length(bad)) {
    stop_input("weights", paste0("has missing, infinite or negative values (",
      say_rows(bad, length(bad)), ")"), "Weights must be finite and not negative.")
  }
  if (all(weights == 0)) {
    stop_input("weights", "is zero for every row", "At least one row must count.")
  }
  if (sum(weights) > 1e290 || max(weights) < 1e-290) {
    stop_input("weights", "are too large or too small to be summed", "Rescale them.")
  }
  as.double(weights)
}

# Scores ----------------------------------------------------------------------------------

#' A numeric matrix as given: double, no checks of its values. A vector or a single column
#' becomes a one-column matrix.
#' @noRd
as_score_matrix <- function(x, arg) {
  if (is.data.frame(x)) {
    bad <- names(x)[!vapply(x, function(col) is.numeric(col) && is.null(dim(col)), NA)]
    if (length(bad)) {
      stop_input(arg, paste0("has columns that are not numeric (", say_values(bad), ")"),
        "Keep only the score columns, one per class.")
    }
    x <- as.matrix(x)
  }
  if (is.object(x) && is.numeric(unclass(x)) && length(dim(x)) == 2) {
    x <- matrix(x, nrow(x), dimnames = dimnames(x)) # votes, tables: a matrix all the same
  }
  if (!is.numeric(x) || is.object(x) || length(dim(x)) > 2) {
    stop_input(arg, "must be a numeric matrix, data frame or vector",
      paste0("It is ", if (is.character(x) && !is.null(dim(x))) "a character matrix." else {
        sub("^It is ", "", say_given(x))
      }, " Give one row per case and one column per class."))
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
  stop_input(arg, what, switch(arg,
    scores = "Divide rows by their sum, or pass input = \"logits\" for unnormalised scores.",
    newdata = "The calibrator was fitted to probabilities: give scores of the same kind.",
    "Values must lie in [0, 1] and rows sum to 1: divide percentages by 100, use predict() on logits."
  ))
}

#' Scores taken for logits that look as if they were meant as probabilities
#' @noRd
warn_near_probs <- function(scan, one_column, arg) {
  if (one_column || scan$lowest < -probs_slack) return()
  sums <- stats::median(scan$sum)
  like <- if (scan$highest <= 1 + probs_slack && abs(sums - 1) < 0.1) {
    row <- which.max(abs(scan$sum - 1))
    paste0("lie in [0, 1], but row ", row, " sums to ", format(scan$sum[row], digits = 6))
  } else if (scan$highest <= 100.1 && abs(sums - 100) < 1) {
    "look like percentages"
  }
  if (!is.null(like)) {
    warn_gpcalib("input", paste0("`", arg, "` ", like, ": taken as logits. Divide the rows by ",
      "their sum if they are probabilities, or pass input = \"logits\" if they are not."))
  }
}

#' The values of a score matrix checked and made canonical
#'
#' @return list: `scores` (N x K, K >= 2; for one column the second of two classes),
#'   `input` ("probs" or "logits"), `scan` of the canonical matrix. With `flip` a single
#'   column stands for the first class.
#' @noRd
check_scores <- function(x, input, arg, min_rows = 2, threads = 1L, flip = FALSE) {
  if (nrow(x) < min_rows) {
    stop_input(arg, paste0("has ", nrow(x), if (nrow(x) == 1) " row" else " rows"),
      paste("At least", min_rows, "are needed."))
  }
  scan <- .Call(C_scan, x, threads)
  check_finite(scan, arg)
  one_column <- ncol(x) == 1
  if (input == "auto") {
    input <- if (nrow(x) && looks_like_probs(scan, one_column)) "probs" else "logits"
    if (input == "logits") warn_near_probs(scan, one_column, arg)
  } else if (input == "probs" && nrow(x) && !looks_like_probs(scan, one_column)) {
    stop_not_probs(scan, x, arg)
  }
  # A vector of -Inf rules out the second class only: the first has a logit of 0.
  if (input == "logits" && !one_column && scan$n_dead > 0) {
    stop_input(arg, paste0("rules out every class by -Inf (", say_rows(scan$dead_rows, scan$n_dead),
      ")"), "At least one class of a row must have a finite logit.")
  }
  changed <- TRUE
  if (one_column) {
    x <- if (input == "probs") {
      p <- pmin(pmax(x, 0), 1)
      if (flip) cbind(p, 1 - p, deparse.level = 0) else cbind(1 - p, p, deparse.level = 0)
    } else {
      if (flip) cbind(x, 0, deparse.level = 0) else cbind(0, x, deparse.level = 0)
    }
  } else if (input == "probs" && nrow(x) && (scan$lowest < 0 || scan$highest > 1 ||
    scan$off > exact_slack)) {
    names <- dimnames(x)
    x <- .Call(C_normalise, x, exact_slack)
    dimnames(x) <- names
  } else {
    changed <- FALSE
  }
  if (changed) scan <- .Call(C_scan, x, threads)
  list(scores = x, input = input, scan = scan)
}

# Labels and classes ----------------------------------------------------------------------

#' The names to match with the classes; NULL when columns are to be taken in order
#'
#' cbind(1 - p, p) names its second column only: names with gaps are no names, unless one of
#' them is a class.
#' @noRd
named_columns <- function(x, classes) {
  columns <- colnames(x)
  if (ncol(x) == 1 || is.null(columns)) return(NULL)
  if (!any(is_gap(columns))) return(columns)
  meant <- columns %in% classes | sub("^\\.pred_", "", columns) %in% classes
  if (any(meant)) columns
}

is_gap <- function(name) is.na(name) | name == ""

#' Which column holds which class
#'
#' @param columns column names; @param classes the classes in their order.
#' @return integer: `columns[result]` are the classes; NULL when the names do not match.
#' @noRd
match_columns <- function(columns, classes) {
  bare <- sub("^\\.pred_", "", columns)
  for (names in list(columns, bare)) {
    if (length(names) == length(classes) && !anyDuplicated(names) && setequal(names, classes)) {
      return(match(classes, names))
    }
  }
  NULL
}

stop_names <- function(arg, columns, classes) {
  stop_input(arg, paste0("has column names (", say_values(columns),
    ") that do not match the classes (", say_values(classes), ")"),
    "Rename the columns, or drop the names with unname() to take them in order.")
}

#' The number of classes in the labels is not that of the scores
#' @param kind what was counted: "level", "different value"
#' @noRd
stop_class_count <- function(found, k, arg, kind) {
  found <- paste0(found, " ", kind, if (found != 1) "s")
  stop_input("labels", paste0("has ", found, " but `", arg, "` has ",
    if (k == 2) "two classes" else paste(k, "columns")),
    if (k == 2) {
      "Give a factor with two levels, or one column of scores for each class."
    } else {
      "Give a factor whose levels are the classes, one for each column."
    })
}

#' Labels as integer codes, and the order of the columns that goes with them
#'
#' @return list: `codes`, `classes`, `order` (NULL: columns as they are).
#' @noRd
check_labels <- function(labels, n, k, columns, arg) {
  if (is.data.frame(labels) && length(labels) == 1) labels <- labels[[1]]
  known <- is.factor(labels) || is.character(labels) || is.logical(labels) || is.numeric(labels)
  if (!known || (is.object(labels) && !is.factor(labels)) || length(dim(labels)) > 1) {
    stop_input("labels", "must be a factor, character, logical or whole numbers",
      paste(say_given(labels), "Give one label per row."))
  }
  if (length(labels) != n) {
    stop_input("labels", paste0("has ", say_count(length(labels), "value"), " but `", arg, "` has ",
      say_count(n, "row")), "Give one label per row.")
  }
  if (anyNA(labels)) {
    bad <- which(is.na(labels))
    stop_input("labels", paste0("has missing values (", say_rows(bad, length(bad)), ")"),
      "Remove those rows, or fill them in.")
  }
  if (is.factor(labels)) {
    classes <- levels(labels)
    check_extra_columns(columns, classes, arg)
    if (length(classes) != k) stop_class_count(length(classes), k, arg, "level")
    codes <- as.integer(labels)
    if (length(codes) && (min(codes) < 1L || max(codes) > k)) {
      stop_input("labels", "is not a valid factor: it has codes without a level",
        "Make it anew with factor().")
    }
    return(place_columns(codes, classes, columns, arg))
  }
  if (is.logical(labels)) {
    if (k != 2) {
      stop_input("labels", paste0("is logical, which means two classes, but `", arg, "` has ", k,
        " columns"), "Give a factor whose levels are the classes, one for each column.")
    }
    return(place_columns(labels + 1L, c("FALSE", "TRUE"), columns, arg))
  }
  if (is.numeric(labels)) {
    check_whole(labels)
    if (is.null(columns)) return(code_whole(labels, k))
    labels <- if (is.integer(labels)) labels else as.double(labels)
    values <- unique(labels)
    return(name_labels(labels, values, sprintf("%.0f", as.double(values)), columns, arg))
  }
  if (is.null(columns)) {
    classes <- levels(factor(labels))
    if (length(classes) != k) stop_class_count(length(classes), k, arg, "different value")
    return(list(codes = match(labels, classes), classes = classes, order = NULL))
  }
  values <- unique(labels)
  name_labels(labels, values, values, columns, arg)
}

#' Columns beside those of the classes
#' @noRd
check_extra_columns <- function(columns, classes, arg) {
  bare <- sub("^\\.pred_", "", columns)
  extra <- columns[!columns %in% classes & !bare %in% classes]
  if (length(extra) && all(classes %in% c(columns, bare))) {
    stop_input(arg, paste0("has columns that are no class (", say_values(extra), ")"),
      paste0("Keep only the score columns: ", say_values(classes), "."))
  }
}

place_columns <- function(codes, classes, columns, arg) {
  order <- NULL
  if (!is.null(columns)) {
    order <- match_columns(columns, classes)
    if (is.null(order)) stop_names(arg, columns, classes)
    if (identical(order, seq_along(order))) order <- NULL
  }
  list(codes = codes, classes = classes, order = order)
}

#' Labels without levels of their own: the columns' names are the classes, in their order
#'
#' @param values the labels' distinct values, `text` the same as character.
#' @noRd
name_labels <- function(labels, values, text, columns, arg) {
  bare <- sub("^\\.pred_", "", columns)
  for (classes in list(columns, bare)) {
    if (!anyDuplicated(classes) && all(text %in% classes)) {
      codes <- match(text, classes)[match(labels, values)]
      return(list(codes = codes, classes = classes, order = NULL))
    }
  }
  classes <- if (any(text %in% columns)) columns else bare
  if (!any(text %in% classes)) stop_names(arg, columns, sort(text))
  bad <- which(labels %in% values[!text %in% classes])
  stop_input("labels", paste0("has values that are not among the classes: ",
    say_values(text[!text %in% classes], 3), " (", say_rows(bad, length(bad)), ")"),
    paste0("The classes are the column names of `", arg, "`: ", say_values(classes), "."))
}

check_whole <- function(labels) {
  if (is.integer(labels)) return()
  bad <- which(labels != floor(labels) | is.infinite(labels))
  if (length(bad)) {
    stop_input("labels", paste0("has numbers that are not whole (",
      say_rows(bad, length(bad)), ")"), "Labels are classes: whole numbers, or a factor.")
  }
}

code_whole <- function(labels, k) {
  lowest <- min(labels)
  first <- if (lowest == 0) 0L else 1L
  if (lowest < 0 || max(labels) > first + k - 1) {
    bad <- which(labels < 0 | labels > first + k - 1)
    stop_input("labels", paste0("has values outside ", first, " to ", first + k - 1, " (",
      say_rows(bad, length(bad)), ")"),
      "Whole numbers count the columns from 1, or from 0 when a 0 occurs.")
  }
  codes <- as.integer(labels)
  if (k == 2 && first == 1L && all(codes == 1L)) {
    warn_gpcalib("labels", paste0("`labels` are all 1 and count the classes from 1: every row ",
      "belongs to the first of two classes. If they are meant as 0/1, give a factor with both ",
      "levels."))
  }
  list(codes = if (first == 0L) codes + 1L else codes,
    classes = as.character(seq(first, length.out = k)), order = NULL)
}

#' A single column that carries the name of the first class: turned into the second's
#'
#' Other names say nothing (`data.frame(p = p)`), except that `.pred_` asks for a class.
#' @noRd
orient_column <- function(x, classes, arg) {
  name <- colnames(x)
  if (ncol(x) != 1 || is.null(name) || is_gap(name)) return(list(x = x, flip = FALSE))
  bare <- sub("^\\.pred_", "", name)
  known <- c(name, bare) %in% classes
  if (!any(known) && bare != name) stop_names(arg, name, classes)
  list(x = unname_columns(x), flip = any(c(name, bare) == classes[1]) && name != classes[2])
}

unname_columns <- function(x) {
  colnames(x) <- NULL
  x
}

# The canonical forms ---------------------------------------------------------------------

#' Scores, labels and weights in canonical form
#' @noRd
check_data <- function(scores, labels, input, weights, arg, threads = 1L) {
  x <- as_score_matrix(scores, arg)
  columns <- named_columns(x, if (is.factor(labels)) levels(labels) else unique(labels))
  place <- check_labels(labels, nrow(x), max(2L, ncol(x)), columns, arg)
  if (!is.null(place$order)) x <- x[, place$order, drop = FALSE]
  weights <- check_weights(weights, nrow(x))
  single <- orient_column(x, place$classes, arg)
  checked <- check_scores(single$x, input, arg, threads = threads, flip = single$flip)
  list(
    scores = checked$scores, labels = place$codes, classes = place$classes,
    weights = weights, input = checked$input, scan = checked$scan
  )
}

#' What a calibrator is fitted to
#' @noRd
check_calibration <- function(scores, labels, input, weights, threads = 1L) {
  if (missing(scores)) stop_input("scores", "is missing", "Give the scores of the calibration rows.")
  if (missing(labels)) stop_input("labels", "is missing", "Give the true class of every row.")
  input <- check_choice(input, c("auto", "probs", "logits"), "input")
  check_data(scores, labels, input, weights, "scores", threads)
}

#' What a measure is computed from
#' @noRd
check_forecast <- function(probs, labels, weights = NULL) {
  if (missing(probs)) stop_input("probs", "is missing", "Give the probabilities of the classes.")
  if (missing(labels)) stop_input("labels", "is missing", "Give the true class of every row.")
  data <- check_data(probs, labels, "probs", weights, "probs")
  list(
    probs = data$scores, labels = data$labels, classes = data$classes,
    weights = data$weights, conf = data$scan$max, pred = data$scan$arg
  )
}

#' New scores for a fitted calibrator: its classes, its kind of input
#' @noRd
check_newdata <- function(object, newdata, threads = 1L) {
  x <- as_score_matrix(newdata, "newdata")
  classes <- object$classes
  rows <- rownames(x)
  if (is.data.frame(newdata) && .row_names_info(newdata) < 0) rows <- NULL
  if (max(2L, ncol(x)) != length(classes)) {
    stop_input("newdata", paste0("has ", ncol(x), if (ncol(x) == 1) " column" else " columns",
      " but the calibrator has ", length(classes), " classes"),
      paste0("Give one column per class (", say_values(classes), ")."))
  }
  columns <- named_columns(x, classes)
  if (!is.null(columns)) {
    order <- match_columns(columns, classes)
    if (is.null(order)) stop_names("newdata", columns, classes)
    if (!identical(order, seq_along(order))) x <- x[, order, drop = FALSE]
  }
  single <- orient_column(x, classes, "newdata")
  checked <- check_scores(single$x, object$input, "newdata", min_rows = 0, threads = threads,
    flip = single$flip)
  if (object$input == "logits" && nrow(x) > 1 && ncol(x) > 1 &&
    looks_like_probs(checked$scan, FALSE)) {
    warn_gpcalib("input", paste0("`newdata` looks like probabilities, but the calibrator was ",
      "fitted to logits."))
  }
  list(scores = checked$scores, scan = checked$scan, rows = rows)
}
