# New scores for a fit of calib_gp(): on the scale of g, centred, and safe.

#' New scores on the scale of g
#' @return list: `z` (the scores as they are, or their logarithms), `floor` (lower scores count as
#'   this), `shift` (to be subtracted from the rows, or NULL): what the C routines take as `at`; and
#'   `outside`, the number of scores outside the range seen in fitting.
#' @noRd
gp_newdata <- function(object, data) {
  if (object$monotone) mono_newdata(object, data) else gp_newdata_free(object, data)
}

gp_newdata_free <- function(object, data) {
  data <- rule_out_far(object, data)
  floored <- !is.null(object$floor)
  floor <- gp_floor(object)
  log_mean <- object$mean == "log"
  at <- list(
    z = if (log_mean) data$scores else latent_scale(data$scores, object$input, floored, data$threads),
    floor = if (log_mean) floor else log(floor)
  )
  if (floored || object$input != "logits") return(gp_centre(object, at, data$threads))
  if (data$scan$n_neginf > 0) gp_ruled_out(object, data, at) else gp_scanned(object, data, at)
}

#' Logits so far below the highest of their row that their mean leaves nothing of the others (1e20
#' less than it, say, where a program writes that for a class it rules out) are as good as -Inf
#' @noRd
rule_out_far <- function(object, data) {
  if (object$input != "logits" || !is.null(object$floor) || !object$center) return(data)
  if (any(abs(data$scan$max) > 1e300)) {
    stop_input("newdata", "has rows of logits beyond 1e300, too far to be summed", "Rescale them.")
  }
  far <- 1e8 / object$hyper[["slope"]] # the mean is then good to 2e-8 / slope
  rows <- which(data$scan$max - data$scan$min > far)
  if (!length(rows)) return(data)
  part <- data$scores[rows, , drop = FALSE]
  part[part < data$scan$max[rows] - far] <- -Inf
  data$scores[rows, ] <- part
  data$scan$min[rows] <- -Inf
  data$scan$n_neginf <- data$scan$n_neginf + length(rows)
  data
}

#' Row means and scores outside, by a pass over the scores
#' @noRd
gp_centre <- function(object, at, threads) {
  centre <- .Call(C_gp_centre, at, object$center, as.double(object$range), threads)
  c(at, centre)
}

#' The same for logits as they are: the scan of the checks has seen all but how many scores of a row
#' lie outside
#' @noRd
gp_scanned <- function(object, data, at) {
  at["shift"] <- list(if (object$center) data$scan$sum / ncol(at$z))
  centre <- if (object$center) at$shift else 0
  rows <- which(data$scan$min - centre < object$range[1] | data$scan$max - centre > object$range[2])
  at$outside <- if (length(rows)) .Call(C_gp_outside, at, rows, as.double(object$range)) else 0
  at
}

#' Classes ruled out by -Inf in a fit that has seen none
#'
#' They go as far down as a probability can be, and below every logit of their row. The rows are
#' centred by their other classes, which are then where they would be without them.
#' @noRd
gp_ruled_out <- function(object, data, at) {
  rows <- which(data$scan$min == -Inf)
  part <- at$z[rows, , drop = FALSE]
  gone <- part == -Inf
  top <- data$scan$max[rows]
  negated <- -part
  negated[gone] <- -Inf
  # clearly below: far out the latent values of two classes vary by themselves
  effects <- effects_reach(object)
  below <- (1 + object$hyper[["variance"]] + effects) / object$hyper[["slope"]]
  deep <- top + log(rowSums(exp(part - top))) + log(.Machine$double.xmin)
  if (effects > 0) deep <- pmin(deep, top - (300 + effects) / object$hyper[["slope"]])
  lowest <- pmin(-scan_rows(negated, keep = "max")$max - below, deep)
  part[gone] <- 0
  data$scan$sum[rows] <- rowSums(part) / rowSums(!gone) * ncol(part)
  part[gone] <- lowest[row(part)[gone]]
  at$gone <- at$z == -Inf
  at$z[rows, ] <- part
  data$scan$min[rows] <- lowest
  gp_scanned(object, data, at)
}

#' The raw score of the second of two classes: its probability, or its log-odds (finite, so that it can be kept). NULL for more classes
#' @noRd
event_score <- function(scores, input) {
  if (ncol(scores) != 2) return(NULL)
  if (input == "probs") return(scores[, 2])
  pmin(pmax(scores[, 2] - scores[, 1], -1e300), 1e300)
}

range_of_events <- function(scores, input) {
  if (ncol(scores) != 2 || !nrow(scores)) return(NULL)
  if (input == "probs") return(range(scores[, 2]))
  pmin(pmax(.Call(C_pair_range, scores, -Inf), -1e300), 1e300)
}

#' The share of the scores that lie outside the range of the calibration scores. The map of two classes has seen each score with either sign, but
#' that is not where the rows were.
#' @noRd
share_outside <- function(at, object, data) {
  ends <- object[["event_range"]]
  if (is.null(ends)) return(at$outside / length(at$z))
  x <- event_score(data$scores, object$input)
  slack <- 1e-9 * abs(ends)
  mean(x < ends[1] - slack[1] | x > ends[2] + slack[2])
}

warn_outside <- function(at, object, data) {
  outside <- share_outside(at, object, data)
  if (outside <= 0.01) return()
  sure <- if (object$input == "probs") sum(data$scores == 0 | data$scores == 1) else 0
  warn_gpcalib("extrapolation", paste0(format(100 * outside, digits = 2),
    " % of the scores in `newdata` lie outside the range of the calibration scores, where the map ",
    "returns to its prior mean. Intervals (type = \"interval\") are wide there in log-odds, which near 0 and 1 is not wide in probabilities.",
    if (sure) paste0(" ", sure, if (sure == 1) " probability is" else " probabilities are", " exactly 0 or 1: give more digits if they were rounded."),
    " If possible, calibrate with rows that cover this range."))
}

#' New scores of some rows, as gp_newdata() has them
#' @noRd
rows_of <- function(at, rows) {
  list(z = at$z[rows, , drop = FALSE], floor = at$floor, shift = at$shift[rows], gone = if (!is.null(at$gone)) at$gone[rows, , drop = FALSE])
}
