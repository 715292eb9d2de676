# Rscript bench/effects-data.R [rows ...]: class effects, the default of calib_gp(), beside their
# rivals on real classifier outputs, with 200, 1000 and 5000 calibration rows (or those given).
# Results are kept in .build/effects-data/ as they come, so that a run may be interrupted, or made in
# parts (SECONDS_LEFT=300); delete that folder to begin again. The data are not part of the package;
# GPCALIB_DATA says where they are.

library(gpcalib)
source("bench/rivals.R")

folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
kept <- file.path(Sys.getenv("BUILD", ".build"), "effects-data")
splits <- 1:5
only <- Sys.getenv("METHODS") # some of the methods, as in METHODS=svs,sms: no table is made then
until <- Sys.time() + as.numeric(Sys.getenv("SECONDS_LEFT", "Inf")) # to run in parts
late <- FALSE
dir.create(kept, recursive = TRUE, showWarnings = FALSE)
files <- list.files(folder, "\\.rds$", full.names = TRUE)
files <- files[!grepl("kitti_features|_val\\.rds", files)] # features; halves kept for fitting
if (length(files) == 0) {
  cat("effects-data: skipped, there are no data in", folder, "(set GPCALIB_DATA)\n")
  quit(status = 0)
}

pick <- function(x, rows) if (is.matrix(x)) x[rows, , drop = FALSE] else x[rows]
quietly <- function(expr) suppressMessages(suppressWarnings(expr))

# Which methods are fitted with k classes. Vector scaling and one-vs-all with 1000 classes have
# no chance (more parameters than rows), SMS with more than 30 takes minutes a fit in R.
methods_for <- function(k) {
  c("default", "none", "temperature", if (k <= 100) c("platt", "beta"), if (k > 2 && k <= 100) "vector",
    if (k > 2) "svs", if (k > 2 && k <= 30) "sms")
}

# Predictions of one method for new scores.
predictions <- function(method, x, y, new) {
  fit <- switch(method,
    default = calib_gp(x, y), none = calib_gp(x, y, class_effects = "none"),
    temperature = calib_temperature(x, y), platt = calib_platt(x, y), beta = calib_beta(x, y),
    rival(x, y, method)
  )
  list(probs = if (is.function(fit)) fit(new) else predict(fit, new),
    chosen = if (method == "default") fit$class_effects else "",
    away = if (method %in% c("default", "none")) away(predict(fit, x), y, fit$classes) else NA)
}

# The largest distance, over the classes, of the mean prediction of the calibration rows from the frequency of the
# class, in standard errors.
away <- function(p, y, classes) {
  hit <- outer(as.character(y), as.character(classes), "==")
  se <- sqrt(colSums(p * (1 - p)))
  max(abs(colSums(hit - p)) / se)
}

measure <- function(method, x, y, new, truth) {
  seconds <- system.time(at <- quietly(predictions(method, x, y, new)))[["elapsed"]]
  data.frame(method = method, loss = quietly(log_loss(at$probs, truth, eps = 1e-12)),
    classwise = quietly(ece(at$probs, truth, type = "classwise", bins = 15)),
    accuracy = mean(max.col(at$probs, "first") == truth), chosen = at$chosen, away = at$away, seconds = seconds)
}

# One method on one set with n calibration rows, all splits; from the folder if it is there. Rivals do
# not change with the package: to measure calib_gp() again, delete the files of "default" and "none".
run_method <- function(method, name, data, n) {
  at <- file.path(kept, paste0(name, "-", n, "-", method, ".rds"))
  if (file.exists(at)) {
    out <- readRDS(at)
    if (is.null(out$away)) out$away <- NA # of an older run
    return(out)
  }
  if (Sys.time() > until) return(NULL)
  size <- NROW(data$scores)
  out <- do.call(rbind, lapply(splits, function(seed) {
    set.seed(seed)
    rows <- sample(size, n)
    cbind(measure(method, pick(data$scores, rows), data$labels[rows], pick(data$scores, -rows),
      data$labels[-rows]), split = seed)
  }))
  out <- cbind(set = name, out, k = max(2, NCOL(data$scores)), n = n)
  saveRDS(out, at)
  cat(name, n, method, "\n")
  out
}

# Results of a set with `rows` calibration rows; NULL if there are too few, or no time is left.
run_set <- function(file, rows) {
  data <- readRDS(file)
  size <- NROW(data$scores)
  n <- if (size >= 2 * rows) rows else if (rows <= 1000) size %/% 2 else if (size >= 1.5 * rows) rows
  if (is.null(n)) return(NULL)
  methods <- methods_for(max(2, NCOL(data$scores)))
  if (nzchar(only)) methods <- intersect(methods, strsplit(only, ",")[[1]])
  out <- lapply(methods, run_method, sub("\\.rds$", "", basename(file)), data, n)
  if (any(vapply(out, is.null, NA))) late <<- TRUE
  do.call(rbind, out)
}

# DenseNet-40: fitted on its validation half, scored on its test half, as published.
run_published <- function() {
  at <- file.path(kept, "published.rds")
  if (file.exists(at)) return(readRDS(at))
  val <- readRDS(file.path(folder, "cifar10_densenet40_val.rds"))
  test <- readRDS(file.path(folder, "cifar10_densenet40_test.rds"))
  out <- do.call(rbind, lapply(methods_for(10), measure, val$scores, val$labels, test$scores, test$labels))
  saveRDS(out, at)
  out
}

