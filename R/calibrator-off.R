# What a fit says of its own rows: their log loss before and after, and the mean prediction of each class beside
# its frequency. A method that cannot shift a class (temperature scaling, say) may be off by a lot.

off_limit <- 4 # standard errors
off_named <- 3L # classes
off_names <- c("class", "observed", "predicted", "errors")
# Rows spread evenly over the data are predicted: so many scores, but neither fewer nor more rows than
# these. A prediction of all rows would take as long as the fit.
off_scores <- 2e5
off_rows <- c(200, 5000)

#' Methods that can make a class more or less likely as a whole: named when a class is off
#' @noRd
shifting_methods <- function(classes, last = "and") {
  if (classes > 2) return(paste("calib_gp(), calib_vector()", last, "calib_matrix()")) # one against the rest is a poor choice
  paste("calib_gp(), calib_platt()", last, "calib_beta()")
}

#' What a fit that cannot do so is told
#' @noRd
say_shifting <- function(object) {
  if (object$method == "temperature") return(paste("  this method cannot shift a class;", shifting_methods(length(object$classes)), "can"))
  if (object$method != "gp" || object$class_effects == "matrix") return(NULL)
  if (object$class_effects == "offset") {
    return("  offsets alone do not correct that; calib_gp() with its defaults may, and so may calib_platt() and calib_beta()")
  }
  if (isTRUE(object$monotone)) {
    return("  monotone = TRUE cannot shift a class; monotone = TRUE, class_effects = \"offset\" can, and so can calib_gp() with its defaults; both may change the most likely class of a row")
  }
  "  class_effects = \"none\" cannot shift a class; calib_gp() with its defaults does, and so do calib_platt() and calib_beta()"
}

off_size <- function(n, k) min(n, off_rows[2], max(off_rows[1], floor(off_scores / k)))

#' A fit on its own rows
#'
#' @param data what check_calibration() returned.
#' @return list: `off` (see class_off()), `means` (class_means()), `loss`, the log loss before and after calibration, NA where it is infinite,
#'   `accuracy` likewise, and `confidence` (own_confidence()).
#' @noRd
own_rows <- function(object, data) {
  if (object$method == "none") return(NULL)
  n <- nrow(data$scores)
  k <- length(data$classes)
  size <- off_size(n, k)
  rows <- if (size < n) unique(round(seq(1, n, length.out = size)))
  scores <- if (is.null(rows)) data$scores else data$scores[rows, , drop = FALSE]
  labels <- if (is.null(rows)) data$labels else data$labels[rows]
  w <- if (is.null(data$weights)) rep(1, length(labels)) else if (is.null(rows)) data$weights else data$weights[rows]
  if (sum(w) <= 0) return(NULL)
  new <- list(scores = scores, scan = scan_rows(scores, data$threads, c("max", "min", "sum")), rows = NULL,
    threads = data$threads)
  probs <- suppressWarnings(predict_probs(object, new), classes = "gpcalib_warning")
  logits <- object$input == "logits"
  seen <- .Call(C_own_rows, probs, scores, new$scan$max, labels, w / sum(w), logits)
  loss <- stats::setNames(seen$loss, c("before", "after"))
  loss[!is.finite(loss)] <- NA
  right <- function(scan) sum(w[scan$arg == labels]) / sum(w)
  list(off = classes_off(seen, sum((w / sum(w))^2)), means = class_means(seen$before, seen), loss = loss, accuracy = c(before = right(new$scan), after = right(scan_rows(probs, data$threads))),
    confidence = if (object$method %in% c("gp", "temperature")) own_confidence((if (logits) 1 else new$scan$max) / seen$total, new$scan$arg == labels, w / sum(w)))
}

#' The mean confidence of the raw scores and the standard error of its difference from their accuracy, in this order (without names: objects are to stay small)
#' @param conf of the rows; @param right are they? @param w shares of the rows, which sum to 1.
#' @noRd
own_confidence <- function(conf, right, w) {
  gap <- conf - right
  c(sum(w * conf), sqrt(sum(w^2 * (gap - sum(w * gap))^2)))
}

