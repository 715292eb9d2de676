# Rscript bench/study-speed.R: how long calib_study() takes with all calibrators of the package, in
# this session and on two workers, and whether both give the same table.

library(gpcalib)
source("bench/helper.R")

folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
sets <- list(
  `letters_nn (shipped)` = list(scores = rbind(letters_nn$cal$scores, letters_nn$test$scores),
    labels = c(letters_nn$cal$labels, letters_nn$test$labels)),
  `rain_nyc (shipped)` = list(scores = rain_nyc$prob, labels = rain_nyc$rain)
)
large <- file.path(folder, "cifar100_wrn16_4.rds")
if (file.exists(large)) sets$cifar100_wrn16_4 <- readRDS(large)

run <- function(set) {
  set.seed(1)
  start <- now()
  study <- calib_study(set$scores, set$labels, n_cal = 1000, splits = 10)
  list(study = study, seconds = now() - start)
}
values <- function(run) as.data.frame(run$study)[c("data", "split", "method", "metric", "value", "error")]

here <- lapply(sets, run)
same <- rep("future.apply is not installed", length(sets))
there <- rep(NA_real_, length(sets))
if (requireNamespace("future.apply", quietly = TRUE)) {
  future::plan(future::multisession, workers = 2)
  workers <- lapply(sets, run)
  future::plan(future::sequential)
  there <- vapply(workers, `[[`, 0, "seconds")
  same <- mapply(function(a, b) if (identical(values(a), values(b))) "yes" else "NO", here, workers)
}
methods <- levels(here[[1]]$study$method)
table <- data.frame(
  data = names(sets), rows = vapply(sets, function(set) as.character(NROW(set$scores)), ""),
  `seconds, this session` = sprintf("%.1f", vapply(here, `[[`, 0, "seconds")),
  `seconds, two workers` = sprintf("%.1f", there), `same table` = same, check.names = FALSE
)
table$K <- vapply(sets, function(set) as.character(max(2, NCOL(set$scores))), "")
failures <- vapply(here, function(x) sum(!is.na(x$study$error)), 0L)
write_report("study-speed", "Studies: time, and independence of the workers", c(
  paste0("`calib_study(scores, labels, n_cal = 1000, splits = 10)` with its default metrics and all ",
    length(methods), " calibrators (", paste(methods, collapse = ", "), "), once here and once under"),
  "`plan(multisession, workers = 2)`, the starting of the workers' R included.", "",
  markdown_table(table), "", paste0("Failures: ", sum(failures), "."), "",
  "```", utils::capture.output(print(here[[length(here)]]$study)), "```"
))
if (any(same == "NO")) quit(status = 1)
