# Rscript tools/run-tests.R [FILTER]: run tests/testthat against the package in .build/lib
# and leave `passed failed skipped warnings` in .build/rtest-counts. Expectations are
# counted; an error counts as a failure, and so does a run without any expectation.
# FILTER is a regular expression for the names of test files, as in testthat.
#
# Each file runs in a process of its own, as many at a time as there are cores (CORES=1
# in the environment: one). The longest files of this machine's last run come first.

build <- Sys.getenv("BUILD", ".build")
folder <- file.path("tests", "testthat")
filter <- c(commandArgs(TRUE), "")[1]
cores <- suppressWarnings(as.integer(Sys.getenv("CORES", parallel::detectCores())))
if (is.na(cores) || cores < 1 || .Platform$OS.type == "windows") cores <- 1L

library(gpcalib, lib.loc = file.path(build, "lib"))
options(cli.dynamic = FALSE, cli.progress_show_after = Inf)

names <- sub("^test-(.*)[.][rR]$", "\\1", list.files(folder, "^test-.*[.][rR]$"))
names <- names[grepl(filter, names, perl = TRUE)]

# Order: by the seconds of the last run, files without by their size.
times <- file.path(build, "rtest-times")
cost <- 1e3 + file.size(file.path(folder, paste0("test-", names, ".R")))
if (file.exists(times)) {
  last <- read.table(times, col.names = c("file", "seconds"))
  known <- match(names, last$file)
  cost <- ifelse(is.na(known), cost, last$seconds[known])
} else {
  last <- NULL
}
names <- names[order(-cost)]

# Kinds of expectations of a file, in the order they came, and the seconds it took. What
# testthat says of the file is printed in one piece.
run <- function(name) {
  begin <- proc.time()[[3]]
  said <- utils::capture.output(results <- tryCatch(
    testthat::test_dir(
      folder, package = "gpcalib", load_package = "installed",
      filter = paste0("^\\Q", name, "\\E$"), perl = TRUE,
      reporter = testthat::ProgressReporter$new(show_praise = FALSE, max_failures = Inf,
                                                update_interval = Inf),
      stop_on_failure = FALSE, stop_on_warning = FALSE
    ),
    error = function(e) {
      cat("test-", name, ".R could not be run: ", conditionMessage(e), "\n", sep = "")
      NULL
    }
  ))
  kinds <- unlist(lapply(results, function(test) {
    vapply(test$results, function(r) class(r)[1], "")
  }))
  seconds <- proc.time()[[3]] - begin
  plain <- !is.null(results) && all(kinds == "expectation_success")
  line <- sprintf("  %-24s %5d passed %6.1f s", name, sum(kinds == "expectation_success"),
                  seconds)
  cat(paste0(c(if (!plain) said, line), "\n"), sep = "")
  list(kinds = c(kinds, if (is.null(results)) "expectation_error"), seconds = seconds)
}
runs <- if (cores > 1 || .Platform$OS.type == "windows") {
  parallel::mclapply(names, run, mc.cores = cores, mc.preschedule = FALSE)
} else {
  # mclapply() would stay in this process, where what a file leaves open adds up
  lapply(names, function(name) parallel::mccollect(parallel::mcparallel(run(name)))[[1]])
}

# A process that died returns no list.
alive <- vapply(runs, is.list, NA)
for (name in names[!alive]) {
  cat("test-", name, ".R: the R process broke down\n", sep = "")
}
kinds <- unlist(lapply(runs[alive], `[[`, "kinds"))
count <- function(...) sum(kinds %in% paste0("expectation_", c(...)))
passed <- count("success")
failed <- count("failure", "error") + sum(!alive)
skipped <- count("skip")
warnings <- count("warning")
if (passed + failed == 0) {
  cat("no R test was run, which counts as a failure\n")
  failed <- 1
}
took <- data.frame(file = names[alive], seconds = vapply(runs[alive], `[[`, 0, "seconds"))
write.table(rbind(took, last[!last$file %in% took$file, ]), times, row.names = FALSE,
            col.names = FALSE, quote = FALSE)
cat(passed, failed, skipped, warnings, "\n", file = file.path(build, "rtest-counts"))
quit(status = failed > 0)
