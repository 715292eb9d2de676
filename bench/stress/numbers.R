# Rscript bench/stress/numbers.R: what theory says of the same data in other clothes, for every method.
# Scaled logits, shifted rows, permuted rows and classes, copies with noise of rounding size; one thread
# and two must agree to the last bit.
suppressMessages(library(gpcalib))
source("bench/stress/_calls.R")
bad <- 0
expect <- function(what, a, b, tolerance) {
  off <- max(abs(unname(a) - unname(b)))
  good <- is.finite(off) && off <= tolerance
  bad <<- bad + !good
  cat(sprintf("%-34s %8.1e  (at most %.0e)%s\n", what, off, tolerance, if (good) "" else "  WRONG"))
}
d <- small_data(600, 4, 11)
d$z <- sign(d$z) * abs(d$z)^1.8 # bent, so that the process has something to do
cat("kernel variance of the process:", format(coef(calib_gp(d$z, d$y))[["variance"]], digits = 3), "\n")
f <- c("a", "b", "c", "d")
y <- factor(f[d$y], levels = f)
turn <- c(3, 1, 4, 2)
shuffle <- sample(600)
# The process is found by an optimiser that stops within 1e-5 nats; the others are exact up to rounding.
loose <- c(gp = 2e-4, temperature = 1e-9, platt = 1e-7, isotonic = 1e-12, beta = 1e-6, bbq = 1e-10, histogram = 1e-12,
  none = 1e-12, vector = 1e-6, matrix = 1e-6)
for (name in names(fitters)) {
  fit <- fitters[[name]]
  tol <- loose[[name]]
  base <- predict(fit(d$z, y), d$z)
  expect(paste(name, "rows shifted"), predict(fit(d$z + 1:600 / 7, y), d$z + 1:600 / 7), base, max(tol, 1e-9))
  expect(paste(name, "rows permuted"), predict(fit(d$z[shuffle, ], y[shuffle]), d$z), base, max(tol, 1e-10))
  expect(paste(name, "classes permuted"), predict(fit(d$z[, turn], factor(as.character(y), levels = f[turn])),
    d$z[, turn])[, f], base, max(tol, 1e-10))
  expect(paste(name, "noise of rounding size"), predict(fit(d$z * (1 + 1e-15 * rnorm(2400)), y), d$z), base, max(tol, 1e-7))
  expect(paste(name, "columns by name"), predict(fit(`colnames<-`(d$z, f)[, turn], y), `colnames<-`(d$z, f)[, turn]),
    base, 0)
  if (name %in% c("gp", "temperature")) {
    for (scale in c(1e-6, 1e6)) {
      expect(paste(name, "logits times", scale), predict(fit(d$z * scale, y), d$z * scale), base, max(tol, 1e-9))
    }
  }
  expect(paste(name, "weights 2 as two rows"), predict(fit(d$z, y, weights = rep(1:2, 300)), d$z),
    predict(fit(d$z[rep(1:600, rep(1:2, 300)), ], y[rep(1:600, rep(1:2, 300))]), d$z), max(tol, 1e-8))
}
big <- small_data(3000, 30, 4)
one <- all_calls(40, 1)
two <- all_calls(40, 2)
same <- vapply(names(one), function(name) identical(suppressWarnings(one[[name]]()), suppressWarnings(two[[name]]())), NA)
large <- vapply(names(fitters), function(name) {
  make <- function(threads) {
    extra <- if (name != "none") list(threads = threads)
    fit <- suppressWarnings(do.call(fitters[[name]], c(list(big$z, big$y), extra)))
    fit$call <- NULL
    list(unclass(fit), suppressWarnings(predict(structure(c(unclass(fit), call = quote(f())), class = class(fit)), big$z,
      threads = threads)))
  }
  identical(make(1), make(2))
}, NA)
cat("one thread and two:", sum(same), "of", length(same), "small calls and", sum(large), "of", length(large),
  "fits to 3000 x 30 are identical\n")
bad <- bad + sum(!same) + sum(!large)
cat(bad, "wrong\n")
quit(status = bad > 0)
