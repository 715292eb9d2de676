# Binary methods for any number of classes: class k against the rest, with the map of the second
# class alone when there are two. A method offers ova_maps(), its maps as the C code reads them;
# prediction and calib_map() are the same for all.

#' What a one-vs-all fit needs beside the canonical data
#'
#' @param data what check_calibration() returned.
#' @param log_odds whether the scores are log-odds rather than probabilities.
#' @return list: `scores` (N x K on that scale), `total` (sum of weights), `constant` (one value per
#'   map: the rate of a class that cannot be fitted, NaN for the others), `fixed` (names of those
#'   classes). Warns of them.
#' @noRd
ova_data <- function(data, threads, log_odds = FALSE) {
  k <- length(data$classes)
  counts <- class_weights(data$labels, data$weights, k)
  total <- sum(counts)
  # A share that is lost in rounding is none: its logarithm is all that the maps would see.
  fixed <- counts <= negligible * total | total - counts <= negligible * total
  rate <- pmin(pmax((counts + 1 / k) / (total + 1), negligible), 1 - negligible)
  constant <- ifelse(fixed, rate, NaN)
  if (any(fixed)) warn_absent(data$classes, fixed & counts < total / 2, fixed & counts >= total / 2)
  scores <- data$scores
  if (log_odds) {
    scores <- .Call(C_log_odds, scores, data$input == "logits", threads)
  } else if (data$input == "logits") {
    scores <- .Call(C_softmax, scores, 1, -Inf, threads)
    warn_saturated(scores, threads)
  }
  list(scores = scores, total = as.double(total), constant = if (k == 2) constant[2] else constant,
    fixed = data$classes[fixed])
}

class_weights <- function(labels, weights, k) {
  if (is.null(weights)) return(tabulate(labels, k))
  sums <- rowsum(weights, labels)
  counts <- numeric(k)
  counts[as.integer(rownames(sums))] <- sums
  counts
}

negligible <- 1e-15

#' Are there many rows whose logits lie so far apart that nothing of them is left?
#' @noRd
warn_saturated <- function(probs, threads) {
  top <- if (ncol(probs) == 2) probs[, 2] else scan_rows(probs, threads, "max")$max
  share <- mean(top == 1)
  if (share > 0.2) {
    warn_gpcalib("saturated", paste0("In ", format(100 * share, digits = 2), " % of the rows the largest probability ",
      "is rounded to 1, so that these rows cannot be distinguished. Use calib_platt(), calib_temperature() ",
      "or calib_gp(), or divide the logits by a constant."))
  }
}

warn_absent <- function(classes, absent, always) {
  absent <- classes[absent]
  always <- classes[always]
  say <- c(
    if (length(always)) paste0("every calibration row is of class ", say_values(always)),
    if (length(absent) && !length(always)) {
      paste0("no calibration row is of ", if (length(absent) == 1) "class " else {
        paste0(length(absent), " of the ", length(classes), " classes: ")
      }, say_values(absent))
    }
  )
  about <- if (length(always)) "" else if (length(absent) == 1) " about it" else " about them"
  warn_gpcalib("absent", paste0(toupper(substring(say, 1, 1)), substring(say, 2), ". One-vs-all calibration can learn ",
    "nothing", about, ": ", if (length(always)) "every class" else if (length(absent) == 1) "it" else "each of them",
    " gets a constant probability, the smoothed frequency (n + 1/K)/(N + 1)."))
}

#' The maps of a calibrator as the C code reads them
#' @noRd
ova_maps <- function(object) UseMethod("ova_maps")

#' Fit maps that are given by points
#' @param method 0 and 1 isotonic (lines, steps), 2 BBQ, 3 and 4 histogram (width, mass)
#' @noRd
fit_curves <- function(data, ova, method, bins, threads) {
  .Call(C_curves_fit, ova$scores, data$labels, data$weights, method, bins, ova$total, ova$constant,
    threads)
}

curve_maps <- function(object, curve) {
  list(kind = 0L, curve = curve, x = object$x, y = object$y, start = object$start)
}

predict_ova <- function(object, data) {
  .Call(C_ova_predict, data$scores, object$input == "logits", ova_maps(object), data$threads)
}

map_ova <- function(object, p) {
  maps <- ova_maps(object)
  rest <- 1 - p
  if (isTRUE(maps$log_odds)) p <- log(p) - log(rest)
  value <- as.vector(.Call(C_ova_map, p, rest, maps, length(object$classes)))
  list(calibrated = value, low = NA_real_ * value, high = NA_real_ * value)
}

# What is said of such fits ---------------------------------------------------------------

#' Of maps by points: probabilities of exactly 0 or 1
#' @noRd
say_certain <- function(object) {
  which <- c(0, 1)[c(any(object$y == 0, na.rm = TRUE), any(object$y == 1, na.rm = TRUE))]
  if (!length(which)) return(NULL)
  paste0("some scores get a probability of exactly ", paste(which, collapse = " or "),
    ", so that the log loss of new rows can be infinite")
}

#' Lines on the classes that have no map of their own
#' @noRd
describe_ova <- function(object, lines) {
  k <- length(object$classes)
  c(lines, if (k > 2) "one map per class, against the rest; each row is then divided by its sum",
    if (length(object$fixed)) say_absent(object, "it gets a constant probability", "they get constant probabilities"))
}

#' "12 steps", or "from 3 to 20 steps per class"
#' @noRd
say_points <- function(object, what) {
  counts <- diff(object$start)
  if (length(counts) == 1) return(say_count(counts, what))
  if (min(counts) == max(counts)) return(paste(say_count(counts[1], what), "per class"))
  paste0(min(counts), " to ", max(counts), " ", what, "s per class (median ",
    format(stats::median(counts)), ")")
}

#' The classes the maps belong to, and how many there are
#' @noRd
ova_classes <- function(object) {
  if (length(object$classes) == 2) object$classes[2] else object$classes
}

ova_count <- function(object) length(ova_classes(object))

#' One row per point: what it is called, and its value
#' @noRd
tidy_points <- function(object, term) {
  if (length(object$classes) > 2) {
    term <- paste0(rep(object$classes, diff(object$start)), ": ", term)
  }
  # edges that agree in the digits shown
  if (anyDuplicated(term)) term <- make.unique(term, " #")
  data.frame(term = term, estimate = object$y, std.error = rep(NA_real_, length(term)))
}

#' "(0.2, 0.4]" for every bin, the first of a class from 0, the last to 1
#' @noRd
bin_terms <- function(object) {
  upper <- signif(object$x, 4)
  first <- object$start[-length(object$start)] + 1L
  last <- object$start[-1]
  upper[last] <- 1
  lower <- c(0, upper[-length(upper)])
  lower[first] <- 0
  opening <- rep("(", length(upper))
  opening[first] <- "["
  paste0(opening, lower, ", ", upper, "]")
}

# What objects must be --------------------------------------------------------------------

#' Maps given by points; `empty` bins have none
#' @noRd
curve_fields <- function(object, empty = FALSE) {
  list(
    x = field("number", NULL, low = 0, high = 1), y = field("number", length(object$x), low = 0,
      high = 1, na = empty),
    start = field("integer", ova_count(object) + 1L, low = 0),
    fixed = field("text", NA, among = object$classes)
  )
}

curve_wrong <- function(object) {
  start <- object$start
  if (start[1] != 0 || start[length(start)] != length(object$x) || any(diff(start) < 1)) {
    return("has maps whose points are incomplete")
  }
  falls <- which(diff(object$x) <= 0)
  if (!all(falls %in% start)) "has maps whose points are not in order"
}
