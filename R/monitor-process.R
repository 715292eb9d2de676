# The alternative "process" of a monitor: a fit of calib_gp() that goes on learning, each row being
# predicted by a fit to rows before it.

process_first <- 100 # rows of the first fit
process_most <- 1000 # and the most that ever wait for the next

new_process <- function(k) {
  list(fit = NULL, log_begun = -Inf, log_found = 0, fits = 0, seen = 0, failed = 0,
    held = list(probs = matrix(0, 0, k), code = integer(), weight = numeric()))
}

#' How many rows the next fit waits for: a tenth of those seen, so that the cost per row stays the same. It does not depend
#' on batches, so that the e-value does not either.
#' @noRd
process_wait <- function(process) min(process_most, max(process_first, ceiling(process$seen / 10)))

#' The logarithm of the e-value
#'
#' A fit to the first hundred rows may be worse than the forecast, and a product of q(y)/p(y) that begins with it would never forget that. So
#' the e-value is a mean of products that begin with the first fit, the second, ..., with the weights 1/(j (j + 1)): `log_begun` is the sum
#' of those begun, the others are still 1 and have the weight 1/(fits + 1) together. `log_found` is what merged monitors had found.
#' @noRd
process_log_e <- function(process) {
  waiting <- -log(process$fits + 1)
  top <- max(process$log_begun, waiting)
  process$log_found + top + log(exp(process$log_begun - top) + exp(waiting - top))
}

#' Take in labelled rows, in their order
#'
#' Each row is predicted by the fit as it is before that row, so that the product of q(y)/p(y) has expectation 1 for calibrated
#' probabilities whatever the fit is. A little of p is mixed into q, so that no single row is the end of it.
#' @noRd
process_add <- function(process, classes, probs, codes, weights) {
  counted <- which(weights > 0 & probs[cbind(seq_along(codes), codes)] > 0) # probability 0: the monitor counts them
  probs <- probs[counted, , drop = FALSE]
  codes <- codes[counted]
  weights <- weights[counted]
  at <- 0
  while (at < length(codes)) {
    wait <- process_wait(process) - length(process$held$code)
    rows <- seq.int(at + 1, min(at + wait, length(codes)))
    now <- list(probs = probs[rows, , drop = FALSE], code = codes[rows], weight = weights[rows])
    if (!is.null(process$fit)) {
      p <- now$probs[cbind(seq_along(rows), now$code)]
      q <- process_probs(process$fit, now$probs)[cbind(seq_along(rows), now$code)]
      gain <- log1p(-1e-6) + log(q) - log(p) # by logarithms: q / p overflows where p is tiny
      process$log_begun <- process$log_begun + sum(now$weight * (pmax(gain, log(1e-6)) + log1p(exp(-abs(gain - log(1e-6))))))
    }
    held <- process$held
    process$held <- list(probs = rbind(held$probs, now$probs), code = c(held$code, now$code), weight = c(held$weight, now$weight))
    if (length(process$held$code) >= process_wait(process)) process <- process_learn(process, classes)
    at <- rows[length(rows)]
  }
  process
}

process_probs <- function(fit, probs) suppressWarnings(predict(fit, probs))

#' A fit to the rows that wait, or its update by them. What the fit cannot take is left out of it, and counted.
#' @noRd
process_learn <- function(process, classes) {
  held <- process$held
  labels <- factor(classes[held$code], levels = classes)
  weights <- if (any(held$weight != 1)) held$weight
  fit <- tryCatch(suppressWarnings(if (is.null(process$fit)) {
    calib_gp(held$probs, labels, weights = weights, integrate = FALSE)
  } else {
    suppressMessages(update(process$fit, held$probs, labels, weights = weights), classes = "gpcalib_message_order")
  }), gpcalib_error = function(e) NULL)
  process$seen <- process$seen + length(held$code)
  process$held <- new_process(length(classes))$held
  if (is.null(fit)) {
    process$failed <- process$failed + 1
    return(process)
  }
  process$fit <- fit
  process$fits <- process$fits + 1
  begins <- -log(process$fits * (process$fits + 1))
  top <- max(process$log_begun, begins)
  process$log_begun <- top + log(exp(process$log_begun - top) + exp(begins - top))
  process
}

#' Two processes: their e-values are multiplied, the fit is that which has seen more.
#' @noRd
merge_processes <- function(a, b) {
  more <- if (b$seen > a$seen) b else a
  less <- if (b$seen > a$seen) a else b
  more$log_found <- more$log_found + process_log_e(less)
  more$failed <- a$failed + b$failed
  more
}

process_sound <- function(process, classes, arg) {
  k <- length(classes)
  held <- process$held
  number <- function(x) is.double(x) && length(x) == 1 && is.finite(x)
  sound <- is.list(process) && number(process$log_found) && number(process$fits) && process$fits >= 0 &&
    (number(process$log_begun) || identical(process$log_begun, -Inf)) && number(process$seen) && process$seen >= 0 && number(process$failed) &&
    is.list(held) && is.double(held$probs) && identical(dim(held$probs), c(length(held$code), k)) && is.integer(held$code) &&
    all(held$code %in% seq_len(k)) && all(is.finite(held$probs) & held$probs >= 0 & held$probs <= 1) &&
    is.double(held$weight) && length(held$weight) == length(held$code) && all(is.finite(held$weight) & held$weight > 0) &&
    (is.null(process$fit) || (inherits(process$fit, "calib_gp") && identical(process$fit$classes, classes)))
  if (!isTRUE(sound)) stop_object(arg, "has a process that is not one")
  if (!is.null(process$fit)) check_object(process$fit, arg)
}
