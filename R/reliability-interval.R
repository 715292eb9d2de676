# Intervals for the frequency in a bin.

#' How many independent trials the rows of each bin are worth, from its sums: the rows themselves, (sum w)^2 / sum w^2 with weights
#' @noRd
weight_trials <- function(bins) {
  unlist(lapply(bins, function(bin) ifelse(bin$square > 0, bin$weight^2 / bin$square, 0)), use.names = FALSE)
}

#' The same where sums do not tell: what the variance between groups says, and weights whose squares are no doubles
#' @return NULL where sums do; else one number for each bin of all problems.
#' @noRd
row_trials <- function(forecast, how, bins, clusters) {
  largest <- if (is.null(forecast$weights)) 1 else max(forecast$weights)
  if (is.null(clusters) && largest < 1e140 && largest > 1e-140) return(NULL)
  w <- if (is.null(forecast$weights)) rep(1, length(forecast$labels)) else forecast$weights / largest
  type <- how$type
  unlist(lapply(seq_along(bins), function(s) {
    score <- switch(type, confidence = , top_label = forecast$conf, event = forecast$probs[, how$spec$event],
      forecast$probs[, s])
    hit <- switch(type, confidence = forecast$pred == forecast$labels, event = forecast$labels == how$spec$event,
      forecast$labels == s)
    used <- w > 0 & (type != "top_label" | forecast$pred == s)
    # Bins hold their upper edge; scores beyond the outer edges belong to the outer bins.
    upper <- bins[[s]]$upper
    bin <- findInterval(score[used], upper[-length(upper)], left.open = TRUE) + 1L
    count_trials(bin, length(upper), w[used], hit[used], clusters$codes[used])
  }))
}

count_trials <- function(bin, bins, w, hit, codes) {
  total <- square <- events <- numeric(bins)
  sums <- rowsum(cbind(w, w^2, w * hit), bin)
  at <- as.integer(rownames(sums))
  total[at] <- sums[, 1]
  square[at] <- sums[, 2]
  events[at] <- sums[, 3]
  plain <- ifelse(square > 0, total^2 / square, 0)
  if (is.null(codes)) return(plain)
  rate <- ifelse(total > 0, events / total, 0)
  key <- paste(bin, codes)
  apart <- rowsum(w * (hit - rate[bin]), key)
  owner <- bin[match(rownames(apart), key)]
  groups <- tabulate(owner, bins)
  spread <- numeric(bins)
  found <- rowsum(apart[, 1]^2, owner)
  spread[as.integer(rownames(found))] <- found
  spread <- spread * groups / pmax(groups - 1, 1)
  between <- rate * (1 - rate) * total^2 / spread
  ifelse(spread > 0 & groups > 1, pmin(between, plain), pmin(plain, groups))
}

#' An interval for a frequency `p` among `n` trials, which need not be whole numbers
#' @noRd
frequency_interval <- function(p, n, level, kind) {
  if (is.null(level)) return(list(low = rep(NA_real_, length(p)), high = rep(NA_real_, length(p))))
  if (kind == "wilson") {
    z2 <- stats::qnorm((1 + level) / 2)^2
    centre <- (p + z2 / (2 * n)) / (1 + z2 / n)
    half <- sqrt(z2 * (p * (1 - p) + z2 / (4 * n)) / n) / (1 + z2 / n)
    # At p = 0 and 1 the outer limit is p itself, up to rounding.
    return(list(low = ifelse(p == 0, 0, pmax(centre - half, 0)),
      high = ifelse(p == 1, 1, pmin(centre + half, 1))))
  }
  tail <- (1 - level) / 2
  p0 <- ifelse(is.na(p), 0, p)
  list(
    low = ifelse(is.na(p), NA, stats::qbeta(tail, p0 * n, n - p0 * n + 1)),
    high = ifelse(is.na(p), NA, stats::qbeta(1 - tail, p0 * n + 1, n - p0 * n))
  )
}
