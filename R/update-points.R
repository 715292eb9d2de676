# New rows for isotonic calibration and BBQ: what they need of a class is its scores in order, with the weight of the rows and of the
# events at each of them. With too many scores neighbours are pooled.

most_points <- 4000 # in all maps
point_limits <- c(50, 1000) # in each
most_scores <- 1e5 # of a fit that keeps points: sorting once more would cost the speed of large ones

points_limit <- function(maps) max(point_limits[1], min(point_limits[2], most_points %/% maps))

#' The points of all maps of a fit, or NULL where there are too many scores
#'
#' @param scores [N x K] on the scale of the maps; classes with a constant rate have points as well, so that later rows can end that.
#' @return list: `x`, `mass`, `hits`, one map after the other; `start` as for the maps; `pooled`: whether some are several scores.
#' @noRd
ova_points <- function(scores, data) {
  k <- length(data$classes)
  maps <- if (k == 2) 2L else seq_len(k)
  if (nrow(scores) * as.double(length(maps)) > most_scores) return(NULL)
  join_points(lapply(maps, function(j) {
    pool_ties(scores[, j], rep_weights(data), data$labels == j)
  }))
}

rep_weights <- function(data) if (is.null(data$weights)) rep(1, nrow(data$scores)) else data$weights

#' One point per score
#' @param hits,mass weight of the events, and of all rows: `hit` says of which rows it is.
#' @noRd
pool_ties <- function(x, mass, hit = NULL, hits = mass * hit) {
  counted <- mass > 0
  x <- x[counted]
  sums <- rowsum(cbind(mass, hits)[counted, , drop = FALSE], match(x, sort(unique(x))))
  list(x = sort(unique(x)), mass = unname(sums[, 1]), hits = unname(sums[, 2]), pooled = FALSE)
}

#' At most so many points: blocks of about equal mass, at the mean of their scores
#' @noRd
pool_points <- function(points, limit) {
  if (length(points$x) <= limit) return(points)
  through <- cumsum(points$mass)
  block <- pmax(ceiling(limit * through / through[length(through)] - 1e-9), 1)
  sums <- rowsum(cbind(points$mass, points$hits, points$x * points$mass), block)
  list(x = unname(sums[, 3] / sums[, 1]), mass = unname(sums[, 1]), hits = unname(pmin(sums[, 2], sums[, 1])), pooled = TRUE)
}

join_points <- function(each) {
  each <- lapply(each, pool_points, limit = points_limit(length(each)))
  all <- function(name) unlist(lapply(each, `[[`, name), use.names = FALSE)
  list(x = all("x"), mass = all("mass"), hits = all("hits"), start = c(0L, cumsum(lengths(lapply(each, `[[`, "x")))),
    pooled = any(all("pooled")))
}

split_points <- function(points) {
  lapply(seq_len(length(points$start) - 1L), function(j) {
    at <- seq_len(points$start[j + 1L] - points$start[j]) + points$start[j]
    list(x = points$x[at], mass = points$mass[at], hits = points$hits[at], pooled = points$pooled)
  })
}

#' Points of old and new rows, map by map, old ones at `keep` of their weight
#' @noRd
add_points <- function(old, new, keep = 1) {
  Map(function(a, b) {
    both <- pool_ties(c(a$x, b$x), c(keep * a$mass, b$mass), hits = c(keep * a$hits, b$hits))
    both$pooled <- a$pooled || b$pooled
    both
  }, split_points(old), split_points(new))
}

