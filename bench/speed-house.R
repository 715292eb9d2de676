# Rscript bench/speed-house.R: the speed of what we have against the targets, in units of
# unit.c, all timed in turns in one run. `make bench` calls it.

library(gpcalib)
source("bench/helper.R")
set.seed(1)

logits <- function(n, k) matrix(rnorm(n * k, sd = 3), n, k)
drawn <- function(log_p) max.col(log_p - log(-log(matrix(runif(length(log_p)), nrow(log_p)))))

# Softmax and temperature scaling at 1000 x 1000 --------------------------------------------

z <- logits(1000, 1000)
y <- drawn(z / 3)
small <- time_in_turns(list(
  unit = one_softmax(z), kernel = our_softmax(z),
  fit = function() calib_temperature(z, y), fit2 = function() calib_temperature(z, y, threads = 2)
), 60)

# 10,000 x 1000, and two threads ------------------------------------------------------------

z <- logits(10000, 1000)
fit <- calib_temperature(z[1:1000, ], drawn(z[1:1000, ] / 3))
large <- time_in_turns(list(
  unit = one_softmax(z), kernel = our_softmax(z), kernel2 = our_softmax(z, 2L),
  predict = function() predict(fit, z), predict2 = function() predict(fit, z, threads = 2)
), 15)
rm(z)

# ECE of 1e6 x 10 ---------------------------------------------------------------------------

p <- predict(calib_none(matrix(0, 2, 10), 1:2, input = "logits"), logits(1e6, 10))
y <- drawn(log(p))
p <- unname(p)
f <- factor(letters[y])
many <- time_in_turns(list(
  unit = one_row_max(p), numbers = function() ece(p, y, bins = 100), factor = function() ece(p, f, bins = 100)
), 25)

# The report --------------------------------------------------------------------------------

row <- function(what, seconds, job, unit, target = NA, at_least = FALSE, per = "unit") {
  ratio <- c(stats::median(seconds[, job]) / stats::median(seconds[, per]),
    min(seconds[, job]) / min(seconds[, per]))
  if (at_least) ratio <- 1 / ratio
  met <- if (at_least) ratio[1] >= target else ratio[1] <= target
  data.frame(what = what, unit = unit,
    target = if (is.na(target)) "" else paste(if (at_least) "at least" else "at most", target),
    median = round(ratio[1], 2), minimum = round(ratio[2], 2),
    met = if (is.na(target)) "" else if (met) "yes" else "NO")
}
table <- rbind(
  row("our softmax, 1000 x 1000", small, "kernel", "softmaxes", 1),
  row("our softmax, 10,000 x 1000", large, "kernel", "softmaxes", 1),
  row("calib_temperature, 1000 x 1000", small, "fit", "softmaxes", 6),
  row("predict of calib_temperature, 10,000 x 1000", large, "predict", "softmaxes"),
  row("ece, 1e6 x 10, labels whole numbers", many, "numbers", "row maximum passes", 2),
  row("ece, 1e6 x 10, labels a factor", many, "factor", "row maximum passes", 2),
  row("two threads, our softmax, 10,000 x 1000", large, "kernel2", "times faster", 1.6, TRUE,
    "kernel"),
  row("two threads, predict, 10,000 x 1000", large, "predict2", "times faster", 1.6, TRUE,
    "predict"),
  row("two threads, calib_temperature, 1000 x 1000", small, "fit2", "times faster", 1.4, TRUE,
    "fit")
)
per_score <- function(seconds, scores) format(1e9 * stats::median(seconds) / scores, digits = 2)
load <- tryCatch(scan("/proc/loadavg", n = 1, quiet = TRUE), error = function(e) NA)
write_report("speed-house", "Speed of the calibrator path and the measures", c(
  "Ratios of times taken in turns in one run, by medians and by minima; targets refer to the",
  "medians. `bench/unit.c` defines the units. What is called from R includes checks, allocation",
  "of the result and everything else; our softmax alone is timed into a buffer, like its unit.",
  "", paste0("One softmax took ", per_score(small[, "unit"], 1e6), " ns per score at 1000 x 1000 ",
    "and ", per_score(large[, "unit"], 1e7), " at 10,000 x 1000, one row maximum pass ",
    per_score(many[, "unit"], 1e7), ". Load at the end ", load, " on ", parallel::detectCores(),
    " cores: ratios of threads mean nothing unless it is about 1.5 or less."), "",
  markdown_table(table)
))
