# Effects of the classes in calib_gp(): which are tried, what the object keeps of them, and how they
# are shown.

# With less than this many nats promised at the start they are left out by class_effects = "auto";
# offsets of many classes with less than the first of these in a score test, which is 0 +- 1 if they are nothing; up to the second their prior
# variance grows from 0 to what it is estimated, so that a few rows more or less do not change a forecast at once, eq. (39e).
effects_worthless <- -1
offsets_worthless <- c(0, 1)
# and a matrix of many classes with less than these in a score test and in nats beyond offsets alone. With 100 classes and 200 or 1000 rows
# test and bound cannot tell a matrix that lowers the log loss by .001 from none, and one for nothing raises it by .0005 at the most. With 900
# to 2500 rows of real data, matrices of -2 to -1 nats lowered it by .0015 on average (11 fits).
wide_worthless <- c(-1.25, -2)

# Up to so many classes offsets alone have a joint covariance with the process.
joint_classes <- 26L

# Blocks with a variance each; all but the last have features.
effect_blocks <- c("offset", "matrix", "softmax", "power", "skew")
feature_blocks <- effect_blocks[1:4]

# The largest variance that may be held (check_hyper()). No posterior has a larger one, but by rounding: fields may have twice that.
effect_var_most <- 1e12

#' How many features each block has (src/class_features.h)
#' @noRd
block_sizes <- function(k) if (k == 2) c(1L, 1L, shape_knots, 0L) else as.integer(c(1, k - 1, k - 1, 1))

# Even functions of two classes (src/class_features.h): how many, the distance of their knots in scaled log-odds, where they are 0
shape_knots <- 9L
shape_step <- 0.5
shape_zero <- 4
shape_shown <- c(0, 1, 3:5) # where tidy() and summary() show their sum, which is always 0 at 2

#' Which blocks of effects to fit: 0 or 1 for each of `effect_blocks`
#' @noRd
gp_effect_blocks <- function(data, mean, center, spec) {
  if (!is.null(spec$blocks)) return(spec$blocks)
  classes <- length(data$classes)
  choice <- spec$class_effects
  possible <- mean != "log" && spec$covariance == "full" && center && !spec$move
  none <- stats::setNames(integer(length(effect_blocks)), effect_blocks)
  if (choice == "none" || choice == "auto" && !possible) return(none)
  if (!possible) {
    stop_input("class_effects", paste0("is \"", choice, "\", but class effects need centred ",
      "scores, the full covariance, a mean other than \"log\" and fixed inducing inputs"),
      "Leave those arguments out, or use class_effects = \"none\".")
  }
  many <- classes > spec$control$matrix_classes
  # after a freeze without the matrix's quadratic (of older versions) what old rows say of it is lost
  wide <- many && gp_many(spec, classes) && classes <= spec$control$diagonal_classes && is.null(spec$offset_site) == is.null(spec$wide_site)
  if (choice == "matrix" && many && !wide) {
    stop_input("class_effects", paste0("is \"matrix\", but there are ", classes, " classes, and a matrix has a row and a ",
      "column for each"), paste0("Use \"offset\", or allow it by control = gp_control(", if (gp_many(spec, classes)) "diagonal" else "matrix",
      "_classes = ", classes, ")."))
  }
  matrix <- choice != "offset" && !many
  several <- matrix && classes > 2
  few <- choice == "auto" && is.null(spec$wide_site) && effective_count(data) < classes # rows, for a matrix
  one_variance <- "matrix" %in% names(spec$hyper) && !"skew" %in% names(spec$hyper) # the one that is held, of all its entries
  none[] <- if (wide && !few && choice != "offset") c(1L, 0L, 1L, 1L, 0L) else {
    c(1L, matrix, matrix && classes <= spec$control$softmax_classes, several, several && !one_variance)
  }
  none
}

