# The formulas of the calibrators as steps: each computes columns from those of the step before. One level of
# subqueries per step keeps the size of the whole proportional to the number of classes.

#' A step: new columns, the columns of the step before that are still needed, and what it is joined with
#' @noRd
sql_step <- function(new, carry = character(), join = NULL) list(new = new, carry = carry, join = join)

#' The steps of a calibrator, from scores z1, ..., zK to probabilities p1, ..., pK
#'
#' @param d what sql_dialect() returned; @param z names of the score columns: canonical probabilities or logits.
#' @return list of sql_step()s; the last has the columns p1, ..., pK.
#' @noRd
sql_steps <- function(object, d, z) UseMethod("sql_steps")

#' @export
sql_steps.default <- function(object, d, z) {
  stop_input("object", paste0("of class ", class(object)[1], " cannot be written in SQL"),
    "Use predict() on the rows.")
}

numbered <- function(prefix, k) paste0("gpcalib_", prefix, seq_len(k))

#' Raw columns to canonical scores: cast, clamped and divided by their sum as check_scores() does
#'
#' @param x expressions of the raw columns, one per class, or one alone for the second (`flip`: the first) of two.
#' @noRd
sql_canonical <- function(object, d, x, flip) {
  k <- length(object$classes)
  z <- numbered("z", k)
  x <- sql_double(d, x)
  if (length(x) == 1) {
    given <- if (object$input == "probs") sql_clamp(x, 0, 1) else x
    other <- if (object$input == "probs") paste0("1.0e+00 - (", given, ")") else paste0("0.0e+00 * ", x)
    return(list(sql_step(stats::setNames(if (flip) c(given, other) else c(other, given), z))))
  }
  if (object$input == "logits") return(list(sql_step(stats::setNames(x, z))))
  near <- paste0("ABS(gpcalib_sum - 1.0e+00) <= ", literal(exact_slack))
  list(
    sql_step(stats::setNames(sql_clamp(x, 0, 1), z)),
    sql_step(c(gpcalib_sum = sql_sum(z)), z),
    sql_step(stats::setNames(paste0(z, " / CASE WHEN ", near, " THEN 1.0e+00 ELSE gpcalib_sum END"), z))
  )
}

# Softmax ---------------------------------------------------------------------------------

#' p := softmax(g), the row maximum subtracted
#' @noRd
sql_softmax <- function(d, g, factor = 1, p = numbered("p", length(g))) {
  e <- numbered("e", length(g))
  scaled <- paste0(if (factor != 1) paste0(literal(factor), " * "), "(", g, " - gpcalib_top)")
  list(
    sql_step(c(gpcalib_top = sql_top(d, g)), g),
    sql_step(stats::setNames(sql_exp(d, scaled), e)),
    sql_step(c(gpcalib_sum = sql_sum(e)), e),
    sql_step(stats::setNames(paste0(e, " / gpcalib_sum"), p))
  )
}

#' l := log-probabilities of probabilities or logits, not below a floor
#' @noRd
sql_log <- function(object, d, z, floor, l = numbered("l", length(z))) {
  if (object$input == "probs") return(list(sql_step(stats::setNames(sql_ln(d, sql_least(z, floor)), l))))
  if (floor == 0) return(list(sql_step(stats::setNames(z, l))))
  e <- sql_exp(d, paste0(z, " - gpcalib_top"))
  list(
    sql_step(c(gpcalib_top = sql_top(d, z)), z),
    sql_step(c(gpcalib_log = paste0("gpcalib_top + ", sql_ln(d, sql_sum(e)))), z),
    sql_step(stats::setNames(sql_least(paste0("(", z, " - gpcalib_log)"), log(floor)), l))
  )
}

#' @export
sql_steps.calib_none <- function(object, d, z) {
  if (object$input == "logits") return(sql_softmax(d, z))
  list(sql_step(stats::setNames(z, numbered("p", length(z)))))
}

#' @export
sql_steps.calib_temperature <- function(object, d, z) {
  c(sql_log(object, d, z, temperature_floor(object)),
    sql_softmax(d, numbered("l", length(z)), 1 / object$temperature))
}

#' @export
sql_steps.calib_vector <- function(object, d, z) sql_linear(object, d, z)

#' @export
sql_steps.calib_matrix <- function(object, d, z) sql_linear(object, d, z)

#' Offsets and weights of centred log-probabilities
#' @noRd
sql_linear <- function(object, d, z) {
  k <- length(z)
  l <- numbered("l", k)
  g <- numbered("g", k)
  w <- object$weights
  value <- if (object$method == "vector") paste0(literal(unname(w)), " * ", l) else {
    vapply(seq_len(k), function(j) sql_sum(paste0(literal(unname(w[j, ])), " * ", l)), "")
  }
  c(sql_log(object, d, z, temperature_floor(object)),
    list(sql_step(c(gpcalib_mean = paste0(sql_sum(l), " / ", literal(k))), l),
      sql_step(stats::setNames(paste0(l, " - gpcalib_mean"), l)),
      sql_step(stats::setNames(paste0(value, " + ", literal(unname(object$offset))), g))), sql_softmax(d, g))
}

# One class against the rest --------------------------------------------------------------

