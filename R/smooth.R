# A smooth calibration curve: logistic regression of the event on a penalised spline of the log-odds
# (src/smooth.h). A straight line, the usual recalibration, is what it shrinks to.

smooth_knots <- 10L
smooth_cells <- 4096L # rows in the same of so many equal steps of the log-odds are one cell ...
few_cells <- 1000L # ... unless the rows are so few

#' Log-odds with infinite ones limited
#'
#' Probabilities of 0 and 1 count as the most extreme others but no farther than odds of 1 to 10 N, or as odds of 1 to N + 1 if that is farther.
#' @return list: `x`, `limited`, how many rows, and `most`, the log-odds they got.
#' @noRd
finite_log_odds <- function(p, counts = NULL) {
  x <- log(p) - log1p(-p)
  far <- is.infinite(x)
  most <- NA_real_
  if (any(far)) {
    n <- if (is.null(counts)) length(x) else sum(counts)
    most <- max(min(max(0, abs(x[!far])), log(far_odds * max(n, least_odds))), log(n + 1))
    x[far] <- sign(x[far]) * most
  }
  list(x = x, limited = if (is.null(counts)) sum(far) else sum(counts[far]), most = most)
}

least_odds <- 1000 # in small samples, so that few rows do not narrow the axis

#' Log-odds as the curve takes them: no farther than 1 to N
#'
#' N rows cannot tell probabilities below 1/N from one another, but on the axis of log-odds they may lie anywhere, and a line
#' drawn that far out would decide over Emax and its interval.
#' @noRd
curve_log_odds <- function(p, total, counts = NULL) {
  odds <- finite_log_odds(p, counts)
  most <- log(max(total, least_odds))
  odds$x <- pmin(pmax(odds$x, -most), most)
  odds
}

#' Weights that sum to the number of independent rows they are worth
#' @noRd
effective_weights <- function(weights, n) {
  if (is.null(weights)) return(rep(1, n))
  weights <- weights / max(weights) # squares must not overflow
  weights * sum(weights) / sum(weights^2)
}

#' Rows as cells: log-odds, weight, weight of the events
#' @noRd
smooth_rows <- function(x, hit, w) {
  used <- w > 0
  if (!all(used)) {
    x <- x[used]
    hit <- hit[used]
    w <- w[used]
  }
  ends <- range(x)
  if (length(x) <= few_cells || ends[1] == ends[2]) return(list(x = x, w = w, h = w * hit))
  cell <- as.integer((x - ends[1]) / (ends[2] - ends[1]) * (smooth_cells - 1)) + 1L
  sums <- rowsum(cbind(w, w * x, w * hit), cell)
  list(x = sums[, 2] / sums[, 1], w = sums[, 1], h = sums[, 3])
}

few_for_curve <- 30L # rows: with no more, a curve that cannot be fitted is no sign of strange scores