#' A fit of the core with its effects taken in: the process changes with them
#'
#' The covariance of the inducing values is kept given the slope, as without effects; that of all
#' together, with the slope, belongs to the effects.
#' @noRd
gp_with_effects <- function(fit, data, blocks) {
  fit$class_effects <- "none"
  effects <- fit$effects
  fit["effects"] <- list(NULL)
  if (is.null(effects)) return(fit)
  fit$passes <- fit$passes + effects$passes + c(effects$wide$passes, 0L)[1]
  if (isTRUE(effects$wide$kept)) return(gp_with_wide(fit, data, effects))
  if (!effects$kept) return(fit)
  if (!effects$converged) {
    fit$status <- "not_converged"
    if (!is.null(effects$promise)) fit$promise <- effects$promise
  }
  if (!is.null(effects$mean)) return(gp_with_offsets(fit, data, effects))
  classes <- length(data$classes)
  shared <- fit$elbo
  fit$hyper <- effects$hyper
  fit["averaged"] <- list(effects$averaged)
  fit$inducing <- effects$inducing
  fit$q_mean <- effects$q_mean
  fit$q_cov <- effects$q_cov
  if (effects$slopes == 1) fit[c("slope_var", "slope_cross")] <- effects[c("slope_var", "slope_cross")]
  fit$elbo <- effects$elbo
  fit$class_effects <- if (any(effects$count[-1] > 0)) "matrix" else "offset"
  there <- c(effects$count > 0, effects$skew)
  fit$effects <- list(
    worth = effects$elbo - max(effects$none, shared), # the tilted bound may be loose without effects
    sd = stats::setNames(effects$tau, effect_blocks)[there],
    parts = stats::setNames(effects$parts, effect_blocks)[there],
    scale = stats::setNames(effects$scale, c("rms", "slope", "low", "high")), count = effects$count,
    slopes = effects$slopes,
    effect = matrix(effects$effect, ncol = classes, dimnames = list(NULL, data$classes))
  )
  if (!all(is.finite(fit$effects$parts))) fit$effects$parts <- NULL # the core could not say what each is worth
  fit$effects <- effects_single(c(fit$effects, handed_cov(effects)))
  fit
}

#' Offsets of many classes: the process stays as it was
#' @noRd
gp_with_offsets <- function(fit, data, effects) {
  fit$class_effects <- "offset"
  worth <- effects$elbo - effects$none
  fit$elbo <- fit$elbo + worth
  fit$offsets_share <- effects$share
  fit$offsets <- list(worth = worth, sd = c(offset = effects$tau),
    mean = stats::setNames(effects$mean, data$classes), var = effects$var)
  fit
}

#' More effects of many classes (R/gp-wide.R): the process stays as it was
#' @noRd
gp_with_wide <- function(fit, data, effects) {
  wide <- effects$wide
  if (!wide$converged) fit$status <- "not_converged"
  fit$class_effects <- "matrix"
  worth <- wide$elbo - effects$none
  fit$elbo <- fit$elbo + worth
  k <- length(data$classes)
  part <- wide_parts(k)
  fit$offsets <- list(worth = worth, sd = stats::setNames(wide$tau, c("offset", "power", "softmax"))[c(TRUE, wide$power, TRUE)],
    mean = stats::setNames(wide$mean[part$offset], data$classes), var = wide$var[part$offset],
    wide = pack_wide(wide$steep, wide$mean, wide$var, k))
  fit
}

#' A posterior in which offsets are joint with the process, as one of the process and one of the offsets given the process, for
#' functions that are drawn and projected before the offsets are added (R/monotone.R)
#'
#' With x = (v, slope): `cross` [K x length of x] is the regression of the offsets on x, `given` are their variances when x is known,
#' `var` those when it is not.
#' @noRd
gp_part_offsets <- function(fit) {
  first <- seq_len(length(fit$q_mean) + fit$effects$slopes)
  cov <- effects_cov(fit$effects)
  centred <- diag(ncol(fit$effects$effect))
  centred <- centred - 1 / ncol(centred)
  of_x <- centred %*% cov[-first, first]
  cross <- t(solve(cov[first, first], t(of_x)))
  all <- centred %*% cov[-first, -first] %*% centred
  b <- fit$effects$effect[1, ]
  fit$offsets <- list(worth = fit$effects$worth, sd = fit$effects$sd, mean = b - mean(b), var = apart(diag(all)),
    cross = unname(cross), given = apart(pmax(diag(all - tcrossprod(cross, of_x)), 0)))
  fit["effects"] <- list(NULL)
  fit
}

