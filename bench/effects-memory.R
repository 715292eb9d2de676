# Rscript bench/effects-memory.R: the most memory that default fits hold beyond their input, in MB and in sizes of the
# scores. SIZES="1000x2 2000x10" measures those only. One fit of 50 rows comes first, so that what R loads of the
# package with its first call is not counted. Two measures:
#
# held: R's heap with the core's work space, which is not on it. R collects its garbage after every twenty allocations
# (gctorture2()): what a call has left and R has not yet collected is counted, so that these figures are upper limits.
#
# process: by how much the resident memory of a process rises at the most (Linux: VmHWM, set back just before the fit),
# as users see it: with the garbage that R does not collect within a fit, and without what the process has free already, as
# after reading the data. A process of its own for each fit, the largest of three.

library(gpcalib)
source("bench/helper-report.R")

sizes <- strsplit(Sys.getenv("SIZES",
  "1000x2 200000x2 1000x10 2000x10 8000x10 32000x10 200000x10 1000x100 5000x100 20000x100 20000x200 1000x1000"), " ")[[1]]
quietly <- function(expr) suppressMessages(suppressWarnings(expr))

# As in bench/effects-speed.R, with effects.
simulated <- function(n, k) {
  z <- matrix(stats::rnorm(n * k, sd = 3), n, k)
  f <- z / 2 + rep(if (k == 2) c(-1, 1) else stats::rnorm(k), each = n)
  if (k == 10) f <- f + z %*% matrix(stats::rnorm(k * k, sd = 0.15), k)
  list(scores = z, labels = max.col(f - log(-log(matrix(stats::runif(n * k), n)))))
}

heap <- function(what) gc()[2, what] * 8 / 2^20

# stop_gp() has what the core returns, with the bytes of its work space.
with_room <- 0
invisible(quietly(trace("stop_gp", quote(with_room <<- max(with_room, fit$room / 2^20 + heap("used"))),
  where = asNamespace("gpcalib"), print = FALSE)))

memory_of <- function(d, ...) {
  invisible(gc(reset = TRUE))
  before <- heap("used")
  with_room <<- 0
  gctorture2(20)
  on.exit(gctorture2(0))
  quietly(calib_gp(d$scores, d$labels, ...))
  gctorture2(0)
  max(heap("max used"), with_room) - before
}

script <- tempfile(fileext = ".R")
writeLines(c(
  "library(gpcalib)",
  "args <- commandArgs(TRUE)",
  "data <- readRDS(args[1])",
  "quietly <- function(expr) suppressMessages(suppressWarnings(expr))",
  "warm <- quietly(calib_gp(data$warm$scores, data$warm$labels))",
  "status <- function(field) as.numeric(gsub('[^0-9]', '', grep(field, readLines('/proc/self/status'), value = TRUE))) / 1024",
  "invisible(status('VmRSS'))",
  "invisible(gc())",
  "writeLines('5', '/proc/self/clear_refs')",
  "before <- status('VmRSS')",
  "fit <- quietly(calib_gp(data$d$scores, data$d$labels, class_effects = args[2]))",
  "cat(status('VmHWM') - before)"), script)

process_of <- function(d, class_effects) {
  data <- tempfile(fileext = ".rds")
  on.exit(unlink(data))
  saveRDS(list(d = d, warm = warm), data, compress = FALSE)
  once <- function(i) {
    out <- tryCatch(system2(file.path(R.home("bin"), "Rscript"), c(script, data, class_effects), stdout = TRUE, stderr = FALSE),
      error = function(e) "", warning = function(w) "")
    c(suppressWarnings(as.numeric(utils::tail(out, 1))), NA)[1]
  }
  max(vapply(1:3, once, 0))
}

measure <- function(size) {
  n <- as.numeric(strsplit(size, "x")[[1]])
  set.seed(1)
  d <- simulated(n[1], n[2])
  scores <- 8 * prod(n) / 2^20
  columns <- function(name, got) {
    out <- data.frame(round(got, 1), round(got / scores, 1), if (is.na(got)) "not measured" else if (got <= 3 * scores) "yes" else "NO")
    stats::setNames(out, paste0(name, c(" (MB)", ", times", ", met")))
  }
  cbind(data.frame(rows = n[1], classes = n[2], `scores (MB)` = round(scores, 2), check.names = FALSE),
    columns("held", memory_of(d)), columns("process", process_of(d, "auto")),
    columns("none: held", memory_of(d, class_effects = "none"))[1:2], columns("none: process", process_of(d, "none"))[1:2])
}

set.seed(1)
warm <- simulated(50, 2)
invisible(quietly(calib_gp(warm$scores, warm$labels)))
table <- do.call(rbind, lapply(sizes, measure))
write_report("effects-memory", "Memory of a fit", c(
  paste("`Rscript bench/effects-memory.R`. The most memory that a fit holds beyond its input, in MB and in sizes of the scores (at most 3),",
    "of the default and of `class_effects = \"none\"`. A fit of 50 rows was made before, so that what R loads with the first call is not",
    "counted."), "",
  "* held: R's heap, garbage collected after every twenty allocations, with the work space of the core: an upper limit of what is in use.",
  paste("* process: the growth of the resident memory of a process of its own (VmHWM), as users see it, the largest of three: with garbage that R",
    "has not collected, and without what the process has free already, as after reading the data."), "",
  markdown_table(table)))
