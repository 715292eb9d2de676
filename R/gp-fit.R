# The fit behind calib_gp(): scores on the scale of g, settings for the C core, and what it has to say.

# Fitting ---------------------------------------------------------------------------------

#' One prior mean: everything that is decided by the data is decided in C
#' @noRd
fit_gp <- function(data, mean, spec, floor) {
  scores <- gp_scores(data, mean, floor)
  center <- if (is.null(spec$center)) mean != "log" else spec$center
  if (center && data$input == "logits" && !scores$floored) check_far_down(data)
  blocks <- gp_effect_blocks(data, mean, center, spec)
  keep <- keeps_rows(data, center, spec, blocks)
  fit_with <- function(spec) {
    which <- if (is.null(spec$floor)) near_floors(scores$floors, spec$last_floor) else spec$floor
    fit <- .Call(C_gp_fit, scores$z, data$labels, data$weights,
      gp_settings(data, mean, center, spec, scores$floors[which], blocks, !keep), spec$threads)
    fit$floor <- which[fit$floor]
    stop_gp(fit, spec, center)
    fit["offset_site"] <- list(fit$effects$site) # of many classes
    fit["wide_site"] <- list(if (!is.null(fit$effects$wide$g)) pack_wide_site(fit$effects$wide))
    gp_with_effects(fit, data, blocks)
  }
  fit <- fit_with(spec)
  if (is.null(spec$inducing) && is.null(spec$site) && gp_too_many(fit)) fit <- fewer_inducing(fit, fit_with, spec)
  slack <- if (is.null(spec$site)) 0 else fall_known
  rises <- function(fit, slack) gp_increasing(fit, mean, two_ends(scores, fit), slack)
  fit$rises <- if (asks_rising(spec) || fit$class_effects != "none") rises(fit, slack)
  if (asks_rising(spec) && !fit$rises) {
    fit <- rising_fit(fit, fit_with, spec, function(fit) rises(fit, slack), fall_limit(length(data$classes), sum(rep_weights(data))))
  }
  increasing <- if (fit$class_effects == "none") fit$increasing else if (slack == 0) fit$rises else rises(fit, 0)
  averaged <- gp_averaged_part(fit)
  doubted <- spec$class_effects == "auto" && !"offset" %in% names(spec$hyper)
  if (!is.null(averaged) && !is.null(fit$offsets) && doubted) averaged <- average_doubted(averaged, fit$offsets, fit$offsets_share)
  if (spec$monotone && !is.null(fit$effects)) { # a projection takes the process apart from its offsets
    if (!is.null(averaged)) averaged <- gp_part_offsets(averaged)
    fit <- gp_part_offsets(fit)
  }
  if (!is.null(averaged)) averaged <- pack_averaged(averaged)
  out <- c(fit[c("status", "elbo", "inducing", "q_mean", "q_cov", "passes", "passes_floor", "promise",
    "slope_var", "slope_cross", "flat", "separated", "class_effects", "effects", "offsets", "mass")], list(
    averaged = averaged,
    shared_changed = fit$changed,
    tried = any(blocks > 0),
    hyper = gp_named(fit$hyper),
    mean = mean, center = center, floor = if (scores$floored) scores$floors[fit$floor],
    z = scores$z, range = fit$range[1:2], increasing = increasing, seen = scores_seen(fit, mean, data),
    gave_up = fit$passes < spec$control$max_passes
  ))
  rows <- if (keep) gp_keep_rows(data, out, spec, !is.null(floor))
  out["stream"] <- list(gp_stream(fit, spec, blocks, gp_many(spec, length(data$classes)), rows, fit$offset_site, fit$wide_site))
  out
}

first_inducing <- 16L # as GPC_FIRST_INDUCING in src/gp_fitting.h
fewer_tol <- 0.01 # nats: what the bound may lose by fewer inducing inputs, the tolerance of fits with effects

#' Has a fit more inducing inputs than its map needs? The process alone may need them to make up for a shift that effects of the
#' classes then take over.
#' @noRd
gp_too_many <- function(fit) {
  spacing <- diff(fit$range[3:4]) / (first_inducing - 1)
  length(fit$inducing) > first_inducing && fit$class_effects != "none" &&
    (fit$hyper[2] > 1.5 * spacing || length(fit$q_mean) - sum(diag(fit$q_cov)) < 0.5)
}

#' The fit with the fewest inducing inputs, if it is as good
#' @noRd
fewer_inducing <- function(fit, fit_with, spec) {
  spec$inducing <- first_inducing
  few <- fit_with(spec)
  best <- if (few$status == "ok" && few$elbo > fit$elbo - fewer_tol) few else fit
  best$passes <- fit$passes + few$passes
  best
}

