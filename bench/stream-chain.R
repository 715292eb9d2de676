# Rscript bench/stream-chain.R: a chain of 1000 updates of six rows each: does it drift, does the object grow? Results in
# bench/results/stream-chain.md. Data as bench/gp-data.R.

library(gpcalib)
folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
lines <- c("| data | effects | log loss of the chain | of a fit of all rows | largest difference of a probability | bytes after the first fit | at the end | at the most |",
  paste0("|", strrep("---|", 8)))
for (name in c("nba538", "imdb", "cifar100_resnet50_test")) for (effects in c("auto", "none")) {
  d <- readRDS(file.path(folder, paste0(name, ".rds")))
  labels <- factor(d$labels, levels = seq_len(ncol(d$scores)))
  set.seed(1)
  rows <- sample(nrow(d$scores))
  cal <- rows[1:6100]
  test <- rows[6101:8800]
  fit_rows <- function(r) suppressWarnings(calib_gp(d$scores[r, ], labels[r], class_effects = effects, integrate = FALSE))
  fit <- fit_rows(cal[1:100])
  most <- first <- as.numeric(object.size(fit))
  for (b in 1:1000) {
    r <- cal[100 + 6 * (b - 1) + 1:6]
    fit <- suppressWarnings(update(fit, d$scores[r, ], labels[r]))
    most <- max(most, as.numeric(object.size(fit)))
  }
  whole <- fit_rows(cal)
  p <- predict(fit, d$scores[test, ])
  q <- predict(whole, d$scores[test, ])
  lines <- c(lines, sprintf("| %s | %s | %.5f | %.5f | %.4f | %.0f | %.0f | %.0f |", name, effects, log_loss(p, labels[test]), log_loss(q, labels[test]),
    max(abs(p - q)), first, as.numeric(object.size(fit)), most))
  cat(utils::tail(lines, 1), "\n")
}
writeLines(c("# A chain of 1000 updates", "", sprintf("%s, R %s; `Rscript bench/stream-chain.R`. 100 rows are fitted, then 1000 batches of six are taken in.",
  Sys.Date(), getRversion()), "", lines), "bench/results/stream-chain.md")
