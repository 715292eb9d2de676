# Rscript bench/validity/run.R: all simulations of this folder, one after the other; see README.md. An estimated 75 minutes of one core.

for (part in c("intervals", "workbench", "comparisons", "monitor")) {
  began <- proc.time()[["elapsed"]]
  status <- system2("Rscript", file.path("bench", "validity", paste0(part, ".R")))
  if (status != 0) stop(part, ".R ended with status ", status)
  cat(part, ": ", round((proc.time()[["elapsed"]] - began) / 60, 1), " minutes\n", sep = "")
}
