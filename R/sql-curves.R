# Maps made of pieces in SQL: bins, steps and straight lines. A map is a list of `edges` (ascending) and of `base`, `at`
# and `slope`, one more than edges: on a piece the value of a score s is base + (s - at) slope. A piece holds its upper
# edge (`closed`) or its lower one. `cap`: values never pass 1. Pieces become nested CASE expressions, or rows of a small
# table to join with (sql-lookup.R).

#' @export
sql_steps.calib_histogram <- function(object, d, z) sql_curves(object, d, z)

#' @export
sql_steps.calib_bbq <- function(object, d, z) sql_curves(object, d, z)

#' @export
sql_steps.calib_isotonic <- function(object, d, z) {
  if (is.null(object$x0)) sql_curves(object, d, z) else sql_venn(object, d, z)
}

#' The pieces of a calibrator's maps; NULL for methods without
#' @noRd
sql_pieces <- function(object) UseMethod("sql_pieces")

#' @export
sql_pieces.default <- function(object) NULL

#' @export
sql_pieces.calib_histogram <- function(object) curve_pieces(object, step_pieces)

#' @export
sql_pieces.calib_bbq <- function(object) curve_pieces(object, step_pieces)

#' @export
sql_pieces.calib_isotonic <- function(object) {
  if (!is.null(object$x0)) return(venn_pieces(object))
  curve_pieces(object, if (object$interpolate) line_pieces else step_pieces)
}

curve_pieces <- function(object, make) {
  lapply(seq_len(length(object$start) - 1L), function(j) {
    at <- seq.int(object$start[j] + 1L, object$start[j + 1L])
    make(object, object$x[at], object$y[at])
  })
}

#' Edges of steps are calibration scores. Those of logits are softmax values, which a database may round otherwise: the
#' edge is moved by 1e-12 of itself, so that equal logits stay on its side.
#' @noRd
nudge <- function(object, x, side) if (object$input == "probs") x else x * (1 + side * 1e-12)

constant_pieces <- function(edges, values, closed = TRUE) {
  zero <- numeric(length(values))
  list(edges = edges, base = values, at = zero, slope = zero, closed = closed, cap = FALSE)
}

#' Steps closed above; an empty bin keeps the score
#' @noRd
step_pieces <- function(object, x, y) {
  out <- constant_pieces(nudge(object, x[-length(x)], 1), ifelse(is.nan(y), 0, y))
  out$slope[is.nan(y)] <- 1
  out
}

#' Straight lines between points, constant beyond them
#' @noRd
line_pieces <- function(object, x, y) {
  m <- length(x)
  if (m == 1) return(constant_pieces(numeric(), y))
  list(edges = x, base = c(y[1], y[-m], y[m]), at = c(0, x[-m], 0), slope = c(0, diff(y) / diff(x), 0), closed = FALSE,
    cap = TRUE)
}

#' Venn-Abers: the maps of p1, then those of p0
#' @noRd
venn_pieces <- function(object) {
  each <- function(start, make) {
    lapply(seq_len(length(start) - 1L), function(j) make(seq.int(start[j] + 1L, start[j + 1L])))
  }
  c(each(object$start, function(at) constant_pieces(nudge(object, object$x[at], 1), c(object$y[at], 1))),
    each(object$start0, function(at) constant_pieces(nudge(object, object$x0[at], -1), c(0, object$y0[at]), closed = FALSE)))
}

# As steps --------------------------------------------------------------------------------

#' Columns `v` of maps at the columns `s`, by CASE or by joins
#' @param maps what sql_pieces() returned, which one for each of `s`.
#' @param carry columns of the step before that later steps need.
#' @return list of sql_step()s.
#' @noRd
sql_apply <- function(d, s, maps, v, carry = character(), which = seq_along(s)) {
  if (!is.null(d$lookup)) return(sql_join(d, s, maps, v, carry, which))
  list(sql_step(stats::setNames(mapply(sql_case, s, maps[which], USE.NAMES = FALSE), v), carry))
}

sql_curves <- function(object, d, z) {
  k <- length(z)
  first <- sql_probs(object, d, z)
  maps <- sql_pieces(object)
  if (k == 2) {
    return(c(first$steps, sql_apply(d, first$s[2], maps, "gpcalib_p2"),
      list(sql_step(c(gpcalib_p1 = "1.0e+00 - gpcalib_p2"), "gpcalib_p2"))))
  }
  lowest <- vapply(maps, function(map) min(map$base), 0)
  v <- numbered("v", k)
  kept <- if (all(lowest < 1e-300)) first$s
  c(first$steps, sql_apply(d, first$s, maps, v, kept), sql_share(v, kept))
}

#' Venn-Abers: p1 / (1 - p0 + p1), the two given by steps
#' @noRd
sql_venn <- function(object, d, z) {
  k <- length(z)
  first <- sql_probs(object, d, z)
  s <- if (k == 2) first$s[2] else first$s
  h <- numbered("h", length(s))
  l <- numbered("l", length(s))
  merged <- paste0(h, " / (1.0e+00 - ", l, " + ", h, ")")
  steps <- c(first$steps, sql_apply(d, c(s, s), sql_pieces(object), c(h, l)))
  if (k > 2) return(c(steps, sql_divide(merged)))
  c(steps, list(sql_step(c(gpcalib_p2 = merged)), sql_step(c(gpcalib_p1 = "1.0e+00 - gpcalib_p2"), "gpcalib_p2")))
}

#' The value of a map at an expression
#' @noRd
sql_case <- function(s, map) {
  line <- paste0(literal(map$base), " + (", s, " - ", literal(map$at), ") * ", literal(map$slope))
  values <- ifelse(map$slope == 0, literal(map$base), ifelse(map$slope == 1 & map$base == 0 & map$at == 0, s, line))
  ends <- map$base + (c(map$edges, Inf) - map$at) * map$slope
  capped <- map$cap & map$slope > 0 & ends >= 1 - 1e-12 # rounding must not pass 1
  values[capped] <- paste0("CASE WHEN ", line[capped], " > 1.0e+00 THEN 1.0e+00 ELSE ", line[capped], " END")
  sql_search(s, map$edges, values, map$closed)
}

#' Nested CASEs that halve: as many comparisons as a search, and no deeper
#'
#' @param s an expression; @param edges ascending; @param values one more than edges, texts: the first holds up to and
#'   with the first edge (`closed`), or up to it.
#' @noRd
sql_search <- function(s, edges, values, closed = TRUE) {
  same <- which(values[-1] == values[-length(values)])
  if (length(same)) {
    edges <- edges[-same]
    values <- values[-same]
  }
  compare <- paste0("WHEN ", s, if (closed) " <= " else " < ", literal(edges), " THEN ")
  nest <- function(from, to) {
    if (from == to) return(values[from])
    middle <- (from + to) %/% 2L
    paste0("CASE ", compare[middle], nest(from, middle), " ELSE ", nest(middle + 1L, to), " END")
  }
  paste0("CASE WHEN ", s, " IS NULL THEN NULL ELSE ", nest(1L, length(values)), " END")
}
