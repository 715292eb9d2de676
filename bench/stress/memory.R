# Rscript bench/stress/memory.R [FITS]: that many fits, each with a prediction (default 10,000), over all
# methods; the resident size after them against that after the first tenth.
suppressMessages(library(gpcalib))
source("bench/stress/_calls.R")
fits <- as.integer(c(commandArgs(TRUE), 10000)[1])
resident <- function() {
  gc(full = TRUE)
  as.numeric(sub("[^0-9]*([0-9]+).*", "\\1", grep("VmRSS", readLines("/proc/self/status"), value = TRUE))) / 1024
}
d <- small_data(60, 4)
bad <- matrix(NA_real_, 60, 4)
size <- numeric()
for (i in seq_len(fits)) {
  f <- fitters[[i %% length(fitters) + 1]]
  fit <- suppressWarnings(f(if (i %% 2) d$z else d$p, d$y))
  p <- predict(fit, if (i %% 2) d$z else d$p)
  if (i %% 10 == 0) try(f(bad, d$y), silent = TRUE) # errors must not leak either
  if (i %% max(1, fits %/% 10) == 0) size <- c(size, resident())
}
growth <- tail(size, 1) - size[1]
cat(fits, "fits and predictions, resident MB after each tenth:", format(size, digits = 4), "; growth",
  format(growth, digits = 2), "MB\n")
quit(status = growth > 8)
