# Rscript bench/monotone-speed.R: what calib_gp(monotone = TRUE) costs in a fit and in predictions, in units of
# unit.c's softmax of the same matrix, timed in turns in one run.

library(gpcalib)
source("bench/helper.R")
set.seed(1)
logits <- function(n, k) matrix(rnorm(n * k, sd = 3), n, k)
drawn <- function(z) max.col(z / 1.7 - log(-log(matrix(runif(length(z)), nrow(z)))))
rounds <- if (Sys.getenv("GPCALIB_BENCH") == "quick") 2 else 5

z <- logits(1000, 1000)
y <- drawn(z)
free <- calib_gp(z, y, class_effects = "none")
fit <- calib_gp(z, y, monotone = TRUE)
fits <- time_in_turns(list(unit = one_softmax(z), free = function() calib_gp(z, y, class_effects = "none"),
  monotone = function() calib_gp(z, y, monotone = TRUE)), rounds)
few <- calib_gp(z[1:150, ], y[1:150], monotone = TRUE) # little known: more rows need more functions
z <- logits(10000, 1000)
peak <- function(f) {
  gc(reset = TRUE, full = TRUE)
  f()
  sum(gc(full = TRUE)[, 6])
}
base <- peak(function() NULL)
memory <- peak(function() predict(fit, z)) - base
large <- time_in_turns(list(unit = one_softmax(z), free = function() predict(free, z), monotone = function() predict(fit, z),
  few = function() predict(few, z), mean = function() predict(fit, z, approx = "mean"),
  two = function() predict(fit, z, threads = 2)), rounds)
ratio <- function(times, name) stats::median(times[, name] / times[, "unit"])
row <- function(what, value, target = "") {
  data.frame(what = what, softmaxes = sprintf("%.1f", value), target = target)
}
table <- rbind(
  row("fit, 1000 x 1000, free", ratio(fits, "free")), row("fit, 1000 x 1000, monotone", ratio(fits, "monotone")),
  row("predict, 10,000 x 1000, free", ratio(large, "free")), row("predict, monotone", ratio(large, "monotone"), "at most 12"),
  row("predict, monotone, fit of 150 rows", ratio(large, "few"), "at most 12"),
  row("predict, monotone, `approx = \"mean\"`", ratio(large, "mean")), row("predict, monotone, two threads", ratio(large, "two")))
write_report("monotone-speed", "The speed of maps that keep the order", c(
  paste("Medians over", rounds, "rounds of the time divided by that of one softmax of the same matrix (`bench/unit.c`)",
    "in the same round, on a machine with other work."),
  sprintf("Passes of the fit over the data: %d without the promise, %d with it.", free$passes, fit$passes),
  sprintf("Memory of the prediction of 10,000 x 1000 beyond the scores: %.0f MB, of which its answer is 76 MB.", memory), "",
  markdown_table(table)))
