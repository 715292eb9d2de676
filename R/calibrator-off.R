# What a fit says of its own rows: their log loss before and after, and the mean prediction of each class beside
# its frequency. A method that cannot shift a class (temperature scaling, say) may be off by a lot.

off_limit <- 4 # standard errors
off_names <- c("class", "observed", "predicted", "errors")
# Rows spread evenly over the data are predicted: so many scores, but neither fewer nor more rows than
# these. A prediction of all rows would take as long as the fit.
off_scores <- 2e5
off_rows <- c(200, 5000)

# Named by print() when a class is off: methods that can make a class more or less likely as a whole.
shifting_methods <- "calib_gp(), calib_vector(), calib_platt() and calib_beta()"

#' What a fit that cannot do so is told
#' @noRd
say_shifting <- function(object) {
  if (object$method == "temperature") return(paste("  this method cannot shift a class;", shifting_methods, "can"))
  if (object$method != "gp" || !is.null(object$effects) || !is.null(object$offsets)) return(NULL)
  paste0("  ", if (isTRUE(object$monotone)) "monotone = TRUE" else "class_effects = \"none\"",
    " cannot shift a class; calib_gp() with its defaults does, and so do calib_platt() and calib_beta()")
}

off_size <- function(n, k) min(n, off_rows[2], max(off_rows[1], floor(off_scores / k)))

#' A fit on its own rows
#'
#' @param data what check_calibration() returned.
#' @return list: `off` (see class_off()) and `loss`, the log loss before and after calibration, NA where it is infinite.
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
  seen <- .Call(C_own_rows, probs, scores, new$scan$max, labels, w / sum(w), object$input == "logits")
  loss <- stats::setNames(seen$loss, c("before", "after"))
  loss[!is.finite(loss)] <- NA
  list(off = class_off(seen, sum((w / sum(w))^2)), loss = loss)
}

say_loss <- function(object) {
  loss <- object[["row_loss"]]
  if (is.null(loss)) return(NULL)
  say <- function(x) if (is.na(x)) "infinite" else format(round(x, 4), nsmall = 4)
  size <- off_size(object$n, length(object$classes))
  paste0("log loss on ", if (size < object$n) paste(format(size, big.mark = ","), "of "), "these rows: ", say(loss[[1]]),
    " before, ", say(loss[[2]]), " after calibration (higher on new rows)")
}

#' The class whose mean prediction is farthest from its frequency on the calibration rows
#'
#' @param seen what C_own_rows returned; @param squares sum of the squared shares of the rows.
#' @return c(class = number, observed, predicted, errors = how many standard errors apart), or NULL when
#'   no class is off by more than four.
#' @noRd
class_off <- function(seen, squares) {
  observed <- seen$observed
  # A method that is sure of all its rows has no error of its own: that of the frequency is used.
  error <- sqrt(pmax(seen$variance, squares * observed * (1 - observed), 1e-24)) # rounding may pass 1
  apart <- abs(seen$predicted - observed) / error
  worst <- if (length(observed) == 2) 2L else which.max(apart)
  if (apart[worst] <= off_limit) return(NULL)
  c(class = as.double(worst), observed = observed[worst], predicted = seen$predicted[worst], errors = apart[worst])
}

say_off <- function(object) {
  off <- object[["off"]]
  say <- function(x) format(x, digits = 3)
  c(
    paste0("class \"", object$classes[off[["class"]]], "\" remains miscalibrated: mean predicted probability ",
      say(off[["predicted"]]), ", observed frequency ", say(off[["observed"]]), " (",
      format(off[["errors"]], digits = 2), " standard errors apart)"),
    say_shifting(object)
  )
}

#' A map that is not increasing, or shifts classes, changes which class is the most likely one
#' @noRd
warn_changed <- function(object) {
  changed <- object$changed
  if (max(object$prior) == 1) return() # all rows are of one class, which has been said
  if (!is.numeric(changed) || length(changed) != 1 || !isTRUE(changed > object$n / 10)) return()
  why <- if (is.null(object$effects) && is.null(object$offsets) || length(object$classes) == 2 && !object$increasing) {
    ": its map falls where the scores rise. Check that scores and labels belong together."
  } else {
    paste0(", because it shifts classes. That is as it should be if the classifier was trained on other ",
      "class frequencies; otherwise check that scores and labels belong together.")
  }
  warn_gpcalib("changed", paste0("The fit changes the most likely class of ", changed, " of its ", object$n,
    " calibration rows", why))
}
