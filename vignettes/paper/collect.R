# Rscript vignettes/paper/collect.R, from the top folder: copies what the vignette "The experiments of the paper, repeated"
# shows from bench/results/paper/, where the scripts in bench/paper/ leave it, to this folder. The
# vignette then builds from the package alone. `make docs` runs this; nothing here is computed.

from <- "bench/results/paper"
to <- "vignettes/paper"

pictures <- c("toy", "latent", "reliability", "bins", "motivating", "active")
ok <- file.copy(file.path(from, paste0(pictures, ".png")), to, overwrite = TRUE)

# Reports are Markdown; their tables become csv files.
cells <- function(line) trimws(strsplit(sub("\\|\\s*$", "", sub("^\\|", "", line)), "|", fixed = TRUE)[[1]])

# The table number `which` below the heading (`NULL`: of the whole report).
table_of <- function(report, heading = NULL, which = 1) {
  lines <- readLines(file.path(from, paste0(report, ".md")), encoding = "UTF-8")
  if (!is.null(heading)) {
    at <- match(paste("##", heading), lines)
    if (is.na(at)) stop(report, ".md has no heading: ", heading)
    lines <- lines[-seq_len(at)]
  }
  rules <- grep("^\\|(-+\\|)+$", lines)
  first <- rules[which] - 1
  last <- first
  while (last < length(lines) && startsWith(lines[last + 1], "|")) last <- last + 1
  body <- do.call(rbind, lapply(lines[(first + 2):last], function(line) {
    x <- cells(line)
    c(x, rep("", length(cells(lines[first])) - length(x))) # trailing empty cells
  }))
  out <- as.data.frame(body)
  names(out) <- cells(lines[first])
  out
}

keep <- function(table, name) {
  utils::write.csv(table, file.path(to, paste0(name, ".csv")), row.names = FALSE)
}

keep(table_of("toy"), "toy")
keep(table_of("table", "Ratios of calibration errors"), "ratios")
keep(table_of("table", "ECE_1, 100 bins, mean confidence of a bin"), "ece-mean")
keep(table_of("table", "ECE_1, 100 bins, midpoints (near the paper's code)"), "ece-midpoint")
keep(table_of("table", "Accuracy"), "accuracy")
keep(table_of("bins"), "bins")
keep(table_of("complexity"), "complexity")
keep(table_of("runtime"), "runtime")
keep(table_of("runtime", "Relative to temperature scaling on the same machine"), "runtime-ratios")
keep(table_of("motivating"), "motivating")
keep(table_of("active"), "active")

# When and where each report was made: its third line.
reports <- c("toy", "table", "bins", "complexity", "runtime", "motivating", "active", "pictures")
keep(data.frame(report = reports, made = vapply(reports, function(r) {
  readLines(file.path(from, paste0(r, ".md")), 3)[3]
}, "")), "made")

if (!all(ok)) stop("pictures not found: ", toString(pictures[!ok]))