#' @export
sql_steps.calib_platt <- function(object, d, z) {
  k <- length(z)
  range <- matrix(object$range, 2)
  first <- if (!object$log_odds) {
    list(steps = list(), s = z)
  } else {
    list(steps = sql_log_odds(object, d, z), s = numbered("s", k))
  }
  coef <- object$coefficients
  line <- function(j, s) {
    limited <- if (max(abs(range[, j])) < .Machine$double.xmax) {
      paste0("(", sql_clamp(s, range[1, j], range[2, j]), ")")
    } else {
      s
    }
    paste0(literal(coef["slope", j]), " * ", limited, " + ", literal(coef["intercept", j]))
  }
  if (k == 2) return(c(first$steps, sql_pair(line(1, first$s[2]))))
  maps <- vapply(seq_len(k), function(j) sql_expit(line(j, first$s[j])), "")
  c(first$steps, sql_divide(maps))
}

#' Two classes with v = 1 / (1 + exp(-t))
#' @noRd
sql_pair <- function(t) {
  list(sql_step(c(gpcalib_t = t)),
    sql_step(c(gpcalib_p1 = sql_expit("-gpcalib_t"), gpcalib_p2 = sql_expit("gpcalib_t"))))
}

#' s := log-odds of every class, as in src/ova.c: infinite ones are as far as doubles go
#' @noRd
sql_log_odds <- function(object, d, z) {
  k <- length(z)
  s <- numbered("s", k)
  far <- literal(.Machine$double.xmax)
  if (object$input == "probs") {
    rest <- if (k == 2) rev(z) else paste0("(1.0e+00 - ", z, ")")
    odds <- paste0("CASE WHEN ", z, " <= 0.0e+00 THEN -", far, " WHEN ", rest, " <= 0.0e+00 THEN ", far, " ELSE ",
      sql_ln(d, paste0(z, " / ", rest)), " END")
    return(list(sql_step(stats::setNames(odds, s))))
  }
  if (k == 2) return(list(sql_step(stats::setNames(paste0(z, " - ", rev(z)), s))))
  top <- paste0("gpcalib_arg = ", seq_len(k))
  others <- paste0("CASE WHEN ", top, " THEN ", literal(-.Machine$double.xmax), " ELSE ", z, " END")
  e <- sql_exp(d, paste0("(", z, " - gpcalib_top)"))
  rest <- paste0("CASE WHEN ", top, " THEN 0.0e+00 ELSE ", sql_exp(d, paste0("(", z, " - gpcalib_next)")), " END")
  odds <- paste0("CASE WHEN ", top, " THEN (gpcalib_top - gpcalib_next) - ", sql_ln(d, "gpcalib_rest"), " ELSE (", z,
    " - gpcalib_top) - ", sql_ln(d, paste0("(gpcalib_sum - ", e, ")")), " END")
  list(
    sql_step(c(gpcalib_top = sql_top(d, z)), z),
    sql_step(c(gpcalib_arg = sql_which(z, "gpcalib_top", seq_len(k))), c(z, "gpcalib_top")),
    sql_step(c(gpcalib_next = sql_top(d, others)), c(z, "gpcalib_top", "gpcalib_arg")),
    sql_step(c(gpcalib_sum = sql_sum(e), gpcalib_rest = sql_sum(rest)),
      c(z, "gpcalib_top", "gpcalib_arg", "gpcalib_next")),
    sql_step(stats::setNames(odds, s))
  )
}

#' The value that belongs to the first of the columns that is equal to `top`; NULL if it is NULL
#' @noRd
sql_which <- function(columns, top, values) {
  paste0("CASE ", paste0("WHEN ", columns, " = ", top, " THEN ", values, collapse = " "), " ELSE NULL END")
}

#' Rows divided by their sum
#' @param maps expressions.
#' @noRd
sql_divide <- function(maps) {
  v <- numbered("v", length(maps))
  c(list(sql_step(stats::setNames(maps, v))), sql_share(v))
}

#' Columns divided by their sum; where every class got nothing, the row as it came
#' @param z columns to fall back on, where a sum of 0 is possible.
#' @noRd
sql_share <- function(v, z = NULL) {
  share <- paste0(v, " / gpcalib_sum")
  if (!is.null(z)) share <- paste0("CASE WHEN gpcalib_sum < 1.0e-307 THEN ", z, " ELSE ", share, " END")
  list(sql_step(c(gpcalib_sum = sql_sum(v)), c(v, z)), sql_step(stats::setNames(share, numbered("p", length(v)))))
}

#' Probabilities from the scores, where a method takes no log-odds
#' @noRd
sql_probs <- function(object, d, z) {
  if (object$input == "probs") return(list(steps = list(), s = z))
  list(steps = sql_softmax(d, z, p = numbered("s", length(z))), s = numbered("s", length(z)))
}

#' @export
sql_steps.calib_beta <- function(object, d, z) {
  k <- length(z)
  first <- sql_probs(object, d, z)
  s <- first$s
  coef <- object$coefficients
  line <- function(j, s, rest) {
    paste0(literal(coef["a", j]), " * ", sql_ln(d, sql_least(s, object$clip)), " - ", literal(coef["b", j]), " * ",
      sql_ln(d, sql_least(rest, object$clip)), " + ", literal(coef["c", j]))
  }
  if (k == 2) return(c(first$steps, sql_pair(line(1, s[2], s[1]))))
  t <- vapply(seq_len(k), function(j) line(j, s[j], paste0("(1.0e+00 - ", s[j], ")")), "")
  steps <- list(sql_step(stats::setNames(t, numbered("t", k))))
  c(first$steps, steps, sql_divide(sql_expit(numbered("t", k))))
}
