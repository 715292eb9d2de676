# Rscript bench/query.R [REPEATS] [SET ...]: which rows to label (calib_query()): log loss and calibration error on held-out rows
# after 50, 100 and 200 labels, by strategy. Data as bench/gp-data.R. A set's rows are kept in bench/results/query.csv as soon as it
# is through; without sets to run the report bench/results/query.md is written from them. With `long` as its first word:
# "mixed" and "random" only, up to 800 labels, kept in bench/results/query-long.csv.

library(gpcalib)
words <- commandArgs(TRUE)
long <- length(words) > 0 && words[1] == "long"
if (long) words <- words[-1]
repeats <- if (length(words)) as.integer(words[1]) else 20L
sets <- if (length(words) > 1) words[-1] else c("nba538", "imdb", "hpc_cv", "kitti7_randomforest", "satellite_lda", "cifar10_wrn16_4")
folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
kept <- if (long) "bench/results/query-long.csv" else "bench/results/query.csv"
steps <- c(20, 50, 100, 200, if (long) c(400, 800)) # labels: the first at random, then one question for each further step
arms <- c("random", "mixed", if (!long) c("mixed, weighted fit", "information", "entropy"))

one <- function(d, labels, repeated, arm) {
  set.seed(1000 + repeated)
  rows <- sample(nrow(d$scores))
  pool <- rows[1:2000]
  if (length(rows) < 3000) pool <- rows[seq_len(length(rows) / 2)]
  test <- utils::head(setdiff(rows, pool), 4000)
  have <- pool[seq_len(steps[1])]
  weight <- rep(1, steps[1])
  fit_rows <- function() {
    suppressWarnings(calib_gp(d$scores[have, , drop = FALSE], labels[have], weights = if (grepl("weighted", arm)) weight))
  }
  fit <- fit_rows()
  set.seed(5000 + repeated)
  out <- NULL
  for (step in seq_along(steps)) {
    if (step > 1) {
      left <- setdiff(pool, have)
      strategy <- sub(",.*", "", arm)
      ask <- suppressWarnings(calib_query(fit, d$scores[left, , drop = FALSE], steps[step] - steps[step - 1], strategy))
      have <- c(have, left[ask$row])
      weight <- c(weight, ask$weight)
      fit <- fit_rows()
    }
    p <- suppressWarnings(predict(fit, d$scores[test, , drop = FALSE]))
    out <- rbind(out, data.frame(labels = steps[step], log_loss = log_loss(p, labels[test]),
      ece = ece(p, labels[test], bins = 15, type = "confidence")))
  }
  cbind(arm = arm, repeated = repeated, out)
}

for (name in sets) {
  if (file.exists(kept) && name %in% utils::read.csv(kept)$data) next
  d <- readRDS(file.path(folder, paste0(name, ".rds")))
  labels <- factor(d$labels, levels = seq_len(ncol(d$scores)))
  found <- do.call(rbind, lapply(seq_len(repeats), function(r) do.call(rbind, lapply(arms, function(arm) one(d, labels, r, arm)))))
  found <- cbind(data = name, found)
  found[5:6] <- signif(found[5:6], 6)
  utils::write.table(found, kept, sep = ",", row.names = FALSE, col.names = !file.exists(kept), append = file.exists(kept))
  cat(name, "\n")
}

if (long) quit(status = 0)

further <- if (file.exists("bench/results/query-long.csv")) utils::read.csv("bench/results/query-long.csv")
beyond <- function() { # mixed less random, paired by repeat
  by <- c("data", "repeated", "labels")
  both <- merge(further[further$arm == "mixed", ], further[further$arm == "random", ], by = by)
  both$less <- both$log_loss.x - both$log_loss.y
  at <- sort(unique(both$labels))[-1]
  row <- function(rows) paste(vapply(at, function(n) {
    x <- both$less[rows & both$labels == n]
    sprintf("%+.4f (%.4f)", mean(x), stats::sd(x) / sqrt(length(x)))
  }, ""), collapse = " | ")
  c("", "## Beyond 200 labels", "", sprintf("Log loss, mixed less random, paired by repeat (standard error); %d repeats, `Rscript bench/query.R long %d`.",
    max(further$repeated), max(further$repeated)), "",
    paste0("| data | ", paste(at, "labels", collapse = " | "), " |"), paste0("|", strrep("---|", 1 + length(at))),
    vapply(unique(further$data), function(name) paste0("| ", name, " | ", row(both$data == name), " |"), ""),
    paste0("| all | ", row(rep(TRUE, nrow(both))), " |"))
}

found <- utils::read.csv(kept)
cell <- function(part, what) { # the arm less random, paired by repeat
  base <- found[found$data == part$data[1] & found$labels == part$labels[1] & found$arm == "random", ]
  value <- part[[what]][order(part$repeated)]
  less <- value - base[[what]][order(base$repeated)]
  if (part$arm[1] == "random") return(sprintf("%.4f", mean(value)))
  sprintf("%+.4f (%.4f)%s", mean(less), stats::sd(less) / sqrt(length(less)), if (abs(mean(less)) > 2 * stats::sd(less) / sqrt(length(less))) "*" else "")
}
table <- function(what) {
  lines <- c(paste0("| data | labels | ", paste(arms, collapse = " | "), " |"), paste0("|", strrep("---|", 2 + length(arms))))
  for (name in unique(found$data)) for (labels in steps[-1]) {
    cells <- vapply(arms, function(arm) cell(found[found$data == name & found$labels == labels & found$arm == arm, ], what), "")
    lines <- c(lines, paste0("| ", name, " | ", labels, " | ", paste(cells, collapse = " | "), " |"))
  }
  for (labels in steps[-1]) {
    mean <- vapply(arms, function(arm) mean(found[[what]][found$labels == labels & found$arm == arm]), 0)
    lines <- c(lines, sprintf("| mean of all sets | %d | %s |", labels, paste(sprintf("%.4f", mean), collapse = " | ")))
  }
  lines
}
writeLines(c("# Which rows to label", "", sprintf(
  "%s, R %s; `Rscript bench/query.R`. Default fits of calib_gp(), %d repeats. 20 labels at random, then one question each to 50, 100",
  Sys.Date(), getRversion(), max(found$repeated)), paste(
  "and 200 labels, of a pool of 2000 rows (or half of the data). Measured on up to 4000 other rows. Random: the measure itself;",
  "the others: the difference to random, paired by repeat (standard error), * beyond two of them. Below zero is better than random."), "",
  "## Log loss", "", table("log_loss"), "", "## ECE, 15 bins", "", table("ece"), "", paste(
  "Where random is as good: the two-class sets, and hpc_cv up to 100 labels. A fit with the weights of",
  "the design is no better than random: most of its weight is on few rows. ECE: few clear differences beyond 50 labels, in either direction."),
  if (!is.null(further)) beyond()), "bench/results/query.md")
