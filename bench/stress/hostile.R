# Rscript bench/stress/hostile.R [CALLS [FIRST_SEED]]: hostile calls of everything that is exported,
# by the generator in tests/testthat/helper-hostile.R. Each gives a valid answer or an error of class
# gpcalib_error, in 30 seconds of computing at most. The seed of a call that does not is printed:
# `Rscript bench/stress/hostile.R 1 SEED` runs it alone.
library(gpcalib)
for (file in c("helper-oracle.R", "helper-hostile-args.R", "helper-hostile.R")) source(file.path("tests/testthat", file))
given <- as.numeric(commandArgs(TRUE))
calls <- if (length(given) > 0) given[1] else 10000
first <- if (length(given) > 1) given[2] else 1
options(warn = 1)
answered <- refused <- 0
wrong <- character()
slowest <- c(seed = 0, seconds = 0)
for (seed in first + seq_len(calls) - 1) {
  time <- sum(system.time(result <- hostile_call(seed))[1:2])
  if (time > slowest[["seconds"]]) slowest <- c(seed = seed, seconds = time)
  if (is.character(result)) {
    wrong <- c(wrong, result)
    message(result)
  } else if (attr(result, "answered")) {
    answered <- answered + 1
  } else {
    refused <- refused + 1
  }
}
cat(calls, "hostile calls:", answered, "valid answers,", refused, "errors of ours,", length(wrong),
  "wrong; the slowest took", slowest[["seconds"]], "s (seed", slowest[["seed"]], ")\n")
quit(status = length(wrong) > 0)
