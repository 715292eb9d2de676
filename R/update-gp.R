# New rows for the process: those seen before are a frozen quadratic (src/gp_stream.h), which calib_gp() keeps
# in the field `stream`.

#' What a fit keeps for later rows: the quadratic of the process alone, that with effects of the classes, where
#' they were tried, and the hyperparameters that were held. NULL where the effects are too many to be kept.
#' @noRd
gp_stream <- function(fit, spec, blocks) {
  if (is.null(fit$site)) return(NULL)
  joint <- any(blocks > 0) && is.null(fit$offsets) && !is.null(fit$effect_site)
  if (fit$class_effects != "none" && !joint && is.null(fit$offsets)) return(NULL)
  held <- function(names) {
    values <- stats::setNames(rep(NA_real_, length(names)), names)
    known <- intersect(names, names(spec$hyper))
    values[known] <- spec$hyper[known]
    values
  }
  c(fit$site, list(held = held(c("variance", "lengthscale", "noise", "slope"))),
    if (joint) list(effects = c(fit$effect_site, list(blocks = unname(blocks), held = held(effect_blocks)))))
}

#' The quadratics with old rows at (1 - forget) of their weight
#' @noRd
forget_site <- function(stream, forget) {
  keep <- 1 - forget
  site <- stream[c("knots", "psi", "b", "v", "w", "rest")]
  for (part in c("b", "v", "w")) site[[part]] <- keep * site[[part]]
  site$rest[1:2] <- keep * site$rest[1:2]
  site
}

forget_effects <- function(effects, forget) {
  if (is.null(effects)) return(NULL)
  keep <- 1 - forget
  for (part in c("b", "v", "h")) effects[[part]] <- keep * effects[[part]]
  effects$rest[5] <- keep * effects$rest[5]
  effects[c("psi", "effect", "b", "v", "h", "rest")]
}

#' How a fit is to be updated, in the words of calib_gp()
#' @noRd
update_spec <- function(object, data, forget) {
  stream <- object$stream
  held <- c(stream$held, stream$effects$held)
  spec <- list(class_effects = if (is.null(stream$effects)) "none" else object$effects_asked, monotone = object$monotone,
    mean = object$mean, center = object$center, covariance = object$covariance,
    inducing = if (!length(object$inducing) %in% c(16, 32, 64)) length(object$inducing), move = FALSE,
    hyper = held[!is.na(held)], integrate = !is.null(object$averaged), control = gp_control(), threads = data$threads,
    blocks = if (!is.null(stream$effects)) stats::setNames(stream$effects$blocks, effect_blocks),
    begin_slope = object$hyper[["slope"]],
    site = if (forget < 1) forget_site(stream, forget),
    effect_site = if (forget < 1) forget_effects(stream$effects, forget))
  if (object$mean == "identity") spec$hyper <- spec$hyper[names(spec$hyper) != "slope"]
  spec
}

#' @export
update_fit.calib_gp <- function(object, data, forget) {
  if (is.null(object$stream)) {
    stop_input("object", if (object$class_effects == "none") {
      "was fitted by a version that kept nothing for new rows"
    } else {
      paste0("has more than ", most_effects, " effects of single classes, of which not enough is kept to take in new rows")
    }, "Fit it again on all rows, or with class_effects = \"none\".")
  }
  counted <- drop_weightless(data)
  check_total(counted$weights)
  fit <- fit_gp(counted, object$mean, update_spec(object, data, forget), object$floor)
  if (!is.null(object$offsets)) { # of many classes: these stay
    fit$class_effects <- "offset"
    fit$offsets <- object$offsets
  }
  if (object$monotone) {
    fit$mass <- add_mass(object, fit)
    order <- mono_fit(fit, counted)
    object$order_mass <- order$order_mass
    object$order_cost <- (1 - forget) * object$order_cost + order$order_cost
    fit$changed <- order$changed
  } else {
    fit <- c(fit, gp_changed(fit, counted))
  }
  warn_gp(fit, counted)
  object$converged <- fit$status == "ok"
  object$iterations <- object$passes <- as.integer(fit$passes)
  for (name in c("elbo", "hyper", "inducing", "q_mean", "q_cov", "passes_floor", "increasing", "status", "slope_cross",
    "range", "class_effects")) {
    object[[name]] <- fit[[name]]
  }
  for (name in c("effects", "offsets", "stream", "averaged")) object[name] <- list(fit[[name]])
  if (!is.null(fit$floor)) object$floor <- fit$floor
  if (!is.null(object$least)) object$least <- min(object$least, least_probability(data))
  object$slope_sd <- gp_slope_sd(fit$slope_var, fit$hyper)
  object$changed <- object$changed + fit$changed
  object$scores_seen <- add_seen(object$scores_seen, fit$seen)
  object
}

