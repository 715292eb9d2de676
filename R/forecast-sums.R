# From a forecast to sums, which all tables and measures are made of: in bins (C_bin_sums) and over all rows. Sums of
# parts of a forecast add up to those of the whole.

#' All sums of a forecast
#' @return list of `bins`, a list of sums for each problem (vectors `lower`, `upper`, `n`, `weight`, `square`, `score`, `hits`), and
#'   `totals`, a list.
#' @noRd
forecast_sums <- function(forecast, spec, eps = 0) {
  confidence <- confidence_sums(forecast)
  w <- forecast$weights
  list(bins = .Call(C_bin_sums, forecast, spec), totals = c(
    list(n = if (is.null(w)) as.double(length(forecast$labels)) else sum(w > 0)), confidence["weight"],
    list(square = if (is.null(w)) confidence$weight else sum(w^2)), confidence[c("right", "wrong", "over", "under")],
    log_sums(forecast, eps)[c("log", "impossible")], brier_sums(forecast)["brier"], spread_sums(forecast)[c("conf", "spread")]))
}

#' The weight of all rows, of those predicted right and wrong, the sum of the confidence over the wrong ones (`over`) and
#' of 1 - confidence over the right ones (`under`)
#' @noRd
confidence_sums <- function(forecast) {
  totals <- .Call(C_measure_totals, forecast)
  list(weight = totals[1], right = totals[2], over = totals[3], under = totals[4], wrong = totals[5])
}

#' The sum of -log p of the labels, not below eps, and the weight of the rows where it is infinite
#' @noRd
log_sums <- function(forecast, eps = 0) {
  loss <- .Call(C_measure_log_loss, forecast, eps)
  list(weight = loss[1], log = loss[2], impossible = loss[3])
}

#' The sum of the squared distances of probabilities and outcomes: of the second of two classes, or of all
#' @noRd
brier_sums <- function(forecast, type = "auto") {
  k <- length(forecast$classes)
  if (type == "binary" && k > 2) {
    stop_input("type", paste0("is \"binary\" but there are ", k, " classes"),
      "Use \"multiclass\", or pass the probability of one class and whether it occurred.")
  }
  loss <- .Call(C_measure_brier, forecast, if (k == 2 && type != "multiclass") 2L else 0L)
  list(weight = loss[1], brier = loss[2])
}

#' The sum of the confidence, and of its squared distances from its mean
#' @noRd
spread_sums <- function(forecast) {
  w <- forecast$weights
  list(weight = if (is.null(w)) as.double(length(forecast$labels)) else sum(w),
    conf = if (is.null(w)) sum(forecast$conf) else sum(w * forecast$conf), spread = .Call(C_measure_spread, forecast))
}

#' Totals of two parts. Squares about the mean of a part keep the digits that sums of squares would lose; they take on what
#' lies between the means (Chan, Golub and LeVeque, 1983)
#' @noRd
add_totals <- function(a, b) {
  out <- a + b
  both <- out[["weight"]]
  if (a[["weight"]] > 0 && b[["weight"]] > 0) {
    apart <- a[["conf"]] / a[["weight"]] - b[["conf"]] / b[["weight"]]
    out[["spread"]] <- out[["spread"]] + apart^2 * a[["weight"]] * (b[["weight"]] / both)
  }
  out
}

#' The form in which sums are kept and added: a matrix with the bins of all problems, and a vector of totals
#' @noRd
stack_bins <- function(part) {
  bins <- do.call(cbind, lapply(stats::setNames(sum_bins, sum_bins), function(name) {
    unlist(lapply(part$bins, `[[`, name), use.names = FALSE)
  }))
  list(bins = bins, totals = unlist(part$totals)[sum_totals])
}

#' And back, as forecast_sums() has it
#' @noRd
unstack_bins <- function(part, size) {
  edges <- seq(0, size) / size
  problems <- split(seq_len(nrow(part$bins)), rep(seq_len(nrow(part$bins) / size), each = size))
  list(bins = lapply(unname(problems), function(rows) {
    c(list(lower = edges[-(size + 1)], upper = edges[-1]), lapply(stats::setNames(sum_bins, sum_bins), function(name) unname(part$bins[rows, name])))
  }), totals = as.list(part$totals))
}
