# The posterior averaged over the hyperparameters of the process (src/gp_mixture.h), which intervals and draws are taken
# from: a fit of calib_gp() keeps it in the field `averaged`, beside the posterior of the optimum.

#' The standard deviation of an estimated slope
#' @noRd
gp_slope_sd <- function(var, hyper) min(sqrt(var), 10 * hyper[["slope"]])

#' What is kept of it: NULL where there is nothing to average over, or the core was not asked to
#' @noRd
gp_averaged_part <- function(fit) {
  part <- fit$averaged
  if (is.null(part)) return(NULL)
  hyper <- gp_named(part$hyper)
  out <- list(hyper = hyper, inducing = part$inducing, q_mean = part$q_mean, q_cov = part$q_cov, slope_sd = gp_slope_sd(part$slope_var, hyper),
    slope_cross = part$slope_cross, passes = part$passes)
  out$ends <- part$ends # none where rows tell nothing
  out$between <- part$between
  out$bent <- part$bent
  if (is.null(part$effect)) return(out)
  effects <- fit$effects[setdiff(names(fit$effects), cov_parts)]
  effects$effect[] <- part$effect
  c(out, list(effects = effects_single(c(effects, handed_cov(part)))))
}

effects_odds <- 1 / 3 # of effects to none before the rows are seen: chosen on simulated truths (bench/validity/intervals.R)

#' How likely effects are that "auto" could have left out, P in eq. (45a)
#' @noRd
effects_likely <- function(worth) stats::plogis(log(effects_odds) + worth)

#' Effects of many classes with the prior variance that they have on average over the models with and without them, eq. (45a)
#' @noRd
offsets_tempered <- function(offsets, likely) {
  temper <- function(mean, var, sd) {
    given <- pmax(1 / var - 1 / sd^2, 0) # what the rows say
    less <- 1 / (1 / (likely * sd^2) + given)
    list(mean = mean * less / var, var = less)
  }
  if (is.null(offsets$wide)) {
    offsets[c("mean", "var")] <- temper(offsets$mean, offsets$var, offsets$sd[["offset"]])
    return(offsets)
  }
  all <- unpack_wide(offsets)
  parts <- wide_parts(length(offsets$mean))
  for (name in names(offsets$sd)) {
    at <- parts[[name]]
    less <- temper(all$mean[at], all$var[at], offsets$sd[[name]])
    all$mean[at] <- less$mean
    all$var[at] <- less$var
  }
  offsets$mean[] <- all$mean[parts$offset]
  offsets$var <- all$var[parts$offset]
  offsets$wide <- pack_wide(all$steep, all$mean, all$var, length(offsets$mean))
  offsets
}

#' The average with effects of many classes that "auto" could have left out. (A matrix has too many entries to be kept twice: gp_averaged() makes
#' it of that of the fit.)
#' @noRd
average_doubted <- function(averaged, offsets, share) {
  likely <- min(1, effects_likely(offsets$worth) / c(share, 1)[1])
  c(averaged, if (is.null(offsets$wide)) list(offsets = offsets_tempered(offsets, likely)) else list(likely = likely))
}

#' The fit with the averaged posterior in the place of its own
#' @noRd
gp_averaged <- function(object) {
  part <- object$averaged
  if (is.null(part)) return(object)
  for (name in c("hyper", "q_mean", "q_cov", "slope_sd", "slope_cross")) object[[name]] <- part[[name]]
  if (!is.null(part$inducing)) object$inducing <- part$inducing # see averaged_wrong()
  object$growth_ends <- part$ends
  object$between <- part$between
  object$bent <- part$bent
  if (!is.null(object$effects)) object$effects <- part$effects
  if (!is.null(part$offsets)) object$offsets <- part$offsets
  if (!is.null(part$likely)) object$offsets <- offsets_tempered(object$offsets, part$likely)
  object["averaged"] <- list(NULL)
  object
}

#' What is wrong with the averaged posterior: text, or NULL. Fits of older versions have none.
#' @noRd
averaged_wrong <- function(object) {
  part <- object$averaged
  if (is.null(part)) return(NULL)
  if (!is.list(part)) return("is no list")
  own <- "inducing" %in% names(part) # fits of older versions share those of the optimum
  size <- if (own) length(part$inducing) else length(object$inducing)
  fields <- list(hyper = field("number", 4L, low = 0, high = 1e150), inducing = if (own) field("number", size), q_mean = field("number", size),
    q_cov = field("number", size^2), slope_sd = field("number", low = 0), slope_cross = field("number", size), passes = field("whole", low = 0),
    ends = if ("ends" %in% names(part)) field("number", 2L),
    between = if ("between" %in% names(part)) field("number", low = 0, high = 1e150), bent = if ("bent" %in% names(part)) field("number", low = 0, high = 1),
    likely = if ("likely" %in% names(part)) field("number", low = 0, high = 1))
  wrong <- check_parts(part[!names(part) %in% c("effects", "offsets")], fields[lengths(fields) > 0])
  if (length(wrong)) return(wrong)
  if (!is.null(part$ends) && part$ends[1] >= part$ends[2]) return("has no scores between its `ends`")
  if (is.null(part$effects) != is.null(object$effects) || !is.null(part$offsets) && is.null(object$offsets) || !is.null(part$likely) && !has_wide(object)) {
    return("has other effects of the classes")
  }
  object["stream"] <- list(NULL) # the same in both, and looked at
  wrong <- object_wrong(gp_averaged(object))
  if (!is.null(wrong)) paste("is no posterior:", wrong)
}
