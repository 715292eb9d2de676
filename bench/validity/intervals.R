# Rscript bench/validity/intervals.R: how often the 95 % intervals of calib_gp() hold the true probability, in
# simulations with known truth (bench/validity/truths.R). Every cell (truth, classes, rows) is a part of its own, kept in
# .build/intervals/ as it is done, so that a run may be interrupted; delete that folder to begin again. TRUTHS, CLASSES
# and ROWS choose cells (separated by semicolons), REPEATS says how often, SECONDS after how many seconds to stop, CORES how
# many cells are worked on at a time (2). The table of all cells there are goes to bench/results/intervals.md, and its numbers
# to vignettes/uncertainty/coverage.csv.

library(gpcalib)
source("bench/validity/truths.R")

chosen <- function(name, all) if (nzchar(given <- Sys.getenv(name))) strsplit(given, ";")[[1]] else all
tuned <- c("line", "tanh", "step", "power", "root", "saturating", "prior", "tanh, shifted")
truths <- chosen("TRUTHS", c(tuned, held_out))
classes <- as.integer(chosen("CLASSES", c(2, 10, 100)))
rows <- as.integer(chosen("ROWS", c(100, 300, 1000, 5000)))
repeats <- function(k) as.integer(Sys.getenv("REPEATS", if (k == 2) "30" else if (k < 100) "10" else "5"))
cores <- as.integer(Sys.getenv("CORES", "2"))
seconds <- as.numeric(Sys.getenv("SECONDS", "Inf"))
out_file <- "bench/results/intervals.md"
kept <- file.path(Sys.getenv("BUILD", ".build"), "intervals")
dir.create(kept, recursive = TRUE, showWarnings = FALSE)
rows_new <- function(k) if (k < 100) 200 else 60
level <- 0.95
quietly <- function(code) suppressMessages(suppressWarnings(code))

# One calibration set, and whether the intervals of new rows hold the truth: of the class with the highest score (of
# the first of two), beside its score, and of all classes; with integration and without (whose fit is the same but for
# the averaged posterior, which tests/testthat/test-gp-averaged.R sees to).
run_once <- function(truth, k, n) {
  new_rows <- rows_new(k)
  map <- make_truth(truth, k)
  z <- draw_scores(n, k)
  labels <- draw_labels(softmax(map(z)))
  new <- draw_scores(new_rows, k)
  p <- softmax(map(new))
  top <- cbind(seq_len(new_rows), if (k == 2) 1 else max.col(new))
  averaged <- quietly(calib_gp(z, labels, input = "logits"))
  plain <- averaged
  plain["averaged"] <- list(NULL)
  one <- function(fit) {
    x <- quietly(predict(fit, new, type = "interval", level = level, n_draws = 400))
    holds <- x[, , "lower"] <= p & p <= x[, , "upper"]
    list(top = holds[top], all = mean(holds), width = mean((x[, , "upper"] - x[, , "lower"])[top]))
  }
  list(score = new[top], plain = one(plain), averaged = one(averaged))
}

# Coverage on average, of the worst tenth of the rows by their score, and its error over calibration sets.
summarise <- function(runs, which) {
  part <- lapply(runs, `[[`, which)
  holds <- unlist(lapply(part, `[[`, "top"))
  tenth <- cut(rank(unlist(lapply(runs, `[[`, "score")), ties.method = "first"), 10)
  each <- vapply(part, function(x) mean(x$top), 0)
  field <- function(name) vapply(part, `[[`, 0, name)
  data.frame(coverage = mean(holds), error = stats::sd(each) / sqrt(length(each)), worst = min(tapply(holds, tenth, mean)),
    all = mean(field("all")), width = mean(field("width")))
}

began <- proc.time()[["elapsed"]]
file_of <- function(truth, k, n) file.path(kept, paste0(gsub("[^a-z0-9]+", "-", truth), "-", k, "-", n, ".rds"))
one_cell <- function(cell) {
  if (proc.time()[["elapsed"]] - began > seconds) return(NULL)
  set.seed(cell$n + cell$k)
  runs <- lapply(seq_len(repeats(cell$k)), function(i) run_once(cell$truth, cell$k, cell$n))
  out <- cbind(truth = cell$truth, classes = cell$k, rows = cell$n, repeats = repeats(cell$k), averaged = summarise(runs, "averaged"),
    plain = summarise(runs, "plain"))
  saveRDS(out, file_of(cell$truth, cell$k, cell$n))
  cat(cell$truth, cell$k, cell$n, sprintf("%.3f (%.3f), worst tenth %.2f; without %.3f\n", out$averaged.coverage, out$averaged.error,
    out$averaged.worst, out$plain.coverage))
}
cells <- expand.grid(truth = truths, k = classes, n = rows, stringsAsFactors = FALSE)
cells <- cells[order(cells$truth %in% held_out), ] # those kept for the end come last
cells <- cells[!file.exists(file_of(cells$truth, cells$k, cells$n)), ]
done <- parallel::mclapply(split(cells, seq_len(nrow(cells))), one_cell, mc.cores = cores, mc.preschedule = FALSE)
failed <- vapply(done, inherits, NA, "try-error")
if (any(failed)) stop(done[[which(failed)[1]]])