#' The smooth curve of one event
#'
#' @param p,hit probability and outcome; @param weights or NULL; @param clusters or NULL.
#' @return list: `knots`, `beta` (values there), `cov`, `plain` (it with the smoothness taken as known), `edf`,
#'   `cells` (x, w), `limited`, `status`, `deff` (how many times larger the variance is than that of independent rows).
#' @noRd
smooth_fit <- function(p, hit, weights = NULL, clusters = NULL, counts = NULL) {
  w <- if (is.null(counts)) effective_weights(weights, length(p)) else counts
  odds <- curve_log_odds(p, sum(w), counts)
  cells <- smooth_rows(odds$x, hit, w)
  values <- sort(unique(odds$x[w > 0])) # of the rows: knots do not depend on the cells
  knots <- spline_knots(values)
  constant <- function(knots) {
    rate <- (sum(cells$h) + 0.5) / (sum(cells$w) + 1)
    beta <- rep(log(rate / (1 - rate)), 2)
    list(knots = knots, beta = beta, cov = matrix(1 / (sum(cells$w) * rate * (1 - rate)), 2, 2), edf = 1,
      cells = cells, limited = odds$limited, status = "ok", deff = 1)
  }
  if (length(values) == 1) return(constant(knots))
  fit <- .Call(C_smooth_fit, knots, as.double(cells$x), as.double(cells$w), as.double(cells$h))
  if (is.null(fit$beta)) {
    if (length(p) > few_for_curve) stop_input("probs", "are too close together for a smooth curve", "Use method = \"isotonic\".")
    warn_gpcalib("few", paste0("A smooth curve cannot be fitted to these ", length(p), " rows; their mean is used instead."))
    return(constant(range(values)))
  }
  cov <- fit$spread
  if (!is.null(clusters)) {
    # (H + lambda S)^-1 (M + lambda S) (H + lambda S)^-1 with M the scores' covariance by group
    basis <- .Call(C_smooth_basis, knots, odds$x)
    q <- stats::plogis(drop(basis %*% fit$beta))
    info <- crossprod(basis, w * q * (1 - q) * basis)
    scores <- rowsum(w * (hit - q) * basis, clusters$codes)
    between <- crossprod(scores) * clusters$count / max(1, clusters$count - 1)
    cov <- cov + fit$cov %*% (between - info) %*% fit$cov
  }
  c(fit[c("beta", "edf", "status", "lambda")],
    list(knots = knots, cov = cov, plain = fit$cov, cells = cells, limited = odds$limited,
      deff = max(1, sum(diag(cov)) / sum(diag(fit$spread)))))
}

#' Ten knots at quantiles of the distinct log-odds; the outer ones leave a hundredth beyond them, where the
#' curve is a straight line, so that a single far score bends nothing
#' @noRd
spline_knots <- function(values) {
  count <- length(values)
  if (count == 1) return(values + c(-0.5, 0.5))
  knots <- if (count <= smooth_knots) values else {
    unique(stats::quantile(values, seq(0.01, 0.99, length.out = smooth_knots), names = FALSE))
  }
  least <- (values[count] - values[1]) * knots_apart
  if (min(diff(knots)) >= least) return(knots)
  apart <- values[1] # knots closer together make the penalty so ill-conditioned that nothing is left of the covariance
  for (value in values[-1]) if (value - apart[length(apart)] >= least) apart <- c(apart, value)
  if (length(apart) == 1) apart <- c(apart, values[count])
  spline_knots(apart)
}

knots_apart <- 1e-3 # of the width, at the least

#' The curve at log-odds x, with a band
#'
#' @param z how many standard errors to each side.
#' @return list: `value`, `low`, `high` (probabilities) and `eta`, `error` (log-odds).
#' @noRd
smooth_at <- function(fit, x, z = 0) {
  basis <- .Call(C_smooth_basis, fit$knots, as.double(x))
  eta <- drop(basis %*% fit$beta)
  error <- sqrt(pmax(0, rowSums((basis %*% fit$cov) * basis)))
  list(value = stats::plogis(eta), low = stats::plogis(eta - z * error),
    high = stats::plogis(eta + z * error), eta = eta, error = error)
}

#' Limits of the curve where its log-odds are all but unknown, as where thousands of rows near 0 have no event: those of the
#' frequency of the next rows. Of a curve that increases there, rows above a place have no lower frequency, and rows below no higher one. Nor are they
#' wider than at the nearest place where the log-odds are known.
#'
#' @param curve what smooth_at() returned for log-odds x.
#' @return the same, with narrower limits in some places.
#' @noRd
sharpen_limits <- function(fit, x, curve, level) {
  order <- order(fit$cells$x)
  cells <- lapply(fit$cells[c("x", "w", "h")], `[`, order)
  upto <- cumsum(cells$w)
  total <- upto[length(upto)]
  count <- max(least_near, near_share * total)
  limit <- function(rows) exact_limits(cells, rows, fit$deff, level)
  places <- seq(cells$x[1], cells$x[length(cells$x)], length.out = known_places)
  near <- smooth_at(fit, places, stats::qnorm((1 + level) / 2))
  known <- which(near$error <= unknown_error)
  for (i in which(curve$error > unknown_error)) {
    below <- sum(cells$w[cells$x < x[i]])
    above <- sum(cells$w[cells$x >= x[i]])
    if (above >= count) curve$high[i] <- max(curve$value[i], min(curve$high[i], limit(cells$x >= x[i] & upto - cells$w < below + count)[2]))
    if (total - above >= count) curve$low[i] <- min(curve$value[i], max(curve$low[i], limit(cells$x < x[i] & upto > below - count)[1]))
    left <- known[places[known] <= x[i]]
    right <- known[places[known] >= x[i]]
    if (length(left)) curve$low[i] <- min(curve$value[i], max(curve$low[i], near$low[left[length(left)]]))
    if (length(right)) curve$high[i] <- max(curve$value[i], min(curve$high[i], near$high[right[1]]))
  }
  curve
}

