# New rows for vector and matrix scaling: the old rows are a Gaussian around the old estimate (src/laplace_softmax.h).

#' @export
update_fit.calib_vector <- function(object, data, forget) update_linear(object, data, forget)

#' @export
update_fit.calib_matrix <- function(object, data, forget) update_linear(object, data, forget)

update_linear <- function(object, data, forget) {
  full <- object$method == "matrix"
  if (forget == 1) {
    again <- if (full) calib_matrix else calib_vector
    return(forget_all(object, again(data$scores, codes_factor(data), object$input, data$weights, object$floor)))
  }
  z <- latent_scale(data$scores, object$input, !is.null(object$floor), data$threads)
  if (is.null(object$floor) && any(z == -Inf)) {
    stop_input("scores", "has probabilities of 0 (or logits of -Inf), and the calibration rows had none",
      "Fit it again with a `floor`.")
  }
  if (is.null(object$covariance)) {
    stop_input("object", paste0("has more than ", linear_covariance, " parameters, too many for their covariance to be stored"),
      "Fit it again on all rows.")
  }
  old <- unname(c(object$offset, as.vector(object$weights)))
  precision <- (1 - forget) * plain_inverse(from_lower(object$covariance))
  # constants, which change no probability and have no variance, stay put
  diag(precision) <- diag(precision) + still * max(diag(precision))
  fit <- .Call(C_laplace_softmax, z, data$labels, data$weights, log(temperature_floor(object)), full, old, precision)
  if (fit$status != "ok") stop_no_update(fit$status)
  cov <- plain_inverse(fit$curvature, 100 * still)
  k <- length(object$classes)
  object$offset[] <- fit$theta[seq_len(k)]
  object$weights[] <- fit$theta[-seq_len(k)]
  object$std_error <- sqrt(pmax(diag(cov), 0))
  object$covariance <- cov[lower.tri(cov, TRUE)]
  object$log_lik <- (1 - forget) * object$log_lik + fit$log_lik
  object
}

still <- 1e-9

#' The inverse in the directions in which a matrix is not zero
#' @noRd
plain_inverse <- function(x, least = 1e-9) {
  e <- eigen(x, symmetric = TRUE)
  keep <- e$values > least * e$values[1]
  e$vectors[, keep, drop = FALSE] %*% (t(e$vectors[, keep, drop = FALSE]) / e$values[keep])
}
