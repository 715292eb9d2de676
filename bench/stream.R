# For the whole table again: rm -rf .build/stream bench/results/stream*.csv, then, on two quiet cores,
#   export GPCALIB_EVERY=1
#   GPCALIB_PART=1/2 Rscript bench/stream.R short & GPCALIB_PART=2/2 Rscript bench/stream.R short; wait; Rscript bench/stream.R report
#
# Rscript bench/stream.R [PLAN] [SET ...]: update() of calib_gp() batch by batch against fits of all rows so far. PLAN is one of
#   short   2000 rows in batches of 100 (five orders, GPCALIB_ORDERS), 50 and 200 (one order; GPCALIB_BATCH: one size alone). Cells are run from the cheapest
#           sets on; two processes with GPCALIB_PART=1/2 and 2/2 share the sets (and write stream-1.csv and stream-2.csv, which are joined)
#   long    up to 6000 rows in batches of 200, where many rows are frozen by the end, one order
#   frozen  as short, batches of 100, with buffer = 0: no summary is kept, every batch is frozen at once; one order
#   report  only writes bench/results/stream.md again
# Log loss of held-out rows from the fifth batch on: in the first order of batches of 100 at batches 5 to 10 and every second one from there, in the other orders at 5, 10 and 20,
# in batches of 50 and 200 at 5, 10 and the last (GPCALIB_EVERY=1: at every batch from the fifth on, in all sizes and orders); how far the orders of the batches are apart; the time of an
# update as a share of that of the fit of the same rows (first order of batches of 100: at every checkpoint both are timed twice, one after the other, and the lower ones summed). Data as bench/gp-data.R, those with 2000 rows (or half of them, at least
# 1000). Fits of all rows are the same in every order at the end: they are kept in .build/stream. Every cell (set, size, order) that is through is kept in bench/results/stream.csv; results in bench/results/stream.md. Drift: bench/stream-drift.R.

library(gpcalib)
words <- commandArgs(TRUE)
plan <- c(words, "report")[1]
folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
orders <- as.integer(Sys.getenv("GPCALIB_ORDERS", "5"))
part <- as.integer(strsplit(Sys.getenv("GPCALIB_PART", "1/1"), "/")[[1]])
kept <- "bench/results/stream.csv"
own_file <- if (part[2] == 1) kept else sprintf("bench/results/stream-%d.csv", part[1])
probs_of <- file.path(Sys.getenv("BUILD", ".build"), "stream") # predictions of the first order, to compare the others with
sets <- if (length(words) > 1) words[-1] else c("cifar100_wrn16_4", "cifar10_wrn16_4", "cifar100_resnet50_test", "cifar10_resnet50_test",
  "cifar10_densenet40_test", "cifar10_vgg16", "newsgroups20", "imdb", "hpc_cv", "soccer538", "nba538", "imagenet_resnet34_top1",
  "nextword_k1000", "kitti7_randomforest", "kitti7_nn", "kitti2_adaboost", "kitti2_xgboost", "mnist_adaboost", "mnist_randomforest",
  "wachurn_rf_down", "credit_gbm_down", "satellite_lda", "letter_qda")