# The table ---------------------------------------------------------------------------------------------------------

cells <- do.call(rbind, lapply(list.files(kept, "rds$", full.names = TRUE), readRDS))
cells <- cells[order(cells$classes, cells$rows, match(cells$truth, c(tuned, held_out))), ]
two <- function(x) sub("^0", "", sprintf("%.2f", x))
verdict <- function(x) {
  line <- x$truth %in% lines
  met <- x$averaged.coverage >= 0.92 & x$averaged.worst >= 0.8 & (!line | x$averaged.coverage <= 0.98)
  near <- x$averaged.coverage + 2 * x$averaged.error >= 0.92 & x$averaged.worst >= 0.7 &
    (!line | x$averaged.coverage - 2 * x$averaged.error <= 0.98)
  ifelse(met, "met", ifelse(near, "within error", "**no**"))
}
table_of <- function(x) {
  body <- paste0("| ", x$truth, " | ", x$classes, " | ", x$rows, " | .95 | ", two(x$averaged.coverage), " (",
    sub("^0", "", sprintf("%.3f", x$averaged.error)), ") | ", two(x$averaged.worst), " | ", two(x$averaged.all), " | ",
    verdict(x), " | ", two(x$averaged.width), " | ", two(x$plain.coverage), " | ", two(x$plain.worst), " | ", two(x$plain.width), " |")
  c(paste("| truth | classes | rows | claimed | measured (s.e.) | worst tenth | all classes | asked | width |",
    "plug-in | worst tenth | width |"), paste0("|", strrep("---|", 12)), body)
}
own <- !cells$truth %in% held_out
count <- function(x) paste0(sum(verdict(x) == "met"), " of ", nrow(x), " cells meet what was asked (at least .92 on average, .80 in the ",
  "worst tenth, lines at most .98), ", sum(verdict(x) == "within error"), " more are within two Monte-Carlo errors of it. Mean coverage ",
  sprintf("%.3f", mean(x$averaged.coverage)), ", without integration ", sprintf("%.3f", mean(x$plain.coverage)), ".")
writeLines(c(
  "# Intervals of calib_gp(): what they claim and what they keep", "",
  paste0("`Rscript bench/validity/intervals.R`, ", format(Sys.Date()), ". 95 % intervals of `predict(type = \"interval\")` for ",
    "200 new rows (100 classes: 60) and ", paste(unique(range(cells$repeats)), collapse = " to "), " calibration sets in each cell. *Measured*: the share of intervals that hold ",
    "the true probability of the class with the highest score (of the first of two classes), with its Monte-Carlo standard error over ",
    "calibration sets, for the default fit (`integrate = TRUE`); *worst tenth*: the same in the worst of ten groups of rows by that score; *all classes*: of ",
    "all classes alike; *asked*: at least .92 on average and .80 in the worst tenth, lines at most .98; *plug-in*: `integrate = FALSE`."),
  "", paste0("Cells measured so far: ", nrow(cells), " of ", length(c(tuned, held_out)) * 12, "."),
  "", if (any(own)) c("## Truths on which the priors were tuned", "", table_of(cells[own, ]), "", count(cells[own, ]), ""),
  if (any(!own)) c("## Truths that were kept for the end", "", table_of(cells[!own, ]), "", count(cells[!own, ]))
), out_file)

numbers <- data.frame(cells[c("truth", "classes", "rows", "repeats")], held_out = !own, coverage = cells$averaged.coverage,
  std.error = cells$averaged.error, worst = cells$averaged.worst, all = cells$averaged.all, width = cells$averaged.width,
  plain = cells$plain.coverage, plain_worst = cells$plain.worst)
numbers[6:12] <- lapply(numbers[6:12], signif, 3)
utils::write.csv(numbers, "vignettes/uncertainty/coverage.csv", row.names = FALSE)
