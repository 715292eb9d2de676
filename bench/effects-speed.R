# Rscript bench/effects-speed.R: what class effects cost beside class_effects = "none", timed in turns in one
# run: fits and predictions with 2, 10, 100 and 1000 classes, where effects are worth nothing and where they are
# worth something, and on real classifier outputs (GPCALIB_DATA says where they are; without them those
# rows are left out); growth with the rows, and whether threads change an answer. Memory: effects-memory.R.

library(gpcalib)
source("bench/helper.R")

folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
quietly <- function(expr) suppressMessages(suppressWarnings(expr))
default <- function(d) quietly(calib_gp(d$scores, d$labels))
none <- function(d) quietly(calib_gp(d$scores, d$labels, class_effects = "none"))

# Logits that a temperature makes right, or a shift of every class and a mixture of classes beside it.
simulated <- function(n, k, effects) {
  z <- matrix(stats::rnorm(n * k, sd = 3), n, k)
  f <- z / 2
  if (effects) {
    shift <- stats::rnorm(k)
    if (k == 2) shift <- c(-1, 1)
    f <- f + rep(shift, each = n)
    if (k == 10) f <- f + z %*% matrix(stats::rnorm(k * k, sd = 0.15), k)
  }
  list(scores = z, labels = max.col(f - log(-log(matrix(stats::runif(n * k), n)))))
}

real <- function(name, n = 1000) {
  data <- readRDS(file.path(folder, paste0(name, ".rds")))
  set.seed(1)
  rows <- sample(NROW(data$scores), n)
  pick <- function(rows) if (is.matrix(data$scores)) data$scores[rows, ] else data$scores[rows]
  list(scores = pick(rows), labels = data$labels[rows], new = pick(-rows))
}

ratio <- function(seconds, job) stats::median(seconds[, job]) / stats::median(seconds[, "none"])

measure <- function(what, d, rounds) {
  k <- if (is.matrix(d$scores)) ncol(d$scores) else 2
  new <- if (is.null(d$new)) d$scores else d$new
  if (is.matrix(new)) new <- new[rep_len(seq_len(nrow(new)), 3000), ] else new <- rep_len(new, 3000)
  a <- default(d)
  b <- none(d)
  fits <- time_in_turns(list(none = function() none(d), default = function() default(d)), rounds)
  predicts <- time_in_turns(list(none = function() quietly(predict(b, new)),
    default = function() quietly(predict(a, new))), rounds)
  worth <- c(a$effects$worth, a$offsets$worth, NA)[1]
  paid <- isTRUE(worth > 2)
  limit <- c(if (paid) 10 else 3, if (k > 30 && a$class_effects != "matrix") 1.5 else 3)
  got <- c(ratio(fits, "default"), ratio(predicts, "default"))
  data.frame(what = what, classes = k, chosen = a$class_effects, `worth (nats)` = round(worth, 1),
    passes = paste(a$passes, "+", c(a$averaged$passes, 0)[1]), fit = round(got[1], 1), `at most` = limit[1], met = if (got[1] <= limit[1]) "yes" else "NO",
    predict = round(got[2], 1), `at most ` = limit[2], `met ` = if (got[2] <= limit[2]) "yes" else "NO",
    `kB of the fit` = round(length(serialize(a, NULL)) / 1000), check.names = FALSE)
}

rounds <- as.integer(Sys.getenv("ROUNDS", "5"))
set.seed(1)
cases <- list()
for (k in c(2, 10, 100, 1000)) {
  for (effects in c(FALSE, TRUE)) {
    name <- paste0("simulated, ", if (effects) "effects" else "nothing there")
    cases[[length(cases) + 1]] <- measure(name, simulated(1000, k, effects), rounds)
  }
}
sets <- c("imdb", "soccer538", "hpc_cv", "satellite_lda", "kitti7_nn", "cifar10_vgg16", "mnist_adaboost", "newsgroups20",
  "letter_qda", "cifar100_wrn16_4", "nextword_k1000")
for (name in sets[file.exists(file.path(folder, paste0(sets, ".rds")))]) {
  cases[[length(cases) + 1]] <- measure(name, real(name), rounds)
}
table <- do.call(rbind, cases)

sizes <- c(2000, 8000, 32000)
growth <- lapply(sizes, function(n) simulated(n, 10, TRUE))
seconds <- time_in_turns(stats::setNames(lapply(growth, function(d) function() default(d)), sizes), 3)
slope <- stats::coef(stats::lm(log(apply(seconds, 2, min)) ~ log(sizes)))[[2]]

d <- growth[[1]]
fit <- default(d)
two <- quietly(calib_gp(d$scores, d$labels, threads = 2))
kept <- setdiff(names(fit), "call")
same <- c(fit = identical(unclass(fit)[kept], unclass(two)[kept]),
  predict = identical(quietly(predict(fit, d$scores)), quietly(predict(fit, d$scores, threads = 2))))

write_report("effects-speed", "What class effects cost", c(
  paste0("`Rscript bench/effects-speed.R`. Medians of ", rounds, " turns; ratios to `class_effects = \"none\"` in the same run, ",
    "1000 calibration rows, predictions of 3000. Limits: a fit 3 times where effects are worth nothing (2 nats or less), ",
    "10 times where they are worth something; a prediction 3 times, 1.5 times with more than 30 classes. Passes over the ",
    "data: of the fit, and of the average over the hyperparameters."), "",
  markdown_table(table), "",
  paste0("Growth of the fit from ", sizes[1], " to ", sizes[3], " rows of 10 classes: slope of log-time on log-N ",
    format(slope, digits = 2), " (at most 1.1)."), "",
  "Memory: bench/results/effects-memory.md.", "",
  paste0("Two threads give the same ", paste(names(same), ifelse(same, "yes", "NO"), collapse = ", "), ".")))
