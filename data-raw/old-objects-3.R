# tests/testthat/fixtures/format-3.rds: fits of version 0.1 (commit 3e91e74, objects of format 3) with what that
# version predicted from them. They must be what class_effects = "none" gives, and keep their predictions.
# Install that commit into a library of its own and run, from the package's root:
#   R_LIBS=<that library> Rscript data-raw/old-objects-3.R
library(gpcalib)
stopifnot(packageVersion("gpcalib") < "0.2.0")
x <- letters_nn$cal
few <- 1:300
fits <- list(
  letters = calib_gp(x$scores[few, ], x$labels[few]),
  rain = calib_gp(rain_nyc$prob[few], rain_nyc$rain[few]),
  paper = calib_gp(x$scores[few, ], x$labels[few], mean = "identity", center = FALSE, covariance = "diag", inducing = 10)
)
new <- list(letters = x$scores[301:306, ], rain = c(0.05, 0.3, 0.9), paper = x$scores[301:306, ])
probs <- suppressWarnings(Map(predict, fits, new))
means <- suppressWarnings(Map(predict, fits, new, approx = "mean"))
saveRDS(list(fits = fits, new = new, probs = probs, means = means), "tests/testthat/fixtures/format-3.rds", version = 2)
