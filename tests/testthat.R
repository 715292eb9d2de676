library(testthat)
library(gpcalib)

# On CRAN, and in R CMD check without NOT_CRAN = true, the slowest files are left out: half of the time. `make test` runs all.
slow <- c("calib-gp", "calib-gp-limits", "calib-metrics", "calib-sql", "calib-test", "check-object", "fifth-user", "gp-averaged",
  "gp-effects-bound", "plot-reliability", "portable", "predict-gp", "query", "validate")
everything <- identical(tolower(Sys.getenv("NOT_CRAN")), "true")
test_check("gpcalib", filter = if (!everything) paste0("^(?!(", paste(slow, collapse = "|"), ")$)"), perl = TRUE)
