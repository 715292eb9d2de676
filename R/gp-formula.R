# A fit of calib_gp() as a formula that needs no linear algebra: what calib_sql() and write_calibrator() write out.

#' The posterior mean of a fit as a sum of bumps, and its effects as plain matrices
#'
#' With z the scores of a row on the scale of g (floored, centred), g(z) = slope z (or log z) + sum_j weight_j
#' exp(-(z - place_j)^2 / (2 lengthscale^2)). Class k of a row has g(z_k) + offset_k + sum_l linear_kl v_l + sum_l
#' softmax_kl softmax(steep v)_l + level_k log sum_l exp(steep v_l), v the scores held within `limits`; with two classes even_k e(d)
#' + sum_i shape_ki s_i(d) instead of the sums, d = steep (v_2 - v_1), e(d) = |d| + 2 log(1 + exp(-|d|)) - 2 log 2,
#' s_i(d) = `every` r(|d| / `every` - i + 1) up to a constant, r(u) = u^2 / 2 from 0 to 1, 1 - (2 - u)^2 / 2 from 1 to 2, 0 before and 1 beyond.
#' @return list: `mean`, `slope`, `lengthscale`, `place`, `weight`, `floor`, `center`, and `offset`, `linear`, `softmax`,
#'   `level`, `even`, `shape`, `every`, `steep`, `limits` where there are effects. With `least` (many classes) v is as it is, and softmax(steep v)_l less `least`, or 0 if that
#'   is negative, takes the place of softmax(steep v)_l; with `power` there is power_k max(log softmax(steep v)_k, -30).
#' @noRd
gp_formula <- function(object) {
  if (isTRUE(object$monotone)) return(ordered_formula(object))
  hyper <- object$hyper
  out <- list(mean = if (object$mean == "log") "log" else "linear", slope = if (object$mean == "log") 1 else hyper[["slope"]],
    lengthscale = hyper[["lengthscale"]], place = as.double(object$inducing), weight = gp_weights(object),
    floor = gp_floor(object), center = object$center)
  check_formula(object, out)
  if (!is.null(object$offsets)) out$offset <- unname(object$offsets$mean)
  c(out, if (!is.null(object$effects)) effects_formula(object), if (has_wide(object)) wide_formula(object))
}

#' A fit that keeps the order: g is a straight line between `nodes`, at which it has `values`, and has `slope` beyond
#'
#' The scale is that of log-probabilities for the log mean as well: of it z is the logarithm.
#' @return list: `mean`, `nodes`, `values`, `slope`, `floor`, `center`, and `offset` where there is one.
#' @noRd
ordered_formula <- function(object) {
  table <- .Call(C_mono_table, object)
  # nodes between which nothing bends are left out
  turn <- abs(diff(table$map, differences = 2)) > 1e-12 * (1 + max(abs(table$map)))
  kept <- c(TRUE, turn, TRUE)
  out <- list(mean = "linear", slope = if (object$mean == "log") 1 else object$hyper[["slope"]], nodes = table$t[kept], values = table$map[kept],
    floor = gp_floor(object), center = object$center)
  if (!is.null(object$offsets)) out$offset <- unname(object$offsets$mean)
  check_nodes(table)
  out
}

#' predict() interpolates exponentials between nodes (src/mono_table.h), which lines follow if they rise little from one to the next
#' @noRd
check_nodes <- function(table) {
  rise <- max(diff(table$map))
  u <- seq(0, 1, 0.05)
  bend <- min(2 * tanh(rise / 4), 1)
  apart <- max(abs(log1p(u * (1 - bend + bend * u) * expm1(rise)) - rise * u))
  if (!is.finite(apart) || apart > 1e-4) {
    stop_input("object", paste0("has a map so steep that straight lines between its nodes are inaccurate by up to ", format(apart, digits = 2)),
      "Use predict() on the rows, or divide the scores by a number before fitting and applying it.")
  }
}

