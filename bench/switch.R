# Rscript bench/switch.R: what calib_switch() says is still to be gained, beside what a fit to 2000 other labels gains on
# held-out rows. Data as bench/gp-data.R; about a minute. Results in bench/results/switch.md.

library(gpcalib)
folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
sets <- c("nba538", "imdb", "hpc_cv", "kitti7_randomforest", "satellite_lda", "cifar10_wrn16_4")
repeats <- 10
lines <- c("| data | labels | gain as said | gain in fact | decision at .01: calibration |", paste0("|", strrep("---|", 5)))
for (name in sets) {
  d <- readRDS(file.path(folder, paste0(name, ".rds")))
  y <- factor(d$labels, levels = seq_len(ncol(d$scores)))
  for (n in c(100, 300, 1000)) {
    found <- vapply(seq_len(repeats), function(seed) {
      set.seed(seed)
      order <- sample(nrow(d$scores))
      few <- order[seq_len(n)]
      rest <- order[-seq_len(n)]
      many <- rest[seq_len(min(2000, length(rest) %/% 2))]
      test <- utils::head(setdiff(rest, many), 3000)
      fit <- function(rows) suppressWarnings(calib_gp(d$scores[rows, ], y[rows]))
      loss <- function(fit) log_loss(suppressWarnings(predict(fit, d$scores[test, ])), y[test])
      first <- fit(few)
      says <- suppressWarnings(calib_switch(first, d$scores[test[1:500], ]))
      c(says$gain, loss(first) - loss(fit(many)), says$decision == "calibration")
    }, numeric(3))
    say <- function(x) sprintf("%.4f (%.4f)", mean(x), stats::sd(x) / sqrt(length(x)))
    lines <- c(lines, sprintf("| %s | %d | %s | %s | %.0f %% |", name, n, say(found[1, ]), say(found[2, ]), 100 * mean(found[3, ])))
    cat(lines[length(lines)], "\n")
  }
}
writeLines(c("# What calib_switch() says, and what is", "", sprintf("%s, R %s; `Rscript bench/switch.R`. Default fits of calib_gp().", Sys.Date(), getRversion()), "",
  sprintf("Gain as said: by calib_switch(), from 500 unlabelled rows. Gain in fact: the log loss of the fit on up to 3000 held-out rows less that of a fit to 2000 other labels (or half of the rest). Means over %d samples (standard errors).", repeats),
  "", lines), "bench/results/switch.md")
