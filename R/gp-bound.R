#' The bound and its gradient at a given point
#'
#' Internal: for checking gradients, and that the three routes to the bound agree. `scores` are
#' used as they are, without centring.
#'
#' @param inducing positions; @param q_mean,q_cov whitened posterior; @param hyper named vector
#'   with `variance`, `lengthscale`, `noise` (default 1e-6) and, for the linear mean, `slope`
#'   (default 1); @param mean "linear", "identity" or "log"; @param covariance "full" or "diag".
#' @param route "direct": every score and feature by its definition; "grid": interpolated on a
#'   grid; "rows": rows compressed onto the grid. Where the scores range too widely for "rows"
#'   the grid is used, and where the lengthscale is too short for a grid the direct route;
#'   `route` in the result says so.
#' @return list(elbo, gradient = list(q_mean, q_cov, inducing, variance, lengthscale, noise,
#'   slope), route).
#' @noRd
gp_bound <- function(scores, labels, inducing, q_mean, q_cov, hyper, mean = "linear",
                     covariance = "full", weights = NULL, route = c("direct", "grid", "rows"),
                     threads = 1) {
  mean <- check_choice(mean, c("linear", "identity", "log"), "mean")
  covariance <- check_choice(covariance, c("full", "diag"), "covariance")
  route <- check_choice(route, c("direct", "grid", "rows"), "route")
  z <- as_score_matrix(scores, "scores")
  if (ncol(z) == 1) z <- if (mean == "log") cbind(1 - z, z) else cbind(0, z)
  place <- check_labels(labels, nrow(z), ncol(z), colnames(z), "scores")
  if (!is.null(place$order)) z <- z[, place$order, drop = FALSE]
  if (any(!is.finite(z)) || (mean == "log" && any(z <= 0))) {
    stop_input("scores", "must be finite, and positive for mean = \"log\"")
  }
  weights <- check_weights(weights, nrow(z))
  inducing <- as.double(inducing)
  size <- length(inducing)
  q_cov <- as.matrix(q_cov)
  if (size < 2 || length(q_mean) != size || !identical(dim(q_cov), c(size, size)) ||
    !all(is.finite(c(inducing, q_mean, q_cov)))) {
    stop_input("inducing", paste("must have at least two points, and `q_mean` and `q_cov` its size,",
      "all finite"))
  }
  hyper <- unlist(hyper)
  defaults <- c(variance = NA, lengthscale = NA, noise = 1e-6, slope = 1)
  defaults[names(hyper)] <- hyper
  if (mean == "identity") defaults["slope"] <- 1
  if (!all(is.finite(defaults)) || any(defaults[1:2] <= 0) || defaults[3] < 0) {
    stop_input("hyper", "needs finite, positive `variance` and `lengthscale`")
  }
  spacing <- min(diff(sort(inducing)))
  if (spacing <= 0) spacing <- Inf
  # finer than in fitting: K_uu^-1 magnifies what interpolation leaves of the gradients
  step <- min(spacing / 10, defaults[["lengthscale"]] / 24)
  step <- max(step, defaults[["lengthscale"]] / 30)
  step <- min(step, max(diff(range(z, inducing)), 1e-8 * max(abs(z)), 1e-300) / 20)
  # a lengthscale far below the range asks for more nodes than there is sense in
  if (diff(range(inducing)) / step > 1500) route <- "direct"
  out <- .Call(C_gp_bound, z, place$codes, weights, inducing, as.double(q_mean),
    matrix(as.double(q_cov), size), unname(defaults), mean == "log", covariance == "diag",
    match(route, c("direct", "grid", "rows")) - 1L, step, check_threads(threads))
  if (out$status != "ok") {
    stop(errorCondition(paste("The bound could not be computed:", out$status),
      class = c("gpcalib_error_numeric", "gpcalib_error"), call = NULL))
  }
  list(
    elbo = out$elbo,
    gradient = out[c("q_mean", "q_cov", "inducing", "variance", "lengthscale", "noise", "slope")],
    route = c("direct", "grid", "rows")[out$route + 1L]
  )
}
