# Rscript bench/integrate-speed.R: what averaging over the hyperparameters costs, as ratios of times measured in turn in one
# run: calib_gp() with integrate = TRUE and FALSE, and predict(type = "interval") for the two fits. Asked: at most 2.5
# times for a fit and 2 times for a prediction. The table goes to bench/results/integrate-speed.md.

library(gpcalib)
source("bench/validity/truths.R")

quietly <- function(code) suppressMessages(suppressWarnings(code))
processor_time <- function(code) sum(system.time(code, gcFirst = FALSE)[1:2])
# Alternately, so that a change of the machine's speed meets both; at least .3 s of each.
both <- function(one, other) {
  once <- max(processor_time(other()), 1e-3)
  times <- max(3, min(40, ceiling(0.3 / once)))
  t <- vapply(seq_len(times), function(i) c(processor_time(one()), processor_time(other())), numeric(2))
  c(stats::median(t[1, ]), stats::median(t[2, ]))
}

cases <- expand.grid(truth = c("line", "tanh", "step"), rows = c(100, 1000, 5000), classes = c(2, 10, 100), stringsAsFactors = FALSE)
cases <- cases[cases$classes < 100 | cases$rows == 1000, ]
found <- do.call(rbind, lapply(seq_len(nrow(cases)), function(i) {
  case <- cases[i, ]
  set.seed(1)
  map <- make_truth(case$truth, case$classes)
  z <- draw_scores(case$rows, case$classes)
  y <- draw_labels(softmax(map(z)))
  new <- draw_scores(200, case$classes)
  fit <- function(integrate) quietly(calib_gp(z, y, input = "logits", integrate = integrate))
  averaged <- fit(TRUE)
  plain <- fit(FALSE)
  interval <- function(fit) quietly(predict(fit, new, type = "interval", n_draws = 400))
  f <- both(function() fit(TRUE), function() fit(FALSE))
  p <- both(function() interval(averaged), function() interval(plain))
  out <- cbind(case, fit = f[2], fit_ratio = f[1] / f[2], predict = p[2], predict_ratio = p[1] / p[2],
    kb = length(serialize(averaged, NULL)) / 1024, kb_plain = length(serialize(plain, NULL)) / 1024)
  cat(sprintf("%s %d x %d: fit %.2f, predict %.2f\n", case$truth, case$rows, case$classes, out$fit_ratio, out$predict_ratio))
  out
}))
row <- sprintf("| %s | %d | %d | %.1f | %.2f | %.1f | %.2f | %.0f | %.0f |", found$truth, as.integer(found$classes), as.integer(found$rows),
  1000 * found$fit, found$fit_ratio, 1000 * found$predict, found$predict_ratio, found$kb_plain, found$kb)
writeLines(c("# What averaging over the hyperparameters costs", "",
  paste0("`Rscript bench/integrate-speed.R`, ", format(Sys.Date()), ". Processor time (medians) of a default fit and of ",
    "`predict(type = \"interval\", n_draws = 400)` for 200 new rows with `integrate = FALSE`, the ratio with `integrate = TRUE` to it, and the size of both fits."), "",
  sprintf("Fit: median ratio %.2f, largest %.2f (asked: 2.5); more than 2.5 in %d of %d. Prediction: median %.2f, largest %.2f (asked: 2).",
    stats::median(found$fit_ratio), max(found$fit_ratio), sum(found$fit_ratio > 2.5), nrow(found),
    stats::median(found$predict_ratio), max(found$predict_ratio)), "",
  "| truth | classes | rows | fit, ms | ratio | interval, ms | ratio | kB | kB, averaged |", "|---|---|---|---|---|---|---|---|---|", row),
  "bench/results/integrate-speed.md")
