# New rows for methods with coefficients: the old rows are a Gaussian around the old estimate (src/laplace.h).

#' @export
update_fit.calib_temperature <- function(object, data, forget) {
  scale <- latent_scale(data$scores, object$input, !is.null(object$floor), data$threads)
  if (is.null(object$floor) && any(scale == -Inf)) {
    stop_input("scores", "has probabilities of 0 (or logits of -Inf), and the calibration rows had none",
      "Fit it again with a `floor`.")
  }
  if (forget < 1 && !is.finite(object$std_error)) stop_no_curvature("the temperature")
  beta <- 1 / object$temperature
  precision <- if (forget < 1) (1 - forget) * object$temperature^4 / object$std_error^2 else 0
  if (forget == 1) {
    return(forget_all(object, calib_temperature(data$scores, codes_factor(data), object$input, data$weights,
      object$floor)))
  }
  fit <- .Call(C_laplace_temperature, scale, data$labels, data$weights, log(temperature_floor(object)), beta, precision,
    data$threads)
  if (fit$status != "ok") stop_no_update(fit$status)
  object$temperature <- 1 / fit$beta
  object$std_error <- temperature_error(fit)
  object$log_lik <- (1 - forget) * object$log_lik + fit$log_lik
  object
}

#' The labels as a factor of all classes
#' @noRd
codes_factor <- function(data) factor(data$classes[data$labels], levels = data$classes)

#' A fit of the new rows alone in place of an object, with its call
#' @noRd
forget_all <- function(object, fit) {
  fit$call <- object$call
  fit
}

stop_no_curvature <- function(what) {
  stop_input("object", paste0("has no standard error of ", what, ", so the information in the old rows is unknown"),
    "Fit it again on all rows, or use forget = 1.")
}

stop_no_update <- function(status) {
  stop(errorCondition(paste0("update() failed (", status, "): the new rows differ too much from the old ones for the ",
    "approximation. Fit the calibrator again on all rows."),
    class = c("gpcalib_error_numeric", "gpcalib_error"), call = NULL))
}

#' @export
update_fit.calib_platt <- function(object, data, forget) {
  if (forget == 1) {
    return(forget_all(object, calib_platt(data$scores, codes_factor(data), object$input, data$weights, object$targets,
      if (object$log_odds) "logit" else "score", threads = data$threads)))
  }
  scores <- ova_scores(data, object$log_odds)
  ends <- matrix(object$range, 2)
  counts <- (1 - forget) * object$prior * old_weight(object) + class_weights(data$labels, data$weights, length(data$classes))
  update_maps(object, data, forget, free = function(j) 1:2, features = function(j) {
    x <- pmin(pmax(scores[, map_class(object, j)], ends[1, j]), ends[2, j])
    cbind(x, 1)
  }, targets = function(hit, j) {
    if (object$targets == "raw") return(as.double(hit))
    yes <- counts[map_class(object, j)]
    ifelse(hit, (yes + 1) / (yes + 2), 1 / (sum(counts) - yes + 2))
  })
}

#' @export
update_fit.calib_beta <- function(object, data, forget) {
  if (forget == 1) {
    return(forget_all(object, calib_beta(data$scores, codes_factor(data), object$input, data$weights, object$params,
      object$clip, threads = data$threads)))
  }
  scores <- ova_scores(data, FALSE)
  terms <- switch(object$params, abm = 1:3, am = c(1L, 3L), ab = 1:2)
  features <- function(j) {
    p <- scores[, map_class(object, j)]
    up <- log(pmax(p, object$clip))
    down <- -log(pmax(1 - p, object$clip))
    switch(object$params, abm = cbind(up, down, 1), am = cbind(up + down, 1), ab = cbind(up + log(2), down - log(2)))
  }
  # a term that was dropped because it would have been negative stays out
  free <- function(j) {
    zero <- intersect(terms, 1:2)[object$coefficients[intersect(terms, 1:2), j] == 0]
    setdiff(terms, zero)
  }
  update_maps(object, data, forget, free, features, targets = function(hit, j) as.double(hit), terms = terms)
}

