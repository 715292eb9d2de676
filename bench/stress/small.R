# Rscript bench/stress/small.R [from [to]]: fits of small random problems (tests/testthat/helper-small.R), 300 by default, each by its seed:
# no error, no NaN, and no bound that more passes lower.

library(gpcalib)
source("tests/testthat/helper-small.R")

given <- as.integer(commandArgs(TRUE))
seeds <- seq.int(if (length(given)) given[1] else 1L, if (length(given) > 1) given[2] else 300L)
wrong <- 0
for (seed in seeds) {
  problem <- small_problem(seed)
  what <- small_wrong(problem)
  if (is.null(what)) next
  wrong <- wrong + 1
  cat("seed ", seed, " (", problem$kind, ", ", problem$n, " x ", problem$k, ", ", problem$effects, "): ", what, "\n", sep = "")
}
cat("small: ", length(seeds), " problems, ", wrong, " wrong\n", sep = "")
quit(status = if (wrong) 1 else 0)