#' The same in bins of many rows: limits of the frequency of these rows
#' @param lower,upper ends of the bins, probabilities.
#' @noRd
sharpen_bins <- function(fit, lower, upper, curve, level) {
  for (i in which(curve$error > unknown_error)) {
    rows <- fit$cells$x >= stats::qlogis(lower[i]) & fit$cells$x <= stats::qlogis(upper[i])
    if (sum(fit$cells$w[rows]) < least_near) next
    ends <- exact_limits(fit$cells, rows, fit$deff, level)
    curve$low[i] <- min(curve$value[i], max(curve$low[i], ends[1]))
    curve$high[i] <- max(curve$value[i], min(curve$high[i], ends[2]))
  }
  curve
}

#' Clopper's and Pearson's limits of the frequency of some cells
#' @noRd
exact_limits <- function(cells, rows, deff, level) {
  n <- sum(cells$w[rows]) / deff
  h <- min(sum(cells$h[rows]) / deff, n)
  c(if (h > 0) stats::qbeta((1 - level) / 2, h, n - h + 1) else 0, if (h < n) stats::qbeta((1 + level) / 2, h + 1, n - h) else 1)
}

unknown_error <- 2 # of the log-odds: 95 % limits are then apart by a factor of 2500 in the odds
known_places <- 401L
near_share <- 0.05 # of the rows, at least ...
least_near <- 50 # ... which are next to a place

#' How many standard errors make a band at all places together hold with probability `level`
#' @noRd
simultaneous_errors <- function(fit, x, level, draws = 2000L) {
  basis <- .Call(C_smooth_basis, fit$knots, as.double(x))
  error <- sqrt(pmax(0, rowSums((basis %*% fit$cov) * basis)))
  apart <- abs(basis %*% draw_normal(fit$cov, draws)) / pmax(error, 1e-12)
  stats::quantile(apply(apart, 2, max), level, names = FALSE)
}

#' Columns drawn from N(0, cov)
#' @noRd
draw_normal <- function(cov, draws) {
  parts <- eigen(cov, symmetric = TRUE)
  parts$vectors %*% (sqrt(pmax(parts$values, 0)) * matrix(stats::rnorm(nrow(cov) * draws), nrow(cov)))
}

# Errors of a curve -------------------------------------------------------------------------

smooth_errors <- c("ici", "e50", "e90", "emax")

#' Mean, median, 90 % quantile and maximum of |curve - forecast| over the rows
#' @param curves matrix with a column per curve, of log-odds; @param x log-odds of its rows; @param w their weight; @param inner rows that count for the maximum.
#' @noRd
gap_summaries <- function(curves, x, w, inner = rep(TRUE, length(w))) {
  out <- .Call(C_smooth_distances, curves, as.double(x), as.double(w), as.integer(inner))
  rownames(out) <- smooth_errors
  out
}

outer_share <- 0.01 # of the rows at either end, where the curve is only extended

#' The first and 99th percentile of the log-odds: of fewer than 100 rows, the lowest and the highest
#' @noRd
inner_range <- function(cells) {
  order <- order(cells$x)
  x <- cells$x[order]
  share <- cells$w[order] / sum(cells$w)
  upto <- cumsum(share)
  c(x[which(upto > outer_share + 1e-12)[1]], x[max(which(upto - share < 1 - outer_share - 1e-12))])
}