#' Independent variances d of offsets whose centred ones have variances `var`: those are d_k (1 - 2/K) + sum(d)/K^2
#' @noRd
apart <- function(var) {
  k <- length(var)
  sum <- sum(var) / (1 - 1 / k)
  if (k == 2) rep(sum / 2, 2) else pmax((var - sum / k^2) / (1 - 2 / k), 1e-3 * var)
}

#' How many calibration rows change their most likely class under the map's mean; between classes whose
#' scores were equal there is no change
#' @noRd
gp_changed <- function(fit, data) {
  if (is.null(fit$effects) && is.null(fit$offsets) && is.null(data$counts)) return(list(changed = fit$shared_changed))
  at <- rows_raw(fit, data)
  rows <- list(before = data$scan$arg, centre = fit$center, counts = if (!is.null(data$counts)) as.double(data$counts))
  changed <- if (!is.null(fit$effects)) effects_result(.Call(C_effects_changed, fit, at, rows, data$threads)) else {
    wide <- if (has_wide(fit)) unpack_wide(fit$offsets)
    .Call(C_gp_changed, fit, at, rows, wide, if (is.null(wide) && !is.null(fit$offsets)) unname(fit$offsets$mean), data$threads)
  }
  list(changed = as.integer(round(changed)))
}

#' The probabilities of the rows of a fit, of the map's mean
#' @noRd
mean_probs <- function(fit, data) gp_probs(fit, rows_at(fit, data), "mean", threads = data$threads)

#' The rows of a fit as predictions take them
#' @noRd
rows_at <- function(fit, data) {
  at <- rows_raw(fit, data)
  c(at, .Call(C_gp_centre, at, fit$center, c(-Inf, Inf), data$threads))
}

#' The same before they are centred
#' @noRd
rows_raw <- function(fit, data) {
  log_mean <- fit$mean == "log"
  floor <- if (!is.null(fit$floor)) fit$floor else if (data$input == "probs") .Machine$double.xmin else 0
  list(z = fit$z, floor = if (log_mean) floor else log(floor))
}

# What the object keeps ---------------------------------------------------------------------

#' A symmetric matrix from its lower triangle
#' @noRd
from_lower <- function(lower) {
  size <- (sqrt(8 * length(lower) + 1) - 1) / 2
  out <- matrix(0, size, size)
  out[lower.tri(out, TRUE)] <- lower
  out[upper.tri(out)] <- t(out)[upper.tri(out)]
  out
}

#' The covariance of (v, slope, effects) as a matrix: its lower triangle is kept, or the short form of
#' src/gp_joint_brief.h
#' @noRd
effects_cov <- function(effects) {
  effects <- effects_double(effects)
  cov <- from_lower(effects$cov)
  if (is.null(effects$own)) return(cov)
  k <- ncol(effects$own)
  r <- nrow(effects$effect)
  rest <- crossprod(backsolve(chol(cov), effects$cross, transpose = TRUE)) +
    kronecker(matrix(1, k, k), from_lower(effects$common))
  for (a in seq_len(k)) {
    at <- seq_len(r) + (a - 1) * r
    rest[at, at] <- rest[at, at] + from_lower(effects$own[, a] - effects$common)
  }
  rbind(cbind(cov, effects$cross), cbind(t(effects$cross), rest))
}

#' A fit whose effects have their covariance in full
#' @noRd
gp_full_effects <- function(object) {
  if (is.null(object$effects$own)) return(object)
  cov <- effects_cov(object$effects)
  object$effects <- object$effects[setdiff(names(object$effects), c("cross", "own", "common"))]
  object$effects$cov <- cov[lower.tri(cov, TRUE)]
  object
}

#' A fit with effects whose slope is taken as known: the others given the slope
#' @noRd
gp_known_slope <- function(object) {
  if (is.null(object$effects) || object$effects$slopes == 0) return(object)
  at <- length(object$inducing) + 1
  cov <- effects_cov(object$effects)
  object <- gp_full_effects(object)
  rest <- cov[-at, -at] - tcrossprod(cov[-at, at]) / cov[at, at]
  object$effects$cov <- rest[lower.tri(rest, TRUE)]
  object$effects$slopes <- 0L
  object
}

