# Rscript bench/monotone-data.R: calib_gp(monotone = TRUE) beside the same process without the promise, on real
# classifier outputs. The data are not part of the package; GPCALIB_DATA says where they are. GPCALIB_SPLITS
# is the number of splits (3).

library(gpcalib)
source("bench/helper.R")

folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
files <- list.files(folder, "\\.rds$", full.names = TRUE)
files <- files[basename(files) != "kitti_features.rds"] # features, not scores
if (length(files) == 0) {
  cat("monotone-data: skipped, there are no data in", folder, "(set GPCALIB_DATA)\n")
  quit(status = 0)
}
splits <- seq_len(as.integer(Sys.getenv("GPCALIB_SPLITS", "3")))
sizes <- c(100, 300, 1000)
most_test <- 2000 # rows to score on

pick <- function(x, rows) if (is.matrix(x)) x[rows, , drop = FALSE] else x[rows]
quiet <- function(x) suppressWarnings(suppressMessages(x))

# Pairs of classes in a row whose order by p is not that by the scores, and ties that are none any more.
wrong_order <- function(p, scores) {
  sum(vapply(seq_len(nrow(p)), function(i) {
    o <- order(scores[i, ], p[i, ])
    a <- scores[i, o]
    b <- p[i, o]
    any(diff(b) < 0) || any(diff(a) == 0 & diff(b) != 0)
  }, NA))
}
as_rows <- function(x) if (is.matrix(x)) x else cbind(1 - x, x)

run_split <- function(data, n, seed) {
  set.seed(seed)
  rows <- sample(NROW(data$scores))
  new <- rows[-seq_len(n)]
  new <- new[seq_len(min(length(new), most_test))]
  x <- pick(data$scores, rows[seq_len(n)])
  labels <- factor(data$labels, levels = seq_len(max(2, NCOL(data$scores))))
  y <- labels[rows[seq_len(n)]]
  free <- quiet(calib_gp(x, y, class_effects = "none"))
  ordered <- quiet(calib_gp(x, y, monotone = TRUE))
  test <- pick(data$scores, new)
  loss <- function(fit, ...) log_loss(quiet(predict(fit, test, ...)), labels[new], eps = 1e-12)
  p <- quiet(predict(ordered, test))
  raw <- max.col(as_rows(test), "first")
  p0 <- quiet(predict(free, test))
  c(free = log_loss(p0, labels[new], eps = 1e-12), ordered = log_loss(p, labels[new], eps = 1e-12),
    free_mean = loss(free, approx = "mean"), ordered_mean = loss(ordered, approx = "mean"),
    cost = ordered$order_cost, changed = sum(max.col(p0, "first") != raw),
    changed_ordered = sum(as.integer(quiet(predict(ordered, test, type = "class"))) != raw),
    wrong = wrong_order(p, as_rows(test)), rows = length(new))
}

cells <- list()
for (file in files) {
  data <- readRDS(file)
  name <- sub("\\.rds$", "", basename(file))
  for (n in sizes[sizes <= NROW(data$scores) / 2]) {
    runs <- vapply(splits, function(seed) run_split(data, n, seed), numeric(9))
    apart <- runs["ordered", ] - runs["free", ]
    cells[[length(cells) + 1]] <- data.frame(data = name, n = n, free = mean(runs["free", ]),
      ordered = mean(runs["ordered", ]), apart = mean(apart), se = stats::sd(apart) / sqrt(length(apart)),
      mean_apart = mean(runs["ordered_mean", ] - runs["free_mean", ]), cost = stats::median(runs["cost", ]),
      most_cost = max(runs["cost", ]), changed = sum(runs["changed", ]),
      changed_ordered = sum(runs["changed_ordered", ]), wrong = sum(runs["wrong", ]), rows = sum(runs["rows", ]))
  }
  cat(name, "")
}
cat("\n")
table <- do.call(rbind, cells)
large <- table[table$n == 1000, ]
averages <- vapply(sizes, function(n) mean(table$apart[table$n == n]), 0)
shown <- data.frame(data = table$data, n = as.character(table$n), free = sprintf("%.4f", table$free),
  monotone = sprintf("%.4f", table$ordered), `difference (s.e.)` = sprintf("%+.4f (%.4f)", table$apart, table$se),
  `at the mean` = sprintf("%+.4f", table$mean_apart),
  `order_cost (largest)` = sprintf("%.2f (%.2f)", table$cost, table$most_cost),
  `argmax changed by the free map` = sprintf("%d of %d", as.integer(table$changed), as.integer(table$rows)),
  `by the monotone one` = as.character(table$changed_ordered), `rows out of order` = as.character(table$wrong),
  check.names = FALSE)
write_report("monotone-data", "Keeping the order of the scores, on real data", c(
  paste0("Splits `set.seed(s); sample(N)`, s = 1..", length(splits), ": the first n rows calibrate, up to ", most_test, " of the"),
  "others test. Mean log loss (probabilities clipped at 1e-12) of `calib_gp(class_effects = \"none\")` and of",
  "`calib_gp(monotone = TRUE)`, both with `predict()`'s default, their difference with its standard error over the",
  "splits, and the same difference for `approx = \"mean\"`. `order_cost` in nats, median over the splits. Argmax: rows",
  "whose most likely class is not that of the scores. A row is out of order when any two of its classes are, or a",
  "tie is broken.", "", markdown_table(shown), "", "## Summary", "",
  sprintf("Average difference at n = %s: %s.", paste(sizes, collapse = ", "), paste(sprintf("%+.5f", averages), collapse = ", ")),
  sprintf("Largest difference at n = 1000: %+.4f (%s); allowed 0.002: %s. Better on average at n = 100: %s.",
    max(large$apart), large$data[which.max(large$apart)], if (max(large$apart) <= 0.002) "met" else "NOT met",
    if (averages[1] < 0) "yes" else "NO"),
  sprintf("Rows whose argmax the monotone map changes: %d; rows out of order: %d, of %d.", as.integer(sum(table$changed_ordered)),
    as.integer(sum(table$wrong)), as.integer(sum(table$rows)))))
