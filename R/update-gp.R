# New rows for the process: those seen before are a frozen quadratic (src/gp_stream.h), which calib_gp() keeps
# in the field `stream`.

#' What a fit keeps for later rows: the quadratic, and the hyperparameters that were held. NULL with effects of
#' the classes, which it does not hold.
#' @noRd
gp_stream <- function(fit, spec) {
  if (fit$class_effects != "none") return(NULL)
  names <- c("variance", "lengthscale", "noise", "slope")
  held <- stats::setNames(rep(NA_real_, 4), names)
  known <- intersect(names, names(spec$hyper))
  held[known] <- spec$hyper[known]
  c(fit$site, list(held = held))
}

#' @noRd
forget_site <- function(stream, forget) {
  keep <- 1 - forget
  site <- stream[c("knots", "psi", "b", "v", "w", "rest")]
  for (part in c("b", "v", "w")) site[[part]] <- keep * site[[part]]
  site$rest[1:2] <- keep * site$rest[1:2]
  site
}

#' @export
update_fit.calib_gp <- function(object, data, forget) {
  if (object$monotone) {
    stop_input("object", "was fitted with monotone = TRUE, and such fits cannot be updated",
      "Fit it again on all rows, or with monotone = FALSE.")
  }
  if (is.null(object$stream)) {
    stop_input("object", if (object$class_effects == "none") {
      "was fitted by a version that kept nothing for new rows"
    } else {
      paste0("has effects of the classes (class_effects = \"", object$class_effects, "\"), for which new rows ",
        "cannot be taken in without the old ones")
    }, "Fit it again with class_effects = \"none\".")
  }
  counted <- drop_weightless(data)
  check_total(counted$weights)
  held <- object$stream$held
  spec <- list(class_effects = "none", monotone = FALSE, mean = object$mean, center = object$center, covariance = object$covariance,
    inducing = if (!length(object$inducing) %in% c(16, 32, 64)) length(object$inducing), move = FALSE,
    hyper = held[!is.na(held)], control = gp_control(), threads = data$threads,
    begin_slope = object$hyper[["slope"]],
    site = if (forget < 1) forget_site(object$stream, forget))
  if (object$mean == "identity") spec$hyper <- spec$hyper[names(spec$hyper) != "slope"]
  fit <- fit_gp(counted, object$mean, spec, object$floor)
  fit <- c(fit, gp_changed(fit, counted))
  warn_gp(fit, counted)
  object$converged <- fit$status == "ok"
  object$iterations <- object$passes <- as.integer(fit$passes)
  for (name in c("elbo", "hyper", "inducing", "q_mean", "q_cov", "passes_floor", "increasing", "status", "slope_cross",
    "range", "stream")) {
    object[[name]] <- fit[[name]]
  }
  # rows that are frozen about one optimum cannot be averaged over others
  object$integrated <- FALSE
  object["optimum"] <- object["edf"] <- list(NULL)
  if (!is.null(fit$floor)) object$floor <- fit$floor
  object$slope_sd <- min(sqrt(fit$slope_var), 10 * fit$hyper[["slope"]])
  object$changed <- object$changed + fit$changed
  object$scores_seen <- add_seen(object$scores_seen, fit$seen)
  object
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
stream_wrong <- function(stream) {
  if (is.null(stream)) return(NULL)
  if (!is.list(stream)) return("is no list")
  size <- length(stream$knots)
  wrong <- check_parts(stream, list(knots = field("number", NULL, low = -1e150, high = 1e150), psi = field("number", size),
    b = field("number", size), v = field("number", size), w = field("number", size * (size + 1) / 2),
    rest = field("number", 4L), held = field("number", 4L, low = 0, high = 1e150, na = TRUE)))
  if (length(wrong)) return(wrong)
  if (size < 2 || size > 40 || any(diff(stream$knots) <= 0)) return("has knots that are not in order")
  if (stream$rest[2] < 0 || stream$rest[3] >= stream$rest[4]) return("does not say of how many rows, or of which range")
  if (!identical(names(stream$held), c("variance", "lengthscale", "noise", "slope"))) "has values without their names"
}
