# Effects of the classes in calib_gp(): which are tried, what the object keeps of them, and how they
# are shown.

# With less than this many nats promised at the start they are left out by class_effects = "auto";
# offsets of many classes with less than this in a score test, which is 0 +- 1 if they are nothing.
effects_worthless <- -1
offsets_worthless <- 0.5

# Up to so many classes offsets alone have a joint covariance with the process.
joint_classes <- 26L

effect_blocks <- c("offset", "matrix", "softmax")

#' Which blocks of effects to fit: 0 or 1 for each of `effect_blocks`
#' @noRd
gp_effect_blocks <- function(data, mean, center, spec) {
  classes <- length(data$classes)
  choice <- spec$class_effects
  possible <- mean != "log" && spec$covariance == "full" && center && !spec$move
  none <- stats::setNames(integer(3), effect_blocks)
  if (choice == "none" || choice == "auto" && !possible) return(none)
  if (!possible) {
    stop_input("class_effects", paste0("is \"", choice, "\", but effects of the classes need centred ",
      "scores, the full covariance, a mean other than \"log\" and inducing inputs that stay"),
      "Leave those arguments out, or use class_effects = \"none\".")
  }
  many <- classes > spec$control$matrix_classes
  if (choice == "matrix" && many) {
    stop_input("class_effects", paste0("is \"matrix\", but there are ", classes, " classes and its cost ",
      "grows with a high power of their number"),
      paste0("Use \"offset\", or allow it by control = gp_control(matrix_classes = ", classes, ")."))
  }
  matrix <- choice != "offset" && !many
  none[] <- c(1L, matrix, matrix && classes > 2 && classes <= spec$control$softmax_classes)
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
  fit$passes <- fit$passes + effects$passes
  if (!effects$kept) return(fit)
  if (!effects$converged) fit$status <- "not_converged"
  if (!is.null(effects$mean)) return(gp_with_offsets(fit, data, effects))
  classes <- length(data$classes)
  m <- length(effects$q_mean)
  shared <- fit$elbo
  cov <- matrix(effects$cov, sqrt(length(effects$cov)))
  own <- seq_len(m)
  fit$hyper <- effects$hyper
  fit$inducing <- effects$inducing
  fit$q_mean <- effects$q_mean
  fit$q_cov <- cov[own, own]
  if (effects$slopes == 1) {
    cross <- cov[own, m + 1] / cov[m + 1, m + 1]
    fit$q_cov <- fit$q_cov - outer(cross, cov[own, m + 1])
    fit$slope_var <- cov[m + 1, m + 1]
    fit$slope_cross <- cross
  }
  fit$elbo <- effects$elbo
  fit$class_effects <- if (any(effects$count[-1] > 0)) "matrix" else "offset"
  fit$effects <- list(
    worth = effects$elbo - max(effects$none, shared), # the tilted bound may be loose without effects
    sd = stats::setNames(effects$tau, effect_blocks)[effects$count > 0],
    scale = stats::setNames(effects$scale, c("rms", "slope", "low", "high")), count = effects$count,
    slopes = effects$slopes,
    effect = matrix(effects$effect, ncol = classes, dimnames = list(NULL, data$classes)),
    cov = cov[lower.tri(cov, TRUE)]
  )
  fit
}

#' Offsets of many classes: the process stays as it was
#' @noRd
gp_with_offsets <- function(fit, data, effects) {
  fit$class_effects <- "offset"
  worth <- effects$elbo - effects$none
  fit$elbo <- fit$elbo + worth
  fit$offsets <- list(worth = worth, sd = c(offset = effects$tau),
    mean = stats::setNames(effects$mean, data$classes), var = effects$var)
  fit
}

#' How many calibration rows change their most likely class under the map's mean
#' @noRd
gp_changed <- function(fit, data) {
  if (is.null(fit$effects) && is.null(fit$offsets)) return(list(changed = fit$shared_changed))
  floor <- if (!is.null(fit$floor)) log(fit$floor) else if (data$input == "probs") log(.Machine$double.xmin) else -Inf
  at <- list(z = fit$z, floor = floor)
  at <- c(at, .Call(C_gp_centre, at, TRUE, c(-Inf, Inf), data$threads))
  probs <- gp_probs(fit, at, "mean", threads = data$threads)
  list(changed = sum(scan_rows(probs)$arg != data$scan$arg))
}