#' Were the scores over- or underconfident? Not if the best temperature differs from 1 for a few extreme rows alone: then the mean confidence
#' is about the accuracy
#' @param t the best temperature; @param clear is it clearly not 1?
#' @return text
#' @noRd
confidence_verdict <- function(object, t, clear) {
  known <- !is.null(object[["row_confidence"]]) && !is.null(object[["row_accuracy"]]) # not after update(), nor in older fits
  mean <- if (known) object[["row_confidence"]][[1]]
  accuracy <- if (known) object[["row_accuracy"]][[1]]
  apart <- known && abs(mean - accuracy) > 2 * object[["row_confidence"]][[2]]
  say <- function(x) formatC(x, format = "f", digits = 3)
  if (!clear) {
    if (!apart) return("no clear over- or underconfidence")
    return(paste0("mean confidence ", say(mean), ", accuracy ", say(accuracy), ", but no temperature clearly improves the fit"))
  }
  if (apart && (mean > accuracy) == (t > 1)) return(paste("the scores were", if (t > 1) "overconfident" else "underconfident"))
  paste0(if (t > 1) "less" else "more", " extreme probabilities fit better", if (known) {
    paste0(", although the mean confidence (", say(mean), ") is within two standard errors of the accuracy (", say(accuracy), ")")
  })
}

say_loss <- function(object) {
  loss <- object[["row_loss"]]
  if (is.null(loss)) return(NULL)
  say <- function(x) if (is.na(x)) "infinite" else format(round(x, 4), nsmall = 4)
  paste0("log loss on ", if (own_sample(object)) say_own_rows(object) else "these rows", ": ", say(loss[[1]]),
    " before, ", say(loss[[2]]), " after calibration (optimistic: these rows were used to fit)")
}

#' Is what a fit says of its own rows from a part of them?
#' @noRd
own_sample <- function(object) off_size(object$n, length(object$classes)) < object$n

#' Which rows those are
#' @noRd
say_own_rows <- function(object, same = FALSE) {
  if (!own_sample(object)) return("the calibration rows")
  paste(if (same) "the same" else "a sample of", say_number(off_size(object$n, length(object$classes))), "calibration rows")
}

#' What is not known after update() or merge(), of which `seen_weight` is left
#' @noRd
say_updated <- function(object) {
  if (!is.null(object[["row_loss"]]) || is.null(object$seen_weight) || object$method == "none") return(NULL)
  if (!anyNA(object$changed)) return("log loss and accuracy on the calibration rows are not computed after update() or merge()")
  "log loss, accuracy and changed classes of the calibration rows are not computed after update() or merge()"
}

#' The classes whose mean prediction is far from their frequency on the calibration rows
#'
#' @param seen what C_own_rows returned; @param squares sum of the squared shares of the rows.
#' @return c(class = number, observed, predicted, errors = how many standard errors apart) of the worst class (of two: the second), NULL when
#'   no class is off by more than four. Where several are, the same four numbers of the next two follow, and `count`, how many there are in all.
#' @noRd
classes_off <- function(seen, squares) {
  observed <- seen$observed
  # The error under calibration. Counts of a rare class are skewed: with half the variance of its frequency at least, a Poisson count of
  # any mean is more than four off with a probability of at most 2.5e-4 (a normal variable: 6e-5), and a method that is sure of all its
  # rows has an error, too.
  error <- sqrt(pmax(seen$variance, squares * observed * (1 - observed) / 2, 1e-24)) # rounding may pass 1
  apart <- abs(seen$predicted - observed) / error
  far <- if (length(observed) == 2) 2L else order(-apart)
  far <- far[apart[far] > off_limit]
  if (!length(far)) return(NULL)
  some <- utils::head(far, off_named)
  out <- stats::setNames(as.vector(rbind(some, observed[some], seen$predicted[some], apart[some])), rep(off_names, length(some)))
  if (length(far) > 1) c(out, count = length(far)) else out
}

#' Is a field `off` none that classes_off() makes?
#' @noRd
off_wrong <- function(off, k) {
  if (is.null(off)) return(FALSE)
  count <- length(off) %/% length(off_names)
  if (!is.double(off) || count < 1 || count > off_named || !identical(names(off), c(rep(off_names, count), if (count > 1) "count"))) return(TRUE)
  !all(off[names(off) == "class"] %in% seq_len(k)) || count > 1 && !isTRUE(off[["count"]] %in% count:k)
}

means_kept <- 6L # classes; all of ten or fewer
means_all <- 10L

#' Mean probabilities before and after calibration beside the observed frequency, of the classes that were farthest off before (of two: of the second)
#'
#' @return four numbers for each class, one after the other: its number, the mean before, the frequency, the mean after. (A plain vector: objects are to stay
#'   small.)
#' @noRd
class_means <- function(before, seen) {
  error <- sqrt(pmax(seen$variance, 1e-24))
  chosen <- if (length(before) == 2) 2L else utils::head(order(-abs(before - seen$observed) / error), if (length(before) <= means_all) means_all else means_kept)
  as.vector(rbind(chosen, before[chosen], seen$observed[chosen], seen$predicted[chosen]))
}

