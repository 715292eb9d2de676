# Rscript bench/stream.R [ORDERS]: update() of calib_gp() batch by batch against fits of all rows so far: log loss on
# held-out rows at batches 5, 10, 15 and 20 of 100 rows, how far orders of the batches are apart, and the time of an
# update as a share of that of the fit of all rows. Data as bench/gp-data.R. Results in bench/results/stream.md.

library(gpcalib)
orders <- as.integer(c(commandArgs(TRUE), 2)[1])
folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
sets <- c("cifar10_wrn16_4", "imdb", "hpc_cv", "kitti7_randomforest", "mnist_randomforest", "nba538", "satellite_lda",
  "newsgroups20")
out <- c("# Streaming against fits of all rows", "", sprintf(
  "%s, R %s; `Rscript bench/stream.R %d`. 100 rows a batch, %d orders, class_effects = \"none\".", Sys.Date(),
  getRversion(), orders, orders), "", paste("| data | log loss of the fit of all 20 batches | streaming less that, at batch 5 | 10 | 15 | 20",
  "| largest of these | last batch alone, less it | orders apart (log loss) | update / fit of all (time) |"), paste0("|", strrep("---|", 10)))
for (name in sets) {
  d <- readRDS(file.path(folder, paste0(name, ".rds")))
  labels <- factor(d$labels, levels = seq_len(ncol(d$scores)))
  set.seed(17)
  rows <- sample(nrow(d$scores))
  n <- min(2000, 100 * (length(rows) %/% 200))
  test <- head(rows[-seq_len(n)], 4000)
  loss <- function(fit) log_loss(predict(fit, d$scores[test, ]), labels[test])
  fit_rows <- function(r) suppressWarnings(calib_gp(d$scores[r, ], labels[r], class_effects = "none"))
  results <- lapply(seq_len(orders), function(o) {
    order <- if (o == 1) rows[seq_len(n)] else sample(rows[seq_len(n)])
    fit <- fit_rows(order[1:100])
    took <- 0
    gaps <- c()
    for (b in 2:(n / 100)) {
      r <- order[100 * (b - 1) + 1:100]
      took <- took + system.time(fit <- suppressWarnings(update(fit, d$scores[r, ], labels[r])))[["user.self"]]
      if (b %% 5 == 0) {
        time <- system.time(whole <- fit_rows(order[seq_len(100 * b)]))[["user.self"]]
        gaps <- c(gaps, loss(fit) - loss(whole))
      }
    }
    list(gaps = c(gaps, rep(NA, 4))[1:4], all = loss(whole), own = loss(fit), last = loss(fit_rows(r)) - loss(whole),
      ratio = took / (n / 100 - 1) / time)
  })
  gaps <- do.call(rbind, lapply(results, `[[`, "gaps"))
  own <- vapply(results, `[[`, 0, "own")
  say <- function(x) paste(ifelse(is.na(x), "-", sprintf("%.4f", x)), collapse = " | ")
  out <- c(out, sprintf("| %s | %s | %s | %s | %s | %s | %.2f |", name, say(mean(vapply(results, `[[`, 0, "all"))),
    say(colMeans(gaps)), say(max(gaps, na.rm = TRUE)), say(mean(vapply(results, `[[`, 0, "last"))), say(diff(range(own))),
    mean(vapply(results, `[[`, 0, "ratio"))))
  cat(tail(out, 1), "\n")
  writeLines(out, "bench/results/stream.md")
}
