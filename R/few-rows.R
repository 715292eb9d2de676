# Whether there are few calibration rows, which print() of calib_gp() then says.
#
# The limits rest on bench/results/few-rows.md. With 100 rows of the rarer of two classes, calibration was worse than none in 3 % of splits of
# real sets, and the recalibration slope of the calibrated probabilities lay between 0.82 and 1.24 in nine splits of ten; with 50 to 99 in 7 % and
# between 0.78 and 1.32, with 10 to 19 in 29 % and between 0.70 and 1.78. With several classes the excess log loss over a fit of many rows
# was 0.09 with 5 to 10 rows per class, 0.06 with 10 to 20 and 0.01 with 100 or more.

enough_rarer <- 100 # rows of the rarer of two classes
enough_rows <- 200 # rows, with three classes or more
enough_each <- 10 # rows per class on average, with three or more

#' The line on few calibration rows, or NULL
#' @noRd
say_few_rows <- function(object) {
  k <- length(object$classes)
  if (is.null(object$prior) || max(object$prior) == 1) return(NULL) # of an old format; rows of one class only, which is said anyway
  rarer <- round(min(object$prior) * object$n)
  said <- if (k == 2) {
    if (rarer < enough_rarer) {
      paste0(say_count(rarer, "row"), " of class ", say_values(object$classes[which.min(object$prior)]), " (", enough_rarer)
    }
  } else if (object$n < enough_rows) {
    paste0(say_count(object$n, "row"), " (", enough_rows)
  } else if (object$n < enough_each * k) {
    paste0(format(object$n / k, digits = 2), " rows per class on average (", enough_each)
  }
  if (is.null(said)) return(NULL)
  paste0("few calibration rows: ", said, " or more are advisable, see ?calib_gp); predict(type = \"interval\") shows the uncertainty")
}
