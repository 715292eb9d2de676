library(testthat)
library(gpcalib)

# On CRAN, and in R CMD check without NOT_CRAN = true, the slowest files are left out: four fifths of the time. `make test` runs all.
slow <- c("calib-gp", "calib-gp-limits", "calib-metrics", "calib-sql", "calib-sums", "calib-test", "check", "check-object", "fifth-user", "fourth-user",
  "gp-averaged", "gp-effects-bound", "gp-wide", "metric-ece", "monitor", "monotone", "one-vs-all", "plot-latent", "plot-reliability", "portable", "predict-gp",
  "query", "study-summary", "update", "update-rows", "validate")
everything <- identical(tolower(Sys.getenv("NOT_CRAN")), "true")
test_check("gpcalib", filter = if (!everything) paste0("^(?!(", paste(slow, collapse = "|"), ")$)"), perl = TRUE)
