# Rscript tools/run-tests.R [FILTER]: run tests/testthat against the package in .build/lib
# and leave `passed failed skipped warnings` in .build/rtest-counts. Expectations are
# counted; an error counts as a failure, and so does a run without any expectation.
# FILTER is a regular expression for the names of test files, as in testthat.

build <- Sys.getenv("BUILD", ".build")
filter <- commandArgs(TRUE)
filter <- if (length(filter)) filter[1]

library(gpcalib, lib.loc = file.path(build, "lib"))
options(cli.dynamic = FALSE, cli.progress_show_after = Inf)

results <- tryCatch(
  testthat::test_dir(
    "tests/testthat", package = "gpcalib", load_package = "installed", filter = filter,
    reporter = testthat::ProgressReporter$new(show_praise = FALSE, max_failures = Inf,
                                              update_interval = Inf),
    stop_on_failure = FALSE, stop_on_warning = FALSE
  ),
  error = function(e) {
    cat("the R tests could not be run: ", conditionMessage(e), "\n", sep = "")
    NULL
  }
)

kinds <- unlist(lapply(results, function(test) {
  vapply(test$results, function(r) class(r)[1], "")
}))
count <- function(...) sum(kinds %in% paste0("expectation_", c(...)))
passed <- count("success")
failed <- count("failure", "error")
skipped <- count("skip")
warnings <- count("warning")
if (passed + failed == 0) {
  cat("no R test was run, which counts as a failure\n")
  failed <- 1
}
cat(passed, failed, skipped, warnings, "\n", file = file.path(build, "rtest-counts"))
quit(status = failed > 0)
