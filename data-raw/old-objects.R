# tests/testthat/fixtures/format-1.rds: a calib_gp() and a calib_temperature() as the first version
# that had the process wrote them (commit 2333e6e, format 1, no `scores_seen`), with what that version
# predicted from them. Install that commit into a library of its own and run, from the package's root:
#   R_LIBS=<that library> Rscript data-raw/old-objects.R
library(gpcalib)
stopifnot(packageVersion("gpcalib") < "0.2.0", is.null(calib_gp(c(0.1, 0.9, 0.8), c(0, 1, 0))$scores_seen))
set.seed(4)
z <- matrix(rnorm(240, sd = 3), 80)
y <- factor(c("a", "b", "c")[max.col(z + matrix(rnorm(240, sd = 3), 80))])
fits <- list(gp = calib_gp(z, y), temperature = calib_temperature(z, y),
  log = calib_gp(rain_nyc$prob[1:300], rain_nyc$rain[1:300], mean = "log"))
new <- z[1:5, ] / 2
saveRDS(list(fits = fits, newdata = new, p = c(0.01, 0.5, 0.9),
  probs = lapply(fits[1:2], predict, new), probs_log = predict(fits$log, c(0.01, 0.5, 0.9))),
  "tests/testthat/fixtures/format-1.rds", version = 2)
