# Looking inside a fit of calib_gp(), and what such an object must be.

#' @export
latent.calib_gp <- function(object, z, ...) {
  object <- check_object(object)
  if (!is.numeric(z) || anyNA(z) || any(is.infinite(z))) {
    stop_input("z", "must be numeric and finite", say_given(z))
  }
  z <- as.double(z)
  if (object$mean == "log" && any(z <= 0)) {
    stop_input("z", "must be positive: the map of mean = \"log\" is defined for probabilities")
  }
  if (object$monotone) {
    out <- .Call(C_mono_latent, object, if (object$mean == "log") log(z) else z)
    sd <- sqrt(pmax(out$var, 0))
  } else {
    out <- .Call(C_gp_latent, object, z)
    moved <- slope_moved(object)
    sd <- sqrt(pmax(out$var, 0))
    if (!is.null(moved)) sd <- hypotenuse(sd, object$slope_sd * .Call(C_gp_latent, moved, z)$mean)
  }
  if (any(beyond <- !is.finite(out$mean))) {
    stop_input("z", "is too large: its latent value is beyond the range of numbers", say_given(z[beyond][1]))
  }
  data.frame(z = z, mean = out$mean, sd = sd)
}

#' sqrt(x^2 + y^2), also where the squares are beyond the range of numbers
#' @noRd
hypotenuse <- function(x, y) {
  x <- abs(x)
  y <- abs(y)
  most <- pmax(x, y)
  ifelse(most > 0, most * sqrt((x / most)^2 + (y / most)^2), 0)
}

#' How the map moves by a unit of an estimated slope, z + a(z)'slope_cross, which is a latent map itself: a fit with
#' that map, or NULL where the slope is known
#' @noRd
slope_moved <- function(fit) {
  if (is.null(fit$slope_sd) || fit$slope_sd == 0) return(NULL)
  fit$mean <- "linear"
  fit$hyper[["slope"]] <- 1
  fit$q_mean <- fit$slope_cross
  fit
}

#' Means and variances given the slope, with what is not known of the slope: equation (26a)
#' @param evaluate function of a fit: its latent means and variances.
#' @noRd
with_slope_var <- function(object, given, evaluate) {
  moved <- slope_moved(object)
  if (!is.null(moved)) given$var <- given$var + (object$slope_sd * evaluate(moved)$mean)^2
  given
}

#' How far the map is from its prior mean, both shifted to agree on average over `at` (by `weight`), since a
#' constant does not matter; with the standard deviation of that difference
#' @noRd
gp_departure <- function(object, at, weight = rep(1, length(at)), over = at) {
  out <- .Call(C_centred, object, at, over, weight / sum(weight))
  data.frame(z = at, departure = out$departure, sd = sqrt(out$var))
}

#' Effective degrees of freedom
#' @noRd
gp_edf <- function(object) length(object$q_mean) - sum(diag(object$q_cov)) + (object$mean == "linear")

#' @export
describe.calib_gp <- function(object) {
  lines <- c(say_confidence(object), say_shape(object), describe_effects(object))
  bent <- !object$increasing && !object$monotone
  alone <- object$class_effects == "none" # then the map is the only cause
  if (is.na(object$changed)) { # of which say_updated() speaks
    if (bent && (alone || length(object$classes) > 2)) {
      lines <- c(lines, if (alone) "the map is not increasing everywhere (see autoplot(); monotone = TRUE keeps the order)" else shared_falls)
    }
  } else if (object$changed > 0) {
    lines <- c(lines, paste0(if (bent && alone) "the map is not increasing everywhere: ", format(object$changed, big.mark = ","), " of ",
      format(object$n, big.mark = ","), " calibration rows change their most likely class", if (bent && !alone) ", by the map and the class effects together",
      say_order_kept(object)), say_accuracy(object, TRUE), if (bent && !alone && length(object$classes) > 2) shared_falls)
  }
  lines <- c(lines, say_fall(object))
  if (object$monotone) {
    lines <- c(lines, paste0("keeps the order of the classes in every row", if (!is.null(object$offsets)) ", apart from the offsets",
      "; an increasing map costs ",
      say_cost(object$order_cost), " of log-likelihood", if (object$class_effects == "none") ". There are no class effects, which could change the order: compare the log loss with monotone = FALSE"))
  }
  list(title = "Latent Gaussian process", lines = c(lines, say_floor(object), say_few_rows(object)), details = describe_process(object))
}

