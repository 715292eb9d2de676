# Rivals of calib_gp() that are not part of the package, written from their objectives: vector
# scaling (Guo et al. 2017), and structured vector and matrix scaling, SVS and SMS (Berta,
# Holzmüller, Jordan and Bach 2025, arXiv 2511.03685). Others are in rivals-more.R.
#
# With x = log of temperature-scaled probabilities, smoothed by the share 1 / (n + 1) of the
# uniform distribution, and k classes, n rows, all of them predict
#
#   softmax(x + diag(v) x + off(M) x + b)
#
# and minimise the mean log loss plus
#
#   vector  nothing, M = 0
#   svs     k / n (|b|^2 + |v|^2), M = 0
#   sms     k / n (|b|^2 + |v|^2) + k (k - 1) / n |M|^2, the diagonal of M being v.
#
# rival(scores, labels, method) returns a function of new scores.

rival <- function(scores, labels, method = c("vector", "svs", "sms")) {
  method <- match.arg(method)
  temperature <- suppressWarnings(gpcalib::calib_temperature(scores, labels))
  k <- length(temperature$classes)
  y <- match(as.character(labels), as.character(temperature$classes))
  n <- length(y)
  input <- function(scores) {
    p <- suppressWarnings(predict(temperature, scores))
    log(unname((n * p + 1 / k) / (n + 1)))
  }
  x <- input(scores)
  penalty <- rival_penalty(method, n, k)
  at <- if (method == "sms") fit_matrix(x, y, penalty) else fit_vector(x, y, penalty)
  function(scores) {
    x <- input(scores)
    p <- soft(if (method == "sms") at_matrix(x, at) else at_vector(x, at))
    colnames(p) <- temperature$classes
    p
  }
}

rival_penalty <- function(method, n, k) {
  switch(method,
    vector = c(b = 0, v = 0, m = 0),
    c(b = k / n, v = k / n, m = k * (k - 1) / n)
  )
}

soft <- function(f) {
  p <- exp(f - apply(f, 1, max))
  p / rowSums(p)
}

# Parameters are c(b, v), and c(b, M) with v on the diagonal of M.
at_vector <- function(x, par) {
  k <- ncol(x)
  x * rep(1 + par[k + seq_len(k)], each = nrow(x)) + rep(par[seq_len(k)], each = nrow(x))
}

at_matrix <- function(x, par) {
  k <- ncol(x)
  m <- matrix(par[-seq_len(k)], k)
  x + tcrossprod(x, m) + rep(par[seq_len(k)], each = nrow(x))
}

# Mean log loss of f and its gradient in f.
loss_of <- function(f, y) {
  p <- soft(f)
  at <- cbind(seq_along(y), y)
  g <- p
  g[at] <- g[at] - 1
  list(value = -mean(log(pmax(p[at], 1e-300))), gradient = g / length(y))
}

minimise <- function(count, value, gradient, start = NULL) {
  last <- NULL # optim() asks for value and gradient apart
  both <- function(par) {
    if (!identical(par, last$par)) last <<- c(list(par = par), value(par))
    last
  }
  stats::optim(if (is.null(start)) numeric(count) else start, function(par) both(par)$value,
    function(par) gradient(par, both(par)), method = "L-BFGS-B",
    control = list(maxit = 500, factr = 1e8, lmm = 10))$par
}

fit_vector <- function(x, y, penalty) {
  k <- ncol(x)
  ridge <- rep(penalty[c("b", "v")], each = k)
  minimise(2 * k, function(par) {
    loss <- loss_of(at_vector(x, par), y)
    list(value = loss$value + sum(ridge * par^2), g = loss$gradient)
  }, function(par, at) c(colSums(at$g), colSums(at$g * x)) + 2 * ridge * par)
}

fit_matrix <- function(x, y, penalty, start = NULL) {
  k <- ncol(x)
  m <- matrix(penalty[["m"]], k, k)
  diag(m) <- penalty[["v"]]
  ridge <- c(rep(penalty[["b"]], k), m)
  minimise(k + k^2, function(par) {
    loss <- loss_of(at_matrix(x, par), y)
    list(value = loss$value + sum(ridge * par^2), g = loss$gradient)
  }, function(par, at) c(colSums(at$g), crossprod(at$g, x)) + 2 * ridge * par, start)
}