#' An object with the maps of these points (one element per map) and with the points themselves, pooled if they are too many
#' @param counts weight of the rows of every class.
#' @noRd
points_maps <- function(object, each, counts, threads = 1L) {
  k <- length(object$classes)
  own <- if (k == 2) 2L else seq_len(k)
  total <- sum(counts)
  fixed <- counts <= negligible * total | total - counts <= negligible * total
  rate <- pmin(pmax((counts + 1 / k) / (total + 1), negligible), 1 - negligible)
  maps <- Map(function(points, j) {
    if (fixed[j]) return(list(x = 1, y = rate[j], x0 = 0, y0 = rate[j], evidence = NA_real_))
    fit_points(object, points, threads)
  }, each, own)
  all <- function(name) unlist(lapply(maps, `[[`, name), use.names = FALSE)
  begin <- function(name) c(0L, cumsum(lengths(lapply(maps, `[[`, name))))
  object$x <- all("x")
  object$y <- all("y")
  object$start <- begin("x")
  if (!is.null(object$x0)) {
    object$x0 <- all("x0")
    object$y0 <- all("y0")
    object$start0 <- begin("x0")
  }
  if (!is.null(object$log_evidence)) object$log_evidence <- all("evidence")
  object$fixed <- object$classes[fixed]
  object$points <- join_points(each)
  object
}

#' The map of one class, from rows that are its points: events and others at every score
#' @noRd
fit_points <- function(object, points, threads) {
  x <- rep(points$x, 2)
  weight <- c(points$hits, points$mass - points$hits)
  label <- rep(2:1, each = length(points$x))
  rows <- weight > 0
  x <- x[rows]
  weight <- weight[rows]
  label <- label[rows]
  if (!is.null(object$x0)) {
    map <- .Call(C_venn_fit, x, label, 2L, weight)
    return(list(x = map$x1, y = map$y1, x0 = map$x0, y0 = map$y0))
  }
  method <- if (object$method == "bbq") 2L else if (object$interpolate) 0L else 1L
  .Call(C_curves_fit, cbind(1 - x, x), label, weight, method, 1L, sum(weight), NaN, threads)[c("x", "y", "evidence")]
}

#' @export
update_fit.calib_isotonic <- function(object, data, forget) update_points(object, data, forget)

#' @export
update_fit.calib_bbq <- function(object, data, forget) update_points(object, data, forget)

update_points <- function(object, data, forget) {
  if (is.null(object$points)) stop_no_points("object")
  k <- length(data$classes)
  new <- lapply(if (k == 2) 2L else seq_len(k), function(j) {
    pool_ties(ova_scores(data, FALSE)[, j], rep_weights(data), data$labels == j)
  })
  start <- c(0L, cumsum(lengths(lapply(new, `[[`, "x"))))
  part <- function(name) unlist(lapply(new, `[[`, name), use.names = FALSE)
  new <- list(x = part("x"), mass = part("mass"), hits = part("hits"), start = start, pooled = FALSE)
  counts <- (1 - forget) * object$prior * old_weight(object) + class_weights(data$labels, data$weights, k)
  points_maps(object, add_points(object$points, new, 1 - forget), counts, data$threads)
}

stop_no_points <- function(arg) {
  stop_input(arg, paste0("contains no scores for new rows: it was fitted to more than ", format(most_scores, big.mark = ",", scientific = FALSE),
    " scores, or by an older version"), "Fit it again on all rows.")
}

#' What is wrong with the points of an object: text, or NULL
#' @noRd
points_wrong <- function(object) {
  points <- object$points
  if (is.null(points)) return(NULL)
  if (!is.list(points)) return("has a field `points` that is no list")
  size <- length(points$x)
  wrong <- check_parts(points, list(x = field("number", NULL, low = 0, high = 1), mass = field("number", size, low = 0),
    hits = field("number", size, low = 0), start = field("integer", ova_count(object) + 1L, low = 0), pooled = field("flag")))
  if (length(wrong)) return(paste("has a field `points` that:", wrong))
  inner <- diff(points$start)
  if (points$start[1] != 0 || any(inner < 1) || points$start[length(points$start)] != size ||
    !all(which(diff(points$x) <= 0) %in% points$start) || any(points$hits > points$mass * (1 + 1e-9)) || any(points$mass == 0)) {
    "has a field `points` whose scores are not in order"
  }
}