#' The same as a table, NULL where it is not known
#' @noRd
means_table <- function(object) {
  means <- object[["row_means"]]
  if (is.null(means) || length(means) %% 4 != 0) return(NULL)
  means <- matrix(means, ncol = 4, byrow = TRUE)
  if (!all(means[, 1] %in% seq_along(object$classes))) return(NULL)
  data.frame(class = object$classes[means[, 1]], before = means[, 2], observed = means[, 3], after = means[, 4])
}

#' summary()'s part on it
#' @noRd
print_means <- function(object) {
  means <- means_table(object)
  if (is.null(means)) return(invisible())
  few <- nrow(means) < length(object$classes) && length(object$classes) > 2
  if (!few) means <- means[order(match(means$class, object$classes)), ]
  cat("\nMean probability on ", if (own_sample(object)) say_own_rows(object) else "the calibration rows", if (few) {
    paste(", of the", nrow(means), "classes\nthat were farthest off before (in standard errors, worst first)")
  }, ":\n", sep = "")
  for (name in names(means)[-1]) means[[name]] <- formatC(means[[name]], digits = 3, format = "f")
  print(left_names(means, "class"), row.names = FALSE)
}

say_off <- function(object) {
  off <- object[["off"]]
  count <- if ("count" %in% names(off)) off[["count"]] else 1
  off <- matrix(off[names(off) %in% off_names], length(off_names), dimnames = list(off_names, NULL))
  names <- paste0("\"", object$classes[off["class", ]], "\"")
  predicted <- vapply(off["predicted", ], format, "", digits = 3)
  observed <- vapply(off["observed", ], format, "", digits = 3)
  errors <- vapply(off["errors", ], format, "", digits = 2)
  said <- if (count == 1) {
    paste0("class ", names, " remains clearly miscalibrated: mean predicted probability ", predicted, ", observed frequency ", observed, " (", errors,
      " standard errors apart", if (length(object$classes) > 2) paste0("; no other class is more than ", off_limit, " apart"), ")")
  } else {
    paste0(count, " of ", length(object$classes), " classes remain clearly miscalibrated (mean predicted probability and observed frequency more than ", off_limit, " standard errors apart; calib_validate() also finds smaller errors): ",
      paste0(names, " (predicted ", predicted, ", observed ", observed, ": ", errors, ")", collapse = ", "), if (count > ncol(off)) paste0(" and ", count - ncol(off), " more"))
  }
  c(said, say_shifting(object))
}

#' Accuracy on the calibration rows before and after, or NULL
#' @noRd
say_accuracy <- function(object, optimistic = FALSE) {
  accuracy <- object[["row_accuracy"]]
  if (is.null(accuracy)) return(NULL)
  say <- function(x) paste(formatC(100 * x, format = "f", digits = 1), "%")
  paste0("accuracy on ", say_own_rows(object, optimistic), ": ", say(accuracy[[1]]), " before, ", say(accuracy[[2]]), " after", if (optimistic) " (also optimistic)")
}

few_scores <- 20 # distinct ones: as of a tree

#' A map that is not increasing, or shifts classes, changes which class is the most likely one. If more rows are right then, print()
#' says so; else, and where the map falls, it is a warning.
#' @noRd
warn_changed <- function(object, data) {
  changed <- object$changed
  accuracy <- object[["row_accuracy"]]
  if (max(object$prior) == 1) return() # all rows are of one class, which has been said
  if (!is.numeric(changed) || length(changed) != 1 || !isTRUE(changed > object$n / 10)) return()
  two <- length(object$classes) == 2
  falls <- !isTRUE(object$monotone) && (object$class_effects == "none" || two && !object$increasing)
  scores <- if (two && falls) length(unique(data$scores[, 2])) else Inf
  if (isTRUE(accuracy[[2]] > accuracy[[1]]) && (!falls || scores <= few_scores)) return()
  why <- if (scores <= few_scores) {
    paste0("Its map falls where the scores rise: there are only ", scores, " distinct scores, as from a tree. ",
      "calib_platt() and calib_isotonic() keep their order.")
  } else if (falls) {
    "Its map falls where the scores rise. Check that scores and labels belong together."
  } else {
    paste0("This is expected where the scores are far from calibrated, for example because the classes had other frequencies in training or the ",
      "classifier was overfitted; a mismatch of scores and labels is another possible cause. If the predicted classes must not change, use ",
      if (isTRUE(object$monotone)) "class_effects = \"none\"" else "monotone = TRUE", ".")
  }
  warn_gpcalib("changed", paste0(if (two) "Calibration moves the probabilities of " else "The fit changes the most likely class of ", changed, " of the ",
    object$n, " calibration rows", if (two) " across 1/2", " (", say_accuracy(object), "). ", why))
}
