# Effects of many classes beside offsets (src/gp_wide.h): powers and a matrix of the temperature-scaled probabilities with a
# diagonal posterior. A fit keeps them in offsets$wide, means and standard deviations in two bytes each.

#' Where the parts are in the vector of all effects, as in src/gp_wide_rows.h
#' @noRd
wide_parts <- function(k) list(offset = seq_len(k), power = k + seq_len(k), softmax = 2 * k + seq_len(k * k))

#' Numbers as multiples of a unit, two bytes each: list(unit, codes), the codes as pack_codes() has them, which leaves out 32768
#' @noRd
pack_units <- function(x) .Call(C_pack_units, x)

units_wrong <- function(packed, n) {
  !is.list(packed) || length(check_parts(packed, list(unit = field("number", 1L, low = 0, high = 1e12),
    codes = field("integer", packed_length(n, 2))))) > 0
}

unpack_units <- function(packed, n) packed$unit * (unpack_codes(packed$codes, 2L, n) - 32767)

#' What a fit keeps: `steep`, the scale of the features; means and standard deviations of powers, as they are, and of the matrix
#' [class x class whose probability it is], packed
#' @noRd
pack_wide <- function(steep, mean, var, k) {
  part <- wide_parts(k)
  list(steep = steep, power = mean[part$power], power_var = var[part$power], mean = pack_units(mean[part$softmax]),
    sd = pack_units(sqrt(var[part$softmax])))
}

#' What the core takes (src/r_gp_wide.c): `steep`, and means and variances of all effects
#' @noRd
unpack_wide <- function(offsets) {
  wide <- offsets$wide
  n <- length(offsets$mean)^2
  list(steep = wide$steep, mean = c(unname(offsets$mean), wide$power, unpack_units(wide$mean, n)),
    var = c(offsets$var, wide$power_var, unpack_units(wide$sd, n)^2))
}

has_wide <- function(object) !is.null(object$offsets$wide)

#' Sums of the effects in rows: list of `mean` and `var`, [n x k]
#' @noRd
wide_rows <- function(object, at) .Call(C_wide_latent, at, unpack_wide(object$offsets))

#' Draws [n x k x 2 pairs] of the process with the sums of each row's effects drawn: right row by row
#' @param e normal numbers [k x pairs].
#' @noRd
wide_shift <- function(object, at, draws, e) {
  rows <- wide_rows(object, at)
  k <- ncol(at$z)
  .Call(C_wide_shift, draws, rows$mean, sqrt(rows$var), matrix(rbind(e, -e), k))
}

wide_pairs <- 32L # of functions whose effects are in memory together

#' The same with the effects themselves drawn: right for all rows together
#' @noRd
wide_draws <- function(object, at, draws) {
  wide <- unpack_wide(object$offsets)
  size <- length(wide$mean)
  each <- length(at$z)
  pairs <- length(draws) / (2 * each)
  for (some in split(seq_len(pairs), (seq_len(pairs) - 1L) %/% wide_pairs)) {
    places <- (2 * each * (some[1] - 1) + 1):(2 * each * some[length(some)])
    draws[places] <- .Call(C_wide_draws, draws[places], at, wide, stats::rnorm(size * length(some)))
  }
  draws
}

#' "power" where a fit has powers beside its matrix
#' @noRd
wide_power_names <- function(offsets) intersect("power", names(offsets$sd))

#' What is wrong with offsets$wide: text, or NULL
#' @noRd
wide_wrong <- function(offsets, k) {
  wide <- offsets$wide
  wrong <- check_parts(wide[intersect(names(wide), c("steep", "power", "power_var"))], list(steep = field("number", 1L, low = 0, high = 1e150),
    power = field("number", k, low = -1e6, high = 1e6), power_var = field("number", k, low = 0, high = 2 * effect_var_most)))
  if (length(wrong)) return(wrong)
  if (!identical(names(wide), c("steep", "power", "power_var", "mean", "sd")) || wide$steep <= 0) return("has a matrix that is not complete")
  if (!identical(names(offsets$sd), c("offset", wide_power_names(offsets), "softmax"))) return("does not say which effects there are")
  for (part in wide[c("mean", "sd")]) {
    if (units_wrong(part, k^2)) return("has a matrix that is not that of its classes")
  }
}

