# Small random problems for calib_gp(): two rows to sixty, with ties, zeros, -Inf, absent classes, separated classes, weights of zero.
# A problem is its seed. Used by test-gp-effects-small.R and bench/stress/small.R.

small_problem <- function(seed) {
  set.seed(seed)
  n <- sample(2:60, 1)
  k <- sample(2:12, 1)
  kind <- sample(c("plain", "ties", "zeros", "infinite", "separated", "absent", "far", "alike"), 1)
  present <- if (kind == "absent") seq_len(max(2, k %/% 2)) else seq_len(k)
  y <- sample(present, n, replace = TRUE)
  z <- matrix(stats::rnorm(n * k, sd = sample(c(0.5, 2, 8), 1)), n)
  z[cbind(seq_len(n), y)] <- z[cbind(seq_len(n), y)] + sample(c(0, 1, 4), 1)
  if (kind == "ties") z <- round(z)
  if (kind == "alike") z[] <- rep(z[1, ], each = n)
  if (kind == "separated") z[cbind(seq_len(n), y)] <- apply(z, 1, max) + 1
  if (kind == "far") z[1, 1] <- 50
  if (kind == "infinite") z[sample(n * k, n)] <- -Inf
  z[rowSums(is.finite(z)) == 0, 1] <- 0
  p <- exp(z - apply(z, 1, max))
  p <- p / rowSums(p)
  if (kind == "zeros") {
    p[p < stats::quantile(p, 0.3)] <- 0
    p <- p / rowSums(p)
  }
  list(seed = seed, kind = kind, n = n, k = k, labels = factor(y, levels = seq_len(k)),
    scores = if (kind == "zeros" || kind != "infinite" && stats::runif(1) < 0.5) p else z,
    weights = if (stats::runif(1) < 0.3) sample(0:3, n, replace = TRUE) + c(1, rep(0, n - 1)),
    effects = sample(c("auto", "auto", "none", "offset", "matrix"), 1))
}

# What is wrong with the fit of a small problem: text, or NULL
small_wrong <- function(problem) {
  quiet <- function(expr) suppressMessages(suppressWarnings(expr))
  fit_of <- function(effects, ...) {
    quiet(calib_gp(problem$scores, problem$labels, weights = problem$weights, class_effects = effects, ...))
  }
  tryCatch({
    fit <- fit_of(problem$effects)
    p <- quiet(predict(fit, problem$scores))
    ends <- quiet(predict(fit, problem$scores, type = "interval", n_draws = 50))
    if (!all(is.finite(p)) || any(p < 0) || max(abs(rowSums(p) - 1)) > 1e-8) return("probabilities that are none")
    if (!all(is.finite(ends)) || any(ends[, , "lower"] > ends[, , "upper"])) return("intervals that are none")
    if (!is.finite(fit$elbo)) return("a bound that is none")
    utils::capture.output(quiet(print(fit)), quiet(print(summary(fit))))
    if (!all(is.finite(quiet(stats::coef(fit))))) return("coefficients that are none")
    if (problem$effects == "auto" && fit$class_effects != "none") {
      # "auto" takes effects that lower the bound by one nat at the most, as far as the first step can tell (src/gp_fit.c: one more)
      worth <- c(fit$effects$worth, fit$offsets$worth)
      if (worth < -2) return(paste("a bound that effects lower by", format(-worth)))
    }
    # more passes never lower the bound; where there are zeros they may choose another floor
    if (fit$class_effects != "none" && !problem$kind %in% c("zeros", "infinite")) {
      fewer <- fit_of(problem$effects, integrate = FALSE, control = gp_control(max_passes = max(1, fit$passes - 1)))
      more <- fit_of(problem$effects, integrate = FALSE, control = gp_control(max_passes = fit$passes + 50))
      if (identical(fewer$class_effects, more$class_effects) && more$elbo < fewer$elbo - 1e-6 * (1 + abs(more$elbo))) {
        return(paste("a bound that goes down with passes, from", format(fewer$elbo), "to", format(more$elbo)))
      }
    }
    NULL
  }, error = function(e) paste0("an error: ", conditionMessage(e)))
}
