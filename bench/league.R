# Rscript bench/league.R: the league, our calibrators and their published rivals on every set of real
# classifier outputs, with 200, 1000 and 5000 calibration rows. `make league` runs it.
#
# Each result (set, n, split, method) is kept in a file of its own below .build/league, so that a run can be
# stopped and taken up again, and methods that changed can be run alone:
#
#   GPCALIB_DATA    where the data are (they are not part of the package)
#   LEAGUE_CACHE    where results are kept (.build/league)
#   LEAGUE_SPLITS   splits of each set (3)
#   LEAGUE_N        calibration rows ("200 1000 5000")
#   LEAGUE_METHODS  methods to run, by comma (all)
#   LEAGUE_REDO     methods to run again, by comma: "gp,gp_none"
#   LEAGUE_REPORT   write the tables of what is there, and run nothing
#   LEAGUE_SECONDS  stop after so many seconds; what is missing is done by the next run
#
# The tables are written by league-report.R when everything is there.

library(gpcalib)
source("bench/helper-report.R")
source("bench/rivals.R")
source("bench/rivals-more.R")
source("bench/league-report.R")

now <- function() proc.time()[["elapsed"]]
folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
setting <- function(name, default) {
  value <- Sys.getenv(paste0("LEAGUE_", name))
  if (nzchar(value)) value else default
}
cache <- setting("CACHE", file.path(Sys.getenv("BUILD", ".build"), "league"))
splits <- seq_len(as.integer(setting("SPLITS", "3")))
sizes <- as.numeric(strsplit(setting("N", "200 1000 5000"), " ")[[1]])
asked <- strsplit(setting("METHODS", ""), ",")[[1]]
redo <- strsplit(setting("REDO", ""), ",")[[1]]
limit <- as.numeric(setting("SECONDS", "Inf"))

# The methods -------------------------------------------------------------------------------

ours <- function(calib, ...) {
  options <- list(...)
  function(scores, labels) {
    fit <- do.call(calib, c(list(scores, labels), options))
    function(scores) predict(fit, scores)
  }
}

methods <- list(
  none = ours(calib_none),
  temperature = ours(calib_temperature),
  platt = ours(calib_platt, scale = "logit"),
  beta = ours(calib_beta),
  isotonic = ours(calib_isotonic),
  histogram = ours(calib_histogram),
  bbq = ours(calib_bbq),
  vector = ours(calib_vector),
  matrix = ours(calib_matrix),
  gp = ours(calib_gp),
  gp_none = ours(calib_gp, class_effects = "none"),
  gp_monotone = ours(calib_gp, monotone = TRUE),
  svs = function(scores, labels) rival(scores, labels, "svs"),
  sms = function(scores, labels) rival(scores, labels, "sms"),
  ensemble = rival_ensemble,
  dirichlet = rival_dirichlet,
  quadratic = rival_quadratic,
  gam = rival_gam
)

# For two classes vector, matrix, SVS and SMS are one logistic regression with different penalties; all stay in.
# Methods with k^2 parameters are left out above 100 classes, where they have a million, and vector scaling, which
# takes minutes there, and Dirichlet calibration above 30, where its cross-validation takes an hour in R. That is no
# failure, and they are compared where they take part. calib_matrix() refuses more than 50 classes, which is one.
takes_part <- function(method, k) {
  if (method %in% c("quadratic", "gam")) return(k == 2)
  if (method == "dirichlet") return(k <= 30)
  if (method %in% c("vector", "matrix", "sms")) return(k <= 100)
  TRUE
}

# One result --------------------------------------------------------------------------------

pick <- function(x, rows) if (is.matrix(x)) x[rows, , drop = FALSE] else x[rows]

measures <- function(p, y) {
  c(log_loss = log_loss(p, y, eps = 1e-12), brier = brier_score(p, y), ece = ece(p, y, bins = 15),
    accuracy = mean(colnames(p)[max.col(p, "first")] == as.character(y)))
}