# The tables --------------------------------------------------------------------------------

four <- function(x) ifelse(is.na(x), "", sub("^(-?)0\\.", "\\1.", sprintf("%.4f", x)))

# One set: means over the splits, and the default against the best of the others.
summarise <- function(part, slack) {
  wide <- function(what) tapply(part[[what]], list(part$split, part$method), mean)
  loss <- wide("loss")
  means <- colMeans(loss)
  others <- means[names(means) != "default"]
  best <- names(which.min(others))
  gap <- loss[, "default"] - loss[, best]
  se <- stats::sd(gap) / sqrt(length(gap))
  list(set = part$set[1], k = part$k[1], n = part$n[1], means = means, best = best, gap = mean(gap), se = se,
    met = mean(gap) <= max(slack, 2 * se), classwise = colMeans(wide("classwise")),
    accuracy = colMeans(wide("accuracy")), away = colMeans(wide("away")),
    chosen = paste(substr(part$chosen[part$method == "default"], 1, 1), collapse = ""))
}

all_methods <- c("default", "none", "temperature", "platt", "beta", "vector", "svs", "sms")

table_of <- function(rows, results) {
  slack <- if (rows == 200) 0.004 else 0.002
  all <- lapply(results, summarise, slack)
  line <- function(...) paste0("| ", paste(c(...), collapse = " | "), " |")
  body <- vapply(all, function(s) {
    line(paste0(s$set, " (", s$k, ")"), four(s$means[all_methods]), s$best, four(s$gap), four(s$se),
      if (s$met) "met" else "**missed**", s$chosen)
  }, "")
  more <- vapply(all, function(s) {
    keep <- c("default", "none", "temperature", s$best)
    line(s$set, four(s$classwise[keep]), s$best, four(s$accuracy[keep[1:3]]), sprintf("%.1f", s$away[c("default", "none")]))
  }, "")
  common <- Reduce(intersect, lapply(all, function(s) names(s$means)))
  average <- rowMeans(sapply(all, function(s) s$means[common]))
  many <- Filter(function(s) s$k > 2 && s$k <= 30, all)
  average_many <- rowMeans(sapply(many, function(s) s$means[all_methods]))
  c(
    paste0("\n## ", rows, " calibration rows\n"),
    paste0("Criterion: at most ", slack, " or two standard errors above the best rival. Met on ",
      sum(vapply(all, `[[`, NA, "met")), " of ", length(all), " sets.\n"),
    line("data (classes)", all_methods, "best rival", "difference", "s.e.", "", "chosen"),
    line(rep("---", length(all_methods) + 6)), body, "",
    paste0("Mean over all sets of what is fitted on all: ",
      paste(common, four(average[common]), collapse = ", "), ". Over the sets of 3 to 30 classes: ",
      paste(all_methods, four(average_many), collapse = ", "), ".\n"),
    paste0("*Away*: the largest distance, over the classes, between the mean prediction of the calibration rows and the frequency of the class in them, ",
      "in standard errors, means over the splits; the largest of K normal numbers is expected at 0.8 (2 classes, which are one number), 1.9 (10), 2.7 (100), 3.4 (1000).\n"),
    line("data", paste("classwise ECE,", c("default", "none", "temperature", "best rival by log loss")), "",
      paste("accuracy,", c("default", "none", "temperature")), "away, default", "away, none"),
    line(rep("---", 10)), more
  )
}

published_lines <- function(out) {
  loss <- stats::setNames(out$loss, out$method)
  c("\n## cifar10_densenet40, fitted on `_val`, scored on `_test`\n",
    paste0(paste(names(loss), four(loss), collapse = ", "),
      ". Published: temperature .2251, SVS .2222, SMS .2206. Criterion for the default: at most .2211: ",
      if (loss[["default"]] <= 0.22115) "met." else "**missed**."))
}

given <- commandArgs(TRUE)
sizes <- if (length(given)) as.integer(given) else c(200L, 1000L, 5000L)
published <- if (!nzchar(only)) run_published()
lines <- unlist(lapply(sizes, function(rows) {
  results <- Filter(Negate(is.null), lapply(files, run_set, rows))
  if (!late && !nzchar(only)) table_of(rows, results)
}))
if (late || nzchar(only)) {
  cat("effects-data:", if (late) "more to be done" else "done", "\n")
  quit(status = if (late) 3 else 0)
}
writeLines(c(
  "# Class effects on real classifier outputs",
  "",
  paste0("`Rscript bench/effects-data.R`. Log loss (probabilities clipped at 1e-12), means over splits ",
    paste(range(splits), collapse = " to "), " (`set.seed(s); sample(N, n)`; half the rows where there are fewer ",
    "than 2 n). `default` is `calib_gp()`, `none` the shared process; vector, SVS and SMS are those of ",
    "`bench/rivals.R`. *Chosen*: none, offset or matrix in each split. The standard error is that of the paired ",
    "difference between the default and the best rival over the splits. The coefficient of the floors' prior was chosen on other splits, after splits 1 to 3 of newsgroups20 had shown the need of one ",
    "(6 to 10)."),
  published_lines(published), lines
), "bench/results/effects-data.md")
