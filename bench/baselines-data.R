# Rscript bench/baselines-data.R: all calibrators on real classifier outputs: accuracy, log loss and
# calibration error on rows that were not used to calibrate, and whether every row of every method is
# a probability. The splits are those of bench/gp-data.R. The data are not part of the package;
# GPCALIB_DATA says where they are.

library(gpcalib)
source("bench/helper.R")

folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
files <- list.files(folder, "\\.rds$", full.names = TRUE)
files <- files[basename(files) != "kitti_features.rds"] # features, not scores
if (length(files) == 0) {
  cat("baselines-data: skipped, there are no data in", folder, "(set GPCALIB_DATA)\n")
  quit(status = 0)
}
splits <- 1:5
methods <- list(
  none = calib_none, temperature = calib_temperature, gp = calib_gp,
  platt = calib_platt, isotonic = calib_isotonic,
  beta = calib_beta, bbq = calib_bbq, histogram = calib_histogram,
  `histogram, mass` = function(x, y) calib_histogram(x, y, binning = "mass")
)

pick <- function(x, rows) if (is.matrix(x)) x[rows, , drop = FALSE] else x[rows]
is_probs <- function(p) all(is.finite(p)) && min(p) >= 0 && max(p) <= 1 && max(abs(rowSums(p) - 1)) < 1e-9

# One split: a row per method.
run_split <- function(data, seed) {
  size <- NROW(data$scores)
  n <- if (size < 2000) size %/% 2 else 1000
  set.seed(seed)
  rows <- sample(size, n)
  x <- pick(data$scores, rows)
  y <- data$labels[rows]
  new <- pick(data$scores, -rows)
  truth <- data$labels[-rows]
  k <- max(2, NCOL(x))
  absent <- k - length(unique(y))
  # labels of the rows may lack classes: all of them are levels
  if (is.numeric(y) && is.matrix(x)) {
    y <- factor(y, levels = seq_len(k))
    truth <- factor(truth, levels = seq_len(k))
  }
  scores <- vapply(methods, function(method) {
    p <- suppressWarnings(predict(method(x, y), new))
    c(accuracy = class_accuracy(p, truth), loss = log_loss(p, truth, eps = 1e-12),
      ece = ece(p, truth, bins = 100, type = "confidence"), zero = mean(p[cbind(seq_along(truth), as.integer(truth))] == 0),
      fine = is_probs(p))
  }, numeric(5))
  list(scores = scores, n = c(n, size - n), k = k, absent = absent)
}

run_set <- function(file) {
  name <- sub("\\.rds$", "", basename(file))
  cat(name, "")
  data <- readRDS(file)
  runs <- lapply(splits, function(seed) suppressWarnings(run_split(data, seed)))
  cat("\n")
  scores <- simplify2array(lapply(runs, `[[`, "scores"))
  list(name = name, n = runs[[1]]$n, k = runs[[1]]$k,
    absent = max(vapply(runs, `[[`, 0, "absent")), means = apply(scores, 1:2, mean),
    fine = all(scores["fine", , ] == 1), rows = ncol(scores) * length(splits) * runs[[1]]$n[2])
}

begin <- now()
sets <- lapply(files, run_set)
minutes <- (now() - begin) / 60

# The report --------------------------------------------------------------------------------

one_table <- function(measure, digits) {
  do.call(rbind, lapply(sets, function(set) {
    values <- set$means[measure, ]
    best <- if (measure == "accuracy") max(values) else min(values)
    text <- sprintf(paste0("%.", digits, "f"), values)
    text[values == best] <- paste0("**", text[values == best], "**")
    data.frame(data = set$name, as.list(stats::setNames(text, names(methods))), check.names = FALSE)
  }))
}
about <- do.call(rbind, lapply(sets, function(set) {
  data.frame(data = set$name, `rows, test` = sprintf("%d, %d", set$n[1], set$n[2]),
    K = as.character(set$k), `classes absent, at most` = as.character(set$absent),
    probabilities = if (set$fine) "yes" else "NO",
    `true class given 0 by isotonic / histogram` =
      sprintf("%.4f / %.4f", set$means["zero", "isotonic"], set$means["zero", "histogram"]),
    check.names = FALSE)
}))
wins <- function(measure) {
  best <- vapply(sets, function(set) {
    values <- set$means[measure, ]
    names(values)[if (measure == "accuracy") which.max(values) else which.min(values)]
  }, "")
  counts <- table(factor(best, levels = names(methods)))
  paste(names(counts)[counts > 0], counts[counts > 0], sep = " ", collapse = ", ")
}
write_report("baselines-data", "All calibrators on real data", c(
  "Splits `set.seed(s); sample(N, n)`, s = 1..5; those rows calibrate, the others test; means over the",
  "splits. Every method with its defaults, except",
  "*histogram, mass*, which has `binning = \"mass\"`. The best of a row is bold. *probabilities*:",
  "whether every row of every method is finite, in [0, 1] and sums to 1 within 1e-9.", "",
  markdown_table(about), "", "## Log loss (probabilities clipped at 1e-12)", "",
  markdown_table(one_table("loss", 4)), "", paste0("Lowest: ", wins("loss"), "."), "",
  "## Accuracy", "", markdown_table(one_table("accuracy", 4)), "",
  paste0("Highest (the first of several): ", wins("accuracy"), "."), "", "## ECE with 100 bins", "",
  markdown_table(one_table("ece", 4)), "", paste0("Lowest: ", wins("ece"), "."), "",
  paste0("The whole took ", format(minutes, digits = 2), " minutes.")
))
if (!all(vapply(sets, `[[`, NA, "fine"))) quit(status = 1)
