# Rscript bench/validity/run.R: all simulations of this folder, one after the other, with a fifth of the repeats that the
# committed tables rest on: about 20 minutes of one core. FULL=yes has all of them (an estimated 85 minutes). Every table says how
# many repeats it has. See README.md.

full <- Sys.getenv("FULL") == "yes"
share <- if (full) 1 else 0.2
Sys.setenv(SHARE = share, REPEATS = 400 * share, CORES = Sys.getenv("CORES", "1"))
for (part in c("intervals", "workbench", "comparisons", "monitor")) {
  began <- proc.time()[["elapsed"]]
  status <- system2("Rscript", c(file.path("bench", "validity", paste0(part, ".R")), if (part %in% c("comparisons", "monitor")) 1000 * share))
  if (status != 0) stop(part, ".R ended with status ", status)
  cat(part, ": ", round((proc.time()[["elapsed"]] - began) / 60, 1), " minutes\n", sep = "")
}