#' The errors of the fitted curve, on request with an interval from curves drawn about it
#' @return matrix: estimate, low, high by error.
#' @noRd
smooth_summary <- function(fit, level = NULL, draws = 1000L) {
  cells <- fit$cells
  ends <- inner_range(cells)
  gaps <- function(curves) gap_summaries(as.matrix(curves), cells$x, cells$w, cells$x >= ends[1] & cells$x <= ends[2])
  estimate <- gaps(smooth_at(fit, cells$x)$eta)
  out <- cbind(estimate = estimate[, 1], low = NA_real_, high = NA_real_)
  if (is.null(level)) return(out)
  if (length(cells$x) > draw_cells) cells <- thin_cells(cells, ends)
  basis <- .Call(C_smooth_basis, fit$knots, as.double(cells$x))
  eta <- drop(basis %*% fit$beta)
  step <- basis %*% draw_normal(fit$cov, draws)
  drawn <- gaps(eta + step)
  # Where there are no events, the normal distribution of the log-odds reaches up to curves that the rows rule out. Each counts by how much
  # less likely it is than that distribution takes it to be.
  share <- exp(-pmax(0, .Call(C_smooth_excess, eta, as.double(cells$w), step) / fit$deff))
  out[, 2:3] <- t(apply(drawn, 1, weighted_range, share = share, level = level))
  # Drawn curves are rougher than the fitted one, so that their distances can all be larger. The nearest curve on the way to the diagonal that
  # the test of departure does not reject is a lower limit too: 0 where it does not reject the diagonal itself.
  near <- gaps(cells$x + nearest_share(fit, level) * (eta - cells$x))
  out[, 2] <- pmin(out[, 2], near[, 1], out[, 1])
  out[, 3] <- pmax(out[, 3], out[, 1])
  out
}

#' middle_range() of values that count by `share`
#' @noRd
weighted_range <- function(x, share, level) {
  order <- order(x)
  upto <- cumsum(share[order]) / sum(share)
  x[order[c(which(upto >= (1 - level) / 2)[1], which(upto >= (1 + level) / 2 - 1e-12)[1])]]
}

#' The share of the way from the diagonal to the curve at which Wald's statistic about the curve reaches its critical value; 0 where the diagonal
#' itself is within it
#' @noRd
nearest_share <- function(fit, level) {
  if (departure_p(fit) > 1 - level) return(0)
  max(0, 1 - sqrt(stats::qchisq(level, fit$edf) / departure_size(fit)))
}

#' The p-value of a curve that is the diagonal: Wald's statistic at the knots, with the curve's degrees of freedom
#' @noRd
departure_p <- function(fit) {
  size <- departure_size(fit)
  if (!is.finite(size)) return(1)
  stats::pchisq(size, fit$edf, lower.tail = FALSE)
}

departure_size <- function(fit) {
  # a constant: one log-odds, at the middle of the two knots
  if (fit$edf <= 1) return((fit$beta[1] - mean(fit$knots))^2 / fit$cov[1, 1])
  apart <- fit$beta - fit$knots
  # The covariance knows that the smoothness was estimated: without that 7 to 8 of 100 calibrated forecasts of
  # 500 rows would be called different at 5 %, with it 4 to 5.
  tryCatch(sum(apart * solve(fit$cov, apart)), error = function(e) NA_real_)
}

draw_cells <- 300L

#' About 300 cells, none of which has more than a 150th of the weight (unless it was one before) or of the width
#'
#' A curve is farthest off where rows are few: cells of equal weight alone would average it there.
#' @param ends stay cells of their own: the maximum between them is often at one of them.
#' @noRd
thin_cells <- function(cells, ends) {
  order <- order(cells$x)
  x <- cells$x[order]
  w <- cells$w[order]
  steps <- draw_cells / 2
  across <- as.integer((x - x[1]) / (x[length(x)] - x[1]) * steps)
  block <- as.integer(cumsum(w) / sum(w) * steps) + across # increases with x
  for (end in ends) block <- block + (x >= end) + (x > end)
  sums <- rowsum(cbind(w, w * x), block)
  list(x = sums[, 2] / sums[, 1], w = sums[, 1])
}