#' What probabilities count as at least; 0 for logits that are taken as they are
#'
#' Where fitting has seen no zero, one in new rows counts as the square of the smallest probability seen: on the
#' scale of logarithms as far below it as that is below 1. It would otherwise be 2e-308 and, by the mean of its
#' row, carry the other classes out of the range of the map. Not above 1e-8, so that a few calibration
#' rows of moderate probabilities do not hold small new ones up.
#' @noRd
gp_floor <- function(object) {
  if (!is.null(object$floor)) return(object$floor)
  if (object$input != "probs") return(0)
  if (is.null(object$least)) return(.Machine$double.xmin) # of a version that did not keep it
  max(min(object$least, 1e-4)^2, .Machine$double.xmin)
}

#' The smallest probability of the calibration rows, or NULL for logits and where there are zeros
#' @noRd
least_probability <- function(data) {
  if (data$input == "probs" && data$scan$lowest > 0) data$scan$lowest
}

#' s2 L^-T m: the whitened mean as weights of the bumps; K as in src/gp_basis.c
#' @noRd
gp_weights <- function(object) {
  hyper <- object$hyper
  s2 <- hyper[["variance"]]
  w <- object$inducing
  k <- s2 * exp(-0.5 * outer(w, w, "-")^2 / hyper[["lengthscale"]]^2)
  for (jitter in c(0, 10^(-12:-4))) {
    root <- tryCatch(chol(k + diag(hyper[["noise"]] + jitter * s2, length(w))), error = function(e) NULL)
    if (!is.null(root) && min(diag(root))^2 > 1e-14 * s2) return(s2 * backsolve(root, as.double(object$q_mean)))
  }
  stop_object("object", "has inducing inputs too close together")
}

#' Weights of inducing inputs that lie close together are large and cancel: is enough left?
#' @noRd
check_formula <- function(object, formula) {
  ends <- if (object$mean == "log") pmax(object$range, formula$floor) else object$range
  z <- seq(ends[1], ends[2], length.out = 500)
  apart <- max(abs(bump_sum(formula, z) - .Call(C_gp_latent, object, z)$mean))
  if (!is.finite(apart) || apart > 1e-6) {
    stop_input("object", paste0("has large terms that cancel, so that their sum is inaccurate by ", format(apart, digits = 2)),
      "Fit it with fewer `inducing`, or use predict() on the rows.")
  }
}

#' g(z), in R
#' @noRd
bump_sum <- function(formula, z) {
  bumps <- exp(-0.5 * outer(as.double(z), formula$place, "-")^2 / formula$lengthscale^2)
  drop(bumps %*% formula$weight) + if (formula$mean == "log") log(z) else formula$slope * z
}

#' Helmert's contrasts [k x (k-1)], as in src/class_features.c
#' @noRd
helmert <- function(k) {
  out <- matrix(0, k, k - 1)
  for (j in seq_len(k - 1)) out[seq_len(j + 1), j] <- c(rep(-1, j), j) / sqrt(j * (j + 1))
  out
}

#' Effects on the scores and on their softmax themselves rather than on contrasts of them
#' @noRd
effects_formula <- function(object) {
  effects <- object$effects
  k <- length(object$classes)
  count <- as.integer(effects$count)
  if (length(count) != length(feature_blocks) || !all(count == 0 | count == block_sizes(k)) || nrow(effects$effect) != sum(count)) {
    stop_input("object", "has effects of its classes that cannot be written as a formula", "Use predict() on the rows.")
  }
  block <- rep(seq_along(count), count)
  part <- function(b) effects$effect[block == b, , drop = FALSE]
  out <- list(steep = effects$scale[["slope"]], limits = unname(effects$scale[c("low", "high")]))
  if (count[1]) out$offset <- as.vector(part(1))
  if (count[2] && k == 2) out$even <- as.vector(part(2))
  if (count[2] && k > 2) out$linear <- unname(t(helmert(k) %*% part(2))) / effects$scale[["rms"]]
  if (count[3] && k == 2) { # their constants go to the offset
    out$shape <- unname(t(part(3)))
    out$every <- shape_step
    out$offset <- c(out$offset, 0, 0)[1:2] + drop(out$shape %*% (effect_shapes(0)[1, ]))
  }
  if (count[3] && k > 2) out$softmax <- unname(t(helmert(k) %*% part(3)))
  if (count[4]) { # the feature is that of centred scores, and v is not: their mean goes to the linear part
    out$level <- -as.vector(part(4))
    out$linear <- out$linear - out$level * out$steep / k
  }
  out
}
