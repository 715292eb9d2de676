# Every check of what users pass in, and the conditions it raises. Calibrators and measures
# share one canonical form: a double matrix with the classes as columns, integer codes for the
# labels, and weights as doubles or NULL.

# Single values ---------------------------------------------------------------------------

#' Nothing may be left over in `...`: a misspelt argument would be lost there
#' @noRd
check_dots_empty <- function(...) {
  if (...length() == 0) return()
  name <- ...names()[1] # not evaluated: it may be a column's name
  if (is.null(name) || is_gap(name)) stop_input("...", "must be empty", "Name the arguments.")
  known <- names(formals(sys.function(-1)))
  near <- near_name(name, known)
  stop_input("...", paste0("has an unknown argument, ", name),
    if (length(near)) paste0("Did you mean ", near, "?") else if (name %in% c("event", "event_level") && "labels" %in% known) {
      "All classes are calibrated; with two, the event is the second level of `labels`."
    } else "Check the spelling of the arguments.")
}

#' The name that a misspelt one stands for, if one is near enough: two letters off, or its beginning
#' @noRd
near_name <- function(name, known) {
  known <- setdiff(known, "...")
  if (is.na(name) || !length(known)) return(NULL)
  begins <- known[startsWith(known, name)]
  if (length(begins) == 1) return(begins)
  off <- as.vector(utils::adist(name, known, ignore.case = TRUE))
  near <- known[off == min(off, 3) & off <= min(2, nchar(name) / 3)]
  if (length(near) == 1) near
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

# The canonical forms ---------------------------------------------------------------------

#' Scores, labels and weights in canonical form
#' @param compare whether to warn of scores that run against their labels.
#' @noRd
check_data <- function(scores, labels, input, weights, arg, threads = 1L, keep = character(),
                       compare = TRUE) {
  x <- as_score_matrix(scores, arg)
  columns <- named_columns(x, if (is.factor(labels)) levels(labels) else if (is.atomic(labels)) unique(labels))
  place <- check_labels(labels, nrow(x), max(2L, ncol(x)), columns, arg)
  if (!is.null(place$order)) x <- x[, place$order, drop = FALSE]
  weights <- check_weights(weights, nrow(x))
  single <- orient_column(x, place$classes, arg)
  checked <- check_scores(single$x, input, arg, threads = threads, flip = single$flip, keep = keep)
  data <- list(
    scores = checked$scores, labels = place$codes, classes = place$classes,
    weights = weights, input = checked$input, scan = checked$scan, threads = threads
  )
  if (compare) warn_against(data, labels, arg, !is.null(columns))
  data
}

#' What a calibrator is fitted to
#' @noRd
check_calibration <- function(scores, labels, input, weights, threads = 1L) {
  if (missing(scores)) stop_input("scores", "is missing", "Give the scores of the calibration rows.")
  if (missing(labels)) stop_input("labels", "is missing", "Give the true class of every row.")
  input <- check_choice(input, c("auto", "probs", "logits"), "input")
  check_data(scores, labels, input, weights, "scores", threads)
}

#' A fit where its probabilities are wanted
#' @noRd
check_no_fit <- function(x, arg) {
  if (inherits(x, "calibrator")) {
    stop_input(arg, "is a calibrator, not probabilities", "Give what it predicts, for example predict(fit, scores), with the labels of these rows.")
  }
}

#' What a measure is computed from
#' @noRd
check_forecast <- function(probs, labels, weights = NULL) {
  if (missing(probs)) stop_input("probs", "is missing", "Give the probabilities of the classes.")
  check_no_fit(probs, "probs")
  if (missing(labels)) stop_input("labels", "is missing", "Give the true class of every row.")
  data <- check_data(probs, labels, "probs", weights, "probs", keep = "max")
  list(
    probs = data$scores, labels = data$labels, classes = data$classes,
    weights = data$weights, conf = data$scan$max, pred = data$scan$arg
  )
}

#' New scores for a fitted calibrator: its classes, its kind of input
#' @noRd
check_newdata <- function(object, newdata, threads = 1L, arg = "newdata") {
  classes <- object$classes
  plain <- is.data.frame(newdata) && .row_names_info(newdata) < 0 # rows without names of their own
  if (is.data.frame(newdata)) newdata <- own_columns(object, newdata)
  x <- as_score_matrix(newdata, arg)
  rows <- rownames(x)
  if (plain) rows <- NULL
  if (max(2L, ncol(x)) != length(classes)) {
    stop_input(arg, paste0("has ", ncol(x), if (ncol(x) == 1) " column" else " columns",
      " but the calibrator has ", length(classes), " classes"),
      paste0("Give one column per class (", say_values(classes), ")", if (length(classes) == 2) " or that of the second alone", ".", if (is.data.frame(newdata)) {
        " They are the predictions of the classifier, not its predictors."
      }, if (is.null(dim(newdata)) && length(newdata) == length(classes)) {
        " For a single row keep the matrix: scores[1, , drop = FALSE]."
      }))
  }
  if (is.null(dim(newdata)) && length(newdata) == 2 && length(classes) == 2) check_one_row(newdata, classes, object$input, arg)
  columns <- named_columns(x, classes)
  if (!is.null(columns)) {
    order <- match_columns(columns, classes)
    if (is.null(order)) stop_names(arg, columns, classes)
    if (!identical(order, seq_along(order))) x <- x[, order, drop = FALSE]
  }
  single <- orient_column(x, classes, arg)
  checked <- check_scores(single$x, object$input, arg, min_rows = 0, threads = threads,
    flip = single$flip, keep = if (object$method == "gp") c("max", "min", "sum"))
  if (object$input == "logits" && nrow(x) > 1 && ncol(x) > 1 &&
    looks_like_probs(checked$scan, FALSE)) {
    warn_gpcalib("input", paste0("`", arg, "` looks like probabilities, but the calibrator was ",
      "fitted to logits. Give logits; if there are none, the logarithms of the probabilities."))
  }
  list(scores = checked$scores, scan = checked$scan, rows = rows)
}

#' Two numbers that may be one row of a matrix with two columns, which R has made a vector
#' @noRd
check_one_row <- function(newdata, classes, input, arg) {
  keep <- paste0("keep the matrix: scores[1, , drop = FALSE]")
  if (!is.null(names(newdata)) && !is.null(match_columns(names(newdata), classes))) {
    stop_input(arg, paste0("is a vector with the names of the two classes (", say_values(names(newdata)), "), which would be two rows"),
      paste0("If it is one row, ", keep, "; for two rows use unname()."))
  }
  if (input == "probs" && is.numeric(newdata) && isTRUE(abs(sum(newdata) - 1) < 1e-6)) {
    message(small_message(paste0("`", arg, "` is a vector of two numbers with the sum 1: they are read as two rows, each the probability of \"", classes[2],
      "\". If they are one row, ", keep, ".\n"), "gpcalib_message_vector"))
  }
}
