# Venn-Abers predictors: calib_isotonic(type = "venn-abers"). The fit is in src/venn.c.

#' Maps of the pairs: for each class (the second of two) two step functions
#'
#' p1 is `y` up to and with `x`, and 1 beyond the last; p0 is `y0` from `x0` on, and 0 before the first.
#' @return list: `x`, `y`, `start`, `x0`, `y0`, `start0`, points of all maps one after the other.
#' @noRd
fit_venn <- function(data, ova) {
  k <- length(data$classes)
  columns <- if (k == 2) 2L else seq_len(k)
  maps <- lapply(seq_along(columns), function(j) {
    rate <- ova$constant[j]
    if (!is.nan(rate)) return(list(x1 = 1, y1 = rate, x0 = 0, y0 = rate))
    .Call(C_venn_fit, ova$scores[, columns[j]], data$labels, columns[j], data$weights)
  })
  all <- function(name) unlist(lapply(maps, `[[`, name), use.names = FALSE)
  begin <- function(name) c(0L, cumsum(vapply(maps, function(map) length(map[[name]]), 0L)))
  list(x = all("x1"), y = all("y1"), start = begin("x1"), x0 = all("x0"), y0 = all("y0"),
    start0 = begin("x0"))
}

#' The pair of map j at scores s: list(p0, p1)
#' @noRd
venn_pair <- function(object, j, s) {
  at <- function(start) seq.int(start[j] + 1L, start[j + 1L])
  upper <- at(object$start)
  lower <- at(object$start0)
  list(
    p0 = c(0, object$y0[lower])[findInterval(s, object$x0[lower]) + 1L],
    p1 = c(object$y[upper], 1)[findInterval(s, object$x[upper], left.open = TRUE) + 1L]
  )
}

#' The pair as one probability: the minimax choice under log loss (Vovk, Petej and Fedorova, 2015)
#' @noRd
venn_merge <- function(pair) pair$p1 / (1 - pair$p0 + pair$p1)

venn_scores <- function(object, data) {
  if (object$input == "logits") .Call(C_softmax, data$scores, 1, -Inf, data$threads) else data$scores
}

predict_venn <- function(object, data) {
  s <- venn_scores(object, data)
  k <- length(object$classes)
  if (k == 2) {
    v <- venn_merge(venn_pair(object, 1L, s[, 2]))
    return(cbind(1 - v, v, deparse.level = 0))
  }
  v <- vapply(seq_len(k), function(j) venn_merge(venn_pair(object, j, s[, j])), numeric(nrow(s)))
  v <- matrix(v, nrow(s), k)
  v / rowSums(v) # p1 is never 0
}

#' @export
predict_interval.calib_isotonic <- function(object, data, level, shift) {
  if (is.null(object$x0)) {
    stop_input("type", "is \"interval\", which isotonic regression does not have",
      "Fit with calib_isotonic(type = \"venn-abers\"), or use another method.")
  }
  s <- venn_scores(object, data)
  k <- length(object$classes)
  estimate <- predict_venn(object, data)
  if (k == 2) {
    pair <- venn_pair(object, 1L, s[, 2])
    two <- function(first, second) cbind(first, second, deparse.level = 0)
    parts <- list(estimate = estimate, lower = two(1 - pair$p1, pair$p0), upper = two(1 - pair$p0, pair$p1))
    if (is.null(shift)) return(parts)
    # the pair itself, not the merged probability, is what the frequencies change
    turn <- function(p) apply_prior(two(1 - p, p), shift$from, shift$to)[, 2]
    pair <- list(p0 = turn(pair$p0), p1 = turn(pair$p1))
    v <- turn(estimate[, 2])
    return(list(estimate = two(1 - v, v), lower = two(1 - pair$p1, pair$p0), upper = two(1 - pair$p0, pair$p1)))
  }
  if (!is.null(shift)) {
    stop_input("prior", "cannot be taken into account in the pairs of more than two classes",
      "Leave it out, or ask for type = \"prob\".")
  }
  pairs <- lapply(seq_len(k), function(j) venn_pair(object, j, s[, j]))
  side <- function(name) matrix(unlist(lapply(pairs, `[[`, name), use.names = FALSE), nrow(s), k)
  list(estimate = estimate, lower = side("p0"), upper = side("p1"))
}

venn_maps <- function(object, p) {
  value <- function(name) {
    unlist(lapply(seq_len(ova_count(object)), function(j) venn_pair(object, j, p)[[name]]), use.names = FALSE)
  }
  pair <- list(p0 = value("p0"), p1 = value("p1"))
  list(calibrated = venn_merge(pair), low = pair$p0, high = pair$p1)
}

describe_venn <- function(object) {
  steps <- diff(object$start) + diff(object$start0)
  paste0("pairs of probabilities in ", if (length(steps) == 1) say_count(steps, "step") else {
    paste(min(steps), "to", max(steps), "steps per class")
  })
}

venn_fields <- function(object) {
  if (is.null(object$x0) && is.null(object$y0) && is.null(object$start0)) return(list())
  list(
    x0 = field("number", NULL, low = 0, high = 1), y0 = field("number", length(object$x0), low = 0, high = 1),
    start0 = field("integer", ova_count(object) + 1L, low = 0)
  )
}

venn_wrong <- function(object) {
  if (is.null(object$x0)) return(NULL)
  curve_wrong(list(start = object$start0, x = object$x0))
}
