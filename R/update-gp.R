# New rows for the process: those seen before are a summary (update-rows.R) and, when they are many, a frozen quadratic
# (src/gp_stream.h), which calib_gp() keeps in the field `stream`.

#' What a fit keeps for later rows
#'
#' The quadratic of the process alone, that with effects of the classes, where they were tried; a summary of
#' the latest rows, as long as they are not many; the hyperparameters that were held, and what of gp_control() still matters. NULL where the effects
#' are too many for a quadratic, and the rows too many for a summary.
#' @noRd
gp_stream <- function(fit, spec, blocks, many, rows, offset_site, wide_site) {
  site <- if (is.null(rows)) fit$site else spec$site
  effect_site <- if (is.null(rows)) fit$effect_site else spec$effect_site
  if (!is.null(rows)) {
    offset_site <- spec$offset_site
    wide_site <- spec$wide_packed
  }
  joint <- any(blocks > 0) && !many # effects whose posterior is joint with the process
  if (is.null(rows) && (is.null(site) || joint && is.null(effect_site))) return(NULL)
  held <- stats::setNames(rep(NA_real_, length(held_names)), held_names)
  held[names(spec$hyper)] <- spec$hyper
  control <- spec$control
  # a quadratic holds near the slope about which it was expanded, nearer than it can tell itself
  anchor <- if (is.null(rows)) c(fit$hyper[4], 1) else spec$anchor
  c(site, list(held = held), if (!is.null(anchor)) list(anchor = anchor),
    if (!is.null(effect_site)) list(effects = c(single_curvature(effect_site), list(blocks = unname(blocks)))),
    if (!is.null(offset_site)) list(offsets = offset_site), if (!is.null(wide_site)) list(wide = wide_site),
    if (!is.null(rows)) list(rows = rows), list(control = c(control$matrix_classes, control$softmax_classes,
      if (is.null(control$buffer)) NA_integer_ else control$buffer, control$diagonal_classes)))
}

slope_moves <- 2

held_names <- c("variance", "lengthscale", "noise", "slope", effect_blocks)

#' The quadratics with old rows at (1 - forget) of their weight
#' @noRd
forget_site <- function(stream, forget) {
  keep <- 1 - forget
  site <- stream[c("knots", "psi", "b", "v", "w", "rest")]
  for (part in c("b", "v", "w")) site[[part]] <- keep * site[[part]]
  site$rest[1:2] <- keep * site$rest[1:2]
  site
}

#' A frozen quadratic whose curvature, if large, is in single precision
#' @noRd
single_curvature <- function(site) {
  if (length(site$h) > most_double && max(abs(site$h)) < 1e30) site$h <- to_single(site$h)
  site
}

double_curvature <- function(site) {
  if (is.integer(site$h)) site$h <- from_single(site$h)
  site
}

forget_effects <- function(effects, forget) {
  if (is.null(effects)) return(NULL)
  effects <- double_curvature(effects)
  keep <- 1 - forget
  for (part in c("b", "v", "h")) effects[[part]] <- keep * effects[[part]]
  effects$rest[5] <- keep * effects$rest[5]
  effects[c("psi", "effect", "b", "v", "h", "rest")]
}

forget_offsets <- function(offsets, forget, psi) {
  if (is.null(offsets)) return(NULL)
  if (is.null(offsets$cross)) { # of a version that neglected changes of the map
    offsets$cross <- 0 * offsets$g
    offsets$psi <- psi
  }
  for (part in c("g", "h", "cross")) offsets[[part]] <- (1 - forget) * offsets[[part]]
  offsets
}