shared_falls <- "the shared map falls in part of the range (autoplot() shows where), which fits these rows better; monotone = TRUE prevents it and costs class effects"

#' A map of two classes that falls in spite of (39a)
#' @noRd
say_fall <- function(object) {
  if (length(object$classes) != 2 || object$increasing || object$monotone || object$class_effects == "none") return(NULL)
  "in part of the range a higher score gets a lower probability (autoplot() shows where; monotone = TRUE prevents it)"
}

#' How to keep the most likely class; two classes of which one is shifted must not
#' @noRd
say_order_kept <- function(object) {
  effects <- object$class_effects != "none"
  if (effects && length(object$classes) == 2) return(NULL)
  if (object$monotone) return(" (class_effects = \"none\" prevents that)")
  paste0(" (monotone = TRUE prevents that", if (effects) ", but gives up the class effects", ")")
}

#' Were the scores over- or underconfident? By the temperature that the calibration rows ask for
#' @noRd
say_confidence <- function(object) {
  t <- object$scores_seen$temperature
  if (is.null(t) || !is.finite(t) || isTRUE(object$votes)) return(NULL) # of votes it follows from the floor
  # a temperature that has to make up for a shift of one of two classes says nothing about confidence
  if (length(object$classes) == 2 && (isTRUE(c(object$effects$worth, object$offsets$worth) >= 1) || !is.null(object[["off"]]))) return(NULL)
  error <- object$scores_seen$temperature_error
  clear <- (t > 1.05 || t < 1 / 1.05) && !isTRUE(abs(log(t)) < 2 * error)
  paste0("best single temperature ", format(t, digits = 3), ": ", confidence_verdict(object, t, clear))
}

#' @noRd
say_cost <- function(x) if (x < 0.01) "less than 0.01" else format(x, digits = 2)

#' Is the map more than temperature scaling, which has one degree of freedom?
#' @noRd
say_shape <- function(object) {
  edf <- gp_edf(object)
  size <- paste0(formatC(edf, format = "f", digits = 1), " effective degrees of freedom")
  if (object$mean != "linear") return(paste0("shared map: ", size))
  # many small steps use degrees of freedom, too: 0.1 moves no probability by more than 0.025
  away <- if (edf >= 1.5) gp_departure(object, seq(object$range[1], object$range[2], length.out = 200))$departure
  straight <- edf < 1.5 || max(abs(away)) < 0.1
  paste0("shared map: ", if (straight) "close to a straight line, as in temperature scaling, " else if (identical(clear_share(object), 0)) {
    "slightly curved (a straight line is within its uncertainty), "
  } else {
    "curved, "
  }, "with ", size)
}

#' The numbers of the model, and of the computation
#' @noRd
describe_process <- function(object) {
  hyper <- object$hyper
  mean <- switch(object$mean,
    linear = paste0("linear, slope ", format(hyper[["slope"]], digits = 3)),
    identity = "identity",
    log = "log of the raw probabilities"
  )
  c(
    paste0("prior mean ", mean, if (object$mean != "log") {
      if (object$center) "; scores centred by row" else "; scores not centred"
    }),
    paste0("kernel variance ", format(hyper[["variance"]], digits = 3), ", lengthscale ",
      format(hyper[["lengthscale"]], digits = 3), "; ", length(object$inducing),
      " inducing inputs, ", object$covariance, " covariance",
      if (!is.null(object$averaged)) "; intervals averaged over variance and lengthscale"),
    paste0("evidence lower bound (ELBO) ", format(object$elbo, digits = 6), ", found in ", object$passes,
      if (object$passes == 1) " pass" else " passes", " over the data")
  )
}