#' Scores of the classes against the rest, as a fit made them
#' @noRd
ova_scores <- function(data, log_odds) {
  if (log_odds) return(.Call(C_log_odds, data$scores, data$input == "logits", data$threads))
  if (data$input == "logits") .Call(C_softmax, data$scores, 1, -Inf, data$threads) else data$scores
}

#' The class of a map
#' @noRd
map_class <- function(object, j) if (length(object$classes) == 2) 2L else j

#' Newton's method for every map
#'
#' @param free function(j): which coefficients of map j are estimated; @param features function(j): a column for
#'   each of `terms`, the coefficients that can be free; @param targets function(hit, j).
#' @noRd
update_maps <- function(object, data, forget, free, features, targets, terms = 1:2) {
  size <- nrow(object$coefficients)
  if (is.null(object$covariance)) stop_no_curvature("the map")
  covariance <- array(object$covariance, c(size, size, ncol(object$coefficients)))
  maps <- lapply(seq_len(ncol(object$coefficients)), function(j) {
    if (object$classes[map_class(object, j)] %in% object$fixed) {
      stop_no_curvature(paste0("the map of class \"", object$classes[map_class(object, j)], "\""))
    }
    hit <- data$labels == map_class(object, j)
    update_map(object$coefficients[, j], covariance[, , j], free(j), terms, features(j), targets(hit, j), data$weights,
      1 - forget, colnames(object$coefficients)[j])
  })
  object$coefficients[] <- vapply(maps, `[[`, numeric(size), "coef")
  object$std_error[] <- vapply(maps, `[[`, numeric(size), "se")
  object$covariance <- unlist(lapply(maps, `[[`, "cov"))
  if (identical(object$params, "am")) object$coefficients["b", ] <- object$coefficients["a", ]
  if (identical(object$params, "ab")) {
    object$coefficients["c", ] <- log(2) * (object$coefficients["a", ] - object$coefficients["b", ])
  }
  object["log_lik"] <- list(NULL) # that of the old rows at the new estimate is not known
  object
}

update_map <- function(coef, cov, free, terms, x, target, weights, keep, name) {
  prior <- cov[free, free, drop = FALSE]
  precision <- tryCatch(keep * solve(prior), error = function(e) NULL)
  if (is.null(precision) || anyNA(precision)) stop_no_curvature(paste0("the map of class \"", name, "\""))
  fit <- .Call(C_laplace_logistic, x[, match(free, terms), drop = FALSE], target, weights, unname(coef[free]),
    (precision + t(precision)) / 2)
  if (!fit$status %in% c("ok", "not_converged")) stop_no_update(fit$status)
  beta <- length(terms) == 3 || length(coef) == 3
  drop <- if (beta) free[free < 3 & fit$coef < 0] else integer()
  if (length(drop)) { # not negative: again without the term
    coef[drop] <- 0
    return(update_map(coef, cov, setdiff(free, drop), terms, x, target, weights, keep, name))
  }
  coef[free] <- fit$coef
  inverse <- solve(fit$curvature)
  cov[] <- NA_real_
  cov[free, free] <- inverse
  se <- rep(NA_real_, length(coef))
  se[free] <- sqrt(diag(inverse))
  if (length(coef) == 3 && identical(terms, c(1L, 3L)) && 1L %in% free) { # a = b
    cov[2, ] <- cov[1, ]
    cov[, 2] <- cov[, 1]
    se[2] <- se[1]
  }
  if (length(coef) == 3 && identical(terms, 1:2) && all(1:2 %in% free)) { # c = (a - b) log 2
    to <- rbind(diag(2), c(log(2), -log(2)))
    cov[] <- to %*% inverse %*% t(to)
    se <- sqrt(diag(cov))
  }
  list(coef = coef, se = se, cov = as.vector(cov))
}
