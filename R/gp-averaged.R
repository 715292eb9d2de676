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

#' An average as objects keep it: without what the covariance of (v, slope, effects) says already, and of two classes that of the differences of their
#' effects, as its root in single precision (a root with rounding errors still is one). Their sums are as likely as before the rows were seen, and independent of all
#' else, so that their variances are enough.
#' @noRd
pack_averaged <- function(part) {
  effects <- part$effects
  if (is.null(effects) || effects$slopes != 1) return(part)
  part[derived_parts] <- NULL
  if (ncol(effects$effect) != 2 || is.integer(effects$cov)) return(part)
  x <- length(part$q_mean) + 1
  r <- nrow(effects$effect)
  all <- from_lower(effects$cov)
  less <- rbind(diag(x), matrix(0, 2 * r, x))
  less <- cbind(less, rbind(matrix(0, x, r), diag(r), -diag(r)))
  pair <- crossprod(less, all %*% less)
  root <- tryCatch(chol(pair), error = function(e) NULL)
  if (is.null(root) || max(abs(root)) > 1e30) return(part)
  one <- x + seq_len(r)
  part$effects$cov <- to_single(root[upper.tri(root, TRUE)])
  part$sums <- all[cbind(one, one)] + 2 * all[cbind(one, one + r)] + all[cbind(one + r, one + r)]
  part
}

derived_parts <- c("q_cov", "slope_sd", "slope_cross")

#' The same with all of its parts; those of older versions have them
#' @noRd
unpack_averaged <- function(part) {
  if (!is.null(part$q_cov)) return(part)
  x <- length(part$q_mean) + 1
  if (!is.null(part$sums)) part$effects$cov <- both_of_pair(part$effects$cov, x, part$sums)
  cov <- first_cov(part$effects$cov, x)
  var <- cov[x, x]
  part$q_cov <- cov[-x, -x] - tcrossprod(cov[-x, x]) / var
  part$slope_sd <- gp_slope_sd(var, part$hyper)
  part$slope_cross <- cov[-x, x] / var
  part$sums <- NULL
  part
}

#' The covariance of (v, slope) and the effects of two classes from the root of that of (v, slope) and their differences: its upper
#' triangle in, the lower one of the covariance out
#' @noRd
both_of_pair <- function(upper, x, sums) {
  r <- length(sums)
  root <- matrix(0, x + r, x + r)
  root[upper.tri(root, TRUE)] <- from_single(upper)
  half <- rbind(cbind(diag(x), matrix(0, x, r)), cbind(matrix(0, r, x), diag(r) / 2), cbind(matrix(0, r, x), -diag(r) / 2))
  all <- tcrossprod(tcrossprod(half, root))
  sum <- x + seq_len(2 * r)
  all[sum, sum] <- all[sum, sum] + kronecker(matrix(1, 2, 2), diag(sums, r) / 4)
  all[lower.tri(all, TRUE)]
}

#' The covariance of the first x of (v, slope, effects), of the lower triangle of all, which may be in single precision
#' @noRd
first_cov <- function(lower, x) {
  size <- (sqrt(8 * length(lower) + 1) - 1) / 2
  begin <- cumsum(c(1, size + 1 - seq_len(x - 1)))
  part <- lower[sequence(x:1, begin)]
  from_lower(if (is.integer(part)) from_single(part) else part)
}

#' The fit with the averaged posterior in the place of its own
#' @noRd
gp_averaged <- function(object) {
  if (is.null(object$averaged)) return(object)
  part <- unpack_averaged(object$averaged)
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

#' Can nothing be made of the covariance of an average that was packed?
#' @noRd
short_wrong <- function(part, classes) {
  effects <- part$effects
  if (!is.list(effects) || !identical(effects$slopes, 1L)) return(TRUE)
  x <- length(part$q_mean) + 1
  cov <- effects$cov
  if (!is.null(part$sums)) {
    size <- x + length(part$sums)
    return(classes != 2 || length(field_wrong(cov, field("single", size * (size + 1) / 2, high = 2e30))) > 0)
  }
  if (!is.numeric(cov) || length(cov) < x * (x + 1) / 2) return(TRUE)
  var <- first_cov(cov, x)[x, x]
  !is.finite(var) || var <= 0
}

#' What is wrong with the averaged posterior: text, or NULL. Fits of older versions have none.
#' @noRd
averaged_wrong <- function(object) {
  part <- object$averaged
  if (is.null(part)) return(NULL)
  if (!is.list(part)) return("is no list")
  own <- "inducing" %in% names(part) # fits of older versions share those of the optimum
  size <- if (own) length(part$inducing) else length(object$inducing)
  short <- is.null(part$q_cov) && !is.null(object$effects)
  fields <- list(hyper = field("number", 4L, low = 0, high = 1e150), inducing = if (own) field("number", size), q_mean = field("number", size),
    q_cov = if (!short) field("number", size^2), slope_sd = if (!short) field("number", low = 0),
    slope_cross = if (!short) field("number", size), passes = field("whole", low = 0),
    ends = if ("ends" %in% names(part)) field("number", 2L),
    between = if ("between" %in% names(part)) field("number", low = 0, high = 1e150), bent = if ("bent" %in% names(part)) field("number", low = 0, high = 1),
    likely = if ("likely" %in% names(part)) field("number", low = 0, high = 1),
    sums = if (short && "sums" %in% names(part)) field("number", nrow(object$effects$effect), low = 0))
  wrong <- check_parts(part[!names(part) %in% c("effects", "offsets")], fields[lengths(fields) > 0])
  if (length(wrong)) return(wrong)
  if (!is.null(part$ends) && part$ends[1] >= part$ends[2]) return("has no scores between its `ends`")
  if (is.null(part$effects) != is.null(object$effects) || !is.null(part$offsets) && is.null(object$offsets) || !is.null(part$likely) && !has_wide(object)) {
    return("has other effects of the classes")
  }
  if (short && short_wrong(part, length(object$classes))) return("has effects of the classes that are not complete")
  object["stream"] <- list(NULL) # the same in both, and looked at
  wrong <- object_wrong(gp_averaged(object))
  if (!is.null(wrong)) paste("is no posterior:", wrong)
}
