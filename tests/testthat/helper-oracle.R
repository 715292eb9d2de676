# Slow and obvious versions of what the package computes, and data to compare on. Nothing
# here calls the package.

# Data ------------------------------------------------------------------------------------

# Logits whose labels are drawn at temperature `temperature`
oracle_data <- function(n, k, temperature = 2, seed = 1) {
  with_seed(seed, {
    truth <- matrix(stats::rnorm(n * k, sd = 1.5), n, k)
    gumbel <- -log(-log(matrix(stats::runif(n * k), n, k)))
    list(z = temperature * truth, y = max.col(truth + gumbel, ties.method = "first"))
  })
}

# Evaluate with a seed, and leave the generator as it was
with_seed <- function(seed, code) {
  old <- get0(".Random.seed", globalenv(), inherits = FALSE)
  on.exit(if (is.null(old)) {
    rm(".Random.seed", envir = globalenv())
  } else {
    assign(".Random.seed", old, envir = globalenv())
  })
  set.seed(seed, kind = "Mersenne-Twister", normal.kind = "Inversion", sample.kind = "Rejection")
  force(code)
}

# Softmax and temperature -----------------------------------------------------------------

oracle_softmax <- function(z) {
  t(apply(z, 1, function(row) {
    e <- exp(row - max(row))
    e / sum(e)
  }))
}

oracle_log_softmax <- function(z) {
  t(apply(z, 1, function(row) (row - max(row)) - log(sum(exp(row - max(row))))))
}

# Log loss, a sum over rows, of softmax(beta z); `y` are codes
oracle_temperature_loss <- function(beta, z, y, w = rep(1, nrow(z))) {
  -sum(w * oracle_log_softmax(beta * z)[cbind(seq_along(y), y)])
}

# The temperature by golden sections; about 1e-8 is what comparing losses can resolve, so
# the root of the slope, by bisection, polishes it
oracle_temperature <- function(z, y, w = rep(1, nrow(z)), lower = 1e-3, upper = 1e3) {
  coarse <- stats::optimize(function(t) oracle_temperature_loss(exp(-t), z, y, w),
    log(c(lower, upper)), tol = 1e-6)$minimum
  slope <- function(t) {
    s <- oracle_softmax(exp(-t) * z)
    sum(w * (rowSums(s * z) - z[cbind(seq_along(y), y)]))
  }
  exp(stats::uniroot(slope, coarse + c(-1e-3, 1e-3), extendInt = "yes", tol = 1e-14)$root)
}
