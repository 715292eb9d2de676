# Rscript bench/few-rows.R: how many calibration rows are enough? calib_gp() on random calibration rows of real classifier outputs,
# judged on other rows: the log loss beyond that of a fit of up to 5000 rows, how often calibration was worse than none, and for two classes
# the recalibration slope of the calibrated probabilities. The limits in R/few-rows.R rest on this. The data are not part of the
# package; GPCALIB_DATA says where they are.

suppressPackageStartupMessages(library(gpcalib))
folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
splits <- as.integer(Sys.getenv("GPCALIB_SPLITS", "20"))
sizes <- c(50, 100, 200, 400, 1000)
sets <- c("credit_gbm_down", "imagenet_resnet34_top1", "imdb", "kitti2_adaboost", "kitti2_xgboost", "nba538", "wachurn_rf_down",
  "soccer538", "hpc_cv", "satellite_lda", "kitti7_nn", "cifar10_wrn16_4", "newsgroups20", "letter_qda")
if (!dir.exists(folder)) {
  cat("few-rows: skipped, there are no data in", folder, "(set GPCALIB_DATA)\n")
  quit(status = 0)
}

quietly <- function(expr) suppressMessages(suppressWarnings(expr))
loss <- function(p, y) log_loss(p, y, eps = 1e-12)
slope_of <- function(p, y) { # logistic regression of the event on the log-odds of its probability
  q <- stats::qlogis(pmin(pmax(p[, 2], 1e-6), 1 - 1e-6))
  stats::coef(stats::glm.fit(cbind(1, q), y == 2, family = stats::binomial()))[[2]]
}

one_split <- function(set, s, x, y) {
  set.seed(s)
  rows <- sample(length(y))
  test <- rows[seq_len(min(4000, length(rows) %/% 2))]
  pool <- setdiff(rows, test)
  fitted <- function(n) calib_gp(x[pool[seq_len(n)], ], y[pool[seq_len(n)]])
  before <- loss(predict(calib_none(x[pool, ], y[pool]), x[test, ]), y[test])
  best <- loss(predict(fitted(min(length(pool), 5000)), x[test, ]), y[test])
  do.call(rbind, lapply(sizes[sizes < length(pool) / 1.2], function(n) {
    after <- predict(fitted(n), x[test, ])
    data.frame(set = set, classes = ncol(x), n = n, rarer = min(tabulate(y[pool[seq_len(n)]], ncol(x))), excess = loss(after, y[test]) - best,
      gain = before - loss(after, y[test]), ece = ece(after, y[test]), slope = if (ncol(x) == 2) slope_of(after, y[test]) else NA)
  }))
}

results <- do.call(rbind, lapply(sets, function(set) {
  data <- readRDS(file.path(folder, paste0(set, ".rds")))
  x <- unname(as.matrix(data$scores))
  each <- if (ncol(x) > 10) min(splits, 5) else if (ncol(x) > 2) min(splits, 10) else splits
  message(set)
  quietly(do.call(rbind, lapply(seq_len(each), function(s) one_split(set, s, x, as.integer(data$labels)))))
}))
saveRDS(results, file.path(Sys.getenv("BUILD", ".build"), "few-rows.rds"))

say <- function(x, digits = 3) formatC(x, digits = digits, format = "f")
rows_of <- function(part, name) {
  cat("| ", name, " | ", length(unique(part$set)), " | ", say(mean(part$excess)), " | ", say(stats::quantile(part$excess, 0.9)), " | ",
    say(100 * mean(part$gain < 0), 0), " | ", say(mean(part$ece)), " | ", if (!anyNA(part$slope)) {
      paste(say(stats::quantile(part$slope, c(0.05, 0.95)), 2), collapse = " to ")
    }, " |\n", sep = "")
}
head <- function(first) {
  cat("| ", first, " | sets | excess, mean | excess, 90 % quantile | worse than none, % | ECE | slope, 5 % to 95 % |\n|---|---|---|---|---|---|---|\n", sep = "")
}
report <- function() {
  cat("# How many calibration rows are enough?\n\n`Rscript bench/few-rows.R`, ", format(Sys.Date()), ", gpcalib ", format(utils::packageVersion("gpcalib")), ". ",
    "`calib_gp()` as it comes, fitted to random calibration rows, judged on others (half of the set, at most 4000): ", splits, " splits of sets of two classes, 10 up to ",
    "ten classes, 5 of more. Excess: log loss less that of a fit of up to 5000 other rows. Slope: recalibration slope of the calibrated probabilities (best: 1).\n", sep = "")
  for (two in c(TRUE, FALSE)) {
    part <- results[(results$classes == 2) == two, ]
    cat("\n## ", if (two) "Two classes" else "Three classes and more", ", by calibration rows\n\n", sep = "")
    head("rows")
    for (n in sizes) rows_of(part[part$n == n, ], n)
    if (two) {
      cat("\n## Two classes, by rows of the rarer class\n\n")
      head("rows of the rarer class")
      edges <- c(0, 10, 20, 30, 50, 100, 200, Inf)
      for (i in seq_len(length(edges) - 1)) {
        at <- part[part$rarer >= edges[i] & part$rarer < edges[i + 1], ]
        if (nrow(at)) rows_of(at, if (is.finite(edges[i + 1])) paste(edges[i], "to", edges[i + 1] - 1) else paste(edges[i], "or more"))
      }
    } else {
      cat("\n## Three classes and more, by calibration rows per class\n\n")
      head("rows / classes")
      edges <- c(0, 5, 10, 20, 40, 100, Inf)
      per <- part$n / part$classes
      for (i in seq_len(length(edges) - 1)) {
        at <- part[per >= edges[i] & per < edges[i + 1], ]
        if (nrow(at)) rows_of(at, if (is.finite(edges[i + 1])) paste(edges[i], "to below", edges[i + 1]) else paste(edges[i], "or more"))
      }
    }
  }
}
writeLines(utils::capture.output(report()), "bench/results/few-rows.md")
