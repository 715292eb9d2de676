# Histograms of labels and rows: the sums are all there is, so that they can be added.

#' Weight of the rows, and of those of the class, in every bin of every map
#'
#' Bins of equal width are counted for all classes, of those with a constant rate as well, so that later
#' rows can end that.
#' @return list: `mass`, `hits`, one map after another.
#' @noRd
histogram_sums <- function(scores, labels, weights, edges, maps) {
  if (is.null(weights)) weights <- rep(1, length(labels))
  parts <- lapply(seq_along(maps), function(j) {
    upper <- edges[[j]]
    bin <- pmin(findInterval(scores[, maps[j]], upper, left.open = TRUE) + 1L, length(upper))
    count <- function(w) {
      sums <- rowsum(w, bin)
      replace(numeric(length(upper)), as.integer(rownames(sums)), sums)
    }
    list(mass = count(weights), hits = count(weights * (labels == maps[j])))
  })
  list(mass = unlist(lapply(parts, `[[`, "mass")), hits = unlist(lapply(parts, `[[`, "hits")))
}

#' The edges of every map: b/B for equal width, those of the fit for equal mass
#' @noRd
histogram_edges <- function(object) {
  maps <- ova_count(object)
  if (object$binning == "width") return(rep(list(seq_len(object$bins) / object$bins), maps))
  lapply(seq_len(maps), function(j) object$x[(object$start[j] + 1):object$start[j + 1]])
}

#' The maps that sums define; constant rates as in ova_data()
#' @noRd
histogram_maps <- function(object, counts) {
  edges <- histogram_edges(object)
  k <- length(object$classes)
  total <- sum(counts)
  fixed <- counts <= negligible * total | total - counts <= negligible * total
  rate <- pmin(pmax((counts + 1 / k) / (total + 1), negligible), 1 - negligible)
  maps <- if (k == 2) 2L else seq_len(k)
  sizes <- lengths(edges)
  ends <- cumsum(sizes)
  x <- y <- list()
  for (j in seq_along(maps)) {
    rows <- seq(ends[j] - sizes[j] + 1L, ends[j])
    if (fixed[maps[j]]) {
      x[[j]] <- 1
      y[[j]] <- rate[maps[j]]
    } else {
      x[[j]] <- edges[[j]]
      y[[j]] <- ifelse(object$mass[rows] > 0, object$hits[rows] / object$mass[rows], NaN)
    }
  }
  object$x <- unlist(x)
  object$y <- pmin(unlist(y), 1)
  object$start <- c(0L, cumsum(lengths(x)))
  object$fixed <- object$classes[fixed]
  object
}

most_summed_bins <- 50000 # of all maps together, for which sums are kept

stop_old_histogram <- function(arg) {
  stop_input(arg, paste0("contains no sums for new rows: it has more than ", most_summed_bins, " bins in all, or was fitted by an ",
    "older version"), "Fit it again on all rows.")
}

#' @export
update_fit.calib_histogram <- function(object, data, forget) {
  if (is.null(object$mass)) stop_old_histogram("object")
  maps <- if (length(data$classes) == 2) 2L else seq_along(data$classes)
  new <- histogram_sums(ova_scores(data, FALSE), data$labels, data$weights, histogram_edges(object), maps)
  counts <- (1 - forget) * object$prior * old_weight(object) + class_weights(data$labels, data$weights, length(data$classes))
  object$mass <- (1 - forget) * object$mass + new$mass
  object$hits <- (1 - forget) * object$hits + new$hits
  histogram_maps(object, counts)
}