#' By how much effects of the classes, and what is not known of the slope, can move two latent values of
#' a row apart: more than they ever do
#' @noRd
effects_reach <- function(object) {
  if (has_wide(object)) return(wide_reach(object))
  if (!is.null(object$offsets)) {
    return(diff(range(object$offsets$mean)) + 16 * sqrt(max(object$offsets$var)))
  }
  effects <- object$effects
  if (is.null(effects)) return(0)
  k <- length(object$classes)
  scale <- effects$scale
  z <- sqrt(k) * max(abs(scale[c("low", "high")])) # the length of a row of scores, at the most
  length <- c(1, if (k == 2) 2 * scale[["slope"]] * z else z / scale[["rms"]], if (k == 2) shape_step * sqrt(shape_knots) else 1,
    scale[["slope"]] * z + log(k))
  block <- rep(seq_along(feature_blocks), effects$count)
  size <- function(x) sum(sqrt(as.vector(rowsum(x^2, block))) * length[unique(block)])
  var <- diag(effects_cov(effects))
  own <- -seq_len(nrow(effects_cov(effects)) - length(effects$effect))
  sd <- matrix(sqrt(var[own]), nrow(effects$effect))
  slope <- if (effects$slopes == 1) sqrt(var[length(object$inducing) + 1]) * held_slope * z else 0
  2 * (max(apply(effects$effect, 2, size)) + 8 * (max(apply(sd, 2, size)) + slope))
}

held_slope <- 3 # as GPC_JOINT_HELD_SLOPE in src/gp_joint_predict.h

#' What is wrong with the fields of the effects: text, or NULL
#' @noRd
effects_wrong <- function(object) {
  kind <- object$class_effects
  parts <- c(effects = !is.null(object$effects), offsets = !is.null(object$offsets))
  if (sum(parts) != (kind != "none")) return("has other effects of its classes than it says")
  if (kind == "none") return(NULL)
  what <- names(which(parts))
  wrong <- if (parts[["effects"]]) joint_effects_wrong(object) else many_offsets_wrong(object)
  if (length(wrong)) paste0("has a field `", what, "` that ", wrong)
}

#' What the core returns for an object with effects, unless their covariance is none
#' @noRd
effects_result <- function(result) {
  if (is.null(result)) stop_object("object", "has a field `effects` that has a covariance that is not positive definite")
  result
}

check_parts <- function(list, fields) {
  if (!is.list(list) || is.object(list) || !identical(names(list), names(fields))) return("is not complete")
  for (name in names(fields)) {
    wrong <- field_wrong(list[[name]], fields[[name]])
    if (length(wrong)) return(paste0("has a part `", name, "` that ", wrong))
  }
}

joint_effects_wrong <- function(object) {
  effects <- object$effects
  k <- length(object$classes)
  if (!is.list(effects) || is.object(effects)) return("is not complete")
  cov <- function(name) if (is.integer(effects[[name]])) field("single", NULL, high = 2e30) else field("number", NULL) # effects_single()
  fields <- list(worth = field("number"), sd = field("number", NULL, low = 0, high = 1e150), parts = field("number", length(effects$sd)),
    scale = field("number", 4L, low = -1e150, high = 1e150), count = field("integer", length(feature_blocks), low = 0),
    slopes = field("integer", 1L, low = 0, high = 1), effect = field("number", NULL), cov = cov("cov"),
    cross = cov("cross"), own = cov("own"), common = cov("common"))
  fields <- fields[seq_len(if (is.null(effects[["own"]])) 8 else 11)]
  wrong <- check_parts(effects, fields[if (is.null(effects$parts)) -3 else TRUE]) # fits before format 6 have none, nor those without a finite worth
  if (length(wrong)) return(wrong)
  has <- effects$count > 0
  if (!is.null(effects$parts) && !identical(names(effects$parts), names(effects$sd))) return("does not say what its parts are worth")
  if (!any(has) || has[4] && !has[2] || any(effects$count != block_sizes(k) & has) || !identical(setdiff(names(effects$sd), "skew"), feature_blocks[has]) ||
    anyDuplicated(names(effects$sd)) || "skew" %in% names(effects$sd) && !(has[2] && k > 2 && utils::tail(names(effects$sd), 1) == "skew")) {
    return("does not say which effects there are")
  }
  if (any(effects$scale[1:2] <= 0) || effects$scale[3] > effects$scale[4]) return("has scales out of range")
  each <- sum(effects$count)
  x <- length(object$inducing) + effects$slopes
  short <- !is.null(effects[["own"]])
  size <- if (short) x else x + k * each
  packed <- each * (each + 1) / 2
  if (!identical(dim(effects$effect), c(each, k)) || length(effects$cov) != size * (size + 1) / 2 ||
    short && (!identical(dim(effects$cross), as.integer(c(x, k * each))) ||
      !identical(dim(effects$own), as.integer(c(packed, k))) || length(effects$common) != packed)) {
    return("is not that of its classes")
  }
  # the factor that a prediction needs is made in C, which says if there is none
  if (!all_positive(effects$cov[lower_diagonal(size)]) || short && (!all_positive(effects$own[lower_diagonal(each), ]) ||
    inherits(try(chol(from_lower(effects_double(effects["cov"])$cov)), silent = TRUE), "try-error"))) {
    return("has a covariance that is not positive definite")
  }
}

