# Rscript bench/stream-drift.R [REPEATS]: update() where the classifier changes: scores rescaled slowly, at once, or not at all, 40 batches of
# 100 rows of cifar10_wrn16_4, imdb and soccer538. Log loss of every batch before it is taken in, in the mean over batches 6 to 40, for values of forget, for
# forget = "auto", for fits of the last 500 and 1000 rows and of all rows. Fits without effects of the classes. Data as bench/gp-data.R; results in bench/results/stream-drift.md.

library(gpcalib)
repeats <- as.integer(c(commandArgs(TRUE), 3)[1])
folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
batches <- 40
size <- 100
scale_at <- list(none = function(b) 1, slow = function(b) 2^((b - batches / 2) / (batches / 2)), abrupt = function(b) if (b > batches / 2) 2 else 0.7)

run <- function(name, drift, seed) {
  d <- readRDS(file.path(folder, paste0(name, ".rds")))
  k <- ncol(d$scores)
  z <- if (all(d$scores >= -1e-3 & d$scores <= 1 + 1e-3)) log(pmax(d$scores, 1e-6)) else d$scores
  labels <- factor(d$labels, levels = seq_len(k))
  set.seed(seed)
  rows <- matrix(sample(nrow(z), batches * size), size)
  batch <- function(b) z[rows[, b], ] * scale_at[[drift]](b)
  all_scores <- do.call(rbind, lapply(seq_len(batches), batch))
  all_labels <- labels[as.vector(rows)]
  fit_rows <- function(from, to) {
    r <- ((from - 1) * size + 1):(to * size)
    suppressWarnings(calib_gp(all_scores[r, ], all_labels[r], "logits", class_effects = "none", integrate = FALSE))
  }
  loss <- function(fit, b) log_loss(suppressWarnings(predict(fit, batch(b))), labels[rows[, b]], eps = 1e-12)
  moving <- function(forget) {
    fit <- fit_rows(1, 1)
    out <- numeric(batches)
    for (b in 2:batches) {
      out[b] <- loss(fit, b)
      fit <- suppressWarnings(update(fit, batch(b), labels[rows[, b]], forget = forget))
    }
    out
  }
  window <- function(width) c(0, vapply(2:batches, function(b) loss(fit_rows(max(1, b - width), b - 1), b), 0))
  out <- c(lapply(list(`forget 0` = 0, `forget .05` = 0.05, `forget .2` = 0.2, `forget .5` = 0.5, `forget auto` = "auto"), moving),
    list(`last 500` = window(5), `last 1000` = window(10), `all rows` = window(batches)))
  vapply(out, function(x) mean(x[6:batches]), 0)
}

lines <- NULL
for (drift in names(scale_at)) {
  values <- do.call(rbind, lapply(c("cifar10_wrn16_4", "imdb", "soccer538"), function(name) do.call(rbind, lapply(seq_len(repeats), function(s) run(name, drift, s)))))
  if (is.null(lines)) lines <- c(paste0("| change | ", paste(colnames(values), collapse = " | "), " |"), paste0("|", strrep("---|", ncol(values) + 1)))
  lines <- c(lines, paste0("| ", drift, " | ", paste(sprintf("%.4f", colMeans(values)), collapse = " | "), " |"))
  cat(utils::tail(lines, 1), "\n")
}
writeLines(c("# Streaming where the classifier changes", "", sprintf(
  "%s, R %s; `Rscript bench/stream-drift.R %d`. Mean log loss over cifar10_wrn16_4, imdb and soccer538, %d orders each, of batches 6 to 40 of 100 rows, each forecast", Sys.Date(), getRversion(), repeats, repeats),
  "before its rows were taken in. Logits are multiplied by 1 (none), by a factor that rises from 1/2 to 2 (slow), by 0.7 and from batch 21 on by 2 (abrupt).", "", lines),
  "bench/results/stream-drift.md")
