# bench/paper/runtime.R: the paper's wall-clock table (S1): seconds to fit 1000 rows and to predict for
# 2, 10, 100 and 1000 classes, all methods, beside the paper's numbers from a 12-core desktop.

source("bench/paper/_helper.R")

theirs <- utils::read.csv(strip.white = TRUE, text = "
  mode,    k,    platt,  isotonic, beta,    bbq,      temperature, gp,       mean
  fit,     2,    0.0017, 0.0004,   0.0032,  0.0994,   0.0053,      1.0517,   1.0441
  fit,     10,   0.0245, 0.0055,   0.0478,  0.8589,   0.0129,      2.2112,   2.1596
  fit,     100,  0.3181, 0.0602,   0.2052,  9.0458,   0.0277,      20.6564,  20.4714
  fit,     1000, 3.0911, 0.9436,   2.2291,  61.3060,  0.3395,      259.7305, 258.0205
  predict, 2,    0.0002, 0.0003,   0.0022,  0.1334,   0.0006,      0.1625,   0.1227
  predict, 10,   0.0043, 0.0046,   0.1126,  1.5180,   0.0026,      0.2610,   0.1483
  predict, 100,  0.1276, 0.1269,   0.3202,  14.8716,  0.0210,      2.4482,   0.3367
  predict, 1000, 8.3651, 8.3005,   12.7822, 113.6108, 0.2369,      51.3806,  3.1317")

# Test rows as in the paper: 8000 for KITTI, 9000 for MNIST and CIFAR-100, 10,000 for ImageNet. The
# network of 1000 words has 4000 rows: its test rows are drawn with replacement.
names <- c("kitti2_adaboost", "kitti2_xgboost", "mnist_adaboost", "mnist_randomforest", "cifar100_wrn16_4",
  "cifar100_resnet50_test", "nextword_k1000")
sets <- read_sets(names)
n_test <- c(8000, 8000, 9000, 9000, 9000, 9000, 10000)
methods <- c("platt", "isotonic", "beta", "bbq", "histogram", "temperature", "gp")
rounds <- 5

rows <- list()
for (i in seq_along(names)) {
  set <- sets[[i]]
  k <- max(2, NCOL(set$scores))
  n <- NROW(set$scores)
  set.seed(1)
  order <- sample(n)
  pick <- function(rows) if (is.matrix(set$scores)) set$scores[rows, , drop = FALSE] else set$scores[rows]
  labels <- factor(set$labels, levels = sort(unique(c(set$labels, if (k > 2) seq_len(k)))))
  cal <- order[1:1000]
  test <- order[-(1:1000)]
  test <- if (length(test) >= n_test[i]) test[seq_len(n_test[i])] else sample(test, n_test[i], replace = TRUE)
  x <- pick(cal)
  y <- labels[cal]
  new <- pick(test)
  jobs <- list()
  fits <- list()
  for (method in methods) {
    local({
      make <- get(paste0("calib_", method))
      fit <- suppressWarnings(make(x, y))
      jobs[[paste("fit", method)]] <<- function() suppressWarnings(make(x, y))
      jobs[[paste("predict", method)]] <<- function() suppressWarnings(predict(fit, new))
      if (method == "gp") {
        jobs[["predict mean"]] <<- function() suppressWarnings(predict(fit, new, approx = "mean"))
        jobs[["predict mc"]] <<- function() suppressWarnings(predict(fit, new, approx = "mc", n_draws = 100))
      }
    })
  }
  seconds <- time_in_turns(jobs, rounds)
  rows[[i]] <- data.frame(data = names[i], k = k, mode = sub(" .*", "", names(jobs)), method = sub(".* ", "", names(jobs)),
    median = apply(seconds, 2, stats::median), smallest = apply(seconds, 2, min))
  cat(names[i], "\n")
}
found <- do.call(rbind, rows)
found <- rbind(found, transform(found[found$mode == "fit" & found$method == "gp", ], method = "mean"))
keep_table(data.frame(found[1:4], signif(found[5:6], 4)), "runtime")
gp_fits <- found[found$mode == "fit" & found$method == "gp", ]
# As in the paper: means over the classifiers of a data set.
found <- stats::aggregate(median ~ k + mode + method, found, mean)

columns <- c("platt", "isotonic", "beta", "bbq", "histogram", "temperature", "gp", "mean", "mc")
cell <- function(x) ifelse(is.na(x), "", format(signif(x, 2), scientific = FALSE, drop0trailing = TRUE, trim = TRUE))
format_ratio <- function(x) ifelse(x < 10, sprintf("%.1f", x), sprintf("%.0f", x))
lines <- do.call(rbind, lapply(c("fit", "predict"), function(mode) {
  do.call(rbind, lapply(unique(found$k), function(k) {
    ours <- found[found$mode == mode & found$k == k, ]
    ours <- vapply(columns, function(method) c(ours$median[ours$method == method], NA)[1], 0)
    known <- unlist(theirs[theirs$mode == mode & theirs$k == k, ])[columns]
    known <- suppressWarnings(as.numeric(known))
    ratio <- known / ours
    rbind(c(mode, k, "ours", vapply(ours, cell, "")), c("", "", "paper", vapply(known, cell, "")),
      c("", "", "paper / ours", ifelse(is.na(ratio), "", format_ratio(ratio))))
  }))
}))
table <- as.data.frame(lines)
names(table) <- c("", "K", " ", "Platt", "isotonic", "beta", "BBQ", "histogram", "temperature", "GP",
  "GP, mean approx.", "GP, 100 draws")
relative <- do.call(rbind, lapply(unique(found$k), function(k) {
  one <- function(mode, method) found$median[found$mode == mode & found$method == method & found$k == k]
  known <- function(mode) theirs[theirs$mode == mode & theirs$k == k, ]
  data.frame(K = as.character(k),
    `fit, GP / temperature` = sprintf("%.0f", one("fit", "gp") / one("fit", "temperature")),
    `paper's` = sprintf("%.0f", known("fit")$gp / known("fit")$temperature),
    `predict, GP / temperature` = sprintf("%.1f", one("predict", "gp") / one("predict", "temperature")),
    `predict, GP with 100 draws / temperature` = sprintf("%.1f", one("predict", "mc") / one("predict", "temperature")),
    `paper's ` = sprintf("%.1f", known("predict")$gp / known("predict")$temperature),
    `predict, mean approx. / temperature` = sprintf("%.1f", one("predict", "mean") / one("predict", "temperature")),
    `paper's  ` = sprintf("%.1f", known("predict")$mean / known("predict")$temperature), check.names = FALSE)
}))
load <- tryCatch(sub(" .*", "", readLines("/proc/loadavg")), error = function(e) "unknown")
write_report("paper/runtime", "Wall-clock times", c(
  "Seconds (medians of five, taken in turns; means over two classifiers for K < 1000) to fit 1000 rows and to predict 8000 (K = 2), 9000 (10, 100)",
  "and 10,000 (1000) rows with one thread, everything from R included; the paper's numbers were taken on a",
  "12-core desktop with a graphics card. Ratios within a column of one machine say more than seconds.",
  paste0("Data: ", paste(names, collapse = ", "), ". Load of this machine (2 cores) at the end: ", load, "."), "",
  markdown_table(table), "", "## Relative to temperature scaling on the same machine", "",
  markdown_table(relative), "",
  paste0("Fits of the GP, one by one: ", paste0(gp_fits$data, " ", cell(gp_fits$median), " s", collapse = ", "),
    ". Where the map bends sharply, as for AdaBoost on MNIST, it needs more inducing inputs and passes.")
))