run <- function(plan, name, size, order_number) {
  d <- readRDS(file.path(folder, paste0(name, ".rds")))
  labels <- factor(d$labels, levels = seq_len(ncol(d$scores)))
  set.seed(17)
  rows <- sample(nrow(d$scores))
  n <- if (plan == "long") min(6000, 1000 * ((length(rows) - 1500) %/% 1000)) else min(2000, 200 * (length(rows) %/% 400))
  if (n < if (plan == "long") 3000 else 1000) return(NULL)
  test <- utils::head(rows[-seq_len(n)], 4000)
  forecast <- function(fit) suppressWarnings(predict(fit, d$scores[test, ]))
  fit_rows <- function(r) {
    suppressWarnings(calib_gp(d$scores[r, ], labels[r], integrate = FALSE, control = if (plan == "frozen") gp_control(buffer = 0) else gp_control()))
  }
  set.seed(order_number)
  order <- if (order_number == 1) rows[seq_len(n)] else sample(rows[seq_len(n)])
  every <- Sys.getenv("GPCALIB_EVERY") == "1"
  batches <- if (every) 5:40 else if (size != 100) c(5, 10) else if (order_number > 1) c(5, 10, 20) else c(5:10, 12, 14, 16, 18)
  at <- if (plan == "long") seq(1000, n, by = 1000) else if (plan == "frozen") seq(500, n, by = 500) else unique(c(size * batches[size * batches < n], n))
  at <- at[at %% size == 0 & at >= 5 * size]
  timed <- FALSE
  time_of <- function(once) if (timed) min(replicate(2, system.time(once())[["user.self"]])) else NA
  fit <- fit_rows(order[seq_len(size)])
  out <- NULL
  for (b in 2:(n / size)) {
    r <- order[size * (b - 1) + seq_len(size)]
    before <- fit
    again <- function() suppressWarnings(update(before, d$scores[r, ], labels[r]))
    fit <- again()
    if ((size * b) %in% at) {
      end <- size * b == n
      timed <- order_number == 1 && size == 100 && (b %in% c(5:10, 12, 14, 16, 18) || end)
      file <- file.path(probs_of, paste0(plan, "-", name, "-all.rds")) # the order of rows does not matter to a fit
      took <- time_of(again)
      time <- time_of(function() fit_rows(order[seq_len(size * b)]))
      if (end && file.exists(file)) {
        q <- readRDS(file)
      } else {
        q <- forecast(fit_rows(order[seq_len(size * b)]))
        if (end) saveRDS(q, file)
      }
      p <- forecast(fit)
      out <- rbind(out, data.frame(rows = size * b, stream = log_loss(p, labels[test]), all = log_loss(q, labels[test]), apart = max(abs(p - q)),
        update = took, fit = time, bytes = length(serialize(fit, NULL))))
    }
  }
  file <- file.path(probs_of, paste0(plan, "-", name, "-", size, ".rds"))
  if (order_number == 1) saveRDS(p, file)
  first <- if (file.exists(file)) readRDS(file)
  cbind(plan = plan, data = name, batch = size, order = order_number, out, last = log_loss(forecast(fit_rows(r)), labels[test]),
    other = if (is.null(first)) NA else mean(abs(first - p)) * ncol(p) / 2, most = if (is.null(first)) NA else max(abs(first - p)))
}

files <- c(kept, Sys.glob("bench/results/stream-[0-9].csv"))
all_found <- lapply(files[file.exists(files)], utils::read.csv)
found <- unique(do.call(rbind, all_found))
if (plan == "report" && length(all_found) > 1) {
  utils::write.csv(found, kept, row.names = FALSE, quote = FALSE)
  unlink(files[-1])
}
if (plan != "report") {
  dir.create(probs_of, recursive = TRUE, showWarnings = FALSE)
  sizes <- if (plan == "short") as.integer(strsplit(Sys.getenv("GPCALIB_BATCH", "100 200 50"), " ")[[1]]) else if (plan == "long") 200 else 100
  cells <- do.call(rbind, lapply(sizes, function(size) data.frame(size = size, order = seq_len(if (plan == "short" && size == 100) orders else 1))))
  sets <- sets[order(file.size(file.path(folder, paste0(sets, ".rds"))))]
  sets <- sets[seq_along(sets) %% part[2] == part[1] %% part[2]]
  new_rows <- if (file.exists(own_file) && part[2] > 1) utils::read.csv(own_file) else if (part[2] == 1) found
  for (i in seq_len(nrow(cells))) for (name in sets) {
    size <- cells$size[i]
    o <- cells$order[i]
    if (plan == "frozen" && name == "letter_qda") next # has too many effects for a quadratic
    if (any(found$plan == plan & found$data == name & found$order == o & found$batch == size)) next
    new <- run(plan, name, size, o)
    if (is.null(new)) next
    numbers <- vapply(new, is.double, NA)
    new[numbers] <- lapply(new[numbers], signif, 6)
    new_rows <- rbind(new_rows, new)
    found <- rbind(found, new)
    utils::write.csv(new_rows, own_file, row.names = FALSE, quote = FALSE)
    cat(plan, name, size, o, sprintf("%+.4f", max(new$stream - new$all)), "\n")
  }
}

