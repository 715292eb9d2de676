# What calib_gp() keeps of its calibration rows for autoplot(): a histogram of the scores and a
# temperature, a hundred numbers in all.

seen_bins <- 40L

#' Where the scores lie, and the temperature for comparison
#'
#' The true class's score is counted in every row. Those of the other classes, and the temperature,
#' come from some rows that are evenly spread over the data (`src/gp_sample.h`), so that they cost
#' little beside the fit.
#' @param fit What the core returned.
#' @return list: `scale` ("log" for logarithms of raw probabilities, else "score"), `breaks` (lowest
#'   and highest of evenly spaced ones), `true`, `other` (counts by weight, without those beyond),
#'   `beyond` (shares of the two that lie outside), `temperature` (NA when there is none), `rows` it
#'   rests on, `temperature_error` (standard error of its logarithm).
#' @noRd
scores_seen <- function(fit, mean, data) {
  inner <- seq_len(seen_bins) + 1L
  share <- function(counts) if (sum(counts) > 0) 1 - sum(counts[inner]) / sum(counts) else 0
  # "upper": separated rows, for which calib_temperature() stops as well; of some rows only it says
  # nothing about the others.
  known <- fit$temperature_status == "ok" ||
    fit$temperature_status == "upper" && fit$sample_rows == nrow(data$scores)
  list(
    scale = if (mean == "log") "log" else "score", breaks = fit$ends,
    true = fit$true[inner], other = fit$other[inner],
    beyond = c(true = share(fit$true), other = share(fit$other)),
    temperature = if (known) 1 / fit$beta else NA_real_,
    rows = if (is.null(data$counts)) fit$sample_rows else round(sum(data$counts) * fit$sample_rows / nrow(data$scores)),
    temperature_error = if (known && is.finite(fit$log_beta_error)) fit$log_beta_error else NA_real_
  )
}

#' For a fit of a version that kept nothing: the range alone, resting on no rows
#' @noRd
nothing_seen <- function(object) {
  logs <- identical(object$mean, "log")
  ends <- object$range
  if (logs && is.numeric(ends)) ends <- log(pmax(ends, .Machine$double.xmin))
  if (length(ends) == 2 && isTRUE(ends[2] <= ends[1])) ends <- ends[1] + c(-0.5, 0.5)
  list(scale = if (logs) "log" else "score", breaks = ends, true = numeric(seen_bins),
    other = numeric(seen_bins), beyond = c(true = 0, other = 0), temperature = NA_real_, rows = 0L)
}

seen_fields <- list(
  scale = field("text", among = c("score", "log")), breaks = field("number", 2L),
  true = field("number", NULL, low = 0), beyond = field("number", 2L, low = 0, high = 1),
  temperature = field("number", low = 0, na = TRUE), rows = field("whole", low = 0)
)

#' @return text, or NULL.
#' @noRd
seen_wrong <- function(seen) {
  if (!is.list(seen)) return("is missing")
  fields <- c(seen_fields, list(other = field("number", length(seen$true), low = 0)))
  if (!is.null(seen$temperature_error)) fields$temperature_error <- field("number", low = 0, na = TRUE) # not in older fits
  for (name in names(fields)) {
    wrong <- field_wrong(seen[[name]], fields[[name]])
    if (length(wrong)) return(paste0("has a `", name, "` that ", wrong))
  }
  if (seen$breaks[1] >= seen$breaks[2]) return("has breaks that are not in order")
  if (!identical(names(seen$beyond), c("true", "other"))) "has shares without names"
}

bulk_share <- 0.99

#' Where the central 99 % of the scores lie, those of the true class and of the others each half, in whole bins of the histogram. Where
#' this is most of the histogram anyway, all of it.
#' @noRd
bulk_range <- function(seen) {
  share <- function(counts) if (sum(counts) > 0) counts / sum(counts) else 0 * counts
  p <- share(seen$true) + share(seen$other)
  if (sum(p) == 0) return(seen$breaks)
  upto <- cumsum(p) / sum(p)
  tail <- (1 - bulk_share) / 2
  first <- which(upto > tail)[1]
  last <- which(upto >= 1 - tail)[1]
  edges <- seq(seen$breaks[1], seen$breaks[2], length.out = length(p) + 1)
  if (last - first + 1 > 0.75 * length(p)) seen$breaks else edges[c(first, last + 1)]
}

#' The share of the scores that the axis leaves out, the larger one of the two groups
#' @noRd
beyond_axis <- function(plan) {
  shares <- latent_shares(plan)
  middle <- (shares$lower + shares$upper) / 2
  ends <- if (plan$logs) exp(plan$range) else plan$range
  max(vapply(split(shares$share[middle > ends[1] & middle < ends[2]], shares$group[middle > ends[1] & middle < ends[2]]),
    function(inside) 1 - sum(inside), 0), 0)
}