#' The share of the calibration scores, by their histogram, at which the map is two standard deviations from its prior mean
#' @noRd
clear_share <- function(object) {
  seen <- object$scores_seen
  count <- seen$true + seen$other
  if (sum(count) == 0) return(NA_real_)
  edges <- seq(seen$breaks[1], seen$breaks[2], length.out = length(count) + 1)
  at <- (edges[-1] + edges[-length(edges)]) / 2
  away <- gp_departure(object, if (seen$scale == "log") exp(at) else at, count) # far scores, of which little is known, are few
  sum(count[abs(away$departure) > 2 * away$sd]) / sum(count)
}

#' @rdname calibrator
#' @export
summary.calib_gp <- function(object, ...) {
  object <- check_object(object)
  out <- summary.calibrator(object)
  at <- seq(object$range[1], object$range[2], length.out = 200)
  if (object$mean == "log") at <- pmax(at, .Machine$double.xmin)
  seen <- object$scores_seen
  average <- latent_average(list(seen = seen, range = object$range)) # as autoplot() shifts the line
  out$departure <- gp_departure(object, at, average$p, if (identical(seen$scale, "log")) exp(average$z) else average$z)
  out$clear <- clear_share(object)
  out$edf <- gp_edf(object)
  out["effects"] <- list(summarise_effects(object))
  structure(out, class = c("summary.calib_gp", "summary.calibrator"))
}

#' How far the map is from its prior mean, a straight line but with mean = "log": one or two lines of summary()
#' @noRd
say_departure <- function(x) {
  fit <- x$fit
  from <- if (fit$mean == "log") "the log of the score" else "a straight line"
  most <- which.max(abs(x$departure$departure))
  size <- abs(x$departure$departure[most])
  if (size < 0.001) return(paste0("the map is ", from, if (fit$class_effects != "none") "; everything else that was learned is in the class effects"))
  c(paste0("differs from ", from, " (the prior mean) by up to ", format(size, digits = 2), ", at score ", format(x$departure$z[most], digits = 3), if (!is.na(x$clear)) ";"),
    if (is.na(x$clear)) NULL else if (x$clear == 0) "nowhere by more than two posterior standard deviations" else {
      paste0("by more than two posterior standard deviations for ", format(100 * x$clear, digits = 2), " % of the calibration scores")
    })
}

#' @export
print.summary.calib_gp <- function(x, ...) {
  NextMethod()
  fit <- x$fit
  cat("\nThe map on the scores seen (", sub(" [(](.*)[)]$", ", i.e. \\1", tolower(say_scores_unit(fit))), "), ", format(fit$range[1], digits = 3), " to ",
    format(fit$range[2], digits = 3), ":\n", sep = "")
  if (fit$monotone) {
    cat("  increasing by construction: no class overtakes one with a higher score; beside the same map without this promise, it\n",
      "  lowers the log-likelihood of the calibration rows by ", say_cost(fit$order_cost), "\n", sep = "")
  } else if (fit$increasing && fit$class_effects != "none") {
    cat("  increasing; the class effects ", if (is.na(fit$changed)) "can change the most likely class of a row (of how many calibration rows is not known after updates)" else {
      paste0("change the most likely class of ", say_number(fit$changed), " of ", say_number(fit$n), " calibration rows")
    }, "\n", sep = "")
  } else if (fit$increasing) {
    cat("  increasing: its mean keeps the order of the classes in every row\n")
  } else {
    cat("  not increasing everywhere", if (is.na(fit$changed)) "; how many calibration rows change their most likely class is not known after updates" else {
      paste0(if (fit$class_effects == "none") ": " else "; by the map and the class effects together ", say_number(fit$changed), " of ", say_number(fit$n),
        " calibration rows change their most likely class", say_order_kept(fit))
    }, "\n", sep = "")
  }
  cat(paste0("  ", say_departure(x), "\n"), sep = "")
  print_effects(x$effects, fit$classes, !is.null(fit[["row_means"]]))
  invisible(x)
}

