# The process in SQL: its posterior mean, which is a slope and a sum of Gaussian bumps, or lines between nodes if it keeps
# the order, and the effects of the classes.

#' @export
sql_steps.calib_gp <- function(object, d, z) {
  formula <- gp_formula(object)
  k <- length(z)
  l <- numbered("l", k)
  steps <- if (formula$mean == "log") {
    list(sql_step(stats::setNames(sql_least(z, formula$floor), l)))
  } else {
    sql_log(object, d, z, formula$floor, l)
  }
  if (formula$center) {
    steps <- c(steps, list(sql_step(c(gpcalib_mean = paste0(sql_sum(l), " / ", literal(k))), l),
      sql_step(stats::setNames(paste0(l, " - gpcalib_mean"), l))))
  }
  g <- numbered("g", k)
  if (!is.null(formula$nodes)) return(c(steps, sql_ordered(object, formula, d, l, g), sql_softmax(d, g)))
  effects <- sql_effects(formula, d, l)
  value <- paste0(sql_bumps(formula, d, l), effects$terms)
  c(steps, effects$steps, list(sql_step(stats::setNames(value, g))), sql_softmax(d, g))
}

#' The map of a fit that keeps the order: lines between the nodes of its table, and offsets
#' @noRd
sql_ordered <- function(object, formula, d, l, g) {
  steps <- sql_apply(d, l, sql_pieces(object), g, which = rep(1L, length(l)))
  if (is.null(formula$offset)) return(steps)
  c(steps, list(sql_step(stats::setNames(paste0(g, " + ", literal(formula$offset)), g))))
}

#' @export
sql_pieces.calib_gp <- function(object) {
  if (!isTRUE(object$monotone)) return(NULL)
  formula <- gp_formula(object)
  t <- formula$nodes
  m <- length(t)
  list(list(edges = t, base = formula$values[c(1, seq_len(m))], at = t[c(1, seq_len(m))],
    slope = c(formula$slope, diff(formula$values) / diff(t), formula$slope), closed = FALSE, cap = FALSE))
}

#' g of columns
#' @noRd
sql_bumps <- function(formula, d, l) {
  scale <- 1 / (sqrt(2) * formula$lengthscale)
  used <- formula$weight != 0
  place <- formula$place[used]
  weight <- formula$weight[used]
  vapply(l, function(x) {
    mean <- if (formula$mean == "log") sql_ln(d, x) else paste0(literal(formula$slope), " * ", x)
    if (!length(weight)) return(mean)
    off <- paste0("(", literal(scale), " * (", x, " - ", literal(place), "))")
    square <- paste0("-", off, " * ", off)
    # a vanishing bump is an error in PostgreSQL
    if (d$underflow) square <- paste0("CASE WHEN ABS", off, " > 2.6e+01 THEN -6.76e+02 ELSE ", square, " END")
    sql_sum(c(mean, paste0(literal(weight), " * EXP(", square, ")")))
  }, "", USE.NAMES = FALSE)
}

#' Steps that the effects of the classes need before, and what they add to g
#' @noRd
sql_effects <- function(formula, d, l) {
  k <- length(l)
  steps <- list()
  terms <- matrix("", 6, k)
  if (!is.null(formula$offset)) terms[1, ] <- paste0(" + ", literal(formula$offset))
  v <- if (is.null(formula$limits)) l else numbered("v", k)
  if (!is.null(formula$limits)) {
    held <- sql_clamp(l, formula$limits[1], formula$limits[2])
    steps <- list(sql_step(stats::setNames(held, v), l))
  }
  apply_matrix <- function(m, x) {
    vapply(seq_len(k), function(j) paste0(" + ", sql_sum(paste0(literal(m[j, ]), " * ", x))), "")
  }
  if (!is.null(formula$even)) {
    size <- paste0("ABS(", literal(formula$steep), " * (gpcalib_v2 - gpcalib_v1))")
    e <- paste0("gpcalib_d + 2.0e+00 * ", sql_ln(d, paste0("(1.0e+00 + ", sql_exp(d, "-gpcalib_d"), ")")), " - ",
      literal(2 * log(2)))
    steps <- c(steps, list(sql_step(c(gpcalib_d = size), l), sql_step(c(gpcalib_even = e), c(l, if (!is.null(formula$shape)) "gpcalib_d"))))
    terms[2, ] <- paste0(" + ", literal(formula$even), " * gpcalib_even")
  }
  if (!is.null(formula$shape)) { # of two classes, which have an even part as well
    knots <- ncol(formula$shape)
    u <- numbered("u", knots)
    x <- numbered("x", knots)
    at <- sql_clamp(paste0("(", literal(1 / formula$every), " * gpcalib_d - ", literal(seq_len(knots) - 1), ")"), 0, 2)
    ramp <- paste0("CASE WHEN ", u, " < 1.0e+00 THEN 5.0e-01 * ", u, " * ", u, " ELSE 1.0e+00 - 5.0e-01 * (2.0e+00 - ", u, ") * (2.0e+00 - ", u, ") END")
    steps <- c(steps, list(sql_step(stats::setNames(at, u), c(l, "gpcalib_even")), sql_step(stats::setNames(ramp, x), c(l, "gpcalib_even"))))
    terms[6, ] <- apply_matrix(formula$every * formula$shape, x)
  }
  if (!is.null(formula$linear)) terms[3, ] <- apply_matrix(formula$linear, v)
  if (!is.null(formula$softmax)) {
    s <- numbered("s", k)
    carry_on <- function(step) sql_step(step$new, unique(c(step$carry, l, v)))
    steps <- c(steps, lapply(sql_softmax(d, v, formula$steep, s), carry_on))
    x <- s
    if (!is.null(formula$least)) { # of many classes
      x <- numbered("x", k)
      above <- paste0("CASE WHEN ", s, " > ", literal(formula$least), " THEN ", s, " - ", literal(formula$least), " ELSE 0.0e+00 END")
      steps <- c(steps, list(sql_step(stats::setNames(above, x), c(l, if (!is.null(formula$power)) s))))
    }
    terms[4, ] <- apply_matrix(formula$softmax, x)
    if (!is.null(formula$power)) {
      log_s <- paste0("CASE WHEN ", s, " > ", literal(exp(-30)), " THEN ", sql_ln(d, s), " ELSE ", literal(-30), " END")
      terms[5, ] <- paste0(" + ", literal(formula$power), " * ", log_s)
    }
  }
  if (!is.null(formula$level)) {
    kept <- c(l, v, if (!is.null(formula$softmax)) numbered("s", k))
    e <- sql_exp(d, paste0(literal(formula$steep), " * (", v, " - gpcalib_top)"))
    level <- paste0(literal(formula$steep), " * gpcalib_top + ", sql_ln(d, sql_sum(e)))
    steps <- c(steps, list(sql_step(c(gpcalib_top = sql_top(d, v)), kept), sql_step(c(gpcalib_level = level), kept)))
    terms[5, ] <- paste0(" + ", literal(formula$level), " * gpcalib_level")
  }
  list(steps = steps, terms = apply(terms, 2, paste, collapse = ""))
}
