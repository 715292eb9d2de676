# Rscript bench/effects-memory.R: the most memory that default fits hold beyond their input, in MB and in sizes of the
# scores. SIZES="1000x2 2000x10" measures those only. One fit of 50 rows comes first, so that what R loads of the
# package with its first call is not counted. R collects its garbage after every twenty allocations (gctorture2()):
# what a call has left and R has not yet collected is counted, so that these figures are upper limits.

library(gpcalib)
source("bench/helper-report.R")

sizes <- strsplit(Sys.getenv("SIZES",
  "1000x2 1000x10 2000x10 8000x10 32000x10 200000x10 1000x100 5000x100 20000x100 1000x1000"), " ")[[1]]
quietly <- function(expr) suppressMessages(suppressWarnings(expr))

# As in bench/effects-speed.R, with effects.
simulated <- function(n, k) {
  z <- matrix(stats::rnorm(n * k, sd = 3), n, k)
  f <- z / 2 + rep(if (k == 2) c(-1, 1) else stats::rnorm(k), each = n)
  if (k == 10) f <- f + z %*% matrix(stats::rnorm(k * k, sd = 0.15), k)
  list(scores = z, labels = max.col(f - log(-log(matrix(stats::runif(n * k), n)))))
}

memory_of <- function(d, ...) {
  invisible(gc(reset = TRUE))
  before <- gc()[2, 2]
  gctorture2(20)
  on.exit(gctorture2(0))
  quietly(calib_gp(d$scores, d$labels, ...))
  gctorture2(0)
  gc()[2, 6] - before
}

measure <- function(size) {
  n <- as.numeric(strsplit(size, "x")[[1]])
  set.seed(1)
  d <- simulated(n[1], n[2])
  scores <- 8 * prod(n) / 2^20
  got <- c(memory_of(d), memory_of(d, class_effects = "none"))
  data.frame(rows = n[1], classes = n[2], `scores (MB)` = round(scores, 2), `default (MB)` = got[1], times = round(got[1] / scores, 1),
    met = if (got[1] <= 3 * scores) "yes" else "NO", `none (MB)` = got[2], `times ` = round(got[2] / scores, 1), check.names = FALSE)
}

set.seed(1)
warm <- simulated(50, 2)
invisible(quietly(calib_gp(warm$scores, warm$labels)))
table <- do.call(rbind, lapply(sizes, measure))
write_report("effects-memory", "Memory of a fit", c(
  paste("`Rscript bench/effects-memory.R`. The most memory that a fit holds beyond its input, garbage collected after every twenty",
    "allocations, in MB and in sizes of the scores (at most 3), of the default and of `class_effects = \"none\"`. A fit of 50 rows",
    "was made before, so that what R loads with the first call is not counted."), "",
  markdown_table(table)))
