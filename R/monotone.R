# calib_gp(monotone = TRUE): the functions of a fit projected onto increasing ones, so that no class
# overtakes another. The proof stands in src/mono_predict.h and in the methods vignette.

# Log-likelihood of the calibration rows, in nats, that the projection of the mean may cost before a
# warning says that the data are against it.
order_cost_limit <- 5

#' Which effects of the classes go with the promise
#' @noRd
check_monotone <- function(monotone, class_effects) {
  if (!check_flag(monotone, "monotone")) return(class_effects)
  if (class_effects == "matrix") {
    stop_input("class_effects", "is \"matrix\", but such effects can change the order of the classes",
      "Use class_effects = \"offset\" or leave it out, or leave out monotone = TRUE.")
  }
  if (class_effects == "auto") "none" else class_effects
}

#' What a monotone fit has beside the others: where the projection counts, what it costs, and what
#' there is to say about it
#' @param fit what fit_gp() returned, data the calibration rows it was given.
#' @noRd
mono_fit <- function(fit, data) {
  object <- list(mean = fit$mean, hyper = fit$hyper, inducing = fit$inducing, q_mean = fit$q_mean,
    q_cov = fit$q_cov, range = fit$range, scores_seen = fit$seen, order_mass = fit$mass,
    center = fit$center, floor = fit$floor, input = data$input, monotone = TRUE)
  at <- list(z = if (fit$mean == "log") log(fit$z) else fit$z, floor = log(gp_floor(object)))
  at <- c(at, .Call(C_gp_centre, at, fit$center, c(-Inf, Inf), data$threads))
  cost <- .Call(C_mono_cost, object, at, data$labels, data$weights, data$threads)
  changed <- 0L
  if (!is.null(fit$offsets)) {
    object$offsets <- fit$offsets
    changed <- count_rows(data, which(scan_rows(gp_probs(object, at, "mean", threads = data$threads))$arg != data$scan$arg))
  }
  list(order_mass = fit$mass, order_cost = cost$free - cost$ordered, changed = changed,
    flat_map = cost$rise <= 2 * cost$least)
}

warn_monotone <- function(order, n, shifts) {
  if (order$flat_map) {
    warn_gpcalib("flat", paste0("Higher scores do not go with the true classes, so that the increasing map is flat where most ",
      "scores lie, and the classes become nearly equally likely. Check that scores and labels belong together."))
  } else if (order$order_cost > order_cost_limit) {
    warn_gpcalib("order_cost", paste0("Keeping the order of the scores lowers the log-likelihood of the ", n, " calibration rows by ",
      format(order$order_cost, digits = 3), ": higher scores are not always more likely to be right. ",
      if (!shifts) "It also does without class effects, which may cost more. ", "If the most likely class may change, leave out monotone = TRUE."))
  }
}

# Prediction ------------------------------------------------------------------------------

#' New scores on the line of the table, with their order kept
#'
#' Probabilities lose their last digits before their logarithms are taken, which keep the order then.
#' @return as gp_newdata().
#' @noRd
mono_newdata <- function(object, data) {
  if (object$input == "probs") data$scores <- .Call(C_mono_clear, data$scores)
  if (object$mean != "log") return(gp_newdata_free(object, data))
  floor <- gp_floor(object)
  range <- log(pmax(object$range, .Machine$double.xmin))
  at <- list(z = log(data$scores), floor = log(floor))
  c(at, .Call(C_gp_centre, at, FALSE, range, data$threads))
}

#' Probabilities N x K; `approx` "delta", "mean" or "mc"
#' @noRd
mono_probs <- function(object, at, approx, n_draws, independent, threads) {
  if (approx == "mc") {
    if (independent) stop_input("independent", "is TRUE, but independent noise does not keep the order of the classes",
      "Leave it out.")
    functions <- mono_functions(object, (n_draws + 1L) %/% 2L)
    probs <- matrix(.Call(C_mono_draws, object, at, functions, FALSE, threads), nrow(at$z))
  } else {
    probs <- .Call(C_mono_predict, object, at, match(approx, c("mean", "delta")) - 1L, threads)
  }
  gp_shift(object, probs)
}

#' Functions to draw: those of gp_functions() without noise, with inputs where the inducing ones do not
#' reach
#' @noRd
mono_functions <- function(object, pairs, vary_slope = FALSE) {
  size <- .Call(C_mono_inputs, object)
  x <- matrix(stats::rnorm(size * pairs), size)
  if (!vary_slope || is.null(object$slope_sd) || object$slope_sd == 0) return(list(x = x, tilt = NULL))
  tilt <- object$slope_sd * stats::rnorm(pairs)
  own <- seq_along(object$inducing)
  x[own, ] <- x[own, ] + outer(forwardsolve(t(chol(object$q_cov)), object$slope_cross), tilt)
  list(x = x, tilt = tilt)
}

#' The projected mean at every score, and the variance of the functions: list of N x K matrices
#' @noRd
mono_latent_rows <- function(object, at) {
  z <- pmax(at$z, at$floor)
  if (!is.null(at$shift)) z <- z - at$shift
  out <- .Call(C_mono_latent, object, as.double(z))
  out <- lapply(out, matrix, nrow(z))
  if (is.null(object$offsets)) return(out)
  var <- sweep(out$var, 2, object$offsets$var, "+") + 2 * mono_offset_cov(object, z)
  list(mean = sweep(out$mean, 2, object$offsets$mean, "+"), var = pmax(var, 0))
}

#' Covariances [N x K] of the process at every score with the offset of its class: those of the functions before they are projected
#' @noRd
mono_offset_cov <- function(object, z) {
  cross <- object$offsets$cross
  if (is.null(cross)) return(0 * z)
  m <- length(object$inducing)
  slope <- ncol(cross) > m
  s2 <- if (slope) object$slope_sd^2 else 0
  v <- object$q_cov
  if (slope) v <- cbind(v + s2 * tcrossprod(object$slope_cross), s2 * object$slope_cross)
  moves <- v %*% t(cross) # cov(v, b)
  map <- function(q_mean, z) .Call(C_gp_latent, `[[<-`(object, "q_mean", q_mean), as.double(z))$mean
  for (k in seq_len(ncol(z))) {
    s <- if (slope) s2 * (sum(object$slope_cross * cross[k, seq_len(m)]) + cross[k, m + 1]) else 0
    z[, k] <- map(moves[, k], z[, k]) - map(numeric(m), z[, k]) + s * z[, k]
  }
  z
}

# The object --------------------------------------------------------------------------------

mono_fields <- function(object) {
  if (!isTRUE(object$monotone)) return(list())
  list(order_mass = field("number", mass_bins + 2L, low = 0), order_cost = field("number"))
}

mass_bins <- 128L # as in src/gp_fit.h
