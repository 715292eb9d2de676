# Rscript bench/gp-optimum.R: is the bound that calib_gp() reaches the best there is? A long run of
# a general optimiser over everything that calib_gp() treats by formulas: m, the Cholesky factor of
# S, log variance and log lengthscale, with the gradient of gp_bound(). cifar100_wrn16_4, 1000
# rows, centred log-probabilities, identity mean, 10 evenly spaced inducing inputs. The data are
# not part of the package; GPCALIB_DATA says where they are.

library(gpcalib)
source("bench/helper.R")

file <- file.path(Sys.getenv("GPCALIB_DATA", "../shared/data"), "cifar100_wrn16_4.rds")
if (!file.exists(file)) {
  cat("gp-optimum: skipped, there is no", file, "(set GPCALIB_DATA)\n")
  quit(status = 0)
}
data <- readRDS(file)
set.seed(1)
rows <- sample(nrow(data$scores), 1000)
labels <- data$labels[rows]
probs <- data$scores[rows, ]
z <- log(pmin(probs, 1) / rowSums(pmin(probs, 1))) # as calib_gp() reads probabilities
z <- z - rowMeans(z)

size <- 10
below <- lower.tri(diag(size), diag = TRUE)
on_diagonal <- which(row(diag(size))[below] == col(diag(size))[below])

# theta = (m, lower triangle of U with the log of its diagonal, log variance, log lengthscale).
unpack <- function(theta) {
  entries <- theta[size + seq_len(sum(below))]
  entries[on_diagonal] <- exp(entries[on_diagonal])
  factor <- matrix(0, size, size)
  factor[below] <- entries
  last <- exp(theta[length(theta) - 1:0])
  list(q_mean = theta[seq_len(size)], factor = factor, q_cov = tcrossprod(factor),
    hyper = c(variance = last[1], lengthscale = last[2]))
}

bound <- function(point, covariance, inducing, route) {
  gpcalib:::gp_bound(z, labels, inducing, point$q_mean, point$q_cov, point$hyper, "identity",
    covariance, route = route)
}

# Search by the rows route, one evaluation for value and gradient.
search <- function(start, covariance, inducing) {
  last <- list(theta = NULL)
  evaluations <- 0
  evaluate <- function(theta) {
    if (!identical(theta, last$theta)) {
      point <- unpack(theta)
      sane <- all(abs(log(point$hyper)) < 12)
      value <- if (sane) {
        tryCatch(bound(point, covariance, inducing, "rows"), error = function(e) NULL)
      }
      evaluations <<- evaluations + 1
      last <<- list(theta = theta, point = point, value = value)
    }
    last
  }
  objective <- function(theta) {
    value <- evaluate(theta)$value
    if (is.null(value)) Inf else -value$elbo
  }
  gradient <- function(theta) {
    at <- evaluate(theta)
    g <- at$value$gradient
    by_factor <- (2 * g$q_cov %*% at$point$factor)[below]
    by_factor[on_diagonal] <- by_factor[on_diagonal] * diag(at$point$factor)
    -c(g$q_mean, by_factor, c(g$variance, g$lengthscale) * at$point$hyper)
  }
  # BFGS takes Inf for "too far", its first step is the gradient (hence per row), and it is begun
  # again until a fresh start gains nothing
  iterations <- 0
  repeat {
    before <- objective(start)
    found <- stats::optim(start, objective, gradient, method = "BFGS",
      control = list(maxit = 2000 - iterations, reltol = 1e-15, fnscale = nrow(z)))
    iterations <- iterations + found$counts[["gradient"]]
    start <- found$par
    if (before - found$value < 1e-8 || iterations >= 2000) break
  }
  point <- unpack(start)
  list(point = point, evaluations = evaluations, iterations = iterations,
    direct = bound(point, covariance, inducing, "direct")$elbo)
}

pack <- function(q_mean, factor, hyper) {
  entries <- factor[below]
  entries[on_diagonal] <- log(entries[on_diagonal])
  c(q_mean, entries, log(unname(hyper)))
}

compare <- function(covariance) {
  fit <- calib_gp(probs, labels, mean = "identity", covariance = covariance, inducing = size)
  ours <- list(q_mean = fit$q_mean, q_cov = fit$q_cov,
    hyper = fit$hyper[c("variance", "lengthscale")])
  direct <- bound(ours, covariance, fit$inducing, "direct")$elbo
  width <- diff(range(fit$inducing))
  starts <- list(
    `variance 1, lengthscale range / 4` =
      pack(numeric(size), diag(size), c(1, width / 4)),
    `variance 10, lengthscale range / 16, S = I / 10` =
      pack(numeric(size), diag(size) * sqrt(0.1), c(10, width / 16)),
    `calib_gp()'s result` = pack(fit$q_mean, t(chol(fit$q_cov)), ours$hyper)
  )
  describe <- function(method, elbo, hyper, evaluations) {
    data.frame(covariance = covariance, method = method, bound = sprintf("%.6f", elbo),
      `calib_gp() is higher by` = sprintf("%+.2g", direct - elbo),
      variance = sprintf("%.4f", hyper[["variance"]]),
      lengthscale = sprintf("%.4f", hyper[["lengthscale"]]), evaluations = evaluations,
      met = if (direct - elbo >= -1e-4) "yes" else "NO", check.names = FALSE)
  }
  cat(covariance, "covariance: the fit says", format(fit$elbo, digits = 10), "\n")
  table <- describe(paste0("calib_gp(), its own value ", sprintf("%.6f", fit$elbo)), direct,
    ours$hyper, fit$passes)
  for (name in names(starts)) {
    found <- search(starts[[name]], covariance, fit$inducing)
    cat(" ", name, found$evaluations, "evaluations,", found$iterations, "iterations\n")
    table <- rbind(table, describe(paste("BFGS from", name), found$direct,
      found$point$hyper, found$evaluations))
  }
  table
}

table <- rbind(compare("full"), compare("diag"))
write_report("gp-optimum", "The bound reached, against a general optimiser", c(
  "cifar100_wrn16_4, 1000 rows (`set.seed(1)`), centred log-probabilities, `mean = \"identity\"`, 10",
  "evenly spaced inducing inputs. `stats::optim()` with at most 2000 iterations over m, the Cholesky",
  "factor of S, log variance and log lengthscale (67 parameters), by the route \"rows\"; every bound",
  "in the table is the direct route's at the point found. `calib_gp()` stops when its next step",
  "promises less than 1e-5, so that differences below 1e-4 count as equal. The last start asks how",
  "much a general optimiser can still add to `calib_gp()`'s result.", "",
  markdown_table(table)
))
if (any(table$met == "NO")) quit(status = 1)
