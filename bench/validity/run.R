# Rscript bench/validity/run.R: all simulations of this folder, one after the other, with about a fifth of the repeats that the
# committed tables rest on: an estimated 21 minutes of one core. FULL=yes has all of them. Every table says how many repeats it has.
# See README.md.

full <- Sys.getenv("FULL") == "yes"
Sys.setenv(SHARE = if (full) 1 else 0.2, REPEATS = if (full) 400 else 60, CORES = Sys.getenv("CORES", "1"))
repeats <- if (full) c(comparisons = 1000, monitor = 1000) else c(comparisons = 200, monitor = 150)
for (part in c("intervals", "workbench", "comparisons", "monitor")) {
  began <- proc.time()[["elapsed"]]
  status <- system2("Rscript", c(file.path("bench", "validity", paste0(part, ".R")), if (part %in% names(repeats)) repeats[[part]]))
  if (status != 0) stop(part, ".R ended with status ", status)
  cat(part, ": ", round((proc.time()[["elapsed"]] - began) / 60, 1), " minutes\n", sep = "")
}
