# What a fit of the process keeps of its rows beside the frozen quadratic: the rows themselves while they are few, then
# fewer rows with the means of some (src/gp_merge.h). A quadratic is as good as the fit at which it is expanded,
# and that of a few rows is not good. When there are many rows all are frozen.

most_effects <- 420 # as GPC_SITE_EFFECTS in src/gp_stream.h
most_rows <- 2000 # by bench/stream.R: a quadratic about fits of so many rows is as good as the rows
kept_rows <- c(300L, 1400L) # by the same: merged to so many (two classes, more), rows serve as well as before
unmerged_classes <- 20L # more have too many effects for a quadratic (most_effects), and often several optima that are nearly as good as each other: which
# one is found should not depend on the order of batches, and of merged rows it does. They are kept as they are until they are more than most_rows.
most_merged <- c(10, 5) # rows for each that is kept, likewise: means of more come to look surer than the rows were, fit after fit
forgotten <- 1e-9 # of the largest weight: such rows go
summary_classes <- 26L # with more, rows of the same label and highest score are few and unlike each other: they are not merged, take a byte
# for a score (to_coarse() in R/pack-rows.R), ...
kept_scores <- 200000 # ... and are frozen when they have more scores in all; about 110 kB
most_kept_classes <- 200L # with more, rows are frozen at once

#' How many rows an object may keep, merged ones counted once
#' @param tried whether there may be effects of the classes: without them a quadratic serves.
#' @noRd
buffer_rows <- function(buffer, classes, tried) {
  if (!is.null(buffer)) return(buffer)
  if (!tried) return(0L)
  if (classes <= unmerged_classes) return(kept_rows[1 + (classes > 2)])
  if (classes > most_kept_classes) 0L else as.integer(min(kept_scores %/% classes, most_rows))
}

#' How many rows they may stand for; more are frozen
#' @noRd
summed_rows <- function(kept, effects, classes) {
  most <- if (classes > summary_classes) kept else most_merged[1 + (classes > 2)] * kept
  if (effects > most_effects) most else min(most, most_rows)
}

count_effects <- function(blocks, classes) {
  classes * sum(blocks[seq_along(feature_blocks)] * block_sizes(classes))
}

#' Are the rows of this fit to be kept? Otherwise they are frozen
#'
#' Rows that are many are frozen, by their effective number (Kish's); so is what single precision cannot hold.
#' @noRd
keeps_rows <- function(data, center, spec, blocks) {
  classes <- length(data$classes)
  kept <- buffer_rows(spec$control$buffer, classes, any(blocks > 0))
  effects <- if (gp_many(spec, classes)) 0 else count_effects(blocks, classes)
  if (kept == 0 || effective_count(data) > summed_rows(kept, effects, classes) + 0.5) return(FALSE)
  size <- largest_score(data$scores, stored_way(data, center))
  !(size > 1e30 || size > 0 && size < 1e-20 || any(data$weights > 1e30 | data$weights < 1e-30))
}

#' (sum w)^2 / sum w^2, rows that are several counting as those
#' @noRd
effective_count <- function(data) {
  if (is.null(data$weights)) return(nrow(data$scores))
  w <- data$weights / max(data$weights)
  sum(w)^2 / sum(w^2 / row_counts(data))
}

row_counts <- function(data) if (is.null(data$counts)) rep(1, nrow(data$scores)) else data$counts

#' How many rows these are, merged ones counted as often as they are
#' @noRd
count_rows <- function(data, which) if (is.null(data$counts)) length(which) else as.integer(round(sum(data$counts[which])))

#' Scores to be kept: logarithms of probabilities (those below 1e-38 are none in single precision), logits less the highest of the row
#' @noRd
stored_scores <- function(data, center) {
  switch(stored_way(data, center), `as they are` = data$scores, logarithms = log(data$scores),
    `less the highest` = data$scores - scan_rows(data$scores, keep = "max")$max)
}

stored_way <- function(data, center) if (data$input == "probs") "logarithms" else if (center) "less the highest" else "as they are"

#' The size of the largest that is finite, without a copy of them all
#' @noRd
largest_score <- function(scores, way = "as they are") {
  .Call(C_largest_score, scores, match(way, c("as they are", "logarithms", "less the highest")) - 1L)
}

#' What an object keeps of its rows
#'
#' @param fit as fit_gp() returns it; @param given whether its floor was given, not chosen: then it stays.
#' @return as pack_rows() makes it.
#' @noRd
gp_keep_rows <- function(data, fit, spec, given) {
  rows <- list(z = stored_scores(data, fit$center), labels = as.integer(data$labels),
    weights = if (is.null(data$weights)) rep(1, nrow(data$scores)) else data$weights, counts = row_counts(data))
  most <- buffer_rows(spec$control$buffer, length(data$classes), fit$tried)
  packed <- if (identical(data$kept$total, length(rows$labels))) data$kept$rows
  if (length(rows$labels) > most) {
    rows <- merge_rows(rows, data, fit, most)
    packed <- NULL
  }
  pack_rows(rows, given, if (length(data$classes) > summary_classes) coarse_unit(rows$z, fit$hyper[["slope"]]), packed)
}