#' How a fit is to be updated, in the words of calib_gp()
#'
#' As long as nothing is frozen everything is estimated as at first. Later what is frozen says which effects there are.
#' @noRd
update_spec <- function(object, data, forget) {
  stream <- object$stream
  held <- c(stream$held, stream$effects$held)
  frozen <- !is.null(stream$knots)
  control <- stream$control
  spec <- list(class_effects = if (frozen && is.null(stream$effects) && is.null(stream$offsets)) "none" else object$effects_asked, monotone = object$monotone,
    mean = object$mean, center = object$center, covariance = object$covariance,
    inducing = if (!length(object$inducing) %in% c(16, 32, 64)) length(object$inducing), move = FALSE,
    updates = forget < 1, hyper = held[!is.na(held)], integrate = !is.null(object$averaged), threads = data$threads,
    control = if (is.null(control)) gp_control(buffer = 0) else { # of a version that kept no rows
      gp_control(matrix_classes = control[1], softmax_classes = control[2], buffer = if (!is.na(control[3])) control[3],
        diagonal_classes = if (length(control) > 3) control[4] else 2L) # of a version without
    })
  if (object$mean == "identity") spec$hyper <- spec$hyper[names(spec$hyper) != "slope"]
  if (!frozen) return(spec)
  anchor <- if (is.null(stream$anchor)) c(object$hyper[["slope"]], 1) else stream$anchor
  anchor[2] <- (1 - forget) * anchor[2] # what is left of the frozen rows, by weight
  c(spec, list(
    blocks = if (!is.null(stream$effects)) stats::setNames(stream$effects$blocks, effect_blocks),
    anchor = anchor, begin_slope = anchor[1], slope_factor = slope_moves / max(anchor[2], 1e-3),
    site = if (forget < 1) forget_site(stream, forget),
    effect_site = if (forget < 1) forget_effects(stream$effects, forget),
    offset_site = if (forget < 1) forget_offsets(stream$offsets, forget, stream$psi),
    wide_site = if (forget < 1) unpack_wide_site(forget_wide(stream$wide, forget), length(object$classes)),
    wide_packed = if (forget < 1) forget_wide(stream$wide, forget)))
}

new_share <- 0.2 # of the rows at hand: with more of them in the batch, the fit before says little of what there is now

# Nats: more rows have a lower bound, and what other hyperparameters gain of old rows is less. A quadratic that promises more has been left: where a label had
# a low probability its gradient is large and its curvature small (hpc_cv with buffer = 0: a bound of +4555 and a log loss .8 too high).
site_gain <- 20

update_begin_tol <- 1e-4 # nats: of the process alone, from which effects begin. With .01 some of them ended in other optima (satellite_lda +.0026)
update_tol <- 1e-5 # nats a row: to which steps of class effects are made ...
update_enough <- 5e-5 # ... and what another has to promise, or the last to have gained: all three chosen by bench/stream.R

#' A fit of all rows once more, for less than the first: the same steps, of which the last are left out that change the log loss by less than the next
#' rows will. Of two classes few rows are kept, which is cheap enough.
#' @noRd
cheaper_spec <- function(spec, data) {
  if (length(data$classes) == 2) return(spec)
  total <- sum(rep_weights(data))
  spec$control$tol <- max(spec$control$tol, update_begin_tol)
  spec$effects_tol <- update_tol * total
  spec$enough <- update_enough * total
  spec
}

