# More rivals of calib_gp() that are not part of the package, written from their objectives; needs
# rivals.R. Each takes scores and labels and returns a function of new scores.
#
#   ensemble   Ensemble temperature scaling (Zhang, Kailkhura and Han 2020, arXiv 2003.07329):
#              w1 softmax(z / T) + w2 softmax(z) + w3 / k. T is that of temperature scaling, the
#              weights maximise the likelihood.
#   dirichlet  Dirichlet calibration with ODIR (Kull et al. 2019, arXiv 1910.12656):
#              softmax(W x + b), penalties lambda / (k (k - 1)) sum of squares off the diagonal of W
#              and mu / k |b|^2. lambda = mu is chosen from 10^(4, 2, 0, -2) by the loss on one third of
#              the rows, held out (the authors cross-validate a finer grid of both, which takes hours here).
#   quadratic  Two classes: log-odds a + b s + c s^2 of the log-odds s (the two-class form in Berta
#              et al. 2025), with the penalty of SVS on a, b - 1 and c.
#   gam        Two classes: a penalised regression spline of the log-odds, mgcv::gam() with REML
#              (Lucena 2018, arXiv 1809.07751, calibrates by cubic splines).
#
# The input x of dirichlet, quadratic and gam is that of SVS and SMS: the logarithm of
# temperature-scaled and smoothed probabilities.

rival_input <- function(scores, labels) {
  temperature <- suppressWarnings(gpcalib::calib_temperature(scores, labels))
  classes <- temperature$classes
  k <- length(classes)
  n <- length(labels)
  list(
    y = match(as.character(labels), as.character(classes)), n = n, k = k, classes = classes,
    temperature = temperature,
    at = function(scores) {
      p <- suppressWarnings(predict(temperature, scores))
      log(unname((n * p + 1 / k) / (n + 1)))
    }
  )
}

# Ensemble temperature scaling. The likelihood is concave in the weights; the EM steps of a
# mixture with known components climb it.
rival_ensemble <- function(scores, labels) {
  temperature <- suppressWarnings(gpcalib::calib_temperature(scores, labels))
  none <- suppressWarnings(gpcalib::calib_none(scores, labels))
  parts <- function(scores) {
    p <- suppressWarnings(list(predict(temperature, scores), predict(none, scores)))
    c(p, list(p[[1]] * 0 + 1 / ncol(p[[1]])))
  }
  y <- match(as.character(labels), as.character(temperature$classes))
  at <- vapply(parts(scores), function(p) p[cbind(seq_along(y), y)], numeric(length(y)))
  w <- rep(1 / 3, 3)
  for (step in 1:1000) {
    share <- at * rep(w, each = nrow(at))
    new <- colMeans(share / rowSums(share))
    if (max(abs(new - w)) < 1e-7) break
    w <- new
  }
  function(scores) Reduce(`+`, Map(`*`, parts(scores), w))
}

# Minimise the mean log loss of softmax(x + M x + b) with ODIR's penalty on M off the diagonal and on b.
fit_odir <- function(x, y, lambda, start = NULL) {
  k <- ncol(x)
  fit_matrix(x, y, c(b = lambda / k, v = 0, m = lambda / (k * (k - 1))), start)
}

# Held-out loss of each lambda, in falling order, every fit starting at the last.
odir_path <- function(x, y, out, lambda) {
  loss <- rep(Inf, length(lambda))
  at <- NULL
  for (i in seq_along(lambda)) {
    at <- fit_odir(x[!out, , drop = FALSE], y[!out], lambda[i], at)
    loss[i] <- loss_of(at_matrix(x[out, , drop = FALSE], at), y[out])$value
    if (i > 1 && loss[i] > loss[i - 1]) break
  }
  loss
}

rival_dirichlet <- function(scores, labels) {
  input <- rival_input(scores, labels)
  x <- input$at(scores)
  lambda <- 10^c(4, 2, 0, -2)
  loss <- odir_path(x, input$y, sample(rep_len(1:3, input$n)) == 1, lambda)
  at <- fit_odir(x, input$y, lambda[which.min(loss)])
  function(scores) named(soft(at_matrix(input$at(scores), at)), input$classes)
}

named <- function(p, classes) {
  colnames(p) <- classes
  p
}

# Two classes: probabilities of the second class as the two columns that every method returns.
two_columns <- function(p, classes) named(cbind(1 - p, p), classes)

rival_quadratic <- function(scores, labels) {
  input <- rival_input(scores, labels)
  odds <- function(scores) {
    x <- input$at(scores)
    x[, 2] - x[, 1]
  }
  s <- odds(scores)
  basis <- function(s) cbind(1, s, s^2)
  penalty <- input$k / input$n
  par <- minimise(3, function(par) {
    f <- s + drop(basis(s) %*% par)
    loss <- loss_of(cbind(0, f), input$y)
    list(value = loss$value + penalty * sum(par^2), g = loss$gradient[, 2])
  }, function(par, at) drop(crossprod(basis(s), at$g)) + 2 * penalty * par)
  function(scores) {
    s <- odds(scores)
    two_columns(stats::plogis(s + drop(basis(s) %*% par)), input$classes)
  }
}

rival_gam <- function(scores, labels) {
  input <- rival_input(scores, labels)
  data <- function(scores) {
    x <- input$at(scores)
    data.frame(s = x[, 2] - x[, 1])
  }
  rows <- data(scores)
  rows$event <- as.numeric(input$y == 2)
  size <- min(10, length(unique(rows$s)) - 1)
  fit <- mgcv::gam(event ~ s(s, k = size), family = stats::binomial(), data = rows, method = "REML")
  function(scores) {
    p <- as.numeric(stats::predict(fit, data(scores), type = "response"))
    two_columns(p, input$classes)
  }
}