#' @export
parameters.calib_gp <- function(object) {
  hyper <- object$hyper
  keep <- if (object$mean == "log") names(hyper) != "slope" else TRUE
  sd <- if (is.null(object$slope_sd) || object$slope_sd == 0) NA_real_ else object$slope_sd
  own <- data.frame(term = names(hyper)[keep], estimate = unname(hyper)[keep],
    std.error = ifelse(names(hyper)[keep] == "slope", sd, NA_real_))
  rbind(own, effect_parameters(object))
}

#' @rdname calibrator
#' @export
glance.calib_gp <- function(x, ...) {
  x <- check_object(x, "x")
  cbind(glance.calibrator(x), elbo = x$elbo, passes = x$passes, edf = gp_edf(x))
}

# What objects must be --------------------------------------------------------------------

#' @export
object_fields.calib_gp <- function(object) {
  size <- length(object$inducing)
  # squares of these must neither overflow nor vanish
  c(mono_fields(object), list(
    elbo = field("number"), hyper = field("number", 4L, low = 0, high = 1e150),
    inducing = field("number", NULL, low = -1e150, high = 1e150), q_mean = field("number", size),
    q_cov = field("number", size^2), passes = field("whole", low = 0),
    mean = field("text", among = c("linear", "identity", "log")),
    covariance = field("text", among = c("full", "diag")), center = field("flag"),
    floor = field("number", low = .Machine$double.xmin, high = 0.5, optional = TRUE),
    outside = field("number", low = 0, high = 1, optional = TRUE),
    least = field("number", low = 0, high = 1, optional = TRUE),
    range = field("number", 2L), event_range = field("number", 2L, optional = TRUE), increasing = field("flag"), monotone = field("flag"), changed = field("whole", low = 0, na = TRUE),
    slope_sd = field("number", low = 0, optional = TRUE),
    slope_cross = field("number", size, optional = TRUE),
    class_effects = field("text", among = c("none", "offset", "matrix")),
    effects_asked = field("text", among = c("auto", "none", "offset", "matrix"), optional = TRUE),
    effects_tried = field("flag", optional = TRUE)
  ))
}

#' @export
object_wrong.calib_gp <- function(object) {
  hyper <- object$hyper
  size <- length(object$inducing)
  if (!identical(names(hyper), c("variance", "lengthscale", "noise", "slope"))) {
    return("has hyperparameters without their names")
  }
  if (hyper[["variance"]] <= 0 || hyper[["lengthscale"]] < 1e-150 || hyper[["slope"]] <= 0) {
    return("has hyperparameters out of range")
  }
  if (object$range[1] > object$range[2]) return("has a range that is not in order")
  if (object$mean == "log" && (object$center || object$input != "probs")) {
    return("has a log mean, but not of raw probabilities")
  }
  if (size < 2 || anyDuplicated(object$inducing)) return("has inducing inputs that coincide")
  # the places of a lookup table: fits have a few hundred
  if (diff(range(object$inducing)) > 1e4 * hyper[["lengthscale"]]) {
    return("has a lengthscale far below the range of its inducing inputs")
  }
  cov <- object$q_cov
  if (!identical(dim(cov), c(size, size)) || max(abs(cov - t(cov))) > 1e-8 * max(abs(cov)) || # isSymmetric() takes as long as the prediction
    inherits(try(chol(cov), silent = TRUE), "try-error")) {
    return("has a posterior covariance that is not positive definite")
  }
  if (isTRUE(object$slope_sd > 0) && is.null(object$slope_cross)) {
    return("has a slope that is uncertain, but no field `slope_cross`")
  }
  wrong <- seen_wrong(object$scores_seen)
  if (length(wrong)) return(paste0("has a field `scores_seen` that ", wrong))
  wrong <- stream_wrong(object$stream, length(object$classes))
  if (length(wrong)) return(paste0("has a field `stream` that ", wrong))
  wrong <- effects_wrong(object)
  if (length(wrong)) return(wrong)
  wrong <- averaged_wrong(object)
  if (length(wrong)) paste0("has a field `averaged` that ", wrong)
}