#' @export
update_fit.calib_gp <- function(object, data, forget) {
  stream <- object$stream
  if (is.null(stream)) stop_no_stream(object)
  batch <- drop_weightless(data)
  counted <- drop_weightless(add_kept(stream$rows, batch, forget))
  check_total(counted$weights)
  spec <- update_spec(object, data, forget)
  few_before <- sum(rep_weights(batch)) > new_share * sum(rep_weights(counted))
  if (spec$updates && is.null(spec$site)) spec <- cheaper_spec(spec, counted)
  if (spec$updates && !few_before) spec$last_floor <- object$floor
  given <- !is.null(spec$site) || is.null(stream$rows) || stream$rows$given # else the floor is chosen again
  # all rows with zeros may have been merged, which put them at the floor: it stays as well
  floor <- if (given || !has_zeros(counted)) object$floor
  fit <- fit_gp(counted, object$mean, spec, floor)
  if (!is.null(spec$site) && fit$elbo > (1 - forget) * object$elbo + site_gain) { # far from where the quadratic holds: the process stays
    spec$hyper[c("variance", "lengthscale")] <- object$hyper[c("variance", "lengthscale")]
    fit <- fit_gp(counted, object$mean, spec, floor)
    if (!is.null(fit$stream)) fit$stream$held <- stream$held
  }
  if (!is.null(fit$stream$rows)) fit$stream$rows$given <- given && !is.null(object$floor)
  if (!is.null(stream$knots) && is.null(stream$offsets) && is.null(stream$effects) && !is.null(object$offsets)) { # of an older version: these stay
    fit$class_effects <- "offset"
    fit$offsets <- object$offsets
  }
  # what is said of frozen rows, which are not among those of this fit
  before <- if (is.null(spec$site)) NULL else if (is.null(stream$before)) object[before_parts] else stream$before
  # rows that are merged, frozen or forgotten cannot be asked for their most likely class under the new map
  all_here <- is.null(before) && all(row_counts(counted) == 1) && nrow(counted$scores) == object$n + nrow(data$scores)
  changed <- NA_integer_
  if (object$monotone) {
    if (!is.null(before)) fit$mass <- add_mass(before, fit)
    order <- mono_fit(fit, counted)
    object$order_mass <- order$order_mass
    if (!is.null(before)) before$order_cost <- (1 - forget) * before$order_cost
    object$order_cost <- order$order_cost + if (is.null(before)) 0 else before$order_cost
    if (all_here) changed <- order$changed
  } else if (all_here) {
    changed <- gp_changed(fit, counted)$changed
  }
  warn_gp(fit, counted)
  if (!is.null(counted$counts)) fit$range <- range(object$range, fit$range) # that of merged rows is narrower
  object$converged <- fit$status == "ok"
  object$iterations <- object$passes <- as.integer(fit$passes)
  for (name in c("elbo", "hyper", "inducing", "q_mean", "q_cov", "passes_floor", "increasing", "status", "slope_cross",
    "range", "class_effects")) {
    object[[name]] <- fit[[name]]
  }
  for (name in c("effects", "offsets", "stream", "averaged")) object[name] <- list(fit[[name]])
  if (!is.null(before) && !is.null(fit$stream$rows)) object$stream$before <- before
  if (!given || !is.null(fit$floor)) object["floor"] <- list(fit$floor)
  if (!is.null(object[["event_range"]])) object$event_range <- range(object$event_range, event_score(batch$scores, object$input))
  if (!is.null(object$least)) object$least <- min(object$least, least_probability(data))
  object$slope_sd <- gp_slope_sd(fit$slope_var, fit$hyper)
  object$changed <- if (can_reorder(object)) changed else 0L
  object$scores_seen <- if (is.null(before)) fit$seen else add_seen(before$scores_seen, fit$seen)
  object
}

#' Can the most likely class of a row differ from that of its scores?
#' @noRd
can_reorder <- function(object) {
  !is.null(object$effects) || !is.null(object$offsets) || !object$increasing && !object$monotone
}

#' A message where an update has begun to change which class is the most likely one
#' @noRd
say_reordered <- function(old, new) {
  if (new$method != "gp" || can_reorder(old) || !can_reorder(new)) return(invisible())
  why <- if (is.null(new$effects) && is.null(new$offsets)) "a map that is not increasing everywhere" else "class effects"
  message(small_message(paste0("The updated fit has ", why, ": it can change the most likely class of a row. Before this update the fit could not",
    say_order_kept(new), ".\n"), "gpcalib_message_order"))
}

has_zeros <- function(data) if (data$input == "probs") data$scan$lowest == 0 else data$scan$n_neginf > 0

before_parts <- c("changed", "scores_seen", "order_mass", "order_cost")

stop_no_stream <- function(object) {
  stop_input("object", if (object$class_effects == "none") {
    "was fitted by an older version and contains no summary of its rows"
  } else {
    paste0("has more than ", most_effects, " class effects, too many for a quadratic summary, and contains no rows")
  }, paste0("Fit it again on all rows, with class_effects = \"none\" or \"offset\", or with a larger `buffer` in gp_control(): ",
    "rows are stored while they are no more than five times as many."))
}

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

