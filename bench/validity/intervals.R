# Rscript bench/validity/intervals.R: how often the 95 % intervals of calib_gp() hold the true probability, in
# simulations with known truth (bench/validity/truths.R). Every cell (truth, classes, rows) is a part of its own, kept in
# .build/intervals/ as it is done, so that a run may be interrupted; delete that folder to begin again. TRUTHS, CLASSES
# and ROWS choose cells (separated by semicolons), SETS says how many calibration sets each has, SHARE that each has this share
# of the usual number (cells that were done with fewer sets than asked are done again), SECONDS after how many seconds to stop, CORES how many cells are worked on at a time (2). The table of all cells there are goes to
# bench/results/intervals.md, and its numbers to vignettes/uncertainty/coverage.csv; TABLE=no leaves both alone.
#
# Rows of one calibration set share its errors: where a line is true its intervals hold all of the truth or nothing. So a
# cell has many sets and few new rows of each, and errors are those over sets.

library(gpcalib)
source("bench/validity/truths.R")
source("bench/validity/coverage.R")

chosen <- function(name, all) if (nzchar(given <- Sys.getenv(name))) strsplit(given, ";")[[1]] else all
tuned <- c("line", "tanh", "step", "power", "root", "saturating", "prior", "tanh, shifted", "bump")
truths <- chosen("TRUTHS", c(tuned, held_out))
classes <- as.integer(chosen("CLASSES", c(2, 10, 100)))
rows <- as.integer(chosen("ROWS", c(100, 300, 1000, 5000)))
share <- as.numeric(Sys.getenv("SHARE", "1"))
how_many <- function(truth, k) {
  bent <- if (k == 2) 80 else if (k < 100) 50 else 30
  as.integer(Sys.getenv("SETS", ceiling(share * if (truth %in% lines) 100 else bent)))
}
plain_sets <- 10 # of them also without integration: the same fit but for the averaged posterior
cores <- as.integer(Sys.getenv("CORES", "2"))
seconds <- as.numeric(Sys.getenv("SECONDS", "Inf"))
out_file <- "bench/results/intervals.md"
kept <- file.path(Sys.getenv("BUILD", ".build"), "intervals")
dir.create(kept, recursive = TRUE, showWarnings = FALSE)
rows_new <- function(k) if (k == 2) 100 else 40
level <- 0.95
quietly <- function(code) suppressMessages(suppressWarnings(code))

# One calibration set, and whether the intervals of new rows hold the truth: of the class with the highest score (of
# the first of two), beside its score, and of all classes. (That a fit without its averaged posterior is the fit of
# integrate = FALSE is what tests/testthat/test-gp-averaged.R sees to.)
run_once <- function(truth, k, n, plain) {
  new_rows <- rows_new(k)
  z <- draw_scores(n, k)
  new <- draw_scores(new_rows, k)
  map <- make_truth(truth, k)
  labels <- draw_labels(softmax(map(z)))
  p <- softmax(map(new))
  top <- cbind(seq_len(new_rows), if (k == 2) 1 else max.col(new))
  fit <- quietly(calib_gp(z, labels, input = "logits"))
  one <- function(fit) {
    x <- quietly(predict(fit, new, type = "interval", level = level, n_draws = 400))
    holds <- x[, , "lower"] <= p & p <= x[, , "upper"]
    list(top = holds[top], all = mean(holds), width = mean((x[, , "upper"] - x[, , "lower"])[top]))
  }
  out <- list(score = new[top], averaged = one(fit))
  if (plain) {
    fit["averaged"] <- list(NULL)
    out$plain <- one(fit)
  }
  out
}

began <- proc.time()[["elapsed"]]
file_of <- function(truth, k, n) file.path(kept, paste0(gsub("[^a-z0-9]+", "-", truth), "-", k, "-", n, ".rds"))
one_cell <- function(cell) {
  if (proc.time()[["elapsed"]] - began > seconds) return(NULL)
  sets <- how_many(cell$truth, cell$k)
  start <- proc.time()
  runs <- lapply(seq_len(sets), function(i) {
    set.seed(10000 * i + cell$n + cell$k) # scores are those of the other truths, so that cells can be compared
    run_once(cell$truth, cell$k, cell$n, i <= plain_sets)
  })
  out <- cbind(truth = cell$truth, classes = cell$k, rows = cell$n, sets = sets, averaged = summarise_sets(runs, "averaged"),
    plain = summarise_sets(runs[seq_len(min(sets, plain_sets))], "plain"), seconds = sum((proc.time() - start)[1:2]))
  saveRDS(out, file_of(cell$truth, cell$k, cell$n))
  cat(cell$truth, cell$k, cell$n, sprintf("%.3f [%.3f, %.3f], worst tenth %.2f; without %.3f; %s (%.0f s)\n", out$averaged.coverage,
    out$averaged.low, out$averaged.high, out$averaged.worst, out$plain.coverage, verdict(out), out$seconds))
}
cells <- expand.grid(truth = truths, k = classes, n = rows, stringsAsFactors = FALSE)
cells <- cells[cells$k == 2 | !cells$truth %in% names(odds), ]
cells <- cells[order(cells$truth %in% held_out, -cells$k * cells$n), ] # those kept for the end come last, short cells after long ones
enough <- function(truth, k, n) file.exists(file_of(truth, k, n)) && readRDS(file_of(truth, k, n))$sets >= how_many(truth, k)
cells <- cells[!as.logical(mapply(enough, cells$truth, cells$k, cells$n)), ]
done <- parallel::mclapply(split(cells, seq_len(nrow(cells))), one_cell, mc.cores = cores, mc.preschedule = FALSE)
failed <- vapply(done, inherits, NA, "try-error")
if (any(failed)) stop(done[[which(failed)[1]]])
cat(sprintf("%.1f minutes\n", (proc.time()[["elapsed"]] - began) / 60))
if (Sys.getenv("TABLE") == "no") quit()