#' Scores on the scale of g, and the floors to try
#' @noRd
gp_scores <- function(data, mean, floor) {
  if (mean != "log") return(log_scores(data, floor))
  floor <- check_floor(floor, length(data$classes))
  if (!is.null(floor)) return(list(z = data$scores, floors = floor, floored = TRUE))
  if (data$scan$lowest > 0) {
    return(list(z = data$scores, floors = .Machine$double.xmin, floored = FALSE))
  }
  smallest <- min(data$scores[data$scores > 0])
  list(z = data$scores, floors = try_floors(smallest / 2, length(data$classes)), floored = TRUE)
}

#' Which of the floors to try: all, or with the one of a fit of nearly the same rows its neighbours, and always the first, to
#' which the prior of the others relates
#' @noRd
near_floors <- function(floors, last = NULL) {
  if (is.null(last)) return(seq_along(floors))
  order <- order(floors)
  at <- which.min(abs(log(floors[order]) - log(last)))
  sort(unique(c(1L, order[intersect(at + (-1:1), seq_along(floors))])))
}

#' Log prior of the floors: p^(1/2) below the lowest score above zero
#'
#' That is Jeffreys' prior of a probability p, on the scale of log p. With few rows a zero may never
#' be the true class, and the bound would take it for as good as impossible. The first of the floors is
#' half the lowest score above zero. Version 0.1 (`class_effects = "none"`) had no prior.
#' @noRd
floor_prior <- function(floors, spec) {
  if (spec$class_effects == "none") return(0 * floors)
  0.5 * pmin(0, log(floors / floors[1]))
}

#' Hyperparameters by name
#' @noRd
gp_named <- function(hyper) stats::setNames(hyper, c("variance", "lengthscale", "noise", "slope"))

#' What src/gp_fit.h wants to know; NA: to be estimated
#' @noRd
gp_settings <- function(data, mean, center, spec, floors, blocks, freeze) {
  held <- function(name, otherwise = NA_real_) {
    if (name %in% names(spec$hyper)) spec$hyper[[name]] else otherwise
  }
  inducing <- if (is.null(spec$inducing)) 0L else spec$inducing
  list(
    log_mean = mean == "log", diag = spec$covariance == "diag", center = center,
    floors = if (mean == "log") floors else log(floors), floor_prior = floor_prior(floors, spec),
    n_inducing = as.integer(if (length(inducing) == 1) inducing else 0L),
    inducing = if (length(inducing) > 1) inducing else numeric(), move = spec$move,
    variance = held("variance"), lengthscale = held("lengthscale"), least_l = max(0, spec$least_l), noise = held("noise", 1e-6),
    slope = held("slope", if (mean == "linear") NA_real_ else 1),
    arg = data$scan$arg, tol = spec$control$tol, effects_tol = max(0, spec$effects_tol), enough = max(0, spec$enough), max_passes = spec$control$max_passes,
    bins = seen_bins, trace = spec$control$trace,
    effects = blocks,
    effect_variance = c(held("offset"), held("matrix"), held("softmax"), held("power"), held("skew")),
    worthless = if (spec$class_effects == "auto") effects_worthless else -Inf,
    odds = if (spec$class_effects == "auto") effects_odds else 0,
    many = gp_many(spec, length(data$classes)),
    alike = if (length(data$classes) < short_classes) 0 else alike_pairs,
    least_score = if (spec$class_effects == "auto") offsets_worthless[1] else -Inf, full_score = offsets_worthless[2],
    least_wide = if (spec$class_effects == "auto" && !isTRUE(spec$wide_site$kept)) wide_worthless else c(-Inf, -Inf),
    wide_site = spec$wide_site,
    freeze = freeze, loosen = length(data$classes) > most_kept_classes, site = spec$site, effect_site = spec$effect_site, offset_site = spec$offset_site, begin_slope = spec$begin_slope, slope_factor = spec$slope_factor,
    integrate = isTRUE(spec$integrate) && spec$covariance == "full" && !spec$move
  )
}

#' Are the offsets those of many classes, fitted after the process? So were those of monotone fits of any number of classes
#' in objects of older versions, whose frozen rows go on like that.
#' @noRd
gp_many <- function(spec, classes) !is.null(spec$offset_site) || classes > max(joint_classes, spec$control$matrix_classes)

# Errors and warnings ---------------------------------------------------------------------