say <- function(x) sprintf("%+.4f", x)
time_share <- function(part) {
  timed <- !is.na(part$fit)
  if (any(timed)) sprintf("%.2f", sum(part$update[timed]) / sum(part$fit[timed])) else ""
}
table_of <- function(plan) {
  lines <- c("| data | batch | orders | log loss of the fit of all rows | streaming less that, mean at the end | largest at any checkpoint | last batch alone, less it | orders apart: log loss | mean change of a row's probabilities | largest | update / fit of all (time), sum of all checkpoints | at the end | bytes saved, at the most |",
    paste0("|", strrep("---|", 13)))
  own <- found[found$plan == plan, ]
  for (part in split(own, list(own$batch, own$data), drop = TRUE)) {
    gap <- part$stream - part$all
    end <- part$rows == max(part$rows)
    lines <- c(lines, sprintf("| %s | %d | %d | %.4f | %s | %s | %s | %.4f | %.4f | %.3f | %s | %s | %.0f |", part$data[1], part$batch[1],
      length(unique(part$order)), mean(part$all[end]), say(mean(gap[end])), say(max(gap)), say(mean((part$last - part$all)[end])),
      diff(range(part$stream[end])), max(part$other), max(part$most), time_share(part), time_share(part[end, ]), max(part$bytes)))
  }
  if (nrow(own)) lines else "Not run."
}
summary_of <- function(plan) {
  own <- found[found$plan == plan, ]
  if (!nrow(own)) return("")
  gap <- own$stream - own$all
  over <- unique(own$data[gap > 0.002])
  sprintf("%d comparisons: streaming less the fit of all rows in the mean %s, largest %s; more than .002 in %d of them%s.", nrow(own),
    say(mean(gap)), say(max(gap)), sum(gap > 0.002), if (length(over)) paste0(" (", paste(over, collapse = ", "), ")") else "")
}
order_of <- function(plan) {
  own <- found[found$plan == plan & found$order > 1, ]
  if (!nrow(own)) return("")
  classes <- vapply(own$data, function(name) ncol(readRDS(file.path(folder, paste0(name, ".rds")))$scores), 0L)
  end <- found[found$plan == plan & found$batch == 100, ]
  end <- end[end$rows == ave(end$rows, end$data, FUN = max), ]
  between <- tapply(end$stream, end$data, function(x) diff(range(x)))
  change <- own$other * 2 / classes # of a probability
  first <- found[found$plan == plan & found$batch == 100 & found$order == 1 & !is.na(found$fit), ]
  cost <- tapply(first$update, first$data, sum) / tapply(first$fit, first$data, sum)
  last <- first[first$rows == ave(first$rows, first$data, FUN = max), ]
  over <- unique(own$data[own$other > 0.005])
  sprintf("Orders: log losses at the end at most %.4f apart (%s), mean change of a row's probabilities (half the sum) at most %.4f, more than .005 for %s; of a single probability at most %.4f (%s). Update / fit of all rows (time, first order), sums of all checkpoints: median %.2f, largest %.2f, above 1 for %s; at the end: median %.2f, largest %.2f.",
    max(between), names(which.max(between)), max(own$other), if (length(over)) paste(over, collapse = ", ") else "none", max(change), own$data[which.max(change)], stats::median(cost), max(cost),
    if (any(cost > 1)) paste(names(which(cost > 1)), collapse = ", ") else "none", stats::median(last$update / last$fit), max(last$update / last$fit))
}
writeLines(c("# Streaming against fits of all rows", "", sprintf(
  "%s, R %s; `Rscript bench/stream.R`. calib_gp(integrate = FALSE). The first batch is fitted, the others are", Sys.Date(), getRversion()),
  "taken in by update(); compared with fits of all rows so far on held-out rows: 2000 rows at every batch from the fifth on, in all orders and sizes; long: every 1000 rows.",
  "The change of a row's probabilities between orders is half the sum of absolute differences. The aim is .002.", "",
  "Asked: at most .002 more than the fit of all rows at every batch from the fifth on; orders of the batches apart by less than .005 in",
  "log loss and in the mean change of a probability; an update takes less time than the fit of all rows.", "",
  "A set, size or order that is missing below has not been run. Bytes: of the serialised object.",
  "Why the order matters for nextword_k1000, what the bytes are and how many saveRDS() writes: bench/results/stream-limits.md.", "",
  "## 2000 rows, default settings", "", summary_of("short"), order_of("short"), "", table_of("short"), "",
  "## Up to 6000 rows, default settings: many rows are frozen at the end", "", summary_of("long"), "", table_of("long"), "",
  "## 2000 rows, no rows in the object (`gp_control(buffer = 0)`)", "", "Every 500 rows, six sets.", "",
  summary_of("frozen"), "", table_of("frozen"), "",
  "Without rows, quadratics of early, uncertain fits resist the growth of effects of the classes, and the floor for zeros stays that",
  "of the first batch: that is why objects keep a summary of their rows until they are many. With more than 200 classes there is none."), "bench/results/stream.md")