#' Rows merged to at most so many
#'
#' Only those with the same highest score are, so that accuracy stays, and with zeros at the same places, unless there are
#' too many patterns of them; of three or more classes also with the same label. A later floor is chosen anew, and rows that had been raised to an earlier one would mislead: where
#' all scores lie below the floor that the fit has now their own mean is kept, which is below it as well, and a zero if all are zeros.
#'
#' Rows of two classes lie on a line, dense enough to be merged whatever their label: each label then has a row at the mean of all. With means of
#' their own the labels would lie beside each other, at the distance of the merged rows, and a map that bends often could tell them apart (rain_nyc by months: a
#' lengthscale of .16 instead of a line).
#' @noRd
merge_rows <- function(rows, data, fit, most) {
  z <- rows$z
  zero <- z == -Inf
  classes <- length(data$classes)
  if (classes > 2) {
    if (!is.null(fit$floor)) z <- pmax(z, log(fit$floor) + if (data$input == "logits") log(rowSums(exp(z))) else 0)
    places <- as.integer(most)
    cell <- zero_cells(rows$labels + classes * (data$scan$arg - 1L), zero, places)
  } else { # as they are: below this fit's floor as well, for the next may be lower
    places <- max(1L, as.integer(most) %/% 2L)
    cell <- data$scan$arg + as.integer(2 * zero[, 1] + 4 * zero[, 2])
  }
  group <- .Call(C_merge_rows, t(merge_scale(z, data, fit)), cell, rows$labels, rows$weights, places)
  place <- merged_places(rows, z, zero, group)
  each <- if (classes > 2) group else group + max(group) * (rows$labels - 1L)
  each <- match(each, unique(each))
  first <- !duplicated(each)
  sums <- rowsum(cbind(rows$weights, rows$counts), each)
  list(z = place[group[first], , drop = FALSE], labels = rows$labels[first], weights = unname(sums[, 1]), counts = unname(sums[, 2]))
}

#' The scores of each group [groups x K]
#' @param z the scores with the floor; @param group from 1, in the order of first rows.
#' @noRd
merged_places <- function(rows, z, zero, group) {
  size <- tabulate(group)
  merged <- size > 1
  weights <- drop(rowsum(rows$weights, group))
  out <- rows$z[!duplicated(group), , drop = FALSE]
  out[merged, ] <- rowsum(rows$weights * z, group)[merged, ] / weights[merged]
  own <- rows$z
  if (any(own < z)) {
    below <- rowsum(1 - (own < z), group) == 0 & merged
    means <- rowsum(rows$weights * replace(own, zero, 0), group) / weights # of no use beside zeros
    some <- rowsum(0 + zero, group)
    out[below & some == 0] <- means[below & some == 0]
    out[below & some == size] <- -Inf
  }
  unname(out)
}

cells_per_row <- 0.25 # more patterns of zeros than that would leave little to merge

#' Cells [n] by the pattern of zeros as well, unless these are too many
#' @noRd
zero_cells <- function(cell, zero, most) {
  if (!any(zero)) return(cell)
  words <- do.call(paste, c(list(cell), lapply(seq_len(ncol(zero)), function(j) as.integer(zero[, j]))))
  each <- match(words, unique(words))
  if (max(each) <= max(cells_per_row * most, length(unique(cell)))) each else cell
}

#' Where rows are near each other: by the probabilities of the fit. Of two classes by temperature scaling: their map may bend back, and what it gives the same
#' value need not have the same score.
#' @noRd
merge_scale <- function(z, data, fit) {
  if (fit$mean == "log") return(z)
  temperature <- fit$seen$temperature
  if (ncol(z) == 2 && isTRUE(temperature > 0 && is.finite(temperature))) return(pmax(z - pmax(z[, 1], z[, 2]), -1e30) / temperature)
  log(pmax(mean_probs(fit, data), 1e-30)) # lower ones differ by nothing that matters
}

#' Rows kept before, at (1 - forget) of their weight, with those of a batch behind them
#' @noRd
add_kept <- function(rows, data, forget) {
  if (is.null(rows) || forget == 1) return(data)
  kept <- unpack_rows(rows, length(data$classes))
  z <- if (data$input == "probs") exp(kept$z) else kept$z
  old <- (1 - forget) * kept$weights
  new <- if (is.null(data$weights)) rep(1, nrow(data$scores)) else data$weights
  stay <- forget == 0 | old > forgotten * max(old, new)
  if (!is.null(rows$counts)) data$counts <- c(kept$counts[stay], row_counts(data))
  data$scores <- rbind(z[stay, , drop = FALSE], unname(data$scores))
  data$labels <- c(kept$labels[stay], as.integer(data$labels))
  data$weights <- if (all(old == 1) && all(new == 1)) NULL else c(old[stay], new)
  data$scan <- scan_rows(data$scores, data$threads)
  if (all(stay)) data$kept <- list(rows = rows, total = length(data$labels)) # the first rows are already packed
  data
}