run_one <- function(method, x, y, new, truth, seed) {
  set.seed(seed)
  start <- now()
  out <- tryCatch(suppressWarnings({
    map <- methods[[method]](x, y)
    fitted <- now()
    c(measures(map(new), truth), seconds = fitted - start)
  }), error = function(e) conditionMessage(e))
  if (is.character(out)) list(error = out) else list(values = out)
}

# Rows of a split: n to calibrate, at most 10,000 of the others to score, drawn at random because some sets are
# sorted by class. Sets of fewer than 2000 rows have one size, half of them.
split_rows <- function(size, n, seed) {
  set.seed(seed)
  rows <- sample(size, n)
  rest <- setdiff(seq_len(size), rows)
  list(fit = rows, score = if (length(rest) > 10000) sample(rest, 10000) else rest)
}

sizes_of <- function(size) if (size < 2000) size %/% 2 else sizes[sizes <= size - 500]

cell_file <- function(set, n, split, method) {
  file.path(cache, set, sprintf("%d-%d-%s.rds", as.integer(n), as.integer(split), method))
}

# All methods that are missing for one set and split. FALSE when time is up.
run_set <- function(set, split, started) {
  data <- NULL
  for (n in set_sizes[[set]]) {
    todo <- Filter(function(m) {
      (length(asked) == 0 || m %in% asked) && takes_part(m, set_classes[[set]]) && !file.exists(cell_file(set, n, split, m))
    }, names(methods))
    if (length(todo) == 0) next
    if (is.null(data)) data <- readRDS(file.path(folder, paste0(set, ".rds")))
    rows <- split_rows(length(data$labels), n, split)
    for (m in todo) {
      if (now() - started > limit) return(FALSE)
      cell <- run_one(m, pick(data$scores, rows$fit), data$labels[rows$fit],
        pick(data$scores, rows$score), data$labels[rows$score], split)
      cell <- c(list(set = set, k = set_classes[[set]], n = n, split = split, method = m), cell)
      dir.create(file.path(cache, set), showWarnings = FALSE, recursive = TRUE)
      saveRDS(cell, cell_file(set, n, split, m))
    }
    cat(sprintf("league: %s, n = %d, split %d\n", set, as.integer(n), split))
  }
  TRUE
}

# All of it ---------------------------------------------------------------------------------

files <- list.files(folder, "\\.rds$")
# Features are no scores; the rows of _val belong to the classifiers of _test and serve the check.
sets <- setdiff(sub("\\.rds$", "", grep("_val\\.rds$", files, invert = TRUE, value = TRUE)), "kitti_features")
if (length(sets) == 0) {
  cat("league: skipped, there are no data in", folder, "(set GPCALIB_DATA)\n")
  quit(status = 0)
}
index <- file.path(cache, "index.rds") # sizes of the sets, so that a rerun need not read them
if (!file.exists(index)) {
  dir.create(cache, showWarnings = FALSE, recursive = TRUE)
  saveRDS(lapply(stats::setNames(nm = sets), function(set) {
    data <- readRDS(file.path(folder, paste0(set, ".rds")))
    c(rows = length(data$labels), classes = max(2, NCOL(data$scores)))
  }), index)
}
index <- readRDS(index)
set_sizes <- lapply(index, function(i) sizes_of(i[["rows"]]))
set_classes <- lapply(index, function(i) i[["classes"]])

if (nzchar(setting("REPORT", ""))) {
  league_report(cache, folder)
  quit(status = 0)
}
for (m in redo) {
  old <- list.files(cache, paste0("-", m, "\\.rds$"), recursive = TRUE, full.names = TRUE)
  cat("league:", m, "again,", length(old), "results removed\n")
  unlink(old)
}
started <- now()
done <- TRUE
for (split in splits) {
  for (set in sets[order(unlist(set_classes[sets]))]) done <- done && run_set(set, split, started) # cheap ones first
}
if (!done) {
  cat("league: stopped after", limit, "seconds; run it again to go on\n")
  quit(status = 0)
}
if (length(asked) == 0) league_report(cache, folder) else cat("league: done, no report of chosen methods\n")
