# Rscript bench/pictures.R: what calib_gp() spends on what it keeps for autoplot(), as a share of the
# fit; and that drawing does not grow with the rows. Timed in turns in one run.

library(gpcalib)
source("bench/helper.R")
set.seed(1)
logits <- function(n, k) matrix(rnorm(n * k, sd = 3), n, k)
drawn <- function(z) max.col(z / 1.7 - log(-log(matrix(runif(length(z)), nrow(z)))))

# The part alone, called as the fit calls it.
part <- function(z, y) {
  threads <- 1L
  data <- gpcalib:::check_calibration(z, y, "auto", NULL)
  prep <- .Call(gpcalib:::C_gp_prepare, z, -Inf, TRUE, threads)
  names(prep$range) <- c("lowest", "highest", "low", "high")
  function() gpcalib:::scores_seen(data, z, "linear", -Inf, prep$shift, prep$range, threads)
}
sizes <- list(c(1000, 10), c(1000, 100), c(1000, 1000), c(1000, 4000), c(20000, 10), c(200000L, 2L))
fits <- do.call(rbind, lapply(sizes, function(size) {
  z <- logits(size[1], size[2])
  y <- factor(drawn(z), levels = seq_len(size[2]))
  seconds <- time_in_turns(list(unit = one_softmax(z), fit = function() calib_gp(z, y),
    seen = part(z, y)), if (prod(size) > 2e6) 7 else 15)
  least <- apply(seconds, 2, min)
  fit <- calib_gp(z, y)
  full <- calib_temperature(z, y)
  data.frame(rows = sprintf("%d", as.integer(size[1])), classes = size[2], passes = fit$passes, fit = sprintf("%.2f", least["fit"] / least["unit"]),
    kept = sprintf("%.2f", least["seen"] / least["unit"]),
    share = sprintf("%.1f %%", 100 * least["seen"] / least["fit"]),
    `rows used` = fit$scores_seen$rows,
    `temperature (all rows)` = sprintf("%.3f (%.3f)", fit$scores_seen$temperature, full$temperature),
    check.names = FALSE)
}))

# Tables and pictures of a million rows, in units of a pass that finds the row maxima.
draw <- function(plot) ggplot2::ggplotGrob(plot)
n <- 1000000
p <- runif(n)
y <- rbinom(n, 1, p^1.2)
two <- cbind(1 - p, p)
jobs <- list(
  unit = one_row_max(two),
  `reliability diagram` = function() draw(plot_reliability(two, y)),
  `event, equal mass` = function() draw(plot_reliability(two, y, type = "event", binning = "mass")),
  `isotonic, 100 replicates` = function() {
    draw(plot_reliability(two, y, type = "event", method = "isotonic"))
  },
  `over- and underconfidence` = function() draw(plot_confidence(two, y))
)
seconds <- apply(time_in_turns(jobs, 3), 2, min)
pictures <- data.frame(picture = names(jobs)[-1], seconds = sprintf("%.2f", seconds[-1]),
  `passes for the maxima` = sprintf("%.0f", seconds[-1] / seconds[1]), check.names = FALSE)

write_report("pictures", "What pictures cost", c(
  "`calib_gp()` keeps a histogram of its scores and a temperature for `autoplot()`. Smallest of 7 to 15",
  "timings in turns: the default fit and that part of it, in softmaxes (the machine was shared with other",
  "jobs). The temperature kept rests on the rows used; that of all rows is in brackets.", "",
  markdown_table(fits), "",
  "A million rows of two classes, table and drawing together (smallest of 3):", "",
  markdown_table(pictures)
))
