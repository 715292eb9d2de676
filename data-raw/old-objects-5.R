# tests/testthat/fixtures/format-5.rds: fits of commit 5e9e642 (objects of format 5, one variance for the whole matrix between
# the classes) with what that version predicted from them. They must keep their predictions, and update() must take new rows.
# Install that commit into a library of its own and run, from the package's root:
#   R_LIBS=<that library> Rscript data-raw/old-objects-5.R
library(gpcalib)
set.seed(5)
draw <- function(n, k) { # a class is taken for another, and one is favoured
  z <- matrix(rnorm(n * k, sd = 2), n)
  f <- 0.7 * z + cbind(1 + 0.5 * z[, 2], matrix(0, n, k - 1))
  list(scores = z, labels = factor(max.col(f - log(-log(matrix(runif(n * k), n)))), levels = seq_len(k)))
}
few <- draw(250, 3)
fits <- list(few = calib_gp(few$scores, few$labels), frozen = calib_gp(few$scores, few$labels, control = gp_control(buffer = 0)))
stopifnot(fits$few$format == 5, length(fits$frozen$stream$effects$blocks) == 4)
new <- draw(6, 3)
probs <- lapply(fits, predict, new$scores)
updated <- lapply(fits, function(fit) predict(update(fit, new$scores, new$labels), new$scores))
worth <- lapply(fits, function(fit) summary(fit)$effects$parts)
saveRDS(list(fits = fits, new = new, probs = probs, updated = updated, worth = worth),
  "tests/testthat/fixtures/format-5.rds", version = 2, compress = "xz")
