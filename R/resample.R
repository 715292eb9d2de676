# Resampling: intervals of measures that are means, and what calibration would give.

#' Two draws of R's generator, to seed ours
#' @noRd
draw_seed <- function() floor(stats::runif(2) * 2^32)

#' Run `draw(first, count)`, which returns a column per replicate, over all replicates
#'
#' In chunks of about half a second, so that a progress bar can show in between; what comes out
#' does not depend on them. `chunk` fixes their size, for tests.
#' @noRd
draw_replicates <- function(draw, replicates, chunk = NULL) {
  clock <- function() proc.time()[["elapsed"]]
  start <- clock()
  size <- if (is.null(chunk)) 1L else chunk
  parts <- list()
  done <- 0L
  bar <- NULL
  on.exit(if (!is.null(bar)) close(bar))
  while (done < replicates) {
    before <- clock()
    count <- as.integer(min(size, replicates - done))
    parts[[length(parts) + 1]] <- draw(done, count)
    done <- done + count
    if (is.null(chunk)) {
      size <- min(10 * size, max(1, floor(0.5 * count / max(clock() - before, 1e-3))))
    }
    if (is.null(bar) && interactive() && done < replicates && clock() - start > 2) {
      bar <- utils::txtProgressBar(max = replicates, style = 3)
    }
    if (!is.null(bar)) utils::setTxtProgressBar(bar, done)
  }
  do.call(cbind, parts)
}

#' The quantiles that hold the middle `level` of x; NA when nothing is left of it
#' @noRd
middle_range <- function(x, level) {
  x <- x[!is.na(x)]
  if (!length(x)) return(c(NA_real_, NA_real_))
  stats::quantile(x, c((1 - level) / 2, (1 + level) / 2), names = FALSE)
}

# Groups of rows that depend on each other ------------------------------------------------

#' Clusters or blocks of time as codes, or NULL
#' @return list: `codes` (1, 2, ...) and `count`; NULL for independent rows.
#' @noRd
check_clusters <- function(groups, n) {
  if (is.null(groups)) return(NULL)
  groups <- check_per_row(groups, n, "groups")
  known <- unique(groups)
  list(codes = match(groups, known), count = length(known))
}

cluster_rows <- function(clusters, rows) {
  if (is.null(clusters)) return(NULL)
  codes <- clusters$codes[rows]
  known <- unique(codes)
  list(codes = match(codes, known), count = length(known))
}

few_clusters <- 10L

#' Intervals and p-values from a handful of groups promise too much
#' @noRd
warn_clusters <- function(clusters) {
  if (!is.null(clusters) && clusters$count < few_clusters) {
    warn_gpcalib("few", paste0("`groups` has ", clusters$count, " groups only: with fewer than ", few_clusters,
      ", intervals are usually too short and p-values too small."))
  }
}

# The bootstrap ---------------------------------------------------------------------------

few_errors <- 10 # rows of the rarer kind (wrong or right) below which the bootstrap sees too little
few_rows <- 30 # the same for the mean over just these rows

# Where a measure's sums stand: above and below the line, then the three products (src/resample.h).
boot_ratios <- list(
  log_loss = c(5, 1, 8), brier_score = c(6, 1, 11), overconfidence = c(3, 7, 14),
  underconfidence = c(4, 2, 17), confidence_gap = c(NA, 1, 20)
)

#' Ratios and their standard errors (linearised) from sums: a column per data set
#' @noRd
boot_ratio <- function(sums, name) {
  at <- boot_ratios[[name]]
  above <- if (is.na(at[1])) sums[3, ] - sums[4, ] else sums[at[1], ]
  below <- sums[at[2], ]
  value <- above / below
  square <- sums[at[3], ] - 2 * value * sums[at[3] + 1, ] + value^2 * sums[at[3] + 2, ]
  list(value = value, error = sqrt(pmax(square, 0)) / below)
}

#' Bootstrap-t interval: quantiles of (drawn - estimate) / its own standard error, turned round
#' @noRd
boot_t <- function(sums, drawn, name, level) {
  own <- boot_ratio(matrix(sums), name)
  if (!is.finite(own$value) || !is.finite(own$error)) return(c(NA_real_, NA_real_))
  if (own$error == 0) return(rep(own$value, 2))
  again <- boot_ratio(drawn, name)
  t <- (again$value - own$value) / again$error
  ends <- middle_range(t[is.finite(t)], level)
  own$value - rev(ends) * own$error
}