#' Does a score lie so far down that centring leaves nothing of the others in its row?
#' @noRd
check_far_down <- function(data) {
  z <- data$scores
  gap <- function(rows) { # between the two highest scores
    part <- z[rows, , drop = FALSE]
    top <- cbind(seq_along(rows), data$scan$arg[rows])
    highest <- part[top]
    part[top] <- -Inf
    highest - part[cbind(seq_along(rows), max.col(part, "first"))]
  }
  some <- gap(unique(round(seq(1, nrow(z), length.out = 25))))
  usual <- if (any(some > 0)) stats::median(some[some > 0]) else 0
  if (usual == 0 || data$scan$highest - data$scan$lowest <= 1e10 * usual) return()
  ends <- scan_rows(z, keep = c("max", "min"))
  spread <- ends$max - ends$min
  rows <- which(spread > 1e10 * usual)
  rows <- rows[gap(rows) < 1e-6 * spread[rows]]
  if (!length(rows)) return()
  stop_input("scores", paste0("has logits like ", format(min(z[rows, ]), digits = 3), " (",
    say_rows(rows, length(rows)), "), so large that the other scores of the row are lost in rounding when rows are centred"),
    "Write -Inf for a class that is ruled out, or use center = FALSE.")
}

#' Where the core could not fit
#' @noRd
stop_gp <- function(fit, spec, center) {
  say <- function(x, digits = 2) format(x, digits = digits)
  range <- fit$range
  switch(fit$status,
    too_far = stop_input("scores", paste0("reach ", say(fit$farthest), ", too far to be squared"),
      "Divide them by a constant."),
    too_close = stop_input("scores", paste0("differ by less than a billionth of their size (",
      say(max(abs(range[1:2]))), ")"),
      if (center) "Rescale them." else "Subtract what they have in common, or use center = TRUE."),
    too_short = stop_input("hyper", paste0("has a lengthscale of ",
      say(spec$hyper[["lengthscale"]], 3), ", less than 1/300 of the range of the scores and inducing ",
      "inputs (", say(300 * fit$shortest, 3), ")"), "Use a longer one."),
    too_coarse = stop_input("scores", paste0("reach from ", say(range[1]), " to ", say(range[2]),
      ", too far from most of them, which lie between ", say(range[3]), " and ", say(range[4])),
      "Look at the rows far out; logits of -Inf rule out a class."),
    not_pd = stop_numeric("the covariance of the inducing inputs is not positive definite. Use fewer ",
      "`inducing`."),
    not_finite = stop_numeric("the bound is not finite. Check the scale of the scores.")
  )
}

stop_numeric <- function(...) {
  stop(errorCondition(paste0("calib_gp() failed: ", ...),
    class = c("gpcalib_error_numeric", "gpcalib_error"), call = NULL))
}

#' @noRd
warn_one_class <- function(data) {
  if (sum(tabulate(data$labels, length(data$classes)) > 0) > 1) return() # of many rows no vector is needed
  warn_gpcalib("absent", paste0("Every calibration row is of class \"", data$classes[data$labels[1]], "\". Nothing can be learned ",
    "about the other classes: their probabilities follow from the prior alone."))
}

warn_gp <- function(fit, data) {
  if (fit$separated) {
    warn_gpcalib("separated", paste0("Every calibration row is classified correctly, so that the slope of the prior mean has no ",
      "finite optimum. It was limited to ",
      format(fit$hyper[["slope"]], digits = 3), "."))
  }
  if (fit$flat) {
    warn_gpcalib("flat", "The scores within each row are all equal and carry no information about the map.")
  }
  if (fit$status == "not_converged") {
    warn_gpcalib("not_converged", paste0("The fit stopped after ", fit$passes,
      if (fit$passes == 1) " pass" else " passes", " over the data",
      if (fit$gave_up) {
        paste0(" because no further step improved it, although an improvement of about ",
          format(fit$promise, digits = 2), " in the log evidence was expected. The fit may not be the best possible.")
      } else {
        paste0(if (fit$promise > 0) {
          paste0("; the log evidence could still increase by about ", format(fit$promise, digits = 2))
        }, ". Increase `max_passes` in gp_control().")
      }, hint_gp(fit, data)))
  }
}

#' What may be wrong with data on which the fit does not converge
#' @noRd
hint_gp <- function(fit, data) {
  total <- sum(data$weights)
  if (total > 1000 * length(data$labels)) {
    return(paste0(" The weights count as ", format(total, digits = 2), " rows; divide them by a ",
      "constant if there were not so many."))
  }
  if (data$input == "logits" && diff(fit$range) > 1e4) {
    paste0(" The logits reach ", format(diff(fit$range), digits = 2), " far; write -Inf for a class ",
      "that is ruled out.")
  }
}
