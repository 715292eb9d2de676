# Rscript bench/workbench-speed.R: what comparing and testing forecasts of a million rows costs, in
# seconds and in softmaxes of the same matrix (bench/unit.c) timed in the same run.

library(gpcalib)
source("bench/helper.R")
set.seed(1)
n <- 1e6
score <- rnorm(n, sd = 1.5)
p <- plogis(score)
q <- plogis(1.3 * score + rnorm(n, sd = 0.3))
y <- as.integer(runif(n) < p)
z <- matrix(rnorm(n * 5), n)
five <- exp(z) / rowSums(exp(z))
blur <- (five + 0.1) / rowSums(five + 0.1)
y5 <- ordered(max.col(log(five) - log(-log(matrix(runif(n * 5), n)))))
groups <- rep(seq_len(n / 20), each = 20)
platt <- calib_platt(p, y, scale = "logit")
venn <- calib_isotonic(p, y, type = "venn-abers")

two_jobs <- list(
  softmax = one_softmax(cbind(0, score)),
  "compare_forecasts, two forecasts" = function() compare_forecasts(list(a = p, b = q), y),
  "compare_forecasts, two forecasts, 50,000 groups" = function() compare_forecasts(list(a = p, b = q), y, groups = groups),
  "plot_murphy, two forecasts" = function() plot_murphy(list(a = p, b = q), y),
  "smooth_ece" = function() smooth_ece(p, y),
  "calib_test, likelihood" = function() calib_test(p, y),
  "calib_test, spiegelhalter" = function() calib_test(p, y, "spiegelhalter"),
  "calib_test, mcb, 99 redraws" = function() calib_test(p, y, "mcb"),
  "calib_test, skce (linear)" = function() calib_test(p, y, "skce"),
  "estimate_prior" = function() estimate_prior(platt, p),
  "predict, intervals (Platt)" = function() predict(platt, p, type = "interval"),
  "calib_isotonic, venn-abers" = function() calib_isotonic(p, y, type = "venn-abers"),
  "predict, venn-abers" = function() predict(venn, p)
)
five_jobs <- list(
  softmax = one_softmax(z),
  "compare_forecasts, two forecasts, three scores" = function() compare_forecasts(list(a = five, b = blur), y5),
  "calib_test, likelihood" = function() calib_test(five, y5)
)
report <- function(jobs, what) {
  seconds <- apply(time_in_turns(jobs, 3), 2, min)
  data.frame(job = paste0(names(seconds), what), seconds = sprintf("%.2f", seconds),
    softmaxes = sprintf("%.0f", seconds / seconds[["softmax"]]))
}
table <- rbind(report(two_jobs, ""), report(five_jobs, ", 5 classes"))
write_report("workbench-speed", "Comparing and testing forecasts of a million rows", c(
  "Best of three rounds in turns, one thread; a softmax is that of the same matrix. Two classes unless said.", "",
  markdown_table(table)))