#' What is wrong with a frozen quadratic and with kept rows: text, or NULL. Fits of older versions and those with many effects have neither.
#' @noRd
stream_wrong <- function(stream, classes) {
  if (is.null(stream)) return(NULL)
  if (!is.list(stream)) return("is no list")
  known <- c("knots", "psi", "b", "v", "w", "rest", "held", "effects", "offsets", "wide", "anchor", "rows", "control", "before",
    "begin") # the last of objects that an earlier version made: it is no longer looked at
  if (is.null(names(stream)) || anyDuplicated(names(stream)) || !all(names(stream) %in% known)) return("has other parts")
  wrong <- rows_wrong(stream$rows, classes)
  if (length(wrong)) return(wrong)
  if (is.null(stream$rows) && is.null(stream$knots)) return("has nothing of the old rows")
  limits <- if (length(stream$control) == 4) 4L else 3L # older versions had three
  if (length(field_wrong(stream$control, field("integer", limits, low = 0, na = TRUE, optional = TRUE))) ||
    anyNA(stream$control[-3])) return("has limits that are none")
  wrong <- before_wrong(stream)
  if (length(wrong)) return(wrong)
  named <- c(length(effect_blocks), 0) + 4L
  if (length(field_wrong(stream$held, field("number", NULL, low = 0, high = 1e150, na = TRUE))) ||
    !any(vapply(named, function(n) identical(names(stream$held), held_names[seq_len(n)]), NA))) {
    return("has values without their names")
  }
  parts <- c("knots", "psi", "b", "v", "w", "rest")
  if (is.null(stream$knots)) return(if (any(c(parts, "effects", "offsets", "wide", "anchor", "before") %in% names(stream))) "has half of a quadratic")
  size <- length(stream$knots)
  wrong <- check_parts(stream[intersect(names(stream), parts)], list(knots = field("number", NULL, low = -1e150, high = 1e150), psi = field("number", size),
    b = field("number", size), v = field("number", size), w = field("number", size * (size + 1) / 2),
    rest = field("number", 4L)))
  if (length(wrong)) return(wrong)
  if (size < 2 || size > 40 || any(diff(stream$knots) <= 0)) return("has knots that are not in order")
  if (stream$rest[2] < 0 || stream$rest[3] >= stream$rest[4]) return("does not say of how many rows, or of which range")
  if (length(field_wrong(stream$anchor, field("number", 2L, low = 0, high = 1e150, optional = TRUE))) || any(stream$anchor[1] <= 0)) {
    return("has a slope that is none")
  }
  if (!is.null(stream$offsets)) {
    wrong <- check_parts(stream$offsets, list(at = field("number", classes), g = field("number", classes), h = field("number", classes, low = 0),
      cross = field("number", classes, optional = TRUE), psi = field("number", size, optional = TRUE)))
    if (length(wrong) || is.null(stream$offsets$cross) != is.null(stream$offsets$psi)) return(paste("has offsets that:", wrong))
  }
  if (!is.null(stream$wide)) {
    wrong <- wide_site_wrong(stream$wide, classes)
    if (length(wrong) || is.null(stream$offsets)) return("has a matrix of its classes that is none")
  }
  if (!is.null(stream$effects)) effect_site_wrong(stream$effects, size, classes, length(stream$held) == 4L)
}

before_wrong <- function(stream) {
  before <- stream$before
  if (is.null(before)) return(NULL)
  if (!is.list(before) || !identical(names(before), before_parts)) return("does not describe the frozen rows")
  wrong <- check_parts(before[c("changed", "order_mass", "order_cost")], list(changed = field("whole", low = 0, na = TRUE),
    order_mass = field("number", mass_bins + 2L, low = 0, optional = TRUE), order_cost = field("number", optional = TRUE)))
  if (length(wrong)) return(wrong)
  wrong <- seen_wrong(before$scores_seen)
  if (length(wrong)) paste0("has scores seen that ", wrong)
}

effect_site_wrong <- function(effects, size, classes, old) {
  if (!is.list(effects)) return("has effects that are no list")
  effects <- double_curvature(effects)
  count <- length(effects$effect)
  all <- size + count
  wrong <- check_parts(effects, c(list(psi = field("number", size), effect = field("number", NULL), b = field("number", all),
    v = field("number", size), h = field("number", all * (all + 1) / 2), rest = field("number", 5L),
    blocks = field("integer", length(effect_blocks), low = 0, high = 1)),
    if (old) list(held = field("number", length(effect_blocks), low = 0, high = 1e150, na = TRUE))))
  if (length(wrong)) return(paste("has effects that:", wrong))
  if (count != count_effects(effects$blocks, classes) || count > most_effects) return("has effects of other classes")
  if (any(effects$rest[1:2] <= 0) || effects$rest[3] > effects$rest[4]) return("has effects on scales out of range")
  if (old && !identical(names(effects$held), effect_blocks)) "has effects with values without their names"
}