# The table ---------------------------------------------------------------------------------------------------------

cells <- do.call(rbind, lapply(list.files(kept, "rds$", full.names = TRUE), readRDS))
cells <- cells[order(cells$classes, cells$rows, match(cells$truth, c(tuned, held_out))), ]
own <- !cells$truth %in% held_out
two <- function(x) sub("^0", "", sprintf("%.2f", x))
table_of <- function(x) {
  said <- verdict(x)
  body <- paste0("| ", x$truth, " | ", x$classes, " | ", x$rows, " | ", x$sets, " | .95 | ", two(x$averaged.coverage), " (",
    two(x$averaged.low), " to ", two(x$averaged.high), ") | ", two(x$averaged.worst), " (", two(x$averaged.worst_low), " to ",
    two(x$averaged.worst_high), ") | ", two(x$averaged.all), " | ", ifelse(said == "missed", "**missed**", said), " | ", two(x$averaged.width), " | ", two(x$plain.coverage), " | ",
    two(x$plain.width), " |")
  c(paste("| truth | classes | rows | sets | claimed | measured | worst tenth | all classes | verdict | width |",
    "plug-in | width |"), paste0("|", strrep("---|", 12)), body)
}
count <- function(x) {
  said <- table(factor(verdict(x), c("met", "met?", "missed?", "missed")))
  paste0("Of ", nrow(x), " cells ", said[["met"]], " meet what was asked beyond Monte-Carlo error, ", said[["met?"]], " meet it within error, ",
    said[["missed?"]], " miss it within error and ", said[["missed"]], " miss it beyond error. Mean coverage ",
    sprintf("%.3f", mean(x$averaged.coverage)), ", without integration ", sprintf("%.3f", mean(x$plain.coverage)), ".")
}
writeLines(c(
  "# Intervals of calib_gp(): what they claim and what they keep", "",
  paste0("`Rscript bench/validity/intervals.R`, ", format(Sys.Date()), "; ", round(sum(cells$seconds) / 60), " minutes of one core for ", nrow(cells),
    " of ", (length(c(tuned, held_out)) - length(odds)) * 12 + length(odds) * 4, " cells. 95 % intervals of `predict(type = \"interval\")` for 100 new rows (10 or 100 classes: 40) of ",
    "each calibration set. *Measured*: the share of intervals that hold ",
    "the true probability of the class with the highest score (of the first of two classes), with its 95 % interval over ",
    "calibration sets (Wilson's, in which a set counts as at least one observation), for the default fit (`integrate = TRUE`); *worst tenth*: the same in the worst of ten groups of rows by that score, ",
    "its interval for ten comparisons; *all classes*: of all classes alike; *plug-in*: `integrate = FALSE`, ", plain_sets, " sets."), "",
  paste("Asked: at least .92 on average and .80 in the worst tenth, lines at most .98. *Verdict*: *met* or *missed* where the interval says so, *met?* or *missed?* where",
    "only the estimate does (a line's .98 is beyond what 100 sets can decide, for a line is held in all rows of a set or in none)."),
  "", if (any(own)) c("## Truths on which the priors were tuned", "", table_of(cells[own, ]), "", count(cells[own, ]), ""),
  if (any(!own)) c("## Truths that were kept for the end", "", table_of(cells[!own, ]), "", count(cells[!own, ]))
), out_file)

numbers <- data.frame(cells[c("truth", "classes", "rows", "sets")], held_out = !own, coverage = cells$averaged.coverage,
  low = cells$averaged.low, high = cells$averaged.high, worst = cells$averaged.worst, all = cells$averaged.all, width = cells$averaged.width,
  plain = cells$plain.coverage, plain_worst = cells$plain.worst, verdict = verdict(cells))
numbers[6:13] <- lapply(numbers[6:13], signif, 3)
utils::write.csv(numbers, "vignettes/uncertainty/coverage.csv", row.names = FALSE)