#' Are all numbers, or those whose bits in single precision are given, above 0? The bits of a positive number are a positive integer, those of
#' -0 are NA.
#' @noRd
all_positive <- function(x) isTRUE(all(x > 0))

#' Places of the diagonal in the lower triangle of a matrix
#' @noRd
lower_diagonal <- function(size) cumsum(c(1, rev(seq_len(size))[-size]))

many_offsets_wrong <- function(object) {
  k <- length(object$classes)
  size <- length(object$inducing) + isTRUE(object$slope_sd > 0)
  offsets <- object$offsets
  parts <- if ("wide" %in% names(offsets)) 2L + length(wide_power_names(offsets)) else 1L
  fields <- list(worth = field("number"), sd = field("number", parts, low = 0, high = 1e150),
    mean = field("number", k, low = -1e6, high = 1e6), var = field("number", k, low = 0, high = 2 * effect_var_most),
    cross = field("number", k * size), given = field("number", k, low = 0, high = 2 * effect_var_most))
  wrong <- check_parts(offsets[names(offsets) != "wide"], fields[if ("cross" %in% names(offsets)) 1:6 else 1:4])
  if (length(wrong)) return(wrong)
  if (parts > 1) return(wide_wrong(offsets, k))
  cross <- offsets$cross
  if (!is.null(cross) && !identical(dim(cross), c(k, size))) "has a part `cross` of another size"
}

# A short form of the covariance ---------------------------------------------------------------

# Where the covariances of two classes' effects, given the process, are about the same for every pair (variances of
# latent values differ by less than this at the most), one takes their place. On classifier outputs with 1000 rows:
# .0007 to .05 where that changes the log loss by less than .001, .1 to .9 where it changes it by .002 to .01.
alike_pairs <- 0.06
short_classes <- 8L # with fewer it saves nothing

#' The covariance that the core has handed over, in the short form (src/gp_joint_brief.h) if that serves
#' @noRd
handed_cov <- function(part) if (is.null(part$short)) part["cov"] else part$short

# Single precision ------------------------------------------------------------------------------

cov_parts <- c("cov", "cross", "own", "common")
most_double <- 4000L # numbers, 32 kB: more take four bytes each. Probabilities change by less than 1e-7

#' Effects with a large covariance in single precision, unless it is so nearly singular that rounding could make it none
#'
#' In the short form the covariance of the process stays as it is: its inverse is needed. (gp_joint_brief.h says when a short form is firm.)
#' @noRd
effects_single <- function(effects) {
  short <- !is.null(effects$own)
  parts <- if (short) cov_parts[-1] else "cov"
  numbers <- unlist(effects[parts], use.names = FALSE)
  if (length(numbers) <= most_double || max(abs(numbers)) > 1e30 || !short && !.Call(C_effects_firm, effects$cov)) return(effects)
  effects[parts] <- lapply(effects[parts], function(x) `dim<-`(to_single(x), dim(x)))
  effects
}

#' The same in doubles
#' @noRd
effects_double <- function(effects) {
  parts <- Filter(function(name) is.integer(effects[[name]]), intersect(cov_parts, names(effects)))
  effects[parts] <- lapply(effects[parts], function(x) `dim<-`(from_single(as.vector(x)), dim(x)))
  effects
}