add_bootstrap <- function(table, forecast, level, replicates, seed, chunk = NULL, eps = 0,
                          clusters = NULL) {
  rows <- .Call(C_boot_rows, forecast, eps, clusters$codes, clusters$count)
  draw <- function(first, count) .Call(C_boot_draw, rows, seed, first, count)
  drawn <- draw_replicates(draw, replicates, chunk)
  sums <- rowSums(rows)
  counted <- weights_of(forecast) > 0
  right <- forecast$pred == forecast$labels
  rare <- c(sum(counted & !right), sum(counted & right))
  set_ends <- function(name, ends) {
    table[match(name, table$measure), c("conf.low", "conf.high")] <<- as.list(ends)
  }
  set_ends("class_accuracy", accuracy_interval(rows, sums, level, clusters))
  skipped <- character()
  for (name in names(boot_ratios)) {
    enough <- switch(name, overconfidence = rare[1] >= few_rows, underconfidence = rare[2] >= few_rows,
      min(rare) >= few_errors)
    if (!enough) {
      skipped <- c(skipped, name)
      next
    }
    ends <- boot_t(sums, drawn, name, level)
    if (name == "confidence_gap") ends <- without_sign(ends)
    if (name %in% c("log_loss", "brier_score", "overconfidence", "underconfidence")) ends <- pmax(ends, 0)
    if (name != "log_loss") ends <- pmin(ends, if (name == "brier_score") 2 else 1)
    set_ends(name, ends)
  }
  warn_few(skipped, rare)
  table
}

warn_few <- function(skipped, rare) {
  if (!length(skipped)) return()
  warn_gpcalib("few", paste0("No interval for ", paste(skipped, collapse = ", "), ": ", rare[1],
    " rows are classified wrongly and ", rare[2], " correctly. At least ", few_errors, " of each are needed for ",
    "losses and the gap, ", few_rows, " wrong rows for overconfidence and ", few_rows, " correct ones for underconfidence."))
}

#' Wilson's interval with the number of rows that the weights, or groups, amount to
#' @noRd
accuracy_interval <- function(rows, sums, level, clusters) {
  value <- sums[2] / sums[1]
  effective <- effective_rows(rows[1, ], rows[2, ], value, clusters)
  ends <- frequency_interval(value, effective, level, "wilson")
  c(ends$low, ends$high)
}

#' How many independent rows a weighted share is worth
#'
#' (sum w)^2 / sum w^2 for weights; for groups, by the variance between them, if that is larger.
#' @param weight,hit of the rows or groups.
#' @noRd
effective_rows <- function(weight, hit, value, clusters) {
  total <- sum(weight)
  hit <- hit / max(weight) # squares must not overflow
  weight <- weight / max(weight)
  plain <- sum(weight)^2 / sum(weight^2)
  if (is.null(clusters)) return(plain)
  spread <- value * (1 - value)
  error <- sum((hit - value * weight)^2) / sum(weight)^2 * clusters$count / max(clusters$count - 1, 1)
  if (spread <= 0 || error <= 0) plain else min(spread / error, total)
}

weights_of <- function(forecast) if (is.null(forecast$weights)) 1 else forecast$weights

#' The interval of |x| from that of x
#' @noRd
without_sign <- function(ends) {
  if (anyNA(ends)) return(ends)
  c(if (ends[1] <= 0 && ends[2] >= 0) 0 else min(abs(ends)), max(abs(ends)))
}

# Under calibration -----------------------------------------------------------------------

add_null <- function(table, forecast, spec, level, replicates, seed, chunk = NULL, clusters = NULL) {
  if (spec$bins * as.double(length(forecast$classes)) > .Machine$integer.max) { # cells are ints
    stop_input("bins", "is too large for so many classes", "Ask for fewer bins.")
  }
  codes <- clusters$codes
  if (!is.null(codes) && ece_types[spec$type + 1] == "top_label") codes <- codes[order(forecast$pred)]
  observed <- NULL
  draw <- function(first, count) {
    # The first column is the error observed, summed in the same order: ties are exact.
    out <- .Call(C_null_draw, forecast, spec, codes, clusters$count, seed, first, count)
    observed <<- out[, 1]
    out[, -1, drop = FALSE]
  }
  drawn <- draw_replicates(draw, replicates, chunk)
  for (i in 1:2) {
    row <- match(c("ece", "mce")[i], table$measure)
    table[row, c("null.low", "null.high")] <- as.list(middle_range(drawn[i, ], level))
    table$p.value[row] <- (1 + sum(drawn[i, ] >= observed[i])) / (replicates + 1)
  }
  table
}
