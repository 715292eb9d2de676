# Rscript vignettes/over-time/collect.R, from the top folder: copies what the vignette "Calibration over time" shows of
# the experiment in active learning from bench/results/paper/, where bench/paper/active.R leaves it. `make docs` runs
# this; nothing here is computed.

ok <- file.copy("bench/results/paper/active-course.csv", "vignettes/over-time/active.csv", overwrite = TRUE)
if (!ok) stop("bench/results/paper/active-course.csv was not found")