most_effects <- 400 # as GPC_SITE_EFFECTS in src/gp_stream.h

#' Where the projection of an increasing map counts, for old and new rows: old bins count at their middle
#' @noRd
add_mass <- function(object, fit) {
  bins <- mass_bins
  from <- object$scores_seen$breaks
  to <- fit$seen$breaks
  middle <- c(-Inf, from[1] + diff(from) * (seq_len(bins) - 0.5) / bins, Inf)
  bin <- pmin(pmax(floor((middle - to[1]) / diff(to) * bins) + 1, 0), bins + 1) + 1
  sums <- rowsum(object$order_mass, bin)
  new <- fit$mass
  at <- as.integer(rownames(sums))
  new[at] <- new[at] + sums
  new
}

#' Histograms of old and new rows: old bins count at their middle
#' @noRd
add_seen <- function(old, new) {
  if (old$rows == 0) return(new)
  bins <- length(new$true)
  ends <- new$breaks
  middle <- old$breaks[1] + diff(old$breaks) * (seq_along(old$true) - 0.5) / length(old$true)
  bin <- floor((middle - ends[1]) / diff(ends) * bins) + 1
  inside <- bin >= 1 & bin <= bins
  for (part in c("true", "other")) {
    counts <- old[[part]]
    moved <- numeric(bins)
    sums <- rowsum(counts[inside], bin[inside])
    moved[as.integer(rownames(sums))] <- sums
    total <- function(seen) sum(seen[[part]]) / (1 - min(seen$beyond[[part]], 1 - 1e-9))
    all <- total(old) + total(new)
    new[[part]] <- new[[part]] + moved
    new$beyond[[part]] <- max(0, 1 - sum(new[[part]]) / all)
  }
  new$rows <- old$rows + new$rows
  new$temperature <- NA_real_ # that of the new rows alone would mislead
  new
}

#' What is wrong with a frozen quadratic: text, or NULL. Fits of older versions and those with effects have none.
#' @noRd
stream_wrong <- function(stream, classes) {
  if (is.null(stream)) return(NULL)
  if (!is.list(stream)) return("is no list")
  size <- length(stream$knots)
  effects <- stream$effects
  wrong <- check_parts(stream[names(stream) != "effects"], list(knots = field("number", NULL, low = -1e150, high = 1e150), psi = field("number", size),
    b = field("number", size), v = field("number", size), w = field("number", size * (size + 1) / 2),
    rest = field("number", 4L), held = field("number", 4L, low = 0, high = 1e150, na = TRUE)))
  if (length(wrong)) return(wrong)
  if (size < 2 || size > 40 || any(diff(stream$knots) <= 0)) return("has knots that are not in order")
  if (stream$rest[2] < 0 || stream$rest[3] >= stream$rest[4]) return("does not say of how many rows, or of which range")
  if (!identical(names(stream$held), c("variance", "lengthscale", "noise", "slope"))) return("has values without their names")
  if (!is.null(effects)) effect_site_wrong(effects, size, classes)
}

effect_site_wrong <- function(effects, size, classes) {
  if (!is.list(effects)) return("has effects that are no list")
  count <- length(effects$effect)
  all <- size + count
  wrong <- check_parts(effects, list(psi = field("number", size), effect = field("number", NULL), b = field("number", all),
    v = field("number", size), h = field("number", all * (all + 1) / 2), rest = field("number", 5L),
    blocks = field("integer", 3L, low = 0, high = 1), held = field("number", 3L, low = 0, high = 1e150, na = TRUE)))
  if (length(wrong)) return(paste("has effects that:", wrong))
  each <- sum(effects$blocks * c(1, if (classes == 2) 1:0 else rep(classes - 1, 2)))
  if (count != classes * each || count > most_effects) return("has effects of other classes")
  if (any(effects$rest[1:2] <= 0) || effects$rest[3] > effects$rest[4]) return("has effects on scales out of range")
  if (!identical(names(effects$held), effect_blocks)) "has effects with values without their names"
}