#' As effects_reach()
#' @noRd
wide_reach <- function(object) {
  all <- unpack_wide(object$offsets)
  part <- wide_parts(length(object$classes))
  reach <- function(x) max(abs(x[part$offset])) + 30 * max(abs(x[part$power])) + max(abs(x[part$softmax])) # q >= -30, the sum of x <= 1
  2 * (reach(all$mean) + 8 * reach(sqrt(all$var)))
}

# Rows that are frozen ------------------------------------------------------------------------

#' A quadratic of all effects with a diagonal curvature, as that of offsets: list of `steep`, `power` and `kept` (whether the fit has powers, and
#' a matrix at all), `at`, about which it is, `g` and `h`, packed
#' @noRd
pack_wide_site <- function(wide) {
  k <- sqrt(length(wide$mean) + 1) - 1
  at <- if (wide$kept) wide$mean else wide$mean[seq_len(k)] # without a matrix the others are 0
  c(wide["steep"], list(power = wide$power, kept = wide$kept), lapply(list(at = at, g = wide$g, h = wide$h), pack_units))
}

unpack_wide_site <- function(site, k) {
  if (is.null(site)) return(NULL)
  size <- k^2 + 2 * k
  numbers <- Map(unpack_units, site[c("at", "g", "h")], c(if (site$kept) size else k, size, size))
  numbers$at <- c(numbers$at, numeric(size - length(numbers$at)))
  numbers$h <- pmax(numbers$h, 0)
  c(site[c("steep", "power", "kept")], numbers)
}

forget_wide <- function(site, forget) {
  if (is.null(site)) return(NULL)
  for (part in c("g", "h")) site[[part]]$unit <- (1 - forget) * site[[part]]$unit
  site
}

wide_site_wrong <- function(site, k) {
  if (!is.list(site) || !identical(names(site), c("steep", "power", "kept", "at", "g", "h"))) return("is not complete")
  wrong <- check_parts(site[1:3], list(steep = field("number", 1L, low = 0, high = 1e150), power = field("flag"), kept = field("flag")))
  if (length(wrong) || site$steep <= 0) return("is not complete")
  size <- k^2 + 2 * k
  if (units_wrong(site$at, if (site$kept) size else k) || units_wrong(site$g, size) || units_wrong(site$h, size)) return("is not that of its classes")
}

# In words and pictures -----------------------------------------------------------------------

#' Variances of independent effects [k x columns] once their mean over the classes is subtracted
#' @noRd
centred_var <- function(var) {
  k <- nrow(var)
  var * (1 - 2 / k) + rep(colSums(var) / k^2, each = k)
}

#' Powers: data frame of class, estimate and sd, or NULL
#' @noRd
wide_powers <- function(object) {
  if (!length(wide_power_names(object$offsets))) return(NULL)
  wide <- object$offsets$wide
  data.frame(class = object$classes, estimate = wide$power, sd = sqrt(wide$power_var))
}

#' The matrix, centred over the classes: list(estimate, sd), row k and column j for what the probability of j does to k
#' @noRd
wide_matrix <- function(object) {
  k <- length(object$classes)
  at <- wide_parts(k)$softmax
  all <- unpack_wide(object$offsets)
  w <- matrix(all$mean[at], k, dimnames = list(object$classes, object$classes))
  list(estimate = w - rep(colMeans(w), each = k), sd = `dimnames<-`(sqrt(centred_var(matrix(all$var[at], k))), dimnames(w)))
}

#' As effect_moves(): of the probabilities only one is above 1/(2 K) then
#' @noRd
wide_moves <- function(object, p) lapply(wide_matrix(object), `*`, p - 0.5 / length(object$classes))

#' As effect_worth()
#' @noRd
wide_worth <- function(object) {
  all <- unpack_wide(object$offsets)
  parts <- wide_parts(length(object$classes))
  vapply(stats::setNames(nm = names(object$offsets$sd)), function(name) {
    at <- parts[[name]]
    sum(log(all$var[at] / object$offsets$sd[[name]]^2) + all$mean[at]^2 / all$var[at]) / 2
  }, 0)
}

#' What gp_formula() has of them
#' @noRd
wide_formula <- function(object) {
  k <- length(object$classes)
  all <- unpack_wide(object$offsets)
  at <- wide_parts(k)
  c(list(steep = all$steep, softmax = matrix(all$mean[at$softmax], k), least = 0.5 / k),
    if (length(wide_power_names(object$offsets))) list(power = all$mean[at$power]))
}
