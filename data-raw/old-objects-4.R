# tests/testthat/fixtures/format-4.rds: fits of commit 85f3b63 (objects of format 4, effects of the classes without powers)
# with what that version predicted from them. They must keep their predictions, and update() must take new rows.
# Install that commit into a library of its own and run, from the package's root:
#   R_LIBS=<that library> Rscript data-raw/old-objects-4.R
library(gpcalib)
set.seed(4)
draw <- function(n, k) { # a class is taken for another, and one is favoured
  z <- matrix(rnorm(n * k, sd = 2), n)
  f <- 0.7 * z + cbind(1 + 0.5 * z[, 2], matrix(0, n, k - 1))
  list(scores = z, labels = factor(max.col(f - log(-log(matrix(runif(n * k), n)))), levels = seq_len(k)))
}
few <- draw(250, 3)
many <- draw(300, 8)
two <- rain_nyc[1:200, ]
fits <- list(few = calib_gp(few$scores, few$labels), many = calib_gp(many$scores, many$labels, class_effects = "matrix"),
  two = calib_gp(two$prob, two$rain))
stopifnot(fits$few$format == 4, length(fits$few$effects$count) == 3, !is.null(fits$many$effects$own))
new <- list(few = draw(6, 3), many = draw(6, 8), two = list(scores = c(0.05, 0.3, 0.9), labels = factor(c("no", "yes", "yes"))))
fits$many[c("stream", "averaged")] <- list(NULL) # large
probs <- Map(function(fit, x) predict(fit, x$scores), fits, new)
means <- Map(function(fit, x) predict(fit, x$scores, approx = "mean"), fits, new)
ends <- Map(function(fit, x) { set.seed(1); predict(fit, x$scores, type = "interval") }, fits, new)
updated <- predict(update(fits$few, new$few$scores, new$few$labels), new$few$scores)
saveRDS(list(fits = fits, new = new, probs = probs, means = means, ends = ends, updated = updated),
  "tests/testthat/fixtures/format-4.rds", version = 2, compress = "xz")
